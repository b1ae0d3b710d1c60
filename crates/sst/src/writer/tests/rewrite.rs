//! Tables of RocksDB, written again from their entries: the result is equal to RocksDB's.

use super::*;
use crate::dump;
use crate::fetch::BlockKind;
use crate::filter::FilterReader;
use crate::format::{IndexType, meta};
use crate::index::{self, IndexCoding};
use crate::vectors::{unbase64, vectors};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/rocksdb-11.9");

/// The options that a table was written with, as far as its properties show, but without compression and
/// filter.
fn options_of(table: &Table) -> TableWriterOptions {
    let properties = table.properties();
    TableWriterOptions {
        format_version: table.format_version(),
        compression: CompressionType::None,
        filter: FilterPolicy::None,
        block_restart_interval: properties.data_block_restart_interval.unwrap_or(16) as usize,
        separate_key_value_in_data_block: properties.separate_key_value_in_data_block != 0,
        index_block_restart_interval: properties.index_block_restart_interval.unwrap_or(1) as usize,
        merge_operator: match &properties.merge_operator[..] {
            b"nullptr" => None,
            name => Some(String::from_utf8_lossy(name).into_owned()),
        },
        ..TableWriterOptions::new(table.comparator().clone())
    }
}

fn rewrite(table: &Arc<Table>, options: TableWriterOptions) -> (Scratch, TableSummary) {
    let scratch = Scratch::new();
    let mut writer = scratch.writer(options);
    for (key, value) in scan(table) {
        writer.add(&key, &value).unwrap();
    }
    for tombstone in table.range_tombstones().tombstones() {
        writer
            .add_range_tombstone(&tombstone.start, &tombstone.end, tombstone.seqno)
            .unwrap();
    }
    let summary = writer.finish().unwrap();
    (scratch, summary)
}

/// The contents of the data blocks, uncompressed.
fn data_blocks(table: &Table) -> Vec<Vec<u8>> {
    dump::index(table)
        .unwrap()
        .iter()
        .map(|line| {
            let contents = table.fetcher.contents(line.handle, BlockKind::Data, true);
            contents.unwrap()
        })
        .collect()
}

/// The contents of a meta block that is not made of entries, uncompressed.
fn meta_block(table: &Table, name: &str) -> Vec<u8> {
    let entries = dump::metaindex(table);
    let (_, handle) = entries.iter().find(|entry| entry.0 == name.as_bytes()).unwrap();
    table.fetcher.raw(*handle, true, <[u8]>::to_vec).unwrap()
}

#[test]
fn fixtures_written_again_have_the_same_blocks_and_counts() {
    let (mut hinted, mut tables) = (0, 0);
    for entry in std::fs::read_dir(FIXTURES).unwrap() {
        let dir = entry.unwrap().path();
        let name = dir.file_name().unwrap().to_string_lossy().into_owned();
        // Keys read from ingested files carry the global sequence number, which is not the number in the
        // file.
        if !dir.is_dir() || name == "ingested_global_seqno" {
            continue;
        }
        for entry in std::fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "sst") {
                continue;
            }
            let file = PosixFs::new()
                .open_random(&path, &OpenOptions::default())
                .unwrap();
            let bytewise_table = Table::open(file, TableReadOptions::new(bytewise())).unwrap();
            let comparator = String::from_utf8(bytewise_table.properties().comparator.clone()).unwrap();
            let cmp = InternalComparator::new(UserComparator::builtin(&comparator).unwrap());
            let table = open(&path, TableReadOptions::new(cmp.clone()));
            let theirs = table.properties();
            let place = path.display();

            let has_hints = name == "prefix_hash_index";
            let has_hashes = has_hints || name == "first_key_lz4hc";
            let mut written = TableWriterOptions {
                block_size: 1024,
                data_block_hash_table_util_ratio: has_hashes.then_some(0.75),
                ..options_of(&table)
            };
            if has_hints {
                written.index_type = IndexType::HashSearch;
                written.prefix_extractor = base::prefix::builtin("rocksdb.FixedPrefix.10");
            }
            let (scratch, summary) = rewrite(&table, written);
            let ours = &summary.properties;
            let points = |properties: &TableProperties| {
                [
                    properties.num_entries - properties.num_range_deletions,
                    properties.num_deletions - properties.num_range_deletions,
                    properties.num_merge_operands,
                ]
            };
            assert_eq!(points(ours), points(theirs), "{place}");
            // RocksDB leaves fragments divided at the ends of tombstones that were dropped; our writer joins
            // them again.
            assert!(ours.num_range_deletions <= theirs.num_range_deletions, "{place}");
            if ours.num_range_deletions == theirs.num_range_deletions {
                assert_eq!(ours.raw_key_size, theirs.raw_key_size, "{place}");
                assert_eq!(ours.raw_value_size, theirs.raw_value_size, "{place}");
            }
            assert_eq!(ours.key_smallest_seqno, theirs.key_smallest_seqno, "{place}");
            assert_eq!(ours.key_largest_seqno, theirs.key_largest_seqno, "{place}");
            assert_eq!(ours.timestamp_min, theirs.timestamp_min, "{place}");
            assert_eq!(ours.timestamp_max, theirs.timestamp_max, "{place}");
            assert_eq!(ours.comparator, theirs.comparator, "{place}");
            let again = scratch.open(cmp);
            assert_eq!(scan(&again), scan(&table), "{place}");
            verify(&again);
            tables += 1;

            assert!(data_blocks(&again) == data_blocks(&table), "{place}");
            assert_eq!(
                ours.index_key_is_user_key, theirs.index_key_is_user_key,
                "{place}"
            );
            assert_eq!(
                ours.index_value_is_delta_encoded, theirs.index_value_is_delta_encoded,
                "{place}"
            );
            assert_eq!(
                ours.separate_key_value_in_data_block, theirs.separate_key_value_in_data_block,
                "{place}"
            );
            if has_hints {
                assert_eq!(theirs.index_type, IndexType::HashSearch, "{place}");
                let [ours, theirs] = [&again, &table].map(|table| {
                    [meta::HASH_INDEX_PREFIXES, meta::HASH_INDEX_METADATA].map(|name| meta_block(table, name))
                });
                assert_eq!(ours, theirs, "{place}");
                hinted += 1;
            }
        }
    }
    assert!(tables > 100 && hinted > 8, "{hinted} of {tables}");
}

#[test]
fn whole_tables_of_rocksdb_are_written_to_the_byte() {
    for vector in vectors("whole_file") {
        let desc = vector["desc"].as_str().unwrap();
        if vector["src"] != "7.8.3" || !desc.contains("SST") || desc.contains("ingested") {
            continue;
        }
        let bytes = unbase64(&vector["b64"]);
        let scratch = Scratch::new();
        std::fs::write(scratch.path(), &bytes).unwrap();
        let theirs = scratch.open(bytewise());
        let (again, summary) = rewrite(
            &theirs,
            TableWriterOptions {
                compression: CompressionType::Snappy,
                ..options_of(&theirs)
            },
        );
        // RocksDB 7.8.3 writes fewer properties; all bytes before the properties are equal.
        let written = std::fs::read(again.path()).unwrap();
        let properties_at = |table: &Table| {
            let entries = dump::metaindex(table);
            let name = meta::PROPERTIES.as_bytes();
            entries.iter().find(|entry| entry.0 == name).unwrap().1.offset as usize
        };
        let at = properties_at(&theirs);
        assert_eq!(properties_at(&again.open(bytewise())), at, "{desc}");
        assert_eq!(written[..at], bytes[..at], "{desc}");

        let (ours, theirs) = (&summary.properties, theirs.properties());
        assert_eq!(ours.data_size, theirs.data_size, "{desc}");
        assert_eq!(ours.index_size, theirs.index_size, "{desc}");
        assert_eq!(ours.num_data_blocks, theirs.num_data_blocks, "{desc}");
        assert_eq!(ours.num_entries, theirs.num_entries, "{desc}");
        assert_eq!(ours.compression, theirs.compression, "{desc}");
        assert_eq!(ours.merge_operator, theirs.merge_operator, "{desc}");
        assert_eq!(ours.prefix_extractor_name, theirs.prefix_extractor_name, "{desc}");
        assert_eq!(ours.property_collectors, theirs.property_collectors, "{desc}");
    }
}

/// The last key and the kind of each partition of a filter.
fn filter_partitions(table: &Table) -> Vec<(Vec<u8>, &'static str)> {
    let name = meta::PARTITIONED_FILTER.as_bytes();
    let entries = dump::metaindex(table);
    let (_, handle) = entries.iter().find(|entry| entry.0 == name).unwrap();
    let block = table.fetcher.meta_block(*handle, true).unwrap();
    let coding = IndexCoding::of(table.properties()).top_level();
    let mut partitions = Vec::new();
    index::decode_block(&block, coding, |entry| {
        let filter = table
            .fetcher
            .raw(entry.handle, true, |contents| FilterReader::new(contents))??;
        partitions.push((entry.separator.to_vec(), filter.kind()));
        Ok(())
    })
    .unwrap();
    partitions
}

#[test]
fn partitions_of_filters_end_where_rocksdbs_end() {
    let dir = Path::new(FIXTURES).join("ribbon_partitioned_zstd_dict");
    let mut partitions = 0;
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "sst") {
            continue;
        }
        let theirs = open(&path, TableReadOptions::new(bytewise()));
        let theirs_partitions = filter_partitions(&theirs);
        let (scratch, summary) = rewrite(
            &theirs,
            TableWriterOptions {
                block_size: 1024,
                // Tables written by a flush have Bloom filters.
                level: match theirs_partitions[0].1 {
                    "FastLocalBloom" => -1,
                    _ => 0,
                },
                index_type: IndexType::TwoLevel,
                partition_filters: true,
                metadata_block_size: 512,
                filter: FilterPolicy::Ribbon {
                    bits_per_key: 10.0,
                    bloom_before_level: 0,
                },
                ..options_of(&theirs)
            },
        );
        let ours = filter_partitions(&scratch.open(bytewise()));
        let keys = |partitions: &[(Vec<u8>, &str)]| -> Vec<Vec<u8>> {
            partitions.iter().map(|partition| partition.0.clone()).collect()
        };
        assert_eq!(keys(&ours), keys(&theirs_partitions), "{}", path.display());
        let properties = theirs.properties();
        assert_eq!(
            summary.properties.num_filter_entries,
            properties.num_filter_entries
        );
        assert_eq!(
            summary.properties.decoupled_partitioned_filters,
            properties.decoupled_partitioned_filters
        );
        assert_eq!(summary.properties.filter_policy, properties.filter_policy);
        partitions += ours.len();
    }
    assert!(partitions > 10, "{partitions}");
}

use base::{Kind, UserComparator, internal_key};

use super::*;
use crate::dump;
use crate::read_options::TableReadOptions;
use crate::reader::Table;
use crate::vectors::{unhex, vectors};
use vfs::{FileSystem, OpenOptions, PosixFs};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/rocksdb-11.9");

fn bytewise() -> InternalComparator {
    InternalComparator::new(UserComparator::Bytewise)
}

fn options(format_version: u32) -> TableWriterOptions {
    TableWriterOptions {
        format_version,
        ..TableWriterOptions::new(bytewise())
    }
}

/// The blocks of the index, written back to back from `offset` on, and the finished index.
fn finish(builder: &IndexBuilder, offset: u64) -> (Vec<Vec<u8>>, Index) {
    let (mut blocks, mut offset) = (Vec::new(), offset);
    let index = builder.finish(|contents| {
        let handle = BlockHandle::new(offset, contents.len() as u64);
        offset = handle.end().unwrap();
        blocks.push(std::mem::take(contents));
        Ok(handle)
    });
    (blocks, index.unwrap())
}

fn handle(entry: &serde_json::Value) -> BlockHandle {
    BlockHandle::new(entry["offset"].as_u64().unwrap(), entry["size"].as_u64().unwrap())
}

#[test]
fn an_index_block_is_rocksdbs_to_the_byte() {
    let mut rebuilt = 0;
    for vector in vectors("index_block") {
        if vector["index_type"] == 2 {
            continue;
        }
        let desc = vector["desc"].as_str().unwrap();
        let restart_interval = if desc.contains("interval 4") { 4 } else { 1 };
        let entries = vector["entries"].as_array().unwrap();
        let has_first_keys = vector["index_type"] == 3;
        let mut builder = IndexBuilder::new(&TableWriterOptions {
            index_type: match has_first_keys {
                true => IndexType::BinarySearchWithFirstKey,
                false => IndexType::BinarySearch,
            },
            index_block_restart_interval: restart_interval,
            index_shortening: IndexShortening::None,
            ..options(vector["format_version"].as_u64().unwrap() as u32)
        });
        let internal = |key: &serde_json::Value| match &vector["key_is_user_key"] {
            serde_json::Value::Bool(true) => [unhex(key), vec![0; TRAILER_LEN]].concat(),
            _ => unhex(key),
        };
        let first_key = |i: usize| {
            let entry = entries.get(i)?;
            Some(match has_first_keys {
                true => unhex(&entry["first_internal_key_hex"]),
                // The content of the next block does not matter, only its existence.
                false => internal(&entry["key_hex"]),
            })
        };
        for (i, entry) in entries.iter().enumerate() {
            let (first, next) = (first_key(0).unwrap(), first_key(i + 1));
            builder.add_separator(&bytewise(), &first, &internal(&entry["key_hex"]), next.as_deref());
            assert!(!builder.add_handle(handle(entry)));
        }
        let (blocks, index) = finish(&builder, 0);
        assert_eq!(blocks, [unhex(&vector["block_hex"])], "{desc}");
        assert_eq!(index.size, blocks[0].len());
        assert_eq!(index.partitions, None);
        assert_eq!(vector["key_is_user_key"], !builder.coding().internal_keys);
        assert_eq!(vector["value_delta_encoded"], builder.coding().delta);
        assert!(
            builder.estimated_size() + 8 > blocks[0].len(),
            "{desc}: not estimated too low"
        );
        rebuilt += 1;
    }
    assert_eq!(rebuilt, 5);
}

#[test]
fn an_index_in_partitions_is_rocksdbs_to_the_byte() {
    let vector = &vectors("index_block")
        .into_iter()
        .find(|vector| vector["index_type"] == 2)
        .unwrap();
    let partitions = vector["entries"].as_array().unwrap();
    let mut builder = IndexBuilder::new(&TableWriterOptions {
        index_type: IndexType::TwoLevel,
        index_shortening: IndexShortening::None,
        metadata_block_size: 64,
        ..options(5)
    });
    // The entries of the data blocks of all other vectors.
    let entries = vectors("index_block")[2]["entries"].as_array().unwrap().clone();
    let internal = |entry: &serde_json::Value| [unhex(&entry["key_hex"]), vec![0; TRAILER_LEN]].concat();
    let mut starts = Vec::new();
    for (i, entry) in entries.iter().enumerate() {
        let next = entries.get(i + 1).map(internal);
        builder.add_separator(&bytewise(), b"unused", &internal(entry), next.as_deref());
        if i == 2 || i == 4 {
            builder.request_cut();
        }
        if builder.add_handle(handle(entry)) {
            starts.push(i);
        }
    }
    assert_eq!(starts, [2, 4]);
    let first_offset = partitions[0]["offset"].as_u64().unwrap();
    let (mut blocks, index) = finish(&builder, first_offset);
    for (partition, block) in partitions.iter().zip(&blocks) {
        assert_eq!(*block, unhex(&partition["partition_block_hex"]));
    }
    assert_eq!(index.size, blocks.concat().len());
    let top_level = blocks.pop().unwrap();
    assert_eq!(top_level.len(), unhex(&vector["block_hex"]).len());
    assert_eq!(index.partitions, Some((partitions.len(), top_level.len())));
    assert_eq!(blocks.len(), partitions.len());
}

/// An index rebuilt from the first and last keys of RocksDB's data blocks has RocksDB's separators and
/// partitions.
#[test]
fn separators_and_partitions_of_the_fixtures_are_rocksdbs() {
    let dir = std::path::Path::new(FIXTURES).join("ribbon_partitioned_zstd_dict");
    let mut partitions = 0;
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "sst") {
            continue;
        }
        let file = PosixFs::new()
            .open_random(&path, &OpenOptions::default())
            .unwrap();
        let table = Table::open(file, TableReadOptions::new(bytewise())).unwrap();
        let lines = dump::index(&table).unwrap();
        let mut builder = IndexBuilder::new(&TableWriterOptions {
            index_type: IndexType::TwoLevel,
            metadata_block_size: 512,
            ..options(table.format_version())
        });
        let blocks: Vec<_> = lines
            .iter()
            .map(|line| dump::data_block(&table, line.handle).unwrap().entries)
            .collect();
        let first = &blocks[0][0].0;
        for (i, block) in blocks.iter().enumerate() {
            let next = blocks.get(i + 1).map(|next| &next[0].0[..]);
            builder.add_separator(&bytewise(), first, &block[block.len() - 1].0, next);
            let begins = builder.add_handle(lines[i].handle);
            assert_eq!(
                begins,
                i > 0 && lines[i - 1].partition != lines[i].partition,
                "{} block {i}",
                path.display()
            );
        }
        let user_keys = table.properties().index_key_is_user_key;
        assert_eq!(user_keys, !builder.coding().internal_keys);
        for (i, line) in lines.iter().enumerate() {
            let separator = builder.separators.get(i);
            let separator = if user_keys { user_key(separator) } else { separator };
            assert_eq!(separator, line.separator);
        }
        partitions += builder
            .finish(|_| Ok(BlockHandle::default()))
            .unwrap()
            .partitions
            .unwrap()
            .0;
    }
    assert!(partitions > 20, "{partitions}");
}

/// The separators of a table whose blocks end and begin with the keys of `neighbours`, and whether they are
/// user keys.
fn separators(format_version: u32, neighbours: &[(&[u8], &[u8])]) -> (Vec<Vec<u8>>, bool) {
    let mut builder = IndexBuilder::new(&options(format_version));
    for (last, next) in neighbours {
        builder.add_separator(&bytewise(), b"unused", last, Some(next));
    }
    let separators = (0..builder.separators.len()).map(|i| builder.separators.get(i).to_vec());
    (separators.collect(), !builder.coding.internal_keys)
}

#[test]
fn separators_are_shortened_and_carry_the_highest_seqno() {
    let last = internal_key::encode(b"the quick brown fox", 7, Kind::Value);
    let next = internal_key::encode(b"the who", 3, Kind::Value);
    let (keys, user_keys) = separators(5, &[(&last, &next)]);
    assert_eq!(keys[0], [b"the r\x16".as_slice(), &[0xff; 7]].concat());
    assert!(user_keys);
    assert!(bytewise().compare(&last, &keys[0]).is_lt() && bytewise().compare(&keys[0], &next).is_lt());
    assert!(!separators(2, &[(&last, &next)]).1);
}

#[test]
fn blocks_that_meet_within_a_user_key_need_internal_keys() {
    let version = |seqno| internal_key::encode(b"key", seqno, Kind::Value);
    let other = internal_key::encode(b"other", 1, Kind::Value);
    let (keys, user_keys) = separators(5, &[(&version(9), &version(8)), (&version(1), &other)]);
    assert_eq!(keys[0], version(9));
    assert_eq!(internal_key::user_key(&keys[1]), b"l");
    assert!(!user_keys);
}

#[test]
fn shortening_is_for_separators_or_the_successor_too_or_for_none() {
    let last = internal_key::encode(b"the quick brown fox", 7, Kind::Value);
    let next = internal_key::encode(b"the who", 3, Kind::Value);
    let shortened = |user_key: &[u8]| [user_key, b"\x16", &[0xff; 7]].concat();
    for (index_shortening, between, at_the_end) in [
        (IndexShortening::None, last.clone(), next.clone()),
        (IndexShortening::Separators, shortened(b"the r"), next.clone()),
        (
            IndexShortening::SeparatorsAndSuccessor,
            shortened(b"the r"),
            shortened(b"u"),
        ),
    ] {
        let mut builder = IndexBuilder::new(&TableWriterOptions {
            index_shortening,
            ..options(5)
        });
        builder.add_separator(&bytewise(), &last, &last, Some(&next));
        builder.add_separator(&bytewise(), &last, &next, None);
        assert_eq!(builder.separators.get(0), between);
        assert_eq!(builder.separators.get(1), at_the_end);
    }
}

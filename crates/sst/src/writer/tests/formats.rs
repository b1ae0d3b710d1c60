//! Tables with every kind of index and filter: no row is lost, and RocksDB reads the same.

use std::collections::BTreeMap;

use super::*;
use crate::BlockReadOptions;
use crate::dump;
use crate::format::{IndexShortening, IndexType};

const INDEX_TYPES: [IndexType; 5] = [
    IndexType::BinarySearch,
    IndexType::HashSearch,
    IndexType::TwoLevel,
    IndexType::TwoLevel,
    IndexType::BinarySearchWithFirstKey,
];
const EXTRACTORS: [&str; 3] = ["fixed:7", "capped:8", "noop"];
const SHORTENINGS: [IndexShortening; 3] = [
    IndexShortening::None,
    IndexShortening::Separators,
    IndexShortening::SeparatorsAndSuccessor,
];

/// Options of a random format.
fn random_options(rng: &mut TestRng, cmp: InternalComparator) -> TableWriterOptions {
    let extractor: &&str = rng.pick(&EXTRACTORS);
    let block_align = rng.one_in(6);
    let compression = match block_align {
        true => CompressionType::None,
        false => *rng.pick(&supported_compressions().collect::<Vec<_>>()),
    };
    let mut written = TableWriterOptions {
        format_version: rng.u32(2..=7),
        checksum: *rng.pick(&ChecksumType::ALL),
        compression,
        enable_index_compression: rng.bool(),
        block_align,
        block_size: match block_align {
            true => 256 << rng.u32(..4),
            false => rng.usize(1..1500),
        },
        block_size_deviation: *rng.pick(&[0, 10, 50, 100]),
        block_restart_interval: rng.usize(1..20),
        index_block_restart_interval: rng.usize(1..6),
        index_type: *rng.pick(&INDEX_TYPES),
        data_block_hash_table_util_ratio: rng.bool().then(|| *rng.pick(&[0.75, 0.1, 3.0, 0.0])),
        use_delta_encoding: !rng.one_in(4),
        separate_key_value_in_data_block: rng.one_in(3),
        index_shortening: *rng.pick(&SHORTENINGS),
        metadata_block_size: *rng.pick(&[1, 64, 200, 1000]),
        partition_filters: rng.bool(),
        decouple_partitioned_filters: rng.bool(),
        filter: match rng.bool() {
            true => FilterPolicy::Bloom(*rng.pick(&[1.0, 5.0, 10.0, 20.0])),
            false => FilterPolicy::Ribbon {
                bits_per_key: *rng.pick(&[1.0, 5.0, 10.0, 20.0]),
                bloom_before_level: 0,
            },
        },
        optimize_filters_for_memory: rng.bool(),
        whole_key_filtering: rng.bool(),
        prefix_extractor: rng.bool().then(|| base::prefix::builtin(extractor).unwrap()),
        ..options(cmp)
    };
    if written.index_type == IndexType::HashSearch && written.prefix_extractor.is_none() {
        written.index_type = IndexType::BinarySearch;
    }
    if rng.bool() {
        written.compression_opts.max_dict_bytes = *rng.pick(&[100, 1000]);
        written.compression_opts.zstd_max_train_bytes = *rng.pick(&[0, 5000]);
    }
    written
}

/// True if the table has a row at or after `target` with `target`'s prefix.
fn has_prefix_behind(entries: &Entries, prefixes: &dyn base::prefix::PrefixExtractor, target: &[u8]) -> bool {
    let Some(prefix) = prefixes.prefix(target) else {
        return true;
    };
    entries
        .iter()
        .map(|entry| user_key(&entry.0))
        .any(|key| key >= target && prefixes.prefix(key) == Some(prefix))
}

#[test]
fn no_format_loses_a_row() {
    let mut rng = testkit::rng();
    let mut partitioned = 0;
    for round in 0..80 {
        let keys = rng.usize(1..250);
        let entries = sample(&mut rng, keys);
        let scratch = Scratch::new();
        let written = random_options(&mut rng, bytewise());
        let said = format!(
            "round {round}, format version {}, {:?}, {:?}, partition_filters {}, decoupled {}, prefixes {:?}, whole keys {}",
            written.format_version,
            written.index_type,
            written.index_shortening,
            written.partition_filters,
            written.decouple_partitioned_filters,
            written
                .prefix_extractor
                .as_ref()
                .map(|prefixes| prefixes.name().to_owned()),
            written.whole_key_filtering,
        );
        let prefixes = written.prefix_extractor.clone();
        let summary = scratch.write(written, &entries);
        let table = open(
            &scratch.path(),
            TableReadOptions {
                prefix_extractor: prefixes.clone(),
                ..TableReadOptions::new(bytewise())
            },
        );
        assert_eq!(table.properties(), &summary.properties, "{said}");
        assert_eq!(scan(&table), entries, "{said}");
        verify(&table);
        partitioned += usize::from(
            dump::filter(&table)
                .unwrap()
                .is_some_and(|filter| filter.partitions > 1),
        );

        let mut firsts: BTreeMap<&[u8], &(Vec<u8>, Vec<u8>)> = BTreeMap::new();
        for entry in &entries {
            firsts.entry(user_key(&entry.0)).or_insert(entry);
        }
        for (key, first) in &firsts {
            assert_eq!(get(&table, key).as_ref(), Some(*first), "{said}");
        }
        // Look up every version: an older one may be in another block, and in another partition, than the
        // newest of its key.
        for entry in &entries {
            let key = LookupKey::new(
                user_key(&entry.0),
                internal_key::seqno(&entry.0),
                &UserComparator::Bytewise,
            );
            let mut found = None;
            table
                .get(&key, &BlockReadOptions::default(), &mut |internal_key, _| {
                    found = Some(internal_key::seqno(internal_key));
                    std::ops::ControlFlow::Break(())
                })
                .unwrap();
            assert_eq!(found, Some(internal_key::seqno(&entry.0)), "{said}");
        }
        let cmp = bytewise();
        let mut cursor = table.cursor(BlockReadOptions::default());
        for _ in 0..100 {
            // A target is a key, a prefix of one, or a key slightly after one.
            let mut target = rng.pick(&entries).0.clone();
            target.truncate(rng.usize(..=target.len() - TRAILER_LEN));
            if rng.bool() {
                target.push(rng.u8(..));
            }
            let internal = internal_key::encode(&target, base::MAX_SEQNO, Kind::Value);
            let at = entries.partition_point(|entry| cmp.compare(&entry.0, &internal).is_lt());
            cursor.seek(&internal);
            let found = cursor.valid().then(|| cursor.key().to_vec());
            assert_eq!(found.as_ref(), entries.get(at).map(|entry| &entry.0), "{said}");
            cursor.seek_for_prev(&internal);
            let found = cursor.valid().then(|| cursor.key().to_vec());
            let before = at.checked_sub(1).map(|before| &entries[before].0);
            assert_eq!(found.as_ref(), before, "{said}");
            if let Some(prefixes) = &prefixes
                && has_prefix_behind(&entries, &**prefixes, &target)
            {
                assert!(
                    table
                        .may_contain_prefix_of(&internal, &BlockReadOptions::default())
                        .unwrap(),
                    "{said}: {} is after none",
                    target.escape_ascii()
                );
            }
        }
    }
    assert!(partitioned > 0, "{partitioned} with partitions");
}

#[test]
fn a_filter_in_partitions_keeps_out_what_is_not_there() {
    let mut rng = testkit::rng();
    let entries: Entries = (0..3000u64)
        .map(|i| {
            (
                internal_key::encode(format!("key{i:06}").as_bytes(), 5, Kind::Value),
                rng.bytes(20),
            )
        })
        .collect();
    for decouple_partitioned_filters in [false, true] {
        let scratch = Scratch::new();
        let summary = scratch.write(
            TableWriterOptions {
                index_type: IndexType::TwoLevel,
                partition_filters: true,
                decouple_partitioned_filters,
                metadata_block_size: 512,
                ..options(bytewise())
            },
            &entries,
        );
        let properties = &summary.properties;
        assert_eq!(properties.num_filter_entries, 3000);
        assert_eq!(
            properties.decoupled_partitioned_filters,
            Some(decouple_partitioned_filters)
        );
        assert!(
            properties.index_partitions > Some(5),
            "{:?}",
            properties.index_partitions
        );
        let table = scratch.open(bytewise());
        let filter = dump::filter(&table).unwrap().unwrap();
        // At 10 bits a key, the 460 bytes to which partitions are filled hold 358 keys.
        assert!((9..20).contains(&filter.partitions), "{filter:?}");
        assert!(properties.filter_size > 3000 * 10 / 8);
        let absent = |i: u32| LookupKey::new(format!("key{i:06}x").as_bytes(), 9, &UserComparator::Bytewise);
        let wrong = (0..3000)
            .filter(|&i| table.may_contain(&absent(i)).unwrap())
            .count();
        assert!(wrong < 100, "{wrong} of 3000");
    }
}

/// A seek between two partitions leads to the earlier one, which does not hold the first key of the prefix.
#[test]
fn a_prefix_is_known_to_the_partitions_on_both_sides_of_it() {
    let entries: Entries = (0..400)
        .map(|i| {
            (
                internal_key::encode(format!("p{i:03}/5").as_bytes(), 5, Kind::Value),
                vec![7; 30],
            )
        })
        .collect();
    for (decouple_partitioned_filters, whole_key_filtering) in
        [(false, false), (false, true), (true, false), (true, true)]
    {
        let prefixes = base::prefix::builtin("fixed:4");
        let scratch = Scratch::new();
        let written = TableWriterOptions {
            index_type: IndexType::TwoLevel,
            partition_filters: true,
            decouple_partitioned_filters,
            whole_key_filtering,
            metadata_block_size: 150,
            filter: FilterPolicy::Bloom(30.0),
            prefix_extractor: prefixes.clone(),
            ..options(bytewise())
        };
        scratch.write(written, &entries);
        let table = open(
            &scratch.path(),
            TableReadOptions {
                prefix_extractor: prefixes,
                ..TableReadOptions::new(bytewise())
            },
        );
        assert!(dump::filter(&table).unwrap().unwrap().partitions > 8);
        let mut kept_out = 0;
        for i in 0..400 {
            let may_contain = |rest: &str| {
                let target = internal_key::encode(format!("p{i:03}{rest}").as_bytes(), 9, Kind::Value);
                table
                    .may_contain_prefix_of(&target, &BlockReadOptions::default())
                    .unwrap()
            };
            // The same check is made backwards, from after the last key of the prefix.
            assert!(
                may_contain("") && may_contain("/3") && may_contain("/5") && may_contain("/7"),
                "{i}"
            );
            let target = internal_key::encode(format!("q{i:03}").as_bytes(), 9, Kind::Value);
            kept_out += usize::from(
                !table
                    .may_contain_prefix_of(&target, &BlockReadOptions::default())
                    .unwrap(),
            );
        }
        assert!(kept_out > 390, "{kept_out} of 400");
    }
}

#[test]
fn partitions_of_the_filter_need_those_of_the_index() {
    let scratch = Scratch::new();
    let entries = sample(&mut TestRng::with_seed(3), 100);
    let summary = scratch.write(
        TableWriterOptions {
            partition_filters: true,
            ..options(bytewise())
        },
        &entries,
    );
    assert_eq!(summary.properties.decoupled_partitioned_filters, None);
    let table = scratch.open(bytewise());
    assert_eq!(dump::filter(&table).unwrap().unwrap().partitions, 0);
}

#[test]
fn rocksdb_reads_every_index_and_filter() {
    let (Some(verifier), Some(scanner)) = (testkit::oracle::sst_dump(), testkit::oracle::sst_dump()) else {
        return;
    };
    let mut rng = testkit::rng();
    let dir = TempDir::new().unwrap();
    let mut expected = BTreeMap::new();
    for i in 0..60 {
        let written = TableWriterOptions {
            format_version: rng.u32(2..=5),
            separate_key_value_in_data_block: false,
            ..random_options(&mut rng, bytewise())
        };
        let keys = rng.usize(1..300);
        let entries: Entries = (0..keys as u64)
            .flat_map(|i| {
                let key = format!("key{i:05}");
                let versions = if i % 50 == 7 { 40 } else { 1 };
                (0..versions).map(move |version| {
                    let value = format!("value{i}").repeat(i as usize % 5 + 1);
                    let key = internal_key::encode(key.as_bytes(), 1000 - version, Kind::Value);
                    (key, value.into_bytes())
                })
            })
            .collect();
        let name = format!("{i:06}.sst");
        let mut writer = writer_at(&dir.path().join(&name), written);
        for (key, value) in &entries {
            writer.add(key, value).unwrap();
        }
        writer.finish().unwrap();
        let rows: Vec<String> = entries
            .iter()
            .map(|(key, value)| {
                format!(
                    "'{}' seq:{}, type:1 => {}",
                    user_key(key).escape_ascii(),
                    internal_key::seqno(key),
                    value.escape_ascii()
                )
            })
            .collect();
        expected.insert(name, rows);
    }
    let output = oracle::sst_dump(verifier, dir.path(), &["--command=verify", "--verify_checksum"]);
    let verified = oracle::by_table(&output);
    let output = oracle::sst_dump(scanner, dir.path(), &["--command=scan", "--verify_checksum"]);
    let scanned = oracle::by_table(&output);
    for (name, expected) in &expected {
        assert!(
            verified[&name[..]].contains(&"The file is ok"),
            "{name}: {:?}",
            verified[&name[..]]
        );
        let rows: Vec<&str> = scanned[&name[..]]
            .iter()
            .copied()
            .filter(|line| line.contains(" => "))
            .collect();
        assert_eq!(rows, *expected, "{name}");
    }
}

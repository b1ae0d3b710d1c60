use std::sync::Arc;

use base::prefix;
use codec::checksum::crc32c;
use codec::hash::{hash32, xxph3_64};
use serde_json::Value;

use super::*;
use crate::vectors::{unbase64, unhex, vectors};

fn filter_vector(src: &str, kind: &str, with: &str) -> Value {
    vectors("filter")
        .into_iter()
        .find(|vector| {
            vector["src"] == src
                && vector["kind"].as_str().unwrap().starts_with(kind)
                && vector.get(with).is_some()
        })
        .unwrap()
}

fn matches(filter: &FilterReader, key: &[u8]) -> bool {
    filter.prefetch(xxph3_64(key));
    filter.may_match(xxph3_64(key), || hash32(key, LEGACY_SEED))
}

fn built(policy: f64, format_version: u32, keys: &[Vec<u8>]) -> Vec<u8> {
    let mut builder = full(FilterPolicy::Bloom(policy), format_version).unwrap();
    add_all(&mut builder, keys)
}

fn full(policy: FilterPolicy, format_version: u32) -> Option<FilterBuilder> {
    FilterBuilder::new(policy, format_version, UNKNOWN_LEVEL, true, None)
}

/// The filter of `keys`.
fn add_all(builder: &mut FilterBuilder, keys: &[Vec<u8>]) -> Vec<u8> {
    for key in keys {
        builder.add(key);
    }
    let filter = builder.finish().unwrap();
    assert_eq!(filter.len(), builder.estimated_size());
    assert_eq!(builder.num_added(), keys.len());
    filter
}

fn ribbon(bits_per_key: f64) -> FilterPolicy {
    FilterPolicy::Ribbon {
        bits_per_key,
        bloom_before_level: 0,
    }
}

/// The keys of the large vectors.
fn keys_2000() -> Vec<Vec<u8>> {
    (0..2000u64)
        .map(|i| [&i.to_be_bytes()[..], &[0x30; 8]].concat())
        .collect()
}

#[test]
fn small_bloom_filter_is_rocksdbs_to_the_bit() {
    // RocksDB 11.9 was asked for 10 bits a key, but used 64 bits, because the smallest filter has that many.
    for (src, optimize_for_memory) in [("7.8.3", false), ("11.9", true)] {
        let vector = filter_vector(src, "FastLocalBloom", "filter_hex");
        let expected = unhex(&vector["filter_hex"]);
        let keys: Vec<Vec<u8>> = vector["keys_hex"].as_array().unwrap().iter().map(unhex).collect();
        let builder = full(FilterPolicy::Bloom(10.0), 5).unwrap();
        let mut builder = builder.optimized_for_memory(optimize_for_memory);
        assert_eq!(add_all(&mut builder, &keys), expected, "{src}");
        let filter = FilterReader::new(&expected).unwrap();
        assert_eq!(filter.contents(), expected);
        assert_eq!(filter.kind(), "FastLocalBloom");
        assert!(keys.iter().all(|key| matches(&filter, key)));
    }
}

#[test]
fn large_filters_are_rocksdbs_to_the_bit() {
    let keys = keys_2000();
    for (kind, format_version) in [("FastLocalBloom", 5), ("legacy", 4)] {
        let vector = filter_vector("7.8.3", kind, "filter_crc32c");
        let filter = built(10.0, format_version, &keys);
        assert_eq!(filter.len() as u64, vector["len"]);
        assert_eq!(filter[..64], unhex(&vector["filter_first64_hex"]));
        assert!(filter.ends_with(&unhex(&vector["trailer_hex"])));
        assert_eq!(u64::from(crc32c(&filter)), vector["filter_crc32c"]);

        let contents = filter;
        let filter = FilterReader::new(&contents).unwrap();
        assert_eq!(filter.contents(), contents);
        assert!(keys.iter().all(|key| matches(&filter, key)));
        let wrong = (0..10_000u32)
            .filter(|i| matches(&filter, format!("absent{i}").as_bytes()))
            .count();
        assert!(wrong < 200, "{kind}: {wrong} of 10000");
        assert_eq!(
            filter.memory_usage() as u64,
            vector["len"].as_u64().unwrap() - METADATA_LEN as u64
        );
    }
}

#[test]
fn ribbon_filter_of_rocksdb_is_read() {
    let vector = filter_vector("7.8.3", "Ribbon", "filter_b64");
    let contents = unbase64(&vector["filter_b64"]);
    assert_eq!(contents.len() as u64, vector["len"]);
    let filter = FilterReader::new(&contents).unwrap();
    assert_eq!(filter.kind(), "Standard128Ribbon");
    assert_eq!(filter.contents(), contents);
    assert!((0..1000).all(|i| matches(&filter, format!("key{i:05}").as_bytes())));
    let wrong: Vec<u64> = (0..200)
        .filter(|i| matches(&filter, format!("absent{i:05}").as_bytes()))
        .collect();
    assert_eq!(Value::from(wrong), vector["false_positive_indexes"]);
}

#[test]
fn ribbon_filter_is_rocksdbs_to_the_bit() {
    let vector = filter_vector("7.8.3", "Ribbon", "filter_b64");
    let keys: Vec<Vec<u8>> = (0..1000).map(|i| format!("key{i:05}").into_bytes()).collect();
    // The choice is that of RocksDB, whatever the format version.
    for format_version in [2, 5] {
        let mut builder = full(ribbon(10.0), format_version).unwrap();
        assert!(add_all(&mut builder, &keys) == unbase64(&vector["filter_b64"]));
    }
}

#[test]
fn ribbon_filters_know_their_keys_and_few_others() {
    let mut rng = testkit::rng();
    let mut kinds = std::collections::BTreeMap::new();
    let sizes = (0..40).map(|_| rng.usize(1..1200)).chain([1, 2, 5000, 40_000]);
    let sizes = sizes.collect::<Vec<_>>().into_iter();
    let drawn = sizes.map(|count| (count, *rng.pick(&[1.0, 2.3, 5.0, 10.0, 20.0, 60.0])));
    // For one key a Bloom filter is smaller than a Ribbon filter, whatever policy was drawn.
    for (count, bits_per_key) in drawn.chain([(1, 60.0)]) {
        let keys: Vec<Vec<u8>> = (0..count).map(|i| format!("{i}").into_bytes()).collect();
        let filter = add_all(&mut full(ribbon(bits_per_key), 5).unwrap(), &keys);
        let bloom = built(bits_per_key, 5, &keys);
        assert!(filter.len() <= bloom.len() + 16, "{count} keys at {bits_per_key}");
        if count >= 5000 && bits_per_key >= 5.0 {
            assert!(
                filter.len() < bloom.len() * 3 / 4,
                "{count} keys at {bits_per_key}"
            );
        }
        let filter = FilterReader::new(filter).unwrap();
        *kinds.entry(filter.kind()).or_insert(0) += 1;
        assert!(
            keys.iter().all(|key| matches(&filter, key)),
            "{count} keys at {bits_per_key}"
        );
        let bloom = FilterReader::new(bloom).unwrap();
        let wrong = |filter: &FilterReader| {
            let absent = (0..4000).filter(|i| matches(filter, format!("absent{i}").as_bytes()));
            absent.count()
        };
        if count >= 1000 {
            let (ours, blooms) = (wrong(&filter), wrong(&bloom));
            assert!(
                ours <= blooms * 3 / 2 + 40,
                "{count} keys at {bits_per_key}: {ours} wrong, of Bloom {blooms}"
            );
        }
    }
    assert_eq!(
        kinds.into_keys().collect::<Vec<_>>(),
        ["FastLocalBloom", "Standard128Ribbon"]
    );
}

#[test]
fn tables_of_the_first_levels_may_have_bloom_filters_in_the_place_of_ribbons() {
    let keys = keys_2000();
    let kind = |bloom_before_level, level| {
        let policy = FilterPolicy::Ribbon {
            bits_per_key: 10.0,
            bloom_before_level,
        };
        let mut builder = FilterBuilder::new(policy, 5, level, true, None).unwrap();
        FilterReader::new(add_all(&mut builder, &keys)).unwrap().kind()
    };
    for (bloom_before_level, level, is_ribbon) in [
        (-1, -1, true),
        (0, -1, false),
        (0, 0, true),
        (2, 1, false),
        (2, 2, true),
        (2, UNKNOWN_LEVEL, true),
        (i32::MAX, UNKNOWN_LEVEL, false),
    ] {
        let expected = match is_ribbon {
            true => "Standard128Ribbon",
            false => "FastLocalBloom",
        };
        assert_eq!(
            kind(bloom_before_level, level),
            expected,
            "{bloom_before_level} {level}"
        );
    }
}

#[test]
fn partitions_hold_what_fits_their_size() {
    for (policy, format_version) in [
        (FilterPolicy::Bloom(10.0), 5),
        (FilterPolicy::Bloom(10.0), 4),
        (ribbon(10.0), 5),
    ] {
        for partition_size in [1, 64, 69, 200, 1000, 5000, 100_000] {
            let builder = full(policy, format_version).unwrap();
            let mut builder = builder.partitioned(partition_size, true, 0);
            for i in 0..3000 {
                builder.add(format!("key{i:05}").as_bytes());
            }
            let partitions = builder.finish_partitions(b"key02999\0\0\0\0\0\0\0\0").unwrap();
            assert_eq!(builder.num_added(), 3000);
            let bytes: usize = partitions.iter().map(|partition| partition.contents.len()).sum();
            assert!(bytes > 3000 * 5 / 8);
            for partition in &partitions[..partitions.len() - 1] {
                let len = partition.contents.len();
                // A filter has at least one line, and a Ribbon may have one more column.
                assert!(len <= partition_size.max(69) + 64, "{len} of {partition_size}");
                assert!(
                    partition_size < 1000 || len > partition_size * 2 / 3,
                    "{len} of {partition_size}"
                );
            }
            assert!(partitions.is_sorted_by(|a, b| a.last_key < b.last_key));
        }
    }
}

#[test]
fn number_of_probes_is_rocksdbs() {
    for vector in vectors("bloom_num_probes") {
        let millibits = vector["millibits_per_key"].as_u64().unwrap() as u32;
        assert_eq!(
            u64::from(bloom::num_probes(millibits)),
            vector["num_probes"],
            "{millibits}"
        );
    }
}

#[test]
fn bits_per_key_are_rounded_as_rocksdb_rounds_them() {
    for (bits_per_key, millibits, whole) in [
        (0.4, 0, 0),
        (0.5, 1000, 1),
        (9.9995, 10_000, 10),
        (10.4, 10_400, 10),
        (10.5, 10_500, 11),
        (1e9, 100_000, 100),
        (f64::NAN, 100_000, 100),
        (-3.0, 0, 0),
    ] {
        let policy = FilterPolicy::Bloom(bits_per_key);
        assert_eq!(policy.millibits_per_key(), millibits);
        assert_eq!(policy.whole_bits_per_key(), whole);
    }
    assert!(full(FilterPolicy::Bloom(0.0), 5).is_none());
    assert!(full(ribbon(0.2), 5).is_none());
    assert!(full(FilterPolicy::None, 5).is_none());
    assert!(FilterBuilder::new(FilterPolicy::Bloom(10.0), 5, 0, false, None).is_none());
}

#[test]
fn prefixes_are_added_once_each() {
    let policy = FilterPolicy::Bloom(20.0);
    for (whole_key_filtering, added) in [(true, 6), (false, 2)] {
        let mut builder =
            FilterBuilder::new(policy, 5, 0, whole_key_filtering, prefix::builtin("fixed:3")).unwrap();
        assert!(builder.finish().is_none());
        // One key is its own prefix, one is outside the extractor's domain.
        for key in ["aaa", "aaa1", "aaa2", "bbb1", "cc"] {
            builder.add(key.as_bytes());
        }
        assert_eq!(builder.num_added(), added);
        let filter = FilterReader::new(builder.finish().unwrap()).unwrap();
        assert!(matches(&filter, b"aaa") && matches(&filter, b"bbb"));
        assert_eq!(matches(&filter, b"aaa1"), whole_key_filtering);
        assert_eq!(matches(&filter, b"cc"), whole_key_filtering);
    }
}

#[test]
fn what_is_not_understood_matches_everything() {
    let line = [0u8; 64];
    let with = |metadata: [u8; 5]| FilterReader::new([&line[..], &metadata].concat()).unwrap();
    for (metadata, kind) in [
        ([0xff, 0, 6, 0, 0], "FastLocalBloom"),
        ([0xff, 1, 6, 0, 0], "AlwaysTrue"),
        ([0xff, 0, 0, 0, 0], "AlwaysTrue"),
        ([0xff, 0, 31, 0, 0], "AlwaysTrue"),
        ([0xff, 0, 6 | 1 << 5, 0, 0], "AlwaysTrue"),
        ([0xff, 0, 6, 1, 0], "AlwaysTrue"),
        ([0xfe, 0, 1, 0, 0], "AlwaysTrue"),
        ([0xfd, 0, 0, 0, 0], "AlwaysTrue"),
        ([0x80, 0, 0, 0, 0], "AlwaysTrue"),
        ([0, 0, 0, 0, 0], "AlwaysTrue"),
        ([6, 1, 0, 0, 0], "LegacyBloom"),
        ([6, 2, 0, 0, 0], "LegacyBloom"),
        ([6, 0, 0, 0, 0], "AlwaysTrue"),
        ([6, 3, 0, 0, 0], "AlwaysTrue"),
        ([6, 65, 0, 0, 0], "AlwaysTrue"),
        ([6, 255, 255, 255, 255], "AlwaysTrue"),
    ] {
        let filter = with(metadata);
        assert_eq!(filter.kind(), kind, "{metadata:?}");
        assert_eq!(matches(&filter, b"key"), kind == "AlwaysTrue");
    }
    for empty in [&b""[..], &[0xff], &[0, 0, 0, 0, 0]] {
        assert!(!matches(&FilterReader::new(empty).unwrap(), b"key"));
    }
    assert!(matches(&FilterReader::new([0; 6]).unwrap(), b"key"));
    // Filters with a constant answer.
    for contents in [&[][..], &[0; 5], &[0; 6], &[0, 5, 0, 0, 0, 0]] {
        let filter = FilterReader::new(contents).unwrap();
        let again = FilterReader::new(filter.contents()).unwrap();
        assert_eq!(matches(&filter, b"key"), matches(&again, b"key"), "{contents:?}");
    }
    assert!(
        FilterReader::new([0, 0xff, 0, 6, 0, 0])
            .unwrap_err()
            .is_corruption()
    );
}

#[test]
fn damaged_filters_answer_without_panic() {
    let mut rng = testkit::rng();
    for _ in 0..2_000 {
        let len = rng.usize(..300);
        let mut contents = rng.bytes(len);
        if let Some(marker) = contents.iter_mut().nth_back(4) {
            *marker = *rng.pick(&[0xff, 0xfe, 1, 6, 127]);
            let small = rng.pick(&[0, 1, 6, 64]);
            let at = len - 1 - rng.usize(..4);
            contents[at] = *small;
        }
        if let Ok(filter) = FilterReader::new(contents) {
            for _ in 0..20 {
                let hash = *rng.pick(&[0, u64::MAX, 1 << 63, rng.seed()]) ^ (rng.u64(..) % 3);
                filter.prefetch(hash);
                filter.may_match(hash, || hash as u32);
            }
        }
    }
}

#[test]
fn a_key_is_asked_of_the_partition_that_may_have_it() {
    let partition = |last: &str, keys: [&str; 2]| {
        let keys: Vec<Vec<u8>> = keys.iter().map(|key| key.as_bytes().to_vec()).collect();
        Ok((
            last.as_bytes().to_vec(),
            FilterReader::new(built(50.0, 5, &keys))?,
        ))
    };
    let filter = PartitionedFilter::new([
        partition("b", ["a", "b"]),
        partition("d", ["c", "d"]),
        partition("f", ["e", "f"]),
    ])
    .unwrap();
    let may_match = |key: &str| {
        let partition = filter.partition(|last| last < key.as_bytes()).unwrap();
        matches(partition, key.as_bytes())
    };
    assert!(["a", "b", "c", "d", "e", "f"].iter().all(|key| may_match(key)));
    assert!(!["0", "aa", "cc", "g"].iter().any(|key| may_match(key)));
    assert!(filter.memory_usage() > 3 * 64);

    let none = PartitionedFilter::new(std::iter::empty::<Result<(Vec<u8>, FilterReader)>>()).unwrap();
    assert!(none.partition(|_| true).is_none());
}

#[test]
fn filters_are_shared_between_threads() {
    fn shared<T: Send + Sync>(_: &Arc<T>) {}
    shared(&Arc::new(FilterReader::new([0; 6]).unwrap()));
}

#[test]
fn a_filter_is_charged_while_it_is_built() {
    let keys: Vec<Vec<u8>> = (0..60_000u64).map(|key| key.to_be_bytes().to_vec()).collect();
    let build = |policy, capacity: Option<usize>| {
        let cache = capacity.map(|capacity| {
            cache::Cache::lru(cache::CacheOptions {
                capacity,
                strict_capacity_limit: true,
                num_shard_bits: 0,
                ..cache::CacheOptions::default()
            })
        });
        let mut builder = full(policy, 5).unwrap().charged_to(cache.clone());
        keys.iter().for_each(|key| builder.add(key));
        builder.update_charge();
        let charged = cache.as_ref().map_or(0, |cache| cache.usage());
        let filter = builder.finish().unwrap();
        if let Some(cache) = cache {
            // The hashes take 480,000 bytes at least, and room for more is charged too.
            assert!(charged >= 2 * (256 << 10), "{charged}");
            assert!(cache.usage() >= charged, "the finished filter is charged as well");
            drop(builder);
            assert_eq!(cache.usage(), 0);
        }
        filter
    };
    let (bloom, ribbon) = (FilterPolicy::Bloom(10.0), ribbon(10.0));
    let (plain_bloom, plain_ribbon) = (build(bloom, None), build(ribbon, None));
    assert!(plain_ribbon.len() < plain_bloom.len());
    assert_eq!(build(bloom, Some(1 << 20)), plain_bloom);
    assert_eq!(build(ribbon, Some(16 << 20)), plain_ribbon);
    // The equations take 20 bytes for each of more than 60,000 slots.
    assert_eq!(build(ribbon, Some(1 << 20)), plain_bloom);
}

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
    let policy = BloomPolicy { bits_per_key: policy };
    let mut builder = FilterBuilder::new(policy, format_version, true, None).unwrap();
    for key in keys {
        builder.add(key);
    }
    let filter = builder.finish().unwrap();
    assert_eq!(filter.len(), builder.estimated_size());
    assert_eq!(builder.num_added(), keys.len());
    filter
}

/// The keys of the large vectors.
fn keys_2000() -> Vec<Vec<u8>> {
    (0..2000u64)
        .map(|i| [&i.to_be_bytes()[..], &[0x30; 8]].concat())
        .collect()
}

#[test]
fn small_bloom_filter_is_rocksdbs_to_the_bit() {
    for (src, bits_per_key) in [("7.8.3", 10.0), ("11.9", 64.0)] {
        let vector = filter_vector(src, "FastLocalBloom", "filter_hex");
        let expected = unhex(&vector["filter_hex"]);
        let keys: Vec<Vec<u8>> = vector["keys_hex"].as_array().unwrap().iter().map(unhex).collect();
        // 11.9 was asked for 10 bits a key, found that the smallest filter has 64, and made use of them.
        assert_eq!(built(bits_per_key, 5, &keys), expected, "{src}");
        let filter = FilterReader::new(expected).unwrap();
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

        let filter = FilterReader::new(filter).unwrap();
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
    assert!((0..1000).all(|i| matches(&filter, format!("key{i:05}").as_bytes())));
    let wrong: Vec<u64> = (0..200)
        .filter(|i| matches(&filter, format!("absent{i:05}").as_bytes()))
        .collect();
    assert_eq!(Value::from(wrong), vector["false_positive_indexes"]);
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
        let policy = BloomPolicy { bits_per_key };
        assert_eq!(policy.millibits_per_key(), millibits);
        assert_eq!(policy.whole_bits_per_key(), whole);
    }
    assert!(FilterBuilder::new(BloomPolicy { bits_per_key: 0.0 }, 5, true, None).is_none());
    assert!(FilterBuilder::new(BloomPolicy { bits_per_key: 10.0 }, 5, false, None).is_none());
}

#[test]
fn prefixes_are_added_once_each() {
    let policy = BloomPolicy { bits_per_key: 20.0 };
    for (whole_key_filtering, added) in [(true, 6), (false, 2)] {
        let mut builder =
            FilterBuilder::new(policy, 5, whole_key_filtering, prefix::builtin("fixed:3")).unwrap();
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

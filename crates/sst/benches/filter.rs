//! The cost of a filter: nanoseconds a key. `cargo bench -p esker-sst --bench filter [-- FILTER]`.
//!
//! * `add`: a key passed to the filter builder while a table is written
//! * `build`: the filter of 10,000 keys, built when the table is finished; the second figure is keys a second
//! * `may_match`: a query for a present or an absent key, including the hash; in filters of 10,000 keys (12
//!   KiB: in the processor's cache) and of 10 million (12 MiB: a cache miss)
//!
//! `bloom` is the cache-local Bloom filter, `legacy` that of format versions below 5, both with 10 bits a
//! key; `ribbon` has the same accuracy. The results show the cost that a filter adds to a flush, and to each
//! table that a Get skips.

use codec::hash::{hash32, xxph3_64};
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use esker_sst::FilterPolicy;
use esker_sst::filter::{FilterBuilder, FilterReader, LEGACY_SEED, UNKNOWN_LEVEL};
use testkit::bench::{Shuffled, key, size};

const KINDS: [&str; 3] = ["bloom", "legacy", "ribbon"];
const FEW: usize = 10_000;
const MANY: usize = 10_000_000;

fn main() {
    divan::main();
}

fn builder(kind: &str) -> FilterBuilder {
    let policy = match kind {
        "ribbon" => FilterPolicy::Ribbon {
            bits_per_key: 10.0,
            bloom_before_level: 0,
        },
        _ => FilterPolicy::Bloom(10.0),
    };
    let format_version = if kind == "legacy" { 4 } else { 5 };
    FilterBuilder::new(policy, format_version, UNKNOWN_LEVEL, true, None).expect("a filter of whole keys")
}

/// A builder with the even ones of the first `2 * keys` keys.
fn filled(kind: &str, keys: usize) -> FilterBuilder {
    let mut builder = builder(kind);
    (0..keys).for_each(|i| builder.add(&key(2 * i)));
    builder
}

#[divan::bench(args = KINDS, sample_size = 1000)]
fn add(bencher: Bencher, kind: &str) {
    let mut builder = builder(kind);
    let mut i = 0;
    bencher
        .with_inputs(|| {
            i += 1;
            key(i)
        })
        .bench_local_values(|key| builder.add(&key));
    assert_eq!(builder.num_added(), i);
}

#[divan::bench(args = KINDS)]
fn build(bencher: Bencher, kind: &str) {
    let keys = size(FEW, 100);
    let builder = filled(kind, keys);
    bencher
        .counter(ItemsCount::new(keys))
        .bench_local(|| black_box(&builder).finish());
}

#[divan::bench_group(sample_size = 1000)]
mod may_match {
    use super::*;

    #[divan::bench(args = KINDS, consts = [FEW, MANY])]
    fn present<const KEYS: usize>(bencher: Bencher, kind: &str) {
        let matched = ask(bencher, kind, KEYS, 0);
        assert_eq!(matched, 1.0, "an added key always matches");
    }

    #[divan::bench(args = KINDS, consts = [FEW, MANY])]
    fn missing<const KEYS: usize>(bencher: Bencher, kind: &str) {
        let matched = ask(bencher, kind, KEYS, 1);
        assert!(matched <= 1.0);
    }

    /// Queries keys at a distance of `off` from the added ones. Returns the fraction that matched.
    fn ask(bencher: Bencher, kind: &str, keys: usize, off: usize) -> f64 {
        let keys = size(keys, 100);
        let contents = filled(kind, keys).finish().expect("keys were added");
        let reader = FilterReader::new(contents).expect("a filter just built");
        let order = Shuffled::new(keys);
        let (mut asked, mut matched) = (0u64, 0u64);
        bencher
            .with_inputs(|| key(2 * order.next() + off))
            .bench_local_values(|key| {
                let hash = xxph3_64(&key);
                asked += 1;
                matched += u64::from(reader.may_match(hash, || hash32(&key, LEGACY_SEED)));
            });
        matched as f64 / asked as f64
    }
}

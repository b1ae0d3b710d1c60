//! The cost of the compaction rules per entry, in nanoseconds.
//! `cargo bench -p esker-compact --bench cursor [-- FILTER]`.
//!
//! * `bare`: the input alone, an array of entries; subtract it from the others
//! * `cursor`: an entry that leaves the compaction cursor. If a key has four versions, one leaves it, or as
//!   many as snapshots keep apart; the cost of the dropped versions is included
//! * `write_outputs`: a million entries all the way to output files of 2 MiB that are only counted, without
//!   grandparents and with grandparents of 3,000 keys each; the second figure is entries per second
//!
//! Nothing is read, compressed or written. Keys have 20 bytes, values 100. The results show the cost that the
//! decision about an entry adds to the copying that a compaction consists of, and the cost of snapshots and
//! range tombstones.

use std::sync::Arc;

use base::internal_key::{self, TRAILER_LEN};
use base::{BlockwiseCursor, Cursor, Kind, Result, UserComparator};
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use esker_compact::{
    BeyondOutput, CompactionCursor, CompactionRules, CompactionTombstones, FileBounds, OutputRange,
    OutputSink, OutputSplitter, SplitLimits,
};
use manifest::FileMetadata;
use rangedel::{FragmentedTombstones, RangeTombstone};
use testkit::bench::size;

/// Entries of fixed size, one after the other: the cheapest possible input.
struct Flat<'a> {
    bytes: &'a [u8],
    at: usize,
}

const USER_KEY: usize = 20;
const KEY: usize = USER_KEY + TRAILER_LEN;
const VALUE: usize = 100;

fn main() {
    divan::main();
}

fn keys() -> usize {
    size(1_000_000, 10_000)
}

impl BlockwiseCursor for Flat<'_> {}

impl Cursor for Flat<'_> {
    #[inline]
    fn valid(&self) -> bool {
        self.at < self.bytes.len()
    }
    fn seek_to_first(&mut self) {
        self.at = 0;
    }
    fn seek_to_last(&mut self) {
        self.at = self.bytes.len() - KEY - VALUE;
    }
    fn seek(&mut self, _: &[u8]) {
        unreachable!("the benchmark walks")
    }
    fn seek_for_prev(&mut self, _: &[u8]) {
        unreachable!("the benchmark walks")
    }
    #[inline]
    fn next(&mut self) {
        self.at += KEY + VALUE;
    }
    fn prev(&mut self) {
        unreachable!("the benchmark walks")
    }
    #[inline]
    fn key(&self) -> &[u8] {
        &self.bytes[self.at..self.at + KEY]
    }
    #[inline]
    fn value(&self) -> &[u8] {
        &self.bytes[self.at + KEY..self.at + KEY + VALUE]
    }
    fn status(&self) -> Result<()> {
        Ok(())
    }
}

fn user_key(i: usize) -> Vec<u8> {
    format!("user{i:016}").into_bytes()
}

/// `keys` user keys of `versions` versions each.
fn entries(keys: usize, versions: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(keys * (KEY + VALUE));
    for i in 0..keys {
        let (key, version) = (i / versions, i % versions);
        let seqno = 1_000_000 + (versions - version) as u64 * 1_000_000 + (key % 1000) as u64;
        bytes.extend(internal_key::encode(&user_key(key), seqno, Kind::Value));
        bytes.extend([b'v'; VALUE]);
    }
    bytes
}

fn rules(bottommost: bool) -> CompactionRules {
    let mut rules = CompactionRules::new(UserComparator::Bytewise);
    if bottommost {
        rules.bottommost = true;
        rules.beyond = BeyondOutput::nothing(UserComparator::Bytewise);
    }
    rules
}

/// `count` tombstones that cover nothing, spread over `keys` keys.
fn tombstones(count: usize, keys: usize) -> CompactionTombstones {
    let tombstone = |i: usize| RangeTombstone {
        start: user_key(i * keys / count),
        end: user_key(i * keys / count + 50),
        seqno: 1,
    };
    let cmp = UserComparator::Bytewise;
    let set = FragmentedTombstones::build((0..count).map(tombstone), &cmp);
    CompactionTombstones::new(cmp, &[&set])
}

#[divan::bench(sample_size = 10_000)]
fn bare(bencher: Bencher) {
    let bytes = entries(keys(), 1);
    let mut input = Flat { bytes: &bytes, at: 0 };
    bencher.bench_local(|| {
        if !input.valid() {
            input.seek_to_first();
        }
        let touched = internal_key::trailer(black_box(input.key())) + black_box(input.value()).len() as u64;
        input.next();
        touched
    });
}

#[divan::bench_group(sample_size = 10_000)]
mod cursor {
    use super::*;

    /// Measures the cost of an entry that leaves the cursor, including the entries that are dropped before
    /// it.
    fn walk(bencher: Bencher, versions: usize, rules: impl Fn() -> CompactionRules) {
        let bytes = entries(keys(), versions);
        let start = || {
            let mut cursor = CompactionCursor::new(Flat { bytes: &bytes, at: 0 }, rules());
            cursor.seek_to_first();
            cursor
        };
        let mut cursor = start();
        bencher.bench_local(|| {
            if !cursor.valid() {
                cursor = start();
            }
            let touched =
                internal_key::trailer(black_box(cursor.key())) + black_box(cursor.value()).len() as u64;
            cursor.next();
            touched
        });
        cursor.status().expect("entries in memory");
    }

    #[divan::bench]
    fn distinct_keys(bencher: Bencher) {
        walk(bencher, 1, || rules(false));
    }

    #[divan::bench]
    fn distinct_keys_bottommost(bencher: Bencher) {
        walk(bencher, 1, || rules(true));
    }

    #[divan::bench]
    fn distinct_keys_3_snapshots(bencher: Bencher) {
        walk(bencher, 1, || CompactionRules {
            snapshots: vec![500_000, 2_000_500, 3_000_000],
            ..rules(false)
        });
    }

    #[divan::bench]
    fn distinct_keys_1000_tombstones(bencher: Bencher) {
        let sparse = tombstones(1000, keys());
        walk(bencher, 1, || CompactionRules {
            tombstones: sparse.clone(),
            ..rules(true)
        });
    }

    #[divan::bench]
    fn distinct_keys_operator_and_cancel(bencher: Bencher) {
        walk(bencher, 1, || CompactionRules {
            merge_operator: base::merge::builtin("put"),
            cancelled: vec![Arc::default()],
            ..rules(false)
        });
    }

    #[divan::bench]
    fn four_versions(bencher: Bencher) {
        walk(bencher, 4, || rules(false));
    }

    #[divan::bench]
    fn four_versions_3_snapshots(bencher: Bencher) {
        walk(bencher, 4, || CompactionRules {
            snapshots: vec![2_500_000, 3_500_000, 4_500_000],
            ..rules(false)
        });
    }
}

/// A sink that counts the entries it gets.
#[derive(Default)]
struct Sink {
    entries: u64,
    size: u64,
}

impl<C> OutputSink<C> for Sink {
    fn last_key(&self) -> &[u8] {
        unreachable!("the benchmark adds one by one")
    }

    fn open(&mut self) -> Result<()> {
        self.size = 0;
        Ok(())
    }
    fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.size += (black_box(key).len() + black_box(value).len()) as u64;
        Ok(())
    }
    fn add_range_tombstone(&mut self, _: &RangeTombstone) -> Result<()> {
        Ok(())
    }
    fn file_size(&self) -> u64 {
        self.size
    }
    fn close(&mut self, bounds: FileBounds) -> Result<()> {
        self.entries += bounds.num_entries;
        Ok(())
    }
}

#[divan::bench(args = ["no_grandparents", "grandparents"], sample_count = 10)]
fn write_outputs(bencher: Bencher, case: &str) {
    let keys = keys();
    let bytes = entries(keys, 1);
    let cmp = UserComparator::Bytewise;
    let file = |first: usize| {
        Arc::new(FileMetadata {
            size: 1 << 20,
            smallest: internal_key::encode(&user_key(first), 1, Kind::Value).into(),
            largest: internal_key::encode(&user_key(first + 2990), 1, Kind::Value).into(),
            ..FileMetadata::default()
        })
    };
    let limits = SplitLimits {
        borders: Default::default(),
        output_level: 1,
        grandparents: if case == "grandparents" {
            (0..keys).step_by(3000).map(file).collect()
        } else {
            Vec::new()
        },
        target_file_size: 2 << 20,
        max_output_file_size: 4 << 20,
        max_compaction_bytes: 50 << 20,
    };
    bencher.counter(ItemsCount::new(keys)).bench_local(|| {
        let mut cursor = CompactionCursor::new(Flat { bytes: &bytes, at: 0 }, rules(true));
        let mut sink = Sink::default();
        let splitter = OutputSplitter::new(cmp.clone(), limits.clone());
        cursor.seek_to_first();
        esker_compact::write_outputs(&mut cursor, OutputRange::default(), splitter, &mut sink)
            .expect("entries in memory");
        assert_eq!(sink.entries, keys as u64);
    });
}

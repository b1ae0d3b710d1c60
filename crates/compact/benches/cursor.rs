//! What the compaction cursor costs a key: `cargo bench -p esker-compact [-- KEYS]`.
//!
//! Each case walks the same entries once bare and once through the cursor, alternating, and prints the medians in
//! nanoseconds a key, their difference, and a checksum of what came out.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use base::internal_key::{self, TRAILER_LEN};
use base::{Cursor, Kind, Result, UserComparator};
use esker_compact::{
    BeyondOutput, CompactionCursor, CompactionRules, CompactionTombstones, FileBounds, OutputRange,
    OutputSink, OutputSplitter, SplitLimits, write_outputs,
};
use manifest::FileMetadata;
use rangedel::{FragmentedTombstones, RangeTombstone};

/// Entries of fixed size behind each other: as cheap as an input can be.
struct Flat<'a> {
    bytes: &'a [u8],
    at: usize,
}

const USER_KEY: usize = 20;
const KEY: usize = USER_KEY + TRAILER_LEN;
const VALUE: usize = 100;

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

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn run(name: &str, bytes: &[u8], make_rules: impl Fn() -> CompactionRules) {
    let keys = (bytes.len() / (KEY + VALUE)) as f64;
    let (mut bare, mut through) = (Vec::new(), Vec::new());
    let mut checksum = 0u64;
    for _ in 0..7 {
        let mut input = Flat { bytes, at: 0 };
        let start = Instant::now();
        let mut sum = 0u64;
        while input.valid() {
            sum = sum.wrapping_add(black_box(input.key())[KEY - 2].into())
                + black_box(input.value()).len() as u64;
            input.next();
        }
        bare.push(start.elapsed().as_nanos() as f64 / keys);
        black_box(sum);

        let mut cursor = CompactionCursor::new(Flat { bytes, at: 0 }, make_rules());
        let start = Instant::now();
        cursor.seek_to_first();
        checksum = 0;
        while cursor.valid() {
            let key = black_box(cursor.key());
            checksum = checksum.wrapping_mul(31).wrapping_add(internal_key::trailer(key));
            checksum = checksum.wrapping_add(black_box(cursor.value()).len() as u64);
            cursor.next();
        }
        through.push(start.elapsed().as_nanos() as f64 / keys);
        cursor.status().expect("entries in memory");
    }
    let (bare, through) = (median(&mut bare), median(&mut through));
    println!(
        "{name:<36} {bare:6.1} {through:6.1} {:6.1}  {checksum:016x}",
        through - bare
    );
}

/// Counts what comes.
#[derive(Default)]
struct Sink {
    checksum: u64,
    size: u64,
}

impl OutputSink for Sink {
    fn open(&mut self) -> Result<()> {
        self.size = 0;
        Ok(())
    }
    fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.checksum = self
            .checksum
            .wrapping_mul(31)
            .wrapping_add(internal_key::trailer(black_box(key)));
        self.size += (key.len() + black_box(value).len()) as u64;
        Ok(())
    }
    fn add_range_tombstone(&mut self, _: &RangeTombstone) -> Result<()> {
        Ok(())
    }
    fn file_size(&self) -> u64 {
        self.size
    }
    fn close(&mut self, bounds: FileBounds) -> Result<()> {
        self.checksum = self.checksum.wrapping_add(bounds.num_entries);
        Ok(())
    }
}

/// The whole way to output files of 2 MiB, with `grandparents` of 3000 keys each.
fn run_outputs(name: &str, bytes: &[u8], grandparents: bool) {
    let keys = bytes.len() / (KEY + VALUE);
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
        output_level: 1,
        grandparents: if grandparents {
            (0..keys).step_by(3000).map(file).collect()
        } else {
            Vec::new()
        },
        target_file_size: 2 << 20,
        max_output_file_size: 4 << 20,
        max_compaction_bytes: 50 << 20,
    };
    let mut times = Vec::new();
    let mut checksum = 0;
    for _ in 0..7 {
        let mut cursor = CompactionCursor::new(Flat { bytes, at: 0 }, rules(true));
        let mut sink = Sink::default();
        let splitter = OutputSplitter::new(cmp.clone(), limits.clone());
        let start = Instant::now();
        cursor.seek_to_first();
        write_outputs(&mut cursor, OutputRange::default(), splitter, &mut sink).expect("entries in memory");
        times.push(start.elapsed().as_nanos() as f64 / keys as f64);
        checksum = sink.checksum;
    }
    println!(
        "{name:<36} {:6} {:6.1} {:6}  {checksum:016x}",
        "",
        median(&mut times),
        ""
    );
}

fn main() {
    let keys = std::env::args()
        .filter_map(|arg| arg.parse().ok())
        .next()
        .unwrap_or(1_000_000);
    let distinct = entries(keys, 1);
    let overwritten = entries(keys, 4);
    println!(
        "{:<36} {:>6} {:>6} {:>6}  ({keys} entries, ns each)",
        "", "bare", "cursor", "cost"
    );
    run("distinct keys", &distinct, || rules(false));
    run("distinct keys, bottommost", &distinct, || rules(true));
    run("distinct keys, 3 snapshots", &distinct, || CompactionRules {
        snapshots: vec![500_000, 2_000_500, 3_000_000],
        ..rules(false)
    });
    run("4 versions", &overwritten, || rules(false));
    run("4 versions, 3 snapshots", &overwritten, || CompactionRules {
        snapshots: vec![2_500_000, 3_500_000, 4_500_000],
        ..rules(false)
    });
    let sparse = tombstones(1000, keys);
    run("distinct keys, 1000 tombstones", &distinct, || CompactionRules {
        tombstones: sparse.clone(),
        ..rules(true)
    });
    run("distinct keys, operator and cancel", &distinct, || {
        CompactionRules {
            merge_operator: base::merge::builtin("put"),
            cancelled: Some(Default::default()),
            ..rules(false)
        }
    });
    run_outputs("to files", &distinct, false);
    run_outputs("to files, grandparents", &distinct, true);
}

//! The cost of merging sorted runs into one, in nanoseconds per entry. `cargo bench -p esker --bench
//! merging_cursor`.
//!
//! The keys of a database are distributed in turn over 1, 2, 5 or 10 files of L0, so that each step leads to
//! another file; 0 means that a memtable has all of them. The merging cursor is private to the engine, so it
//! is measured through the public iterator, together with the part that drops deleted and overwritten
//! versions. The cost of one run is that of the iterator and the table; the additional cost of more runs is
//! that of merging.
//!
//! * `next`, `prev`: a step of the iterator
//! * `seek`: a seek to a random key
//! * `new`: the creation and drop of an iterator
//!
//! All blocks are in the block cache, so no file is read during the measurement. Keys have 16 bytes, values
//! 100, without compression. The result shows the cost of read amplification for a scan.

use divan::Bencher;
use esker::{
    BlockBasedOptions, Cache, CacheOptions, ColumnFamilyOptions, CompressionType, Db, DbIterator, Options,
};
use tempfile::TempDir;
use testkit::bench::{Shuffled, key, size};

const VALUE: [u8; 100] = [b'v'; 100];
/// The numbers of files in L0; 0 leaves everything in the memtable.
const RUNS: [usize; 5] = [0, 1, 2, 5, 10];

fn main() {
    divan::main();
}

fn keys() -> usize {
    size(200_000, 200)
}

/// A database and its directory, which is dropped after it.
struct Scratch {
    db: Db,
    _dir: TempDir,
}

impl Scratch {
    fn new(runs: usize) -> Scratch {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let cache = Cache::lru(CacheOptions {
            capacity: 256 << 20,
            ..CacheOptions::default()
        });
        let options = Options {
            create_if_missing: true,
            column_family: ColumnFamilyOptions {
                disable_auto_compactions: true,
                compression: CompressionType::None,
                table: BlockBasedOptions {
                    block_cache: Some(cache),
                    ..BlockBasedOptions::default()
                },
                ..ColumnFamilyOptions::default()
            },
            ..Options::default()
        };
        let db = Db::open(&options, dir.path().join("db")).expect("a new database");
        for run in 0..runs.max(1) {
            for i in (run..keys()).step_by(runs.max(1)) {
                db.put(key(i), VALUE).expect("a database that takes writes");
            }
            if runs > 0 {
                db.flush().expect("a database that takes writes");
            }
        }
        assert_eq!(db.live_files().len(), runs);
        let scratch = Scratch { db, _dir: dir };
        let mut iterator = scratch.iterator();
        iterator.seek_to_first();
        for i in 0..keys() {
            assert_eq!(iterator.key(), key(i));
            iterator.next();
        }
        assert!(!iterator.valid());
        iterator.status().expect("a sound database");
        scratch
    }

    fn iterator(&self) -> DbIterator {
        self.db.iter()
    }
}

#[divan::bench(args = RUNS, sample_size = 1000)]
fn next(bencher: Bencher, runs: usize) {
    let scratch = Scratch::new(runs);
    let mut iterator = scratch.iterator();
    iterator.seek_to_first();
    bencher.bench_local(|| {
        iterator.next();
        if !iterator.valid() {
            iterator.seek_to_first();
        }
        iterator.key().len() + iterator.value().len()
    });
}

#[divan::bench(args = RUNS, sample_size = 1000)]
fn prev(bencher: Bencher, runs: usize) {
    let scratch = Scratch::new(runs);
    let mut iterator = scratch.iterator();
    iterator.seek_to_last();
    bencher.bench_local(|| {
        iterator.prev();
        if !iterator.valid() {
            iterator.seek_to_last();
        }
        iterator.key().len() + iterator.value().len()
    });
}

#[divan::bench(args = RUNS, sample_size = 200)]
fn seek(bencher: Bencher, runs: usize) {
    let scratch = Scratch::new(runs);
    let mut iterator = scratch.iterator();
    let order = Shuffled::new(keys());
    bencher
        .with_inputs(|| key(order.next()))
        .bench_local_values(|key| {
            iterator.seek(&key);
            assert!(iterator.valid());
        });
}

#[divan::bench(args = RUNS, sample_size = 100)]
fn new(bencher: Bencher, runs: usize) {
    let scratch = Scratch::new(runs);
    bencher.bench_local(|| drop(scratch.iterator()));
}

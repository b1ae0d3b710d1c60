//! The cost of a snapshot: nanoseconds to take and release one. `cargo bench -p esker --bench snapshot`.
//!
//! * `take_and_release`: on one thread, and on several at once, without writes
//! * `take_and_release_after_writes`: each snapshot has another sequence number than the previous one
//! * `beside_many`: while a hundred thousand other snapshots are held
//!
//! The result shows whether a snapshot for each read is affordable.

use divan::{Bencher, black_box};
use esker::{Db, Options, Snapshot, WriteOptions};
use tempfile::TempDir;
use testkit::bench::size;

fn main() {
    divan::main();
}

/// A database and its directory, which is dropped after it.
struct Scratch {
    db: Db,
    _dir: TempDir,
}

impl Scratch {
    fn new() -> Scratch {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let options = Options {
            create_if_missing: true,
            ..Options::default()
        };
        let db = Db::open(&options, dir.path()).expect("a database");
        Scratch { db, _dir: dir }
    }

    fn write(&self) {
        let unlogged = WriteOptions {
            disable_wal: true,
            ..WriteOptions::default()
        };
        let family = self.db.default_column_family();
        self.db
            .put_cf_opt(&family, b"key", b"value", &unlogged)
            .expect("a write");
    }
}

#[divan::bench(threads = [1, 2, 8], sample_size = 1000)]
fn take_and_release(bencher: Bencher) {
    let scratch = Scratch::new();
    scratch.write();
    bencher.bench(|| drop(black_box(scratch.db.snapshot())));
}

#[divan::bench(sample_size = 1)]
fn take_and_release_after_writes(bencher: Bencher) {
    let scratch = Scratch::new();
    bencher
        .with_inputs(|| scratch.write())
        .bench_values(|()| drop(black_box(scratch.db.snapshot())));
}

#[divan::bench(sample_size = 1000)]
fn beside_many(bencher: Bencher) {
    let scratch = Scratch::new();
    let held: Vec<Snapshot> = (0..size(100_000, 100))
        .map(|_| {
            scratch.write();
            scratch.db.snapshot()
        })
        .collect();
    scratch.write();
    bencher.bench(|| drop(black_box(scratch.db.snapshot())));
    drop(held);
}

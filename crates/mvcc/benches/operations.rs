//! Reads and writes of versions, by the number of versions of a key, in nanoseconds an operation.
//! `cargo bench -p esker-mvcc --bench operations`.
//!
//! * `get`: a random key as of a random time; values of 8 bytes
//! * `scan`, `reverse_scan`: a number of rows of 64 bytes from a random key on, as of a random time
//! * `scan_garbage`: all keys, every one deleted
//! * `put`, `put_blind`: a version over the existing ones, into a batch that is dropped
//!
//! Keys and versions are in compacted files, all in the block cache. The results show the cost of history for
//! readers of the newest versions.

mod database;

use divan::{Bencher, black_box};
use esker::{ColumnFamily, Db, FilterPolicy, WriteBatch};
use esker_mvcc::{BatchOptions, MvccBatch, MvccReadOptions, Reader, Span, Timestamp, Value, encode_key};
use testkit::bench::size;

fn main() {
    divan::main();
}

const VERSIONS: [usize; 3] = [1, 10, 100];

struct Loaded {
    db: Db,
    family: ColumnFamily,
    keys: usize,
    versions: usize,
}

fn user_key(key: usize) -> Vec<u8> {
    format!("key{key:012}").into_bytes()
}

fn time(version: usize) -> Timestamp {
    Timestamp::from_nanos(5 * (version as i64 + 1))
}

impl Loaded {
    fn new(keys: usize, versions: usize, value_len: usize, deleted: bool) -> Loaded {
        let keys = size(keys, 4);
        let (db, family) = database::open(|family| family.table.filter_policy = FilterPolicy::Bloom(10.0));
        let unlogged = database::unlogged();
        let value = vec![7; value_len];
        for key in 0..keys {
            let mut batch = WriteBatch::new();
            for version in 0..versions {
                let (mut engine_key, mut stored) = (Vec::new(), Vec::new());
                encode_key(&mut engine_key, &user_key(key), time(version));
                if !deleted || version + 1 < versions {
                    Value::Bytes(&value).encode(&mut stored, &user_key(key), false);
                }
                batch.put_cf(&family, &engine_key, &stored);
            }
            db.write_opt(batch, &unlogged).expect("a write");
        }
        db.flush().expect("a flush");
        db.compact_range_cf(&family, None, None).expect("a compaction");
        let loaded = Loaded {
            db,
            family,
            keys,
            versions,
        };
        loaded.scan(0, Timestamp::MAX, &MvccReadOptions::default());
        loaded
    }

    fn scan(&self, from: usize, at: Timestamp, options: &MvccReadOptions) -> u64 {
        let key = user_key(from);
        let span = Span {
            start: if options.reverse { b"" } else { &key },
            end: options.reverse.then_some(&key[..]),
        };
        let found = Reader::new(&self.db, &self.family).scan(span, at, options);
        found.expect("a scan").rows.len()
    }
}

#[divan::bench(args = VERSIONS)]
fn get(bencher: Bencher<'_, '_>, versions: usize) {
    let loaded = Loaded::new(100_000 / versions, versions, 8, false);
    let mut rng = fastrand::Rng::with_seed(1);
    bencher
        .with_inputs(|| {
            (
                user_key(rng.usize(..loaded.keys)),
                time(rng.usize(..loaded.versions)),
            )
        })
        .bench_local_refs(|(key, at)| {
            let found = Reader::new(&loaded.db, &loaded.family).get(key, *at, &MvccReadOptions::default());
            assert!(black_box(found).expect("a get").found.is_some());
        });
}

fn scan_rows(bencher: Bencher<'_, '_>, versions: usize, rows: u64, reverse: bool) {
    let loaded = Loaded::new(100_000 / versions, versions, 64, false);
    let options = MvccReadOptions {
        max_keys: Some(rows),
        reverse,
        ..MvccReadOptions::default()
    };
    let mut rng = fastrand::Rng::with_seed(1);
    bencher
        .with_inputs(|| (rng.usize(..loaded.keys), time(rng.usize(..loaded.versions))))
        .bench_local_refs(|(from, at)| black_box(loaded.scan(*from, *at, &options)));
}

#[divan::bench(args = VERSIONS, consts = [1, 100])]
fn scan<const ROWS: u64>(bencher: Bencher<'_, '_>, versions: usize) {
    scan_rows(bencher, versions, ROWS, false);
}

#[divan::bench(args = VERSIONS, consts = [1, 100])]
fn reverse_scan<const ROWS: u64>(bencher: Bencher<'_, '_>, versions: usize) {
    scan_rows(bencher, versions, ROWS, true);
}

#[divan::bench(args = [2, 10], sample_count = 20, sample_size = 1)]
fn scan_garbage(bencher: Bencher<'_, '_>, versions: usize) {
    let loaded = Loaded::new(50_000, versions, 64, true);
    bencher.bench_local(|| assert_eq!(loaded.scan(0, Timestamp::MAX, &MvccReadOptions::default()), 0));
}

fn put_one(bencher: Bencher<'_, '_>, versions: usize, blind: bool) {
    let loaded = Loaded::new(100_000 / versions, versions, 10, false);
    let mut rng = fastrand::Rng::with_seed(1);
    bencher
        .with_inputs(|| user_key(rng.usize(..loaded.keys)))
        .bench_local_refs(|key| {
            let mut batch = MvccBatch::new(&loaded.db, &loaded.family, BatchOptions::default(), 1);
            let at = time(loaded.versions);
            let written = match blind {
                false => batch.put(key, at, Value::Bytes(&[7; 10])),
                true => batch.put_blind(key, at, Value::Bytes(&[7; 10])),
            };
            written.expect("a put");
            black_box(batch.into_write_batch());
        });
}

#[divan::bench(args = VERSIONS)]
fn put(bencher: Bencher<'_, '_>, versions: usize) {
    put_one(bencher, versions, false);
}

#[divan::bench(args = VERSIONS)]
fn put_blind(bencher: Bencher<'_, '_>, versions: usize) {
    put_one(bencher, versions, true);
}

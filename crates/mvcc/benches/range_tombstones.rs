//! The cost of range tombstones for reads, and their saving for deletions, in nanoseconds an operation.
//! `cargo bench -p esker-mvcc --bench range_tombstones`.
//!
//! * `get`, `scan`, `reverse_scan`: a random key, and 100 rows from a random key on, under no, 1 or 100 range
//!   tombstones that hide nothing: the first over all keys, the others between random ones, below all
//!   versions, as in CockroachDB's benchmarks
//! * `scan_deleted`: all keys, every one deleted, by a deletion each or by one range tombstone
//! * `delete`: 10,000 keys, by a deletion each, by a range tombstone that counts the keys it deletes, and by
//!   one whose caller knows the statistics
//!
//! Keys are in compacted files, all in the block cache. The results show whether range tombstones may be
//! kept.

#[expect(dead_code, reason = "a store is filled with a log")]
mod database;

use divan::{Bencher, black_box};
use esker::{Db, FilterPolicy, WriteOptions};
use esker_mvcc::{
    BatchOptions, MvccReadOptions, MvccStats, MvccStore, RangeTombstoneOptions, Span, Timestamp, Value,
};
use testkit::bench::size;

fn main() {
    divan::main();
}

const TOMBSTONES: [usize; 3] = [0, 1, 100];
/// The time of all versions; range tombstones that hide nothing are older.
const WRITTEN: Timestamp = Timestamp::from_nanos(1000);
const DELETED: Timestamp = Timestamp::from_nanos(2000);

struct Loaded {
    store: MvccStore,
    _db: Db,
    keys: usize,
}

fn user_key(key: usize) -> Vec<u8> {
    format!("key{key:012}").into_bytes()
}

impl Loaded {
    fn new(keys: usize, tombstones: usize) -> Loaded {
        let keys = size(keys, 4);
        let (db, family) = database::open(|family| family.table.filter_policy = FilterPolicy::Bloom(10.0));
        let options = BatchOptions {
            range_tombstones: true,
            checksums: false,
            ..BatchOptions::default()
        };
        let store = MvccStore::open(&db, &family, options, 1).expect("a store");
        let mut batch = store.begin(1);
        let mut rng = fastrand::Rng::with_seed(85626);
        for tombstone in 0..tombstones {
            let (a, b) = (rng.usize(..keys), rng.usize(..keys));
            let (start, end) = match tombstone {
                0 => (user_key(0), user_key(keys)),
                _ => (user_key(a.min(b)), user_key(a.max(b) + 1)),
            };
            let at = Timestamp::from_nanos(tombstone as i64 + 1);
            let written =
                batch.delete_range_using_tombstone(Span::new(&start, &end), at, &Default::default());
            written.expect("a range tombstone");
        }
        for key in 0..keys {
            batch
                .put(&user_key(key), WRITTEN, Value::Bytes(&[7; 64]))
                .expect("a put");
        }
        batch.commit(&WriteOptions::default()).expect("a write");
        let loaded = Loaded { store, _db: db, keys };
        loaded.compact();
        loaded
    }

    fn compact(&self) {
        let (db, family) = (self.store.db(), self.store.family());
        db.flush().expect("a flush");
        db.compact_range_cf(family, None, None).expect("a compaction");
        self.scan(0, &MvccReadOptions::default());
    }

    fn scan(&self, from: usize, options: &MvccReadOptions) -> u64 {
        let key = user_key(from);
        let span = Span {
            start: if options.reverse { b"" } else { &key },
            end: options.reverse.then_some(&key[..]),
        };
        let found = self.store.scan(span, Timestamp::MAX, options);
        found.expect("a scan").rows.len()
    }
}

#[divan::bench(args = TOMBSTONES)]
fn get(bencher: Bencher<'_, '_>, tombstones: usize) {
    let loaded = Loaded::new(100_000, tombstones);
    let mut rng = fastrand::Rng::with_seed(1);
    bencher
        .with_inputs(|| user_key(rng.usize(..loaded.keys)))
        .bench_local_refs(|key| {
            let found = loaded.store.get(key, Timestamp::MAX, &MvccReadOptions::default());
            assert!(black_box(found).expect("a get").found.is_some());
        });
}

fn scan_rows(bencher: Bencher<'_, '_>, tombstones: usize, reverse: bool) {
    let loaded = Loaded::new(100_000, tombstones);
    let options = MvccReadOptions {
        max_keys: Some(100),
        reverse,
        ..MvccReadOptions::default()
    };
    let mut rng = fastrand::Rng::with_seed(1);
    bencher
        .with_inputs(|| rng.usize(..loaded.keys))
        .bench_local_refs(|from| black_box(loaded.scan(*from, &options)));
}

#[divan::bench(args = TOMBSTONES)]
fn scan(bencher: Bencher<'_, '_>, tombstones: usize) {
    scan_rows(bencher, tombstones, false);
}

#[divan::bench(args = TOMBSTONES)]
fn reverse_scan(bencher: Bencher<'_, '_>, tombstones: usize) {
    scan_rows(bencher, tombstones, true);
}

#[divan::bench(args = ["each", "range"], sample_count = 20, sample_size = 1)]
fn scan_deleted(bencher: Bencher<'_, '_>, by: &str) {
    let loaded = Loaded::new(50_000, 0);
    let mut batch = loaded.store.begin(1);
    let end = user_key(loaded.keys);
    let all = Span::new(b"", &end);
    match by {
        "each" => drop(batch.delete_range(all, DELETED, None, false).expect("deletions")),
        _ => drop(
            batch
                .delete_range_using_tombstone(all, DELETED, &Default::default())
                .expect("a range tombstone"),
        ),
    }
    batch.commit(&WriteOptions::default()).expect("a write");
    loaded.compact();
    bencher.bench_local(|| assert_eq!(loaded.scan(0, &MvccReadOptions::default()), 0));
}

#[divan::bench(args = ["each", "counted", "told"], sample_count = 20, sample_size = 1)]
fn delete(bencher: Bencher<'_, '_>, by: &str) {
    let loaded = Loaded::new(10_000, 0);
    let known: MvccStats = loaded.store.stats(1).expect("statistics");
    let options = RangeTombstoneOptions {
        known: (by == "told").then_some(known),
        ..RangeTombstoneOptions::default()
    };
    let end = user_key(loaded.keys);
    let all = Span::new(b"", &end);
    bencher.bench_local(|| {
        let mut batch = loaded.store.begin(1);
        match by {
            "each" => drop(batch.delete_range(all, DELETED, None, false).expect("deletions")),
            _ => drop(
                batch
                    .delete_range_using_tombstone(all, DELETED, &options)
                    .expect("a range tombstone"),
            ),
        }
        // The batch is not committed: each call finds the same data.
        black_box(batch.stats());
    });
}

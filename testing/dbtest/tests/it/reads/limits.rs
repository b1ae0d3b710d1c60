//! Large numbers of objects that are usually few: iterators, snapshots, range tombstones in one file. The
//! cost grows in proportion to their number; with a higher cost these tests would not end.
//!
//! `ESKER_LIMITS` multiplies the numbers of tombstones; `cargo xtask nightly` runs them with a million.

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use base::{Comparator, UserComparator};
use dbtest::by_hand::{flush, rewrite};
use esker::{ColumnFamilyOptions, Db, Options, ReadOptions, WriteBatch, WriteOptions};
use testkit::rng::{self, TestRng};
use vfs::MemFs;

fn key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

fn open() -> Db {
    let options = Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        ..Options::default()
    };
    Db::open(&options, "/db").unwrap()
}

#[test]
fn ten_thousand_iterators_are_open() {
    const ITERATORS: u64 = 10_000;
    const ROWS: u64 = 1_000;
    let db = open();
    for number in 0..ROWS {
        db.put(key(number), b"old").unwrap();
        if number % 300 == 299 {
            flush(&db);
        }
    }
    let mut iterators: Vec<_> = (0..ITERATORS).map(|_| db.iter()).collect();
    for (number, iter) in iterators.iter_mut().enumerate() {
        iter.seek(&key(number as u64 % ROWS));
    }
    for number in 0..ROWS {
        db.put(key(number), b"new").unwrap();
    }
    flush(&db);
    rewrite(&db);
    let pins = db.pins();
    let holders: usize = pins.super_versions.iter().map(|pinned| pinned.holders).sum();
    assert_eq!(holders as u64, ITERATORS);
    assert_eq!(pins.iterators.len() as u64, ITERATORS);
    assert!(pins.file_bytes > 0 && pins.memtable_bytes > 0);
    for (number, iter) in iterators.iter_mut().enumerate() {
        let at = number as u64 % ROWS;
        assert_eq!((iter.key(), iter.value()), (&key(at)[..], &b"old"[..]));
        iter.next();
        assert_eq!(iter.valid(), at + 1 < ROWS);
        iter.status().unwrap();
    }
    drop(iterators);
    let pins = db.pins();
    assert!(pins.super_versions.is_empty() && pins.iterators.is_empty());
}

#[test]
fn a_hundred_thousand_snapshots_are_held() {
    const SNAPSHOTS: u64 = 100_000;
    const KEYS: u64 = 100;
    let rng = &mut TestRng::with_seed(rng::seed());
    let db = open();
    let family = db.default_column_family();
    let mut snapshots = Vec::new();
    for number in 0..SNAPSHOTS {
        db.put(key(number % KEYS), key(number)).unwrap();
        snapshots.push(db.snapshot());
    }
    let count = || db.property_int(&family, "rocksdb.num-snapshots");
    assert_eq!(count(), Some(SNAPSHOTS));
    flush(&db);
    rewrite(&db);
    for _ in 0..1_000 {
        let at = rng.u64(KEYS..SNAPSHOTS);
        let read = ReadOptions {
            snapshot: Some(snapshots[at as usize].clone()),
            ..ReadOptions::default()
        };
        // The number of the last write of the key at or before the snapshot.
        let sought = rng.u64(..KEYS);
        let written = at - (at + KEYS - sought) % KEYS;
        let value = db.get_cf_opt(&family, key(sought), &read).unwrap();
        assert_eq!(value.as_deref(), Some(&key(written)[..]));
    }
    // The snapshots are released from the middle outwards, so that the list is split everywhere.
    while !snapshots.is_empty() {
        drop(snapshots.swap_remove(snapshots.len() / 2));
    }
    assert_eq!(count(), Some(0));
    rewrite(&db);
    assert_eq!(
        db.get(key(7)).unwrap().as_deref(),
        Some(&key(SNAPSHOTS - KEYS + 7)[..])
    );
}

/// The factor of the numbers, from `ESKER_LIMITS`.
fn times() -> u64 {
    std::env::var("ESKER_LIMITS").map_or(1, |text| text.parse().unwrap())
}

/// A bytewise comparator that counts its calls. It is not recognized as built in, so every comparison is made
/// by it.
#[derive(Default)]
struct Counting(AtomicU64);

impl Comparator for Counting {
    fn name(&self) -> &str {
        "test.Counting"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.0.fetch_add(1, Relaxed);
        a.cmp(b)
    }
}

/// Writes range tombstones, each over the first half of ten keys, in random order, to a memtable and to one
/// file, and looks up covered and uncovered keys. Calls `step` after each part of the work.
fn work_with_tombstones(db: &Db, tombstones: u64, mut step: impl FnMut(&'static str)) {
    let rng = &mut TestRng::with_seed(rng::seed());
    let family = db.default_column_family();
    let write = WriteOptions::default();
    let mut order: Vec<u64> = (0..tombstones).collect();
    rng.shuffle(&mut order);
    for numbers in order.chunks(1_000) {
        let mut batch = WriteBatch::new();
        for number in numbers {
            batch.put(&key(10 * number + 2), b"covered");
            batch.put(&key(10 * number + 7), b"seen");
            batch.delete_range(&key(10 * number), &key(10 * number + 5));
        }
        db.write_opt(batch, &write).unwrap();
    }
    step("write");
    let look = |rng: &mut TestRng, step: &mut dyn FnMut(&'static str), steps: [&'static str; 2]| {
        for _ in 0..10_000 {
            let number = 10 * rng.u64(..tombstones);
            assert_eq!(db.get(key(number + 2)).unwrap(), None);
            assert_eq!(db.get(key(number + 7)).unwrap().as_deref(), Some(&b"seen"[..]));
        }
        step(steps[0]);
        let mut iter = db.iter();
        iter.seek_to_first();
        for number in 0..tombstones {
            assert_eq!(iter.key(), key(10 * number + 7));
            iter.next();
        }
        assert!(!iter.valid());
        iter.status().unwrap();
        step(steps[1]);
    };
    look(
        rng,
        &mut step,
        ["Gets from the memtable", "a scan of the memtable"],
    );
    // The snapshot keeps the rows that the tombstones cover in the flushed file.
    let snapshot = db.snapshot();
    flush(db);
    step("flush");
    look(rng, &mut step, ["Gets from the file", "a scan of the file"]);
    let memory = db
        .property_int(&family, "rocksdb.estimate-table-readers-mem")
        .unwrap();
    assert!(memory < 200 * tombstones, "{memory} bytes");
    drop(snapshot);
    rewrite(db);
    step("compaction");
}

#[test]
fn one_file_has_its_fill_of_range_tombstones() {
    work_with_tombstones(&open(), 100_000 * times(), |_| {});
}

/// Counts key comparisons: ten times as many tombstones cost ten times as much, plus a logarithmic share.
#[test]
fn what_range_tombstones_cost_is_linear() {
    let counts = |tombstones: u64| {
        let counting = Arc::new(Counting::default());
        let options = Options {
            create_if_missing: true,
            fs: Arc::new(MemFs::new()),
            column_family: ColumnFamilyOptions {
                comparator: UserComparator::Custom(counting.clone()),
                ..ColumnFamilyOptions::default()
            },
            ..Options::default()
        };
        let db = Db::open(&options, "/db").unwrap();
        let mut counts: Vec<(&str, u64)> = Vec::new();
        work_with_tombstones(&db, tombstones, |step| {
            counts.push((step, counting.0.swap(0, Relaxed)));
        });
        counts
    };
    let (few, many) = (counts(2_000 * times()), counts(20_000 * times()));
    println!("{few:?}\n{many:?}");
    for ((step, few), (_, many)) in few.into_iter().zip(many) {
        let most = match step {
            _ if step.starts_with("Gets") => 2 * few,
            // With ten times as many tombstones, their tree has at most one more level.
            "a scan of the memtable" => 20 * few,
            _ => 13 * few,
        };
        assert!(many <= most, "{step}: {few} comparisons, then {many}");
    }
}

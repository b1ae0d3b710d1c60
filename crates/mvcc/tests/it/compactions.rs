//! Garbage that compactions drop: neither reads nor statistics show whether it still exists.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use esker::{BottommostLevelCompaction, CompactRangeOptions, Db, WriteBatch, WriteOptions};
use mvcc::{
    BatchOptions, CompactionGc, MvccBatch, MvccKey, MvccReadOptions, MvccStats, MvccStore, Reader, Span,
    Timestamp, Value,
};
use testkit::rng::{self, TestRng};
use vfs::{FaultFs, FileSystem, MemFs, UnsyncedPolicy};

use super::model::{
    Found, Model, NOW, dump, open_at, open_collecting, operate, plain, range_tombstones, time,
};

fn open(fs: Arc<dyn FileSystem>, options: BatchOptions) -> (Db, MvccStore) {
    let gc = CompactionGc::new();
    let db = open_collecting(fs, &gc);
    let family = db.default_column_family();
    let store = MvccStore::open_with_compactions(&db, &family, options, NOW, Some(gc)).unwrap();
    (db, store)
}

fn compact(db: &Db, begin: Option<&[u8]>, end: Option<&[u8]>) {
    let options = CompactRangeOptions {
        bottommost_level_compaction: BottommostLevelCompaction::Force,
        ..CompactRangeOptions::default()
    };
    db.compact_range_cf_opt(&db.default_column_family(), begin, end, &options)
        .unwrap();
}

fn ttl(until: Timestamp) -> Duration {
    Duration::from_nanos(u64::try_from(NOW - until.wall).unwrap())
}

/// The stored data without garbage at a time.
fn logical(db: &Db, collected: Timestamp) -> Model {
    let mut model = Model::default();
    for (key, at, value) in dump(db) {
        match at.is_zero() {
            true => drop(model.inline.insert(key, value.unwrap())),
            false => drop(model.versions.entry(key).or_default().insert(at, value)),
        }
    }
    for fragment in range_tombstones(db) {
        for &time in &fragment.timestamps {
            model.delete_span(Span::new(&fragment.start, &fragment.end), time);
        }
    }
    model.collect(collected);
    model
}

/// The statistics of a database that holds exactly the data of `model`.
fn weigh(db: &Db, model: &Model, name: &str) -> MvccStats {
    let kept: std::collections::BTreeSet<(Vec<u8>, Timestamp)> =
        model.dump().into_iter().map(|(key, at, _)| (key, at)).collect();
    let copy = open_at(db.options().fs.clone(), name);
    let mut batch = WriteBatch::new();
    let mut iter = db.iter();
    iter.seek(&[0]);
    while iter.valid() {
        let key = MvccKey::decode(iter.key()).unwrap();
        let is_range_tombstone = key.user_key.is_empty() && !key.timestamp.is_zero();
        if is_range_tombstone || kept.contains(&(key.user_key.to_vec(), key.timestamp)) {
            batch.put(iter.key(), iter.value());
        }
        iter.next();
    }
    copy.write(batch).unwrap();
    let family = copy.default_column_family();
    let reader = Reader::new(&copy, &family).with_range_tombstones().unwrap();
    mvcc::compute_stats(&reader, Span::ALL, NOW).unwrap()
}

fn scan(reader: &Reader<'_>, at: Timestamp, reverse: bool) -> Found {
    let options = MvccReadOptions {
        reverse,
        ..MvccReadOptions::default()
    };
    let found = reader.scan(Span::ALL, at, &options).unwrap();
    let rows = found.rows.iter().map(|row| {
        (
            row.user_key.to_vec(),
            row.timestamp,
            plain(row.stored, row.user_key),
        )
    });
    rows.collect()
}

fn later(rng: &mut TestRng, than: Timestamp) -> Timestamp {
    time(rng).max(than.next())
}

#[test]
fn nobody_can_tell_whether_it_is_gone() {
    let mut rng = rng::rng();
    let mut left_out = 0;
    for round in 0..32 {
        let fs = Arc::new(MemFs::new());
        let options = BatchOptions {
            max_steps: rng.u32(..4),
            min_range_entries: rng.usize(..5),
            range_tombstones: round % 4 < 2,
            ..BatchOptions::default()
        };
        let (mut db, mut store) = open(fs.clone(), options);
        let mut model = Model::default();
        let mut collected = Timestamp::ZERO;
        for step in 0..40 {
            let threshold = store.threshold();
            let mut batch = store.begin(NOW);
            let mut changed = model.clone();
            for _ in 0..rng.u32(1..8) {
                // After a removal above the threshold, the removed version and earlier ones hide nothing:
                // half of the rounds remove nothing.
                match round % 2 {
                    0 => operate(&mut rng, &mut batch, &mut changed, threshold, false),
                    _ => write(&mut rng, &mut batch, &mut changed),
                }
            }
            batch.commit(&WriteOptions::default()).unwrap();
            model = changed;
            // A reader that began before keeps what it sees, and so does a holder of an engine snapshot.
            let at = later(&mut rng, threshold);
            let reader = store.reader(at).unwrap();
            let seen = scan(&reader, at, false);
            let family = db.default_column_family();
            let snapshot = Reader::new(&db, &family).at(db.snapshot());
            let snapshot = snapshot.with_range_tombstones().unwrap();
            let other = later(&mut rng, threshold);
            let seen_by_snapshot = scan(&snapshot, other, false);
            let reader = match rng.u32(..3) {
                0 => {
                    // A reader keeps the database open, which is opened again below.
                    drop(reader);
                    snapshot.clone()
                }
                _ => reader,
            };
            let snapshot = rng.bool().then_some(snapshot);
            let mut iter = reader
                .incremental(Span::ALL, Timestamp::ZERO, Timestamp::MAX)
                .unwrap();
            let has_first = iter.next().unwrap().is_some();
            match rng.u32(..8) {
                0..3 => db.flush().unwrap(),
                3 => {
                    let until = Timestamp::from_nanos(time(&mut rng).wall);
                    store.collect_in_compactions(ttl(until), NOW).unwrap();
                    collected = store.threshold();
                    model.collect(collected);
                }
                4 => {
                    // Versions are deleted one by one: their garbage is no longer counted either.
                    let until = Timestamp::from_nanos(time(&mut rng).wall);
                    store
                        .collect_garbage(ttl(until), NOW, &Default::default())
                        .unwrap();
                    model.collect(store.threshold());
                    model.collect_range_tombstones(store.threshold());
                }
                _ => {}
            }
            if rng.one_in(3) {
                let before = dump(&db).len();
                let (a, b) = (rng.u8(b'a'..=b'e'), rng.u8(b'a'..=b'e'));
                let (begin, end) = ([a.min(b), 0], [a.max(b), 0]);
                let all = rng.bool();
                compact(&db, (!all).then_some(&begin[..]), (!all).then_some(&end[..]));
                left_out += before - dump(&db).len();
            }
            assert_eq!(scan(&reader, at, false), seen);
            if let Some(snapshot) = &snapshot {
                assert_eq!(scan(snapshot, other, false), seen_by_snapshot);
            }
            if has_first {
                while iter.next().unwrap().is_some() {}
            }
            drop((iter, reader, snapshot));
            assert_eq!(logical(&db, collected), model, "round {round} step {step}");
            for _ in 0..3 {
                let at = later(&mut rng, store.threshold());
                let reader = store.reader(at).unwrap();
                let expected = model.scan(Span::ALL, at, false);
                assert_eq!(scan(&reader, at, false), expected);
                let mut backwards = scan(&reader, at, true);
                backwards.reverse();
                assert_eq!(backwards, expected);
            }
            let stats = store.stats(NOW).unwrap();
            assert_eq!(stats, store.recount(NOW).unwrap());
            assert_eq!(stats, weigh(&db, &model, &format!("/copy{round}.{step}")));
            if rng.one_in(8) {
                drop(store);
                drop(db);
                (db, store) = open(fs.clone(), options);
            }
        }
    }
    assert!(left_out > 0, "compactions have dropped versions");
}

/// Writes a version, a deletion, or a range tombstone, if its time is not too old.
fn write(rng: &mut TestRng, batch: &mut MvccBatch<'_>, model: &mut Model) {
    let (key, at) = ([rng.u8(b'a'..b'e')], time(rng));
    if rng.one_in(12) {
        let end = [key[0] + 1];
        let span = Span::new(&key, &end);
        if let Ok(true) = batch.delete_range_using_tombstone(span, at, &Default::default()) {
            model.delete_span(span, at);
        }
        return;
    }
    let value = rng.u8(..4) > 0;
    let written = match value {
        true => batch.put(&key, at, Value::Bytes(b"value")),
        false => batch.delete(&key, at).map(drop),
    };
    if written.is_ok() {
        let versions = model.versions.entry(key.to_vec()).or_default();
        versions.insert(at, value.then(|| b"value".to_vec()));
    }
}

fn put(store: &MvccStore, key: &[u8], seconds: i64, value: &[u8]) {
    let mut batch = store.begin(NOW);
    let at = Timestamp::from_secs(seconds);
    batch.put(key, at, Value::Bytes(value)).unwrap();
    batch.commit(&WriteOptions::default()).unwrap();
}

/// Compactions do not know which times a snapshot of the engine reads; they use the garbage collected when it
/// was taken.
#[test]
fn snapshots_of_the_engine_keep_what_they_see() {
    let (db, store) = open(Arc::new(MemFs::new()), BatchOptions::default());
    let (family, at) = (db.default_column_family(), Timestamp::from_secs);
    for second in 1..=6 {
        put(&store, b"a", second, format!("{second}").as_bytes());
        put(&store, b"b", second, format!("{second}").as_bytes());
    }
    compact(&db, None, None);
    let all_seen = |reader: &Reader<'_>, from| -> Vec<Found> {
        (from..=7).map(|second| scan(reader, at(second), false)).collect()
    };
    store.collect_in_compactions(ttl(at(2)), NOW).unwrap();
    let earlier = Reader::new(&db, &family).at(db.snapshot());
    let earlier_seen = all_seen(&earlier, 3);
    // Garbage collected before a snapshot was taken is dropped while the snapshot is open.
    compact(&db, None, None);
    assert_eq!(dump(&db).len(), 10);
    store.collect_in_compactions(ttl(at(4)), NOW).unwrap();
    let later = Reader::new(&db, &family).at(db.snapshot());
    let later_seen = all_seen(&later, 5);
    store.collect_in_compactions(ttl(at(6)), NOW).unwrap();
    for _ in 0..2 {
        compact(&db, None, None);
        assert_eq!(all_seen(&earlier, 3), earlier_seen);
        assert_eq!(all_seen(&later, 5), later_seen);
        assert_eq!(dump(&db).len(), 10);
    }
    drop(earlier);
    compact(&db, None, None);
    assert_eq!(all_seen(&later, 5), later_seen);
    assert_eq!(dump(&db).len(), 6);
    drop(later);
    compact(&db, None, None);
    assert_eq!(dump(&db).len(), 2);
    assert_eq!(store.stats(NOW).unwrap(), store.recount(NOW).unwrap());
}

/// A reverted version is still in the files, and the version it hid is visible again.
#[test]
fn what_was_reverted_hides_nothing() {
    let (db, store) = open(Arc::new(MemFs::new()), BatchOptions::default());
    let at = Timestamp::from_secs;
    for key in [&b"a"[..], b"z"] {
        put(&store, key, 1, b"kept");
        put(&store, key, 5, b"reverted");
    }
    compact(&db, None, None);
    let mut batch = store.begin(NOW);
    batch.revert_to(Span::ALL, at(2), &Default::default()).unwrap();
    batch.commit(&WriteOptions::default()).unwrap();
    store.collect_in_compactions(ttl(at(10)), NOW).unwrap();
    // The deletions stay in the memtable, and only the files below are compacted.
    for key in [&b"a"[..], b"z"] {
        put(&store, key, 20, b"new");
    }
    let files = db.live_files();
    let numbers: Vec<u64> = files.iter().map(|file| file.number).collect();
    let family = db.default_column_family();
    db.compact_files(&family, &numbers, files[0].level, &Default::default())
        .unwrap();
    let reader = store.reader(at(11)).unwrap();
    assert_eq!(scan(&reader, at(11), false).len(), 2);
    assert_eq!(store.stats(NOW).unwrap(), store.recount(NOW).unwrap());
}

/// Rows of range tombstones are versions of one key, but none hides another. The versions they hide are
/// dropped, except the newest one.
#[test]
fn range_tombstones_stay() {
    let options = BatchOptions {
        range_tombstones: true,
        ..BatchOptions::default()
    };
    let (db, store) = open(Arc::new(MemFs::new()), options);
    let at = Timestamp::from_secs;
    for key in [&b"a"[..], b"m"] {
        put(&store, key, 1, b"value");
        put(&store, key, 2, b"value");
    }
    for (start, end, seconds) in [(b"a", b"c", 3), (b"b", b"n", 4), (b"x", b"z", 5)] {
        let mut batch = store.begin(NOW);
        let span = Span::new(start, end);
        let written = batch.delete_range_using_tombstone(span, at(seconds), &Default::default());
        assert!(written.unwrap());
        batch.commit(&WriteOptions::default()).unwrap();
    }
    let before = range_tombstones(&db);
    let garbage = store.collect_in_compactions(ttl(at(9)), NOW).unwrap();
    assert_eq!((garbage.key_count, garbage.val_count), (2, 4));
    compact(&db, None, None);
    assert_eq!(range_tombstones(&db), before);
    let left: Vec<_> = dump(&db).into_iter().map(|(key, time, _)| (key, time)).collect();
    assert_eq!(left, [(b"a".to_vec(), at(2)), (b"m".to_vec(), at(2))]);
    let reader = store.reader(at(10)).unwrap();
    assert_eq!(scan(&reader, at(10), false), []);
    let stats = store.stats(NOW).unwrap();
    assert_eq!(stats, store.recount(NOW).unwrap());
    assert_eq!(
        (stats.key_count, stats.val_count, stats.range_key_count),
        (0, 0, 4)
    );
    store
        .collect_garbage(ttl(at(9)), NOW, &Default::default())
        .unwrap();
    assert_eq!(store.stats(NOW).unwrap(), MvccStats::at(NOW));
    assert_eq!((dump(&db), range_tombstones(&db)), (vec![], vec![]));
}

#[test]
fn it_is_counted_no_more_whatever_the_crash() {
    let mut rng = rng::rng();
    let mut cut = 0;
    loop {
        let disk = MemFs::new();
        let fs = FaultFs::new(Arc::new(disk.clone()));
        let (db, store) = open(Arc::new(fs.clone()), BatchOptions::default());
        for key in 0..20 {
            for version in 1..8 {
                put(&store, format!("key{key}").as_bytes(), version, b"value");
            }
        }
        db.flush().unwrap();
        let at = Timestamp::from_secs(7);
        let seen = scan(&store.reader(at).unwrap(), at, false);
        fs.crash_at(fs.changes() + cut);
        let collected = store.collect_in_compactions(ttl(Timestamp::from_secs(6)), NOW);
        let finished = collected.is_ok() && {
            let family = db.default_column_family();
            let options = CompactRangeOptions {
                bottommost_level_compaction: BottommostLevelCompaction::Force,
                ..CompactRangeOptions::default()
            };
            db.compact_range_cf_opt(&family, None, None, &options).is_ok()
        };
        let seed = fastrand::Rng::with_seed(rng.u64(..));
        let left = disk.crash_clone(&mut { seed }, UnsyncedPolicy::Random);
        drop((store, db));
        let (db, store) = open(Arc::new(left), BatchOptions::default());
        assert_eq!(scan(&store.reader(at).unwrap(), at, false), seen, "cut {cut}");
        assert_eq!(
            store.stats(NOW).unwrap(),
            store.recount(NOW).unwrap(),
            "cut {cut}"
        );
        store
            .collect_in_compactions(ttl(Timestamp::from_secs(6)), NOW)
            .unwrap();
        compact(&db, None, None);
        assert_eq!(
            dump(&db).len(),
            40,
            "the newest version of each key, and the one it hides"
        );
        assert_eq!(store.stats(NOW).unwrap(), store.recount(NOW).unwrap());
        if finished {
            break;
        }
        cut += 1;
    }
    assert!(cut > 3);
}

/// Stops the other threads, even after a panic.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Keys are rewritten and deleted while the garbage is weighed.
#[test]
fn what_is_written_meanwhile_is_weighed_again() {
    collect_while_writing(false);
    collect_while_writing(true);
}

fn collect_while_writing(clears: bool) {
    let (db, store) = open(Arc::new(MemFs::new()), BatchOptions::default());
    let clock = AtomicI64::new(1000);
    let done = AtomicBool::new(false);
    let mut seeds = rng::rng();
    let seed = seeds.u64(..);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut rng = TestRng::with_seed(seed);
            while !done.load(Ordering::Relaxed) {
                let at = clock.fetch_add(1, Ordering::Relaxed);
                let key = format!("key{:03}", rng.u32(..300)).into_bytes();
                let mut batch = store.begin(NOW);
                let at = Timestamp::from_nanos(at * 10_000);
                match rng.u32(..20) {
                    0..10 => drop(batch.delete(&key, at).unwrap()),
                    19 if clears => batch.clear_range(Span::new(&key, b"key9")).unwrap(),
                    _ => batch.put(&key, at, Value::Bytes(b"value")).unwrap(),
                }
                batch.commit(&WriteOptions::default()).unwrap();
            }
        });
        let _stop = StopOnDrop(&done);
        for _ in 0..8 {
            let now = clock.load(Ordering::Relaxed);
            while clock.load(Ordering::Relaxed) < now + 50 && !writer.is_finished() {
                std::thread::yield_now();
            }
            let until = Timestamp::from_nanos((now - 5) * 10_000);
            store.collect_in_compactions(ttl(until), NOW).unwrap();
            assert_eq!(store.threshold(), until);
        }
    });
    assert_eq!(store.stats(NOW).unwrap(), store.recount(NOW).unwrap());
    compact(&db, None, None);
    assert_eq!(store.stats(NOW).unwrap(), store.recount(NOW).unwrap());
}

#[test]
fn a_store_says_so_if_it_cannot() {
    let db = open_at(Arc::new(MemFs::new()), "/db");
    let family = db.default_column_family();
    let store = MvccStore::open(&db, &family, BatchOptions::default(), NOW).unwrap();
    assert!(store.collect_in_compactions(Duration::ZERO, NOW).is_err());
    assert_eq!(store.threshold(), Timestamp::ZERO);
}

/// Snapshots of the store and of the engine are taken while garbage is collected and compacted: each reads
/// the same until it is closed.
#[test]
fn snapshots_read_the_same_until_they_are_closed() {
    let (db, store) = open(Arc::new(MemFs::new()), BatchOptions::default());
    let family = db.default_column_family();
    let (clock, rounds) = (AtomicI64::new(1000), AtomicI64::new(0));
    let done = AtomicBool::new(false);
    let seed = rng::rng().u64(..);
    let time = |clock: i64| Timestamp::from_nanos(clock * 10_000);
    // The time of the clock at which the writer pauses in a round, so that each round has about as many
    // versions, whichever thread is faster.
    let written_by = |round: i64| 1000 + 100 * (round + 1);
    std::thread::scope(|scope| {
        let _stop = StopOnDrop(&done);
        scope.spawn(|| {
            let _stop = StopOnDrop(&done);
            let mut rng = TestRng::with_seed(seed);
            while !done.load(Ordering::Relaxed) {
                if clock.load(Ordering::Relaxed) >= written_by(rounds.load(Ordering::Relaxed)) + 50 {
                    std::thread::yield_now();
                    continue;
                }
                let at = time(clock.fetch_add(1, Ordering::Relaxed));
                let mut batch = store.begin(NOW);
                let key = [rng.u8(b'a'..b'm')];
                let written = match rng.one_in(4) {
                    true => batch.delete(&key, at).map(drop),
                    false => batch.put(&key, at, Value::Bytes(at.to_string().as_bytes())),
                };
                written.unwrap();
                batch.commit(&WriteOptions::default()).unwrap();
            }
        });
        for reader in 0..2 {
            let (db, store, family, rounds, done, clock) = (&db, &store, &family, &rounds, &done, &clock);
            scope.spawn(move || {
                let _stop = StopOnDrop(done);
                let mut rng = TestRng::with_seed(seed + 1 + reader);
                while !done.load(Ordering::Relaxed) {
                    let reader = match reader {
                        0 => Reader::new(db, family).at(db.snapshot()),
                        _ => store.reader(Timestamp::MAX).unwrap(),
                    };
                    let from = store.threshold().next();
                    let now = clock.load(Ordering::Relaxed);
                    let between = Timestamp::from_nanos(rng.i64(from.wall..=time(now).wall.max(from.wall)));
                    let times = [from, between.max(from)];
                    let seen = times.map(|at| scan(&reader, at, false));
                    let until = rounds.load(Ordering::Relaxed) + rng.i64(1..4);
                    while rounds.load(Ordering::Relaxed) < until && !done.load(Ordering::Relaxed) {
                        std::thread::yield_now();
                    }
                    let again = times.map(|at| scan(&reader, at, rng.bool()));
                    for (mut again, seen) in again.into_iter().zip(seen) {
                        again.sort();
                        assert_eq!(again, seen, "seed {seed}");
                    }
                }
            });
        }
        for round in 0..150 {
            while clock.load(Ordering::Relaxed) < written_by(round) && !done.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            store
                .collect_in_compactions(ttl(time(clock.load(Ordering::Relaxed) - 3)), NOW)
                .unwrap();
            compact(&db, None, None);
            rounds.fetch_add(1, Ordering::Relaxed);
        }
    });
    compact(&db, None, None);
    assert_eq!(store.stats(NOW).unwrap(), store.recount(NOW).unwrap());
}

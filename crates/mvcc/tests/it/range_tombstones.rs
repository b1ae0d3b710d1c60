//! Range tombstones beyond the scripts and the model: permissions, crashes, and readers at the moment of a
//! write.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use esker::{ErrorKind, PerfLevel, WriteOptions, perf};
use mvcc::{
    BatchOptions, Error, GcOptions, MvccBatch, MvccReadOptions, MvccStore, RangeTombstone, Reader, Span,
    Timestamp, Value,
};
use testkit::rng;
use vfs::{FaultFs, MemFs, UnsyncedPolicy};

use super::model::{Found, NOW, dump, open, plain, range_tombstones};

fn time(seconds: i64) -> Timestamp {
    Timestamp::from_secs(seconds)
}

fn options() -> BatchOptions {
    BatchOptions {
        range_tombstones: true,
        ..BatchOptions::default()
    }
}

fn store(db: &esker::Db, options: BatchOptions) -> MvccStore {
    MvccStore::open(db, &db.default_column_family(), options, NOW).unwrap()
}

fn delete(batch: &mut MvccBatch<'_>, start: &[u8], end: &[u8], at: Timestamp) -> mvcc::Result<bool> {
    batch.delete_range_using_tombstone(Span::new(start, end), at, &Default::default())
}

fn is_not_supported(result: mvcc::Result<bool>) -> bool {
    matches!(result, Err(Error::Engine(error)) if error.kind() == ErrorKind::NotSupported)
}

#[test]
fn whoever_has_not_asked_for_them_writes_none_but_heeds_them() {
    let db = open(Arc::new(MemFs::new()));
    let family = db.default_column_family();
    let plain = store(&db, BatchOptions::default());
    let mut batch = plain.begin(NOW);
    batch.put(b"b", time(1), Value::Bytes(b"value")).unwrap();
    assert!(is_not_supported(delete(&mut batch, b"a", b"c", time(2))));
    batch.commit(&WriteOptions::default()).unwrap();
    assert!(is_not_supported(delete(
        &mut MvccBatch::new(&db, &family, options(), NOW),
        b"a",
        b"c",
        time(2)
    )));
    // The record has the form that releases without range tombstones read.
    assert_eq!(db.get([0]).unwrap().unwrap()[0], 1);
    drop(plain);
    let writer = store(&db, options());
    let mut batch = writer.begin(NOW);
    assert!(delete(&mut batch, b"a", b"c", time(2)).unwrap());
    batch.commit(&WriteOptions::default()).unwrap();
    assert_eq!(db.get([0]).unwrap().unwrap()[0], 2);
    drop(writer);
    for statistics in [true, false] {
        let options = BatchOptions {
            statistics,
            ..BatchOptions::default()
        };
        let plain = store(&db, options);
        let reading = MvccReadOptions::default();
        assert!(plain.get(b"b", time(2), &reading).unwrap().found.is_none());
        assert!(plain.get(b"b", time(1), &reading).unwrap().found.is_some());
        let mut batch = plain.begin(NOW);
        assert!(batch.put(b"b", time(2), Value::Bytes(b"value")).is_err());
        assert!(is_not_supported(delete(&mut batch, b"a", b"c", time(3))));
    }
    // A reader that bypasses the store sees range tombstones only if it asks for them.
    let raw = Reader::new(&db, &family);
    let get = |reader: &Reader<'_>| {
        reader
            .get(b"b", time(2), &MvccReadOptions::default())
            .unwrap()
            .found
    };
    assert!(get(&raw).is_some());
    assert!(get(&raw.with_range_tombstones().unwrap()).is_none());
    // After the last range tombstone is removed, the record has its old form.
    let writer = store(&db, options());
    writer
        .collect_garbage_at(time(2), NOW, &GcOptions::default())
        .unwrap();
    assert_eq!(range_tombstones(&db), []);
    assert_eq!(db.get([0]).unwrap().unwrap()[0], 1);
}

/// A snapshot of the engine has the range tombstones of its moment.
#[test]
fn snapshots_and_readers_keep_theirs() {
    let db = open(Arc::new(MemFs::new()));
    let store = store(&db, options());
    let before = db.snapshot();
    let reader_before = store.reader(time(9)).unwrap();
    let mut batch = store.begin(NOW);
    batch.put(b"b", time(1), Value::Bytes(b"value")).unwrap();
    delete(&mut batch, b"a", b"c", time(2)).unwrap();
    batch.commit(&WriteOptions::default()).unwrap();
    let during = db.snapshot();
    let reader_during = store.reader(time(9)).unwrap();
    store
        .collect_garbage_at(time(5), NOW, &GcOptions::default())
        .unwrap();
    let reader_after = store.reader(time(9)).unwrap();
    let ranges = |reader: &Reader<'_>| {
        reader
            .range_tombstones(Span::ALL, Timestamp::ZERO, Timestamp::MAX)
            .unwrap()
            .len()
    };
    let family = db.default_column_family();
    let at = |snapshot| {
        Reader::new(&db, &family)
            .at(snapshot)
            .with_range_tombstones()
            .unwrap()
    };
    assert_eq!([before, during].map(|snapshot| ranges(&at(snapshot))), [0, 1]);
    assert_eq!(
        [reader_before, reader_during, reader_after].map(|reader| ranges(&reader)),
        [0, 1, 0]
    );
}

/// All stored data.
type StoredData = (Found, Vec<RangeTombstone>);

/// Writes a batch, and adds the resulting state. `durable` becomes the number of batches that must survive.
fn write_step(
    db: &esker::Db,
    store: &MvccStore,
    step: i64,
    states: &mut Vec<StoredData>,
    durable: &mut usize,
) -> mvcc::Result<()> {
    let mut batch = store.begin(NOW);
    for key in [b"b", b"d", b"f"] {
        batch.put(key, time(10 * step), Value::Bytes(b"value"))?;
    }
    match step % 4 {
        1 => drop(delete(&mut batch, b"a", b"e", time(10 * step + 1))?),
        2 => drop(delete(&mut batch, b"c", b"g", time(10 * step + 1))?),
        3 => batch.clear_range(Span::new(b"d", b"e"))?,
        _ => drop(batch.revert_to(Span::ALL, time(10 * step - 15), &Default::default())?),
    }
    let (reader, until) = (batch.reader(), Timestamp::MAX);
    let mut found = Vec::new();
    let mut rows = reader.incremental(Span::ALL, Timestamp::ZERO, until)?;
    while let Some(row) = rows.next()? {
        found.push((
            row.user_key.to_vec(),
            row.timestamp,
            plain(row.stored, row.user_key),
        ));
    }
    states.push((found, reader.range_tombstones(Span::ALL, Timestamp::ZERO, until)?));
    drop((rows, reader));
    let write = WriteOptions {
        sync: step % 2 == 0,
        ..WriteOptions::default()
    };
    batch.commit(&write)?;
    if step % 5 == 0 {
        db.flush()?;
    }
    if write.sync || step % 5 == 0 {
        *durable = states.len() - 1;
    }
    Ok(())
}

/// After any crash the state is that after some number of whole batches.
#[test]
fn they_are_written_with_their_batch_or_not_at_all() {
    let mut rng = rng::rng();
    let mut cut = 1;
    let mut cut_off = 0;
    loop {
        let disk = MemFs::new();
        let fs = FaultFs::new(Arc::new(disk.clone()));
        let db = open(Arc::new(fs.clone()));
        let versions = store(&db, options());
        let mut states: Vec<StoredData> = vec![(dump(&db), range_tombstones(&db))];
        fs.crash_at(fs.changes() + cut);
        let mut durable = 0;
        let finished =
            (1..12).all(|step| write_step(&db, &versions, step, &mut states, &mut durable).is_ok());
        let seed = fastrand::Rng::with_seed(rng.u64(..));
        let left = disk.crash_clone(&mut { seed }, UnsyncedPolicy::Random);
        drop((versions, db));
        let db = open(Arc::new(left));
        let versions = store(&db, options());
        let state = (dump(&db), range_tombstones(&db));
        assert!(states[durable..].contains(&state), "cut {cut}: {state:?}");
        assert_eq!(versions.stats(NOW).unwrap(), versions.recount(NOW).unwrap());
        if finished {
            break;
        }
        cut_off += 1;
        cut += 1;
    }
    assert!(cut_off > 10, "some were cut off");
}

/// A reader that begins at the moment of a write sees all of it or nothing.
#[test]
fn readers_see_whole_batches() {
    const KEYS: [&[u8]; 4] = [b"a", b"b", b"c", b"d"];
    let db = open(Arc::new(MemFs::new()));
    let store = store(&db, options());
    let done = AtomicBool::new(false);
    let mut round = 0;
    let mut put = |flag: bool| {
        round += 1;
        let mut batch = store.begin(NOW);
        let (at, value) = (Timestamp::from_nanos(10 * round), Value::Bytes(b"value"));
        match flag {
            true => {
                delete(&mut batch, b"a", b"e", at).unwrap();
                batch.put(b"z", at, value).unwrap();
            }
            false => {
                KEYS.iter().for_each(|key| batch.put(key, at, value).unwrap());
                batch.delete(b"z", at).unwrap();
            }
        }
        batch.commit(&WriteOptions::default()).unwrap();
        if round % 64 == 0 {
            let until = Timestamp::from_nanos(10 * (round - 8));
            store
                .collect_garbage_at(until, NOW, &GcOptions::default())
                .unwrap();
        }
    };
    put(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut seen = [0; 2];
                    while !done.load(Ordering::Relaxed) || seen.contains(&0) {
                        let reader = store.reader(Timestamp::MAX).unwrap();
                        let found = reader
                            .scan(Span::ALL, Timestamp::MAX, &Default::default())
                            .unwrap();
                        let rows = found.rows.len() as usize;
                        let deleted = found.rows.iter().any(|row| row.user_key == b"z");
                        assert_eq!(rows, if deleted { 1 } else { KEYS.len() });
                        seen[usize::from(deleted)] += 1;
                    }
                })
            })
            .collect();
        for _ in 0..2000 {
            put(true);
            put(false);
        }
        // The writer continues until each reader has seen both states.
        done.store(true, Ordering::Relaxed);
        while readers.iter().any(|reader| !reader.is_finished()) {
            put(true);
            put(false);
        }
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    });
    assert_eq!(store.stats(NOW).unwrap(), store.recount(NOW).unwrap());
}

/// Tables whose properties show nothing above a range tombstone are not read for hidden keys, but inline
/// values and newer versions are found.
#[test]
fn what_is_hidden_is_not_read() {
    let db = open(Arc::new(MemFs::new()));
    let options = BatchOptions {
        statistics: false,
        ..options()
    };
    let store = store(&db, options);
    let key = |at: usize| format!("key{at:05}").into_bytes();
    let write = |keys: &[usize], seconds| {
        let mut batch = store.begin(NOW);
        for &at in keys {
            batch
                .put(&key(at), time(seconds), Value::Bytes(&[7; 100]))
                .unwrap();
        }
        batch.commit(&WriteOptions::default()).unwrap();
        db.flush().unwrap();
    };
    let all: Vec<usize> = (0..5000).collect();
    write(&all, 1);
    let mut batch = store.begin(NOW);
    batch
        .put_inline(b"key02000x", Some(Value::Bytes(b"inline")))
        .unwrap();
    // Without statistics, no call checks whether a range tombstone exists.
    assert!(delete(&mut batch, b"key00100", b"key04900", time(2)).unwrap());
    batch.commit(&WriteOptions::default()).unwrap();
    write(&[500, 3000, 3001], 3);
    let family = db.default_column_family();
    db.compact_range_cf(&family, None, None).unwrap();
    let scan = |span, at, reverse| {
        let options = MvccReadOptions {
            reverse,
            ..MvccReadOptions::default()
        };
        perf::set_level(PerfLevel::EnableCount);
        perf::reset();
        let found = store.scan(span, at, &options).unwrap();
        let seen = perf::context();
        perf::set_level(PerfLevel::Disable);
        let mut keys: Vec<Vec<u8>> = found.rows.iter().map(|row| row.user_key.to_vec()).collect();
        if reverse {
            keys.reverse();
        }
        (
            keys,
            found.counters,
            seen.block_cache_hit_count + seen.block_read_count,
        )
    };
    let hidden = Span::new(b"key00200", b"key04800");
    // The first scan reads several blocks at once, from the disk.
    scan(Span::ALL, time(1), false);
    let (_, _, before) = scan(hidden, time(1), false);
    for reverse in [false, true] {
        let (keys, counters, blocks) = scan(hidden, time(9), reverse);
        assert_eq!(keys, [key(500), b"key02000x".to_vec(), key(3000), key(3001)]);
        assert!(counters.steps + 20 * counters.seeks < 2000, "{counters:?}");
        assert!(blocks < before / 4, "{blocks} blocks, {before} of all");
        let (keys, _, blocks) = scan(hidden, time(2), reverse);
        assert_eq!(keys, [b"key02000x"]);
        assert!(blocks < before / 4, "{blocks} blocks, {before} of all");
        // Keys that are not deleted exist on both sides.
        let (keys, _, blocks) = scan(Span::ALL, time(9), reverse);
        assert_eq!(keys.len(), 204);
        assert!(blocks < before / 4, "{blocks} blocks, {before} of all");
    }
}

/// Repeated deletions of a span do not read the deleted keys again.
#[test]
fn what_is_deleted_is_not_counted_again() {
    let db = open(Arc::new(MemFs::new()));
    let store = store(&db, options());
    let mut batch = store.begin(NOW);
    for at in 0..5000 {
        let key = format!("key{at:05}").into_bytes();
        batch.put(&key, time(1), Value::Bytes(&[7; 100])).unwrap();
    }
    batch.commit(&WriteOptions::default()).unwrap();
    db.flush().unwrap();
    for (second, most) in [(2, u64::MAX), (4, 1000), (6, 1000)] {
        let mut batch = store.begin(NOW);
        assert!(delete(&mut batch, b"key", b"kez", time(second)).unwrap());
        let counters = batch.counters();
        assert!(counters.steps + 20 * counters.seeks < most, "{counters:?}");
        batch
            .put(b"key02500", time(second + 1), Value::Bytes(b"new"))
            .unwrap();
        batch.commit(&WriteOptions::default()).unwrap();
        db.flush().unwrap();
        let stats = store.stats(NOW).unwrap();
        assert_eq!((stats, stats.live_count), (store.recount(NOW).unwrap(), 1));
    }
}

/// The rows that a reader must see, computed from all stored data.
fn visible(db: &esker::Db, span: Span<'_>, at: Timestamp) -> Found {
    let deleted = range_tombstones(db);
    let is_hidden = |key: &[u8], time: Timestamp| {
        let over = deleted
            .iter()
            .filter(|range| *range.start <= *key && *key < *range.end);
        let mut times = over.flat_map(|range| &range.timestamps);
        !time.is_zero() && times.any(|deleted| *deleted >= time && *deleted <= at)
    };
    let mut found = dump(db);
    found.retain(|(key, time, _)| {
        *time <= at && **key >= *span.start && span.end.is_none_or(|end| **key < *end)
    });
    // The newest version of each key comes first.
    found.dedup_by(|later, first| later.0 == first.0);
    found.retain(|(key, time, value)| value.is_some() && !is_hidden(key, *time));
    found
}

/// Scans find every visible version among skipped ones.
#[test]
fn nothing_visible_is_passed_over() {
    let mut rng = rng::rng();
    for _ in 0..20 {
        let db = open(Arc::new(MemFs::new()));
        let options = BatchOptions {
            // With statistics, spans with inline values could not be deleted.
            statistics: false,
            max_steps: rng.u32(..3),
            ..options()
        };
        let store = store(&db, options);
        let key = |at: usize| format!("key{at:03}").into_bytes();
        for second in 1..80 {
            let mut batch = store.begin(NOW);
            match rng.u32(..10) {
                0 => {
                    let at = rng.usize(..200);
                    let inline = [key(at), b"x".to_vec()].concat();
                    batch
                        .put_inline(&inline, rng.bool().then_some(Value::Bytes(b"inline")))
                        .ok();
                }
                1 | 2 => {
                    let (a, b) = (rng.usize(..200), rng.usize(..200));
                    delete(&mut batch, &key(a.min(b)), &key(a.max(b) + 1), time(second)).unwrap();
                }
                3 => drop(batch.delete(&key(rng.usize(..200)), time(second)).unwrap()),
                _ => {
                    let (first, step) = (rng.usize(..200), rng.usize(1..50));
                    for at in (first..200).step_by(step) {
                        batch.put(&key(at), time(second), Value::Bytes(&[7; 40])).unwrap();
                    }
                }
            }
            batch.commit(&WriteOptions::default()).unwrap();
            let family = db.default_column_family();
            match rng.u32(..12) {
                0 | 1 => db.flush().unwrap(),
                2 => db.compact_range_cf(&family, None, None).unwrap(),
                3 => drop(
                    store
                        .collect_garbage_at(time(rng.i64(1..=second)), NOW, &Default::default())
                        .unwrap(),
                ),
                _ => {}
            }
            for _ in 0..2 {
                let at = time(rng.i64(0..82)).max(store.threshold().next());
                let (a, b) = (key(rng.usize(..200)), key(rng.usize(..200)));
                let span = if rng.one_in(3) {
                    Span::ALL
                } else {
                    Span::new(&a, &b)
                };
                let mut expected = visible(&db, span, at);
                let reading = MvccReadOptions {
                    reverse: rng.bool(),
                    max_keys: rng.bool().then(|| rng.u64(1..20)),
                    ..MvccReadOptions::default()
                };
                if reading.reverse {
                    expected.reverse();
                }
                let most = reading.max_keys.map_or(usize::MAX, |most| most as usize);
                let is_all = expected.len() < most;
                expected.truncate(most);
                let found = store.scan(span, at, &reading).unwrap();
                let rows = found.rows.iter();
                let rows: Found = rows
                    .map(|row| {
                        (
                            row.user_key.to_vec(),
                            row.timestamp,
                            plain(row.stored, row.user_key),
                        )
                    })
                    .collect();
                assert_eq!(rows, expected, "{reading:?} at {at}");
                assert!(!is_all || found.resume.is_none());
            }
        }
    }
}

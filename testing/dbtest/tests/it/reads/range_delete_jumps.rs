//! Iterators skip rows under range deletions by seeks, whether the rows and the deletion are in one source or
//! in several. Steps are counted, not timed.

use std::collections::BTreeMap;
use std::sync::Arc;

use dbtest::by_hand::{compact, flush, rewrite};
use esker::{
    ColumnFamilyOptions, CompressionType, Db, DbIterator, Options, PerfLevel, ReadOptions, Snapshot,
    WriteOptions, perf,
};
use testkit::rng;
use vfs::MemFs;

const KEYS: u32 = 20_000;
/// The deleted keys; the first and the last key are not deleted.
const DELETED: std::ops::Range<u32> = 1..KEYS - 1;

fn key(number: u32) -> Vec<u8> {
    format!("key{number:06}").into_bytes()
}

fn open() -> Db {
    let options = Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        column_family: ColumnFamilyOptions {
            disable_auto_compactions: true,
            compression: CompressionType::None,
            target_file_size_base: 200 << 10,
            ..ColumnFamilyOptions::default()
        },
        ..Options::default()
    };
    Db::open(&options, "/db").unwrap()
}

fn fill(db: &Db) {
    for number in 0..KEYS {
        db.put(key(number), b"a value of some bytes").unwrap();
    }
}

fn delete_range(db: &Db, numbers: std::ops::Range<u32>) {
    let family = db.default_column_family();
    let (start, end) = (key(numbers.start), key(numbers.end));
    db.delete_range_cf(&family, &start, &end).unwrap();
}

fn tables(db: &Db) -> u64 {
    db.live_files().len() as u64
}

/// The keys that an iterator shows in both directions, which must agree; the number of entries it skipped,
/// and the number of seeks past a range, in the more expensive direction.
fn walk(db: &Db, snapshot: Option<&Snapshot>) -> (Vec<Vec<u8>>, u64, u64) {
    let options = ReadOptions {
        snapshot: snapshot.cloned(),
        ..ReadOptions::default()
    };
    let mut iter = db.iter_opt(&options);
    let mut all = |first: fn(&mut DbIterator), step: fn(&mut DbIterator)| {
        perf::set_level(PerfLevel::EnableCount);
        perf::reset();
        let mut keys = Vec::new();
        first(&mut iter);
        while iter.valid() {
            keys.push(iter.key().to_vec());
            step(&mut iter);
        }
        iter.status().unwrap();
        let counts = perf::context();
        perf::set_level(PerfLevel::Disable);
        let (passed, sought) = (
            counts.internal_key_skipped_count,
            counts.internal_range_del_reseek_count,
        );
        (keys, passed, sought)
    };
    let forwards = all(DbIterator::seek_to_first, DbIterator::next);
    let mut backwards = all(DbIterator::seek_to_last, DbIterator::prev);
    backwards.0.reverse();
    assert_eq!(forwards.0, backwards.0);
    let (passed, sought) = (forwards.1.max(backwards.1), forwards.2.max(backwards.2));
    (forwards.0, passed, sought)
}

/// Checks that the first and the last key are the only rows, found with few steps across `spans` deletions or
/// parts of deletions.
fn expect_jumps(db: &Db, spans: u64, why: &str) {
    let (keys, passed, sought) = walk(db, None);
    assert_eq!(keys, [key(0), key(KEYS - 1)], "{why}");
    assert!(
        passed <= 20 * spans,
        "{why}: {passed} passed over for {spans} spans"
    );
    assert!(
        sought > 0 && sought <= 2 * spans,
        "{why}: {sought} seeks for {spans} spans"
    );
}

fn expect_all(db: &Db, snapshot: &Snapshot) {
    let (keys, _, sought) = walk(db, Some(snapshot));
    assert_eq!((keys.len() as u32, sought), (KEYS, 0));
}

#[test]
fn in_one_memtable() {
    let db = open();
    fill(&db);
    delete_range(&db, DELETED);
    expect_jumps(&db, 1, "nothing is newer");
    db.put(b"z", b"elsewhere").unwrap();
    db.delete(b"z").unwrap();
    expect_jumps(&db, 1, "newer rows are elsewhere");
}

#[test]
fn in_one_memtable_by_many_deletions() {
    let db = open();
    fill(&db);
    let mut spans = 0;
    for start in DELETED.step_by(500) {
        delete_range(&db, start..(start + 500).min(DELETED.end));
        spans += 1;
    }
    expect_jumps(&db, spans, "one after the other");
}

#[test]
fn in_one_table_of_l0_and_in_a_level() {
    for many in [false, true] {
        let db = open();
        fill(&db);
        // The snapshot keeps the rows.
        let snapshot = db.snapshot();
        let mut spans = 1;
        if many {
            for start in DELETED.step_by(500) {
                delete_range(&db, start..(start + 500).min(DELETED.end));
                spans += 1;
            }
        } else {
            delete_range(&db, DELETED);
        }
        flush(&db);
        assert_eq!(tables(&db), 1);
        expect_jumps(&db, spans, "in L0");
        expect_all(&db, &snapshot);
        rewrite(&db);
        assert!(tables(&db) > 3, "{}", tables(&db));
        expect_jumps(&db, spans + tables(&db), "in a level");
        expect_all(&db, &snapshot);
    }
}

#[test]
fn across_sources() {
    let db = open();
    fill(&db);
    let snapshot = db.snapshot();
    flush(&db);
    delete_range(&db, DELETED);
    expect_jumps(&db, 1, "from the memtable over L0");
    expect_all(&db, &snapshot);
    flush(&db);
    expect_jumps(&db, 1, "from one table of L0 over another");
    drop(snapshot);

    let db = open();
    fill(&db);
    flush(&db);
    rewrite(&db);
    assert!(tables(&db) > 3);
    let snapshot = db.snapshot();
    delete_range(&db, DELETED);
    expect_jumps(&db, 1, "from the memtable over a level");
    flush(&db);
    expect_jumps(&db, 1, "from L0 over a level");
    expect_all(&db, &snapshot);
}

/// Rows written after a deletion are visible wherever they are stored, to the readers whose snapshots include
/// them.
#[test]
fn what_is_newer_is_not_jumped_over() {
    for flushed in [false, true] {
        let db = open();
        fill(&db);
        let before = db.snapshot();
        delete_range(&db, DELETED);
        let deleted = db.snapshot();
        for number in [777, 5000, KEYS - 2] {
            db.put(key(number), b"again").unwrap();
        }
        let again = db.snapshot();
        delete_range(&db, 700..800);
        if flushed {
            flush(&db);
        }
        let expect = |snapshot: Option<&Snapshot>, numbers: &[u32]| {
            let keys: Vec<Vec<u8>> = numbers.iter().map(|number| key(*number)).collect();
            assert_eq!(walk(&db, snapshot).0, keys);
        };
        expect(Some(&deleted), &[0, KEYS - 1]);
        expect(Some(&again), &[0, 777, 5000, KEYS - 2, KEYS - 1]);
        expect(None, &[0, 5000, KEYS - 2, KEYS - 1]);
        expect_all(&db, &before);
        drop((before, deleted, again));
    }
}

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// Many rows under wide deletions, in the memtable, L0 and lower levels, compared with a model.
#[test]
fn rows_under_wide_deletions_are_those_of_a_model() {
    const MANY: u32 = 300;
    let mut rng = rng::rng();
    for _ in 0..20 {
        let db = open();
        let family = db.default_column_family();
        let mut model = Rows::new();
        let mut snapshots: Vec<(Snapshot, Rows)> = Vec::new();
        for operation in 0..1500_u32 {
            let number = rng.u32(..MANY);
            match rng.u32(..100) {
                0..80 => {
                    let value = operation.to_le_bytes().to_vec();
                    db.put(key(number), &value).unwrap();
                    model.insert(key(number), value);
                }
                80..86 => {
                    db.delete(key(number)).unwrap();
                    model.remove(&key(number));
                }
                86..94 => {
                    let end = (number + rng.u32(..MANY)).min(MANY);
                    let (start, end) = (key(number), key(end));
                    let write = WriteOptions::default();
                    db.delete_range_cf_opt(&family, &start, &end, &write).unwrap();
                    model.retain(|key, _| *key < start || *key >= end);
                }
                94..97 => snapshots.push((db.snapshot(), model.clone())),
                97 => flush(&db),
                98 if rng.one_in(4) => compact(&db),
                _ => {
                    snapshots.pop();
                }
            }
            if rng.one_in(40) {
                let keys = |model: &Rows| model.keys().cloned().collect::<Vec<_>>();
                assert_eq!(walk(&db, None).0, keys(&model));
                if let Some((snapshot, model)) = snapshots.last() {
                    assert_eq!(walk(&db, Some(snapshot)).0, keys(model));
                }
            }
            if rng.one_in(20) {
                // The iterator changes its direction within deleted spans.
                let mut iter = db.iter();
                let target = key(rng.u32(..MANY));
                iter.seek(&target);
                let at = model.range(target.clone()..).next();
                assert_eq!(iter.valid().then(|| iter.key()), at.map(|(key, _)| &key[..]));
                if let Some((at, _)) = at {
                    iter.prev();
                    let before = model.range(..at.clone()).next_back();
                    assert_eq!(iter.valid().then(|| iter.key()), before.map(|(key, _)| &key[..]));
                    if iter.valid() {
                        iter.next();
                        assert_eq!(iter.key(), at);
                    }
                }
            }
        }
    }
}

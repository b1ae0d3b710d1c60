//! Iterators and the memory and files that they hold: memtables and tables replaced by flushes and
//! compactions.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base::merge::StringAppend;
use dbtest::by_hand::{flush, rewrite_family};
use esker::{
    BlockBasedOptions, ColumnFamilyOptions, Db, DbIterator, ErrorKind, FilterPolicy, KeyMayExist,
    ManualClock, Options, PinnedSnapshot, Pins, ReadOptions, ReadTier, Snapshot, WriteOptions,
};
use testkit::rng::{self, TestRng};
use vfs::{Action, FaultFs, FileSystem, LogFs, MemFs, Op, Rule};

const KEYS: u32 = 100;

fn key(number: u32) -> Vec<u8> {
    format!("key{number:04}").into_bytes()
}

/// A database with rows in two tables and in the memtable.
struct Stage {
    db: Db,
    fs: Arc<MemFs>,
}

impl Stage {
    fn new() -> Stage {
        let fs = Arc::new(MemFs::new());
        let options = Options {
            create_if_missing: true,
            fs: fs.clone(),
            ..Options::default()
        };
        let db = Db::open(&options, "/db").unwrap();
        let stage = Stage { db, fs };
        for number in 0..KEYS {
            stage.db.put(key(number), b"old").unwrap();
            if number % 40 == 39 {
                stage.flush();
            }
        }
        stage
    }

    fn flush(&self) {
        flush(&self.db);
    }

    /// Writes every row again, and replaces every memtable and every file.
    fn replace_everything(&self) {
        for number in 0..KEYS {
            self.db.put(key(number), b"new").unwrap();
        }
        self.db.put(key(KEYS), b"later").unwrap();
        self.db.delete(key(7)).unwrap();
        self.flush();
        let family = self.db.default_column_family();
        rewrite_family(&self.db, &family);
    }

    fn iter(&self, snapshot: Option<&Snapshot>, auto_refresh: bool) -> DbIterator {
        self.db.iter_opt(&ReadOptions {
            snapshot: snapshot.cloned(),
            auto_refresh_iterator_with_snapshot: auto_refresh,
            ..ReadOptions::default()
        })
    }

    /// The bytes of memtables that only readers hold.
    fn pinned_memtables(&self) -> u64 {
        let family = self.db.default_column_family();
        let size = |name: &str| self.db.property_int(&family, name).unwrap();
        size("rocksdb.size-all-mem-tables") - size("rocksdb.cur-size-all-mem-tables")
    }

    fn pinned_table_bytes(&self) -> u64 {
        let family = self.db.default_column_family();
        let size = |name: &str| self.db.property_int(&family, name).unwrap();
        size("rocksdb.total-sst-files-size") - size("rocksdb.live-sst-files-size")
    }

    /// The number of files on disk that no longer belong to the current version.
    fn pinned_tables(&self) -> usize {
        let files = self.fs.list(Path::new("/db")).unwrap();
        let tables = files.iter().filter(|name| name.ends_with(".sst"));
        tables.count() - self.db.live_files().len()
    }

    fn expect_held(&self, why: &str) {
        assert!(self.pinned_memtables() > 0 && self.pinned_tables() > 0, "{why}");
        assert!(self.pinned_table_bytes() > 0, "{why}");
    }

    /// Waits until no memtable and no file is held by readers only: files are deleted in the background.
    fn expect_nothing_held(&self, why: &str) {
        testkit::wait_until(why, || self.pinned_memtables() == 0 && self.pinned_tables() == 0);
        assert_eq!(self.pinned_table_bytes(), 0, "{why}");
    }
}

/// The name of a move, the call, and the number of the key at which the iterator is afterwards.
type Move = (&'static str, fn(&mut DbIterator), Option<u32>);

/// The moves of an iterator at the key of number 50.
const MOVES: [Move; 7] = [
    ("next", DbIterator::next, Some(51)),
    ("prev", DbIterator::prev, Some(49)),
    ("seek", |iter| iter.seek(&key(7)), Some(7)),
    (
        "seek_for_prev",
        |iter| iter.seek_for_prev(&key(KEYS)),
        Some(KEYS - 1),
    ),
    ("seek_to_first", DbIterator::seek_to_first, Some(0)),
    ("seek_to_last", DbIterator::seek_to_last, Some(KEYS - 1)),
    ("off the end", |iter| iter.seek(&key(KEYS)), None),
];

/// By default, an iterator with a snapshot releases replaced memtables and files.
#[test]
fn iterators_with_snapshots_let_go_by_default() {
    let stage = Stage::new();
    let snapshot = stage.db.snapshot();
    let with_snapshot = ReadOptions {
        snapshot: Some(snapshot),
        ..ReadOptions::default()
    };
    for (options, lets_go) in [(with_snapshot, true), (ReadOptions::default(), false)] {
        let mut iter = stage.db.iter_opt(&options);
        iter.seek(&key(50));
        stage.replace_everything();
        stage.expect_held("before the step");
        iter.next();
        match lets_go {
            true => stage.expect_nothing_held("with a snapshot"),
            false => stage.expect_held("without one"),
        }
        assert_eq!(iter.key(), key(51));
    }
}

#[test]
fn a_step_lets_go_of_what_was_replaced() {
    for (name, step, lands_on) in MOVES {
        let stage = Stage::new();
        let snapshot = stage.db.snapshot();
        let mut iter = stage.iter(Some(&snapshot), true);
        iter.seek(&key(50));
        stage.replace_everything();
        stage.expect_held("before the step");
        step(&mut iter);
        stage.expect_nothing_held(name);
        let stands_on = iter.valid().then(|| iter.key().to_vec());
        assert_eq!(stands_on, lands_on.map(key), "{name}");
        if lands_on.is_some() {
            assert_eq!(iter.value(), b"old", "{name}: the snapshot is gone");
        }
        iter.status().unwrap();
    }
}

#[test]
fn without_the_option_or_a_snapshot_everything_is_held() {
    for (auto_refresh, with_snapshot) in [(false, true), (true, false)] {
        let stage = Stage::new();
        let snapshot = with_snapshot.then(|| stage.db.snapshot());
        let mut iter = stage.iter(snapshot.as_ref(), auto_refresh);
        iter.seek_to_first();
        stage.replace_everything();
        while iter.valid() {
            assert_eq!(iter.value(), b"old");
            iter.next();
        }
        stage.expect_held("to the end");
        drop(iter);
        stage.expect_nothing_held("after the end");
    }
}

#[test]
fn a_scan_sees_its_snapshot_however_often_everything_is_replaced() {
    let stage = Stage::new();
    let snapshot = stage.db.snapshot();
    let expected: Vec<Vec<u8>> = (0..KEYS).map(key).collect();
    let mut found = Vec::new();
    let mut iter = stage.iter(Some(&snapshot), true);
    iter.seek_to_first();
    while iter.valid() {
        assert_eq!(iter.value(), b"old");
        found.push(iter.key().to_vec());
        if found.len() % 9 == 0 {
            stage.replace_everything();
        }
        iter.next();
    }
    assert_eq!(found, expected);
    iter.seek_to_last();
    while iter.valid() {
        assert_eq!(
            (iter.key(), iter.value()),
            (&found.pop().unwrap()[..], &b"old"[..])
        );
        if found.len() % 9 == 0 {
            stage.replace_everything();
        }
        iter.prev();
    }
    assert!(found.is_empty());
}

#[test]
fn refresh_moves_to_now_or_to_a_snapshot() {
    let stage = Stage::new();
    let before = stage.db.snapshot();
    let mut iter = stage.iter(None, false);
    iter.seek_to_first();
    stage.replace_everything();
    assert_eq!(iter.value(), b"old");
    iter.refresh(None).unwrap();
    assert!(!iter.valid());
    stage.expect_nothing_held("after the refresh");
    iter.seek_to_last();
    assert_eq!((iter.key(), iter.value()), (&key(KEYS)[..], &b"later"[..]));
    iter.refresh(Some(&before)).unwrap();
    iter.seek_to_last();
    assert_eq!((iter.key(), iter.value()), (&key(KEYS - 1)[..], &b"old"[..]));
    // The iterator keeps its snapshot alive after the handle is dropped.
    drop(before);
    stage.replace_everything();
    iter.seek(&key(7));
    assert_eq!((iter.key(), iter.value()), (&key(7)[..], &b"old"[..]));
}

/// An iterator refreshes automatically depending on the option and its current snapshot, not on earlier ones.
#[test]
fn an_iterator_lets_go_by_itself_whenever_it_has_a_snapshot() {
    for auto_refresh in [true, false] {
        for begins_with_snapshot in [true, false] {
            let stage = Stage::new();
            let snapshot = stage.db.snapshot();
            let mut iter = stage.iter(begins_with_snapshot.then_some(&snapshot), auto_refresh);
            for with_snapshot in [false, true, false, true] {
                iter.refresh(with_snapshot.then_some(&snapshot)).unwrap();
                iter.seek(&key(50));
                stage.replace_everything();
                stage.expect_held("before the step");
                iter.next();
                assert_eq!(iter.key(), key(51));
                match auto_refresh && with_snapshot {
                    true => stage.expect_nothing_held("with the option and a snapshot"),
                    false => stage.expect_held("without one of them"),
                }
                assert!(!with_snapshot || iter.value() == b"old");
            }
        }
    }
}

#[test]
fn an_iterator_that_was_refused_stays_refused() {
    let (stage, other) = (Stage::new(), Stage::new());
    let mut iter = stage.db.iter_cf(&other.db.default_column_family());
    assert!(iter.status().is_err());
    assert!(iter.refresh(None).is_err());
    iter.seek_to_first();
    assert!(!iter.valid() && iter.status().is_err());
}

/// Keys with many versions of all kinds, and snapshots in between.
#[test]
fn many_versions_of_a_key_hide_nothing() {
    const VERSIONS: u64 = 60;
    let seed = rng::seed();
    for max_skip in [0, 1, 8, 1000] {
        let mut rng = TestRng::with_seed(seed);
        let options = Options {
            create_if_missing: true,
            fs: Arc::new(MemFs::new()),
            column_family: ColumnFamilyOptions {
                max_sequential_skip_in_iterations: max_skip,
                merge_operator: Some(Arc::new(StringAppend::new(","))),
                ..ColumnFamilyOptions::default()
            },
            ..Options::default()
        };
        let db = Db::open(&options, "/db").unwrap();
        let (write, family) = (WriteOptions::default(), db.default_column_family());
        let mut model: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
        let mut moments = Vec::new();
        for version in 0..VERSIONS {
            for number in [1, 1, 2, 2, 3, 5] {
                let (key, value) = (key(number), version.to_string().into_bytes());
                match rng.u32(..10) {
                    0 => {
                        db.delete(&key).unwrap();
                        model.remove(&key);
                    }
                    1..4 => {
                        db.merge_cf_opt(&family, &key, &value, &write).unwrap();
                        let merged = model.entry(key).or_default();
                        if !merged.is_empty() {
                            merged.push(b',');
                        }
                        merged.extend_from_slice(&value);
                    }
                    4 if number == 5 => {
                        db.put(b"key0000", &value).unwrap();
                        model.insert(b"key0000".to_vec(), value);
                    }
                    _ => {
                        db.put(&key, &value).unwrap();
                        model.insert(key, value);
                    }
                }
            }
            if rng.one_in(8) {
                moments.push((db.snapshot(), model.clone()));
            }
            if rng.one_in(20) {
                flush(&db);
            }
        }
        moments.push((db.snapshot(), model));
        for (snapshot, expected) in moments {
            let mut iter = db.iter_opt(&ReadOptions {
                snapshot: Some(snapshot),
                ..ReadOptions::default()
            });
            let rows: Vec<_> = expected.into_iter().collect();
            iter.seek_to_first();
            for (at, (key, value)) in rows.iter().enumerate() {
                assert!(iter.valid(), "max_skip {max_skip}: {:?}", iter.status());
                assert_eq!(
                    (iter.key(), iter.value()),
                    (&key[..], &value[..]),
                    "max_skip {max_skip}"
                );
                // The iterator moves back and forth between the versions of keys.
                if at > 0 && rng.one_in(4) {
                    iter.prev();
                    assert_eq!(iter.key(), &rows[at - 1].0[..], "max_skip {max_skip}");
                    iter.next();
                }
                iter.next();
            }
            assert!(!iter.valid());
            iter.seek_to_last();
            for (key, value) in rows.iter().rev() {
                assert!(iter.valid(), "max_skip {max_skip}: {:?}", iter.status());
                assert_eq!(
                    (iter.key(), iter.value()),
                    (&key[..], &value[..]),
                    "max_skip {max_skip}"
                );
                iter.prev();
            }
            assert!(!iter.valid());
            iter.status().unwrap();
        }
    }
}

fn keys_of(iter: &mut DbIterator) -> Vec<String> {
    let mut keys = Vec::new();
    while iter.valid() {
        keys.push(String::from_utf8(iter.key().to_vec()).unwrap());
        iter.next();
    }
    keys
}

#[test]
fn a_tailing_iterator_sees_what_is_there_when_it_seeks() {
    let stage = Stage::new();
    let (db, write) = (&stage.db, WriteOptions::default());
    let family = db.default_column_family();
    let mut iter = db.iter_opt(&ReadOptions {
        tailing: true,
        ..ReadOptions::default()
    });
    iter.seek(&key(98));
    db.put(b"key0098a", b"").unwrap();
    assert_eq!(keys_of(&mut iter), ["key0098", "key0099"]);
    // A tailing iterator shows rows that are written after its creation: in its memtable, also after a range
    // deletion there, in later memtables, and in tables that flushes and compactions write.
    iter.seek(&key(98));
    assert_eq!(keys_of(&mut iter), ["key0098", "key0098a", "key0099"]);
    db.delete_range_cf_opt(&family, key(98), key(99), &write).unwrap();
    iter.seek_to_last();
    iter.prev();
    assert_eq!(iter.key(), key(97));
    for number in 100..103 {
        db.put(key(number), b"new").unwrap();
        if number != 101 {
            stage.flush();
        }
        iter.seek(&key(98));
        let expected: Vec<_> = (99..=number).map(|number| format!("key{number:04}")).collect();
        assert_eq!(keys_of(&mut iter), expected);
    }
    stage.replace_everything();
    iter.seek(&key(99));
    assert_eq!(keys_of(&mut iter), ["key0099", "key0100", "key0101", "key0102"]);

    let both = ReadOptions {
        tailing: true,
        snapshot: Some(db.snapshot()),
        ..ReadOptions::default()
    };
    let mut refused = db.iter_opt(&both);
    refused.seek_to_first();
    assert!(!refused.valid());
    assert_eq!(refused.status().unwrap_err().kind(), ErrorKind::InvalidArgument);
    let error = iter.refresh(both.snapshot.as_ref()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

/// After an error the position of a tailing iterator is outdated, and no seek may show it.
#[test]
fn a_tailing_iterator_that_cannot_open_a_file_says_so() {
    let faults = FaultFs::new(Arc::new(MemFs::new()));
    let options = Options {
        create_if_missing: true,
        fs: Arc::new(faults.clone()),
        // Only one table can be open at a time.
        max_open_files: 11,
        column_family: ColumnFamilyOptions {
            disable_auto_compactions: true,
            ..ColumnFamilyOptions::default()
        },
        ..Options::default()
    };
    let db = Db::open(&options, "/db").unwrap();
    let tailing = ReadOptions {
        tailing: true,
        ..ReadOptions::default()
    };
    let write = |value: &[u8]| {
        db.put(b"k", value).unwrap();
        flush(&db);
    };
    (0..3).for_each(|_| write(b"old"));
    let mut iter = db.iter_opt(&tailing);
    iter.seek(b"k");
    assert_eq!(iter.value(), b"old");
    write(b"new");
    for _ in 0..2 {
        faults.add(Rule::new(Action::Fail(ErrorKind::Io)).on([Op::Open]));
        let mut opened = db.iter_opt(&tailing);
        for iter in [&mut iter, &mut opened] {
            for _ in 0..2 {
                iter.seek(b"k");
                assert!(!iter.valid());
                assert_eq!(iter.status().unwrap_err().kind(), ErrorKind::Io);
            }
        }
        faults.clear_rules();
        for iter in [&mut iter, &mut opened] {
            iter.seek_to_last();
            iter.status().unwrap();
            assert_eq!((iter.key(), iter.value()), (&b"k"[..], &b"new"[..]));
        }
        write(b"new");
    }
}

#[test]
fn bounds_change_without_reopening() {
    let stage = Stage::new();
    let mut iter = stage.db.iter();
    for (lower, upper) in [
        (Some(7), Some(9)),
        (Some(98), None),
        (None, Some(2)),
        (Some(5), Some(5)),
    ] {
        iter.set_bounds(lower.map(key).as_deref(), upper.map(key).as_deref());
        assert!(!iter.valid());
        iter.seek_to_first();
        let range = lower.unwrap_or(0)..upper.unwrap_or(KEYS);
        let expected: Vec<_> = range.clone().map(|number| format!("key{number:04}")).collect();
        assert_eq!(keys_of(&mut iter), expected);
        iter.seek_to_last();
        assert_eq!(
            iter.valid().then(|| iter.key().to_vec()),
            range.clone().last().map(key)
        );
        iter.seek(&key(0));
        assert_eq!(
            iter.valid().then(|| iter.key().to_vec()),
            range.clone().next().map(key)
        );
    }
    iter.set_bounds(None, None);
    iter.seek_to_first();
    assert_eq!(keys_of(&mut iter).len(), KEYS as usize);
}

#[test]
fn an_iterator_passes_over_no_more_than_it_may() {
    let stage = Stage::new();
    for number in 10..20 {
        stage.db.delete(key(number)).unwrap();
    }
    let limited = |most| {
        stage.db.iter_opt(&ReadOptions {
            max_skippable_internal_keys: most,
            ..ReadOptions::default()
        })
    };
    let incomplete =
        |iter: &DbIterator| !iter.valid() && iter.status().unwrap_err().kind() == ErrorKind::Incomplete;
    // The limit of skipped entries counts deletions and the rows that they hide; a change of direction skips
    // the current row.
    let mut enough = limited(21);
    enough.seek(&key(10));
    assert_eq!(enough.key(), key(20));
    enough.prev();
    assert_eq!(enough.key(), key(9));
    enough.next();
    assert_eq!(enough.key(), key(20));
    let mut few = limited(19);
    few.seek(&key(10));
    assert!(incomplete(&few));
    few.seek_for_prev(&key(19));
    assert!(incomplete(&few));
    few.seek(&key(9));
    assert!(few.valid());
    few.next();
    assert!(incomplete(&few));
    few.seek(&key(11));
    assert_eq!(few.key(), key(20));
}

#[test]
fn a_read_goes_no_further_than_its_tier() {
    let fs = Arc::new(MemFs::new());
    let options = Options {
        create_if_missing: true,
        fs: fs.clone(),
        avoid_flush_during_recovery: true,
        ..Options::default()
    };
    let log = Arc::new(LogFs::new(fs, "/db").with_queries());
    {
        let db = Db::open(&options, "/db").unwrap();
        db.put(b"table", b"1").unwrap();
        flush(&db);
        db.put(b"memtable", b"2").unwrap();
        db.close().unwrap();
    }
    let db = Db::open(
        &Options {
            fs: log.clone(),
            ..options
        },
        "/db",
    )
    .unwrap();
    db.put(b"new", b"3").unwrap();
    let family = db.default_column_family();
    let at = |read_tier| ReadOptions {
        read_tier,
        ..ReadOptions::default()
    };
    let may_exist = |key: &[u8]| db.key_may_exist_cf(&family, key).unwrap();
    // Only file operations on tables are compared, because background threads still remove files and write
    // the LOG.
    let asked_of_tables = || -> Vec<String> {
        let lines = log.take();
        lines
            .lines()
            .filter(|line| line.contains(".sst"))
            .map(str::to_owned)
            .collect()
    };
    asked_of_tables();
    assert!(matches!(may_exist(b"table"), KeyMayExist::Maybe));
    assert!(matches!(may_exist(b"new"), KeyMayExist::Yes(value) if &value[..] == b"3"));
    let cached = db.get_cf_opt(&family, b"table", &at(ReadTier::BlockCache));
    assert_eq!(cached.unwrap_err().kind(), ErrorKind::Incomplete);
    let mut iter = db.iter_opt(&at(ReadTier::BlockCache));
    iter.seek_to_first();
    assert_eq!(iter.status().unwrap_err().kind(), ErrorKind::Incomplete);
    assert_eq!(asked_of_tables(), [""; 0], "something was read");

    db.get(b"table").unwrap();
    assert!(!asked_of_tables().is_empty());
    assert!(matches!(may_exist(b"table"), KeyMayExist::Yes(value) if &value[..] == b"1"));
    assert!(matches!(may_exist(b"zebra"), KeyMayExist::No));
    let mut iter = db.iter_opt(&at(ReadTier::BlockCache));
    iter.seek_to_first();
    assert_eq!(keys_of(&mut iter).len(), 3);
    assert_eq!(asked_of_tables(), [""; 0], "something was read");

    let memtable = db.get_cf_opt(&family, b"table", &at(ReadTier::Memtable));
    assert_eq!(memtable.unwrap_err().kind(), ErrorKind::Incomplete);
    assert_eq!(
        db.get_cf_opt(&family, b"new", &at(ReadTier::Memtable))
            .unwrap()
            .unwrap(),
        b"3"
    );
    let mut iter = db.iter_opt(&at(ReadTier::Memtable));
    iter.seek_to_first();
    assert!(!keys_of(&mut iter).contains(&"table".to_owned()));
}

/// A seek in memtables, among other moves, leads to what an iterator over the memtables alone shows.
#[test]
fn a_seek_in_memtables_is_a_read_of_that_tier() {
    for seed in 0..20 {
        let mut rng = TestRng::with_seed(seed);
        let options = Options {
            create_if_missing: true,
            fs: Arc::new(MemFs::new()),
            column_family: ColumnFamilyOptions {
                disable_auto_compactions: true,
                ..ColumnFamilyOptions::default()
            },
            ..Options::default()
        };
        let db = Db::open(&options, "/db").unwrap();
        for _ in 0..300 {
            let number = rng.u32(..KEYS);
            match rng.usize(..40) {
                0 => flush(&db),
                1..4 => db.delete_range(key(number), key(number + rng.u32(..9))).unwrap(),
                4..12 => db.delete(key(number)).unwrap(),
                _ => db.put(key(number), rng.bytes(9)).unwrap(),
            }
        }
        let tiers = [ReadTier::All, ReadTier::Memtable].map(|read_tier| {
            db.iter_opt(&ReadOptions {
                read_tier,
                ..ReadOptions::default()
            })
        });
        let mut iter = db.iter();
        let (mut right, mut at) = (tiers, 0);
        for _ in 0..200 {
            let target = key(rng.u32(..KEYS));
            at = match rng.usize(..5) {
                0 => {
                    // Without rows in memory there is nothing to look for.
                    if !iter.seek_in_memtables(&target) {
                        continue;
                    }
                    right[1].seek(&target);
                    1
                }
                1 => {
                    iter.seek(&target);
                    right[0].seek(&target);
                    0
                }
                2 if iter.valid() => {
                    iter.prev();
                    right[at].prev();
                    at
                }
                _ if iter.valid() => {
                    iter.next();
                    right[at].next();
                    at
                }
                _ => continue,
            };
            let expected = right[at].valid().then(|| (right[at].key(), right[at].value()));
            assert_eq!(
                iter.valid().then(|| (iter.key(), iter.value())),
                expected,
                "seed {seed}"
            );
        }
    }
}

/// The pins once they satisfy `good`: a finished job releases its inputs shortly after it reports its end.
fn pins_when(db: &Db, good: impl Fn(&Pins) -> bool) -> Pins {
    let mut pins = db.pins();
    testkit::wait_until("the pins are as they should be", || {
        pins = db.pins();
        good(&pins)
    });
    pins
}

#[test]
fn who_pins_what_is_told() {
    let clock = Arc::new(ManualClock::default());
    let options = Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        clock: clock.clone(),
        ..Options::default()
    };
    let db = Db::open(&options, "/db").unwrap();
    let stage = Stage {
        db,
        fs: Arc::new(MemFs::new()),
    };
    let (db, family) = (&stage.db, stage.db.default_column_family());
    assert_eq!(db.pins(), Pins::default());
    stage.replace_everything();
    assert_eq!(pins_when(db, |pins| *pins == Pins::default()), Pins::default());
    let snapshot = db.snapshot();
    let (first, second) = (db.snapshot(), db.iter());
    db.put(b"a", b"1").unwrap();
    clock.advance(Duration::from_secs(3));
    let third = db.iter();
    // Each of the iterators holds a memtable and a table that the database still uses.
    let pins = db.pins();
    assert!(pins.super_versions.is_empty());
    let ages = |pins: &Pins| -> Vec<u64> { pins.iterators.iter().map(|open| open.age.as_secs()).collect() };
    assert_eq!(ages(&pins), [3, 0]);
    let read: Vec<u64> = pins.iterators.iter().map(|open| open.super_version).collect();
    assert_eq!(read[0], read[1]);
    stage.replace_everything();
    clock.advance(Duration::from_secs(4));
    let pins = pins_when(db, |pins| {
        let held = pins.super_versions.first();
        held.is_some_and(|held| {
            (held.memtable_bytes, held.file_bytes) == (pins.memtable_bytes, pins.file_bytes)
        })
    });
    assert_eq!(
        pins.snapshots,
        [PinnedSnapshot {
            sequence_number: snapshot.sequence_number(),
            holders: 2,
            age: Duration::from_secs(7)
        }]
    );
    let [held] = &pins.super_versions[..] else {
        panic!("{pins}");
    };
    assert_eq!((held.holders, held.memtables, held.files), (2, 1, 1));
    assert_eq!(ages(&pins), [7, 4]);
    assert!(
        pins.iterators
            .iter()
            .all(|open| open.super_version == held.number)
    );
    assert_eq!(held.replaced_for, Duration::from_secs(4));
    assert_eq!(held.memtable_bytes, pins.memtable_bytes);
    assert_eq!(held.file_bytes, pins.file_bytes);
    assert!(held.memtable_bytes > 0 && held.file_bytes > 0);
    let text = db.property(&family, "esker.pins").unwrap();
    assert!(text.contains("2 iterators and others in [default]"), "{text}");
    let line = format!(
        "2 iterators in [default] read super version {}, 4 to 7 s old",
        held.number
    );
    assert!(text.contains(&line), "{text}");
    // A refresh does not reset the age of an iterator.
    let mut third = third;
    third.refresh(None).unwrap();
    let pins = db.pins();
    assert_eq!(ages(&pins), [7, 4]);
    assert!(pins.iterators[1].super_version > pins.iterators[0].super_version);

    drop((first, second, third));
    db.disable_file_deletions();
    clock.advance(Duration::from_secs(5));
    stage.replace_everything();
    let nothing = |pins: &Pins| pins.memtable_bytes == 0 && pins.file_bytes == 0;
    let pins = pins_when(db, |pins| nothing(pins) && pins.files_waiting > 0);
    assert_eq!(
        (pins.super_versions.len(), pins.memtable_bytes, pins.file_bytes),
        (0, 0, 0)
    );
    clock.advance(Duration::from_secs(2));
    let later = db.hold_file_deletions("a copy");
    let pins = db.pins();
    let holds: Vec<_> = pins
        .file_deletions
        .iter()
        .map(|hold| (&*hold.holder, hold.age.as_secs()))
        .collect();
    assert_eq!(holds, [("disable_file_deletions", 7), ("a copy", 0)]);
    assert!(pins.files_waiting > 0, "{pins}");
    let text = pins.to_string();
    assert!(
        text.contains("a copy has allowed no deletion of files for 0 s"),
        "{text}"
    );
    db.enable_file_deletions().unwrap();
    assert!(
        db.enable_file_deletions().is_err(),
        "the copy's own is not to be taken back"
    );
    assert!(db.pins().files_waiting > 0);
    drop(later);
    drop(snapshot);
    assert_eq!(pins_when(db, |pins| *pins == Pins::default()), Pins::default());
}

/// Seeks with filters show the same rows as seeks without, and read less.
#[test]
fn filters_keep_no_row_from_an_iterator() {
    let fs = Arc::new(MemFs::new());
    let log = LogFs::new(fs, "/db").with_queries();
    let seed = rng::seed();
    let mut reads = [0, 0];
    for filtered in [false, true] {
        let mut rng = TestRng::with_seed(seed);
        let options = Options {
            create_if_missing: true,
            fs: Arc::new(log.clone()),
            column_family: ColumnFamilyOptions {
                prefix_extractor: base::prefix::builtin("rocksdb.FixedPrefix.4"),
                target_file_size_base: 4096,
                table: BlockBasedOptions {
                    filter_policy: if filtered {
                        FilterPolicy::Bloom(20.0)
                    } else {
                        FilterPolicy::None
                    },
                    no_block_cache: true,
                    ..BlockBasedOptions::default()
                },
                ..ColumnFamilyOptions::default()
            },
            ..Options::default()
        };
        let db = Db::open(&options, format!("/db{filtered}")).unwrap();
        let (write, family) = (WriteOptions::default(), db.default_column_family());
        let mut model = BTreeMap::new();
        let key = |rng: &mut TestRng| format!("{:04}{:03}", 2 * rng.u32(..200), rng.u32(..20)).into_bytes();
        for step in 0..4000 {
            let (key, value) = (key(&mut rng), format!("{step:030}").into_bytes());
            match rng.u32(..200) {
                0 => {
                    let end = [&key[..], b"~"].concat();
                    db.delete_range_cf_opt(&family, &key, &end, &write).unwrap();
                    model.retain(|other, _| *other < key || *other >= end);
                }
                1..20 => {
                    db.delete(&key).unwrap();
                    model.remove(&key);
                }
                _ => {
                    db.put(&key, &value).unwrap();
                    model.insert(key, value);
                }
            }
            if step == 2500 {
                db.compact_range_cf(&family, None, None).unwrap();
            } else if step % 300 == 299 {
                flush(&db);
            }
        }
        db.wait_for_compact().unwrap();
        let mut same = db.iter_opt(&ReadOptions {
            prefix_same_as_start: true,
            ..ReadOptions::default()
        });
        let mut auto = db.iter_opt(&ReadOptions {
            auto_prefix_mode: true,
            ..ReadOptions::default()
        });
        log.take();
        for _ in 0..500 {
            // Every second prefix has no row.
            let from = format!("{:04}{:03}", rng.u32(..401), rng.u32(..20)).into_bytes();
            let end = [&from[..4], b"~"].concat();
            let expected: Vec<_> = model.range(from.clone()..end.clone()).collect();
            auto.set_bounds(None, Some(&end));
            for iter in [&mut same, &mut auto] {
                iter.seek(&from);
                for (key, value) in &expected {
                    assert!(iter.valid(), "{:?}", iter.status());
                    assert_eq!((iter.key(), iter.value()), (&key[..], &value[..]));
                    iter.next();
                    if iter.valid() && rng.one_in(8) {
                        iter.prev();
                        assert_eq!(iter.key(), &key[..]);
                        iter.next();
                    }
                }
                assert!(!iter.valid());
                iter.status().unwrap();
            }
        }
        reads[usize::from(filtered)] = log.take().matches("read").count();
    }
    // Every second prefix is missing, and seeking it with filters costs no read.
    assert!(reads[1] * 10 < reads[0] * 9, "{reads:?}");
}

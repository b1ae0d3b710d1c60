//! Iterators and what they hold: memtables and files that flushes and compactions have replaced.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base::merge::StringAppend;
use esker::{
    BottommostLevelCompaction, ColumnFamilyOptions, CompactRangeOptions, Db, DbIterator, FlushOptions,
    Options, ReadOptions, Snapshot, WriteOptions,
};
use testkit::rng::{self, TestRng};
use vfs::{FileSystem, MemFs};

const KEYS: u32 = 100;

fn key(number: u32) -> Vec<u8> {
    format!("key{number:04}").into_bytes()
}

/// A database with rows in two tables and the memtable.
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
            stage.db.put(&key(number), b"old").unwrap();
            if number % 40 == 39 {
                stage.flush();
            }
        }
        stage
    }

    fn flush(&self) {
        self.db.flush(&FlushOptions::default()).unwrap();
    }

    /// Writes every row again, and replaces every memtable and every file.
    fn replace_everything(&self) {
        for number in 0..KEYS {
            self.db.put(&key(number), b"new").unwrap();
        }
        self.db.put(&key(KEYS), b"later").unwrap();
        self.db.delete(&key(7)).unwrap();
        self.flush();
        let everything = CompactRangeOptions {
            bottommost_level_compaction: BottommostLevelCompaction::Force,
            ..CompactRangeOptions::default()
        };
        let family = self.db.default_column_family();
        self.db.compact_range(&family, &everything, None, None).unwrap();
    }

    fn iter(&self, snapshot: Option<&Snapshot>, auto_refresh: bool) -> DbIterator {
        self.db.iter(&ReadOptions {
            snapshot: snapshot.cloned(),
            auto_refresh_iterator_with_snapshot: auto_refresh,
            ..ReadOptions::default()
        })
    }

    /// Bytes of memtables that only readers hold.
    fn pinned_memtables(&self) -> u64 {
        let family = self.db.default_column_family();
        let size = |name: &str| self.db.property_int(&family, name).unwrap();
        size("rocksdb.size-all-mem-tables") - size("rocksdb.cur-size-all-mem-tables")
    }

    fn pinned_table_bytes(&self) -> u64 {
        let family = self.db.default_column_family();
        let bytes = self.db.property_int(&family, "rocksdb.obsolete-sst-files-size");
        bytes.unwrap()
    }

    /// Files on disk that are not the database's any more.
    fn pinned_tables(&self) -> usize {
        let files = self.fs.list(Path::new("/db")).unwrap();
        let tables = files.iter().filter(|name| name.ends_with(".sst"));
        tables.count() - self.db.live_files().len()
    }

    fn expect_held(&self, why: &str) {
        assert!(self.pinned_memtables() > 0 && self.pinned_tables() > 0, "{why}");
        assert!(self.pinned_table_bytes() > 0, "{why}");
    }

    /// Waits until nothing is held any more: files are deleted in the background.
    fn expect_nothing_held(&self, why: &str) {
        let end = Instant::now() + Duration::from_secs(60);
        while self.pinned_memtables() > 0 || self.pinned_tables() > 0 {
            let (bytes, tables) = (self.pinned_memtables(), self.pinned_tables());
            assert!(
                Instant::now() < end,
                "{why}: memtables of {bytes} bytes and {tables} tables are held"
            );
            std::thread::yield_now();
        }
        assert_eq!(self.pinned_table_bytes(), 0, "{why}");
    }
}

/// Its name, what it does, and the number of the key the iterator stands on afterwards.
type Move = (&'static str, fn(&mut DbIterator), Option<u32>);

/// The moves of an iterator that stands on the key of number 50.
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
    // The iterator keeps the snapshot by itself.
    drop(before);
    stage.replace_everything();
    iter.seek(&key(7));
    assert_eq!((iter.key(), iter.value()), (&key(7)[..], &b"old"[..]));
}

#[test]
fn an_iterator_that_was_refused_stays_refused() {
    let (stage, other) = (Stage::new(), Stage::new());
    let mut iter = stage
        .db
        .iter_cf(&ReadOptions::default(), &other.db.default_column_family());
    assert!(iter.status().is_err());
    assert!(iter.refresh(None).is_err());
    iter.seek_to_first();
    assert!(!iter.valid() && iter.status().is_err());
}

/// Keys with many versions, of all kinds, and readers in between.
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
                        db.merge(&write, &family, &key, &value).unwrap();
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
                db.flush(&FlushOptions::default()).unwrap();
            }
        }
        moments.push((db.snapshot(), model));
        for (snapshot, expected) in moments {
            let mut iter = db.iter(&ReadOptions {
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
                // There and back, from where it stands between the versions.
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

//! Iterators and the memory and files that they hold: memtables and tables replaced by flushes and
//! compactions.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use base::merge::StringAppend;
use dbtest::by_hand::{flush, rewrite_family};
use esker::{
    BlockBasedOptions, ColumnFamilyOptions, Db, DbIterator, FilterPolicy, ManualClock, Options,
    PinnedSnapshot, Pins, ReadOptions, ReadTier, Snapshot, WriteOptions,
};
use testkit::rng::{self, TestRng};
use vfs::{LogFs, MemFs};

const KEYS: u32 = 100;

fn key(number: u32) -> Vec<u8> {
    format!("key{number:04}").into_bytes()
}

/// A database with rows in two tables and in the memtable.
struct Stage {
    db: Db,
}

impl Stage {
    fn new() -> Stage {
        let options = Options {
            create_if_missing: true,
            fs: Arc::new(MemFs::new()),
            ..Options::default()
        };
        let db = Db::open(&options, "/db").unwrap();
        let stage = Stage { db };
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
    let stage = Stage { db };
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

//! `preclude_last_level_data_seconds`: recent rows stay out of the last level.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use base::env::{Clock, ManualClock};
use dbtest::by_hand::{flush, rewrite};
use dbtest::{files, settings};
use esker::{CompactRangeOptions, CompactionStyle, Db, DbPath, Options, Snapshot, Temperature};
use tempfile::TempDir;
use testkit::{TestRng, oracle};
use vfs::MemFs;

const DIR: &str = "/db";
const AGE: u64 = 1000;
const LAST: usize = 6;

fn options(clock: &Arc<ManualClock>) -> Options {
    let mut options = Options {
        create_if_missing: true,
        clock: clock.clone(),
        fs: Arc::new(MemFs::new()),
        ..Options::default()
    };
    let family = &mut options.column_family;
    family.preclude_last_level_data_seconds = AGE;
    family.last_level_temperature = Temperature::COLD;
    family.default_write_temperature = Temperature::HOT;
    family.disable_auto_compactions = true;
    options
}

fn clock() -> Arc<ManualClock> {
    let clock = Arc::new(ManualClock::default());
    clock.advance(Duration::from_secs(1_000_000));
    clock
}

fn pass(clock: &ManualClock, seconds: u64) {
    clock.advance(Duration::from_secs(seconds));
}

fn put(db: &Db, keys: impl IntoIterator<Item = u32>, value: &str) {
    for key in keys {
        db.put(format!("{key:03}"), value).unwrap();
    }
}

/// Flushes rows and samples their time: a second after the last one, since of several samples in a second the
/// first counts, which may have been taken before all rows were written.
fn flush_old(db: &Db, clock: &ManualClock) {
    pass(clock, 1);
    flush(db);
}

/// Advances the clock so that the rows of earlier flushes count as old, and writes key 099. Its row separates
/// them from later ones: the time may be sampled between the move of the clock and the next write, and a
/// later sample of a sequence number takes the place of an earlier one.
fn grow_old(db: &Db, clock: &ManualClock) {
    put(db, [99], "between");
    pass(clock, 2 * AGE);
}

/// The level, temperature and entries of each table, from the first level on.
fn tables(db: &Db) -> Vec<(usize, Temperature, u64)> {
    assert_eq!(files::check(db).unwrap(), "");
    let mut files = db.live_files();
    files.sort_by_key(|file| (file.level, file.smallest_key.clone()));
    let of = |file: &esker::LiveFile| (file.level, file.temperature, file.num_entries);
    files.iter().map(of).collect()
}

/// The age is changed while the database is open. The rows that exist then count as written at the change, if no
/// time is known for them.
#[test]
fn the_age_of_recent_rows_changes_while_the_database_is_open() {
    let clock = clock();
    let mut options = options(&clock);
    options.column_family.preclude_last_level_data_seconds = 0;
    let db = Db::open(&options, DIR).unwrap();
    let family = db.default_column_family();
    put(&db, 0..10, "old");
    let set = |age: &str| {
        db.set_options(&family, &[("preclude_last_level_data_seconds", age)])
            .unwrap();
    };
    set("1000");
    // The change of the option itself samples the time: without that sample, the old rows would get the time
    // of a later sample.
    grow_old(&db, &clock);
    put(&db, 10..15, "new");
    flush_old(&db, &clock);
    rewrite(&db);
    assert_eq!(
        tables(&db),
        [(LAST - 1, Temperature::HOT, 6), (LAST, Temperature::COLD, 10)]
    );
    set("0");
    put(&db, [20], "newest");
    flush(&db);
    rewrite(&db);
    assert_eq!(tables(&db), [(LAST, Temperature::COLD, 17)]);
}

#[test]
fn recent_rows_go_to_the_level_above() {
    for style in [CompactionStyle::Level, CompactionStyle::Universal] {
        let clock = clock();
        let mut options = options(&clock);
        options.column_family.compaction_style = style;
        let db = Db::open(&options, DIR).unwrap();
        put(&db, 0..10, "old");
        flush_old(&db, &clock);
        grow_old(&db, &clock);
        put(&db, 5..15, "new");
        flush_old(&db, &clock);
        rewrite(&db);
        // The old versions of overwritten rows are gone.
        assert_eq!(
            tables(&db),
            [(LAST - 1, Temperature::HOT, 11), (LAST, Temperature::COLD, 5)],
            "{style:?}"
        );
        for key in 0..15 {
            let wanted = if key < 5 { "old" } else { "new" };
            let found = db.get(format!("{key:03}")).unwrap();
            assert_eq!(found.as_deref(), Some(wanted.as_bytes()));
        }
        // All rows written so far become older than the limit.
        grow_old(&db, &clock);
        put(&db, [20], "newest");
        flush(&db);
        rewrite(&db);
        assert_eq!(
            tables(&db),
            [(LAST - 1, Temperature::HOT, 2), (LAST, Temperature::COLD, 15)],
            "{style:?}"
        );
    }
}

/// Recent rows stay in the directory of the level above the last one, and old rows go to that of the last.
#[test]
fn recent_rows_stay_in_the_directory_of_their_level() {
    let clock = clock();
    let mut options = options(&clock);
    let family = &mut options.column_family;
    // The levels above the last one fill the first directory.
    family.max_bytes_for_level_base = 1 << 20;
    family.max_bytes_for_level_multiplier = 1.0;
    family.cf_paths = vec![
        DbPath::new("/hot", (LAST as u64) << 20),
        DbPath::new("/cold", 1 << 40),
    ];
    let db = Db::open(&options, DIR).unwrap();
    put(&db, 0..10, "old");
    flush(&db);
    // The last level is in use only if a compaction has made it so.
    let to_last = CompactRangeOptions {
        change_level: true,
        target_level: Some(LAST),
        ..CompactRangeOptions::default()
    };
    db.compact_range_cf_opt(&db.default_column_family(), None, None, &to_last)
        .unwrap();
    pass(&clock, 1);
    grow_old(&db, &clock);
    put(&db, 5..15, "new");
    flush_old(&db, &clock);
    rewrite(&db);
    let wanted = [(LAST - 1, Temperature::HOT, 11), (LAST, Temperature::COLD, 5)];
    assert_eq!(tables(&db), wanted);
    let directories = |db: &Db| {
        let mut files = db.live_files();
        files.sort_by_key(|file| file.level);
        let of = |file: &esker::LiveFile| file.path.parent().unwrap().to_owned();
        files.iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(
        directories(&db),
        [std::path::Path::new("/hot"), std::path::Path::new("/cold")]
    );
    // Rows that are no longer recent move to the last level, and to its directory.
    grow_old(&db, &clock);
    put(&db, [20], "newest");
    flush(&db);
    rewrite(&db);
    assert_eq!(
        tables(&db),
        [(LAST - 1, Temperature::HOT, 2), (LAST, Temperature::COLD, 15)]
    );
    assert_eq!(
        directories(&db),
        [std::path::Path::new("/hot"), std::path::Path::new("/cold")]
    );
    db.close().unwrap();
    drop(db);
    let db = Db::open(&options, DIR).unwrap();
    for key in 0..15 {
        let wanted: &[u8] = if key < 5 { b"old" } else { b"new" };
        assert_eq!(db.get(format!("{key:03}")).unwrap().as_deref(), Some(wanted));
    }
}

#[test]
fn a_recent_range_deletion_hides_old_rows_that_a_snapshot_keeps() {
    let clock = clock();
    let db = Db::open(&options(&clock), DIR).unwrap();
    put(&db, 0..10, "old");
    flush_old(&db, &clock);
    let snapshot = db.snapshot();
    grow_old(&db, &clock);
    db.delete_range("003", "008").unwrap();
    put(&db, [5], "again");
    flush(&db);
    rewrite(&db);
    assert_eq!(
        tables(&db),
        [(LAST - 1, Temperature::HOT, 3), (LAST, Temperature::COLD, 10)]
    );
    let there = |key: u32| db.get(format!("{key:03}")).unwrap().is_some();
    let found: Vec<u32> = (0..10).filter(|&key| there(key)).collect();
    assert_eq!(found, [0, 1, 2, 5, 8, 9]);
    drop(snapshot);
    rewrite(&db);
    assert_eq!((0..10).filter(|&key| there(key)).count(), 6);
    assert_eq!(files::check(&db).unwrap(), "");
}

#[test]
fn rows_of_the_last_level_stay_there_in_leveled_compactions() {
    let clock = clock();
    let mut options = options(&clock);
    options.column_family.preclude_last_level_data_seconds = 0;
    let db = Db::open(&options, DIR).unwrap();
    put(&db, 0..10, "recent");
    // A snapshot keeps the sequence numbers of the rows.
    let snapshot = db.snapshot();
    put(&db, 0..10, "more recent");
    flush(&db);
    rewrite(&db);
    assert_eq!(tables(&db), [(LAST, Temperature::COLD, 20)]);
    drop(snapshot);
    drop(db);
    options.column_family.preclude_last_level_data_seconds = AGE;
    let db = Db::open(&options, DIR).unwrap();
    put(&db, 3..5, "newest");
    flush(&db);
    rewrite(&db);
    let found = tables(&db);
    assert_eq!(found[0], (LAST - 1, Temperature::HOT, 2));
    assert!(found[1..].iter().all(|table| table.0 == LAST), "{found:?}");
}

#[test]
fn no_move_carries_recent_rows_to_the_last_level() {
    let clock = clock();
    let mut options = options(&clock);
    options.column_family.disable_auto_compactions = false;
    options.column_family.level0_file_num_compaction_trigger = 1;
    let db = Db::open(&options, DIR).unwrap();
    put(&db, 0..100, "recent");
    flush(&db);
    db.wait_for_compact().unwrap();
    assert!(
        tables(&db).iter().all(|table| table.0 < LAST),
        "{:?}",
        tables(&db)
    );
}

/// Puts and deletions of keys and ranges, snapshots, compactions and time in random order. Automatic
/// compactions come to an end, although rows may not go where the sizes of levels want them.
#[test]
fn readers_see_their_rows_wherever_these_are() {
    for seed in testkit::rng::seeds(10) {
        history(&mut TestRng::with_seed(seed));
    }
}

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

fn rows(db: &Db, snapshot: Option<&Snapshot>) -> Rows {
    let options = esker::ReadOptions {
        snapshot: snapshot.cloned(),
        ..esker::ReadOptions::default()
    };
    let mut iter = db.iter_opt(&options);
    let mut rows = Rows::new();
    iter.seek_to_first();
    while iter.valid() {
        rows.insert(iter.key().to_vec(), iter.value().to_vec());
        iter.next();
    }
    iter.status().unwrap();
    rows
}

fn history(rng: &mut TestRng) {
    let clock = clock();
    let mut options = options(&clock);
    let family = &mut options.column_family;
    family.disable_auto_compactions = false;
    family.write_buffer_size = 8 << 10;
    family.target_file_size_base = 2 << 10;
    family.max_bytes_for_level_base = 6 << 10;
    family.max_bytes_for_level_multiplier = 3.0;
    family.num_levels = *rng.pick(&[3, 4, 5]);
    family.level0_file_num_compaction_trigger = *rng.pick(&[1, 2, 4]);
    family.level_compaction_dynamic_level_bytes = rng.bool();
    family.ttl = *rng.pick(&[0, AGE / 2, 5 * AGE]);
    let style = *rng.pick(&["kCompactionStyleLevel", "kCompactionStyleUniversal"]);
    settings::set_family(family, "compaction_style", style).unwrap();
    settings::draw(rng, &mut family.table);
    let mut db = Db::open(&options, DIR).unwrap();
    let mut model = Rows::new();
    let mut snapshots: Vec<(Snapshot, Rows)> = Vec::new();
    let key = |rng: &mut TestRng| format!("{:03}", rng.u32(..200)).into_bytes();
    for _ in 0..400 {
        match rng.u32(..20) {
            0..10 => {
                for _ in 0..rng.usize(1..20) {
                    let (key, len) = (key(rng), rng.usize(..150));
                    let value = rng.bytes(len);
                    db.put(&key, &value).unwrap();
                    model.insert(key, value);
                }
            }
            10 => {
                let key = key(rng);
                db.delete(&key).unwrap();
                model.remove(&key);
            }
            11 => {
                let mut range = [key(rng), key(rng)];
                range.sort();
                let [begin, end] = range;
                db.delete_range(&begin, &end).unwrap();
                model.retain(|key, _| *key < begin || *key >= end);
            }
            12 => flush(&db),
            13 if rng.one_in(4) => rewrite(&db),
            14 | 15 => pass(&clock, rng.u64(1..AGE / 2)),
            16 if snapshots.len() < 3 => snapshots.push((db.snapshot(), model.clone())),
            17 if !snapshots.is_empty() => drop(snapshots.swap_remove(0)),
            18 if rng.one_in(6) => {
                snapshots.clear();
                drop(db);
                db = Db::open(&options, DIR).unwrap();
            }
            19 => {
                db.wait_for_compact().unwrap();
                assert_eq!(files::check(&db).unwrap(), "");
                assert_eq!(rows(&db, None), model);
                for (snapshot, seen) in &snapshots {
                    assert_eq!(rows(&db, Some(snapshot)), *seen);
                }
            }
            _ => {}
        }
    }
    assert_eq!(rows(&db, None), model);
    assert!(clock.unix_seconds() > 1_000_000 + AGE);
}

/// RocksDB 7.8 knows the option, and finds its rows where they are.
#[test]
fn rocksdb_goes_on_with_it() {
    if oracle::ldb().is_none() {
        return;
    }
    let dir = TempDir::new().unwrap();
    let clock = clock();
    let mut options = options(&clock);
    options.fs = Options::default().fs;
    // RocksDB 7.8 does not know all temperatures.
    options.column_family.default_write_temperature = Temperature::UNKNOWN;
    options.column_family.last_level_temperature = Temperature::UNKNOWN;
    let db = Db::open(&options, dir.path()).unwrap();
    put(&db, 0..10, "old");
    flush_old(&db, &clock);
    grow_old(&db, &clock);
    put(&db, 5..15, "new");
    flush(&db);
    rewrite(&db);
    assert_eq!(tables(&db).len(), 2);
    db.close().unwrap();
    let ldb = |args: &[&str]| {
        let mut ldb = oracle::ldb().unwrap();
        let out = ldb
            .arg(format!("--db={}", dir.path().display()))
            .args(args)
            .output()
            .unwrap();
        assert!(out.status.success(), "{out:?}");
        String::from_utf8(out.stdout).unwrap()
    };
    ldb(&["--try_load_options", "checkconsistency"]);
    let scanned = ldb(&["--try_load_options", "scan"]);
    assert_eq!(scanned.lines().count(), 16, "{scanned}");
    assert!(
        scanned.contains("004 : old") && scanned.contains("005 : new"),
        "{scanned}"
    );
}

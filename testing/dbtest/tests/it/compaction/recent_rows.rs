//! `preclude_last_level_data_seconds`: recent rows stay out of the last level.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use base::env::{Clock, ManualClock};
use dbtest::by_hand::{flush, rewrite};
use dbtest::{files, settings};
use esker::{Db, Options, Snapshot, Temperature};
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

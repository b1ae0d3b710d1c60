//! The history of statistics: in memory, on disk, and as read by RocksDB.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base::statistics::{Statistics, Ticker};
use dbtest::by_hand::flush;
use esker::{Db, ErrorKind, ManualClock, Options, StatsHistoryEntry, WriteBatch};
use vfs::{FileSystem, MemFs};

const FAMILY: &str = "___rocksdb_stats_history___";

fn options(fs: Arc<dyn FileSystem>, clock: &Arc<ManualClock>, to_disk: bool) -> Options {
    Options {
        create_if_missing: true,
        fs,
        clock: clock.clone(),
        statistics: Some(Statistics::new()),
        stats_persist_period_sec: 1,
        persist_stats_to_disk: to_disk,
        ..Options::default()
    }
}

fn started() -> Arc<ManualClock> {
    let clock = Arc::new(ManualClock::default());
    clock.advance(Duration::from_secs(1_000_000));
    clock
}

fn history(db: &Db) -> Vec<StatsHistoryEntry> {
    db.get_stats_history(0, u64::MAX)
        .collect::<esker::Result<_>>()
        .unwrap()
}

/// Writes rows and lets a period pass, `times` times. Returns the number of rows.
fn look(db: &Db, clock: &ManualClock, times: u64) -> u64 {
    const ROWS: u64 = 30;
    for _ in 0..times {
        for _ in 0..ROWS {
            db.put(b"key", b"value").unwrap();
        }
        let before = history(db).len();
        pass(db, clock, || history(db).len() > before);
    }
    ROWS * times
}

/// Lets a period pass, and waits until `done`.
fn pass(db: &Db, clock: &ManualClock, done: impl Fn() -> bool) {
    clock.advance(Duration::from_secs(1));
    testkit::wait_until("the period was noticed", || {
        // A change of the period wakes the thread that takes samples.
        db.set_db_options(&[("stats_persist_period_sec", "1")]).unwrap();
        // The thread takes samples when it has deleted the OPTIONS file that was replaced.
        db.wait_for_purge().unwrap();
        done()
    });
}

fn total(entries: &[StatsHistoryEntry], name: &str) -> u64 {
    entries.iter().map(|entry| entry.stats[name]).sum()
}

#[test]
fn differences_are_kept_in_memory_as_far_as_there_is_room() {
    let clock = started();
    let options = options(Arc::new(MemFs::new()), &clock, false);
    let db = Db::open(&options, "/db").unwrap();
    let written = look(&db, &clock, 3);
    let entries = history(&db);
    assert!(
        entries.windows(2).all(|pair| pair[0].time < pair[1].time),
        "{entries:?}"
    );
    let counted = total(&entries, "rocksdb.number.keys.written");
    assert_eq!(counted, written);
    assert!(counted > 60, "a rise of each period, not of the last alone");
    let (first, last) = (entries[0].time, entries[entries.len() - 1].time);
    let part: Vec<_> = db.get_stats_history(first, last).map(Result::unwrap).collect();
    assert_eq!(part, entries[..entries.len() - 1]);
    assert!(db.get_stats_history(last, first).next().is_none());

    db.set_db_options(&[("stats_history_buffer_size", "2000")])
        .unwrap();
    pass(&db, &clock, || history(&db).len() <= 2);
    assert!(db.column_family(FAMILY).is_none());
}

#[test]
fn without_statistics_there_is_no_history() {
    let mut options = options(Arc::new(MemFs::new()), &started(), true);
    options.statistics = None;
    let db = Db::open(&options, "/db").unwrap();
    assert_eq!(history(&db).len(), 0);
}

#[test]
fn on_disk_they_outlive_the_database_and_rocksdb_reads_them() {
    let dir = tempfile::tempdir().unwrap();
    let clock = started();
    let mut options = options(Options::default().fs, &clock, true);
    let path = dir.path().join("db");
    let db = Db::open(&options, &path).unwrap();
    look(&db, &clock, 2);
    let names: Vec<_> = db
        .column_families()
        .iter()
        .map(|family| family.name().to_owned())
        .collect();
    assert_eq!(names, ["default"], "the family of statistics is not listed");
    let before = history(&db);
    db.close().unwrap();
    drop(db);
    assert_eq!(
        Db::list_column_families(&options, &path).unwrap(),
        ["default", FAMILY]
    );

    // The options of families that are not named do not apply to the family of statistics.
    options.column_family.merge_operator = base::merge::builtin("StringAppendOperator");
    options.column_family.num_levels = 3;
    let db = Db::open(&options, &path).unwrap();
    assert_eq!(history(&db)[..before.len()], before, "of the earlier session");
    look(&db, &clock, 1);
    let entries = history(&db);
    let family = db.column_family(FAMILY).unwrap();
    db.flush_cf(&[family]).unwrap();
    flush(&db);
    db.close().unwrap();
    drop(db);

    let Some(mut ldb) = testkit::oracle::ldb() else {
        return;
    };
    let scanned = ldb
        .arg(format!("--db={}", path.display()))
        .args([
            "--column_family=___rocksdb_stats_history___",
            "scan",
            "--no_value=false",
        ])
        .output()
        .unwrap();
    let scanned = String::from_utf8_lossy(&scanned.stdout).into_owned();
    let rows: BTreeMap<&str, &str> = scanned
        .lines()
        .filter_map(|line| line.split_once(" : "))
        .collect();
    assert_eq!(
        rows.get("__persistent_stats_format_version__"),
        Some(&"1"),
        "{scanned}"
    );
    assert_eq!(rows.get("__persistent_stats_compatible_version__"), Some(&"1"));
    for entry in &entries {
        for (name, rise) in &entry.stats {
            let key = format!("{:010}#{name}", entry.time);
            assert!(key.len() < 100, "RocksDB cuts longer ones: {key}");
            assert_eq!(rows.get(&*key), Some(&&*rise.to_string()), "{key}");
        }
    }
    assert_eq!(rows.len(), 2 + entries.len() * Ticker::ALL.len());
}

#[test]
fn a_family_in_another_form_begins_anew() {
    let mem = MemFs::new();
    let options = options(Arc::new(mem), &started(), true);
    for (changes, kept) in [
        (&[("__persistent_stats_format_version__", "2")][..], true),
        (
            &[
                ("__persistent_stats_format_version__", "2"),
                ("__persistent_stats_compatible_version__", "2"),
            ],
            false,
        ),
        (&[("__persistent_stats_format_version__", "what")], false),
    ] {
        let db = Db::open(&options, "/db").unwrap();
        let family = db.column_family(FAMILY).unwrap();
        let mut batch = WriteBatch::new();
        for (key, value) in changes {
            batch.put_cf(&family, key.as_bytes(), value.as_bytes());
        }
        batch.put_cf(&family, b"0000000007#rocksdb.wal.synced", b"9");
        db.write(batch).unwrap();
        drop((family, db));
        let db = Db::open(&options, "/db").unwrap();
        let old = db.get_stats_history(0, 8).count();
        assert_eq!(old, usize::from(kept), "{changes:?}");
        let family = db.column_family(FAMILY).unwrap();
        db.drop_column_family(&family).unwrap();
        db.put(b"life", b"goes on").unwrap();
    }
}

#[test]
fn rows_that_are_no_statistics_are_damage() {
    let options = options(Arc::new(MemFs::new()), &started(), true);
    let db = Db::open(&options, Path::new("/db")).unwrap();
    let family = db.column_family(FAMILY).unwrap();
    for (key, value) in [("00what", "1"), ("0000000007#name", "x"), ("0x#name", "1")] {
        db.put_cf(&family, key.as_bytes(), value.as_bytes()).unwrap();
        let mut entries = db.get_stats_history(0, u64::MAX);
        let error = entries.find_map(Result::err).unwrap();
        assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
        assert!(entries.next().is_none());
        db.delete_cf(&family, key.as_bytes()).unwrap();
    }
}

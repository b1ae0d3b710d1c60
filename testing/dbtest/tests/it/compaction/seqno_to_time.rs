//! The times at which rows were written: sampled, kept in tables, and readable by RocksDB.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base::env::{Clock, ManualClock};
use dbtest::by_hand::{flush, rewrite};
use esker::{Db, Options, SeqnoToTimeMapping};
use sst::{Table, TableReadOptions};
use tempfile::TempDir;
use testkit::oracle;
use vfs::{FileSystem, MemFs};

const DIR: &str = "/db";

fn options(fs: Arc<dyn FileSystem>, clock: &Arc<ManualClock>) -> Options {
    let mut options = Options {
        create_if_missing: true,
        clock: clock.clone(),
        fs,
        ..Options::default()
    };
    options.column_family.preserve_internal_time_seconds = 1000;
    options.column_family.disable_auto_compactions = true;
    options
}

/// The recorded times of the rows in each table, with the oldest table first.
fn of_tables(db: &Db, fs: &dyn FileSystem) -> Vec<SeqnoToTimeMapping> {
    let mut files = db.live_files();
    files.sort_by_key(|file| file.number);
    let mapping = |path: &Path| {
        let cmp = base::InternalComparator::new(base::UserComparator::Bytewise);
        let file = fs.open_random(path, &Default::default()).unwrap();
        let table = Table::open(file, TableReadOptions::new(cmp)).unwrap();
        SeqnoToTimeMapping::decode(&table.properties().seqno_to_time_mapping).unwrap()
    };
    files.iter().map(|file| mapping(&file.path)).collect()
}

/// True if `known` is a possible time of rows written 300 seconds after a flush at `flushed`: that of the
/// flush, or that of the rows if a sample was taken among them.
fn may_be_known(known: u64, flushed: u64) -> bool {
    known == flushed || known == flushed + 300
}

#[test]
fn tables_know_when_their_rows_were_written() {
    let fs = MemFs::new();
    let clock = Arc::new(ManualClock::default());
    clock.advance(Duration::from_secs(1_000_000));
    let options = options(Arc::new(fs.clone()), &clock);
    let db = Db::open(&options, DIR).unwrap();
    let begin = clock.unix_seconds();
    for round in 0..4u64 {
        for i in 0..10 {
            db.put(format!("{round}{i}").as_bytes(), b"x").unwrap();
        }
        flush(&db);
        clock.advance(Duration::from_secs(300));
    }
    let tables = of_tables(&db, &fs);
    assert_eq!(tables.len(), 4);
    for (round, table) in tables.iter().enumerate().skip(1) {
        // This table was flushed ten rows after the previous one, which was 300 seconds earlier.
        let first = 10 * round as u64 + 1;
        let known = table.oldest_approximate_time(first).unwrap();
        let flushed = begin + 300 * (round as u64 - 1);
        assert!(may_be_known(known, flushed), "{known}, {table:?}");
    }
    // Rows of the last 1,000 seconds keep their sequence numbers in the last level; the age of older rows is
    // unknown.
    rewrite(&db);
    let [table] = &of_tables(&db, &fs)[..] else {
        panic!("one table")
    };
    let known = table.oldest_approximate_time(40).unwrap();
    assert!(may_be_known(known, begin + 600), "{known}, {table:?}");
    let file = &db.live_files()[0];
    assert!(file.smallest_seqno < 11 && file.largest_seqno == 40, "{file:?}");
    clock.advance(Duration::from_secs(2000));
    db.put(b"new", b"x").unwrap();
    flush(&db);
    rewrite(&db);
    let file = &db.live_files()[0];
    assert_eq!((file.smallest_seqno, file.largest_seqno), (0, 41));
    // Without preserve_internal_time_seconds, compactions do not keep the sequence numbers of recent rows.
    db.close().unwrap();
    drop(db);
    let mut options = options;
    options.column_family.preserve_internal_time_seconds = 0;
    let db = Db::open(&options, DIR).unwrap();
    rewrite(&db);
    assert_eq!(of_tables(&db, &fs), [SeqnoToTimeMapping::default()]);
    assert_eq!(db.live_files()[0].largest_seqno, 0);
    assert!(db.seqno_to_time_mapping().pairs().is_empty());
}

#[test]
fn tables_of_streams_know_it_too() {
    let fs = MemFs::new();
    let clock = Arc::new(ManualClock::default());
    clock.advance(Duration::from_secs(1_000_000));
    let mut options = options(Arc::new(fs.clone()), &clock);
    options.column_family.disable_auto_compactions = false;
    options.column_family.target_file_size_base = 1 << 20;
    let db = Db::open(&options, DIR).unwrap();
    clock.advance(Duration::from_secs(300));
    for i in 0..200 {
        db.put(format!("{i:04}").as_bytes(), [b'v'; 100]).unwrap();
    }
    flush(&db);
    let file = &db.live_files()[0];
    assert!(file.level > 0, "{file:?}");
    assert!(
        file.smallest_seqno > 0,
        "rows keep their sequence numbers: {file:?}"
    );
    let [table] = &of_tables(&db, &fs)[..] else {
        panic!("one table")
    };
    assert!(!table.pairs().is_empty(), "{table:?}");
}

#[test]
fn rows_that_keep_their_sequence_numbers_are_not_rewritten_for_ever() {
    let clock = Arc::new(ManualClock::default());
    clock.advance(Duration::from_secs(1_000_000));
    let mut options = options(Arc::new(MemFs::new()), &clock);
    options.column_family.disable_auto_compactions = false;
    let db = Db::open(&options, DIR).unwrap();
    for i in 0..20 {
        let snapshot = db.snapshot();
        db.put(format!("{i:02}").as_bytes(), b"x").unwrap();
        flush(&db);
        rewrite(&db);
        drop(snapshot);
        db.wait_for_compact().unwrap();
    }
    assert!(db.live_files().iter().any(|file| file.largest_seqno > 0));
}

/// RocksDB's sst_dump reads the times in tables.
#[test]
fn rocksdb_reads_it() {
    let Some(mut sst_dump) = oracle::sst_dump() else {
        return;
    };
    let dir = TempDir::new().unwrap();
    let clock = Arc::new(ManualClock::default());
    clock.advance(Duration::from_secs(5000));
    let options = options(Options::default().fs, &clock);
    let db = Db::open(&options, dir.path()).unwrap();
    for _ in 0..3 {
        db.put(b"key", b"value").unwrap();
        flush(&db);
        clock.advance(Duration::from_secs(100));
    }
    rewrite(&db);
    let table = db.live_files()[0].path.clone();
    let seen = of_tables(&db, &*options.fs);
    db.close().unwrap();
    let out = sst_dump
        .args(["--show_properties", "--command=none"])
        .arg(format!("--file={}", table.display()))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let pairs = seen[0]
        .pairs()
        .iter()
        .map(|(seqno, time)| format!("{seqno}->{time},"));
    let shown: String = pairs.collect();
    assert!(
        !shown.is_empty() && text.contains(&shown),
        "{shown} is not in {text}"
    );
}

//! User code that panics in a write or in an open: acknowledged rows stay, and the database can be opened
//! again.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use dbtest::panicking::{Fuse, MESSAGE, Site};
use esker::{
    ColumnFamilyOptions, Db, ErrorKind, MemtableFactory, Options, RecoveryMode, Result, WriteBatch,
    WriteBatchWithIndex, WriteOptions,
};
use testkit::TestRng;
use vfs::{FileSystem, MemFs, UnsyncedPolicy};

const DIR: &str = "/db";

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

fn options(fs: &MemFs) -> Options {
    Options {
        create_if_missing: true,
        fs: Arc::new(fs.clone()),
        allow_2pc: true,
        column_family: ColumnFamilyOptions {
            merge_operator: base::merge::builtin("stringappend"),
            prefix_extractor: base::prefix::builtin("fixed:2"),
            memtable_prefix_bloom_size_ratio: 0.1,
            memtable_whole_key_filtering: true,
            ..ColumnFamilyOptions::default()
        },
        ..Options::default()
    }
}

/// Options of a database of these tests, with user code that panics when `fuse` is lit.
fn panicking(fs: &MemFs, fuse: &Arc<Fuse>) -> Options {
    let mut options = options(fs);
    fuse.put_into(&mut options.column_family);
    options.listeners.push(fuse.listener(true));
    options
}

fn rows(db: &Db) -> Rows {
    let mut iter = db.iter();
    iter.seek_to_first();
    let mut rows = Rows::new();
    while iter.valid() {
        rows.insert(iter.key().to_vec(), iter.value().to_vec());
        iter.next();
    }
    iter.status().unwrap();
    rows
}

fn is_latched(db: &Db) -> bool {
    db.property_int(&db.default_column_family(), "rocksdb.background-errors") == Some(1)
}

/// Writes rows that are acknowledged before any panic.
fn fill(db: &Db) -> Rows {
    for number in 0..40 {
        let key = format!("k{:02}", number * 7 % 40);
        db.put(key.as_bytes(), b"value").unwrap();
    }
    rows(db)
}

fn synced() -> WriteOptions {
    WriteOptions {
        sync: true,
        ..WriteOptions::default()
    }
}

fn protected() -> WriteOptions {
    WriteOptions {
        protection_bytes_per_key: 8,
        ..WriteOptions::default()
    }
}

fn unlogged() -> WriteOptions {
    WriteOptions {
        disable_wal: true,
        ..WriteOptions::default()
    }
}

fn batch() -> WriteBatch {
    let mut batch = WriteBatch::new();
    batch.put(b"k05x", b"");
    batch.merge(b"k06x", b"");
    batch.delete(b"k30");
    batch
}

/// A write, with its name.
type Write = (&'static str, fn(&Db) -> Result<()>);

/// All kinds of inserts into memtables. They do not change the rows of `fill`, except `k30` and the range
/// from `k31` on.
const WRITES: &[Write] = &[
    ("put", |db| db.put(b"k20x", b"")),
    ("synced put", |db| {
        db.put_cf_opt(&db.default_column_family(), b"k20x", b"", &synced())
    }),
    ("protected put", |db| {
        db.put_cf_opt(&db.default_column_family(), b"k20x", b"", &protected())
    }),
    ("unlogged put", |db| {
        db.put_cf_opt(&db.default_column_family(), b"k20x", b"", &unlogged())
    }),
    ("delete", |db| db.delete(b"k30")),
    ("single_delete", |db| db.single_delete(b"k30")),
    ("merge", |db| db.merge(b"k20x", b"")),
    ("delete_range", |db| {
        let family = db.default_column_family();
        db.delete_range_cf(&family, b"k30", b"k305")
    }),
    ("batch", |db| db.write(batch())),
    ("synced batch", |db| db.write_opt(batch(), &synced())),
    ("protected batch", |db| db.write_opt(batch(), &protected())),
    ("batch with a range", |db| {
        let mut batch = batch();
        batch.delete_range_cf(&db.default_column_family(), b"k30", b"k305");
        db.write(batch)
    }),
    ("indexed batch", |db| {
        let mut batch = WriteBatchWithIndex::new();
        batch.put(b"k20x", b"");
        batch.delete(b"k30");
        db.write(batch.into_write_batch())
    }),
];

/// Prepares a transaction under the name `x` and commits it, with two rows that were not prepared.
fn in_two_phases(db: &Db, deletes_range: bool) -> Result<()> {
    let mut rows = batch();
    if deletes_range {
        rows.delete_range(b"k30", b"k305");
    }
    db.prepare(b"x", &rows, &synced())?;
    rows.put(b"k07x", b"");
    let mut own = WriteBatch::new();
    own.put(b"k08x", b"");
    db.commit_prepared(b"x", &own, &rows, &synced()).map(drop)
}

/// Transactions in two phases, committed and rolled back. They change the same rows as `WRITES`.
const TWO_PHASE_WRITES: &[Write] = &[
    ("commit", |db| in_two_phases(db, false)),
    ("commit of a range deletion", |db| in_two_phases(db, true)),
    ("rollback", |db| {
        db.prepare(b"x", &batch(), &synced())?;
        db.rollback_prepared(b"x", &synced())
    }),
];

const MODES: [RecoveryMode; 4] = [
    RecoveryMode::TolerateCorruptedTailRecords,
    RecoveryMode::AbsoluteConsistency,
    RecoveryMode::PointInTime,
    RecoveryMode::SkipAnyCorruptedRecords,
];

/// Checks the rows after an open without panics in one of `modes`: all of `acknowledged`, except a row that a
/// failed write may have deleted.
fn check_reopened(fs: &MemFs, modes: &[RecoveryMode], acknowledged: &Rows, what: &str) {
    for &mode in modes {
        let mut options = options(&fs.process_death_clone());
        options.wal_recovery_mode = mode;
        let db = Db::open(&options, DIR).unwrap_or_else(|error| panic!("{what}: {mode:?}: {error}"));
        let there = rows(&db);
        for (key, value) in acknowledged {
            let found = there.get(key);
            assert!(found == Some(value) || key == b"k30", "{what}: {mode:?}: {key:?}");
        }
        for transaction in db.recovered_transactions() {
            let (name, none) = (&transaction.name, WriteBatch::new());
            db.commit_prepared(name, &none, &transaction.batch, &synced())
                .unwrap();
        }
        db.put(b"later", b"").unwrap();
        db.close().unwrap();
        drop(db);
        let db = Db::open(&options, DIR).unwrap();
        assert_eq!(db.get(b"later").unwrap().as_deref(), Some(&b""[..]));
    }
}

/// Checks that the write fails with the panic, that the database accepts no more writes if the WAL may
/// contain part of it, and that no lock stays held. True if user code has panicked.
fn panics_once(what: &str, write: fn(&Db) -> Result<()>, site: Site, before: u64) -> bool {
    let fs = MemFs::new();
    let fuse = Fuse::new();
    let db = Db::open(&panicking(&fs, &fuse), DIR).unwrap();
    let mut acknowledged = fill(&db);
    let number = db.latest_sequence_number();
    fuse.light_here(site, before);
    let written = write(&db);
    let panicked = fuse.panics() > 0;
    fuse.cut();
    if !panicked {
        written.unwrap();
        return false;
    }
    let what = format!("{what}, {site:?} {before}");
    let error = written.expect_err(&what);
    assert_eq!(error.kind(), ErrorKind::Panicked, "{what}: {error}");
    assert!(
        error.message().contains(site.named()) && error.message().contains(MESSAGE),
        "{what}: {error}"
    );
    assert!(is_latched(&db) || what.contains("range"), "{what}");
    if is_latched(&db) {
        let refused = db.put(b"other", b"").unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ReadOnly, "{what}");
        assert!(refused.message().contains(MESSAGE), "{what}: {refused}");
        assert_eq!(db.resume().unwrap_err().kind(), ErrorKind::ReadOnly, "{what}");
        assert!(db.flush().is_err(), "{what}");
        if site != Site::FileOperation {
            assert_eq!(db.latest_sequence_number(), number, "{what}");
        }
    } else {
        db.put(b"other", b"").unwrap();
        acknowledged.insert(b"other".to_vec(), Vec::new());
    }
    for (key, value) in &acknowledged {
        let found = db.get(key).unwrap();
        assert!(found.as_ref() == Some(value) || key == b"k30", "{what}: {key:?}");
    }
    drop(db.snapshot());
    db.pause_background_work().unwrap();
    db.continue_background_work().unwrap();
    let at = before as usize;
    check_reopened(&fs, &[MODES[at % 4]], &acknowledged, &what);
    // The close may fail if rows that were written without a WAL are lost.
    assert!(db.close().is_ok() || what.contains("unlogged"), "{what}");
    check_reopened(&fs, &[MODES[(at + 2) % 4]], &acknowledged, &what);
    true
}

#[test]
fn a_write_whose_code_panics_fails_by_name_and_loses_nothing() {
    for (what, write) in WRITES {
        for site in [Site::Compare, Site::Prefix, Site::FileOperation] {
            let mut before = 0;
            while panics_once(what, *write, site, before) {
                before += 1;
            }
            let least = match (*what, site) {
                ("delete_range", Site::Prefix) | ("unlogged put", Site::FileOperation) => 0,
                _ => 1,
            };
            assert!(before >= least, "{what}: {site:?} was not met");
        }
    }
}

#[test]
fn a_phase_whose_code_panics_fails_by_name_and_loses_nothing() {
    for (what, write) in TWO_PHASE_WRITES {
        for site in [Site::Compare, Site::Prefix, Site::FileOperation] {
            let mut before = 0;
            while panics_once(what, *write, site, before) {
                before += 1;
            }
            let least = match (*what, site) {
                // A rollback inserts nothing.
                ("rollback", Site::Compare | Site::Prefix) => 0,
                ("rollback", _) => 2,
                _ => 1,
            };
            assert!(before >= least, "{what}: {site:?} was met {before} times");
        }
    }
}

/// Changes of families and options, each with its name.
const CHANGES: &[Write] = &[
    ("create", |db| {
        db.create_column_family("new", &ColumnFamilyOptions::default())
            .map(drop)
    }),
    ("drop", |db| {
        let family = db.column_family("old").unwrap();
        db.drop_column_family(&family)
    }),
    ("set_options", |db| {
        db.set_options(&db.default_column_family(), &[("write_buffer_size", "1000000")])
    }),
    ("set_db_options", |db| {
        db.set_db_options(&[("bytes_per_sync", "1000000")])
    }),
];

/// A listener of file operations panics at any file operation of a change: the change fails by name.
#[test]
fn a_change_of_families_or_options_whose_listener_panics_fails_by_name() {
    for (what, change) in CHANGES {
        let mut before = 0;
        loop {
            let (fs, fuse) = (MemFs::new(), Fuse::new());
            let db = Db::open(&panicking(&fs, &fuse), DIR).unwrap();
            db.create_column_family("old", &options(&fs).column_family)
                .unwrap();
            let acknowledged = fill(&db);
            fuse.light_here(Site::FileOperation, before);
            let changed = change(&db);
            let panicked = fuse.panics() > 0;
            fuse.cut();
            if !panicked {
                changed.unwrap();
                break;
            }
            let error = changed.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Panicked, "{what} {before}: {error}");
            db.close().unwrap();
            let mut options = options(&fs);
            options.column_families = families_in(&fs);
            let db = Db::open(&options, DIR).unwrap();
            assert_eq!(rows(&db), acknowledged, "{what} {before}");
            before += 1;
        }
        assert!(before > 2, "{what}: {before}");
    }
}

/// The families of the database, with default options.
fn families_in(fs: &MemFs) -> BTreeMap<String, ColumnFamilyOptions> {
    let names = Db::list_column_families(&options(fs), DIR).unwrap().into_iter();
    let others = names.filter(|name| name != "default");
    others.map(|name| (name, options(fs).column_family)).collect()
}

/// A listener of file operations panics when the WAL's records, which were kept in memory, are in the file.
/// Neither a sync nor the close writes them again.
#[test]
fn records_kept_in_memory_reach_the_wal_once_if_a_listener_panics_after_that() {
    let (fs, fuse) = (MemFs::new(), Fuse::new());
    let mut options = panicking(&fs, &fuse);
    options.manual_wal_flush = true;
    let db = Db::open(&options, DIR).unwrap();
    let acknowledged = fill(&db);
    fuse.light_here(Site::FileOperation, 0);
    let error = db.flush_wal(false).unwrap_err();
    fuse.cut();
    assert_eq!(error.kind(), ErrorKind::Panicked, "{error}");
    assert!(is_latched(&db));
    check_reopened(&fs, &MODES, &acknowledged, "before the close");
    db.flush_wal(true).unwrap();
    let synced = fs.crash_clone(&mut TestRng::with_seed(1), UnsyncedPolicy::Lose);
    check_reopened(&synced, &MODES, &acknowledged, "after a sync");
    db.close().unwrap();
    check_reopened(&fs, &MODES, &acknowledged, "after the close");
}

/// A memtable that sorts its rows at its first read must keep them if the comparator panics in the sort.
#[test]
fn a_memtable_that_sorts_later_keeps_its_rows_when_the_sort_panics() {
    let fs = MemFs::new();
    let fuse = Fuse::new();
    let mut options = panicking(&fs, &fuse);
    options.allow_concurrent_memtable_write = false;
    options.column_family.memtable_factory = MemtableFactory::Vector { count: 0 };
    let db = Db::open(&options, DIR).unwrap();
    for number in 0..200 {
        let key = format!("k{:03}", number * 77 % 200);
        db.put(key.as_bytes(), b"value").unwrap();
    }
    let mut before = 0;
    loop {
        fuse.light_here(Site::Compare, before);
        let read = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| rows(&db).len()));
        fuse.cut();
        match read {
            Ok(count) => {
                assert_eq!(count, 200);
                break;
            }
            Err(_) => before += 97,
        }
    }
    assert!(before > 0);
    db.flush().unwrap();
    assert_eq!(rows(&db).len(), 200);
}

fn wal_of(error: &esker::Error) -> bool {
    let name = error.file().and_then(Path::to_str);
    name.is_some_and(|name| name.ends_with(".log"))
}

#[test]
fn an_open_whose_code_panics_says_at_which_record_and_the_next_one_has_every_row() {
    let fs = MemFs::new();
    let db = Db::open(&options(&fs), DIR).unwrap();
    let acknowledged = fill(&db);
    let left = fs.process_death_clone();
    drop(db);
    for site in [Site::Compare, Site::Prefix] {
        let fs = left.process_death_clone();
        let fuse = Fuse::new();
        fuse.light_for_good(site);
        for _ in 0..2 {
            let error = Db::open(&panicking(&fs, &fuse), DIR).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Panicked, "{error}");
            assert!(error.message().contains(site.named()), "{error}");
            assert!(wal_of(&error) && error.offset().is_some(), "{error}");
            let error = Db::open_read_only(&panicking(&fs, &fuse), DIR).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Panicked, "{error}");
            let error = Db::open_as_secondary(&panicking(&fs, &fuse), DIR, "/own").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Panicked, "{error}");
        }
        check_reopened(&fs, &MODES, &acknowledged, "after opens that failed");
    }
}

/// A panic at any step of an open is an error, and the next open has every row.
#[test]
fn an_open_survives_a_panic_at_any_step() {
    let fs = MemFs::new();
    let mut small = options(&fs);
    small.column_family.write_buffer_size = 4 << 10;
    let db = Db::open(&small, DIR).unwrap();
    let acknowledged = fill(&db);
    db.merge(b"k50", b"a").unwrap();
    let left = fs.process_death_clone();
    drop(db);
    for site in Site::ALL {
        let mut before = 0;
        loop {
            let fs = left.process_death_clone();
            let fuse = Fuse::new();
            fuse.light(site, before);
            let opened = Db::open(&panicking(&fs, &fuse), DIR);
            let panicked = fuse.panics() > 0;
            fuse.cut();
            if !panicked {
                opened.unwrap();
                break;
            }
            let what = format!("{site:?} {before}");
            match opened {
                Err(error) => {
                    assert!(error.message().contains(MESSAGE), "{what}: {error}");
                    assert!(fs.exists(Path::new("/db/CURRENT")).unwrap());
                }
                // An open that succeeds is allowed: the panic was on another thread, after the open.
                Ok(db) => drop(db),
            }
            check_reopened(&fs, &[MODES[before as usize % 4]], &acknowledged, &what);
            before += 1 + before / 2;
        }
    }
}

//! User code that panics in a background job, or in one on the caller's thread: the database stops with that
//! error, no thread waits for the ended job, and the job can be repeated.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use dbtest::by_hand::{at_once, everything, flush};
use dbtest::events::Recorder;
use dbtest::panicking::{Fuse, MESSAGE, Site};
use esker::{
    ColumnFamilyOptions, CompactFilesOptions, CompactRangeOptions, Db, ErrorKind, Event,
    ImportColumnFamilyOptions, InfoLogLevel, IngestExternalFileOptions, Logger, Options, Result,
    SstFileWriter,
};
use testkit::watchdog;
use vfs::{FileSystem, MemFs};

const DIR: &str = "/db";

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

fn options(fs: &MemFs) -> Options {
    Options {
        create_if_missing: true,
        fs: Arc::new(fs.clone()),
        max_background_jobs: 2,
        max_subcompactions: 3,
        column_family: ColumnFamilyOptions {
            merge_operator: base::merge::builtin("stringappend"),
            disable_auto_compactions: true,
            level0_file_num_compaction_trigger: 2,
            target_file_size_base: 4 << 10,
            ..ColumnFamilyOptions::default()
        },
        ..Options::default()
    }
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

struct Tried {
    db: Db,
    fs: MemFs,
    fuse: Arc<Fuse>,
    events: Arc<Recorder>,
    rows: Rows,
}

impl Tried {
    /// Three overlapping tables in L0, and rows in memory.
    fn new() -> Tried {
        let fs = MemFs::new();
        let fuse = Fuse::new();
        let events = Recorder::events();
        let mut options = options(&fs);
        fuse.put_into(&mut options.column_family);
        options.listeners.push(fuse.listener(true));
        options.listeners.push(events.clone());
        let db = Db::open(&options, DIR).unwrap();
        let family = db.default_column_family();
        for file in 0..4 {
            for number in 0..60 {
                let key = format!("k{:03}", (number * 7 + file) % 80);
                db.put(key.as_bytes(), [b'v'; 200]).unwrap();
            }
            for number in 0..10 {
                let key = format!("m{}", number % 5);
                db.merge_cf(&family, key.as_bytes(), b"x").unwrap();
            }
            db.delete(format!("k{file:03}").as_bytes()).unwrap();
            db.delete_range_cf(&family, b"k050", b"k055").unwrap();
            if file < 3 {
                flush(&db);
            }
        }
        let rows = rows(&db);
        Tried {
            db,
            fs,
            fuse,
            events,
            rows,
        }
    }

    fn int(&self, name: &str) -> Option<u64> {
        self.db.property_int(&self.db.default_column_family(), name)
    }

    /// Checks that the database has stopped, and that every call returns the reason.
    fn check_stopped(&self, site: Site, what: &str) {
        let db = &self.db;
        if site == Site::Event {
            // A job with a panicking listener continues, and its caller may get the result before its last
            // events.
            watchdog::wait_until("the database stops", || {
                self.int("rocksdb.background-errors") == Some(1)
            });
        }
        assert_eq!(self.int("rocksdb.background-errors"), Some(1), "{what}");
        if site == Site::FileOperation {
            // The failure of a MANIFEST wakes those who wait for the job before the job itself ends.
            watchdog::wait_until("no job is counted", || {
                let jobs = ["rocksdb.num-running-flushes", "rocksdb.num-running-compactions"];
                jobs.iter().all(|jobs| self.int(jobs) == Some(0))
            });
        }
        if site != Site::Event {
            assert_eq!(self.int("rocksdb.num-running-flushes"), Some(0), "{what}");
            assert_eq!(self.int("rocksdb.num-running-compactions"), Some(0), "{what}");
        }
        // `pause_background_work` returns when no job is running.
        db.pause_background_work().unwrap();
        db.continue_background_work().unwrap();
        let refused = db.put(b"other", b"").unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ReadOnly, "{what}");
        let reason = refused.message();
        assert!(
            reason.contains(MESSAGE) && reason.contains(site.named()),
            "{what}: {reason}"
        );
        // No call waits for the ended job.
        assert!(db.flush_opt(&at_once()).is_err(), "{what}");
        let family = db.default_column_family();
        assert!(
            db.compact_range_cf_opt(&family, None, None, &everything())
                .is_err(),
            "{what}"
        );
        // The result is ignored: the wait fails only if a compaction is due.
        drop(db.wait_for_compact());
        db.disable_manual_compaction();
        db.enable_manual_compaction().unwrap();
        assert!(rows(db) == self.rows, "{what}: reads go on");
    }

    /// Checks that the database resumes on request, unless the MANIFEST may contain part of a change; in
    /// either case all rows are there after a reopening.
    fn check_goes_on(self, what: &str) {
        let Tried {
            db,
            fs,
            events,
            rows: all,
            ..
        } = self;
        match db.resume() {
            Ok(()) => {
                assert_eq!(
                    db.property_int(&db.default_column_family(), "rocksdb.background-errors"),
                    Some(0)
                );
                db.put(b"later", b"").unwrap();
                db.delete(b"later").unwrap();
                flush(&db);
                db.compact_range_cf_opt(&db.default_column_family(), None, None, &everything())
                    .unwrap();
                assert!(rows(&db) == all, "{what}");
                let live: Vec<u64> = db.live_files().iter().map(|file| file.number).collect();
                db.close().unwrap();
                let names = fs.list(Path::new(DIR)).unwrap();
                let tables = names.iter().filter_map(|name| name.strip_suffix(".sst"));
                let stray = tables
                    .filter(|number| !live.contains(&number.parse().unwrap()))
                    .count();
                assert_eq!(stray, 0, "{what}: nothing of a failed job is left: {names:?}");
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::ReadOnly, "{what}");
                assert!(error.message().contains("MANIFEST"), "{what}: {error}");
                db.close().unwrap();
            }
        }
        drop(db);
        // The database is closed: its threads have ended, so all events have arrived.
        let told = events.all().into_iter().any(|event| match event {
            Event::BackgroundError { error, .. } => error.kind() == ErrorKind::Panicked,
            _ => false,
        });
        assert!(told, "{what}: an event");
        let log = String::from_utf8(fs.read_file(Path::new("/db/LOG")).unwrap()).unwrap();
        assert!(log.contains(MESSAGE), "{what}: a line of LOG");
        let db = Db::open(&options(&fs), DIR).unwrap();
        assert!(rows(&db) == all, "{what}");
        db.verify_checksum().unwrap();
        db.compact_range_cf_opt(&db.default_column_family(), None, None, &everything())
            .unwrap();
        assert!(rows(&db) == all, "{what}");
    }
}

/// Runs `job` with a panic of `site` at its first call, then at later ones, until it no longer panics.
/// Returns the number of panics.
fn sweep(name: &str, site: Site, job: impl Fn(&Db) -> Result<()>) -> u32 {
    let (mut before, mut panics) = (0, 0);
    loop {
        let tried = Tried::new();
        match (site, name) {
            // Only the thread of the job is to panic: another begins a WAL, whose failure is that of a write,
            // or deletes files.
            (Site::FileOperation, "flush") => tried.fuse.light_on(site, before, "esker-flush"),
            (Site::FileOperation, "automatic compaction") => {
                tried.fuse.light_on(site, before, "esker-compact");
            }
            (Site::FileOperation, _) => {
                flush(&tried.db);
                tried.fuse.light_here(site, before);
            }
            _ => tried.fuse.light(site, before),
        }
        let done = job(&tried.db);
        let panicked = tried.fuse.panics() > 0;
        tried.fuse.cut();
        let what = format!("{name}, {site:?} {before}");
        if !panicked {
            done.unwrap_or_else(|error| panic!("{what}: {error}"));
            return panics;
        }
        assert!(done.is_err() || site == Site::Event, "{what}");
        tried.check_stopped(site, &what);
        tried.check_goes_on(&what);
        panics += 1;
        before = before * 3 + 1;
    }
}

/// The user code that jobs call.
const IN_JOBS: [Site; 10] = [
    Site::Compare,
    Site::Merge,
    Site::FilterFactory,
    Site::Filter,
    Site::PartitionerFactory,
    Site::Partition,
    Site::CollectorFactory,
    Site::Collect,
    Site::CollectBlocks,
    Site::FileOperation,
];

#[test]
fn a_flush_whose_code_panics_stops_the_database_and_can_be_done_again() {
    for site in IN_JOBS.into_iter().chain([Site::Event]) {
        let met = sweep("flush", site, |db| db.flush_opt(&at_once()));
        let partitions = matches!(site, Site::PartitionerFactory | Site::Partition);
        assert_eq!(met == 0, partitions, "{site:?}");
    }
}

/// A flush looks for streams in its memtables before it writes tables, and calls the comparator there.
#[test]
fn a_flush_that_panics_before_it_writes_is_not_counted_as_running() {
    let fuse = Fuse::new();
    let mut options = options(&MemFs::new());
    options.column_family.disable_auto_compactions = false;
    fuse.put_into(&mut options.column_family);
    // Families with a partitioner have no streams.
    options.column_family.sst_partitioner_factory = None;
    let db = Db::open(&options, DIR).unwrap();
    for number in 0..500 {
        let key = format!("k{:03}", number * 7 % 500);
        db.put(key.as_bytes(), b"value").unwrap();
    }
    fuse.light(Site::Compare, 0);
    db.flush_opt(&at_once()).unwrap_err();
    assert_eq!(fuse.panics(), 1);
    fuse.cut();
    let family = db.default_column_family();
    assert_eq!(db.property_int(&family, "rocksdb.num-running-flushes"), Some(0));
    db.resume().unwrap();
    flush(&db);
    assert_eq!(rows(&db).len(), 500);
}

#[test]
fn a_manual_compaction_whose_code_panics_stops_the_database_and_can_be_done_again() {
    for exclusive in [false, true] {
        for site in IN_JOBS.into_iter().chain([Site::Event]) {
            let options = CompactRangeOptions {
                exclusive_manual_compaction: exclusive,
                ..everything()
            };
            let met = sweep("compact_range", site, |db| {
                db.compact_range_cf_opt(&db.default_column_family(), None, None, &options)
            });
            assert!(met > 0, "{site:?}");
        }
    }
}

#[test]
fn a_compaction_of_named_files_whose_code_panics_stops_the_database() {
    for site in IN_JOBS {
        let met = sweep("compact_files", site, |db| {
            let numbers: Vec<u64> = db.live_files().iter().map(|file| file.number).collect();
            let options = CompactFilesOptions::default();
            db.compact_files(&db.default_column_family(), &numbers, 2, &options)
                .map(drop)
        });
        assert!(met > 0, "{site:?}");
    }
}

#[test]
fn an_automatic_compaction_whose_code_panics_stops_the_database_and_can_be_done_again() {
    for site in IN_JOBS.into_iter().chain([Site::Event]) {
        let met = sweep("automatic compaction", site, |db| {
            db.set_options(
                &db.default_column_family(),
                &[("disable_auto_compactions", "false")],
            )?;
            db.wait_for_compact()
        });
        assert!(met > 0, "{site:?}");
    }
}

/// Writes files for an ingestion.
fn external(tried: &Tried) -> Vec<&'static str> {
    let mut writer = SstFileWriter::new(&options(&tried.fs));
    writer.open("/external.sst").unwrap();
    writer.put(b"k010", b"ingested").unwrap();
    writer.put(b"k070", b"ingested").unwrap();
    writer.finish().unwrap();
    vec!["/external.sst"]
}

#[test]
fn an_ingestion_whose_code_panics_leaves_nothing_reserved() {
    let mut met = 0;
    for before in 0.. {
        let tried = Tried::new();
        let files = external(&tried);
        tried.fuse.light_here(Site::Compare, before);
        let ingested = tried
            .db
            .ingest_external_file(&files, &IngestExternalFileOptions::default());
        let panicked = tried.fuse.panics() > 0;
        tried.fuse.cut();
        if !panicked {
            ingested.unwrap();
            break;
        }
        met += 1;
        let what = format!("ingestion, {before}");
        let error = ingested.expect_err(&what);
        assert_eq!(error.kind(), ErrorKind::Panicked, "{what}: {error}");
        if tried.int("rocksdb.background-errors") == Some(1) {
            tried.check_stopped(Site::Compare, &what);
            tried.check_goes_on(&what);
        } else {
            // The ingestion that panicked has changed nothing.
            assert!(rows(&tried.db) == tried.rows, "{what}");
            tried
                .db
                .ingest_external_file(&files, &IngestExternalFileOptions::default())
                .unwrap();
            tried.db.close().unwrap();
        }
    }
    assert!(met > 5, "{met}");
}

/// A panicking listener prevents neither other listeners nor later events.
#[test]
fn a_listener_that_always_panics_stops_the_database_and_nothing_else() {
    let tried = Tried::new();
    tried.fuse.light_for_good(Site::Event);
    let flushed = tried.db.flush_opt(&at_once());
    assert!(flushed.is_err() || tried.int("rocksdb.background-errors") == Some(1));
    tried.check_stopped(Site::Event, "a listener");
    let events = tried.events.all();
    let is_last = |event: &&Event| {
        matches!(
            event,
            Event::MemtableSealed { .. } | Event::BackgroundError { .. }
        )
    };
    assert!(
        events.iter().filter(is_last).count() > 4,
        "the other listener gets the event: {events:?}"
    );
    assert!(tried.fuse.panics() > 1);
    tried.fuse.cut();
    tried.check_goes_on("a listener");
}

/// The files and the family of a failed import are removed, and the next import succeeds.
#[test]
fn an_import_whose_code_panics_leaves_no_family() {
    let mut met = 0;
    for before in 0.. {
        let tried = Tried::new();
        flush(&tried.db);
        let family = tried.db.default_column_family();
        let exported = tried.db.export_column_family(&family, "/export").unwrap();
        let mut own = options(&tried.fs).column_family;
        tried.fuse.put_into(&mut own);
        let import = || {
            let import = ImportColumnFamilyOptions::default();
            tried
                .db
                .create_column_family_with_import("imported", &own, &[&exported], &import)
        };
        tried.fuse.light_here(Site::Compare, before * 5);
        let imported = import();
        let panicked = tried.fuse.panics() > 0;
        tried.fuse.cut();
        if !panicked {
            imported.unwrap();
            break;
        }
        met += 1;
        let what = format!("import, {before}");
        assert_eq!(imported.expect_err(&what).kind(), ErrorKind::Panicked, "{what}");
        if tried.int("rocksdb.background-errors") == Some(0) {
            assert!(tried.db.column_family("imported").is_none(), "{what}");
            import().unwrap();
        }
        tried.db.close().unwrap();
        drop(Db::open(&options(&tried.fs), DIR));
    }
    assert!(met > 0);
}

/// The thread of the background verification continues with the next file.
#[test]
fn the_thread_that_verifies_outlives_a_panic() {
    let tried = Tried::new();
    tried.fuse.light_on(Site::Compare, 0, "esker-verify");
    tried.db.set_verify_rate(1 << 30).unwrap();
    while tried.db.verify_progress().passes < 2 {
        std::thread::yield_now();
    }
    assert!(tried.fuse.panics() > 0);
    tried.check_stopped(Site::Compare, "the thread that verifies");
    tried.db.close().unwrap();
}

#[test]
fn the_thread_that_deletes_outlives_a_panic() {
    let tried = Tried::new();
    let deleted = |events: &Recorder| {
        let events = events.all().into_iter();
        events
            .filter(|event| matches!(event, Event::FileDeleted { .. }))
            .count()
    };
    flush(&tried.db);
    // Only the thread that deletes files reports deletions.
    tried.fuse.light_on(Site::Event, 0, "esker-delete");
    let family = tried.db.default_column_family();
    // The compaction fails if the database has stopped already.
    drop(tried.db.compact_range_cf_opt(&family, None, None, &everything()));
    while tried.int("rocksdb.background-errors") == Some(0) {
        std::thread::yield_now();
    }
    tried.db.resume().unwrap();
    let before = deleted(&tried.events);
    tried
        .db
        .compact_range_cf_opt(&family, None, None, &everything())
        .unwrap();
    while deleted(&tried.events) == before {
        std::thread::yield_now();
    }
    tried.check_goes_on("the thread that deletes");
}

/// The lines of a panicking logger are lost.
#[test]
fn a_logger_that_panics_fails_nothing() {
    struct Panics;
    impl Logger for Panics {
        fn log(&self, _level: InfoLogLevel, _message: &str) {
            panic!("{MESSAGE} in a logger");
        }
    }
    drop(Fuse::new());
    let fs = MemFs::new();
    let options = Options {
        info_log: Some(Arc::new(Panics)),
        ..options(&fs)
    };
    let db = Db::open(&options, DIR).unwrap();
    db.put(b"a", b"1").unwrap();
    flush(&db);
    db.close().unwrap();
}

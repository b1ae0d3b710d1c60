//! The SST file manager: paced deletion, trash, and the limit of space.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use dbtest::by_hand::{compact, flush};
use dbtest::events::Recorder;
use esker::{
    BottommostLevelCompaction, CompactRangeOptions, Db, ErrorKind, Event, IngestExternalFileOptions,
    ManualClock, Options, SstFileManager, SstFileManagerOptions, SstFileWriter, Statistics, Ticker,
};
use testkit::wait_until;
use vfs::{FileSystem, MemFs};

const DIR: &str = "db";

struct Bench {
    fs: MemFs,
    clock: Arc<ManualClock>,
    events: Arc<Recorder>,
    manager: Arc<SstFileManager>,
    options: Options,
}

impl Bench {
    fn new(rate: i64) -> Bench {
        let fs = MemFs::new();
        let clock = Arc::new(ManualClock::default());
        clock.advance(Duration::from_secs(1_000_000));
        let manager = SstFileManager::new(SstFileManagerOptions {
            rate_bytes_per_sec: rate,
            max_trash_db_ratio: 1000.0,
            clock: clock.clone(),
            ..SstFileManagerOptions::default()
        })
        .unwrap();
        let events = Recorder::events();
        let mut options = Options {
            create_if_missing: true,
            fs: Arc::new(fs.clone()),
            clock: clock.clone(),
            listeners: vec![events.clone()],
            statistics: Some(Statistics::new()),
            sst_file_manager: Some(manager.clone()),
            ..Options::default()
        };
        options.column_family.disable_auto_compactions = true;
        Bench {
            fs,
            clock,
            events,
            manager,
            options,
        }
    }

    fn open(&self, dir: &str) -> Db {
        Db::open(&self.options, dir).unwrap()
    }

    /// Advances the clock by steps until `done`.
    fn pass_until(&self, step: Duration, mut done: impl FnMut() -> bool) {
        wait_until("time has done its work", || {
            self.clock.advance(step);
            done()
        });
    }

    /// The info log of the first database.
    fn log(&self) -> String {
        String::from_utf8(self.fs.read_file(&Path::new(DIR).join("LOG")).unwrap()).unwrap()
    }

    fn ticker(&self, ticker: Ticker) -> u64 {
        self.options.statistics.as_ref().unwrap().get_ticker_count(ticker)
    }

    fn files(&self, dir: &str, ending: &str) -> Vec<String> {
        let mut names = self.fs.list(Path::new(dir)).unwrap();
        names.retain(|name| name.ends_with(ending));
        names
    }
}

/// Writes rows of `bytes` bytes altogether, which no compression makes smaller, and flushes them.
fn fill(db: &Db, bytes: usize, mark: u8) {
    write(db, bytes, mark);
    flush(db);
}

fn write(db: &Db, bytes: usize, mark: u8) {
    let mut state = u64::from(mark) + 1;
    for row in 0..bytes.div_ceil(1000) as u64 {
        let value: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        })
        .take(1000)
        .collect();
        db.put([&[mark], &row.to_be_bytes()[..]].concat(), &value)
            .unwrap();
    }
}

fn failed(db: &Db) -> bool {
    db.property_int(&db.default_column_family(), "rocksdb.background-errors") == Some(1)
}

#[test]
fn every_table_and_blob_file_is_tracked_by_its_size() {
    let mut bench = Bench::new(0);
    bench.options.column_family.enable_blob_files = true;
    bench.options.column_family.min_blob_size = 500;
    let db = bench.open(DIR);
    let other = bench.open("other");
    let same = |dirs: &[&str]| {
        let mut sizes = std::collections::BTreeMap::new();
        for dir in dirs {
            for name in bench.fs.list(Path::new(dir)).unwrap() {
                if name.ends_with(".sst") || name.ends_with(".blob") {
                    let path = Path::new(dir).join(name);
                    sizes.insert(path.clone(), bench.fs.size(&path).unwrap());
                }
            }
        }
        assert_eq!(bench.manager.tracked_files(), sizes);
        assert_eq!(bench.manager.total_size(), sizes.values().sum::<u64>());
        sizes.len()
    };
    fill(&db, 10_000, 1);
    fill(&db, 10_000, 2);
    fill(&other, 10_000, 1);
    assert_eq!(same(&[DIR, "other"]), 6);
    compact(&db);
    db.wait_for_purge().unwrap();
    assert!(same(&[DIR, "other"]) > 0);
    // An ingested file counts too.
    let mut writer = SstFileWriter::new(&bench.options);
    writer.open("outside.sst").unwrap();
    writer.put(b"\xff", b"value").unwrap();
    writer.finish().unwrap();
    db.ingest_external_file(&["outside.sst"], &IngestExternalFileOptions::default())
        .unwrap();
    same(&[DIR, "other"]);
    other.close().unwrap();
    same(&[DIR]);
    db.close().unwrap();
    assert_eq!(bench.manager.total_size(), 0);
    let db = bench.open(DIR);
    same(&[DIR]);
    assert!(bench.ticker(Ticker::FilesDeletedImmediately) >= 2);
    db.close().unwrap();
}

#[test]
fn unneeded_files_become_trash_that_goes_at_the_rate() {
    let bench = Bench::new(1000);
    let db = bench.open(DIR);
    fill(&db, 10_000, 1);
    fill(&db, 10_000, 2);
    let before = bench.manager.total_size();
    db.compact_range_cf_opt(
        &db.default_column_family(),
        None,
        None,
        &CompactRangeOptions {
            bottommost_level_compaction: BottommostLevelCompaction::Force,
            ..CompactRangeOptions::default()
        },
    )
    .unwrap();
    db.wait_for_purge().unwrap();
    // The first file in the queue needs no permission, and the others wait for about ten seconds each. Empty
    // WALs are trash too.
    wait_until("the first file is gone", || {
        bench.ticker(Ticker::FilesDeletedFromTrashQueue) >= 1
    });
    let tables = bench.files(DIR, ".sst.trash");
    let wals = bench.files(DIR, ".log.trash");
    assert!(!tables.is_empty(), "{:?}", bench.fs.list(Path::new(DIR)));
    assert!(tables.len() + wals.len() >= 2, "{tables:?} {wals:?}");
    assert!(bench.manager.total_size() > before, "trash takes space");
    assert!(bench.manager.total_trash_size() > 0);
    let reported = |event: &Event| matches!(event, Event::FileDeleted { path } if path.ends_with(".sst"));
    assert_eq!(
        bench.events.all().iter().filter(|event| reported(event)).count(),
        2
    );
    bench.pass_until(Duration::from_secs(1), || bench.files(DIR, ".trash").is_empty());
    bench.manager.wait_for_empty_trash();
    assert_eq!(bench.manager.total_trash_size(), 0);
    assert_eq!(
        bench.ticker(Ticker::FilesMarkedTrash),
        bench.ticker(Ticker::FilesDeletedFromTrashQueue)
    );
    assert!(bench.manager.total_size() <= before);
    db.close().unwrap();
}

/// A process ended before its trash was deleted. Trash under RocksDB's names, and under Esker's, is found in
/// every directory.
#[test]
fn the_next_open_empties_the_trash() {
    for manager in [false, true] {
        let mut bench = Bench::new(1_000_000);
        bench.open(DIR).close().unwrap();
        bench.fs.create_dir_all(Path::new("db/archive")).unwrap();
        let trash = [
            "db/000100.sst.trash",
            "db/000101.blob7.trash",
            "db/000102.log.trash",
            "db/archive/000103.log.trash",
        ];
        for path in trash.iter().chain(&["db/notes.trash"]) {
            bench.fs.write_file(Path::new(path), b"trash").unwrap();
        }
        bench.options.sst_file_manager = bench.options.sst_file_manager.filter(|_| manager);
        let db = bench.open(DIR);
        if manager {
            bench.pass_until(Duration::from_secs(1), || {
                bench.ticker(Ticker::FilesDeletedFromTrashQueue) >= 4
            });
            bench.manager.wait_for_empty_trash();
        }
        for path in trash {
            assert!(!bench.fs.exists(Path::new(path)).unwrap(), "{path}");
        }
        assert!(bench.fs.exists(Path::new("db/notes.trash")).unwrap());
        db.close().unwrap();
    }
}

#[test]
fn a_destroyed_database_leaves_no_trash() {
    let bench = Bench::new(1_000_000);
    let db = bench.open(DIR);
    fill(&db, 10_000, 1);
    write(&db, 1000, 2);
    db.close().unwrap();
    bench
        .fs
        .write_file(Path::new("db/000100.sst.trash"), b"trash")
        .unwrap();
    std::thread::scope(|scope| {
        let destroyed = scope.spawn(|| Db::destroy(&bench.options, DIR));
        bench.pass_until(Duration::from_secs(1), || destroyed.is_finished());
        destroyed.join().unwrap().unwrap();
    });
    assert!(!bench.fs.exists(Path::new(DIR)).unwrap());
    assert!(bench.ticker(Ticker::FilesDeletedFromTrashQueue) >= 3);
}

#[test]
fn a_flush_that_reaches_the_limit_stops_writes_until_there_is_room() {
    let bench = Bench::new(0);
    let db = bench.open(DIR);
    fill(&db, 20_000, 1);
    bench.manager.set_max_allowed_space_usage(30_000);
    assert!(!bench.manager.is_max_allowed_space_reached());
    write(&db, 20_000, 2);
    let error = db.flush().unwrap_err();
    let text = "IO error: Space limit reached: Max allowed space was reached";
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (ErrorKind::SpaceLimit, text)
    );
    assert_eq!(db.put(b"k", b"v").unwrap_err().to_string(), text);
    assert_eq!(db.live_files().len(), 2, "the flush itself has succeeded");
    assert!(bench.manager.is_max_allowed_space_reached());
    assert_eq!(db.resume().unwrap_err().kind(), ErrorKind::SpaceLimit);
    // The space limit is still exceeded at the first attempts of the automatic recovery.
    let attempts = || bench.ticker(Ticker::AutoresumeRetryTotalCount);
    wait_until("a recovery begins", || bench.ticker(Ticker::AutoresumeCount) == 1);
    let lacks_room = "the SST file manager allows less than reserved disk buffer";
    bench.pass_until(Duration::from_secs(5), || {
        attempts() > 0 || bench.log().contains(lacks_room)
    });
    assert_eq!(attempts(), 0, "a recovery without room is no attempt");
    bench.manager.set_max_allowed_space_usage(1_000_000);
    bench.pass_until(Duration::from_secs(5), || !failed(&db));
    assert_eq!(attempts(), 1);
    db.put(b"k", b"v").unwrap();
    let limits = |event: &Event| matches!(event, Event::BackgroundError { error, stops_writes: true, .. } if error.kind() == ErrorKind::SpaceLimit);
    assert_eq!(bench.events.all().iter().filter(|event| limits(event)).count(), 1);
    db.close().unwrap();
}

/// The files of one database may stop the writes of another database, and closing the first makes room.
#[test]
fn the_limit_is_one_of_all_databases_together() {
    let bench = Bench::new(0);
    let (db, other) = (bench.open(DIR), bench.open("other"));
    bench.manager.set_max_allowed_space_usage(50_000);
    fill(&other, 40_000, 1);
    write(&db, 20_000, 1);
    assert_eq!(db.flush().unwrap_err().kind(), ErrorKind::SpaceLimit);
    other.close().unwrap();
    bench.pass_until(Duration::from_secs(5), || !failed(&db));
    db.put(b"k", b"v").unwrap();
    db.close().unwrap();
}

#[test]
fn a_compaction_that_reaches_the_limit_fails_and_leaves_its_inputs() {
    for blobs in [false, true] {
        let mut bench = Bench::new(0);
        let manager = bench.manager.clone();
        // The limit is lowered when a compaction begins, so that its third table or so reaches it. A
        // compaction reserves the bytes of its tables, and not those of values in blob files.
        bench.options.listeners.push(Recorder::of(move |event| {
            let begins = matches!(event, Event::CompactionBegun { .. });
            begins.then(|| {
                manager.set_max_allowed_space_usage(manager.total_size() + 12_000);
                let is_reached = manager.is_max_allowed_space_reached_including_compactions();
                assert_eq!(is_reached, !blobs);
            })
        }));
        let family = &mut bench.options.column_family;
        family.target_file_size_base = 5000;
        family.enable_blob_files = blobs;
        family.min_blob_size = 500;
        family.blob_file_size = 5000;
        family.enable_blob_garbage_collection = true;
        family.blob_garbage_collection_age_cutoff = 1.0;
        let db = bench.open(DIR);
        fill(&db, 20_000, 1);
        fill(&db, 20_000, 1);
        let before = bench.manager.tracked_files();
        let error = db.compact_range(None, None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::SpaceLimit, "{error}");
        assert_eq!(db.put(b"k", b"v").unwrap_err().kind(), ErrorKind::SpaceLimit);
        db.wait_for_purge().unwrap();
        assert_eq!(bench.manager.tracked_files(), before, "its outputs are deleted");
        assert!(!bench.manager.is_max_allowed_space_reached_including_compactions());
        bench.pass_until(Duration::from_secs(5), || !failed(&db));
        db.put(b"k", b"v").unwrap();
        db.close().unwrap();
    }
}

/// Two tables that the manager allows too little space to compact.
fn without_room(bench: &mut Bench) -> Db {
    bench.options.column_family.level0_file_num_compaction_trigger = 2;
    let db = bench.open(DIR);
    fill(&db, 20_000, 1);
    fill(&db, 20_000, 1);
    bench.manager.set_max_allowed_space_usage(100_000);
    bench.manager.set_compaction_buffer_size(30_000);
    db
}

/// Lets automatic compactions begin. The one that is due has no room.
fn await_room(db: &Db) {
    db.set_options(
        &db.default_column_family(),
        &[("disable_auto_compactions", "false")],
    )
    .unwrap();
    assert_eq!(
        db.wait_for_compact().unwrap_err().kind(),
        ErrorKind::CompactionTooLarge
    );
    assert_eq!(db.live_files().len(), 2);
}

#[test]
fn a_compaction_without_room_is_not_begun() {
    let mut bench = Bench::new(0);
    let db = without_room(&mut bench);
    let family = db.default_column_family();
    let error = db.compact_range_cf(&family, None, None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CompactionTooLarge);
    assert!(error.to_string().starts_with("Compaction too large: "), "{error}");
    assert_eq!(bench.ticker(Ticker::CompactionCancelled), 1);
    db.put(b"k", b"v").unwrap();
    // An automatic compaction waits for room.
    await_room(&db);
    bench.manager.set_compaction_buffer_size(0);
    bench.pass_until(Duration::from_secs(1), || db.live_files().len() == 1);
    db.wait_for_compact().unwrap();
    assert!(!bench.manager.is_max_allowed_space_reached_including_compactions());
    db.close().unwrap();
}

/// A thread that looks for work may find room before the next attempt is due.
#[test]
fn a_compaction_that_found_room_is_not_waited_for() {
    let mut bench = Bench::new(0);
    let db = without_room(&mut bench);
    await_room(&db);
    bench.manager.set_compaction_buffer_size(0);
    // The clock stands still: the change of options makes a thread look for work.
    db.set_options(
        &db.default_column_family(),
        &[("disable_auto_compactions", "false")],
    )
    .unwrap();
    wait_until("the compaction has ended", || db.live_files().len() == 1);
    db.wait_for_compact().unwrap();
    db.close().unwrap();
}

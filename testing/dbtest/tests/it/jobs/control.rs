//! Changes of options in an open database; background work that is paused, continued, cancelled and
//! requested.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use dbtest::by_hand::flush;
use dbtest::events::Recorder;
use dbtest::files;
use dbtest::gate::Gate;
use esker::option_table::OptionTable;
use esker::{
    ColumnFamily, ColumnFamilyOptions, CompactFilesOptions, CompactRangeOptions, CompactionFilter,
    CompactionFilterFactory, CompactionOptionsUniversal, CompactionStyle, CompressionType, Db, Decision,
    ErrorKind, Event, FilterContext, FlushOptions, IndexType, Options, OptionsFile, ValueType, WriteOptions,
};
use testkit::{Task, receive, rng};
use vfs::MemFs;

fn options() -> Options {
    Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        ..Options::default()
    }
}

fn put_and_flush(db: &Db, keys: &[&str]) {
    for key in keys {
        db.put(key.as_bytes(), b"value").unwrap();
    }
    flush(db);
}

fn levels(db: &Db) -> Vec<usize> {
    let mut levels: Vec<usize> = db.live_files().iter().map(|file| file.level).collect();
    levels.sort_unstable();
    levels
}

fn stored(options: &Options) -> Options {
    let (_, file) = OptionsFile::newest(&*options.fs, "/db".as_ref())
        .unwrap()
        .unwrap();
    file.options().0
}

#[test]
fn options_change_while_the_database_is_open() {
    let options = options();
    let db = Db::open(&options, "/db").unwrap();
    let family = db.default_column_family();
    db.set_options(
        &family,
        &[
            ("level0_file_num_compaction_trigger", "2"),
            ("compression", "kZSTD"),
            ("compaction_options_universal", "{size_ratio=7;}"),
            ("compaction_options_universal.min_merge_width", "3"),
            (
                "block_based_table_factory",
                "{block_size=8192;filter_policy=bloomfilter:10:false;}",
            ),
            ("block_restart_interval", "4"),
        ],
    )
    .unwrap();
    let current = family.current_options();
    assert_eq!(current.level0_file_num_compaction_trigger, 2);
    assert_eq!(
        current.compaction_options_universal,
        CompactionOptionsUniversal {
            size_ratio: 7,
            min_merge_width: 3,
            ..CompactionOptionsUniversal::default()
        }
    );
    assert_eq!(
        (current.table.block_size, current.table.block_restart_interval),
        (8192, 4)
    );
    // The changed `level0_file_num_compaction_trigger` takes effect at once: two files start a compaction.
    put_and_flush(&db, &["a", "b"]);
    put_and_flush(&db, &["a", "b"]);
    db.wait_for_compact().unwrap();
    assert_eq!(levels(&db), [6]);
    let file = stored(&options).column_family;
    assert_eq!(file.level0_file_num_compaction_trigger, 2);
    assert_eq!(file.compression, current.compression);
    assert_eq!(
        file.compaction_options_universal,
        current.compaction_options_universal
    );
    assert_eq!(
        (file.table.block_size, file.table.block_restart_interval),
        (8192, 4)
    );
    // The database still reports the options of its open, which are in force again after the next open.
    assert_eq!(family.options().table.block_size, 4096);
    db.close().unwrap();
    drop((db, family));
    let db = Db::open(&options, "/db").unwrap();
    assert_eq!(
        db.default_column_family().current_options().table.block_size,
        4096
    );
    db.close().unwrap();
}

#[test]
fn what_cannot_be_changed_is_named_and_nothing_changes() {
    let options = options();
    let db = Db::open(&options, "/db").unwrap();
    let family = db.default_column_family();
    let error = db
        .set_options(
            &family,
            &[
                ("write_buffer_size", "131072"),
                ("num_levels", "4"),
                ("no_such_option", "1"),
                ("ttl", "soon"),
                ("max_bytes_for_level_multiplier", "0"),
                ("block_based_table_factory", "{block_size=1;what=2;}"),
            ],
        )
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    for part in [
        "Option not changeable: num_levels",
        "unknown option no_such_option",
        "ttl=soon: expected",
        "max_bytes_for_level_multiplier=0 is outside",
        "block_size=1 is outside",
        "unknown option what",
    ] {
        assert!(error.to_string().contains(part), "{part} is not in {error}");
    }
    assert_eq!(family.current_options().write_buffer_size, 64 << 20);
    // `block_align` and compression are each allowed alone, but not together.
    let error = db
        .set_options(&family, &[("block_align", "true"), ("compression", "kZSTD")])
        .unwrap_err();
    assert!(error.to_string().contains("block_align"), "{error}");
    assert!(!family.current_options().table.block_align);
    assert!(db.set_options(&family, &[]).is_err());

    let error = db
        .set_db_options(&[
            ("max_subcompactions", "3"),
            ("create_if_missing", "false"),
            ("max_background_jobs", "0"),
        ])
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("Option not changeable: create_if_missing") && error.contains("max_background_jobs=0"),
        "{error}"
    );
    assert_eq!(db.current_options().max_subcompactions, 1);
    db.close().unwrap();
}

#[test]
fn options_of_the_database_change_too() {
    let options = options();
    let db = Db::open(&options, "/db").unwrap();
    db.set_db_options(&[
        ("max_background_jobs", "6"),
        ("delayed_write_rate", "1000"),
        ("max_total_wal_size", "5000"),
    ])
    .unwrap();
    assert_eq!(stored(&options).delayed_write_rate, 1000);
    assert_eq!(db.current_options().max_background_jobs, 6);
    // The changed limit of the WALs is in force: one row triggers a flush.
    let before = db.live_files().len();
    for i in 0..20 {
        db.put(format!("key{i}").as_bytes(), [7; 1000]).unwrap();
    }
    db.wait_for_compact().unwrap();
    assert!(db.live_files().len() > before);
    db.set_db_options(&[("max_background_jobs", "1")]).unwrap();
    put_and_flush(&db, &["a"]);
    db.close().unwrap();
}

#[test]
fn memtables_are_as_large_as_was_said_last() {
    let db = Db::open(&options(), "/db").unwrap();
    let family = db.default_column_family();
    let fill = |from: usize| {
        for i in from..from + 100 {
            db.put(format!("key{i:05}").as_bytes(), [7; 1000]).unwrap();
        }
        db.wait_for_compact().unwrap();
    };
    fill(0);
    assert!(db.live_files().is_empty());
    db.set_options(&family, &[("write_buffer_size", "16384")])
        .unwrap();
    fill(100);
    assert!(db.live_files().len() > 3, "{:?}", db.live_files());
    db.set_options(&family, &[("disable_auto_compactions", "true")])
        .unwrap();
    fill(200);
    db.enable_auto_compaction(std::slice::from_ref(&family)).unwrap();
    assert!(!family.current_options().disable_auto_compactions);
    db.wait_for_compact().unwrap();
    db.close().unwrap();
}

#[test]
fn an_empty_memtable_made_for_a_larger_one_is_not_full() {
    let mut options = options();
    options.column_family.write_buffer_size = 1 << 20;
    options.column_family.memtable_prefix_bloom_size_ratio = 0.25;
    options.column_family.memtable_whole_key_filtering = true;
    let db = Db::open(&options, "/db").unwrap();
    let family = db.default_column_family();
    db.set_options(&family, &[("write_buffer_size", "16384")])
        .unwrap();
    // The filter of an empty memtable alone exceeds the limit. Switching that memtable would free nothing,
    // and used to be repeated endlessly.
    db.put(b"a", b"value").unwrap();
    flush(&db);
    db.put(b"b", b"value").unwrap();
    assert_eq!(db.get(b"a").unwrap().as_deref(), Some(&b"value"[..]));
}

#[test]
fn random_changes_while_others_write_and_compact() {
    let options = options();
    let db = Db::open(&options, "/db").unwrap();
    let family = db.default_column_family();
    let done = AtomicBool::new(false);
    let mut rng = rng();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut i = 0u64;
            while !done.load(Ordering::Relaxed) {
                let key = format!("key{:03}", i * 7 % 500);
                db.put(key.as_bytes(), i.to_string().as_bytes()).unwrap();
                i += 1;
                if i.is_multiple_of(500) {
                    db.compact_range_cf(&family, None, None).unwrap();
                }
            }
        });
        let rows = ColumnFamilyOptions::rows().iter();
        let rows: Vec<_> = rows.filter(|row| row.mutable && !row.domain.is_empty()).collect();
        for _ in 0..60 {
            let row = *rng.pick(&rows);
            let value = *rng.pick(row.domain);
            // Some changes contradict earlier ones.
            if let Err(error) = db.set_options(&family, &[(row.name, value)]) {
                assert!(
                    matches!(error.kind(), ErrorKind::InvalidArgument | ErrorKind::NotSupported),
                    "{error}"
                );
                continue;
            }
            let mut expected = ColumnFamilyOptions::default();
            (row.set)(&mut expected, value).unwrap();
            if !row.name.starts_with("compaction_options_") {
                assert_eq!(
                    (row.get)(&family.current_options()),
                    (row.get)(&expected),
                    "{}={value}",
                    row.name
                );
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    db.wait_for_compact().unwrap();
    files::check(&db).unwrap();
    let (_, file) = OptionsFile::newest(&*options.fs, "/db".as_ref())
        .unwrap()
        .unwrap();
    // The OPTIONS file does not contain options that RocksDB does not have.
    let names: Vec<&str> = file.entries().map(|(_, _, name, _)| name).collect();
    let (file, now) = (file.options().0.column_family, family.current_options());
    let rows = ColumnFamilyOptions::rows().iter();
    let written: Vec<_> = rows.filter(|row| names.contains(&row.name)).collect();
    assert!(written.len() > 30);
    for row in written {
        assert_eq!((row.get)(&file), (row.get)(&now), "{}", row.name);
    }
    db.close().unwrap();
}

#[test]
fn paused_background_work_does_nothing() {
    let mut options = options();
    options.column_family.level0_file_num_compaction_trigger = 2;
    let db = Db::open(&options, "/db").unwrap();
    assert!(db.continue_background_work().is_err());
    put_and_flush(&db, &["a"]);
    db.pause_background_work().unwrap();
    db.pause_background_work().unwrap();
    db.put(b"b", b"value").unwrap();
    db.flush_opt(&FlushOptions {
        wait: false,
        allow_write_stall: true,
        ..FlushOptions::default()
    })
    .unwrap();
    assert_eq!(db.live_files().len(), 1);
    // Reads and writes continue while background work is paused.
    db.put(b"c", b"value").unwrap();
    assert!(db.get(b"c").unwrap().is_some());
    db.continue_background_work().unwrap();
    assert_eq!(db.live_files().len(), 1);
    db.continue_background_work().unwrap();
    db.wait_for_compact().unwrap();
    assert!(db.live_files().iter().any(|file| file.largest_key == b"b"));
    // A paused database can be closed.
    db.pause_background_work().unwrap();
    db.put_cf_opt(
        &db.default_column_family(),
        b"d",
        b"value",
        &WriteOptions {
            disable_wal: true,
            ..WriteOptions::default()
        },
    )
    .unwrap();
    db.close().unwrap();
    drop(db);
    let db = Db::open(&options, "/db").unwrap();
    assert!(db.get(b"d").unwrap().is_some());
    db.close().unwrap();
}

/// Compactions wait at the gate when they create their filter.
struct GateFactory(Arc<Gate>);

impl CompactionFilterFactory for GateFactory {
    fn name(&self) -> &str {
        "gate"
    }

    fn create(&self, _context: &FilterContext) -> Option<Box<dyn CompactionFilter>> {
        self.0.pass();
        Some(Box::new(Keep))
    }
}

struct Keep;

impl CompactionFilter for Keep {
    fn filter(&mut self, _level: usize, _key: &[u8], _type: ValueType, _value: &[u8]) -> Decision {
        Decision::Keep
    }
}

fn gated() -> (Db, Arc<Gate>) {
    let gate = Gate::closed();
    let mut options = options();
    options.column_family.compaction_filter_factory = Some(Arc::new(GateFactory(gate.clone())));
    let db = Db::open(&options, "/db").unwrap();
    // The rows have different keys, so that a compaction keeps all of them.
    for suffix in ["", "x"] {
        let many: Vec<String> = (0..3000).map(|i| format!("key{i:05}{suffix}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        put_and_flush(&db, &many);
    }
    (db, gate)
}

#[test]
fn manual_compactions_are_called_off() {
    let (db, gate) = gated();
    let family = db.default_column_family();
    assert!(db.enable_manual_compaction().is_err());
    thread::scope(|scope| {
        let compaction = scope.spawn(|| db.compact_range_cf(&family, None, None));
        gate.wait_for(1);
        let disabling = scope.spawn(|| db.disable_manual_compaction());
        // Before the held compaction continues it is cancelled, and other manual compactions are refused.
        let refused = |error: esker::Error| {
            assert_eq!(error.kind(), ErrorKind::Incomplete);
            assert!(error.to_string().contains("Manual compaction paused"), "{error}");
        };
        let numbers: Vec<u64> = db.live_files().iter().map(|file| file.number).collect();
        loop {
            match db.compact_files(&family, &numbers, 6, &CompactFilesOptions::default()) {
                Err(error) if error.kind() == ErrorKind::Aborted => thread::yield_now(),
                result => break refused(result.unwrap_err()),
            }
        }
        gate.open();
        refused(compaction.join().unwrap().unwrap_err());
        disabling.join().unwrap();
    });
    assert_eq!(levels(&db), [0, 0]);
    db.enable_manual_compaction().unwrap();
    db.compact_range_cf(&family, None, None).unwrap();
    assert_eq!(levels(&db), [6]);
    db.close().unwrap();
}

#[test]
fn aborted_compactions_leave_the_files_and_run_when_they_are_resumed() {
    let (db, gate) = gated();
    let family = db.default_column_family();
    let automatic = [
        ("disable_auto_compactions", "false"),
        ("level0_file_num_compaction_trigger", "2"),
    ];
    db.set_options(&family, &automatic).unwrap();
    gate.wait_for(1);
    thread::scope(|scope| {
        let aborting = scope.spawn(|| db.abort_all_compactions());
        let requests = || db.property_int(&family, "rocksdb.compaction-abort-count");
        testkit::wait_until("the request to abort", || requests() == Some(1));
        gate.open();
        aborting.join().unwrap();
    });
    assert_eq!(levels(&db), [0, 0]);
    db.abort_all_compactions();
    let refused = db.compact_range_cf(&family, None, None).unwrap_err();
    assert_eq!(refused.to_string(), "Result incomplete: All compactions aborted");
    // Flushes continue.
    db.put(b"more", b"").unwrap();
    db.flush().unwrap();
    assert_eq!(levels(&db), [0, 0, 0]);
    // Compactions stay aborted until both requests to abort are taken back.
    db.resume_all_compactions().unwrap();
    let refused = db.compact_range_cf(&family, None, None).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Incomplete);
    assert_eq!(levels(&db), [0, 0, 0]);
    db.resume_all_compactions().unwrap();
    db.wait_for_compact().unwrap();
    assert_eq!(levels(&db).last(), Some(&6));
    let surplus = db.resume_all_compactions().unwrap_err();
    assert_eq!(surplus.kind(), ErrorKind::InvalidArgument);
    db.close().unwrap();
}

#[test]
fn one_manual_compaction_is_called_off_by_who_asked_for_it() {
    let (db, gate) = gated();
    let family = db.default_column_family();
    let canceled = Arc::new(AtomicBool::new(false));
    let options = CompactRangeOptions {
        canceled: Some(canceled.clone()),
        ..CompactRangeOptions::default()
    };
    let compact = || db.compact_range_cf_opt(&family, None, None, &options);
    thread::scope(|scope| {
        let compaction = scope.spawn(compact);
        gate.wait_for(1);
        canceled.store(true, Ordering::Relaxed);
        gate.open();
        let error = compaction.join().unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Incomplete);
    });
    assert_eq!(compact().unwrap_err().kind(), ErrorKind::Incomplete);
    assert_eq!(levels(&db), [0, 0]);
    // The cancellation does not apply to another compaction of the same files.
    db.compact_range_cf(&family, None, None).unwrap();
    assert_eq!(levels(&db), [6]);
    canceled.store(false, Ordering::Relaxed);
    compact().unwrap();
    db.close().unwrap();
}

/// Cancels a compaction at its thousandth row.
struct Fleeting(Arc<AtomicBool>);

struct CallsOff(Arc<AtomicBool>, usize);

impl CompactionFilterFactory for Fleeting {
    fn name(&self) -> &str {
        "calls off"
    }

    fn create(&self, _: &FilterContext) -> Option<Box<dyn CompactionFilter>> {
        Some(Box::new(CallsOff(self.0.clone(), 0)))
    }
}

impl CompactionFilter for CallsOff {
    fn filter(&mut self, _: usize, _: &[u8], _: ValueType, _: &[u8]) -> Decision {
        self.1 += 1;
        if self.1 == 1000 {
            self.0.store(true, Ordering::Relaxed);
        }
        Decision::Keep
    }
}

#[test]
fn who_calls_a_compaction_off_may_take_that_back_before_it_ends() {
    let canceled = Arc::new(AtomicBool::new(false));
    let withdrawn = canceled.clone();
    let mut options = options();
    options.column_family.compaction_filter_factory = Some(Arc::new(Fleeting(canceled.clone())));
    // The cancellation is withdrawn when the compaction's table is given up.
    options.listeners = vec![Recorder::of(move |event| {
        let is_given_up = matches!(event, Event::TableCreationFailed { .. });
        is_given_up.then(|| withdrawn.store(false, Ordering::Relaxed))
    })];
    let db = Db::open(&options, "/db").unwrap();
    let many: Vec<String> = (0..3000).map(|i| format!("key{i:05}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    put_and_flush(&db, &many);
    put_and_flush(&db, &many);
    let options = CompactRangeOptions {
        canceled: Some(canceled.clone()),
        ..CompactRangeOptions::default()
    };
    let error = db
        .compact_range_cf_opt(&db.default_column_family(), None, None, &options)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Incomplete, "{error}");
    assert!(!canceled.load(Ordering::Relaxed));
    assert_eq!(levels(&db), [0, 0]);
    db.close().unwrap();
}

#[test]
fn an_exclusive_manual_compaction_is_alone() {
    let (db, gate) = gated();
    let family = db.default_column_family();
    let other = db.create_column_family("other", family.options()).unwrap();
    let put = |key: &str| {
        db.put_cf(&other, key.as_bytes(), b"value").unwrap();
        db.flush_cf(std::slice::from_ref(&other)).unwrap();
    };
    put("key00001");
    put("key00002");
    let exclusive = CompactRangeOptions {
        exclusive_manual_compaction: true,
        ..CompactRangeOptions::default()
    };
    thread::scope(|scope| {
        let alone = scope.spawn(|| db.compact_range_cf_opt(&family, None, None, &exclusive));
        gate.wait_for(1);
        let (begin, begun) = channel();
        let by_hand = [CompactRangeOptions::default(), exclusive.clone()].map(|options| {
            let (db, other, begin) = (&db, &other, begin.clone());
            scope.spawn(move || {
                begin.send(Task::current()).unwrap();
                db.compact_range_cf_opt(other, None, None, &options)
            })
        });
        // An automatic compaction becomes due.
        db.set_options(&other, &[("level0_file_num_compaction_trigger", "2")])
            .unwrap();
        for task in [receive("a compaction", &begun), receive("a compaction", &begun)] {
            task.wait_until_asleep();
        }
        assert_eq!(gate.waiting(), 1);
        gate.open();
        alone.join().unwrap().unwrap();
        for compaction in by_hand {
            compaction.join().unwrap().unwrap();
        }
    });
    db.wait_for_compact().unwrap();
    assert!(levels(&db).iter().all(|&level| level == 6));
    // After the exclusive manual compaction has ended, it holds back no other compaction.
    put("key00003");
    db.compact_range_cf_opt(&other, None, None, &exclusive).unwrap();
    db.close().unwrap();
}

#[test]
fn a_flush_waits_until_it_stalls_nobody() {
    let (db, gate) = gated();
    let family = db.default_column_family();
    let triggers = [
        ("level0_file_num_compaction_trigger", "2"),
        ("level0_slowdown_writes_trigger", "3"),
    ];
    db.set_options(&family, &triggers).unwrap();
    gate.wait_for(1);
    db.put(b"key", b"value").unwrap();
    let files = || db.live_files().len();
    flush(&db);
    assert_eq!(files(), 3);
    db.put(b"key", b"another").unwrap();
    let done = AtomicBool::new(false);
    let (begin, begun) = channel();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            begin.send(Task::current()).unwrap();
            db.flush().unwrap();
            assert!(gate.is_open());
        });
        let by_hand = scope.spawn(|| {
            begin.send(Task::current()).unwrap();
            db.compact_range_cf(&family, None, None).unwrap();
            assert!(gate.is_open());
            done.store(true, Ordering::Relaxed);
        });
        for task in [receive("the flush", &begun), receive("the compaction", &begun)] {
            task.wait_until_asleep();
        }
        assert_eq!(files(), 3);
        assert!(!done.load(Ordering::Relaxed));
        gate.open();
        waiting.join().unwrap();
        by_hand.join().unwrap();
    });
    assert_eq!(db.get(b"key").unwrap().as_deref(), Some(&b"another"[..]));
    db.close().unwrap();
}

#[test]
fn all_background_work_is_called_off() {
    let (db, gate) = gated();
    let family = db.default_column_family();
    thread::scope(|scope| {
        let compaction = scope.spawn(|| db.compact_range_cf(&family, None, None));
        gate.wait_for(1);
        let cancelling = scope.spawn(|| db.cancel_all_background_work(true));
        while !matches!(db.put(b"x", b"y"), Err(error) if error.kind() == ErrorKind::ShutdownInProgress) {
            thread::yield_now();
        }
        gate.open();
        assert!(compaction.join().unwrap().is_err());
        cancelling.join().unwrap().unwrap();
    });
    // After the cancellation the rows can be read, and the database can be closed.
    assert!(db.get(b"key00007").unwrap().is_some());
    assert_eq!(levels(&db), [0, 0]);
    db.close().unwrap();
}

#[test]
fn what_is_suggested_is_compacted_when_nothing_else_is() {
    for style in [CompactionStyle::Level, CompactionStyle::Universal] {
        let mut options = options();
        options.column_family.compaction_style = style;
        let db = Db::open(&options, "/db").unwrap();
        let family: ColumnFamily = db.default_column_family();
        put_and_flush(&db, &["a", "m"]);
        db.compact_range_cf(&family, None, None).unwrap();
        put_and_flush(&db, &["a", "b"]);
        db.suggest_compact_range(&family, Some(b"x"), None).unwrap();
        db.wait_for_compact().unwrap();
        assert_eq!(levels(&db), [0, 6], "{style:?}");
        db.suggest_compact_range(&family, None, Some(b"a")).unwrap();
        db.wait_for_compact().unwrap();
        assert_eq!(levels(&db), [6], "{style:?}");
        db.close().unwrap();
    }
}

/// A filter that removes rows whose keys begin with this byte or a greater one.
struct RemovesFrom(Arc<std::sync::atomic::AtomicU8>);

impl CompactionFilterFactory for RemovesFrom {
    fn name(&self) -> &str {
        "removes-from"
    }

    fn create(&self, _context: &FilterContext) -> Option<Box<dyn CompactionFilter>> {
        Some(Box::new(RemovesFrom(self.0.clone())))
    }
}

impl CompactionFilter for RemovesFrom {
    fn filter(&mut self, _level: usize, key: &[u8], _value_type: ValueType, _value: &[u8]) -> Decision {
        match key[0] == self.0.load(Ordering::Relaxed) {
            true => Decision::Remove,
            false => Decision::Keep,
        }
    }
}

#[test]
fn files_are_rewritten_where_they_lie_when_that_is_suggested() {
    for style in [CompactionStyle::Level, CompactionStyle::Universal] {
        let removed = Arc::new(std::sync::atomic::AtomicU8::new(0));
        let mut options = options();
        options.column_family.compaction_style = style;
        options.column_family.compaction_filter_factory = Some(Arc::new(RemovesFrom(removed.clone())));
        let db = Db::open(&options, "/db").unwrap();
        let family = db.default_column_family();
        put_and_flush(&db, &["a", "m"]);
        db.compact_range_cf(&family, None, None).unwrap();
        put_and_flush(&db, &["b", "m"]);
        let numbers = |level: usize| {
            let files = db.live_files();
            let of_level = files.iter().filter(|file| file.level == level);
            of_level.map(|file| file.number).collect::<Vec<u64>>()
        };
        let (top, bottom) = (numbers(0), numbers(6));
        // Without a suggestion, no file is rewritten.
        removed.store(b'm', Ordering::Relaxed);
        db.wait_for_compact().unwrap();
        assert_eq!((numbers(0), numbers(6)), (top.clone(), bottom.clone()));
        db.suggest_compact_files(&family, &[bottom[0], 1_000_000])
            .unwrap();
        db.wait_for_compact().unwrap();
        assert_eq!(levels(&db), [0, 6], "{style:?}");
        assert_eq!(numbers(0), top);
        assert_ne!(numbers(6), bottom);
        assert_eq!(
            db.get(b"m").unwrap().as_deref(),
            Some(&b"value"[..]),
            "that above"
        );
        // Each call of `suggest_compact_files` leads to one rewrite of the files.
        let bottom = numbers(6);
        db.suggest_compact_files(&family, &top).unwrap();
        db.wait_for_compact().unwrap();
        assert_eq!((levels(&db), numbers(6)), (vec![0, 6], bottom), "{style:?}");
        assert_eq!(db.get(b"m").unwrap(), None);
        removed.store(b'a', Ordering::Relaxed);
        db.suggest_compact_files(&family, &numbers(6)).unwrap();
        db.wait_for_compact().unwrap();
        assert_eq!(levels(&db), [0], "of the file nothing is left");
        files::check(&db).unwrap();
        db.close().unwrap();
    }
}

#[test]
fn level_0_is_promoted() {
    let mut options = options();
    options.column_family.disable_auto_compactions = true;
    let db = Db::open(&options, "/db").unwrap();
    let family = db.default_column_family();
    put_and_flush(&db, &["a", "b"]);
    put_and_flush(&db, &["d", "e"]);
    put_and_flush(&db, &["e", "f"]);
    let refused = |level: usize| db.promote_l0(&family, level).unwrap_err().to_string();
    assert!(refused(0).contains("Target level"));
    assert!(refused(7).contains("Target level"));
    assert!(refused(2).contains("overlap"));
    db.compact_range_cf(&family, None, None).unwrap();
    put_and_flush(&db, &["a", "b"]);
    put_and_flush(&db, &["c", "d"]);
    assert!(refused(6).contains("level 6"));
    db.promote_l0(&family, 3).unwrap();
    assert_eq!(levels(&db)[..2], [3, 3]);
    db.promote_l0(&family, 2).unwrap();
    files::check(&db).unwrap();
    let mut iter = db.iter();
    iter.seek_to_first();
    assert_eq!(iter.key(), b"a");
    drop(iter);
    db.close().unwrap();
}

#[test]
fn contradicting_options_are_refused_together() {
    let sound = options();
    let mut options = sound.clone();
    options.max_background_jobs = 0;
    options.wal_compression = CompressionType::Lz4;
    options.allow_mmap_reads = true;
    options.use_direct_reads = true;
    let family = &mut options.column_family;
    family.max_write_buffer_number = 0;
    family.max_bytes_for_level_multiplier = 0.0;
    family.num_levels = 1;
    family.table.block_size = 1;
    family.table.cache_index_and_filter_blocks = true;
    family.table.no_block_cache = true;
    family.table.index_type = IndexType::HashSearch;
    family.table.block_align = true;
    family.compression = CompressionType::Zstd;
    family.compression_opts.zstd_max_train_bytes = 1000;
    family.block_protection_bytes_per_key = 3;
    let other = ColumnFamilyOptions {
        min_write_buffer_number_to_merge: 0,
        ..ColumnFamilyOptions::default()
    };
    options.column_families.insert("other".to_owned(), other);
    let of_family = [
        "max_write_buffer_number=0 is outside",
        "max_bytes_for_level_multiplier=0 is outside",
        "num_levels=1",
        "block_size=1 is outside",
        "no_block_cache",
        "prefix_extractor",
        "block_align",
        "max_dict_bytes",
        "Block per key-value checksum",
    ];
    let error = Db::open(&options, "/db").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let of_database = [
        "max_background_jobs=0 is outside",
        "wal_compression",
        "allow_mmap_reads, but reads are direct",
        "options of column family other: min_write_buffer_number_to_merge=0 is outside",
    ];
    for part in of_family.into_iter().chain(of_database) {
        assert!(error.to_string().contains(part), "{part} is not in {error}");
    }
    assert!(!options.fs.exists(Path::new("/db/CURRENT")).unwrap());

    let db = Db::open(&sound, "/db").unwrap();
    let error = db
        .create_column_family("more", &options.column_family)
        .unwrap_err()
        .to_string();
    for part in of_family {
        assert!(error.contains(part), "{part} is not in {error}");
    }
    let family = db.default_column_family();
    let changes = [
        ("max_write_buffer_number", "0"),
        ("no_such_option", "1"),
        ("block_align", "true"),
        ("compression", "kZSTD"),
        ("compression_opts", "{zstd_max_train_bytes=1000;}"),
    ];
    let error = db.set_options(&family, &changes).unwrap_err().to_string();
    for part in [
        "max_write_buffer_number=0 is outside",
        "unknown option no_such_option",
        "block_align",
        "max_dict_bytes",
    ] {
        assert_eq!(error.matches(part).count(), 1, "{part} in {error}");
    }
    let error = db
        .set_db_options(&[("max_background_jobs", "0"), ("no_such_option", "1")])
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("max_background_jobs=0 is outside") && error.contains("unknown option no_such_option"),
        "{error}"
    );
}

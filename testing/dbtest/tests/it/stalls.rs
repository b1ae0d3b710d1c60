//! Stalled writers and the reported causes; jobs that are slowed by a rate limiter.

mod rate_limits;

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use base::sync::Mutex;
use dbtest::by_hand::{at_once, flush};
use esker::{
    ColumnFamilyOptions, CompressionType, Db, Event, EventListener, FlushOptions, Options, RateLimiter,
    RateLimiterMode, RateLimiterOptions, StallCause, StallCondition, Statistics, SystemClock,
    WriteBufferManager, WriteOptions,
};
use testkit::{Task, receive};
use vfs::MemFs;

/// A listener that forwards events, and holds jobs of one kind until it is opened.
struct Gate {
    holds: fn(&Event) -> bool,
    heard: Mutex<Sender<Event>>,
    go: Mutex<Receiver<()>>,
}

impl EventListener for Gate {
    fn on_event(&self, event: &Event) {
        // An error is ignored: the receiver is gone when the test is over.
        let _ = self.heard.lock().send(event.clone());
        if (self.holds)(event) {
            // The message, or the end of the sender, lets the job go on.
            let _ = self.go.lock().recv();
        }
    }
}

fn gate(holds: fn(&Event) -> bool) -> (Arc<Gate>, Receiver<Event>, Sender<()>) {
    let (sender, heard) = channel();
    let (go, held) = channel();
    let gate = Gate {
        holds,
        heard: Mutex::new(sender),
        go: Mutex::new(held),
    };
    (Arc::new(gate), heard, go)
}

/// Options of a database in memory whose jobs wait at the gate.
fn gated(gate: Arc<Gate>) -> Options {
    Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        listeners: vec![gate],
        ..Options::default()
    }
}

fn wait_for_stall(heard: &Receiver<Event>) -> Event {
    loop {
        let event = receive("an event", heard);
        if matches!(event, Event::Stall { .. }) {
            return event;
        }
    }
}

#[test]
fn writers_are_delayed_while_l0_is_large_and_told_why() {
    let (gate, heard, go) = gate(|event| matches!(event, Event::CompactionBegun { .. }));
    let statistics = Statistics::new();
    let options = Options {
        statistics: Some(statistics.clone()),
        delayed_write_rate: 1 << 20,
        column_family: ColumnFamilyOptions {
            level0_file_num_compaction_trigger: 2,
            level0_slowdown_writes_trigger: 4,
            level0_stop_writes_trigger: 20,
            ..ColumnFamilyOptions::default()
        },
        ..gated(gate)
    };
    let db = Db::open(&options, "/db").unwrap();
    let family = db.default_column_family();
    let number = |name: &str| db.property_int(&family, name).unwrap();
    for _ in 0..4 {
        db.put(b"a", b"1").unwrap();
        db.put(b"z", b"1").unwrap();
        flush(&db);
    }
    let delayed = StallCondition::Delayed {
        cause: StallCause::L0FileCountLimit,
    };
    match wait_for_stall(&heard) {
        Event::Stall {
            condition,
            l0_files,
            level0_slowdown_writes_trigger,
            level0_stop_writes_trigger,
            delayed_write_rate,
            waits,
            ..
        } => {
            assert_eq!((condition, l0_files, waits), (delayed, 4, 0));
            let triggers = (level0_slowdown_writes_trigger, level0_stop_writes_trigger);
            assert_eq!(triggers, (4, 20));
            assert!(
                (1..=1 << 20).contains(&delayed_write_rate),
                "{delayed_write_rate}"
            );
        }
        event => panic!("{event}"),
    }
    assert_eq!(number("rocksdb.is-write-stopped"), 0);
    let rate = number("rocksdb.actual-delayed-write-rate");
    assert!((1..=1 << 20).contains(&rate), "{rate}");

    // The debt is ten kilobytes at a megabyte a second: the next writer waits for nine milliseconds of it.
    db.put(b"b", [1; 10 << 10]).unwrap();
    let hurried = WriteOptions {
        no_slowdown: true,
        ..WriteOptions::default()
    };
    let error = db.put_cf_opt(&family, b"c", b"1", &hurried).unwrap_err();
    assert_eq!(error.kind(), esker::ErrorKind::Incomplete);
    assert!(
        error.to_string().contains("delayed (l0-file-count-limit)"),
        "{error}"
    );
    db.put(b"c", [1; 10 << 10]).unwrap();
    db.put(b"c", b"1").unwrap();
    let waited = db.statistics().stall(delayed);
    assert!(waited.count >= 1 && waited.micros > 0, "{waited:?}");
    let stalls = statistics.histogram_data(esker::Histogram::WriteStall);
    assert_eq!((stalls.count, stalls.sum), (waited.count, waited.micros));
    let told = db.property(&family, "rocksdb.cf-write-stall-stats").unwrap();
    let of_limit = format!(
        "l0-file-count-limit-delays: {}, l0-file-count-limit-stops: 0",
        waited.count
    );
    assert!(told.contains(&of_limit), "{told}");
    assert!(
        db.property(&family, "rocksdb.cfstats")
            .unwrap()
            .contains(&of_limit)
    );
    assert!(
        db.property(&family, "rocksdb.db-write-stall-stats")
            .unwrap()
            .contains(&of_limit)
    );

    drop(go);
    db.wait_for_compact().unwrap();
    match wait_for_stall(&heard) {
        Event::Stall {
            previous,
            condition,
            waits,
            waited_micros,
            ..
        } => {
            assert_eq!((previous, condition), (delayed, StallCondition::Normal));
            assert_eq!((waits, waited_micros), (waited.count, waited.micros));
        }
        event => panic!("{event}"),
    }
    assert_eq!(number("rocksdb.actual-delayed-write-rate"), 0);
    db.put_cf_opt(&family, b"c", b"1", &hurried).unwrap();
    db.close().unwrap();
}

#[test]
fn writers_are_delayed_before_the_last_memtable_is_full() {
    let (gate, heard, go) = gate(|event| matches!(event, Event::FlushBegun { .. }));
    let options = Options {
        column_family: ColumnFamilyOptions {
            write_buffer_size: 64 << 10,
            max_write_buffer_number: 4,
            ..ColumnFamilyOptions::default()
        },
        ..gated(gate)
    };
    let db = Db::open(&options, "/db").unwrap();
    // Each write fills a memtable, which the next write switches, until three memtables are immutable.
    for _ in 0..4 {
        db.put(b"k", [1; 80 << 10]).unwrap();
        if db.property_int(&db.default_column_family(), "rocksdb.num-immutable-mem-table") == Some(3) {
            break;
        }
    }
    match wait_for_stall(&heard) {
        Event::Stall {
            condition,
            immutable_memtables,
            ..
        } => {
            let cause = StallCause::MemtableLimit;
            assert_eq!(
                (condition, immutable_memtables),
                (StallCondition::Delayed { cause }, 3)
            );
        }
        event => panic!("{event}"),
    }
    drop(go);
    flush(&db);
    // Other events are skipped: the flush above may itself have waited for another one, which is a stall.
    while !matches!(
        wait_for_stall(&heard),
        Event::Stall {
            condition: StallCondition::Normal,
            ..
        }
    ) {}
    db.close().unwrap();
}

fn limited(rate: u64, mode: RateLimiterMode) -> (Arc<RateLimiter>, Options) {
    let limiter = RateLimiterOptions {
        rate_bytes_per_sec: rate,
        refill_period_us: 1_000,
        mode,
        ..RateLimiterOptions::default()
    };
    let limiter = Arc::new(RateLimiter::with_options(limiter, Arc::new(SystemClock::new())).unwrap());
    let options = Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        rate_limiter: Some(limiter.clone()),
        column_family: ColumnFamilyOptions {
            disable_auto_compactions: true,
            ..ColumnFamilyOptions::default()
        },
        ..Options::default()
    };
    (limiter, options)
}

fn managed(manager: &Arc<WriteBufferManager>) -> Options {
    Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        write_buffer_manager: Some(manager.clone()),
        column_family: ColumnFamilyOptions {
            disable_auto_compactions: true,
            ..ColumnFamilyOptions::default()
        },
        ..Options::default()
    }
}

#[test]
fn databases_share_the_memory_of_their_memtables() {
    let cache = esker::Cache::lru(esker::CacheOptions {
        capacity: 8 << 20,
        ..Default::default()
    });
    let limit = 512 << 10;
    let manager = WriteBufferManager::new(limit, Some(cache.clone()), true);
    let idle = Db::open(&managed(&manager), "/idle").unwrap();
    let busy = Db::open(&managed(&manager), "/busy").unwrap();
    for key in 0..300u32 {
        idle.put(key.to_be_bytes(), [1; 1000]).unwrap();
    }
    assert!(idle.live_files().is_empty());
    let alone = manager.memory_usage();
    assert!((300_000..400_000).contains(&alone), "{alone}");
    assert!(manager.dummy_entries_in_cache_usage() >= alone);
    assert!(cache.usage() as u64 >= alone);
    let mut most = 0;
    for key in 0..3000u32 {
        busy.put(key.wrapping_mul(0x9e37_79b1).to_be_bytes(), [2; 1000])
            .unwrap();
        most = most.max(manager.memory_usage());
    }
    assert!(most <= limit + 100_000, "{most}");
    flush(&busy);
    // The idle database had the largest memtable, so that was flushed once; the busy database was flushed a
    // few times, and not at every row.
    assert_eq!(idle.live_files().len(), 1);
    let files = busy.live_files().len();
    assert!((3..20).contains(&files), "{files}");
    busy.close().unwrap();
    idle.close().unwrap();
    assert_eq!(
        (manager.memory_usage(), manager.dummy_entries_in_cache_usage()),
        (0, 0)
    );
    drop((busy, idle));
}

#[test]
fn writers_wait_for_memory_that_is_being_flushed() {
    let (gate, heard, go) = gate(|event| matches!(event, Event::FlushBegun { .. }));
    let manager = WriteBufferManager::new(256 << 10, None, true);
    let options = Options {
        listeners: vec![gate],
        ..managed(&manager)
    };
    let db = Db::open(&options, "/db").unwrap();
    let family = db.default_column_family();
    let hurried = WriteOptions {
        no_slowdown: true,
        ..WriteOptions::default()
    };
    let refused = (0..1000u32)
        .find_map(|key| {
            db.put_cf_opt(&family, key.to_be_bytes(), [1; 1000], &hurried)
                .err()
        })
        .unwrap();
    assert_eq!(refused.kind(), esker::ErrorKind::Incomplete);
    assert!(
        refused.to_string().contains("write-buffer-manager-limit"),
        "{refused}"
    );
    while !matches!(receive("an event", &heard), Event::FlushBegun { .. }) {}
    let (begin, begun) = channel();
    let writer = std::thread::spawn({
        let db = db.clone();
        move || {
            begin.send(Task::current()).unwrap();
            db.put(b"key", b"value").unwrap();
        }
    });
    let stopped = StallCondition::Stopped {
        cause: StallCause::WriteBufferManagerLimit,
    };
    match wait_for_stall(&heard) {
        Event::Stall {
            family,
            previous,
            condition,
            memtable_bytes,
            write_buffer_manager_limit,
            ..
        } => {
            assert_eq!(
                (family, previous, condition),
                (String::new(), StallCondition::Normal, stopped)
            );
            assert_eq!(write_buffer_manager_limit, 256 << 10);
            assert!(memtable_bytes >= write_buffer_manager_limit, "{memtable_bytes}");
        }
        event => panic!("{event}"),
    }
    // A stalled database checks every tenth of a second for flushes of other databases, without an event.
    receive("the writer", &begun).wait_until_asleep();
    for event in heard.try_iter() {
        assert!(!matches!(event, Event::Stall { .. }), "{event}");
    }
    assert!(!writer.is_finished());
    drop(go);
    writer.join().unwrap();
    match wait_for_stall(&heard) {
        Event::Stall {
            previous,
            condition,
            waits,
            waited_micros,
            ..
        } => {
            assert_eq!((previous, condition, waits), (stopped, StallCondition::Normal, 1));
            assert!(waited_micros > 0);
            let counted = db.statistics().stall(stopped);
            assert_eq!((counted.count, counted.micros), (waits, waited_micros));
        }
        event => panic!("{event}"),
    }
    let log = String::from_utf8(options.fs.read_file(Path::new("/db/LOG")).unwrap()).unwrap();
    let told = log.lines().filter(|line| line.contains("Stopping writes"));
    assert_eq!(told.count(), 1, "{log}");
    assert_eq!(db.get(b"key").unwrap().unwrap(), b"value");
    assert!(manager.memory_usage() < 256 << 10);
    db.close().unwrap();
}

#[test]
fn memtables_that_wait_for_company_are_flushed_when_writers_wait_for_memory() {
    let manager = WriteBufferManager::new(256 << 10, None, true);
    let mut options = managed(&manager);
    options.column_family.min_write_buffer_number_to_merge = 3;
    options.column_family.max_write_buffer_number = 6;
    options.column_family.write_buffer_size = 100 << 10;
    let (one, two) = (
        Db::open(&options, "/one").unwrap(),
        Db::open(&options, "/two").unwrap(),
    );
    // Each database has one immutable memtable and may have no other, so the writers of both databases wait.
    for key in 0..2000u32 {
        one.put(key.to_be_bytes(), [1; 1000]).unwrap();
        two.put(key.to_be_bytes(), [2; 1000]).unwrap();
    }
    assert!(!one.live_files().is_empty() && !two.live_files().is_empty());
    one.close().unwrap();
    two.close().unwrap();
}

#[test]
fn writes_of_low_priority_are_slow_while_compactions_are_behind() {
    let (gate, heard, go) = gate(|event| matches!(event, Event::CompactionBegun { .. }));
    let options = Options {
        column_family: ColumnFamilyOptions {
            level0_file_num_compaction_trigger: 2,
            level0_slowdown_writes_trigger: 20,
            level0_stop_writes_trigger: 36,
            ..ColumnFamilyOptions::default()
        },
        ..gated(gate)
    };
    let db = Db::open(&options, "/db").unwrap();
    let family = db.default_column_family();
    let low = WriteOptions {
        low_pri: true,
        ..WriteOptions::default()
    };
    let hurried = WriteOptions {
        no_slowdown: true,
        ..low.clone()
    };
    for _ in 0..3 {
        db.put_cf_opt(&family, b"a", b"1", &hurried).unwrap();
        db.put(b"z", b"1").unwrap();
        flush(&db);
    }
    // With twice the files that trigger a compaction, only low-priority writes are delayed.
    db.put(b"a", b"1").unwrap();
    flush(&db);
    let error = db.put_cf_opt(&family, b"a", b"2", &hurried).unwrap_err();
    assert_eq!(
        (error.kind(), error.message()),
        (esker::ErrorKind::Incomplete, "Low priority write stall")
    );
    assert!(
        heard
            .try_iter()
            .all(|event| !matches!(event, Event::Stall { .. }))
    );
    let value = [1; 150 << 10];
    // At 1 MiB a second, each period of 100 ms has a tenth of it: the write takes all of one period and
    // begins the third, and the first may be almost over.
    let least = Duration::from_millis(100);
    testkit::watchdog::takes_at_least(least, || {
        db.put_cf_opt(&family, b"b", value, &low).unwrap();
        db.put_cf_opt(&family, b"b", value, &low).unwrap();
    });
    db.put_cf_opt(
        &family,
        b"c",
        value,
        &WriteOptions {
            no_slowdown: true,
            ..WriteOptions::default()
        },
    )
    .unwrap();
    let slowed = StallCondition::Delayed {
        cause: StallCause::LowPriority,
    };
    match wait_for_stall(&heard) {
        Event::Stall {
            family,
            previous,
            condition,
            l0_files,
            delayed_write_rate,
            ..
        } => {
            assert_eq!(family, "default");
            assert_eq!((previous, condition), (StallCondition::Normal, slowed));
            assert_eq!((l0_files, delayed_write_rate), (4, 1 << 20));
        }
        event => panic!("{event}"),
    }
    drop(go);
    db.wait_for_compact().unwrap();
    db.put_cf_opt(&family, b"a", b"3", &hurried).unwrap();
    // Two writes were delayed by the same condition, which is reported as one stall.
    match wait_for_stall(&heard) {
        Event::Stall {
            previous,
            condition,
            waits,
            waited_micros,
            ..
        } => {
            assert_eq!((previous, condition, waits), (slowed, StallCondition::Normal, 2));
            assert!(waited_micros > 90_000, "{waited_micros}");
            let counted = db.statistics().stall(slowed);
            assert_eq!((counted.count, counted.micros), (waits, waited_micros));
        }
        event => panic!("{event}"),
    }
}

#[test]
fn waits_for_a_locked_wal_are_told_and_counted() {
    let (gate, heard, _go) = gate(|_| false);
    let options = gated(gate);
    let db = Db::open(&options, "/db").unwrap();
    let locked = StallCondition::Stopped {
        cause: StallCause::WalLocked,
    };
    let of_stall = |event| match event {
        Event::Stall {
            family,
            previous,
            condition,
            waits,
            waited_micros,
            ..
        } => (family, previous, condition, (waits, waited_micros)),
        event => panic!("{event}"),
    };
    // This time the WAL is locked and unlocked without a waiting writer.
    db.lock_wal().unwrap();
    db.unlock_wal().unwrap();
    db.put(b"a", b"1").unwrap();
    db.lock_wal().unwrap();
    std::thread::scope(|scope| {
        let (begin, tasks) = channel();
        let writers = [b"b", b"c"].map(|key| {
            let (db, begin) = (&db, begin.clone());
            scope.spawn(move || {
                begin.send(Task::current()).unwrap();
                db.put(key, b"1").unwrap();
            })
        });
        let begun = of_stall(wait_for_stall(&heard));
        for task in [receive("a writer", &tasks), receive("a writer", &tasks)] {
            task.wait_until_asleep();
        }
        for event in heard.try_iter() {
            assert!(!matches!(event, Event::Stall { .. }), "{event}");
        }
        db.unlock_wal().unwrap();
        assert_eq!(begun, (String::new(), StallCondition::Normal, locked, (0, 0)));
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    });
    let (_, previous, condition, waited) = of_stall(wait_for_stall(&heard));
    assert_eq!((previous, condition), (locked, StallCondition::Normal));
    let counted = db.statistics().stall(locked);
    assert_eq!(waited, (counted.count, counted.micros));
    // Of the two queued writers only the first counts as waiting for the lock of the WAL.
    assert!(waited.0 == 1 && waited.1 > 0, "{waited:?}");
    let family = db.default_column_family();
    let told = db.property(&family, "rocksdb.db-write-stall-stats").unwrap();
    assert!(told.contains("wal-locked-stops: 1"), "{told}");
    let log = String::from_utf8(options.fs.read_file(Path::new("/db/LOG")).unwrap()).unwrap();
    assert!(log.contains("Stopping writes because the WAL is locked"), "{log}");
    assert!(
        log.contains("Writes go on: they were stopped (wal-locked): 1 waits"),
        "{log}"
    );
}

/// Two writers are stalled in `db`, which has `manual_wal_flush`, because of `why`, until `go` is dropped: no
/// other operation waits for them, and they continue in their order.
fn only_those_wait_who_are_held_back(db: &Db, why: &str, go: Sender<()>, others: impl Fn() + Sync) {
    let (done, heard) = channel();
    std::thread::scope(|scope| {
        let held_back = [b"one", b"two"].map(|key| {
            let done = done.clone();
            let (begin, begun) = channel();
            let held_back = scope.spawn(move || {
                begin.send(Task::current()).unwrap();
                let mut batch = esker::WriteBatch::new();
                batch.put(key, b"held back");
                let seqno = db.write_sequenced(batch, &WriteOptions::default()).unwrap();
                done.send(()).unwrap();
                seqno
            });
            receive("the writer", &begun).wait_until_asleep();
            heard.try_recv().unwrap_err();
            held_back
        });
        let (done, others) = (done.clone(), &others);
        scope.spawn(move || {
            let family = db.default_column_family();
            let hurried = WriteOptions {
                no_slowdown: true,
                ..WriteOptions::default()
            };
            for _ in 0..3 {
                let error = db.put_cf_opt(&family, b"hurried", b"1", &hurried).unwrap_err();
                assert_eq!(error.kind(), esker::ErrorKind::Incomplete);
                assert!(error.to_string().contains(why), "{error}");
            }
            db.flush_wal(false).unwrap();
            db.lock_wal().unwrap();
            db.unlock_wal().unwrap();
            others();
            done.send(()).unwrap();
        });
        receive("the end of the operations that are not stalled", &heard);
        let waited = held_back.iter().all(|writer| !writer.is_finished());
        drop(go);
        assert!(waited);
        let [one, two] = held_back.map(|writer| writer.join().unwrap());
        assert!(one < two, "{one} {two}");
    });
    assert_eq!(db.get(b"hurried").unwrap(), None);
}

#[test]
fn whoever_is_stopped_by_memtables_holds_nobody_else_back() {
    let (gate, _heard, go) = gate(|event| matches!(event, Event::FlushBegun { .. }));
    let options = Options {
        manual_wal_flush: true,
        column_family: ColumnFamilyOptions {
            write_buffer_size: 64 << 10,
            ..ColumnFamilyOptions::default()
        },
        ..gated(gate)
    };
    let db = Db::open(&options, "/db").unwrap();
    let other = db
        .create_column_family("other", &ColumnFamilyOptions::default())
        .unwrap();
    db.put_cf(&other, b"a", b"1").unwrap();
    for _ in 0..2 {
        db.put(b"k", [1; 80 << 10]).unwrap();
    }
    only_those_wait_who_are_held_back(&db, "stopped (memtable-limit)", go, || {
        let begin = FlushOptions {
            wait: false,
            allow_write_stall: true,
            ..FlushOptions::default()
        };
        db.flush_cf_opt(std::slice::from_ref(&other), &begin).unwrap();
        let immutable = db.property_int(&other, "rocksdb.num-immutable-mem-table");
        assert_eq!(immutable, Some(1));
    });
    db.close().unwrap();
}

/// A database with `manual_wal_flush` and `files` files in L0, whose first compaction waits for the sender.
fn with_files_in_l0(files: u32, delayed_write_rate: u64) -> (Db, Sender<()>) {
    let (gate, _, go) = gate(|event| matches!(event, Event::CompactionBegun { .. }));
    let options = Options {
        manual_wal_flush: true,
        delayed_write_rate,
        column_family: ColumnFamilyOptions {
            level0_file_num_compaction_trigger: 2,
            level0_slowdown_writes_trigger: 4,
            level0_stop_writes_trigger: 6,
            ..ColumnFamilyOptions::default()
        },
        ..gated(gate)
    };
    let db = Db::open(&options, "/db").unwrap();
    for _ in 0..files {
        db.put(b"a", b"1").unwrap();
        db.put(b"z", b"1").unwrap();
        flush(&db);
    }
    (db, go)
}

#[test]
fn whoever_is_stopped_by_l0_holds_nobody_else_back() {
    let (db, go) = with_files_in_l0(6, 1 << 20);
    std::thread::scope(|scope| {
        // The flush waits until the stop condition ends, and no other operation waits for the flush.
        let flush = scope.spawn(|| flush(&db));
        only_those_wait_who_are_held_back(&db, "stopped (l0-file-count-limit)", go, || ());
        flush.join().unwrap();
    });
    db.close().unwrap();
}

#[test]
fn whoever_is_delayed_holds_nobody_else_back() {
    // The delay for the first write is more than a minute, unless the stall ends.
    let (db, go) = with_files_in_l0(4, 1 << 10);
    db.put(b"k", [1; 100 << 10]).unwrap();
    only_those_wait_who_are_held_back(&db, "delayed (l0-file-count-limit)", go, || flush(&db));
    db.close().unwrap();
}

#[test]
fn whoever_waits_for_memory_holds_nobody_else_back() {
    let (gate, _heard, go) = gate(|event| matches!(event, Event::FlushBegun { .. }));
    let manager = WriteBufferManager::new(256 << 10, None, true);
    let options = Options {
        listeners: vec![gate],
        manual_wal_flush: true,
        ..managed(&manager)
    };
    let db = Db::open(&options, "/db").unwrap();
    let hurried = WriteOptions {
        no_slowdown: true,
        ..WriteOptions::default()
    };
    let family = db.default_column_family();
    let written = |key: &u32| {
        db.put_cf_opt(&family, key.to_be_bytes(), [1; 1000], &hurried)
            .is_ok()
    };
    assert!((0..1000).take_while(written).count() < 1000);
    only_those_wait_who_are_held_back(&db, "stopped (write-buffer-manager-limit)", go, || ());
    db.close().unwrap();
}

#[test]
fn memory_of_a_family_that_was_dropped_holds_nobody_back() {
    let manager = WriteBufferManager::new(256 << 10, None, true);
    let db = Db::open(&managed(&manager), "/db").unwrap();
    let other = db
        .create_column_family("other", &ColumnFamilyOptions::default())
        .unwrap();
    // The full memtable cannot be flushed, because background work is paused.
    db.pause_background_work().unwrap();
    let hurried = WriteOptions {
        no_slowdown: true,
        ..WriteOptions::default()
    };
    let written = |key: &u32| {
        db.put_cf_opt(&other, key.to_be_bytes(), [1; 1000], &hurried)
            .is_ok()
    };
    assert!((0..1000).take_while(written).count() < 1000);
    db.drop_column_family(&other).unwrap();
    let (done, heard) = channel();
    let writer = db.clone();
    std::thread::spawn(move || done.send(writer.put(b"k", b"v")));
    receive("the put, which nothing holds back", &heard).unwrap();
    db.continue_background_work().unwrap();
    db.close().unwrap();
}

#[test]
fn the_stall_of_a_family_that_is_dropped_is_told_to_have_ended() {
    let (gate, heard, go) = gate(|event| matches!(event, Event::CompactionBegun { .. }));
    let options = gated(gate);
    let db = Db::open(&options, "/db").unwrap();
    let delayed_soon = ColumnFamilyOptions {
        level0_file_num_compaction_trigger: 2,
        level0_slowdown_writes_trigger: 3,
        ..ColumnFamilyOptions::default()
    };
    let family = db.create_column_family("delayed", &delayed_soon).unwrap();
    for _ in 0..3 {
        db.put_cf(&family, b"a", b"1").unwrap();
        db.put_cf(&family, b"z", b"1").unwrap();
        db.flush_cf_opt(std::slice::from_ref(&family), &at_once())
            .unwrap();
    }
    let delayed = StallCondition::Delayed {
        cause: StallCause::L0FileCountLimit,
    };
    let told = |event| match event {
        Event::Stall {
            family,
            previous,
            condition,
            ..
        } => (family, previous, condition),
        other => panic!("{other}"),
    };
    let of = |previous, condition| ("delayed".to_owned(), previous, condition);
    assert_eq!(told(wait_for_stall(&heard)), of(StallCondition::Normal, delayed));
    db.drop_column_family(&family).unwrap();
    assert_eq!(told(wait_for_stall(&heard)), of(delayed, StallCondition::Normal));
    drop(go);
    db.close().unwrap();
}

/// A way to end a database.
type End = fn(&Db) -> esker::Result<()>;

const ENDS: [End; 2] = [Db::close, |db| db.cancel_all_background_work(true)];

/// Ends `db` while another thread writes to it as long as possible.
fn ends_while_somebody_writes(db: &Db, end: End) {
    let (done, heard) = channel();
    let (begin, begun) = channel();
    std::thread::scope(|scope| {
        let writes = scope.spawn(move || {
            begin.send(Task::current()).unwrap();
            let unlogged = WriteOptions {
                disable_wal: true,
                ..WriteOptions::default()
            };
            let family = db.default_column_family();
            let mut written = 0u32;
            loop {
                let key = written.to_be_bytes();
                match db.put_cf_opt(&family, key, [1; 10 << 10], &unlogged) {
                    Ok(()) => written += 1,
                    Err(error) => break (written, error),
                }
            }
        });
        receive("the writer", &begun).wait_until_asleep();
        assert!(!writes.is_finished());
        scope.spawn(move || done.send(end(db)).unwrap());
        receive("the end", &heard).unwrap();
        let (written, error) = writes.join().unwrap();
        assert_eq!(error.kind(), esker::ErrorKind::ShutdownInProgress);
        assert!(written > 0);
        // The close of the database has flushed the rows without a WAL.
        db.close().unwrap();
        let options = db.options().clone();
        let db = Db::open(&options, "/db").unwrap();
        for key in 0..written {
            assert!(db.get(key.to_be_bytes()).unwrap().is_some(), "{key} of {written}");
        }
    });
}

#[test]
fn a_paused_database_with_a_stopped_writer_can_be_closed() {
    for end in ENDS {
        let options = Options {
            create_if_missing: true,
            fs: Arc::new(MemFs::new()),
            column_family: ColumnFamilyOptions {
                write_buffer_size: 64 << 10,
                ..ColumnFamilyOptions::default()
            },
            ..Options::default()
        };
        let db = Db::open(&options, "/db").unwrap();
        db.pause_background_work().unwrap();
        ends_while_somebody_writes(&db, end);
    }
}

#[test]
fn a_compaction_without_bytes_to_write_with_does_not_keep_a_stopped_database_open() {
    for end in ENDS {
        let (limiter, mut options) = limited(100 << 20, RateLimiterMode::WritesOnly);
        let (gate, heard, _go) = gate(|_| false);
        options.listeners = vec![gate];
        options.column_family = ColumnFamilyOptions {
            level0_file_num_compaction_trigger: 2,
            level0_slowdown_writes_trigger: 2,
            level0_stop_writes_trigger: 2,
            disable_auto_compactions: true,
            compression: CompressionType::None,
            ..ColumnFamilyOptions::default()
        };
        let db = Db::open(&options, "/db").unwrap();
        for round in 0..2 {
            for key in 0..20_000u32 {
                let key = key.wrapping_mul(0x9e37_79b1);
                db.put(key.to_be_bytes(), [round; 100]).unwrap();
            }
            flush(&db);
        }
        // The flush of the close takes a second at this rate, the compaction more than a minute.
        limiter.set_bytes_per_second(30 << 10).unwrap();
        let unlogged = WriteOptions {
            disable_wal: true,
            ..WriteOptions::default()
        };
        let family = db.default_column_family();
        db.put_cf_opt(&family, [0; 4], b"1", &unlogged).unwrap();
        db.set_options(&family, &[("disable_auto_compactions", "false")])
            .unwrap();
        while !matches!(receive("an event", &heard), Event::CompactionBegun { .. }) {}
        let (done, ended) = channel();
        let (begin, begun) = channel();
        std::thread::scope(|scope| {
            let db = &db;
            let writes = scope.spawn(move || {
                begin.send(Task::current()).unwrap();
                db.put(b"stopped", b"")
            });
            receive("the writer", &begun).wait_until_asleep();
            assert!(!writes.is_finished());
            scope.spawn(move || done.send(end(db)).unwrap());
            receive("the end", &ended).unwrap();
            let error = writes.join().unwrap().unwrap_err();
            assert_eq!(error.kind(), esker::ErrorKind::ShutdownInProgress);
        });
        db.close().unwrap();
        let db = Db::open(&options, "/db").unwrap();
        assert_eq!(db.get(0u32.to_be_bytes()).unwrap().unwrap(), b"1");
    }
}

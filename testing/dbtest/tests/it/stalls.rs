//! Stalled writers and the reported causes; jobs that are slowed by a rate limiter.

mod rate_limits;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use base::sync::Mutex;
use dbtest::by_hand::flush;
use esker::{
    ColumnFamilyOptions, CompressionType, Db, Event, EventListener, Options, RateLimiter, RateLimiterMode,
    RateLimiterOptions, StallCause, StallCondition, SystemClock, WriteBufferManager, WriteOptions,
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
    // At 1 MiB a second, each period of 100 ms has a tenth of it: the writes take all of one period and begin
    // the third, and the first may be almost over. The event of the stall's end has the time.
    db.put_cf_opt(&family, b"b", value, &low).unwrap();
    db.put_cf_opt(&family, b"b", value, &low).unwrap();
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

/// A way to end a database.
type End = fn(&Db) -> esker::Result<()>;

const ENDS: [End; 2] = [Db::close, |db| db.cancel_all_background_work(true)];

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

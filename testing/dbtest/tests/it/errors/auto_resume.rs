//! Automatic recovery from background errors, driven by the clock of the options.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use dbtest::by_hand::flush;
use dbtest::events::{NoAutoRecovery, Recorder};
use dbtest::panicking::{Fuse, Site};
use esker::{Db, ErrorKind, Event, ManualClock, Options, Statistics, Ticker};
use vfs::{Action, FaultFs, FileSystem, MemFs, Op, Rule};

const DIR: &str = "db";

struct Bench {
    mem: MemFs,
    faults: FaultFs,
    clock: Arc<ManualClock>,
    events: Arc<Recorder>,
    options: Options,
}

impl Bench {
    fn new() -> Bench {
        let mem = MemFs::new();
        let faults = FaultFs::new(Arc::new(mem.clone()));
        let clock = Arc::new(ManualClock::default());
        let events = Recorder::events();
        let options = Options {
            create_if_missing: true,
            fs: Arc::new(faults.clone()),
            clock: clock.clone(),
            listeners: vec![events.clone()],
            statistics: Some(Statistics::new()),
            ..Options::default()
        };
        Bench {
            mem,
            faults,
            clock,
            events,
            options,
        }
    }

    fn open(&self) -> Db {
        Db::open(&self.options, DIR).unwrap()
    }

    /// Makes all operations of kind `op` fail on files whose paths end with `ending`.
    fn fail(&self, kind: ErrorKind, op: Op, ending: &str) -> vfs::RuleId {
        let rule = Rule::new(Action::Fail(kind)).on([op]);
        self.faults.add(rule.path_ends_with(ending))
    }

    /// The events of automatic recoveries, as text.
    fn recoveries(&self) -> Vec<String> {
        let of = |event: &Event| match event {
            Event::ErrorRecoveryBegun {
                background_error,
                automatic: true,
            } => Some(format!("begun {:?}", background_error.kind())),
            Event::ErrorRecoveryEnded {
                new_error,
                automatic: true,
                ..
            } => Some(format!("ended {:?}", new_error.as_ref().map(esker::Error::kind))),
            _ => None,
        };
        self.events.all().iter().filter_map(of).collect()
    }

    /// The number of reported errors after which writes continue.
    fn soft_errors(&self) -> usize {
        let is_soft = |event: &&Event| {
            matches!(
                event,
                Event::BackgroundError {
                    stops_writes: false,
                    ..
                }
            )
        };
        self.events.all().iter().filter(is_soft).count()
    }

    fn ticker(&self, ticker: Ticker) -> u64 {
        self.options.statistics.as_ref().unwrap().get_ticker_count(ticker)
    }

    /// Advances the clock, and waits until `done`.
    fn pass(&self, time: Duration, done: impl Fn() -> bool) {
        self.clock.advance(time);
        wait_until(done);
    }

    fn log(&self) -> String {
        let bytes = self.mem.read_file(&Path::new(DIR).join("LOG")).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Waits for a condition that another thread fulfils. The clock need not be advanced, because the recovery
/// thread checks it repeatedly.
fn wait_until(done: impl Fn() -> bool) {
    while !done() {
        std::thread::yield_now();
    }
}

fn failed(db: &Db) -> bool {
    db.property_int(&db.default_column_family(), "rocksdb.background-errors") == Some(1)
}

const SPACE: Duration = Duration::from_secs(5);

#[test]
fn a_disk_with_room_again_is_written_to_again() {
    let bench = Bench::new();
    let db = bench.open();
    db.put(b"a", [b'v'; 50_000]).unwrap();
    bench.mem.set_budget(bench.mem.used());
    db.flush().unwrap_err();
    assert!(failed(&db));
    wait_until(|| bench.recoveries() == ["begun NoSpace"]);
    // The recovery thread checks the clock repeatedly; it checks the disk only when an attempt is due.
    let attempts = || bench.ticker(Ticker::AutoresumeRetryTotalCount);
    let questions = bench
        .faults
        .add(Rule::new(Action::Call(Arc::new(|_, _| {}))).on([Op::FreeSpace]));
    let asked = |times: u64| bench.faults.fired(questions) >= times || attempts() > 0;
    bench.clock.advance(SPACE - Duration::from_micros(1));
    db.put(b"b", b"").unwrap_err();
    assert_eq!(bench.faults.fired(questions), 0);
    bench.pass(Duration::from_micros(1), || asked(1));
    assert_eq!(attempts(), 0, "there is no room, so nothing is tried");
    // There is some disk space now, but not enough for the memtable.
    bench.mem.set_budget(bench.mem.used() + 1000);
    bench.pass(SPACE, || asked(2));
    assert_eq!(attempts(), 0);
    assert!(failed(&db));
    bench.mem.set_budget(u64::MAX);
    bench.pass(SPACE, || !failed(&db));
    wait_until(|| bench.recoveries() == ["begun NoSpace", "ended None"]);
    assert_eq!(attempts(), 1);
    assert_eq!(bench.ticker(Ticker::AutoresumeCount), 1);
    assert_eq!(bench.ticker(Ticker::AutoresumeSuccessCount), 1);
    assert_eq!(db.live_files().len(), 1, "the memtable is flushed");
    db.put(b"b", b"").unwrap();
    db.close().unwrap();
    for line in [
        "ErrorHandler: Set regular background error, auto_recovery=1, stop=1",
        "bytes] is less than reserved disk buffer [",
        "Resuming DB",
        "Successfully resumed DB",
    ] {
        assert!(bench.log().contains(line), "{line}:\n{}", bench.log());
    }
}

/// After a failed attempt writes stay stopped, and another attempt is made.
#[test]
fn attempts_go_on_until_one_succeeds() {
    let bench = Bench::new();
    let db = bench.open();
    db.put(b"a", b"v").unwrap();
    let rule = bench.fail(ErrorKind::NoSpace, Op::Append, ".sst");
    db.flush().unwrap_err();
    wait_until(|| bench.recoveries().len() == 1);
    for attempt in 1..=10 {
        let fired = bench.faults.fired(rule);
        bench.pass(SPACE, || {
            bench.ticker(Ticker::AutoresumeRetryTotalCount) == attempt && bench.faults.fired(rule) > fired
        });
        assert!(failed(&db));
        assert_eq!(db.put(b"b", b"").unwrap_err().kind(), ErrorKind::ReadOnly);
        // `Db::resume` may be called during the automatic recovery.
        wait_until(|| db.resume().unwrap_err().kind() == ErrorKind::NoSpace);
    }
    bench.faults.clear_rules();
    bench.pass(SPACE, || !failed(&db));
    wait_until(|| bench.recoveries() == ["begun NoSpace", "ended None"]);
    // A second failure starts another automatic recovery, which `resume` may end.
    bench.fail(ErrorKind::NoSpace, Op::Append, ".sst");
    db.put(b"b", b"").unwrap();
    db.flush().unwrap_err();
    wait_until(|| bench.recoveries().len() == 3);
    bench.faults.clear_rules();
    db.resume().unwrap();
    wait_until(|| bench.recoveries().len() == 4);
    assert_eq!(bench.recoveries()[2..], ["begun NoSpace", "ended None"]);
    db.put(b"c", b"").unwrap();
}

#[test]
fn io_errors_are_tried_again_so_often_and_no_more() {
    for (count, op, file) in [
        (0, Op::Append, ".sst"),
        (1, Op::Sync, ".sst"),
        (3, Op::Create, ".log"),
    ] {
        let mut bench = Bench::new();
        bench.options.max_bgerror_resume_count = count;
        bench.options.bgerror_resume_retry_interval = 300;
        let db = bench.open();
        db.put(b"a", b"v").unwrap();
        bench.fail(ErrorKind::Io, op, file);
        db.flush().unwrap_err();
        for attempt in 1..=count {
            wait_until(|| bench.recoveries().len() == 1);
            let attempts = || bench.ticker(Ticker::AutoresumeRetryTotalCount);
            bench.pass(Duration::from_micros(300), || attempts() == attempt as u64);
        }
        match count {
            0 => wait_until(|| bench.log().contains("auto_recovery=0, stop=1")),
            _ => wait_until(|| bench.recoveries() == ["begun Io", "ended Some(Aborted)"]),
        }
        bench.faults.clear_rules();
        assert!(failed(&db));
        bench.clock.advance(Duration::from_secs(1000));
        assert_eq!(db.put(b"b", b"v").unwrap_err().kind(), ErrorKind::ReadOnly);
        db.resume().unwrap();
        db.put(b"b", b"v").unwrap();
    }
}

#[test]
fn an_io_error_that_is_over_is_resumed_from() {
    let bench = Bench::new();
    let db = bench.open();
    db.put(b"a", b"v").unwrap();
    bench.fail(ErrorKind::Io, Op::Sync, ".sst");
    db.flush().unwrap_err();
    wait_until(|| bench.recoveries() == ["begun Io"]);
    bench.faults.clear_rules();
    bench.pass(Duration::from_secs(1), || !failed(&db));
    wait_until(|| bench.recoveries() == ["begun Io", "ended None"]);
    assert_eq!(bench.ticker(Ticker::BgRetryableIoErrorCount), 1);
    db.put(b"b", b"v").unwrap();
    assert!(
        bench
            .log()
            .contains("ErrorHandler: Call StartRecoverFromRetryableBGIOError to resume")
    );
}

#[test]
fn a_listener_may_forbid_it() {
    let mut bench = Bench::new();
    bench.options.listeners.insert(0, Arc::new(NoAutoRecovery));
    let db = bench.open();
    db.put(b"a", b"v").unwrap();
    bench.fail(ErrorKind::NoSpace, Op::Append, ".sst");
    db.flush().unwrap_err();
    wait_until(|| bench.log().contains("auto_recovery=0, stop=1"));
    bench.faults.clear_rules();
    bench.clock.advance(Duration::from_secs(1000));
    assert_eq!(db.put(b"b", b"v").unwrap_err().kind(), ErrorKind::ReadOnly);
    assert_eq!(bench.recoveries(), Vec::<String>::new());
    db.resume().unwrap();
    db.put(b"b", b"v").unwrap();
}

/// After a failed sync of a WAL the contents of the disk are unknown, and corruption does not go away.
#[test]
fn what_is_not_known_is_never_resumed_from_by_itself() {
    type Cause = fn(&Bench, &Db);
    let causes: [(&str, Cause); 3] = [
        ("a sync", |bench, db| {
            bench.fail(ErrorKind::NoSpace, Op::Sync, ".log");
            db.sync_wal().unwrap_err();
        }),
        ("an append", |bench, db| {
            bench.fail(ErrorKind::Io, Op::Append, ".log");
            db.put(b"b", b"v").unwrap_err();
        }),
        ("damage", |bench, db| {
            bench.fail(ErrorKind::Corruption, Op::Append, ".sst");
            db.flush().unwrap_err();
        }),
    ];
    for (name, cause) in causes {
        let bench = Bench::new();
        let db = bench.open();
        db.put(b"a", b"v").unwrap();
        cause(&bench, &db);
        bench.faults.clear_rules();
        bench.clock.advance(Duration::from_secs(1000));
        assert_eq!(db.resume().unwrap_err().kind(), ErrorKind::ReadOnly, "{name}");
        // If the failure started an automatic recovery, it would have begun by now; the close wakes the
        // thread that drives recoveries.
        db.close().unwrap_or(());
        assert_eq!(bench.recoveries(), Vec::<String>::new(), "{name}");
    }
}

/// User code that panicked once may panic again, so only a caller may request that its job be repeated.
#[test]
fn a_panic_is_resumed_from_on_request_alone() {
    for site in [Site::Collect, Site::Event] {
        for on_request in [false, true] {
            let what = format!("{site:?}, {on_request}");
            let mut bench = Bench::new();
            bench.options.stats_dump_period_sec = 1;
            let fuse = Fuse::new();
            fuse.put_into_jobs(&mut bench.options.column_family);
            bench.options.listeners.push(fuse.listener(false));
            let db = bench.open();
            db.put(b"a", b"v").unwrap();
            fuse.light(site, 0);
            // A flush succeeds although its listener panics.
            assert!(db.flush().is_err() || site == Site::Event, "{what}");
            wait_until(|| failed(&db));
            assert_eq!(fuse.panics(), 1, "{what}");
            // The thread that begins recoveries writes the statistics just before. Its second round comes
            // after a whole first one.
            for round in 1..=2 {
                bench.pass(Duration::from_secs(1000), || {
                    bench.log().matches("DUMPING STATS").count() >= round
                });
            }
            assert_eq!(
                db.put(b"b", b"v").unwrap_err().kind(),
                ErrorKind::ReadOnly,
                "{what}"
            );
            if on_request {
                db.resume().unwrap();
                db.put(b"b", b"v").unwrap();
            }
            assert!(db.close().is_ok() || !on_request, "{what}");
            assert_eq!(bench.recoveries(), Vec::<String>::new(), "{what}");
        }
    }
}

/// A failure that cannot be resumed from ends a recovery in progress.
#[test]
fn a_worse_failure_ends_it() {
    let bench = Bench::new();
    let db = bench.open();
    db.put(b"a", b"v").unwrap();
    bench.fail(ErrorKind::NoSpace, Op::Append, ".sst");
    db.flush().unwrap_err();
    wait_until(|| bench.recoveries().len() == 1);
    bench.fail(ErrorKind::Io, Op::Sync, ".log");
    db.sync_wal().unwrap_err();
    bench.faults.clear_rules();
    let attempts = || bench.ticker(Ticker::AutoresumeRetryTotalCount);
    bench.pass(SPACE, || bench.recoveries().len() == 2 || attempts() > 0);
    assert_eq!(bench.recoveries(), ["begun NoSpace", "ended Some(NoSpace)"]);
    assert_eq!(db.resume().unwrap_err().kind(), ErrorKind::ReadOnly);
}

/// The clock does not advance during the close.
#[test]
fn a_close_does_not_wait_for_it() {
    let bench = Bench::new();
    let db = bench.open();
    db.put(b"a", b"v").unwrap();
    bench.fail(ErrorKind::NoSpace, Op::Append, ".sst");
    db.flush().unwrap_err();
    wait_until(|| bench.recoveries().len() == 1);
    db.close().unwrap();
    assert_eq!(
        bench.recoveries(),
        ["begun NoSpace", "ended Some(ShutdownInProgress)"]
    );
    drop(db);
    bench.faults.clear_rules();
    assert!(bench.open().get(b"a").unwrap().is_some());
}

/// Creates four tables in L0 whose compaction is due and fails for lack of space, and returns the rule for
/// that failure. Writes continue.
fn compaction_without_room(bench: &mut Bench) -> (Db, vfs::RuleId) {
    bench.options.column_family.level0_file_num_compaction_trigger = 4;
    bench.options.column_family.level0_slowdown_writes_trigger = 5;
    bench.options.column_family.level0_stop_writes_trigger = 6;
    let db = bench.open();
    let family = db.default_column_family();
    db.set_options(&family, &[("disable_auto_compactions", "true")])
        .unwrap();
    for _ in 0..4 {
        db.put(b"a", b"v").unwrap();
        flush(&db);
    }
    let rule = bench.fail(ErrorKind::NoSpace, Op::Append, ".sst");
    db.set_options(&family, &[("disable_auto_compactions", "false")])
        .unwrap();
    let has_failed = |event: &Event| matches!(event, Event::BackgroundError { .. });
    wait_until(|| bench.events.all().iter().any(has_failed));
    assert!(bench.soft_errors() > 0 && !failed(&db), "writes go on");
    (db, rule)
}

/// A compaction without space does not stop writes. No compaction begins until there is space on the disk,
/// and then one begins automatically.
#[test]
fn writes_go_on_after_a_compaction_that_had_no_room() {
    let mut bench = Bench::new();
    let (db, rule) = compaction_without_room(&mut bench);
    wait_until(|| bench.recoveries() == ["begun NoSpace"]);
    let fired = bench.faults.fired(rule);
    assert!(!failed(&db));
    db.put(b"b", b"v").unwrap();
    assert_eq!(db.wait_for_compact().unwrap_err().kind(), ErrorKind::NoSpace);
    assert_eq!(bench.faults.fired(rule), fired, "no compaction begins");
    // Flushes succeed if they have space.
    bench.faults.clear_rules();
    flush(&db);
    assert_eq!(db.live_files().len(), 5);
    bench.mem.set_budget(bench.mem.used() + 100);
    let questions = bench
        .faults
        .add(Rule::new(Action::Call(Arc::new(|_, _| {}))).on([Op::FreeSpace]));
    bench.pass(SPACE, || bench.faults.fired(questions) > 0);
    assert_eq!(
        bench.recoveries(),
        ["begun NoSpace"],
        "less room than the tables take"
    );
    bench.mem.set_budget(u64::MAX);
    bench.pass(SPACE, || bench.recoveries() == ["begun NoSpace", "ended None"]);
    db.wait_for_compact().unwrap();
    assert!(db.live_files().len() < 5, "it is compacted");
    assert_eq!(bench.soft_errors(), 1);
    assert!(db.get(b"b").unwrap().is_some());
    let log = bench.log();
    for line in [
        "Writes go on",
        "ErrorHandler: Set regular background error, auto_recovery=1, stop=0",
        "Successfully resumed DB",
    ] {
        assert!(log.contains(line), "{line}:\n{log}");
    }
}

/// Without automatic recovery, writes continue until they would wait for a compaction; then they fail until
/// `resume` is called.
#[test]
fn writes_wait_for_no_compaction_that_will_not_come() {
    let name = "writes_wait_for_no_compaction_that_will_not_come";
    let _watchdog = testkit::Watchdog::new(name, Duration::from_secs(60), String::new);
    let mut bench = Bench::new();
    bench.options.listeners.insert(0, Arc::new(NoAutoRecovery));
    let (db, _) = compaction_without_room(&mut bench);
    bench.faults.clear_rules();
    wait_until(|| bench.log().contains("auto_recovery=0, stop=0"));
    db.put(b"b", b"v").unwrap();
    flush(&db);
    db.put(b"c", b"v").unwrap();
    flush(&db);
    let error = db.put(b"d", b"v").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Incomplete, "{error}");
    bench.clock.advance(SPACE * 10);
    assert_eq!(db.put(b"d", b"v").unwrap_err().kind(), ErrorKind::Incomplete);
    assert!(!failed(&db));
    db.resume().unwrap();
    db.put(b"d", b"v").unwrap();
    db.wait_for_compact().unwrap();
    assert_eq!(bench.recoveries(), Vec::<String>::new());
}

/// A failure that stops writes replaces one that does not, and one recovery ends both.
#[test]
fn a_failure_that_stops_writes_is_recovered_from_with_the_other() {
    let mut bench = Bench::new();
    let (db, _) = compaction_without_room(&mut bench);
    wait_until(|| bench.recoveries() == ["begun NoSpace"]);
    db.put(b"b", b"v").unwrap();
    db.flush().unwrap_err();
    assert!(failed(&db));
    bench.faults.clear_rules();
    bench.pass(SPACE, || !failed(&db));
    wait_until(|| bench.recoveries() == ["begun NoSpace", "ended None"]);
    db.wait_for_compact().unwrap();
    db.put(b"c", b"v").unwrap();
    assert_eq!(bench.ticker(Ticker::AutoresumeSuccessCount), 1);
}

/// A manual and an automatic recovery at the same time run one after the other, with one outcome.
#[test]
fn by_hand_and_by_itself_at_once() {
    let bench = Bench::new();
    let db = bench.open();
    for round in 0..20u32 {
        db.put(round.to_be_bytes(), [b'v'; 100]).unwrap();
        let rule = bench.fail(ErrorKind::NoSpace, Op::Append, ".sst");
        db.flush().unwrap_err();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| while db.resume().is_err() {});
            }
            bench.clock.advance(SPACE);
            wait_until(|| bench.faults.fired(rule) > 3);
            bench.faults.clear_rules();
            bench.clock.advance(SPACE);
        });
        assert!(!failed(&db));
    }
    for round in 0..20u32 {
        assert!(db.get(round.to_be_bytes()).unwrap().is_some());
    }
    db.close().unwrap();
}

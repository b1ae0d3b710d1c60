//! Background threads that many databases share.

use std::sync::Arc;

use base::sync::Mutex;
use dbtest::events::Recorder;
use dbtest::gate::{Gate, GatedTables};
use esker::{ColumnFamilyOptions, Db, Event, FlushOptions, NullLogger, Options, ThreadPool, ThreadPriority};
use vfs::{FileSystem, MemFs};

fn options(pool: &ThreadPool, fs: Arc<dyn FileSystem>) -> Options {
    Options {
        create_if_missing: true,
        thread_pool: Some(pool.clone()),
        info_log: Some(Arc::new(NullLogger)),
        max_background_jobs: 1,
        fs,
        ..Options::default()
    }
}

fn flush(wait: bool) -> FlushOptions {
    FlushOptions {
        wait,
        ..FlushOptions::default()
    }
}

#[test]
fn a_thousand_databases_have_the_threads_of_one() {
    let pool = ThreadPool::new();
    let fs: Arc<dyn FileSystem> = Arc::new(MemFs::new());
    assert_eq!(pool.threads(), 0);
    let first = Db::open(&options(&pool, fs.clone()), "/db").unwrap();
    first.put(b"key", b"value").unwrap();
    first.flush_opt(&flush(true)).unwrap();
    let most = 3 * pool.background_threads(ThreadPriority::High);
    let databases: Vec<Db> = (0..1000)
        .map(|number| Db::open(&options(&pool, fs.clone()), format!("/db{number}")).unwrap())
        .collect();
    let threads = pool.threads();
    assert!((3..=most).contains(&threads), "{threads} threads, {most} at most");
    // No queue of the pool has a database, because no database has work.
    for priority in [ThreadPriority::Low, ThreadPriority::High] {
        testkit::wait_until("all have been looked at", || pool.queue_len(priority) == 0);
    }
    // A database with new work gets a thread.
    for db in databases.iter().step_by(50) {
        db.put(b"key", b"value").unwrap();
        db.flush_opt(&flush(false)).unwrap();
    }
    for db in databases.iter().step_by(50) {
        db.wait_for_compact().unwrap();
        assert_eq!(db.live_files().len(), 1);
    }
    assert!(pool.threads() <= most);
    drop(databases);
    first.close().unwrap();
    assert_eq!(pool.threads(), 0, "they end with the last database");
    // After all threads have ended, the next database starts new ones.
    let db = Db::open(&options(&pool, fs), "/db").unwrap();
    db.put(b"key", b"other").unwrap();
    db.flush_opt(&flush(true)).unwrap();
    assert!(pool.threads() > 0);
}

#[test]
fn a_busy_database_does_not_keep_others_from_their_turn() {
    let pool = ThreadPool::new();
    pool.set_background_threads(1, ThreadPriority::High);
    let gate = Gate::closed();
    let gated = GatedTables {
        fs: MemFs::new(),
        gate: gate.clone(),
    };
    // The families that are flushed, of all databases, in their order.
    let order = Recorder::of(|event| match event {
        Event::FlushBegun { family, .. } => Some(family.clone()),
        _ => None,
    });
    let mut options = options(&pool, Arc::new(gated));
    options.listeners = vec![order.clone()];
    let busy = Db::open(&options, "/busy").unwrap();
    let quiet = Db::open(&options, "/quiet").unwrap();
    let family = ColumnFamilyOptions::default();
    let mine = quiet.create_column_family("quiet", &family).unwrap();
    let families: Vec<_> = (0..20)
        .map(|number| {
            busy.create_column_family(&format!("busy{number}"), &family)
                .unwrap()
        })
        .collect();
    for family in families.iter().chain([&mine]) {
        let db = if family.name() == "quiet" { &quiet } else { &busy };
        db.put_cf(family, b"key", b"value").unwrap();
    }
    busy.flush_cf_opt(&families, &flush(false)).unwrap();
    gate.wait_for(1);
    quiet.flush_cf_opt(&[mine], &flush(false)).unwrap();
    gate.open();
    busy.wait_for_compact().unwrap();
    quiet.wait_for_compact().unwrap();
    let order = order.all();
    assert_eq!(order.len(), 21);
    let at = order.iter().position(|family| family == "quiet").unwrap();
    assert!(at <= 2, "it comes {at} others later: {order:?}");
}

#[test]
fn sizes_change_while_it_runs() {
    let pool = ThreadPool::new();
    let fs: Arc<dyn FileSystem> = Arc::new(MemFs::new());
    let db = Db::open(
        &Options {
            max_background_jobs: 40,
            ..options(&pool, fs)
        },
        "/db",
    )
    .unwrap();
    // A quarter of the threads run flushes, and the number of threads for compactions is not reduced by them.
    assert!(pool.background_threads(ThreadPriority::High) >= 10);
    assert!(pool.background_threads(ThreadPriority::Low) >= 30);
    let families: Vec<_> = (0..20)
        .map(|number| {
            db.create_column_family(&format!("family{number}"), &ColumnFamilyOptions::default())
                .unwrap()
        })
        .collect();
    for most in [8, 1, 4, 2] {
        pool.set_background_threads(most, ThreadPriority::High);
        pool.set_background_threads(most, ThreadPriority::Low);
        assert_eq!(pool.background_threads(ThreadPriority::High), most);
        for family in &families {
            db.put_cf(family, b"key", b"value").unwrap();
        }
        db.flush_cf_opt(&families, &flush(true)).unwrap();
        let housekeeping = 1;
        testkit::wait_until("those that are too many have ended", || {
            pool.threads() <= 2 * most + housekeeping + 3
        });
    }
    db.set_db_options(&[("max_background_jobs", "64")]).unwrap();
    assert_eq!(pool.background_threads(ThreadPriority::High), 16);
    assert_eq!(pool.background_threads(ThreadPriority::Low), 48);
}

#[test]
fn a_close_waits_for_its_own_jobs_and_for_no_others() {
    let pool = ThreadPool::new();
    pool.set_background_threads(2, ThreadPriority::High);
    let gate = Gate::closed();
    let gated = GatedTables {
        fs: MemFs::new(),
        gate: gate.clone(),
    };
    let late = Recorder::events();
    let held = Db::open(&options(&pool, Arc::new(gated)), "/held").unwrap();
    let other = Db::open(
        &Options {
            listeners: vec![late.clone()],
            ..options(&pool, Arc::new(MemFs::new()))
        },
        "/other",
    )
    .unwrap();
    held.put(b"key", b"value").unwrap();
    held.flush_opt(&flush(false)).unwrap();
    gate.wait_for(1);
    other.put(b"key", b"value").unwrap();
    other.flush_opt(&flush(false)).unwrap();
    // One flush of the other database is held, so it does not end while the first database is closed.
    other.close().unwrap();
    let heard = late.count();
    gate.open();
    held.close().unwrap();
    assert_eq!(late.count(), heard, "nothing is done for it once it is closed");
    assert_eq!(pool.threads(), 0);
}

#[test]
fn databases_share_the_threads_of_the_process() {
    let events = Recorder::events();
    let options = Options {
        thread_pool: None,
        listeners: vec![events],
        ..options(&ThreadPool::new(), Arc::new(MemFs::new()))
    };
    let db = Db::open(&options, "/db").unwrap();
    assert!(ThreadPool::of_process().threads() >= 3);
    db.put(b"key", b"value").unwrap();
    db.flush_opt(&flush(true)).unwrap();
    db.close().unwrap();
}

#[test]
fn threads_prepare_themselves_before_their_next_work() {
    let pool = ThreadPool::new();
    // The threads that begin flushes.
    let flushers = Recorder::of(|event| {
        let begins = matches!(event, Event::FlushBegun { .. });
        begins.then(|| std::thread::current().id())
    });
    let options = Options {
        listeners: vec![flushers.clone()],
        ..options(&pool, Arc::new(MemFs::new()))
    };
    let db = Db::open(&options, "/db").unwrap();
    let write = || {
        db.put(b"key", b"value").unwrap();
        db.flush_opt(&flush(true)).unwrap();
        flushers.take().pop().unwrap()
    };
    write();
    for round in 0..3 {
        let prepared = Arc::new(Mutex::new(Vec::new()));
        let record = prepared.clone();
        pool.prepare_threads(ThreadPriority::High, move || {
            record.lock().push(std::thread::current().id());
            // The thread of the pool continues to work after the panic of a job.
            assert!(round < 2, "a preparation that panics");
        });
        for flusher in [write(), write()] {
            let times = prepared.lock().iter().filter(|id| **id == flusher).count();
            assert_eq!(times, 1, "round {round}");
        }
    }
}

/// Two listeners of databases of three levels: a record of the threads of compactions into the last level, and
/// the gate at which these compactions wait. The gate is closed.
struct AtTheBottom {
    threads: Arc<Recorder<String>>,
    gate: Arc<Gate>,
}

impl AtTheBottom {
    fn new() -> AtTheBottom {
        AtTheBottom {
            threads: Recorder::of(|event| {
                let name = || std::thread::current().name().unwrap_or_default().to_owned();
                is_at_the_bottom(event).then(name)
            }),
            gate: Gate::closed(),
        }
    }
}

/// The number of levels of the databases with [`AtTheBottom`].
const LEVELS: i32 = 3;

fn is_at_the_bottom(event: &Event) -> bool {
    matches!(event, Event::CompactionBegun { output_level, .. } if *output_level as i32 == LEVELS - 1)
}

/// A database of three levels. Tables move down one by one, until they meet others in the last level.
fn three_levels(pool: &ThreadPool, bottom: &AtTheBottom) -> Options {
    let mut options = options(pool, Arc::new(MemFs::new()));
    options.listeners = vec![bottom.threads.clone(), bottom.gate.listener(is_at_the_bottom)];
    let family = &mut options.column_family;
    family.num_levels = LEVELS;
    family.level_compaction_dynamic_level_bytes = false;
    family.level0_file_num_compaction_trigger = 2;
    family.max_bytes_for_level_base = 1;
    family.max_bytes_for_level_multiplier = 1.0;
    family.streams_bypass_level0 = false;
    options
}

/// Writes a table of these keys.
fn table(db: &Db, keys: [&[u8]; 2]) {
    for key in keys {
        db.put(key, b"value").unwrap();
    }
    db.flush_opt(&flush(true)).unwrap();
}

/// Writes two tables over the same keys. The second meets the first in the last level.
fn two_tables(db: &Db, keys: [&[u8]; 2]) {
    table(db, keys);
    // The first table must be in the last level before the second table is written.
    db.wait_for_compact().unwrap();
    table(db, keys);
}

#[test]
fn compactions_into_the_last_level_have_threads_of_their_own() {
    let pool = ThreadPool::new();
    assert_eq!(pool.background_threads(ThreadPriority::Bottom), 0);
    let bottom = AtTheBottom::new();
    let db = Db::open(&three_levels(&pool, &bottom), "/db").unwrap();
    bottom.gate.open();
    two_tables(&db, [b"a", b"z"]);
    db.wait_for_compact().unwrap();
    let threads = bottom.threads.all();
    assert!(
        !threads.is_empty() && threads.iter().all(|name| name == "esker-compact"),
        "{threads:?}"
    );

    pool.set_background_threads(1, ThreadPriority::Bottom);
    let bottom = AtTheBottom::new();
    let other = Db::open(&three_levels(&pool, &bottom), "/db").unwrap();
    two_tables(&other, [b"a", b"z"]);
    // The thread for low priority runs other compactions while a compaction into the last level waits in the
    // bottom pool.
    testkit::wait_until("a compaction into the last level", || bottom.threads.count() > 0);
    table(&other, [b"0", b"9"]);
    table(&other, [b"0", b"9"]);
    testkit::wait_until("other tables leave L0", || {
        let mut files = other.live_files().into_iter();
        files.any(|file| file.smallest_key == b"0" && file.level > 0)
    });
    bottom.gate.open();
    other.wait_for_compact().unwrap();
    let threads = bottom.threads.all();
    assert!(threads.iter().all(|name| name == "esker-bottom"), "{threads:?}");
    assert_eq!(other.get(b"z").unwrap().unwrap(), b"value");
}

#[test]
fn a_compaction_that_was_handed_over_ends_with_its_database() {
    let pool = ThreadPool::new();
    pool.set_background_threads(1, ThreadPriority::Bottom);
    let bottom = AtTheBottom::new();
    let busy = Db::open(&three_levels(&pool, &bottom), "/busy").unwrap();
    two_tables(&busy, [b"a", b"z"]);
    testkit::wait_until("the only thread is busy", || bottom.threads.count() > 0);
    let waits = AtTheBottom::new();
    waits.gate.open();
    let db = Db::open(&three_levels(&pool, &waits), "/db").unwrap();
    two_tables(&db, [b"a", b"z"]);
    testkit::wait_until("a compaction is handed over", || {
        pool.queue_len(ThreadPriority::Bottom) > 0
    });
    assert_eq!(waits.threads.count(), 0);
    // Threads by which the pool is reduced end when their current work is done.
    pool.set_background_threads(0, ThreadPriority::Bottom);
    db.close().unwrap();
    bottom.gate.open();
    busy.wait_for_compact().unwrap();
    assert_eq!(busy.get(b"a").unwrap().unwrap(), b"value");
}

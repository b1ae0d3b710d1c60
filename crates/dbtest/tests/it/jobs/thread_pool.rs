//! Background threads that many databases share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

use base::Result;
use base::sync::Mutex;
use dbtest::events::Events;
use esker::{
    ColumnFamilyOptions, Db, Event, EventListener, FlushOptions, NullLogger, Options, ThreadPool,
    ThreadPriority,
};
use vfs::layer::{Call, Layer};
use vfs::{FileSystem, MemFs, Op};

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

/// A channel to report a place in the code, and one to wait for permission to continue.
type Ends = (mpsc::Sender<()>, mpsc::Receiver<()>);

/// Stops the thread that creates the first table until it is released.
#[derive(Clone, Debug)]
struct Gate {
    fs: MemFs,
    ends: Arc<Mutex<Option<Ends>>>,
}

impl Layer for Gate {
    fn below(&self) -> &dyn FileSystem {
        &self.fs
    }

    fn around<T>(&self, call: &Call<'_>, perform: impl FnOnce() -> Result<T>) -> Result<T> {
        if call.op == Op::Create && call.path.extension().is_some_and(|name| name == "sst") {
            let ends = self.ends.lock().take();
            if let Some((reached, leave)) = ends {
                reached.send(()).unwrap();
                leave.recv().unwrap();
            }
        }
        perform()
    }
}

/// Records the families that are flushed, of all databases, in their order.
#[derive(Default)]
struct Order(Mutex<Vec<String>>);

impl EventListener for Order {
    fn on_event(&self, event: &Event) {
        if let Event::FlushBegun { family, .. } = event {
            self.0.lock().push(family.clone());
        }
    }
}

#[test]
fn a_busy_database_does_not_keep_others_from_their_turn() {
    let pool = ThreadPool::new();
    pool.set_background_threads(1, ThreadPriority::High);
    let (reached, reaches) = mpsc::channel();
    let (leave, leaves) = mpsc::channel();
    let gate = Gate {
        fs: MemFs::new(),
        ends: Arc::new(Mutex::new(Some((reached, leaves)))),
    };
    let order = Arc::new(Order::default());
    let mut options = options(&pool, Arc::new(gate));
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
    reaches.recv().unwrap();
    quiet.flush_cf_opt(&[mine], &flush(false)).unwrap();
    leave.send(()).unwrap();
    busy.wait_for_compact().unwrap();
    quiet.wait_for_compact().unwrap();
    let order = order.0.lock().clone();
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

/// A listener that counts events once it is activated.
#[derive(Default)]
struct Late(AtomicU64);

impl EventListener for Late {
    fn on_event(&self, _: &Event) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_close_waits_for_its_own_jobs_and_for_no_others() {
    let pool = ThreadPool::new();
    pool.set_background_threads(2, ThreadPriority::High);
    let (reached, reaches) = mpsc::channel();
    let (leave, leaves) = mpsc::channel();
    let gate = Gate {
        fs: MemFs::new(),
        ends: Arc::new(Mutex::new(Some((reached, leaves)))),
    };
    let late = Arc::new(Late::default());
    let held = Db::open(&options(&pool, Arc::new(gate)), "/held").unwrap();
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
    reaches.recv().unwrap();
    other.put(b"key", b"value").unwrap();
    other.flush_opt(&flush(false)).unwrap();
    // One flush of the other database is held, so it does not end while the first database is closed.
    other.close().unwrap();
    let heard = late.0.load(Ordering::SeqCst);
    leave.send(()).unwrap();
    held.close().unwrap();
    assert_eq!(
        late.0.load(Ordering::SeqCst),
        heard,
        "nothing is done for it once it is closed"
    );
    assert_eq!(pool.threads(), 0);
}

#[test]
fn databases_share_the_threads_of_the_process() {
    let events = Arc::new(Events::default());
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

/// Records the threads that begin flushes.
#[derive(Default)]
struct Flushers(Mutex<Vec<std::thread::ThreadId>>);

impl EventListener for Flushers {
    fn on_event(&self, event: &Event) {
        if let Event::FlushBegun { .. } = event {
            self.0.lock().push(std::thread::current().id());
        }
    }
}

#[test]
fn threads_prepare_themselves_before_their_next_work() {
    let pool = ThreadPool::new();
    let flushers = Arc::new(Flushers::default());
    let options = Options {
        listeners: vec![flushers.clone()],
        ..options(&pool, Arc::new(MemFs::new()))
    };
    let db = Db::open(&options, "/db").unwrap();
    let write = || {
        db.put(b"key", b"value").unwrap();
        db.flush_opt(&flush(true)).unwrap();
        flushers.0.lock().pop().unwrap()
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

/// Notes the threads of compactions into the last level. The first of them waits at the gate.
struct AtTheBottom {
    begun: Mutex<Vec<String>>,
    last: usize,
    gate: Mutex<Option<mpsc::Receiver<()>>>,
}

impl AtTheBottom {
    /// Creates a listener of databases with `levels` levels, and the sender of a message for which the first
    /// compaction into the last level waits.
    fn of(levels: usize) -> (Arc<AtTheBottom>, mpsc::Sender<()>) {
        let (open, gate) = mpsc::channel();
        let listener = AtTheBottom {
            begun: Mutex::default(),
            last: levels - 1,
            gate: Mutex::new(Some(gate)),
        };
        (Arc::new(listener), open)
    }

    /// The threads that ran compactions into the last level.
    fn threads(&self) -> Vec<String> {
        self.begun.lock().clone()
    }
}

impl EventListener for AtTheBottom {
    fn on_event(&self, event: &Event) {
        let &Event::CompactionBegun { output_level, .. } = event else {
            return;
        };
        if output_level < self.last {
            return;
        }
        let name = std::thread::current().name().unwrap_or_default().to_owned();
        self.begun.lock().push(name);
        let gate = self.gate.lock().take();
        if let Some(gate) = gate {
            testkit::receive("the gate to open", &gate);
        }
    }
}

/// A database of three levels. Tables move down one by one, until they meet others in the last level.
fn three_levels(pool: &ThreadPool, listener: Arc<AtTheBottom>) -> Options {
    let mut options = options(pool, Arc::new(MemFs::new()));
    options.listeners = vec![listener];
    let family = &mut options.column_family;
    family.num_levels = 3;
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
    let (listener, open) = AtTheBottom::of(3);
    let db = Db::open(&three_levels(&pool, listener.clone()), "/db").unwrap();
    open.send(()).unwrap();
    two_tables(&db, [b"a", b"z"]);
    db.wait_for_compact().unwrap();
    let threads = listener.threads();
    assert!(
        !threads.is_empty() && threads.iter().all(|name| name == "esker-compact"),
        "{threads:?}"
    );

    pool.set_background_threads(1, ThreadPriority::Bottom);
    let (listener, open) = AtTheBottom::of(3);
    let other = Db::open(&three_levels(&pool, listener.clone()), "/db").unwrap();
    two_tables(&other, [b"a", b"z"]);
    // The thread for low priority runs other compactions while a compaction into the last level waits in the
    // bottom pool.
    testkit::wait_until("a compaction into the last level", || {
        !listener.threads().is_empty()
    });
    table(&other, [b"0", b"9"]);
    table(&other, [b"0", b"9"]);
    testkit::wait_until("other tables leave L0", || {
        let mut files = other.live_files().into_iter();
        files.any(|file| file.smallest_key == b"0" && file.level > 0)
    });
    open.send(()).unwrap();
    other.wait_for_compact().unwrap();
    let threads = listener.threads();
    assert!(threads.iter().all(|name| name == "esker-bottom"), "{threads:?}");
    assert_eq!(other.get(b"z").unwrap().unwrap(), b"value");
}

#[test]
fn a_compaction_that_was_handed_over_ends_with_its_database() {
    let pool = ThreadPool::new();
    pool.set_background_threads(1, ThreadPriority::Bottom);
    let (listener, open) = AtTheBottom::of(3);
    let busy = Db::open(&three_levels(&pool, listener.clone()), "/busy").unwrap();
    two_tables(&busy, [b"a", b"z"]);
    testkit::wait_until("the only thread is busy", || !listener.threads().is_empty());
    let (waits, at_once) = AtTheBottom::of(3);
    at_once.send(()).unwrap();
    let db = Db::open(&three_levels(&pool, waits.clone()), "/db").unwrap();
    two_tables(&db, [b"a", b"z"]);
    testkit::wait_until("a compaction is handed over", || {
        pool.queue_len(ThreadPriority::Bottom) > 0
    });
    assert!(waits.threads().is_empty());
    // Threads by which the pool is reduced end when their current work is done.
    pool.set_background_threads(0, ThreadPriority::Bottom);
    db.close().unwrap();
    open.send(()).unwrap();
    busy.wait_for_compact().unwrap();
    assert_eq!(busy.get(b"a").unwrap().unwrap(), b"value");
}

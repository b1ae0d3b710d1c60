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
    first.flush(&flush(true)).unwrap();
    let most = 3 * pool.background_threads(ThreadPriority::High);
    let databases: Vec<Db> = (0..1000)
        .map(|number| Db::open(&options(&pool, fs.clone()), format!("/db{number}")).unwrap())
        .collect();
    let threads = pool.threads();
    assert!((3..=most).contains(&threads), "{threads} threads, {most} at most");
    // The databases are in no queue of the pool: there is no work for them.
    for priority in [ThreadPriority::Low, ThreadPriority::High] {
        testkit::wait_until("all have been looked at", || pool.queue_len(priority) == 0);
    }
    // A database with new work gets a thread.
    for db in databases.iter().step_by(50) {
        db.put(b"key", b"value").unwrap();
        db.flush(&flush(false)).unwrap();
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
    db.flush(&flush(true)).unwrap();
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
        db.put_opt(&esker::WriteOptions::default(), family, b"key", b"value")
            .unwrap();
    }
    busy.flush_cf(&flush(false), &families).unwrap();
    reaches.recv().unwrap();
    quiet.flush_cf(&flush(false), &[mine]).unwrap();
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
            db.put_opt(&esker::WriteOptions::default(), family, b"key", b"value")
                .unwrap();
        }
        db.flush_cf(&flush(true), &families).unwrap();
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
    held.flush(&flush(false)).unwrap();
    reaches.recv().unwrap();
    other.put(b"key", b"value").unwrap();
    other.flush(&flush(false)).unwrap();
    // One flush of the other database is held and does not end during the close.
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
    db.flush(&flush(true)).unwrap();
    db.close().unwrap();
}

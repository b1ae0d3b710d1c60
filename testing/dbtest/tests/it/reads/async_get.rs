//! Gets as futures: ready at once from memory, otherwise completed by threads of the pool.

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use base::merge::MergeOperator;
use dbtest::gate::{Gate, OpensOnDrop};
use esker::{
    ColumnFamilyOptions, Db, ErrorKind, NullLogger, Options, ReadFuture, ReadOptions, ThreadPool,
    ThreadPriority,
};
use vfs::layer::{Call, Layer};
use vfs::{FileSystem, MemFs, Op};

/// A file system in memory whose reads of tables are counted and wait at a gate.
#[derive(Clone, Debug, Default)]
struct GatedReads {
    fs: MemFs,
    gate: Arc<Gate>,
    reads: Arc<AtomicUsize>,
}

impl Layer for GatedReads {
    fn below(&self) -> &dyn FileSystem {
        &self.fs
    }

    fn around<T>(&self, call: &Call<'_>, perform: impl FnOnce() -> base::Result<T>) -> base::Result<T> {
        if call.op == Op::Read && call.path.extension().is_some_and(|end| end == "sst") {
            self.reads.fetch_add(1, Ordering::Relaxed);
            self.gate.pass();
        }
        perform()
    }
}

/// The waker of a task on the current thread, and the number of its calls.
struct Woken {
    thread: Thread,
    count: AtomicUsize,
}

impl Woken {
    fn new() -> Arc<Woken> {
        Arc::new(Woken {
            thread: std::thread::current(),
            count: AtomicUsize::new(0),
        })
    }

    fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.count.fetch_add(1, Ordering::Release);
        self.thread.unpark();
    }
}

fn poll<T>(future: &mut ReadFuture<T>, waker: &Waker) -> Poll<T> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}

/// The output of a future that is ready without a wait.
#[track_caller]
fn at_once<T>(mut future: ReadFuture<T>) -> T {
    match poll(&mut future, Waker::noop()) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the future waits"),
    }
}

fn block_on<T>(mut future: ReadFuture<T>) -> T {
    let waker = Waker::from(Woken::new());
    loop {
        match poll(&mut future, &waker) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// The last operand, or a panic.
struct Last;

impl MergeOperator for Last {
    fn name(&self) -> &str {
        "last"
    }

    fn full_merge(&self, _: &[u8], _: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        let last = operands.last()?;
        assert_ne!(last, b"panic", "the operand panics");
        Some(last.to_vec())
    }
}

const KEYS: usize = 10_000;

fn key(number: usize) -> Vec<u8> {
    format!("key{number:05}").into_bytes()
}

/// A database with all keys in tables of which nothing is cached, over a pool of its own.
fn open(fs: &GatedReads, pool: &ThreadPool) -> Db {
    let options = Options {
        create_if_missing: true,
        thread_pool: Some(pool.clone()),
        info_log: Some(Arc::new(NullLogger)),
        fs: Arc::new(fs.clone()),
        column_family: ColumnFamilyOptions {
            merge_operator: Some(Arc::new(Last)),
            ..ColumnFamilyOptions::default()
        },
        ..Options::default()
    };
    if !fs.fs.exists(Path::new("/db/CURRENT")).unwrap() {
        let db = Db::open(&options, "/db").unwrap();
        for number in 0..KEYS {
            db.put(key(number), number.to_string()).unwrap();
        }
        db.merge(b"merged", b"value").unwrap();
        db.merge(b"panics", b"panic").unwrap();
        db.put(b"deleted", b"value").unwrap();
        db.flush().unwrap();
        db.delete(b"deleted").unwrap();
        db.flush().unwrap();
        db.close().unwrap();
    }
    Db::open(&options, "/db").unwrap()
}

/// Options of reads that leave nothing in the cache.
fn uncached() -> ReadOptions {
    ReadOptions {
        fill_cache: false,
        ..ReadOptions::default()
    }
}

fn get(db: &Db, key: &[u8]) -> ReadFuture<esker::Result<Option<esker::PinnedValue>>> {
    db.get_async_cf_opt(&db.default_column_family(), key, &uncached())
}

#[test]
fn a_future_is_ready_at_once_if_memory_suffices_and_no_thread_is_started() {
    let (fs, pool) = (GatedReads::default(), ThreadPool::new());
    let db = open(&fs, &pool);
    db.put(b"new", b"1").unwrap();
    // The filters and the indexes are in memory after the first read.
    assert!(db.get(key(0)).unwrap().is_some());
    let threads = pool.threads();
    let value = |key: &[u8]| {
        at_once(db.get_async(key))
            .unwrap()
            .map(esker::PinnedValue::into_vec)
    };
    assert_eq!(value(b"new"), Some(b"1".to_vec()));
    assert_eq!(value(&key(0)), Some(b"0".to_vec()), "its block is cached");
    let found = at_once(db.multi_get_async(&[b"new".to_vec(), key(0)]));
    assert!(found.into_iter().all(|value| value.unwrap().is_some()));
    assert_eq!(pool.threads(), threads);
    let memory = ReadOptions {
        read_tier: esker::ReadTier::BlockCache,
        ..ReadOptions::default()
    };
    let asked = db.get_async_cf_opt(&db.default_column_family(), key(KEYS - 1), &memory);
    assert_eq!(at_once(asked).unwrap_err().kind(), ErrorKind::Incomplete);
    assert_eq!(
        pool.threads(),
        threads,
        "a read of memory alone never reads files"
    );
}

#[test]
fn ten_thousand_reads_at_once_are_done_by_a_few_threads() {
    let (fs, pool) = (GatedReads::default(), ThreadPool::new());
    let db = open(&fs, &pool);
    pool.set_background_threads(3, ThreadPriority::Read);
    let before = pool.threads();
    let futures: Vec<_> = (0..KEYS).map(|number| get(&db, &key(number))).collect();
    for (number, future) in futures.into_iter().enumerate() {
        let value = block_on(future).unwrap().expect("the key is there");
        assert_eq!(value.as_ref(), number.to_string().as_bytes());
    }
    let started = pool.threads() - before;
    assert!((1..=3).contains(&started), "{started}");
    for (key, expected) in [
        (&b"merged"[..], Some(&b"value"[..])),
        (b"deleted", None),
        (b"none", None),
    ] {
        assert_eq!(block_on(get(&db, key)).unwrap().as_deref(), expected);
    }
    let panicked = block_on(get(&db, b"panics")).unwrap_err();
    assert_eq!(panicked.kind(), ErrorKind::Panicked);
    let keys: Vec<Vec<u8>> = [3, 9000, 5]
        .map(key)
        .into_iter()
        .chain([b"none".to_vec()])
        .collect();
    let read = db.multi_get_async_cf_opt(&db.default_column_family(), &keys, &uncached());
    let values: Vec<_> = block_on(read)
        .into_iter()
        .map(|value| value.unwrap().map(esker::PinnedValue::into_vec))
        .collect();
    let expected = [
        Some(b"3".to_vec()),
        Some(b"9000".to_vec()),
        Some(b"5".to_vec()),
        None,
    ];
    assert_eq!(values, expected);
}

#[test]
fn the_waker_of_the_last_poll_is_woken() {
    let (fs, pool) = (GatedReads::default(), ThreadPool::new());
    let db = open(&fs, &pool);
    fs.gate.close();
    let _open = OpensOnDrop(fs.gate.clone());
    let mut future = get(&db, &key(7));
    let (first, second) = (Woken::new(), Woken::new());
    for woken in [&first, &second] {
        assert!(poll(&mut future, &Waker::from(woken.clone())).is_pending());
    }
    fs.gate.open();
    testkit::wait_until("the task is woken", || second.count() > 0);
    assert_eq!(first.count(), 0);
    assert!(poll(&mut future, Waker::noop()).is_ready());
}

#[test]
fn a_dropped_future_is_not_read() {
    let (fs, pool) = (GatedReads::default(), ThreadPool::new());
    let db = open(&fs, &pool);
    pool.set_background_threads(1, ThreadPriority::Read);
    // The tables are open afterwards, and each read of a row is one of the file.
    block_on(get(&db, &key(0))).unwrap();
    fs.gate.close();
    let _open = OpensOnDrop(fs.gate.clone());
    let mut futures: Vec<_> = (0..100).map(|number| get(&db, &key(number * 100))).collect();
    fs.gate.wait_for(1);
    let before = fs.reads.load(Ordering::Relaxed);
    // The first is being read. Every second one of the others goes.
    let mut at = 0;
    futures.retain(|_| {
        at += 1;
        at % 2 == 1
    });
    fs.gate.open();
    let kept = futures.len();
    for future in futures {
        assert!(block_on(future).unwrap().is_some());
    }
    assert_eq!(fs.reads.load(Ordering::Relaxed) - before, kept - 1);
}

#[test]
fn a_close_wakes_those_that_wait() {
    let (fs, pool) = (GatedReads::default(), ThreadPool::new());
    let db = open(&fs, &pool);
    pool.set_background_threads(1, ThreadPriority::Read);
    fs.gate.close();
    let open_at_end = OpensOnDrop(fs.gate.clone());
    let first = get(&db, &key(0));
    fs.gate.wait_for(1);
    let waiting: Vec<_> = (1..50).map(|number| get(&db, &key(number))).collect();
    std::thread::scope(|scope| {
        let closer = scope.spawn(|| db.close());
        for future in waiting {
            assert_eq!(
                block_on(future).unwrap_err().kind(),
                ErrorKind::ShutdownInProgress
            );
        }
        drop(open_at_end);
        assert!(block_on(first).unwrap().is_some(), "it had begun before");
        closer.join().unwrap().unwrap();
    });
    let later = at_once(get(&db, &key(0))).unwrap_err();
    assert_eq!(later.kind(), ErrorKind::ShutdownInProgress);
    assert_eq!(pool.threads(), 0);
}

/// The snapshot of a read may be the last to hold its database, which then closes on the reading thread.
#[test]
fn a_database_may_close_on_a_reading_thread() {
    let (fs, pool) = (GatedReads::default(), ThreadPool::new());
    let db = open(&fs, &pool);
    fs.gate.close();
    let _open = OpensOnDrop(fs.gate.clone());
    let options = ReadOptions {
        snapshot: Some(db.snapshot()),
        ..uncached()
    };
    let future = db.get_async_cf_opt(&db.default_column_family(), key(5), &options);
    fs.gate.wait_for(1);
    drop((options, future, db));
    fs.gate.open();
    testkit::wait_until("the directory is free", || {
        let options = Options {
            fs: Arc::new(fs.clone()),
            thread_pool: Some(pool.clone()),
            column_family: ColumnFamilyOptions {
                merge_operator: Some(Arc::new(Last)),
                ..ColumnFamilyOptions::default()
            },
            ..Options::default()
        };
        Db::open(&options, "/db").is_ok()
    });
}

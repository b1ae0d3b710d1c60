//! Gets for tasks of an executor: a future that is ready at once if the row is in memory or in the cache, and
//! is otherwise completed by a thread of the pool.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use base::sync::Mutex;
use base::user_code::{catch, catch_or_fail};
use base::{ErrorKind, Result, sync};

use crate::files::pinned_value::PinnedValue;
use crate::options::ReadTier;
use crate::options::thread_pool::ThreadPool;
use crate::read::get::Answer;
use crate::state::async_reads::WaitingRead;
use crate::state::column_family::{ColumnFamily, Family};
use crate::state::db_inner::DbInner;
use crate::state::error_state::closing;
use crate::state::handle::Db;
use crate::state::read_options::ReadOptions;

/// The value of a key, or `None`.
type Found = Result<Option<PinnedValue>>;

impl Db {
    /// The value of `key` in the default family, or `None`, as a future; see
    /// [`get_async_cf_opt`](Db::get_async_cf_opt).
    pub fn get_async(&self, key: impl AsRef<[u8]>) -> ReadFuture<Result<Option<PinnedValue>>> {
        self.get_async_cf(&self.default_column_family(), key)
    }

    /// The value of `key` in `family`, or `None`, as a future; see
    /// [`get_async_cf_opt`](Db::get_async_cf_opt).
    pub fn get_async_cf(
        &self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
    ) -> ReadFuture<Result<Option<PinnedValue>>> {
        self.get_async_cf_opt(family, key, &ReadOptions::default())
    }

    /// The value of `key` in `family`, read as `options` say, or `None`, as a future for any executor.
    ///
    /// The call itself reads memtables and cached blocks. If they suffice, the future is ready at once, and
    /// the call costs as much as [`get_pinned_cf_opt`](Db::get_pinned_cf_opt). Otherwise one of a few threads
    /// ([`ThreadPriority::Read`](crate::ThreadPriority::Read)) reads the row and wakes the task; the read
    /// begins with the call, whether or not the future is polled, and shows a state of the database between
    /// the call and its end. The first such read starts the threads. Its lookups are counted twice in
    /// statistics: in the cache, and with the file.
    ///
    /// Dropping the future cancels a read that has not begun. The future keeps the database open. After
    /// [`close`](Db::close) waiting reads fail with `ShutdownInProgress`.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// use esker::{Db, Options};
    /// use std::pin::pin;
    /// use std::sync::Arc;
    /// use std::task::{Context, Poll, Wake};
    ///
    /// /// An executor of one task: it sleeps until the task is woken.
    /// struct Thread(std::thread::Thread);
    ///
    /// impl Wake for Thread {
    ///     fn wake(self: Arc<Self>) {
    ///         self.0.unpark();
    ///     }
    /// }
    ///
    /// fn block_on<F: Future>(future: F) -> F::Output {
    ///     let waker = Arc::new(Thread(std::thread::current())).into();
    ///     let mut future = pin!(future);
    ///     loop {
    ///         match future.as_mut().poll(&mut Context::from_waker(&waker)) {
    ///             Poll::Ready(output) => return output,
    ///             Poll::Pending => std::thread::park(),
    ///         }
    ///     }
    /// }
    ///
    /// let db = Db::open(&Options { create_if_missing: true, ..Default::default() }, dir.path())?;
    /// db.put(b"key", b"value")?;
    /// let value = block_on(async { db.get_async(b"key").await })?;
    /// assert_eq!(value.as_deref(), Some(&b"value"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`get_pinned_cf_opt`](Db::get_pinned_cf_opt). A panic of a comparator or a merge
    /// operator on a thread of the pool is an error of kind [`Panicked`](ErrorKind::Panicked).
    pub fn get_async_cf_opt(
        &self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        options: &ReadOptions,
    ) -> ReadFuture<Result<Option<PinnedValue>>> {
        let key = key.as_ref();
        match self.get_pinned_cf_opt(family, key, &from_memory(options)) {
            Err(error) if is_to_be_read(&error, options) => {}
            found => return ReadFuture::ready(found),
        }
        let (family, key, options) = (family.0.clone(), key.to_vec(), options.clone());
        self.read_later(move |db| {
            let db = db.ok_or_else(closing)?;
            catch_or_fail(|| db.get_once_more(&options, &family, &key))
        })
    }

    /// The values of `keys` in the default family, as a future; see
    /// [`multi_get_async_cf_opt`](Db::multi_get_async_cf_opt).
    pub fn multi_get_async<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
    ) -> ReadFuture<Vec<Result<Option<PinnedValue>>>> {
        self.multi_get_async_cf(&self.default_column_family(), keys)
    }

    /// The values of `keys` in `family`, as a future; see
    /// [`multi_get_async_cf_opt`](Db::multi_get_async_cf_opt).
    pub fn multi_get_async_cf<K: AsRef<[u8]>>(
        &self,
        family: &ColumnFamily,
        keys: &[K],
    ) -> ReadFuture<Vec<Result<Option<PinnedValue>>>> {
        self.multi_get_async_cf_opt(family, keys, &ReadOptions::default())
    }

    /// The values of `keys` in `family` at one moment, read as `options` say, as a future that behaves as
    /// that of [`get_async_cf_opt`](Db::get_async_cf_opt). If one row is not in memory, a thread reads all of
    /// them again.
    pub fn multi_get_async_cf_opt<K: AsRef<[u8]>>(
        &self,
        family: &ColumnFamily,
        keys: &[K],
        options: &ReadOptions,
    ) -> ReadFuture<Vec<Result<Option<PinnedValue>>>> {
        let found = self.multi_get_pinned_cf_opt(family, keys, &from_memory(options));
        let is_missing = |found: &Found| matches!(found, Err(error) if is_to_be_read(error, options));
        if !found.iter().any(is_missing) {
            return ReadFuture::ready(found);
        }
        drop(found);
        let keys: Vec<Vec<u8>> = keys.iter().map(|key| key.as_ref().to_vec()).collect();
        let (family, options) = (family.clone(), options.clone());
        self.read_later(move |db| {
            let read = match db {
                Some(db) => catch(|| db.multi_get_now(&options, &family, &keys, Answer::DeferredBlob)),
                None => Err(closing()),
            };
            read.unwrap_or_else(|error| keys.iter().map(|_| Err(error.clone())).collect())
        })
    }

    /// Has a thread of the pool call `read`, with `None` if the database was closed before.
    fn read_later<T: Send + 'static>(
        &self,
        read: impl FnOnce(Option<&DbInner>) -> T + Send + 'static,
    ) -> ReadFuture<T> {
        let inner = &self.0.inner;
        let read = Arc::new(LaterRead {
            db: inner.clone(),
            slot: Mutex::new(Slot {
                read: Some(Box::new(read)),
                waker: None,
                output: None,
            }),
        });
        let pool = || {
            let pool = inner.options.thread_pool.clone();
            pool.unwrap_or_else(|| ThreadPool::default_of(&inner.options.clock))
        };
        inner.async_reads.add(read.clone(), pool);
        ReadFuture(State::Waiting {
            read,
            _open: self.clone(),
        })
    }
}

fn from_memory(options: &ReadOptions) -> ReadOptions {
    let mut options = options.clone();
    if options.read_tier == ReadTier::All {
        options.read_tier = ReadTier::BlockCache;
    }
    options
}

fn is_to_be_read(error: &base::Error, options: &ReadOptions) -> bool {
    error.kind() == ErrorKind::Incomplete && options.read_tier == ReadTier::All
}

impl DbInner {
    /// Reads a row that a Get has not found in memory. The call was traced and counted then.
    fn get_once_more(&self, options: &ReadOptions, family: &Arc<Family>, key: &[u8]) -> Found {
        let _charged = self.charged_reads(options);
        let super_version = family.super_version_of(options.snapshot.as_ref());
        sync::point("super version");
        if super_version.is_closed() {
            return Err(closing());
        }
        let seqno = self.read_seqno(&super_version, options);
        sync::point("read");
        self.get_from::<false>(&super_version, seqno, options, family, key)
    }
}

/// A read in progress: the future of [`Db::get_async`] and its like.
pub struct ReadFuture<T>(State<T>);

enum State<T> {
    /// The output, until the future returns it.
    Ready(Option<T>),
    Waiting {
        read: Arc<LaterRead<T>>,
        _open: Db,
    },
}

/// A read that a thread of the pool performs.
struct LaterRead<T> {
    /// Not a handle: a thread of the pool must not be the last to hold the database open.
    db: Arc<DbInner>,
    slot: Mutex<Slot<T>>,
}

type ReadFn<T> = Box<dyn FnOnce(Option<&DbInner>) -> T + Send>;

struct Slot<T> {
    /// The read, until it begins or is cancelled.
    read: Option<ReadFn<T>>,
    /// The waker of the last poll.
    waker: Option<Waker>,
    output: Option<T>,
}

impl<T> ReadFuture<T> {
    fn ready(output: T) -> ReadFuture<T> {
        ReadFuture(State::Ready(Some(output)))
    }
}

impl<T> LaterRead<T> {
    fn perform(&self, db: Option<&DbInner>) {
        let read = self.slot.lock().read.take();
        let Some(read) = read else {
            return;
        };
        let output = read(db);
        let waker = {
            let mut slot = self.slot.lock();
            slot.output = Some(output);
            slot.waker.take()
        };
        // A panic of the executor must not end a thread that other databases need.
        drop(catch(|| waker.map(Waker::wake)));
    }
}

impl<T: Send> WaitingRead for LaterRead<T> {
    fn run(&self) {
        self.perform(Some(&self.db));
    }

    fn fail(&self) {
        self.perform(None);
    }
}

// No field is pinned.
impl<T> Unpin for ReadFuture<T> {}

impl<T> Future for ReadFuture<T> {
    type Output = T;

    /// # Panics
    /// Panics if the output was returned before.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let output = match &mut self.0 {
            State::Ready(output) => output.take().expect("the future is polled after its end"),
            State::Waiting { read, .. } => {
                let mut slot = read.slot.lock();
                let Some(output) = slot.output.take() else {
                    let before = slot.waker.replace(context.waker().clone());
                    drop(slot);
                    drop(before);
                    return Poll::Pending;
                };
                output
            }
        };
        self.0.end();
        Poll::Ready(output)
    }
}

impl<T> State<T> {
    fn end(&mut self) {
        *self = State::Ready(None);
    }
}

impl<T> Drop for ReadFuture<T> {
    fn drop(&mut self) {
        if let State::Waiting { read, .. } = &self.0 {
            let mut slot = read.slot.lock();
            let (read, waker) = (slot.read.take(), slot.waker.take());
            drop(slot);
            drop((read, waker));
        }
    }
}

impl<T> fmt::Debug for ReadFuture<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.0 {
            State::Ready(Some(_)) => "ready",
            State::Ready(None) => "ended",
            State::Waiting { .. } => "waiting",
        };
        write!(f, "ReadFuture({state})")
    }
}

//! One memory limit for the memtables of several databases.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use arc_swap::ArcSwap;
use base::sync::{Condvar, Mutex};
use cache::EntryRole;
use sst::{BlockCache, CacheReservation};

/// Limits the memory of memtables over all databases that share it: RocksDB's `WriteBufferManager`.
///
/// The largest memtable, of whichever database, is flushed when mutable memtables take seven eighths of the
/// limit, or all memtables together take the limit. A database whose write queue is locked by a writer
/// flushes it by itself. Flushed memtables that an iterator still holds do not count. With a cache, the
/// memory is charged to it, so that memtables and blocks share its capacity.
///
/// With a manager each written row costs a look at the memtables of its database's families.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// use esker::{Db, Options, WriteBufferManager};
///
/// // All databases with this manager have at most 256 MiB of memtables, together.
/// let options = Options {
///     create_if_missing: true,
///     write_buffer_manager: Some(WriteBufferManager::new(256 << 20, None, false)),
///     ..Default::default()
/// };
/// let db = Db::open(&options, dir.path())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct WriteBufferManager {
    limit: AtomicU64,
    allow_stall: AtomicBool,
    members: ArcSwap<Vec<Weak<Share>>>,
    /// Held while a member is added.
    joining: Mutex<()>,
    /// The charge for the memory of memtables in a cache.
    charge: Option<CacheReservation>,
    /// The lock that writers take briefly while they wait for memory.
    waiting: Mutex<()>,
    freed: Condvar,
}

/// The longest time between two checks of the other databases' flushes, while writers wait for memory.
const LOOK: Duration = Duration::from_millis(100);

/// A database that has a share of the memory.
pub(crate) trait Member: Send + Sync {
    /// Begins the flush of immutable memtables, however few there are; those of dropped families no longer
    /// count.
    fn flush_immutable(&self);

    /// Begins the flush of the largest memtable on behalf of another database, unless a write is in progress:
    /// that write then takes care of it.
    fn flush_for_manager(&self) -> bool;
}

/// The share of one database in the memory.
pub(crate) struct Share {
    pub manager: Arc<WriteBufferManager>,
    /// Bytes of mutable memtables.
    mutable: AtomicU64,
    /// Bytes of memtables that wait for their flush.
    immutable: AtomicU64,
    owner: OnceLock<Weak<dyn Member>>,
    /// Held from the measurement of the memtables to its report, so that the last measurement is the last
    /// report.
    pub noting: Mutex<()>,
}

impl WriteBufferManager {
    /// A manager with a limit of `buffer_size` bytes for all databases; 0 sets no limit and only charges.
    /// `cache`: the cache that the memory is charged to. `allow_stall`: writers of all databases wait while
    /// the memtables take more than the limit and a flush is in progress; without it they may exceed the
    /// limit.
    pub fn new(
        buffer_size: u64,
        cache: Option<Arc<BlockCache>>,
        allow_stall: bool,
    ) -> Arc<WriteBufferManager> {
        Arc::new(WriteBufferManager {
            limit: AtomicU64::new(buffer_size),
            allow_stall: AtomicBool::new(allow_stall),
            members: ArcSwap::default(),
            joining: Mutex::new(()),
            charge: cache.map(|cache| CacheReservation::new(cache, EntryRole::WriteBuffer)),
            waiting: Mutex::new(()),
            freed: Condvar::new(),
        })
    }

    /// The limit in bytes; 0: none.
    pub fn buffer_size(&self) -> u64 {
        self.limit.load(Ordering::Relaxed)
    }

    /// Changes the limit. Databases notice it at their next write.
    pub fn set_buffer_size(&self, bytes: u64) {
        self.limit.store(bytes, Ordering::Relaxed);
        self.wake();
    }

    /// Sets whether writers wait while memtables take more than the limit: RocksDB's `SetAllowStall`. If that
    /// is switched off, waiting writers continue.
    pub fn set_allow_stall(&self, allow_stall: bool) {
        self.allow_stall.store(allow_stall, Ordering::Relaxed);
        // The lock is held, so that no writer is between its check and its wait.
        let _waiting = self.waiting.lock();
        self.freed.notify_all();
    }

    /// Bytes of memtables of all databases: mutable ones, and those that wait for their flush.
    pub fn memory_usage(&self) -> u64 {
        let (mutable, immutable) = self.usage();
        mutable + immutable
    }

    /// Bytes of mutable memtables of all databases.
    pub fn mutable_memtable_memory_usage(&self) -> u64 {
        self.usage().0
    }

    /// Bytes of the dummy cache entries that charge memtables to the cache; 0 without a cache.
    pub fn dummy_entries_in_cache_usage(&self) -> u64 {
        let charge = self.charge.as_ref();
        charge.map_or(0, |charge| charge.reserved() as u64)
    }

    fn usage(&self) -> (u64, u64) {
        let members = self.members.load();
        let members = members.iter().filter_map(Weak::upgrade);
        members.fold((0, 0), |(mutable, immutable), share| {
            (
                mutable + share.mutable.load(Ordering::Relaxed),
                immutable + share.immutable.load(Ordering::Relaxed),
            )
        })
    }

    /// Adds a share for one more database.
    pub(crate) fn join(self: &Arc<Self>) -> Arc<Share> {
        let share = Arc::new(Share {
            manager: self.clone(),
            mutable: AtomicU64::new(0),
            immutable: AtomicU64::new(0),
            owner: OnceLock::new(),
            noting: Mutex::new(()),
        });
        let _joining = self.joining.lock();
        let mut members: Vec<Weak<Share>> = (**self.members.load()).clone();
        members.retain(|member| member.strong_count() > 0);
        members.push(Arc::downgrade(&share));
        self.members.store(Arc::new(members));
        share
    }

    /// True if a memtable should be flushed.
    pub(crate) fn should_flush(&self) -> bool {
        let limit = self.buffer_size();
        if limit == 0 {
            return false;
        }
        let (mutable, immutable) = self.usage();
        mutable > limit / 8 * 7 || mutable + immutable >= limit && mutable >= limit / 2
    }

    /// True if writers should wait: the limit is exceeded, and a flush is in progress.
    pub(crate) fn should_stall(&self) -> bool {
        let limit = self.buffer_size();
        if limit == 0 || !self.allow_stall.load(Ordering::Relaxed) {
            return false;
        }
        let (mutable, immutable) = self.usage();
        immutable > 0 && mutable + immutable >= limit
    }

    /// Waits until memory is freed, or for a short time.
    pub(crate) fn wait(&self) {
        let mut waiting = self.waiting.lock();
        if self.should_stall() {
            self.freed.wait_for(&mut waiting, LOOK);
        }
    }

    /// Makes all databases flush memtables that wait to be merged with later ones: writers wait for their
    /// memory.
    pub(crate) fn flush_immutable(&self) {
        for share in self.members.load().iter().filter_map(Weak::upgrade) {
            if let Some(owner) = share.owner.get().and_then(Weak::upgrade) {
                owner.flush_immutable();
            }
        }
    }

    fn wake(&self) {
        if self.allow_stall.load(Ordering::Relaxed) {
            // The lock is held, so that no writer is between its check and its wait.
            let _waiting = self.waiting.lock();
            self.freed.notify_all();
        }
    }

    /// The database with the largest memory in mutable memtables, if that is not the database of `own`.
    pub(crate) fn largest_other(&self, own: &Share) -> Option<Arc<dyn Member>> {
        let members = self.members.load();
        let members = members.iter().filter_map(Weak::upgrade);
        let largest = members.max_by_key(|share| share.mutable.load(Ordering::Relaxed))?;
        match std::ptr::eq(&*largest, own) {
            true => None,
            false => largest.owner.get()?.upgrade(),
        }
    }
}

impl fmt::Debug for WriteBufferManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (usage, limit) = (self.memory_usage(), self.buffer_size());
        write!(f, "WriteBufferManager({usage} of {limit} bytes)")
    }
}

impl Share {
    /// Sets the database of this share.
    pub fn belongs_to(&self, owner: Weak<dyn Member>) {
        // The database of the share is set once, because a database starts its threads once.
        let _ = self.owner.set(owner);
    }

    /// Records that the database will flush nothing more, so that writers do not wait for it.
    pub fn give_up(&self) {
        self.immutable.store(0, Ordering::Relaxed);
        self.manager.wake();
    }

    /// Reports the size of the database's memtables. True if writers should take action.
    pub fn set(&self, mutable: u64, immutable: u64) -> bool {
        self.mutable.store(mutable, Ordering::Relaxed);
        let before = self.immutable.swap(immutable, Ordering::Relaxed);
        if let Some(charge) = &self.manager.charge {
            // The cache may be full of blocks in use, with a strict limit. Memtables stay.
            let _ = charge.set(self.manager.memory_usage() as usize);
        }
        if immutable < before {
            self.manager.wake();
        }
        self.manager.should_flush() || self.manager.should_stall()
    }
}

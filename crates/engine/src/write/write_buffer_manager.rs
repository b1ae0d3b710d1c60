//! One limit for the memtables of several databases.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use arc_swap::ArcSwap;
use base::sync::{Condvar, Mutex, lock_soon};
use cache::{CacheKey, EntryRole, Handle, Priority};
use sst::BlockCache;
use sst::block::Block;

use crate::db::DbInner;
use crate::events::FlushReason;

/// Limits the memory of memtables, of all databases it is given to: RocksDB's `WriteBufferManager`.
///
/// From seven eighths of the limit in memtables that are written to, or from all of it with those that wait for their flush, the largest
/// memtable is flushed, whichever database it is of; a database whose writers hold its write queue flushes it by itself. Flushed
/// memtables that an iterator still holds do not count. With a cache, the memory is charged to it, so that memtables and blocks
/// share its capacity.
///
/// With it each row written costs a look at the memtables of its database's families.
pub struct WriteBufferManager {
    limit: AtomicU64,
    allow_stall: AtomicBool,
    members: ArcSwap<Vec<Weak<Share>>>,
    /// Held while members come.
    joining: Mutex<()>,
    charge: Option<Charge>,
    /// Writers that wait for memory hold it for a moment.
    waiting: Mutex<()>,
    freed: Condvar,
}

/// What is charged to a cache.
struct Charge {
    cache: Arc<BlockCache>,
    id: u64,
    entries: Mutex<Vec<Handle<Block>>>,
    charged: AtomicU64,
}

/// Bytes of one entry in the cache that stands for memtables, as in RocksDB.
const ENTRY: u64 = 256 << 10;

/// The stored form of a block without entries: one restart point, at 0.
const NO_ENTRIES: [u8; 8] = [0, 0, 0, 0, 1, 0, 0, 0];

/// A look at what others flush at least so often, while writers wait for memory.
const LOOK: Duration = Duration::from_millis(100);

/// A database's part in the memory.
pub(crate) struct Share {
    pub manager: Arc<WriteBufferManager>,
    /// Bytes of memtables that are written to.
    mutable: AtomicU64,
    /// Bytes of those that wait for their flush.
    immutable: AtomicU64,
    owner: OnceLock<Weak<DbInner>>,
    /// Held from looking at the memtables to saying what they come to: whoever looks last is heard last.
    noting: Mutex<()>,
}

impl WriteBufferManager {
    /// Of `buffer_size` bytes for all; 0 sets no limit, and only charges. `cache`: what the memory is charged to. `allow_stall`: writers of
    /// all databases wait while the memtables take more than the limit and a flush is under way; without it they may go beyond.
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
            charge: cache.map(|cache| Charge {
                id: cache.new_id(),
                cache,
                entries: Mutex::default(),
                charged: AtomicU64::new(0),
            }),
            waiting: Mutex::new(()),
            freed: Condvar::new(),
        })
    }

    /// The limit in bytes; 0: none.
    pub fn buffer_size(&self) -> u64 {
        self.limit.load(Ordering::Relaxed)
    }

    /// Changes the limit. Databases take note when they write next.
    pub fn set_buffer_size(&self, bytes: u64) {
        self.limit.store(bytes, Ordering::Relaxed);
        self.wake();
    }

    /// Whether writers wait while memtables take more than the limit, from now on: RocksDB's `SetAllowStall`. Those that wait go on where
    /// it is no longer so.
    pub fn set_allow_stall(&self, allow_stall: bool) {
        self.allow_stall.store(allow_stall, Ordering::Relaxed);
        // With the lock: nothing is between looking and waiting.
        let _waiting = self.waiting.lock();
        self.freed.notify_all();
    }

    /// Bytes of memtables of all databases: those written to, and those that wait for their flush.
    pub fn memory_usage(&self) -> u64 {
        let (mutable, immutable) = self.usage();
        mutable + immutable
    }

    /// Bytes of those that are written to.
    pub fn mutable_memtable_memory_usage(&self) -> u64 {
        self.usage().0
    }

    /// Bytes of cache entries that stand for memtables; 0 without a cache.
    pub fn dummy_entries_in_cache_usage(&self) -> u64 {
        let charge = self.charge.as_ref();
        charge.map_or(0, |charge| charge.charged.load(Ordering::Relaxed) * ENTRY)
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

    /// A part for one more database.
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

    /// True if writers should wait: there is too much, and something is being done about it.
    pub(crate) fn should_stall(&self) -> bool {
        let limit = self.buffer_size();
        if limit == 0 || !self.allow_stall.load(Ordering::Relaxed) {
            return false;
        }
        let (mutable, immutable) = self.usage();
        immutable > 0 && mutable + immutable >= limit
    }

    /// Waits until memory was freed, or for a while.
    pub(crate) fn wait(&self) {
        let mut waiting = self.waiting.lock();
        if self.should_stall() {
            self.freed.wait_for(&mut waiting, LOOK);
        }
    }

    /// Has all databases flush memtables that wait for company: writers wait for the memory they take.
    pub(super) fn flush_immutable(&self) {
        for share in self.members.load().iter().filter_map(Weak::upgrade) {
            if let Some(owner) = share.owner.get().and_then(Weak::upgrade) {
                owner.flush_immutable();
            }
        }
    }

    fn wake(&self) {
        if self.allow_stall.load(Ordering::Relaxed) {
            // With the lock: nobody is between looking and waiting.
            let _waiting = self.waiting.lock();
            self.freed.notify_all();
        }
    }

    /// The database with most in memtables that are written to, if it is another than that of `own`.
    fn largest_other(&self, own: &Share) -> Option<Arc<DbInner>> {
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

impl Charge {
    /// Has the cache hold as many entries as `bytes` come to.
    fn set(&self, bytes: u64) {
        let wanted = bytes.div_ceil(ENTRY);
        if self.charged.load(Ordering::Relaxed) == wanted {
            return;
        }
        let mut entries = self.entries.lock();
        while entries.len() as u64 > wanted {
            entries.pop();
            let key = self.key(entries.len());
            self.cache.erase(key);
        }
        while (entries.len() as u64) < wanted {
            let Ok(block) = Block::parse(NO_ENTRIES.to_vec()) else {
                break;
            };
            let key = self.key(entries.len());
            let inserted = self
                .cache
                .insert_as(key, block, ENTRY as usize, Priority::Low, EntryRole::Misc);
            match inserted {
                Ok(entry) => entries.push(entry),
                // The cache is full of what is read, and strict about it: memtables are not refused for that.
                Err(_) => break,
            }
        }
        self.charged.store(entries.len() as u64, Ordering::Relaxed);
    }

    fn key(&self, number: usize) -> CacheKey {
        CacheKey {
            id: self.id,
            offset: number as u64,
        }
    }
}

impl Share {
    /// Whose part it is.
    pub fn belongs_to(&self, owner: &Arc<DbInner>) {
        // A database starts its threads once.
        let _ = self.owner.set(Arc::downgrade(owner));
    }

    /// Nothing will be flushed any more: nobody is to wait for it.
    pub fn give_up(&self) {
        self.immutable.store(0, Ordering::Relaxed);
        self.manager.wake();
    }

    /// Takes note of what its memtables come to now. True if writers should see to it.
    pub fn set(&self, mutable: u64, immutable: u64) -> bool {
        self.mutable.store(mutable, Ordering::Relaxed);
        let before = self.immutable.swap(immutable, Ordering::Relaxed);
        if let Some(charge) = &self.manager.charge {
            charge.set(self.manager.memory_usage());
        }
        if immutable < before {
            self.manager.wake();
        }
        self.manager.should_flush() || self.manager.should_stall()
    }
}

impl DbInner {
    /// Tells the write buffer manager, if there is one, what the memtables come to. True if writers should see to it.
    pub(crate) fn note_share(&self) -> bool {
        self.share.as_ref().is_some_and(|share| {
            let _noting = lock_soon(&share.noting);
            let index = self.index.load();
            let (mut mutable, mut immutable) = (0, 0);
            for family in index.by_id.values() {
                let super_version = family.super_version.load();
                if !super_version.mem.is_empty() {
                    mutable += super_version.mem.memory_allocated() as u64;
                }
                let waiting = super_version.immutable.iter();
                immutable += waiting.map(|mem| mem.memory_allocated() as u64).sum::<u64>();
            }
            share.set(mutable, immutable)
        })
    }

    /// Has another database flush its largest memtable, where that is the largest of all. True if it does.
    pub(super) fn flush_largest_elsewhere(&self) -> bool {
        let share = self.share.as_ref();
        let other = share.and_then(|share| share.manager.largest_other(share));
        other.is_some_and(|other| other.flush_for_manager())
    }

    /// Begins the flush of memtables that are written to no more, however few; those of families that were dropped count no more.
    fn flush_immutable(&self) {
        let mut state = self.state.lock();
        let waiting = state
            .families
            .values_mut()
            .filter(|family| family.unflushed() > 0 && family.flush_requested.is_none());
        waiting.for_each(|family| family.flush_requested = Some(FlushReason::WriteBufferManager));
        self.work.notify_all();
        drop(state);
        self.note_share();
    }

    /// Begins the flush of the largest memtable, for the sake of another database, unless somebody writes just now: then that one sees to
    /// it.
    fn flush_for_manager(&self) -> bool {
        let Some(mut writer) = self.writer.try_lock() else {
            return false;
        };
        let families = {
            let state = self.state.lock();
            let largest = state
                .largest_memtable()
                .filter(|_| state.check_writable().is_ok());
            let mut families = state.switched_with(largest.into_iter().collect());
            if !state.may_switch(&families) {
                families.clear();
            }
            families
        };
        // What goes wrong here stops that database, and ours goes on.
        !families.is_empty()
            && self
                .flush_early(&mut writer, &families, FlushReason::WriteBufferManager)
                .is_ok()
    }
}

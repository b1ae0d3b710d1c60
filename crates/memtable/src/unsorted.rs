//! Rows that nobody has looked for yet, in the order they came: what makes a memtable a `vector`.
//!
//! A bulk load that is flushed before anybody reads it need not find the place of each row: it appends, and whoever reads first, a
//! flush at the latest, sorts what has come together and puts it into the tree in order, where a row costs next to nothing. Reads
//! between writes sort what came between them.

use std::ptr::NonNull;

use crate::entry::Entry;
use crate::sync::{AtomicUsize, Mutex, Ordering};

/// Rows there is room for from the beginning, at most.
const MAX_ROOM: usize = (1 << 20) / size_of::<NonNull<Entry>>();

/// Entries in the arena of a memtable that its tree does not hold yet.
pub(crate) struct Unsorted {
    rows: Mutex<Vec<NonNull<Entry>>>,
    /// How many there are. It becomes 0 only when all of them are in the tree, so that nobody who finds 0 misses one.
    count: AtomicUsize,
    /// Bytes the list takes.
    memory: AtomicUsize,
}

// SAFETY: entries lie in the arena of the memtable that owns this, and are only read.
unsafe impl Send for Unsorted {}
// SAFETY: as above; the list is under its lock.
unsafe impl Sync for Unsorted {}

impl Unsorted {
    /// With room for `count` rows, a mebibyte of places at most: more come when they are needed.
    pub(crate) fn new(count: usize) -> Unsorted {
        let rows = Vec::with_capacity(count.min(MAX_ROOM));
        Unsorted {
            memory: AtomicUsize::new(rows.capacity() * size_of::<NonNull<Entry>>()),
            rows: Mutex::new(rows),
            count: AtomicUsize::new(0),
        }
    }

    /// Appends an entry, which is of the memtable's arena.
    #[inline]
    pub(crate) fn push(&self, entry: NonNull<Entry>) {
        let mut rows = self.rows.lock();
        if rows.len() == rows.capacity() {
            let more = rows.len().max(64);
            rows.reserve_exact(more);
            let bytes = rows.capacity() * size_of::<NonNull<Entry>>();
            self.memory.store(bytes, Ordering::Relaxed);
        }
        rows.push(entry);
        self.count.store(rows.len(), Ordering::Release);
    }

    /// True if there are none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// Hands all of them to `put`, which puts them into the tree, and forgets them. Whoever comes meanwhile waits.
    #[cold]
    pub(crate) fn drain(&self, put: impl FnOnce(&mut [NonNull<Entry>])) {
        let mut rows = self.rows.lock();
        if rows.is_empty() {
            return;
        }
        put(&mut rows);
        rows.clear();
        self.count.store(0, Ordering::Release);
    }

    /// Bytes the list takes.
    #[inline]
    pub(crate) fn memory_usage(&self) -> usize {
        self.memory.load(Ordering::Relaxed)
    }
}

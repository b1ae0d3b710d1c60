//! Rows that no reader has looked for yet, in the order of insertion: the memtable representation `vector`.
//!
//! A bulk load that is flushed before any read need not find the place of each row. It appends the rows. The
//! first reader, at the latest a flush, sorts them and adds them to the tree in order, which is cheap. Reads
//! between writes sort the rows that were added since the last read.

use std::ptr::NonNull;

use crate::entry::Entry;
use crate::sync::{AtomicUsize, Mutex, Ordering};

/// The maximum number of rows for which room is reserved in advance.
const MAX_ROOM: usize = (1 << 20) / size_of::<NonNull<Entry>>();

/// Entries in the arena of a memtable that its tree does not hold yet.
pub(crate) struct Unsorted {
    rows: Mutex<Vec<NonNull<Entry>>>,
    /// The number of entries. It becomes 0 only when all of them are in the tree, so that no reader that
    /// finds 0 misses one.
    count: AtomicUsize,
    /// Bytes of the list.
    memory: AtomicUsize,
}

// SAFETY: entries are in the arena of the memtable that owns this, and are only read.
unsafe impl Send for Unsorted {}
// SAFETY: the type is `Sync` for the same reason as it is `Send`, and the lock guards the list.
unsafe impl Sync for Unsorted {}

impl Unsorted {
    /// An empty list with room for `count` rows, up to a mebibyte; it grows when more room is needed.
    pub(crate) fn new(count: usize) -> Unsorted {
        let rows = Vec::with_capacity(count.min(MAX_ROOM));
        Unsorted {
            memory: AtomicUsize::new(rows.capacity() * size_of::<NonNull<Entry>>()),
            rows: Mutex::new(rows),
            count: AtomicUsize::new(0),
        }
    }

    /// Appends an entry of the memtable's arena.
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

    /// True if the list is empty.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// Passes all entries to `put`, which adds them to the tree, and clears the list. Other threads wait
    /// meanwhile.
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

    /// Bytes of the list.
    #[inline]
    pub(crate) fn memory_usage(&self) -> usize {
        self.memory.load(Ordering::Relaxed)
    }
}

//! Memory outside a block cache that takes part of its capacity: RocksDB's `CacheReservationManager`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base::sync::Mutex;
use base::{Error, ErrorKind, Result};
use cache::{CacheKey, EntryRole, Handle, Priority};

use crate::block::Block;
use crate::read_options::BlockCache;

/// The size in bytes of one dummy entry, as in RocksDB.
pub const DUMMY_ENTRY_SIZE: usize = 256 << 10;

/// Memory that is charged to a block cache, by pinned entries without contents of 256 KiB each. Dropping the
/// reservation removes them.
pub struct CacheReservation {
    cache: Arc<BlockCache>,
    /// The identity of the entries in the cache's keys.
    id: u64,
    role: EntryRole,
    /// The charged memory in bytes.
    bytes: AtomicUsize,
    /// The number of dummy entries. Written under the lock of `entries`.
    reserved: AtomicUsize,
    entries: Mutex<Vec<Handle<Block>>>,
}

impl CacheReservation {
    /// A reservation in `cache` for `role`, of no bytes.
    pub fn new(cache: Arc<BlockCache>, role: EntryRole) -> CacheReservation {
        CacheReservation {
            id: cache.new_id(),
            cache,
            role,
            bytes: AtomicUsize::new(0),
            reserved: AtomicUsize::new(0),
            entries: Mutex::new(Vec::new()),
        }
    }

    /// Charges `bytes` instead of the bytes so far. Takes a lock only if the number of dummy entries changes.
    ///
    /// # Errors
    /// `Aborted`, RocksDB's `MemoryLimit`, if the cache has no room. The bytes count, and the entries for
    /// which there is room stay; the next call tries again.
    pub fn set(&self, bytes: usize) -> Result<()> {
        self.bytes.store(bytes, Ordering::Relaxed);
        self.fit()
    }

    /// Charges `bytes` more.
    ///
    /// # Errors
    /// `Aborted`, RocksDB's `MemoryLimit`, if the cache has no room: nothing more is charged.
    pub fn add(&self, bytes: usize) -> Result<()> {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.fit().inspect_err(|_| self.subtract(bytes))
    }

    /// Charges `bytes` less, which were added before.
    pub fn subtract(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        // Fewer bytes need no room. A failure is that of bytes that `set` has left without room.
        let _ = self.fit();
    }

    /// The bytes of the dummy entries.
    pub fn reserved(&self) -> usize {
        self.reserved.load(Ordering::Relaxed) * DUMMY_ENTRY_SIZE
    }

    /// Adjusts the number of dummy entries to the charged bytes.
    fn fit(&self) -> Result<()> {
        if self.reserved.load(Ordering::Relaxed) == self.wanted() {
            return Ok(());
        }
        let mut entries = self.entries.lock();
        let wanted = self.wanted();
        while entries.len() > wanted {
            entries.pop();
            self.cache.erase(self.key(entries.len()));
        }
        let mut fitted = Ok(());
        while entries.len() < wanted {
            let (key, nothing) = (self.key(entries.len()), Block::of_blob(Vec::new()));
            let inserted = self
                .cache
                .insert_as(key, nothing, DUMMY_ENTRY_SIZE, Priority::Low, self.role);
            match inserted {
                Ok(entry) => entries.push(entry),
                Err(_) => {
                    fitted = Err(memory_limit(self.role));
                    break;
                }
            }
        }
        self.reserved.store(entries.len(), Ordering::Relaxed);
        fitted
    }

    fn wanted(&self) -> usize {
        self.bytes.load(Ordering::Relaxed).div_ceil(DUMMY_ENTRY_SIZE)
    }

    fn key(&self, number: usize) -> CacheKey {
        CacheKey {
            id: self.id,
            offset: number as u64,
        }
    }
}

impl Drop for CacheReservation {
    fn drop(&mut self) {
        let entries = std::mem::take(self.entries.get_mut());
        let keys = (0..entries.len()).map(|number| self.key(number));
        // A pinned entry would stay in the cache.
        drop(entries);
        for key in keys {
            self.cache.erase(key);
        }
    }
}

impl std::fmt::Debug for CacheReservation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bytes = self.bytes.load(Ordering::Relaxed);
        write!(f, "CacheReservation({bytes} bytes of {})", self.role.name())
    }
}

/// RocksDB's error for memory of `role` that does not fit into the block cache.
pub(crate) fn memory_limit(role: EntryRole) -> Error {
    let text = format!(
        "Memory limit reached: Can't allocate {} due to exceeding the memory limit based on cache capacity",
        role.name()
    );
    Error::new(ErrorKind::Aborted, text)
}

//! The memory of an open table, charged to the block cache.

use std::sync::Arc;

use base::Result;
use cache::{Cache, CacheKey, EntryRole, Handle, Priority};

use crate::block::Block;
use crate::cache_reservation::memory_limit;

/// The offset, in the cache's keys, of the entry that charges a table: no block begins there.
const OFFSET: u64 = u64::MAX;

/// An entry of the cache without contents, which is pinned as long as this exists.
pub(crate) struct Charge {
    cache: Arc<Cache<Block>>,
    key: CacheKey,
    _pin: Handle<Block>,
}

impl Drop for Charge {
    fn drop(&mut self) {
        // Without this the entry would take room in the cache until it is evicted.
        self.cache.erase(self.key);
    }
}

impl Charge {
    /// Charges `bytes` to `cache`, by the table with this id in the cache's keys.
    ///
    /// Errors: `Aborted`, RocksDB's `MemoryLimit`, if the cache has no room.
    pub fn new(cache: Arc<Cache<Block>>, id: u64, bytes: usize) -> Result<Charge> {
        let key = CacheKey { id, offset: OFFSET };
        let role = EntryRole::BlockBasedTableReader;
        match cache.insert_as(key, Block::of_blob(Vec::new()), bytes, Priority::High, role) {
            Ok(pin) => Ok(Charge {
                cache,
                key,
                _pin: pin,
            }),
            Err(_) => Err(memory_limit(role)),
        }
    }
}

//! Caches of blocks, and the manager of memtables' memory.

use std::fmt;
use std::sync::Arc;

use esker::{BlockCache, CacheOptions, CacheType};

/// Options of an LRU cache.
#[derive(Clone, Debug, Default)]
pub struct LruCacheOptions {
    inner: CacheOptions,
}

impl LruCacheOptions {
    /// Sets the capacity in bytes. Default: 32 MiB.
    pub fn set_capacity(&mut self, capacity: usize) {
        self.inner.capacity = capacity;
    }

    /// Sets the number of shards to 2 to this power; -1: as many as the capacity allows. Default: -1.
    pub fn set_num_shard_bits(&mut self, bits: i32) {
        self.inner.num_shard_bits = bits;
    }
}

/// A block cache. A clone is the same cache.
#[derive(Clone)]
pub struct Cache(pub(crate) Arc<BlockCache>);

impl Cache {
    /// Creates a cache that evicts the least recently used block first.
    pub fn new_lru_cache(capacity: usize) -> Cache {
        Cache(BlockCache::lru(CacheOptions {
            capacity,
            ..CacheOptions::default()
        }))
    }

    /// Creates an LRU cache with options.
    pub fn new_lru_cache_opts(options: &LruCacheOptions) -> Cache {
        Cache(BlockCache::lru(options.inner.clone()))
    }

    /// Creates a clock cache, whose lookups take no lock. 0 as the size of an average entry lets the table
    /// grow.
    pub fn new_hyper_clock_cache(capacity: usize, estimated_entry_charge: usize) -> Cache {
        Cache(BlockCache::new(CacheOptions {
            cache_type: CacheType::HyperClock,
            capacity,
            estimated_entry_charge,
            ..CacheOptions::default()
        }))
    }

    /// The usage in bytes.
    pub fn get_usage(&self) -> usize {
        self.0.usage()
    }

    /// The bytes of pinned blocks.
    pub fn get_pinned_usage(&self) -> usize {
        self.0.pinned_usage()
    }

    /// Changes the capacity in bytes.
    pub fn set_capacity(&mut self, capacity: usize) {
        self.0.set_capacity(capacity);
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cache({} bytes)", self.0.capacity())
    }
}

/// Limits the memory of memtables of several databases. A clone is the same manager.
#[derive(Clone)]
pub struct WriteBufferManager(Arc<esker::WriteBufferManager>);

impl WriteBufferManager {
    /// Creates a manager with a limit in bytes; 0: no limit. With `allow_stall` writers wait while the limit
    /// is exceeded.
    pub fn new_write_buffer_manager(buffer_size: usize, allow_stall: bool) -> WriteBufferManager {
        WriteBufferManager(esker::WriteBufferManager::new(
            buffer_size as u64,
            None,
            allow_stall,
        ))
    }

    /// Creates a manager with a limit of `buffer_size` bytes, whose memory is charged to a cache.
    pub fn new_write_buffer_manager_with_cache(
        buffer_size: usize,
        allow_stall: bool,
        cache: Cache,
    ) -> WriteBufferManager {
        WriteBufferManager(esker::WriteBufferManager::new(
            buffer_size as u64,
            Some(cache.0),
            allow_stall,
        ))
    }

    pub(crate) fn engine(&self) -> Arc<esker::WriteBufferManager> {
        self.0.clone()
    }

    /// The memory of memtables in bytes.
    pub fn get_usage(&self) -> usize {
        usize::try_from(self.0.memory_usage()).unwrap_or(usize::MAX)
    }

    /// The limit in bytes.
    pub fn get_buffer_size(&self) -> usize {
        usize::try_from(self.0.buffer_size()).unwrap_or(usize::MAX)
    }

    /// Changes the limit in bytes.
    pub fn set_buffer_size(&self, new_size: usize) {
        self.0.set_buffer_size(new_size as u64);
    }

    /// True if there is a limit.
    pub fn enabled(&self) -> bool {
        self.0.buffer_size() > 0
    }

    /// True if writers wait.
    pub fn set_allow_stall(&self, allow_stall: bool) {
        self.0.set_allow_stall(allow_stall);
    }
}

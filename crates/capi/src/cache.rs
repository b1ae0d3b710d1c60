//! `rocksdb_cache_t` and `rocksdb_write_buffer_manager_t`, which all databases that get them share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use esker::{BlockCache, Cache, CacheOptions, CacheType, WriteBufferManager};

use crate::ffi::*;
use crate::generated::fields::{HyperClockCacheOptionsFields, LruCacheOptionsFields};

/// The C object `rocksdb_cache_t`.
#[derive(Clone)]
pub struct rocksdb_cache_t {
    pub cache: Arc<BlockCache>,
    /// The requested capacity; the cache rounds it up to a multiple of its shards.
    pub capacity: Arc<AtomicUsize>,
}

impl rocksdb_cache_t {
    /// Creates a cache with these options.
    pub fn new(options: CacheOptions) -> rocksdb_cache_t {
        rocksdb_cache_t {
            capacity: Arc::new(AtomicUsize::new(options.capacity)),
            cache: Cache::new(options),
        }
    }
}

/// The C object `rocksdb_lru_cache_options_t`.
#[derive(Clone, Default)]
pub struct rocksdb_lru_cache_options_t {
    pub fields: LruCacheOptionsFields,
}

/// The C object `rocksdb_hyper_clock_cache_options_t`.
#[derive(Clone, Default)]
pub struct rocksdb_hyper_clock_cache_options_t {
    pub fields: HyperClockCacheOptionsFields,
}

fn lru(capacity: usize, num_shard_bits: i32, strict_capacity_limit: bool) -> *mut rocksdb_cache_t {
    boxed(rocksdb_cache_t::new(CacheOptions {
        cache_type: CacheType::Lru,
        capacity,
        num_shard_bits,
        strict_capacity_limit,
        ..CacheOptions::default()
    }))
}

fn clock(capacity: usize, estimated_entry_charge: usize, num_shard_bits: i32) -> *mut rocksdb_cache_t {
    boxed(rocksdb_cache_t::new(CacheOptions {
        cache_type: CacheType::HyperClock,
        capacity,
        num_shard_bits,
        estimated_entry_charge,
        ..CacheOptions::default()
    }))
}

api!(
    fn rocksdb_cache_create_lru(capacity: usize) -> *mut rocksdb_cache_t {
        lru(capacity, -1, false)
    }
);

api!(
    fn rocksdb_cache_create_lru_with_strict_capacity_limit(capacity: usize) -> *mut rocksdb_cache_t {
        lru(capacity, -1, true)
    }
);

api!(
    fn rocksdb_cache_create_lru_opts(options: *const rocksdb_lru_cache_options_t) -> *mut rocksdb_cache_t {
        let fields = &(*options).fields;
        lru(fields.capacity, fields.num_shard_bits, false)
    }
);

api!(
    fn rocksdb_cache_create_hyper_clock(capacity: usize, entry_charge: usize) -> *mut rocksdb_cache_t {
        clock(capacity, entry_charge, -1)
    }
);

api!(
    fn rocksdb_cache_create_hyper_clock_opts(
        options: *const rocksdb_hyper_clock_cache_options_t,
    ) -> *mut rocksdb_cache_t {
        let fields = &(*options).fields;
        clock(
            fields.capacity,
            fields.estimated_entry_charge,
            fields.num_shard_bits,
        )
    }
);

api!(
    fn rocksdb_lru_cache_options_create() -> *mut rocksdb_lru_cache_options_t {
        boxed(rocksdb_lru_cache_options_t::default())
    }
);

api!(
    fn rocksdb_hyper_clock_cache_options_create(
        capacity: usize,
        entry_charge: usize,
    ) -> *mut rocksdb_hyper_clock_cache_options_t {
        let mut options = rocksdb_hyper_clock_cache_options_t::default();
        options.fields.capacity = capacity;
        options.fields.estimated_entry_charge = entry_charge;
        boxed(options)
    }
);

// After this call the memory of the cache need not be freed, because the process is about to end. The
// function does nothing, because other databases may share the cache.
api!(
    fn rocksdb_cache_disown_data(_cache: *mut rocksdb_cache_t) {}
);

api!(
    fn rocksdb_cache_set_capacity(cache: *mut rocksdb_cache_t, capacity: usize) {
        let cache = &*cache;
        cache.capacity.store(capacity, Ordering::Relaxed);
        cache.cache.set_capacity(capacity);
    }
);

api!(
    fn rocksdb_cache_get_capacity(cache: *const rocksdb_cache_t) -> usize {
        (*cache).capacity.load(Ordering::Relaxed)
    }
);

api!(
    fn rocksdb_cache_get_usage(cache: *const rocksdb_cache_t) -> usize {
        (*cache).cache.usage()
    }
);

api!(
    fn rocksdb_cache_get_pinned_usage(cache: *const rocksdb_cache_t) -> usize {
        (*cache).cache.pinned_usage()
    }
);

api!(
    fn rocksdb_cache_get_occupancy_count(cache: *const rocksdb_cache_t) -> usize {
        (*cache).cache.occupancy()
    }
);

api!(
    fn rocksdb_cache_get_table_address_count(cache: *const rocksdb_cache_t) -> usize {
        (*cache).cache.table_address_count()
    }
);

/// The C object `rocksdb_write_buffer_manager_t`.
pub struct rocksdb_write_buffer_manager_t(pub Arc<WriteBufferManager>, bool);

api!(
    fn rocksdb_write_buffer_manager_create(
        bytes: usize,
        allow_stall: bool,
    ) -> *mut rocksdb_write_buffer_manager_t {
        boxed(rocksdb_write_buffer_manager_t(
            WriteBufferManager::new(bytes as u64, None, allow_stall),
            false,
        ))
    }
);

api!(
    fn rocksdb_write_buffer_manager_create_with_cache(
        bytes: usize,
        cache: *const rocksdb_cache_t,
        allow_stall: bool,
    ) -> *mut rocksdb_write_buffer_manager_t {
        let cache = cache.as_ref().map(|cache| cache.cache.clone());
        let costs = cache.is_some();
        boxed(rocksdb_write_buffer_manager_t(
            WriteBufferManager::new(bytes as u64, cache, allow_stall),
            costs,
        ))
    }
);

api!(
    fn rocksdb_write_buffer_manager_set_allow_stall(
        manager: *mut rocksdb_write_buffer_manager_t,
        allow_stall: bool,
    ) {
        (*manager).0.set_allow_stall(allow_stall);
    }
);

api!(
    fn rocksdb_write_buffer_manager_enabled(manager: *mut rocksdb_write_buffer_manager_t) -> bool {
        (*manager).0.buffer_size() > 0
    }
);

api!(
    fn rocksdb_write_buffer_manager_cost_to_cache(manager: *mut rocksdb_write_buffer_manager_t) -> bool {
        (*manager).1
    }
);

api!(
    fn rocksdb_write_buffer_manager_memory_usage(manager: *mut rocksdb_write_buffer_manager_t) -> usize {
        (*manager).0.memory_usage() as usize
    }
);

api!(
    fn rocksdb_write_buffer_manager_mutable_memtable_memory_usage(
        manager: *mut rocksdb_write_buffer_manager_t,
    ) -> usize {
        (*manager).0.mutable_memtable_memory_usage() as usize
    }
);

api!(
    fn rocksdb_write_buffer_manager_dummy_entries_in_cache_usage(
        manager: *mut rocksdb_write_buffer_manager_t,
    ) -> usize {
        (*manager).0.dummy_entries_in_cache_usage() as usize
    }
);

api!(
    fn rocksdb_write_buffer_manager_buffer_size(manager: *mut rocksdb_write_buffer_manager_t) -> usize {
        (*manager).0.buffer_size() as usize
    }
);

api!(
    fn rocksdb_write_buffer_manager_set_buffer_size(
        manager: *mut rocksdb_write_buffer_manager_t,
        bytes: usize,
    ) {
        (*manager).0.set_buffer_size(bytes as u64);
    }
);

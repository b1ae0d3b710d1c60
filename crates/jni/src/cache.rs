//! Block caches, write buffer managers and rate limiters, which several databases can share.

use std::sync::Arc;

use esker::{
    BlockCache, Cache, CacheOptions, CacheType, IoPriority, OpType, RateLimiter, RateLimiterMode,
    RateLimiterOptions, SystemClock, WriteBufferManager,
};

use crate::fail::Result;
use crate::frame::native;
use crate::handles;

/// `org.rocksdb.Cache`.
pub struct CacheObject(pub Arc<BlockCache>);

/// `org.rocksdb.WriteBufferManager`.
pub struct WriteBufferManagerObject(pub Arc<WriteBufferManager>);

/// `org.rocksdb.RateLimiter`.
pub struct RateLimiterObject(pub Arc<RateLimiter>);

fn cache(options: CacheOptions) -> Result<i64> {
    Ok(handles::insert(CacheObject(Cache::new(options))))
}

native!("LRUCache_newLRUCache" "JIZDD" fn(
    env, capacity: i64, shard_bits: i32, strict: bool, high_pri: f64, low_pri: f64
) -> i64 {
    cache(CacheOptions {
        cache_type: CacheType::Lru,
        capacity: capacity.max(0) as usize,
        num_shard_bits: shard_bits,
        strict_capacity_limit: strict,
        high_pri_pool_ratio: high_pri.clamp(0.0, 1.0),
        low_pri_pool_ratio: low_pri.clamp(0.0, 1.0),
        ..CacheOptions::default()
    })
});

// A clock cache is created as an LRU cache, as in RocksDB since release 7.
native!("ClockCache_newClockCache" "JIZ" fn(env, capacity: i64, shard_bits: i32, strict: bool) -> i64 {
    cache(CacheOptions {
        capacity: capacity.max(0) as usize,
        num_shard_bits: shard_bits,
        strict_capacity_limit: strict,
        ..CacheOptions::default()
    })
});

native!("HyperClockCache_newHyperClockCache" "JJIZ" fn(
    env, capacity: i64, entry_charge: i64, shard_bits: i32, strict: bool
) -> i64 {
    cache(CacheOptions {
        cache_type: CacheType::HyperClock,
        capacity: capacity.max(0) as usize,
        estimated_entry_charge: entry_charge.max(0) as usize,
        num_shard_bits: shard_bits,
        strict_capacity_limit: strict,
        ..CacheOptions::default()
    })
});

native!("Cache_getUsage" "J" fn(env, cache: i64) -> i64 {
    Ok(handles::get::<CacheObject>(cache)?.0.usage() as i64)
});

native!("Cache_getPinnedUsage" "J" fn(env, cache: i64) -> i64 {
    Ok(handles::get::<CacheObject>(cache)?.0.pinned_usage() as i64)
});

native!("WriteBufferManager_newWriteBufferManager" "JJZ" fn(env, size: i64, cache: i64, allow_stall: bool) -> i64 {
    let cache = handles::optional::<CacheObject>(cache)?.map(|cache| Arc::clone(&cache.0));
    let manager = WriteBufferManager::new(size.max(0) as u64, cache, allow_stall);
    Ok(handles::insert(WriteBufferManagerObject(manager)))
});

native!("RateLimiter_newRateLimiterHandle" "JJIBZ" fn(
    env, rate: i64, refill_period: i64, fairness: i32, mode: i8, auto_tuned: bool
) -> i64 {
    let options = RateLimiterOptions {
        rate_bytes_per_sec: rate.max(1) as u64,
        refill_period_us: refill_period.max(1) as u64,
        fairness: fairness.clamp(1, 100) as u32,
        mode: match mode {
            0 => RateLimiterMode::ReadsOnly,
            1 => RateLimiterMode::WritesOnly,
            _ => RateLimiterMode::AllIo,
        },
        auto_tuned,
        ..RateLimiterOptions::default()
    };
    let limiter = RateLimiter::with_options(options, Arc::new(SystemClock::new()))?;
    Ok(handles::insert(RateLimiterObject(Arc::new(limiter))))
});

native!("RateLimiter_setBytesPerSecond" "JJ" fn(env, limiter: i64, rate: i64) {
    Ok(handles::get::<RateLimiterObject>(limiter)?.0.set_bytes_per_second(rate.max(1) as u64)?)
});

native!("RateLimiter_getBytesPerSecond" "J" fn(env, limiter: i64) -> i64 {
    Ok(handles::get::<RateLimiterObject>(limiter)?.0.bytes_per_second() as i64)
});

native!("RateLimiter_request" "JJ" fn(env, limiter: i64, bytes: i64) {
    let limiter = handles::get::<RateLimiterObject>(limiter)?;
    // As in RocksJava, the caller names no priority and no kind of operation: the request counts as a write.
    limiter.0.request(bytes.max(0) as u64, IoPriority::User, OpType::Write);
    Ok(())
});

native!("RateLimiter_getSingleBurstBytes" "J" fn(env, limiter: i64) -> i64 {
    Ok(handles::get::<RateLimiterObject>(limiter)?.0.single_burst_bytes() as i64)
});

native!("RateLimiter_getTotalBytesThrough" "J" fn(env, limiter: i64) -> i64 {
    Ok(handles::get::<RateLimiterObject>(limiter)?.0.total_bytes_through(None) as i64)
});

native!("RateLimiter_getTotalRequests" "J" fn(env, limiter: i64) -> i64 {
    Ok(handles::get::<RateLimiterObject>(limiter)?.0.total_requests(None) as i64)
});

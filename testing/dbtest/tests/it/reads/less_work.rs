//! Work that is avoided: blocks are not inserted into the cache, keys are not hashed again, system calls are
//! not made.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dbtest::by_hand::{flush, rewrite, rewrite_family};
use dbtest::events::Recorder;
use esker::{
    Cache, CacheOptions, ColumnFamilyOptions, CompressionType, Db, Event, FilterPolicy, FlushOptions,
    IoStats, ManualClock, NullLogger, Options, PrefixExtractor, RateLimiter, RateLimiterOptions,
    TableProperties, io_stats,
};
use vfs::{MemFs, PosixFs};

fn key(number: u32) -> Vec<u8> {
    format!("key{number:07}").into_bytes()
}

/// Two families share a cache with room for one of them. A compaction of the second inserts none of its
/// blocks, and evicts none of the first family's.
#[test]
fn a_compaction_leaves_the_cache_as_it_is() {
    const ROWS: u32 = 1_000;
    for index_in_cache in [false, true] {
        let cache = Cache::lru(CacheOptions {
            capacity: 256 << 10,
            num_shard_bits: 0,
            ..CacheOptions::default()
        });
        let mut family = ColumnFamilyOptions {
            disable_auto_compactions: true,
            compression: CompressionType::None,
            ..ColumnFamilyOptions::default()
        };
        family.table.block_size = 1024;
        family.table.block_cache = Some(cache.clone());
        family.table.cache_index_and_filter_blocks = index_in_cache;
        family.table.filter_policy = FilterPolicy::Bloom(10.0);
        let options = Options {
            create_if_missing: true,
            create_missing_column_families: true,
            fs: Arc::new(MemFs::new()),
            column_families: BTreeMap::from([("other".to_owned(), family.clone())]),
            column_family: family,
            ..Options::default()
        };
        let db = Db::open(&options, "/db").unwrap();
        let other = db.column_family("other").unwrap();
        for number in 0..ROWS {
            db.put(key(number), [b'v'; 100]).unwrap();
        }
        flush(&db);
        // The rows of the second family are ten times the capacity of the cache.
        for table in 0..4 {
            for number in 0..5_000 {
                db.put_cf(&other, key(number * 4 + table), [b'o'; 150]).unwrap();
            }
            db.flush_cf(std::slice::from_ref(&other)).unwrap();
        }
        let read = || {
            for number in 0..ROWS {
                assert!(db.get(key(number)).unwrap().is_some());
            }
        };
        read();
        let before = cache.stats();
        read();
        let hot = cache.stats();
        assert_eq!(
            (hot.misses, hot.evictions),
            (before.misses, before.evictions),
            "all fits"
        );

        rewrite_family(&db, &other);
        let after = cache.stats();
        // The engine opens each output of a compaction for a check, which may insert the index and filter
        // into the cache, but no data block.
        let parts = if index_in_cache { 4 } else { 0 };
        assert!(after.inserts - hot.inserts <= parts, "{hot:?} {after:?}");
        let misses = after.misses;
        read();
        assert!(
            cache.stats().misses - misses <= parts,
            "{index_in_cache}: what was hot is hot: {:?}",
            cache.stats()
        );
    }
}

/// A prefix extractor for the first eight bytes of a key; it counts its calls, one for each key that a filter
/// hashes.
#[derive(Debug, Default)]
struct Counting(AtomicU64);

impl PrefixExtractor for Counting {
    fn name(&self) -> &str {
        "Counting"
    }

    fn prefix<'a>(&self, key: &'a [u8]) -> Option<&'a [u8]> {
        self.0.fetch_add(1, Ordering::Relaxed);
        key.get(..8)
    }
}

/// A filter is built from one hash for each key, independent of the number of its versions, and one for each
/// prefix.
#[test]
fn a_key_is_hashed_for_a_filter_once() {
    const KEYS: u64 = 3_000;
    // Keys have ten bytes, and each hundred of them share the first eight.
    const PREFIXES: u64 = KEYS / 100;
    let ribbon = FilterPolicy::Ribbon {
        bits_per_key: 10.0,
        bloom_before_level: -1,
    };
    for policy in [FilterPolicy::Bloom(10.0), ribbon] {
        let tables = Recorder::of(|event| match event {
            Event::TableCreated { properties, .. } => Some(TableProperties::clone(properties)),
            _ => None,
        });
        let hashed = Arc::new(Counting::default());
        let mut options = Options {
            create_if_missing: true,
            fs: Arc::new(MemFs::new()),
            listeners: vec![tables.clone()],
            ..Options::default()
        };
        options.column_family.table.filter_policy = policy;
        options.column_family.prefix_extractor = Some(hashed.clone());
        let db = Db::open(&options, "/db").unwrap();
        // Snapshots make compactions keep all versions.
        let mut snapshots = Vec::new();
        for _ in 0..4 {
            for number in 0..KEYS as u32 {
                db.put(key(number), b"value").unwrap();
            }
            snapshots.push(db.snapshot());
        }
        hashed.0.store(0, Ordering::Relaxed);
        flush(&db);
        assert_eq!(hashed.0.swap(0, Ordering::Relaxed), KEYS, "a flush, {policy:?}");
        rewrite(&db);
        assert_eq!(
            hashed.0.swap(0, Ordering::Relaxed),
            KEYS,
            "a compaction, {policy:?}"
        );
        let written = tables.all();
        assert_eq!(written.len(), 2);
        for table in &written {
            assert_eq!(table.num_entries, 4 * KEYS);
            assert_eq!(table.num_filter_entries, KEYS + PREFIXES, "{policy:?}");
        }
    }
}

/// Records, for each table, the bytes that the thread of its flush or compaction wrote, and the number of its
/// calls.
fn writes() -> Arc<Recorder<IoStats>> {
    // The I/O statistics before the current job.
    let before = Mutex::new(IoStats::default());
    Recorder::of(move |event| match event {
        Event::FlushBegun { .. } | Event::SubcompactionBegun { .. } => {
            *before.lock().unwrap() = io_stats::current();
            None
        }
        Event::TableCreated { .. } => Some(io_stats::current() - *before.lock().unwrap()),
        _ => None,
    })
}

/// Blocks of 4 KiB are written to the kernel in units of 256 KiB.
#[test]
fn tables_are_written_by_large_calls() {
    const CALL: u64 = 256 << 10;
    for direct in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let writes = writes();
        let mut options = Options {
            create_if_missing: true,
            fs: Arc::new(PosixFs::new()),
            info_log: Some(Arc::new(NullLogger)),
            listeners: vec![writes.clone()],
            use_direct_io_for_flush_and_compaction: direct,
            ..Options::default()
        };
        options.column_family.compression = CompressionType::None;
        let Ok(db) = Db::open(&options, dir.path()) else {
            assert!(direct, "not every file system writes past the page cache");
            testkit::skip("a file system with direct I/O");
            continue;
        };
        for number in 0..6_000 {
            db.put(key(number), [b'v'; 1_000]).unwrap();
        }
        flush(&db);
        rewrite(&db);
        let done = writes.all();
        assert_eq!(done.len(), 2, "a flush and a compaction");
        for written in &done {
            assert!(written.bytes_written > 6_000_000, "{written:?}");
            // The last write call of a file may be shorter than the others.
            assert!(
                written.writes <= written.bytes_written / CALL + 1,
                "direct {direct}: {written:?}"
            );
        }
    }
}

/// A tuned rate limit follows the demand of flushes: it rises while they wait, and falls when no job waits.
#[test]
fn a_tuned_rate_follows_the_jobs() {
    const PERIOD: Duration = Duration::from_millis(1);
    const MOST: u64 = 4_000_000;
    let clock = Arc::new(ManualClock::default());
    let tuned = RateLimiterOptions {
        rate_bytes_per_sec: MOST,
        refill_period_us: PERIOD.as_micros() as u64,
        auto_tuned: true,
        ..RateLimiterOptions::default()
    };
    let limiter = Arc::new(RateLimiter::with_options(tuned, clock.clone()).unwrap());
    let mut options = Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        rate_limiter: Some(limiter.clone()),
        ..Options::default()
    };
    options.column_family.compression = CompressionType::None;
    options.column_family.disable_auto_compactions = true;
    let db = Db::open(&options, "/db").unwrap();
    let tables = || db.live_files().len();
    // The clock advances by a period whenever a thread waits for it.
    let flush = || {
        let before = tables();
        db.flush_opt(&FlushOptions {
            wait: false,
            allow_write_stall: true,
            ..FlushOptions::default()
        })
        .unwrap();
        while tables() == before {
            let through = limiter.total_bytes_through(None);
            if limiter.total_pending_requests(None) > 0 {
                clock.advance(PERIOD);
                while limiter.total_bytes_through(None) == through {
                    std::thread::yield_now();
                }
            }
            std::thread::yield_now();
        }
    };
    let begun = limiter.bytes_per_second();
    assert_eq!(begun, MOST / 2);
    // A MB at 2 KB per period takes hundreds of periods, in each of which the flush waits.
    for number in 0..1_000 {
        db.put(key(number), [b'v'; 1_000]).unwrap();
    }
    flush();
    let risen = limiter.bytes_per_second();
    assert!(risen > begun + begun / 10, "{begun} {risen}");
    assert!(limiter.total_bytes_through(None) > 1_000_000);
    // A small flush runs long afterwards; most of the time no job has waited.
    clock.advance(PERIOD * 1_000);
    db.put(key(1), b"small").unwrap();
    flush();
    assert!(
        limiter.bytes_per_second() < risen,
        "{}",
        limiter.bytes_per_second()
    );
}

//! A data block with a wrong checksum: `Corruption` for exactly the reads that need it, and never in the
//! cache for verifying reads.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::InternalComparator;
use dbtest::by_hand::flush;
use esker::{
    BlockBasedOptions, BlockCache, Cache, CacheOptions, CacheType, ColumnFamilyOptions, CompressionType, Db,
    DbIterator, Error, ErrorKind, Options, ReadOptions, ReadTier, Result, Statistics, Ticker,
};
use sst::{Table, TableReadOptions};
use tempfile::TempDir;
use vfs::{FileSystem, OpenOptions, PosixFs};

const KEYS: u32 = 300;

fn key(number: u32) -> Vec<u8> {
    format!("key{number:06}").into_bytes()
}

/// A value that occurs once in the table file, so that its bytes can be found there.
fn value(number: u32) -> Vec<u8> {
    format!("<value {number:06}>").repeat(4).into_bytes()
}

/// A way to read files.
#[derive(Clone, Copy, Debug)]
enum Way {
    Pread,
    Mapped,
    Direct,
}

fn options(way: Way, cache: &Option<Arc<BlockCache>>) -> Options {
    Options {
        create_if_missing: true,
        allow_mmap_reads: matches!(way, Way::Mapped),
        use_direct_reads: matches!(way, Way::Direct),
        column_family: ColumnFamilyOptions {
            compression: CompressionType::None,
            disable_auto_compactions: true,
            table: BlockBasedOptions {
                block_size: 900,
                block_cache: cache.clone(),
                no_block_cache: cache.is_none(),
                ..BlockBasedOptions::default()
            },
            ..ColumnFamilyOptions::default()
        },
        ..Options::default()
    }
}

/// A database on disk with one table that has a bad block in its middle.
struct Damaged {
    dir: TempDir,
    /// The path of the table.
    file: PathBuf,
    /// The offset of the bad block.
    offset: u64,
    /// The keys in the bad block.
    keys: Range<u32>,
}

impl Damaged {
    fn new() -> Damaged {
        let dir = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let db = Db::open(&options(Way::Pread, &None), dir.path()).unwrap();
        for number in 0..KEYS {
            db.put(key(number), value(number)).unwrap();
        }
        flush(&db);
        let [file] = &db.live_files()[..] else {
            panic!("more than a table");
        };
        let file = file.path.clone();
        db.close().unwrap();

        let mut bytes = std::fs::read(&file).unwrap();
        let place = |bytes: &[u8], number: u32| {
            let value = value(number);
            bytes
                .windows(value.len())
                .position(|found| found == value)
                .unwrap()
        };
        let flipped = place(&bytes, KEYS / 2);
        let places: Vec<usize> = (0..KEYS).map(|number| place(&bytes, number)).collect();
        bytes[flipped + 3] ^= 4;
        std::fs::write(&file, &bytes).unwrap();

        let opened = PosixFs::new()
            .open_random(&file, &OpenOptions::default())
            .unwrap();
        let cmp = InternalComparator::new(base::UserComparator::Bytewise);
        let table = Table::open(opened, TableReadOptions::new(cmp)).unwrap();
        let mut bad = Vec::new();
        let verified = table.verify(0, &mut |check| {
            if check.result.is_err() {
                bad.push((check.offset, check.size));
            }
        });
        assert!(verified.is_err());
        let [(offset, size)] = bad[..] else {
            panic!("one block is bad: {bad:?}");
        };
        let inside = |number: &u32| (offset..offset + size).contains(&(places[*number as usize] as u64));
        let first = (0..KEYS).find(inside).unwrap();
        let keys = first..first + (first..KEYS).take_while(inside).count() as u32;
        assert!(keys.len() > 3 && keys.len() < 20, "{keys:?}");
        Damaged {
            dir,
            file,
            offset,
            keys,
        }
    }

    /// Repairs the block in its file, or damages it again.
    fn heal(&self, good: bool) {
        let mut bytes = std::fs::read(&self.file).unwrap();
        let right = value(KEYS / 2);
        let mut wrong = right.clone();
        wrong[3] ^= 4;
        let (from, to) = if good { (wrong, right) } else { (right, wrong) };
        let at = bytes.windows(from.len()).position(|found| found == from).unwrap();
        bytes[at..at + to.len()].copy_from_slice(&to);
        // The file is changed in place, because the database has it open.
        let mut file = std::fs::OpenOptions::new().write(true).open(&self.file).unwrap();
        std::io::Write::write_all(&mut file, &bytes).unwrap();
    }

    /// Opens the database; `None` if the file system does not support this way of reading.
    fn open(&self, way: Way, cache: &Option<Arc<BlockCache>>) -> Option<Db> {
        match Db::open_read_only(&options(way, cache), self.dir.path()) {
            Err(error) if matches!(way, Way::Direct) && !error.is_corruption() => None,
            db => Some(db.unwrap()),
        }
    }

    fn is_told(&self, error: &Error) {
        assert!(error.is_corruption(), "{error}");
        assert_eq!(
            error.file().map(Path::to_owned),
            Some(self.file.clone()),
            "{error}"
        );
        assert_eq!(error.offset(), Some(self.offset), "{error}");
    }

    /// Checks a read of `number`: its value, or `Corruption` if it is in the bad block.
    fn check(&self, number: u32, found: Result<Option<Vec<u8>>>) {
        match found {
            Ok(found) => {
                assert!(!self.keys.contains(&number), "{number}");
                assert_eq!(found, Some(value(number)));
            }
            Err(error) => {
                assert!(self.keys.contains(&number), "{number}: {error}");
                self.is_told(&error);
            }
        }
    }

    /// Checks every key alone, with others, and by an iterator from each end and from both sides of the
    /// block.
    fn check_all(&self, db: &Db, read: &ReadOptions) {
        let family = db.default_column_family();
        for number in 0..KEYS {
            self.check(number, db.get_cf_opt(&family, key(number), read));
        }
        for stride in [1, 7, 40] {
            let numbers: Vec<u32> = (0..KEYS).step_by(stride).collect();
            let keys: Vec<Vec<u8>> = numbers.iter().map(|number| key(*number)).collect();
            for (number, found) in numbers.iter().zip(db.multi_get_cf_opt(&family, &keys, read)) {
                self.check(*number, found);
            }
        }
        let mut iter = db.iter_opt(read);
        iter.seek_to_first();
        self.walk(&mut iter, DbIterator::next, (0..self.keys.start).collect());
        self.is_told(&iter.status().unwrap_err());
        // Backwards, the first key after the bad block is not shown: newer versions of it could be in the
        // block.
        iter.seek_to_last();
        let behind = (self.keys.end + 1..KEYS).rev();
        self.walk(&mut iter, DbIterator::prev, behind.collect());
        self.is_told(&iter.status().unwrap_err());
        iter.seek(&key(self.keys.end));
        self.walk(&mut iter, DbIterator::next, (self.keys.end..KEYS).collect());
        iter.status().unwrap();
        iter.seek_for_prev(&key(self.keys.start - 1));
        self.walk(&mut iter, DbIterator::prev, (0..self.keys.start).rev().collect());
        iter.status().unwrap();
        for number in self.keys.clone() {
            for forwards in [true, false] {
                match forwards {
                    true => iter.seek(key(number)),
                    false => iter.seek_for_prev(key(number)),
                }
                assert!(!iter.valid());
                self.is_told(&iter.status().unwrap_err());
            }
        }
    }

    fn walk(&self, iter: &mut DbIterator, step: fn(&mut DbIterator), expected: Vec<u32>) {
        for number in expected {
            assert!(iter.valid(), "{number}: {:?}", iter.status());
            assert_eq!((iter.key(), iter.value()), (&key(number)[..], &value(number)[..]));
            step(iter);
        }
        assert!(!iter.valid());
    }

    /// Checks that no key of the bad block is in the cache, and some other keys are.
    fn is_not_cached(&self, db: &Db) {
        let read = ReadOptions {
            read_tier: ReadTier::BlockCache,
            ..ReadOptions::default()
        };
        let family = db.default_column_family();
        let cached = |number: &u32| match db.get_cf_opt(&family, key(*number), &read) {
            Ok(found) => {
                assert_eq!(found, Some(value(*number)));
                true
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Incomplete, "{number}: {error}");
                false
            }
        };
        let cached: BTreeSet<u32> = (0..KEYS).filter(cached).collect();
        assert!(!cached.is_empty());
        let bad: Vec<&u32> = cached.range(self.keys.clone()).collect();
        assert!(bad.is_empty(), "{bad:?}");
    }
}

fn cache_of(cache_type: CacheType, capacity: usize) -> Arc<BlockCache> {
    Cache::new(CacheOptions {
        capacity,
        cache_type,
        num_shard_bits: 0,
        ..CacheOptions::default()
    })
}

#[test]
fn a_bad_block_is_told_to_those_who_need_it_and_never_cached() {
    let damaged = Damaged::new();
    let lru = Some(cache_of(CacheType::Lru, 4 << 20));
    let clock = Some(cache_of(CacheType::HyperClock, 4 << 20));
    for way in [Way::Pread, Way::Mapped, Way::Direct] {
        for cache in [&None, &lru, &clock] {
            let Some(db) = damaged.open(way, cache) else {
                continue;
            };
            for async_io in [false, true] {
                for readahead_size in [0, 16 << 10] {
                    let read = ReadOptions {
                        async_io,
                        readahead_size,
                        ..ReadOptions::default()
                    };
                    damaged.check_all(&db, &read);
                }
            }
            if cache.is_some() && !matches!(way, Way::Mapped) {
                damaged.is_not_cached(&db);
            }
        }
    }
}

/// A read that does not verify leaves no block in the cache that verifying reads trust.
#[test]
fn a_block_that_nobody_verified_is_verified_by_the_first_who_asks() {
    let damaged = Damaged::new();
    for cache_type in [CacheType::Lru, CacheType::HyperClock] {
        for way in [Way::Pread, Way::Mapped, Way::Direct] {
            for (async_io, fill_cache) in [(false, true), (true, true), (false, false)] {
                let cache = Some(cache_of(cache_type, 4 << 20));
                let Some(db) = damaged.open(way, &cache) else {
                    continue;
                };
                let family = db.default_column_family();
                let unverified = ReadOptions {
                    verify_checksums: false,
                    fill_cache,
                    async_io,
                    ..ReadOptions::default()
                };
                // The test tries each way of reading as the first one, when no read has verified the block
                // yet.
                let middle = KEYS / 2;
                let found = [
                    db.get_cf_opt(&family, key(middle), &unverified),
                    db.multi_get_cf_opt(&family, &[key(1), key(middle)], &unverified)
                        .remove(1),
                    {
                        let mut iter = db.iter_opt(&unverified);
                        iter.seek(&key(middle));
                        let status = iter.status();
                        status.map(|()| iter.valid().then(|| iter.value().to_vec()))
                    },
                ];
                for found in found {
                    // An unverified read may return a wrong value of the damaged block.
                    assert_ne!(found.unwrap(), Some(value(middle)));
                }
                damaged.check_all(&db, &ReadOptions::default());
                if !matches!(way, Way::Mapped) {
                    damaged.is_not_cached(&db);
                }
            }
        }
    }
}

/// A verifying read that finds an unverified block in the cache reads the whole block from the file, once.
#[test]
fn an_unverified_block_is_read_again_once() {
    let damaged = Damaged::new();
    let middle = KEYS / 2;
    for cache_type in [CacheType::Lru, CacheType::HyperClock] {
        let cache = Some(cache_of(cache_type, 4 << 20));
        let mut options = options(Way::Pread, &cache);
        let statistics = Statistics::new();
        options.statistics = Some(statistics.clone());
        let db = Db::open_read_only(&options, damaged.dir.path()).unwrap();
        let family = db.default_column_family();
        let unverified = ReadOptions {
            verify_checksums: false,
            ..ReadOptions::default()
        };
        let get = |read: &ReadOptions| {
            statistics.reset();
            let found = db.get_cf_opt(&family, key(middle), read).unwrap().unwrap();
            let reads = statistics.get_ticker_count(Ticker::BlockCacheDataMiss);
            (found == value(middle), reads)
        };
        assert_eq!(get(&unverified), (false, 1));
        assert_eq!(get(&unverified), (false, 0), "it is in the cache");
        damaged.heal(true);
        assert_eq!(get(&unverified), (false, 0));
        assert_eq!(get(&ReadOptions::default()), (true, 1), "the file is read");
        assert_eq!(
            get(&ReadOptions::default()),
            (true, 0),
            "the other is in its place"
        );
        assert_eq!(get(&unverified), (true, 0));
        damaged.heal(false);
    }
}

#[test]
fn a_cache_smaller_than_a_block_still_reads() {
    let damaged = Damaged::new();
    for cache_type in [CacheType::Lru, CacheType::HyperClock] {
        for capacity in [0, 1, 300] {
            for strict_capacity_limit in [false, true] {
                let cache = Cache::new(CacheOptions {
                    capacity,
                    cache_type,
                    strict_capacity_limit,
                    num_shard_bits: 0,
                    ..CacheOptions::default()
                });
                for parts in [false, true] {
                    let mut options = options(Way::Pread, &Some(cache.clone()));
                    options.column_family.table.cache_index_and_filter_blocks = parts;
                    let db = Db::open_read_only(&options, damaged.dir.path()).unwrap();
                    damaged.check_all(&db, &ReadOptions::default());
                    // No block is pinned any more.
                    assert!(cache.usage() <= capacity, "{} of {capacity}", cache.usage());
                }
            }
        }
    }
}

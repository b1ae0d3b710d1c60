//! The two engines, opened for versions of keys: with the same sizes, one order of versions, Bloom filters
//! over keys without them, and two background jobs.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use mvcc::{BatchOptions, CompactionGc, MvccStore};

/// The settings that both engines have in common.
pub struct Settings<'a> {
    /// The directory of the files; `None`: memory.
    pub dir: Option<&'a Path>,
    /// The size of a memtable in bytes.
    pub write_buffer_size: usize,
    /// The size of the block cache in bytes.
    pub cache_size: usize,
    /// Compresses blocks with LZ4.
    pub lz4: bool,
}

/// Everything stays in memory: the files, and the memtable, which is not flushed.
pub const IN_MEMORY: Settings<'static> = Settings {
    dir: None,
    write_buffer_size: 1 << 30,
    cache_size: 1 << 30,
    lz4: false,
};

/// The path of a database in memory.
const NOWHERE: &str = "/db";

/// Esker with a family of its MVCC layer, whose compactions drop collected versions.
pub struct Esker {
    pub db: esker::Db,
    pub gc: CompactionGc,
}

impl Esker {
    pub fn open(settings: &Settings<'_>) -> Esker {
        let gc = CompactionGc::new();
        let mut options = esker::Options {
            create_if_missing: true,
            ..esker::Options::default()
        };
        if settings.dir.is_none() {
            options.fs = Arc::new(vfs::MemFs::new());
        }
        let family = &mut options.column_family;
        mvcc::configure(family);
        gc.configure(family);
        if !settings.lz4 {
            family.compression = esker::CompressionType::None;
        }
        family.write_buffer_size = settings.write_buffer_size as u64;
        family.table.filter_policy = esker::FilterPolicy::Bloom(10.0);
        family.table.block_cache = Some(esker::Cache::lru(esker::CacheOptions {
            capacity: settings.cache_size,
            ..esker::CacheOptions::default()
        }));
        let dir = settings.dir.unwrap_or(Path::new(NOWHERE));
        Esker {
            db: esker::Db::open(&options, dir).expect("open esker"),
            gc,
        }
    }

    /// Returns the MVCC layer over the database, with exact statistics as of `now` nanoseconds.
    pub fn store(&self, now: i64) -> Result<MvccStore, String> {
        let (family, gc) = (self.db.default_column_family(), self.gc.clone());
        MvccStore::open_with_compactions(&self.db, &family, BatchOptions::default(), now, Some(gc))
            .map_err(|error| error.to_string())
    }

    /// Flushes, and compacts everything into one level.
    pub fn compact(&self) {
        let family = self.db.default_column_family();
        self.db.flush().expect("flush");
        self.db.compact_range_cf(&family, None, None).expect("compact");
    }

    pub fn property(&self, name: &str) -> u64 {
        let family = self.db.default_column_family();
        self.db.property_int(&family, name).expect("a property")
    }
}

/// RocksDB, whose user-defined timestamps are the versions.
pub struct RocksDb(pub rocksdb::DB);

impl RocksDb {
    pub fn open(settings: &Settings<'_>) -> RocksDb {
        // The comparator is RocksDB's own: with a comparator in Rust each comparison would be a callback.
        let mut options = rocksdb::Options::default()
            .get_options_from_string("comparator=leveldb.BytewiseComparator.u64ts")
            .expect("an order");
        options.create_if_missing(true);
        if settings.dir.is_none() {
            options.set_env(&rocksdb::Env::mem_env().expect("an environment in memory"));
        }
        options.set_compression_type(match settings.lz4 {
            true => rocksdb::DBCompressionType::Lz4,
            false => rocksdb::DBCompressionType::None,
        });
        options.set_write_buffer_size(settings.write_buffer_size);
        options.set_max_background_jobs(2);
        let mut table = rocksdb::BlockBasedOptions::default();
        table.set_bloom_filter(10.0, false);
        table.set_block_cache(&rocksdb::Cache::new_lru_cache(settings.cache_size));
        options.set_block_based_table_factory(&table);
        let family = rocksdb::ColumnFamilyDescriptor::new("default", options.clone());
        let dir = settings.dir.unwrap_or(Path::new(NOWHERE));
        RocksDb(rocksdb::DB::open_cf_descriptors(&options, dir, [family]).expect("open rocksdb"))
    }

    pub fn family(&self) -> &rocksdb::ColumnFamily {
        self.0.cf_handle("default").expect("the default family")
    }

    /// Reads up to `most` keys from `start` on, as of `time`; returns their number.
    pub fn scan(&self, start: &[u8], time: u64, most: usize) -> usize {
        // An iterator keeps its options.
        let mut read = rocksdb::ReadOptions::default();
        read.set_timestamp(time.to_le_bytes());
        let mut iterator = self.0.raw_iterator_opt(read);
        iterator.seek(start);
        // The rows are returned in the same form as Esker's: copied one after the other.
        let (mut rows, mut found) = (Vec::new(), 0);
        while found < most
            && let Some((key, value)) = iterator.item()
        {
            rows.extend_from_slice(key);
            rows.extend_from_slice(value);
            found += 1;
            iterator.next();
        }
        iterator.status().expect("scan");
        black_box(rows);
        found
    }

    /// Flushes, and compacts everything into one level.
    pub fn compact(&self) {
        self.0.flush().expect("flush");
        self.0.compact_range(None::<&[u8]>, None::<&[u8]>);
    }

    /// Removes everything older than `low`, except the newest version of each key: later reads may not be as
    /// of an earlier time, and everything is compacted. Otherwise bottommost versions would stay.
    pub fn collect_below(&self, low: u64) -> Result<(), String> {
        self.0
            .increase_full_history_ts_low(self.family(), low.to_le_bytes())
            .map_err(|error| error.to_string())?;
        let mut options = rocksdb::CompactOptions::default();
        options.set_bottommost_level_compaction(rocksdb::BottommostLevelCompaction::Force);
        self.0.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &options);
        Ok(())
    }

    pub fn property(&self, name: &str) -> u64 {
        let value = self.0.property_int_value(name);
        value.ok().flatten().expect("a property")
    }
}

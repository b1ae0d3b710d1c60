//! What is compared: the few operations the workloads need, over each engine, with the same settings.

use std::path::Path;
use std::sync::Arc;

/// Settings both engines get.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Bytes of block cache.
    pub cache_size: usize,
    /// Bytes of a memtable.
    pub write_buffer_size: usize,
    /// Compress blocks with LZ4.
    pub lz4: bool,
    /// Bits a key of the Bloom filters.
    pub bloom_bits: f64,
}

/// An engine, opened.
pub trait Engine: Sized {
    /// Its name in the report.
    const NAME: &'static str;
    /// Walks keys.
    type Cursor<'a>: Cursor
    where
        Self: 'a;

    fn open(dir: &Path, settings: &Settings) -> Self;
    fn put(&self, key: &[u8], value: &[u8]);
    /// Length of the value, looked at without a copy where the engine can.
    fn get(&self, key: &[u8]) -> Option<usize>;
    fn cursor(&self) -> Self::Cursor<'_>;
    fn flush(&self);
    fn compact(&self);
    /// Returns when background work has nothing left to do.
    fn settle(&self);
    /// Files a level.
    fn levels(&self) -> String;
}

/// An iterator of an engine.
pub trait Cursor {
    fn seek_to_first(&mut self);
    fn seek_to_last(&mut self);
    fn seek(&mut self, key: &[u8]);
    fn next(&mut self);
    fn prev(&mut self);
    /// Lengths of key and value, or `None` at the end.
    fn entry(&self) -> Option<usize>;
}

/// Esker.
pub struct Esker(esker::Db, esker::ColumnFamily);

impl Engine for Esker {
    const NAME: &'static str = "esker";
    type Cursor<'a> = esker::DbIterator;

    fn open(dir: &Path, settings: &Settings) -> Esker {
        let cache = esker::Cache::lru(esker::CacheOptions {
            capacity: settings.cache_size,
            ..Default::default()
        });
        let table = esker::BlockBasedOptions {
            filter_policy: esker::FilterPolicy::Bloom(settings.bloom_bits),
            block_cache: Some(cache),
            ..Default::default()
        };
        let column_family = esker::ColumnFamilyOptions {
            write_buffer_size: settings.write_buffer_size as u64,
            compression: if settings.lz4 {
                esker::CompressionType::Lz4
            } else {
                esker::CompressionType::None
            },
            table,
            ..Default::default()
        };
        let options = esker::Options {
            create_if_missing: true,
            column_family,
            ..Default::default()
        };
        let db = esker::Db::open(&options, dir).expect("open esker");
        let family = db.default_column_family();
        Esker(db, family)
    }

    fn put(&self, key: &[u8], value: &[u8]) {
        self.0.put(key, value).expect("put");
    }

    fn get(&self, key: &[u8]) -> Option<usize> {
        let options = esker::ReadOptions::default();
        self.0
            .get_pinned(&options, &self.1, key)
            .expect("get")
            .map(|value| value.len())
    }

    fn cursor(&self) -> esker::DbIterator {
        self.0.iter(&esker::ReadOptions::default())
    }

    fn flush(&self) {
        self.0.flush(&esker::FlushOptions::default()).expect("flush");
    }

    fn compact(&self) {
        let options = esker::CompactRangeOptions {
            bottommost_level_compaction: esker::BottommostLevelCompaction::Force,
            ..Default::default()
        };
        self.0
            .compact_range(&self.1, &options, None, None)
            .expect("compact");
    }

    fn settle(&self) {
        self.0.wait_for_compact().expect("settle");
    }

    fn levels(&self) -> String {
        self.0.property(&self.1, "rocksdb.levelstats").unwrap_or_default()
    }
}

impl Cursor for esker::DbIterator {
    fn seek_to_first(&mut self) {
        esker::DbIterator::seek_to_first(self);
    }
    fn seek_to_last(&mut self) {
        esker::DbIterator::seek_to_last(self);
    }
    fn seek(&mut self, key: &[u8]) {
        esker::DbIterator::seek(self, key);
    }
    fn next(&mut self) {
        esker::DbIterator::next(self);
    }
    fn prev(&mut self) {
        esker::DbIterator::prev(self);
    }
    fn entry(&self) -> Option<usize> {
        self.valid().then(|| self.key().len() + self.value().len())
    }
}

/// RocksDB, through the crate `rocksdb`.
pub struct RocksDb(Arc<rocksdb::DB>);

impl Engine for RocksDb {
    const NAME: &'static str = "rocksdb";
    type Cursor<'a> = rocksdb::DBRawIterator<'a>;

    fn open(dir: &Path, settings: &Settings) -> RocksDb {
        let mut table = rocksdb::BlockBasedOptions::default();
        table.set_bloom_filter(settings.bloom_bits, false);
        table.set_block_cache(&rocksdb::Cache::new_hyper_clock_cache(settings.cache_size, 0));
        let mut options = rocksdb::Options::default();
        options.create_if_missing(true);
        options.set_write_buffer_size(settings.write_buffer_size);
        options.set_compression_type(if settings.lz4 {
            rocksdb::DBCompressionType::Lz4
        } else {
            rocksdb::DBCompressionType::None
        });
        options.set_block_based_table_factory(&table);
        RocksDb(Arc::new(rocksdb::DB::open(&options, dir).expect("open rocksdb")))
    }

    fn put(&self, key: &[u8], value: &[u8]) {
        self.0.put(key, value).expect("put");
    }

    fn get(&self, key: &[u8]) -> Option<usize> {
        self.0.get_pinned(key).expect("get").map(|value| value.len())
    }

    fn cursor(&self) -> rocksdb::DBRawIterator<'_> {
        self.0.raw_iterator()
    }

    fn flush(&self) {
        self.0.flush().expect("flush");
    }

    fn compact(&self) {
        let mut options = rocksdb::CompactOptions::default();
        options.set_bottommost_level_compaction(rocksdb::BottommostLevelCompaction::Force);
        self.0.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &options);
    }

    fn settle(&self) {
        self.0
            .wait_for_compact(&rocksdb::WaitForCompactOptions::default())
            .expect("settle");
    }

    fn levels(&self) -> String {
        self.0
            .property_value("rocksdb.levelstats")
            .ok()
            .flatten()
            .unwrap_or_default()
    }
}

impl Cursor for rocksdb::DBRawIterator<'_> {
    fn seek_to_first(&mut self) {
        rocksdb::DBRawIterator::seek_to_first(self);
    }
    fn seek_to_last(&mut self) {
        rocksdb::DBRawIterator::seek_to_last(self);
    }
    fn seek(&mut self, key: &[u8]) {
        rocksdb::DBRawIterator::seek(self, key);
    }
    fn next(&mut self) {
        rocksdb::DBRawIterator::next(self);
    }
    fn prev(&mut self) {
        rocksdb::DBRawIterator::prev(self);
    }
    fn entry(&self) -> Option<usize> {
        Some(self.key()?.len() + self.value()?.len())
    }
}

//! RocksDB, through the crate `rocksdb`: with its defaults, and with settings of an expert.

use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use bench_worker::data::KEY_SIZE;
use bench_worker::engine::{Engine, Kind, Row, Scan, Settings, Walked};
use bench_worker::transaction::{Control, Transactions};
use bench_worker::worker;

/// RocksDB's defaults, except the size of cache and memtable: no filters, LRU cache.
pub struct RocksDbDefault(RocksDb);

/// HyperClockCache, Bloom filters, LZ4, a hash index in data blocks, the best search of index blocks, two
/// background jobs.
pub struct RocksDbTuned(RocksDb);

struct RocksDb {
    db: rocksdb::DB,
    write: rocksdb::WriteOptions,
}

impl RocksDb {
    fn open(dir: &Path, settings: &Settings, options: rocksdb::Options) -> RocksDb {
        let options = common(settings, options);
        let family = rocksdb::ColumnFamilyDescriptor::new("default", options.clone());
        RocksDb {
            db: rocksdb::DB::open_cf_descriptors(&options, dir, [family]).expect("open rocksdb"),
            write: write_options(settings),
        }
    }

    fn put(&self, key: &[u8], value: &[u8]) {
        self.db.put_opt(key, value, &self.write).expect("put");
    }

    fn put_all(&self, rows: &[Row<'_>]) {
        let mut batch = rocksdb::WriteBatch::default();
        for (key, value) in rows {
            batch.put(key, value);
        }
        self.db.write_opt(batch, &self.write).expect("put");
    }

    fn get(&self, key: &[u8]) -> Option<usize> {
        self.db.get_pinned(key).expect("get").map(|value| value.len())
    }

    fn multi_get(&self, keys: &[[u8; KEY_SIZE]]) -> u64 {
        let values = self.db.batched_multi_get_cf(self.family(), keys, false);
        let found = values.iter().filter(|value| {
            let value = value.as_ref().expect("multi_get");
            black_box(value.as_ref().map(|value| value.len())).is_some()
        });
        found.count() as u64
    }

    fn delete_range(&self, from: &[u8], to: &[u8]) {
        self.db
            .delete_range_cf(self.family(), from, to)
            .expect("delete range");
    }

    fn family(&self) -> &rocksdb::ColumnFamily {
        self.db.cf_handle("default").expect("the default family")
    }

    fn scan(&self, scan: Scan<'_>, most: u64) -> Walked {
        let mut iterator = self.db.raw_iterator();
        match scan {
            Scan::Forward => iterator.seek_to_first(),
            Scan::Backward => iterator.seek_to_last(),
            Scan::From(key) => iterator.seek(key),
            Scan::BackFrom(key) => iterator.seek_for_prev(key),
        }
        let mut walked = Walked::default();
        while walked.entries < most
            && let Some((key, value)) = iterator.item()
        {
            walked.take(key, value);
            match scan {
                Scan::Backward | Scan::BackFrom(_) => iterator.prev(),
                _ => iterator.next(),
            }
        }
        iterator.status().expect("scan");
        walked
    }

    fn compact(&self) {
        let mut options = rocksdb::CompactOptions::default();
        options.set_bottommost_level_compaction(rocksdb::BottommostLevelCompaction::Force);
        self.db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &options);
    }

    fn settle(&self) {
        self.db
            .wait_for_compact(&rocksdb::WaitForCompactOptions::default())
            .expect("settle");
    }

    fn write_amplification(&self) -> Option<f64> {
        let stats = self.db.property_value("rocksdb.stats").ok().flatten()?;
        paired::write_amplification(&stats)
    }

    fn live_file_bytes(&self) -> Option<u64> {
        let bytes = self.db.property_int_value("rocksdb.live-sst-files-size");
        bytes.ok().flatten()
    }
}

/// `options` with the settings of all engines.
fn common(settings: &Settings, mut options: rocksdb::Options) -> rocksdb::Options {
    options.create_if_missing(true);
    options.set_use_direct_reads(settings.direct);
    options.set_allow_mmap_reads(settings.mmap);
    options.set_write_buffer_size(settings.write_buffer_size);
    options.set_disable_auto_compactions(settings.disable_auto_compactions);
    if settings.block_align {
        options = options
            .get_options_from_string(ALIGNED)
            .expect("options of this release");
    }
    options
}

fn write_options(settings: &Settings) -> rocksdb::WriteOptions {
    let mut write = rocksdb::WriteOptions::default();
    write.set_sync(settings.sync);
    write
}

/// Transactions with locks.
struct Locked {
    db: rocksdb::TransactionDB,
    write: rocksdb::WriteOptions,
    prepares: bool,
    last: AtomicU64,
}

/// Optimistic transactions, without locks.
struct Optimistic {
    db: rocksdb::OptimisticTransactionDB,
    write: rocksdb::WriteOptions,
}

/// Changes the rows in a transaction.
fn change<DB>(
    transaction: &rocksdb::Transaction<'_, DB>,
    keys: &[[u8; KEY_SIZE]],
    value: &[u8],
) -> Result<(), rocksdb::Error> {
    for key in keys {
        black_box(transaction.get_pinned_for_update(key, true)?);
        transaction.put(key, value)?;
    }
    Ok(())
}

/// True if the operation of a transaction succeeded, false on a conflict.
fn is_done(done: Result<(), rocksdb::Error>) -> bool {
    use rocksdb::ErrorKind::{Busy, TimedOut, TryAgain};
    match done {
        Ok(()) => true,
        Err(error) if matches!(error.kind(), Busy | TimedOut | TryAgain) => false,
        Err(error) => panic!("a transaction: {error}"),
    }
}

impl Transactions for Locked {
    fn change(&self, keys: &[[u8; KEY_SIZE]], value: &[u8]) -> bool {
        let options = rocksdb::TransactionOptions::default();
        let transaction = self.db.transaction_opt(&self.write, &options);
        let prepare = || {
            let name = self.last.fetch_add(1, Ordering::Relaxed).to_be_bytes();
            transaction.set_name(&name)?;
            transaction.prepare()
        };
        let changed = change(&transaction, keys, value);
        let prepared = changed.and_then(|()| match self.prepares {
            true => prepare(),
            false => Ok(()),
        });
        is_done(prepared.and_then(|()| transaction.commit()))
    }
}

impl Transactions for Optimistic {
    fn change(&self, keys: &[[u8; KEY_SIZE]], value: &[u8]) -> bool {
        let options = rocksdb::OptimisticTransactionOptions::default();
        let transaction = self.db.transaction_opt(&self.write, &options);
        is_done(change(&transaction, keys, value).and_then(|()| transaction.commit()))
    }
}

fn transactions(
    dir: &Path,
    settings: &Settings,
    control: Control,
    options: rocksdb::Options,
) -> Box<dyn Transactions> {
    let options = common(settings, options);
    let write = write_options(settings);
    match control {
        Control::Optimistic => Box::new(Optimistic {
            db: rocksdb::OptimisticTransactionDB::open(&options, dir).expect("open rocksdb"),
            write,
        }),
        Control::Locks | Control::TwoPhases => Box::new(Locked {
            db: rocksdb::TransactionDB::open(&options, &rocksdb::TransactionDBOptions::default(), dir)
                .expect("open rocksdb"),
            write,
            prepares: control == Control::TwoPhases,
            last: AtomicU64::new(0),
        }),
    }
}

fn default(settings: &Settings) -> rocksdb::Options {
    let mut table = rocksdb::BlockBasedOptions::default();
    table.set_block_cache(&rocksdb::Cache::new_lru_cache(settings.cache_size));
    let mut options = rocksdb::Options::default();
    if !settings.lz4 {
        options.set_compression_type(rocksdb::DBCompressionType::None);
    }
    options.set_block_based_table_factory(&table);
    options
}

/// The option `block_align`, for which the crate `rocksdb` has no setter.
const ALIGNED: &str = "block_based_table_factory={block_align=true}";
/// An option without a setter in the crate `rocksdb`: index blocks are searched by interpolation if their
/// keys are spread evenly.
const TUNED: &str = "block_based_table_factory={index_block_search_type=kAuto;uniform_cv_threshold=0.2}";

fn tuned(settings: &Settings) -> rocksdb::Options {
    let mut table = rocksdb::BlockBasedOptions::default();
    table.set_block_cache(&rocksdb::Cache::new_hyper_clock_cache(settings.cache_size, 0));
    table.set_bloom_filter(settings.bloom_bits, false);
    table.set_data_block_index_type(rocksdb::DataBlockIndexType::BinaryAndHash);
    table.set_data_block_hash_ratio(0.75);
    let mut options = rocksdb::Options::default();
    options.set_compression_type(if settings.lz4 {
        rocksdb::DBCompressionType::Lz4
    } else {
        rocksdb::DBCompressionType::None
    });
    options.set_max_background_jobs(2);
    options.set_level_compaction_dynamic_level_bytes(true);
    options.set_block_based_table_factory(&table);
    options
        .get_options_from_string(TUNED)
        .expect("options of this release")
}

macro_rules! engine {
    ($name:ident, $options:path) => {
        impl Engine for $name {
            fn open(dir: &Path, settings: &Settings) -> $name {
                $name(RocksDb::open(dir, settings, $options(settings)))
            }
            fn transactions(
                dir: &Path,
                settings: &Settings,
                control: Control,
            ) -> Option<Box<dyn Transactions>> {
                Some(transactions(dir, settings, control, $options(settings)))
            }
            fn put(&self, key: &[u8], value: &[u8]) {
                self.0.put(key, value);
            }
            fn put_all(&self, rows: &[Row<'_>]) {
                self.0.put_all(rows);
            }
            fn get(&self, key: &[u8]) -> Option<usize> {
                self.0.get(key)
            }
            fn multi_get(&self, keys: &[[u8; KEY_SIZE]]) -> u64 {
                self.0.multi_get(keys)
            }
            fn delete_range(&self, from: &[u8], to: &[u8]) {
                self.0.delete_range(from, to);
            }
            fn scan(&self, scan: Scan<'_>, most: u64) -> Walked {
                self.0.scan(scan, most)
            }
            fn flush(&self) {
                self.0.db.flush().expect("flush");
            }
            fn compact(&self) {
                self.0.compact();
            }
            fn settle(&self) {
                self.0.settle();
            }
            fn write_amplification(&self) -> Option<f64> {
                self.0.write_amplification()
            }
            fn live_file_bytes(&self) -> Option<u64> {
                self.0.live_file_bytes()
            }
        }
    };
}
engine!(RocksDbDefault, default);
engine!(RocksDbTuned, tuned);

fn main() -> ExitCode {
    worker::main(|kind| match kind {
        Kind::RocksDbTuned => Some(worker::run::<RocksDbTuned>),
        Kind::RocksDbDefault => Some(worker::run::<RocksDbDefault>),
        _ => None,
    })
}

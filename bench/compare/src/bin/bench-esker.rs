//! The benchmark program that runs workloads over Esker.

use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use bench_worker::data::KEY_SIZE;
use bench_worker::engine::{Engine, Kind, Row, Scan, Settings, Walked};
use bench_worker::transaction::{Control, Transactions};
use bench_worker::worker;

/// Esker with its defaults, except the common settings.
pub struct Esker {
    db: esker::Db,
    family: esker::ColumnFamily,
    write: esker::WriteOptions,
}

/// The options of the settings.
fn options(settings: &Settings) -> esker::Options {
    let cache = esker::Cache::lru(esker::CacheOptions {
        capacity: settings.cache_size,
        ..Default::default()
    });
    let table = esker::BlockBasedOptions {
        filter_policy: esker::FilterPolicy::Bloom(settings.bloom_bits),
        block_cache: Some(cache),
        block_align: settings.block_align,
        ..Default::default()
    };
    let column_family = esker::ColumnFamilyOptions {
        write_buffer_size: settings.write_buffer_size as u64,
        disable_auto_compactions: settings.disable_auto_compactions,
        compression: if settings.lz4 {
            esker::CompressionType::Lz4
        } else {
            esker::CompressionType::None
        },
        table,
        ..Default::default()
    };
    esker::Options {
        create_if_missing: true,
        use_direct_reads: settings.direct,
        allow_mmap_reads: settings.mmap,
        column_family,
        ..Default::default()
    }
}

/// Transactions of either kind.
enum Transactional {
    Locked {
        db: txn::TransactionDB,
        prepares: bool,
        last: AtomicU64,
    },
    Optimistic(txn::OptimisticTransactionDB),
}

impl Transactional {
    fn begin(&self, write: &esker::WriteOptions) -> esker::Result<txn::Transaction> {
        match self {
            Transactional::Locked { db, prepares, last } => {
                let mut transaction = db.begin_transaction(write, &txn::TransactionOptions::default());
                if *prepares {
                    transaction.set_name(&last.fetch_add(1, Ordering::Relaxed).to_be_bytes())?;
                }
                Ok(transaction)
            }
            Transactional::Optimistic(db) => {
                Ok(db.begin_transaction(write, &txn::OptimisticTransactionOptions::default()))
            }
        }
    }

    fn change(
        &self,
        write: &esker::WriteOptions,
        keys: &[[u8; KEY_SIZE]],
        value: &[u8],
    ) -> esker::Result<()> {
        let db = match self {
            Transactional::Locked { db, .. } => db.db(),
            Transactional::Optimistic(db) => db.db(),
        };
        let family = db.default_column_family();
        let mut transaction = self.begin(write)?;
        let read = esker::ReadOptions::default();
        for key in keys {
            black_box(transaction.get_for_update_cf_opt(&family, key, true, true, &read)?);
            transaction.put_cf(&family, key, value)?;
        }
        if matches!(self, Transactional::Locked { prepares: true, .. }) {
            transaction.prepare()?;
        }
        transaction.commit()
    }
}

/// The kind of the database's transactions.
struct EskerTransactions {
    transactions: Transactional,
    write: esker::WriteOptions,
}

impl Transactions for EskerTransactions {
    fn change(&self, keys: &[[u8; KEY_SIZE]], value: &[u8]) -> bool {
        use esker::ErrorKind::{Busy, TimedOut};
        match self.transactions.change(&self.write, keys, value) {
            Ok(()) => true,
            Err(error) if matches!(error.kind(), Busy | TimedOut) => false,
            Err(error) => panic!("a transaction: {error}"),
        }
    }
}

impl Engine for Esker {
    fn open(dir: &Path, settings: &Settings) -> Esker {
        let options = options(settings);
        let db = esker::Db::open(&options, dir).expect("open esker");
        Esker {
            family: db.default_column_family(),
            db,
            write: esker::WriteOptions {
                sync: settings.sync,
                ..Default::default()
            },
        }
    }

    fn transactions(dir: &Path, settings: &Settings, control: Control) -> Option<Box<dyn Transactions>> {
        let options = options(settings);
        let transactions = match control {
            Control::Optimistic => Transactional::Optimistic(
                txn::OptimisticTransactionDB::open(&options, dir).expect("open esker"),
            ),
            Control::Locks | Control::TwoPhases => Transactional::Locked {
                db: txn::TransactionDB::open(&options, &txn::TransactionDBOptions::default(), dir)
                    .expect("open esker"),
                prepares: control == Control::TwoPhases,
                last: AtomicU64::new(0),
            },
        };
        Some(Box::new(EskerTransactions {
            transactions,
            write: esker::WriteOptions {
                sync: settings.sync,
                ..Default::default()
            },
        }))
    }

    fn put(&self, key: &[u8], value: &[u8]) {
        self.db
            .put_cf_opt(&self.family, key, value, &self.write)
            .expect("put");
    }

    fn put_all(&self, rows: &[Row<'_>]) {
        let mut batch = esker::WriteBatch::new();
        for (key, value) in rows {
            batch.put(key, value);
        }
        self.db.write_opt(batch, &self.write).expect("put");
    }

    fn get(&self, key: &[u8]) -> Option<usize> {
        let options = esker::ReadOptions::default();
        let value = self
            .db
            .get_pinned_cf_opt(&self.family, key, &options)
            .expect("get");
        value.map(|value| value.len())
    }

    fn multi_get(&self, keys: &[[u8; KEY_SIZE]]) -> u64 {
        let options = esker::ReadOptions::default();
        let values = self.db.multi_get_pinned_cf_opt(&self.family, keys, &options);
        let found = values.iter().filter(|value| {
            let value = value.as_ref().expect("multi_get");
            black_box(value.as_ref().map(|value| value.len())).is_some()
        });
        found.count() as u64
    }

    fn delete_range(&self, from: &[u8], to: &[u8]) {
        self.db
            .delete_range_cf_opt(&self.family, from, to, &self.write)
            .expect("delete range");
    }

    fn scan(&self, scan: Scan<'_>, most: u64) -> Walked {
        let mut iterator = self.db.iter();
        match scan {
            Scan::Forward => iterator.seek_to_first(),
            Scan::Backward => iterator.seek_to_last(),
            Scan::From(key) => iterator.seek(key),
            Scan::BackFrom(key) => iterator.seek_for_prev(key),
        }
        let mut walked = Walked::default();
        while walked.entries < most && iterator.valid() {
            walked.take(iterator.key(), iterator.value());
            match scan {
                Scan::Backward | Scan::BackFrom(_) => iterator.prev(),
                _ => iterator.next(),
            }
        }
        iterator.status().expect("scan");
        walked
    }

    fn flush(&self) {
        self.db.flush().expect("flush");
    }

    fn compact(&self) {
        let options = esker::CompactRangeOptions {
            bottommost_level_compaction: esker::BottommostLevelCompaction::Force,
            ..Default::default()
        };
        self.db
            .compact_range_cf_opt(&self.family, None, None, &options)
            .expect("compact");
    }

    fn settle(&self) {
        self.db.wait_for_compact().expect("settle");
    }

    fn write_amplification(&self) -> Option<f64> {
        paired::write_amplification(&self.db.property(&self.family, "rocksdb.stats")?)
    }

    fn live_file_bytes(&self) -> Option<u64> {
        self.db.property_int(&self.family, "rocksdb.live-sst-files-size")
    }
}

fn main() -> ExitCode {
    worker::main(|kind| match kind {
        Kind::Esker => Some(worker::run::<Esker>),
        _ => None,
    })
}

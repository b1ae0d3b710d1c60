//! The names and types of the [`rocksdb`](https://crates.io/crates/rocksdb) crate, 0.25 and 0.24, over
//! [Esker](esker): a Rust program drops C++ by one line of its `Cargo.toml`.
//!
//! ```toml
//! [dependencies]
//! rocksdb = { package = "esker-rocksdb", version = "0.1" }
//! ```
//!
//! ```
//! use esker_rocksdb::{DB, Options};
//!
//! # let dir = tempfile::tempdir().unwrap();
//! # let path = dir.path().join("db");
//! let db = DB::open_default(&path).unwrap();
//! db.put(b"my key", b"my value").unwrap();
//! assert_eq!(db.get(b"my key").unwrap().unwrap(), b"my value");
//! db.delete(b"my key").unwrap();
//! drop(db);
//! DB::destroy(&Options::default(), &path).unwrap();
//! ```
//!
//! Databases are RocksDB's: each opens those of the other. Options begin with RocksDB's defaults. The crate
//! has no `unsafe` code and requires none. `docs/rust.md` lists the differences and the missing parts.
#![forbid(unsafe_code)]

mod access;
pub mod backup;
mod cache;
pub mod checkpoint;
mod column_family;
pub mod compaction_filter;
pub mod compaction_filter_factory;
mod comparator;
mod db;
mod engine_reads;
mod env;
mod error;
mod iter_range;
mod iterator;
mod logger;
pub mod merge_operator;
mod name;
mod option_objects;
mod option_types;
mod options;
pub mod perf;
mod pinnable_slice;
mod presets;
pub mod properties;
mod read_methods;
mod read_options;
mod slice_transform;
mod snapshot;
mod sst_file_writer;
pub mod statistics;
mod table_options;
mod transactions;
mod wal_iterator;
mod write_batch;

pub use crate::access::DBAccess;
pub use crate::cache::{Cache, LruCacheOptions, WriteBufferManager};
pub use crate::column_family::{
    AsColumnFamilyRef, BoundColumnFamily, ColumnFamily, ColumnFamilyDescriptor, ColumnFamilyRef,
    ColumnFamilyTtl, DEFAULT_COLUMN_FAMILY_NAME,
};
pub use crate::compaction_filter::Decision as CompactionDecision;
pub use crate::db::{
    ColumnFamilyMetaData, DB, DBCommon, DBIterator, DBRawIterator, DBWithThreadMode, LiveFile, MultiThreaded,
    Range, SingleThreaded, Snapshot, ThreadMode,
};
pub use crate::env::Env;
pub use crate::error::{Error, ErrorKind};
pub use crate::iter_range::{IterateBounds, PrefixRange};
pub use crate::iterator::{DBIteratorWithThreadMode, DBRawIteratorWithThreadMode, Direction, IteratorMode};
pub use crate::logger::InfoLogger;
pub use crate::merge_operator::MergeOperands;
pub use crate::name::CStrLike;
pub use crate::option_types::{
    BlockBasedIndexType, BlockBasedTablePinningTier, BottommostLevelCompaction, ChecksumType, CompactionPri,
    DBCompactionStyle, DBCompressionType, DBPath, DBRecoveryMode, DataBlockIndexType, FifoCompactOptions,
    KeyEncodingType, LogLevel, MemtableFactory, PlainTableFactoryOptions, ReadTier, UniversalCompactOptions,
    UniversalCompactionStopStyle,
};
pub use crate::options::Options;
pub use crate::perf::{PerfContext, PerfMetric, PerfStatsLevel};
pub use crate::pinnable_slice::DBPinnableSlice;
pub use crate::read_options::{
    CompactOptions, FlushOptions, IngestExternalFileOptions, ReadOptions, WaitForCompactOptions, WriteOptions,
};
pub use crate::slice_transform::SliceTransform;
pub use crate::snapshot::SnapshotWithThreadMode;
pub use crate::sst_file_writer::SstFileWriter;
pub use crate::table_options::{BlockBasedOptions, CuckooTableOptions};
pub use crate::transactions::{
    OptimisticTransactionDB, OptimisticTransactionOptions, Transaction, TransactionDB, TransactionDBOptions,
    TransactionOptions,
};
pub use crate::wal_iterator::DBWALIterator;
pub use crate::write_batch::{
    WriteBatch, WriteBatchIterator, WriteBatchIteratorCf, WriteBatchWithTransaction,
};

//! An embedded LSM-tree storage engine that opens and writes RocksDB databases: same files, no C++.
//!
//! ```
//! use esker::{Db, Options, ReadOptions};
//!
//! # let dir = tempfile::tempdir().unwrap();
//! # let path = dir.path().join("db");
//! let options = Options { create_if_missing: true, ..Default::default() };
//! let db = Db::open(&options, &path).unwrap();
//! db.put(b"key", b"value").unwrap();
//! assert_eq!(db.get(b"key").unwrap().as_deref(), Some(&b"value"[..]));
//!
//! let snapshot = db.snapshot();
//! db.delete(b"key").unwrap();
//! let as_it_was = ReadOptions { snapshot: Some(snapshot), ..Default::default() };
//! assert!(db.get_cf_opt(&db.default_column_family(), b"key", &as_it_was).unwrap().is_some());
//! assert!(db.get(b"key").unwrap().is_none());
//! ```
//!
//! # By task
//!
//! | task | start with |
//! |---|---|
//! | open and close | [`Db::open`], [`Options`], [`Db::open_read_only`], [`Db::open_as_secondary`], [`Db::close`] |
//! | write | [`Db::put`], [`Db::delete`], [`Db::merge`], [`Db::delete_range`], [`WriteBatch`] with [`Db::write`], [`WriteOptions`] |
//! | read | [`Db::get`], [`Db::get_pinned`], [`Db::multi_get`], [`ReadOptions`] |
//! | scan | [`Db::range`], [`Db::prefix`], [`Db::iter`] and [`DbIterator`], [`Db::multi_scan`], [`MultiCfIterator`] |
//! | read an earlier state | [`Db::snapshot`], [`Snapshot`] |
//! | use column families | [`Db::create_column_family`], [`ColumnFamily`], [`ColumnFamilyOptions`] |
//! | change behaviour by code | [`MergeOperator`], [`CompactionFilter`], [`Comparator`], [`PrefixExtractor`], [`SstPartitioner`] |
//! | load files | [`SstFileWriter`], [`Db::ingest_external_files`], [`Db::export_column_family`] |
//! | read files alone | [`SstFileReader`] |
//! | let rows expire | [`DbWithTtl`] |
//! | flush and compact | [`Db::flush`], [`Db::compact_range`], [`Db::wait_for_compact`], [`Db::set_options`] |
//! | limit memory and I/O | [`Cache`], [`WriteBufferManager`], [`RateLimiter`], [`ThreadPool`], [`Db::memory`] |
//! | watch | [`Event`] and [`EventListener`], [`Statistics`], [`Db::property`], [`Db::pins`], [`perf`], [`io_stats`] |
//! | copy | [`Db::create_checkpoint`], [`Db::hold_file_deletions`], [`Db::get_updates_since`]; the crate `esker-backup` |
//! | trace and replay | [`Db::start_trace`], [`Replayer`] |
//! | verify and repair | [`Db::verify_checksum`], [`Db::set_verify_rate`], [`Db::resume`], [`Db::repair`] |
//!
//! Transactions are in the crate `esker-txn`, versions of keys in `esker-mvcc`. The examples
//! `column_families`, `merge_counter`, `ttl`, `change_options`, `errors`, `bulk_load` and `secondary`, and
//! `backup` of `esker-backup`, are whole programs.
//!
//! Names, option names and units are RocksDB's. More pages:
//! [how do I ...](https://github.com/esker-db/esker/blob/main/docs/how_do_i.md),
//! [options](https://github.com/esker-db/esker/blob/main/docs/options.md),
//! [durability](https://github.com/esker-db/esker/blob/main/docs/durability.md),
//! [performance](https://github.com/esker-db/esker/blob/main/docs/performance.md), the
//! [file formats](https://github.com/esker-db/esker/tree/main/docs/format), the
//! [paths of the data](https://github.com/esker-db/esker/tree/main/docs/flow), and the
//! [structure of the code](https://github.com/esker-db/esker/blob/main/ARCHITECTURE.md).
#![forbid(unsafe_code)]

mod batch;
mod db;
mod events;
mod files;
mod ingest;
mod jobs;
mod lifecycle;
mod log;
mod options;
mod read;
mod report;
mod state;
mod stats;
mod table_properties_collector;
mod timed_hooks;
mod trace;
mod ttl;
mod write;

/// The file systems that a database can be in, and the interface of others: see [`Options::fs`].
///
/// ```
/// use esker::file_system::MemFs;
///
/// let options = esker::Options {
///     create_if_missing: true,
///     fs: std::sync::Arc::new(MemFs::new()),
///     ..Default::default()
/// };
/// let db = esker::Db::open(&options, "/db")?;
/// db.put(b"key", b"gone with the process")?;
/// # Ok::<(), esker::Error>(())
/// ```
pub mod file_system {
    pub use vfs::{
        Access, Call, CreateOptions, Details, FileLock, FileSync, FileSystem, Layer, MemFs, Op, OpenOptions,
        PendingRead, PosixFs, RandomAccessFile, ReadBuffer, UnsyncedPolicy, WritableFile, read_timeout,
    };
}

/// RocksDB's merge operators: see [`ColumnFamilyOptions::merge_operator`].
pub mod merge_operators {
    pub use base::merge::{
        AGGREGATION_ERROR, Aggregation, Aggregator, BytesXor, Max, Put, SortList, StringAppend, UInt64Add,
        aggregation_list, aggregation_operand, aggregation_parts, builtin, from_text,
    };
}

/// Options as RocksDB's texts, for programs that take options in RocksDB's form.
pub mod option_text {
    pub use crate::options::text::{in_braces, pairs, value_names};
}

/// RocksDB's prefix extractors: see [`ColumnFamilyOptions::prefix_extractor`].
pub mod prefix_extractors {
    pub use base::prefix::{Capped, Fixed, Noop, builtin};
}

pub use base::comparator::{Comparator, UserComparator};
pub use base::entry_type::EntryType;
pub use base::env::{Clock, ManualClock, SystemClock};
pub use base::merge::MergeOperator;
pub use base::perf::{self, PerfContext, PerfLevel};
pub use base::prefix::PrefixExtractor;
pub use base::statistics::{Histogram, HistogramData, Statistics, StatsLevel, Ticker, bucket_limits};
pub use base::{Error, ErrorKind, Kind, Progress, Result, RowLimit, SeqNo, Temperature};
pub use blob::{BlobIndex, BlobLocation};
pub use cache::{
    AdmissionPolicy, Cache, CacheOptions, CacheType, CompressedSecondaryCacheOptions, EntryRole,
    MetadataChargePolicy, RoleUsage, SecondaryUsage, TieredCacheOptions,
};
pub use codec::checksum::ChecksumType;
pub use codec::compression::{CompressionOptions, CompressionType};
pub use compact::stall::{StallCause, StallCondition};
pub use compact::{
    CompactionFilter, CompactionFilterFactory, CompactionReason, Decision, FilterContext, PartitionerContext,
    SeqnoToTimeMapping, SstPartitioner, SstPartitionerFactory, SstPartitionerFixedPrefixFactory,
    TableFileCreationReason, ValueType,
};
pub use sst::format::{IndexShortening, IndexType};
pub use sst::{
    BlockCache, BlockPropertyCollector, BlockPropertyCollectorFactory, BlockPropertyFilter, TableProperties,
};
pub use wal::RecoveryMode;

pub use batch::before_images::BeforeImage;
pub use batch::operation::{Operation, Operations};
pub use batch::write_batch::WriteBatch;
pub use db::feed::{Feed, FeedBatch, FeedEvent, FeedOptions, FeedRow};
pub use db::trace_replay::{ReplayOptions, Replayed, Replayer};
pub use db::wal_iterator::{TransactionLogIterator, WalFile};
pub use events::{Event, EventListener, FlushReason, IngestedFile, RowTooLargeOutcome};
pub use files::pinned_value::PinnedValue;
pub use ingest::export::{ExportImportFilesMetaData, LiveFileMetaData};
pub use ingest::import::ImportColumnFamilyOptions;
pub use ingest::sst_file_reader::{SstEntries, SstFileReader};
pub use ingest::sst_file_writer::{ExternalSstFileInfo, SstFileWriter};
pub use ingest::{FileIngestionHandle, IngestExternalFileArg, IngestExternalFileOptions, PreparedFileInfo};
pub use lifecycle::checkpoint::CheckpointOptions;
pub use lifecycle::repair::{LostFile, RepairReport, RepairedTable};
pub use lifecycle::wal_dir::WalDir;
pub use log::header::GIT_SHA;
pub use options::compaction_service::{
    CompactionService, CompactionServiceJobInfo, CompactionServiceJobStatus,
    CompactionServiceScheduleResponse,
};
pub use options::file::{OptionsFile, ROCKSDB_VERSION};
pub use options::logger::{InfoLogLevel, Logger, NullLogger};
pub use options::names::DEFAULT_COLUMN_FAMILY;
pub use options::open_and_compact::{CompactionServiceOptionsOverride, OpenAndCompactOptions};
pub use options::sst_file_manager::{SstFileManager, SstFileManagerOptions};
pub use options::thread_pool::{ThreadPool, ThreadPriority};
pub use options::wal_filter::{WalFilter, WalProcessingOption};
pub use options::write_buffer_manager::WriteBufferManager;
pub use options::{
    BlobGarbageCollectionPolicy, BlockBasedOptions, BottommostLevelCompaction, ColumnFamilyOptions,
    CompactFilesOptions, CompactRangeOptions, CompactionOptionsFifo, CompactionOptionsUniversal,
    CompactionPri, CompactionStopStyle, CompactionStyle, DataBlockIndexType, DbPath, FileChecksumGenFactory,
    FileTemperatureAge, FilterPolicy, FlushOptions, LostOption, MemtableFactory, MetadataCacheOptions,
    OptionLoss, Options, PinningTier, PrepopulateBlobCache, PrepopulateBlockCache, RangeOpt, ReadTier,
    WaitForCompactOptions, WriteOptions, table as option_table,
};
pub use options::{CacheEntryRole, CacheUsageOptions, Charged};
pub use read::async_get::ReadFuture;
pub use read::blob_files::BlobMetaData;
pub use read::db_iterator::{DbIterator, PrefixMove, UnpreparedValue};
pub use read::get::KeyMayExist;
pub use read::key_versions::KeyVersion;
pub use read::multi_cf_iterator::MultiCfIterator;
pub use read::multi_scan::{MultiScan, MultiScanArgs};
pub use read::rows::Rows;
pub use read::versions_iterator::VersionsIterator;
pub use report::approximate_sizes::{MemtableStats, SizeApproximationOptions};
pub use report::live_files::{LiveFileStorageInfo, LiveFilesStorageInfo, LiveFilesStorageInfoOptions};
pub use report::memory::{CacheMemory, MemoryLedger};
pub use report::pins::{FileDeletionsHold, PinnedSuperVersion, PinningIterator, Pins};
pub use report::properties::{Property, PropertyKind, PropertyScope};
pub use report::property::{LevelMetadata, LiveFile};
pub use report::stats_history::{StatsHistoryEntry, StatsHistoryIterator};
pub use sst::block_trace::{TableReaderCaller, TracedBlock};
pub use state::column_family::ColumnFamily;
pub use state::family_batch::AttributeGroup;
pub use state::feed_cursors::{PinningCursor, feed_cursors};
pub use state::file_deletions::FileDeletionGuard;
pub use state::handle::Db;
pub use state::read_options::{ReadOptions, TableFilter};
pub use state::secondary::CatchUpStatus;
pub use state::snapshot::{PinnedSnapshot, Snapshot};
pub use state::value::Columns;
pub use state::verifier::VerifyProgress;
pub use stats::{StallTotal, Stats};
pub use table_properties_collector::{
    CollectorContext, CompactOnDeletionCollectorFactory, TablePropertiesCollector,
    TablePropertiesCollectorFactory,
};
pub use trace::{
    AccessTraceReader, BlockCacheTraceOptions, BlockCacheTraceReader, BlockCacheTraceRecord, FileTraceReader,
    FileTraceWriter, IoTraceReader, IoTraceRecord, QueryTraceReader, TraceKind, TraceOptions, TraceRecord,
    TraceWriter, TracedAccess, TracedQuery,
};
pub use ttl::{DbWithTtl, FamilyTtl, TtlIterator, TtlOptions};
pub use vfs::io_stats::{self, IoStats};
pub use vfs::rate_limiter::{IoPriority, OpType, RateLimiter, RateLimiterMode, RateLimiterOptions};
pub use vfs::{FileOperation, Op as FileOperationType};
pub use write::batch_entries::{BatchEntries, BatchEntry, BatchEntryKind};
pub use write::batch_index::{BatchValue, WriteBatchWithIndex};
pub use write::predecessor::wal_before;
pub use write::two_phase::RecoveredTransaction;
pub use write::unchanged::UnchangedKey;
pub use write::unchanged_range::UnchangedRange;

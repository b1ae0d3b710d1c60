//! The options of a database, a column family, its tables, one write.

pub(crate) mod cache_usage;
pub(crate) mod cf;
pub(crate) mod check;
pub(crate) mod compaction;
pub(crate) mod compaction_service;
mod compression;
pub(crate) mod db;
mod db_path;
pub(crate) mod fields;
pub(crate) mod file;
pub(crate) mod logger;
pub(crate) mod loss;
pub(crate) mod lost;
mod memtable_factory;
pub(crate) mod metadata_cache;
pub(crate) mod names;
mod number;
pub(crate) mod open_and_compact;
pub(crate) mod operation;
pub(crate) mod option_errors;
pub(crate) mod picker;
mod processors;
#[cfg(feature = "serde")]
mod serialized;
pub(crate) mod sst_file_manager;
pub mod table;
pub(crate) mod text;
pub(crate) mod thread_pool;
pub(crate) mod thread_preparation;
pub(crate) mod wal_filter;
pub mod write_buffer_manager;

pub use cache_usage::{CacheEntryRole, CacheUsageOptions, Charged};
pub(crate) use cf::BlobSizes;
pub use cf::{
    BlockBasedOptions, ColumnFamilyOptions, DataBlockIndexType, FilterPolicy, PrepopulateBlobCache,
    PrepopulateBlockCache,
};
pub use compact::BlobGarbageCollectionPolicy;
pub use compact::picker::files::CompactFilesOptions;
pub use compact::picker::range::{BottommostLevelCompaction, CompactRangeOptions};
pub use compact::{
    CompactionOptionsFifo, CompactionOptionsUniversal, CompactionPri, CompactionStopStyle, FileTemperatureAge,
};
pub use compaction::CompactionStyle;
pub use db::{FileChecksumGenFactory, Options};
pub use db_path::DbPath;
pub(crate) use db_path::TablePaths;
pub use loss::{LostOption, OptionLoss};
pub use memtable_factory::MemtableFactory;
pub use metadata_cache::{MetadataCacheOptions, PinningTier};
pub use operation::{FlushOptions, RangeOpt, ReadTier, WaitForCompactOptions, WriteOptions};

//! Versioned keys over the engine, in the manner of CockroachDB's storage layer.
//!
//! The engine knows bytes and an order. This crate adds times to keys ([`MvccKey`]), their order
//! ([`MvccComparator`]), and types to values ([`Value`]). [`Reader`] reads keys as of a time, [`MvccBatch`]
//! writes versions and collects those that no reader needs, and keeps exact statistics ([`MvccStats`]). The
//! engine has no knowledge of versions.
#![forbid(unsafe_code)]

mod error;
mod gc;
mod key;
mod read;
mod write;

pub use base::steps::MAX_STEPS_BEFORE_SEEK;
pub use error::{Error, Result};
pub use gc::keys::{GcKey, GcResult};
pub use gc::options::GcOptions;
pub use gc::pages::GcReport;
pub use gc::score::GcScore;
pub use key::comparator::{MvccComparator, MvccPrefix, configure};
pub use key::mvcc_key::{
    MvccKey, VERSION_SIZE, decode_suffix, encode_key, encode_suffix, next_user_key, split,
};
pub use key::ranges::RangeTombstone;
pub use key::span::Span;
pub use key::stats::MvccStats;
pub use key::time_interval::TimeInterval;
pub use key::timestamp::Timestamp;
pub use key::value::{Value, is_tombstone};
pub use read::count_stats::compute_stats;
pub use read::counters::ReadCounters;
pub use read::export::{ExportOptions, ExportResult, ExportResume};
pub use read::fingerprint::Fingerprint;
pub use read::iterator::{KeyTypes, MvccIterator, RangeTombstoneAt};
pub use read::reader::Reader;
pub use read::results::{GetResult, MvccReadOptions, Resume, ResumeReason, RowPrefix, ScanResult, Versioned};
pub use read::rows::{Row, Rows};
pub use read::scan_versions::{VersionPosition, VersionScan, VersionScanOptions};
pub use read::window::Incremental;
pub use write::batch::{BatchOptions, DeleteRangeResult, MvccBatch};
pub use write::compaction_limits::CompactionGc;
pub use write::key_batch::KeyBatch;
pub use write::predicate::{PredicateDeleteOptions, PredicateDeleteResult};
pub use write::range_tombstones::RangeTombstoneOptions;
pub use write::revert::{RevertOptions, RevertResult};
pub use write::store::{MvccStore, StoreBatch};

//! Versioned keys over the engine, in the manner of CockroachDB's storage layer.
//!
//! The engine knows bytes and an order. This crate adds times to keys ([`MvccKey`]), their order
//! ([`MvccComparator`]), and types to values ([`Value`]). [`Reader`] reads keys as of a time, [`MvccBatch`]
//! writes versions and collects those that no reader needs, and keeps exact statistics ([`MvccStats`]). The
//! engine has no knowledge of versions.
#![forbid(unsafe_code)]

mod batch;
mod clear;
mod collect;
mod comparator;
mod count_stats;
mod counters;
mod error;
mod export;
mod fingerprint;
mod gc;
mod inline;
mod iterator;
mod key;
mod key_batch;
mod key_span;
mod predicate;
mod ranges;
mod read_results;
mod reader;
mod recent_keys;
mod record;
mod revert;
mod rows;
mod scan;
mod scan_versions;
mod span;
mod stats;
mod store;
mod time_interval;
mod timestamp;
mod value;
mod version_iter;
mod whole_rows;
mod whole_span;
mod window;
mod writers;

pub use base::steps::MAX_STEPS_BEFORE_SEEK;
pub use batch::{BatchOptions, DeleteRangeResult, MvccBatch};
pub use collect::{GcKey, GcResult};
pub use comparator::{MvccComparator, MvccPrefix, configure};
pub use count_stats::compute_stats;
pub use counters::ReadCounters;
pub use error::{Error, Result};
pub use export::{ExportOptions, ExportResult, ExportResume};
pub use fingerprint::Fingerprint;
pub use gc::filter::CompactionGc;
pub use gc::options::GcOptions;
pub use gc::{GcReport, GcScore};
pub use iterator::{KeyTypes, MvccIterator, RangeTombstoneAt};
pub use key::{MvccKey, VERSION_SIZE, decode_suffix, encode_key, encode_suffix, next_user_key, split};
pub use key_batch::KeyBatch;
pub use key_span::Span;
pub use predicate::{PredicateDeleteOptions, PredicateDeleteResult};
pub use ranges::{RangeTombstone, RangeTombstoneOptions};
pub use read_results::{GetResult, MvccReadOptions, Resume, ResumeReason, RowPrefix, ScanResult, Versioned};
pub use reader::Reader;
pub use revert::{RevertOptions, RevertResult};
pub use rows::{Row, Rows};
pub use scan_versions::{VersionPosition, VersionScan, VersionScanOptions};
pub use stats::MvccStats;
pub use store::{MvccStore, StoreBatch};
pub use time_interval::TimeInterval;
pub use timestamp::Timestamp;
pub use value::{Value, is_tombstone};
pub use window::Incremental;

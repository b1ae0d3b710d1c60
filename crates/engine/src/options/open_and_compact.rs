//! The options of a worker of a compaction service.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::{BlockBasedOptions, Options};

/// The options of one [`Db::open_and_compact`](crate::Db::open_and_compact).
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::AtomicBool;
///
/// use esker::OpenAndCompactOptions;
///
/// let canceled = Arc::new(AtomicBool::new(false));
/// let options = OpenAndCompactOptions { canceled: Some(canceled.clone()), ..Default::default() };
/// // Another thread ends the compaction by `canceled.store(true, Ordering::Relaxed)`.
/// # assert!(!options.allow_resumption);
/// ```
#[derive(Clone, Debug, Default)]
pub struct OpenAndCompactOptions {
    /// Ends the compaction with `Incomplete` once it is set. Default: none.
    pub canceled: Option<Arc<AtomicBool>>,
    /// The output directory may hold tables of an attempt that did not end. They are deleted, and the
    /// compaction begins anew; RocksDB's workers continue where they can. Without it such a directory is
    /// refused. Default: false.
    pub allow_resumption: bool,
}

/// The parts of a worker's options that are not in the OPTIONS file of the database:
/// [`Db::open_and_compact`](crate::Db::open_and_compact).
///
/// See the example of [`Db::open_and_compact`](crate::Db::open_and_compact).
#[derive(Clone, Default)]
pub struct CompactionServiceOptionsOverride {
    /// Objects: the file system, the clock, the directories in `db_paths`, the rate limiter, the statistics,
    /// the listeners, the info log and the generator of file checksums; and those of the family: the
    /// comparator, the merge operator, the prefix extractor, the compaction filter, the partitioner and the
    /// collectors. An object that is not set is the built-in one that the OPTIONS file names, if it names
    /// one. All other options come from the OPTIONS file.
    pub options: Options,
    /// The options of the written tables. Default: those of the OPTIONS file.
    pub table: Option<BlockBasedOptions>,
    /// Options by RocksDB's names, which replace those of the OPTIONS file. Unknown names are ignored.
    /// Default: none.
    pub options_map: Vec<(String, String)>,
}

//! Options of one operation: read, write, flush, compaction, ingestion.

use std::time::Duration;

use crate::option_types::narrow;
use crate::{BottommostLevelCompaction, Error, IterateBounds, ReadTier};

/// The options of a read.
pub struct ReadOptions {
    pub(crate) inner: esker::ReadOptions,
    /// The options that were set and are not implemented.
    refused: Option<&'static str>,
}

impl Default for ReadOptions {
    /// Creates the options with RocksDB's defaults.
    fn default() -> ReadOptions {
        ReadOptions {
            inner: esker::ReadOptions {
                auto_refresh_iterator_with_snapshot: false,
                ..esker::ReadOptions::default()
            },
            refused: None,
        }
    }
}

impl ReadOptions {
    /// The engine's options.
    ///
    /// # Errors
    /// `Not implemented` with the name of an option that the engine does not have.
    pub(crate) fn engine(&self) -> Result<&esker::ReadOptions, Error> {
        match self.refused {
            Some(name) => Err(Error::not_implemented(name)),
            None => Ok(&self.inner),
        }
    }

    fn refuse(&mut self, name: &'static str, refused: bool) {
        if refused {
            self.refused = Some(name);
        } else if self.refused == Some(name) {
            self.refused = None;
        }
    }

    /// Inserts blocks that are read into the block cache. Default: true.
    pub fn fill_cache(&mut self, v: bool) {
        self.inner.fill_cache = v;
    }

    /// Sets the lower bound of iterators, inclusive.
    pub fn set_iterate_lower_bound<K: Into<Vec<u8>>>(&mut self, key: K) {
        self.inner.iterate_lower_bound = Some(key.into());
    }

    /// Sets the upper bound of iterators, exclusive.
    pub fn set_iterate_upper_bound<K: Into<Vec<u8>>>(&mut self, key: K) {
        self.inner.iterate_upper_bound = Some(key.into());
    }

    /// Sets the bounds of iterators to this range, and drops earlier bounds.
    pub fn set_iterate_range(&mut self, range: impl IterateBounds) {
        let (lower, upper) = range.into_bounds();
        self.inner.iterate_lower_bound = lower;
        self.inner.iterate_upper_bound = upper;
    }

    /// Sets the sources that a read may use. Default: [`ReadTier::All`]. [`ReadTier::Persisted`] is not
    /// implemented.
    pub fn set_read_tier(&mut self, tier: ReadTier) {
        self.refuse("ReadTier::Persisted", tier == ReadTier::Persisted);
        self.inner.read_tier = match tier {
            ReadTier::All | ReadTier::Persisted => esker::ReadTier::All,
            ReadTier::BlockCache => esker::ReadTier::BlockCache,
            ReadTier::Memtable => esker::ReadTier::Memtable,
        };
    }

    /// Ends iterators at the end of the prefix of the sought key. Default: false.
    pub fn set_prefix_same_as_start(&mut self, v: bool) {
        self.inner.prefix_same_as_start = v;
    }

    /// Makes iterators see all keys in order. They always do, except with
    /// [`set_prefix_same_as_start`](Self::set_prefix_same_as_start), which this switches off. Default: false.
    pub fn set_total_order_seek(&mut self, v: bool) {
        if v {
            self.inner.prefix_same_as_start = false;
            self.inner.auto_prefix_mode = false;
        }
    }

    /// Sets the number of versions that one move may pass over before it fails; 0: no limit. Default: 0.
    pub fn set_max_skippable_internal_keys(&mut self, number: u64) {
        self.inner.max_skippable_internal_keys = number;
    }

    /// No effect: obsolete files are always removed in the background.
    pub fn set_background_purge_on_iterator_cleanup(&mut self, _v: bool) {}

    /// Makes reads see rows that range deletions have deleted. Default: false.
    pub fn set_ignore_range_deletions(&mut self, v: bool) {
        self.inner.ignore_range_deletions = v;
    }

    /// Verifies the checksum of every block that is read from disk. Default: true.
    pub fn set_verify_checksums(&mut self, v: bool) {
        self.inner.verify_checksums = v;
    }

    /// Sets the bytes that an iterator reads after each block; 0: automatic. Default: 0.
    pub fn set_readahead_size(&mut self, v: usize) {
        self.inner.readahead_size = v;
    }

    /// Reads nothing ahead beyond the bounds. Default: true.
    pub fn set_auto_readahead_size(&mut self, v: bool) {
        self.inner.auto_readahead_size = v;
    }

    /// Sets the time in microseconds since 1970 after which a read fails with `TimedOut`; 0: none. Default:
    /// 0.
    pub fn set_deadline(&mut self, microseconds: u64) {
        self.inner.deadline = (microseconds > 0).then(|| Duration::from_micros(microseconds));
    }

    /// Sets the longest time in microseconds that each read of a file may take; 0: none. The file systems of
    /// this crate's [`Env`](crate::Env) do not end reads, as in RocksDB. Default: 0.
    pub fn set_io_timeout(&mut self, microseconds: u64) {
        self.inner.io_timeout = (microseconds > 0).then(|| Duration::from_micros(microseconds));
    }

    /// Makes iterators see earlier writes at each seek. Default: false.
    pub fn set_tailing(&mut self, v: bool) {
        self.inner.tailing = v;
    }

    /// Keeps the rows that an iterator comes to in memory as long as it exists. The rows of this crate's
    /// iterators are borrowed up to the next move all the same. Default: false.
    pub fn set_pin_data(&mut self, v: bool) {
        self.inner.pin_data = v;
    }

    /// Reads from the disk asynchronously. Default: false.
    pub fn set_async_io(&mut self, v: bool) {
        self.inner.async_io = v;
    }

    /// Reads as of this timestamp, in families with timestamps.
    pub fn set_timestamp<S: Into<Vec<u8>>>(&mut self, ts: S) {
        self.inner.timestamp = Some(ts.into());
    }

    /// Not implemented: a read with this option fails.
    pub fn set_iter_start_ts<S: Into<Vec<u8>>>(&mut self, _ts: S) {
        self.refuse("ReadOptions::set_iter_start_ts", true);
    }
}

/// The options of a write.
#[derive(Clone, Default)]
pub struct WriteOptions {
    pub(crate) inner: esker::WriteOptions,
}

impl WriteOptions {
    /// Creates the options with RocksDB's defaults.
    pub fn new() -> WriteOptions {
        WriteOptions::default()
    }

    /// Returns when the WAL is on the disk. Default: false.
    pub fn set_sync(&mut self, sync: bool) {
        self.inner.sync = sync;
    }

    /// Writes no WAL. Default: false.
    pub fn disable_wal(&mut self, disable: bool) {
        self.inner.disable_wal = disable;
    }

    /// Skips operations on families that do not exist. Default: false.
    pub fn set_ignore_missing_column_families(&mut self, ignore: bool) {
        self.inner.ignore_missing_column_families = ignore;
    }

    /// Fails instead of waiting. Default: false.
    pub fn set_no_slowdown(&mut self, no_slowdown: bool) {
        self.inner.no_slowdown = no_slowdown;
    }

    /// Waits for other writes while compactions are behind. Default: false.
    pub fn set_low_pri(&mut self, v: bool) {
        self.inner.low_pri = v;
    }

    /// No effect: a hint for RocksDB's skip list, which does not exist here.
    pub fn set_memtable_insert_hint_per_batch(&mut self, _v: bool) {}
}

/// The options of a flush.
#[derive(Clone, Default)]
pub struct FlushOptions {
    pub(crate) inner: esker::FlushOptions,
}

impl FlushOptions {
    /// Creates the options with RocksDB's defaults.
    pub fn new() -> FlushOptions {
        FlushOptions::default()
    }

    /// Returns when the tables are installed. Default: true.
    pub fn set_wait(&mut self, wait: bool) {
        self.inner.wait = wait;
    }
}

/// The options of a manual compaction.
#[derive(Clone, Default)]
pub struct CompactOptions {
    pub(crate) inner: esker::CompactRangeOptions,
}

impl CompactOptions {
    /// Lets no other compaction run meanwhile. Default: false.
    pub fn set_exclusive_manual_compaction(&mut self, v: bool) {
        self.inner.exclusive_manual_compaction = v;
    }

    /// Sets the treatment of bottommost files. Default:
    /// [`BottommostLevelCompaction::IfHaveCompactionFilter`].
    pub fn set_bottommost_level_compaction(&mut self, level: BottommostLevelCompaction) {
        self.inner.bottommost_level_compaction = match level {
            BottommostLevelCompaction::Skip => esker::BottommostLevelCompaction::Skip,
            BottommostLevelCompaction::IfHaveCompactionFilter => {
                esker::BottommostLevelCompaction::IfHaveCompactionFilter
            }
            BottommostLevelCompaction::Force => esker::BottommostLevelCompaction::Force,
            BottommostLevelCompaction::ForceOptimized => esker::BottommostLevelCompaction::ForceOptimized,
        };
    }

    /// Moves the files to the target level. Default: false.
    pub fn set_change_level(&mut self, v: bool) {
        self.inner.change_level = v;
    }

    /// Sets the target level; below 0: the highest that has room. Default: -1.
    pub fn set_target_level(&mut self, level: i32) {
        self.inner.target_level = (level >= 0).then(|| narrow(level));
    }

    /// Lets the compaction drop versions older than this timestamp.
    pub fn set_full_history_ts_low<S: Into<Vec<u8>>>(&mut self, ts: S) {
        self.inner.full_history_ts_low = Some(ts.into());
    }
}

/// The options of [`wait_for_compact`](crate::DBCommon::wait_for_compact).
#[derive(Clone, Debug, Default)]
pub struct WaitForCompactOptions {
    pub(crate) inner: esker::WaitForCompactOptions,
}

impl WaitForCompactOptions {
    /// Ends the wait while background work is paused. Default: false.
    pub fn set_abort_on_pause(&mut self, v: bool) {
        self.inner.abort_on_pause = v;
    }

    /// Flushes all families first. Default: false.
    pub fn set_flush(&mut self, v: bool) {
        self.inner.flush = v;
    }

    /// Ends the wait after this time. Default: 0, no limit.
    pub fn set_timeout(&mut self, microseconds: u64) {
        self.inner.timeout = (microseconds > 0).then(|| std::time::Duration::from_micros(microseconds));
    }
}

/// The options of an ingestion.
#[derive(Clone, Default)]
pub struct IngestExternalFileOptions {
    pub(crate) inner: esker::IngestExternalFileOptions,
}

impl IngestExternalFileOptions {
    /// Moves files instead of copying them. Default: false.
    pub fn set_move_files(&mut self, v: bool) {
        self.inner.move_files = v;
    }

    /// Hides the ingested rows from earlier snapshots. Default: true.
    pub fn set_snapshot_consistency(&mut self, v: bool) {
        self.inner.snapshot_consistency = v;
    }

    /// Allows the ingestion to give the file a sequence number. Default: true.
    pub fn set_allow_global_seqno(&mut self, v: bool) {
        self.inner.allow_global_seqno = v;
    }

    /// Allows a flush of memtables while writers wait. Default: true.
    pub fn set_allow_blocking_flush(&mut self, v: bool) {
        self.inner.allow_blocking_flush = v;
    }

    /// Places files below all data. Default: false.
    pub fn set_ingest_behind(&mut self, v: bool) {
        self.inner.ingest_behind = v;
    }
}

//! Options of one operation: read, write, flush, compaction, ingestion.

use std::time::Duration;

use crate::option_types::narrow;
use crate::{BottommostLevelCompaction, DBAccess, Error, IterateBounds, ReadTier, SnapshotWithThreadMode};

/// How a read is done.
pub struct ReadOptions {
    pub(crate) inner: esker::ReadOptions,
    /// Options that were set and are not implemented.
    refused: Option<&'static str>,
}

impl Default for ReadOptions {
    /// RocksDB's defaults.
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

    /// Keeps blocks that are read in the block cache. Default: true.
    pub fn fill_cache(&mut self, v: bool) {
        self.inner.fill_cache = v;
    }

    /// Reads the database as it was at the snapshot.
    pub fn set_snapshot<D: DBAccess>(&mut self, snapshot: &SnapshotWithThreadMode<'_, D>) {
        self.inner.snapshot = snapshot.inner.clone();
    }

    /// Iterators see no key below this one.
    pub fn set_iterate_lower_bound<K: Into<Vec<u8>>>(&mut self, key: K) {
        self.inner.iterate_lower_bound = Some(key.into());
    }

    /// Iterators see no key at or above this one.
    pub fn set_iterate_upper_bound<K: Into<Vec<u8>>>(&mut self, key: K) {
        self.inner.iterate_upper_bound = Some(key.into());
    }

    /// Iterators see the keys of this range; what was set before is forgotten.
    pub fn set_iterate_range(&mut self, range: impl IterateBounds) {
        let (lower, upper) = range.into_bounds();
        self.inner.iterate_lower_bound = lower;
        self.inner.iterate_upper_bound = upper;
    }

    /// How far down a read may go. Default: [`ReadTier::All`]. [`ReadTier::Persisted`] is not implemented.
    pub fn set_read_tier(&mut self, tier: ReadTier) {
        self.refuse("ReadTier::Persisted", tier == ReadTier::Persisted);
        self.inner.read_tier = match tier {
            ReadTier::All | ReadTier::Persisted => esker::ReadTier::All,
            ReadTier::BlockCache => esker::ReadTier::BlockCache,
            ReadTier::Memtable => esker::ReadTier::Memtable,
        };
    }

    /// Iterators end where the prefix of the key sought ends. Default: false.
    pub fn set_prefix_same_as_start(&mut self, v: bool) {
        self.inner.prefix_same_as_start = v;
    }

    /// Iterators see all keys in order. They always do, but with
    /// [`set_prefix_same_as_start`](Self::set_prefix_same_as_start), which this switches off. Default: false.
    pub fn set_total_order_seek(&mut self, v: bool) {
        if v {
            self.inner.prefix_same_as_start = false;
            self.inner.auto_prefix_mode = false;
        }
    }

    /// Versions that one move may pass over before it fails; 0: no limit. Default: 0.
    pub fn set_max_skippable_internal_keys(&mut self, number: u64) {
        self.inner.max_skippable_internal_keys = number;
    }

    /// Obsolete files are always removed in the background: nothing changes.
    pub fn set_background_purge_on_iterator_cleanup(&mut self, _v: bool) {}

    /// Reads see rows that range deletions have deleted. Default: false.
    pub fn set_ignore_range_deletions(&mut self, v: bool) {
        self.inner.ignore_range_deletions = v;
    }

    /// Checks the checksum of every block read from disk. Default: true.
    pub fn set_verify_checksums(&mut self, v: bool) {
        self.inner.verify_checksums = v;
    }

    /// Bytes an iterator reads beyond each block; 0: as it sees fit. Default: 0.
    pub fn set_readahead_size(&mut self, v: usize) {
        self.inner.readahead_size = v;
    }

    /// Nothing is read ahead beyond the bounds. Default: true.
    pub fn set_auto_readahead_size(&mut self, v: bool) {
        self.inner.auto_readahead_size = v;
    }

    /// The time in microseconds since 1970 after which a read fails with `TimedOut`; 0: none. Default: 0.
    pub fn set_deadline(&mut self, microseconds: u64) {
        self.inner.deadline = (microseconds > 0).then(|| Duration::from_micros(microseconds));
    }

    /// Not implemented: a read with it fails.
    pub fn set_io_timeout(&mut self, microseconds: u64) {
        self.refuse("ReadOptions::set_io_timeout", microseconds > 0);
    }

    /// Iterators see at each seek what was written before it. Default: false.
    pub fn set_tailing(&mut self, v: bool) {
        self.inner.tailing = v;
    }

    /// Keys stay where they are while the iterator lives. What an iterator of this crate gives is borrowed from it up to the next move, so
    /// that nothing changes.
    pub fn set_pin_data(&mut self, _v: bool) {}

    /// Reads of the disk are under way while the reader does something else. Default: false.
    pub fn set_async_io(&mut self, v: bool) {
        self.inner.async_io = v;
    }

    /// Reads as of this timestamp, in families that have them.
    pub fn set_timestamp<S: Into<Vec<u8>>>(&mut self, ts: S) {
        self.inner.timestamp = Some(ts.into());
    }

    /// Not implemented: a read with it fails.
    pub fn set_iter_start_ts<S: Into<Vec<u8>>>(&mut self, _ts: S) {
        self.refuse("ReadOptions::set_iter_start_ts", true);
    }
}

/// How a write is done.
#[derive(Clone, Default)]
pub struct WriteOptions {
    pub(crate) inner: esker::WriteOptions,
}

impl WriteOptions {
    /// The defaults.
    pub fn new() -> WriteOptions {
        WriteOptions::default()
    }

    /// Returns when the WAL lies on the disk. Default: false.
    pub fn set_sync(&mut self, sync: bool) {
        self.inner.sync = sync;
    }

    /// Writes no WAL. Default: false.
    pub fn disable_wal(&mut self, disable: bool) {
        self.inner.disable_wal = disable;
    }

    /// Leaves operations on families that do not exist out. Default: false.
    pub fn set_ignore_missing_column_families(&mut self, ignore: bool) {
        self.inner.ignore_missing_column_families = ignore;
    }

    /// Fails instead of waiting. Default: false.
    pub fn set_no_slowdown(&mut self, no_slowdown: bool) {
        self.inner.no_slowdown = no_slowdown;
    }

    /// Waits for others while compactions are behind. Default: false.
    pub fn set_low_pri(&mut self, v: bool) {
        self.inner.low_pri = v;
    }

    /// A hint for RocksDB's skip list, which there is none of: nothing changes.
    pub fn set_memtable_insert_hint_per_batch(&mut self, _v: bool) {}
}

/// How a flush is done.
#[derive(Clone, Default)]
pub struct FlushOptions {
    pub(crate) inner: esker::FlushOptions,
}

impl FlushOptions {
    /// The defaults.
    pub fn new() -> FlushOptions {
        FlushOptions::default()
    }

    /// Returns when the tables are in place. Default: true.
    pub fn set_wait(&mut self, wait: bool) {
        self.inner.wait = wait;
    }
}

/// How a manual compaction is done.
#[derive(Clone, Default)]
pub struct CompactOptions {
    pub(crate) inner: esker::CompactRangeOptions,
    pub(crate) full_history_ts_low: Option<Vec<u8>>,
}

impl CompactOptions {
    /// No other compaction runs meanwhile. Default: false.
    pub fn set_exclusive_manual_compaction(&mut self, v: bool) {
        self.inner.exclusive_manual_compaction = v;
    }

    /// Whether what is at the bottom is rewritten. Default: [`BottommostLevelCompaction::IfHaveCompactionFilter`].
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

    /// The files end up in the target level. Default: false.
    pub fn set_change_level(&mut self, v: bool) {
        self.inner.change_level = v;
    }

    /// That level; below 0: the highest that holds them. Default: -1.
    pub fn set_target_level(&mut self, level: i32) {
        self.inner.target_level = (level >= 0).then(|| narrow(level));
    }

    /// Versions older than this timestamp may go.
    pub fn set_full_history_ts_low<S: Into<Vec<u8>>>(&mut self, ts: S) {
        self.full_history_ts_low = Some(ts.into());
    }
}

/// How long [`wait_for_compact`](crate::DBCommon::wait_for_compact) waits.
#[derive(Clone, Debug, Default)]
pub struct WaitForCompactOptions {
    pub(crate) abort_on_pause: bool,
    pub(crate) flush: bool,
    pub(crate) timeout: u64,
}

impl WaitForCompactOptions {
    /// Not implemented: a wait with it fails. Default: false.
    pub fn set_abort_on_pause(&mut self, v: bool) {
        self.abort_on_pause = v;
    }

    /// Flushes all families first. Default: false.
    pub fn set_flush(&mut self, v: bool) {
        self.flush = v;
    }

    /// Not implemented: a wait with another value than 0 fails. Default: 0, as long as it takes.
    pub fn set_timeout(&mut self, microseconds: u64) {
        self.timeout = microseconds;
    }
}

/// How files are ingested.
#[derive(Clone, Default)]
pub struct IngestExternalFileOptions {
    pub(crate) inner: esker::IngestExternalFileOptions,
}

impl IngestExternalFileOptions {
    /// Files are moved, not copied. Default: false.
    pub fn set_move_files(&mut self, v: bool) {
        self.inner.move_files = v;
    }

    /// Snapshots taken before do not show what is ingested. Default: true.
    pub fn set_snapshot_consistency(&mut self, v: bool) {
        self.inner.snapshot_consistency = v;
    }

    /// A file may be given a sequence number. Default: true.
    pub fn set_allow_global_seqno(&mut self, v: bool) {
        self.inner.allow_global_seqno = v;
    }

    /// Memtables may be flushed while writers wait. Default: true.
    pub fn set_allow_blocking_flush(&mut self, v: bool) {
        self.inner.allow_blocking_flush = v;
    }

    /// Files go below all that is there. Default: false.
    pub fn set_ingest_behind(&mut self, v: bool) {
        self.inner.ingest_behind = v;
    }
}

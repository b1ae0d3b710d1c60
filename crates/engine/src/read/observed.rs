//! Counters around reads and writes, for the statistics or for the perf level of the calling thread.

use base::Result;
use base::perf;
use base::statistics::{Histogram, Ticker};
use vfs::io_stats;

use crate::files::pinned_value::PinnedValue;
use crate::state::db_inner::DbInner;

/// The outcome of a read of a key.
pub(crate) type Found = Result<Option<PinnedValue>>;

impl DbInner {
    /// Runs a Get, and counts it if statistics or the perf level ask for that.
    #[inline]
    pub(crate) fn observed_get(
        &self,
        get: impl FnOnce() -> Result<Option<PinnedValue>>,
    ) -> Result<Option<PinnedValue>> {
        match self.stats.shared().is_some() || perf::counts() {
            false => get(),
            true => self.observe_get(get),
        }
    }

    /// Runs a MultiGet, and counts it if statistics or the perf level ask for that.
    #[inline]
    pub(crate) fn observed_multi_get(&self, multi_get: impl FnOnce() -> Vec<Found>) -> Vec<Found> {
        match self.stats.shared().is_some() || perf::counts() {
            false => multi_get(),
            true => self.observe_multi_get(multi_get),
        }
    }

    /// Runs a Get and counts it.
    #[cold]
    pub(crate) fn observe_get(
        &self,
        get: impl FnOnce() -> Result<Option<PinnedValue>>,
    ) -> Result<Option<PinnedValue>> {
        let stats = &self.stats;
        let started = stats.start();
        let before = io_stats::current();
        let timer = perf::time_cpu(|cells| &cells.get_cpu_nanos);
        let found = get();
        drop(timer);
        stats.stop(started, Histogram::DbGet);
        stats.count(Ticker::KeysRead, 1);
        let read = io_stats::current() - before;
        stats.record(Histogram::BytesFromFilesPerGet, read.bytes_read);
        stats.record(Histogram::ReadsOfFilesPerGet, read.reads);
        if let Ok(Some(value)) = &found {
            let bytes = value.len() as u64;
            stats.count(Ticker::BytesRead, bytes);
            stats.record(Histogram::BytesPerRead, bytes);
            perf::count(|cells| &cells.get_read_bytes, bytes);
        }
        found
    }

    /// Counts the merge operands that a Get has found.
    pub(crate) fn observe_operands(&self, operands: usize) {
        if operands > 0 {
            perf::count(|cells| &cells.internal_merge_point_lookup_count, operands as u64);
            self.stats
                .record(Histogram::ReadNumMergeOperands, operands as u64);
        }
    }

    /// Runs a MultiGet and counts it.
    #[cold]
    pub(crate) fn observe_multi_get(&self, multi_get: impl FnOnce() -> Vec<Found>) -> Vec<Found> {
        let stats = &self.stats;
        let started = stats.start();
        let found = multi_get();
        stats.stop(started, Histogram::DbMultiGet);
        let values = found.iter().filter_map(|found| found.as_ref().ok()?.as_ref());
        let (mut keys, mut bytes) = (0, 0);
        for value in values {
            keys += 1;
            bytes += value.len() as u64;
        }
        stats.count(Ticker::MultiGetCalls, 1);
        stats.count(Ticker::MultiGetKeysRead, found.len() as u64);
        stats.count(Ticker::MultiGetKeysFound, keys);
        stats.count(Ticker::MultiGetBytesRead, bytes);
        stats.record(Histogram::BytesPerMultiGet, bytes);
        perf::count(|cells| &cells.multiget_read_bytes, bytes);
        found
    }
}

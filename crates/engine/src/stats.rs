//! The counters of a database. Stalls, bytes of jobs and bytes written are always counted, per database. All
//! other counts go only to the [`Statistics`] of its options, if there are any, which get these counts too.

use std::fmt::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base::env::Clock;
use base::statistics::{Histogram, Statistics, Ticker};
use base::sync::Mutex;
use base::{Error, ErrorKind};
use cache::{EntryRole, SecondaryTally};
use compact::stall::{StallCause, StallCondition};
use compact::{CompactionReason, CompactionStats};
use crossbeam_utils::CachePadded;
use sst::CompressionTally;

/// The counters of one database.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// use esker::{StallCause, StallCondition, Ticker};
///
/// db.put(b"key", b"value")?;
/// let stats = db.statistics();
/// println!("{} bytes written", stats.get(Ticker::BytesWritten));
/// let stopped = stats.stall(StallCondition::Stopped { cause: StallCause::MemtableLimit });
/// assert_eq!((stopped.count, stopped.micros), (0, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Stats {
    /// The statistics shared with other databases, if counting is on.
    statistics: Option<Arc<Statistics>>,
    clock: Arc<dyn Clock>,
    /// The counters by ticker; only the always counted ones are used.
    tickers: Vec<CachePadded<AtomicU64>>,
    /// Delays and stops, by cause.
    stalls: Mutex<StallTotals>,
    /// The hits of the database's tables in secondary caches, which the tables count.
    pub(crate) secondary: Arc<SecondaryTally>,
}

/// The number and duration of waits of writers for one reason.
///
/// See the example of [`Stats`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StallTotal {
    /// The number of waits.
    pub count: u64,
    /// The total duration of the waits in microseconds.
    pub micros: u64,
}

/// The waits of writers, by reason.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StallTotals([[StallTotal; StallCause::ALL.len()]; 2]);

impl StallTotals {
    /// Counts the wait of a writer.
    pub fn add(&mut self, condition: StallCondition, micros: u64) {
        if let Some((kind, cause)) = place(condition) {
            let total = &mut self.0[kind][cause];
            total.count += 1;
            total.micros += micros;
        }
    }

    /// The number and time of the waits of writers in `condition`.
    pub fn get(&self, condition: StallCondition) -> StallTotal {
        place(condition).map_or(StallTotal::default(), |(kind, cause)| self.0[kind][cause])
    }

    /// `l0-file-count-limit-delays: 0, l0-file-count-limit-stops: 0, ...`, as in RocksDB's statistics, and
    /// the sums.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut sums = [0, 0];
        for cause in StallCause::ALL {
            let delays = self.get(StallCondition::Delayed { cause }).count;
            let stops = self.get(StallCondition::Stopped { cause }).count;
            // Writing to a string cannot fail.
            let _ = write!(text, "{cause}-delays: {delays}, {cause}-stops: {stops}, ");
            sums = [sums[0] + delays, sums[1] + stops];
        }
        let _ = write!(text, "total-delays: {}, total-stops: {}", sums[0], sums[1]);
        text
    }
}

fn place(condition: StallCondition) -> Option<(usize, usize)> {
    match condition {
        StallCondition::Normal => None,
        StallCondition::Delayed { cause } => Some((0, cause as usize)),
        StallCondition::Stopped { cause } => Some((1, cause as usize)),
    }
}

impl Stats {
    pub(crate) fn new(statistics: Option<Arc<Statistics>>, clock: Arc<dyn Clock>) -> Stats {
        let secondary = match statistics.clone() {
            Some(statistics) => SecondaryTally::telling(move |found| count_secondary(&statistics, found)),
            None => SecondaryTally::default(),
        };
        Stats {
            statistics,
            clock,
            tickers: Ticker::ALL.iter().map(|_| CachePadded::default()).collect(),
            stalls: Default::default(),
            secondary: Arc::new(secondary),
        }
    }

    /// The shared statistics: [`Options::statistics`](crate::Options::statistics).
    #[inline]
    pub(crate) fn shared(&self) -> Option<&Arc<Statistics>> {
        self.statistics.as_ref()
    }

    /// Counts `amount`, if counting is on.
    #[inline]
    pub(crate) fn count(&self, ticker: Ticker, amount: u64) {
        if let Some(statistics) = &self.statistics {
            statistics.record_tick(ticker, amount);
        }
    }

    /// Adds `value` to a histogram, if counting is on.
    #[inline]
    pub(crate) fn record(&self, histogram: Histogram, value: u64) {
        if let Some(statistics) = &self.statistics {
            statistics.record_in_histogram(histogram, value);
        }
    }

    /// Counts a lookup in a cache of blob values: the size of the value in bytes, if it was found.
    pub(crate) fn count_blob_lookup(&self, found: Option<usize>) {
        match found {
            Some(bytes) => {
                self.count(Ticker::BlobDbCacheHit, 1);
                self.count(Ticker::BlobDbCacheBytesRead, bytes as u64);
            }
            None => self.count(Ticker::BlobDbCacheMiss, 1),
        }
    }

    /// The start time of a measurement, if times are measured.
    #[inline]
    pub(crate) fn start(&self) -> Option<Duration> {
        match &self.statistics {
            Some(statistics) if statistics.times() => Some(self.clock.now()),
            _ => None,
        }
    }

    /// Records the microseconds since [`start`](Stats::start), and returns them.
    #[inline]
    pub(crate) fn stop(&self, started: Option<Duration>, histogram: Histogram) -> Option<u64> {
        let took = self.clock.now().saturating_sub(started?).as_micros() as u64;
        self.record(histogram, took);
        Some(took)
    }

    /// Counts `amount` even if counting is off: for rare events.
    pub(crate) fn add(&self, ticker: Ticker, amount: u64) {
        debug_assert!(is_always_counted(ticker), "{ticker:?}");
        self.tickers[ticker as usize].fetch_add(amount, Ordering::Relaxed);
        self.count(ticker, amount);
    }

    /// The count of `ticker` since the database was opened: of this database alone if the ticker is always
    /// counted, else the value in [`Options::statistics`](crate::Options::statistics), or 0 without them.
    ///
    /// Always counted are `BytesWritten`, `WriteDone`, `WalBytes`, `WalSynced`, `StallMicros`,
    /// `FlushWriteBytes`, `CompactReadBytes`, `CompactWriteBytes`, `TrivialMoves`, `TrivialMoveBytes`,
    /// `CompactionBlocksCopied`, `CompactionBytesCopied`, `BgErrorCount` and those of secondary caches.
    pub fn get(&self, ticker: Ticker) -> u64 {
        match ticker {
            Ticker::SecondaryCacheHits | Ticker::CompressedSecondaryCacheHits => self.secondary.hits(),
            Ticker::SecondaryCacheFilterHits => self.secondary.filter_hits(),
            Ticker::SecondaryCacheIndexHits => self.secondary.index_hits(),
            Ticker::SecondaryCacheDataHits => self.secondary.data_hits(),
            Ticker::CompressedSecondaryCacheDummyHits => self.secondary.dummy_hits(),
            ticker if is_always_counted(ticker) => self.tickers[ticker as usize].load(Ordering::Relaxed),
            ticker => {
                let statistics = self.statistics.as_ref();
                statistics.map_or(0, |statistics| statistics.get_ticker_count(ticker))
            }
        }
    }

    /// Counts `amount` even if counting is off, at half the cost of [`add`](Stats::add). The caller holds a
    /// lock that every other thread that counts `ticker` holds too.
    #[inline]
    pub(crate) fn add_locked(&self, ticker: Ticker, amount: u64) {
        debug_assert!(is_always_counted(ticker), "{ticker:?}");
        let counter = &self.tickers[ticker as usize];
        counter.store(counter.load(Ordering::Relaxed) + amount, Ordering::Relaxed);
        self.count(ticker, amount);
    }

    /// Sets all counters to 0 except those of secondary caches.
    pub(crate) fn reset(&self) {
        for ticker in &self.tickers {
            ticker.store(0, Ordering::Relaxed);
        }
        *self.stalls.lock() = StallTotals::default();
    }

    /// Counts a failure that stops the database.
    pub(crate) fn failed(&self, error: &Error) {
        self.add(Ticker::BgErrorCount, 1);
        if matches!(
            error.kind(),
            ErrorKind::Io | ErrorKind::NoSpace | ErrorKind::SpaceLimit
        ) {
            self.count(Ticker::BgIoErrorCount, 1);
        }
    }

    /// Counts the compression of a table.
    pub(crate) fn count_compressed(&self, compressed: CompressionTally) {
        self.count(Ticker::BlocksCompressed, compressed.blocks);
        self.count(Ticker::BytesCompressedFrom, compressed.bytes_from);
        self.count(Ticker::BytesCompressedTo, compressed.bytes_to);
        self.count(Ticker::BlocksCompressionRejected, compressed.rejected_blocks);
        self.count(Ticker::BytesCompressionRejected, compressed.rejected_bytes);
        self.count(Ticker::BlocksCompressionBypassed, compressed.bypassed_blocks);
        self.count(Ticker::BytesCompressionBypassed, compressed.bypassed_bytes);
    }

    /// Counts a compaction by its reason.
    pub(crate) fn count_reason(&self, reason: CompactionReason) {
        let ticker = match reason {
            CompactionReason::FIFOMaxSize => Ticker::FifoMaxSizeCompactions,
            CompactionReason::FIFOTtl => Ticker::FifoTtlCompactions,
            CompactionReason::ChangeTemperature => Ticker::FifoChangeTemperatureCompactions,
            _ => return,
        };
        self.count(ticker, 1);
    }

    /// Counts the entries dropped by a compaction or flush.
    pub(crate) fn count_drops(&self, stats: &CompactionStats) {
        for (ticker, count) in [
            (Ticker::CompactionKeyDropNewerEntry, stats.num_record_drop_hidden),
            (Ticker::CompactionKeyDropObsolete, stats.num_record_drop_obsolete),
            (Ticker::CompactionKeyDropRangeDel, stats.num_record_drop_range_del),
            (Ticker::CompactionKeyDropUser, stats.num_record_drop_user),
            (
                Ticker::CompactionRangeDelDropObsolete,
                stats.num_range_del_drop_obsolete,
            ),
            (
                Ticker::CompactionOptimizedDelDropObsolete,
                stats.num_optimized_del_drop_obsolete,
            ),
            (Ticker::MergeFailures, stats.num_merge_failures),
        ] {
            if count > 0 {
                self.count(ticker, count);
            }
        }
    }

    pub(crate) fn stalled(&self, condition: StallCondition, waited: Duration) {
        let micros = waited.as_micros() as u64;
        self.add(Ticker::StallMicros, micros);
        self.record(Histogram::WriteStall, micros);
        self.stalls.lock().add(condition, micros);
    }

    /// The waits of all conditions.
    pub(crate) fn stalls(&self) -> StallTotals {
        *self.stalls.lock()
    }

    /// The number and duration of waits in `condition`; zero for [`StallCondition::Normal`].
    pub fn stall(&self, condition: StallCondition) -> StallTotal {
        self.stalls.lock().get(condition)
    }

    /// The microseconds that writers waited because of `cause`, delayed or stopped.
    pub fn stall_micros(&self, cause: StallCause) -> u64 {
        self.stall(StallCondition::Delayed { cause }).micros
            + self.stall(StallCondition::Stopped { cause }).micros
    }
}

/// True for tickers that a database counts itself.
fn is_always_counted(ticker: Ticker) -> bool {
    matches!(
        ticker,
        Ticker::BytesWritten
            | Ticker::WalBytes
            | Ticker::WriteDone
            | Ticker::WalSynced
            | Ticker::StallMicros
            | Ticker::FlushWriteBytes
            | Ticker::CompactReadBytes
            | Ticker::CompactWriteBytes
            | Ticker::TrivialMoves
            | Ticker::TrivialMoveBytes
            | Ticker::CompactionBlocksCopied
            | Ticker::CompactionBytesCopied
            | Ticker::BgErrorCount
    )
}

/// Counts a lookup in a secondary cache; `None` if the cache had only a placeholder.
fn count_secondary(statistics: &Statistics, found: Option<EntryRole>) {
    let Some(role) = found else {
        return statistics.record_tick(Ticker::CompressedSecondaryCacheDummyHits, 1);
    };
    statistics.record_tick(Ticker::SecondaryCacheHits, 1);
    statistics.record_tick(Ticker::CompressedSecondaryCacheHits, 1);
    let of_role = match role {
        EntryRole::FilterBlock => Ticker::SecondaryCacheFilterHits,
        EntryRole::IndexBlock => Ticker::SecondaryCacheIndexHits,
        EntryRole::DataBlock => Ticker::SecondaryCacheDataHits,
        _ => return,
    };
    statistics.record_tick(of_role, 1);
}

impl fmt::Debug for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stats")
            .field("statistics", &self.statistics)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalls_are_told_apart() {
        let stats = Stats::new(None, Arc::new(base::env::ManualClock::default()));
        let delayed = |cause| StallCondition::Delayed { cause };
        let stopped = |cause| StallCondition::Stopped { cause };
        stats.stalled(delayed(StallCause::L0FileCountLimit), Duration::from_micros(5));
        stats.stalled(delayed(StallCause::L0FileCountLimit), Duration::from_micros(6));
        stats.stalled(stopped(StallCause::L0FileCountLimit), Duration::from_micros(7));
        stats.stalled(stopped(StallCause::MemtableLimit), Duration::from_micros(1));
        stats.stalled(StallCondition::Normal, Duration::from_micros(100));
        let total = |count, micros| StallTotal { count, micros };
        assert_eq!(stats.stall(delayed(StallCause::L0FileCountLimit)), total(2, 11));
        assert_eq!(stats.stall(stopped(StallCause::L0FileCountLimit)), total(1, 7));
        assert_eq!(stats.stall(delayed(StallCause::MemtableLimit)), total(0, 0));
        assert_eq!(stats.stall(StallCondition::Normal), total(0, 0));
        let text = stats.stalls().text();
        assert!(
            text.contains("l0-file-count-limit-delays: 2, l0-file-count-limit-stops: 1, "),
            "{text}"
        );
        assert!(text.ends_with("total-delays: 2, total-stops: 2"), "{text}");
        assert_eq!(stats.stall_micros(StallCause::L0FileCountLimit), 18);
        assert_eq!(stats.stall_micros(StallCause::MemtableLimit), 1);
        assert_eq!(stats.stall_micros(StallCause::PendingCompactionBytes), 0);
    }
}

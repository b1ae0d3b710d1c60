//! What a database counts of itself. Stalls, bytes of jobs and bytes written are always counted, by each database for itself;
//! everything else goes to the [`Statistics`] of its options, if it has some, and so do these.

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

use crate::events::{Event, EventListener};

/// The counters of one database.
pub struct Stats {
    /// What it shares with other databases, if counting is on.
    statistics: Option<Arc<Statistics>>,
    clock: Arc<dyn Clock>,
    /// By ticker; only those that are always counted are used.
    tickers: Vec<CachePadded<AtomicU64>>,
    /// Delays and stops, by cause.
    stalls: Mutex<StallTotals>,
    /// What the database's tables had back from secondary caches, which they count.
    pub(crate) secondary: Arc<SecondaryTally>,
}

/// How often writers waited for one reason, and how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StallTotal {
    /// Waits.
    pub count: u64,
    /// Microseconds they took together.
    pub micros: u64,
}

/// Waits of writers, by what they waited for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StallTotals([[StallTotal; StallCause::ALL.len()]; 2]);

impl StallTotals {
    /// A writer waited.
    pub fn add(&mut self, condition: StallCondition, micros: u64) {
        if let Some((kind, cause)) = place(condition) {
            let total = &mut self.0[kind][cause];
            total.count += 1;
            total.micros += micros;
        }
    }

    /// What was waited in `condition`.
    pub fn get(&self, condition: StallCondition) -> StallTotal {
        place(condition).map_or(StallTotal::default(), |(kind, cause)| self.0[kind][cause])
    }

    /// `l0-file-count-limit-delays: 0, l0-file-count-limit-stops: 0, ...`, as RocksDB's statistics tell them, and the sums.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut sums = [0, 0];
        for cause in StallCause::ALL {
            let delays = self.get(StallCondition::Delayed { cause }).count;
            let stops = self.get(StallCondition::Stopped { cause }).count;
            // Writing to a string does not fail.
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

    /// What counts beside the database itself: [`Options::statistics`](crate::Options::statistics).
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

    /// Adds to a distribution, if counting is on.
    #[inline]
    pub(crate) fn record(&self, histogram: Histogram, value: u64) {
        if let Some(statistics) = &self.statistics {
            statistics.record_in_histogram(histogram, value);
        }
    }

    /// A value was looked for in a cache of values of blob files: its bytes, if it was there.
    pub(crate) fn count_blob_lookup(&self, found: Option<usize>) {
        match found {
            Some(bytes) => {
                self.count(Ticker::BlobDbCacheHit, 1);
                self.count(Ticker::BlobDbCacheBytesRead, bytes as u64);
            }
            None => self.count(Ticker::BlobDbCacheMiss, 1),
        }
    }

    /// When it began to take the time of something, if it takes times.
    #[inline]
    pub(crate) fn start(&self) -> Option<Duration> {
        match &self.statistics {
            Some(statistics) if statistics.times() => Some(self.clock.now()),
            _ => None,
        }
    }

    /// Counts the microseconds since [`start`](Stats::start), and says how many they were.
    #[inline]
    pub(crate) fn stop(&self, started: Option<Duration>, histogram: Histogram) -> Option<u64> {
        let took = self.clock.now().saturating_sub(started?).as_micros() as u64;
        self.record(histogram, took);
        Some(took)
    }

    /// Counts `amount` whether counting is on or not: for what happens seldom.
    pub(crate) fn add(&self, ticker: Ticker, amount: u64) {
        debug_assert!(is_always_counted(ticker), "{ticker:?}");
        self.tickers[ticker as usize].fetch_add(amount, Ordering::Relaxed);
        self.count(ticker, amount);
    }

    /// What `ticker` counted since the database was opened, of this database alone where it is always counted; of any other ticker,
    /// what [`Options::statistics`](crate::Options::statistics) has, 0 without.
    ///
    /// Always counted are `BytesWritten`, `WriteDone`, `WalBytes`, `WalSynced`, `StallMicros`, `FlushWriteBytes`, `CompactReadBytes`,
    /// `CompactWriteBytes`, `TrivialMoves`, `TrivialMoveBytes`, `CompactionBlocksCopied`, `CompactionBytesCopied`, `BgErrorCount` and those of
    /// secondary caches.
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

    /// Counts `amount` whether counting is on or not, for half of what [`add`](Stats::add) costs. The caller holds a lock
    /// that whoever else counts `ticker` holds as well.
    #[inline]
    pub(crate) fn add_locked(&self, ticker: Ticker, amount: u64) {
        debug_assert!(is_always_counted(ticker), "{ticker:?}");
        let counter = &self.tickers[ticker as usize];
        counter.store(counter.load(Ordering::Relaxed) + amount, Ordering::Relaxed);
        self.count(ticker, amount);
    }

    /// Sets all to 0 but what secondary caches gave back.
    pub(crate) fn reset(&self) {
        for ticker in &self.tickers {
            ticker.store(0, Ordering::Relaxed);
        }
        *self.stalls.lock() = StallTotals::default();
    }

    /// Something failed that stops the database.
    pub(crate) fn failed(&self, error: &Error) {
        self.add(Ticker::BgErrorCount, 1);
        if matches!(error.kind(), ErrorKind::Io | ErrorKind::NoSpace) {
            self.count(Ticker::BgIoErrorCount, 1);
        }
    }

    /// What was compressed for a table.
    pub(crate) fn count_compressed(&self, compressed: CompressionTally) {
        self.count(Ticker::BlocksCompressed, compressed.blocks);
        self.count(Ticker::BytesCompressedFrom, compressed.bytes_from);
        self.count(Ticker::BytesCompressedTo, compressed.bytes_to);
        self.count(Ticker::BlocksCompressionRejected, compressed.rejected_blocks);
        self.count(Ticker::BytesCompressionRejected, compressed.rejected_bytes);
        self.count(Ticker::BlocksCompressionBypassed, compressed.bypassed_blocks);
        self.count(Ticker::BytesCompressionBypassed, compressed.bypassed_bytes);
    }

    /// A compaction was done for this reason.
    pub(crate) fn count_reason(&self, reason: CompactionReason) {
        let ticker = match reason {
            CompactionReason::FIFOMaxSize => Ticker::FifoMaxSizeCompactions,
            CompactionReason::FIFOTtl => Ticker::FifoTtlCompactions,
            CompactionReason::ChangeTemperature => Ticker::FifoChangeTemperatureCompactions,
            _ => return,
        };
        self.count(ticker, 1);
    }

    /// What a compaction, or a flush, left out.
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

    /// All stalls.
    pub(crate) fn stalls(&self) -> StallTotals {
        *self.stalls.lock()
    }

    /// How often and how long writers waited in `condition`; nothing for [`StallCondition::Normal`].
    pub fn stall(&self, condition: StallCondition) -> StallTotal {
        self.stalls.lock().get(condition)
    }

    /// Microseconds writers waited for `cause`, delayed or stopped.
    pub fn stall_micros(&self, cause: StallCause) -> u64 {
        self.stall(StallCondition::Delayed { cause }).micros
            + self.stall(StallCondition::Stopped { cause }).micros
    }
}

/// Tickers that a database counts for itself.
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

/// What came back from a secondary cache; `None` where it had no more than a placeholder.
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

/// Counts what only events tell of.
pub(crate) struct Counter(pub Arc<Statistics>);

impl EventListener for Counter {
    fn on_event(&self, event: &Event) {
        if let Event::FileDeleted { .. } = event {
            self.0.record_tick(Ticker::FilesDeletedImmediately, 1);
        }
    }
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

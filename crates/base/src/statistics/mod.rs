//! The counters of databases: tickers and histograms under RocksDB's names, in an object that several
//! databases may share.
//!
//! Each thread adds to its own stripe, so that threads do not wait for each other's cache lines; a read adds
//! up the stripes.

mod data;
mod names;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use data::{Cells, Merged};
pub use data::{HistogramData, HistogramImpl};
pub use data::{HistogramHead, bucket_limits, histogram_text};
pub use names::{Histogram, Ticker};

use crate::per_thread::PerThread;

/// The extent of the statistics. Each level includes those before it.
///
/// See the example of [`Statistics`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum StatsLevel {
    /// Counts nothing.
    DisableAll = 0,
    /// Counts tickers.
    ExceptHistogramOrTimers = 1,
    /// Also counts histograms that are not of times.
    ExceptTimers = 2,
    /// Also counts histograms of times, each of which takes two readings of a clock, except times that are
    /// taken for each block.
    #[default]
    ExceptDetailedTimers = 3,
    /// Also counts times that are taken for each block.
    ExceptTimeForMutex = 4,
    /// Counts everything; the same as the level before, because no mutex is timed.
    All = 5,
}

impl StatsLevel {
    /// The level that has this number in RocksDB.
    pub fn of_number(number: i32) -> Option<StatsLevel> {
        Some(match number {
            0 => StatsLevel::DisableAll,
            1 => StatsLevel::ExceptHistogramOrTimers,
            2 => StatsLevel::ExceptTimers,
            3 => StatsLevel::ExceptDetailedTimers,
            4 => StatsLevel::ExceptTimeForMutex,
            5 => StatsLevel::All,
            _ => return None,
        })
    }
}

/// The counters of one or several databases. It is passed as an option; the owner of a handle can read it at
/// any time, also after the database is closed.
///
/// A ticker costs an addition to memory that no other thread writes to; a histogram costs five. A read adds
/// up the counts of all threads; a count that is added at the same time may or may not be included. Takes
/// about 50 KiB for each core.
///
/// ```
/// # use esker_base::statistics as esker;
/// use esker::{Histogram, Statistics, StatsLevel, Ticker};
///
/// // Set as `Options::statistics`.
/// let statistics = Statistics::of_level(StatsLevel::ExceptDetailedTimers);
/// statistics.record_tick(Ticker::BytesRead, 100);
/// statistics.record_in_histogram(Histogram::DbGet, 20);
/// assert_eq!(statistics.get_ticker_count(Ticker::BytesRead), 100);
/// assert_eq!(statistics.histogram_data(Histogram::DbGet).max, 20);
/// ```
pub struct Statistics {
    level: AtomicU8,
    stripes: PerThread<Stripe>,
}

/// The counts of a thread.
struct Stripe {
    tickers: [AtomicU64; Ticker::ALL.len()],
    histograms: [Cells; Histogram::ALL.len()],
}

impl Default for Stripe {
    fn default() -> Stripe {
        Stripe {
            tickers: [const { AtomicU64::new(0) }; Ticker::ALL.len()],
            histograms: [const { Cells::new() }; Histogram::ALL.len()],
        }
    }
}

impl Statistics {
    /// Makes an object that counts at [`StatsLevel::default`].
    pub fn new() -> Arc<Statistics> {
        Statistics::of_level(StatsLevel::default())
    }

    /// Makes an object that counts at `level`.
    pub fn of_level(level: StatsLevel) -> Arc<Statistics> {
        Arc::new(Statistics {
            level: AtomicU8::new(level as u8),
            stripes: PerThread::default(),
        })
    }

    /// The level at which it counts.
    pub fn stats_level(&self) -> StatsLevel {
        StatsLevel::of_number(i32::from(self.level.load(Ordering::Relaxed))).unwrap_or_default()
    }

    /// Sets the level from now on.
    pub fn set_stats_level(&self, level: StatsLevel) {
        self.level.store(level as u8, Ordering::Relaxed);
    }

    #[inline]
    fn counts(&self, least: StatsLevel) -> bool {
        self.level.load(Ordering::Relaxed) >= least as u8
    }

    /// Adds `amount` to a ticker.
    #[inline]
    pub fn record_tick(&self, ticker: Ticker, amount: u64) {
        if self.counts(StatsLevel::ExceptHistogramOrTimers) {
            self.stripes.own().tickers[ticker as usize].fetch_add(amount, Ordering::Relaxed);
        }
    }

    /// Adds a value to a histogram.
    #[inline]
    pub fn record_in_histogram(&self, histogram: Histogram, value: u64) {
        if self.counts(StatsLevel::ExceptTimers) {
            self.stripes.own().histograms[histogram as usize].add(value);
        }
    }

    /// True if [`record_in_histogram`](Statistics::record_in_histogram) counts times, so that the caller
    /// should read a clock.
    #[inline]
    pub fn times(&self) -> bool {
        self.counts(StatsLevel::ExceptDetailedTimers)
    }

    /// True if times that are taken for each block are counted.
    #[inline]
    pub fn times_details(&self) -> bool {
        self.counts(StatsLevel::ExceptTimeForMutex)
    }

    /// The count of a ticker since it was last reset.
    pub fn get_ticker_count(&self, ticker: Ticker) -> u64 {
        let cells = self.stripes.iter().map(|stripe| &stripe.tickers[ticker as usize]);
        cells.fold(0, |sum, cell| sum.wrapping_add(cell.load(Ordering::Relaxed)))
    }

    /// Sets a ticker to 0 and returns its count: each count is returned by exactly one such call.
    pub fn get_and_reset_ticker_count(&self, ticker: Ticker) -> u64 {
        let cells = self.stripes.iter().map(|stripe| &stripe.tickers[ticker as usize]);
        cells.fold(0, |sum, cell| sum.wrapping_add(cell.swap(0, Ordering::Relaxed)))
    }

    fn merged(&self, histogram: Histogram) -> Merged {
        let mut merged = Merged::default();
        for stripe in self.stripes.iter() {
            merged.add(&stripe.histograms[histogram as usize]);
        }
        merged
    }

    /// The summary of a histogram.
    pub fn histogram_data(&self, histogram: Histogram) -> HistogramData {
        self.merged(histogram).data()
    }

    /// The number of values in each bucket of a histogram, in the order of [`bucket_limits`], and the sum
    /// of all values.
    pub fn histogram_buckets(&self, histogram: Histogram) -> (Vec<u64>, u64) {
        let merged = self.merged(histogram);
        (merged.buckets().to_vec(), merged.sum())
    }

    /// A histogram with its buckets, in RocksDB's text form.
    pub fn histogram_string(&self, histogram: Histogram) -> String {
        self.merged(histogram).text()
    }

    /// Sets all counts to 0. Counts that are added at the same time may remain.
    pub fn reset(&self) {
        for stripe in self.stripes.iter() {
            let tickers = stripe.tickers.iter();
            tickers.for_each(|cell| cell.store(0, Ordering::Relaxed));
            stripe.histograms.iter().for_each(Cells::reset);
        }
    }
}

/// The text of RocksDB's `Statistics::ToString`: a line for each ticker, then one for each histogram.
impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for &ticker in Ticker::ALL {
            writeln!(f, "{} COUNT : {}", ticker.name(), self.get_ticker_count(ticker))?;
        }
        for &histogram in Histogram::ALL {
            let data = self.histogram_data(histogram);
            writeln!(f, "{} {data}", histogram.name())?;
        }
        Ok(())
    }
}

impl fmt::Debug for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Statistics({:?})", self.stats_level())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_add_up() {
        let statistics = Statistics::new();
        let threads: Vec<_> = (0..8u64)
            .map(|thread| {
                let statistics = statistics.clone();
                std::thread::spawn(move || {
                    for i in 0..1000 {
                        statistics.record_tick(Ticker::KeysRead, 2);
                        statistics.record_in_histogram(Histogram::BytesPerRead, thread * 1000 + i + 1);
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(statistics.get_ticker_count(Ticker::KeysRead), 16_000);
        let data = statistics.histogram_data(Histogram::BytesPerRead);
        assert_eq!(
            (data.count, data.min, data.max, data.sum),
            (8000, 1, 8000, 8000 * 8001 / 2)
        );
        assert_eq!(statistics.get_and_reset_ticker_count(Ticker::KeysRead), 16_000);
        assert_eq!(statistics.get_ticker_count(Ticker::KeysRead), 0);
        statistics.reset();
        assert_eq!(
            statistics.histogram_data(Histogram::BytesPerRead),
            HistogramData::default()
        );
    }

    #[test]
    fn names_are_rocksdbs() {
        let rocksdbs: std::collections::BTreeSet<&str> = include_str!("rocksdb_names.txt").lines().collect();
        let tickers = Ticker::ALL.iter().map(|ticker| ticker.name());
        let histograms = Histogram::ALL.iter().map(|histogram| histogram.name());
        let ours: Vec<&str> = tickers
            .chain(histograms)
            .filter(|name| !name.starts_with("esker."))
            .collect();
        let wrong: Vec<&&str> = ours.iter().filter(|name| !rocksdbs.contains(**name)).collect();
        assert!(wrong.is_empty(), "{wrong:?}");
        assert!(ours.len() > 100);
    }

    #[test]
    fn each_level_counts_more() {
        let counted = |number: i32| {
            let statistics = Statistics::of_level(StatsLevel::of_number(number).unwrap());
            statistics.record_tick(Ticker::KeysRead, 1);
            statistics.record_in_histogram(Histogram::BytesPerRead, 1);
            (
                statistics.get_ticker_count(Ticker::KeysRead),
                statistics.histogram_data(Histogram::BytesPerRead).count,
                statistics.times(),
                statistics.times_details(),
            )
        };
        assert_eq!(counted(0), (0, 0, false, false));
        assert_eq!(counted(1), (1, 0, false, false));
        assert_eq!(counted(2), (1, 1, false, false));
        assert_eq!(counted(3), (1, 1, true, false));
        assert_eq!(counted(4), (1, 1, true, true));
        assert_eq!(StatsLevel::of_number(6), None);
    }

    #[test]
    fn names_are_told_apart() {
        for &ticker in Ticker::ALL {
            assert_eq!(Ticker::of_name(ticker.name()), Some(ticker));
        }
        for &histogram in Histogram::ALL {
            assert_eq!(Histogram::of_name(histogram.name()), Some(histogram));
        }
        assert_eq!(Ticker::of_name("rocksdb.nonsense"), None);
    }

    #[test]
    fn text_is_rocksdbs() {
        let statistics = Statistics::new();
        statistics.record_tick(Ticker::BlockCacheHit, 7);
        statistics.record_in_histogram(Histogram::DbGet, 10);
        let text = statistics.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "rocksdb.block.cache.miss COUNT : 0");
        assert_eq!(lines[1], "rocksdb.block.cache.hit COUNT : 7");
        assert!(
            lines.contains(&"rocksdb.db.get.micros P50 : 10.000000 P95 : 10.000000 P99 : 10.000000 P100 : 10.000000 COUNT : 1 SUM : 10"),
            "{text}"
        );
    }
}

//! Tickers and histograms under RocksDB's names.

mod histograms;
mod tickers;

use std::fmt;

pub use self::histograms::Histogram;
pub use self::tickers::Ticker;
use crate::Options;

/// The error for a name that RocksDB does not have.
#[derive(Clone, Debug)]
pub struct NameParseError;

impl fmt::Display for NameParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unrecognized name")
    }
}

impl std::error::Error for NameParseError {}

/// An enum whose values have RocksDB's names.
macro_rules! named_enum {
    ($(#[doc = $doc:literal])+ $type:ident { $( $variant:ident => $name:literal, )+ }) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        pub enum $type {
            $( #[doc = concat!("`", $name, "`.")] $variant, )+
        }

        impl $type {
            const ALL: &'static [$type] = &[$( $type::$variant, )+];

            /// Returns RocksDB's name of the ticker or histogram.
            pub const fn name(&self) -> &'static str {
                match self {
                    $( $type::$variant => $name, )+
                }
            }

            /// Iterates over all members of the enumeration.
            pub fn iter() -> std::slice::Iter<'static, $type> {
                $type::ALL.iter()
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::statistics::NameParseError;

            fn from_str(name: &str) -> Result<$type, Self::Err> {
                $type::iter()
                    .find(|value| value.name() == name)
                    .copied()
                    .ok_or($crate::statistics::NameParseError)
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.name().fmt(f)
            }
        }
    };
}
pub(crate) use named_enum;

/// The level of statistics. Each level includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum StatsLevel {
    /// Nothing is counted.
    DisableAll = 0,
    /// Tickers are counted.
    ExceptHistogramOrTimers = 2,
    /// Tickers, and histograms that are not times.
    ExceptTimers,
    /// Tickers and all histograms, except times of each block.
    ExceptDetailedTimers,
    /// Tickers and all histograms, also times of each block.
    ExceptTimeForMutex,
    /// Everything, times of waits for mutexes included.
    All,
}

impl StatsLevel {
    fn engine(self) -> esker::StatsLevel {
        match self {
            StatsLevel::DisableAll => esker::StatsLevel::DisableAll,
            StatsLevel::ExceptHistogramOrTimers => esker::StatsLevel::ExceptHistogramOrTimers,
            StatsLevel::ExceptTimers => esker::StatsLevel::ExceptTimers,
            StatsLevel::ExceptDetailedTimers => esker::StatsLevel::ExceptDetailedTimers,
            StatsLevel::ExceptTimeForMutex => esker::StatsLevel::ExceptTimeForMutex,
            StatsLevel::All => esker::StatsLevel::All,
        }
    }
}

/// The figures of a histogram; all 0 if nothing was counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct HistogramData {
    inner: esker::HistogramData,
}

impl HistogramData {
    /// An empty histogram.
    pub fn new() -> HistogramData {
        HistogramData::default()
    }

    /// The median of the recorded values.
    pub fn median(&self) -> f64 {
        self.inner.median
    }

    /// The mean of the recorded values.
    pub fn average(&self) -> f64 {
        self.inner.average
    }

    /// The value that 95% do not exceed.
    pub fn p95(&self) -> f64 {
        self.inner.percentile95
    }

    /// The value that 99% do not exceed.
    pub fn p99(&self) -> f64 {
        self.inner.percentile99
    }

    /// The largest recorded value.
    pub fn max(&self) -> f64 {
        self.inner.max as f64
    }

    /// The smallest recorded value.
    pub fn min(&self) -> f64 {
        self.inner.min as f64
    }

    /// The sum of the recorded values.
    pub fn sum(&self) -> u64 {
        self.inner.sum
    }

    /// The number of values.
    pub fn count(&self) -> u64 {
        self.inner.count
    }

    /// The standard deviation of the recorded values.
    pub fn std_dev(&self) -> f64 {
        self.inner.standard_deviation
    }
}

impl Options {
    /// Enables statistics for databases that are opened with these options.
    pub fn enable_statistics(&mut self) {
        self.inner.statistics = Some(esker::Statistics::new());
    }

    /// The statistics as text; `None` if they are off.
    pub fn get_statistics(&self) -> Option<String> {
        self.inner.statistics.as_ref().map(ToString::to_string)
    }

    /// Changes the level of detail of the statistics.
    pub fn set_statistics_level(&self, level: StatsLevel) {
        if let Some(statistics) = &self.inner.statistics {
            statistics.set_stats_level(level.engine());
        }
    }

    /// A count; 0 if statistics are off, and for a ticker that Esker does not count.
    pub fn get_ticker_count(&self, ticker: Ticker) -> u64 {
        let known = esker::Ticker::of_name(ticker.name());
        let counted = self.inner.statistics.as_ref().zip(known);
        counted.map_or(0, |(statistics, ticker)| statistics.get_ticker_count(ticker))
    }

    /// A distribution; empty if statistics are off, and for a histogram that Esker does not record.
    pub fn get_histogram_data(&self, histogram: Histogram) -> HistogramData {
        let known = esker::Histogram::of_name(histogram.name());
        let counted = self.inner.statistics.as_ref().zip(known);
        counted.map_or(HistogramData::new(), |(statistics, histogram)| HistogramData {
            inner: statistics.histogram_data(histogram),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back() {
        for ticker in Ticker::iter() {
            assert_eq!(ticker.name().parse::<Ticker>().unwrap(), *ticker);
        }
        for histogram in Histogram::iter() {
            assert_eq!(histogram.to_string().parse::<Histogram>().unwrap(), *histogram);
        }
        assert!("rocksdb.no.such".parse::<Ticker>().is_err());
    }
}

//! Tickers and histograms. Those of RocksDB that the engine does not count stay 0.

#[cfg(test)]
mod documented;
mod numbers;
mod numbers_7_8;

use std::ffi::c_char;
use std::sync::OnceLock;

use esker::{Histogram, Ticker};

use self::numbers::{SINCE_10_9, SINCE_11_8};
use crate::ffi::*;
use crate::generated::fields::StatisticsHistogramDataFields;
use crate::generated::structs::rocksdb_statistics_histogram_data_t;
use crate::generation::{Generation, generation};
use crate::options::rocksdb_options_t;

/// Returns the names of tickers and of histograms by the numbers of a generation.
fn names_of(generation: Generation) -> [Vec<&'static str>; 2] {
    if generation == Generation::V7_8 {
        return [numbers_7_8::TICKERS, numbers_7_8::HISTOGRAMS].map(<[_]>::to_vec);
    }
    let is_there = |name: &&str| match generation {
        Generation::V7_8 | Generation::V10_4 => !SINCE_10_9.contains(name) && !SINCE_11_8.contains(name),
        Generation::V10_9 => !SINCE_11_8.contains(name),
        Generation::V11_8 => true,
    };
    let all = [numbers::TICKERS, numbers::HISTOGRAMS];
    all.map(|names| names.iter().copied().filter(|name| is_there(name)).collect())
}

/// Returns the names in this library's generation.
fn names() -> &'static [Vec<&'static str>; 2] {
    static NAMES: OnceLock<[Vec<&'static str>; 2]> = OnceLock::new();
    NAMES.get_or_init(|| names_of(generation()))
}

fn name(names: &[&'static str], number: u32) -> Option<&'static str> {
    names.get(usize::try_from(number).ok()?).copied()
}

api!(
    fn rocksdb_options_statistics_get_string(options: *mut rocksdb_options_t) -> *mut c_char {
        match &(*options).statistics {
            Some(statistics) => copied_string(statistics.to_string().as_bytes()),
            None => std::ptr::null_mut(),
        }
    }
);

api!(
    fn rocksdb_options_statistics_get_ticker_count(options: *mut rocksdb_options_t, number: u32) -> u64 {
        let ticker = name(&names()[0], number).and_then(Ticker::of_name);
        match (&(*options).statistics, ticker) {
            (Some(statistics), Some(ticker)) => statistics.get_ticker_count(ticker),
            _ => 0,
        }
    }
);

api!(
    fn rocksdb_options_statistics_get_histogram_data(
        options: *mut rocksdb_options_t,
        number: u32,
        data: *mut rocksdb_statistics_histogram_data_t,
    ) {
        let histogram = name(&names()[1], number).and_then(Histogram::of_name);
        if let (Some(statistics), Some(histogram)) = (&(*options).statistics, histogram) {
            let found = statistics.histogram_data(histogram);
            (*data).fields = StatisticsHistogramDataFields {
                median: found.median,
                p95: found.percentile95,
                p99: found.percentile99,
                average: found.average,
                std_dev: found.standard_deviation,
                max: found.max as f64,
                count: found.count,
                sum: found.sum,
                min: found.min as f64,
            };
        }
    }
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_generation() {
        let number = |generation, name: &str| names_of(generation)[0].iter().position(|other| *other == name);
        let of = |name| {
            [
                Generation::V7_8,
                Generation::V10_4,
                Generation::V10_9,
                Generation::V11_8,
            ]
            .map(|generation| number(generation, name))
        };
        assert_eq!(
            of("rocksdb.bytes.written"),
            [Some(43), Some(60), Some(60), Some(61)]
        );
        assert_eq!(of("rocksdb.compaction.aborted"), [None, None, None, Some(57)]);
        let counts = [Generation::V7_8, Generation::V10_4, Generation::V11_8]
            .map(|generation| names_of(generation).map(|names| names.len()));
        assert_eq!(counts, [[193, 58], [216, 64], [263, 80]]);
    }
}

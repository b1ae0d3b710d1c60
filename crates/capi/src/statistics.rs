//! Tickers and histograms. Those of RocksDB that the engine does not count stay 0.

mod numbers;

use std::ffi::c_char;

use esker::{Histogram, Ticker};

use self::numbers::{HISTOGRAMS, TICKERS};
use crate::ffi::*;
use crate::generated::fields::StatisticsHistogramDataFields;
use crate::generated::objects::rocksdb_statistics_histogram_data_t;
use crate::options::rocksdb_options_t;

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
        let ticker = name(TICKERS, number).and_then(Ticker::of_name);
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
        let histogram = name(HISTOGRAMS, number).and_then(Histogram::of_name);
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

//! Tickers and histograms, by RocksDB's numbers.

use std::ffi::c_char;

use crate::ffi::*;
use crate::options::rocksdb_options_t;

api!(
    fn rocksdb_options_statistics_get_string(options: *mut rocksdb_options_t) -> *mut c_char {
        match &(*options).statistics {
            Some(statistics) => copied_string(statistics.to_string().as_bytes()),
            None => std::ptr::null_mut(),
        }
    }
);

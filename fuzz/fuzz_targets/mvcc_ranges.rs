//! See `esker_fuzz::targets::mvcc_ranges`.
#![no_main]

esker_fuzz::target!(mvcc_ranges);

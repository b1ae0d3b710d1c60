//! See `esker_fuzz::targets::mvcc_value`.
#![no_main]

esker_fuzz::target!(mvcc_value);

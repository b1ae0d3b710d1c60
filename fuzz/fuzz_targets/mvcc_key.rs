//! See `esker_fuzz::targets::mvcc_key`.
#![no_main]

esker_fuzz::target!(mvcc_key);

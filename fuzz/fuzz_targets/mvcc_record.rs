//! See `esker_fuzz::targets::mvcc_record`.
#![no_main]

esker_fuzz::target!(mvcc_record);

//! See `esker_fuzz::targets::write_batch`.
#![no_main]

esker_fuzz::target!(write_batch);

//! See `esker_fuzz::targets::data_block`.
#![no_main]

esker_fuzz::target!(data_block);

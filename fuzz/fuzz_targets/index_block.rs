//! See `esker_fuzz::targets::index_block`.
#![no_main]

esker_fuzz::target!(index_block);

//! See `esker_fuzz::targets::decompress`.
#![no_main]

esker_fuzz::target!(decompress);

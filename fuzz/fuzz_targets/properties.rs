//! See `esker_fuzz::targets::properties`.
#![no_main]

esker_fuzz::target!(properties);

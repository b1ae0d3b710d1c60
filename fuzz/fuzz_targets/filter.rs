//! See `esker_fuzz::targets::filter`.
#![no_main]

esker_fuzz::target!(filter);

//! See `esker_fuzz::targets::directory`.
#![no_main]

esker_fuzz::target!(directory);

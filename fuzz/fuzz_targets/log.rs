//! See `esker_fuzz::targets::log`.
#![no_main]

esker_fuzz::target!(log);

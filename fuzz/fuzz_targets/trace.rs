//! See `esker_fuzz::targets::trace`.
#![no_main]

esker_fuzz::target!(trace);

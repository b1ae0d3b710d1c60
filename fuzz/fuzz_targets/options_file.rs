//! See `esker_fuzz::targets::options_file`.
#![no_main]

esker_fuzz::target!(options_file);

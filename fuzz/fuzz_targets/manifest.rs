//! See `esker_fuzz::targets::manifest`.
#![no_main]

esker_fuzz::target!(manifest);

//! See `esker_fuzz::targets::coding`.
#![no_main]

esker_fuzz::target!(coding);

//! See `esker_fuzz::targets::version_edit`.
#![no_main]

esker_fuzz::target!(version_edit);

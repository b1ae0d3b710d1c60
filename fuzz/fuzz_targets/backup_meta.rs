//! See `esker_fuzz::targets::backup_meta`.
#![no_main]

esker_fuzz::target!(backup_meta);

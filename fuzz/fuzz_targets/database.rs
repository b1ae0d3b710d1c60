//! See `esker_fuzz::targets::database`.
#![no_main]

esker_fuzz::target!(database);

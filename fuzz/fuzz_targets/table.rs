//! See `esker_fuzz::targets::table`.
#![no_main]

esker_fuzz::target!(table);

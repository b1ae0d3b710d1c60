//! See `esker_fuzz::targets::footer`.
#![no_main]

esker_fuzz::target!(footer);

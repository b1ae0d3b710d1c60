//! See `esker_fuzz::targets::blob_file`.
#![no_main]

esker_fuzz::target!(blob_file);

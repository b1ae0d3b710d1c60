//! Functions that are not implemented: each reports that.

// Written by `cargo xtask gen` from crates/capi/fields.tsv and crates/capi/functions.tsv; do not edit.

use std::ffi::{c_char, c_void};

use crate::ffi::*;

api!(fn rocksdb_open_and_compact(_0: *mut c_void, _1: *mut c_void, _2: *mut c_void, _3: usize, _4: *mut c_void, _5: *mut c_void, errptr: *mut *mut c_char) -> *mut c_void { absent_error("rocksdb_open_and_compact", errptr) });

api!(fn rocksdb_open_and_compact_with_options(_0: *mut c_void, _1: *mut c_void, _2: *mut c_void, _3: *mut c_void, _4: usize, _5: *mut c_void, _6: *mut c_void, errptr: *mut *mut c_char) -> *mut c_void { absent_error("rocksdb_open_and_compact_with_options", errptr) });

//! Functions of RocksDB 7.8 that 11.8 does not have, for programs that were linked to 7.8. Setters of options
//! that RocksDB has dropped are fields of `fields.tsv`.

use std::ffi::{c_char, c_int};

use esker::FilterPolicy;

use crate::block_based::rocksdb_block_based_table_options_t;
use crate::cache::rocksdb_cache_t;
use crate::db::rocksdb_t;
use crate::ffi::*;
use crate::filter_policy::rocksdb_filterpolicy_t;

// The function returns no error: if it fails, the file stays, and a line on standard error reports the error.
api!(
    fn rocksdb_delete_file(_db: *mut rocksdb_t, _name: *const c_char) {
        absent("rocksdb_delete_file")
    }
);

// The engine has no second cache of compressed blocks. The page cache of the system has the same purpose.
api!(
    fn rocksdb_block_based_options_set_block_cache_compressed(
        _options: *mut rocksdb_block_based_table_options_t,
        _cache: *mut rocksdb_cache_t,
    ) {
        absent("rocksdb_block_based_options_set_block_cache_compressed")
    }
);

api!(
    fn rocksdb_filterpolicy_create_bloom_format(
        bits_per_key: f64,
        _original_format: bool,
    ) -> *mut rocksdb_filterpolicy_t {
        boxed(rocksdb_filterpolicy_t(FilterPolicy::Bloom(bits_per_key)))
    }
);

api!(
    fn rocksdb_filterpolicy_create_ribbon_format(
        bits_per_key: f64,
        bloom_before_level: c_int,
    ) -> *mut rocksdb_filterpolicy_t {
        boxed(rocksdb_filterpolicy_t(FilterPolicy::Ribbon {
            bits_per_key,
            bloom_before_level,
        }))
    }
);

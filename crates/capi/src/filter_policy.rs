//! `rocksdb_filterpolicy_t`: table options take it over.

use std::ffi::c_int;

use esker::FilterPolicy;

use crate::ffi::*;

/// The C object `rocksdb_filterpolicy_t`.
pub struct rocksdb_filterpolicy_t(pub FilterPolicy);

fn policy(policy: FilterPolicy) -> *mut rocksdb_filterpolicy_t {
    boxed(rocksdb_filterpolicy_t(policy))
}

api!(
    fn rocksdb_filterpolicy_create_bloom(bits_per_key: f64) -> *mut rocksdb_filterpolicy_t {
        policy(FilterPolicy::Bloom(bits_per_key))
    }
);

// Filters are always full filters of a whole table.
api!(
    fn rocksdb_filterpolicy_create_bloom_full(bits_per_key: f64) -> *mut rocksdb_filterpolicy_t {
        policy(FilterPolicy::Bloom(bits_per_key))
    }
);

api!(
    fn rocksdb_filterpolicy_create_ribbon(bits_per_key: f64) -> *mut rocksdb_filterpolicy_t {
        policy(FilterPolicy::Ribbon {
            bits_per_key,
            bloom_before_level: -1,
        })
    }
);

api!(
    fn rocksdb_filterpolicy_create_ribbon_hybrid(
        bits_per_key: f64,
        bloom_before_level: c_int,
    ) -> *mut rocksdb_filterpolicy_t {
        policy(FilterPolicy::Ribbon {
            bits_per_key,
            bloom_before_level,
        })
    }
);

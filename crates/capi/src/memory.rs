//! The memory usage of databases and caches.

use std::ffi::c_char;

use esker::Db;

use crate::cache::rocksdb_cache_t;
use crate::db::rocksdb_t;
use crate::ffi::*;
use crate::generated::fields::MemoryUsageFields;
use crate::generated::structs::rocksdb_memory_usage_t;

/// The C object `rocksdb_memory_consumers_t`.
#[derive(Default)]
pub struct rocksdb_memory_consumers_t {
    databases: Vec<Db>,
    caches: Vec<rocksdb_cache_t>,
}

api!(
    fn rocksdb_memory_consumers_create() -> *mut rocksdb_memory_consumers_t {
        boxed(rocksdb_memory_consumers_t::default())
    }
);

api!(
    fn rocksdb_memory_consumers_add_db(consumers: *mut rocksdb_memory_consumers_t, db: *mut rocksdb_t) {
        (&mut (*consumers).databases).push((*db).db.clone());
    }
);

api!(
    fn rocksdb_memory_consumers_add_cache(
        consumers: *mut rocksdb_memory_consumers_t,
        cache: *mut rocksdb_cache_t,
    ) {
        (&mut (*consumers).caches).push((*cache).clone());
    }
);

api!(
    fn rocksdb_approximate_memory_usage_create(
        consumers: *mut rocksdb_memory_consumers_t,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_memory_usage_t {
        fallible(errptr, || {
            let consumers = &*consumers;
            let sum = |property: &str| -> u64 {
                let of = |db: &Db| -> u64 {
                    db.column_families()
                        .iter()
                        .filter_map(|family| db.property_int(family, property))
                        .sum()
                };
                consumers.databases.iter().map(of).sum()
            };
            Ok(boxed(rocksdb_memory_usage_t {
                fields: MemoryUsageFields {
                    mem_table_total: sum("rocksdb.size-all-mem-tables"),
                    mem_table_unflushed: sum("rocksdb.cur-size-all-mem-tables"),
                    mem_table_readers_total: sum("rocksdb.estimate-table-readers-mem"),
                    cache_total: consumers
                        .caches
                        .iter()
                        .map(|cache| cache.cache.usage() as u64)
                        .sum(),
                },
            }))
        })
    }
);

api!(
    fn rocksdb_approximate_memory_usage_destroy(usage: *mut rocksdb_memory_usage_t) {
        free_box(usage)
    }
);

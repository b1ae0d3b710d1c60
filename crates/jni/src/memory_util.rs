//! `org.rocksdb.MemoryUtil`.

use std::collections::BTreeMap;

use jni_sys::jvalue;

use crate::cache::CacheObject;
use crate::env::{JLongArray, JObject};
use crate::frame::native;
use crate::handles;
use crate::objects::database;

/// The integer properties of each family that report memory, by RocksJava's number of the kind of memory.
const PROPERTIES: [(i8, &str); 3] = [
    (0, "rocksdb.size-all-mem-tables"),
    (1, "rocksdb.cur-size-all-mem-tables"),
    (2, "rocksdb.estimate-table-readers-mem"),
];

/// RocksJava's number of the memory of caches.
const CACHES: i8 = 3;

native!("MemoryUtil_getApproximateMemoryUsageByType" "_3J_3J" fn(
    env, databases: JLongArray, caches: JLongArray
) -> JObject {
    // As in RocksDB, a kind of memory that is not queried has no entry.
    let mut usage: BTreeMap<i8, u64> = BTreeMap::new();
    for handle in env.longs(databases)? {
        let db = database(handle)?;
        for family in db.db.column_families() {
            for (kind, property) in PROPERTIES {
                *usage.entry(kind).or_default() += db.db.property_int(&family, property).unwrap_or(0);
            }
        }
    }
    for cache in env.longs(caches)? {
        *usage.entry(CACHES).or_default() += handles::get::<CacheObject>(cache)?.0.usage() as u64;
    }
    let map = env.object("java/util/HashMap", "()V", &[])?;
    for (kind, bytes) in usage {
        let kind = env.object("java/lang/Byte", "(B)V", &[jvalue { b: kind }])?;
        let bytes = env.object("java/lang/Long", "(J)V", &[jvalue { j: bytes as i64 }])?;
        env.map_put(map, kind, bytes)?;
        env.forget(kind);
        env.forget(bytes);
    }
    Ok(JObject(map))
});

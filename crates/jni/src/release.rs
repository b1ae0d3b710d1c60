//! The release of the classes that use this library.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::env::Env;
use crate::frame::native;

/// The releases that the library distinguishes, oldest first. Each has a method that the release before it
/// lacks.
const MARKS: &[(u8, &str, &str, &str)] = &[
    (9, "org/rocksdb/RocksDB", "disposeInternalJni", "(J)V"),
    (11, "org/rocksdb/RocksDB", "abortAllCompactions", "(J)V"),
];

/// The major release of the loaded classes; 0 before the classes are probed.
static MAJOR: AtomicU8 = AtomicU8::new(0);

/// Finds the release of the classes, once.
pub fn probe(env: &Env<'_>) {
    if MAJOR.load(Ordering::Relaxed) != 0 {
        return;
    }
    let mut major = 8;
    for (release, class, method, signature) in MARKS {
        let Ok(class) = env.class(class) else {
            env.clear();
            continue;
        };
        if env.has_static(class, method, signature) {
            major = *release;
        }
    }
    MAJOR.store(major, Ordering::Relaxed);
}

/// Returns the default `format_version` of tables in that release of RocksDB, whose classes are loaded.
pub fn format_version() -> u32 {
    match MAJOR.load(Ordering::Relaxed) {
        0..=8 => 5,
        9..=10 => 6,
        _ => 7,
    }
}

native!("RocksDB_version" "" fn(env) -> i32 {
    let mut parts = esker::ROCKSDB_VERSION.split('.').map(|part| part.parse().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    Ok((next() << 16) | (next() << 8) | next())
});

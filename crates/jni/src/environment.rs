//! `org.rocksdb.Env`: where files live. The numbers of threads are kept and read back: the engine has `max_background_jobs` of its own.

use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, OnceLock};

use esker::{Options, SystemClock};
use jni_sys::jlong;
use vfs::{FileSystem, MemFs};

use crate::env::JObjects;
use crate::frame::native;
use crate::handles;

/// An environment.
#[derive(Clone)]
pub struct Environment {
    /// The file system; none for the operating system's.
    fs: Option<Arc<dyn FileSystem>>,
    /// Threads of the pools, in the order of RocksJava's priorities: bottom, low, high, user.
    threads: Arc<[AtomicI32; 4]>,
}

impl Environment {
    fn insert(fs: Option<Arc<dyn FileSystem>>) -> jlong {
        handles::insert(Environment {
            fs,
            threads: Arc::new([0, 1, 0, 0].map(AtomicI32::new)),
        })
    }

    /// Puts the files of a database there.
    pub fn apply(&self, options: &mut Options) {
        if let Some(fs) = &self.fs {
            options.fs = Arc::clone(fs);
        }
    }

    /// The file system, where it is not the operating system's.
    pub fn file_system(&self) -> Option<Arc<dyn FileSystem>> {
        self.fs.clone()
    }

    fn pool(&self, priority: i8) -> &AtomicI32 {
        &self.threads[priority.clamp(0, 3) as usize]
    }
}

/// The handle of the operating system's, which is never closed: Java compares it.
fn default() -> jlong {
    static DEFAULT: OnceLock<jlong> = OnceLock::new();
    *DEFAULT.get_or_init(|| Environment::insert(None))
}

native!("Env_getDefaultEnvInternal" "" fn(env) -> i64 { Ok(default()) });

// Java makes an object of its own over a handle that is not the default one's.
native!("RocksDB_getEnv" "J" fn(env, db: i64) -> i64 {
    let db = crate::objects::database(db)?;
    Ok(match &db.environment {
        Some(environment) if environment.fs.is_some() => handles::insert(environment.clone()),
        _ => default(),
    })
});

native!("RocksMemEnv_createMemEnv" "J" fn(env, base: i64) -> i64 {
    Ok(Environment::insert(Some(Arc::new(MemFs::with_clock(Arc::new(SystemClock::new()))))))
});

// Times of its calls are not measured.
native!("TimedEnv_createTimedEnv" "J" fn(env, base: i64) -> i64 {
    Ok(Environment::insert(handles::get::<Environment>(base)?.fs.clone()))
});

native!("Env_setBackgroundThreads" "JIB" fn(env, handle: i64, count: i32, priority: i8) {
    handles::get::<Environment>(handle)?.pool(priority).store(count, Ordering::Relaxed);
    Ok(())
});

native!("Env_getBackgroundThreads" "JB" fn(env, handle: i64, priority: i8) -> i32 {
    Ok(handles::get::<Environment>(handle)?.pool(priority).load(Ordering::Relaxed))
});

native!("Env_incBackgroundThreadsIfNeeded" "JIB" fn(env, handle: i64, count: i32, priority: i8) {
    handles::get::<Environment>(handle)?.pool(priority).fetch_max(count, Ordering::Relaxed);
    Ok(())
});

native!("Env_getThreadPoolQueueLen" "JB" fn(env, handle: i64, priority: i8) -> i32 {
    handles::get::<Environment>(handle).map(|_| 0)
});

native!("Env_lowerThreadPoolIOPriority" "JB" fn(env, handle: i64, priority: i8) {
    handles::get::<Environment>(handle).map(drop)
});

native!("Env_lowerThreadPoolCPUPriority" "JB" fn(env, handle: i64, priority: i8) {
    handles::get::<Environment>(handle).map(drop)
});

// Threads of the engine tell no status: none are enabled to.
native!("Env_getThreadList" "J" fn(env, handle: i64) -> JObjects {
    handles::get::<Environment>(handle)?;
    env.object_array("org/rocksdb/ThreadStatus", 0).map(JObjects)
});

//! `org.rocksdb.Env`: the file system of a database, and the threads of the process.

use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, OnceLock};

use esker::{Options, SystemClock, ThreadPool, ThreadPriority};
use jni_sys::jlong;
use vfs::{FileSystem, MemFs};

use crate::env::JObjects;
use crate::frame::native;
use crate::handles;

/// An environment. All environments share the threads of the process.
#[derive(Clone)]
pub struct Environment {
    /// The file system; `None` for the operating system's.
    fs: Option<Arc<dyn FileSystem>>,
}

impl Environment {
    fn insert(fs: Option<Arc<dyn FileSystem>>) -> jlong {
        handles::insert(Environment { fs })
    }

    /// Sets the file system of a database's options.
    pub fn apply(&self, options: &mut Options) {
        if let Some(fs) = &self.fs {
            options.fs = Arc::clone(fs);
        }
    }

    /// Returns the file system, unless it is the operating system's.
    pub fn file_system(&self) -> Option<Arc<dyn FileSystem>> {
        self.fs.clone()
    }
}

/// Returns the handle of the default environment, which is never closed: Java compares it.
fn default() -> jlong {
    static DEFAULT: OnceLock<jlong> = OnceLock::new();
    *DEFAULT.get_or_init(|| Environment::insert(None))
}

native!("Env_getDefaultEnvInternal" "" fn(env) -> i64 { Ok(default()) });

/// Returns the handle of the environment that a database was opened with. Java creates an object for it
/// unless it is the default environment.
pub fn handle_of(environment: Option<&Environment>) -> jlong {
    match environment {
        Some(environment) if environment.fs.is_some() => handles::insert(environment.clone()),
        _ => default(),
    }
}

native!("RocksMemEnv_createMemEnv" "J" fn(env, base: i64) -> i64 {
    Ok(Environment::insert(Some(Arc::new(MemFs::with_clock(Arc::new(SystemClock::new()))))))
});

// The times of calls are not measured.
native!("TimedEnv_createTimedEnv" "J" fn(env, base: i64) -> i64 {
    Ok(Environment::insert(handles::get::<Environment>(base)?.fs.clone()))
});

/// The threads of a priority of RocksJava.
enum Threads {
    /// A pool of threads of the engine.
    Engine(ThreadPriority),
    /// The priority USER: the engine has no such pool, and keeps the number.
    Kept(&'static AtomicI32),
}

impl Threads {
    fn of(priority: i8) -> Threads {
        static USER: AtomicI32 = AtomicI32::new(0);
        match priority {
            ..=0 => Threads::Engine(ThreadPriority::Bottom),
            1 => Threads::Engine(ThreadPriority::Low),
            2 => Threads::Engine(ThreadPriority::High),
            _ => Threads::Kept(&USER),
        }
    }

    fn count(&self) -> i32 {
        match self {
            Threads::Engine(priority) => ThreadPool::of_process().background_threads(*priority) as i32,
            Threads::Kept(count) => count.load(Ordering::Relaxed),
        }
    }

    fn set(&self, count: i32) {
        match self {
            Threads::Engine(priority) => {
                ThreadPool::of_process().set_background_threads(count.max(0) as usize, *priority);
            }
            Threads::Kept(kept) => kept.store(count, Ordering::Relaxed),
        }
    }
}

native!("Env_setBackgroundThreads" "JIB" fn(env, handle: i64, count: i32, priority: i8) {
    handles::get::<Environment>(handle)?;
    Threads::of(priority).set(count);
    Ok(())
});

native!("Env_getBackgroundThreads" "JB" fn(env, handle: i64, priority: i8) -> i32 {
    handles::get::<Environment>(handle)?;
    Ok(Threads::of(priority).count())
});

native!("Env_incBackgroundThreadsIfNeeded" "JIB" fn(env, handle: i64, count: i32, priority: i8) {
    handles::get::<Environment>(handle)?;
    let threads = Threads::of(priority);
    if threads.count() < count {
        threads.set(count);
    }
    Ok(())
});

native!("Env_getThreadPoolQueueLen" "JB" fn(env, handle: i64, priority: i8) -> i32 {
    handles::get::<Environment>(handle)?;
    Ok(match Threads::of(priority) {
        Threads::Engine(priority) => ThreadPool::of_process().queue_len(priority) as i32,
        Threads::Kept(_) => 0,
    })
});

native!("Env_lowerThreadPoolIOPriority" "JB" fn(env, handle: i64, priority: i8) {
    handles::get::<Environment>(handle).map(drop)
});

native!("Env_lowerThreadPoolCPUPriority" "JB" fn(env, handle: i64, priority: i8) {
    handles::get::<Environment>(handle).map(drop)
});

// Threads of the engine do not report a status, so that the list is empty.
native!("Env_getThreadList" "J" fn(env, handle: i64) -> JObjects {
    handles::get::<Environment>(handle)?;
    env.object_array("org/rocksdb/ThreadStatus", 0).map(JObjects)
});

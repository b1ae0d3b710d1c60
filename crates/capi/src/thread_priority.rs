//! The priorities, in the system, of the background threads that all databases of the process share. As in
//! RocksDB they can only be lowered.

use std::sync::atomic::{AtomicU8, Ordering};

use esker::{ThreadPool, ThreadPriority};

use crate::env::rocksdb_env_t;
#[cfg(not(target_os = "linux"))]
use crate::ffi::complain;

/// The lowest I/O priority: the thread reads and writes files only when no other process does.
const IDLE_IO: u8 = 1;
/// The thread has the lowest priority of the normal ones.
const LOW_CPU: u8 = 2;

/// The lowered priorities of threads that compact, and of threads that flush.
static COMPACTING: AtomicU8 = AtomicU8::new(0);
static FLUSHING: AtomicU8 = AtomicU8::new(0);

/// Lowers a priority of the pool's present and future threads.
fn lower(what: u8, pool: ThreadPriority) {
    let lowered = match pool {
        ThreadPriority::Low | ThreadPriority::Bottom => &COMPACTING,
        ThreadPriority::High | ThreadPriority::Read => &FLUSHING,
    };
    lowered.fetch_or(what, Ordering::Relaxed);
    ThreadPool::of_process().prepare_threads(pool, || lower_this_thread(lowered.load(Ordering::Relaxed)));
}

/// Lowers the priorities of this thread. Errors are ignored, as in RocksDB: the work is done all the same.
#[cfg(target_os = "linux")]
fn lower_this_thread(what: u8) {
    /// The highest nice value.
    const NICEST: i32 = 19;
    /// `IOPRIO_WHO_PROCESS`: a thread, by its id; 0 is the calling one.
    const WHO_PROCESS: i32 = 1;
    /// `IOPRIO_CLASS_IDLE`, above the 13 bits of the priority within the class.
    const CLASS_IDLE: i32 = 3 << 13;
    if what & LOW_CPU != 0 {
        // SAFETY: the call takes numbers. On Linux it concerns the calling thread only.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICEST) };
    }
    if what & IDLE_IO != 0 {
        // SAFETY: the call takes numbers.
        unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0, CLASS_IDLE) };
    }
}

/// Reports that threads have no priorities of their own on this system.
#[cfg(not(target_os = "linux"))]
fn lower_this_thread(_what: u8) {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| complain("the priorities of threads are lowered on Linux only"));
}

api!(
    fn rocksdb_env_lower_thread_pool_io_priority(_env: *mut rocksdb_env_t) {
        lower(IDLE_IO, ThreadPriority::Low)
    }
);

api!(
    fn rocksdb_env_lower_high_priority_thread_pool_io_priority(_env: *mut rocksdb_env_t) {
        lower(IDLE_IO, ThreadPriority::High)
    }
);

api!(
    fn rocksdb_env_lower_thread_pool_cpu_priority(_env: *mut rocksdb_env_t) {
        lower(LOW_CPU, ThreadPriority::Low)
    }
);

api!(
    fn rocksdb_env_lower_high_priority_thread_pool_cpu_priority(_env: *mut rocksdb_env_t) {
        lower(LOW_CPU, ThreadPriority::High)
    }
);

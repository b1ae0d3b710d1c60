//! `rocksdb_env_t`, which determines the file system, and `rocksdb_logger_t`. The numbers of threads of an
//! environment are stored and can be read back; the engine uses `max_background_jobs`.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use base::env::SystemClock;
use esker::{InfoLogLevel, Logger, Options};
use vfs::{FileSystem, MemFs, PosixFs};

use crate::ffi::*;

/// Threads of the three pools: low, high, bottom priority.
type Threads = [AtomicI32; 3];

/// The C object `rocksdb_env_t`.
#[derive(Clone)]
pub struct rocksdb_env_t {
    pub fs: Arc<dyn FileSystem>,
    threads: Arc<Threads>,
}

impl Default for rocksdb_env_t {
    fn default() -> rocksdb_env_t {
        rocksdb_env_t {
            fs: Arc::new(PosixFs::new()),
            threads: Arc::new([AtomicI32::new(1), AtomicI32::new(0), AtomicI32::new(0)]),
        }
    }
}

impl rocksdb_env_t {
    /// Sets the file system of a database's options.
    pub fn apply(&self, options: &mut Options) {
        options.fs = self.fs.clone();
    }
}

const LOW: usize = 0;
const HIGH: usize = 1;
const BOTTOM: usize = 2;

unsafe fn set_threads(env: *mut rocksdb_env_t, pool: usize, count: c_int) {
    (&(*env).threads)[pool].store(count, Ordering::Relaxed);
}

unsafe fn threads(env: *mut rocksdb_env_t, pool: usize) -> c_int {
    (&(*env).threads)[pool].load(Ordering::Relaxed)
}

api!(
    fn rocksdb_create_default_env() -> *mut rocksdb_env_t {
        boxed(rocksdb_env_t::default())
    }
);

api!(
    fn rocksdb_create_mem_env() -> *mut rocksdb_env_t {
        boxed(rocksdb_env_t {
            fs: Arc::new(MemFs::with_clock(Arc::new(SystemClock::new()))),
            ..rocksdb_env_t::default()
        })
    }
);

api!(
    fn rocksdb_create_dir_if_missing(
        env: *mut rocksdb_env_t,
        path_text: *const c_char,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || (*env).fs.create_dir_all(&path(path_text)))
    }
);

api!(
    fn rocksdb_env_set_background_threads(env: *mut rocksdb_env_t, count: c_int) {
        set_threads(env, LOW, count)
    }
);

api!(
    fn rocksdb_env_get_background_threads(env: *mut rocksdb_env_t) -> c_int {
        threads(env, LOW)
    }
);

api!(
    fn rocksdb_env_set_low_priority_background_threads(env: *mut rocksdb_env_t, count: c_int) {
        set_threads(env, LOW, count)
    }
);

api!(
    fn rocksdb_env_get_low_priority_background_threads(env: *mut rocksdb_env_t) -> c_int {
        threads(env, LOW)
    }
);

api!(
    fn rocksdb_env_set_high_priority_background_threads(env: *mut rocksdb_env_t, count: c_int) {
        set_threads(env, HIGH, count)
    }
);

api!(
    fn rocksdb_env_get_high_priority_background_threads(env: *mut rocksdb_env_t) -> c_int {
        threads(env, HIGH)
    }
);

api!(
    fn rocksdb_env_set_bottom_priority_background_threads(env: *mut rocksdb_env_t, count: c_int) {
        set_threads(env, BOTTOM, count)
    }
);

api!(
    fn rocksdb_env_get_bottom_priority_background_threads(env: *mut rocksdb_env_t) -> c_int {
        threads(env, BOTTOM)
    }
);

// Each database joins its own threads when it is closed.
api!(
    fn rocksdb_env_join_all_threads(_env: *mut rocksdb_env_t) {}
);

/// The C object `rocksdb_logger_t`.
#[derive(Clone)]
pub struct rocksdb_logger_t(pub Arc<dyn Logger>);

type LogFn = unsafe extern "C" fn(*mut c_void, c_uint, *mut c_char, usize);

/// Calls the C function of the user.
struct CallbackLogger {
    level: c_int,
    log: LogFn,
    state: CallbackState,
}

fn number(level: InfoLogLevel) -> c_int {
    match level {
        InfoLogLevel::Debug => 0,
        InfoLogLevel::Info => 1,
        InfoLogLevel::Warn => 2,
        InfoLogLevel::Error => 3,
        InfoLogLevel::Fatal => 4,
        InfoLogLevel::Header => 5,
    }
}

impl Logger for CallbackLogger {
    fn log(&self, level: InfoLogLevel, message: &str) {
        if number(level) < self.level {
            return;
        }
        let mut line = message.as_bytes().to_vec();
        line.push(0);
        // SAFETY: the caller passed the function for this state. The line ends with NUL, which its length
        // excludes.
        unsafe {
            (self.log)(
                self.state.pointer,
                number(level) as c_uint,
                line.as_mut_ptr().cast(),
                message.len(),
            );
        }
    }
}

/// A logger that writes to standard error.
struct StderrLogger {
    level: c_int,
    prefix: String,
}

impl Logger for StderrLogger {
    fn log(&self, level: InfoLogLevel, message: &str) {
        use std::io::Write;
        if number(level) >= self.level {
            // A closed standard error is not an error of the database.
            let _ = writeln!(std::io::stderr(), "{}{message}", self.prefix);
        }
    }
}

api!(
    fn rocksdb_logger_create_stderr_logger(level: c_int, prefix: *const c_char) -> *mut rocksdb_logger_t {
        boxed(rocksdb_logger_t(Arc::new(StderrLogger {
            level,
            prefix: string(prefix),
        })))
    }
);

api!(
    fn rocksdb_logger_create_callback_logger(
        level: c_int,
        log: Option<LogFn>,
        state: *mut c_void,
    ) -> *mut rocksdb_logger_t {
        let Some(log) = log else {
            return std::ptr::null_mut();
        };
        boxed(rocksdb_logger_t(Arc::new(CallbackLogger {
            level,
            log,
            state: CallbackState::new(state, None),
        })))
    }
);

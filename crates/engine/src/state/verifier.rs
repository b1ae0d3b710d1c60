//! The state of the search for corruption in live files.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::Result;
use base::env::Clock;
use base::sync::thread::JoinHandle;
use base::sync::{Condvar, Mutex};
use vfs::RateLimiter;
use vfs::rate_limiter::{RateLimiterMode, RateLimiterOptions};

/// The progress of the verification at
/// [`verify_rate_bytes_per_sec`](crate::Options::verify_rate_bytes_per_sec).
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// db.set_verify_rate(8 << 20)?; // bytes a second
/// let progress = db.verify_progress();
/// println!("{progress}");
/// assert_eq!(progress.faults, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerifyProgress {
    /// The number of complete passes over all files.
    pub passes: u64,
    /// The number of files verified in this pass that are still in use.
    pub files_done: u64,
    /// The number of files in use.
    pub files: u64,
    /// The bytes of the files verified in this pass.
    pub bytes_done: u64,
    /// The bytes of all files in use.
    pub bytes: u64,
    /// The bytes read since the database was opened.
    pub bytes_read: u64,
    /// The number of corrupt places found since the database was opened; a place found again in a later pass
    /// counts again.
    pub faults: u64,
}

impl fmt::Display for VerifyProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} passes done, in this one {} of {} files, {} of {} bytes; {} bytes read, {} faults",
            self.passes,
            self.files_done,
            self.files,
            self.bytes_done,
            self.bytes,
            self.bytes_read,
            self.faults
        )
    }
}

/// The database's state of the verification.
#[derive(Debug)]
pub(crate) struct Verifier {
    /// The rate in bytes per second; 0 pauses the verification. Changed under the lock of `state`.
    pub rate: AtomicU64,
    /// Limits the thread to the rate. Its lock comes before that of `state`.
    pub limiter: RateLimiter,
    pub bytes_read: AtomicU64,
    pub state: Mutex<VerifierState>,
    /// The condition variable that is notified when the rate has changed, or the thread must end.
    pub changed: Condvar,
}

#[derive(Debug, Default)]
pub(crate) struct VerifierState {
    pub thread: Option<JoinHandle<()>>,
    pub closing: bool,
    /// The numbers of the files verified in this pass.
    pub done: HashSet<u64>,
    pub passes: u64,
    pub faults: u64,
}

impl Verifier {
    /// A verifier with a rate of `rate` bytes per second, whose thread
    /// [`DbInner::start_verifier`](crate::state::db_inner::DbInner::start_verifier) starts.
    pub fn new(rate: u64, clock: Arc<dyn Clock>) -> Result<Verifier> {
        let limiter = RateLimiterOptions {
            rate_bytes_per_sec: rate.max(1),
            mode: RateLimiterMode::ReadsOnly,
            ..RateLimiterOptions::default()
        };
        Ok(Verifier {
            rate: AtomicU64::new(rate),
            limiter: RateLimiter::with_options(limiter, clock)?,
            bytes_read: AtomicU64::new(0),
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// Waits until the rate is not 0. False if the thread must end.
    pub fn wait(&self) -> bool {
        let mut state = self.state.lock();
        while !state.closing && self.rate.load(Ordering::Relaxed) == 0 {
            self.changed.wait(&mut state);
        }
        !state.closing
    }

    pub fn goes_on(&self) -> bool {
        self.rate.load(Ordering::Relaxed) > 0 && !self.state.lock().closing
    }
}

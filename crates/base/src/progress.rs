//! The progress of long work, and requests to stop it.
//!
//! Work that may take minutes gets a [`Progress`]. It adds to the number of expected and of finished bytes,
//! and returns [`Aborted`](crate::ErrorKind::Aborted) soon after it was asked to stop. The caller can read
//! the numbers from another thread.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::error::{Error, ErrorKind, Result};

/// The function that the working thread calls at each step of the work.
type Hook = Box<dyn Fn(&Progress) + Send + Sync>;

/// The number of bytes to do, the number done, and the request to stop. Shared by reference or in an `Arc`.
///
/// ```
/// # use esker_base as esker;
/// use esker::{ErrorKind, Progress};
///
/// let progress = Progress::with_hook(|progress| println!("{} of {} bytes", progress.done(), progress.total()));
/// // Passed to a call such as a repair or a checkpoint, which advances it. Another thread may stop that:
/// progress.stop();
/// assert_eq!(progress.check().unwrap_err().kind(), ErrorKind::Aborted);
/// ```
#[derive(Default)]
pub struct Progress {
    total: AtomicU64,
    done: AtomicU64,
    steps: AtomicU64,
    stopped: AtomicBool,
    hook: Option<Hook>,
}

impl Progress {
    /// The progress of work that has not begun.
    pub fn new() -> Progress {
        Progress::default()
    }

    /// Calls `hook` at each step: to follow the work, or to [`stop`](Self::stop) it there.
    pub fn with_hook(hook: impl Fn(&Progress) + Send + Sync + 'static) -> Progress {
        Progress {
            hook: Some(Box::new(hook)),
            ..Progress::default()
        }
    }

    /// Adds to the number of bytes to do.
    pub fn expect(&self, bytes: u64) {
        self.total.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Finishes a step of `bytes` bytes, which may be 0. `Aborted` if the work is to stop here.
    pub fn advance(&self, bytes: u64) -> Result<()> {
        self.done.fetch_add(bytes, Ordering::Relaxed);
        self.steps.fetch_add(1, Ordering::Relaxed);
        if let Some(hook) = &self.hook {
            hook(self);
        }
        self.check()
    }

    /// `Aborted` if the work is to stop.
    pub fn check(&self) -> Result<()> {
        match self.is_stopped() {
            true => Err(Error::new(ErrorKind::Aborted, "stopped")),
            false => Ok(()),
        }
    }

    /// Asks the work to stop at its next step. May be called from a signal's handler.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// True once the work was asked to stop.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// The number of bytes to do, as far as known by now.
    pub fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    /// The number of bytes done.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// The number of steps done.
    pub fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Progress({} of {} bytes)", self.done(), self.total())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_followed_and_stopped_at_a_step() {
        let progress = Progress::with_hook(|progress| {
            if progress.steps() == 2 {
                progress.stop();
            }
        });
        progress.expect(30);
        progress.advance(10).unwrap();
        let error = progress.advance(10).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Aborted);
        assert_eq!((progress.done(), progress.total()), (20, 30));
        assert!(progress.check().is_err());
    }
}

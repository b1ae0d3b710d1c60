//! The timeout of the reads of the calling thread, for file systems that can end a read.
//!
//! A reader announces it in a thread-local variable for as long as its call lasts. Files do not know which
//! reader they read for, and a file system that cannot end a read ignores it, as [`PosixFs`](crate::PosixFs)
//! does.

use std::cell::Cell;
use std::marker::PhantomData;
use std::time::Duration;

thread_local! {
    static TIMEOUT: Cell<Option<Duration>> = const { Cell::new(None) };
}

/// The longest time that each read of the calling thread may take now; `None` without a limit. A file system
/// that gives up a read returns `TimedOut`.
pub fn read_timeout() -> Option<Duration> {
    TIMEOUT.get()
}

/// A guard: while it exists, reads of its thread have a timeout.
#[derive(Debug)]
pub struct ReadTimeout {
    before: Option<Duration>,
    /// The guard belongs to its thread.
    _thread: PhantomData<*const ()>,
}

impl ReadTimeout {
    /// Limits each read of this thread to `timeout`.
    #[cold]
    pub fn begin(timeout: Duration) -> ReadTimeout {
        ReadTimeout {
            before: TIMEOUT.replace(Some(timeout)),
            _thread: PhantomData,
        }
    }
}

impl Drop for ReadTimeout {
    fn drop(&mut self) {
        TIMEOUT.set(self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_of_a_call_ends_with_it() {
        assert_eq!(read_timeout(), None);
        let outer = ReadTimeout::begin(Duration::from_secs(2));
        {
            let _inner = ReadTimeout::begin(Duration::from_secs(1));
            assert_eq!(read_timeout(), Some(Duration::from_secs(1)));
        }
        assert_eq!(read_timeout(), Some(Duration::from_secs(2)));
        drop(outer);
        assert_eq!(read_timeout(), None);
    }
}

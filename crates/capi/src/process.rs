//! The process that opened a database. A child of `fork` has copies of its objects, without its threads and
//! with the parent's files. There each function that takes the database fails, and a close only forgets it.

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::panic::resume_unwind;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

/// The number of forks between the process that loaded the library and this one.
static FORKS: AtomicU32 = AtomicU32::new(0);
static WATCHED: Once = Once::new();

extern "C" fn in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

fn watch() {
    WATCHED.call_once(|| {
        // The registration fails only without memory; then forks are not noticed.
        // SAFETY: the function only changes an atomic number.
        let _ = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
}

/// The panic payload with which a helper leaves the exported function: the database was opened by a parent of
/// this process.
pub struct OfParent;

/// Text of the error of [`OfParent`].
pub const OF_PARENT: &str = "the database was opened before a fork, by the parent of this process";

/// A value that only the process that made it may use. In a child of that process it is not dropped: its drop
/// may take locks and wait for threads.
pub struct OfProcess<T> {
    value: ManuallyDrop<T>,
    forks: u32,
}

impl<T> OfProcess<T> {
    /// Wraps a value of this process.
    pub fn new(value: T) -> OfProcess<T> {
        watch();
        OfProcess {
            value: ManuallyDrop::new(value),
            forks: FORKS.load(Ordering::Relaxed),
        }
    }

    /// True in the process that made the value.
    #[inline]
    pub fn is_own(&self) -> bool {
        self.forks == FORKS.load(Ordering::Relaxed)
    }
}

impl<T> Deref for OfProcess<T> {
    type Target = T;

    /// Leaves the exported function with an error in any other process.
    #[inline]
    fn deref(&self) -> &T {
        if !self.is_own() {
            refuse();
        }
        &self.value
    }
}

impl<T> DerefMut for OfProcess<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        if !self.is_own() {
            refuse();
        }
        &mut self.value
    }
}

impl<T> Drop for OfProcess<T> {
    fn drop(&mut self) {
        if self.is_own() {
            // SAFETY: no code uses the value after this drop.
            unsafe { ManuallyDrop::drop(&mut self.value) }
        }
    }
}

#[cold]
fn refuse() -> ! {
    resume_unwind(Box::new(OfParent))
}

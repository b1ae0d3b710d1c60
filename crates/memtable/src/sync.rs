//! Atomics and locks, from the standard library and parking_lot, or from loom where it checks every
//! interleaving.

#[cfg(not(loom))]
pub(crate) use self::real::*;
#[cfg(loom)]
pub(crate) use self::under_loom::*;

#[cfg(not(loom))]
mod real {
    pub(crate) use parking_lot::Mutex;
    pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

    /// Loads a word that was written before it was published through another atomic, and is never written
    /// again. Loom does not explore other values here, which would only multiply the interleavings, but
    /// checks this promise.
    ///
    /// # Safety
    /// The word is published and never written again.
    #[inline]
    pub(crate) unsafe fn load_settled(word: &AtomicU64) -> u64 {
        word.load(Ordering::Relaxed)
    }
}

#[cfg(loom)]
mod under_loom {
    pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

    /// Loads the word as the function of the same name without loom does.
    ///
    /// # Safety
    /// Loom panics if the word was written without being published.
    pub(crate) unsafe fn load_settled(word: &AtomicU64) -> u64 {
        // SAFETY: loom checks it.
        unsafe { word.unsync_load() }
    }

    /// loom's mutex with parking_lot's interface.
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Mutex<T> {
            Mutex(loom::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> loom::sync::MutexGuard<'_, T> {
            self.0
                .lock()
                .expect("a thread panicked under the lock: the test has failed")
        }
    }
}

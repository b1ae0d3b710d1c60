//! Atomics and locks, from the standard library and parking_lot, or from loom where it checks every interleaving.

/// For what is written before it is published through another atomic, and read after: always relaxed, never looked
/// at by loom. The pointers to entries and children are published the same way and show loom whether that is right;
/// more atomics would only multiply the interleavings.
pub(crate) mod settled {
    pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU32};
}

#[cfg(not(loom))]
pub(crate) use self::real::*;
#[cfg(loom)]
pub(crate) use self::under_loom::*;

#[cfg(not(loom))]
mod real {
    pub(crate) use parking_lot::Mutex;
    pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
}

#[cfg(loom)]
mod under_loom {
    pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

    /// loom's mutex with parking_lot's face.
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Mutex<T> {
            Mutex(loom::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> loom::sync::MutexGuard<'_, T> {
            self.0.lock().expect("a test that panicked ends here")
        }
    }
}

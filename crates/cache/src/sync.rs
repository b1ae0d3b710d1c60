//! Atomics, cells and locks: from the standard library and parking_lot, or from loom where it checks every
//! interleaving.

#[cfg(not(loom))]
pub(crate) use self::real::*;
#[cfg(loom)]
pub(crate) use self::under_loom::*;

#[cfg(not(loom))]
mod real {
    pub(crate) use parking_lot::{Mutex, MutexGuard};
    pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
    pub(crate) use std::thread::yield_now;

    /// [`std::cell::UnsafeCell`] with loom's interface.
    pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        #[inline]
        pub(crate) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
            read(self.0.get())
        }

        #[inline]
        pub(crate) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
            write(self.0.get())
        }
    }
}

#[cfg(loom)]
mod under_loom {
    pub(crate) use loom::cell::UnsafeCell;
    pub(crate) use loom::sync::MutexGuard;
    pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
    pub(crate) use loom::thread::yield_now;

    /// loom's mutex with parking_lot's interface.
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Mutex<T> {
            Mutex(loom::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0
                .lock()
                .expect("a thread panicked under the lock: the test has failed")
        }
    }
}

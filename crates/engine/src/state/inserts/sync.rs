//! The atomics and locks of inserts in progress; loom's versions under loom, which checks every interleaving.

#[cfg(not(loom))]
pub(super) use self::real::*;
#[cfg(loom)]
pub(super) use self::under_loom::*;

#[cfg(not(loom))]
mod real {
    pub(in crate::state) use base::sync::{Condvar, Mutex, MutexGuard, happens_soon};
    pub(in crate::state) use std::sync::atomic::{AtomicU64, Ordering};

    /// Waits for a notification, with the lock released.
    pub(in crate::state) fn sleep<'a>(woken: &Condvar, mut asleep: MutexGuard<'a, ()>) -> MutexGuard<'a, ()> {
        woken.wait(&mut asleep);
        asleep
    }
}

#[cfg(loom)]
mod under_loom {
    pub(in crate::state) use loom::sync::atomic::{AtomicU64, Ordering};
    pub(in crate::state) use loom::sync::{Condvar, MutexGuard};

    /// loom's mutex with parking_lot's interface.
    pub(in crate::state) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(in crate::state) fn new(value: T) -> Mutex<T> {
            Mutex(loom::sync::Mutex::new(value))
        }

        pub(in crate::state) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().expect("a test that panicked ends here")
        }
    }

    /// Waits for a notification, with the lock released.
    pub(in crate::state) fn sleep<'a>(woken: &Condvar, asleep: MutexGuard<'a, ()>) -> MutexGuard<'a, ()> {
        woken.wait(asleep).expect("a test that panicked ends here")
    }

    /// No spinning under loom: each look would be one more interleaving.
    pub(in crate::state) fn happens_soon(_happened: impl FnMut() -> bool) -> bool {
        false
    }
}

//! Locks and threads: those of parking_lot and the standard library or, under `--cfg simulate`, those of
//! `crates/base/src/simulation`, where a seed decides which thread runs next.
//!
//! All code that can wait for another thread takes its locks from here, as does all code that starts one. A
//! lock that is held during a wait, a read or a write must be one of these: a simulated thread that waits
//! elsewhere stops the simulation.

/// True in builds under `--cfg simulate`.
pub const SIMULATED: bool = cfg!(simulate);

#[cfg(simulate)]
pub use self::simulation::*;

#[cfg(not(simulate))]
pub use self::real::*;

#[cfg(not(simulate))]
mod real {
    use std::cell::Cell;
    use std::sync::atomic::{AtomicUsize, Ordering};

    pub use parking_lot::{
        Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, WaitTimeoutResult,
    };
    pub use std::thread;

    /// The number of attempts in a row to take a lock, each a few tens of nanoseconds, before the thread
    /// yields the processor.
    const LOOKS: u32 = 100;

    /// The number of times that the thread yields the processor before it sleeps.
    const YIELDS: u32 = 10;

    /// Locks, by spinning first, a mutex that many threads take at once and hold for well under a
    /// microsecond. A thread that sleeps must be woken, and that costs its waker more than the critical
    /// section.
    #[inline]
    pub fn lock_soon<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        match mutex.try_lock() {
            Some(guard) => guard,
            None => lock_awake(mutex),
        }
    }

    #[cold]
    fn lock_awake<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        let mut guard = None;
        happens_soon(|| {
            if !mutex.is_locked() {
                guard = mutex.try_lock();
            }
            guard.is_some()
        });
        guard.unwrap_or_else(|| mutex.lock())
    }

    /// Spins for a while until `happened` is true, for events that other threads bring about in well under a
    /// microsecond. False if it has not happened: the caller should then sleep.
    pub fn happens_soon(mut happened: impl FnMut() -> bool) -> bool {
        for _ in 0..YIELDS {
            for _ in 0..LOOKS {
                std::hint::spin_loop();
                if happened() {
                    return true;
                }
            }
            thread::yield_now();
        }
        false
    }

    thread_local! {
        /// The calling thread's number; `usize::MAX` before it has one.
        static NUMBER: Cell<usize> = const { Cell::new(usize::MAX) };
    }

    static NEXT_NUMBER: AtomicUsize = AtomicUsize::new(0);

    /// The calling thread's number, which never changes: threads are numbered in the order of their first
    /// call.
    #[inline]
    pub fn thread_number() -> usize {
        match NUMBER.get() {
            usize::MAX => number_thread(),
            number => number,
        }
    }

    #[cold]
    fn number_thread() -> usize {
        let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed) % usize::MAX;
        NUMBER.set(number);
        number
    }

    /// A point between two steps whose order readers and writers must see. In a simulation another thread may
    /// run here, and the simulation gets the name; otherwise it does nothing and costs nothing.
    #[inline(always)]
    pub fn point(_name: &'static str) {}
}

#[cfg(simulate)]
mod simulation {
    pub use crate::simulation::{
        Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, WaitTimeoutResult, point,
        thread,
    };

    /// The thread's number in its simulation, the same in every replay; 0 outside of one.
    pub fn thread_number() -> usize {
        crate::simulation::number().unwrap_or(0)
    }

    /// Locks the mutex. One thread runs at a time in a simulation, so spinning would be useless.
    #[track_caller]
    pub fn lock_soon<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock()
    }

    /// Returns false: in a simulation the event happens while this thread sleeps.
    pub fn happens_soon(_happened: impl FnMut() -> bool) -> bool {
        false
    }
}

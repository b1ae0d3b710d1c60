//! Locks and threads: parking_lot's and the standard library's, or, under `--cfg simulate`, those of
//! `crates/simulated`, where one seed decides who goes on.
//!
//! Everything that can wait for another thread takes its locks from here, and everything that starts one. What is held
//! while something else is waited for, read or written must be one of these: a simulated thread that waits elsewhere stops
//! the world.

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

    /// Looks at a lock in a row, each a few tens of nanoseconds, before the processor is given to others.
    const LOOKS: u32 = 100;

    /// Times the processor is given to others before the thread sleeps.
    const YIELDS: u32 = 10;

    /// Locks what everybody holds for well under a microsecond, by many at once: waits awake. Who sleeps must be woken, and that
    /// costs its waker more than the work it waited for.
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

    /// Waits awake, for a while, until `happened` says true of what others need well under a microsecond for. False if it has not:
    /// whoever waits for it should sleep.
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

    /// The calling thread's number, for good: threads are counted as they ask for it first.
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

    /// A place between two steps that readers and writers must see in order. While the engine is simulated somebody else
    /// may go on here, and who simulates it is told the name; otherwise nothing, at no cost.
    #[inline(always)]
    pub fn point(_name: &'static str) {}
}

#[cfg(simulate)]
mod simulation {
    pub use simulated::{
        Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, WaitTimeoutResult, point,
        thread,
    };

    /// The thread's number in its world, which every replay gives it again; outside of one 0.
    pub fn thread_number() -> usize {
        simulated::number().unwrap_or(0)
    }

    /// One thread runs at a time: there is nothing to wait awake for.
    pub fn lock_soon<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock()
    }

    /// As above: it happens while this thread sleeps.
    pub fn happens_soon(_happened: impl FnMut() -> bool) -> bool {
        false
    }
}

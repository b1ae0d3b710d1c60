//! parking_lot's locks for the threads of a world.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::{self, PoisonError, TryLockError};
use std::time::Duration;

use super::sites::LockSite;
use super::world::{Hold, ThreadSlot, place};

/// A mutex with parking_lot's interface.
#[derive(Default)]
pub struct Mutex<T>(sync::Mutex<T>);

/// Holds a [`Mutex`].
pub struct MutexGuard<'a, T> {
    mutex: &'a Mutex<T>,
    /// `None` while the mutex is temporarily released.
    held: Option<sync::MutexGuard<'a, T>>,
    hold: Hold,
}

impl<T> Mutex<T> {
    /// A mutex over `value`.
    pub const fn new(value: T) -> Mutex<T> {
        Mutex(sync::Mutex::new(value))
    }

    /// Locks the mutex, waiting until it is free.
    #[track_caller]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        let site = LockSite::new::<T>(Location::caller(), false);
        let (held, hold) = self.acquire(site);
        MutexGuard {
            mutex: self,
            held: Some(held),
            hold,
        }
    }

    /// Locks the mutex if it is free.
    #[track_caller]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        let place = place();
        if let Some(place) = &place {
            place.point("");
        }
        let held = taken(self.0.try_lock())?;
        let site = LockSite::new::<T>(Location::caller(), false);
        Some(MutexGuard {
            mutex: self,
            held: Some(held),
            hold: place.map_or(Hold::outside(site), |place| place.hold(site, false)),
        })
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value, by exclusive access.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    fn acquire(&self, site: LockSite) -> (sync::MutexGuard<'_, T>, Hold) {
        let Some(place) = place() else {
            let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            return (held, Hold::outside(site));
        };
        take(&place, site, self.key(), || taken(self.0.try_lock()))
    }

    /// The key on which threads wait for this mutex: unique while it lives.
    fn key(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    fn release(&self, held: Option<sync::MutexGuard<'_, T>>, hold: Hold) {
        drop(held);
        if let Some(place) = place() {
            place.released(hold);
            place.wake(self.key());
            if !std::thread::panicking() {
                place.point("");
            }
        }
    }
}

/// Takes a lock by `attempt`, waiting while it fails.
fn take<G>(place: &ThreadSlot, site: LockSite, key: usize, attempt: impl Fn() -> Option<G>) -> (G, Hold) {
    place.point("");
    let mut waited = false;
    loop {
        if let Some(held) = attempt() {
            return (held, place.hold(site, waited));
        }
        waited = true;
        place.wait_on(key, None);
    }
}

fn taken<G>(result: Result<G, TryLockError<G>>) -> Option<G> {
    match result {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

impl<T> MutexGuard<'_, T> {
    /// Releases the mutex while `body` runs.
    pub fn unlocked<U>(guard: &mut Self, body: impl FnOnce() -> U) -> U {
        struct Retake<'b, 'a, T>(&'b mut MutexGuard<'a, T>);
        impl<T> Drop for Retake<'_, '_, T> {
            fn drop(&mut self) {
                let (held, hold) = self.0.mutex.acquire(self.0.hold.site);
                (self.0.held, self.0.hold) = (Some(held), hold);
            }
        }
        guard.mutex.release(guard.held.take(), guard.hold);
        let retake = Retake(guard);
        let result = body();
        drop(retake);
        result
    }
}

const HELD: &str = "a guard that can be used holds its lock";

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.held.as_ref().expect(HELD)
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.held.as_mut().expect(HELD)
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        if self.held.is_some() {
            self.mutex.release(self.held.take(), self.hold);
        }
    }
}

impl<T> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mutex")
    }
}

impl<T: fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// A condition variable with parking_lot's interface: no spurious wake-ups.
#[derive(Default, Debug)]
pub struct Condvar {
    /// The real condition variable, for threads outside of a world.
    real: sync::Condvar,
}

/// The result of a wait with a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// True if the limit ended the wait.
    pub fn timed_out(self) -> bool {
        self.0
    }
}

impl Condvar {
    /// A condition variable without waiters.
    pub const fn new() -> Condvar {
        Condvar {
            real: sync::Condvar::new(),
        }
    }

    /// Releases the mutex, waits to be notified, and takes it again.
    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        match place() {
            Some(place) => drop(self.wait_simulated(&place, guard, None)),
            None => {
                let held = guard.held.take().expect(HELD);
                guard.held = Some(self.real.wait(held).unwrap_or_else(PoisonError::into_inner));
            }
        }
    }

    /// Waits as [`wait`](Condvar::wait) does, for at most `limit`.
    pub fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, limit: Duration) -> WaitTimeoutResult {
        match place() {
            Some(place) => WaitTimeoutResult(self.wait_simulated(&place, guard, Some(limit))),
            None => {
                let held = guard.held.take().expect(HELD);
                let waited = self
                    .real
                    .wait_timeout(held, limit)
                    .unwrap_or_else(PoisonError::into_inner);
                guard.held = Some(waited.0);
                WaitTimeoutResult(waited.1.timed_out())
            }
        }
    }

    fn wait_simulated<T>(
        &self,
        place: &ThreadSlot,
        guard: &mut MutexGuard<'_, T>,
        limit: Option<Duration>,
    ) -> bool {
        drop(guard.held.take());
        place.released(guard.hold);
        place.wake(guard.mutex.key());
        let timed_out = place.wait_on(self.key(), limit);
        let (held, hold) = guard.mutex.acquire(guard.hold.site);
        (guard.held, guard.hold) = (Some(held), hold);
        timed_out
    }

    fn key(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Wakes one waiter. True if there was one.
    pub fn notify_one(&self) -> bool {
        match place() {
            Some(place) => place.wake_one(self.key()),
            None => {
                self.real.notify_one();
                true
            }
        }
    }

    /// Wakes all waiters.
    pub fn notify_all(&self) {
        match place() {
            Some(place) => place.wake(self.key()),
            None => self.real.notify_all(),
        }
    }
}

/// A lock for many readers or one writer, with parking_lot's interface.
#[derive(Default)]
pub struct RwLock<T>(sync::RwLock<T>);

/// Holds an [`RwLock`] for reading.
pub struct RwLockReadGuard<'a, T> {
    lock: &'a RwLock<T>,
    held: Option<sync::RwLockReadGuard<'a, T>>,
    hold: Hold,
}

/// Holds an [`RwLock`] for writing.
pub struct RwLockWriteGuard<'a, T> {
    lock: &'a RwLock<T>,
    held: Option<sync::RwLockWriteGuard<'a, T>>,
    hold: Hold,
}

impl<T> RwLock<T> {
    /// A lock over `value`.
    pub const fn new(value: T) -> RwLock<T> {
        RwLock(sync::RwLock::new(value))
    }

    /// Locks for reading, waiting until no thread writes.
    #[track_caller]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        let site = LockSite::new::<T>(Location::caller(), true);
        let (held, hold) = match place() {
            None => {
                let held = self.0.read().unwrap_or_else(PoisonError::into_inner);
                (held, Hold::outside(site))
            }
            Some(place) => take(&place, site, self.key(), || taken(self.0.try_read())),
        };
        RwLockReadGuard {
            lock: self,
            held: Some(held),
            hold,
        }
    }

    /// Locks for writing, waiting until the lock is free.
    #[track_caller]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        let site = LockSite::new::<T>(Location::caller(), false);
        let (held, hold) = match place() {
            None => {
                let held = self.0.write().unwrap_or_else(PoisonError::into_inner);
                (held, Hold::outside(site))
            }
            Some(place) => take(&place, site, self.key(), || taken(self.0.try_write())),
        };
        RwLockWriteGuard {
            lock: self,
            held: Some(held),
            hold,
        }
    }

    fn key(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    fn released(&self, hold: Hold) {
        if let Some(place) = place() {
            place.released(hold);
            place.wake(self.key());
            if !std::thread::panicking() {
                place.point("");
            }
        }
    }
}

impl<T> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RwLock")
    }
}

impl<T> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.held.as_ref().expect(HELD)
    }
}

impl<T> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        drop(self.held.take());
        self.lock.released(self.hold);
    }
}

impl<T> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.held.as_ref().expect(HELD)
    }
}

impl<T> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.held.as_mut().expect(HELD)
    }
}

impl<T> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        drop(self.held.take());
        self.lock.released(self.hold);
    }
}

//! Threads, locks and time that one seed decides.
//!
//! A [`World`](run) is a group of threads of which one runs at a time. At each *point* (before a lock is taken and after it
//! is released, when a thread starts, waits, sleeps or ends, and wherever [`point`] is called) the world chooses who goes on,
//! by a seed or by the [`Turn`]s of an earlier run. Its clock moves by a microsecond a point, and jumps when everybody
//! waits. So a run repeats exactly.
//!
//! ```text
//! lock, unlock, wait, notify, spawn, join, sleep, point
//!        |
//!        v
//!   who goes on?  --- the thread itself, unless the seed or a turn says otherwise --->  hand over, and wait for one's turn
//! ```
//!
//! [`Mutex`], [`Condvar`], [`RwLock`] and [`mod@thread`] have the faces of parking_lot's and the standard library's.
//! `base::sync` puts them in their place under `--cfg simulate`. Used by a thread of no world they are ordinary locks.
//!
//! Threads are those of the operating system, so what belongs to a thread still does. Atomics are left alone: threads
//! interleave at points only, and each sees what the one before it wrote.
//!
//! When nobody can go on, or a world takes too many points, [`run`] returns with a failure and its threads are left
//! behind, parked.
#![forbid(unsafe_code)]

mod lock;
mod schedule;
pub mod thread;
mod world;

pub use lock::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, WaitTimeoutResult};
pub use schedule::{Strategy, Turn};
pub use world::{
    Observer, Outcome, Settings, chance, is_simulated, mark, name, now, number, observe, point, points, run,
    sleep,
};

#[cfg(test)]
mod tests;

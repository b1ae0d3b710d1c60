//! Threads, locks and time that are controlled by one seed.
//!
//! A [`World`](run) is a group of threads of which one runs at a time. At each *point* (before a lock is
//! taken and after it is released, when a thread starts, waits, sleeps or ends, and wherever [`point`] is
//! called) the world chooses the next thread to run, by a seed or by the [`Turn`]s of an earlier run. Its
//! clock advances by a microsecond per point, and jumps when all threads wait. So a run repeats exactly.
//!
//! ```text
//! lock, unlock, wait, notify, spawn, join, sleep, point
//!        |
//!        v
//! which thread runs next?  --- this thread, unless the seed or a turn chooses another --->  hand over, and wait for a turn
//! ```
//!
//! [`Mutex`], [`Condvar`], [`RwLock`] and [`mod@thread`] have the interfaces of parking_lot's and the
//! standard library's. [`sync`](crate::sync) replaces those under `--cfg simulate`. For a thread outside of
//! a world they are ordinary locks.
//!
//! Threads are those of the operating system, so thread-local state works as usual. Atomics are not
//! instrumented: threads interleave only at points, and each sees all writes of the previous one.
//!
//! A world can count its locks: [`count_locks`] returns, for each line that takes one, how often it did, how
//! often it waited, and for how many points the lock was held.
//!
//! When no thread can run, or a world takes too many points, [`run`] returns with a failure and its threads
//! stay parked.
//!
//! This module is the world alone, without knowledge of a database. The program that runs the engine in it is
//! `testing/simulate`.
mod lock;
mod schedule;
mod sites;
pub mod thread;
mod world;

pub use lock::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, WaitTimeoutResult};
pub use schedule::{Strategy, Turn};
pub use sites::{LockCounts, LockSite};
pub use world::{
    Observer, Outcome, Settings, chance, count_locks, is_simulated, mark, name, now, number, observe, point,
    points, run, sleep,
};

#[cfg(test)]
mod tests;

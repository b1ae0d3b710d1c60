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
    pub use parking_lot::{
        Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, WaitTimeoutResult,
    };
    pub use std::thread;

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
}

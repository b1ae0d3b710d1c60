//! Environments: the file systems that databases use.

use std::sync::Arc;

use vfs::{FileSystem, MemFs, PosixFs};

use crate::Error;

/// A file system for databases. A clone is the same file system.
#[derive(Clone)]
pub struct Env {
    fs: Arc<dyn FileSystem>,
}

impl Env {
    /// Creates an environment of the machine's file system.
    ///
    /// # Errors
    /// Never fails.
    pub fn new() -> Result<Env, Error> {
        Ok(Env {
            fs: Arc::new(PosixFs::new()),
        })
    }

    /// Creates an environment in memory, which is freed with its last handle.
    ///
    /// # Errors
    /// Never fails.
    pub fn mem_env() -> Result<Env, Error> {
        Ok(Env {
            fs: Arc::new(MemFs::new()),
        })
    }

    pub(crate) fn fs(&self) -> Arc<dyn FileSystem> {
        self.fs.clone()
    }

    /// No effect: each database has its own threads, as many as
    /// [`set_max_background_jobs`](crate::Options::set_max_background_jobs) sets.
    pub fn set_background_threads(&mut self, _num_threads: i32) {}

    /// No effect, as [`set_background_threads`](Self::set_background_threads).
    pub fn set_high_priority_background_threads(&mut self, _num_threads: i32) {}

    /// No effect, as [`set_background_threads`](Self::set_background_threads).
    pub fn set_low_priority_background_threads(&mut self, _num_threads: i32) {}

    /// No effect, as [`set_background_threads`](Self::set_background_threads).
    pub fn set_bottom_priority_background_threads(&mut self, _num_threads: i32) {}

    /// No effect: the threads of a database have ended when its close returns.
    pub fn join_all_threads(&mut self) {}

    /// No effect: threads have the priority of the process.
    pub fn lower_thread_pool_io_priority(&mut self) {}

    /// No effect: threads have the priority of the process.
    pub fn lower_high_priority_thread_pool_io_priority(&mut self) {}

    /// No effect: threads have the priority of the process.
    pub fn lower_thread_pool_cpu_priority(&mut self) {}

    /// No effect: threads have the priority of the process.
    pub fn lower_high_priority_thread_pool_cpu_priority(&mut self) {}
}

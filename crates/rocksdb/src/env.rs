//! Where files live.

use std::sync::Arc;

use vfs::{FileSystem, MemFs, PosixFs};

use crate::Error;

/// Where files live. A clone is the same place.
#[derive(Clone)]
pub struct Env {
    fs: Arc<dyn FileSystem>,
}

impl Env {
    /// The machine's file system.
    ///
    /// # Errors
    /// None.
    pub fn new() -> Result<Env, Error> {
        Ok(Env {
            fs: Arc::new(PosixFs::new()),
        })
    }

    /// Memory of the process, gone with the last handle.
    ///
    /// # Errors
    /// None.
    pub fn mem_env() -> Result<Env, Error> {
        Ok(Env {
            fs: Arc::new(MemFs::new()),
        })
    }

    pub(crate) fn fs(&self) -> Arc<dyn FileSystem> {
        self.fs.clone()
    }

    /// Changes nothing: each database has threads of its own, as many as
    /// [`set_max_background_jobs`](crate::Options::set_max_background_jobs) says.
    pub fn set_background_threads(&mut self, _num_threads: i32) {}

    /// Changes nothing, as [`set_background_threads`](Self::set_background_threads).
    pub fn set_high_priority_background_threads(&mut self, _num_threads: i32) {}

    /// Changes nothing, as [`set_background_threads`](Self::set_background_threads).
    pub fn set_low_priority_background_threads(&mut self, _num_threads: i32) {}

    /// Changes nothing, as [`set_background_threads`](Self::set_background_threads).
    pub fn set_bottom_priority_background_threads(&mut self, _num_threads: i32) {}

    /// Changes nothing: the threads of a database end when it is closed, before this returns there are none.
    pub fn join_all_threads(&mut self) {}

    /// Changes nothing: threads have the priority of the process.
    pub fn lower_thread_pool_io_priority(&mut self) {}

    /// Changes nothing: threads have the priority of the process.
    pub fn lower_high_priority_thread_pool_io_priority(&mut self) {}

    /// Changes nothing: threads have the priority of the process.
    pub fn lower_thread_pool_cpu_priority(&mut self) {}

    /// Changes nothing: threads have the priority of the process.
    pub fn lower_high_priority_thread_pool_cpu_priority(&mut self) {}
}

//! User code by which each thread of a pool prepares itself: its priority in the system, for instance.

use std::sync::Arc;

/// The user's function that threads of the pool call.
type Prepare = Arc<dyn Fn() + Send + Sync>;

/// The current preparation of the threads of one kind.
#[derive(Default)]
pub(crate) struct Preparation {
    prepare: Option<Prepare>,
    /// The number of preparations so far.
    version: u64,
}

impl Preparation {
    /// Sets the function that each thread must run before its next job.
    pub fn replace(&mut self, prepare: impl Fn() + Send + Sync + 'static) {
        self.prepare = Some(Arc::new(prepare));
        self.version += 1;
    }
}

/// The last preparation of one thread.
#[derive(Default)]
pub(crate) struct Prepared(u64);

impl Prepared {
    /// The function that the thread must run before its next job. It counts as run after this call.
    pub fn due(&mut self, current: &Preparation) -> Option<Prepare> {
        if self.0 == current.version {
            return None;
        }
        self.0 = current.version;
        current.prepare.clone()
    }
}

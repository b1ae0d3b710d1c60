//! The state of a database's writes that the database mutex does not guard.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use base::sync::Mutex;
use vfs::RateLimiter;

use crate::options::write_buffer_manager::Share;
use crate::state::write_queue::WriteQueue;

/// The write side of a database.
pub(crate) struct WriteSide {
    /// The write queue.
    pub queue: WriteQueue,
    /// The line of stalled writers; the first of them holds the lock. Taken before the write queue's lock.
    pub line: Mutex<()>,
    /// Held while listeners are notified of stalls, so that the events arrive in order.
    pub telling: Mutex<()>,
    /// Limits the rate of low-priority writes while compactions are behind.
    pub low_pri_limiter: RateLimiter,
    /// The flag that writers check before each write. It is set when other work must be done first.
    pub attention: AtomicBool,
    /// The database's share of the memory of a write buffer manager.
    pub share: Option<Arc<Share>>,
}

//! Reads of users that are charged to the rate limiter, by
//! [`ReadOptions::rate_limiter_priority`](crate::ReadOptions::rate_limiter_priority).
//!
//! A thread that begins such a read announces it in a thread-local variable. Until the read is done, each
//! read of a table or blob file by that thread waits for permission first. Files do not know which user they
//! read for, and reads without a priority cost nothing extra.

use std::cell::RefCell;
use std::sync::Arc;

use base::statistics::Histogram;
use vfs::rate_limiter::{IoPriority, OpType, RateLimiter};

use crate::stats::Stats;

/// The rate limiter that reads are charged to, and their priority.
pub(crate) type Charge = (Arc<RateLimiter>, IoPriority);

thread_local! {
    static CHARGED: RefCell<Option<Charge>> = const { RefCell::new(None) };
}

/// The charge of reads with `priority`; `None` if they are not rate limited.
#[inline]
pub(crate) fn charge_of(limiter: &Option<Arc<RateLimiter>>, priority: Option<IoPriority>) -> Option<Charge> {
    let priority = priority?;
    let limiter = limiter
        .as_ref()
        .filter(|limiter| limiter.is_rate_limited(OpType::Read))?;
    Some((limiter.clone(), priority))
}

/// A guard: while it exists, reads of its thread are charged.
pub(crate) struct ChargedReads {
    before: Option<Charge>,
}

impl ChargedReads {
    /// Begins to charge the reads of this thread.
    #[cold]
    pub fn begin(charge: Charge) -> ChargedReads {
        ChargedReads {
            before: CHARGED.replace(Some(charge)),
        }
    }
}

impl Drop for ChargedReads {
    fn drop(&mut self) {
        CHARGED.set(self.before.take());
    }
}

/// Waits until `bytes` may be read, if reads of this thread are charged.
#[inline]
pub(crate) fn await_permission(bytes: usize, stats: &Stats) {
    let charge = CHARGED.with_borrow(Clone::clone);
    if let Some((limiter, priority)) = charge {
        wait(&limiter, priority, bytes, stats);
    }
}

/// Waits until `bytes` may be read at priority `priority`.
#[cold]
pub(crate) fn wait(limiter: &RateLimiter, priority: IoPriority, bytes: usize, stats: &Stats) {
    let started = stats.start();
    let mut left = bytes as u64;
    while left > 0 {
        left -= limiter.request_token(left, 0, priority, OpType::Read);
    }
    stats.stop(started, Histogram::RateLimiterWaitMicrosRead);
}

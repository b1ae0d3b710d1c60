//! Reads of users that count against the rate limiter: [`ReadOptions::rate_limiter_priority`](crate::ReadOptions::rate_limiter_priority).
//!
//! Who begins such a read says so for his thread; what is read of tables and blob files until he is done waits for permission first. Files
//! know nothing of whose reads they serve, and those who read without a priority pay for none of it.

use std::cell::RefCell;
use std::sync::Arc;

use base::statistics::Histogram;
use vfs::rate_limiter::{IoPriority, OpType, RateLimiter};

use crate::stats::Stats;

/// Whom reads are charged to.
pub(crate) type Charge = (Arc<RateLimiter>, IoPriority);

thread_local! {
    static CHARGED: RefCell<Option<Charge>> = const { RefCell::new(None) };
}

/// What reads with `priority` are charged to; `None` if to nothing.
#[inline]
pub(crate) fn charge_of(limiter: &Option<Arc<RateLimiter>>, priority: Option<IoPriority>) -> Option<Charge> {
    let priority = priority?;
    let limiter = limiter
        .as_ref()
        .filter(|limiter| limiter.is_rate_limited(OpType::Read))?;
    Some((limiter.clone(), priority))
}

/// While it lives, what its thread reads is charged.
pub(crate) struct ChargedReads {
    before: Option<Charge>,
}

impl ChargedReads {
    /// Begins to charge.
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

/// Waits until `bytes` may be read at this priority.
#[cold]
pub(crate) fn wait(limiter: &RateLimiter, priority: IoPriority, bytes: usize, stats: &Stats) {
    let started = stats.start();
    let mut left = bytes as u64;
    while left > 0 {
        left -= limiter.request_token(left, 0, priority, OpType::Read);
    }
    stats.stop(started, Histogram::RateLimiterWaitMicrosRead);
}

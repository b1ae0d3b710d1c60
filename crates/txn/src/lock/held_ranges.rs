//! The locked ranges of a family, and their conflicts with what others want.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use base::UserComparator;
use base::sync::RwLock;

use super::TransactionId;
use crate::key_range::KeyRange;

/// A held lock on a range: for [`TransactionDB::range_lock_status`](crate::TransactionDB::range_lock_status).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeLockInfo {
    /// The range.
    pub range: KeyRange,
    /// The transaction that holds the lock on the range.
    pub id: TransactionId,
    /// True if the lock excludes other readers, too.
    pub exclusive: bool,
}

/// The number of a lock on a range, unique in its family.
pub(crate) type RangeLockId = u64;

/// A lock on a range.
pub(super) struct HeldRange {
    pub id: RangeLockId,
    pub info: RangeLockInfo,
    pub comparator: UserComparator,
    /// The time, by the clock of the options, after which the lock no longer counts, unless its holder is
    /// being committed.
    pub expires: Option<Duration>,
}

/// The ranges of one family that are locked.
#[derive(Default)]
pub(super) struct Ranges {
    pub held: RwLock<Vec<HeldRange>>,
    /// The number of ranges. Raised with the mutexes of all stripes held.
    pub len: AtomicUsize,
    pub last_id: AtomicU64,
}

/// Other transactions that hold locks in the requested range.
#[derive(Default)]
pub(super) struct Conflict {
    pub by: Vec<TransactionId>,
    /// The earliest time at which a conflicting transaction may lose its lock.
    pub expires: Option<Duration>,
    /// The stripe whose condition variable signals the release of a lock on the range.
    pub stripe: Option<usize>,
}

impl Conflict {
    pub fn add(&mut self, by: impl Iterator<Item = TransactionId>, expires: Option<Duration>, stripe: usize) {
        for id in by {
            if !self.by.contains(&id) {
                self.by.push(id);
            }
        }
        self.expires = [self.expires, expires].into_iter().flatten().min();
        self.stripe = self.stripe.or(Some(stripe));
    }
}

impl Ranges {
    /// True if there are no ranges. Exact while the mutex of a stripe is held.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len.load(Ordering::Relaxed) == 0
    }
}

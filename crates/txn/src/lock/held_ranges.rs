//! The locked ranges of a family, and their conflicts with what others want.

use std::sync::Arc;
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
    /// In the order of their ids. Never locked while user code runs: a reader copies the `Arc`.
    held: RwLock<Arc<Vec<Arc<HeldRange>>>>,
    /// The number of ranges. Raised with the mutexes of all stripes held.
    len: AtomicUsize,
    /// The id of the last range that was locked. Raised with the mutexes of all stripes held.
    last_id: AtomicU64,
}

/// The ranges that a wanted key or range meets. They are found without any lock, because that calls the
/// user's comparator, and checked again under the mutex of a stripe, where no range can be added.
#[derive(Default)]
pub(super) struct Met {
    /// The id of the last range that was compared; ranges after it are unknown.
    compared: RangeLockId,
    ranges: Vec<Arc<HeldRange>>,
}

impl Met {
    /// True if each held range was compared. Exact while the mutex of a stripe is held.
    #[inline]
    pub fn is_complete(&self, ranges: &Ranges) -> bool {
        ranges.is_empty() || self.compared == ranges.last_id.load(Ordering::Relaxed)
    }

    /// Compares the ranges that were locked since the last call; no lock is held while `meets` runs.
    #[cold]
    pub fn compare(&mut self, ranges: &Ranges, meets: impl Fn(&HeldRange) -> bool) {
        let (held, last) = {
            let held = ranges.held.read();
            (held.clone(), ranges.last_id.load(Ordering::Relaxed))
        };
        self.ranges.retain(|range| is_held(&held, range.id));
        let first = held.partition_point(|range| range.id <= self.compared);
        self.ranges
            .extend(held[first..].iter().filter(|range| meets(range)).cloned());
        self.compared = last;
    }

    /// The ranges that are still held.
    pub fn still_held(&self, ranges: &Ranges) -> impl Iterator<Item = &HeldRange> {
        let held = ranges.all();
        let of_them = move |range: &&HeldRange| is_held(&held, range.id);
        self.ranges.iter().map(|range| &**range).filter(of_them)
    }
}

fn is_held(held: &[Arc<HeldRange>], id: RangeLockId) -> bool {
    held.binary_search_by_key(&id, |range| range.id).is_ok()
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

    /// The held ranges, in the order in which they were locked.
    pub fn all(&self) -> Arc<Vec<Arc<HeldRange>>> {
        self.held.read().clone()
    }

    /// Adds a range, and returns its id. The caller holds the mutexes of all stripes.
    pub fn add(
        &self,
        info: RangeLockInfo,
        comparator: &UserComparator,
        expires: Option<Duration>,
    ) -> RangeLockId {
        let mut held = self.held.write();
        let id = self.last_id.load(Ordering::Relaxed) + 1;
        Arc::make_mut(&mut held).push(Arc::new(HeldRange {
            id,
            info,
            comparator: comparator.clone(),
            expires,
        }));
        self.last_id.store(id, Ordering::Relaxed);
        self.len.store(held.len(), Ordering::Relaxed);
        id
    }

    /// Removes ranges; `ids` are ascending. Returns how many were held.
    pub fn remove(&self, ids: &[RangeLockId]) -> usize {
        let mut held = self.held.write();
        let before = held.len();
        Arc::make_mut(&mut held).retain(|range| ids.binary_search(&range.id).is_err());
        self.len.store(held.len(), Ordering::Relaxed);
        before - held.len()
    }

    /// True if no thread has the list of ranges locked.
    #[cfg(test)]
    pub fn is_unlocked(&self) -> bool {
        self.held.try_write().is_some()
    }
}

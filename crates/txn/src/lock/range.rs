//! Locks on ranges of keys, besides those on single keys.
//!
//! ```text
//! a range:  every stripe of the family | no range of others, no key of others in it | its entry
//! a key:    its stripe                 | ranges, if there are any                   | its entry
//! ```
//!
//! A range is added while the mutexes of all stripes are held, taken in their order, so that a key whose
//! locker finds no range, with its own stripe's mutex held, was first. A transaction that locks only keys
//! pays for that with the read of one number. A range lock costs a look at every locked key of the family; a
//! key lock, while there are ranges, costs a look at each range.

use std::sync::atomic::Ordering;

use base::{Result, UserComparator};

use super::TransactionId;
use super::deadlock::DeadlockInfo;
use super::held_ranges::{Conflict, HeldRange, RangeLockId, RangeLockInfo};
use super::manager::{LockManager, LockMap, LockRequest, lock_limit};
use super::stripe::LockInfo;
use crate::key_range::KeyRange;

/// A request for a range.
pub(crate) struct WantedRange<'a> {
    pub family: u32,
    pub comparator: &'a UserComparator,
    pub range: &'a KeyRange,
    pub exclusive: bool,
}

impl LockManager {
    /// Locks a range of keys, including keys that do not exist. Errors: those of
    /// [`try_lock`](Self::try_lock).
    pub fn try_lock_range(&self, request: &LockRequest, wanted: &WantedRange<'_>) -> Result<RangeLockId> {
        let map = self.family(wanted.family)?;
        let deadline = self.deadline(request);
        loop {
            let mut stripes: Vec<_> = map.stripes.iter().map(|stripe| stripe.locks.lock()).collect();
            let mut conflict = Conflict::default();
            self.find_ranges(&map, request, wanted, &mut conflict);
            for (at, locks) in stripes.iter_mut().enumerate() {
                locks.retain(|key, lock| {
                    let stays = self.find_key(request, wanted, (key, lock), at, &mut conflict);
                    if !stays {
                        self.count_unlocked(&map);
                    }
                    stays
                });
            }
            let Some(at) = conflict.stripe else {
                // All stripes are still locked.
                return self.add_range(&map, request, wanted);
            };
            let mut locks = stripes.swap_remove(at);
            drop(stripes);
            let info = || DeadlockInfo {
                transaction_id: request.id,
                column_family_id: wanted.family,
                exclusive: wanted.exclusive,
                waiting_key: wanted.range.begin.clone().unwrap_or_default(),
                waiting_range: Some(wanted.range.clone()),
            };
            let held = (&conflict.by[..], conflict.expires);
            self.wait(request, deadline, held, info, &map.stripes[at], &mut locks)?;
        }
    }

    fn add_range(
        &self,
        map: &LockMap,
        request: &LockRequest,
        wanted: &WantedRange<'_>,
    ) -> Result<RangeLockId> {
        if !self.may_add(map) {
            return Err(lock_limit());
        }
        self.count_locked(map);
        let id = map.ranges.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let mut held = map.ranges.held.write();
        held.push(HeldRange {
            id,
            info: RangeLockInfo {
                range: wanted.range.clone(),
                id: request.id,
                exclusive: wanted.exclusive,
            },
            comparator: wanted.comparator.clone(),
            expires: request.expires,
        });
        map.ranges.len.store(held.len(), Ordering::Relaxed);
        Ok(id)
    }

    /// Finds conflicting ranges of other transactions.
    fn find_ranges(
        &self,
        map: &LockMap,
        request: &LockRequest,
        wanted: &WantedRange<'_>,
        conflict: &mut Conflict,
    ) {
        for held in map.ranges.held.read().iter() {
            if (held.info.exclusive || wanted.exclusive)
                && held.info.id != request.id
                && held.info.range.meets(wanted.comparator, wanted.range)
                && !self.is_given_up(held)
            {
                conflict.add([held.info.id].into_iter(), self.may_expire(held.expires), 0);
            }
        }
    }

    /// Checks whether a locked key conflicts. False if the lock has no holder left.
    fn find_key(
        &self,
        request: &LockRequest,
        wanted: &WantedRange<'_>,
        (key, lock): (&[u8], &mut LockInfo),
        stripe: usize,
        conflict: &mut Conflict,
    ) -> bool {
        if !(lock.exclusive || wanted.exclusive) || !wanted.range.contains(wanted.comparator, key) {
            return true;
        }
        let is_other = |holder: &TransactionId| *holder != request.id;
        if !lock.holders.iter().any(is_other) {
            return true;
        }
        let is_over = lock.expires.is_some_and(|expires| expires <= self.clock().now());
        let mut others = lock.holders.iter().copied().filter(is_other);
        if is_over && others.clone().all(|holder| self.steal(holder)) {
            lock.holders.retain(|&holder| holder == request.id);
            return !lock.holders.is_empty();
        }
        conflict.add(&mut others, lock.expires.filter(|_| !is_over), stripe);
        true
    }

    /// Releases locks on ranges; `ids` are ascending.
    pub fn unlock_ranges(&self, family: u32, ids: &[RangeLockId]) {
        let Ok(map) = self.family(family) else {
            return;
        };
        let mut held = map.ranges.held.write();
        let before = held.len();
        held.retain(|held| ids.binary_search(&held.id).is_err());
        let gone = before - held.len();
        map.ranges.len.store(held.len(), Ordering::Relaxed);
        drop(held);
        (0..gone).for_each(|_| self.count_unlocked(&map));
        for stripe in &map.stripes {
            // The lock is taken once, so that each thread that has found the range and must wait is waiting
            // before the notification.
            drop(stripe.locks.lock());
            stripe.released.notify_all();
        }
    }

    /// Every locked range, by family, in the order in which they were locked.
    pub fn range_status(&self) -> Vec<(u32, RangeLockInfo)> {
        let mut all = Vec::new();
        for (id, map) in self.all_families() {
            let held = map.ranges.held.read();
            all.extend(held.iter().map(|held| (id, held.info.clone())));
        }
        all
    }
}

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
//!
//! The user's comparator is called without a mutex: keys and ranges that were not compared yet are copied
//! under the mutexes, compared without, and looked for again. A key's place in a range never changes, so each
//! round has to compare only the keys and ranges that have come since the last one.

use std::collections::HashMap;

use base::sync::MutexGuard;
use base::{Result, UserComparator};

use super::TransactionId;
use super::deadlock::DeadlockInfo;
use super::held_ranges::{Conflict, Met, RangeLockId, RangeLockInfo};
use super::manager::{LockManager, LockMap, LockRequest, lock_limit};
use super::stripe::{LockInfo, Locks};
use crate::key_range::KeyRange;

/// A request for a range.
pub(crate) struct WantedRange<'a> {
    pub family: u32,
    pub comparator: &'a UserComparator,
    pub range: &'a KeyRange,
    pub exclusive: bool,
}

/// The locked keys that were compared with a wanted range.
#[derive(Default)]
struct ComparedKeys {
    /// Whether each is in the range.
    within: HashMap<Vec<u8>, bool>,
    /// Keys that are still to be compared.
    unknown: Vec<Vec<u8>>,
}

impl ComparedKeys {
    /// Calls the user's comparator; no mutex may be held.
    fn compare(&mut self, wanted: &WantedRange<'_>) {
        for key in self.unknown.drain(..) {
            let is_within = wanted.range.contains(wanted.comparator, &key);
            self.within.insert(key, is_within);
        }
    }

    /// True if the key is known to be in the range.
    fn is_within(&mut self, key: &[u8]) -> bool {
        let known = self.within.get(key).copied();
        if known.is_none() {
            self.unknown.push(key.to_vec());
        }
        known == Some(true)
    }
}

impl LockManager {
    /// Locks a range of keys, including keys that do not exist. Errors: those of
    /// [`try_lock`](Self::try_lock).
    pub fn try_lock_range(&self, request: &LockRequest, wanted: &WantedRange<'_>) -> Result<RangeLockId> {
        let map = self.family(wanted.family)?;
        let deadline = self.deadline(request);
        let mut met = Met::default();
        let mut keys = ComparedKeys::default();
        loop {
            let mut stripes: Vec<_> = map.stripes.iter().map(|stripe| stripe.locks.lock()).collect();
            let mut conflict = Conflict::default();
            self.find_ranges(&map, request, &met, wanted.exclusive, &mut conflict);
            self.find_keys(&map, request, wanted, (&mut stripes, &mut keys), &mut conflict);
            if !keys.unknown.is_empty() || !met.is_complete(&map.ranges) {
                drop(stripes);
                met.compare(&map.ranges, |held| {
                    held.info.range.meets(wanted.comparator, wanted.range)
                });
                keys.compare(wanted);
                continue;
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
            // The names of keys are not kept during a wait, in which many others may come and go.
            keys = ComparedKeys::default();
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
        let info = RangeLockInfo {
            range: wanted.range.clone(),
            id: request.id,
            exclusive: wanted.exclusive,
        };
        Ok(map.ranges.add(info, wanted.comparator, request.expires))
    }

    /// Finds conflicting keys of other transactions among those that were compared, and those that must be
    /// compared. The caller holds the mutexes of all stripes.
    fn find_keys(
        &self,
        map: &LockMap,
        request: &LockRequest,
        wanted: &WantedRange<'_>,
        (stripes, keys): (&mut [MutexGuard<'_, Locks>], &mut ComparedKeys),
        conflict: &mut Conflict,
    ) {
        for (at, locks) in stripes.iter_mut().enumerate() {
            locks.retain(|key, lock| {
                let counts = (lock.exclusive || wanted.exclusive)
                    && lock.holders.iter().any(|holder| *holder != request.id)
                    && keys.is_within(key);
                let stays = !counts || self.find_key(request, lock, at, conflict);
                if !stays {
                    self.count_unlocked(map);
                }
                stays
            });
        }
    }

    /// Adds the conflict with the lock of a key in the range. False if the lock has no holder left.
    fn find_key(
        &self,
        request: &LockRequest,
        lock: &mut LockInfo,
        stripe: usize,
        conflict: &mut Conflict,
    ) -> bool {
        let is_other = |holder: &TransactionId| *holder != request.id;
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
        (0..map.ranges.remove(ids)).for_each(|_| self.count_unlocked(&map));
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
            all.extend(map.ranges.all().iter().map(|held| (id, held.info.clone())));
        }
        all
    }
}

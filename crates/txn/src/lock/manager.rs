//! Locks on single keys, in stripes, as in RocksDB's point lock manager.
//!
//! ```text
//! family -> stripe (a part of its keys, by their hash) -> key -> holders
//! ```
//!
//! For locks on ranges of keys see `range.rs`.
//!
//! A stripe's mutex is held while a lock in it is examined, never during a read, a write, a wait or a call of
//! the user's comparator. A waiting transaction sleeps on the stripe's condition variable, and tries again
//! when any lock of the stripe is released.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use base::sync::{Mutex, MutexGuard, RwLock};
use base::{Error, ErrorKind, Result};
use esker::Clock;

use super::TransactionId;
use super::deadlock::{DeadlockInfo, DeadlockPath, WaitGraph};
use super::held_ranges::{Conflict, HeldRange, Met, Ranges};
use super::stripe::{self, Attempt, LockInfo, Locks, Refusal, Stripe};
use super::waits::Waits;
use crate::state::SharedState;

/// A held lock: for [`TransactionDB::lock_status`](crate::TransactionDB::lock_status).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyLockInfo {
    /// The key.
    pub key: Vec<u8>,
    /// The transactions that hold the lock: several only if the lock is shared.
    pub ids: Vec<TransactionId>,
    /// True if the lock is exclusive.
    pub exclusive: bool,
}

/// The parameters of a transaction's requests for locks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LockRequest {
    pub id: TransactionId,
    /// The time limit of a wait. `None`: no limit; zero: no wait.
    pub timeout: Option<Duration>,
    /// The time, by the clock of the options, after which the transaction's locks may be taken.
    pub expires: Option<Duration>,
    /// The depth of the search for deadlocks before a wait; `None`: no search.
    pub deadlock_detect_depth: Option<usize>,
}

/// The locks of one family.
pub(super) struct LockMap {
    pub stripes: Box<[Stripe]>,
    pub ranges: Ranges,
    /// The number of locked keys and ranges, counted if there is a limit.
    count: AtomicI64,
}

impl LockMap {
    fn new(stripes: usize) -> LockMap {
        LockMap {
            stripes: (0..stripes.max(1)).map(|_| Stripe::default()).collect(),
            ranges: Ranges::default(),
            count: AtomicI64::new(0),
        }
    }

    fn stripe(&self, key: &[u8]) -> &Stripe {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        &self.stripes[(hasher.finish() % self.stripes.len() as u64) as usize]
    }
}

/// All locks of a database.
pub(crate) struct LockManager {
    families: RwLock<HashMap<u32, Arc<LockMap>>>,
    /// The graph of waits. Locked under a stripe's mutex.
    waiting: Mutex<WaitGraph>,
    waits: Waits,
    /// Transactions that expire. Locked under a stripe's mutex.
    expirable: Mutex<HashMap<TransactionId, Arc<SharedState>>>,
    next_id: AtomicU64,
    num_stripes: usize,
    max_num_locks: i64,
    clock: Arc<dyn Clock>,
}

impl LockManager {
    /// A manager without locks and families. `max_num_locks` limits the locks of a family; no limit unless
    /// above 0.
    pub fn new(
        num_stripes: usize,
        max_num_locks: i64,
        max_num_deadlocks: u32,
        clock: Arc<dyn Clock>,
    ) -> LockManager {
        LockManager {
            families: RwLock::default(),
            waiting: Mutex::new(WaitGraph::new(max_num_deadlocks)),
            waits: Waits::default(),
            expirable: Mutex::default(),
            next_id: AtomicU64::new(1),
            num_stripes,
            max_num_locks,
            clock,
        }
    }

    /// The id of a new transaction.
    pub fn new_id(&self) -> TransactionId {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// The clock by which locks expire.
    pub fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    /// Adds family `id`, whose keys may be locked from now on.
    pub fn add_family(&self, id: u32) {
        let mut families = self.families.write();
        families
            .entry(id)
            .or_insert_with(|| Arc::new(LockMap::new(self.num_stripes)));
    }

    /// True if keys of family `id` may be locked.
    pub fn has_family(&self, id: u32) -> bool {
        self.families.read().contains_key(&id)
    }

    /// Removes a family that was dropped.
    pub fn remove_family(&self, id: u32) {
        self.families.write().remove(&id);
    }

    /// Records a transaction whose locks may be taken when it has expired.
    pub fn add_expirable(&self, id: TransactionId, state: Arc<SharedState>) {
        self.expirable.lock().insert(id, state);
    }

    /// Removes a transaction that has ended.
    pub fn remove_expirable(&self, id: TransactionId) {
        self.expirable.lock().remove(&id);
    }

    pub(super) fn family(&self, id: u32) -> Result<Arc<LockMap>> {
        let families = self.families.read();
        families
            .get(&id)
            .cloned()
            .ok_or_else(|| Error::invalid_argument(format!("Column family id not found: {id}")))
    }

    /// Locks `key`, which the transaction may already hold in another mode.
    ///
    /// # Errors
    ///
    /// `TimedOut` if others hold it for longer than the transaction waits, `Busy` for a deadlock, `Aborted`
    /// if the limit of the family's locks is reached, `InvalidArgument` for a family that does not exist.
    pub fn try_lock(&self, request: &LockRequest, family: u32, key: &[u8], exclusive: bool) -> Result<()> {
        let map = self.family(family)?;
        let stripe = map.stripe(key);
        let deadline = self.deadline(request);
        let mut met = Met::default();
        let mut locks = stripe.locks.lock();
        loop {
            if !met.is_complete(&map.ranges) {
                drop(locks);
                met.compare(&map.ranges, |held| {
                    held.info.range.contains(&held.comparator, key)
                });
                locks = stripe.locks.lock();
                continue;
            }
            let (by, expires) = match self.attempt(&mut locks, &map, request, (key, &met), exclusive) {
                Ok(()) => return Ok(()),
                Err(Refusal::LockLimit) => return Err(lock_limit()),
                Err(Refusal::Held { by, expires }) => (by, expires),
            };
            let info = || DeadlockInfo {
                transaction_id: request.id,
                column_family_id: family,
                exclusive,
                waiting_key: key.to_vec(),
                waiting_range: None,
            };
            self.wait(request, deadline, (&by, expires), info, stripe, &mut locks)?;
        }
    }

    /// The end of the request's wait; `None` if it does not wait, or has no time limit.
    pub(super) fn deadline(&self, request: &LockRequest) -> Option<Duration> {
        let timeout = request.timeout.filter(|timeout| !timeout.is_zero());
        timeout.map(|timeout| self.clock.now().saturating_add(timeout))
    }

    /// Waits, releasing the mutex of `stripe` meanwhile, until one of its locks is released or may be taken.
    /// The holders of the wanted lock, and the time at which the first of them expires, are given.
    ///
    /// # Errors
    ///
    /// `TimedOut` if the request's time limit is reached, `Busy` for a deadlock.
    pub(super) fn wait(
        &self,
        request: &LockRequest,
        deadline: Option<Duration>,
        (by, expires): (&[TransactionId], Option<Duration>),
        info: impl Fn() -> DeadlockInfo,
        stripe: &Stripe,
        locks: &mut MutexGuard<'_, Locks>,
    ) -> Result<()> {
        let now = self.clock.now();
        let is_over = match (request.timeout, deadline) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(_), Some(deadline)) => deadline <= now,
        };
        if is_over {
            return Err(Error::new(ErrorKind::TimedOut, "Timeout waiting to lock key"));
        }
        if let Some(depth) = request.deadlock_detect_depth {
            let unix_seconds = || self.clock.unix_seconds();
            if !self.waiting.lock().begin_to_wait(info(), by, depth, unix_seconds) {
                return Err(Error::new(ErrorKind::Busy, "Deadlock"));
            }
        }
        self.waits.begin(info(), by);
        let until = [deadline, expires].into_iter().flatten().min();
        match until {
            Some(until) => drop(stripe.released.wait_for(locks, until.saturating_sub(now))),
            None => stripe.released.wait(locks),
        }
        self.waits.end(request.id);
        if request.deadlock_detect_depth.is_some() {
            self.waiting.lock().end_to_wait(request.id);
        }
        Ok(())
    }

    fn attempt(
        &self,
        locks: &mut Locks,
        map: &LockMap,
        request: &LockRequest,
        (key, met): (&[u8], &Met),
        exclusive: bool,
    ) -> Result<(), Refusal> {
        let wanted = LockInfo {
            exclusive,
            holders: vec![request.id],
            expires: request.expires,
        };
        if !map.ranges.is_empty()
            && let Some(refusal) = self.refused_by_range(map, request, met, exclusive)
        {
            return Err(refusal);
        }
        let (now, may_add) = (|| self.clock.now(), || self.may_add(map));
        let attempt = stripe::try_acquire(locks, key, &wanted, &now, &may_add, &|id| self.steal(id));
        match attempt {
            Attempt::New => {
                self.count_locked(map);
                Ok(())
            }
            Attempt::Shared => Ok(()),
            Attempt::Refused(refusal) => Err(refusal),
        }
    }

    /// The ranges of other transactions, among those that the key is in, that conflict with it. The caller
    /// holds the mutex of the key's stripe.
    #[cold]
    fn refused_by_range(
        &self,
        map: &LockMap,
        request: &LockRequest,
        met: &Met,
        exclusive: bool,
    ) -> Option<Refusal> {
        let mut conflict = Conflict::default();
        self.find_ranges(map, request, met, exclusive, &mut conflict);
        let Conflict { by, expires, .. } = conflict;
        (!by.is_empty()).then_some(Refusal::Held { by, expires })
    }

    /// Finds the conflicting ranges of other transactions among those that a request meets. The caller holds
    /// the mutex of a stripe.
    pub(super) fn find_ranges(
        &self,
        map: &LockMap,
        request: &LockRequest,
        met: &Met,
        exclusive: bool,
        conflict: &mut Conflict,
    ) {
        for held in met.still_held(&map.ranges) {
            if (held.info.exclusive || exclusive) && held.info.id != request.id && !self.is_given_up(held) {
                conflict.add([held.info.id].into_iter(), self.may_expire(held.expires), 0);
            }
        }
    }

    /// True if the holder of the lock has expired and is not being committed: the holder has then lost its
    /// locks.
    fn is_given_up(&self, held: &HeldRange) -> bool {
        let is_over = held.expires.is_some_and(|expires| expires <= self.clock().now());
        is_over && self.steal(held.info.id)
    }

    /// The time at which a lock expires, unless that is past.
    fn may_expire(&self, expires: Option<Duration>) -> Option<Duration> {
        expires.filter(|&expires| expires > self.clock().now())
    }

    /// True unless the limit of the family's locks is reached.
    pub(super) fn may_add(&self, map: &LockMap) -> bool {
        self.max_num_locks <= 0 || map.count.load(Ordering::Relaxed) < self.max_num_locks
    }

    /// Counts a lock, if there is a limit.
    pub(super) fn count_locked(&self, map: &LockMap) {
        if self.max_num_locks > 0 {
            map.count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Undoes [`count_locked`](Self::count_locked).
    pub(super) fn count_unlocked(&self, map: &LockMap) {
        if self.max_num_locks > 0 {
            map.count.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Takes the locks of a transaction that has expired. False if it is being committed.
    pub(super) fn steal(&self, id: TransactionId) -> bool {
        match self.expirable.lock().get(&id) {
            Some(state) => state.steal_locks(),
            // A transaction that is not listed has ended, or never expires; in the second case its locks have
            // no expiry.
            None => true,
        }
    }

    /// Releases the transaction's hold of the lock of `key`.
    pub fn unlock(&self, id: TransactionId, family: u32, key: &[u8]) {
        let Ok(map) = self.family(family) else {
            return;
        };
        let stripe = map.stripe(key);
        let mut locks = stripe.locks.lock();
        if stripe::release(&mut locks, key, id) {
            self.count_unlocked(&map);
        }
        drop(locks);
        stripe.released.notify_all();
    }

    /// The locks of each family, by its id.
    pub(super) fn all_families(&self) -> Vec<(u32, Arc<LockMap>)> {
        let families = self.families.read();
        let mut all: Vec<_> = families.iter().map(|(&id, map)| (id, map.clone())).collect();
        all.sort_unstable_by_key(|(id, _)| *id);
        all
    }

    /// Every locked key, by family, in the order of the keys' bytes.
    pub fn status(&self) -> Vec<(u32, KeyLockInfo)> {
        let mut all = Vec::new();
        for (id, map) in self.all_families() {
            for stripe in &map.stripes {
                let locks = stripe.locks.lock();
                all.extend(locks.iter().map(|(key, lock)| {
                    let info = KeyLockInfo {
                        key: key.clone(),
                        ids: lock.holders.clone(),
                        exclusive: lock.exclusive,
                    };
                    (id, info)
                }));
            }
        }
        all.sort_by(|a, b| (a.0, &a.1.key).cmp(&(b.0, &b.1.key)));
        all
    }

    /// The waits of transactions.
    pub fn waits(&self) -> &Waits {
        &self.waits
    }

    /// The last deadlocks, newest first.
    pub fn deadlocks(&self) -> Vec<DeadlockPath> {
        self.waiting.lock().recent()
    }

    /// Sets the number of deadlocks that are kept.
    pub fn set_max_deadlocks(&self, max_num_deadlocks: u32) {
        self.waiting.lock().set_max_recent(max_num_deadlocks);
    }
}

impl fmt::Debug for LockManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.status()).finish()
    }
}

pub(super) fn lock_limit() -> Error {
    Error::new(
        ErrorKind::Aborted,
        "Failed to acquire lock due to max_num_locks limit",
    )
}

#[cfg(test)]
mod tests;

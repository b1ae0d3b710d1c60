//! A part of a family's locks: keys whose hashes select the same stripe, under one mutex.

use std::collections::HashMap;
use std::time::Duration;

use base::sync::{Condvar, Mutex};

use super::TransactionId;

/// The locks of some keys.
pub(super) type Locks = HashMap<Vec<u8>, LockInfo>;

/// Locks of some keys.
#[derive(Default)]
pub(super) struct Stripe {
    pub locks: Mutex<Locks>,
    /// The condition on which transactions wait for one of the keys. A release of a lock signals it.
    pub released: Condvar,
}

/// The lock of one key.
#[derive(Clone, Debug)]
pub(super) struct LockInfo {
    pub exclusive: bool,
    /// The holders: one, or several of a shared lock.
    pub holders: Vec<TransactionId>,
    /// The time, by the clock of the options, after which others may take the lock. `None`: never.
    pub expires: Option<Duration>,
}

/// The reason why a lock was not granted.
pub(super) enum Refusal {
    /// Other transactions hold the lock.
    Held {
        /// The holders, without the transaction that asks.
        by: Vec<TransactionId>,
        /// The time after which the lock may be taken from its holders; `None` if they do not expire.
        expires: Option<Duration>,
    },
    /// The limit of the family's locks is reached.
    LockLimit,
}

/// The outcome of an attempt to lock a key.
pub(super) enum Attempt {
    /// A key was locked that was not locked before.
    New,
    /// The transaction has joined the holders of an existing lock.
    Shared,
    Refused(Refusal),
}

/// Grants the lock of `key` to the one holder of `wanted`, if that is possible now. `may_add` returns whether
/// there may be one more lock; `steal` takes the locks of a transaction that has expired.
pub(super) fn try_acquire(
    locks: &mut Locks,
    key: &[u8],
    wanted: &LockInfo,
    now: &dyn Fn() -> Duration,
    may_add: &dyn Fn() -> bool,
    steal: &dyn Fn(TransactionId) -> bool,
) -> Attempt {
    let own = wanted.holders[0];
    let Some(lock) = locks.get_mut(key) else {
        if !may_add() {
            return Attempt::Refused(Refusal::LockLimit);
        }
        locks.insert(key.to_vec(), wanted.clone());
        return Attempt::New;
    };
    if !lock.exclusive && !wanted.exclusive {
        if !lock.holders.contains(&own) {
            lock.holders.push(own);
        }
        // The last expiry among several holders counts; a holder that never expires keeps the lock.
        lock.expires = lock.expires.zip(wanted.expires).map(|(a, b)| a.max(b));
        return Attempt::Shared;
    }
    let others = || lock.holders.iter().copied().filter(|&holder| holder != own);
    if others().next().is_some() {
        let is_over = lock.expires.is_some_and(|expires| expires <= now());
        if !is_over || !others().all(steal) {
            return Attempt::Refused(Refusal::Held {
                by: others().collect(),
                // A lock that has expired and could not be taken belongs to a transaction that is being
                // committed.
                expires: lock.expires.filter(|_| !is_over),
            });
        }
    }
    *lock = wanted.clone();
    Attempt::Shared
}

/// Releases `holder`'s hold of the lock. True if the key is no longer locked.
pub(super) fn release(locks: &mut Locks, key: &[u8], holder: TransactionId) -> bool {
    // If the transaction is not among the holders, the lock was taken from it.
    let Some(lock) = locks.get_mut(key) else {
        return false;
    };
    lock.holders.retain(|&other| other != holder);
    if !lock.holders.is_empty() {
        return false;
    }
    locks.remove(key);
    true
}

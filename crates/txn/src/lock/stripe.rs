//! A part of a family's locks: keys that hash alike, under one mutex.

use std::collections::HashMap;
use std::time::Duration;

use base::sync::{Condvar, Mutex};

use super::TransactionId;

/// Locks of some keys.
#[derive(Default)]
pub(super) struct Stripe {
    pub locks: Mutex<HashMap<Vec<u8>, LockInfo>>,
    /// Those who wait for one of the keys sleep here. A lock that is given back wakes them.
    pub released: Condvar,
}

/// The lock of one key.
#[derive(Clone, Debug)]
pub(super) struct LockInfo {
    pub exclusive: bool,
    /// One or, of a lock that is shared, several.
    pub holders: Vec<TransactionId>,
    /// By the clock of the options: others may take the lock from then on. `None`: never.
    pub expires: Option<Duration>,
}

/// Why a lock was not got.
pub(super) enum Refusal {
    /// Others hold it.
    Held {
        /// The transactions that do, without the one that asks.
        by: Vec<TransactionId>,
        /// When it may be taken, where it may be.
        expires: Option<Duration>,
    },
    /// The family has as many locks as it may have.
    LockLimit,
}

/// The outcome of an attempt.
pub(super) enum Attempt {
    /// A key was locked that was not.
    New,
    /// A lock that was there is the transaction's now, too.
    Shared,
    Refused(Refusal),
}

/// Takes the lock of `key` for the one holder of `wanted`, if that can be now. `may_add` says whether there may be one more lock, `steal` takes the locks
/// of a transaction whose time is over from it.
pub(super) fn try_acquire(
    locks: &mut HashMap<Vec<u8>, LockInfo>,
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
        // Among several holders the last one to expire counts; one that never does keeps it.
        lock.expires = lock.expires.zip(wanted.expires).map(|(a, b)| a.max(b));
        return Attempt::Shared;
    }
    let others = || lock.holders.iter().copied().filter(|&holder| holder != own);
    if others().next().is_some() {
        let is_over = lock.expires.is_some_and(|expires| expires <= now());
        if !is_over || !others().all(steal) {
            return Attempt::Refused(Refusal::Held {
                by: others().collect(),
                // One that is over and was not given up is being committed.
                expires: lock.expires.filter(|_| !is_over),
            });
        }
    }
    *lock = wanted.clone();
    Attempt::Shared
}

/// Gives back what `holder` has of the lock. True if the key is locked no more.
pub(super) fn release(locks: &mut HashMap<Vec<u8>, LockInfo>, key: &[u8], holder: TransactionId) -> bool {
    // Where it is not among the holders the lock was taken from it.
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

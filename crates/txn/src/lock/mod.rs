//! Locks on keys and ranges of keys: which transaction has which, who waits for whom, and what a transaction remembers of its own.

pub(crate) mod deadlock;
pub(crate) mod manager;
pub(crate) mod range;
pub(crate) mod stripe;
pub(crate) mod tracker;

/// The number of a transaction, unique in its database while that is open.
pub type TransactionId = u64;

//! Locks on keys and ranges of keys: their holders, the graph of waits, and the keys that a transaction
//! tracks.

pub(crate) mod deadlock;
pub(crate) mod held_ranges;
pub(crate) mod manager;
pub(crate) mod range;
pub(crate) mod stripe;
pub(crate) mod tracker;
pub(crate) mod waits;

/// The id of a transaction, unique in its database while that is open.
pub type TransactionId = u64;

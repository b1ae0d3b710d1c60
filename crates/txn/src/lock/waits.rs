//! The transactions that wait for locks now, with those that hold them.

use std::collections::HashMap;

use base::sync::Mutex;

use super::TransactionId;
use super::deadlock::DeadlockInfo;

/// The lock that a transaction waits for, and its holders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingTransactions {
    /// The column family of the key.
    pub column_family_id: u32,
    /// The key; for a range, its first key, or empty without a lower bound.
    pub key: Vec<u8>,
    /// The transactions that hold the lock.
    pub transaction_ids: Vec<TransactionId>,
}

/// All waits of a database, by the transaction that waits. Locked under a stripe's mutex.
#[derive(Default)]
pub(crate) struct Waits(Mutex<HashMap<TransactionId, WaitingTransactions>>);

impl Waits {
    /// Records that the transaction of `info` begins to wait for the transactions in `by`.
    pub fn begin(&self, info: DeadlockInfo, by: &[TransactionId]) {
        let wait = WaitingTransactions {
            column_family_id: info.column_family_id,
            key: info.waiting_key,
            transaction_ids: by.to_vec(),
        };
        self.0.lock().insert(info.transaction_id, wait);
    }

    /// Records that the transaction no longer waits.
    pub fn end(&self, id: TransactionId) {
        self.0.lock().remove(&id);
    }

    /// The wait of the transaction, if it waits.
    pub fn of(&self, id: TransactionId) -> Option<WaitingTransactions> {
        self.0.lock().get(&id).cloned()
    }
}

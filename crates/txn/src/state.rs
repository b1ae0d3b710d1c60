//! The state of a transaction, as far as other threads may change it.

use std::sync::atomic::{AtomicU8, Ordering};

/// The state of a transaction, by RocksDB's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TransactionState {
    /// The transaction accepts reads and writes.
    Started,
    /// The transaction is being prepared.
    AwaitingPrepare,
    /// The transaction is prepared: its rows are in the WAL, to be committed or rolled back.
    Prepared,
    /// The transaction is being committed.
    AwaitingCommit,
    /// The transaction is committed.
    Committed,
    /// The prepared section is being rolled back.
    AwaitingRollback,
    /// The prepared section is rolled back.
    RolledBack,
    /// The transaction expired, and another one has taken its locks.
    LocksStolen,
}

const ALL: [TransactionState; 8] = [
    TransactionState::Started,
    TransactionState::AwaitingPrepare,
    TransactionState::Prepared,
    TransactionState::AwaitingCommit,
    TransactionState::Committed,
    TransactionState::AwaitingRollback,
    TransactionState::RolledBack,
    TransactionState::LocksStolen,
];

/// The state of a transaction. Its owner advances it; other transactions may take its locks after it has
/// expired.
#[derive(Debug)]
pub(crate) struct SharedState(AtomicU8);

impl SharedState {
    /// A state of [`Started`](TransactionState::Started).
    pub fn new() -> SharedState {
        SharedState(AtomicU8::new(TransactionState::Started as u8))
    }

    pub fn get(&self) -> TransactionState {
        ALL[usize::from(self.0.load(Ordering::Acquire))]
    }

    pub fn set(&self, state: TransactionState) {
        self.0.store(state as u8, Ordering::Release);
    }

    /// Changes `Started` to `next`. False if another transaction has taken the locks of the transaction, or
    /// if the state is not `Started`.
    pub fn leave_started(&self, next: TransactionState) -> bool {
        let started = TransactionState::Started as u8;
        self.0
            .compare_exchange(started, next as u8, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }

    /// Takes the transaction's locks. False if it is being committed or prepared.
    pub fn steal_locks(&self) -> bool {
        self.leave_started(TransactionState::LocksStolen) || self.get() == TransactionState::LocksStolen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_its_locks_are_taken_or_it_is_committed() {
        let stolen = SharedState::new();
        assert!(stolen.steal_locks() && stolen.steal_locks());
        assert!(!stolen.leave_started(TransactionState::AwaitingCommit));
        assert_eq!(stolen.get(), TransactionState::LocksStolen);
        let committed = SharedState::new();
        assert!(committed.leave_started(TransactionState::AwaitingCommit));
        assert!(!committed.steal_locks());
        assert_eq!(committed.get(), TransactionState::AwaitingCommit);
    }
}

//! A look at the waits of a transaction from other threads.

use std::fmt;
use std::sync::Arc;

use crate::lock::TransactionId;
use crate::lock::waits::WaitingTransactions;
use crate::shared::TransactionDbShared;

/// A look at the waits of one transaction, for threads other than the one that uses the transaction:
/// RocksDB's `GetWaitingTxns`. [`Transaction::waits`](crate::Transaction::waits) returns it.
#[derive(Clone)]
pub struct TransactionWaits {
    pub(crate) id: TransactionId,
    /// `None` for a transaction without locks.
    pub(crate) shared: Option<Arc<TransactionDbShared>>,
}

impl TransactionWaits {
    /// The lock that the transaction waits for now, or `None` if it does not wait. Transactions that are
    /// validated at commit never wait.
    pub fn current(&self) -> Option<WaitingTransactions> {
        self.shared.as_ref()?.locks.waits().of(self.id)
    }
}

impl fmt::Debug for TransactionWaits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TransactionWaits({}: {:?})", self.id, self.current())
    }
}

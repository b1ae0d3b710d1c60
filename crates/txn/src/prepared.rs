//! The first of two phases: a transaction gets a name and is prepared.

use base::{Error, Result};

use crate::commit::{expired, not_in_state};
use crate::state::TransactionState;
use crate::transaction::{Control, Transaction};

/// Bytes of the longest name.
const LONGEST_NAME: usize = 512;

impl Transaction {
    /// Gives the transaction a name, which none other of the database has while it lives, nor one that is prepared.
    ///
    /// # Errors
    /// `InvalidArgument` for a name that is taken, empty, or longer than 512 bytes; where it has a name, and once it is being prepared or committed; for an
    /// optimistic transaction.
    pub fn set_name(&mut self, name: &[u8]) -> Result<()> {
        let Control::Locks(locking) = &self.control else {
            return Err(Error::invalid_argument(
                "Optimistic transactions cannot be named.",
            ));
        };
        if self.state() != TransactionState::Started {
            return Err(Error::invalid_argument("Transaction is beyond state for naming."));
        }
        if !self.name.is_empty() {
            return Err(Error::invalid_argument("Transaction has already been named."));
        }
        if name.is_empty() || name.len() > LONGEST_NAME {
            return Err(Error::invalid_argument(
                "Transaction name length must be between 1 and 512 chars.",
            ));
        }
        locking.shared.register(name)?;
        self.name = name.to_vec();
        Ok(())
    }

    /// Puts what the transaction writes into the WAL, so that it can be committed whatever happens: the first of two phases. With
    /// [`sync`](esker::WriteOptions::sync) it survives the loss of power. Its locks stay, and nobody takes them from it any more.
    ///
    /// # Errors
    /// `InvalidArgument` without a name, where it was prepared or has ended, and for an optimistic transaction; `Expired` once its time is over; those of
    /// [`Db::write`](esker::Db::write).
    pub fn prepare(&mut self) -> Result<()> {
        let Control::Locks(locking) = &mut self.control else {
            return Err(Error::invalid_argument(
                "Two phase commit not supported for optimistic transactions.",
            ));
        };
        if self.name.is_empty() {
            return Err(Error::invalid_argument(
                "Cannot prepare a transaction that has not been named.",
            ));
        }
        if locking.is_expired() {
            return Err(expired());
        }
        if !self.state.leave_started(TransactionState::AwaitingPrepare) {
            return Err(not_in_state(self.state.get()));
        }
        let expires = locking.request.expires.take();
        let prepared = self
            .db
            .prepare(&self.write_options, &self.name, self.batch.write_batch());
        match prepared {
            Ok(()) => self.state.set(TransactionState::Prepared),
            Err(_) => {
                locking.request.expires = expires;
                self.state.set(TransactionState::Started);
            }
        }
        prepared
    }
}

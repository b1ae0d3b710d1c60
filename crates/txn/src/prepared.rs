//! The first phase of a two-phase commit: a transaction gets a name and is prepared.

use base::{Error, Result};

use crate::commit::{expired, not_in_state};
use crate::state::TransactionState;
use crate::transaction::{Control, Transaction};

/// The size of the longest name in bytes.
const LONGEST_NAME: usize = 512;

impl Transaction {
    /// Gives the transaction a name, which must be unique among the live and the prepared transactions of the
    /// database.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` if the name is in use, empty, or longer than 512 bytes; if the transaction already
    /// has a name, is being prepared or committed, or is optimistic.
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

    /// Writes the transaction's rows to the WAL, so that it can be committed whatever happens: the first of
    /// two phases. With [`sync`](esker::WriteOptions::sync) it survives a loss of power. It keeps its locks,
    /// which no other transaction can take from it any more. A serializable transaction also takes shared
    /// locks on everything that it has read, and validates it: `Busy` if another has written it; the locks
    /// are then kept until it is rolled back.
    ///
    /// Rows that are written after the prepare go into the WAL with the commit: before it, a crash takes
    /// them. Reads of a serializable transaction after the prepare are locked and validated by the commit.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` without a name, if it was prepared or has ended, and for an optimistic transaction;
    /// `Expired` if its time is over; those of [`Db::write`](esker::Db::write).
    pub fn prepare(&mut self) -> Result<()> {
        let Control::Locks(locking) = &self.control else {
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
        if self.state() == TransactionState::Started
            && let Some(reads) = self.reads.clone()
        {
            self.lock_reads(&reads)?;
        }
        if !self.state.leave_started(TransactionState::AwaitingPrepare) {
            return Err(not_in_state(self.state.get()));
        }
        let expires = self.locking().and_then(|locking| locking.request.expires.take());
        let prepared = self
            .db
            .prepare(&self.name, self.batch.write_batch(), &self.write_options);
        match prepared {
            Ok(()) => {
                self.batch.seal();
                self.state.set(TransactionState::Prepared);
            }
            Err(_) => {
                if let Some(locking) = self.locking() {
                    locking.request.expires = expires;
                }
                self.state.set(TransactionState::Started);
            }
        }
        prepared
    }
}

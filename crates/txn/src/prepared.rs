//! The first of two phases: a transaction gets a name and is prepared.

use base::{Error, ErrorKind, Result};

use crate::commit::{expired, not_in_state};
use crate::key_range::KeyRange;
use crate::read_set::ReadSet;
use crate::state::TransactionState;
use crate::transaction::{Control, Locking, Transaction};
use crate::writes::Tracking;

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
    /// [`sync`](esker::WriteOptions::sync) it survives the loss of power. Its locks stay, and nobody takes them from it any more. A serializable transaction
    /// locks what it has read, too, shared, and looks at it: `Busy` where another has written it, and what was locked stays so until it is rolled back.
    ///
    /// # Errors
    /// `InvalidArgument` without a name, where it was prepared or has ended, and for an optimistic transaction; `Expired` once its time is over; those of
    /// [`Db::write`](esker::Db::write).
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
            .prepare(&self.write_options, &self.name, self.batch.write_batch());
        match prepared {
            Ok(()) => self.state.set(TransactionState::Prepared),
            Err(_) => {
                if let Some(locking) = self.locking() {
                    locking.request.expires = expires;
                }
                self.state.set(TransactionState::Started);
            }
        }
        prepared
    }

    fn locking(&mut self) -> Option<&mut Locking> {
        match &mut self.control {
            Control::Locks(locking) => Some(locking),
            Control::Validation { .. } => None,
        }
    }

    /// Shares the locks of what a serializable transaction has read, and looks at it behind them: from then on it stays so until the transaction ends.
    fn lock_reads(&mut self, reads: &ReadSet) -> Result<()> {
        if self
            .locking()
            .is_some_and(|locking| locking.skip_concurrency_control)
        {
            return Err(Error::not_supported(
                "a serializable transaction without locks is not prepared",
            ));
        }
        let reads = reads.lock();
        for key in reads.keys() {
            let family = self.family_by_id(key.family)?;
            // One that it holds alone stays so.
            if self.tracked.get(key.family, key.key).is_none() {
                self.lock_for_update(&family, key.key, false, false)?;
            }
            if self
                .db
                .newest_sequence_number(&family, key.key, key.since)?
                .is_some()
            {
                return Err(Error::new(ErrorKind::Busy, ""));
            }
        }
        for range in reads.ranges() {
            let family = self.family_by_id(range.family)?;
            let locked = KeyRange {
                begin: range.begin.map(<[u8]>::to_vec),
                end: range.end.map(<[u8]>::to_vec),
            };
            self.track_range(&family, locked, false, Tracking::Untracked)?;
            if self.db.is_range_written(&family, &range)? {
                return Err(Error::new(ErrorKind::Busy, ""));
            }
        }
        Ok(())
    }
}

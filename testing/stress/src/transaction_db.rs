//! The database of transactions over the one under stress.

use esker::Db;
use txn::{OptimisticTransactionDB, TransactionDB, TransactionDBOptions, TxnDBWritePolicy};

use crate::failure::Outcome;
use crate::flags::Flags;

/// The database of transactions.
pub enum Transactions {
    Locked(TransactionDB),
    Optimistic(OptimisticTransactionDB),
}

impl Transactions {
    /// The transaction database over `db` that the flags ask for. Transactions that an earlier process left
    /// prepared are rolled back: their writes did not return.
    pub fn over(flags: &Flags, db: &Db) -> Outcome<Option<Transactions>> {
        if flags.use_optimistic_txn {
            let optimistic = OptimisticTransactionDB::wrap(db.clone());
            return Ok(Some(Transactions::Optimistic(optimistic)));
        }
        if !flags.use_txn {
            return Ok(None);
        }
        let options = TransactionDBOptions {
            write_policy: match flags.txn_write_policy {
                0 => TxnDBWritePolicy::WriteCommitted,
                1 => TxnDBWritePolicy::WritePrepared,
                _ => TxnDBWritePolicy::WriteUnprepared,
            },
            ..TransactionDBOptions::default()
        };
        let locked = TransactionDB::wrap(db.clone(), &options)?;
        for mut transaction in locked.get_all_prepared_transactions() {
            transaction.rollback()?;
        }
        Ok(Some(Transactions::Locked(locked)))
    }
}

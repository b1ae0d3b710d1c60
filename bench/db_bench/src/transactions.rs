//! The database that makes transactions.

use base::Result;
use esker::Db;
use txn::{OptimisticTransactionDB, TransactionDB, TransactionDBOptions};

use crate::flags::Flags;

/// The database that makes transactions.
#[derive(Clone, Debug)]
pub enum Transactions {
    /// Pessimistic transactions: `--transaction_db`.
    Locked(TransactionDB),
    /// Optimistic transactions: `--optimistic_transaction_db`.
    Optimistic(OptimisticTransactionDB),
}

impl Transactions {
    /// The database of transactions over `db` that the flags ask for.
    pub fn over(flags: &Flags, db: &Db) -> Result<Option<Transactions>> {
        Ok(match (flags.optimistic_transaction_db, flags.transaction_db) {
            (true, _) => Some(Transactions::Optimistic(OptimisticTransactionDB::wrap(
                db.clone(),
            ))),
            (_, true) => {
                let options = TransactionDBOptions::default();
                Some(Transactions::Locked(TransactionDB::wrap(db.clone(), &options)?))
            }
            _ => None,
        })
    }
}

//! Transactions.

mod optimistic;
mod options;
mod transaction;
mod transaction_db;

pub use self::optimistic::OptimisticTransactionDB;
pub use self::options::{OptimisticTransactionOptions, TransactionDBOptions, TransactionOptions};
pub use self::transaction::Transaction;
pub use self::transaction_db::TransactionDB;

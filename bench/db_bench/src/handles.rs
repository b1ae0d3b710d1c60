//! An open database and its families.

use esker::{ColumnFamily, Db};

use crate::transactions::Transactions;

/// An open database and its families, default family first.
#[derive(Clone)]
pub struct Handles {
    /// The database.
    pub db: Db,
    /// The families over which keys are spread.
    pub families: Vec<ColumnFamily>,
    /// The database of transactions, with `--transaction_db` or `--optimistic_transaction_db`.
    pub transactions: Option<Transactions>,
}

//! A database whose transactions take no locks: their commits fail if other transactions were first.

use std::path::Path;

use base::Result;
use esker::{Db, Options, WriteOptions};

use crate::options::OptimisticTransactionOptions;
use crate::transaction::Transaction;

/// A database with transactions that take no locks: RocksDB's `OptimisticTransactionDB`. A commit validates
/// the keys that the transaction writes or reads for update: if another writer has written one since, the
/// commit fails with `Busy`, and the transaction keeps its state and must be rolled back and repeated. Writes
/// to the [underlying database](Self::db) count as well.
///
/// Validation looks into memtables, and into tables if memtables do not reach back far enough. Therefore,
/// unlike in RocksDB, it never fails with `TryAgain`, and no memtable is kept for it.
#[derive(Clone, Debug)]
pub struct OptimisticTransactionDB {
    db: Db,
}

impl OptimisticTransactionDB {
    /// Opens the database in `path` as [`Db::open`] does.
    pub fn open(options: &Options, path: impl AsRef<Path>) -> Result<OptimisticTransactionDB> {
        Ok(OptimisticTransactionDB::wrap(Db::open(options, path)?))
    }

    /// Adds transactions to an open database.
    pub fn wrap(db: Db) -> OptimisticTransactionDB {
        OptimisticTransactionDB { db }
    }

    /// The underlying database, for reads and writes outside of transactions.
    pub fn db(&self) -> &Db {
        &self.db
    }

    /// Begins a transaction.
    pub fn begin_transaction(
        &self,
        write_options: &WriteOptions,
        options: &OptimisticTransactionOptions,
    ) -> Transaction {
        Transaction::optimistic(&self.db, write_options, options)
    }
}

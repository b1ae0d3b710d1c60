//! A database whose transactions take no locks: their commits fail where others came first.

use std::path::Path;

use base::Result;
use esker::{Db, Options, WriteOptions};

use crate::options::OptimisticTransactionOptions;
use crate::transaction::Transaction;

/// A database with transactions that take no locks: RocksDB's `OptimisticTransactionDB`. The keys that a transaction writes, or reads for update, are
/// looked at when it is committed: where another has written one since, it fails with `Busy`, stays as it is, and is to be rolled back and done again.
/// Writes to the [database below](Self::db) count as well.
///
/// The look goes into memtables, and into tables where memtables do not reach back, so that unlike RocksDB's it never fails with `TryAgain`, and no
/// memtable is kept for it.
#[derive(Clone, Debug)]
pub struct OptimisticTransactionDB {
    db: Db,
}

impl OptimisticTransactionDB {
    /// Opens the database in `path` as [`Db::open`] does.
    pub fn open(options: &Options, path: impl AsRef<Path>) -> Result<OptimisticTransactionDB> {
        Ok(OptimisticTransactionDB::wrap(Db::open(options, path)?))
    }

    /// The transactions of a database that is open.
    pub fn wrap(db: Db) -> OptimisticTransactionDB {
        OptimisticTransactionDB { db }
    }

    /// The database below, to read from and write to.
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

//! A database whose transactions lock the keys that they write.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use base::sync::Mutex;
use base::{Error, Result};
use esker::{ColumnFamily, ColumnFamilyOptions, Db, Options, WriteBatch, WriteBatchWithIndex, WriteOptions};

use crate::lock::deadlock::DeadlockPath;
use crate::lock::held_ranges::RangeLockInfo;
use crate::lock::manager::{KeyLockInfo, LockManager};
use crate::options::{TransactionDBOptions, TransactionOptions, TxnDBWritePolicy};
use crate::shared::{Named, TransactionDbShared};
use crate::state::TransactionState;
use crate::tracking::Tracking;
use crate::transaction::Transaction;

/// A database with [transactions](Transaction) that lock keys as they write them, and with two-phase commit:
/// RocksDB's `TransactionDB` with the policy write-committed. Cheap to clone; all clones are the same
/// database.
///
/// A write through it without a transaction locks its keys, too. Writes to the [underlying
/// database](Self::db) do not: a transaction notices them only if it has a snapshot.
#[derive(Clone)]
pub struct TransactionDB {
    pub(crate) shared: Arc<TransactionDbShared>,
}

impl TransactionDB {
    /// Opens the database in `path` as [`Db::open`] does, with [`allow_2pc`](Options::allow_2pc).
    /// [`get_all_prepared_transactions`](Self::get_all_prepared_transactions) returns the transactions that
    /// were prepared before and have not ended.
    pub fn open(
        options: &Options,
        transaction_options: &TransactionDBOptions,
        path: impl AsRef<Path>,
    ) -> Result<TransactionDB> {
        let options = Options {
            allow_2pc: true,
            ..options.clone()
        };
        TransactionDB::wrap(Db::open(&options, path)?, transaction_options)
    }

    /// Adds transactions to an open database. Use one such object at a time: the locks of one do not count
    /// for another. `InvalidArgument` unless the database was opened with [`allow_2pc`](Options::allow_2pc).
    pub fn wrap(db: Db, options: &TransactionDBOptions) -> Result<TransactionDB> {
        if !db.options().allow_2pc {
            return Err(Error::invalid_argument(
                "a database with transactions needs the option allow_2pc",
            ));
        }
        let locks = LockManager::new(
            options.num_stripes,
            options.max_num_locks,
            options.max_num_deadlocks,
            db.options().clock.clone(),
        );
        db.column_families()
            .iter()
            .for_each(|family| locks.add_family(family.id()));
        let recovered = db.recovered_transactions();
        if options.write_policy != TxnDBWritePolicy::WriteCommitted {
            db.log_warning("TransactionDB: write_policy is served as WRITE_COMMITTED");
        }
        for transaction in &recovered {
            db.log_warning(&format!(
                "TransactionDB: transaction {} is prepared and outstanding",
                transaction.name.escape_ascii()
            ));
        }
        let names = recovered
            .into_iter()
            .map(|transaction| (transaction.name, Named::Prepared(transaction.batch)))
            .collect();
        Ok(TransactionDB {
            shared: Arc::new(TransactionDbShared {
                db,
                options: options.clone(),
                locks,
                names: Mutex::new(names),
                timestamped_snapshots: Mutex::default(),
            }),
        })
    }

    /// The underlying database, for reads. Direct writes to it take no locks.
    pub fn db(&self) -> &Db {
        &self.shared.db
    }

    /// Begins a transaction.
    pub fn begin_transaction(
        &self,
        write_options: &WriteOptions,
        options: &TransactionOptions,
    ) -> Transaction {
        Transaction::pessimistic(&self.shared, write_options, options)
    }

    /// Creates a column family. `InvalidArgument` if the name is in use.
    pub fn create_column_family(&self, name: &str, options: &ColumnFamilyOptions) -> Result<ColumnFamily> {
        let family = self.shared.db.create_column_family(name, options)?;
        self.shared.locks.add_family(family.id());
        Ok(family)
    }

    /// Drops a column family. Locks of transactions on it are released, and their writes to it are discarded.
    pub fn drop_column_family(&self, family: &ColumnFamily) -> Result<()> {
        self.shared.db.drop_column_family(family)?;
        self.shared.locks.remove_family(family.id());
        Ok(())
    }

    /// A transaction of one operation, which waits for its lock by
    /// [`default_lock_timeout`](TransactionDBOptions::default_lock_timeout).
    fn internal(&self, options: &WriteOptions) -> Transaction {
        let mut transaction = self.begin_transaction(options, &TransactionOptions::default());
        transaction.set_lock_timeout(self.shared.options.default_lock_timeout);
        transaction
    }

    /// Locks `key` of the default family and sets it. Errors: those of [`Transaction::put_cf`].
    pub fn put(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.put_cf(&self.shared.db.default_column_family(), key, value)
    }

    /// Locks `key` of the default family and deletes it. Errors: those of [`Transaction::put_cf`].
    pub fn delete(&self, key: impl AsRef<[u8]>) -> Result<()> {
        self.delete_cf(&self.shared.db.default_column_family(), key)
    }

    /// Locks `key` of the default family and adds a merge operand to it. Errors: those of
    /// [`Transaction::put_cf`].
    pub fn merge(&self, key: impl AsRef<[u8]>, operand: impl AsRef<[u8]>) -> Result<()> {
        self.merge_cf(&self.shared.db.default_column_family(), key, operand)
    }

    /// Locks `key` of `family` and sets it; see
    /// [`put_cf_opt`](Self::put_cf_opt).
    pub fn put_cf(
        &self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> Result<()> {
        self.put_cf_opt(family, key, value, &WriteOptions::default())
    }

    /// Locks `key` of `family` and deletes it; see
    /// [`delete_cf_opt`](Self::delete_cf_opt).
    pub fn delete_cf(&self, family: &ColumnFamily, key: impl AsRef<[u8]>) -> Result<()> {
        self.delete_cf_opt(family, key, &WriteOptions::default())
    }

    /// Locks `key` of `family` and deletes it by a single deletion; see
    /// [`single_delete_cf_opt`](Self::single_delete_cf_opt).
    pub fn single_delete_cf(&self, family: &ColumnFamily, key: impl AsRef<[u8]>) -> Result<()> {
        self.single_delete_cf_opt(family, key, &WriteOptions::default())
    }

    /// Locks `key` of `family` and adds a merge operand to it; see
    /// [`merge_cf_opt`](Self::merge_cf_opt).
    pub fn merge_cf(
        &self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        operand: impl AsRef<[u8]>,
    ) -> Result<()> {
        self.merge_cf_opt(family, key, operand, &WriteOptions::default())
    }

    /// Locks the keys of `family` from `begin` to `end`, exclusive, and deletes them; see
    /// [`delete_range_cf_opt`](Self::delete_range_cf_opt).
    pub fn delete_range_cf(
        &self,
        family: &ColumnFamily,
        begin: impl AsRef<[u8]>,
        end: impl AsRef<[u8]>,
    ) -> Result<()> {
        self.delete_range_cf_opt(family, begin, end, &WriteOptions::default())
    }

    /// Locks the keys and ranges of a batch, and applies it; see [`write_opt`](Self::write_opt).
    pub fn write(&self, batch: WriteBatch) -> Result<()> {
        self.write_opt(batch, &WriteOptions::default())
    }

    /// Locks `key` of `family` and sets it. Errors: those of [`Transaction::put_cf`].
    pub fn put_cf_opt(
        &self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        options: &WriteOptions,
    ) -> Result<()> {
        let (key, value) = (key.as_ref(), value.as_ref());
        let mut transaction = self.internal(options);
        transaction.put_cf_opt(family, key, value, Tracking::Untracked)?;
        transaction.commit()
    }

    /// Locks `key` of `family` and deletes it. Errors: those of [`Transaction::put_cf`].
    pub fn delete_cf_opt(
        &self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        options: &WriteOptions,
    ) -> Result<()> {
        let key = key.as_ref();
        let mut transaction = self.internal(options);
        transaction.delete_cf_opt(family, key, Tracking::Untracked)?;
        transaction.commit()
    }

    /// Locks `key` of `family` and deletes it; it must have been put exactly once since it last did not
    /// exist. Errors: those of [`Transaction::put_cf`].
    pub fn single_delete_cf_opt(
        &self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        options: &WriteOptions,
    ) -> Result<()> {
        let key = key.as_ref();
        let mut transaction = self.internal(options);
        transaction.single_delete_cf_opt(family, key, Tracking::Untracked)?;
        transaction.commit()
    }

    /// Locks `key` of `family` and adds a merge operand to it. Errors: those of [`Transaction::put_cf`].
    pub fn merge_cf_opt(
        &self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        operand: impl AsRef<[u8]>,
        options: &WriteOptions,
    ) -> Result<()> {
        let (key, operand) = (key.as_ref(), operand.as_ref());
        let mut transaction = self.internal(options);
        transaction.merge_cf_opt(family, key, operand, Tracking::Untracked)?;
        transaction.commit()
    }

    /// Locks the keys and ranges of a batch in the order of families and keys, and applies the batch. Errors:
    /// those of [`Transaction::put_cf`].
    pub fn write_opt(&self, batch: WriteBatch, options: &WriteOptions) -> Result<()> {
        if self.shared.options.skip_concurrency_control {
            return self.shared.db.write_opt(batch, options);
        }
        self.internal(options).commit_batch(batch)
    }

    /// Locks the keys of `family` from `begin` to `end`, exclusive, and deletes them. Errors: those of
    /// [`Transaction::delete_range_cf`]. RocksDB's `TransactionDB` has only the range deletion of the
    /// underlying database.
    pub fn delete_range_cf_opt(
        &self,
        family: &ColumnFamily,
        begin: impl AsRef<[u8]>,
        end: impl AsRef<[u8]>,
        options: &WriteOptions,
    ) -> Result<()> {
        let (begin, end) = (begin.as_ref(), end.as_ref());
        let mut transaction = self.internal(options);
        transaction.delete_range_cf_opt(family, begin, end, Tracking::Untracked)?;
        transaction.commit()
    }

    /// The prepared transactions without a [`Transaction`]: those found by recovery, and those whose
    /// `Transaction` was dropped. They hold no locks. Each is returned once; if it is dropped before it ends,
    /// it is found again.
    pub fn get_all_prepared_transactions(&self) -> Vec<Transaction> {
        let mut found: Vec<(Vec<u8>, Arc<WriteBatch>)> = Vec::new();
        for (name, named) in self.shared.names.lock().iter_mut() {
            if let Named::Prepared(batch) = named {
                found.push((name.clone(), batch.clone()));
                *named = Named::Live;
            }
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        found
            .into_iter()
            .map(|(name, batch)| self.take_up(name, &batch))
            .collect()
    }

    /// The prepared transaction `name`, if it has no [`Transaction`]; see
    /// [`get_all_prepared_transactions`](Self::get_all_prepared_transactions).
    pub fn get_transaction_by_name(&self, name: &[u8]) -> Option<Transaction> {
        let mut names = self.shared.names.lock();
        let named = names.get_mut(name)?;
        let Named::Prepared(batch) = named else {
            return None;
        };
        let batch = batch.clone();
        *named = Named::Live;
        drop(names);
        Some(self.take_up(name.to_vec(), &batch))
    }

    /// A prepared transaction. Its writes are synced when it ends, as in RocksDB.
    fn take_up(&self, name: Vec<u8>, batch: &WriteBatch) -> Transaction {
        let write_options = WriteOptions {
            sync: true,
            ..WriteOptions::default()
        };
        let options = TransactionOptions {
            skip_concurrency_control: true,
            ..TransactionOptions::default()
        };
        let mut transaction = self.begin_transaction(&write_options, &options);
        transaction.name = name;
        transaction.batch = WriteBatchWithIndex::from(batch.clone());
        transaction.batch.seal();
        transaction.state.set(TransactionState::Prepared);
        transaction
    }

    /// Every locked key, with the id of its family, in the order of the keys' bytes: RocksDB's
    /// `GetLockStatusData`.
    pub fn lock_status(&self) -> Vec<(u32, KeyLockInfo)> {
        self.shared.locks.status()
    }

    /// Every locked range, with the id of its family, in the order in which they were locked: RocksDB's
    /// `GetRangeLockStatus`.
    pub fn range_lock_status(&self) -> Vec<(u32, RangeLockInfo)> {
        self.shared.locks.range_status()
    }

    /// The last deadlocks, newest first: RocksDB's `GetDeadlockInfoBuffer`.
    pub fn deadlock_info(&self) -> Vec<DeadlockPath> {
        self.shared.locks.deadlocks()
    }

    /// Sets the number of deadlocks that are kept.
    pub fn set_deadlock_info_buffer_size(&self, max_num_deadlocks: u32) {
        self.shared.locks.set_max_deadlocks(max_num_deadlocks);
    }
}

impl fmt::Debug for TransactionDB {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TransactionDB({})", self.shared.db.path().display())
    }
}

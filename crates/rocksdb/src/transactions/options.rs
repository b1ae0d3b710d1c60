//! Options of transactions.

use crate::option_types::narrow;

/// The options of a transaction of a [`TransactionDB`](crate::TransactionDB).
#[derive(Clone, Debug)]
pub struct TransactionOptions {
    pub(super) skip_prepare: bool,
    pub(super) snapshot: bool,
    pub(super) deadlock_detect: bool,
    pub(super) lock_timeout: i64,
    pub(super) expiration: i64,
    pub(super) deadlock_detect_depth: i64,
    pub(super) max_write_batch_size: usize,
}

impl Default for TransactionOptions {
    fn default() -> TransactionOptions {
        TransactionOptions {
            skip_prepare: true,
            snapshot: false,
            deadlock_detect: false,
            lock_timeout: -1,
            expiration: -1,
            deadlock_detect_depth: 50,
            max_write_batch_size: 0,
        }
    }
}

impl TransactionOptions {
    /// Creates the options with RocksDB's defaults.
    pub fn new() -> TransactionOptions {
        TransactionOptions::default()
    }

    pub(super) fn engine(&self) -> txn::TransactionOptions {
        txn::TransactionOptions {
            set_snapshot: self.snapshot,
            deadlock_detect: self.deadlock_detect,
            deadlock_detect_depth: narrow(self.deadlock_detect_depth),
            lock_timeout: self.lock_timeout,
            expiration: self.expiration,
            max_write_batch_size: self.max_write_batch_size,
            skip_prepare: self.skip_prepare,
            ..txn::TransactionOptions::default()
        }
    }

    /// Allows a commit without a prepare. Default: true.
    pub fn set_skip_prepare(&mut self, skip_prepare: bool) {
        self.skip_prepare = skip_prepare;
    }

    /// Begins with a snapshot. Default: false.
    pub fn set_snapshot(&mut self, snapshot: bool) {
        self.snapshot = snapshot;
    }

    /// Looks for deadlocks before the transaction waits for a lock. Default: false.
    pub fn set_deadlock_detect(&mut self, deadlock_detect: bool) {
        self.deadlock_detect = deadlock_detect;
    }

    /// Sets the milliseconds that the transaction waits for a lock; below 0: the database's. Default: -1.
    pub fn set_lock_timeout(&mut self, lock_timeout: i64) {
        self.lock_timeout = lock_timeout;
    }

    /// Sets the milliseconds after which other transactions may take the locks of the transaction; below 0:
    /// never. Default: -1.
    pub fn set_expiration(&mut self, expiration: i64) {
        self.expiration = expiration;
    }

    /// Sets the maximum number of steps of the search for deadlocks. Default: 50.
    pub fn set_deadlock_detect_depth(&mut self, depth: i64) {
        self.deadlock_detect_depth = depth;
    }

    /// Sets the maximum bytes of the transaction's batch; 0: no limit. Default: 0.
    pub fn set_max_write_batch_size(&mut self, size: usize) {
        self.max_write_batch_size = size;
    }
}

/// The options of a [`TransactionDB`](crate::TransactionDB).
#[derive(Clone, Debug)]
pub struct TransactionDBOptions {
    pub(super) default_lock_timeout: i64,
    pub(super) txn_lock_timeout: i64,
    pub(super) max_num_locks: i64,
    pub(super) num_stripes: usize,
}

impl Default for TransactionDBOptions {
    fn default() -> TransactionDBOptions {
        TransactionDBOptions {
            default_lock_timeout: 1000,
            txn_lock_timeout: 1000,
            max_num_locks: -1,
            num_stripes: 16,
        }
    }
}

impl TransactionDBOptions {
    /// Creates the options with RocksDB's defaults.
    pub fn new() -> TransactionDBOptions {
        TransactionDBOptions::default()
    }

    pub(super) fn engine(&self) -> txn::TransactionDBOptions {
        txn::TransactionDBOptions {
            max_num_locks: self.max_num_locks,
            num_stripes: self.num_stripes.max(1),
            transaction_lock_timeout: self.txn_lock_timeout,
            default_lock_timeout: self.default_lock_timeout,
            ..txn::TransactionDBOptions::default()
        }
    }

    /// Sets the milliseconds that a write outside of transactions waits for a lock. Default: 1000.
    pub fn set_default_lock_timeout(&mut self, default_lock_timeout: i64) {
        self.default_lock_timeout = default_lock_timeout;
    }

    /// Sets the milliseconds that a transaction waits for a lock. Default: 1000.
    pub fn set_txn_lock_timeout(&mut self, txn_lock_timeout: i64) {
        self.txn_lock_timeout = txn_lock_timeout;
    }

    /// Sets the maximum number of locks of a family; -1: no limit. Default: -1.
    pub fn set_max_num_locks(&mut self, max_num_locks: i64) {
        self.max_num_locks = max_num_locks;
    }

    /// Sets the number of stripes of locks. Default: 16.
    pub fn set_num_stripes(&mut self, num_stripes: usize) {
        self.num_stripes = num_stripes;
    }
}

/// The options of a transaction of an [`OptimisticTransactionDB`](crate::OptimisticTransactionDB).
#[derive(Clone, Debug, Default)]
pub struct OptimisticTransactionOptions {
    pub(super) snapshot: bool,
}

impl OptimisticTransactionOptions {
    /// Creates the options with RocksDB's defaults.
    pub fn new() -> OptimisticTransactionOptions {
        OptimisticTransactionOptions::default()
    }

    /// Begins with a snapshot. Default: false.
    pub fn set_snapshot(&mut self, snapshot: bool) {
        self.snapshot = snapshot;
    }
}

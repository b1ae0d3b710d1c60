//! Options of databases with transactions, and of transactions.

use std::time::Duration;

/// The moment at which the rows of a transaction go into memtables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TxnDBWritePolicy {
    /// Rows are written when the transaction is committed.
    #[default]
    WriteCommitted,
    /// Rows are written when the transaction is prepared. Treated as
    /// [`WriteCommitted`](Self::WriteCommitted), with the same results; LOG says so.
    WritePrepared,
    /// Rows are written when the transaction writes them. Treated as
    /// [`WriteCommitted`](Self::WriteCommitted), with the same results; LOG says so.
    WriteUnprepared,
}

/// The guarantees of a transaction about its reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IsolationLevel {
    /// A read returns data that is committed at that moment. Keys that the transaction writes, locks or reads
    /// for update are protected from other transactions, or validated at commit. With a snapshot that is set
    /// and that it reads from, the transaction is isolated by the snapshot. This is the level of RocksDB's
    /// transactions.
    #[default]
    ReadCommitted,
    /// Committed transactions are as if each had run alone, one after the other. The transaction has a
    /// snapshot from its beginning, and reads from it unless
    /// [`ReadOptions::snapshot`](esker::ReadOptions::snapshot) names another. Each key that it reads, found
    /// or not, and each range that its iterators pass is validated when it is committed or prepared: it fails
    /// with `Busy` if another has written there since, and must be rolled back and repeated. A transaction
    /// that writes nothing and has read as of one moment does not fail.
    Serializable,
}

/// Options of a [`TransactionDB`](crate::TransactionDB).
#[derive(Clone, Debug)]
pub struct TransactionDBOptions {
    /// The maximum number of locked keys of one column family; no limit unless above 0. Further locks fail
    /// with `Aborted`. Default: -1.
    pub max_num_locks: i64,
    /// The number of deadlocks that [`deadlock_info`](crate::TransactionDB::deadlock_info) keeps. Default: 5.
    pub max_num_deadlocks: u32,
    /// The number of stripes of a family's locks, each with a mutex. More stripes mean less contention.
    /// Default: 16.
    pub num_stripes: usize,
    /// Milliseconds that a transaction waits for a lock if its own options do not say; 0: it does not wait,
    /// negative: no limit. Default: 1000.
    pub transaction_lock_timeout: i64,
    /// Milliseconds that a write outside of transactions waits for a lock; 0: it does not wait, negative: no
    /// limit. Default: 1000.
    pub default_lock_timeout: i64,
    /// The moment at which rows go into memtables. Default: `WriteCommitted`.
    pub write_policy: TxnDBWritePolicy,
    /// Takes no locks at all, for users who ensure that no two transactions write the same keys. Default:
    /// false.
    pub skip_concurrency_control: bool,
}

impl Default for TransactionDBOptions {
    fn default() -> TransactionDBOptions {
        TransactionDBOptions {
            max_num_locks: -1,
            max_num_deadlocks: 5,
            num_stripes: 16,
            transaction_lock_timeout: 1000,
            default_lock_timeout: 1000,
            write_policy: TxnDBWritePolicy::default(),
            skip_concurrency_control: false,
        }
    }
}

/// Options of a transaction with locks.
#[derive(Clone, Debug)]
pub struct TransactionOptions {
    /// Takes a snapshot at the beginning of the transaction, as
    /// [`set_snapshot`](crate::Transaction::set_snapshot) does. Default: false.
    pub set_snapshot: bool,
    /// Looks for deadlocks before the transaction waits for a lock: a wait that would close a cycle fails
    /// with `Busy`. Costs a look at the graph of waits, under one mutex. Default: false.
    pub deadlock_detect: bool,
    /// The maximum number of transactions that the search for a deadlock visits; beyond it, a deadlock is
    /// assumed. Default: 50.
    pub deadlock_detect_depth: usize,
    /// Milliseconds that the transaction waits for a lock; 0: it does not wait, negative: the database's
    /// [`transaction_lock_timeout`](TransactionDBOptions::transaction_lock_timeout). Default: -1.
    pub lock_timeout: i64,
    /// Milliseconds from the beginning of the transaction after which other transactions may take its locks,
    /// and its commit fails with `Expired`; negative: never. Default: -1.
    pub expiration: i64,
    /// The maximum size of the transaction's batch in bytes; 0 sets no limit. A write beyond it fails with
    /// `Aborted`. Default: 0.
    pub max_write_batch_size: usize,
    /// Allows a commit without a prepare. Default: true.
    pub skip_prepare: bool,
    /// Takes no locks. Default: false.
    pub skip_concurrency_control: bool,
    /// The isolation level, which RocksDB does not have. Default: `ReadCommitted`.
    pub isolation_level: IsolationLevel,
}

impl Default for TransactionOptions {
    fn default() -> TransactionOptions {
        TransactionOptions {
            set_snapshot: false,
            deadlock_detect: false,
            deadlock_detect_depth: 50,
            lock_timeout: -1,
            expiration: -1,
            max_write_batch_size: 0,
            skip_prepare: true,
            skip_concurrency_control: false,
            isolation_level: IsolationLevel::default(),
        }
    }
}

/// Options of an optimistic transaction.
#[derive(Clone, Debug, Default)]
pub struct OptimisticTransactionOptions {
    /// Takes a snapshot at the beginning of the transaction, as
    /// [`set_snapshot`](crate::Transaction::set_snapshot) does. Default: false.
    pub set_snapshot: bool,
    /// The isolation level, which RocksDB does not have. Default: `ReadCommitted`.
    pub isolation_level: IsolationLevel,
}

/// A time limit in milliseconds; negative: none.
pub(crate) fn limit(millis: i64) -> Option<Duration> {
    u64::try_from(millis).ok().map(Duration::from_millis)
}

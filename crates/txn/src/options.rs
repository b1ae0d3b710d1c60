//! Options of databases with transactions, and of transactions.

use std::time::Duration;

/// When the rows of a transaction go into memtables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TxnDBWritePolicy {
    /// When it is committed.
    #[default]
    WriteCommitted,
    /// When it is prepared. Served as [`WriteCommitted`](Self::WriteCommitted), with the same results; LOG says so.
    WritePrepared,
    /// As it is written. Served as [`WriteCommitted`](Self::WriteCommitted), with the same results; LOG says so.
    WriteUnprepared,
}

/// The promises of a transaction about its reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IsolationLevel {
    /// It reads what is committed, when it is read. Keys that it writes, locks or reads for update are kept from others, or looked at when it is committed; with a
    /// snapshot that is set, and that it reads from, it is isolated by it. RocksDB's transactions are so.
    #[default]
    ReadCommitted,
    /// The committed ones are as if each had been alone, one after the other. The transaction has a snapshot from its beginning, and reads from it unless
    /// [`ReadOptions::snapshot`](esker::ReadOptions::snapshot) says otherwise. Each key that it reads, found or not, and each range that its iterators pass
    /// is looked at when it is committed, or prepared: it fails with `Busy` where another has written there since, and is to be rolled back and done again.
    /// One that writes nothing, and has read as of one moment, does not fail.
    Serializable,
}

/// Options of a [`TransactionDB`](crate::TransactionDB).
#[derive(Clone, Debug)]
pub struct TransactionDBOptions {
    /// Keys of one column family that may be locked at a time; no limit unless above 0. Beyond it a lock fails with `Aborted`. Default: -1.
    pub max_num_locks: i64,
    /// Deadlocks that [`deadlock_info`](crate::TransactionDB::deadlock_info) remembers. Default: 5.
    pub max_num_deadlocks: u32,
    /// Parts of a family's locks, each with a mutex. More of them get in each other's way less. Default: 16.
    pub num_stripes: usize,
    /// Milliseconds that a transaction waits for a lock where its own options do not say; 0: it does not wait, negative: as long as it takes.
    /// Default: 1000.
    pub transaction_lock_timeout: i64,
    /// The same of writes outside of transactions. Default: 1000.
    pub default_lock_timeout: i64,
    /// Default: `WriteCommitted`.
    pub write_policy: TxnDBWritePolicy,
    /// Takes no locks at all: for users who see to it that no two transactions write the same keys. Default: false.
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
    /// Takes a snapshot at the beginning, as [`set_snapshot`](crate::Transaction::set_snapshot). Default: false.
    pub set_snapshot: bool,
    /// Looks for deadlocks before it waits for a lock: the one that would close a circle fails with `Busy`. Costs a look at who waits for whom,
    /// under one mutex. Default: false.
    pub deadlock_detect: bool,
    /// Transactions that the search for a deadlock looks at, at most; beyond, one is assumed. Default: 50.
    pub deadlock_detect_depth: usize,
    /// Milliseconds that it waits for a lock; 0: it does not wait, negative: as the database's
    /// [`transaction_lock_timeout`](TransactionDBOptions::transaction_lock_timeout) says. Default: -1.
    pub lock_timeout: i64,
    /// Milliseconds from its beginning after which others may take its locks, and its commit fails with `Expired`; negative: never.
    /// Default: -1.
    pub expiration: i64,
    /// Bytes that its batch may have; 0 sets no limit. Beyond, a write fails with `Aborted`. Default: 0.
    pub max_write_batch_size: usize,
    /// May be committed without having been prepared. Default: true.
    pub skip_prepare: bool,
    /// Takes no locks. Default: false.
    pub skip_concurrency_control: bool,
    /// Beyond RocksDB. Default: `ReadCommitted`.
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
    /// Takes a snapshot at the beginning, as [`set_snapshot`](crate::Transaction::set_snapshot). Default: false.
    pub set_snapshot: bool,
    /// Beyond RocksDB. Default: `ReadCommitted`.
    pub isolation_level: IsolationLevel,
}

/// A limit of time in milliseconds; negative: none.
pub(crate) fn limit(millis: i64) -> Option<Duration> {
    u64::try_from(millis).ok().map(Duration::from_millis)
}

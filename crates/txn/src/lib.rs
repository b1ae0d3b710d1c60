//! RocksDB's transactions over Esker: pessimistic ones with locks ([`TransactionDB`]), optimistic ones that
//! are validated at commit ([`OptimisticTransactionDB`]), and two-phase commit.
//!
//! ```
//! use esker::{Options, WriteOptions};
//! use esker_txn::{TransactionDB, TransactionDBOptions, TransactionOptions};
//!
//! # let dir = tempfile::tempdir().unwrap();
//! # let path = dir.path().join("db");
//! let options = Options { create_if_missing: true, ..Default::default() };
//! let db = TransactionDB::open(&options, &TransactionDBOptions::default(), &path).unwrap();
//!
//! let mut transfer = db.begin_transaction(&WriteOptions::default(), &TransactionOptions::default());
//! assert!(transfer.get_for_update("alice").unwrap().is_none());
//! transfer.put("alice", "70").unwrap();
//! transfer.put("bob", "30").unwrap();
//! assert!(db.db().get("bob").unwrap().is_none());
//! transfer.commit().unwrap();
//! assert_eq!(db.db().get("bob").unwrap().as_deref(), Some(&b"30"[..]));
//! ```
//!
//! Names, options, units, defaults and the texts of errors are RocksDB's, and so are the markers in the WAL:
//! each of the two can continue transactions that the other has prepared. `docs/transactions.md` describes
//! the differences.
#![forbid(unsafe_code)]

mod commit;
mod entities;
mod iterator;
mod key_range;
mod lock;
mod optimistic;
mod options;
mod prepared;
mod ranges;
mod read_locks;
mod read_set;
mod reads;
mod save_points;
mod shared;
mod state;
mod timestamped_snapshot;
mod timestamped_snapshots;
mod tracked_range;
mod tracking;
mod transaction;
mod transaction_db;
mod transaction_waits;
mod writes;

pub use iterator::TransactionIterator;
pub use key_range::KeyRange;
pub use lock::TransactionId;
pub use lock::deadlock::{DeadlockInfo, DeadlockPath};
pub use lock::held_ranges::RangeLockInfo;
pub use lock::manager::KeyLockInfo;
pub use lock::waits::WaitingTransactions;
pub use optimistic::OptimisticTransactionDB;
pub use options::{
    IsolationLevel, OptimisticTransactionOptions, TransactionDBOptions, TransactionOptions, TxnDBWritePolicy,
};
pub use state::TransactionState;
pub use timestamped_snapshot::TimestampedSnapshot;
pub use tracking::Tracking;
pub use transaction::{Transaction, TransactionNotifier};
pub use transaction_db::TransactionDB;
pub use transaction_waits::TransactionWaits;

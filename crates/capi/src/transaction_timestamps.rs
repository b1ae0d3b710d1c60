//! The timestamps of a transaction: stored, with RocksDB's rules. The engine does not read them, because
//! transactions refuse families with timestamps, and no other family uses them in RocksDB either.

use crate::ffi::*;
use crate::transaction::rocksdb_transaction_t;

api!(
    fn rocksdb_transaction_set_commit_timestamp(txn: *mut rocksdb_transaction_t, commit_timestamp: u64) {
        if !(*txn).timestamps.set_commit(commit_timestamp) {
            complain(&format!(
                "rocksdb_transaction_set_commit_timestamp: {commit_timestamp} is not after the read timestamp"
            ));
        }
    }
);

api!(
    fn rocksdb_transaction_set_read_timestamp_for_validation(
        txn: *mut rocksdb_transaction_t,
        read_timestamp: u64,
    ) {
        if !(*txn).timestamps.set_read(read_timestamp) {
            complain(&format!(
                "rocksdb_transaction_set_read_timestamp_for_validation: {read_timestamp} is before the read \
                 timestamp, or not before the commit timestamp"
            ));
        }
    }
);

//! A database in memory, and helpers for tests of transactions.

use std::path::Path;
use std::sync::Arc;

use base::{Result, merge};
use esker::{ColumnFamily, ColumnFamilyOptions, Db, Options, ReadOptions, WriteOptions};
use esker_txn::{
    OptimisticTransactionDB, Transaction, TransactionDB, TransactionDBOptions, TransactionOptions,
};
use vfs::{FileSystem, MemFs};

/// The directory of the database.
pub const DIR: &str = "/db";

/// Options over `fs`, with a merge operator that counts the applications of operands.
pub fn options(fs: &MemFs) -> Options {
    Options {
        create_if_missing: true,
        fs: Arc::new(fs.clone()),
        column_family: ColumnFamilyOptions {
            merge_operator: merge::builtin("StringAppendOperator"),
            disable_auto_compactions: true,
            ..ColumnFamilyOptions::default()
        },
        ..Options::default()
    }
}

pub fn open(fs: &MemFs) -> TransactionDB {
    TransactionDB::open(&options(fs), &no_wait(), DIR).unwrap()
}

pub fn open_optimistic(fs: &MemFs) -> OptimisticTransactionDB {
    OptimisticTransactionDB::open(&options(fs), DIR).unwrap()
}

/// Options with which no transaction waits for a lock.
pub fn no_wait() -> TransactionDBOptions {
    TransactionDBOptions {
        transaction_lock_timeout: 0,
        default_lock_timeout: 0,
        ..TransactionDBOptions::default()
    }
}

pub fn begin(db: &TransactionDB) -> Transaction {
    db.begin_transaction(&WriteOptions::default(), &TransactionOptions::default())
}

/// Begins, as `begin` does, a transaction that survives a loss of power after it is prepared or committed.
pub fn begin_synced(db: &TransactionDB, name: &[u8]) -> Transaction {
    let options = WriteOptions {
        sync: true,
        ..WriteOptions::default()
    };
    let mut transaction = db.begin_transaction(&options, &TransactionOptions::default());
    transaction.set_name(name).unwrap();
    transaction
}

pub fn family(db: &Db) -> ColumnFamily {
    db.default_column_family()
}

/// A key's value as text; `-` for none.
pub fn get(db: &Db, family: &ColumnFamily, key: &[u8]) -> String {
    let value = db.get_cf(family, key).unwrap();
    shown(value.as_deref())
}

pub fn shown(value: Option<&[u8]>) -> String {
    value.map_or("-".to_owned(), |value| value.escape_ascii().to_string())
}

/// A read for update, as text.
pub fn read(transaction: &mut Transaction, family: &ColumnFamily, key: &[u8]) -> String {
    match transaction.get_for_update_cf_opt(family, key, true, true, &ReadOptions::default()) {
        Ok(value) => shown(value.as_deref()),
        Err(error) => error.to_string(),
    }
}

/// The text of a result.
pub fn text(result: Result<()>) -> String {
    result.map_or_else(|error| error.to_string(), |()| "ok".to_owned())
}

pub fn flush(db: &Db) {
    db.flush().unwrap();
}

/// Compacts everything into the last level.
pub fn compact(db: &Db) {
    db.compact_range_cf(&family(db), None, None).unwrap();
}

/// The texts of all info logs of the database, which must be closed or idle.
pub fn info_logs(fs: &MemFs) -> String {
    let dir = Path::new(DIR);
    let mut names = fs.list(dir).unwrap();
    names.retain(|name| name.starts_with("LOG"));
    let texts = names.iter().map(|name| fs.read_file(&dir.join(name)).unwrap());
    texts.map(|text| String::from_utf8(text).unwrap()).collect()
}

/// The number of WALs.
pub fn wals(fs: &MemFs) -> usize {
    let names = fs.list(Path::new(DIR)).unwrap();
    names.iter().filter(|name| name.ends_with(".log")).count()
}

pub const TIMED_OUT: &str = "Operation timed out: Timeout waiting to lock key";
pub const BUSY: &str = "Resource busy: ";

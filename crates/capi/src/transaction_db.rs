//! `rocksdb_transactiondb_t`: a database whose transactions lock the keys that they write.

use std::ffi::{c_char, c_int};

use esker::{Db, Result};
use txn::{TransactionDB, TransactionDBOptions, TransactionOptions, TxnDBWritePolicy};

use crate::batch::rocksdb_writebatch_t;
use crate::checkpoint::{rocksdb_checkpoint_object_create, rocksdb_checkpoint_t};
use crate::column_family::rocksdb_create_column_family;
use crate::db::{Families, Kind, rocksdb_close, rocksdb_t};
use crate::family_handle::{FamilyPtr, rocksdb_column_family_handle_t};
use crate::ffi::*;
use crate::generated::structs::{
    rocksdb_flushoptions_t, rocksdb_flushwaloptions_t, rocksdb_transaction_options_t,
    rocksdb_transactiondb_options_t, rocksdb_writeoptions_t,
};
use crate::iterator::{rocksdb_create_iterator, rocksdb_create_iterator_cf, rocksdb_iterator_t};
use crate::maintain::{
    rocksdb_flush, rocksdb_flush_cf, rocksdb_flush_cfs, rocksdb_flush_wal, rocksdb_flush_wal_with_options,
};
use crate::options::rocksdb_options_t;
use crate::pinned::rocksdb_pinnableslice_t;
use crate::process::OfProcess;
use crate::properties::{rocksdb_property_int, rocksdb_property_value};
use crate::read::{
    rocksdb_get, rocksdb_get_cf, rocksdb_get_pinned, rocksdb_get_pinned_cf, rocksdb_multi_get,
    rocksdb_multi_get_cf,
};
use crate::read_options::{rocksdb_readoptions_t, write_options};
use crate::snapshot::{rocksdb_create_snapshot, rocksdb_release_snapshot, rocksdb_snapshot_t};
use crate::transaction::rocksdb_transaction_t;
use crate::write::{
    rocksdb_delete, rocksdb_delete_cf, rocksdb_merge, rocksdb_merge_cf, rocksdb_put, rocksdb_put_cf,
    rocksdb_write,
};

/// The C object `rocksdb_transactiondb_t`.
pub type rocksdb_transactiondb_t = rocksdb_t;

/// Returns the transactions of a database that was opened for them; for any other database it returns `None`
/// and writes a line to standard error.
///
/// # Safety
/// The database was not closed.
unsafe fn transactions<'a>(db: *mut rocksdb_transactiondb_t, name: &str) -> Option<&'a TransactionDB> {
    match &(*db).kind {
        Kind::Locks(transactions) => Some(transactions),
        _ => {
            complain(&format!("{name}: the database has no transactions with locks"));
            None
        }
    }
}

/// The maximum number of stripes: more would reduce no contention, and cost memory for each family.
const MOST_STRIPES: usize = 1 << 16;

/// Returns the options of a database with transactions.
///
/// # Safety
/// `options` is NULL or an object of this kind.
unsafe fn transactiondb_options(options: *const rocksdb_transactiondb_options_t) -> TransactionDBOptions {
    let Some(options) = options.as_ref() else {
        return TransactionDBOptions::default();
    };
    let fields = &options.fields;
    TransactionDBOptions {
        max_num_locks: fields.max_num_locks,
        max_num_deadlocks: fields.max_num_deadlocks,
        num_stripes: fields.num_stripes.clamp(1, MOST_STRIPES),
        transaction_lock_timeout: fields.transaction_lock_timeout,
        default_lock_timeout: fields.default_lock_timeout,
        write_policy: match fields.write_policy {
            1 => TxnDBWritePolicy::WritePrepared,
            2 => TxnDBWritePolicy::WriteUnprepared,
            _ => TxnDBWritePolicy::WriteCommitted,
        },
        skip_concurrency_control: fields.skip_concurrency_control != 0,
    }
}

/// Returns the options of a transaction.
///
/// # Safety
/// `options` is NULL or an object of this kind.
unsafe fn transaction_options(options: *const rocksdb_transaction_options_t) -> TransactionOptions {
    let Some(options) = options.as_ref() else {
        return TransactionOptions::default();
    };
    let fields = &options.fields;
    TransactionOptions {
        set_snapshot: fields.set_snapshot != 0,
        deadlock_detect: fields.deadlock_detect != 0,
        deadlock_detect_depth: usize::try_from(fields.deadlock_detect_depth).unwrap_or(0),
        lock_timeout: fields.lock_timeout,
        expiration: fields.expiration,
        max_write_batch_size: fields.max_write_batch_size,
        skip_prepare: fields.skip_prepare != 0,
        skip_concurrency_control: fields.skip_concurrency_control != 0,
        ..TransactionOptions::default()
    }
}

/// Returns the transactions of a database that was opened for transactions.
unsafe fn over(
    base: *mut rocksdb_t,
    options: *const rocksdb_transactiondb_options_t,
) -> Result<*mut rocksdb_transactiondb_t> {
    match TransactionDB::wrap(Db::clone(&(*base).db), &transactiondb_options(options)) {
        Ok(transactions) => {
            (*base).kind = Kind::Locks(OfProcess::new(transactions));
            Ok(base)
        }
        Err(error) => {
            rocksdb_close(base);
            Err(error)
        }
    }
}

api!(
    fn rocksdb_transactiondb_open(
        options: *const rocksdb_options_t,
        transaction_options: *const rocksdb_transactiondb_options_t,
        name: *const c_char,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_transactiondb_t {
        fallible(errptr, || {
            let base = rocksdb_t::open(options, name, |whole| whole.allow_2pc = true)?;
            over(base, transaction_options)
        })
    }
);

api!(
    fn rocksdb_transactiondb_open_column_families(
        options: *const rocksdb_options_t,
        transaction_options: *const rocksdb_transactiondb_options_t,
        name: *const c_char,
        count: c_int,
        names: *const *const c_char,
        family_options: *const *const rocksdb_options_t,
        handles: *mut *mut rocksdb_column_family_handle_t,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_transactiondb_t {
        let families = Families::new(count, names, family_options, handles);
        fallible(errptr, || {
            let base = rocksdb_t::open_families(options, name, &families, |whole| whole.allow_2pc = true)?;
            over(base, transaction_options)
        })
    }
);

api!(
    fn rocksdb_transactiondb_close(db: *mut rocksdb_transactiondb_t) {
        rocksdb_close(db);
    }
);

api!(
    fn rocksdb_transactiondb_get_base_db(db: *mut rocksdb_transactiondb_t) -> *mut rocksdb_t {
        (*db).another()
    }
);

api!(
    fn rocksdb_transactiondb_close_base_db(base: *mut rocksdb_t) {
        free_box(base)
    }
);

api!(
    fn rocksdb_transactiondb_create_column_family(
        db: *mut rocksdb_transactiondb_t,
        options: *const rocksdb_options_t,
        name: *const c_char,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_column_family_handle_t {
        rocksdb_create_column_family(db, options, name, errptr)
    }
);

api!(
    fn rocksdb_transaction_begin(
        db: *mut rocksdb_transactiondb_t,
        writes: *const rocksdb_writeoptions_t,
        options: *const rocksdb_transaction_options_t,
        old: *mut rocksdb_transaction_t,
    ) -> *mut rocksdb_transaction_t {
        let options = transaction_options(options);
        let Some(transactions) = transactions(db, "rocksdb_transaction_begin") else {
            return std::ptr::null_mut();
        };
        let begun = transactions.begin_transaction(&write_options(writes), &options);
        rocksdb_transaction_t::begun(begun, &*db, old)
    }
);

api!(
    fn rocksdb_transactiondb_get_prepared_transactions(
        db: *mut rocksdb_transactiondb_t,
        count: *mut usize,
    ) -> *mut *mut rocksdb_transaction_t {
        let prepared = transactions(db, "rocksdb_transactiondb_get_prepared_transactions")
            .map_or_else(Vec::new, TransactionDB::get_all_prepared_transactions);
        put_out(count, prepared.len());
        if prepared.is_empty() {
            return std::ptr::null_mut();
        }
        // The caller passes the array to rocksdb_free.
        let list: *mut *mut rocksdb_transaction_t = libc::malloc(size_of::<usize>() * prepared.len()).cast();
        if list.is_null() {
            put_out(count, 0);
            return list;
        }
        for (at, transaction) in prepared.into_iter().enumerate() {
            *list.add(at) = rocksdb_transaction_t::begun(transaction, &*db, std::ptr::null_mut());
        }
        list
    }
);

/// Defines functions of a database with transactions that call the functions of any database. Writes take
/// locks if the database has transactions with locks.
macro_rules! functions_of_any {
    ($(fn $name:ident($($arg:ident: $type:ty),*) $(-> $ret:ty)? => $base:ident;)+) => { $(
        api!(fn $name(db: *mut rocksdb_transactiondb_t, $($arg: $type),*) $(-> $ret)? {
            $base(db, $($arg),*)
        });
    )+ };
}

type Reads = *const rocksdb_readoptions_t;
type Writes = *const rocksdb_writeoptions_t;
type Key = *const c_char;
type Error = *mut *mut c_char;

functions_of_any! {
    fn rocksdb_transactiondb_put(o: Writes, k: Key, n: usize, v: Key, vn: usize, e: Error) => rocksdb_put;
    fn rocksdb_transactiondb_put_cf(o: Writes, cf: FamilyPtr, k: Key, n: usize, v: Key, vn: usize, e: Error)
        => rocksdb_put_cf;
    fn rocksdb_transactiondb_merge(o: Writes, k: Key, n: usize, v: Key, vn: usize, e: Error) => rocksdb_merge;
    fn rocksdb_transactiondb_merge_cf(o: Writes, cf: FamilyPtr, k: Key, n: usize, v: Key, vn: usize, e: Error)
        => rocksdb_merge_cf;
    fn rocksdb_transactiondb_delete(o: Writes, k: Key, n: usize, e: Error) => rocksdb_delete;
    fn rocksdb_transactiondb_delete_cf(o: Writes, cf: FamilyPtr, k: Key, n: usize, e: Error) => rocksdb_delete_cf;
    fn rocksdb_transactiondb_write(o: Writes, batch: *mut rocksdb_writebatch_t, e: Error) => rocksdb_write;
    fn rocksdb_transactiondb_get(o: Reads, k: Key, n: usize, length: *mut usize, e: Error) -> *mut c_char
        => rocksdb_get;
    fn rocksdb_transactiondb_get_cf(o: Reads, cf: FamilyPtr, k: Key, n: usize, length: *mut usize, e: Error) -> *mut c_char
        => rocksdb_get_cf;
    fn rocksdb_transactiondb_get_pinned(o: Reads, k: Key, n: usize, e: Error) -> *mut rocksdb_pinnableslice_t
        => rocksdb_get_pinned;
    fn rocksdb_transactiondb_get_pinned_cf(o: Reads, cf: FamilyPtr, k: Key, n: usize, e: Error) -> *mut rocksdb_pinnableslice_t
        => rocksdb_get_pinned_cf;
    fn rocksdb_transactiondb_multi_get(
        o: Reads, count: usize, k: *const Key, n: *const usize, values: *mut *mut c_char, lengths: *mut usize, e: Error
    ) => rocksdb_multi_get;
    fn rocksdb_transactiondb_multi_get_cf(
        o: Reads, families: *const FamilyPtr, count: usize, k: *const Key, n: *const usize,
        values: *mut *mut c_char, lengths: *mut usize, e: Error
    ) => rocksdb_multi_get_cf;
    fn rocksdb_transactiondb_create_iterator(o: Reads) -> *mut rocksdb_iterator_t => rocksdb_create_iterator;
    fn rocksdb_transactiondb_create_iterator_cf(o: Reads, cf: FamilyPtr) -> *mut rocksdb_iterator_t
        => rocksdb_create_iterator_cf;
    fn rocksdb_transactiondb_create_snapshot() -> *const rocksdb_snapshot_t => rocksdb_create_snapshot;
    fn rocksdb_transactiondb_release_snapshot(snapshot: *const rocksdb_snapshot_t) => rocksdb_release_snapshot;
    fn rocksdb_transactiondb_property_value(name: Key) -> *mut c_char => rocksdb_property_value;
    fn rocksdb_transactiondb_property_int(name: Key, out: *mut u64) -> c_int => rocksdb_property_int;
    fn rocksdb_transactiondb_flush(o: *const rocksdb_flushoptions_t, e: Error) => rocksdb_flush;
    fn rocksdb_transactiondb_flush_cf(o: *const rocksdb_flushoptions_t, cf: FamilyPtr, e: Error) => rocksdb_flush_cf;
    fn rocksdb_transactiondb_flush_cfs(
        o: *const rocksdb_flushoptions_t, families: *mut FamilyPtr, count: c_int, e: Error
    ) => rocksdb_flush_cfs;
    fn rocksdb_transactiondb_flush_wal(sync: u8, e: Error) => rocksdb_flush_wal;
    fn rocksdb_transactiondb_flush_wal_with_options(o: *const rocksdb_flushwaloptions_t, e: Error)
        => rocksdb_flush_wal_with_options;
    fn rocksdb_transactiondb_checkpoint_object_create(e: Error) -> *mut rocksdb_checkpoint_t
        => rocksdb_checkpoint_object_create;
}

//! `rocksdb_optimistictransactiondb_t`: a database whose transactions take no locks.

use std::ffi::{c_char, c_int};

use esker::Db;
use txn::{OptimisticTransactionDB, OptimisticTransactionOptions};

use crate::batch::rocksdb_writebatch_t;
use crate::checkpoint::{rocksdb_checkpoint_object_create, rocksdb_checkpoint_t};
use crate::db::{Families, Kind, rocksdb_close, rocksdb_t};
use crate::family_handle::rocksdb_column_family_handle_t;
use crate::ffi::*;
use crate::generated::structs::{
    rocksdb_optimistictransaction_options_t, rocksdb_optimistictransactiondb_options_t,
    rocksdb_writeoptions_t,
};
use crate::options::rocksdb_options_t;
use crate::process::OfProcess;
use crate::properties::{rocksdb_property_int, rocksdb_property_value};
use crate::read_options::write_options;
use crate::transaction::rocksdb_transaction_t;
use crate::write::rocksdb_write;

/// The C object `rocksdb_optimistictransactiondb_t`.
pub type rocksdb_optimistictransactiondb_t = rocksdb_t;

unsafe fn over(base: *mut rocksdb_t) -> *mut rocksdb_optimistictransactiondb_t {
    let transactions = OptimisticTransactionDB::wrap(Db::clone(&(*base).db));
    (*base).kind = Kind::Validation(OfProcess::new(transactions));
    base
}

api!(
    fn rocksdb_optimistictransactiondb_open(
        options: *const rocksdb_options_t,
        name: *const c_char,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_optimistictransactiondb_t {
        fallible(errptr, || Ok(over(rocksdb_t::open(options, name, |_| {})?)))
    }
);

// Commits are validated in one way: under the lock of the write queue, without lock buckets.
api!(
    fn rocksdb_optimistictransactiondb_open_with_otxn_db_options(
        options: *const rocksdb_options_t,
        _transaction_options: *const rocksdb_optimistictransactiondb_options_t,
        name: *const c_char,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_optimistictransactiondb_t {
        rocksdb_optimistictransactiondb_open(options, name, errptr)
    }
);

api!(
    fn rocksdb_optimistictransactiondb_open_column_families(
        options: *const rocksdb_options_t,
        name: *const c_char,
        count: c_int,
        names: *const *const c_char,
        family_options: *const *const rocksdb_options_t,
        handles: *mut *mut rocksdb_column_family_handle_t,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_optimistictransactiondb_t {
        let families = Families::new(count, names, family_options, handles);
        fallible(errptr, || {
            Ok(over(rocksdb_t::open_families(options, name, &families, |_| {})?))
        })
    }
);

api!(
    fn rocksdb_optimistictransactiondb_open_column_families_with_otxn_db_options(
        options: *const rocksdb_options_t,
        _transaction_options: *const rocksdb_optimistictransactiondb_options_t,
        name: *const c_char,
        count: c_int,
        names: *const *const c_char,
        family_options: *const *const rocksdb_options_t,
        handles: *mut *mut rocksdb_column_family_handle_t,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_optimistictransactiondb_t {
        rocksdb_optimistictransactiondb_open_column_families(
            options,
            name,
            count,
            names,
            family_options,
            handles,
            errptr,
        )
    }
);

api!(
    fn rocksdb_optimistictransactiondb_close(db: *mut rocksdb_optimistictransactiondb_t) {
        rocksdb_close(db);
    }
);

api!(
    fn rocksdb_optimistictransactiondb_get_base_db(
        db: *mut rocksdb_optimistictransactiondb_t,
    ) -> *mut rocksdb_t {
        (*db).another()
    }
);

api!(
    fn rocksdb_optimistictransactiondb_close_base_db(base: *mut rocksdb_t) {
        free_box(base)
    }
);

api!(
    fn rocksdb_optimistictransaction_begin(
        db: *mut rocksdb_optimistictransactiondb_t,
        writes: *const rocksdb_writeoptions_t,
        options: *const rocksdb_optimistictransaction_options_t,
        old: *mut rocksdb_transaction_t,
    ) -> *mut rocksdb_transaction_t {
        let Kind::Validation(transactions) = &(*db).kind else {
            complain("rocksdb_optimistictransaction_begin: the database has no optimistic transactions");
            return std::ptr::null_mut();
        };
        let options = OptimisticTransactionOptions {
            set_snapshot: options
                .as_ref()
                .is_some_and(|options| options.fields.set_snapshot != 0),
            ..OptimisticTransactionOptions::default()
        };
        let begun = transactions.begin_transaction(&write_options(writes), &options);
        rocksdb_transaction_t::begun(begun, &*db, old)
    }
);

api!(
    fn rocksdb_optimistictransactiondb_write(
        db: *mut rocksdb_optimistictransactiondb_t,
        options: *const rocksdb_writeoptions_t,
        batch: *mut rocksdb_writebatch_t,
        errptr: *mut *mut c_char,
    ) {
        rocksdb_write(db, options, batch, errptr)
    }
);

api!(
    fn rocksdb_optimistictransactiondb_checkpoint_object_create(
        db: *mut rocksdb_optimistictransactiondb_t,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_checkpoint_t {
        rocksdb_checkpoint_object_create(db, errptr)
    }
);

api!(
    fn rocksdb_optimistictransactiondb_property_value(
        db: *mut rocksdb_optimistictransactiondb_t,
        name: *const c_char,
    ) -> *mut c_char {
        rocksdb_property_value(db, name)
    }
);

api!(
    fn rocksdb_optimistictransactiondb_property_int(
        db: *mut rocksdb_optimistictransactiondb_t,
        name: *const c_char,
        out: *mut u64,
    ) -> c_int {
        rocksdb_property_int(db, name, out)
    }
);

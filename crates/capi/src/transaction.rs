//! `rocksdb_transaction_t`: the reads and writes of one transaction, with locks or optimistic.

use std::ffi::c_char;
use std::sync::Arc;

use esker::{ColumnFamily, Db, PinnedValue, ReadOptions, Result, Snapshot};
use txn::Transaction;

use crate::batch::rocksdb_writebatch_t;
use crate::batch_index::rocksdb_writebatch_wi_t;
use crate::db::rocksdb_t;
use crate::family_handle::{FamilyPtr, family};
use crate::ffi::*;
use crate::iterator::rocksdb_iterator_t;
use crate::pinned::{boxed_pinned, rocksdb_pinnableslice_t};
use crate::process::OfProcess;
use crate::read::give;
use crate::read_options::rocksdb_readoptions_t;
use crate::snapshot::rocksdb_snapshot_t;

/// The C object `rocksdb_transaction_t`.
pub struct rocksdb_transaction_t {
    txn: OfProcess<Transaction>,
    db: Db,
    /// The family of functions without `_cf`.
    default: ColumnFamily,
    /// Snapshots for which the caller has objects. Each is kept until the transaction is destroyed, even if
    /// the transaction drops it.
    lent: Vec<Arc<Snapshot>>,
    pub timestamps: TransactionTimestamps,
}

/// The timestamps of a transaction.
#[derive(Default)]
pub struct TransactionTimestamps {
    commit: Option<u64>,
    /// The timestamp of the transaction's reads, by which its keys would be validated.
    read: Option<u64>,
}

impl TransactionTimestamps {
    /// Sets the timestamp of the commit. Returns false if it is not after the timestamp of the reads.
    pub fn set_commit(&mut self, time: u64) -> bool {
        let is_after = self.read.is_none_or(|read| time > read);
        if is_after {
            self.commit = Some(time);
        }
        is_after
    }

    /// Sets the timestamp of the reads. Returns false if it is before the current one, or not before the
    /// timestamp of the commit.
    pub fn set_read(&mut self, time: u64) -> bool {
        let fits =
            self.read.is_none_or(|read| time >= read) && self.commit.is_none_or(|commit| time < commit);
        if fits {
            self.read = Some(time);
        }
        fits
    }
}

type ReadOptionsPtr = *const rocksdb_readoptions_t;

impl rocksdb_transaction_t {
    /// Creates a transaction for the caller: in `old`, which has ended, or in a new object if that is NULL.
    ///
    /// # Safety
    /// `old` is NULL or was not destroyed.
    pub unsafe fn begun(
        txn: Transaction,
        base: &rocksdb_t,
        old: *mut rocksdb_transaction_t,
    ) -> *mut rocksdb_transaction_t {
        let Some(there) = old.as_mut() else {
            return boxed(rocksdb_transaction_t {
                txn: OfProcess::new(txn),
                db: base.db.clone(),
                default: base.default.clone(),
                lent: Vec::new(),
                timestamps: TransactionTimestamps::default(),
            });
        };
        there.txn = OfProcess::new(txn);
        there.db = base.db.clone();
        there.default = base.default.clone();
        there.timestamps = TransactionTimestamps::default();
        old
    }

    fn lend_snapshot(&mut self) -> *const rocksdb_snapshot_t {
        let Some(snapshot) = self.txn.snapshot() else {
            return rocksdb_snapshot_t::lent(None);
        };
        let is_newest = |last: &Arc<Snapshot>| last.sequence_number() == snapshot.sequence_number();
        if !self.lent.last().is_some_and(is_newest) {
            self.lent.push(Arc::new(snapshot.clone()));
        }
        rocksdb_snapshot_t::lent(self.lent.last().map(|last| &**last))
    }
}

/// Reads a key, after locking it if `exclusive` is set.
unsafe fn read(
    txn: *mut rocksdb_transaction_t,
    options: ReadOptionsPtr,
    cf: FamilyPtr,
    key: &[u8],
    exclusive: Option<bool>,
) -> Result<Option<PinnedValue>> {
    let object = &mut *txn;
    let options = rocksdb_readoptions_t::of(options);
    let family = family(cf).unwrap_or(&object.default);
    match exclusive {
        Some(exclusive) => object
            .txn
            .get_for_update_cf_opt(family, key, exclusive, true, &options),
        None => object.txn.get_cf_opt(family, key, &options),
    }
}

unsafe fn copied_value(
    length: *mut usize,
    errptr: *mut *mut c_char,
    value: impl FnOnce() -> Result<Option<PinnedValue>>,
) -> *mut c_char {
    put_out(length, 0);
    fallible(errptr, || {
        Ok(value()?.map_or(std::ptr::null_mut(), |value| copied(&value, length)))
    })
}

unsafe fn pinned_value(
    errptr: *mut *mut c_char,
    value: impl FnOnce() -> Result<Option<PinnedValue>>,
) -> *mut rocksdb_pinnableslice_t {
    fallible(errptr, || Ok(boxed_pinned(value()?, rocksdb_pinnableslice_t)))
}

/// Defines functions that read one key, by the form of the value, and by whether they lock it.
macro_rules! read_functions {
    ($(fn $name:ident => $shape:ident;)+) => {
        $( read_functions!(@$shape $name); )+
    };
    (@copied $name:ident) => {
        api!(fn $name(
            txn: *mut rocksdb_transaction_t, options: ReadOptionsPtr,
            k: *const c_char, klen: usize, length: *mut usize, errptr: *mut *mut c_char,
        ) -> *mut c_char {
            copied_value(length, errptr, || read(txn, options, std::ptr::null_mut(), bytes(k, klen), None))
        });
    };
    (@copied_cf $name:ident) => {
        api!(fn $name(
            txn: *mut rocksdb_transaction_t, options: ReadOptionsPtr, cf: FamilyPtr,
            k: *const c_char, klen: usize, length: *mut usize, errptr: *mut *mut c_char,
        ) -> *mut c_char {
            copied_value(length, errptr, || read(txn, options, cf, bytes(k, klen), None))
        });
    };
    (@copied_for_update $name:ident) => {
        api!(fn $name(
            txn: *mut rocksdb_transaction_t, options: ReadOptionsPtr,
            k: *const c_char, klen: usize, length: *mut usize, exclusive: u8, errptr: *mut *mut c_char,
        ) -> *mut c_char {
            copied_value(length, errptr, || {
                read(txn, options, std::ptr::null_mut(), bytes(k, klen), Some(exclusive != 0))
            })
        });
    };
    (@copied_for_update_cf $name:ident) => {
        api!(fn $name(
            txn: *mut rocksdb_transaction_t, options: ReadOptionsPtr, cf: FamilyPtr,
            k: *const c_char, klen: usize, length: *mut usize, exclusive: u8, errptr: *mut *mut c_char,
        ) -> *mut c_char {
            copied_value(length, errptr, || read(txn, options, cf, bytes(k, klen), Some(exclusive != 0)))
        });
    };
    (@pinned $name:ident) => {
        api!(fn $name(
            txn: *mut rocksdb_transaction_t, options: ReadOptionsPtr,
            k: *const c_char, klen: usize, errptr: *mut *mut c_char,
        ) -> *mut rocksdb_pinnableslice_t {
            pinned_value(errptr, || read(txn, options, std::ptr::null_mut(), bytes(k, klen), None))
        });
    };
    (@pinned_cf $name:ident) => {
        api!(fn $name(
            txn: *mut rocksdb_transaction_t, options: ReadOptionsPtr, cf: FamilyPtr,
            k: *const c_char, klen: usize, errptr: *mut *mut c_char,
        ) -> *mut rocksdb_pinnableslice_t {
            pinned_value(errptr, || read(txn, options, cf, bytes(k, klen), None))
        });
    };
    (@pinned_for_update $name:ident) => {
        api!(fn $name(
            txn: *mut rocksdb_transaction_t, options: ReadOptionsPtr,
            k: *const c_char, klen: usize, exclusive: u8, errptr: *mut *mut c_char,
        ) -> *mut rocksdb_pinnableslice_t {
            pinned_value(errptr, || {
                read(txn, options, std::ptr::null_mut(), bytes(k, klen), Some(exclusive != 0))
            })
        });
    };
    (@pinned_for_update_cf $name:ident) => {
        api!(fn $name(
            txn: *mut rocksdb_transaction_t, options: ReadOptionsPtr, cf: FamilyPtr,
            k: *const c_char, klen: usize, exclusive: u8, errptr: *mut *mut c_char,
        ) -> *mut rocksdb_pinnableslice_t {
            pinned_value(errptr, || read(txn, options, cf, bytes(k, klen), Some(exclusive != 0)))
        });
    };
}

read_functions! {
    fn rocksdb_transaction_get => copied;
    fn rocksdb_transaction_get_cf => copied_cf;
    fn rocksdb_transaction_get_for_update => copied_for_update;
    fn rocksdb_transaction_get_for_update_cf => copied_for_update_cf;
    fn rocksdb_transaction_get_pinned => pinned;
    fn rocksdb_transaction_get_pinned_cf => pinned_cf;
    fn rocksdb_transaction_get_pinned_for_update => pinned_for_update;
    fn rocksdb_transaction_get_pinned_for_update_cf => pinned_for_update_cf;
}

/// The arrays for the results of several keys.
struct Results {
    values: *mut *mut c_char,
    lengths: *mut usize,
    errors: *mut *mut c_char,
}

/// Reads keys of `families`, or of the default one if that is NULL, after locking them with `for_update`.
unsafe fn read_many<'a>(
    txn: *mut rocksdb_transaction_t,
    options: ReadOptionsPtr,
    families: *const FamilyPtr,
    count: usize,
    keys: impl FnOnce() -> Vec<&'a [u8]>,
    for_update: bool,
    results: &Results,
) {
    let keys = match attempt(|| Ok(keys())) {
        Ok(keys) => keys,
        Err(error) => {
            // If no array can have `count` elements, the array for errors does not exist either, and no error
            // is written.
            let places = count * usize::from(count <= isize::MAX as usize / size_of::<usize>());
            for at in 0..places {
                let (values, lengths, errors) = (results.values, results.lengths, results.errors);
                give(at, Err(error.clone()), values, lengths, errors);
            }
            return;
        }
    };
    let object = &mut *txn;
    let options: ReadOptions = rocksdb_readoptions_t::of(options);
    let families = array(families, keys.len());
    let of = |at: usize| family(families.get(at).copied().unwrap_or(std::ptr::null_mut()));
    let pairs: Vec<(&ColumnFamily, &[u8])> = keys
        .into_iter()
        .enumerate()
        .map(|(at, key)| (of(at).unwrap_or(&object.default), key))
        .collect();
    let read = match for_update {
        true => object.txn.multi_get_for_update_cf_opt(&pairs, &options),
        false => object.txn.multi_get_cf_opt(&pairs, &options),
    };
    for (at, result) in read.into_iter().enumerate() {
        give(at, result, results.values, results.lengths, results.errors);
    }
}

/// Defines functions that read several keys, by whether they have families and whether they lock.
macro_rules! read_many_functions {
    ($(fn $name:ident => $shape:ident $for_update:literal;)+) => {
        $( read_many_functions!(@$shape $name, $for_update); )+
    };
    (@plain $name:ident, $for_update:literal) => {
        api!(fn $name(
            txn: *mut rocksdb_transaction_t, options: ReadOptionsPtr,
            count: usize, k: *const *const c_char, klen: *const usize,
            values: *mut *mut c_char, lengths: *mut usize, errors: *mut *mut c_char,
        ) {
            let results = Results { values, lengths, errors };
            let keys = || buffers(k, klen, count);
            read_many(txn, options, std::ptr::null(), count, keys, $for_update, &results);
        });
    };
    (@cf $name:ident, $for_update:literal) => {
        api!(fn $name(
            txn: *mut rocksdb_transaction_t, options: ReadOptionsPtr, families: *const FamilyPtr,
            count: usize, k: *const *const c_char, klen: *const usize,
            values: *mut *mut c_char, lengths: *mut usize, errors: *mut *mut c_char,
        ) {
            let results = Results { values, lengths, errors };
            let keys = || buffers(k, klen, count);
            read_many(txn, options, families, count, keys, $for_update, &results);
        });
    };
}

read_many_functions! {
    fn rocksdb_transaction_multi_get => plain false;
    fn rocksdb_transaction_multi_get_cf => cf false;
    fn rocksdb_transaction_multi_get_for_update => plain true;
    fn rocksdb_transaction_multi_get_for_update_cf => cf true;
}

/// Defines functions that write one row, by their arguments.
macro_rules! write_functions {
    ($(fn $name:ident => $shape:ident $method:ident;)+) => {
        $( write_functions!(@$shape $name, $method); )+
    };
    (@pair $name:ident, $method:ident) => {
        api!(fn $name(
            txn: *mut rocksdb_transaction_t,
            k: *const c_char, klen: usize, v: *const c_char, vlen: usize, errptr: *mut *mut c_char,
        ) {
            fallible(errptr, || {
                let object = &mut *txn;
                object.txn.$method(&object.default, bytes(k, klen), bytes(v, vlen))
            })
        });
    };
    (@pair_cf $name:ident, $method:ident) => {
        api!(fn $name(
            txn: *mut rocksdb_transaction_t, cf: FamilyPtr,
            k: *const c_char, klen: usize, v: *const c_char, vlen: usize, errptr: *mut *mut c_char,
        ) {
            fallible(errptr, || {
                let object = &mut *txn;
                object.txn.$method(family(cf).unwrap_or(&object.default), bytes(k, klen), bytes(v, vlen))
            })
        });
    };
    (@key $name:ident, $method:ident) => {
        api!(fn $name(
            txn: *mut rocksdb_transaction_t, k: *const c_char, klen: usize, errptr: *mut *mut c_char,
        ) {
            fallible(errptr, || {
                let object = &mut *txn;
                object.txn.$method(&object.default, bytes(k, klen))
            })
        });
    };
    (@key_cf $name:ident, $method:ident) => {
        api!(fn $name(
            txn: *mut rocksdb_transaction_t, cf: FamilyPtr, k: *const c_char, klen: usize, errptr: *mut *mut c_char,
        ) {
            fallible(errptr, || {
                let object = &mut *txn;
                object.txn.$method(family(cf).unwrap_or(&object.default), bytes(k, klen))
            })
        });
    };
}

write_functions! {
    fn rocksdb_transaction_put => pair put_cf;
    fn rocksdb_transaction_put_cf => pair_cf put_cf;
    fn rocksdb_transaction_merge => pair merge_cf;
    fn rocksdb_transaction_merge_cf => pair_cf merge_cf;
    fn rocksdb_transaction_delete => key delete_cf;
    fn rocksdb_transaction_delete_cf => key_cf delete_cf;
}

api!(
    fn rocksdb_transaction_put_log_data(txn: *mut rocksdb_transaction_t, blob: *const c_char, length: usize) {
        (*txn).txn.put_log_data(bytes(blob, length));
    }
);

api!(
    fn rocksdb_transaction_set_name(
        txn: *mut rocksdb_transaction_t,
        name: *const c_char,
        length: usize,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || (*txn).txn.set_name(bytes(name, length)))
    }
);

api!(
    fn rocksdb_transaction_get_name(txn: *mut rocksdb_transaction_t, length: *mut usize) -> *mut c_char {
        copied((&(*txn).txn).name(), length)
    }
);

api!(
    fn rocksdb_transaction_prepare(txn: *mut rocksdb_transaction_t, errptr: *mut *mut c_char) {
        fallible(errptr, || (*txn).txn.prepare())
    }
);

api!(
    fn rocksdb_transaction_commit(txn: *mut rocksdb_transaction_t, errptr: *mut *mut c_char) {
        fallible(errptr, || (*txn).txn.commit())
    }
);

api!(
    fn rocksdb_transaction_rollback(txn: *mut rocksdb_transaction_t, errptr: *mut *mut c_char) {
        fallible(errptr, || (*txn).txn.rollback())
    }
);

api!(
    fn rocksdb_transaction_set_savepoint(txn: *mut rocksdb_transaction_t) {
        (*txn).txn.set_save_point();
    }
);

api!(
    fn rocksdb_transaction_rollback_to_savepoint(txn: *mut rocksdb_transaction_t, errptr: *mut *mut c_char) {
        fallible(errptr, || (*txn).txn.rollback_to_save_point())
    }
);

api!(
    fn rocksdb_transaction_destroy(txn: *mut rocksdb_transaction_t) {
        match txn.as_ref() {
            Some(object) if !object.txn.is_own() => std::mem::forget(taken(txn)),
            _ => free_box(txn),
        }
    }
);

api!(
    fn rocksdb_transaction_get_snapshot(txn: *mut rocksdb_transaction_t) -> *const rocksdb_snapshot_t {
        (*txn).lend_snapshot()
    }
);

api!(
    fn rocksdb_transaction_get_writebatch_wi(
        txn: *mut rocksdb_transaction_t,
    ) -> *mut rocksdb_writebatch_wi_t {
        rocksdb_writebatch_wi_t::lent((*txn).txn.indexed_batch())
    }
);

api!(
    fn rocksdb_transaction_rebuild_from_writebatch(
        txn: *mut rocksdb_transaction_t,
        batch: *mut rocksdb_writebatch_t,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || (*txn).txn.rebuild_from_write_batch(&(*batch).whole()?))
    }
);

api!(
    fn rocksdb_transaction_rebuild_from_writebatch_wi(
        txn: *mut rocksdb_transaction_t,
        batch: *mut rocksdb_writebatch_wi_t,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            // The batch may be the transaction's own.
            let batch = (*batch).whole()?.write_batch().clone();
            (*txn).txn.rebuild_from_write_batch(&batch)
        })
    }
);

unsafe fn iterator(
    txn: *mut rocksdb_transaction_t,
    options: ReadOptionsPtr,
    cf: FamilyPtr,
) -> *mut rocksdb_iterator_t {
    let object = &*txn;
    boxed(rocksdb_iterator_t::over_transaction(
        &object.txn,
        &object.db,
        family(cf).unwrap_or(&object.default),
        rocksdb_readoptions_t::of(options),
    ))
}

api!(
    fn rocksdb_transaction_create_iterator(
        txn: *mut rocksdb_transaction_t,
        options: ReadOptionsPtr,
    ) -> *mut rocksdb_iterator_t {
        iterator(txn, options, std::ptr::null_mut())
    }
);

api!(
    fn rocksdb_transaction_create_iterator_cf(
        txn: *mut rocksdb_transaction_t,
        options: ReadOptionsPtr,
        cf: FamilyPtr,
    ) -> *mut rocksdb_iterator_t {
        iterator(txn, options, cf)
    }
);

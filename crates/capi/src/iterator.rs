//! `rocksdb_iterator_t`.

use std::ffi::c_char;

use esker::{ColumnFamily, Db, DbIterator, Error, ReadOptions, Result, WriteBatchWithIndex};
use txn::Transaction;

use crate::batch::{FamilyPtr, family};
use crate::db::rocksdb_t;
use crate::ffi::*;
use crate::read_options::rocksdb_readoptions_t;

/// `rocksdb_iterator_t`.
pub struct rocksdb_iterator_t {
    iter: DbIterator,
    db: Db,
    family: ColumnFamily,
    options: ReadOptions,
    /// The error that prevented the creation of the iterator: it is invalid, and this is its status.
    error: Option<Error>,
}

/// `rocksdb_slice_t`, returned by value.
#[repr(C)]
pub struct rocksdb_slice_t {
    pub data: *const c_char,
    pub size: usize,
}

impl Zero for rocksdb_slice_t {
    fn zero() -> rocksdb_slice_t {
        rocksdb_slice_t {
            data: std::ptr::null(),
            size: 0,
        }
    }
}

fn slice(bytes: &[u8]) -> rocksdb_slice_t {
    rocksdb_slice_t {
        data: bytes.as_ptr().cast(),
        size: bytes.len(),
    }
}

impl rocksdb_iterator_t {
    /// Creates an iterator over a family of a database.
    pub fn new(db: &Db, family: &ColumnFamily, options: ReadOptions) -> rocksdb_iterator_t {
        rocksdb_iterator_t {
            iter: db.iter_cf(&options, family),
            db: db.clone(),
            family: family.clone(),
            options,
            error: None,
        }
    }

    /// Creates an iterator over the same rows and those of a batch. `family` and `options` replace the
    /// iterator's own, except the snapshot.
    pub fn over_batch(
        self,
        batch: &WriteBatchWithIndex,
        family: Option<&ColumnFamily>,
        options: Option<&rocksdb_readoptions_t>,
    ) -> rocksdb_iterator_t {
        let family = family.unwrap_or(&self.family).clone();
        let mut merged = self.options.clone();
        if let Some(options) = options {
            let given = options.options();
            merged.iterate_lower_bound = given.iterate_lower_bound.or(merged.iterate_lower_bound);
            merged.iterate_upper_bound = given.iterate_upper_bound.or(merged.iterate_upper_bound);
        }
        match batch.iter_with_base(&self.db, &merged, &family) {
            Ok(iter) => rocksdb_iterator_t {
                iter,
                db: self.db,
                family,
                options: merged,
                error: None,
            },
            Err(error) => rocksdb_iterator_t {
                error: Some(error),
                ..self
            },
        }
    }

    /// Creates an iterator over a family with the transaction's writes.
    pub fn over_transaction(
        txn: &Transaction,
        db: &Db,
        family: &ColumnFamily,
        options: ReadOptions,
    ) -> rocksdb_iterator_t {
        match txn.iter(&options, family) {
            Ok(iter) => rocksdb_iterator_t {
                iter,
                db: db.clone(),
                family: family.clone(),
                options,
                error: None,
            },
            Err(error) => rocksdb_iterator_t {
                error: Some(error),
                ..rocksdb_iterator_t::new(db, family, options)
            },
        }
    }

    fn status(&self) -> Result<()> {
        match &self.error {
            Some(error) => Err(error.clone()),
            None => self.iter.status(),
        }
    }

    fn valid(&self) -> bool {
        self.error.is_none() && self.iter.valid()
    }
}

api!(
    fn rocksdb_create_iterator(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
    ) -> *mut rocksdb_iterator_t {
        let db = &*db;
        boxed(rocksdb_iterator_t::new(
            &db.db,
            &db.default,
            rocksdb_readoptions_t::of(options),
        ))
    }
);

api!(
    fn rocksdb_create_iterator_cf(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        cf: FamilyPtr,
    ) -> *mut rocksdb_iterator_t {
        let db = &*db;
        boxed(rocksdb_iterator_t::new(
            &db.db,
            family(cf).unwrap_or(&db.default),
            rocksdb_readoptions_t::of(options),
        ))
    }
);

api!(
    fn rocksdb_create_iterators(
        db: *mut rocksdb_t,
        options: *mut rocksdb_readoptions_t,
        families: *mut FamilyPtr,
        iterators: *mut *mut rocksdb_iterator_t,
        count: usize,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            let db = &*db;
            let mut options = rocksdb_readoptions_t::of(options);
            // All iterators read the same state.
            if options.snapshot.is_none() && count > 1 && !options.tailing {
                options.snapshot = Some(db.db.snapshot());
            }
            for (at, cf) in array(families, count).iter().enumerate() {
                let family = family(*cf).unwrap_or(&db.default);
                *iterators.add(at) = boxed(rocksdb_iterator_t::new(&db.db, family, options.clone()));
            }
            Ok(())
        })
    }
);

api!(
    fn rocksdb_iter_destroy(iter: *mut rocksdb_iterator_t) {
        free_box(iter)
    }
);

api!(
    fn rocksdb_iter_valid(iter: *const rocksdb_iterator_t) -> u8 {
        u8::from((*iter).valid())
    }
);

api!(
    fn rocksdb_iter_seek_to_first(iter: *mut rocksdb_iterator_t) {
        (*iter).iter.seek_to_first();
    }
);

api!(
    fn rocksdb_iter_seek_to_last(iter: *mut rocksdb_iterator_t) {
        (*iter).iter.seek_to_last();
    }
);

api!(
    fn rocksdb_iter_seek(iter: *mut rocksdb_iterator_t, k: *const c_char, klen: usize) {
        (*iter).iter.seek(bytes(k, klen));
    }
);

api!(
    fn rocksdb_iter_seek_for_prev(iter: *mut rocksdb_iterator_t, k: *const c_char, klen: usize) {
        (*iter).iter.seek_for_prev(bytes(k, klen));
    }
);

api!(
    fn rocksdb_iter_next(iter: *mut rocksdb_iterator_t) {
        if (*iter).valid() {
            (*iter).iter.next();
        }
    }
);

api!(
    fn rocksdb_iter_prev(iter: *mut rocksdb_iterator_t) {
        if (*iter).valid() {
            (*iter).iter.prev();
        }
    }
);

api!(
    fn rocksdb_iter_key(iter: *const rocksdb_iterator_t, length: *mut usize) -> *const c_char {
        if !(*iter).valid() {
            return nothing(length).cast_const();
        }
        borrowed((*iter).iter.key(), length)
    }
);

api!(
    fn rocksdb_iter_value(iter: *const rocksdb_iterator_t, length: *mut usize) -> *const c_char {
        if !(*iter).valid() {
            return nothing(length).cast_const();
        }
        borrowed((*iter).iter.value(), length)
    }
);

api!(
    fn rocksdb_iter_timestamp(iter: *const rocksdb_iterator_t, length: *mut usize) -> *const c_char {
        if !(*iter).valid() {
            return nothing(length).cast_const();
        }
        borrowed((*iter).iter.timestamp(), length)
    }
);

api!(
    fn rocksdb_iter_key_slice(iter: *const rocksdb_iterator_t) -> rocksdb_slice_t {
        if (*iter).valid() {
            slice((*iter).iter.key())
        } else {
            rocksdb_slice_t::zero()
        }
    }
);

api!(
    fn rocksdb_iter_value_slice(iter: *const rocksdb_iterator_t) -> rocksdb_slice_t {
        if (*iter).valid() {
            slice((*iter).iter.value())
        } else {
            rocksdb_slice_t::zero()
        }
    }
);

api!(
    fn rocksdb_iter_timestamp_slice(iter: *const rocksdb_iterator_t) -> rocksdb_slice_t {
        if (*iter).valid() {
            slice((*iter).iter.timestamp())
        } else {
            rocksdb_slice_t::zero()
        }
    }
);

api!(
    fn rocksdb_iter_get_error(iter: *const rocksdb_iterator_t, errptr: *mut *mut c_char) {
        fallible(errptr, || (*iter).status())
    }
);

api!(
    fn rocksdb_iter_refresh(iter: *const rocksdb_iterator_t, errptr: *mut *mut c_char) {
        // The signature says const; the iterator belongs to the caller nevertheless.
        fallible(errptr, || (*iter.cast_mut()).iter.refresh(None))
    }
);

//! The C object `rocksdb_iterator_t`.

use std::ffi::c_char;

use esker::{
    ColumnFamily, Db, DbIterator, Error, ReadOptions, Result, VersionsIterator, WriteBatchWithIndex,
};
use txn::Transaction;

use crate::db::rocksdb_t;
use crate::family_handle::{FamilyPtr, family};
use crate::ffi::*;
use crate::process::OfProcess;
use crate::read_options::rocksdb_readoptions_t;
use crate::versions::Versions;

/// The C object `rocksdb_iterator_t`.
pub struct rocksdb_iterator_t {
    iter: DbIterator,
    /// Replaces the iterator with `iter_start_ts`.
    versions: Option<Box<Versions>>,
    db: OfProcess<Db>,
    family: ColumnFamily,
    options: ReadOptions,
    /// The number of bytes at the end of each value that hold the time of its write, which the caller does
    /// not see.
    suffix: usize,
    /// The error that prevented the creation of the iterator, or an impossible length in a seek: it is
    /// invalid, and this is its status.
    error: Option<Error>,
    /// The row that the iterator is at. Every move sets it, so that a look at it is only a load.
    row: Row,
}

/// A row as C reads it. The pointers are valid until the iterator moves.
#[derive(Clone, Copy)]
struct Row {
    key: rocksdb_slice_t,
    value: rocksdb_slice_t,
}

impl Row {
    /// No row: the pointers are NULL, which those of a row never are.
    const NONE: Row = Row {
        key: rocksdb_slice_t::NULL,
        value: rocksdb_slice_t::NULL,
    };
}

/// `rocksdb_slice_t`, returned by value.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct rocksdb_slice_t {
    pub data: *const c_char,
    pub size: usize,
}

impl rocksdb_slice_t {
    const NULL: rocksdb_slice_t = rocksdb_slice_t {
        data: std::ptr::null(),
        size: 0,
    };

    /// Returns the pointer, and writes the length.
    ///
    /// # Safety
    /// `length` is NULL or may be written.
    #[inline]
    unsafe fn put(self, length: *mut usize) -> *const c_char {
        put_out(length, self.size);
        self.data
    }
}

impl Zero for rocksdb_slice_t {
    fn zero() -> rocksdb_slice_t {
        rocksdb_slice_t::NULL
    }
}

#[inline]
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
            iter: db.iter_cf_opt(family, &options),
            versions: None,
            db: OfProcess::new(db.clone()),
            family: family.clone(),
            options,
            suffix: 0,
            error: None,
            row: Row::NONE,
        }
    }

    /// Creates an iterator over a family, which shows values without the time of their write.
    pub fn of(db: &rocksdb_t, family: &ColumnFamily, options: ReadOptions) -> rocksdb_iterator_t {
        let of_versions = options.iter_start_ts.is_some();
        let mut iter = rocksdb_iterator_t {
            suffix: db.suffix(),
            ..rocksdb_iterator_t::new(&db.db, family, options)
        };
        if of_versions {
            let versions = db
                .check_no_ttl("iter_start_ts")
                .and_then(|()| db.db.iter_versions(family, &iter.options));
            match versions {
                Ok(versions) => iter.versions = Some(Box::new(Versions::new(versions))),
                Err(error) => iter.error = Some(error),
            }
        }
        iter
    }

    /// Keeps the row that a move has ended at, with the caller's part of its value.
    fn keep_row(&mut self) {
        let item = match &self.versions {
            _ if self.error.is_some() => None,
            None => self.iter.item(),
            Some(versions) => versions.valid().then(|| (versions.key(), versions.value())),
        };
        if let Some((key, value)) = item {
            self.row = Row {
                key: slice(key),
                value: slice(&value[..value.len().saturating_sub(self.suffix)]),
            };
        }
    }

    fn timestamp(&self) -> &[u8] {
        match &self.versions {
            None => self.iter.timestamp(),
            Some(versions) => versions.timestamp(),
        }
    }

    fn refresh(&mut self) -> Result<()> {
        match &self.versions {
            None => self.iter.refresh(None),
            Some(versions) => versions.refresh(),
        }
    }

    /// Makes the move `go`, which may also fail or panic, and keeps the row where it ends.
    #[inline]
    fn moved<R>(&mut self, go: impl FnOnce(&mut rocksdb_iterator_t) -> R) -> R {
        self.row = Row::NONE;
        let result = go(self);
        self.keep_row();
        result
    }

    /// Moves the engine's iterator.
    #[inline]
    fn go(&mut self, rows: impl FnOnce(&mut DbIterator), versions: impl FnOnce(&mut VersionsIterator)) {
        match &mut self.versions {
            None => rows(&mut self.iter),
            Some(own) => own.moved(versions),
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
            merged.iterate_lower_bound = options.lower_bound.clone().or(merged.iterate_lower_bound);
            merged.iterate_upper_bound = options.upper_bound.clone().or(merged.iterate_upper_bound);
        }
        let merging = match self.suffix {
            0 => batch.iter_with_base(&self.db, &family, &merged),
            _ => Err(Error::not_supported(
                "a read over a batch in a database with a time to live",
            )),
        };
        match merging {
            Ok(iter) => rocksdb_iterator_t {
                iter,
                versions: None,
                db: self.db,
                family,
                options: merged,
                suffix: 0,
                error: None,
                row: Row::NONE,
            },
            Err(error) => rocksdb_iterator_t {
                error: Some(error),
                row: Row::NONE,
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
        match txn.iter_cf_opt(family, &options) {
            Ok(iter) => rocksdb_iterator_t {
                iter,
                versions: None,
                db: OfProcess::new(db.clone()),
                family: family.clone(),
                options,
                suffix: 0,
                error: None,
                row: Row::NONE,
            },
            Err(error) => rocksdb_iterator_t {
                error: Some(error),
                ..rocksdb_iterator_t::new(db, family, options)
            },
        }
    }

    /// Moves the iterator to its first row. With `prefix_same_as_start` it then ends with the prefix of the
    /// lower bound, or of that row.
    fn seek_to_first(&mut self) {
        self.go(DbIterator::seek_to_first, VersionsIterator::seek_to_first);
        if self.options.prefix_same_as_start && self.versions.is_none() {
            let start = self.options.iterate_lower_bound.clone();
            if let Some(start) = start.or_else(|| self.here()) {
                self.iter.seek(&start);
            }
        }
    }

    /// Moves the iterator to its last row. With `prefix_same_as_start` it then ends with the prefix of that
    /// row.
    fn seek_to_last(&mut self) {
        self.go(DbIterator::seek_to_last, VersionsIterator::seek_to_last);
        if self.options.prefix_same_as_start
            && let Some(last) = self.here()
        {
            self.iter.seek_for_prev(&last);
        }
    }

    /// Moves the iterator to the next row, which may have been written since if it is tailing.
    #[inline]
    fn next(&mut self) {
        if self.options.tailing && !self.seek_again() {
            return;
        }
        self.go(DbIterator::next, VersionsIterator::next);
    }

    /// Seeks the current row, because the engine sees later writes at a seek. False if the row is gone: the
    /// iterator is at its successor.
    #[cold]
    fn seek_again(&mut self) -> bool {
        let Some(key) = self.here() else {
            return true;
        };
        self.iter.seek(&key);
        !self.iter.valid() || self.iter.key() == key
    }

    /// The key of the current row; `None` without one, and in an iterator over versions.
    fn here(&self) -> Option<Vec<u8>> {
        let is_at_row = self.versions.is_none() && self.iter.valid();
        is_at_row.then(|| self.iter.key().to_vec())
    }

    /// Moves the iterator to a key.
    ///
    /// # Safety
    /// The rules of [`bytes`].
    unsafe fn seek(
        &mut self,
        key: Buffer,
        rows: impl FnOnce(&mut DbIterator, &[u8]),
        versions: impl FnOnce(&mut VersionsIterator, &[u8]),
    ) {
        match attempt(|| Ok(key.bytes())) {
            Ok(key) => self.go(|iter| rows(iter, key), |iter| versions(iter, key)),
            Err(error) => self.error = Some(error),
        }
    }

    fn status(&self) -> Result<()> {
        match &self.error {
            Some(error) => Err(error.clone()),
            None => match &self.versions {
                None => self.iter.status(),
                Some(versions) => versions.status(),
            },
        }
    }

    /// True if the iterator is at a row.
    #[inline]
    fn valid(&self) -> bool {
        !self.row.key.data.is_null()
    }
}

api!(
    fn rocksdb_create_iterator(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
    ) -> *mut rocksdb_iterator_t {
        let db = &*db;
        boxed(rocksdb_iterator_t::of(
            db,
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
        boxed(rocksdb_iterator_t::of(
            db,
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
            // A common snapshot lets all iterators read the same state.
            if options.snapshot.is_none() && count > 1 && !options.tailing {
                options.snapshot = Some(db.db.snapshot());
            }
            for (at, cf) in array(families, count).iter().enumerate() {
                let family = family(*cf).unwrap_or(&db.default);
                *iterators.add(at) = boxed(rocksdb_iterator_t::of(db, family, options.clone()));
            }
            Ok(())
        })
    }
);

api!(
    fn rocksdb_iter_destroy(iter: *mut rocksdb_iterator_t) {
        match iter.as_ref() {
            Some(object) if !object.db.is_own() => std::mem::forget(taken(iter)),
            _ => free_box(iter),
        }
    }
);

api!(
    fn rocksdb_iter_valid(iter: *const rocksdb_iterator_t) -> u8 {
        u8::from((*iter).valid())
    }
);

api!(
    fn rocksdb_iter_seek_to_first(iter: *mut rocksdb_iterator_t) {
        (*iter).moved(rocksdb_iterator_t::seek_to_first);
    }
);

api!(
    fn rocksdb_iter_seek_to_last(iter: *mut rocksdb_iterator_t) {
        (*iter).moved(rocksdb_iterator_t::seek_to_last);
    }
);

api!(
    fn rocksdb_iter_seek(iter: *mut rocksdb_iterator_t, k: *const c_char, klen: usize) {
        (*iter).moved(|iter| {
            iter.seek(
                Buffer(k, klen),
                |iter: &mut DbIterator, key| iter.seek(key),
                |iter: &mut VersionsIterator, key| iter.seek(key),
            );
        });
    }
);

api!(
    fn rocksdb_iter_seek_for_prev(iter: *mut rocksdb_iterator_t, k: *const c_char, klen: usize) {
        (*iter).moved(|iter| {
            iter.seek(
                Buffer(k, klen),
                |iter: &mut DbIterator, key| iter.seek_for_prev(key),
                |iter: &mut VersionsIterator, key| iter.seek_for_prev(key),
            );
        });
    }
);

api!(
    fn rocksdb_iter_next(iter: *mut rocksdb_iterator_t) {
        if (*iter).valid() {
            (*iter).moved(rocksdb_iterator_t::next);
        }
    }
);

api!(
    fn rocksdb_iter_prev(iter: *mut rocksdb_iterator_t) {
        if (*iter).valid() {
            (*iter).moved(|iter| iter.go(DbIterator::prev, VersionsIterator::prev));
        }
    }
);

api!(
    fn rocksdb_iter_key(iter: *const rocksdb_iterator_t, length: *mut usize) -> *const c_char {
        (*iter).row.key.put(length)
    }
);

api!(
    fn rocksdb_iter_value(iter: *const rocksdb_iterator_t, length: *mut usize) -> *const c_char {
        (*iter).row.value.put(length)
    }
);

api!(
    fn rocksdb_iter_timestamp(iter: *const rocksdb_iterator_t, length: *mut usize) -> *const c_char {
        if !(*iter).valid() {
            return nothing(length).cast_const();
        }
        borrowed((*iter).timestamp(), length)
    }
);

api!(
    fn rocksdb_iter_key_slice(iter: *const rocksdb_iterator_t) -> rocksdb_slice_t {
        (*iter).row.key
    }
);

api!(
    fn rocksdb_iter_value_slice(iter: *const rocksdb_iterator_t) -> rocksdb_slice_t {
        (*iter).row.value
    }
);

api!(
    fn rocksdb_iter_timestamp_slice(iter: *const rocksdb_iterator_t) -> rocksdb_slice_t {
        if (*iter).valid() {
            slice((*iter).timestamp())
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
        // The iterator is changed although the signature of RocksDB's function says const.
        fallible(errptr, || (*iter.cast_mut()).moved(rocksdb_iterator_t::refresh))
    }
);

//! The C object `rocksdb_writebatch_t`.

use std::borrow::Cow;
use std::ffi::{c_char, c_int, c_void};

use esker::{ColumnFamily, Error, Operation, Result, WriteBatch};

use crate::family_handle::{FamilyPtr, family};
use crate::ffi::*;

/// The C object `rocksdb_writebatch_t`.
#[derive(Clone, Default)]
pub struct rocksdb_writebatch_t {
    pub batch: WriteBatch,
    /// The reason why the bytes of `rocksdb_writebatch_create_from` are not a batch, or why a row was
    /// refused. The error is reported when the batch is used.
    invalid: Option<(Vec<u8>, Error)>,
    /// True if rows of families with timestamps do not have their timestamps yet.
    unstamped: bool,
}

impl rocksdb_writebatch_t {
    /// Wraps a batch.
    pub fn new(batch: WriteBatch) -> rocksdb_writebatch_t {
        rocksdb_writebatch_t {
            batch,
            invalid: None,
            unstamped: false,
        }
    }

    fn check(&self) -> Result<()> {
        match &self.invalid {
            Some((_, error)) => Err(error.clone()),
            None if self.unstamped => Err(no_timestamps()),
            None => Ok(()),
        }
    }

    /// Returns whether rows wait for their timestamps.
    pub fn unstamped(&mut self) -> &mut bool {
        &mut self.unstamped
    }

    /// Copies the batch.
    pub fn whole(&self) -> Result<WriteBatch> {
        self.check()?;
        Ok(self.batch.clone())
    }

    /// Returns the batch for a write that uses it without a copy.
    pub fn in_place(&mut self) -> Result<&mut WriteBatch> {
        self.check()?;
        Ok(&mut self.batch)
    }
}

/// Returns the error of a write some of whose rows do not have their timestamps yet.
pub fn no_timestamps() -> Error {
    Error::invalid_argument("write batch must have timestamp(s) set")
}

/// A batch, with or without an index, to which the functions for writes add rows.
pub trait Rows: Stamping {
    /// Sets a key.
    fn put(&mut self, family: Option<&ColumnFamily>, key: &[u8], value: &[u8]);
    /// Adds an operand.
    fn merge(&mut self, family: Option<&ColumnFamily>, key: &[u8], operand: &[u8]);
    /// Deletes a key.
    fn delete(&mut self, family: Option<&ColumnFamily>, key: &[u8]);
    /// Deletes a key that was put once.
    fn single_delete(&mut self, family: Option<&ColumnFamily>, key: &[u8]);
    /// Deletes the keys from `begin` to before `end`.
    fn delete_range(&mut self, family: Option<&ColumnFamily>, begin: &[u8], end: &[u8]);
    /// Adds a blob, which is written only to the WAL.
    fn log_data(&mut self, blob: &[u8]);
}

/// The keys of families with timestamps.
pub trait Stamping {
    /// Returns the key as the batch has it until its timestamp is set.
    fn stamped<'a>(&mut self, family: &ColumnFamily, key: &'a [u8]) -> Cow<'a, [u8]>;
}

/// Returns the key, which ends with zeros in a family with timestamps until
/// `rocksdb_writebatch_update_timestamps`; then `unstamped` is set.
#[inline]
pub fn with_room<'a>(family: &ColumnFamily, key: &'a [u8], unstamped: &mut bool) -> Cow<'a, [u8]> {
    match family.comparator().timestamp_size() {
        0 => Cow::Borrowed(key),
        size => {
            *unstamped = true;
            Cow::Owned([key, &vec![0; size]].concat())
        }
    }
}

impl Stamping for rocksdb_writebatch_t {
    #[inline]
    fn stamped<'a>(&mut self, family: &ColumnFamily, key: &'a [u8]) -> Cow<'a, [u8]> {
        with_room(family, key, &mut self.unstamped)
    }
}

/// Implements [`Rows`] for an object with a batch in `$field`.
macro_rules! rows {
    ($object:ty, $($field:tt)+) => {
        impl Rows for $object {
            fn put(&mut self, family: Option<&ColumnFamily>, key: &[u8], value: &[u8]) {
                match family {
                    Some(family) => {
                        let key = self.stamped(family, key);
                        self.$($field)+.put_cf(family, &key, value)
                    }
                    None => self.$($field)+.put(key, value),
                }
            }

            fn merge(&mut self, family: Option<&ColumnFamily>, key: &[u8], operand: &[u8]) {
                match family {
                    Some(family) => {
                        let key = self.stamped(family, key);
                        self.$($field)+.merge_cf(family, &key, operand)
                    }
                    None => self.$($field)+.merge(key, operand),
                }
            }

            fn delete(&mut self, family: Option<&ColumnFamily>, key: &[u8]) {
                match family {
                    Some(family) => {
                        let key = self.stamped(family, key);
                        self.$($field)+.delete_cf(family, &key)
                    }
                    None => self.$($field)+.delete(key),
                }
            }

            fn single_delete(&mut self, family: Option<&ColumnFamily>, key: &[u8]) {
                match family {
                    Some(family) => match self.stamped(family, key) {
                        Cow::Borrowed(key) => self.$($field)+.single_delete_cf(family, key),
                        // In a family with timestamps a plain deletion is written, as
                        // `rocksdb_singledelete_with_ts` does.
                        Cow::Owned(key) => self.$($field)+.delete_cf(family, &key),
                    }
                    None => self.$($field)+.single_delete(key),
                }
            }

            fn delete_range(&mut self, family: Option<&ColumnFamily>, begin: &[u8], end: &[u8]) {
                match family {
                    Some(family) => {
                        let (begin, end) = (self.stamped(family, begin), self.stamped(family, end));
                        self.$($field)+.delete_range_cf(family, &begin, &end)
                    }
                    None => self.$($field)+.delete_range(begin, end),
                }
            }

            fn log_data(&mut self, blob: &[u8]) {
                self.$($field)+.put_log_data(blob);
            }
        }
    };
}
pub(crate) use rows;
rows!(rocksdb_writebatch_t, batch);

/// A batch, which keeps the error of a row that it refused.
pub trait Refusing {
    /// Keeps the first error: the batch is not written.
    fn refuse(&mut self, error: Error);
}

impl Refusing for rocksdb_writebatch_t {
    fn refuse(&mut self, error: Error) {
        self.invalid
            .get_or_insert_with(|| (self.batch.data().to_vec(), error));
    }
}

/// Adds a row by `add`, which also checks the buffers of the row. A refused row is an error of the batch.
#[inline]
pub fn add<T: Refusing>(batch: &mut T, add: impl FnOnce(&mut T)) {
    if let Err(error) = attempt(|| {
        add(batch);
        Ok(())
    }) {
        batch.refuse(error);
    }
}

/// Joins the parts of a list: a `v` function passes one key or value in parts.
///
/// # Safety
/// The two arrays have `count` elements, each a buffer.
pub unsafe fn joined(count: c_int, data: *const *const c_char, lengths: *const usize) -> Vec<u8> {
    buffers(data, lengths, count.max(0) as usize).concat()
}

/// Defines functions that add a row, by its kind and the form of its arguments.
macro_rules! row_functions {
    ($object:ty; $(fn $name:ident => $shape:ident $($row:ident)?;)+) => {
        $( row_functions!(@$shape $object, $name $(, $row)?); )+
    };
    (@pair $object:ty, $name:ident, $row:ident) => {
        api!(fn $name(b: *mut $object, k: *const c_char, klen: usize, v: *const c_char, vlen: usize) {
            add(&mut *b, |b| b.$row(None, bytes(k, klen), bytes(v, vlen)));
        });
    };
    (@pair_cf $object:ty, $name:ident, $row:ident) => {
        api!(fn $name(b: *mut $object, cf: FamilyPtr, k: *const c_char, klen: usize, v: *const c_char, vlen: usize) {
            add(&mut *b, |b| b.$row(family(cf), bytes(k, klen), bytes(v, vlen)));
        });
    };
    (@key $object:ty, $name:ident, $row:ident) => {
        api!(fn $name(b: *mut $object, k: *const c_char, klen: usize) {
            add(&mut *b, |b| b.$row(None, bytes(k, klen)));
        });
    };
    (@key_cf $object:ty, $name:ident, $row:ident) => {
        api!(fn $name(b: *mut $object, cf: FamilyPtr, k: *const c_char, klen: usize) {
            add(&mut *b, |b| b.$row(family(cf), bytes(k, klen)));
        });
    };
    (@parts $object:ty, $name:ident, $row:ident) => {
        api!(fn $name(
            b: *mut $object,
            n: c_int, k: *const *const c_char, klen: *const usize,
            m: c_int, v: *const *const c_char, vlen: *const usize,
        ) {
            add(&mut *b, |b| b.$row(None, &joined(n, k, klen), &joined(m, v, vlen)));
        });
    };
    (@parts_cf $object:ty, $name:ident, $row:ident) => {
        api!(fn $name(
            b: *mut $object, cf: FamilyPtr,
            n: c_int, k: *const *const c_char, klen: *const usize,
            m: c_int, v: *const *const c_char, vlen: *const usize,
        ) {
            add(&mut *b, |b| b.$row(family(cf), &joined(n, k, klen), &joined(m, v, vlen)));
        });
    };
    (@blob $object:ty, $name:ident) => {
        api!(fn $name(b: *mut $object, blob: *const c_char, length: usize) {
            add(&mut *b, |b| b.log_data(bytes(blob, length)));
        });
    };
    (@key_parts $object:ty, $name:ident) => {
        api!(fn $name(b: *mut $object, n: c_int, k: *const *const c_char, klen: *const usize) {
            add(&mut *b, |b| b.delete(None, &joined(n, k, klen)));
        });
    };
    (@key_parts_cf $object:ty, $name:ident) => {
        api!(fn $name(b: *mut $object, cf: FamilyPtr, n: c_int, k: *const *const c_char, klen: *const usize) {
            add(&mut *b, |b| b.delete(family(cf), &joined(n, k, klen)));
        });
    };
    (@range_parts $object:ty, $name:ident) => {
        api!(fn $name(
            b: *mut $object,
            n: c_int, from: *const *const c_char, from_len: *const usize,
            to: *const *const c_char, to_len: *const usize,
        ) {
            add(&mut *b, |b| b.delete_range(None, &joined(n, from, from_len), &joined(n, to, to_len)));
        });
    };
    (@range_parts_cf $object:ty, $name:ident) => {
        api!(fn $name(
            b: *mut $object, cf: FamilyPtr,
            n: c_int, from: *const *const c_char, from_len: *const usize,
            to: *const *const c_char, to_len: *const usize,
        ) {
            add(&mut *b, |b| b.delete_range(family(cf), &joined(n, from, from_len), &joined(n, to, to_len)));
        });
    };
}

pub(crate) use row_functions;
row_functions! { rocksdb_writebatch_t;
    fn rocksdb_writebatch_put => pair put;
    fn rocksdb_writebatch_put_cf => pair_cf put;
    fn rocksdb_writebatch_putv => parts put;
    fn rocksdb_writebatch_putv_cf => parts_cf put;
    fn rocksdb_writebatch_merge => pair merge;
    fn rocksdb_writebatch_merge_cf => pair_cf merge;
    fn rocksdb_writebatch_mergev => parts merge;
    fn rocksdb_writebatch_mergev_cf => parts_cf merge;
    fn rocksdb_writebatch_delete => key delete;
    fn rocksdb_writebatch_delete_cf => key_cf delete;
    fn rocksdb_writebatch_deletev => key_parts;
    fn rocksdb_writebatch_deletev_cf => key_parts_cf;
    fn rocksdb_writebatch_singledelete => key single_delete;
    fn rocksdb_writebatch_singledelete_cf => key_cf single_delete;
    fn rocksdb_writebatch_delete_range => pair delete_range;
    fn rocksdb_writebatch_delete_range_cf => pair_cf delete_range;
    fn rocksdb_writebatch_delete_rangev => range_parts;
    fn rocksdb_writebatch_delete_rangev_cf => range_parts_cf;
    fn rocksdb_writebatch_put_log_data => blob;
}

api!(
    fn rocksdb_writebatch_create() -> *mut rocksdb_writebatch_t {
        boxed(rocksdb_writebatch_t::default())
    }
);

api!(
    fn rocksdb_writebatch_create_with_params(
        reserved: usize,
        max_bytes: usize,
        protection: usize,
        _default_ts_size: usize,
    ) -> *mut rocksdb_writebatch_t {
        let mut batch = match protection {
            0 => WriteBatch::with_capacity(reserved.min(isize::MAX as usize / 2)),
            bytes => WriteBatch::with_protection(bytes).unwrap_or_default(),
        };
        batch.set_max_bytes(max_bytes);
        boxed(rocksdb_writebatch_t::new(batch))
    }
);

api!(
    fn rocksdb_writebatch_create_from(rep: *const c_char, size: usize) -> *mut rocksdb_writebatch_t {
        let rep = bytes(rep, size);
        boxed(match WriteBatch::from_data(rep) {
            Ok(batch) => rocksdb_writebatch_t::new(batch),
            Err(error) => rocksdb_writebatch_t {
                batch: WriteBatch::new(),
                invalid: Some((rep.to_vec(), error)),
                unstamped: false,
            },
        })
    }
);

api!(
    fn rocksdb_writebatch_clear(b: *mut rocksdb_writebatch_t) {
        (*b).batch.clear();
        (*b).invalid = None;
        (*b).unstamped = false;
    }
);

api!(
    fn rocksdb_writebatch_count(b: *mut rocksdb_writebatch_t) -> c_int {
        (*b).batch.count() as c_int
    }
);

api!(
    fn rocksdb_writebatch_data(b: *mut rocksdb_writebatch_t, size: *mut usize) -> *const c_char {
        match &(*b).invalid {
            Some((rep, _)) => borrowed(rep, size),
            None => borrowed((*b).batch.data(), size),
        }
    }
);

api!(
    fn rocksdb_writebatch_set_save_point(b: *mut rocksdb_writebatch_t) {
        (*b).batch.set_save_point();
    }
);

api!(
    fn rocksdb_writebatch_rollback_to_save_point(b: *mut rocksdb_writebatch_t, errptr: *mut *mut c_char) {
        fallible(errptr, || (*b).batch.rollback_to_save_point())
    }
);

api!(
    fn rocksdb_writebatch_pop_save_point(b: *mut rocksdb_writebatch_t, errptr: *mut *mut c_char) {
        fallible(errptr, || (*b).batch.pop_save_point())
    }
);

api!(
    fn rocksdb_writebatch_verify_checksum(b: *mut rocksdb_writebatch_t, errptr: *mut *mut c_char) {
        fallible(errptr, || (*b).batch.verify_checksum())
    }
);

api!(
    fn rocksdb_writebatch_put_cf_with_ts(
        b: *mut rocksdb_writebatch_t,
        cf: FamilyPtr,
        k: *const c_char,
        klen: usize,
        ts: *const c_char,
        tslen: usize,
        v: *const c_char,
        vlen: usize,
    ) {
        if let Some(family) = family(cf) {
            add(&mut *b, |b| {
                b.batch
                    .put_at(family, bytes(k, klen), bytes(ts, tslen), bytes(v, vlen));
            });
        }
    }
);

api!(
    fn rocksdb_writebatch_delete_cf_with_ts(
        b: *mut rocksdb_writebatch_t,
        cf: FamilyPtr,
        k: *const c_char,
        klen: usize,
        ts: *const c_char,
        tslen: usize,
    ) {
        if let Some(family) = family(cf) {
            add(&mut *b, |b| {
                b.batch.delete_at(family, bytes(k, klen), bytes(ts, tslen))
            });
        }
    }
);

type PutFn = Option<unsafe extern "C" fn(*mut c_void, *const c_char, usize, *const c_char, usize)>;
type DeletedFn = Option<unsafe extern "C" fn(*mut c_void, *const c_char, usize)>;
type PutCfFn = Option<unsafe extern "C" fn(*mut c_void, u32, *const c_char, usize, *const c_char, usize)>;
type DeletedCfFn = Option<unsafe extern "C" fn(*mut c_void, u32, *const c_char, usize)>;

/// The caller's functions for each kind of row.
pub struct Visitor {
    pub state: *mut c_void,
    pub put: PutFn,
    pub deleted: DeletedFn,
    pub log_data: DeletedFn,
}

impl Visitor {
    /// Calls the functions for every row of the default family.
    ///
    /// # Safety
    /// The caller passed the functions for the state.
    pub unsafe fn walk(&self, batch: &WriteBatch) {
        for operation in batch.operations().flatten() {
            match operation {
                Operation::Put { key, value, .. } => {
                    if let Some(put) = self.put {
                        put(
                            self.state,
                            key.as_ptr().cast(),
                            key.len(),
                            value.as_ptr().cast(),
                            value.len(),
                        );
                    }
                }
                Operation::Delete { key, .. } | Operation::SingleDelete { key, .. } => {
                    if let Some(deleted) = self.deleted {
                        deleted(self.state, key.as_ptr().cast(), key.len());
                    }
                }
                Operation::LogData(blob) => {
                    if let Some(log_data) = self.log_data {
                        log_data(self.state, blob.as_ptr().cast(), blob.len());
                    }
                }
                _ => {}
            }
        }
    }
}

api!(
    fn rocksdb_writebatch_iterate(
        b: *mut rocksdb_writebatch_t,
        state: *mut c_void,
        put: PutFn,
        deleted: DeletedFn,
    ) {
        Visitor {
            state,
            put,
            deleted,
            log_data: None,
        }
        .walk(&(*b).batch)
    }
);

api!(
    fn rocksdb_writebatch_iterate_ld(
        b: *mut rocksdb_writebatch_t,
        state: *mut c_void,
        put: PutFn,
        deleted: DeletedFn,
        log_data: DeletedFn,
    ) {
        Visitor {
            state,
            put,
            deleted,
            log_data,
        }
        .walk(&(*b).batch)
    }
);

/// The caller's functions, which also get the families.
struct FamilyVisitor {
    state: *mut c_void,
    put: PutCfFn,
    deleted: DeletedCfFn,
    merge: PutCfFn,
    log_data: DeletedFn,
}

impl FamilyVisitor {
    unsafe fn pair(&self, function: PutCfFn, family: u32, key: &[u8], value: &[u8]) {
        if let Some(function) = function {
            function(
                self.state,
                family,
                key.as_ptr().cast(),
                key.len(),
                value.as_ptr().cast(),
                value.len(),
            );
        }
    }

    unsafe fn walk(&self, batch: &WriteBatch) {
        for operation in batch.operations().flatten() {
            match operation {
                Operation::Put { family, key, value } => self.pair(self.put, family, key, value),
                Operation::Merge { family, key, operand } => self.pair(self.merge, family, key, operand),
                Operation::Delete { family, key } | Operation::SingleDelete { family, key } => {
                    if let Some(deleted) = self.deleted {
                        deleted(self.state, family, key.as_ptr().cast(), key.len());
                    }
                }
                Operation::LogData(blob) => {
                    if let Some(log_data) = self.log_data {
                        log_data(self.state, blob.as_ptr().cast(), blob.len());
                    }
                }
                _ => {}
            }
        }
    }
}

api!(
    fn rocksdb_writebatch_iterate_cf(
        b: *mut rocksdb_writebatch_t,
        state: *mut c_void,
        put: PutCfFn,
        deleted: DeletedCfFn,
        merge: PutCfFn,
    ) {
        FamilyVisitor {
            state,
            put,
            deleted,
            merge,
            log_data: None,
        }
        .walk(&(*b).batch)
    }
);

api!(
    fn rocksdb_writebatch_iterate_cf_ld(
        b: *mut rocksdb_writebatch_t,
        state: *mut c_void,
        put: PutCfFn,
        deleted: DeletedCfFn,
        merge: PutCfFn,
        log_data: DeletedFn,
    ) {
        FamilyVisitor {
            state,
            put,
            deleted,
            merge,
            log_data,
        }
        .walk(&(*b).batch)
    }
);

//! Functions that read values by key.

use std::ffi::{CString, c_char, c_int};

use esker::{ColumnFamily, KeyMayExist, PinnedValue, Result};

use crate::db::rocksdb_t;
use crate::family_handle::{FamilyPtr, family};
use crate::ffi::*;
use crate::iterator::rocksdb_slice_t;
use crate::pinned::{boxed_pinned, rocksdb_pinnable_handle_t, rocksdb_pinnableslice_t};
use crate::read_options::rocksdb_readoptions_t;

/// Returns the family of a handle, or the default one.
#[inline]
unsafe fn of(db: &rocksdb_t, cf: FamilyPtr) -> &ColumnFamily {
    family(cf).unwrap_or(&db.default)
}

#[inline(always)]
unsafe fn pinned(
    db: *mut rocksdb_t,
    options: *const rocksdb_readoptions_t,
    cf: FamilyPtr,
    key: Buffer,
) -> Result<Option<PinnedValue>> {
    let db = &*db;
    db.get_pinned_cf_opt(of(db, cf), key.bytes(), rocksdb_readoptions_t::lent(options))
}

/// Creates the caller's object for a pinned value; NULL if the key is absent.
#[inline(always)]
unsafe fn pinned_in<T>(
    db: *mut rocksdb_t,
    options: *const rocksdb_readoptions_t,
    cf: FamilyPtr,
    key: Buffer,
    errptr: *mut *mut c_char,
    object: impl FnOnce(PinnedValue) -> T,
) -> *mut T {
    fallible(errptr, move || {
        Ok(boxed_pinned(pinned(db, options, cf, key)?, object))
    })
}

unsafe fn get(
    db: *mut rocksdb_t,
    options: *const rocksdb_readoptions_t,
    cf: FamilyPtr,
    key: Buffer,
    length: *mut usize,
    errptr: *mut *mut c_char,
) -> *mut c_char {
    put_out(length, 0);
    fallible(errptr, || {
        Ok(pinned(db, options, cf, key)?.map_or(std::ptr::null_mut(), |value| copied(&value, length)))
    })
}

api!(
    fn rocksdb_get(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        k: *const c_char,
        klen: usize,
        length: *mut usize,
        errptr: *mut *mut c_char,
    ) -> *mut c_char {
        get(db, options, std::ptr::null_mut(), Buffer(k, klen), length, errptr)
    }
);

api!(
    fn rocksdb_get_cf(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        cf: FamilyPtr,
        k: *const c_char,
        klen: usize,
        length: *mut usize,
        errptr: *mut *mut c_char,
    ) -> *mut c_char {
        get(db, options, cf, Buffer(k, klen), length, errptr)
    }
);

api!(
    fn rocksdb_get_pinned(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        k: *const c_char,
        klen: usize,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_pinnableslice_t {
        pinned_in(
            db,
            options,
            std::ptr::null_mut(),
            Buffer(k, klen),
            errptr,
            rocksdb_pinnableslice_t,
        )
    }
);

api!(
    fn rocksdb_get_pinned_cf(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        cf: FamilyPtr,
        k: *const c_char,
        klen: usize,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_pinnableslice_t {
        pinned_in(db, options, cf, Buffer(k, klen), errptr, rocksdb_pinnableslice_t)
    }
);

api!(
    fn rocksdb_get_pinned_v2(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        k: *const c_char,
        klen: usize,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_pinnable_handle_t {
        pinned_in(
            db,
            options,
            std::ptr::null_mut(),
            Buffer(k, klen),
            errptr,
            rocksdb_pinnable_handle_t,
        )
    }
);

api!(
    fn rocksdb_get_pinned_cf_v2(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        cf: FamilyPtr,
        k: *const c_char,
        klen: usize,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_pinnable_handle_t {
        pinned_in(
            db,
            options,
            cf,
            Buffer(k, klen),
            errptr,
            rocksdb_pinnable_handle_t,
        )
    }
);

unsafe fn get_into(
    value: impl FnOnce() -> Result<Option<PinnedValue>>,
    buffer: *mut c_char,
    size: usize,
    length: *mut usize,
    found: *mut u8,
    errptr: *mut *mut c_char,
) -> u8 {
    put_out(length, 0);
    put_out(found, 0);
    fallible(errptr, || {
        let Some(value) = value()? else {
            return Ok(0);
        };
        put_out(found, 1);
        put_out(length, value.len());
        if value.len() > size || buffer.is_null() {
            return Ok(0);
        }
        std::ptr::copy_nonoverlapping(value.as_ptr().cast(), buffer, value.len());
        Ok(1)
    })
}

api!(
    fn rocksdb_get_into_buffer(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        k: *const c_char,
        klen: usize,
        buffer: *mut c_char,
        size: usize,
        length: *mut usize,
        found: *mut u8,
        errptr: *mut *mut c_char,
    ) -> u8 {
        get_into(
            || pinned(db, options, std::ptr::null_mut(), Buffer(k, klen)),
            buffer,
            size,
            length,
            found,
            errptr,
        )
    }
);

api!(
    fn rocksdb_get_into_buffer_cf(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        cf: FamilyPtr,
        k: *const c_char,
        klen: usize,
        buffer: *mut c_char,
        size: usize,
        length: *mut usize,
        found: *mut u8,
        errptr: *mut *mut c_char,
    ) -> u8 {
        get_into(
            || pinned(db, options, cf, Buffer(k, klen)),
            buffer,
            size,
            length,
            found,
            errptr,
        )
    }
);

/// Reads several keys from one state.
unsafe fn multi<'a>(
    db: &rocksdb_t,
    options: *const rocksdb_readoptions_t,
    count: usize,
    keys: impl FnOnce() -> Vec<(&'a ColumnFamily, &'a [u8])>,
) -> Vec<Result<Option<PinnedValue>>> {
    let results = attempt(|| Ok(all_of(db, options, &keys())));
    // If no array can have `count` elements, the array for errors does not exist either, and no error is
    // written.
    let errors = count * usize::from(count <= isize::MAX as usize / size_of::<usize>());
    results.unwrap_or_else(|error| (0..errors).map(|_| Err(error.clone())).collect())
}

unsafe fn all_of(
    db: &rocksdb_t,
    options: *const rocksdb_readoptions_t,
    keys: &[(&ColumnFamily, &[u8])],
) -> Vec<Result<Option<PinnedValue>>> {
    let mut options = rocksdb_readoptions_t::of(options);
    let Some((first, _)) = keys.first() else {
        return Vec::new();
    };
    if keys.iter().all(|(family, _)| family.id() == first.id()) {
        let keys: Vec<&[u8]> = keys.iter().map(|(_, key)| *key).collect();
        return match db.ttl() {
            None => db.db.multi_get_pinned_cf_opt(first, &keys, &options),
            Some(ttl) => ttl.multi_get_pinned_cf_opt(first, &keys, &options),
        };
    }
    if options.snapshot.is_none() {
        options.snapshot = Some(db.db.snapshot());
    }
    keys.iter()
        .map(|(family, key)| db.get_pinned_cf_opt(family, key, &options))
        .collect()
}

/// Writes one of several results: the value, its length, the error.
///
/// # Safety
/// The three arrays have an element at `at`.
pub unsafe fn give(
    at: usize,
    result: Result<Option<PinnedValue>>,
    values: *mut *mut c_char,
    lengths: *mut usize,
    errors: *mut *mut c_char,
) {
    *values.add(at) = std::ptr::null_mut();
    *lengths.add(at) = 0;
    *errors.add(at) = std::ptr::null_mut();
    match result {
        Ok(Some(value)) => *values.add(at) = copied(&value, lengths.add(at)),
        Ok(None) => {}
        Err(error) => set_error(errors.add(at), &error),
    }
}

api!(
    fn rocksdb_multi_get(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        count: usize,
        k: *const *const c_char,
        klen: *const usize,
        values: *mut *mut c_char,
        lengths: *mut usize,
        errors: *mut *mut c_char,
    ) {
        let db = &*db;
        let keys = || {
            let keys = buffers(k, klen, count).into_iter();
            keys.map(|key| (&db.default, key)).collect()
        };
        for (at, result) in multi(db, options, count, keys).into_iter().enumerate() {
            give(at, result, values, lengths, errors);
        }
    }
);

api!(
    fn rocksdb_multi_get_cf(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        families: *const FamilyPtr,
        count: usize,
        k: *const *const c_char,
        klen: *const usize,
        values: *mut *mut c_char,
        lengths: *mut usize,
        errors: *mut *mut c_char,
    ) {
        let db = &*db;
        let keys = || {
            let keys = array(families, count).iter().zip(buffers(k, klen, count));
            keys.map(|(cf, key)| (of(db, *cf), key)).collect()
        };
        for (at, result) in multi(db, options, count, keys).into_iter().enumerate() {
            give(at, result, values, lengths, errors);
        }
    }
);

unsafe fn batched<'a>(
    db: &rocksdb_t,
    options: *const rocksdb_readoptions_t,
    family: &ColumnFamily,
    count: usize,
    keys: impl FnOnce() -> Vec<&'a [u8]>,
    values: *mut *mut rocksdb_pinnableslice_t,
    errors: *mut *mut c_char,
) {
    let keys = || keys().into_iter().map(|key| (family, key)).collect();
    for (at, result) in multi(db, options, count, keys).into_iter().enumerate() {
        *values.add(at) = std::ptr::null_mut();
        *errors.add(at) = std::ptr::null_mut();
        match result {
            Ok(value) => *values.add(at) = boxed_pinned(value, rocksdb_pinnableslice_t),
            Err(error) => set_error(errors.add(at), &error),
        }
    }
}

api!(
    fn rocksdb_batched_multi_get_cf(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        cf: FamilyPtr,
        count: usize,
        k: *const *const c_char,
        klen: *const usize,
        values: *mut *mut rocksdb_pinnableslice_t,
        errors: *mut *mut c_char,
        _sorted: bool,
    ) {
        let db = &*db;
        let keys = || buffers(k, klen, count);
        batched(db, options, of(db, cf), count, keys, values, errors)
    }
);

api!(
    fn rocksdb_batched_multi_get_cf_slice(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        cf: FamilyPtr,
        count: usize,
        keys: *const rocksdb_slice_t,
        values: *mut *mut rocksdb_pinnableslice_t,
        errors: *mut *mut c_char,
        _sorted: bool,
    ) {
        let db = &*db;
        let keys = || {
            let keys = array(keys, count).iter();
            keys.map(|key| bytes(key.data, key.size)).collect()
        };
        batched(db, options, of(db, cf), count, keys, values, errors)
    }
);

unsafe fn may_exist(
    db: &rocksdb_t,
    options: *const rocksdb_readoptions_t,
    family: &ColumnFamily,
    key: &[u8],
    value: *mut *mut c_char,
    length: *mut usize,
    found: *mut u8,
) -> u8 {
    put_out(found, 0);
    match db
        .db
        .key_may_exist_cf_opt(family, key, &rocksdb_readoptions_t::of(options))
    {
        // The key is absent, which RocksDB reports as a found, empty value.
        Ok(KeyMayExist::No) => {
            if !value.is_null() && !found.is_null() {
                *value = copied(&[], length);
                *found = 1;
            }
            0
        }
        Ok(KeyMayExist::Yes(there)) => {
            if !value.is_null() {
                *value = copied(&there[..there.len().saturating_sub(db.suffix())], length);
                put_out(found, 1);
            }
            1
        }
        Ok(KeyMayExist::Maybe) | Err(_) => 1,
    }
}

api!(
    fn rocksdb_key_may_exist(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        k: *const c_char,
        klen: usize,
        value: *mut *mut c_char,
        length: *mut usize,
        _ts: *const c_char,
        _tslen: usize,
        found: *mut u8,
    ) -> u8 {
        let db = &*db;
        may_exist(db, options, &db.default, bytes(k, klen), value, length, found)
    }
);

api!(
    fn rocksdb_key_may_exist_cf(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        cf: FamilyPtr,
        k: *const c_char,
        klen: usize,
        value: *mut *mut c_char,
        length: *mut usize,
        _ts: *const c_char,
        _tslen: usize,
        found: *mut u8,
    ) -> u8 {
        let db = &*db;
        may_exist(db, options, of(db, cf), bytes(k, klen), value, length, found)
    }
);

/// The result for one key of a MultiGet whose values and errors have one owner. RocksDB has it since 11.9.
enum Outcome {
    NotFound,
    Found(PinnedValue),
    Failed(CString),
}

/// The states of [`rocksdb_pinnable_multi_get_result`], by the numbers of the header.
const NOT_FOUND: c_int = 0;
const FOUND: c_int = 1;
const ERROR: c_int = 2;
const OUT_OF_BOUNDS: c_int = 3;

/// `rocksdb_pinnable_multi_get_t`: the results in the order of the keys.
pub struct rocksdb_pinnable_multi_get_t(Vec<Outcome>);

api!(
    fn rocksdb_batched_multi_get_pinned_cf(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        cf: FamilyPtr,
        count: usize,
        keys: *const rocksdb_slice_t,
        _sorted: u8,
    ) -> *mut rocksdb_pinnable_multi_get_t {
        let db = &*db;
        let family = of(db, cf);
        let keys = || {
            let keys = array(keys, count).iter();
            keys.map(|key| (family, bytes(key.data, key.size))).collect()
        };
        let results = multi(db, options, count, keys).into_iter();
        let outcomes = results.map(|result| match result {
            Ok(None) => Outcome::NotFound,
            Ok(Some(value)) => Outcome::Found(value),
            Err(error) => {
                let text = error_text(&error).replace('\0', " ");
                Outcome::Failed(CString::new(text).unwrap_or_default())
            }
        });
        boxed(rocksdb_pinnable_multi_get_t(outcomes.collect()))
    }
);

api!(
    fn rocksdb_pinnable_multi_get_count(results: *const rocksdb_pinnable_multi_get_t) -> usize {
        results.as_ref().map_or(0, |results| results.0.len())
    }
);

api!(
    fn rocksdb_pinnable_multi_get_result(
        results: *const rocksdb_pinnable_multi_get_t,
        index: usize,
        value: *mut *const c_char,
        value_size: *mut usize,
        error: *mut *const c_char,
        error_size: *mut usize,
    ) -> c_int {
        for text in [value, error] {
            put_out(text, std::ptr::null());
        }
        for size in [value_size, error_size] {
            put_out(size, 0);
        }
        let outcome = results.as_ref().and_then(|results| results.0.get(index));
        match outcome {
            None => OUT_OF_BOUNDS,
            Some(Outcome::NotFound) => NOT_FOUND,
            Some(Outcome::Found(found)) => {
                put_out(value, borrowed(found, value_size));
                FOUND
            }
            Some(Outcome::Failed(text)) => {
                put_out(error, borrowed(text.to_bytes(), error_size));
                ERROR
            }
        }
    }
);

//! Properties, sizes of ranges, and the identity of a database.

use std::ffi::{c_char, c_int};

use esker::{ColumnFamily, Result, SizeApproximationOptions};

use crate::db::rocksdb_t;
use crate::family_handle::{FamilyPtr, family};
use crate::ffi::*;
use crate::generated::structs::rocksdb_size_approximation_options_t;

unsafe fn value(db: &rocksdb_t, family: &ColumnFamily, name: *const c_char) -> *mut c_char {
    let value = db.db.property(family, &string(name));
    value.map_or(std::ptr::null_mut(), |value| copied_string(value.as_bytes()))
}

unsafe fn number(db: &rocksdb_t, family: &ColumnFamily, name: *const c_char, out: *mut u64) -> c_int {
    match db.db.property_int(family, &string(name)) {
        Some(number) => {
            put_out(out, number);
            0
        }
        None => -1,
    }
}

api!(
    fn rocksdb_property_value(db: *mut rocksdb_t, name: *const c_char) -> *mut c_char {
        let db = &*db;
        value(db, &db.default, name)
    }
);

api!(
    fn rocksdb_property_value_cf(db: *mut rocksdb_t, cf: FamilyPtr, name: *const c_char) -> *mut c_char {
        let db = &*db;
        value(db, family(cf).unwrap_or(&db.default), name)
    }
);

api!(
    fn rocksdb_property_int(db: *mut rocksdb_t, name: *const c_char, out: *mut u64) -> c_int {
        let db = &*db;
        number(db, &db.default, name, out)
    }
);

api!(
    fn rocksdb_property_int_cf(
        db: *mut rocksdb_t,
        cf: FamilyPtr,
        name: *const c_char,
        out: *mut u64,
    ) -> c_int {
        let db = &*db;
        number(db, family(cf).unwrap_or(&db.default), name, out)
    }
);

/// Translates the options of an estimate of sizes; NULL means the defaults.
unsafe fn what(options: *const rocksdb_size_approximation_options_t) -> SizeApproximationOptions {
    let Some(options) = options.as_ref() else {
        return SizeApproximationOptions::default();
    };
    SizeApproximationOptions {
        include_memtables: options.fields.include_memtables != 0,
        include_files: options.fields.include_files != 0,
        include_blob_files: options.fields.include_blob_files != 0,
    }
}

/// Translates RocksDB's flags for an estimate of sizes: memtables, tables, blob files.
fn what_of_flags(flags: u8) -> SizeApproximationOptions {
    SizeApproximationOptions {
        include_memtables: flags & 1 != 0,
        include_files: flags & 2 != 0,
        include_blob_files: flags & 4 != 0,
    }
}

/// Returns the sizes of ranges in bytes.
unsafe fn sizes(
    db: &rocksdb_t,
    options: &SizeApproximationOptions,
    family: &ColumnFamily,
    count: c_int,
    from: (*const *const c_char, *const usize),
    to: (*const *const c_char, *const usize),
    out: *mut u64,
) -> Result<()> {
    let count = count.max(0) as usize;
    let (from, to) = (buffers(from.0, from.1, count), buffers(to.0, to.1, count));
    let ranges: Vec<(&[u8], &[u8])> = from.into_iter().zip(to).collect();
    for (at, size) in db
        .db
        .approximate_sizes_with(family, &ranges, options)?
        .into_iter()
        .enumerate()
    {
        *out.add(at) = size;
    }
    Ok(())
}

api!(
    fn rocksdb_approximate_sizes(
        db: *mut rocksdb_t,
        count: c_int,
        from: *const *const c_char,
        from_len: *const usize,
        to: *const *const c_char,
        to_len: *const usize,
        out: *mut u64,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            let (db, options) = (&*db, SizeApproximationOptions::default());
            sizes(
                db,
                &options,
                &db.default,
                count,
                (from, from_len),
                (to, to_len),
                out,
            )
        })
    }
);

api!(
    fn rocksdb_approximate_sizes_cf(
        db: *mut rocksdb_t,
        cf: FamilyPtr,
        count: c_int,
        from: *const *const c_char,
        from_len: *const usize,
        to: *const *const c_char,
        to_len: *const usize,
        out: *mut u64,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            let (db, options) = (&*db, SizeApproximationOptions::default());
            sizes(
                db,
                &options,
                family(cf).unwrap_or(&db.default),
                count,
                (from, from_len),
                (to, to_len),
                out,
            )
        })
    }
);

api!(
    fn rocksdb_approximate_sizes_with_options(
        db: *mut rocksdb_t,
        options: *const rocksdb_size_approximation_options_t,
        count: c_int,
        from: *const *const c_char,
        from_len: *const usize,
        to: *const *const c_char,
        to_len: *const usize,
        out: *mut u64,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            let (db, options) = (&*db, what(options));
            sizes(
                db,
                &options,
                &db.default,
                count,
                (from, from_len),
                (to, to_len),
                out,
            )
        })
    }
);

api!(
    fn rocksdb_approximate_sizes_cf_with_options(
        db: *mut rocksdb_t,
        cf: FamilyPtr,
        options: *const rocksdb_size_approximation_options_t,
        count: c_int,
        from: *const *const c_char,
        from_len: *const usize,
        to: *const *const c_char,
        to_len: *const usize,
        out: *mut u64,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            let (db, options) = (&*db, what(options));
            sizes(
                db,
                &options,
                family(cf).unwrap_or(&db.default),
                count,
                (from, from_len),
                (to, to_len),
                out,
            )
        })
    }
);

api!(
    fn rocksdb_approximate_sizes_cf_with_flags(
        db: *mut rocksdb_t,
        cf: FamilyPtr,
        count: c_int,
        from: *const *const c_char,
        from_len: *const usize,
        to: *const *const c_char,
        to_len: *const usize,
        flags: u8,
        out: *mut u64,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            let (db, options) = (&*db, what_of_flags(flags));
            sizes(
                db,
                &options,
                family(cf).unwrap_or(&db.default),
                count,
                (from, from_len),
                (to, to_len),
                out,
            )
        })
    }
);

api!(
    fn rocksdb_get_latest_sequence_number(db: *mut rocksdb_t) -> u64 {
        (*db).db.latest_sequence_number()
    }
);

api!(
    fn rocksdb_get_db_identity(db: *mut rocksdb_t, length: *mut usize) -> *mut c_char {
        copied((*db).db.identity().as_bytes(), length)
    }
);

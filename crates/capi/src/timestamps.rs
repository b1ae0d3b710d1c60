//! Reads that return timestamps, single deletions with them, and the time for which compactions keep history.

use std::ffi::c_char;

use esker::{ColumnFamily, PinnedValue, Result};

use crate::batch::{FamilyPtr, family, rocksdb_writebatch_t};
use crate::db::rocksdb_t;
use crate::ffi::*;
use crate::generated::fields::CompactoptionsFields;
use crate::read_options::rocksdb_readoptions_t;

/// `rocksdb_compactoptions_t`.
#[derive(Clone, Default)]
pub struct rocksdb_compactoptions_t {
    pub fields: CompactoptionsFields,
    pub full_history_ts_low: Option<Vec<u8>>,
}

api!(
    fn rocksdb_compactoptions_create() -> *mut rocksdb_compactoptions_t {
        boxed(rocksdb_compactoptions_t::default())
    }
);

api!(
    fn rocksdb_compactoptions_destroy(options: *mut rocksdb_compactoptions_t) {
        free_box(options)
    }
);

api!(
    fn rocksdb_compactoptions_set_full_history_ts_low(
        options: *mut rocksdb_compactoptions_t,
        ts: *mut c_char,
        tslen: usize,
    ) {
        (*options).full_history_ts_low = (!ts.is_null()).then(|| bytes(ts, tslen).to_vec());
    }
);

/// Returns the value of a key and its timestamp, which both belong to the caller.
unsafe fn give(
    found: Result<Option<(PinnedValue, Vec<u8>)>>,
    length: *mut usize,
    ts: *mut *mut c_char,
    tslen: *mut usize,
    errptr: *mut *mut c_char,
) -> *mut c_char {
    nothing(length);
    nothing(tslen);
    fallible(errptr, || {
        Ok(match found? {
            Some((value, timestamp)) => {
                if !ts.is_null() {
                    *ts = copied(&timestamp, tslen);
                }
                copied(&value, length)
            }
            None => std::ptr::null_mut(),
        })
    })
}

api!(
    fn rocksdb_get_with_ts(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        k: *const c_char,
        klen: usize,
        length: *mut usize,
        ts: *mut *mut c_char,
        tslen: *mut usize,
        errptr: *mut *mut c_char,
    ) -> *mut c_char {
        let options = rocksdb_readoptions_t::of(options);
        let found = (*db)
            .db
            .get_with_timestamp(&options, &(*db).default, bytes(k, klen));
        give(found, length, ts, tslen, errptr)
    }
);

api!(
    fn rocksdb_get_cf_with_ts(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        cf: FamilyPtr,
        k: *const c_char,
        klen: usize,
        length: *mut usize,
        ts: *mut *mut c_char,
        tslen: *mut usize,
        errptr: *mut *mut c_char,
    ) -> *mut c_char {
        let options = rocksdb_readoptions_t::of(options);
        let family = family(cf).unwrap_or(&(*db).default);
        let found = (*db).db.get_with_timestamp(&options, family, bytes(k, klen));
        give(found, length, ts, tslen, errptr)
    }
);

/// The results of a MultiGet: arrays with an element for each key.
struct Places {
    values: *mut *mut c_char,
    lengths: *mut usize,
    timestamps: *mut *mut c_char,
    timestamp_lengths: *mut usize,
    errors: *mut *mut c_char,
}

/// Reads many keys from one state.
///
/// # Safety
/// The arrays have an element for each key.
unsafe fn multi(
    db: &rocksdb_t,
    options: *const rocksdb_readoptions_t,
    keys: &[(&ColumnFamily, &[u8])],
    places: &Places,
) {
    let mut options = rocksdb_readoptions_t::of(options);
    if options.snapshot.is_none() {
        options.snapshot = Some(db.db.snapshot());
    }
    for (at, (family, key)) in keys.iter().enumerate() {
        let found = db.db.get_with_timestamp(&options, family, key);
        *places.timestamps.add(at) = std::ptr::null_mut();
        *places.errors.add(at) = std::ptr::null_mut();
        *places.values.add(at) = give(
            found,
            places.lengths.add(at),
            places.timestamps.add(at),
            places.timestamp_lengths.add(at),
            places.errors.add(at),
        );
    }
}

api!(
    fn rocksdb_multi_get_with_ts(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        count: usize,
        k: *const *const c_char,
        klen: *const usize,
        values: *mut *mut c_char,
        lengths: *mut usize,
        timestamps: *mut *mut c_char,
        timestamp_lengths: *mut usize,
        errors: *mut *mut c_char,
    ) {
        let db = &*db;
        let keys = buffers(k, klen, count).into_iter();
        let keys: Vec<(&ColumnFamily, &[u8])> = keys.map(|key| (&db.default, key)).collect();
        let places = Places {
            values,
            lengths,
            timestamps,
            timestamp_lengths,
            errors,
        };
        multi(db, options, &keys, &places)
    }
);

api!(
    fn rocksdb_multi_get_cf_with_ts(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        families: *const FamilyPtr,
        count: usize,
        k: *const *const c_char,
        klen: *const usize,
        values: *mut *mut c_char,
        lengths: *mut usize,
        timestamps: *mut *mut c_char,
        timestamp_lengths: *mut usize,
        errors: *mut *mut c_char,
    ) {
        let db = &*db;
        let families = array(families, count).iter();
        let families = families.map(|cf| family(*cf).unwrap_or(&db.default));
        let keys: Vec<(&ColumnFamily, &[u8])> = families.zip(buffers(k, klen, count)).collect();
        let places = Places {
            values,
            lengths,
            timestamps,
            timestamp_lengths,
            errors,
        };
        multi(db, options, &keys, &places)
    }
);

api!(
    fn rocksdb_writebatch_singledelete_cf_with_ts(
        b: *mut rocksdb_writebatch_t,
        cf: FamilyPtr,
        k: *const c_char,
        klen: usize,
        ts: *const c_char,
        tslen: usize,
    ) {
        if let Some(family) = family(cf) {
            (*b).batch.delete_at(family, bytes(k, klen), bytes(ts, tslen));
        }
    }
);

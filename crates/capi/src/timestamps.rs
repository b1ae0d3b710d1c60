//! Reads that return timestamps, single deletions with them, timestamps for all rows of a batch, and the time
//! for which compactions keep history.

use std::ffi::{c_char, c_int, c_void};

use esker::{ColumnFamily, Db, Error, PinnedValue, ReadOptions, Result};

use crate::batch::{add, rocksdb_writebatch_t};
use crate::batch_index::rocksdb_writebatch_wi_t;
use crate::db::{Families, check_all_named, give_handles, rocksdb_t, with_families};
use crate::family_handle::{FamilyPtr, family, rocksdb_column_family_handle_t};
use crate::ffi::*;
use crate::generated::fields::CompactoptionsFields;
use crate::options::rocksdb_options_t;
use crate::read_options::rocksdb_readoptions_t;

/// The C object `rocksdb_compactoptions_t`.
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

fn with_timestamp(
    db: &rocksdb_t,
    options: &ReadOptions,
    family: &ColumnFamily,
    key: &[u8],
) -> Result<Option<(PinnedValue, Vec<u8>)>> {
    db.check_no_ttl("a timestamp")?;
    db.db.get_with_timestamp(family, key, options)
}

/// Returns the value of a key and its timestamp, which both belong to the caller.
unsafe fn give(
    found: impl FnOnce() -> Result<Option<(PinnedValue, Vec<u8>)>>,
    length: *mut usize,
    ts: *mut *mut c_char,
    tslen: *mut usize,
    errptr: *mut *mut c_char,
) -> *mut c_char {
    nothing(length);
    nothing(tslen);
    fallible(errptr, || {
        Ok(match found()? {
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
        let db = &*db;
        let found = || with_timestamp(db, &options, &db.default, bytes(k, klen));
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
        let db = &*db;
        let family = family(cf).unwrap_or(&db.default);
        let found = || with_timestamp(db, &options, family, bytes(k, klen));
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
unsafe fn multi<'a>(
    db: &rocksdb_t,
    options: *const rocksdb_readoptions_t,
    count: usize,
    keys: impl FnOnce() -> Vec<(&'a ColumnFamily, &'a [u8])>,
    places: &Places,
) {
    let keys = attempt(|| Ok(keys()));
    // If no array can have `count` elements, the array for errors does not exist either, and no error is
    // written.
    let count = count * usize::from(count <= isize::MAX as usize / size_of::<usize>());
    let mut options = rocksdb_readoptions_t::of(options);
    if options.snapshot.is_none() {
        options.snapshot = Some(db.db.snapshot());
    }
    for at in 0..count {
        let found = || {
            let keys = keys.as_ref().map_err(Clone::clone)?;
            let (family, key) = keys[at];
            with_timestamp(db, &options, family, key)
        };
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
        let keys = || {
            let keys = buffers(k, klen, count).into_iter();
            keys.map(|key| (&db.default, key)).collect()
        };
        let places = Places {
            values,
            lengths,
            timestamps,
            timestamp_lengths,
            errors,
        };
        multi(db, options, count, keys, &places)
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
        let keys = || {
            let families = array(families, count).iter();
            let families = families.map(|cf| family(*cf).unwrap_or(&db.default));
            families.zip(buffers(k, klen, count)).collect()
        };
        let places = Places {
            values,
            lengths,
            timestamps,
            timestamp_lengths,
            errors,
        };
        multi(db, options, count, keys, &places)
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
            add(&mut *b, |b| {
                b.batch.delete_at(family, bytes(k, klen), bytes(ts, tslen))
            });
        }
    }
);

api!(
    fn rocksdb_open_and_trim_history(
        options: *const rocksdb_options_t,
        name: *const c_char,
        count: c_int,
        names: *const *const c_char,
        family_options: *const *const rocksdb_options_t,
        handles: *mut *mut rocksdb_column_family_handle_t,
        trim_ts: *mut c_char,
        trim_tslen: usize,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_t {
        let families = Families::new(count, names, family_options, handles);
        fallible(errptr, || {
            let (whole, list) = with_families(options, &families)?;
            let dir = path(name);
            // With `avoid_flush_during_recovery` the open fails before it looks at the families, so they are
            // not checked.
            if !whole.avoid_flush_during_recovery {
                check_all_named(&whole, &dir, &list)?;
            }
            let db = Db::open_and_trim_history(&whole, dir, bytes(trim_ts, trim_tslen))?;
            give_handles(&db, &list, handles)?;
            Ok(rocksdb_t::opened(db, &*options))
        })
    }
);

type SizeFn = unsafe extern "C" fn(*mut c_void, u32) -> usize;

/// The caller's function for the length of a family's timestamps.
struct Sizes {
    state: *mut c_void,
    size_of: SizeFn,
}

impl Sizes {
    fn of(state: *mut c_void, size_of: Option<SizeFn>) -> Result<Sizes> {
        let missing = || Error::invalid_argument("the sizes of timestamps are not given");
        Ok(Sizes {
            state,
            size_of: size_of.ok_or_else(missing)?,
        })
    }

    /// Returns the length of the timestamps of the family with that id.
    ///
    /// # Safety
    /// The caller passed the function for this state.
    unsafe fn of_family(&self, id: u32) -> Option<usize> {
        // The caller's function returns the maximum of `size_t` for a family that it does not know.
        Some((self.size_of)(self.state, id)).filter(|size| *size != usize::MAX)
    }
}

api!(
    fn rocksdb_writebatch_update_timestamps(
        b: *mut rocksdb_writebatch_t,
        ts: *const c_char,
        tslen: usize,
        state: *mut c_void,
        size_of: Option<SizeFn>,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            let sizes = Sizes::of(state, size_of)?;
            (*b).batch
                .update_timestamps(bytes(ts, tslen), |id| sizes.of_family(id))?;
            *(*b).unstamped() = false;
            Ok(())
        })
    }
);

api!(
    fn rocksdb_writebatch_wi_update_timestamps(
        b: *mut rocksdb_writebatch_wi_t,
        ts: *const c_char,
        tslen: usize,
        state: *mut c_void,
        size_of: Option<SizeFn>,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            let sizes = Sizes::of(state, size_of)?;
            (*b).index_mut()
                .update_timestamps(bytes(ts, tslen), |id| sizes.of_family(id))?;
            *(*b).unstamped() = false;
            Ok(())
        })
    }
);

//! `rocksdb_writebatch_wi_t`: a batch that supports reads.

use std::borrow::Cow;
use std::ffi::{c_char, c_int, c_void};

use esker::{BatchValue, ColumnFamily, Error, ErrorKind, PinnedValue, Result, WriteBatchWithIndex};

use crate::batch::{
    Refusing, Rows, Stamping, Visitor, add, joined, no_timestamps, row_functions, rows, with_room,
};
use crate::comparator::rocksdb_comparator_t;
use crate::db::rocksdb_t;
use crate::family_handle::{FamilyPtr, family};
use crate::ffi::*;
use crate::iterator::rocksdb_iterator_t;
use crate::options::rocksdb_options_t;
use crate::pinned::{boxed_pinned, rocksdb_pinnableslice_t};
use crate::read_options::rocksdb_readoptions_t;

/// `rocksdb_writebatch_wi_t`: only a pointer, because `rocksdb_free` releases the object that a transaction
/// returns, as in RocksDB.
pub struct rocksdb_writebatch_wi_t {
    index: *mut WriteBatchWithIndex,
    /// True if the batch is the caller's; otherwise it is the transaction's.
    owned: bool,
    /// True if a row was refused: the batch is not written.
    refused: bool,
    /// True if rows of families with timestamps do not have their timestamps yet.
    unstamped: bool,
}

impl rocksdb_writebatch_wi_t {
    /// Returns an object for the batch of a transaction, which outlives the object. `rocksdb_free` releases
    /// the object.
    pub fn lent(index: &mut WriteBatchWithIndex) -> *mut rocksdb_writebatch_wi_t {
        malloced(rocksdb_writebatch_wi_t {
            index,
            owned: false,
            refused: false,
            unstamped: false,
        })
    }

    /// Returns the batch.
    pub fn index(&self) -> &WriteBatchWithIndex {
        // SAFETY: the batch is the object's own until the object is destroyed, or the transaction's, which
        // exists while the caller uses the object.
        unsafe { &*self.index }
    }

    /// Reports the error of a row that was refused, and keeps the batch from being written.
    pub fn keep_refusal(&mut self, error: &Error) {
        complain(&format!("rocksdb_writebatch_wi_t: {}", error_text(error)));
        self.refused = true;
    }

    /// Returns the batch, for a write.
    pub fn whole(&mut self) -> Result<&mut WriteBatchWithIndex> {
        if self.refused {
            return Err(Error::invalid_argument("a row of the batch was refused"));
        }
        match self.unstamped {
            true => Err(no_timestamps()),
            false => Ok(self.index_mut()),
        }
    }

    /// Returns whether rows wait for their timestamps.
    pub fn unstamped(&mut self) -> &mut bool {
        &mut self.unstamped
    }

    /// Returns the batch, for additions.
    pub fn index_mut(&mut self) -> &mut WriteBatchWithIndex {
        // SAFETY: the batch belongs to this object until it is destroyed, or to the transaction, which
        // exists while the caller uses the object.
        unsafe { &mut *self.index }
    }
}

impl Stamping for rocksdb_writebatch_wi_t {
    #[inline]
    fn stamped<'a>(&mut self, family: &ColumnFamily, key: &'a [u8]) -> Cow<'a, [u8]> {
        with_room(family, key, self.unstamped())
    }
}

rows!(rocksdb_writebatch_wi_t, index_mut());

impl Refusing for rocksdb_writebatch_wi_t {
    fn refuse(&mut self, error: Error) {
        self.keep_refusal(&error);
    }
}

row_functions! { rocksdb_writebatch_wi_t;
    fn rocksdb_writebatch_wi_put => pair put;
    fn rocksdb_writebatch_wi_put_cf => pair_cf put;
    fn rocksdb_writebatch_wi_putv => parts put;
    fn rocksdb_writebatch_wi_putv_cf => parts_cf put;
    fn rocksdb_writebatch_wi_merge => pair merge;
    fn rocksdb_writebatch_wi_merge_cf => pair_cf merge;
    fn rocksdb_writebatch_wi_mergev => parts merge;
    fn rocksdb_writebatch_wi_mergev_cf => parts_cf merge;
    fn rocksdb_writebatch_wi_delete => key delete;
    fn rocksdb_writebatch_wi_delete_cf => key_cf delete;
    fn rocksdb_writebatch_wi_deletev => key_parts;
    fn rocksdb_writebatch_wi_deletev_cf => key_parts_cf;
    fn rocksdb_writebatch_wi_singledelete => key single_delete;
    fn rocksdb_writebatch_wi_singledelete_cf => key_cf single_delete;
    fn rocksdb_writebatch_wi_delete_range => pair delete_range;
    fn rocksdb_writebatch_wi_delete_range_cf => pair_cf delete_range;
    fn rocksdb_writebatch_wi_delete_rangev => range_parts;
    fn rocksdb_writebatch_wi_delete_rangev_cf => range_parts_cf;
    fn rocksdb_writebatch_wi_put_log_data => blob;
}

fn owned(index: WriteBatchWithIndex) -> *mut rocksdb_writebatch_wi_t {
    malloced(rocksdb_writebatch_wi_t {
        index: boxed(index),
        owned: true,
        refused: false,
        unstamped: false,
    })
}

api!(
    fn rocksdb_writebatch_wi_destroy(b: *mut rocksdb_writebatch_wi_t) {
        let Some(batch) = b.as_ref() else {
            return;
        };
        if batch.owned {
            free_box(batch.index);
        }
        libc::free(b.cast());
    }
);

// The C interface shows no single entries of the index: reads have the same results in either mode.
api!(
    fn rocksdb_writebatch_wi_create(_reserved: usize, overwrite: u8) -> *mut rocksdb_writebatch_wi_t {
        let mut index = WriteBatchWithIndex::new();
        index.set_overwrite_key(overwrite != 0);
        owned(index)
    }
);

api!(
    fn rocksdb_writebatch_wi_create_with_params(
        comparator: *mut rocksdb_comparator_t,
        _reserved: usize,
        overwrite: u8,
        max_bytes: usize,
        _protection: usize,
    ) -> *mut rocksdb_writebatch_wi_t {
        let mut index = comparator
            .as_ref()
            .map_or_else(WriteBatchWithIndex::new, |order| {
                WriteBatchWithIndex::with_comparator(order.0.user())
            });
        index.set_max_bytes(max_bytes);
        index.set_overwrite_key(overwrite != 0);
        owned(index)
    }
);

api!(
    fn rocksdb_writebatch_wi_clear(b: *mut rocksdb_writebatch_wi_t) {
        (*b).index_mut().clear();
        (*b).refused = false;
        (*b).unstamped = false;
    }
);

api!(
    fn rocksdb_writebatch_wi_count(b: *mut rocksdb_writebatch_wi_t) -> c_int {
        (*b).index().count() as c_int
    }
);

api!(
    fn rocksdb_writebatch_wi_data(b: *mut rocksdb_writebatch_wi_t, size: *mut usize) -> *const c_char {
        borrowed((*b).index().write_batch().data(), size)
    }
);

api!(
    fn rocksdb_writebatch_wi_iterate(
        b: *mut rocksdb_writebatch_wi_t,
        state: *mut c_void,
        put: Option<unsafe extern "C" fn(*mut c_void, *const c_char, usize, *const c_char, usize)>,
        deleted: Option<unsafe extern "C" fn(*mut c_void, *const c_char, usize)>,
    ) {
        Visitor {
            state,
            put,
            deleted,
            log_data: None,
        }
        .walk((*b).index().write_batch())
    }
);

api!(
    fn rocksdb_writebatch_wi_set_save_point(b: *mut rocksdb_writebatch_wi_t) {
        (*b).index_mut().set_save_point();
    }
);

api!(
    fn rocksdb_writebatch_wi_rollback_to_save_point(
        b: *mut rocksdb_writebatch_wi_t,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || (*b).index_mut().rollback_to_save_point())
    }
);

unsafe fn get_from_batch(
    b: *mut rocksdb_writebatch_wi_t,
    options: *const rocksdb_options_t,
    cf: FamilyPtr,
    key: Buffer,
    length: *mut usize,
    errptr: *mut *mut c_char,
) -> *mut c_char {
    put_out(length, 0);
    fallible(errptr, || {
        let operator = options
            .as_ref()
            .and_then(|options| options.merge_operator.clone());
        match (*b)
            .index()
            .get_from_batch(family(cf), key.bytes(), operator.as_deref())?
        {
            BatchValue::Value(value) => Ok(copied(&value, length)),
            BatchValue::Deleted | BatchValue::Absent => Ok(std::ptr::null_mut()),
            BatchValue::MergeInProgress => Err(Error::new(
                ErrorKind::Incomplete,
                "merge without a base in the batch",
            )),
        }
    })
}

api!(
    fn rocksdb_writebatch_wi_get_from_batch(
        b: *mut rocksdb_writebatch_wi_t,
        options: *const rocksdb_options_t,
        k: *const c_char,
        klen: usize,
        length: *mut usize,
        errptr: *mut *mut c_char,
    ) -> *mut c_char {
        get_from_batch(b, options, std::ptr::null_mut(), Buffer(k, klen), length, errptr)
    }
);

api!(
    fn rocksdb_writebatch_wi_get_from_batch_cf(
        b: *mut rocksdb_writebatch_wi_t,
        options: *const rocksdb_options_t,
        cf: FamilyPtr,
        k: *const c_char,
        klen: usize,
        length: *mut usize,
        errptr: *mut *mut c_char,
    ) -> *mut c_char {
        get_from_batch(b, options, cf, Buffer(k, klen), length, errptr)
    }
);

unsafe fn get_over(
    b: *mut rocksdb_writebatch_wi_t,
    db: *mut rocksdb_t,
    options: *const rocksdb_readoptions_t,
    cf: FamilyPtr,
    key: Buffer,
) -> Result<Option<PinnedValue>> {
    let db = &*db;
    db.check_no_ttl("a read over a batch")?;
    let family = family(cf).unwrap_or(&db.default);
    (*b).index()
        .get_from_batch_and_db(&db.db, family, key.bytes(), &rocksdb_readoptions_t::of(options))
}

unsafe fn copied_over(
    b: *mut rocksdb_writebatch_wi_t,
    db: *mut rocksdb_t,
    options: *const rocksdb_readoptions_t,
    cf: FamilyPtr,
    key: Buffer,
    length: *mut usize,
    errptr: *mut *mut c_char,
) -> *mut c_char {
    put_out(length, 0);
    fallible(errptr, || {
        let value = get_over(b, db, options, cf, key)?;
        Ok(value.map_or(std::ptr::null_mut(), |value| copied(&value, length)))
    })
}

unsafe fn pinned_over(
    b: *mut rocksdb_writebatch_wi_t,
    db: *mut rocksdb_t,
    options: *const rocksdb_readoptions_t,
    cf: FamilyPtr,
    key: Buffer,
    errptr: *mut *mut c_char,
) -> *mut rocksdb_pinnableslice_t {
    fallible(errptr, || {
        let value = get_over(b, db, options, cf, key)?;
        Ok(boxed_pinned(value, rocksdb_pinnableslice_t))
    })
}

api!(
    fn rocksdb_writebatch_wi_get_from_batch_and_db(
        b: *mut rocksdb_writebatch_wi_t,
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        k: *const c_char,
        klen: usize,
        length: *mut usize,
        errptr: *mut *mut c_char,
    ) -> *mut c_char {
        copied_over(
            b,
            db,
            options,
            std::ptr::null_mut(),
            Buffer(k, klen),
            length,
            errptr,
        )
    }
);

api!(
    fn rocksdb_writebatch_wi_get_from_batch_and_db_cf(
        b: *mut rocksdb_writebatch_wi_t,
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        cf: FamilyPtr,
        k: *const c_char,
        klen: usize,
        length: *mut usize,
        errptr: *mut *mut c_char,
    ) -> *mut c_char {
        copied_over(b, db, options, cf, Buffer(k, klen), length, errptr)
    }
);

api!(
    fn rocksdb_writebatch_wi_get_pinned_from_batch_and_db(
        b: *mut rocksdb_writebatch_wi_t,
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        k: *const c_char,
        klen: usize,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_pinnableslice_t {
        pinned_over(b, db, options, std::ptr::null_mut(), Buffer(k, klen), errptr)
    }
);

api!(
    fn rocksdb_writebatch_wi_get_pinned_from_batch_and_db_cf(
        b: *mut rocksdb_writebatch_wi_t,
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        cf: FamilyPtr,
        k: *const c_char,
        klen: usize,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_pinnableslice_t {
        pinned_over(b, db, options, cf, Buffer(k, klen), errptr)
    }
);

/// Takes over the iterator over the database, and returns one over the batch and the database. `options`
/// restrict the batch's rows; the default is the options of the base iterator.
unsafe fn over_base(
    b: *mut rocksdb_writebatch_wi_t,
    base: *mut rocksdb_iterator_t,
    cf: FamilyPtr,
    options: *const rocksdb_readoptions_t,
) -> *mut rocksdb_iterator_t {
    let Some(base) = taken(base) else {
        return std::ptr::null_mut();
    };
    boxed(base.over_batch((*b).index(), family(cf), options.as_ref()))
}

api!(
    fn rocksdb_writebatch_wi_create_iterator_with_base(
        b: *mut rocksdb_writebatch_wi_t,
        base: *mut rocksdb_iterator_t,
    ) -> *mut rocksdb_iterator_t {
        over_base(b, base, std::ptr::null_mut(), std::ptr::null())
    }
);

api!(
    fn rocksdb_writebatch_wi_create_iterator_with_base_cf(
        b: *mut rocksdb_writebatch_wi_t,
        base: *mut rocksdb_iterator_t,
        cf: FamilyPtr,
    ) -> *mut rocksdb_iterator_t {
        over_base(b, base, cf, std::ptr::null())
    }
);

api!(
    fn rocksdb_writebatch_wi_create_iterator_with_base_readopts(
        b: *mut rocksdb_writebatch_wi_t,
        base: *mut rocksdb_iterator_t,
        options: *const rocksdb_readoptions_t,
    ) -> *mut rocksdb_iterator_t {
        over_base(b, base, std::ptr::null_mut(), options)
    }
);

api!(
    fn rocksdb_writebatch_wi_create_iterator_with_base_cf_readopts(
        b: *mut rocksdb_writebatch_wi_t,
        base: *mut rocksdb_iterator_t,
        cf: FamilyPtr,
        options: *const rocksdb_readoptions_t,
    ) -> *mut rocksdb_iterator_t {
        over_base(b, base, cf, options)
    }
);

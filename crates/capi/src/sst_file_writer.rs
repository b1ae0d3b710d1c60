//! `rocksdb_sstfilewriter_t`: writes tables outside of a database. It can be opened again after it has
//! finished a file.

use std::ffi::c_char;

use esker::SstFileWriter;

use crate::comparator::rocksdb_comparator_t;
use crate::ffi::*;
use crate::generated::fields::EnvoptionsFields;
use crate::options::rocksdb_options_t;
use crate::rate_limiter::rocksdb_ratelimiter_t;

/// The C object `rocksdb_envoptions_t`.
#[derive(Clone, Default)]
pub struct rocksdb_envoptions_t {
    pub fields: EnvoptionsFields,
}

/// The C object `rocksdb_sstfilewriter_t`.
pub struct rocksdb_sstfilewriter_t {
    writer: SstFileWriter,
    /// The size of the last finished file.
    finished: u64,
}

api!(
    fn rocksdb_envoptions_create() -> *mut rocksdb_envoptions_t {
        boxed(rocksdb_envoptions_t::default())
    }
);

// The call has no effect: the rate limiter in the options of a writer of tables limits the writer.
api!(
    fn rocksdb_envoptions_set_rate_limiter(
        _options: *mut rocksdb_envoptions_t,
        _limiter: *mut rocksdb_ratelimiter_t,
    ) {
    }
);

unsafe fn create(
    options: *const rocksdb_options_t,
    comparator: Option<&rocksdb_comparator_t>,
) -> *mut rocksdb_sstfilewriter_t {
    match (*options).database() {
        Ok(mut options) => {
            if let Some(comparator) = comparator {
                options.column_family.comparator = comparator.0.user();
            }
            boxed(rocksdb_sstfilewriter_t {
                writer: SstFileWriter::new(&options),
                finished: 0,
            })
        }
        Err(error) => {
            complain(&format!("rocksdb_sstfilewriter_create: {}", error_text(&error)));
            std::ptr::null_mut()
        }
    }
}

api!(
    fn rocksdb_sstfilewriter_create(
        _env: *const rocksdb_envoptions_t,
        options: *const rocksdb_options_t,
    ) -> *mut rocksdb_sstfilewriter_t {
        create(options, None)
    }
);

api!(
    fn rocksdb_sstfilewriter_create_with_comparator(
        _env: *const rocksdb_envoptions_t,
        options: *const rocksdb_options_t,
        comparator: *const rocksdb_comparator_t,
    ) -> *mut rocksdb_sstfilewriter_t {
        create(options, comparator.as_ref())
    }
);

api!(
    fn rocksdb_sstfilewriter_open(
        writer: *mut rocksdb_sstfilewriter_t,
        name: *const c_char,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || (*writer).writer.open(path(name)))
    }
);

/// Defines functions that add an entry.
macro_rules! entry_functions {
    ($(fn $name:ident => $shape:ident $method:ident;)+) => {
        $( entry_functions!(@$shape $name, $method); )+
    };
    (@pair $name:ident, $method:ident) => {
        api!(fn $name(
            writer: *mut rocksdb_sstfilewriter_t,
            k: *const c_char, klen: usize, v: *const c_char, vlen: usize, errptr: *mut *mut c_char,
        ) {
            fallible(errptr, || (*writer).writer.$method(bytes(k, klen), bytes(v, vlen)))
        });
    };
    (@key $name:ident, $method:ident) => {
        api!(fn $name(
            writer: *mut rocksdb_sstfilewriter_t, k: *const c_char, klen: usize, errptr: *mut *mut c_char,
        ) {
            fallible(errptr, || (*writer).writer.$method(bytes(k, klen)))
        });
    };
}

entry_functions! {
    fn rocksdb_sstfilewriter_add => pair put;
    fn rocksdb_sstfilewriter_put => pair put;
    fn rocksdb_sstfilewriter_merge => pair merge;
    fn rocksdb_sstfilewriter_delete_range => pair delete_range;
    fn rocksdb_sstfilewriter_delete => key delete;
}

// Keys of families with timestamps end with their timestamps.
api!(
    fn rocksdb_sstfilewriter_put_with_ts(
        writer: *mut rocksdb_sstfilewriter_t,
        k: *const c_char,
        klen: usize,
        ts: *const c_char,
        tslen: usize,
        v: *const c_char,
        vlen: usize,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            (*writer)
                .writer
                .put([bytes(k, klen), bytes(ts, tslen)].concat(), bytes(v, vlen))
        })
    }
);

api!(
    fn rocksdb_sstfilewriter_delete_with_ts(
        writer: *mut rocksdb_sstfilewriter_t,
        k: *const c_char,
        klen: usize,
        ts: *const c_char,
        tslen: usize,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            (*writer)
                .writer
                .delete([bytes(k, klen), bytes(ts, tslen)].concat())
        })
    }
);

api!(
    fn rocksdb_sstfilewriter_finish(writer: *mut rocksdb_sstfilewriter_t, errptr: *mut *mut c_char) {
        fallible(errptr, || {
            (*writer).finished = (*writer).writer.finish()?.file_size;
            Ok(())
        })
    }
);

api!(
    fn rocksdb_sstfilewriter_file_size(writer: *mut rocksdb_sstfilewriter_t, size: *mut u64) {
        let open = (*writer).writer.file_size();
        // As in RocksDB, the size of a finished file stays readable.
        put_out(size, if open == 0 { (*writer).finished } else { open });
    }
);

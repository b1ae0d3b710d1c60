//! The worker of a compaction service.

use std::ffi::c_char;

use esker::{Db, Error, OpenAndCompactOptions};

use crate::compaction_service_options::rocksdb_compaction_service_options_override_t;
use crate::ffi::*;
use crate::remote_compaction::rocksdb_open_and_compact_options_t;

/// The arguments of a worker, besides its options.
#[derive(Clone, Copy)]
struct Job {
    db_path: *const c_char,
    output_directory: *const c_char,
    input: *const c_char,
    input_len: usize,
    own: *const rocksdb_compaction_service_options_override_t,
}

impl Job {
    /// Runs the job, and returns the result with its length at `length`.
    ///
    /// # Safety
    /// Each pointer is NULL or valid as `rocksdb/c.h` requires.
    unsafe fn run(self, options: &OpenAndCompactOptions, length: *mut usize) -> esker::Result<*mut c_char> {
        let has_all = [self.db_path, self.output_directory, self.input]
            .iter()
            .all(|given| !given.is_null());
        let own = self.own.as_ref().filter(|_| has_all);
        let own = own.ok_or_else(|| Error::invalid_argument("Invalid arguments"))?;
        let result = Db::open_and_compact(
            options,
            path(self.db_path),
            path(self.output_directory),
            bytes(self.input, self.input_len),
            &own.engine()?,
        )?;
        Ok(copied(&result, length))
    }
}

api!(
    fn rocksdb_open_and_compact(
        db_path: *const c_char,
        output_directory: *const c_char,
        input: *const c_char,
        input_len: usize,
        output_len: *mut usize,
        override_options: *const rocksdb_compaction_service_options_override_t,
        errptr: *mut *mut c_char,
    ) -> *mut c_char {
        let job = Job {
            db_path,
            output_directory,
            input,
            input_len,
            own: override_options,
        };
        fallible(errptr, || job.run(&OpenAndCompactOptions::default(), output_len))
    }
);

api!(
    fn rocksdb_open_and_compact_with_options(
        options: *const rocksdb_open_and_compact_options_t,
        db_path: *const c_char,
        output_directory: *const c_char,
        input: *const c_char,
        input_len: usize,
        output_len: *mut usize,
        override_options: *const rocksdb_compaction_service_options_override_t,
        errptr: *mut *mut c_char,
    ) -> *mut c_char {
        let job = Job {
            db_path,
            output_directory,
            input,
            input_len,
            own: override_options,
        };
        fallible(errptr, || {
            let options = options
                .as_ref()
                .ok_or_else(|| Error::invalid_argument("Invalid arguments"))?;
            job.run(&options.engine(), output_len)
        })
    }
);

//! Objects of remote compaction. There is no compaction by others: a service that is set is refused when a database is opened.

use std::ffi::{c_char, c_int};

use esker::Error;

use crate::ffi::*;

/// `rocksdb_compactionservice_scheduleresponse_t`.
pub struct rocksdb_compactionservice_scheduleresponse_t {
    job: Vec<u8>,
    status: c_int,
}

/// Statuses of a job: success, failure, aborted, use local.
const STATUSES: std::ops::RangeInclusive<c_int> = 0..=3;

fn response(job: Vec<u8>, status: c_int) -> esker::Result<*mut rocksdb_compactionservice_scheduleresponse_t> {
    if !STATUSES.contains(&status) {
        return Err(Error::invalid_argument("Invalid compaction service job status"));
    }
    Ok(boxed(rocksdb_compactionservice_scheduleresponse_t {
        job,
        status,
    }))
}

api!(
    fn rocksdb_compactionservice_scheduleresponse_create(
        job: *const c_char,
        status: c_int,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_compactionservice_scheduleresponse_t {
        fallible(errptr, || response(string(job).into_bytes(), status))
    }
);

api!(
    fn rocksdb_compactionservice_scheduleresponse_create_with_status(
        status: c_int,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_compactionservice_scheduleresponse_t {
        fallible(errptr, || response(Vec::new(), status))
    }
);

api!(
    fn rocksdb_compactionservice_scheduleresponse_getstatus(
        response: *const rocksdb_compactionservice_scheduleresponse_t,
    ) -> c_int {
        (*response).status
    }
);

api!(
    fn rocksdb_compactionservice_scheduleresponse_get_scheduled_job_id(
        response: *const rocksdb_compactionservice_scheduleresponse_t,
        length: *mut usize,
    ) -> *const c_char {
        borrowed(&(*response).job, length)
    }
);

api!(
    fn rocksdb_compactionservice_scheduleresponse_t_destroy(
        response: *mut rocksdb_compactionservice_scheduleresponse_t,
    ) {
        free_box(response)
    }
);

/// A flag that any thread may set.
fn flag() -> *mut u8 {
    boxed(0)
}

/// Sets it.
///
/// # Safety
/// It was not destroyed.
unsafe fn set(flag: *mut u8, value: u8) {
    std::sync::atomic::AtomicU8::from_ptr(flag).store(value, std::sync::atomic::Ordering::Release);
}

api!(
    fn rocksdb_open_and_compact_canceled_create() -> *mut u8 {
        flag()
    }
);

api!(
    fn rocksdb_open_and_compact_canceled_set(canceled: *mut u8, value: u8) {
        set(canceled, value)
    }
);

api!(
    fn rocksdb_open_and_compact_canceled_destroy(canceled: *mut u8) {
        free_box(canceled)
    }
);

/// `rocksdb_open_and_compact_options_t`.
#[derive(Default)]
pub struct rocksdb_open_and_compact_options_t {
    pub fields: crate::generated::fields::OpenAndCompactOptionsFields,
    canceled: usize,
}

api!(
    fn rocksdb_open_and_compact_options_create() -> *mut rocksdb_open_and_compact_options_t {
        boxed(rocksdb_open_and_compact_options_t::default())
    }
);

api!(
    fn rocksdb_open_and_compact_options_set_canceled(
        options: *mut rocksdb_open_and_compact_options_t,
        canceled: *mut u8,
    ) {
        (*options).canceled = canceled as usize;
    }
);

api!(
    fn rocksdb_compaction_options_canceled_create() -> *mut u8 {
        flag()
    }
);

api!(
    fn rocksdb_compaction_options_canceled_set(canceled: *mut u8, value: u8) {
        set(canceled, value)
    }
);

api!(
    fn rocksdb_compaction_options_canceled_destroy(canceled: *mut u8) {
        free_box(canceled)
    }
);

//! Remote compaction: the service that sends compactions elsewhere, its objects, and the options of workers.

use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use esker::{
    CompactionService, CompactionServiceJobInfo, CompactionServiceJobStatus,
    CompactionServiceScheduleResponse, Error, OpenAndCompactOptions,
};

use crate::ffi::*;
use crate::generated::fields::CompactionserviceJobinfoFields;
use crate::generated::structs::rocksdb_compactionservice_jobinfo_t;
use crate::listener::compaction_reason_number;
use crate::options::rocksdb_options_t;

/// The C object `rocksdb_compactionservice_scheduleresponse_t`.
pub struct rocksdb_compactionservice_scheduleresponse_t {
    job: Vec<u8>,
    status: c_int,
}

/// The statuses of a job: success, failure, aborted, use local.
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

/// The object behind an `unsigned char*` that any thread may set by a function.
#[repr(C)]
#[derive(Default)]
struct Flag {
    /// The first byte of the object, which the caller reads through its `unsigned char*`.
    value: AtomicBool,
    /// The value of the flag as compactions read it, kept alive as long as one of them needs it.
    shared: Arc<AtomicBool>,
}

/// Creates a flag.
fn flag() -> *mut u8 {
    boxed(Flag::default()).cast()
}

/// Sets the flag.
///
/// # Safety
/// The flag was not destroyed.
unsafe fn set(flag: *mut u8, value: u8) {
    if let Some(flag) = flag.cast::<Flag>().as_ref() {
        flag.value.store(value != 0, Ordering::Release);
        flag.shared.store(value != 0, Ordering::Release);
    }
}

/// Returns the flag whose address is kept in options; `None` for NULL.
///
/// # Safety
/// The flag was not destroyed.
pub unsafe fn flag_at(address: usize) -> Option<Arc<AtomicBool>> {
    let flag = (address as *const Flag).as_ref()?;
    Some(flag.shared.clone())
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
        free_box(canceled.cast::<Flag>())
    }
);

/// The C object `rocksdb_open_and_compact_options_t`.
#[derive(Default)]
pub struct rocksdb_open_and_compact_options_t {
    pub fields: crate::generated::fields::OpenAndCompactOptionsFields,
    canceled: usize,
}

impl rocksdb_open_and_compact_options_t {
    /// Returns the engine's options.
    ///
    /// # Safety
    /// The flag in the options was not destroyed.
    pub unsafe fn engine(&self) -> OpenAndCompactOptions {
        OpenAndCompactOptions {
            canceled: flag_at(self.canceled),
            allow_resumption: self.fields.allow_resumption != 0,
        }
    }
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
        free_box(canceled.cast::<Flag>())
    }
);

type ScheduleFn = Option<
    unsafe extern "C" fn(
        *mut c_void,
        *const rocksdb_compactionservice_jobinfo_t,
        *const c_char,
        usize,
    ) -> *mut rocksdb_compactionservice_scheduleresponse_t,
>;
type WaitFn = Option<unsafe extern "C" fn(*mut c_void, *const c_char, *mut *mut c_char, *mut usize) -> c_int>;
type CancelFn = Option<unsafe extern "C" fn(*mut c_void)>;
type InstalledFn = Option<unsafe extern "C" fn(*mut c_void, *const c_char, c_int)>;

/// A compaction service of callbacks.
pub struct CallbackCompactionService {
    state: CallbackState,
    name: String,
    schedule: ScheduleFn,
    wait: WaitFn,
    cancel: CancelFn,
    installed: InstalledFn,
}

/// `rocksdb_compactionservice_t`. Options take it over.
pub type rocksdb_compactionservice_t = CallbackCompactionService;

/// Returns the status of a number; failure for unknown numbers.
fn status(number: c_int) -> CompactionServiceJobStatus {
    match number {
        0 => CompactionServiceJobStatus::Success,
        2 => CompactionServiceJobStatus::Aborted,
        3 => CompactionServiceJobStatus::UseLocal,
        _ => CompactionServiceJobStatus::Failure,
    }
}

fn status_number(status: CompactionServiceJobStatus) -> c_int {
    match status {
        CompactionServiceJobStatus::Success => 0,
        CompactionServiceJobStatus::Failure => 1,
        CompactionServiceJobStatus::Aborted => 2,
        CompactionServiceJobStatus::UseLocal => 3,
    }
}

fn answer(status: CompactionServiceJobStatus) -> CompactionServiceScheduleResponse {
    CompactionServiceScheduleResponse {
        scheduled_job_id: Vec::new(),
        status,
    }
}

impl CompactionService for CallbackCompactionService {
    fn name(&self) -> &str {
        &self.name
    }

    fn schedule(&self, info: &CompactionServiceJobInfo, input: &[u8]) -> CompactionServiceScheduleResponse {
        let Some(schedule) = self.schedule else {
            return answer(CompactionServiceJobStatus::UseLocal);
        };
        let info = rocksdb_compactionservice_jobinfo_t {
            fields: CompactionserviceJobinfoFields {
                db_name: info.db_name.clone().into_bytes(),
                db_id: info.db_id.clone().into_bytes(),
                db_session_id: info.db_session_id.clone().into_bytes(),
                cf_name: info.cf_name.clone().into_bytes(),
                cf_id: info.cf_id,
                job_id: info.job_id,
                // RocksDB's `Env::Priority::LOW`, the priority of its compactions.
                priority: 1,
                compaction_reason: compaction_reason_number(info.compaction_reason) as c_int,
                base_input_level: info.base_input_level as c_int,
                output_level: info.output_level as c_int,
                is_full_compaction: u8::from(info.is_full_compaction),
                is_manual_compaction: u8::from(info.is_manual_compaction),
                is_bottommost_level: u8::from(info.bottommost_level),
            },
        };
        // SAFETY: the arguments exist until the callback returns, which gives up the response.
        unsafe {
            let response = schedule(self.state.pointer, &info, input.as_ptr().cast(), input.len());
            let Some(response) = taken(response) else {
                return answer(CompactionServiceJobStatus::Failure);
            };
            CompactionServiceScheduleResponse {
                scheduled_job_id: response.job,
                status: status(response.status),
            }
        }
    }

    fn wait(&self, scheduled_job_id: &[u8]) -> (CompactionServiceJobStatus, Vec<u8>) {
        let Some(wait) = self.wait else {
            return (CompactionServiceJobStatus::UseLocal, Vec::new());
        };
        let id = CString::new(scheduled_job_id).unwrap_or_default();
        let (mut result, mut length) = (std::ptr::null_mut(), 0);
        // SAFETY: the arguments exist until the callback returns, which gives up the result, from malloc.
        unsafe {
            let ended = wait(self.state.pointer, id.as_ptr(), &mut result, &mut length);
            let copy = returned(result, length).unwrap_or_default().to_vec();
            libc::free(result.cast());
            (status(ended), copy)
        }
    }

    fn cancel_awaiting_jobs(&self) {
        if let Some(cancel) = self.cancel {
            // SAFETY: the caller passed the function for this state.
            unsafe { cancel(self.state.pointer) }
        }
    }

    fn on_installation(&self, scheduled_job_id: &[u8], status: CompactionServiceJobStatus) {
        if let Some(installed) = self.installed {
            let id = CString::new(scheduled_job_id).unwrap_or_default();
            // SAFETY: the id exists until the callback returns.
            unsafe { installed(self.state.pointer, id.as_ptr(), status_number(status)) }
        }
    }
}

api!(
    fn rocksdb_compactionservice_create(
        state: *mut c_void,
        destructor: Option<unsafe extern "C" fn(*mut c_void)>,
        schedule: ScheduleFn,
        name: *const c_char,
        wait: WaitFn,
        cancel_awaiting_jobs: CancelFn,
        on_installation: InstalledFn,
    ) -> *mut rocksdb_compactionservice_t {
        boxed(CallbackCompactionService {
            state: CallbackState::new(state, destructor),
            name: string(name),
            schedule,
            wait,
            cancel: cancel_awaiting_jobs,
            installed: on_installation,
        })
    }
);

api!(
    fn rocksdb_options_set_compaction_service(
        options: *mut rocksdb_options_t,
        service: *mut rocksdb_compactionservice_t,
    ) {
        if options.is_null() {
            return;
        }
        if let Some(service) = taken(service) {
            (*options).compaction_service = Some(Arc::from(service as Box<dyn CompactionService>));
        }
    }
);

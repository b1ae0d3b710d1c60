//! The C object `rocksdb_walfilter_t`.

use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::Arc;

use esker::{Error, Result, WalFilter, WalProcessingOption, WriteBatch};

use crate::batch::rocksdb_writebatch_t;
use crate::ffi::*;
use crate::options::rocksdb_options_t;

type MapFn = Option<
    unsafe extern "C" fn(
        *mut c_void,
        *const u32,
        *const u64,
        usize,
        *const *const c_char,
        *const usize,
        *const u32,
        usize,
    ),
>;
type FoundFn = Option<
    unsafe extern "C" fn(
        *mut c_void,
        u64,
        *const c_char,
        usize,
        *const rocksdb_writebatch_t,
        *mut rocksdb_writebatch_t,
        *mut u8,
    ) -> c_int,
>;

/// A WAL filter of callbacks.
pub struct CallbackWalFilter {
    state: CallbackState,
    map: MapFn,
    found: FoundFn,
    name: String,
}

impl WalFilter for CallbackWalFilter {
    fn name(&self) -> &str {
        &self.name
    }

    fn column_family_log_number_map(&self, log_numbers: &BTreeMap<u32, u64>, ids: &BTreeMap<String, u32>) {
        let Some(map) = self.map else {
            return;
        };
        let families: Vec<u32> = log_numbers.keys().copied().collect();
        let numbers: Vec<u64> = log_numbers.values().copied().collect();
        // The names end with NUL too.
        let texts: Vec<CString> = ids
            .keys()
            .map(|name| CString::new(name.as_str()).unwrap_or_default())
            .collect();
        let names: Vec<*const c_char> = texts.iter().map(|name| name.as_ptr()).collect();
        let lengths: Vec<usize> = texts.iter().map(|name| name.as_bytes().len()).collect();
        let of_names: Vec<u32> = ids.values().copied().collect();
        // SAFETY: the arrays have the stated lengths, and exist until the callback returns.
        unsafe {
            map(
                self.state.pointer,
                families.as_ptr(),
                numbers.as_ptr(),
                families.len(),
                names.as_ptr(),
                lengths.as_ptr(),
                of_names.as_ptr(),
                names.len(),
            );
        }
    }

    fn log_record_found(
        &self,
        log_number: u64,
        log_file_name: &str,
        batch: &WriteBatch,
    ) -> Result<WalProcessingOption> {
        let Some(found) = self.found else {
            return Ok(WalProcessingOption::ContinueProcessing);
        };
        let file = CString::new(log_file_name).unwrap_or_default();
        let (seen, mut new) = (
            rocksdb_writebatch_t::new(batch.clone()),
            rocksdb_writebatch_t::default(),
        );
        let mut changed = 0;
        // SAFETY: the objects exist until the callback returns.
        let answer = unsafe {
            found(
                self.state.pointer,
                log_number,
                file.as_ptr(),
                file.as_bytes().len(),
                &seen,
                &mut new,
                &mut changed,
            )
        };
        Ok(match answer {
            0 if changed != 0 => WalProcessingOption::ChangeBatch(new.whole()?),
            0 => WalProcessingOption::ContinueProcessing,
            1 => WalProcessingOption::IgnoreCurrentRecord,
            2 => WalProcessingOption::StopReplay,
            3 => WalProcessingOption::CorruptedRecord,
            _ => {
                return Err(Error::not_supported(format!(
                    "Unknown WalProcessingOption returned by Wal Filter : {}",
                    self.name
                )));
            }
        })
    }
}

/// `rocksdb_walfilter_t`. Options share it, so that it may be destroyed before them.
pub struct rocksdb_walfilter_t(Arc<CallbackWalFilter>);

api!(
    fn rocksdb_walfilter_create(
        state: *mut c_void,
        destructor: Option<unsafe extern "C" fn(*mut c_void)>,
        column_family_log_number_map: MapFn,
        log_record_found: FoundFn,
        name: Option<unsafe extern "C" fn(*mut c_void) -> *const c_char>,
    ) -> *mut rocksdb_walfilter_t {
        let name = name.map_or_else(String::new, |name| string(name(state)));
        boxed(rocksdb_walfilter_t(Arc::new(CallbackWalFilter {
            state: CallbackState::new(state, destructor),
            map: column_family_log_number_map,
            found: log_record_found,
            name,
        })))
    }
);

api!(
    fn rocksdb_walfilter_destroy(filter: *mut rocksdb_walfilter_t) {
        free_box(filter)
    }
);

api!(
    fn rocksdb_options_set_wal_filter(options: *mut rocksdb_options_t, filter: *mut rocksdb_walfilter_t) {
        (*options).wal_filter = filter
            .as_ref()
            .map(|filter| filter.0.clone() as Arc<dyn WalFilter>);
    }
);

api!(
    fn rocksdb_options_clear_wal_filter(options: *mut rocksdb_options_t) {
        (*options).wal_filter = None;
    }
);

//! `rocksdb_comparator_t`: an order of keys that the caller's functions define. By RocksDB's rule the caller
//! destroys it after every database that uses it is closed; here it lives until its last user is dropped.

use std::cmp::Ordering;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Arc;

use esker::{Comparator, UserComparator};

use crate::ffi::*;

type Compare = unsafe extern "C" fn(*mut c_void, *const c_char, usize, *const c_char, usize) -> c_int;
type CompareWithoutTs =
    unsafe extern "C" fn(*mut c_void, *const c_char, usize, u8, *const c_char, usize, u8) -> c_int;
type Name = unsafe extern "C" fn(*mut c_void) -> *const c_char;

/// The functions of a comparator.
pub struct CallbackComparator {
    state: CallbackState,
    name: String,
    compare: Compare,
    compare_without_timestamp: Option<CompareWithoutTs>,
    timestamp_size: usize,
}

/// The C object `rocksdb_comparator_t`.
pub struct rocksdb_comparator_t(pub Arc<CallbackComparator>);

impl CallbackComparator {
    /// Returns the comparator in the engine's form.
    pub fn user(self: &Arc<Self>) -> UserComparator {
        UserComparator::Custom(self.clone())
    }
}

impl Comparator for CallbackComparator {
    fn name(&self) -> &str {
        &self.name
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        // SAFETY: the caller passed the function for this state; it reads the bytes whose lengths it gets.
        unsafe {
            (self.compare)(
                self.state.pointer,
                a.as_ptr().cast(),
                a.len(),
                b.as_ptr().cast(),
                b.len(),
            )
        }
        .cmp(&0)
    }

    fn timestamp_size(&self) -> usize {
        self.timestamp_size
    }

    fn compare_without_timestamp(&self, a: &[u8], b: &[u8]) -> Ordering {
        let Some(compare) = self.compare_without_timestamp else {
            return self.compare(a, b);
        };
        let has_timestamp = u8::from(self.timestamp_size > 0);
        // SAFETY: the caller passed the function for this state; it reads the bytes whose lengths it gets.
        unsafe {
            compare(
                self.state.pointer,
                a.as_ptr().cast(),
                a.len(),
                has_timestamp,
                b.as_ptr().cast(),
                b.len(),
                has_timestamp,
            )
        }
        .cmp(&0)
    }
}

/// Returns the name that a callback returns.
///
/// # Safety
/// The caller passed the function for this state.
pub unsafe fn name_of(name: Option<Name>, state: *mut c_void) -> String {
    let Some(name) = name else {
        return String::new();
    };
    let text = name(state);
    if text.is_null() {
        return String::new();
    }
    CStr::from_ptr(text).to_string_lossy().into_owned()
}

unsafe extern "C" fn bytewise(
    _: *mut c_void,
    a: *const c_char,
    a_len: usize,
    b: *const c_char,
    b_len: usize,
) -> c_int {
    bytes(a, a_len).cmp(bytes(b, b_len)) as c_int
}

api!(
    fn rocksdb_comparator_create(
        state: *mut c_void,
        destructor: Option<unsafe extern "C" fn(*mut c_void)>,
        compare: Option<Compare>,
        name: Option<Name>,
    ) -> *mut rocksdb_comparator_t {
        boxed(rocksdb_comparator_t(Arc::new(CallbackComparator {
            name: name_of(name, state),
            state: CallbackState::new(state, destructor),
            compare: compare.unwrap_or(bytewise),
            compare_without_timestamp: None,
            timestamp_size: 0,
        })))
    }
);

api!(
    fn rocksdb_comparator_with_ts_create(
        state: *mut c_void,
        destructor: Option<unsafe extern "C" fn(*mut c_void)>,
        compare: Option<Compare>,
        // Timestamps are compared together with the keys that they end.
        _compare_timestamps: Option<Compare>,
        compare_without_timestamp: Option<CompareWithoutTs>,
        name: Option<Name>,
        timestamp_size: usize,
    ) -> *mut rocksdb_comparator_t {
        boxed(rocksdb_comparator_t(Arc::new(CallbackComparator {
            name: name_of(name, state),
            state: CallbackState::new(state, destructor),
            compare: compare.unwrap_or(bytewise),
            compare_without_timestamp,
            timestamp_size,
        })))
    }
);

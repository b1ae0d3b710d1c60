//! `rocksdb_mergeoperator_t`: merges by the caller's functions. Options take it over.

use std::ffi::{c_char, c_int, c_void};

use esker::MergeOperator;

use crate::comparator::name_of;
use crate::ffi::*;

type FullMerge = unsafe extern "C" fn(
    *mut c_void,
    *const c_char,
    usize,
    *const c_char,
    usize,
    *const *const c_char,
    *const usize,
    c_int,
    *mut u8,
    *mut usize,
) -> *mut c_char;
type PartialMerge = unsafe extern "C" fn(
    *mut c_void,
    *const c_char,
    usize,
    *const *const c_char,
    *const usize,
    c_int,
    *mut u8,
    *mut usize,
) -> *mut c_char;
type DeleteValue = unsafe extern "C" fn(*mut c_void, *const c_char, usize);
type Name = unsafe extern "C" fn(*mut c_void) -> *const c_char;

/// The functions of a merge operator.
pub struct CallbackMergeOperator {
    state: CallbackState,
    name: String,
    full_merge: Option<FullMerge>,
    partial_merge: Option<PartialMerge>,
    delete_value: Option<DeleteValue>,
}

/// The C object `rocksdb_mergeoperator_t`.
pub type rocksdb_mergeoperator_t = CallbackMergeOperator;

impl CallbackMergeOperator {
    /// Copies the returned value, and frees it by the caller's allocator.
    ///
    /// # Safety
    /// `value` is NULL or a buffer that one of the functions returned.
    unsafe fn take(&self, value: *mut c_char, length: usize, success: u8) -> Option<Vec<u8>> {
        let merged = match success {
            0 => None,
            _ => returned(value, length).map(<[u8]>::to_vec),
        };
        match self.delete_value {
            _ if value.is_null() => {}
            Some(delete) => delete(self.state.pointer, value, length),
            None => libc::free(value.cast()),
        }
        merged
    }
}

impl MergeOperator for CallbackMergeOperator {
    fn name(&self) -> &str {
        &self.name
    }

    fn full_merge(&self, key: &[u8], existing: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        let merge = self.full_merge?;
        let data: Vec<*const c_char> = operands.iter().map(|operand| operand.as_ptr().cast()).collect();
        let lengths: Vec<usize> = operands.iter().map(|operand| operand.len()).collect();
        let (mut success, mut length) = (0, 0);
        // SAFETY: the caller passed the function for this state; all buffers have their lengths.
        unsafe {
            let value = merge(
                self.state.pointer,
                key.as_ptr().cast(),
                key.len(),
                existing.map_or(std::ptr::null(), |value| value.as_ptr().cast()),
                existing.map_or(0, <[u8]>::len),
                data.as_ptr(),
                lengths.as_ptr(),
                operands.len() as c_int,
                &mut success,
                &mut length,
            );
            self.take(value, length, success)
        }
    }

    fn partial_merge(&self, key: &[u8], older: &[u8], newer: &[u8]) -> Option<Vec<u8>> {
        let merge = self.partial_merge?;
        let data: [*const c_char; 2] = [older.as_ptr().cast(), newer.as_ptr().cast()];
        let lengths = [older.len(), newer.len()];
        let (mut success, mut length) = (0, 0);
        // SAFETY: the caller passed the function for this state; all buffers have their lengths.
        unsafe {
            let value = merge(
                self.state.pointer,
                key.as_ptr().cast(),
                key.len(),
                data.as_ptr(),
                lengths.as_ptr(),
                2,
                &mut success,
                &mut length,
            );
            self.take(value, length, success)
        }
    }
}

api!(
    fn rocksdb_mergeoperator_create(
        state: *mut c_void,
        destructor: Option<unsafe extern "C" fn(*mut c_void)>,
        full_merge: Option<FullMerge>,
        partial_merge: Option<PartialMerge>,
        delete_value: Option<DeleteValue>,
        name: Option<Name>,
    ) -> *mut rocksdb_mergeoperator_t {
        boxed(CallbackMergeOperator {
            name: name_of(name, state),
            state: CallbackState::new(state, destructor),
            full_merge,
            partial_merge,
            delete_value,
        })
    }
);

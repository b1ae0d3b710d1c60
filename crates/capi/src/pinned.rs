//! Pinned values as objects of the caller. Programs read one, look at it and destroy it, and then read the
//! next one: each thread keeps the memory of an object that it has destroyed.

use std::cell::Cell;
use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::ptr;

use esker::PinnedValue;

use crate::checked;
use crate::ffi::*;

/// The C object `rocksdb_pinnableslice_t`: a pinned value.
pub struct rocksdb_pinnableslice_t(pub PinnedValue);

/// The C object `rocksdb_pinnable_handle_t`: a pinned value.
pub struct rocksdb_pinnable_handle_t(pub PinnedValue);

thread_local! {
    /// The memory of an object that this thread has destroyed. A thread that is ending has none.
    static SPARE: Cell<Option<Box<MaybeUninit<PinnedValue>>>> = const { Cell::new(None) };
}

/// Creates the caller's object of a pinned value; NULL without a value.
#[inline]
pub fn boxed_pinned<T>(value: Option<PinnedValue>, object: impl FnOnce(PinnedValue) -> T) -> *mut T {
    const { assert!(size_of::<T>() == size_of::<PinnedValue>() && align_of::<T>() == align_of::<PinnedValue>()) }
    let Some(value) = value else {
        return ptr::null_mut();
    };
    match SPARE.try_with(Cell::take) {
        Ok(Some(memory)) => {
            let place: *mut T = Box::into_raw(memory).cast();
            // SAFETY: the memory has the size and the alignment of the object, and no other owner.
            unsafe { place.write(object(value)) };
            place
        }
        _ => boxed(object(value)),
    }
}

/// Destroys an object of [`boxed_pinned`], and releases its value at once. Does nothing for NULL.
///
/// # Safety
/// The object was not destroyed before. If the thread has destroyed it last, that is reported.
#[inline]
unsafe fn destroy<T>(object: *mut T) {
    if object.is_null() {
        return;
    }
    // The memory of a checked object is not used again.
    if checked::is_on() {
        return free_box(object);
    }
    let memory: *mut MaybeUninit<PinnedValue> = object.cast();
    let destroyed = SPARE.try_with(|spare| {
        let kept = spare.take();
        if kept.as_deref().is_some_and(|kept| ptr::eq(kept, memory)) {
            spare.set(kept);
            return checked::report_second_release(object);
        }
        ptr::drop_in_place(object);
        spare.set(Some(Box::from_raw(memory)));
    });
    if destroyed.is_err() {
        free_box(object);
    }
}

/// Returns the bytes of a pinned value, and writes their number; NULL and 0 without a value.
///
/// # Safety
/// `length` is NULL or may be written.
#[inline]
unsafe fn bytes_of(value: Option<&PinnedValue>, length: *mut usize) -> *const c_char {
    match value {
        Some(value) => borrowed(value, length),
        None => nothing(length).cast_const(),
    }
}

api!(
    fn rocksdb_pinnableslice_destroy(value: *mut rocksdb_pinnableslice_t) {
        destroy(value)
    }
);

api!(
    fn rocksdb_pinnable_handle_destroy(value: *mut rocksdb_pinnable_handle_t) {
        destroy(value)
    }
);

api!(
    fn rocksdb_pinnable_handle_get_value(
        value: *const rocksdb_pinnable_handle_t,
        length: *mut usize,
    ) -> *const c_char {
        bytes_of(value.as_ref().map(|value| &value.0), length)
    }
);

api!(
    fn rocksdb_pinnableslice_value(
        value: *const rocksdb_pinnableslice_t,
        length: *mut usize,
    ) -> *const c_char {
        bytes_of(value.as_ref().map(|value| &value.0), length)
    }
);

//! The boundary: the declaration of C functions, the conversion of arguments, and the return of results and
//! errors.
//!
//! The contract of every exported function is that of `rocksdb/c.h`. An object is a pointer that a function
//! of this library returned and that was not destroyed since. A buffer is a pointer with the number of bytes
//! that may be read there. Out-parameters may be written. NULL is allowed where RocksDB's function allows it.
//! A violation of this contract is undefined behaviour, as in RocksDB.

use std::any::Any;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use esker::{Error, ErrorKind, Result};

use crate::checked;
pub use crate::diagnostics::complain;
use crate::process::{OF_PARENT, OfParent};

/// Declares an exported function. If its body panics, a line is written to standard error, and the function
/// returns zero.
macro_rules! api {
    (fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $ret:ty)? $body:block) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $type),*) $(-> $ret)? {
            $crate::ffi::guard(stringify!($name), move || $body)
        }
    };
}

/// The value that an exported function returns if it has no result.
pub trait Zero {
    /// Returns the zero of the type: 0, false or NULL.
    fn zero() -> Self;
}

macro_rules! zero {
    ($($type:ty => $value:expr),+ $(,)?) => { $(
        impl Zero for $type {
            fn zero() -> $type {
                $value
            }
        }
    )+ };
}
zero!(() => (), bool => false, u8 => 0, i8 => 0, c_int => 0, u32 => 0, u64 => 0, i64 => 0, usize => 0, f64 => 0.0);

impl<T> Zero for *mut T {
    fn zero() -> *mut T {
        std::ptr::null_mut()
    }
}

impl<T> Zero for *const T {
    fn zero() -> *const T {
        std::ptr::null()
    }
}

/// Runs the body of the exported function `name`.
#[inline]
pub fn guard<R: Zero>(name: &str, body: impl FnOnce() -> R) -> R {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| {
        report_unwinding(name, payload);
        R::zero()
    })
}

/// Writes to standard error why the exported function `name` was left. Not a part of the exported functions:
/// each of them would save registers for it at every call.
#[cold]
#[inline(never)]
fn report_unwinding(name: &str, payload: Box<dyn Any + Send>) {
    match refused(&*payload) {
        Some(error) => complain(&format!("{name}: {}", error_text(&error))),
        None => complain(&format!("{name} panicked")),
    }
}

/// The panic payload with which a helper leaves the exported function: a length that no buffer can have.
struct ImpossibleLength(usize);

/// Leaves the exported function: its error says that no buffer has `length` bytes or elements.
#[cold]
fn refuse_length(length: usize) -> ! {
    std::panic::resume_unwind(Box::new(ImpossibleLength(length)))
}

/// Returns the error of a refused length, or of an object of another process; `None` for a panic.
fn refused(payload: &(dyn Any + Send)) -> Option<Error> {
    if payload.is::<OfParent>() {
        return Some(Error::new(ErrorKind::Io, OF_PARENT));
    }
    let ImpossibleLength(length) = payload.downcast_ref()?;
    Some(Error::invalid_argument(format!(
        "no buffer has a length of {length}"
    )))
}

/// Returns the error of an unwinding: a refused length, or a panic.
#[cold]
#[inline(never)]
fn unwound(payload: Box<dyn Any + Send>) -> Error {
    refused(&*payload).unwrap_or_else(|| Error::corruption("internal error: a panic"))
}

/// Runs a body that may fail: the error or the panic goes to `errptr`, and zero is returned.
///
/// # Safety
/// `errptr` is NULL or points to NULL or a pointer from malloc.
#[inline(always)]
pub unsafe fn fallible<R: Zero>(errptr: *mut *mut c_char, body: impl FnOnce() -> Result<R>) -> R {
    attempt(body).unwrap_or_else(|error| {
        set_error(errptr, &error);
        R::zero()
    })
}

/// Runs a body. A refused length or a panic in it becomes its error.
#[inline(always)]
pub fn attempt<R>(body: impl FnOnce() -> Result<R>) -> Result<R> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| Err(unwound(payload)))
}

/// Stores the text of `error` in `errptr`, and frees the text that is there.
///
/// # Safety
/// The caller keeps the rules of [`fallible`].
#[cold]
pub unsafe fn set_error(errptr: *mut *mut c_char, error: &Error) {
    if errptr.is_null() {
        return;
    }
    libc::free((*errptr).cast());
    *errptr = copied_string(error_text(error).as_bytes());
}

/// Returns the text of RocksDB's `Status`: code, subcode, message.
pub fn error_text(error: &Error) -> String {
    let words = error.kind().words();
    let message = error.message();
    match error.file() {
        Some(file) if error.kind() == ErrorKind::LockHeld => {
            format!("{words}: {}: {message}", file.display())
        }
        Some(file) if is_of_files(error.kind()) => {
            let words = if error.kind() == ErrorKind::NotFound {
                "IO error: No such file or directory"
            } else {
                words
            };
            format!("{words}: {message}: {}", file.display())
        }
        _ => format!("{words}: {message}"),
    }
}

/// True for errors whose text ends with the file that they concern.
fn is_of_files(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Io | ErrorKind::NoSpace | ErrorKind::NotFound | ErrorKind::Corruption
    )
}

/// Reports a function that is not implemented and has no `errptr`.
#[cold]
pub fn absent<R: Zero>(name: &str) -> R {
    complain(&format!("Not implemented: {name}"));
    R::zero()
}

/// Returns the bytes of a buffer. Empty for NULL. A length that no buffer can have is refused: the exported
/// function returns zero, and its error says so.
///
/// # Safety
/// `length` bytes may be read at `data`, for as long as the caller keeps the result.
#[inline]
pub unsafe fn bytes<'a>(data: *const c_char, length: usize) -> &'a [u8] {
    if data.is_null() {
        return &[];
    }
    if length > isize::MAX as usize {
        refuse_length(length);
    }
    std::slice::from_raw_parts(data.cast(), length)
}

/// Returns the bytes that a callback returned. Empty for NULL; `None` for a length that no buffer can have,
/// which is reported on standard error.
///
/// # Safety
/// `length` bytes may be read at `data`, for as long as the caller keeps the result.
pub unsafe fn returned<'a>(data: *const c_char, length: usize) -> Option<&'a [u8]> {
    if !data.is_null() && length > isize::MAX as usize {
        complain(&format!("a callback returned a buffer with a length of {length}"));
        return None;
    }
    Some(bytes(data, length))
}

/// A buffer as C passes it. Its length is checked later, where an error can be returned.
#[derive(Clone, Copy)]
pub struct Buffer(pub *const c_char, pub usize);

impl Buffer {
    /// Returns the bytes.
    ///
    /// # Safety
    /// The rules of [`bytes`].
    #[inline]
    pub unsafe fn bytes<'a>(self) -> &'a [u8] {
        bytes(self.0, self.1)
    }
}

/// Returns the elements of a C array. Empty for NULL. A length that no array can have is refused, as by
/// [`bytes`].
///
/// # Safety
/// `length` elements may be read at `data`, for as long as the caller keeps the result.
#[inline]
pub unsafe fn array<'a, T>(data: *const T, length: usize) -> &'a [T] {
    if data.is_null() {
        return &[];
    }
    if length > isize::MAX as usize / size_of::<T>().max(1) {
        refuse_length(length);
    }
    std::slice::from_raw_parts(data, length)
}

/// Returns the buffers of two arrays, of pointers and of lengths.
///
/// # Safety
/// The two arrays have `count` elements, each a buffer.
pub unsafe fn buffers<'a>(data: *const *const c_char, lengths: *const usize, count: usize) -> Vec<&'a [u8]> {
    let lengths = array(lengths, count);
    array(data, count)
        .iter()
        .zip(lengths)
        .map(|(data, length)| bytes(*data, *length))
        .collect()
}

/// Returns a string that ends with NUL. Empty for NULL; invalid UTF-8 is replaced.
///
/// # Safety
/// `text` is NULL or ends with NUL.
pub unsafe fn string(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    CStr::from_ptr(text).to_string_lossy().into_owned()
}

/// Returns a path.
///
/// # Safety
/// The caller keeps the rules of [`string`].
pub unsafe fn path(text: *const c_char) -> std::path::PathBuf {
    use std::os::unix::ffi::OsStrExt;
    if text.is_null() {
        return std::path::PathBuf::new();
    }
    std::ffi::OsStr::from_bytes(CStr::from_ptr(text).to_bytes()).into()
}

/// Returns a copy that the caller frees, with its length at `length`. An empty value has a copy too; only an
/// absent value is NULL.
///
/// # Safety
/// `length` is NULL or may be written.
pub unsafe fn copied(data: &[u8], length: *mut usize) -> *mut c_char {
    if !length.is_null() {
        *length = data.len();
    }
    copied_string(data)
}

/// Returns a copy that the caller frees, followed by a NUL.
pub fn copied_string(data: &[u8]) -> *mut c_char {
    // SAFETY: the block is one byte longer than the copied bytes, for the NUL.
    unsafe {
        let block: *mut u8 = libc::malloc(data.len() + 1).cast();
        if block.is_null() {
            return std::ptr::null_mut();
        }
        std::ptr::copy_nonoverlapping(data.as_ptr(), block, data.len());
        *block.add(data.len()) = 0;
        block.cast()
    }
}

/// Returns NULL, and a length of 0.
///
/// # Safety
/// `length` is NULL or may be written.
pub unsafe fn nothing(length: *mut usize) -> *mut c_char {
    if !length.is_null() {
        *length = 0;
    }
    std::ptr::null_mut()
}

/// Returns bytes that belong to the object, with their length at `length`.
///
/// # Safety
/// `length` is NULL or may be written.
pub unsafe fn borrowed(data: &[u8], length: *mut usize) -> *const c_char {
    if !length.is_null() {
        *length = data.len();
    }
    data.as_ptr().cast()
}

/// Writes through an out-parameter that may be NULL.
///
/// # Safety
/// `to` is NULL or may be written.
pub unsafe fn put_out<T>(to: *mut T, value: T) {
    if !to.is_null() {
        *to = value;
    }
}

/// Creates an object for the caller, who destroys it.
pub fn boxed<T>(value: T) -> *mut T {
    let object = Box::into_raw(Box::new(value));
    checked::made(object);
    object
}

/// Takes back an object of [`boxed`]. `None` for NULL.
///
/// # Safety
/// The object was not destroyed before.
pub unsafe fn taken<T>(object: *mut T) -> Option<Box<T>> {
    if object.is_null() {
        return None;
    }
    checked::taken(object)
}

/// Destroys an object of [`boxed`]. Does nothing for NULL.
///
/// # Safety
/// The object was not destroyed before.
pub unsafe fn free_box<T>(object: *mut T) {
    drop(taken(object));
}

/// Creates an object of pointers and numbers that the caller passes to `rocksdb_free`: its fields are not
/// dropped.
pub fn malloced<T>(value: T) -> *mut T {
    // SAFETY: the block has the size of the value, and malloc's alignment is sufficient.
    unsafe {
        let block: *mut T = libc::malloc(size_of::<T>()).cast();
        if !block.is_null() {
            block.write(value);
        }
        block
    }
}

/// A state of the caller with its destructor, which is called once, when the last holder is dropped.
pub struct CallbackState {
    /// The state that is passed to callbacks.
    pub pointer: *mut c_void,
    destructor: Option<unsafe extern "C" fn(*mut c_void)>,
}

// SAFETY: the interface requires that any thread may call the callbacks with their state.
unsafe impl Send for CallbackState {}
// SAFETY: the interface requires that any thread may call the callbacks with their state.
unsafe impl Sync for CallbackState {}

impl CallbackState {
    /// Takes a state and its destructor.
    pub fn new(pointer: *mut c_void, destructor: Option<unsafe extern "C" fn(*mut c_void)>) -> CallbackState {
        CallbackState { pointer, destructor }
    }
}

impl Drop for CallbackState {
    fn drop(&mut self) {
        if let Some(destructor) = self.destructor {
            // SAFETY: the caller passed the destructor together with the state, and no callback uses the
            // state any more.
            unsafe { destructor(self.pointer) }
        }
    }
}

//! The border: how a C function is declared, what its arguments become, and how results and errors go back.
//!
//! The contract of every exported function is that of `rocksdb/c.h`: an object is a pointer that a function of this library returned
//! and that was not destroyed since; a buffer is a pointer with the number of bytes that may be read there; out-parameters may be
//! written. NULL is taken where a function of RocksDB takes it. What breaks that contract is undefined, here as there.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

use esker::{Error, ErrorKind, Result};

use crate::checked;

/// Declares an exported function. A panic in its body writes a line to the standard error output, and the function returns zero.
macro_rules! api {
    (fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $ret:ty)? $body:block) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $type),*) $(-> $ret)? {
            $crate::ffi::guard(stringify!($name), || $body)
        }
    };
}

/// The value that a function returns when there is none.
pub trait Zero {
    /// That value.
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
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        complain(&format!("{name} panicked"));
        R::zero()
    })
}

/// A line on the standard error output, for what no error can carry.
#[cold]
pub fn complain(what: &str) {
    // A closed standard error output is nobody's business.
    let _ = writeln!(std::io::stderr(), "librocksdb (Esker): {what}");
}

/// Runs what may fail: the error, or the panic, goes to `errptr`, and zero is returned.
///
/// # Safety
/// `errptr` is NULL or points to NULL or a pointer from malloc.
#[inline]
pub unsafe fn fallible<R: Zero>(errptr: *mut *mut c_char, body: impl FnOnce() -> Result<R>) -> R {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(value)) => value,
        Ok(Err(error)) => {
            set_error(errptr, &error);
            R::zero()
        }
        Err(_) => {
            set_error(errptr, &Error::corruption("internal error: a panic"));
            R::zero()
        }
    }
}

/// Puts the text of `error` where the caller looks for it, and frees what is there.
///
/// # Safety
/// As of [`fallible`].
#[cold]
pub unsafe fn set_error(errptr: *mut *mut c_char, error: &Error) {
    if errptr.is_null() {
        return;
    }
    libc::free((*errptr).cast());
    *errptr = copied_string(error_text(error).as_bytes());
}

/// The text of RocksDB's `Status`: code, subcode, message.
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

/// True of errors whose text ends with the file they are about.
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

/// The same through `errptr`.
///
/// # Safety
/// As of [`fallible`].
#[cold]
pub unsafe fn absent_error<R: Zero>(name: &str, errptr: *mut *mut c_char) -> R {
    fallible(errptr, || Err(Error::not_supported(name)))
}

/// The bytes of a buffer. NULL, or a length that no buffer can have, is an empty one.
///
/// # Safety
/// `length` bytes may be read at `data`, for as long as the caller keeps the result.
#[inline]
pub unsafe fn bytes<'a>(data: *const c_char, length: usize) -> &'a [u8] {
    if data.is_null() || length > isize::MAX as usize {
        return &[];
    }
    std::slice::from_raw_parts(data.cast(), length)
}

/// A C array. NULL is an empty one.
///
/// # Safety
/// `length` elements may be read at `data`, for as long as the caller keeps the result.
#[inline]
pub unsafe fn array<'a, T>(data: *const T, length: usize) -> &'a [T] {
    if data.is_null() || length > isize::MAX as usize / size_of::<T>().max(1) {
        return &[];
    }
    std::slice::from_raw_parts(data, length)
}

/// The buffers of two arrays, of pointers and of lengths.
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

/// A string that ends with NUL. NULL is an empty one; what is no UTF-8 is replaced.
///
/// # Safety
/// `text` is NULL or ends with NUL.
pub unsafe fn string(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    CStr::from_ptr(text).to_string_lossy().into_owned()
}

/// A path.
///
/// # Safety
/// As of [`string`].
pub unsafe fn path(text: *const c_char) -> std::path::PathBuf {
    use std::os::unix::ffi::OsStrExt;
    if text.is_null() {
        return std::path::PathBuf::new();
    }
    std::ffi::OsStr::from_bytes(CStr::from_ptr(text).to_bytes()).into()
}

/// A copy that the caller frees, its length at `length`. Never NULL: absent is NULL, and empty is not.
///
/// # Safety
/// `length` is NULL or may be written.
pub unsafe fn copied(data: &[u8], length: *mut usize) -> *mut c_char {
    if !length.is_null() {
        *length = data.len();
    }
    copied_string(data)
}

/// A copy that the caller frees, with a NUL behind it.
pub fn copied_string(data: &[u8]) -> *mut c_char {
    // SAFETY: the block has a byte more than what is copied into it, for the NUL.
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

/// NULL, and a length of 0.
///
/// # Safety
/// `length` is NULL or may be written.
pub unsafe fn nothing(length: *mut usize) -> *mut c_char {
    if !length.is_null() {
        *length = 0;
    }
    std::ptr::null_mut()
}

/// Bytes that stay the object's own, their length at `length`.
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

/// An object for the caller, who destroys it.
pub fn boxed<T>(value: T) -> *mut T {
    let object = Box::into_raw(Box::new(value));
    checked::made(object);
    object
}

/// Takes an object of [`boxed`] back. NULL is none.
///
/// # Safety
/// The object was not destroyed before.
pub unsafe fn taken<T>(object: *mut T) -> Option<Box<T>> {
    if object.is_null() {
        return None;
    }
    checked::taken(object)
}

/// Destroys an object of [`boxed`]. NULL is none.
///
/// # Safety
/// The object was not destroyed before.
pub unsafe fn free_box<T>(object: *mut T) {
    drop(taken(object));
}

/// An object of pointers and numbers that the caller gives to `rocksdb_free`: nothing of it is dropped.
pub fn malloced<T>(value: T) -> *mut T {
    // SAFETY: the block is as large as what is written into it, and aligned for all that malloc is for.
    unsafe {
        let block: *mut T = libc::malloc(size_of::<T>()).cast();
        if !block.is_null() {
            block.write(value);
        }
        block
    }
}

/// A state of the caller's with its destructor, called once when the last who holds it lets go.
pub struct State {
    /// The state that callbacks get.
    pub pointer: *mut c_void,
    destructor: Option<unsafe extern "C" fn(*mut c_void)>,
}

// SAFETY: the interface demands callbacks that any thread may call with their state.
unsafe impl Send for State {}
// SAFETY: as above.
unsafe impl Sync for State {}

impl State {
    /// Takes a state and its destructor.
    pub fn new(pointer: *mut c_void, destructor: Option<unsafe extern "C" fn(*mut c_void)>) -> State {
        State { pointer, destructor }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        if let Some(destructor) = self.destructor {
            // SAFETY: the caller gave them together, and nobody calls with the state any more.
            unsafe { destructor(self.pointer) }
        }
    }
}

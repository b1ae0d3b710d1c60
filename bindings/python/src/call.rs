//! Calls of the engine: they run without the GIL, and their errors and panics become Python's exceptions.

use std::cell::{Cell, RefCell};
use std::panic::resume_unwind;

use base::user_code::catch_or_fail;
use esker::Error;
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

thread_local! {
    /// The number of nested calls from Python into the engine on this thread.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    /// The first exception of Python code that the engine has called on this thread during the current call.
    static CAUSE: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// A call of the engine in progress on this thread.
struct Calling;

impl Calling {
    #[inline]
    fn begin() -> Calling {
        DEPTH.set(DEPTH.get() + 1);
        Calling
    }
}

impl Drop for Calling {
    #[inline]
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// Runs `body` without the GIL. Its error, or the panic of user code in it, becomes the exception of its
/// kind. If Python code has raised an exception meanwhile, that becomes the `__cause__`.
#[inline]
pub fn call<T: Send>(py: Python<'_>, body: impl FnOnce() -> esker::Result<T> + Send) -> PyResult<T> {
    let result = py.detach(|| {
        let _calling = Calling::begin();
        catch_or_fail(body)
    });
    result.map_err(|error| exception(py, &error))
}

/// Runs a [`call`] with the value that `mutex` guards. Returns `Busy` if another thread, or Python code
/// further out on this thread, holds the mutex: waiting for it could deadlock.
pub fn call_with<S: Send, T: Send>(
    py: Python<'_>,
    mutex: &Mutex<S>,
    body: impl FnOnce(&mut S) -> esker::Result<T> + Send,
) -> PyResult<T> {
    call(py, || match mutex.try_lock() {
        Some(mut guard) => body(&mut guard),
        None => Err(Error::new(
            esker::ErrorKind::Busy,
            "another thread is using this object",
        )),
    })
}

/// Runs `body`, which cannot fail, without the GIL.
pub fn quietly<T: Send>(py: Python<'_>, body: impl FnOnce() -> T + Send) -> T {
    py.detach(body)
}

/// Returns the exception of an error. The error's kind determines the class; the text begins with RocksDB's
/// words.
#[cold]
pub fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let cause = CAUSE.with_borrow_mut(Option::take);
    let made = of_error(py, error).unwrap_or_else(|failure| failure);
    if let Some(cause) = cause {
        made.set_cause(py, Some(cause));
    }
    made
}

fn of_error(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let make = MAKE.import(py, "esker.errors", "_of_kind")?;
    let file = error.file().map(|file| file.to_string_lossy().into_owned());
    let made = make.call1((
        format!("{:?}", error.kind()),
        error.to_string(),
        file,
        error.offset(),
    ))?;
    Ok(PyErr::from_value(made))
}

/// Records an exception of Python code that the engine has called. It becomes the cause of the call's
/// exception. On a thread without a Python call it goes to `sys.unraisablehook`, so that it is not lost.
pub fn note(py: Python<'_>, error: PyErr, code: &Bound<'_, PyAny>) {
    if DEPTH.get() == 0 {
        error.write_unraisable(py, Some(code));
        return;
    }
    CAUSE.with_borrow_mut(|cause| {
        cause.get_or_insert(error);
    });
}

/// Records `error`, and unwinds to the engine, which turns the panic into a failed read, write or job. For
/// callbacks that cannot fail otherwise.
pub fn unwind(py: Python<'_>, error: PyErr, code: &Bound<'_, PyAny>) -> ! {
    let message = error.to_string();
    note(py, error, code);
    resume_unwind(Box::new(message))
}

/// Returns an `InvalidArgument` exception.
pub fn invalid(py: Python<'_>, message: String) -> PyErr {
    exception(py, &Error::invalid_argument(message))
}

//! Calls of code that users supply (comparators, merge operators, filters, listeners), and panics in it.
//!
//! A read lets a panic pass to its caller: everything that it holds is released during unwinding. Where a
//! panic would leave something half done, [`catch`] turns it into an error: [`ErrorKind::Panicked`], with the
//! panic's message and the name of the code that panicked, which [`call`] has recorded.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, ErrorKind, Result};

thread_local! {
    /// True if [`CULPRIT`] was set since the last call of [`catch`] began.
    static NOTED: Cell<bool> = const { Cell::new(false) };
    /// The user code that this thread's last panic came from.
    static CULPRIT: RefCell<String> = const { RefCell::new(String::new()) };
}

/// A guard that records, if it is dropped during a panic, that the user code `what` has panicked.
struct Callee<'a, N: Fn() -> &'a str> {
    what: &'static str,
    name: N,
}

impl<'a, N: Fn() -> &'a str> Drop for Callee<'a, N> {
    #[cold]
    fn drop(&mut self) {
        note(self.what, (self.name)());
    }
}

#[cold]
fn note(what: &str, name: &str) {
    // The innermost call is the one that panicked.
    if NOTED.replace(true) {
        return;
    }
    CULPRIT.with_borrow_mut(|culprit| {
        culprit.clear();
        culprit.push_str(what);
        if !name.is_empty() {
            culprit.push(' ');
            culprit.push_str(name);
        }
    });
}

/// Calls `code` of a user's. If it panics, the error that [`catch`] makes of the panic names the code by
/// `what` (its role) and `name`, which is called only then and may return an empty name. Costs nothing
/// without a panic.
#[inline(always)]
pub fn call<'a, T>(what: &'static str, name: impl Fn() -> &'a str, code: impl FnOnce() -> T) -> T {
    let callee = Callee { what, name };
    let result = code();
    mem::forget(callee);
    result
}

/// Runs `body` and returns its result, or [`ErrorKind::Panicked`] if it panics. The caller repairs state that
/// the panic left half done. Locks of [`sync`](crate::sync) that `body` took are released by then.
#[inline]
pub fn catch<T>(body: impl FnOnce() -> T) -> Result<T> {
    NOTED.set(false);
    catch_unwind(AssertUnwindSafe(body)).map_err(|panic| panicked(&*panic))
}

/// Runs `body` as [`catch`] does, and returns its own error or that of the panic.
#[inline]
pub fn catch_or_fail<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    catch(body).unwrap_or_else(Err)
}

#[cold]
fn panicked(panic: &(dyn Any + Send)) -> Error {
    let message = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(message), _) => message,
        (None, Some(message)) => message.as_str(),
        (None, None) => "no message",
    };
    let message = match NOTED.replace(false) {
        true => CULPRIT.with_borrow(|culprit| format!("{culprit}: {message}")),
        false => message.to_owned(),
    };
    Error::new(ErrorKind::Panicked, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_code_that_panicked_and_its_message() {
        let error = catch(|| call("comparator", || "mine", || panic!("on {}", 7))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Panicked);
        assert_eq!(
            error.to_string(),
            "Operation aborted: a thread panicked: comparator mine: on 7"
        );
        let error = catch(|| call("event listener", || "", || panic!("static"))).unwrap_err();
        assert_eq!(error.message(), "event listener: static");
    }

    #[test]
    fn the_innermost_call_is_named() {
        let inner = || call("comparator", || "inner", || panic!("here"));
        let error = catch(|| call("merge operator", || "outer", inner)).unwrap_err();
        assert_eq!(error.message(), "comparator inner: here");
    }

    #[test]
    fn a_panic_that_was_caught_elsewhere_is_not_named_later() {
        let read = || call("comparator", || "mine", || panic!("in a read"));
        assert!(catch_unwind(AssertUnwindSafe(read)).is_err());
        let error = catch(|| std::panic::panic_any(5)).unwrap_err();
        assert_eq!(error.message(), "no message");
    }

    #[test]
    fn what_does_not_panic_passes() {
        assert_eq!(catch(|| call("comparator", || "mine", || 5)).unwrap(), 5);
        let failed: Result<()> = catch_or_fail(|| Err(Error::corruption("damage")));
        assert!(failed.unwrap_err().is_corruption());
    }
}

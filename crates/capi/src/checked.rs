//! Checks of objects. With `ESKER_CHECKED_HANDLES=1` in the environment, an object that is released twice, or
//! that this library did not create, is reported on standard error and not touched.
//!
//! The memory of a released object is then not reused, so that an address identifies one object for the life
//! of the process, and a released handle is recognized later. Without the variable, each object costs a check
//! of a flag when it is created and when it is released.

use std::collections::HashMap;
use std::sync::OnceLock;

use base::sync::Mutex;

use crate::diagnostics::complain;

/// The state of every created object, by address.
#[derive(Default)]
struct Watched(Mutex<HashMap<usize, bool>>);

static WATCHED: OnceLock<Option<Watched>> = OnceLock::new();

#[inline]
fn watched() -> Option<&'static Watched> {
    let on = || std::env::var_os("ESKER_CHECKED_HANDLES").is_some_and(|value| value == "1");
    WATCHED.get_or_init(|| on().then(Watched::default)).as_ref()
}

/// True if objects are checked.
#[inline]
pub fn is_on() -> bool {
    watched().is_some()
}

/// Records that an object was created.
pub fn made<T>(object: *mut T) {
    if let Some(watched) = watched().filter(|_| size_of::<T>() > 0) {
        watched.0.lock().insert(object.addr(), true);
    }
}

/// Reports the second release of an object.
#[cold]
pub fn report_second_release<T>(object: *mut T) {
    report(object, RELEASED);
}

/// Returns the object at `object`, or reports that it does not exist.
///
/// # Safety
/// Unless objects are checked: it was created by [`boxed`](crate::ffi::boxed), and not taken before.
pub unsafe fn taken<T>(object: *mut T) -> Option<Box<T>> {
    let Some(watched) = watched().filter(|_| size_of::<T>() > 0) else {
        return Some(Box::from_raw(object));
    };
    let was_live = watched
        .0
        .lock()
        .get_mut(&object.addr())
        .map(|live| std::mem::replace(live, false));
    match was_live {
        // If handles are checked, the memory of a destroyed object is not freed, so that later uses are
        // detected.
        Some(true) => Some(Box::new(object.read())),
        Some(false) => report(object, RELEASED),
        None => report(object, "was not made by this library"),
    }
}

/// The report of an object that was released before.
const RELEASED: &str = "was given back before";

#[cold]
fn report<T>(object: *mut T, what: &str) -> Option<Box<T>> {
    let kind = std::any::type_name::<T>().rsplit("::").next().unwrap_or_default();
    complain(&format!("a {kind} {what}: {object:?}"));
    None
}

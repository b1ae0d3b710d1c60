//! Objects that are watched: with `ESKER_CHECKED_HANDLES=1` in the environment, one that is given back twice, or that this library did not make, is
//! reported on the standard error output and left alone.
//!
//! The memory of an object is then not used for another, so that an address names one object for the life of the process: a handle that was
//! given back is known as such whatever was made since. Where it is off, each object costs a look at a flag when it is made and when it is
//! given back.

use std::collections::HashMap;
use std::sync::OnceLock;

use base::sync::Mutex;

use crate::ffi::complain;

/// The state of every object that was made, by address.
#[derive(Default)]
struct Watched(Mutex<HashMap<usize, bool>>);

static WATCHED: OnceLock<Option<Watched>> = OnceLock::new();

fn watched() -> Option<&'static Watched> {
    let on = || std::env::var_os("ESKER_CHECKED_HANDLES").is_some_and(|value| value == "1");
    WATCHED.get_or_init(|| on().then(Watched::default)).as_ref()
}

/// An object was made.
pub fn made<T>(object: *mut T) {
    if let Some(watched) = watched().filter(|_| size_of::<T>() > 0) {
        watched.0.lock().insert(object.addr(), true);
    }
}

/// Takes the object at `object`, or reports that it is not there to be taken.
///
/// # Safety
/// Unless objects are watched: it was made by [`boxed`](crate::ffi::boxed), and not taken before.
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
        // The memory stays behind.
        Some(true) => Some(Box::new(object.read())),
        Some(false) => report::<T>(object, "was given back before"),
        None => report::<T>(object, "was not made by this library"),
    }
}

#[cold]
fn report<T>(object: *mut T, what: &str) -> Option<Box<T>> {
    let kind = std::any::type_name::<T>().rsplit("::").next().unwrap_or_default();
    complain(&format!("a {kind} {what}: {object:?}"));
    None
}

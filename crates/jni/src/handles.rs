//! The handles by which Java refers to objects: each is a `long`.
//!
//! A handle consists of a slot in a table and the generation of the object in it. The handle of a closed
//! object has an older generation: closing it again has no effect, and using it is an exception. A lookup
//! takes no lock, and writes to no memory that threads share. An object stays alive while a method works with
//! it, even if another thread closes it meanwhile.

use std::any::{Any, TypeId};
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

use arc_swap::{ArcSwapOption, Guard};
use base::sync::Mutex;
use jni_sys::jlong;

use crate::exclusive;
use crate::fail::Result;
use crate::places::{self, Free, locate, missing, split};

struct Entry {
    generation: u32,
    /// The type of the value: a comparison costs less than a call through the box.
    kind: TypeId,
    value: Box<dyn Any + Send + Sync>,
}

#[derive(Default)]
struct Slot {
    entry: ArcSwapOption<Entry>,
}

/// The highest generation: generations count from 1, so that a handle is positive, and do not reach the mark
/// of exclusive objects.
const GENERATIONS: u32 = exclusive::MARK - 1;

/// The blocks of slots. A slot never moves.
static BLOCKS: [OnceLock<Box<[Slot]>>; 21] = [const { OnceLock::new() }; 21];

/// The free slots with the generation of their next object, and the number of all slots.
static FREE: OnceLock<Mutex<Free>> = OnceLock::new();

fn free() -> &'static Mutex<Free> {
    FREE.get_or_init(Mutex::default)
}

fn slot(place: u32) -> Option<&'static Slot> {
    let (block, at) = locate(place);
    BLOCKS.get(block)?.get()?.get(at)
}

/// Puts an object into the table and returns its handle.
pub fn insert<T: Any + Send + Sync>(value: T) -> jlong {
    let (place, generation) = free().lock().take();
    let (block, at) = locate(place);
    let block = BLOCKS[block].get_or_init(|| places::block(block));
    block[at].entry.store(Some(Arc::new(Entry {
        generation,
        kind: TypeId::of::<T>(),
        value: Box::new(value),
    })));
    (i64::from(generation) << 32) | i64::from(place + 1)
}

/// Removes an object from the table, if it is still there. The object is dropped now, or when the last method
/// that works with it returns.
pub fn close(handle: jlong) {
    let (place, generation) = split(handle);
    if generation & exclusive::MARK != 0 {
        return exclusive::close(handle);
    }
    let Some(slot) = slot(place) else { return };
    let current = slot.entry.load_full();
    if current
        .as_ref()
        .is_none_or(|entry| entry.generation != generation)
    {
        return;
    }
    let before = slot.entry.compare_and_swap(&current, None);
    let taken = match (&*before, &current) {
        (Some(before), Some(current)) => Arc::ptr_eq(before, current),
        _ => false,
    };
    if taken {
        free().lock().put(place, generation, GENERATIONS);
    }
}

/// An object while a method works with it.
pub struct InUse<T> {
    /// The object, which `entry` keeps alive.
    value: NonNull<T>,
    _entry: Guard<Option<Arc<Entry>>>,
}

impl<T: Any> Deref for InUse<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the entry has the object in a box, which neither moves nor ends before the guard.
        unsafe { self.value.as_ref() }
    }
}

/// Returns the object of a handle. An error if the object is closed, never existed, or has another type than
/// `T`.
#[inline]
pub fn get<T: Any>(handle: jlong) -> Result<InUse<T>> {
    let (place, generation) = split(handle);
    if let Some(slot) = slot(place) {
        let entry = slot.entry.load();
        if let Some(found) = entry.as_deref()
            && found.generation == generation
            && found.kind == TypeId::of::<T>()
        {
            let value = NonNull::from(&*found.value).cast();
            return Ok(InUse { value, _entry: entry });
        }
    }
    Err(missing::<T>(handle))
}

/// Returns the object of a handle, or `None` for the handle 0, which is Java's null.
#[inline]
pub fn optional<T: Any>(handle: jlong) -> Result<Option<InUse<T>>> {
    match handle {
        0 => Ok(None),
        _ => get(handle).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_handle_finds_nothing_and_closes_nothing() {
        let first = insert(1_u32);
        assert!(get::<u32>(first).is_ok_and(|value| *value == 1));
        assert!(get::<u64>(first).is_err(), "another kind");
        close(first);
        assert!(get::<u32>(first).is_err());
        let second = insert(2_u32);
        close(first);
        assert!(
            get::<u32>(second).is_ok_and(|value| *value == 2),
            "the place has another object now"
        );
        assert!(
            [0, -1, i64::MAX, i64::MIN]
                .iter()
                .all(|handle| get::<u32>(*handle).is_err())
        );
        close(second);
    }

    #[test]
    fn shared_and_exclusive_objects_are_not_mistaken_for_each_other() {
        let (shared, exclusive) = (insert(1_u32), exclusive::insert(2_u32));
        assert!(get::<u32>(exclusive).is_err());
        assert!(exclusive::with(shared, |_: &mut u32| ()).is_err());
        exclusive::close(shared);
        assert!(get::<u32>(shared).is_ok());
        close(exclusive);
        assert!(exclusive::with(exclusive, |_: &mut u32| ()).is_err());
        close(shared);
        assert!(get::<u32>(shared).is_err());
    }

    #[test]
    fn an_object_lives_while_it_is_worked_with() {
        let handle = insert(String::from("here"));
        let Ok(held) = get::<String>(handle) else {
            panic!("it is there")
        };
        close(handle);
        assert_eq!(held.as_str(), "here");
    }
}

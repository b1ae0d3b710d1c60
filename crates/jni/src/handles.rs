//! The handles by which Java refers to objects: each is a `long`.
//!
//! A handle consists of a slot in a table and the generation of the object in it. The handle of a closed
//! object has an older generation: closing it again has no effect, and using it is an exception. A lookup
//! takes no lock, and writes to no memory that threads share. An object stays alive while a method works with
//! it, even if another thread closes it meanwhile.

use std::any::Any;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use arc_swap::{ArcSwapOption, Guard};
use base::sync::Mutex;
use jni_sys::jlong;

use crate::fail::{Fail, Result};

struct Entry {
    generation: u32,
    value: Box<dyn Any + Send + Sync>,
}

#[derive(Default)]
struct Slot {
    entry: ArcSwapOption<Entry>,
}

/// The number of slots in the first block of the table. Each further block has as many slots as all blocks
/// before it.
const FIRST: usize = 1024;

/// The highest generation: generations count from 1, so that a handle is positive.
const GENERATIONS: u32 = i32::MAX as u32;

/// The blocks of slots. A slot never moves.
static BLOCKS: [OnceLock<Box<[Slot]>>; 21] = [const { OnceLock::new() }; 21];

/// The free slots with the generation of their next object, and the number of all slots.
static FREE: OnceLock<Mutex<Free>> = OnceLock::new();

#[derive(Default)]
struct Free {
    places: Vec<(u32, u32)>,
    end: u32,
}

fn free() -> &'static Mutex<Free> {
    FREE.get_or_init(Mutex::default)
}

/// Returns the block of a slot, and the index in that block.
fn locate(place: u32) -> (usize, usize) {
    let place = place as usize;
    let block = (place / FIRST + 1).ilog2() as usize;
    (block, place - ((1 << block) - 1) * FIRST)
}

fn slot(place: u32) -> Option<&'static Slot> {
    let (block, at) = locate(place);
    BLOCKS.get(block)?.get()?.get(at)
}

fn split(handle: jlong) -> (u32, u32) {
    ((handle as u32).wrapping_sub(1), (handle >> 32) as u32)
}

/// Puts an object into the table and returns its handle.
pub fn insert<T: Any + Send + Sync>(value: T) -> jlong {
    let (place, generation) = {
        let mut free = free().lock();
        match free.places.pop() {
            Some(place) => place,
            None => {
                free.end += 1;
                (free.end - 1, 1)
            }
        }
    };
    let (block, at) = locate(place);
    let block = BLOCKS[block].get_or_init(|| (0..FIRST << block).map(|_| Slot::default()).collect());
    block[at].entry.store(Some(Arc::new(Entry {
        generation,
        value: Box::new(value),
    })));
    (i64::from(generation) << 32) | i64::from(place + 1)
}

/// Removes an object from the table, if it is still there. The object is dropped now, or when the last method
/// that works with it returns.
pub fn close(handle: jlong) {
    let (place, generation) = split(handle);
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
        let next = if generation == GENERATIONS {
            1
        } else {
            generation + 1
        };
        free().lock().places.push((place, next));
    }
}

/// An object while a method works with it.
pub struct Held<T> {
    entry: Guard<Option<Arc<Entry>>>,
    kind: PhantomData<T>,
}

impl<T: Any> Deref for Held<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        let found = self.entry.as_ref().and_then(|entry| entry.value.downcast_ref());
        found.expect("looked at when it was found")
    }
}

/// Returns the object of a handle. An error if the object is closed, never existed, or has another type than
/// `T`.
#[inline]
pub fn get<T: Any>(handle: jlong) -> Result<Held<T>> {
    let (place, generation) = split(handle);
    if let Some(slot) = slot(place) {
        let entry = slot.entry.load();
        if entry
            .as_ref()
            .is_some_and(|entry| entry.generation == generation && entry.value.is::<T>())
        {
            return Ok(Held {
                entry,
                kind: PhantomData,
            });
        }
    }
    Err(missing::<T>(handle))
}

/// Returns the object of a handle, or `None` for the handle 0, which is Java's null.
#[inline]
pub fn optional<T: Any>(handle: jlong) -> Result<Option<Held<T>>> {
    match handle {
        0 => Ok(None),
        _ => get(handle).map(Some),
    }
}

#[cold]
fn missing<T>(handle: jlong) -> Fail {
    let kind = std::any::type_name::<T>()
        .rsplit("::")
        .next()
        .unwrap_or("object")
        .trim_end_matches('>');
    Fail::Closed(match handle {
        0 => format!("the {kind} is null"),
        _ => format!("the {kind} is closed, or the handle has another type"),
    })
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
    fn an_object_lives_while_it_is_worked_with() {
        let handle = insert(String::from("here"));
        let Ok(held) = get::<String>(handle) else {
            panic!("it is there")
        };
        close(handle);
        assert_eq!(held.as_str(), "here");
    }

    #[test]
    fn places_lie_one_behind_the_other() {
        assert_eq!(locate(0), (0, 0));
        assert_eq!(locate(1023), (0, 1023));
        assert_eq!(locate(1024), (1, 0));
        assert_eq!(locate(3071), (1, 2047));
        assert_eq!(locate(3072), (2, 0));
    }
}

//! Objects that one method at a time works with, such as iterators. Their handles are closed as those of
//! other objects are, by `handles::close`.
//!
//! A call costs two atomic operations on the slot of the object: a lookup of a shared object and a mutex cost
//! four. The state of a slot is one number, the generation of its object and what happens to it:
//!
//! ```text
//! FREE ----insert----> IDLE <---with---> BUSY
//!   ^---close (idle)----'                 | close
//!   ^--the method that works with it--- DOOMED
//! ```
//!
//! A method changes IDLE to BUSY only for the generation of its handle, so that a stale handle finds nothing.

use std::any::{Any, TypeId};
use std::cell::UnsafeCell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use base::sync::Mutex;
use jni_sys::jlong;

use crate::fail::Result;
use crate::places::{self, Free, locate, missing, split};

/// The bit of the generation in a handle by which exclusive objects differ from others.
pub const MARK: u32 = 1 << 30;

const IDLE: u64 = 0;
const BUSY: u64 = 1;
const DOOMED: u64 = 2;

/// The state of a slot without an object. No generation is 0.
const FREE: u64 = 0;

fn state(generation: u32, what: u64) -> u64 {
    u64::from(generation) << 2 | what
}

struct Entry {
    kind: TypeId,
    value: Box<dyn Any + Send>,
}

#[derive(Default)]
struct Slot {
    state: AtomicU64,
    entry: UnsafeCell<Option<Entry>>,
}

// SAFETY: a thread uses `entry` only after it has changed the state to BUSY, or while it alone knows the
// place of the free slot; objects may be sent to other threads.
unsafe impl Sync for Slot {}

static BLOCKS: [OnceLock<Box<[Slot]>>; 21] = [const { OnceLock::new() }; 21];

static UNUSED: OnceLock<Mutex<Free>> = OnceLock::new();

fn unused() -> &'static Mutex<Free> {
    UNUSED.get_or_init(Mutex::default)
}

fn slot(place: u32) -> Option<&'static Slot> {
    let (block, at) = locate(place);
    BLOCKS.get(block)?.get()?.get(at)
}

/// Puts an object into the table and returns its handle.
pub fn insert<T: Any + Send>(value: T) -> jlong {
    let (place, generation) = unused().lock().take();
    let (block, at) = locate(place);
    let block = BLOCKS[block].get_or_init(|| places::block(block));
    let entry = Entry {
        kind: TypeId::of::<T>(),
        value: Box::new(value),
    };
    // SAFETY: the place was free, and no other thread has got it.
    unsafe { *block[at].entry.get() = Some(entry) };
    block[at].state.store(state(generation, IDLE), Ordering::Release);
    (i64::from(generation | MARK) << 32) | i64::from(place + 1)
}

/// A slot whose object this thread works with.
struct Turn {
    slot: &'static Slot,
    place: u32,
    generation: u32,
}

impl Turn {
    /// Waits until no other method works with the object. `None` if the object is closed.
    #[inline]
    fn take(handle: jlong) -> Option<Turn> {
        let (place, marked) = split(handle);
        let generation = marked ^ MARK;
        let slot = slot(place).filter(|_| generation != 0 && generation < MARK)?;
        let (idle, busy) = (state(generation, IDLE), state(generation, BUSY));
        loop {
            let turn = slot
                .state
                .compare_exchange(idle, busy, Ordering::Acquire, Ordering::Relaxed);
            match turn {
                Ok(_) => {
                    return Some(Turn {
                        slot,
                        place,
                        generation,
                    });
                }
                // Another thread is using the object. That is rare: Java's objects are used by one thread at
                // a time.
                Err(found) if found == busy => std::thread::yield_now(),
                Err(_) => return None,
            }
        }
    }

    /// Removes the object. The place is free afterwards.
    fn remove(&self) -> Option<Entry> {
        // SAFETY: this thread has the turn.
        let entry = unsafe { (*self.slot.entry.get()).take() };
        self.slot.state.store(FREE, Ordering::Release);
        unused().lock().put(self.place, self.generation, MARK - 1);
        entry
    }
}

impl Drop for Turn {
    #[inline]
    fn drop(&mut self) {
        let (idle, busy) = (state(self.generation, IDLE), state(self.generation, BUSY));
        let ended = self
            .slot
            .state
            .compare_exchange(busy, idle, Ordering::Release, Ordering::Acquire);
        if ended == Err(state(self.generation, DOOMED)) {
            drop(self.remove());
        }
    }
}

/// Runs `act` with the object of a handle. Other methods that work with the object are awaited; `act` must
/// not use the object's handle, except to close it. An error if the object is closed, never existed, or has
/// another type than `T`.
#[inline]
pub fn with<T: Any, R>(handle: jlong, act: impl FnOnce(&mut T) -> R) -> Result<R> {
    if let Some(turn) = Turn::take(handle) {
        // SAFETY: the slot is BUSY for this thread until `turn` is dropped.
        let entry = unsafe { (*turn.slot.entry.get()).as_mut() };
        if let Some(entry) = entry.filter(|entry| entry.kind == TypeId::of::<T>()) {
            // SAFETY: the box has a `T`, because its kind is that of `T`.
            let value = unsafe { &mut *std::ptr::from_mut(&mut *entry.value).cast::<T>() };
            return Ok(act(value));
        }
    }
    Err(missing::<T>(handle))
}

/// Removes an object, if it is still there. A method that works with it drops it when it returns.
pub fn close(handle: jlong) {
    let (place, marked) = split(handle);
    let (generation, Some(slot)) = (marked ^ MARK, slot(place)) else {
        return;
    };
    if generation == 0 || generation >= MARK {
        return;
    }
    let (idle, busy) = (state(generation, IDLE), state(generation, BUSY));
    loop {
        let found = slot.state.load(Ordering::Relaxed);
        let next = match found {
            found if found == idle => busy,
            found if found == busy => state(generation, DOOMED),
            _ => return,
        };
        let changed = slot
            .state
            .compare_exchange(found, next, Ordering::AcqRel, Ordering::Relaxed);
        if changed.is_ok() {
            if next == busy {
                let turn = std::mem::ManuallyDrop::new(Turn {
                    slot,
                    place,
                    generation,
                });
                drop(turn.remove());
            }
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_closed_handle_finds_nothing_and_closes_nothing() {
        let first = insert(1_u32);
        assert!(with(first, |value: &mut u32| *value).is_ok_and(|value| value == 1));
        assert!(with(first, |_: &mut u64| ()).is_err(), "another kind");
        close(first);
        assert!(with(first, |_: &mut u32| ()).is_err());
        let second = insert(2_u32);
        close(first);
        assert!(with(second, |value: &mut u32| *value).is_ok_and(|value| value == 2));
        let marked = i64::from(MARK) << 32;
        for handle in [0, -1, i64::MAX, i64::MIN, marked, marked | 1] {
            assert!(with(handle, |_: &mut u32| ()).is_err());
            close(handle);
        }
        close(second);
    }

    #[test]
    fn an_object_that_is_closed_in_its_method_lives_until_the_method_ends() {
        let (counted, handle) = (Arc::new(()), Arc::new(std::sync::atomic::AtomicI64::new(0)));
        handle.store(insert(counted.clone()), Ordering::Relaxed);
        let inside = handle.load(Ordering::Relaxed);
        let held = with(inside, |_: &mut Arc<()>| {
            close(inside);
            close(inside);
            Arc::strong_count(&counted)
        });
        assert!(
            held.is_ok_and(|count| count == 2),
            "it is there inside of its method"
        );
        assert_eq!(Arc::strong_count(&counted), 1);
        assert!(with(inside, |_: &mut Arc<()>| ()).is_err());
    }

    #[test]
    fn a_panic_in_a_method_ends_its_turn() {
        let handle = insert(7_u32);
        let call = || with(handle, |_: &mut u32| panic!("of the test"));
        assert!(std::panic::catch_unwind(call).is_err());
        assert!(with(handle, |value: &mut u32| *value).is_ok_and(|value| value == 7));
        close(handle);
    }

    #[test]
    fn threads_take_turns_until_one_closes() {
        const EACH: u64 = 10_000;
        for round in 0..4 {
            let handle = insert(0_u64);
            std::thread::scope(|scope| {
                for thread in 0..4 {
                    scope.spawn(move || {
                        for turn in 0..EACH {
                            let added = with(handle, |value: &mut u64| *value += 1);
                            if round % 2 == 1 && thread == 0 && turn == EACH / 2 {
                                close(handle);
                            }
                            assert!(round % 2 == 1 || added.is_ok());
                        }
                    });
                }
            });
            let counted = with(handle, |value: &mut u64| *value);
            assert_eq!(counted.ok(), (round % 2 == 0).then_some(4 * EACH));
            close(handle);
        }
    }
}

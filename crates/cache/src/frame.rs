//! Frames, which hold the values, and the state word that decides which threads may access a value.
//!
//! ```text
//! state  63            32  31  30      29     28       27            0
//!       |  generation    | - |TOUCHED|PARKED|VISIBLE |     pins       |
//! ```
//!
//! | transition | by whom | how |
//! |---|---|---|
//! | empty -> filled (generation + 1, `VISIBLE` or, outside of the table, `PARKED`, one pin) | shard lock held | `fetch_add` |
//! | pin, unpin | any thread | `fetch_add`, `fetch_sub` of 1 |
//! | set `TOUCHED` | a holder of a pin | `fetch_or` |
//! | clear `TOUCHED`, set or clear `PARKED`, clear `VISIBLE` | shard lock held | CAS, `fetch_and` |
//! | filled without pins -> empty (same generation, no flags) | shard lock held | CAS |
//!
//! A clock cache has no shard lock. The thread that empties a frame owns it until it puts it on the free
//! list; the thread that takes it from that list owns it until it fills it; all other transitions of filled
//! frames are exchanges of the whole word.
//!
//! Readers with stale slots add and subtract one at any time, on empty frames too. Therefore the word is
//! never stored to, only changed by arithmetic or compare-and-swap, and a pin count above zero on an empty
//! frame means nothing.
//!
//! Memory order: the value is written before the `fetch_add` (Release) that fills the frame, and read after a
//! pin (Acquire) that saw it. An unpin is Release and the CAS that empties is Acquire, so every reader is
//! done before the value is moved out. All accesses between these are read-modify-writes of the same word,
//! which keep those release sequences unbroken.

use std::mem::MaybeUninit;
use std::ptr;

use crate::prefetch::prefetch;
use crate::sync::{AtomicPtr, AtomicU64, Ordering, UnsafeCell};

/// A frame whose generation reaches this value is not filled again: the generation would wrap to values that
/// old slots may hold.
pub(crate) const LAST_GENERATION: u32 = u32::MAX;

/// One pin, as an increment of the state word.
const PIN: u64 = 1;
const PINS: u64 = (1 << 28) - 1;
/// Pins beyond this number are refused, long before the count could overflow into the flags.
const TOO_MANY_PINS: u64 = 1 << 27;
/// The flag of an entry in the table: slots and lookups may find it.
const VISIBLE: u64 = 1 << 28;
/// The flag of an entry that is on no LRU list: the thread that releases its last pin must settle it under
/// the shard's lock.
const PARKED: u64 = 1 << 29;
/// The flag of an entry that was hit through a slot since eviction last passed it.
const TOUCHED: u64 = 1 << 30;
const GENERATION_SHIFT: u32 = 32;
const GENERATION: u64 = !0 << GENERATION_SHIFT;

/// A value of the state word.
#[derive(Clone, Copy)]
pub(crate) struct FrameState(u64);

impl FrameState {
    pub(crate) fn pins(self) -> u64 {
        self.0 & PINS
    }
    pub(crate) fn generation(self) -> u32 {
        (self.0 >> GENERATION_SHIFT) as u32
    }
    pub(crate) fn is_visible(self) -> bool {
        self.0 & VISIBLE != 0
    }
    pub(crate) fn is_parked(self) -> bool {
        self.0 & PARKED != 0
    }
    pub(crate) fn is_touched(self) -> bool {
        self.0 & TOUCHED != 0
    }
    /// True while the frame holds a value.
    pub(crate) fn is_filled(self) -> bool {
        self.0 & (VISIBLE | PARKED) != 0
    }
}

/// The state word comes first and the value directly after it, so that a hit on a small value touches one
/// line.
#[repr(C, align(64))]
pub(crate) struct Frame<V> {
    state: AtomicU64,
    /// The value, which is initialised while the frame is filled.
    value: UnsafeCell<MaybeUninit<V>>,
}

// SAFETY: a state word of 0 is an empty frame, whose value is not initialised.
unsafe impl<V> Zeroed for Frame<V> {
    #[cfg(loom)]
    fn zeroed() -> Frame<V> {
        Frame {
            state: AtomicU64::new(0),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }
}

impl<V> Frame<V> {
    pub(crate) fn state(&self) -> FrameState {
        FrameState(self.state.load(Ordering::Acquire))
    }

    /// Pins the value of `generation` if the frame holds it and it is in the table. On `Err` the pin was
    /// released; `Err(Some(generation))` asks the caller to settle that generation, because this was its last
    /// unpin.
    #[inline]
    pub(crate) fn pin_generation(&self, generation: u32) -> Result<(), Option<u32>> {
        let before = self.state.fetch_add(PIN, Ordering::Acquire);
        let expected = (u64::from(generation) << GENERATION_SHIFT) | VISIBLE;
        if (before ^ expected) & (GENERATION | VISIBLE | TOO_MANY_PINS) != 0 {
            return Err(self.unpin());
        }
        if before & TOUCHED == 0 {
            self.state.fetch_or(TOUCHED, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Adds one more pin. The caller holds a pin, or the shard's lock over a visible entry.
    pub(crate) fn pin_again(&self) {
        let before = self.state.fetch_add(PIN, Ordering::Acquire);
        if before & TOO_MANY_PINS != 0 {
            // The caller has leaked a hundred million handles: the count could not be trusted any more.
            std::process::abort();
        }
    }

    /// Releases a pin. `Some(generation)`: it was the last pin of a parked entry, and the caller must settle
    /// the entry.
    #[inline]
    pub(crate) fn unpin(&self) -> Option<u32> {
        let before = self.state.fetch_sub(PIN, Ordering::Release);
        if before & (PINS | PARKED) == PIN | PARKED {
            Some(FrameState(before).generation())
        } else {
            None
        }
    }

    /// Prefetches the frame's memory.
    #[inline]
    pub(crate) fn prefetch(&self) {
        prefetch(ptr::from_ref(&self.state).addr(), size_of_val(&self.state));
    }

    /// The value.
    ///
    /// # Safety
    /// The caller holds a pin on the value for as long as it uses the reference.
    #[inline]
    pub(crate) unsafe fn value(&self) -> &V {
        // SAFETY: a pinned frame is filled, so the value is initialised, and no thread writes it before the
        // last pin is gone.
        self.value.with(|value| unsafe { (*value).assume_init_ref() })
    }

    /// Fills an empty frame and pins the value once. A value that is not `visible` is in no table, and is
    /// parked.
    ///
    /// # Safety
    /// The frame is empty and on no list, and the caller holds the shard's lock or, in a clock cache, took
    /// the frame from the free list.
    pub(crate) unsafe fn fill(&self, value: V, visible: bool, parked: bool) {
        // SAFETY: the frame is empty, so no reader's pin succeeds before the addition below, and the lock
        // keeps out other writers.
        self.value.with_mut(|cell| unsafe { (*cell).write(value) });
        let flags = if visible { VISIBLE } else { 0 } | if parked || !visible { PARKED } else { 0 };
        self.state
            .fetch_add((1 << GENERATION_SHIFT) | flags | PIN, Ordering::Release);
    }

    /// Empties the frame if its state still is `seen`, which has no pins, and returns the value. The caller
    /// holds the shard's lock.
    pub(crate) fn take(&self, seen: FrameState) -> Option<V> {
        assert!(seen.pins() == 0 && seen.is_filled());
        self.state
            .compare_exchange(seen.0, seen.0 & GENERATION, Ordering::Acquire, Ordering::Relaxed)
            .ok()?;
        // SAFETY: the word was filled and without pins, and is empty now: no pin on this value exists or can
        // come to exist, so it is initialised and this is its only reader. It counts as uninitialised from
        // here on.
        Some(self.value.with(|value| unsafe { (*value).assume_init_read() }))
    }

    /// Parks the entry if its state still is `seen`, and also makes it invisible to slots if `erase`. The
    /// caller holds the shard's lock.
    pub(crate) fn park(&self, seen: FrameState, erase: bool) -> bool {
        let kept = if erase { !VISIBLE } else { !0 };
        self.state
            .compare_exchange(
                seen.0,
                (seen.0 | PARKED) & kept,
                Ordering::Relaxed,
                Ordering::Relaxed,
            )
            .is_ok()
    }

    /// Clears `PARKED`. The caller holds the shard's lock.
    pub(crate) fn unpark(&self) {
        self.state.fetch_and(!PARKED, Ordering::Relaxed);
    }

    /// Clears `PARKED` if the state still is `seen`.
    pub(crate) fn unpark_as_seen(&self, seen: FrameState) -> bool {
        self.state
            .compare_exchange(seen.0, seen.0 & !PARKED, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }

    /// Clears `TOUCHED` if the state still is `seen`.
    pub(crate) fn untouch_as_seen(&self, seen: FrameState) -> bool {
        self.state
            .compare_exchange(seen.0, seen.0 & !TOUCHED, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }

    /// Clears `TOUCHED`. The caller holds the shard's lock.
    pub(crate) fn clear_touched(&self) {
        self.state.fetch_and(!TOUCHED, Ordering::Relaxed);
    }

    #[cfg(all(test, not(loom)))]
    pub(crate) fn set_generation(&self, generation: u32) {
        self.state
            .store(u64::from(generation) << GENERATION_SHIFT, Ordering::Relaxed);
    }
}

const FIRST_CHUNK_BITS: u32 = if cfg!(loom) { 1 } else { 6 };
const CHUNKS: usize = (32 - FIRST_CHUNK_BITS) as usize;

/// A type that a [`Slab`] can hold.
///
/// # Safety
/// All zero bytes are a value of the type.
pub(crate) unsafe trait Zeroed {
    /// The value of all zero bytes. Loom's atomics are not zeros at first, so its builds construct them.
    #[cfg(loom)]
    fn zeroed() -> Self;
}

/// The frames of a shard, or the entries parallel to them, in chunks that double in size: chunk `k` has
/// `64 << k` items. No item ever moves, and each is found by its index without a lock. The system commits the
/// memory of a large chunk as it comes into use.
pub(crate) struct Slab<F> {
    chunks: [AtomicPtr<F>; CHUNKS],
}

/// The chunk of the item at `index`, and its place in the chunk.
#[inline]
fn locate(index: u32) -> (usize, usize) {
    let n = u64::from(index) + (1 << FIRST_CHUNK_BITS);
    let high = n.ilog2();
    ((high - FIRST_CHUNK_BITS) as usize, (n - (1 << high)) as usize)
}

fn chunk_len(chunk: usize) -> usize {
    1 << (FIRST_CHUNK_BITS as usize + chunk)
}

impl<F> Slab<F> {
    pub(crate) fn new() -> Slab<F> {
        Slab {
            chunks: std::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())),
        }
    }

    /// The item at `index`, if its chunk exists.
    #[inline]
    pub(crate) fn get(&self, index: u32) -> Option<&F> {
        let (chunk, place) = locate(index);
        let items = self.chunks.get(chunk)?.load(Ordering::Acquire);
        if items.is_null() {
            return None;
        }
        // SAFETY: a non-null chunk has `chunk_len(chunk)` items, `place` is less by construction, and chunks
        // live as long as the slab. Acquire pairs with the exchange that published them.
        Some(unsafe { &*items.add(place) })
    }
}

impl<F: Zeroed> Slab<F> {
    /// Allocates the chunk of the item at `index`, if it does not exist; false if `index` is too large for
    /// any chunk.
    pub(crate) fn ensure(&self, index: u32) -> bool {
        let (chunk, _) = locate(index);
        let Some(slot) = self.chunks.get(chunk) else {
            return false;
        };
        if slot.load(Ordering::Acquire).is_null() {
            let new = allocate_chunk(chunk_len(chunk));
            let published = slot.compare_exchange(ptr::null_mut(), new, Ordering::Release, Ordering::Relaxed);
            if published.is_err() {
                // SAFETY: the chunk was allocated above with this length, and no other thread has seen it.
                unsafe { free_chunk(new, chunk_len(chunk)) };
            }
        }
        true
    }
}

impl<F> Drop for Slab<F> {
    /// Frees the memory. The shard drops the values in the frames before.
    fn drop(&mut self) {
        for (chunk, slot) in self.chunks.iter().enumerate() {
            let items = slot.load(Ordering::Relaxed);
            if !items.is_null() {
                // SAFETY: the chunk was allocated by `allocate_chunk` with this length, and `&mut self`
                // excludes all other users.
                unsafe { free_chunk(items, chunk_len(chunk)) };
            }
        }
    }
}

#[cfg(not(loom))]
fn allocate_chunk<F: Zeroed>(len: usize) -> *mut F {
    let layout = std::alloc::Layout::array::<F>(len).expect("fewer bytes than the address space");
    // SAFETY: the layout is not empty, and zeros are valid by the trait's promise.
    let items = unsafe { std::alloc::alloc_zeroed(layout) };
    if items.is_null() {
        std::alloc::handle_alloc_error(layout);
    }
    items.cast()
}

/// # Safety
/// `items` comes from [`allocate_chunk`] with the same `len`, and is not used again.
#[cfg(not(loom))]
unsafe fn free_chunk<F>(items: *mut F, len: usize) {
    let layout = std::alloc::Layout::array::<F>(len).expect("the layout was valid when it was allocated");
    // SAFETY: the caller ensures the conditions under `# Safety`.
    unsafe { std::alloc::dealloc(items.cast(), layout) };
}

#[cfg(loom)]
fn allocate_chunk<F: Zeroed>(len: usize) -> *mut F {
    let items: Box<[F]> = (0..len).map(|_| F::zeroed()).collect();
    Box::into_raw(items).cast()
}

/// # Safety
/// `items` comes from [`allocate_chunk`] with the same `len`, and is not used again.
#[cfg(loom)]
unsafe fn free_chunk<F>(items: *mut F, len: usize) {
    // SAFETY: the caller ensures the conditions under `# Safety`.
    drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(items, len)) });
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn indices_fill_one_chunk_after_the_other() {
        let mut expected = (0, 0);
        for index in 0..100_000 {
            assert_eq!(locate(index), expected);
            expected.1 += 1;
            if expected.1 == chunk_len(expected.0) {
                expected = (expected.0 + 1, 0);
            }
        }
        assert_eq!(locate(u32::MAX).0, CHUNKS);
        assert!(Slab::<Frame<u64>>::new().get(u32::MAX).is_none());
    }
}

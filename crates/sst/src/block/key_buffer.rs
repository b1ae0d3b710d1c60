//! The memory in which cursors assemble keys. Cursors are opened, moved a few steps and dropped by the
//! million: a dropped cursor leaves its buffer to the next one of its thread, so that allocations are rare.

use std::cell::Cell;
use std::mem;
use std::ops::{Deref, DerefMut};

/// A thread keeps at most this many buffers, enough for an iterator over many sorted runs ...
const MOST: usize = 32;

/// The maximum size in bytes of a spare buffer that a thread keeps.
const LARGEST: usize = 1 << 10;

thread_local! {
    /// The pool of empty vectors that have capacity.
    static SPARE: Cell<Vec<Vec<u8>>> = const { Cell::new(Vec::new()) };
}

/// A vector that goes to the next cursor when it is dropped.
#[derive(Debug)]
pub(super) struct KeyBuffer(Vec<u8>);

impl KeyBuffer {
    /// An empty buffer.
    #[inline]
    pub fn new() -> KeyBuffer {
        KeyBuffer(Vec::new())
    }

    /// Ensures a capacity of `room` bytes; the buffer must not be in use yet.
    #[inline]
    pub fn make_room(&mut self, room: usize) {
        if self.0.capacity() == 0 {
            let take = |spare: &Cell<Vec<Vec<u8>>>| {
                let mut list = spare.take();
                let taken = list.pop();
                spare.set(list);
                taken
            };
            // A thread that ends has no spare buffers any more.
            let taken = SPARE.try_with(take).ok().flatten();
            self.0 = taken.unwrap_or_default();
        }
        self.0.reserve(room);
    }
}

impl Deref for KeyBuffer {
    type Target = Vec<u8>;

    #[inline(always)]
    fn deref(&self) -> &Vec<u8> {
        &self.0
    }
}

impl DerefMut for KeyBuffer {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }
}

impl Drop for KeyBuffer {
    #[inline]
    fn drop(&mut self) {
        let mut left = mem::take(&mut self.0);
        if left.capacity() == 0 || left.capacity() > LARGEST {
            return;
        }
        left.clear();
        let _ = SPARE.try_with(|spare| {
            let mut list = spare.take();
            if list.len() < MOST {
                list.push(left);
            }
            spare.set(list);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(room: usize) -> KeyBuffer {
        let mut buffer = KeyBuffer::new();
        buffer.make_room(room);
        buffer.extend_from_slice(b"key");
        buffer
    }

    #[test]
    fn what_cursors_leave_others_take() {
        let first: Vec<_> = (0..MOST + 1).map(|_| filled(100)).collect();
        let mut places: Vec<_> = first.iter().map(|buffer| buffer.as_ptr()).collect();
        drop(first);
        let second: Vec<_> = (0..MOST).map(|_| filled(100)).collect();
        for buffer in &second {
            assert_eq!(**buffer, b"key");
            assert!(places.contains(&buffer.as_ptr()));
            places.retain(|place| *place != buffer.as_ptr());
        }
        drop(second);
        // Unusually large buffers are not kept.
        drop(filled(LARGEST + 1));
        let kept: Vec<_> = (0..MOST).map(|_| filled(1)).collect();
        assert!(kept.iter().all(|buffer| buffer.capacity() <= LARGEST));
    }
}

//! Per-thread recycling of buffers. Iterators are opened, moved a few steps and dropped in great numbers, and
//! allocations were a tenth of their cost.

use std::cell::Cell;

/// The largest buffer that a thread keeps per kind, in bytes.
const KEPT: usize = 16 << 10;

/// One empty vector with spare capacity, per thread. A thread that is ending has none: access it with
/// `try_with`.
pub(crate) struct Spare<T>(Cell<Vec<T>>);

impl<T> Spare<T> {
    pub const fn new() -> Spare<T> {
        Spare(Cell::new(Vec::new()))
    }

    /// Returns an empty vector: the spare one, unless it was already taken.
    #[inline]
    pub fn take(&self) -> Vec<T> {
        self.0.take()
    }

    /// Empties `vec` and keeps its memory for the next `take`.
    #[inline]
    pub fn leave(&self, vec: &mut Vec<T>) {
        let mut vec = std::mem::take(vec);
        vec.clear();
        if vec.capacity() * size_of::<T>() <= KEPT {
            self.0.set(vec);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_goes_from_one_to_the_next() {
        let spare = Spare::new();
        let (mut first, mut second) = (spare.take(), spare.take());
        first.extend_from_slice(b"row");
        second.extend_from_slice(b"another");
        let place = first.as_ptr();
        spare.leave(&mut second);
        spare.leave(&mut first);
        let third = spare.take();
        assert!(third.is_empty());
        assert_eq!(third.as_ptr(), place);
        assert_eq!(spare.take().capacity(), 0);
    }

    #[test]
    fn no_more_is_kept_than_is_usual() {
        let spare = Spare::new();
        let mut large = vec![0u64; KEPT / 8 + 1];
        spare.leave(&mut large);
        assert_eq!((large.capacity(), spare.take().capacity()), (0, 0));
    }
}

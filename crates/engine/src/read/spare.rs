//! Memory that what is thrown away leaves to what its thread makes next: iterators are opened, moved a few steps and dropped by the
//! million, and a tenth of what that cost were allocations.

use std::cell::Cell;

/// Bytes a thread keeps of each kind.
const KEPT: usize = 16 << 10;

/// One vector, empty, with room in it; one a thread. A thread that ends has none any more, so ask with `try_with`.
pub(crate) struct Spare<T>(Cell<Vec<T>>);

impl<T> Spare<T> {
    pub const fn new() -> Spare<T> {
        Spare(Cell::new(Vec::new()))
    }

    /// An empty vector: the spare one, if it was not taken before.
    #[inline]
    pub fn take(&self) -> Vec<T> {
        self.0.take()
    }

    /// Empties `vec` and leaves its memory to the next who asks.
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

//! Memory that what is thrown away leaves to what its thread makes next: iterators are opened, moved a few steps and dropped by the
//! million, and a fifth of what that cost were allocations.

use std::cell::Cell;
use std::thread::LocalKey;

/// Bytes a thread keeps of each kind.
const KEPT: usize = 16 << 10;

/// One vector, empty, with room in it.
pub(crate) struct Spare<T>(Cell<Vec<T>>);

impl<T> Spare<T> {
    pub const fn new() -> Spare<T> {
        Spare(Cell::new(Vec::new()))
    }
}

/// What a `thread_local` spare is asked for.
pub(crate) trait SpareKey<T> {
    /// An empty vector with room for `most`; that of the spare, if it was not taken before.
    fn take_for(&'static self, most: usize) -> Vec<T>;
    /// Empties `vec` and leaves its memory to the next who asks.
    fn leave(&'static self, vec: &mut Vec<T>);
}

impl<T> SpareKey<T> for LocalKey<Spare<T>> {
    fn take_for(&'static self, most: usize) -> Vec<T> {
        // A thread that ends has given its spares back.
        let mut vec = self.try_with(|spare| spare.0.take()).unwrap_or_default();
        vec.reserve(most);
        vec
    }

    fn leave(&'static self, vec: &mut Vec<T>) {
        let mut vec = std::mem::take(vec);
        vec.clear();
        if vec.capacity() * size_of::<T>() <= KEPT {
            let _ = self.try_with(|spare| spare.0.set(vec));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    thread_local! {
        static BYTES: Spare<u8> = const { Spare::new() };
    }

    #[test]
    fn memory_goes_from_one_to_the_next() {
        let mut first = BYTES.take_for(100);
        let mut second = BYTES.take_for(50);
        first.extend_from_slice(b"row");
        let place = first.as_ptr();
        assert_ne!(place, second.as_ptr());
        BYTES.leave(&mut second);
        BYTES.leave(&mut first);
        let third = BYTES.take_for(20);
        assert!(third.is_empty() && third.capacity() >= 100);
        assert_eq!(third.as_ptr(), place);
    }

    #[test]
    fn no_more_is_kept_than_is_usual() {
        let mut large = BYTES.take_for(KEPT + 1);
        BYTES.leave(&mut large);
        assert_eq!(large.capacity(), 0);
        assert_eq!(BYTES.take_for(0).capacity(), 0);
    }
}

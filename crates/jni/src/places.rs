//! The parts that both tables of handles have: blocks of slots that never move, the free slots, and the two
//! numbers in a handle.

use jni_sys::jlong;

use crate::fail::Fail;

/// The number of slots in the first block of the table. Each further block has as many slots as all blocks
/// before it.
const FIRST: usize = 1024;

/// The free slots of a table.
#[derive(Default)]
pub struct Free {
    places: Vec<(u32, u32)>,
    end: u32,
}

impl Free {
    /// Takes a free slot, with the generation of its next object.
    pub fn take(&mut self) -> (u32, u32) {
        self.places.pop().unwrap_or_else(|| {
            self.end += 1;
            (self.end - 1, 1)
        })
    }

    /// Gives back the slot of an object. Generations count up to `highest` and then from 1 again.
    pub fn put(&mut self, place: u32, generation: u32, highest: u32) {
        self.places.push((place, generation % highest + 1));
    }
}

/// Returns the empty slots of a block.
pub fn block<S: Default>(block: usize) -> Box<[S]> {
    (0..FIRST << block).map(|_| S::default()).collect()
}

/// Returns the block of a slot, and the index in that block.
pub fn locate(place: u32) -> (usize, usize) {
    let place = place as usize;
    let block = (place / FIRST + 1).ilog2() as usize;
    (block, place - ((1 << block) - 1) * FIRST)
}

/// Returns the slot and the generation of a handle.
pub fn split(handle: jlong) -> (u32, u32) {
    ((handle as u32).wrapping_sub(1), (handle >> 32) as u32)
}

/// Returns the error for a handle without an object of the expected type.
#[cold]
pub fn missing<T>(handle: jlong) -> Fail {
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
    fn places_lie_one_behind_the_other() {
        assert_eq!(locate(0), (0, 0));
        assert_eq!(locate(1023), (0, 1023));
        assert_eq!(locate(1024), (1, 0));
        assert_eq!(locate(3071), (1, 2047));
        assert_eq!(locate(3072), (2, 0));
    }
}

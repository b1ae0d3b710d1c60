//! Memory of which each thread has its own part, so that threads do not wait for each other's cache lines.

use crate::sync::{SIMULATED, thread_number};

/// The most parts of one object: enough that on most machines each thread that runs has its own.
const MOST_PARTS: usize = 64;

/// A part for each thread that can run at once, 64 at most. Further threads share parts, so a part must allow
/// several threads to write to it. A reader of the whole visits the parts one after the other, and does not
/// see one moment of all of them.
pub struct PerThread<T> {
    /// The number of parts is a power of two.
    parts: Box<[OwnLines<T>]>,
}

/// A part of the memory, aligned to two cache lines, because processors fetch lines in pairs.
#[derive(Default)]
#[repr(align(128))]
struct OwnLines<T>(T);

impl<T: Default> Default for PerThread<T> {
    fn default() -> PerThread<T> {
        // A simulation, which is replayed from its seed, must be the same on every machine.
        let cores = match SIMULATED {
            true => 2,
            false => std::thread::available_parallelism().map_or(8, |cores| cores.get()),
        };
        let parts = (cores * 2).next_power_of_two().min(MOST_PARTS);
        PerThread {
            parts: (0..parts).map(|_| OwnLines::default()).collect(),
        }
    }
}

impl<T> PerThread<T> {
    /// The calling thread's part: the same one in each call.
    #[inline]
    pub fn own(&self) -> &T {
        &self.parts[thread_number() & (self.parts.len() - 1)].0
    }

    /// The parts of all threads.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.parts.iter().map(|part| &part.0)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn the_parts_add_up_whoever_wrote_them() {
        let counts = PerThread::<AtomicU64>::default();
        std::thread::scope(|scope| {
            for _ in 0..200 {
                scope.spawn(|| {
                    let own: *const AtomicU64 = counts.own();
                    counts.own().fetch_add(1, Ordering::Relaxed);
                    assert!(std::ptr::eq(own, counts.own()));
                });
            }
        });
        let parts: Vec<u64> = counts.iter().map(|part| part.load(Ordering::Relaxed)).collect();
        assert!(parts.len().is_power_of_two() && parts.len() > 1);
        assert_eq!(parts.iter().sum::<u64>(), 200);
        // Threads with consecutive numbers are spread evenly.
        assert!(parts.iter().all(|&part| part > 0), "{parts:?}");
    }
}

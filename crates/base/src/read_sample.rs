//! The choice of the reads by which tables are counted: one read of each 1,024, as in RocksDB.

use std::cell::Cell;

/// One read of so many is counted, and counts for all of them.
pub const READ_SAMPLE_RATE: u32 = 1024;

/// A thread's state: the number of reads until the next one is counted, and the seed of the gap after it.
struct Countdown {
    left: Cell<u32>,
    seed: Cell<u32>,
}

thread_local! {
    static COUNTDOWN: Countdown = const {
        Countdown {
            left: Cell::new(READ_SAMPLE_RATE / 2),
            seed: Cell::new(301),
        }
    };
}

/// True for one call of [`READ_SAMPLE_RATE`] on average, in each thread.
///
/// The gaps between chosen calls differ, so that reads that come in turns are chosen alike. Each thread has
/// the same gaps, so that a replayed run chooses the same reads.
#[inline]
pub fn is_sampled() -> bool {
    COUNTDOWN.with(|countdown| match countdown.left.get() {
        0 => {
            countdown.begin_gap();
            true
        }
        left => {
            countdown.left.set(left - 1);
            false
        }
    })
}

impl Countdown {
    /// Draws the next gap by RocksDB's generator of Park and Miller: 0 to twice the rate less 2, all equally
    /// often.
    #[cold]
    fn begin_gap(&self) {
        const MODULUS: u64 = (1 << 31) - 1;
        let next = u64::from(self.seed.get()) * 16807 % MODULUS;
        self.seed.set(next as u32);
        self.left.set(next as u32 % (2 * READ_SAMPLE_RATE - 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_read_of_1024_is_chosen_whatever_their_period() {
        let mut chosen = [0_u32; 16];
        for read in 0..1 << 22 {
            if is_sampled() {
                chosen[read % 16] += 1;
            }
        }
        let all: u32 = chosen.iter().sum();
        assert!((3900..4300).contains(&all), "{all}");
        // Each sixteenth of the reads has about a sixteenth of the choices.
        assert!(
            chosen.iter().all(|count| (180..340).contains(count)),
            "{chosen:?}"
        );
    }
}

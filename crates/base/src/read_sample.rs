//! Samples the reads of tables: one read in 1,024 is counted, as in RocksDB.

use std::cell::Cell;

/// The number of reads that each counted read represents.
pub const READ_SAMPLE_RATE: u32 = 1024;

/// A thread's state: the number of reads until the next read is counted, and the seed from which the gap
/// after that read is drawn.
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

/// True for one call in [`READ_SAMPLE_RATE`] on average, in each thread.
///
/// The gaps between sampled calls vary, so that two kinds of reads that alternate are sampled equally often.
/// Each thread has the same gaps, so that a replayed run samples the same reads.
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
    /// Draws the next gap with RocksDB's Park-Miller generator: uniformly from 0 to twice the rate minus 2.
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
        // Each sixteenth of the reads has about a sixteenth of the samples.
        assert!(
            chosen.iter().all(|count| (180..340).contains(count)),
            "{chosen:?}"
        );
    }
}

//! Seeds of random numbers: one base for each run, printed and replayable, from which every thread of every
//! workload gets its own seed.
//!
//! Seeds are hashes of the base and a counter that never restarts. A base plus a thread's number, as in
//! RocksDB's db_bench, would give the threads of a second workload, or of a run whose `--seed` is the next
//! number, the keys of the first, which would be in the caches that the first has warmed.

use std::sync::atomic::{AtomicU64, Ordering};

/// Hands out seeds, each once: no thread of any workload draws the numbers of another, in this run or in
/// another run.
#[derive(Debug)]
pub struct Seeds {
    base: u64,
    used: AtomicU64,
}

impl Seeds {
    /// The seeds of a `--seed`. 0 draws a random base.
    pub fn new(seed: i64) -> Seeds {
        let base = match seed {
            // The random base is positive, so that it can be passed as `--seed`.
            0 => (base::env::fresh_seed() >> 1).max(1),
            seed => seed as u64,
        };
        Seeds {
            base,
            used: AtomicU64::new(0),
        }
    }

    /// The `--seed` that replays this run.
    pub fn base(&self) -> i64 {
        self.base as i64
    }

    /// The line about the seed; `asked` is the `--seed` that was given.
    pub fn text(&self, asked: i64) -> String {
        match asked {
            0 => format!("Set seed to {} because --seed was 0\n", self.base()),
            _ => format!("Set seed to {}\n", self.base()),
        }
    }

    /// The next seed.
    pub fn next_seed(&self) -> u64 {
        let number = self.used.fetch_add(1, Ordering::Relaxed) + 1;
        // Each base starts elsewhere on SplitMix64's one cycle, so far from the others that their sequences
        // do not meet.
        mix(mix(self.base).wrapping_add(number.wrapping_mul(STEP)))
    }
}

/// The step of SplitMix64, whose multiples go through all numbers.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The output function of SplitMix64: a bijection in which each bit of the input changes half of the output.
#[inline]
pub fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(STEP);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Mutex;

    use super::*;
    use crate::flags::Flags;
    use crate::op::Op;
    use crate::runner;

    /// The number of compared numbers of each sequence.
    const NUMBERS: usize = 64;

    /// The numbers that the threads of `workloads` workloads draw in a run with this `--seed`.
    fn sequences(seed: i64, workloads: usize, threads: usize) -> (i64, Vec<Vec<u64>>) {
        let flags = Flags {
            progress_reports: false,
            ..Flags::default()
        };
        let seeds = Seeds::new(seed);
        let mut all = Vec::new();
        for _ in 0..workloads {
            let drawn = Mutex::new(vec![Vec::new(); threads]);
            runner::run(&flags, threads, 0, &seeds, &(), &|thread| {
                let numbers = (0..NUMBERS).map(|_| thread.rng.u64(..)).collect();
                drawn.lock().unwrap()[thread.id] = numbers;
                thread.finished(1, Op::Other);
                Ok(())
            })
            .unwrap();
            all.extend(drawn.into_inner().unwrap());
        }
        (seeds.base(), all)
    }

    #[test]
    fn sequences_are_shared_only_by_runs_of_one_seed() {
        // The compared runs have neighbouring seeds, two random seeds, and the seeds at the ends of the
        // range; each has three workloads of four threads. No number occurs twice anywhere, so no two
        // sequences are equal, and none is another's shifted by less than its length.
        let (mut numbers, mut count) = (HashSet::new(), 0);
        let mut chosen = Vec::new();
        for seed in [
            1,
            2,
            3,
            4,
            5,
            1_647_992_570,
            1_647_992_571,
            -1,
            i64::MAX,
            i64::MIN,
            0,
            0,
        ] {
            let (base, drawn) = sequences(seed, 3, 4);
            assert!(base == seed || (seed == 0 && base > 0));
            if seed == 0 {
                chosen.push(base);
            }
            count += drawn.iter().map(Vec::len).sum::<usize>();
            numbers.extend(drawn.into_iter().flatten());
        }
        assert_eq!(count, 12 * 3 * 4 * NUMBERS);
        assert_eq!(
            numbers.len(),
            count,
            "two sequences meet; seeds drawn: {chosen:?}"
        );

        // The printed seed replays the run, whether it was given or drawn.
        for base in [7, chosen[0]] {
            let (first, again) = (sequences(base, 3, 4), sequences(base, 3, 4));
            assert_eq!(first, again, "--seed={base}");
        }
    }

    #[test]
    fn the_seed_is_printed() {
        assert_eq!(Seeds::new(7).text(7), "Set seed to 7\n");
        let seeds = Seeds::new(0);
        let text = seeds.text(0);
        let printed = text.split_whitespace().nth(3).and_then(|word| word.parse().ok());
        assert_eq!(printed, Some(seeds.base()), "{text}");
    }
}

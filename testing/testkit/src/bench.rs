//! Shared support of the microbenchmarks under `benches/`: keys, an order to visit them in, and sizes that
//! are tiny in a test.

use std::sync::atomic::{AtomicUsize, Ordering};

use base::env::Rng;

/// The length of a [`key`] in bytes.
pub const KEY_LEN: usize = 16;

/// `full` when benchmarks are measured (`cargo bench`), `tiny` when a test only checks that they run.
pub fn size(full: usize, tiny: usize) -> usize {
    // Cargo's flag, which Divan also uses.
    if std::env::args().any(|arg| arg == "--bench") {
        full
    } else {
        tiny
    }
}

/// Makes every later panic end the process, after its message. For benchmarks with several threads: Divan's
/// threads meet at a barrier, and if one died the others would wait indefinitely.
pub fn end_on_panic() {
    let say = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        say(info);
        std::process::exit(101);
    }));
}

/// The `i`th user key in bytewise order, in the form that `db_bench` writes: a big-endian number, padded with
/// `0`.
pub fn key(i: usize) -> [u8; KEY_LEN] {
    let mut key = [b'0'; KEY_LEN];
    key[..8].copy_from_slice(&(i as u64).to_be_bytes());
    key
}

/// All numbers below a limit in a pattern-free order, repeatedly; the same order in every run. Any number of
/// threads may draw from it.
pub struct Shuffled {
    order: Vec<usize>,
    at: AtomicUsize,
}

impl Shuffled {
    /// The numbers below `n`, which is not 0.
    pub fn new(n: usize) -> Shuffled {
        let mut order: Vec<usize> = (0..n).collect();
        Rng::with_seed(n as u64).shuffle(&mut order);
        Shuffled {
            order,
            at: AtomicUsize::new(0),
        }
    }

    /// Returns the next random number.
    pub fn next(&self) -> usize {
        self.order[self.at.fetch_add(1, Ordering::Relaxed) % self.order.len()]
    }
}

/// `len` bytes, the same in every run, which compress to about half: every second run of 16 bytes repeats the
/// one before it.
pub fn half_compressible(len: usize) -> Vec<u8> {
    let mut rng = Rng::with_seed(len as u64);
    let mut bytes = Vec::with_capacity(len + 32);
    while bytes.len() < len {
        let run = rng.u128(..).to_le_bytes();
        bytes.extend_from_slice(&run);
        bytes.extend_from_slice(&run);
    }
    bytes.truncate(len);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_by_their_numbers() {
        assert!([0, 1, 255, 256, 1 << 40].map(key).is_sorted());
    }

    #[test]
    fn every_number_comes_once_a_round() {
        let order = Shuffled::new(100);
        let first: Vec<usize> = (0..100).map(|_| order.next()).collect();
        let mut round: Vec<usize> = (0..100).map(|_| order.next()).collect();
        assert_eq!(round, first);
        assert!(!round.is_sorted());
        round.sort_unstable();
        assert!(round.into_iter().eq(0..100));
    }
}

//! What the microbenchmarks under `benches/` share: keys, an order to visit them in, and sizes that are tiny in a test.

use std::sync::atomic::{AtomicUsize, Ordering};

use base::env::Rng;

/// Bytes of a [`key`].
pub const KEY_LEN: usize = 16;

/// `full` when benchmarks are measured (`cargo bench`), `tiny` when a test only sees that they run.
pub fn size(full: usize, tiny: usize) -> usize {
    // Cargo's own sign, and the one Divan goes by.
    if std::env::args().any(|arg| arg == "--bench") {
        full
    } else {
        tiny
    }
}

/// From now on a panic ends the process, once it has said what it has to say. For benchmarks with several threads: Divan's
/// meet at a barrier, and if one dies the others would wait for it for ever.
pub fn end_on_panic() {
    let say = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        say(info);
        std::process::exit(101);
    }));
}

/// The `i`th user key in bytewise order, of the shape `db_bench` writes: a big-endian number, filled up with `0`.
pub fn key(i: usize) -> [u8; KEY_LEN] {
    let mut key = [b'0'; KEY_LEN];
    key[..8].copy_from_slice(&(i as u64).to_be_bytes());
    key
}

/// All numbers below some number in an order without a pattern, over and over; the same order every time. Any number of
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

    /// The next one.
    pub fn next(&self) -> usize {
        self.order[self.at.fetch_add(1, Ordering::Relaxed) % self.order.len()]
    }
}

/// `len` bytes, the same every time, which compress to about half: every second run of 16 bytes repeats the one before it.
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

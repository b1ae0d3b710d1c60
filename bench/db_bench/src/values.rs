//! Values that compress to a given share of their size, as RocksDB's db_bench makes them: pieces of 100
//! bytes, each a short random string repeated, in a megabyte that is used over and over.

use std::sync::Arc;

use base::env::Rng;

/// The size of a piece in bytes.
const PIECE: usize = 100;
/// The least number of bytes: more than any compression window, so that no value sees its own copy.
const LEAST: usize = 1 << 20;

/// The distribution of the sizes of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sizes {
    /// All values have this size.
    Fixed(usize),
    /// All sizes from the first to the second are equally likely.
    Uniform(usize, usize),
    /// A normal distribution around the middle, with a sixth of the range as deviation, limited to the range.
    Normal(usize, usize),
}

impl Sizes {
    /// The greatest possible size.
    pub fn most(self) -> usize {
        match self {
            Sizes::Fixed(size) => size,
            Sizes::Uniform(_, most) | Sizes::Normal(_, most) => most,
        }
    }

    /// The expected size.
    pub fn average(self) -> usize {
        match self {
            Sizes::Fixed(size) => size,
            Sizes::Uniform(least, most) | Sizes::Normal(least, most) => (least + most) / 2,
        }
    }

    #[inline]
    fn draw(self, rng: &mut Rng) -> usize {
        match self {
            Sizes::Fixed(size) => size,
            Sizes::Uniform(least, most) => rng.usize(least..=most),
            Sizes::Normal(least, most) => {
                let (mean, deviation) = ((least + most) as f64 / 2.0, (most - least) as f64 / 6.0);
                // The Box-Muller transform of two uniform numbers into a normal one.
                let radius = (-2.0 * (1.0 - rng.f64()).ln()).sqrt();
                let normal = radius * (std::f64::consts::TAU * rng.f64()).cos();
                ((mean + deviation * normal).round().max(0.0) as usize).clamp(least, most)
            }
        }
    }
}

/// Returns values one after the other. Clones share their bytes.
#[derive(Clone, Debug)]
pub struct Values {
    bytes: Arc<[u8]>,
    position: usize,
    sizes: Sizes,
    same_percentage: u32,
    rng: Rng,
}

impl Values {
    /// Values that compress to `ratio` of their size; `same_percentage` of them are all the same. RocksDB's
    /// db_bench has one seed for the values of every run and thread; here it is the run's.
    pub fn new(sizes: Sizes, ratio: f64, same_percentage: u32, seed: u64) -> Values {
        let mut rng = Rng::with_seed(seed);
        let least = LEAST.max(sizes.most());
        let mut bytes = Vec::with_capacity(least + PIECE);
        let raw = ((PIECE as f64 * ratio) as usize).clamp(1, PIECE);
        let mut random = vec![0; raw];
        while bytes.len() < least {
            rng.fill(&mut random);
            bytes.extend(random.iter().cycle().take(PIECE));
        }
        Values {
            bytes: bytes.into(),
            position: 0,
            sizes,
            same_percentage,
            rng,
        }
    }

    /// The distribution of sizes.
    pub fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// The values of one thread, which starts elsewhere in the same bytes than other threads, and draws sizes
    /// of its own.
    pub fn of_thread(&self, seed: u64) -> Values {
        let mut rng = Rng::with_seed(seed);
        Values {
            position: rng.usize(..self.bytes.len() / PIECE) * PIECE,
            rng,
            ..self.clone()
        }
    }

    /// Values of one size, at most a megabyte, from the same bytes.
    pub fn resized(&self, size: usize) -> Values {
        Values {
            sizes: Sizes::Fixed(size.min(self.bytes.len())),
            position: 0,
            ..self.clone()
        }
    }

    /// The next value.
    #[inline]
    pub fn next_value(&mut self) -> &[u8] {
        let len = self.sizes.draw(&mut self.rng);
        self.value_of(len)
    }

    /// The next value, of a given size of at most a megabyte.
    #[inline]
    pub fn value_of(&mut self, len: usize) -> &[u8] {
        if self.same_percentage > 0 && self.rng.u32(..100) < self.same_percentage {
            return &self.bytes[..len];
        }
        if self.position + len > self.bytes.len() {
            self.position = 0;
        }
        self.position += len;
        &self.bytes[self.position - len..self.position]
    }
}

#[cfg(test)]
mod tests {
    use codec::compression::{CompressionOptions, CompressionType, Compressor};

    use super::*;

    #[test]
    fn values_compress_as_asked() {
        for ratio in [0.2, 0.5, 1.0] {
            let mut values = Values::new(Sizes::Fixed(64 << 10), ratio, 0, 1);
            let block = values.next_value().to_vec();
            let mut compressor =
                Compressor::new(CompressionType::Zstd, &CompressionOptions::default(), None).unwrap();
            let mut out = Vec::new();
            compressor.compress(&block, &mut out).unwrap();
            let reached = out.len() as f64 / block.len() as f64;
            assert!(
                (reached - ratio).abs() < 0.1,
                "{ratio} asked for, {reached} reached"
            );
        }
    }

    #[test]
    fn values_run_on_and_start_over() {
        let mut values = Values::new(Sizes::Fixed(100), 0.5, 0, 1);
        let first = values.next_value().to_vec();
        assert_ne!(first, values.next_value());
        let count = (0..).take_while(|_| values.next_value() != first).count();
        assert_eq!(count + 2, LEAST.div_ceil(PIECE));
        let mut same = Values::new(Sizes::Fixed(100), 0.5, 100, 1);
        assert_eq!(same.next_value().to_vec(), same.next_value());
    }

    #[test]
    fn threads_have_values_of_their_own() {
        let all = Values::new(Sizes::Uniform(10, 1000), 0.5, 0, 1);
        let first = |values: Values| -> Vec<Vec<u8>> {
            let mut values = values;
            (0..8).map(|_| values.next_value().to_vec()).collect()
        };
        assert_ne!(first(all.of_thread(1)), first(all.of_thread(2)));
        assert_eq!(first(all.of_thread(1)), first(all.of_thread(1)));
    }

    #[test]
    fn sizes_stay_in_their_range() {
        for sizes in [Sizes::Uniform(10, 1000), Sizes::Normal(10, 1000)] {
            let mut values = Values::new(sizes, 0.5, 0, 1);
            let drawn: Vec<usize> = (0..10_000).map(|_| values.next_value().len()).collect();
            let average = drawn.iter().sum::<usize>() / drawn.len();
            assert!(drawn.iter().all(|size| (10..=1000).contains(size)));
            assert!(average.abs_diff(sizes.average()) < 20, "{sizes:?} {average}");
        }
    }
}

//! Chance for tests: every random test can be run again.

use std::ops::{Deref, DerefMut};

use base::env::Rng;

/// The environment variable that replays a random test.
pub const SEED_VARIABLE: &str = "ESKER_SEED";

/// The seed of `ESKER_SEED` (decimal, or hexadecimal behind `0x`), else one nobody chose.
///
/// Panics when the variable is set and is no number: a replay that silently is none would mislead.
pub fn seed() -> u64 {
    match std::env::var(SEED_VARIABLE) {
        Ok(text) => parse(&text).unwrap_or_else(|| panic!("{SEED_VARIABLE}={text} is not a number")),
        Err(_) => base::env::fresh_seed(),
    }
}

fn parse(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// A generator that tells its seed when the test it serves panics.
#[derive(Debug)]
pub struct TestRng {
    rng: Rng,
    seed: u64,
}

/// A generator seeded by [`seed`].
pub fn rng() -> TestRng {
    TestRng::with_seed(seed())
}

impl TestRng {
    /// A generator of a known seed.
    pub fn with_seed(seed: u64) -> TestRng {
        TestRng {
            rng: Rng::with_seed(seed),
            seed,
        }
    }

    /// What it began with.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// True once in `n` calls.
    pub fn one_in(&mut self, n: u32) -> bool {
        self.rng.u32(..n) == 0
    }

    /// One of `choices`, which must not be empty.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.rng.usize(..choices.len())]
    }

    /// `len` bytes of any value.
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.rng.fill(&mut bytes);
        bytes
    }
}

impl Deref for TestRng {
    type Target = Rng;
    fn deref(&self) -> &Rng {
        &self.rng
    }
}

impl DerefMut for TestRng {
    fn deref_mut(&mut self) -> &mut Rng {
        &mut self.rng
    }
}

impl Drop for TestRng {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("to replay: {SEED_VARIABLE}={}", self.seed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_numbers_again() {
        let seed = rng().seed();
        let draw = |seed| {
            let mut rng = TestRng::with_seed(seed);
            (rng.bytes(16), rng.u64(..), *rng.pick(&[1, 2, 3]))
        };
        assert_eq!(draw(seed), draw(seed));
    }

    #[test]
    fn seeds_are_read_in_both_bases() {
        assert_eq!(parse("12"), Some(12));
        assert_eq!(parse("0xff"), Some(255));
        assert_eq!(parse("twelve"), None);
    }
}

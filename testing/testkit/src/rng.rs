//! Random numbers for tests: every random test draws the same numbers in each run, and other numbers on
//! request.

use std::ops::{Deref, DerefMut};
use std::panic::Location;

use base::env::Rng;

/// The environment variable that chooses the seeds of random tests: a number (decimal, or hexadecimal after
/// `0x`) replays a run, [`RANDOM`] requests new seeds. Without it each test has its own fixed seed.
pub const SEED_VARIABLE: &str = "ESKER_SEED";

/// The value of [`SEED_VARIABLE`] in soak tests.
pub const RANDOM: &str = "random";

/// The source of seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Source {
    Fixed,
    Fresh,
    Given(u64),
}

impl Source {
    /// Panics when the variable is set and is neither a number nor `random`: a replay that silently uses
    /// another seed would mislead.
    fn asked_for() -> Source {
        match std::env::var(SEED_VARIABLE) {
            Ok(text) => parse(&text)
                .unwrap_or_else(|| panic!("{SEED_VARIABLE}={text} is neither a number nor {RANDOM}")),
            Err(_) => Source::Fixed,
        }
    }

    fn count(self, usual: u64) -> u64 {
        match self {
            Source::Given(_) => 1,
            Source::Fixed | Source::Fresh => usual,
        }
    }

    fn first(self, place: &Location) -> u64 {
        match self {
            Source::Fixed => fixed(std::thread::current().name(), place.file()),
            Source::Fresh => base::env::fresh_seed(),
            Source::Given(seed) => seed,
        }
    }
}

fn parse(text: &str) -> Option<Source> {
    if text == RANDOM {
        return Some(Source::Fresh);
    }
    let seed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    seed.map(Source::Given)
}

/// The seed of a test. libtest names the thread of a test after it; the file is used for threads without a
/// name.
fn fixed(thread: Option<&str>, file: &str) -> u64 {
    let name = thread.unwrap_or(file);
    // FNV-1a: the same on every machine and in every release of the compiler.
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The seed of this test: fixed, unless [`SEED_VARIABLE`] asks for another.
#[track_caller]
pub fn seed() -> u64 {
    Source::asked_for().first(Location::caller())
}

/// The seeds of `count` runs of this test. A number in [`SEED_VARIABLE`] replays only one run.
#[track_caller]
pub fn seeds(count: u64) -> impl Iterator<Item = u64> {
    let source = Source::asked_for();
    seeds_from(source, source.first(Location::caller()), count)
}

/// The number of the seeds that [`seeds`] returns for `count` runs: a test asserts that it made so many.
pub fn seeds_of(count: u64) -> u64 {
    Source::asked_for().count(count)
}

fn seeds_from(source: Source, first: u64, count: u64) -> impl Iterator<Item = u64> {
    let count = source.count(count);
    let mut rest = Rng::with_seed(first);
    (0..count).map(move |run| if run == 0 { first } else { rest.u64(..) })
}

/// The number of runs of a test that runs `usual` times by default: the number in the environment variable
/// `name`.
pub fn runs(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text} is not a number"))
    })
}

/// A generator that prints its seed when its test panics.
#[derive(Debug)]
pub struct TestRng {
    rng: Rng,
    seed: u64,
}

/// A generator seeded by [`seed`].
#[track_caller]
pub fn rng() -> TestRng {
    TestRng::with_seed(seed())
}

impl TestRng {
    /// A generator with a given seed.
    pub fn with_seed(seed: u64) -> TestRng {
        TestRng {
            rng: Rng::with_seed(seed),
            seed,
        }
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// True with a probability of one in `n`.
    pub fn one_in(&mut self, n: u32) -> bool {
        self.rng.u32(..n) == 0
    }

    /// One of `choices`, which must not be empty.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.rng.usize(..choices.len())]
    }

    /// `len` random bytes.
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
    fn the_variable_is_a_number_in_either_base_or_asks_for_fresh_seeds() {
        assert_eq!(parse("12"), Some(Source::Given(12)));
        assert_eq!(parse("0xff"), Some(Source::Given(255)));
        assert_eq!(parse("random"), Some(Source::Fresh));
        assert_eq!(parse("twelve"), None);
    }

    #[test]
    fn a_fixed_seed_is_that_of_the_tests_name() {
        let place = Location::caller();
        let here = Source::Fixed.first(place);
        assert_eq!(here, Source::Fixed.first(place));
        let name = "rng::tests::a_fixed_seed_is_that_of_the_tests_name";
        assert_eq!(here, fixed(Some(name), "another file"));
        assert_ne!(here, fixed(Some("another test"), place.file()));
        assert_ne!(fixed(None, "one.rs"), fixed(None, "other.rs"));
        assert_ne!(Source::Fresh.first(place), Source::Fresh.first(place));
    }

    #[test]
    fn runs_have_seeds_of_their_own_and_a_replay_has_one() {
        let seeds = |source, count| seeds_from(source, 7, count).collect::<Vec<_>>();
        let three = seeds(Source::Fixed, 3);
        assert_eq!(three[0], 7);
        assert!(three[1] != 7 && three[2] != three[1]);
        assert_eq!(three, seeds(Source::Fresh, 3));
        assert_eq!(seeds(Source::Given(7), 3), [7]);
    }
}

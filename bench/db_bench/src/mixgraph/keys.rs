//! The choice of the key of a mixgraph operation.

use base::distribution::Power;
use base::env::Rng;

use crate::flags::Flags;
use crate::keys::random_number;
use crate::seeds::mix;

/// The seed of the shuffle of the key ranges: which ranges are hot is part of the workload, the same for
/// every thread and every run.
const RANGES_SEED: u64 = 0x6d69_7867_7261_7068;
/// A share of the operations below this limit counts as 0.
const LEAST_RANGE: f64 = 1e-16;

/// Ranges of keys of unequal heat: `--keyrange_dist_*`.
#[derive(Debug)]
pub struct Ranges {
    /// The number of keys of each range.
    pub size: u64,
    /// The cumulative probability up to each range, in the order of the keys.
    up_to: Vec<f64>,
}

impl Ranges {
    fn new(flags: &Flags) -> Result<Ranges, String> {
        let size = flags.num / flags.keyrange_num;
        if size < 1 {
            return Err(format!(
                "--keyrange_num={}: more ranges than the {} keys of --num",
                flags.keyrange_num, flags.num
            ));
        }
        let (a, b) = (flags.keyrange_dist_a, flags.keyrange_dist_b);
        let (c, d) = (flags.keyrange_dist_c, flags.keyrange_dist_d);
        let mut heats: Vec<f64> = (1..=flags.keyrange_num)
            .map(|x| x as f64)
            .map(|x| a * (b * x).exp() + c * (d * x).exp())
            .map(|heat| if heat < LEAST_RANGE { 0.0 } else { heat })
            .collect();
        let sum: f64 = heats.iter().sum();
        if !(sum > 0.0 && sum.is_finite()) {
            return Err(
                "--keyrange_dist_a, _b, _c and _d: no range of keys has a share of the operations".into(),
            );
        }
        Rng::with_seed(RANGES_SEED).shuffle(&mut heats);
        let mut so_far = 0.0;
        let up_to = heats
            .iter()
            .map(|heat| {
                so_far += heat / sum;
                so_far
            })
            .collect();
        Ok(Ranges {
            size: size as u64,
            up_to,
        })
    }

    /// The probability of each range.
    pub fn heats(&self) -> impl Iterator<Item = f64> + '_ {
        let before = std::iter::once(0.0).chain(self.up_to.iter().copied());
        self.up_to
            .iter()
            .zip(before)
            .map(|(up_to, before)| up_to - before)
    }

    #[inline]
    fn at(&self, u: f64) -> u64 {
        let at = self.up_to.partition_point(|up_to| *up_to <= u);
        at.min(self.up_to.len() - 1) as u64
    }
}

/// The distribution of keys.
#[derive(Debug)]
pub struct Keys {
    flags: Flags,
    /// The distribution of ranks: `--key_dist_*`.
    pub power: Option<Power>,
    /// True to do as RocksDB's db_bench, which ignores ranges without `--key_dist_*` and makes half of the
    /// hashed keys negative, which never exist.
    pub ranges: Option<Ranges>,
    /// RocksDB's db_bench takes no notice of ranges without `--key_dist_*`, and lets half of the hashed keys
    /// be negative, where there are none.
    like_rocksdb: bool,
}

impl Keys {
    /// The distribution that `flags` ask for.
    pub fn new(flags: &Flags) -> Result<Keys, String> {
        let power = match (flags.key_dist_a, flags.key_dist_b) {
            (0.0, 0.0) => None,
            (a, b) if a <= 0.0 || b == 0.0 => {
                return Err(format!(
                    "--key_dist_a={a} and --key_dist_b={b}: one is nothing without the other, and a must be positive"
                ));
            }
            (a, b) => Some(Power { a, b }),
        };
        if power.is_some_and(|power| power.up_to(1.0) >= 1.0) {
            return Err("--key_dist_a and --key_dist_b: all operations would have the same key".into());
        }
        let dist = [
            flags.keyrange_dist_a,
            flags.keyrange_dist_b,
            flags.keyrange_dist_c,
            flags.keyrange_dist_d,
        ];
        let is_set = dist.iter().any(|parameter| *parameter != 0.0);
        if flags.keyrange_num < 1 {
            return Err("--keyrange_num must be at least 1".into());
        }
        if !is_set && flags.keyrange_num > 1 {
            return Err(format!(
                "--keyrange_num={} is nothing without --keyrange_dist_a, _b, _c and _d",
                flags.keyrange_num
            ));
        }
        let ranges = if is_set { Some(Ranges::new(flags)?) } else { None };
        let is_plain = power.is_none() && ranges.is_none();
        if flags.read_random_exp_range != 0.0 && !is_plain && !flags.mixgraph_like_rocksdb {
            return Err(
                "--read_random_exp_range is another distribution of keys than --key_dist_* and --keyrange_dist_*: \
                 not both"
                    .into(),
            );
        }
        Ok(Keys {
            flags: flags.clone(),
            ranges: ranges.filter(|_| power.is_some() || !flags.mixgraph_like_rocksdb),
            power,
            like_rocksdb: flags.mixgraph_like_rocksdb,
        })
    }

    /// The number of keys.
    pub fn num(&self) -> u64 {
        self.flags.num as u64
    }

    /// Any key, regardless of the distributions.
    #[inline]
    pub fn any(&self, rng: &mut Rng) -> u64 {
        random_number(&self.flags, rng)
    }

    /// A key drawn from the distributions.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        match &self.ranges {
            None => match self.power {
                None => self.any(rng),
                Some(power) => mix(power.rank(rng.f64())) % self.num(),
            },
            Some(ranges) => {
                let first = ranges.at(rng.f64()) * ranges.size;
                first
                    + match self.power {
                        None => rng.u64(..ranges.size),
                        Some(power) => mix(power.rank(rng.f64())) % ranges.size,
                    }
            }
        }
    }

    /// The key that RocksDB's db_bench makes of a key drawn regardless of the distributions.
    pub fn of_number(&self, number: u64) -> u64 {
        let num = self.num();
        let Some(power) = self.power else { return number };
        match &self.ranges {
            None => {
                let hash = mix(power.rank(number as f64 / num as f64)) as i64;
                (hash % num as i64) as u64
            }
            Some(ranges) => {
                let u = (number % ranges.size) as f64 / ranges.size as f64;
                let range = ranges.at((mix(number) >> 11) as f64 / (1u64 << 53) as f64);
                range * ranges.size + mix(power.rank(u)) % ranges.size
            }
        }
    }

    /// The share of the operations whose key is negative and so does not exist.
    pub fn missing(&self) -> f64 {
        if self.like_rocksdb && self.power.is_some() && self.ranges.is_none() {
            0.5
        } else {
            0.0
        }
    }
}

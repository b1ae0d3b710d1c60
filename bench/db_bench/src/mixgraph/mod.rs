//! RocksDB's mixgraph: Gets, Puts and Seeks whose keys, value sizes and scan lengths follow distributions
//! fitted to a social graph's traces.
//!
//! * Keys. `--key_dist_*`: a rank `x` is drawn from the distribution `a x^b` and hashed to a key, so that hot
//!   keys are scattered. `--keyrange_dist_*`: the keys are cut into `--keyrange_num` ranges, range `x` is
//!   chosen in proportion to `a e^(bx) + c e^(dx)`, and a key within it by `--key_dist_*`, or uniformly.
//!   Without these flags all keys are equally likely.
//! * Value sizes and scan lengths follow generalized Pareto distributions, limited by taking the remainder.
//!
//! The operations of a run are one sequence: operation `n` depends on the run's seed and `n` alone, and the
//! threads divide the sequence among themselves. So N threads do the work that one would have done, and not N
//! times the same hot start or N rates added up.

mod implied;
mod keys;
mod mean;
mod preset;
mod rate;
mod shared;

use std::sync::atomic::{AtomicU64, Ordering};

use ::flags::Parsed;
use base::distribution::Pareto;
use base::env::Rng;

pub use implied::Implied;
pub use preset::preset;
pub use rate::SineRate;
pub use shared::{Done, Shared};

use crate::flags::Flags;
use crate::seeds::mix;
use keys::Keys;

/// RocksDB's least size of a value, whatever the distribution says.
const VALUE_LEAST: i64 = 10;
const VALUE_MOST: i64 = 1 << 20;
/// The number of operations of the sequence that a thread takes at a time: enough that threads do not wait
/// for each other, and few enough that they work at the same place of the sequence.
const SHARE: u64 = 32;
/// The modulus by which RocksDB's db_bench derives the kind of an operation from the number of its key.
const LIKE_ROCKSDB_LEAST: i64 = 1_000;
/// The maximum difference of the sum of the three ratios from 1.
const RATIO_TOLERANCE: f64 = 1e-6;

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Reads a key.
    Get,
    /// Writes a key.
    Put,
    /// Seeks a key and steps from it.
    Seek,
}

/// One operation of the sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Operation {
    /// The kind of the operation.
    pub kind: Kind,
    /// The number of the operation's key.
    pub key: u64,
    /// The size of the value of a Put in bytes.
    pub value_size: usize,
    /// The number of steps after the seek of a Seek.
    pub scan_length: u64,
}

/// The sequence of operations of a run.
#[derive(Debug)]
pub struct Mixgraph {
    /// The shares of Get, Put and Seek.
    ratios: [f64; 3],
    keys: Keys,
    values: Pareto,
    value_most: i64,
    scans: Pareto,
    /// Scans are shorter than this; 0: seeks without steps.
    scan_most: i64,
    /// Kind, key, size and length come from one number, as in RocksDB's db_bench.
    one_number: bool,
    seed: u64,
    next: AtomicU64,
    /// The number of operations; `None`: no limit.
    total: Option<u64>,
}

impl Mixgraph {
    /// The sequence that `flags` ask for. An error names flags that make no sense, or that would have no
    /// effect.
    pub fn new(flags: &Flags, seed: u64) -> Result<Mixgraph, String> {
        let mixgraph = Mixgraph {
            ratios: ratios(flags)?,
            keys: Keys::new(flags)?,
            values: Pareto {
                theta: flags.value_theta,
                k: flags.value_k,
                sigma: flags.value_sigma,
            },
            value_most: flags.mix_max_value_size.min(VALUE_MOST),
            scans: Pareto {
                theta: flags.iter_theta,
                k: flags.iter_k,
                sigma: flags.iter_sigma,
            },
            scan_most: flags.mix_max_scan_len,
            one_number: flags.mixgraph_like_rocksdb,
            seed,
            next: AtomicU64::new(0),
            total: match u64::try_from(flags.mix_accesses) {
                Ok(accesses) => Some(accesses),
                Err(_) if flags.duration > 0 => None,
                Err(_) => {
                    let reads = if flags.reads < 0 { flags.num } else { flags.reads };
                    Some(reads.max(0) as u64 * flags.threads.max(1) as u64)
                }
            },
        };
        if flags.mixgraph_like_rocksdb && flags.num < LIKE_ROCKSDB_LEAST {
            return Err(format!(
                "--mixgraph_like_rocksdb: the number of the key says what is done with it; of --num={} \
                 the shares do not come out: it wants at least {LIKE_ROCKSDB_LEAST} keys",
                flags.num
            ));
        }
        SineRate::check(flags)?;
        if flags.benchmark_read_rate_limit > 0 && flags.benchmark_write_rate_limit > 0 {
            return Err(
                "--benchmark_read_rate_limit and --benchmark_write_rate_limit: one sequence of operations cannot keep \
                 two rates; --sine_mix_rate, with --sine_a=0, is a rate of all operations"
                    .into(),
            );
        }
        mixgraph.check_lengths()?;
        Ok(mixgraph)
    }

    /// Refuses settings in which all values or scans are empty.
    fn check_lengths(&self) -> Result<(), String> {
        let [_, puts, seeks] = self.ratios;
        if puts > 0.0 && self.value_most < 1 {
            return Err("--mix_max_value_size must be at least 1".into());
        }
        if puts > 0.0 && mean::mean(|u| self.values.exceeded(u).clamp(0, VALUE_MOST)) == 0.0 {
            return Err(
                "--value_theta, --value_k and --value_sigma: all values would be empty; RocksDB's defaults are 0, \
                 0.2615 and 25.45"
                    .into(),
            );
        }
        if seeks > 0.0 && self.scan_most < 0 {
            return Err("--mix_max_scan_len must not be negative".into());
        }
        let asked_for = [self.scans.theta, self.scans.k, self.scans.sigma] == [0.0; 3];
        if seeks > 0.0 && self.scan_most > 0 && !asked_for && self.mean_scan_length() == 0.0 {
            return Err(
                "--iter_theta, --iter_k and --iter_sigma, below --mix_max_scan_len: no seek would be followed by a \
                 step; RocksDB's defaults are 0, 2.517, 14.236 and 10000. If that is meant, ask for it with \
                 --iter_k=0 --iter_sigma=0 or --mix_max_scan_len=0"
                    .into(),
            );
        }
        Ok(())
    }

    /// The sequence of a published setting, `all_dist` or another of `--mixgraph_preset`: `accesses`
    /// operations over `num` keys.
    ///
    /// # Errors
    ///
    /// There is no such setting, or there are too few keys for it.
    pub fn of_preset(name: &str, num: u64, accesses: u64, seed: u64) -> Result<Preset, String> {
        let args = [
            format!("--mixgraph_preset={name}"),
            format!("--num={num}"),
            format!("--mix_accesses={accesses}"),
        ];
        let Parsed::Run(flags) = ::flags::parse::<Flags>(&args)? else {
            return Err(format!("{name} is no setting of mixgraph"));
        };
        Ok(Preset {
            operations: Mixgraph::new(&flags, seed)?,
            key_size: flags.key_size as usize,
            value_size: flags.value_size as usize,
        })
    }

    /// The number of operations of the run; `None` if its duration ends it.
    pub fn total(&self) -> Option<u64> {
        self.total
    }

    /// A thread's part of the sequence.
    pub fn share(&self) -> Share<'_> {
        Share {
            mixgraph: self,
            at: 0,
            end: 0,
        }
    }

    /// Operation `number` of the sequence.
    #[inline]
    fn operation(&self, number: u64) -> Operation {
        let mut rng = Rng::with_seed(mix(self.seed ^ mix(number)));
        if self.one_number {
            return self.one_number_operation(&mut rng);
        }
        let kind = {
            let [gets, puts, _] = self.ratios;
            let u = rng.f64();
            if u < gets {
                Kind::Get
            } else if u < gets + puts {
                Kind::Put
            } else {
                Kind::Seek
            }
        };
        let key = self.keys.draw(&mut rng);
        self.with_lengths(kind, key, 1.0 - rng.f64())
    }

    /// An operation as RocksDB makes it: one random key number decides everything.
    fn one_number_operation(&self, rng: &mut Rng) -> Operation {
        let number = self.keys.any(rng);
        let thousandths = self
            .ratios
            .map(|ratio| (LIKE_ROCKSDB_LEAST as f64 * ratio).ceil() as u64);
        let at = number % thousandths.iter().sum::<u64>();
        let kind = if at < thousandths[0] {
            Kind::Get
        } else if at < thousandths[0] + thousandths[1] {
            Kind::Put
        } else {
            Kind::Seek
        };
        let u = number as f64 / self.keys.num() as f64;
        self.with_lengths(kind, self.keys.of_number(number), u)
    }

    /// The operation with the sizes that are exceeded with probability `u`.
    fn with_lengths(&self, kind: Kind, key: u64, u: f64) -> Operation {
        Operation {
            kind,
            key,
            value_size: if kind == Kind::Put { self.value_size(u) } else { 0 },
            scan_length: if kind == Kind::Seek {
                self.scan_length(u)
            } else {
                0
            },
        }
    }

    fn value_size(&self, u: f64) -> usize {
        let size = self.values.exceeded(u).max(VALUE_LEAST);
        let size = if size > self.value_most {
            size % self.value_most
        } else {
            size
        };
        size as usize
    }

    fn scan_length(&self, u: f64) -> u64 {
        match self.scan_most {
            0 => 0,
            most => (self.scans.exceeded(u) % most).max(0) as u64,
        }
    }

    fn mean_scan_length(&self) -> f64 {
        mean::mean(|u| self.scan_length(u) as i64)
    }
}

/// A published setting: the operations and the database that they work on.
#[derive(Debug)]
pub struct Preset {
    /// The operations.
    pub operations: Mixgraph,
    /// The size of each key in bytes.
    pub key_size: usize,
    /// The size of the values that the database was filled with, in bytes.
    pub value_size: usize,
}

/// One thread's part of the sequence, in the order of the sequence.
#[derive(Debug)]
pub struct Share<'a> {
    mixgraph: &'a Mixgraph,
    at: u64,
    end: u64,
}

impl Iterator for Share<'_> {
    type Item = Operation;

    #[inline]
    fn next(&mut self) -> Option<Operation> {
        if self.at == self.end {
            self.at = self.mixgraph.next.fetch_add(SHARE, Ordering::Relaxed);
            self.end = self.at + SHARE;
        }
        let number = self.at;
        if self.mixgraph.total.is_some_and(|total| number >= total) {
            return None;
        }
        self.at += 1;
        Some(self.mixgraph.operation(number))
    }
}

fn ratios(flags: &Flags) -> Result<[f64; 3], String> {
    let ratios = [flags.mix_get_ratio, flags.mix_put_ratio, flags.mix_seek_ratio];
    let sum: f64 = ratios.iter().sum();
    if ratios.iter().any(|ratio| *ratio < 0.0) || (sum - 1.0).abs() > RATIO_TOLERANCE {
        let [gets, puts, seeks] = ratios;
        return Err(format!(
            "--mix_get_ratio={gets}, --mix_put_ratio={puts} and --mix_seek_ratio={seeks} are shares of the operations: \
             they must be 1 together, and are {sum}"
        ));
    }
    Ok(ratios)
}

#[cfg(test)]
mod tests;

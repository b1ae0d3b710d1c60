//! The consequences of mixgraph's options, printed before it starts: few of them are obvious from the
//! options.

use std::fmt;

use base::distribution::Power;

use super::mean::mean;
use super::{Kind, Mixgraph};
use crate::seeds::mix;

/// The number of ranks, and keys, that are evaluated one by one.
const SINGLE: u64 = 1 << 21;
/// The number of groups of similarly hot keys over all ranges.
const GROUPS: usize = 1 << 17;

/// The properties of a run of mixgraph.
#[derive(Debug)]
pub struct Implied {
    /// The shares of Get, Put and Seek.
    pub ratios: [f64; 3],
    /// The mean size of a written value in bytes.
    pub value_size: f64,
    /// The mean number of steps after a seek.
    pub scan_length: f64,
    /// The share of the operations whose keys are among the hottest hundredth of the keys.
    pub hottest_hundredth: f64,
    /// The share of the operations whose keys are among the hottest tenth of the keys.
    pub hottest_tenth: f64,
    /// The share of the hottest range of keys and the number of ranges, if there are ranges.
    pub hottest_range: Option<(f64, usize)>,
    /// The share of the operations whose keys never exist.
    pub missing: f64,
    value_most: i64,
    scan_most: i64,
    threads: i32,
}

impl Implied {
    /// The properties of the distributions of `mixgraph`, divided among `threads` threads.
    pub fn new(mixgraph: &Mixgraph, threads: i32) -> Implied {
        let keys = &mixgraph.keys;
        let (heats, size) = match &keys.ranges {
            None => (vec![1.0], keys.num()),
            Some(ranges) => (ranges.heats().collect(), ranges.size),
        };
        let groups = groups(keys.power, size, (GROUPS / heats.len()).max(16));
        let missing = keys.missing();
        let hottest = |share: f64| (1.0 - missing) * hottest(&heats, &groups, share * keys.num() as f64);
        Implied {
            ratios: mixgraph.ratios,
            value_size: mean(|u| mixgraph.value_size(u) as i64),
            scan_length: mixgraph.mean_scan_length(),
            hottest_hundredth: hottest(0.01),
            hottest_tenth: hottest(0.1),
            hottest_range: keys
                .ranges
                .as_ref()
                .map(|ranges| (ranges.heats().fold(0.0, f64::max), ranges.heats().count())),
            missing,
            value_most: mixgraph.value_most,
            scan_most: mixgraph.scan_most,
            threads,
        }
    }

    fn ratio(&self, kind: Kind) -> f64 {
        self.ratios[kind as usize]
    }
}

impl fmt::Display for Implied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: f64| format!("{:.1}%", share * 100.0);
        writeln!(
            f,
            "Mixgraph:   {} Get, {} Put, {} Seek; one sequence of operations, done by {}",
            percent(self.ratio(Kind::Get)),
            percent(self.ratio(Kind::Put)),
            percent(self.ratio(Kind::Seek)),
            match self.threads {
                1 => "one thread".to_owned(),
                threads => format!("{threads} threads together"),
            }
        )?;
        if self.ratio(Kind::Put) > 0.0 {
            writeln!(
                f,
                "Put:        values of {:.1} bytes on average, at most {}",
                self.value_size, self.value_most
            )?;
        }
        if self.ratio(Kind::Seek) > 0.0 {
            writeln!(
                f,
                "Seek:       scans of {:.1} steps on average, at most {}",
                self.scan_length,
                match self.scan_length {
                    0.0 => 0,
                    _ => (self.scan_most - 1).max(0),
                }
            )?;
        }
        writeln!(
            f,
            "Hot keys:   the hottest 1% of the keys take {} of the operations, the hottest 10% {}",
            percent(self.hottest_hundredth),
            percent(self.hottest_tenth)
        )?;
        if let Some((share, count)) = self.hottest_range {
            writeln!(
                f,
                "Hot ranges: the hottest of {count} ranges of keys takes {} of the operations",
                percent(share)
            )?;
        }
        if self.missing > 0.0 {
            writeln!(
                f,
                "Missing:    {} of the operations have keys below 0, as in RocksDB's db_bench: Gets find nothing there",
                percent(self.missing)
            )?;
        }
        Ok(())
    }
}

/// Keys of about the same heat.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// The number of keys.
    keys: f64,
    /// The share of all operations that use the keys of the range.
    share: f64,
}

/// The keys of a range of `size`, hottest first, in at most about `most` groups.
fn groups(power: Option<Power>, size: u64, most: usize) -> Vec<Group> {
    let Some(power) = power else {
        return vec![Group {
            keys: size as f64,
            share: 1.0,
        }];
    };
    if size <= SINGLE {
        // Several ranks may hash to one key. The ranks after the first ones are so many and so cold that they
        // spread evenly.
        let mut heats = vec![0.0; size as usize];
        let mut before = 0.0;
        for rank in 1..=SINGLE {
            let up_to = power.up_to(rank as f64);
            heats[(mix(rank) % size) as usize] += up_to - before;
            before = up_to;
        }
        heats.sort_unstable_by(|a, b| b.total_cmp(a));
        let rest = (1.0 - before) / size as f64;
        return bounds(size, most)
            .map(|(from, to)| Group {
                keys: (to - from) as f64,
                share: heats[from as usize..to as usize]
                    .iter()
                    .map(|heat| heat + rest)
                    .sum(),
            })
            .collect();
    }
    // With so many keys, ranks hardly ever share a key: the key of a rank gets the share of the rank.
    let within = power.up_to(size as f64);
    let rest = (1.0 - within) / size as f64;
    bounds(size, most)
        .map(|(from, to)| Group {
            keys: (to - from) as f64,
            share: power.up_to(to as f64) - if from == 0 { 0.0 } else { power.up_to(from as f64) }
                + rest * (to - from) as f64,
        })
        .collect()
}

/// Cuts `0..size` into pieces that grow by a constant factor, about `most` of them.
fn bounds(size: u64, most: usize) -> impl Iterator<Item = (u64, u64)> {
    let factor = (size as f64).powf(1.0 / most as f64).max(1.000_1);
    let mut from = 0;
    std::iter::from_fn(move || {
        if from == size {
            return None;
        }
        let to = ((from as f64 * factor).ceil() as u64).clamp(from + 1, size);
        let piece = (from, to);
        from = to;
        Some(piece)
    })
}

/// The share of all accesses that the hottest `keys` keys get. `heats` has the heat of each range of keys,
/// and every range consists of the same `groups`.
fn hottest(heats: &[f64], groups: &[Group], keys: f64) -> f64 {
    let mut all: Vec<Group> = heats
        .iter()
        .flat_map(|heat| {
            groups.iter().map(move |group| Group {
                share: group.share * heat,
                ..*group
            })
        })
        .collect();
    all.sort_unstable_by(|a, b| (b.share / b.keys).total_cmp(&(a.share / a.keys)));
    let (mut left, mut share) = (keys, 0.0);
    for group in all {
        let taken = group.keys.min(left);
        share += group.share * taken / group.keys;
        left -= taken;
        if left <= 0.0 {
            break;
        }
    }
    share
}

//! From the ratios of many rounds to a verdict.
//!
//! A round measures A and B back to back and yields one ratio; variations of the machine that last longer
//! than a round cancel out. The rest is judged by the Wilcoxon signed-rank interval of the logarithms: sort
//! the averages of all pairs of logarithms (each with itself too) and cut off, at both ends, as many as the
//! exact distribution of the rank sum allows for 95%. The interval assumes nothing about the noise except
//! symmetry of the logarithms, so one round that a neighbour disturbed widens it instead of moving it. It
//! uses no random numbers, so a report can be checked by hand. With fewer than six rounds no such interval
//! exists, and no verdict is given.
//!
//! A difference is claimed if the whole interval is beyond the margin, [`MARGIN`] by default: effects of the
//! placement of a program's memory and code are repeatable, but say nothing about engines. Anything else is
//! "no difference", with the size of the difference that would have been detected, so that a noisy run cannot
//! pass as an equal one.

use std::fmt;

/// The distance from 1 within which a ratio counts as no difference.
pub const MARGIN: f64 = 0.02;

/// The share of intervals that contain the true ratio.
const CONFIDENCE: f64 = 0.95;

/// The verdict of the rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// The ratio is above 1.
    Greater,
    /// The ratio is below 1.
    Less,
    /// The spread of the rounds does not distinguish the ratio from 1. A difference greater than this share
    /// would have been detected.
    NoDifference(f64),
    /// There are fewer than six rounds, too few for a verdict.
    TooFewRounds,
}

/// The statistics of the ratios of all rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The median ratio.
    pub median: f64,
    /// The smallest ratio of a round.
    pub least: f64,
    /// The greatest ratio of a round.
    pub greatest: f64,
    /// The interval that contains the true ratio with 95% confidence.
    pub interval: Option<(f64, f64)>,
    /// Whether there is a difference.
    pub verdict: Verdict,
}

impl Comparison {
    /// The comparison of one ratio per round, each above 0; `None` without rounds.
    pub fn new(ratios: &[f64], margin: f64) -> Option<Comparison> {
        if ratios.is_empty() || ratios.iter().any(|ratio| !(ratio.is_finite() && *ratio > 0.0)) {
            return None;
        }
        let interval = interval(ratios);
        let verdict = match interval {
            None => Verdict::TooFewRounds,
            Some((low, _)) if low > 1.0 + margin => Verdict::Greater,
            Some((_, high)) if high < 1.0 / (1.0 + margin) => Verdict::Less,
            Some((low, high)) => Verdict::NoDifference((high.max(1.0 / low) - 1.0).max(margin)),
        };
        Some(Comparison {
            median: median(ratios),
            least: ratios.iter().copied().fold(f64::INFINITY, f64::min),
            greatest: ratios.iter().copied().fold(0.0, f64::max),
            interval,
            verdict,
        })
    }

    /// The verdict in words, where a ratio above 1 means that `first` is better.
    pub fn words(&self, first: &str, second: &str) -> String {
        let better = |who: &str, times: f64| format!("{who} is better by {:.0}%", (times - 1.0) * 100.0);
        match self.verdict {
            Verdict::Greater => better(first, self.median),
            Verdict::Less => better(second, 1.0 / self.median),
            Verdict::NoDifference(seen) => {
                format!("no difference (more than {:.0}% would show)", seen * 100.0)
            }
            Verdict::TooFewRounds => "too few rounds for a verdict".to_owned(),
        }
    }
}

impl fmt::Display for Comparison {
    /// The median and the interval; the smallest and greatest ratio if there is no interval.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (low, high) = self.interval.unwrap_or((self.least, self.greatest));
        write!(out, "{:.2} ({low:.2}..{high:.2})", self.median)
    }
}

/// The median; 0 for no samples.
pub fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        odd if odd % 2 == 1 => sorted[middle],
        _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
    }
}

fn interval(ratios: &[f64]) -> Option<(f64, f64)> {
    let cut = cut_off(ratios.len())?;
    let logarithms: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    let mut averages: Vec<f64> = (0..logarithms.len())
        .flat_map(|a| (a..logarithms.len()).map(move |b| (a, b)))
        .map(|(a, b)| (logarithms[a] + logarithms[b]) / 2.0)
        .collect();
    averages.sort_by(f64::total_cmp);
    Some((averages[cut].exp(), averages[averages.len() - 1 - cut].exp()))
}

/// The number of pair averages that the interval leaves out at each end: the greatest `k` for which a rank
/// sum below `k` is at most as likely as half of the complement of the confidence, less one. `None` if even
/// the smallest sum is more likely than that.
fn cut_off(rounds: usize) -> Option<usize> {
    let sums = rounds * (rounds + 1) / 2;
    // The ways to choose ranks 1..=rounds with each sum, as shares of all ways.
    let mut shares = vec![0.0; sums + 1];
    shares[0] = 1.0;
    for rank in 1..=rounds {
        for sum in (0..=sums).rev() {
            let with = if sum >= rank { shares[sum - rank] } else { 0.0 };
            shares[sum] = (shares[sum] + with) / 2.0;
        }
    }
    let mut tail = 0.0;
    let likely = shares.iter().take_while(|share| {
        tail += **share;
        tail <= (1.0 - CONFIDENCE) / 2.0
    });
    likely.count().checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Our own generator: the statistic must not depend on anything else of this workspace.
    struct Noise(u64);

    impl Noise {
        fn uniform(&mut self) -> f64 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 11) as f64 / (1u64 << 53) as f64
        }

        /// Returns an approximately normal random number with this standard deviation.
        fn normal(&mut self, deviation: f64) -> f64 {
            ((0..12).map(|_| self.uniform()).sum::<f64>() - 6.0) * deviation
        }

        /// The ratios of rounds around `true_ratio`; about every tenth round is disturbed.
        fn ratios(&mut self, rounds: usize, true_ratio: f64, deviation: f64) -> Vec<f64> {
            (0..rounds)
                .map(|_| {
                    let disturbed = if self.uniform() < 0.1 {
                        self.normal(0.3)
                    } else {
                        0.0
                    };
                    true_ratio * (self.normal(deviation) + disturbed).exp()
                })
                .collect()
        }
    }

    fn verdicts(rounds: usize, true_ratio: f64, deviation: f64) -> [usize; 3] {
        let mut noise = Noise(41);
        let mut counts = [0; 3];
        for _ in 0..1_000 {
            let comparison = Comparison::new(&noise.ratios(rounds, true_ratio, deviation), MARGIN).unwrap();
            counts[match comparison.verdict {
                Verdict::Less => 0,
                Verdict::NoDifference(_) => 1,
                _ => 2,
            }] += 1;
        }
        counts
    }

    #[test]
    fn the_same_twice_is_no_difference() {
        for deviation in [0.001, 0.01, 0.05, 0.2] {
            let [less, none, greater] = verdicts(10, 1.0, deviation);
            assert!(
                none >= 950,
                "deviation {deviation}: {less} less, {none} none, {greater} greater"
            );
        }
    }

    #[test]
    fn ten_percent_are_found_and_their_direction_is_right() {
        for deviation in [0.01, 0.03] {
            let [less, none, greater] = verdicts(16, 1.1, deviation);
            assert!(
                greater >= 900 && less == 0,
                "deviation {deviation}: {none} not found"
            );
            let [less, none, greater] = verdicts(16, 1.0 / 1.1, deviation);
            assert!(
                less >= 900 && greater == 0,
                "deviation {deviation}: {none} not found"
            );
        }
    }

    #[test]
    fn noise_hides_a_difference_and_the_words_say_how_great_a_one() {
        let ratios = [0.7, 1.5, 0.8, 1.3, 1.1, 0.9, 1.2, 0.75];
        let comparison = Comparison::new(&ratios, MARGIN).unwrap();
        let Verdict::NoDifference(seen) = comparison.verdict else {
            panic!("{comparison:?}");
        };
        assert!(seen > 0.1, "{comparison:?}");
        assert!(
            comparison
                .words("a", "b")
                .starts_with("no difference (more than ")
        );
    }

    #[test]
    fn the_cut_is_that_of_the_tables() {
        // Critical values of the signed-rank test, two-sided 5%: reject at W <= 0, 2, 3, 5, 8, 52.
        for (rounds, critical) in [(6, 0), (7, 2), (8, 3), (9, 5), (10, 8), (20, 52)] {
            assert_eq!(cut_off(rounds), Some(critical), "{rounds} rounds");
        }
        assert_eq!(cut_off(5), None);
        assert_eq!(cut_off(0), None);
    }

    #[test]
    fn few_rounds_give_a_median_and_no_verdict() {
        let comparison = Comparison::new(&[2.0, 2.1, 1.9], MARGIN).unwrap();
        assert_eq!(
            (comparison.median, comparison.verdict),
            (2.0, Verdict::TooFewRounds)
        );
        assert_eq!(comparison.to_string(), "2.00 (1.90..2.10)");
        assert_eq!(Comparison::new(&[], MARGIN), None);
        assert_eq!(Comparison::new(&[1.0, 0.0], MARGIN), None);
    }

    #[test]
    fn a_difference_within_the_margin_is_none() {
        let ratios = [1.01; 12];
        let comparison = Comparison::new(&ratios, MARGIN).unwrap();
        assert_eq!(comparison.verdict, Verdict::NoDifference(MARGIN));
        assert_eq!(Comparison::new(&ratios, 0.0).unwrap().verdict, Verdict::Greater);
    }
}

//! The distribution of latencies: kept in nanoseconds, printed in microseconds in RocksDB's layout.

use std::time::Duration;

use hdrhistogram::Histogram as Hdr;

/// The longest time told apart from longer ones: a quarter of an hour.
const MOST_NANOS: u64 = 900_000_000_000;

/// Latencies of one kind of operation.
#[derive(Clone, Debug)]
pub struct Histogram(Hdr<u64>);

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram(Hdr::new_with_bounds(1, MOST_NANOS, 3).expect("fixed bounds are right"))
    }
}

impl Histogram {
    /// Adds one operation.
    #[inline]
    pub fn record(&mut self, time: Duration) {
        self.0.saturating_record(time.as_nanos() as u64);
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        self.0.add(&other.0).expect("all histograms have the same bounds");
    }

    /// Microseconds that `percent` of the operations did not exceed.
    pub fn percentile(&self, percent: f64) -> f64 {
        self.0.value_at_percentile(percent) as f64 / 1e3
    }

    /// RocksDB's `Histogram::ToString`.
    pub fn text(&self) -> String {
        let count = self.0.len();
        let mut text = format!(
            "Count: {count} Average: {:.4}  StdDev: {:.2}\nMin: {}  Median: {:.4}  Max: {}\n\
             Percentiles: P50: {:.2} P75: {:.2} P99: {:.2} P99.9: {:.2} P99.99: {:.2}\n\
             ------------------------------------------------------\n",
            if count == 0 { 0.0 } else { self.0.mean() / 1e3 },
            if count == 0 { 0.0 } else { self.0.stdev() / 1e3 },
            if count == 0 { 0 } else { self.0.min() / 1_000 },
            self.percentile(50.0),
            self.0.max() / 1_000,
            self.percentile(50.0),
            self.percentile(75.0),
            self.percentile(99.0),
            self.percentile(99.9),
            self.percentile(99.99),
        );
        let share = 100.0 / count.max(1) as f64;
        let (mut left, mut below) = (0, 0);
        for (at, right) in limits().enumerate() {
            // Not above the border, so that a bucket of ours that reaches over it is counted once.
            let so_far = self.0.count_between(0, right * 1_000);
            let inside = so_far - below;
            below = so_far;
            if inside > 0 {
                text.push_str(&format!(
                    "{} {left:>7}, {right:>7} ] {inside:>8} {:>7.3}% {:>7.3}% {}\n",
                    if at == 0 { '[' } else { '(' },
                    share * inside as f64,
                    share * below as f64,
                    "#".repeat((share * inside as f64 / 5.0 + 0.5) as usize),
                ));
            }
            left = right;
            if below >= count {
                break;
            }
        }
        text
    }
}

/// RocksDB's bucket borders in microseconds: 1, 2, then half as much again each time, to two digits.
fn limits() -> impl Iterator<Item = u64> {
    let mut exact = 2.0f64;
    [1, 2].into_iter().chain(std::iter::from_fn(move || {
        exact *= 1.5;
        let mut digits = exact as u64;
        let mut scale = 1;
        while digits / 10 > 10 {
            digits /= 10;
            scale *= 10;
        }
        (exact < u64::MAX as f64 / 1e3).then_some(digits * scale)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borders_are_rocksdbs() {
        let first: Vec<u64> = limits().take(16).collect();
        assert_eq!(
            first,
            [1, 2, 3, 4, 6, 10, 15, 22, 34, 51, 76, 110, 170, 250, 380, 580]
        );
    }

    #[test]
    fn text_is_rocksdbs() {
        let mut histogram = Histogram::default();
        for (nanos, times) in [(500, 50), (1_500, 25), (3_900, 24), (1_000_000, 1)] {
            for _ in 0..times {
                histogram.record(Duration::from_nanos(nanos));
            }
        }
        let text = histogram.text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "Count: 100 Average: 11.5632  StdDev: 99.37");
        assert_eq!(lines[1], "Min: 0  Median: 0.5000  Max: 1000");
        assert_eq!(
            lines[2],
            "Percentiles: P50: 0.50 P75: 1.50 P99: 3.90 P99.9: 1000.45 P99.99: 1000.45"
        );
        assert_eq!(
            lines[4],
            "[       0,       1 ]       50  50.000%  50.000% ##########"
        );
        assert_eq!(lines[5], "(       1,       2 ]       25  25.000%  75.000% #####");
        assert_eq!(lines[6], "(       3,       4 ]       24  24.000%  99.000% #####");
        assert_eq!(lines[7], "(     870,    1300 ]        1   1.000% 100.000% ");
        assert_eq!(lines.len(), 8);
    }

    #[test]
    fn buckets_add_up() {
        let mut histogram = Histogram::default();
        let mut rng = base::env::Rng::with_seed(7);
        for _ in 0..10_000 {
            histogram.record(Duration::from_nanos(1 << rng.u32(0..36)));
        }
        let text = histogram.text();
        let counted: u64 = text
            .lines()
            .filter(|line| line.starts_with(['[', '(']))
            .map(|line| {
                line.split("] ")
                    .nth(1)
                    .unwrap()
                    .split_whitespace()
                    .next()
                    .unwrap()
                    .parse::<u64>()
                    .unwrap()
            })
            .sum();
        assert_eq!(counted, 10_000);
        let mut twice = histogram.clone();
        twice.merge(&histogram);
        assert!(twice.text().starts_with("Count: 20000 "));
        assert!(
            Histogram::default()
                .text()
                .starts_with("Count: 0 Average: 0.0000")
        );
    }
}

//! The distribution of latencies: recorded in nanoseconds, printed in microseconds in RocksDB's layout.

use std::time::Duration;

use base::statistics::{HistogramHead, bucket_limits, histogram_text};
use hdrhistogram::Histogram as Hdr;
use serde::{Deserialize, Serialize};

/// The longest time that is recorded exactly, in nanoseconds: a quarter of an hour.
const MOST_NANOS: u64 = 900_000_000_000;

/// The latencies of one kind of operation.
#[derive(Clone, Debug)]
pub struct Histogram {
    hdr: Hdr<u64>,
    /// The longest latency, exactly.
    max: u64,
}

/// The summary of a distribution, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Percentiles {
    /// The number of operations.
    pub count: u64,
    /// The mean latency.
    pub mean: f64,
    /// The standard deviation of the latencies.
    pub stdev: f64,
    /// The shortest latency.
    pub min: f64,
    /// The median: the latency that half of the operations did not exceed.
    pub p50: f64,
    /// The latency that 75% of the operations did not exceed.
    pub p75: f64,
    /// The latency that 90% of the operations did not exceed.
    pub p90: f64,
    /// The latency that 99% of the operations did not exceed.
    pub p99: f64,
    /// The latency that 99.9% of the operations did not exceed.
    pub p99_9: f64,
    /// The latency that 99.99% of the operations did not exceed.
    pub p99_99: f64,
    /// The longest latency, exactly.
    pub max: f64,
}

impl Percentiles {
    /// The summary in one line.
    pub fn text(&self) -> String {
        format!(
            "Count: {} P50: {:.2} P75: {:.2} P90: {:.2} P99: {:.2} P99.9: {:.2} P99.99: {:.2} Max: {:.2}",
            self.count, self.p50, self.p75, self.p90, self.p99, self.p99_9, self.p99_99, self.max
        )
    }
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram {
            hdr: Hdr::new_with_bounds(1, MOST_NANOS, 3).expect("fixed bounds are right"),
            max: 0,
        }
    }
}

impl Histogram {
    /// Adds one operation.
    #[inline]
    pub fn record(&mut self, time: Duration) {
        let nanos = time.as_nanos() as u64;
        self.max = self.max.max(nanos);
        self.hdr.saturating_record(nanos);
    }

    /// Adds all operations of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        self.max = self.max.max(other.max);
        self.hdr
            .add(&other.hdr)
            .expect("all histograms have the same bounds");
    }

    /// The latency, in microseconds, that `percent` of the operations did not exceed.
    pub fn percentile(&self, percent: f64) -> f64 {
        self.hdr.value_at_percentile(percent) as f64 / 1e3
    }

    /// The number of operations recorded.
    #[cfg(test)]
    pub fn count(&self) -> u64 {
        self.hdr.len()
    }

    /// The number of operations that took longer than `time`, to within a thousandth of it.
    #[cfg(test)]
    pub fn count_above(&self, time: Duration) -> u64 {
        self.hdr.len() - self.hdr.count_between(0, time.as_nanos() as u64)
    }

    /// Clears the histogram and keeps its memory.
    pub fn reset(&mut self) {
        self.hdr.reset();
        self.max = 0;
    }

    /// The summary of the histogram.
    pub fn percentiles(&self) -> Percentiles {
        let exact = |count: u64, value: u64| if count == 0 { 0.0 } else { value as f64 / 1e3 };
        let count = self.hdr.len();
        let or_zero = |value: f64| if count == 0 { 0.0 } else { value / 1e3 };
        // The upper end of a bucket may be above the greatest value in it.
        let max = exact(count, self.max);
        let percentile = |percent: f64| self.percentile(percent).min(max);
        Percentiles {
            count,
            mean: or_zero(self.hdr.mean()),
            stdev: or_zero(self.hdr.stdev()),
            min: exact(count, self.hdr.min()),
            p50: percentile(50.0),
            p75: percentile(75.0),
            p90: percentile(90.0),
            p99: percentile(99.0),
            p99_9: percentile(99.9),
            p99_99: percentile(99.99),
            max,
        }
    }

    /// The text of the histogram in the form in which RocksDB prints it.
    pub fn text(&self) -> String {
        let count = self.hdr.len();
        let or_zero = |value: f64| if count == 0 { 0.0 } else { value / 1e3 };
        let head = HistogramHead {
            count,
            average: or_zero(self.hdr.mean()),
            standard_deviation: or_zero(self.hdr.stdev()),
            min: if count == 0 { 0 } else { self.hdr.min() / 1_000 },
            max: self.max / 1_000,
            percentiles: [50.0, 75.0, 99.0, 99.9, 99.99].map(|percent| self.percentile(percent)),
        };
        let mut below = 0;
        let buckets = bucket_limits().iter().map(|limit| {
            // A bucket that reaches over a limit counts as above the limit, so that each bucket is counted
            // once.
            let so_far = self.hdr.count_between(0, limit.saturating_mul(1_000));
            let inside = so_far - below;
            below = so_far;
            inside
        });
        histogram_text(&head, buckets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn percentiles_tell_the_tail() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.percentiles(), Percentiles::default());
        for micros in 1..=10_000 {
            histogram.record(Duration::from_micros(micros));
        }
        let found = histogram.percentiles();
        let near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 0.001;
        assert!(
            near(found.p50, 5_000.0) && near(found.p75, 7_500.0) && near(found.p90, 9_000.0),
            "{found:?}"
        );
        assert!(
            near(found.p99, 9_900.0) && near(found.p99_9, 9_990.0) && near(found.p99_99, 9_999.0),
            "{found:?}"
        );
        assert!(
            near(found.max, 10_000.0) && near(found.min, 1.0) && found.count == 10_000,
            "{found:?}"
        );
        assert!(found.p99_99 <= found.max);
        histogram.reset();
        assert_eq!(histogram.percentiles(), Percentiles::default());
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

//! Histograms: RocksDB's buckets, the figures that are derived from them, and their text.

use std::fmt;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of buckets of a histogram. The last one also counts values above its limit.
const BUCKETS: usize = 109;

/// The largest value of each bucket: 1, 2, then each limit half as large again as the one before, to two
/// digits.
pub fn bucket_limits() -> &'static [u64; BUCKETS] {
    static LIMITS: LazyLock<[u64; BUCKETS]> = LazyLock::new(|| {
        let mut limits = [1; BUCKETS];
        let mut exact = 2.0f64;
        for limit in &mut limits[1..] {
            *limit = two_digits(exact as u64);
            exact *= 1.5;
        }
        limits
    });
    &LIMITS
}

fn two_digits(number: u64) -> u64 {
    let (mut digits, mut scale) = (number, 1);
    while digits / 10 > 10 {
        digits /= 10;
        scale *= 10;
    }
    digits * scale
}

#[inline]
fn bucket_of(value: u64) -> usize {
    let limits = bucket_limits();
    limits.partition_point(|limit| *limit < value).min(BUCKETS - 1)
}

/// The counts of one histogram in one stripe.
pub(super) struct Cells {
    buckets: [AtomicU64; BUCKETS],
    min: AtomicU64,
    max: AtomicU64,
    sum: AtomicU64,
    /// The sum of the squares of the values, as the bits of a floating-point number: sums of squares of
    /// nanoseconds are too large for integers.
    sum_squares: AtomicU64,
}

impl Cells {
    pub const fn new() -> Cells {
        Cells {
            buckets: [const { AtomicU64::new(0) }; BUCKETS],
            min: AtomicU64::new(u64::MAX),
            max: AtomicU64::new(0),
            sum: AtomicU64::new(0),
            sum_squares: AtomicU64::new(0),
        }
    }

    pub fn add(&self, value: u64) {
        self.buckets[bucket_of(value)].fetch_add(1, Ordering::Relaxed);
        // Most values are neither a new minimum nor a new maximum, and then nothing is written.
        if value < self.min.load(Ordering::Relaxed) {
            self.min.fetch_min(value, Ordering::Relaxed);
        }
        if value > self.max.load(Ordering::Relaxed) {
            self.max.fetch_max(value, Ordering::Relaxed);
        }
        self.sum.fetch_add(value, Ordering::Relaxed);
        let square = value as f64 * value as f64;
        let add = |bits| Some((f64::from_bits(bits) + square).to_bits());
        let added = self
            .sum_squares
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        debug_assert!(added.is_ok(), "the update never declines");
    }

    pub fn reset(&self) {
        let zero = |cell: &AtomicU64| cell.store(0, Ordering::Relaxed);
        self.buckets.iter().for_each(zero);
        self.min.store(u64::MAX, Ordering::Relaxed);
        [&self.max, &self.sum, &self.sum_squares]
            .into_iter()
            .for_each(zero);
    }
}

/// A histogram by itself, in RocksDB's buckets. All threads add to the same counts.
pub struct HistogramImpl(Cells);

impl Default for HistogramImpl {
    fn default() -> HistogramImpl {
        HistogramImpl(Cells::new())
    }
}

impl fmt::Debug for HistogramImpl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HistogramImpl({})", self.data().count)
    }
}

impl HistogramImpl {
    /// Counts `value`.
    pub fn add(&self, value: u64) {
        self.0.add(value);
    }

    fn merged(&self) -> Merged {
        let mut merged = Merged::default();
        merged.add(&self.0);
        merged
    }

    /// The summary of the histogram.
    pub fn data(&self) -> HistogramData {
        self.merged().data()
    }
}

/// The text that RocksDB prints, bucket by bucket.
impl fmt::Display for HistogramImpl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.merged().text())
    }
}

/// The summary of a histogram: RocksDB's `HistogramData`, all 0 if nothing was counted.
///
/// See the example of [`Statistics`](super::Statistics).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HistogramData {
    /// The value that half of the values do not exceed.
    pub median: f64,
    /// The value that 95% of the values do not exceed.
    pub percentile95: f64,
    /// The value that 99% of the values do not exceed.
    pub percentile99: f64,
    /// The mean of the values.
    pub average: f64,
    /// The standard deviation of the values.
    pub standard_deviation: f64,
    /// The largest value, exactly.
    pub max: u64,
    /// The number of values.
    pub count: u64,
    /// The sum of the values.
    pub sum: u64,
    /// The smallest value, exactly.
    pub min: u64,
}

/// The text of a line of `Statistics`, after the name.
impl fmt::Display for HistogramData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "P50 : {:.6} P95 : {:.6} P99 : {:.6} P100 : {:.6} COUNT : {} SUM : {}",
            self.median, self.percentile95, self.percentile99, self.max as f64, self.count, self.sum
        )
    }
}

/// The sum of all stripes.
pub(super) struct Merged {
    buckets: [u64; BUCKETS],
    min: u64,
    max: u64,
    sum: u64,
    sum_squares: f64,
}

impl Default for Merged {
    fn default() -> Merged {
        Merged {
            buckets: [0; BUCKETS],
            min: u64::MAX,
            max: 0,
            sum: 0,
            sum_squares: 0.0,
        }
    }
}

impl Merged {
    pub fn add(&mut self, cells: &Cells) {
        for (sum, cell) in self.buckets.iter_mut().zip(&cells.buckets) {
            *sum += cell.load(Ordering::Relaxed);
        }
        self.min = self.min.min(cells.min.load(Ordering::Relaxed));
        self.max = self.max.max(cells.max.load(Ordering::Relaxed));
        self.sum = self.sum.wrapping_add(cells.sum.load(Ordering::Relaxed));
        self.sum_squares += f64::from_bits(cells.sum_squares.load(Ordering::Relaxed));
    }

    pub fn buckets(&self) -> &[u64] {
        &self.buckets
    }

    pub fn sum(&self) -> u64 {
        self.sum
    }

    fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    fn average(&self, count: u64) -> f64 {
        match count {
            0 => 0.0,
            count => self.sum as f64 / count as f64,
        }
    }

    fn standard_deviation(&self, count: u64) -> f64 {
        let average = self.average(count);
        let variance = self.sum_squares / count.max(1) as f64 - average * average;
        // For constant values, rounding can leave a negative difference.
        variance.max(0.0).sqrt()
    }

    /// The value that `percent` of the values do not exceed, interpolated linearly within a bucket.
    fn percentile(&self, percent: f64) -> f64 {
        let count = self.count();
        if count == 0 {
            return 0.0;
        }
        let threshold = count as f64 * percent / 100.0;
        let limits = bucket_limits();
        let mut below = 0;
        for (bucket, &inside) in self.buckets.iter().enumerate() {
            if (below + inside) as f64 >= threshold {
                let left = if bucket == 0 { 0 } else { limits[bucket - 1] } as f64;
                let part = match inside {
                    0 => 0.0,
                    inside => (threshold - below as f64) / inside as f64,
                };
                let value = left + (limits[bucket] as f64 - left) * part;
                // While other threads count values, the minimum may not be set yet.
                return value.max(self.min.min(self.max) as f64).min(self.max as f64);
            }
            below += inside;
        }
        self.max as f64
    }

    pub fn data(&self) -> HistogramData {
        let count = self.count();
        if count == 0 {
            return HistogramData::default();
        }
        HistogramData {
            median: self.percentile(50.0),
            percentile95: self.percentile(95.0),
            percentile99: self.percentile(99.0),
            average: self.average(count),
            standard_deviation: self.standard_deviation(count),
            max: self.max,
            count,
            sum: self.sum,
            min: self.min,
        }
    }

    pub fn text(&self) -> String {
        let count = self.count();
        let exact = |value| if count == 0 { 0 } else { value };
        let head = HistogramHead {
            count,
            average: self.average(count),
            standard_deviation: self.standard_deviation(count),
            min: exact(self.min),
            max: exact(self.max),
            percentiles: [50.0, 75.0, 99.0, 99.9, 99.99].map(|percent| self.percentile(percent)),
        };
        histogram_text(&head, self.buckets.iter().copied())
    }
}

/// The lines above the buckets of a printed histogram.
#[derive(Clone, Copy, Debug, Default)]
pub struct HistogramHead {
    /// The number of values.
    pub count: u64,
    /// The mean of the values.
    pub average: f64,
    /// The standard deviation of the values.
    pub standard_deviation: f64,
    /// The smallest value.
    pub min: u64,
    /// The largest value.
    pub max: u64,
    /// The values that 50%, 75%, 99%, 99.9% and 99.99% of the values do not exceed.
    pub percentiles: [f64; 5],
}

/// The text of a histogram in the form of RocksDB's `Histogram::ToString`. `buckets`: the number of values in
/// each of [`bucket_limits`], from the first.
pub fn histogram_text(head: &HistogramHead, buckets: impl IntoIterator<Item = u64>) -> String {
    let [p50, p75, p99, p99_9, p99_99] = head.percentiles;
    let mut text = format!(
        "Count: {} Average: {:.4}  StdDev: {:.2}\nMin: {}  Median: {p50:.4}  Max: {}\n\
         Percentiles: P50: {p50:.2} P75: {p75:.2} P99: {p99:.2} P99.9: {p99_9:.2} P99.99: {p99_99:.2}\n\
         ------------------------------------------------------\n",
        head.count, head.average, head.standard_deviation, head.min, head.max,
    );
    let share = 100.0 / head.count.max(1) as f64;
    let (mut left, mut below) = (0, 0);
    for (at, (&right, inside)) in bucket_limits().iter().zip(buckets).enumerate() {
        below += inside;
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
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(values: impl IntoIterator<Item = u64>) -> Merged {
        let cells = Cells::new();
        values.into_iter().for_each(|value| cells.add(value));
        let mut merged = Merged::default();
        merged.add(&cells);
        merged
    }

    #[test]
    fn borders_are_rocksdbs() {
        let limits = bucket_limits();
        assert_eq!(
            limits[..16],
            [1, 2, 3, 4, 6, 10, 15, 22, 34, 51, 76, 110, 170, 250, 380, 580]
        );
        assert!(limits.is_sorted());
        // The limit of one more bucket would not fit 64 bits.
        assert_eq!(limits[BUCKETS - 1], 13_000_000_000_000_000_000);
    }

    #[test]
    fn a_value_is_in_the_bucket_it_does_not_exceed() {
        assert_eq!([0, 1, 2, 3, 4, 5, 6, 7].map(bucket_of), [0, 0, 1, 2, 3, 4, 4, 5]);
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn numbers_of_a_known_distribution() {
        let data = merged(1..=1000).data();
        assert_eq!(
            (data.count, data.sum, data.min, data.max),
            (1000, 500_500, 1, 1000)
        );
        assert!((data.average - 500.5).abs() < 1e-9);
        assert!(
            (data.standard_deviation - 288.675).abs() < 0.001,
            "{}",
            data.standard_deviation
        );
        // Percentiles are interpolated within buckets that are half as wide as their values.
        for (percentile, exact) in [
            (data.median, 500.0),
            (data.percentile95, 950.0),
            (data.percentile99, 990.0),
        ] {
            assert!((percentile - exact).abs() < 0.1 * exact, "{percentile} {exact}");
        }
        assert_eq!(merged([]).data(), HistogramData::default());
    }

    #[test]
    fn large_values_do_not_overflow() {
        let data = merged([u64::MAX / 4; 3]).data();
        assert_eq!((data.min, data.max), (u64::MAX / 4, u64::MAX / 4));
        assert!(data.standard_deviation < 0.001 * data.average);
    }

    #[test]
    fn text_is_rocksdbs() {
        let text = merged([1, 1, 5, 7]).text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "Count: 4 Average: 3.5000  StdDev: 2.60");
        assert_eq!(lines[1], "Min: 1  Median: 1.0000  Max: 7");
        assert!(
            lines[2].starts_with("Percentiles: P50: 1.00 P75: 6.00 P99: "),
            "{text}"
        );
        assert_eq!(
            lines[4],
            "[       0,       1 ]        2  50.000%  50.000% ##########"
        );
        assert_eq!(lines.len(), 7, "{text}");
    }
}

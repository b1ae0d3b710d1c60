//! The tickers and histograms of `Statistics`, under names derived from RocksDB's.

use std::sync::LazyLock;

use esker::{Histogram, bucket_limits};

use crate::table::PREFIX;

/// Returns the name of the metric for RocksDB's `name`, without the suffix of its type:
/// `rocksdb.block.cache.hit` becomes `esker_stat_block_cache_hit`.
pub(crate) fn metric_name(name: &str) -> String {
    let name = name
        .strip_prefix("rocksdb.")
        .or_else(|| name.strip_prefix("esker."));
    let words = name.unwrap_or_default();
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    format!("{PREFIX}stat_{}", words.chars().map(letter).collect::<String>())
}

/// The step between exported limits of RocksDB's buckets: each exported limit is 3.4 times the one before.
const EVERY: usize = 3;

/// The largest limit that is exported: 10^10, which is about 3 h in microseconds, 10 s in nanoseconds, 10 GB
/// in bytes.
const LARGEST: u64 = 10_000_000_000;

/// The indexes of the exported limits in [`bucket_limits`].
static EXPORTED: LazyLock<Vec<usize>> = LazyLock::new(|| {
    let limits = bucket_limits().iter().enumerate();
    let chosen = limits.filter(|(index, limit)| index % EVERY == 0 && **limit <= LARGEST);
    chosen.map(|(index, _)| index).collect()
});

/// A histogram of OpenMetrics.
pub(crate) struct Buckets {
    pub sum: u64,
    pub count: u64,
    /// The upper limit of each bucket, and the number of values above the previous limit.
    pub buckets: Vec<(f64, u64)>,
}

/// Sums the buckets of `histogram` into the exported ones.
pub(crate) fn buckets(statistics: &esker::Statistics, histogram: Histogram) -> Buckets {
    let (counts, sum) = statistics.histogram_buckets(histogram);
    let mut buckets = Vec::with_capacity(EXPORTED.len() + 1);
    let mut from = 0;
    for &index in EXPORTED.iter() {
        let inside = counts[from..=index].iter().sum();
        buckets.push((bucket_limits()[index] as f64, inside));
        from = index + 1;
    }
    buckets.push((f64::INFINITY, counts[from..].iter().sum()));
    Buckets {
        sum,
        count: counts.iter().sum(),
        buckets,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use esker::{Statistics, Ticker};

    use super::*;

    #[test]
    fn names_are_distinct_and_valid() {
        let tickers = Ticker::ALL.iter().map(|ticker| ticker.name());
        let histograms = Histogram::ALL.iter().map(|histogram| histogram.name());
        let mut names = BTreeSet::new();
        for name in tickers.chain(histograms) {
            let metric = metric_name(name);
            assert!(
                metric
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'),
                "{metric}"
            );
            assert!(names.insert(metric), "{name}");
        }
        assert!(names.contains("esker_stat_block_cache_hit"));
    }

    #[test]
    fn every_value_is_in_one_bucket() {
        let statistics = Statistics::new();
        let values = [0, 1, 2, 3, 1000, 999_999, LARGEST, LARGEST * 2, u64::MAX / 4];
        for value in values {
            statistics.record_in_histogram(Histogram::BytesPerRead, value);
        }
        let found = buckets(&statistics, Histogram::BytesPerRead);
        assert_eq!(found.count, values.len() as u64);
        assert_eq!(found.sum, values.iter().sum::<u64>());
        let mut below = 0;
        for (limit, inside) in found.buckets {
            below += inside;
            let expected = values.iter().filter(|value| **value as f64 <= limit).count();
            assert_eq!(below, expected as u64, "{limit}");
        }
    }
}

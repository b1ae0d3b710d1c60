//! Measures the time in users' merge operators and compaction filters, if statistics ask for it. Without
//! statistics the operators and filters are called directly.

use std::sync::Arc;

use base::env::Stopwatch;
use base::merge::MergeOperator;
use base::statistics::{Statistics, Ticker};
use compact::{CompactionFilter, Decision, ValueType};

/// Returns `operator`, timed if `statistics` measure times.
pub(crate) fn merge_operator(
    operator: Arc<dyn MergeOperator>,
    statistics: Option<&Arc<Statistics>>,
) -> Arc<dyn MergeOperator> {
    match statistics {
        None => operator,
        Some(statistics) => Arc::new(TimedMerge {
            operator,
            statistics: statistics.clone(),
        }),
    }
}

/// Returns `filter`; if `statistics` measure times per entry, the result measures the time of its calls.
pub(crate) fn compaction_filter(
    filter: Box<dyn CompactionFilter>,
    statistics: Option<&Arc<Statistics>>,
) -> Box<dyn CompactionFilter> {
    match statistics {
        None => filter,
        Some(statistics) => Box::new(TimedFilter {
            filter,
            statistics: statistics.clone(),
        }),
    }
}

/// Returns the result of `work`, and adds its nanoseconds to `ticker` if `wanted`.
fn timed<T>(statistics: &Statistics, wanted: bool, ticker: Ticker, work: impl FnOnce() -> T) -> T {
    if !wanted {
        return work();
    }
    let started = Stopwatch::start();
    let done = work();
    statistics.record_tick(ticker, started.nanos());
    done
}

struct TimedMerge {
    operator: Arc<dyn MergeOperator>,
    statistics: Arc<Statistics>,
}

impl TimedMerge {
    fn timed<T>(&self, work: impl FnOnce() -> T) -> T {
        let wanted = self.statistics.times();
        timed(&self.statistics, wanted, Ticker::MergeOperationTotalTime, work)
    }
}

impl MergeOperator for TimedMerge {
    fn name(&self) -> &str {
        self.operator.name()
    }

    fn text(&self) -> String {
        self.operator.text()
    }

    fn full_merge(&self, key: &[u8], existing: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        self.timed(|| self.operator.full_merge(key, existing, operands))
    }

    fn partial_merge(&self, key: &[u8], older: &[u8], newer: &[u8]) -> Option<Vec<u8>> {
        self.timed(|| self.operator.partial_merge(key, older, newer))
    }
}

struct TimedFilter {
    filter: Box<dyn CompactionFilter>,
    statistics: Arc<Statistics>,
}

impl CompactionFilter for TimedFilter {
    fn filter(&mut self, level: usize, key: &[u8], value_type: ValueType, value: &[u8]) -> Decision {
        let wanted = self.statistics.times_details();
        timed(&self.statistics, wanted, Ticker::FilterOperationTotalTime, || {
            self.filter.filter(level, key, value_type, value)
        })
    }

    fn filter_entity(&mut self, level: usize, key: &[u8], columns: &[(&[u8], &[u8])]) -> Decision {
        let wanted = self.statistics.times_details();
        timed(&self.statistics, wanted, Ticker::FilterOperationTotalTime, || {
            self.filter.filter_entity(level, key, columns)
        })
    }

    fn filter_blob_by_key(&mut self, level: usize, key: &[u8]) -> Option<Decision> {
        let wanted = self.statistics.times_details();
        timed(&self.statistics, wanted, Ticker::FilterOperationTotalTime, || {
            self.filter.filter_blob_by_key(level, key)
        })
    }
}

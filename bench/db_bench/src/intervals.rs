//! The course of a run by intervals of a second, or of `--report_interval_seconds`: each thread collects its
//! own figures, and hands them over when an interval has ended.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::histogram::{Histogram, Percentiles};
use crate::op::Op;

/// Latencies by kind of operation.
pub type Latencies = BTreeMap<Op, Histogram>;

/// The state of the database and the process at the end of an interval. Counts are since the database was
/// opened.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// The number and bytes of the files of each level, all families together.
    pub levels: Vec<(u64, u64)>,
    /// Microseconds that writers were stalled or delayed.
    pub stall_micros: u64,
    /// Bytes that flushes and compactions wrote.
    pub job_bytes: u64,
    /// Resident bytes of the process.
    pub resident: u64,
    /// Seconds of processor time that the process used.
    pub cpu_seconds: f64,
}

/// An interval that is over.
#[derive(Clone, Debug)]
pub struct Interval {
    /// The end of the interval, from the start of the run.
    pub end: Duration,
    /// The number of operations that ended in the interval.
    pub operations: u64,
    /// The number of operations of a background writer that ended in the interval.
    pub background_operations: u64,
    /// The latencies of the counted operations.
    pub latencies: BTreeMap<Op, Percentiles>,
    /// The latencies of the background writer.
    pub background: BTreeMap<Op, Percentiles>,
    /// The state at the end of the interval.
    pub sample: Sample,
}

/// The figures that a thread hands over.
pub struct ThreadFigures<'a> {
    /// The number of the thread.
    pub thread: usize,
    /// The interval that the figures belong to.
    pub interval: u64,
    /// True for a background writer.
    pub excluded: bool,
    /// The number of operations.
    pub operations: u64,
    /// The latencies of the operations.
    pub latencies: &'a Latencies,
}

#[derive(Default)]
struct Sum {
    operations: [u64; 2],
    latencies: [Latencies; 2],
}

/// The operations and latencies of an interval: the counted ones and the background's.
type Closed = ([u64; 2], [BTreeMap<Op, Percentiles>; 2]);

#[derive(Default)]
struct Inner {
    /// The interval that each thread is in; `u64::MAX` for a thread that is done.
    at: Vec<u64>,
    /// Intervals that some thread may still add to, from number `closed.len()` on.
    open: VecDeque<Sum>,
    closed: Vec<Closed>,
    ends: Vec<(Duration, Sample)>,
}

/// The intervals of a run.
pub struct Intervals {
    current: AtomicU64,
    inner: Mutex<Inner>,
}

impl Intervals {
    /// The intervals of a run of `threads` threads.
    pub fn new(threads: usize) -> Intervals {
        Intervals {
            current: AtomicU64::new(0),
            inner: Mutex::new(Inner {
                at: vec![0; threads],
                ..Inner::default()
            }),
        }
    }

    /// The number of the current interval.
    #[inline]
    pub fn current(&self) -> u64 {
        self.current.load(Ordering::Relaxed)
    }

    /// Ends the current interval.
    pub fn end(&self, at: Duration, sample: Sample) {
        let mut inner = self.inner.lock().expect("no thread panics in here");
        inner.ends.push((at, sample));
        self.current.store(inner.ends.len() as u64, Ordering::Relaxed);
    }

    /// Takes the figures that a thread collected in an interval. From now on the thread collects in interval
    /// `next`, or, if that is `None`, is done.
    pub fn hand_over(&self, part: &ThreadFigures<'_>, next: Option<u64>) {
        let mut inner = self.inner.lock().expect("no thread panics in here");
        let inner = &mut *inner;
        let offset = (part.interval - inner.closed.len() as u64) as usize;
        while inner.open.len() <= offset {
            inner.open.push_back(Sum::default());
        }
        let (sum, kind) = (&mut inner.open[offset], usize::from(part.excluded));
        sum.operations[kind] += part.operations;
        for (op, latencies) in part.latencies {
            sum.latencies[kind].entry(*op).or_default().merge(latencies);
        }
        inner.at[part.thread] = next.unwrap_or(u64::MAX);
        // Histograms are large: the histogram of an interval is summarised as soon as no thread adds to the
        // interval any more.
        let least = inner.at.iter().copied().min().unwrap_or(u64::MAX);
        while (inner.closed.len() as u64) < least
            && let Some(sum) = inner.open.pop_front()
        {
            let percentiles = sum.latencies.map(|latencies| {
                latencies
                    .iter()
                    .map(|(op, latencies)| (*op, latencies.percentiles()))
                    .collect()
            });
            inner.closed.push((sum.operations, percentiles));
        }
    }

    /// All intervals in order; to be called when all threads are done and the last interval was ended.
    pub fn into_rows(self) -> Vec<Interval> {
        let inner = self.inner.into_inner().expect("no thread panics in here");
        let mut closed = inner.closed.into_iter();
        inner
            .ends
            .into_iter()
            .map(|(end, sample)| {
                let ([operations, background_operations], [latencies, background]) =
                    closed.next().unwrap_or_default();
                Interval {
                    end,
                    operations,
                    background_operations,
                    latencies,
                    background,
                    sample,
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latencies(micros: &[u64]) -> Latencies {
        let mut latencies = Latencies::new();
        for micros in micros {
            latencies
                .entry(Op::Read)
                .or_default()
                .record(Duration::from_micros(*micros));
        }
        latencies
    }

    fn part(thread: usize, interval: u64, latencies: &Latencies) -> ThreadFigures<'_> {
        ThreadFigures {
            thread,
            interval,
            excluded: false,
            operations: latencies.values().map(Histogram::count).sum(),
            latencies,
        }
    }

    #[test]
    fn what_is_late_lands_where_it_belongs() {
        let intervals = Intervals::new(2);
        let second = Duration::from_secs(1);
        let (few, many, one) = (latencies(&[5]), latencies(&[1, 2, 3]), latencies(&[900]));
        intervals.end(second, Sample::default());
        intervals.hand_over(&part(0, 0, &many), Some(intervals.current()));
        intervals.end(2 * second, Sample::default());
        intervals.hand_over(&part(0, 1, &few), Some(intervals.current()));
        // Thread 1 was in one operation for several intervals, and only now hands over its figures of the
        // first one.
        intervals.hand_over(&part(1, 0, &few), Some(intervals.current()));
        let mut writer = part(1, 2, &one);
        writer.excluded = true;
        intervals.hand_over(&writer, None);
        intervals.hand_over(&part(0, 2, &Latencies::new()), None);
        let last = Sample {
            stall_micros: 7,
            ..Sample::default()
        };
        intervals.end(3 * second, last.clone());
        intervals.end(4 * second, Sample::default());
        let rows = intervals.into_rows();
        let operations: Vec<u64> = rows.iter().map(|row| row.operations).collect();
        assert_eq!(operations, [4, 1, 0, 0]);
        assert_eq!(rows[0].latencies[&Op::Read].max, 5.0);
        assert_eq!(rows[0].latencies[&Op::Read].count, 4);
        assert!(rows[2].latencies.is_empty());
        assert_eq!((rows[2].background_operations, rows[2].sample.clone()), (1, last));
        assert!(rows[2].background[&Op::Read].p50 > 899.0);
        assert_eq!(rows[1].end, 2 * second);
    }
}

//! What happened in each second of a run, or whatever `--report_interval_seconds` says: each thread collects by itself
//! and hands over what it has when an interval has ended.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::histogram::{Histogram, Percentiles};
use crate::report::Op;

/// Latencies by kind of operation.
pub type Latencies = BTreeMap<Op, Histogram>;

/// What was seen of the database and the process at the end of an interval. Counts are since the database was opened.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// Files and bytes of each level, all families together.
    pub levels: Vec<(u64, u64)>,
    /// Microseconds writers were held back.
    pub stall_micros: u64,
    /// Bytes flushes and compactions wrote.
    pub job_bytes: u64,
    /// Bytes the process has resident.
    pub resident: u64,
    /// Seconds of processor time the process used.
    pub cpu_seconds: f64,
}

/// An interval that is over.
#[derive(Clone, Debug)]
pub struct Interval {
    /// Its end, from the start of the run.
    pub end: Duration,
    /// Operations that ended in it.
    pub operations: u64,
    /// Operations of a writer in the background that ended in it.
    pub background_operations: u64,
    /// Latencies of the first.
    pub latencies: BTreeMap<Op, Percentiles>,
    /// Latencies of the writer in the background.
    pub background: BTreeMap<Op, Percentiles>,
    /// How things stood at its end.
    pub sample: Sample,
}

/// What a thread hands over.
pub struct Part<'a> {
    /// Its number.
    pub thread: usize,
    /// The interval it collected in.
    pub interval: u64,
    /// True for a writer in the background.
    pub excluded: bool,
    /// Operations.
    pub operations: u64,
    /// Their latencies.
    pub latencies: &'a Latencies,
}

#[derive(Default)]
struct Sum {
    operations: [u64; 2],
    latencies: [Latencies; 2],
}

/// Operations and latencies of an interval: those that count, and the background's.
type Closed = ([u64; 2], [BTreeMap<Op, Percentiles>; 2]);

#[derive(Default)]
struct Inner {
    /// The interval each thread is in; `u64::MAX` when it is done.
    at: Vec<u64>,
    /// Intervals some thread may still add to, from number `closed.len()` on.
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
    /// Of a run of `threads` threads.
    pub fn new(threads: usize) -> Intervals {
        Intervals {
            current: AtomicU64::new(0),
            inner: Mutex::new(Inner {
                at: vec![0; threads],
                ..Inner::default()
            }),
        }
    }

    /// The number of the interval that is going on.
    #[inline]
    pub fn current(&self) -> u64 {
        self.current.load(Ordering::Relaxed)
    }

    /// Ends the interval.
    pub fn end(&self, at: Duration, sample: Sample) {
        let mut inner = self.inner.lock().expect("no thread panics in here");
        inner.ends.push((at, sample));
        self.current.store(inner.ends.len() as u64, Ordering::Relaxed);
    }

    /// Takes what a thread collected in an interval; from now on it collects in interval `next`, or, if that is `None`,
    /// never again.
    pub fn hand_over(&self, part: &Part<'_>, next: Option<u64>) {
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
        // Histograms are large: none is kept longer than somebody adds to it.
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

    /// Every interval in order, when all threads are done and the last interval was ended.
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

    fn part(thread: usize, interval: u64, latencies: &Latencies) -> Part<'_> {
        Part {
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
        // Thread 1 was in one operation all the time, and hands over only now what it did in the first interval.
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

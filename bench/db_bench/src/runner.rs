//! Runs a workload on its threads: starts them together, counts, measures and adds up.

use std::io::Write;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use base::Result;
use base::env::Rng;
use indicatif::{ProgressBar, ProgressStyle};

use crate::flags::Flags;
use crate::flamegraph;
use crate::intervals::{Intervals, Latencies, Sample, ThreadFigures};
use crate::mixgraph::SineRate;
use crate::op::Op;
use crate::report::Summary;
use crate::resources;
use crate::schedule::{self, Line, Schedule};
use crate::seeds::Seeds;

/// The state that the threads of a run share.
pub struct Shared {
    /// The number of threads of the run.
    pub threads: usize,
    /// The number of threads that are done.
    pub finished: AtomicUsize,
    /// `--benchmark_write_rate_limit`, in bytes.
    writes: Option<Schedule>,
    /// `--sine_write_rate`, in bytes.
    sine_writes: Option<SineRate>,
    /// `--benchmark_read_rate_limit`, in reads.
    reads: Option<Schedule>,
    failed: AtomicBool,
    /// True if the time limit ended the run, so that operations which were due may be missing.
    cut_short: AtomicBool,
    progress: ProgressBar,
    /// The number of operations of all threads, for `--report_interval_seconds`.
    total: Option<AtomicU64>,
    /// The intervals, for `--json`.
    intervals: Option<Intervals>,
    settings: Settings,
}

/// Observes the database while threads run.
pub trait Observer: Sync {
    /// The function that thread 0 calls at each line of `--stats_interval`.
    fn on_line(&self) {}
    /// The function that is called at the end of each interval.
    fn sample(&self) -> Sample {
        Sample::default()
    }
}

impl Observer for () {}

/// The values of flags that are read at each operation.
#[derive(Clone, Debug)]
struct Settings {
    latencies: bool,
    histogram: bool,
    stats_interval: u64,
    stats_interval_time: Duration,
    duration_checks: u64,
}

/// A thread of a run.
pub struct Thread<'a> {
    /// The number of the thread, from 0.
    pub id: usize,
    /// The thread's own random numbers.
    pub rng: Rng,
    /// The state shared with the other threads.
    pub shared: &'a Shared,
    /// The text that the workload adds to its result line.
    pub message: String,
    /// True for a background writer among readers: its operations are not added to the sum.
    pub excluded: bool,
    bytes: u64,
    done: u64,
    next_report: u64,
    start: Instant,
    last_op: Instant,
    last_line: (Instant, u64),
    observer: &'a dyn Observer,
    /// The time at which the next operation was due, in a run with a rate.
    due: Option<Instant>,
    line: Line,
    /// The number of the interval, if there are intervals, and the operations done before it.
    interval: (u64, u64),
    /// The latencies of the interval, or of the run if there are no intervals.
    latencies: Latencies,
    /// The latencies of earlier intervals.
    earlier: Latencies,
    /// The latencies since the last line about this thread's speed.
    since_line: Latencies,
}

impl<'a> Thread<'a> {
    fn new(id: usize, seed: u64, shared: &'a Shared, observer: &'a dyn Observer) -> Thread<'a> {
        let now = Instant::now();
        Thread {
            id,
            rng: Rng::with_seed(seed),
            shared,
            message: String::new(),
            excluded: false,
            bytes: 0,
            done: 0,
            next_report: if shared.settings.stats_interval > 0 {
                shared.settings.stats_interval
            } else {
                100
            },
            start: now,
            last_op: now,
            last_line: (now, 0),
            observer,
            due: None,
            line: Line::default(),
            interval: (0, 0),
            latencies: Latencies::new(),
            earlier: Latencies::new(),
            since_line: Latencies::new(),
        }
    }

    /// Resets the counts and starts again: the work so far was preparation. Intervals keep it.
    pub fn restart(&mut self) {
        let now = Instant::now();
        if let Some(intervals) = &self.shared.intervals {
            self.next_interval(intervals);
        }
        self.message.clear();
        self.next_report = self.next_report.saturating_sub(self.done);
        (self.bytes, self.done, self.interval.1) = (0, 0, 0);
        (self.start, self.last_op, self.last_line) = (now, now, (now, 0));
        self.latencies.clear();
        self.earlier.clear();
        self.since_line.clear();
    }

    /// The work of this thread so far.
    pub fn summary(&self) -> Summary {
        let elapsed = self.start.elapsed();
        let mut latencies = self.earlier.clone();
        for (op, of_interval) in &self.latencies {
            latencies.entry(*op).or_default().merge(of_interval);
        }
        Summary {
            done: self.done,
            bytes: self.bytes,
            elapsed,
            busy: elapsed,
            message: self.message.clone(),
            latencies,
            histogram: self.shared.settings.histogram,
            ..Summary::default()
        }
    }

    /// Counts bytes of keys and values.
    #[inline]
    pub fn add_bytes(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    /// In a run with a rate of reads, waits until the next `reads` are due, and begins an operation. Its
    /// latency counts from the due time.
    #[inline]
    pub fn wait_to_read(&mut self, reads: u64) {
        if let Some(schedule) = &self.shared.reads {
            self.wait_for(schedule, reads);
        }
    }

    /// In a run with a rate of bytes written, waits until the next `bytes` are due, and begins an operation.
    /// Its latency counts from the due time.
    #[inline]
    pub fn wait_to_write(&mut self, bytes: u64) {
        if let Some(schedule) = &self.shared.writes {
            self.wait_for(schedule, bytes);
        } else if let Some(rate) = &self.shared.sine_writes
            && let Some(schedule) = rate.schedule(Instant::now())
        {
            self.wait_for(&schedule, bytes);
        }
    }

    /// Waits until the next `units` of `schedule` are due, and begins an operation. Its latency counts from
    /// the due time.
    #[cold]
    pub fn wait_for(&mut self, schedule: &Schedule, units: u64) {
        let due = schedule.take(units, Instant::now());
        schedule::wait_until(due);
        self.due = Some(due);
        self.last_op = Instant::now();
    }

    /// Counts `count` operations that together took the time since the last call.
    #[inline]
    pub fn finished(&mut self, count: u64, op: Op) {
        if let Some(intervals) = &self.shared.intervals
            && intervals.current() != self.interval.0
        {
            self.next_interval(intervals);
        }
        self.done += count;
        if self.shared.settings.latencies {
            self.record(op);
        }
        if self.done >= self.next_report {
            self.report_progress();
        }
        if let Some(total) = &self.shared.total {
            total.fetch_add(count, Ordering::Relaxed);
        }
    }

    fn record(&mut self, op: Op) {
        let now = Instant::now();
        let time = now - self.last_op;
        self.last_op = now;
        let latency = match self.due.take() {
            Some(due) => self.line.latency(due, time),
            None => time,
        };
        self.latencies.entry(op).or_default().record(latency);
        if self.shared.settings.stats_interval > 0 {
            self.since_line.entry(op).or_default().record(latency);
        }
    }

    #[cold]
    fn next_interval(&mut self, intervals: &Intervals) {
        let current = intervals.current();
        self.hand_over(intervals, Some(current));
        self.interval = (current, self.done);
    }

    fn hand_over(&mut self, intervals: &Intervals, next: Option<u64>) {
        let part = ThreadFigures {
            thread: self.id,
            interval: self.interval.0,
            excluded: self.excluded,
            operations: self.done - self.interval.1,
            latencies: &self.latencies,
        };
        intervals.hand_over(&part, next);
        for (op, latencies) in &mut self.latencies {
            self.earlier.entry(*op).or_default().merge(latencies);
            latencies.reset();
        }
    }

    /// The latencies of the whole run, when the thread is done.
    fn close(&mut self) -> Latencies {
        match &self.shared.intervals {
            Some(intervals) => {
                self.hand_over(intervals, None);
                std::mem::take(&mut self.earlier)
            }
            None => std::mem::take(&mut self.latencies),
        }
    }

    #[cold]
    fn report_progress(&mut self) {
        let settings = &self.shared.settings;
        if settings.stats_interval == 0 {
            // Without lines about the speed only the progress bar advances, after a tenth as many operations
            // as are done, but at least 100 and at most 100,000.
            let step = (self.done / 10).clamp(100, 100_000);
            self.shared.progress.inc(self.done - self.last_line.1);
            self.last_line.1 = self.done;
            self.next_report += step;
            return;
        }
        self.next_report += settings.stats_interval;
        let now = Instant::now();
        let (last, done_then) = self.last_line;
        if now - last < settings.stats_interval_time {
            return;
        }
        let (step, all) = ((now - last).as_secs_f64(), (now - self.start).as_secs_f64());
        eprintln!(
            "... thread {}: ({},{}) ops and ({:.1},{:.1}) ops/second in ({step:.6},{all:.6}) seconds",
            self.id,
            self.done - done_then,
            self.done,
            (self.done - done_then) as f64 / step,
            self.done as f64 / all,
        );
        if settings.histogram {
            for (op, latencies) in &mut self.since_line {
                eprintln!(
                    "... thread {}: Microseconds per {}: {}",
                    self.id,
                    op.name(),
                    latencies.percentiles().text()
                );
                latencies.reset();
            }
        }
        if self.id == 0 {
            self.observer.on_line();
        }
        self.last_line = (now, self.done);
    }

    /// The length of a loop of this thread: `operations`, or `seconds` if that is more than 0.
    pub fn pace(&self, seconds: i32, operations: i64) -> Pace<'a> {
        Pace {
            shared: self.shared,
            limit: u64::try_from(seconds)
                .ok()
                .filter(|seconds| *seconds > 0)
                .map(Duration::from_secs),
            operations: operations.max(0) as u64,
            done: 0,
            start: Instant::now(),
        }
    }
}

/// Decides when a loop ends.
pub struct Pace<'a> {
    shared: &'a Shared,
    limit: Option<Duration>,
    operations: u64,
    done: u64,
    start: Instant,
}

impl Pace<'_> {
    /// Counts `step` operations that are about to be done; true if the loop has ended and they are not to be
    /// done.
    #[inline]
    pub fn done(&mut self, step: i64) -> bool {
        let before = self.done;
        self.done += step.max(1) as u64;
        let every = self.shared.settings.duration_checks;
        if before / every != self.done / every && self.interrupted() {
            return true;
        }
        self.limit.is_none() && self.done > self.operations
    }

    #[cold]
    fn interrupted(&self) -> bool {
        let out_of_time = self.limit.is_some_and(|limit| self.start.elapsed() >= limit);
        if out_of_time {
            self.shared.cut_short.store(true, Ordering::Relaxed);
        }
        out_of_time || self.shared.failed.load(Ordering::Relaxed)
    }
}

/// The work of a run on each thread.
pub type Body<'a> = &'a (dyn Fn(&mut Thread<'_>) -> Result<()> + Sync);

/// Runs `body` on `threads` threads at once and adds up their work. `expected` is the number of operations of
/// all threads, for the progress bar. The first error ends the run.
pub fn run(
    flags: &Flags,
    threads: usize,
    expected: u64,
    seeds: &Seeds,
    observer: &dyn Observer,
    body: Body<'_>,
) -> Result<Summary> {
    let shared = Shared {
        threads,
        finished: AtomicUsize::new(0),
        writes: Schedule::new(flags.benchmark_write_rate_limit),
        sine_writes: SineRate::of_writes(flags),
        reads: Schedule::new(flags.benchmark_read_rate_limit),
        failed: AtomicBool::new(false),
        cut_short: AtomicBool::new(false),
        progress: progress_bar(flags, expected),
        total: (flags.report_interval_seconds > 0).then(AtomicU64::default),
        intervals: (!flags.json.is_empty()).then(|| Intervals::new(threads)),
        settings: Settings {
            latencies: flags.histogram || !flags.json.is_empty(),
            histogram: flags.histogram,
            stats_interval: match flags.stats_interval_seconds > 0 {
                // With a limit in seconds, the clock is read once in this number of operations.
                true => 1_000,
                false => flags.stats_interval.max(0) as u64,
            },
            stats_interval_time: Duration::from_secs(flags.stats_interval_seconds.max(0) as u64),
            duration_checks: flags.ops_between_duration_checks.max(1) as u64,
        },
    };
    let seeds: Vec<u64> = (0..threads).map(|_| seeds.next_seed()).collect();
    let barrier = Barrier::new(threads + 1);
    let ended = AtomicBool::new(false);
    let mut outcomes = Vec::with_capacity(threads);
    std::thread::scope(|scope| {
        let rows = named("report".into())
            .spawn_scoped(scope, || report_rows(flags, &shared, &ended))
            .expect("the system has threads to give");
        let clock = named("clock".into())
            .spawn_scoped(scope, || {
                end_intervals(flags, &shared, observer, &barrier, &ended)
            })
            .expect("the system has threads to give");
        let running: Vec<_> = seeds
            .iter()
            .enumerate()
            .map(|(id, &seed)| {
                let (shared, barrier) = (&shared, &barrier);
                named(format!("bench-{id}"))
                    .spawn_scoped(scope, move || {
                        let outcome = run_thread(id, seed, shared, barrier, observer, body);
                        flamegraph::thread_ends();
                        outcome
                    })
                    .expect("the system has threads to give")
            })
            .collect();
        let joined: Vec<_> = running.into_iter().map(|thread| thread.join()).collect();
        ended.store(true, Ordering::Relaxed);
        rows.thread().unpark();
        clock.thread().unpark();
        let outcome =
            |joined: std::thread::Result<_>| joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        outcomes.extend(joined.into_iter().map(outcome));
    });
    shared.progress.finish_and_clear();
    let last = outcomes.iter().flatten().map(|outcome| outcome.finish).max();
    let cut_short = shared.cut_short.into_inner();
    let overdue = |schedule: Option<&Schedule>| match (schedule, last) {
        (Some(schedule), Some(last)) if cut_short => schedule.overdue(last),
        _ => 0,
    };
    let of_sine = shared
        .sine_writes
        .as_ref()
        .and_then(|rate| rate.schedule(Instant::now()));
    let (overdue_writes, overdue_reads) = (
        overdue(shared.writes.as_ref().or(of_sine.as_deref())),
        overdue(shared.reads.as_ref()),
    );
    let mut summary = add_up(outcomes)?;
    summary.histogram = flags.histogram;
    summary.overdue_writes = overdue_writes;
    summary.overdue_reads = overdue_reads;
    summary.intervals = shared.intervals.map(Intervals::into_rows).unwrap_or_default();
    Ok(summary)
}

/// A thread with a name, by which profilers and debuggers identify threads.
fn named(name: String) -> std::thread::Builder {
    std::thread::Builder::new().name(name)
}

/// The work of one thread, and its start and end.
struct Outcome {
    start: Instant,
    finish: Instant,
    excluded: bool,
    done: u64,
    bytes: u64,
    message: String,
    latencies: Latencies,
    io: esker::IoStats,
    cpu: resources::Cpu,
}

fn run_thread(
    id: usize,
    seed: u64,
    shared: &Shared,
    barrier: &Barrier,
    observer: &dyn Observer,
    body: Body<'_>,
) -> Result<Outcome> {
    barrier.wait();
    let mut thread = Thread::new(id, seed, shared, observer);
    let outcome = body(&mut thread);
    let finish = Instant::now();
    shared.finished.fetch_add(1, Ordering::SeqCst);
    if outcome.is_err() {
        shared.failed.store(true, Ordering::Relaxed);
    }
    if thread.excluded {
        // The thread that failed ends the others.
        shared.cut_short.store(true, Ordering::Relaxed);
    }
    let latencies = thread.close();
    outcome.map(|()| Outcome {
        start: thread.start,
        finish,
        excluded: thread.excluded,
        done: thread.done,
        bytes: thread.bytes,
        message: thread.message,
        latencies,
        // The thread was made for this run alone, so all its reads belong to the run.
        io: esker::io_stats::current(),
        cpu: resources::Cpu::of_thread(),
    })
}

fn add_up(outcomes: Vec<Result<Outcome>>) -> Result<Summary> {
    let mut summary = Summary::default();
    let mut span: Option<(Instant, Instant)> = None;
    for outcome in outcomes {
        let outcome = outcome?;
        if outcome.excluded {
            summary.background_done += outcome.done;
            for (op, latencies) in outcome.latencies {
                summary.background.entry(op).or_default().merge(&latencies);
            }
            continue;
        }
        summary.reads += outcome.io.reads;
        summary.bytes_read += outcome.io.bytes_read;
        summary.cpu = summary.cpu + outcome.cpu;
        summary.done += outcome.done;
        summary.bytes += outcome.bytes;
        summary.busy += outcome.finish - outcome.start;
        span = Some(match span {
            Some((start, finish)) => (start.min(outcome.start), finish.max(outcome.finish)),
            None => (outcome.start, outcome.finish),
        });
        if summary.message.is_empty() {
            summary.message = outcome.message;
        }
        for (op, latencies) in outcome.latencies {
            summary.latencies.entry(op).or_default().merge(&latencies);
        }
    }
    summary.elapsed = span.map_or(Duration::ZERO, |(start, finish)| finish - start);
    Ok(summary)
}

/// A progress bar on a terminal, and nothing elsewhere.
fn progress_bar(flags: &Flags, expected: u64) -> ProgressBar {
    if !flags.progress_reports || flags.stats_interval > 0 || flags.stats_interval_seconds > 0 {
        return ProgressBar::hidden();
    }
    let bar = if flags.duration > 0 {
        ProgressBar::new_spinner()
    } else {
        ProgressBar::new(expected)
    };
    let template = if flags.duration > 0 {
        "{spinner} {human_pos} ops {per_sec} {elapsed}"
    } else {
        "{bar:40} {human_pos} of {human_len} ops, {per_sec}, {eta} left"
    };
    bar.with_style(ProgressStyle::with_template(template).expect("a fixed template is right"))
}

/// Ends an interval every `--report_interval_seconds`, or every second, until the run has ended; the last
/// interval ends then, however short it is.
fn end_intervals(
    flags: &Flags,
    shared: &Shared,
    observer: &dyn Observer,
    barrier: &Barrier,
    ended: &AtomicBool,
) {
    barrier.wait();
    let Some(intervals) = &shared.intervals else {
        return;
    };
    let asked = [flags.report_interval_seconds, flags.stats_interval_seconds];
    let seconds = asked.into_iter().find(|seconds| *seconds > 0).unwrap_or(1);
    let length = Duration::from_secs(seconds as u64);
    let start = Instant::now();
    let mut next = start + length;
    while !ended.load(Ordering::Relaxed) {
        let now = Instant::now();
        if now >= next {
            intervals.end(now - start, observer.sample());
            next += length;
        }
        std::thread::park_timeout(next.saturating_duration_since(Instant::now()));
    }
    intervals.end(start.elapsed(), observer.sample());
}

/// Writes a row of `--report_file` every `--report_interval_seconds` until the run has ended.
fn report_rows(flags: &Flags, shared: &Shared, ended: &AtomicBool) {
    let Some(total) = &shared.total else { return };
    let interval = Duration::from_secs(flags.report_interval_seconds as u64);
    let mut file = match std::fs::File::create(&flags.report_file) {
        Ok(file) => file,
        Err(error) => return eprintln!("{}: {error}", flags.report_file),
    };
    let start = Instant::now();
    let (mut before, mut seconds) = (0, 0);
    let mut written = writeln!(file, "secs_elapsed,interval_qps");
    while written.is_ok() && !ended.load(Ordering::Relaxed) {
        let next = start + interval * (seconds + 1);
        std::thread::park_timeout(next.saturating_duration_since(Instant::now()));
        if Instant::now() < next {
            continue;
        }
        seconds += 1;
        let now = total.load(Ordering::Relaxed);
        let rate = (now - before) / interval.as_secs();
        before = now;
        written = writeln!(file, "{},{rate}", u64::from(seconds) * interval.as_secs());
    }
    if let Err(error) = written {
        eprintln!("{}: {error}", flags.report_file);
    }
}

#[cfg(test)]
mod tests {
    use base::Error;

    use super::*;

    fn quiet() -> Flags {
        Flags {
            progress_reports: false,
            seed: 1,
            ..Flags::default()
        }
    }

    #[test]
    fn threads_are_added_up() {
        let flags = Flags {
            histogram: true,
            ..quiet()
        };
        let seeds = Seeds::new(flags.seed);
        let summary = run(&flags, 3, 0, &seeds, &(), &|thread| {
            thread.excluded = thread.id == 2;
            let mut pace = thread.pace(0, 100);
            while !pace.done(1) {
                thread.finished(1, Op::Read);
                thread.add_bytes(10);
            }
            thread.message = format!("(thread {})", thread.id);
            Ok(())
        })
        .unwrap();
        assert_eq!(
            (summary.done, summary.bytes, summary.message.as_str()),
            (200, 2_000, "(thread 0)")
        );
        assert!(summary.busy > Duration::ZERO && summary.elapsed > Duration::ZERO);
        assert!(summary.latencies[&Op::Read].text().starts_with("Count: 200 "));
    }

    #[test]
    fn an_error_ends_all_threads() {
        let flags = Flags {
            ops_between_duration_checks: 1,
            duration: 3_600,
            ..quiet()
        };
        let outcome = run(&flags, 2, 0, &Seeds::new(1), &(), &|thread| {
            if thread.id == 1 {
                return Err(Error::corruption("planted"));
            }
            let mut pace = thread.pace(flags.duration, 0);
            while !pace.done(1) {}
            Ok(())
        });
        assert!(outcome.unwrap_err().is_corruption());
    }

    #[test]
    fn a_stall_delays_what_was_due_in_it() {
        let flags = Flags {
            histogram: true,
            benchmark_read_rate_limit: 1_000,
            ..quiet()
        };
        let stall = Duration::from_millis(200);
        let summary = run(&flags, 1, 0, &Seeds::new(1), &(), &|thread| {
            for operation in 0..300 {
                thread.wait_to_read(1);
                if operation == 20 {
                    schedule::wait_until(Instant::now() + stall);
                }
                thread.finished(1, Op::Read);
            }
            Ok(())
        })
        .unwrap();
        let latencies = &summary.latencies[&Op::Read];
        assert_eq!(latencies.count(), 300);
        // The slow operation counts, and one for each millisecond of its delay up to the hundredth, however
        // slow the machine is.
        assert!(latencies.count_above(Duration::from_millis(100)) >= 100);
        assert!(latencies.percentile(70.0) >= 90_000.0);
        assert!(summary.elapsed >= Duration::from_millis(299), "the rate is kept");
    }

    #[test]
    fn what_time_did_not_suffice_for_is_told() {
        let flags = Flags {
            benchmark_read_rate_limit: 1_000,
            ops_between_duration_checks: 1,
            ..quiet()
        };
        for (seconds, expected) in [(1, true), (0, false)] {
            let summary = run(&flags, 1, 0, &Seeds::new(1), &(), &|thread| {
                let mut pace = thread.pace(seconds, 3);
                while !pace.done(1) {
                    thread.wait_to_read(1);
                    schedule::wait_until(Instant::now() + Duration::from_millis(300));
                    thread.finished(1, Op::Read);
                }
                Ok(())
            })
            .unwrap();
            // A thousand operations were due each second, of which hardly one in three hundred was done.
            assert_eq!(summary.overdue_reads > 900, expected, "{}", summary.overdue_reads);
            assert_eq!(summary.overdue_text().contains(" reads were due"), expected);
        }
    }

    #[test]
    fn intervals_add_up_to_the_run() {
        let flags = Flags {
            json: "x".to_owned(),
            ..quiet()
        };
        #[derive(Default)]
        struct Still(AtomicU64);
        impl Observer for Still {
            fn sample(&self) -> Sample {
                self.0.fetch_add(1, Ordering::Relaxed);
                Sample {
                    stall_micros: 11,
                    ..Sample::default()
                }
            }
        }
        let still = Still::default();
        let summary = run(&flags, 3, 0, &Seeds::new(1), &still, &|thread| {
            thread.excluded = thread.id == 2;
            // Waits until an interval has ended.
            while still.0.load(Ordering::Relaxed) == 0 {
                thread.finished(5, if thread.excluded { Op::Write } else { Op::Read });
                std::thread::yield_now();
            }
            Ok(())
        })
        .unwrap();
        assert!(summary.intervals.len() >= 2);
        let sum =
            |of: &dyn Fn(&crate::intervals::Interval) -> u64| summary.intervals.iter().map(of).sum::<u64>();
        assert_eq!(sum(&|row| row.operations), summary.done);
        assert_eq!(sum(&|row| row.background_operations), summary.background_done);
        let count = |latencies: &std::collections::BTreeMap<Op, crate::histogram::Percentiles>, op| {
            latencies.get(&op).map_or(0, |latencies| latencies.count)
        };
        assert_eq!(sum(&|row| count(&row.latencies, Op::Read)) * 5, summary.done);
        assert_eq!(
            sum(&|row| count(&row.background, Op::Write)) * 5,
            summary.background_done
        );
        assert_eq!(summary.latencies[&Op::Read].count() * 5, summary.done);
        assert_eq!(
            summary.background[&Op::Write].count() * 5,
            summary.background_done
        );
        assert!(summary.intervals.iter().all(|row| row.sample.stall_micros == 11));
        assert!(summary.intervals.is_sorted_by_key(|row| row.end));
        assert!(
            !summary.text("x").contains("Microseconds per"),
            "nobody asked for --histogram"
        );
    }

    #[test]
    fn rows_are_written_to_the_report_file() {
        let dir = tempfile::tempdir().unwrap();
        let report_file = dir.path().join("report.csv").to_string_lossy().into_owned();
        let flags = Flags {
            report_interval_seconds: 1,
            report_file: report_file.clone(),
            ..quiet()
        };
        let text = || std::fs::read_to_string(&report_file).unwrap_or_default();
        run(&flags, 1, 0, &Seeds::new(1), &(), &|thread| {
            // Waits until the report file has a heading and a row.
            while text().lines().count() < 2 {
                thread.finished(1, Op::Other);
                std::thread::yield_now();
            }
            Ok(())
        })
        .unwrap();
        let text = text();
        assert!(text.starts_with("secs_elapsed,interval_qps\n1,"), "{text}");
    }

    #[test]
    fn a_pace_counts_in_steps() {
        let count = AtomicU64::new(0);
        run(&quiet(), 1, 0, &Seeds::new(1), &(), &|thread| {
            let mut pace = thread.pace(0, 25);
            while !pace.done(10) {
                count.fetch_add(10, Ordering::Relaxed);
            }
            Ok(())
        })
        .unwrap();
        assert_eq!(count.load(Ordering::Relaxed), 20);
    }
}

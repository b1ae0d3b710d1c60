//! Runs a workload on its threads: start together, count, time, add up.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use base::Result;
use base::env::Rng;
use indicatif::{ProgressBar, ProgressStyle};

use crate::flags::Flags;
use crate::flamegraph;
use crate::histogram::Histogram;
use crate::limiter::RateLimiter;
use crate::report::{Op, Summary};
use crate::seeds::Seeds;

/// What the threads of a run share.
pub struct Shared {
    /// Threads of the run.
    pub threads: usize,
    /// Threads that are done.
    pub finished: AtomicUsize,
    /// Limits of `--benchmark_write_rate_limit`, in bytes.
    pub write_limiter: Option<RateLimiter>,
    /// Limits of `--benchmark_read_rate_limit`, in reads.
    pub read_limiter: Option<RateLimiter>,
    failed: AtomicBool,
    progress: ProgressBar,
    /// Operations of all threads, for `--report_interval_seconds`.
    total: Option<AtomicU64>,
    settings: Settings,
}

/// Flags that the counting of each operation looks at.
#[derive(Clone, Debug)]
struct Settings {
    histogram: bool,
    stats_interval: u64,
    stats_interval_time: Duration,
    duration_checks: u64,
}

/// A thread of a run.
pub struct Thread<'a> {
    /// From 0.
    pub id: usize,
    /// Its own numbers.
    pub rng: Rng,
    /// What it shares with the others.
    pub shared: &'a Shared,
    /// What the workload adds to its line.
    pub message: String,
    /// Called at each line of `--stats_interval`, on thread 0.
    pub on_interval: Option<&'a (dyn Fn() + Sync)>,
    /// Leaves its operations out of the sum: a writer in the background of readers.
    pub excluded: bool,
    bytes: u64,
    done: u64,
    next_report: u64,
    start: Instant,
    last_op: Instant,
    last_line: (Instant, u64),
    latencies: BTreeMap<Op, Histogram>,
}

impl<'a> Thread<'a> {
    fn new(id: usize, seed: u64, shared: &'a Shared) -> Thread<'a> {
        let now = Instant::now();
        Thread {
            id,
            rng: Rng::with_seed(seed),
            shared,
            message: String::new(),
            on_interval: None,
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
            latencies: BTreeMap::new(),
        }
    }

    /// Forgets what was done and begins anew: what came before was to set things up.
    pub fn restart(&mut self) {
        *self = Thread {
            rng: self.rng.clone(),
            on_interval: self.on_interval,
            excluded: self.excluded,
            ..Thread::new(self.id, 0, self.shared)
        };
    }

    /// What this thread did so far.
    pub fn summary(&self) -> Summary {
        let elapsed = self.start.elapsed();
        Summary {
            done: self.done,
            bytes: self.bytes,
            elapsed,
            busy: elapsed,
            message: self.message.clone(),
            latencies: self.latencies.clone(),
        }
    }

    /// Counts bytes of keys and values.
    #[inline]
    pub fn add_bytes(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    /// Counts `count` operations that took, together, the time since the last call.
    #[inline]
    pub fn finished(&mut self, count: u64, op: Op) {
        self.done += count;
        if self.shared.settings.histogram {
            self.record(op);
        }
        if self.done >= self.next_report {
            self.report_progress();
        }
        if let Some(total) = &self.shared.total {
            total.fetch_add(count, Ordering::Relaxed);
        }
    }

    /// Leaves the time since the last operation out of account: a wait for a rate limit.
    pub fn restart_op(&mut self) {
        if self.shared.settings.histogram {
            self.last_op = Instant::now();
        }
    }

    fn record(&mut self, op: Op) {
        let now = Instant::now();
        self.latencies.entry(op).or_default().record(now - self.last_op);
        self.last_op = now;
    }

    #[cold]
    fn report_progress(&mut self) {
        let settings = &self.shared.settings;
        if settings.stats_interval == 0 {
            // A hundredth of what is done, but no more than every 100 and no less than every 100,000 operations.
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
        if self.id == 0
            && let Some(on_interval) = self.on_interval
        {
            on_interval();
        }
        self.last_line = (now, self.done);
    }

    /// How long a loop of this thread goes on: `operations`, or `seconds` if that is more than 0.
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

/// Says when a loop ends.
pub struct Pace<'a> {
    shared: &'a Shared,
    limit: Option<Duration>,
    operations: u64,
    done: u64,
    start: Instant,
}

impl Pace<'_> {
    /// Counts `step` operations about to be done; true if they are not to be done any more.
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
        self.shared.failed.load(Ordering::Relaxed)
            || self.limit.is_some_and(|limit| self.start.elapsed() >= limit)
    }
}

/// What a run is to do on each thread.
pub type Body<'a> = &'a (dyn Fn(&mut Thread<'_>) -> Result<()> + Sync);

/// Runs `body` on `threads` threads at once and adds up what they did. `expected` is the number of operations of all
/// threads, for the progress bar. The first error ends the run.
pub fn run(
    flags: &Flags,
    threads: usize,
    expected: u64,
    seeds: &Seeds,
    on_interval: &(dyn Fn() + Sync),
    body: Body<'_>,
) -> Result<Summary> {
    let shared = Shared {
        threads,
        finished: AtomicUsize::new(0),
        write_limiter: RateLimiter::new(flags.benchmark_write_rate_limit),
        read_limiter: RateLimiter::new(flags.benchmark_read_rate_limit),
        failed: AtomicBool::new(false),
        progress: progress_bar(flags, expected),
        total: (flags.report_interval_seconds > 0).then(AtomicU64::default),
        settings: Settings {
            histogram: flags.histogram,
            stats_interval: match flags.stats_interval_seconds > 0 {
                // How often the clock is looked at.
                true => 1_000,
                false => flags.stats_interval.max(0) as u64,
            },
            stats_interval_time: Duration::from_secs(flags.stats_interval_seconds.max(0) as u64),
            duration_checks: flags.ops_between_duration_checks.max(1) as u64,
        },
    };
    let seeds: Vec<u64> = (0..threads).map(|_| seeds.next_seed()).collect();
    let barrier = Barrier::new(threads);
    let ended = AtomicBool::new(false);
    let mut outcomes = Vec::with_capacity(threads);
    std::thread::scope(|scope| {
        let rows = named("report".into())
            .spawn_scoped(scope, || report_rows(flags, &shared, &ended))
            .expect("the system has threads to give");
        let running: Vec<_> = seeds
            .iter()
            .enumerate()
            .map(|(id, &seed)| {
                let (shared, barrier) = (&shared, &barrier);
                named(format!("bench-{id}"))
                    .spawn_scoped(scope, move || {
                        let outcome = run_thread(id, seed, shared, barrier, on_interval, body);
                        flamegraph::thread_ends();
                        outcome
                    })
                    .expect("the system has threads to give")
            })
            .collect();
        for thread in running {
            outcomes.push(
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            );
        }
        ended.store(true, Ordering::Relaxed);
        rows.thread().unpark();
    });
    shared.progress.finish_and_clear();
    add_up(outcomes)
}

/// A thread of that name: profilers and debuggers tell threads apart by their names.
fn named(name: String) -> std::thread::Builder {
    std::thread::Builder::new().name(name)
}

/// What one thread did, and when.
struct Outcome {
    start: Instant,
    finish: Instant,
    excluded: bool,
    done: u64,
    bytes: u64,
    message: String,
    latencies: BTreeMap<Op, Histogram>,
}

fn run_thread(
    id: usize,
    seed: u64,
    shared: &Shared,
    barrier: &Barrier,
    on_interval: &(dyn Fn() + Sync),
    body: Body<'_>,
) -> Result<Outcome> {
    barrier.wait();
    let mut thread = Thread::new(id, seed, shared);
    thread.on_interval = Some(on_interval);
    let outcome = body(&mut thread);
    let finish = Instant::now();
    shared.finished.fetch_add(1, Ordering::SeqCst);
    if outcome.is_err() {
        shared.failed.store(true, Ordering::Relaxed);
    }
    outcome.map(|()| Outcome {
        start: thread.start,
        finish,
        excluded: thread.excluded,
        done: thread.done,
        bytes: thread.bytes,
        message: thread.message,
        latencies: thread.latencies,
    })
}

fn add_up(outcomes: Vec<Result<Outcome>>) -> Result<Summary> {
    let mut summary = Summary::default();
    let mut span: Option<(Instant, Instant)> = None;
    for outcome in outcomes {
        let outcome = outcome?;
        if outcome.excluded {
            continue;
        }
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

/// A bar on a terminal; nothing anywhere else.
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

/// Writes a row of `--report_file` each `--report_interval_seconds` until the run has ended.
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
        let summary = run(&flags, 3, 0, &seeds, &|| {}, &|thread| {
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
        let outcome = run(&flags, 2, 0, &Seeds::new(1), &|| {}, &|thread| {
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
    fn rows_are_written_to_the_report_file() {
        let dir = tempfile::tempdir().unwrap();
        let report_file = dir.path().join("report.csv").to_string_lossy().into_owned();
        let flags = Flags {
            report_interval_seconds: 1,
            report_file: report_file.clone(),
            ..quiet()
        };
        run(&flags, 1, 0, &Seeds::new(1), &|| {}, &|thread| {
            let start = Instant::now();
            while start.elapsed() < Duration::from_millis(1_100) {
                thread.finished(1, Op::Other);
                std::thread::yield_now();
            }
            Ok(())
        })
        .unwrap();
        let text = std::fs::read_to_string(report_file).unwrap();
        assert!(text.starts_with("secs_elapsed,interval_qps\n1,"), "{text}");
    }

    #[test]
    fn a_pace_counts_in_steps() {
        let count = AtomicU64::new(0);
        run(&quiet(), 1, 0, &Seeds::new(1), &|| {}, &|thread| {
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

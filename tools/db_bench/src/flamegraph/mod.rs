//! `--flamegraph FILE`: a picture of the functions in which a run spends its CPU time. Its widths are CPU
//! time.
//!
//! A timer that runs with the CPU time of the process interrupts whichever thread is using it and takes its
//! stack. The samples do not all represent the same time: the kernel looks at the timer at its own ticks, and
//! a thread that is interrupted while another's stack is taken leaves no sample, so the number of lost
//! samples depends on the work of the threads. Therefore samples are not simply counted. The kernel also
//! reports, to the nanosecond, how much CPU time each thread has used. Threads are grouped by their purpose,
//! and the samples of a group share that group's CPU time. The widths of a picture are those times, and add
//! up to the CPU time of the process.
//!
//! Time spent waiting, for a disk, a lock or a limit, uses no CPU and is not in the picture.

mod cpu;
mod draw;
mod stacks;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use base::{Error, Result};
use pprof::ProfilerGuard;

pub use cpu::thread_ends;

/// The requested number of samples for each second of CPU time. It divides no rate at which a workload does
/// something steadily; the kernel takes no more samples than it has ticks.
const FREQUENCY: i32 = 997;
/// The interval at which the CPU times of the threads are read. The time of a thread that ends is known up to
/// its last interval.
const READ_EVERY: Duration = Duration::from_millis(20);

/// The purposes of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Threads of the workloads.
    Foreground,
    /// Threads of the engine that write memtables to tables.
    Flush,
    /// Threads of the engine that merge tables.
    Compaction,
    /// Threads of the engine that delete files.
    Deletion,
    /// Threads of the harness: the main thread, reports, this profile.
    Harness,
    /// Threads that ended before they were seen: the CPU time of the process that no other thread used.
    Ended,
}

impl Group {
    /// The group of a thread, by its name.
    fn of(thread: &str) -> Group {
        match thread {
            _ if thread.starts_with("bench-") => Group::Foreground,
            _ if thread.starts_with("esker-flush") => Group::Flush,
            _ if thread.starts_with("esker-compact") => Group::Compaction,
            _ if thread.starts_with("esker-delete") => Group::Deletion,
            _ => Group::Harness,
        }
    }

    /// The name of the group in pictures and text.
    pub fn name(self) -> &'static str {
        match self {
            Group::Foreground => "foreground",
            Group::Flush => "flush",
            Group::Compaction => "compaction",
            Group::Deletion => "file deletion",
            Group::Harness => "harness",
            Group::Ended => "ended threads",
        }
    }
}

/// A run that is being sampled.
pub struct Flamegraph {
    path: PathBuf,
    guard: ProfilerGuard<'static>,
    ended: Arc<AtomicBool>,
    reader: JoinHandle<Result<cpu::Times>>,
}

impl Flamegraph {
    /// Starts sampling, for a picture in `path`.
    pub fn start(path: &Path) -> Result<Flamegraph> {
        // The file is created now, so that a wrong path fails at once and not after hours.
        std::fs::write(path, "").map_err(|error| Error::io("write", path, error))?;
        // The profiler comes first: it looks up the program's symbols, which is not part of the run.
        let guard = ProfilerGuard::new(FREQUENCY)
            .map_err(|error| Error::invalid_argument(format!("--flamegraph: {error}")))?;
        let mut times = cpu::Times::start()?;
        let ended = Arc::new(AtomicBool::new(false));
        let until = ended.clone();
        let reader = std::thread::Builder::new()
            .name("profile".into())
            .spawn(move || {
                while !until.load(Ordering::Acquire) {
                    std::thread::park_timeout(READ_EVERY);
                    times.read()?;
                }
                Ok(times)
            })
            .map_err(|error| Error::io("start thread", path, error))?;
        Ok(Flamegraph {
            path: path.to_path_buf(),
            guard,
            ended,
            reader,
        })
    }

    /// Ends the sampling, draws the picture and returns a summary.
    pub fn finish(self) -> Result<String> {
        self.ended.store(true, Ordering::Release);
        self.reader.thread().unpark();
        let mut times = self
            .reader
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        times.read()?;
        let report = self.guard.report().build();
        drop(self.guard);
        let report = report.map_err(|error| Error::invalid_argument(format!("--flamegraph: {error}")))?;
        let mut samples: BTreeMap<Group, Vec<(Vec<String>, u64)>> = BTreeMap::new();
        for (frames, count) in &report.data {
            samples
                .entry(Group::of(&frames.thread_name))
                .or_default()
                .push((stacks::frames(frames), u64::try_from(*count).unwrap_or(0)));
        }
        let profile = Profile::new(times.groups(), times.process(), samples);
        let text = profile.text(&self.path);
        std::fs::write(&self.path, draw::svg(&profile))
            .map_err(|error| Error::io("write", &self.path, error))?;
        Ok(text)
    }
}

/// The CPU time of a group, and the stacks in which it was spent.
#[derive(Debug)]
pub struct Share {
    group: Group,
    nanos: u64,
    samples: u64,
    /// Stacks, outermost frame first, and the CPU time of each.
    stacks: Vec<(Vec<String>, f64)>,
}

/// The contents of a picture.
#[derive(Debug)]
pub struct Profile {
    shares: Vec<Share>,
    /// CPU time of the process, by its own clock.
    process: Duration,
}

impl Profile {
    /// Divides the CPU time of each group among its samples, in nanoseconds.
    fn new(
        times: BTreeMap<Group, u64>,
        process: Duration,
        mut samples: BTreeMap<Group, Vec<(Vec<String>, u64)>>,
    ) -> Profile {
        let shares = times
            .into_iter()
            .filter(|(_, nanos)| *nanos > 0)
            .map(|(group, nanos)| {
                let samples = samples.remove(&group).unwrap_or_default();
                let count: u64 = samples.iter().map(|(_, count)| count).sum();
                let weight = nanos as f64 / count as f64;
                let stacks = if count == 0 {
                    vec![(vec!["(no sample)".to_owned()], nanos as f64)]
                } else {
                    samples
                        .into_iter()
                        .map(|(stack, count)| (stack, count as f64 * weight))
                        .collect()
                };
                Share {
                    group,
                    nanos,
                    samples: count,
                    stacks,
                }
            })
            .collect();
        Profile { shares, process }
    }

    /// CPU time of all groups, in nanoseconds.
    fn nanos(&self) -> u64 {
        self.shares.iter().map(|share| share.nanos).sum()
    }

    /// The lines next to the picture.
    fn lines(&self) -> Vec<String> {
        let seconds = |nanos: u64| nanos as f64 / 1e9;
        let samples: u64 = self.shares.iter().map(|share| share.samples).sum();
        let mut lines = vec![format!(
            "{samples} samples of {:.3} s of CPU time; the process used {:.2} s; time spent waiting is not in it",
            seconds(self.nanos()),
            self.process.as_secs_f64(),
        )];
        for share in &self.shares {
            let mut line = format!(
                "{:<14}{:>5.1}% {:>9.3} s",
                share.group.name(),
                share.nanos as f64 * 100.0 / self.nanos() as f64,
                seconds(share.nanos),
            );
            if share.samples > 0 {
                let weight = share.nanos as f64 / 1e6 / share.samples as f64;
                // Writing to a string does not fail.
                let _ = write!(line, " {:>8} samples of {weight:.3} ms each", share.samples);
            }
            lines.push(line);
        }
        lines
    }

    fn text(&self, path: &Path) -> String {
        format!("Flamegraph: {}: {}\n", path.display(), self.lines().join("\n  "))
    }
}

#[cfg(test)]
mod tests;

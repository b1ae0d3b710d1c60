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
mod profile;
mod stacks;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use base::{Error, Result};
use pprof::ProfilerGuard;

pub use cpu::thread_ends;
use profile::{Group, Profile};

/// The requested number of samples for each second of CPU time. The number is a prime, so that samples do not
/// coincide with regular work of a workload. The kernel takes no more samples than it has ticks.
const FREQUENCY: i32 = 997;
/// The interval at which the CPU times of the threads are read. The time of a thread that ends is known up to
/// its last interval.
const READ_EVERY: Duration = Duration::from_millis(20);

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
        // The file of the picture is created before the run, so that a wrong path fails at once and not after
        // hours.
        std::fs::write(path, "").map_err(|error| Error::io("write", path, error))?;
        // The profiler comes first: its start looks up the program's symbols, which must not be part of the
        // measured run.
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

#[cfg(test)]
mod tests;

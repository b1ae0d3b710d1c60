//! The CPU time of each group of threads, and of each function.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

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
    pub(super) fn of(thread: &str) -> Group {
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

/// The CPU time of a group, and the stacks in which it was spent.
#[derive(Debug)]
pub struct Share {
    pub(super) group: Group,
    pub(super) nanos: u64,
    pub(super) samples: u64,
    /// Stacks, outermost frame first, and the CPU time of each.
    pub(super) stacks: Vec<(Vec<String>, f64)>,
}

/// The contents of a picture.
#[derive(Debug)]
pub struct Profile {
    pub(super) shares: Vec<Share>,
    /// CPU time of the process, by its own clock.
    pub(super) process: Duration,
}

impl Profile {
    /// Divides the CPU time of each group among its samples, in nanoseconds.
    pub(super) fn new(
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
    pub(super) fn nanos(&self) -> u64 {
        self.shares.iter().map(|share| share.nanos).sum()
    }

    /// The lines of text that are shown beside the flame graph.
    pub(super) fn lines(&self) -> Vec<String> {
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

    pub(super) fn text(&self, path: &Path) -> String {
        format!("Flamegraph: {}: {}\n", path.display(), self.lines().join("\n  "))
    }
}

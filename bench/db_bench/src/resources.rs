//! The resources of the machine that a run used (processor time, memory, disk), and the state of the
//! database.

use std::ops::{Add, Sub};
use std::time::Duration;

use esker::Ticker;
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeVal;

use crate::handles::Handles;
use crate::intervals::Sample;

/// Processor time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cpu {
    /// The time in user code.
    pub user: Duration,
    /// The time in the kernel, on the program's behalf.
    pub system: Duration,
}

impl Cpu {
    /// The processor time of the calling thread since it began.
    pub fn of_thread() -> Cpu {
        Cpu::of(UsageWho::RUSAGE_THREAD)
    }

    /// The processor time of all threads since the program began.
    pub fn of_process() -> Cpu {
        Cpu::of(UsageWho::RUSAGE_SELF)
    }

    fn of(who: UsageWho) -> Cpu {
        getrusage(who).map_or(Cpu::default(), |usage| Cpu {
            user: duration(usage.user_time()),
            system: duration(usage.system_time()),
        })
    }

    /// The time in user code and in the kernel.
    pub fn total(&self) -> Duration {
        self.user + self.system
    }
}

impl Add for Cpu {
    type Output = Cpu;
    fn add(self, other: Cpu) -> Cpu {
        Cpu {
            user: self.user + other.user,
            system: self.system + other.system,
        }
    }
}

impl Sub for Cpu {
    type Output = Cpu;
    fn sub(self, earlier: Cpu) -> Cpu {
        Cpu {
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
        }
    }
}

fn duration(time: TimeVal) -> Duration {
    Duration::new(time.tv_sec().max(0) as u64, time.tv_usec().max(0) as u32 * 1_000)
}

/// The resources that the process has used so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Used {
    /// Processor time.
    pub cpu: Cpu,
    /// Bytes that reads of every kind asked of the kernel, from its cache or not.
    pub read: u64,
    /// Bytes fetched from storage for system calls that read and for mappings.
    pub storage_read: u64,
    /// Bytes sent to storage, or dirty in the page cache.
    pub storage_written: u64,
    /// Pages that had to be read from storage when the program touched them.
    pub major_faults: u64,
    /// The number of preemptions of threads.
    pub involuntary_switches: u64,
}

impl Used {
    /// The resources used until now.
    pub fn now() -> Used {
        let io = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
        let usage = getrusage(UsageWho::RUSAGE_SELF).ok();
        let count = |of: fn(&Usage) -> i64| usage.as_ref().map_or(0, |usage| of(usage).max(0) as u64);
        Used {
            cpu: Cpu::of_process(),
            read: field(&io, "rchar"),
            storage_read: field(&io, "read_bytes"),
            storage_written: field(&io, "write_bytes"),
            major_faults: count(|usage| usage.major_page_faults()),
            involuntary_switches: count(|usage| usage.involuntary_context_switches()),
        }
    }
}

impl Sub for Used {
    type Output = Used;
    fn sub(self, earlier: Used) -> Used {
        Used {
            cpu: self.cpu - earlier.cpu,
            read: self.read.saturating_sub(earlier.read),
            storage_read: self.storage_read.saturating_sub(earlier.storage_read),
            storage_written: self.storage_written.saturating_sub(earlier.storage_written),
            major_faults: self.major_faults.saturating_sub(earlier.major_faults),
            involuntary_switches: self
                .involuntary_switches
                .saturating_sub(earlier.involuntary_switches),
        }
    }
}

/// The number after `name:` in a file of `/proc`; 0 if it is missing.
fn field(text: &str, name: &str) -> u64 {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(found, _)| *found == name)
        .and_then(|(_, value)| value.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

/// Resident memory in bytes: now, and the most since [`forget_peak`] or the program's start.
pub fn memory() -> (u64, u64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    (field(&status, "VmRSS") << 10, field(&status, "VmHWM") << 10)
}

/// Resets the peak of resident memory. False if the kernel cannot: it is then still the program's peak.
pub fn forget_peak() -> bool {
    std::fs::write("/proc/self/clear_refs", "5").is_ok()
}

/// The state of the database and the process.
pub fn sample(handles: &Handles) -> Sample {
    let stats = handles.db.statistics();
    Sample {
        levels: levels(handles),
        stall_micros: stats.get(Ticker::StallMicros),
        job_bytes: stats.get(Ticker::FlushWriteBytes) + stats.get(Ticker::CompactWriteBytes),
        resident: memory().0,
        cpu_seconds: Cpu::of_process().total().as_secs_f64(),
    }
}

/// Files and bytes of each level over all families, down to the last that has any.
pub fn levels(handles: &Handles) -> Vec<(u64, u64)> {
    let mut levels: Vec<(u64, u64)> = Vec::new();
    for family in &handles.families {
        for level in handles.db.levels(family) {
            if levels.len() <= level.level {
                levels.resize(level.level + 1, (0, 0));
            }
            levels[level.level].0 += level.files as u64;
            levels[level.level].1 += level.size;
        }
    }
    while levels.last() == Some(&(0, 0)) {
        levels.pop();
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_proc() {
        let text = "Name:\tdb_bench\nVmHWM:\t   2048 kB\nVmRSS:\t    1024 kB\nrchar: 77\n";
        assert_eq!(
            (field(text, "VmRSS"), field(text, "VmHWM"), field(text, "rchar")),
            (1_024, 2_048, 77)
        );
        assert_eq!(field(text, "Vm"), 0);
        assert_eq!(field("rchar: many", "rchar"), 0);
    }

    #[test]
    fn use_is_counted() {
        let before = Used::now();
        let mut sum = 0u64;
        while (Used::now() - before).cpu.total() < Duration::from_millis(2) {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        let used = Used::now() - before;
        assert!(used.read > 0, "/proc was read");
        let (now, peak) = memory();
        assert!(now > 0 && peak >= now / 2);
    }
}

//! The CPU times of the threads of this process, as the kernel counts them.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base::{Error, Result};

use super::Group;

const TASKS: &str = "/proc/self/task";
/// Ticks a second in `/proc/self/stat`; the same on every Linux.
const TICKS: f64 = 100.0;

/// The error of a time by that clock in nanoseconds: a tick at either end.
const PROCESS_CLOCK_ERROR: u64 = 20_000_000;

/// True while the ends of threads are recorded. The sampling timer belongs to the process, and so does this
/// flag.
static IS_WATCHED: AtomicBool = AtomicBool::new(false);
/// Threads that have ended: number, name, CPU time.
static ENDED: Mutex<Vec<(u32, String, u64)>> = Mutex::new(Vec::new());

/// Records the CPU time of the calling thread, which is about to end. Costs a load if the ends of threads are
/// not recorded.
pub fn thread_ends() {
    if !IS_WATCHED.load(Ordering::Relaxed) {
        return;
    }
    let own = Path::new("/proc/thread-self");
    let id = std::fs::read_link(own)
        .ok()
        .and_then(|link| link.file_name()?.to_str()?.parse().ok());
    if let (Some(id), Some((name, nanos))) = (id, thread(own)) {
        ENDED
            .lock()
            .expect("no thread panics in here")
            .push((id, name, nanos));
    }
}

/// The name and CPU time of the thread with this directory; `None` if it has ended.
fn thread(dir: &Path) -> Option<(String, u64)> {
    let name = std::fs::read_to_string(dir.join("comm")).ok()?;
    let times = std::fs::read_to_string(dir.join("schedstat")).ok()?;
    let nanos = times.split_whitespace().next()?.parse().ok()?;
    Some((name.trim_end().to_owned(), nanos))
}

/// The CPU time that each thread has used since a moment.
#[derive(Debug)]
pub struct Times {
    /// The CPU time that threads had used before.
    before: HashMap<u32, u64>,
    /// The CPU time that threads had used when they were last read.
    threads: HashMap<u32, (String, u64)>,
    process_before: f64,
    process: f64,
}

impl Times {
    /// Starts counting now.
    pub fn start() -> Result<Times> {
        let mut times = Times {
            before: HashMap::new(),
            threads: HashMap::new(),
            process_before: 0.0,
            process: 0.0,
        };
        ENDED.lock().expect("no thread panics in here").clear();
        IS_WATCHED.store(true, Ordering::Relaxed);
        times.read()?;
        times.before = times
            .threads
            .iter()
            .map(|(id, (_, nanos))| (*id, *nanos))
            .collect();
        times.process_before = times.process;
        Ok(times)
    }

    /// Reads the times of all threads again.
    pub fn read(&mut self) -> Result<()> {
        let missing = |error| Error::io("read, for --flamegraph,", Path::new(TASKS), error);
        for entry in std::fs::read_dir(TASKS).map_err(missing)? {
            let path = entry.map_err(missing)?.path();
            let id = path
                .file_name()
                .and_then(|name| name.to_str())
                .and_then(|name| name.parse().ok());
            if let (Some(id), Some(seen)) = (id, thread(&path)) {
                self.threads.insert(id, seen);
            }
        }
        if self.threads.is_empty() {
            return Err(Error::invalid_argument(
                "--flamegraph needs the CPU times of threads, and /proc/self/task has no schedstat",
            ));
        }
        for (id, name, nanos) in ENDED.lock().expect("no thread panics in here").drain(..) {
            self.threads.insert(id, (name, nanos));
        }
        self.process = process_seconds()
            .ok_or_else(|| Error::invalid_argument("--flamegraph: /proc/self/stat is not as expected"))?;
        Ok(())
    }

    /// Nanoseconds of each group.
    pub fn groups(&self) -> BTreeMap<Group, u64> {
        let mut groups = BTreeMap::new();
        for (id, (name, nanos)) in &self.threads {
            let before = self.before.get(id).copied().unwrap_or(0);
            *groups.entry(Group::of(name)).or_default() += nanos.saturating_sub(before);
        }
        let known: u64 = groups.values().sum();
        let process = self.process().as_nanos() as u64;
        let unknown = process.saturating_sub(known);
        // CPU time that no known thread used is a group of its own only if it is more than the error of the
        // process's clock and more than a hundredth of the whole.
        let group = if unknown > (process / 100).max(PROCESS_CLOCK_ERROR) {
            Group::Ended
        } else {
            Group::Harness
        };
        *groups.entry(group).or_default() += unknown;
        groups
    }

    /// The CPU time of the process, threads that have ended included, in hundredths of a second.
    pub fn process(&self) -> Duration {
        Duration::from_secs_f64((self.process - self.process_before).max(0.0))
    }
}

impl Drop for Times {
    fn drop(&mut self) {
        IS_WATCHED.store(false, Ordering::Relaxed);
    }
}

/// Seconds of CPU time of this process, in user code and in the kernel.
fn process_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name, in parentheses, may contain anything.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    Some((ticks()? + ticks()?) as f64 / TICKS)
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    #[test]
    fn threads_that_ended_are_counted_in_their_group() {
        let mut times = Times::start().unwrap();
        let worker = std::thread::Builder::new().name("esker-compact".into());
        let spent = worker
            .spawn(|| {
                (0..20_000_000u64).for_each(|number| {
                    black_box(number);
                });
                let (_, nanos) = thread(Path::new("/proc/thread-self")).unwrap();
                thread_ends();
                nanos
            })
            .unwrap()
            .join()
            .unwrap();
        times.read().unwrap();
        let compaction = times.groups()[&Group::Compaction];
        assert!(
            compaction >= spent && spent > 0,
            "{compaction} counted, {spent} spent"
        );
    }
}

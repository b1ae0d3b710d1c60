//! The locks that an operation takes while many threads do it at once.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use base::simulation::{LockCounts, LockSite, Settings, Strategy, count_locks};
use base::sync::thread;
use esker::{NullLogger, Options};
use scale::workload::{Operation, Workload};
use vfs::MemFs;

use crate::run::SimulatedClock;

/// More points than any workload takes.
const MOST_POINTS: u64 = 100_000_000;

/// The schedule changes threads at one in this many points.
const ONE_IN: u32 = 3;

/// The work of the threads.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// The operation.
    pub operation: Operation,
    /// The number of threads.
    pub threads: u64,
    /// The number of operations of each thread.
    pub operations: u64,
    /// The seed of the schedule.
    pub seed: u64,
}

/// Runs the load in a world, and returns the counts of all locks that were taken meanwhile.
///
/// # Errors
/// The failure of the world or of an operation.
pub fn count(load: Load) -> Result<BTreeMap<LockSite, LockCounts>, String> {
    let counted: Arc<Mutex<Result<BTreeMap<LockSite, LockCounts>, String>>> =
        Arc::new(Mutex::new(Ok(BTreeMap::new())));
    let result = counted.clone();
    let settings = Settings {
        seed: load.seed,
        strategy: Strategy::Random { one_in: ONE_IN },
        most_points: MOST_POINTS,
        keep_choices: false,
    };
    let outcome = base::simulation::run(settings, move || {
        *result.lock().unwrap_or_else(PoisonError::into_inner) = run(load);
    });
    match outcome.failure {
        Some(failure) => Err(failure),
        None => counted.lock().unwrap_or_else(PoisonError::into_inner).clone(),
    }
}

fn run(load: Load) -> Result<BTreeMap<LockSite, LockCounts>, String> {
    let clock = Arc::new(SimulatedClock);
    let options = Options {
        fs: Arc::new(MemFs::with_clock(clock.clone())),
        clock,
        info_log: Some(Arc::new(NullLogger)),
        stats_dump_period_sec: 0,
        ..Options::default()
    };
    let workload = Workload::open(load.operation, options, Path::new("/db"))?;
    // Files of another process are not simulated, and the load's own opening is not counted.
    count_locks();
    let failures: Vec<String> = thread::scope(|scope| {
        let works: Vec<_> = (0..load.threads)
            .map(|number| {
                let workload = &workload;
                let work = move || {
                    (0..load.operations).try_for_each(|operation| workload.perform(number, operation))
                };
                thread::Builder::new()
                    .name(format!("t{number}"))
                    .spawn_scoped(scope, work)
                    .expect("the system starts a thread")
            })
            .collect();
        let ends = works.into_iter().map(|work| work.join());
        ends.filter_map(|end| match end {
            Ok(result) => result.err(),
            Err(_) => Some("a thread panicked".to_owned()),
        })
        .collect()
    });
    let counts = count_locks();
    match failures.into_iter().next() {
        Some(failure) => Err(failure),
        None => Ok(counts),
    }
}

/// The table of the counts, in Markdown. The memory of a file system is none of the engine's locks.
pub fn table(load: Load, counts: &BTreeMap<LockSite, LockCounts>) -> String {
    let mut text = format!(
        "## {}, {} threads\n\n| lock | taken by | taken | waited | held, points | longest |\n|---|---|---|---|---|---|\n",
        load.operation.name(),
        load.threads
    );
    let all = (load.threads * load.operations) as f64;
    for (site, counts) in counts {
        if site.file.contains("/vfs/") || site.file.starts_with("crates/vfs/") || counts.taken == 0 {
            continue;
        }
        let _ = writeln!(
            text,
            "| `{}`{} | {site} | {:.2} | {:.2} | {:.1} | {} |",
            short(site.guarded),
            if site.is_shared { ", shared" } else { "" },
            counts.taken as f64 / all,
            counts.waited as f64 / all,
            counts.held as f64 / counts.taken as f64,
            counts.longest
        );
    }
    text
}

/// A type without the modules of its names.
fn short(guarded: &str) -> String {
    let mut out = String::new();
    let mut word = String::new();
    for letter in guarded.chars() {
        match letter {
            ':' => word.clear(),
            letter if letter.is_alphanumeric() || letter == '_' => word.push(letter),
            letter => {
                out += &word;
                word.clear();
                out.push(letter);
            }
        }
    }
    out + &word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_shown_without_modules() {
        assert_eq!(short("alloc::vec::Vec<a::b::Row, c::D>"), "Vec<Row, D>");
        assert_eq!(short("()"), "()");
    }
}

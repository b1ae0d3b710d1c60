//! A run: opens, lets the threads work, closes, verifies, and again.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use esker::{Db, ErrorKind, Event, EventListener};
use indicatif::{ProgressBar, ProgressStyle};
use parking_lot::Mutex;

use crate::done::Done;
use crate::expected_state::ExpectedState;
use crate::flags::Flags;
use crate::stress::{Failure, Open, Outcome, Stress};
use crate::worker::Worker;

/// The file of the expected state, as RocksDB's db_stress calls it.
const STATE: &str = "LATEST.state";

/// Runs what `flags` ask for and prints what was done.
pub fn drive(mut flags: Flags) -> Outcome {
    flags.check()?;
    if flags.seed == 0 {
        flags.seed = base::env::fresh_seed();
    }
    // Removed, with the database in it, when this function returns.
    let own = match flags.db.is_empty() {
        true => Some(
            tempfile::Builder::new()
                .prefix("db_stress-")
                .tempdir()
                .map_err(|error| Failure(format!("a directory for the database: {error}")))?,
        ),
        false => None,
    };
    let path = own
        .as_ref()
        .map_or_else(|| PathBuf::from(&flags.db), |dir| dir.path().join("db"));
    eprintln!("seed {}, database {}", flags.seed, path.display());
    let mut options = flags.options()?;
    let failed = Arc::new(BackgroundErrors::default());
    options.listeners.push(failed.clone());
    if flags.destroy_db_initially {
        Db::destroy(&options, &path)?;
    }
    let expected = expected_state(&flags)?;
    let stress = Stress::new(flags, options, path, expected);
    let outcome = phases(&stress);
    if let Some(error) = failed.0.lock().take() {
        return Err(Failure(format!("in the background: {error}")));
    }
    let done = outcome?;
    println!("{done}");
    println!("Verification successful");
    Ok(())
}

fn expected_state(flags: &Flags) -> Outcome<ExpectedState> {
    let families = flags.column_families as usize;
    if flags.expected_values_dir.is_empty() {
        if !flags.destroy_db_initially {
            let message = "without --destroy_db_initially the expected state must be somewhere: give --expected_values_dir";
            return Err(Failure(message.to_owned()));
        }
        return Ok(ExpectedState::in_memory(families, flags.max_key));
    }
    let dir = Path::new(&flags.expected_values_dir);
    std::fs::create_dir_all(dir)?;
    let path = dir.join(STATE);
    if flags.destroy_db_initially
        && let Err(error) = std::fs::remove_file(&path)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        return Err(error.into());
    }
    Ok(ExpectedState::open(&path, families, flags.max_key)?)
}

/// The last failure of a background job.
#[derive(Default)]
struct BackgroundErrors(Mutex<Option<String>>);

impl EventListener for BackgroundErrors {
    fn on_event(&self, event: &Event) {
        if let Event::BackgroundError { error, .. } = event
            && error.kind() != ErrorKind::ShutdownInProgress
        {
            *self.0.lock() = Some(event.to_string());
        }
    }
}

/// The run in as many parts as the database is to be opened.
fn phases(stress: &Stress) -> Outcome<Done> {
    let flags = &stress.flags;
    let start = Instant::now();
    let phases = u64::from(flags.reopen) + 1;
    let mut seeds = fastrand::Rng::with_seed(flags.seed);
    let progress = progress_bar(flags);
    let mut done = Done::default();
    for phase in 0..phases {
        let open = stress.open()?;
        let pending = stress.settle(&open)?;
        if pending > 0 {
            eprintln!("{pending} changes were under way when the last process ended");
        }
        verify(stress, &open)?;
        let operations = flags.ops_per_thread * (phase + 1) / phases - flags.ops_per_thread * phase / phases;
        done.add(&work(stress, &open, operations, &mut seeds, &progress)?);
        verify(stress, &open)?;
        // Every second time it is left to whoever opens it next to find out what was in memory.
        if phase % 2 == 0 {
            open.db.close()?;
        }
    }
    progress.finish_and_clear();
    let operations = flags.ops_per_thread * u64::from(flags.threads);
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{operations} operations in {seconds:.1} seconds, {:.0} ops/sec, verification included",
        operations as f64 / seconds
    );
    Ok(done)
}

fn verify(stress: &Stress, open: &Open) -> Outcome {
    if !stress.flags.verify {
        return Ok(());
    }
    stress.verify(open)?;
    stress.check_files(open)
}

/// Lets all threads work at once.
fn work(
    stress: &Stress,
    open: &Open,
    operations: u64,
    seeds: &mut fastrand::Rng,
    progress: &ProgressBar,
) -> Outcome<Done> {
    let seeds: Vec<u64> = (0..stress.flags.threads).map(|_| seeds.u64(..)).collect();
    let mut done = Done::default();
    thread::scope(|scope| {
        let run = |&seed: &u64| {
            scope.spawn(move || {
                let mut worker = Worker::new(stress, open, seed);
                if let Err(failure) = worker.run(operations, &|count| progress.inc(count)) {
                    stress.fail(failure);
                }
                worker.done
            })
        };
        let running: Vec<_> = seeds.iter().map(run).collect();
        for thread in running {
            match thread.join() {
                Ok(by_it) => done.add(&by_it),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    match stress.failure.get() {
        Some(failure) => Err(failure.clone()),
        None => Ok(done),
    }
}

/// A bar on a terminal; nothing anywhere else.
fn progress_bar(flags: &Flags) -> ProgressBar {
    if !flags.progress_reports {
        return ProgressBar::hidden();
    }
    let style =
        ProgressStyle::with_template("{bar:40} {human_pos} of {human_len} ops, {per_sec}, {eta} left");
    ProgressBar::new(flags.ops_per_thread * u64::from(flags.threads))
        .with_style(style.expect("a fixed template is right"))
}

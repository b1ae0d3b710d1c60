//! A run: opens the database, lets the threads work, closes, verifies, and repeats.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use esker::{Db, ErrorKind, Event, EventListener};
use indicatif::{ProgressBar, ProgressStyle};
use parking_lot::Mutex;

use crate::done::Done;
use crate::expected_state::ExpectedState;
use crate::failure::{Failure, Outcome};
use crate::faults::{Faults, is_injected};
use crate::flags::Flags;
use crate::kill_fs::KillFs;
use crate::rare::RareEvents;
use crate::recover::Recovered;
use crate::stress::{Open, Stress};
use crate::unsynced_fs::UnsyncedFs;
use crate::wal_dirs;
use crate::worker::Worker;

/// Runs the test that `flags` ask for and prints its counts.
pub fn drive(mut flags: Flags) -> Outcome {
    flags.check()?;
    if flags.seed == 0 {
        flags.seed = base::env::fresh_seed();
    }
    let path = match flags.db.as_str() {
        "" => ::flags::test_directory()
            .map_err(Failure::Mismatch)?
            .join("dbstress"),
        db => PathBuf::from(db),
    };
    eprintln!("seed {}, database {}", flags.seed, path.display());
    let mut options = flags.options()?;
    options.db_paths = flags.db_paths(&path);
    let mut below = options.fs.clone();
    options.fs = flags.encrypted(below.clone());
    let failed = Arc::new(BackgroundErrors::default());
    options.listeners.push(failed.clone());
    if flags.destroy_db_initially {
        let at_once = esker::Options {
            sst_file_manager: None,
            ..options.clone()
        };
        Db::destroy(&at_once, &path)?;
        wal_dirs::remove_all(&*options.fs, &path)?;
    }
    let expected = Arc::new(expected_state(&flags)?);
    if flags.sync_fault_injection {
        below = Arc::new(UnsyncedFs::new(below));
    }
    if flags.kill_random_test > 0 {
        let (one_in, exclude) = (flags.kill_random_test, &flags.kill_exclude_prefixes);
        below = Arc::new(KillFs::process(below, one_in, exclude, flags.seed));
    }
    options.fs = flags.encrypted(below);
    let counted = Counted::new(&flags)?;
    let stress = Stress::new(flags, options, path, expected);
    let start = Instant::now();
    let outcome = phases(&stress, &counted);
    if let Some(error) = failed.take() {
        return Err(Failure::Mismatch(format!("in the background: {error}")));
    }
    let done = outcome?;
    let operations = stress.flags.ops_per_thread * u64::from(stress.flags.threads);
    let working = counted.working.lock().as_secs_f64();
    println!(
        "{operations} operations in {working:.1} seconds, {:.0} ops/sec; {:.1} seconds with opens and verification",
        operations as f64 / working,
        start.elapsed().as_secs_f64()
    );
    println!("{done}");
    if let Some(workers) = &stress.workers {
        let [done, failed] = workers.ended();
        println!("{done} compactions by workers of a compaction service, {failed} that they failed");
    }
    if let Some(statistics) = &stress.options.statistics {
        println!("STATISTICS:\n{statistics}");
    }
    if let Some(faults) = &stress.faults {
        println!(
            "{} operations of the file system made to fail, {} calls of user code made to panic, the database opened again {} times",
            faults.injected(),
            faults.panics(),
            counted.reopened()
        );
    }
    println!("Verification successful");
    Ok(())
}

fn expected_state(flags: &Flags) -> Outcome<ExpectedState> {
    let families = flags.column_families as usize;
    if flags.expected_values_dir.is_empty() {
        if !flags.destroy_db_initially {
            let message = "without --destroy_db_initially the expected state must be somewhere: give --expected_values_dir";
            return Err(Failure::Mismatch(message.to_owned()));
        }
        let traced = flags.loses_acknowledged();
        return Ok(ExpectedState::in_memory(families, flags.max_key, traced));
    }
    let dir = Path::new(&flags.expected_values_dir);
    std::fs::create_dir_all(dir)?;
    if flags.destroy_db_initially {
        ExpectedState::remove(dir)?;
    }
    Ok(ExpectedState::open(
        dir,
        families,
        flags.max_key,
        flags.loses_acknowledged(),
    )?)
}

/// The last failure of a background job.
#[derive(Default)]
pub struct BackgroundErrors(Mutex<Option<(ErrorKind, String)>>);

impl BackgroundErrors {
    /// Takes the message of the failure, if there was one.
    pub fn take(&self) -> Option<String> {
        self.0.lock().take().map(|(_, text)| text)
    }

    /// Takes the message of the failure, if it reported corruption.
    pub fn take_corruption(&self) -> Option<String> {
        let last = self.0.lock().take()?;
        (last.0 == ErrorKind::Corruption).then_some(last.1)
    }
}

impl EventListener for BackgroundErrors {
    fn on_event(&self, event: &Event) {
        if let Event::BackgroundError { error, .. } = event
            && error.kind() != ErrorKind::ShutdownInProgress
            && !is_injected(&error.to_string())
        {
            *self.0.lock() = Some((error.kind(), event.to_string()));
        }
    }
}

/// Counts operations: for a terminal, and for a parent process that kills this one and needs the count.
pub struct Counted {
    progress: ProgressBar,
    all: AtomicU64,
    reopened: AtomicU64,
    /// The time of the operations alone: the verification of a large database takes many times as long.
    working: Mutex<Duration>,
    file: Option<File>,
}

/// The file in the expected state's directory that holds the number of operations, and the rare events.
pub const OPERATIONS: &str = "OPERATIONS";

impl Counted {
    fn new(flags: &Flags) -> Outcome<Counted> {
        let mut counted = Counted {
            progress: progress_bar(flags),
            ..Counted::quietly()
        };
        if !flags.expected_values_dir.is_empty() {
            let path = Path::new(&flags.expected_values_dir).join(OPERATIONS);
            counted.file = Some(File::create(path)?);
        }
        Ok(counted)
    }

    /// No file is written: the run keeps its counts in memory only.
    pub fn quietly() -> Counted {
        Counted {
            progress: ProgressBar::hidden(),
            all: AtomicU64::new(0),
            reopened: AtomicU64::new(0),
            working: Mutex::default(),
            file: None,
        }
    }

    fn add(&self, count: u64, rare: &RareEvents) {
        let all = self.all.fetch_add(count, Ordering::Relaxed) + count;
        self.progress.inc(count);
        if let Some(file) = &self.file {
            // An error is ignored: the reader can do without the count.
            let _ = file.write_all_at(&all.to_le_bytes(), 0);
            let _ = file.write_all_at(&rare.counts().to_bytes(), 8);
        }
    }

    /// The number of times the database was reopened after an injected failure.
    pub fn reopened(&self) -> u64 {
        self.reopened.load(Ordering::Relaxed)
    }

    /// The number of operations so far.
    pub fn all(&self) -> u64 {
        self.all.load(Ordering::Relaxed)
    }
}

/// A part of the run that failures have interrupted this often continues without failures.
const INTERRUPTIONS: usize = 20;

/// The number of rows, of all families together, that are read again after each failure.
const FEW: u64 = 10_000;

/// Does the run in parts, between which the database is reopened.
pub fn phases(stress: &Stress, counted: &Counted) -> Outcome<Done> {
    let flags = &stress.flags;
    let (phases, all) = match flags.verification_only {
        true => (1, 0),
        false => (u64::from(flags.reopen) + 1, flags.ops_per_thread),
    };
    let mut seeds = fastrand::Rng::with_seed(flags.seed);
    let mut done = Done::default();
    for phase in 0..phases {
        let operations = all * (phase + 1) / phases - all * phase / phases;
        let mut left = vec![operations; flags.threads as usize];
        let mut interruptions = 0;
        let open = loop {
            let open = stress.open(interruptions > 0)?;
            let outcome = begin(stress, &open, interruptions == 0).and_then(|()| {
                let faults = stress.faults.as_ref().filter(|_| interruptions < INTERRUPTIONS);
                let began = Instant::now();
                let worked = work(stress, &open, faults, &mut left, &mut seeds, counted);
                *counted.working.lock() += began.elapsed();
                worked
            });
            let interrupted = match outcome {
                Ok(by_all) => {
                    done.add(&by_all);
                    stress.take_interrupted()
                }
                Err(failure) if stress.is_injected(&failure) => true,
                Err(failure) => return Err(failure),
            };
            if !interrupted {
                break open;
            }
            interruptions += 1;
            counted.reopened.fetch_add(1, Ordering::Relaxed);
            close(stress, &open)?;
        };
        verify(stress, &open)?;
        // Every second part waits for compactions here, because a close during compactions is tested, too.
        if flags.verify && flags.seed.wrapping_add(phase).is_multiple_of(2) {
            stress.check_descriptors(&open)?;
        }
        // In every second part the database is closed; otherwise the next open recovers the data that is only
        // in memory and in the WAL.
        if phase % 2 == 0 {
            let upto = open.db.latest_sequence_number();
            let closed = close(stress, &open)?;
            // Data that was never synced stays until the next loss of power; rows that no WAL holds were
            // flushed.
            if closed && flags.disable_wal && !stress.options.avoid_flush_during_shutdown {
                stress.promised(None, upto)?;
            }
        }
    }
    counted.progress.finish_and_clear();
    Ok(done)
}

/// Recovers the expected state of a database that was just opened, and checks it.
fn begin(stress: &Stress, open: &Open, first: bool) -> Outcome {
    let recovered = stress.recover(open)?;
    if first && recovered != Recovered::default() && !stress.flags.quiet {
        let Recovered { pending, lost } = recovered;
        eprintln!("after the last process {pending} changes were under way, {lost} operations are gone");
    }
    if first || stress.expected.keys() * u64::from(stress.flags.column_families) <= FEW {
        verify(stress, open)?;
    }
    if first && stress.flags.checkpoint_one_in > 0 {
        stress.verify_checkpoint(open)?;
    }
    Ok(())
}

/// Closes the database. False if an earlier injected failure keeps it from closing without an error.
fn close(stress: &Stress, open: &Open) -> Outcome<bool> {
    match open.db.close().map_err(Failure::from) {
        Err(failure) if stress.is_injected(&failure) => return Ok(false),
        closed => closed?,
    }
    // Another process may have the directory by now.
    let read = open.db.get(b"key").map(drop);
    match read.err().map(|error| error.kind()) {
        Some(ErrorKind::ShutdownInProgress) => Ok(true),
        other => Err(Failure::Mismatch(format!(
            "a read of a closed database is answered by {other:?}"
        ))),
    }
}

fn verify(stress: &Stress, open: &Open) -> Outcome {
    if !stress.flags.verify {
        return Ok(());
    }
    stress.verify(open)?;
    stress.verify_secondary(open)?;
    stress.check_files(open)
}

/// Lets all threads work at once, each on the operations that are `left` for it.
fn work(
    stress: &Stress,
    open: &Open,
    faults: Option<&Faults>,
    left: &mut [u64],
    seeds: &mut fastrand::Rng,
    counted: &Counted,
) -> Outcome<Done> {
    let mut done = Done::default();
    if let Some(faults) = faults {
        faults.begin_work();
    }
    let working = &AtomicBool::new(true);
    thread::scope(|scope| {
        let mut running = Vec::new();
        for left in left {
            let seed = seeds.u64(..);
            running.push(scope.spawn(move || {
                let mut worker = Worker::new(stress, open, seed);
                match worker.run(*left, &|count| counted.add(count, &stress.rare)) {
                    Ok(done) => *left -= done,
                    Err(failure) => stress.fail(failure),
                }
                worker.done
            }));
        }
        let watches = open.secondary.is_some() && stress.flags.continuous_verification_interval > 0;
        let watcher = watches.then(|| {
            let mut worker = Worker::new(stress, open, seeds.u64(..));
            scope.spawn(move || {
                if let Err(failure) = worker.watch_secondary(working) {
                    stress.fail(failure);
                }
                worker.done
            })
        });
        let mut ended: Vec<_> = running.into_iter().map(|thread| thread.join()).collect();
        working.store(false, Ordering::Release);
        if let Some(watcher) = watcher {
            watcher.thread().unpark();
            ended.push(watcher.join());
        }
        for by_one in ended {
            match by_one {
                Ok(by_it) => done.add(&by_it),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    if let Some(faults) = faults {
        faults.end();
    }
    stress.failure().map_or(Ok(done), Err)
}

/// A progress bar on a terminal, and nothing elsewhere.
fn progress_bar(flags: &Flags) -> ProgressBar {
    if !flags.progress_reports {
        return ProgressBar::hidden();
    }
    let style =
        ProgressStyle::with_template("{bar:40} {human_pos} of {human_len} ops, {per_sec}, {eta} left");
    ProgressBar::new(flags.ops_per_thread * u64::from(flags.threads))
        .with_style(style.expect("a fixed template is right"))
}

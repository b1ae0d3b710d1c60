//! Runs db_stress with options drawn at random, kills it, runs it again over the files that it left, and so
//! on; or crashes databases in memory. The next run checks what survived.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;

use crate::draw::{self, On};
use crate::driver::OPERATIONS;
use crate::kill_fs::KILLED;
use crate::rare::RareCounts;
use crate::simulate;

flags::flags! {
    /// The flags of a crash test.
    pub struct Flags, others of RocksDB in "";
    /// Duration of the whole test in seconds.
    duration: u64 = 600;
    /// Maximum number of databases; 0: as many as there is time for.
    databases: u64 = 0;
    /// Databases are in memory and crash there, hundreds of times a second: their process dies, or their
    /// power is cut.
    simulate: bool = false;
    /// If false, each run of db_stress comes to its end.
    kill: bool = true;
    /// Maximum seconds that db_stress runs before it is killed.
    interval: u64 = 10;
    /// Maximum number of operations after which db_stress is killed, in place of a time, so that a slow
    /// machine does as much as a fast one; 0: --interval is the limit.
    kill_after_ops: u64 = 0;
    /// Runs over one database before the next database.
    runs_per_db: u32 = 10;
    /// Seed of all random choices for the first database; 0: a random seed, which is printed.
    seed: u64 = 0;
    /// Directory in which a directory for the databases is created; it is removed unless a failure is found.
    /// Empty: $TEST_TMPDIR or /tmp/rocksdbtest-UID.
    dir: String = String::new();
    /// Path of the db_stress to run. Empty: the one next to this program.
    stress_cmd: String = String::new();
}

/// A run that does not end by itself within this time hangs.
const HANGS_AFTER: Duration = Duration::from_secs(900);

/// The work of the test so far.
#[derive(Default)]
struct Tally {
    databases: u64,
    option_sets: u64,
    operations: u64,
    /// The number of kills from outside the process.
    kills: u64,
    /// Kills by the process itself, at a file operation.
    inside_kills: u64,
    /// Runs that ended before they were killed.
    ended: u64,
    rare: RareCounts,
}

/// Runs the test that `flags` ask for.
///
/// # Errors
///
/// The loss that was found, and how to reproduce it.
pub fn run(flags: Flags) -> Result<(), String> {
    let mut seed = match flags.seed {
        0 => base::env::fresh_seed(),
        seed => seed,
    };
    eprintln!("seed {seed}");
    let mut seeds = Rng::with_seed(seed);
    let mut builder = tempfile::Builder::new();
    builder.prefix("db_crashtest-");
    let place = match flags.dir.as_str() {
        "" => ::flags::test_directory()?,
        dir => PathBuf::from(dir),
    };
    let dir = std::fs::create_dir_all(&place).and_then(|()| builder.tempdir_in(&place));
    let dir = dir.map_err(|error| format!("a directory for the databases: {error}"))?;
    let program = program(&flags)?;
    let end = Instant::now() + Duration::from_secs(flags.duration);
    let mut tally = Tally::default();
    let mut simulated = simulate::Tally::default();
    let mut databases = 0;
    while Instant::now() < end && (flags.databases == 0 || databases < flags.databases) {
        let outcome = if flags.simulate {
            simulate::one_database(seed, dir.path(), flags.runs_per_db, end, &mut simulated)
        } else {
            one_database(&flags, &program, dir.path(), seed, end, &mut tally)
        };
        if let Err(message) = outcome {
            let simulate = if flags.simulate { " --simulate" } else { "" };
            let (interval, runs) = (flags.interval, flags.runs_per_db);
            let ops = match flags.kill_after_ops {
                0 => String::new(),
                ops => format!(" --kill_after_ops={ops}"),
            };
            return Err(format!(
                "{message}\nwhat it left is in {}; to look for it again:\ndb_crashtest{simulate} --seed={seed} --databases=1 --interval={interval}{ops} --runs_per_db={runs}",
                dir.keep().display()
            ));
        }
        databases += 1;
        seed = seeds.u64(1..);
    }
    if flags.simulate {
        simulated.record();
        println!("{simulated}: nothing was lost");
        return Ok(());
    }
    let mut counts = tally.rare.named().to_vec();
    counts.extend([
        ("databases", tally.databases),
        ("seeds", tally.databases),
        ("option_sets", tally.option_sets),
        ("operations", tally.operations),
        ("kills", tally.kills),
        ("inside_kills", tally.inside_kills),
    ]);
    let part = if flags.kill { "db_crashtest" } else { "db_stress" };
    testkit::record(part, &counts);
    println!(
        "{} databases, {} kills, {} of them from inside, {} runs to their end: nothing was lost",
        tally.databases,
        tally.kills + tally.inside_kills,
        tally.inside_kills,
        tally.ended
    );
    Ok(())
}

fn program(flags: &Flags) -> Result<PathBuf, String> {
    if !flags.stress_cmd.is_empty() {
        return Ok(PathBuf::from(&flags.stress_cmd));
    }
    let own = std::env::current_exe().map_err(|error| format!("the path of this program: {error}"))?;
    Ok(own.with_file_name("db_stress"))
}

fn one_database(
    flags: &Flags,
    program: &Path,
    dir: &Path,
    seed: u64,
    end: Instant,
    tally: &mut Tally,
) -> Result<(), String> {
    let rng = &mut Rng::with_seed(seed);
    tally.databases += 1;
    let dir = dir.join(tally.databases.to_string());
    std::fs::create_dir_all(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    let expected = dir.join("expected");
    let kept = draw::kept(rng, On::Disk);
    for run in 0..flags.runs_per_db.max(1) {
        if Instant::now() >= end {
            break;
        }
        let mut args = vec![
            format!("--db={}", dir.join("db").display()),
            format!("--expected_values_dir={}", expected.display()),
            "--destroy_db_initially=false".to_owned(),
        ];
        args.extend(kept.iter().cloned());
        args.extend(draw::drawn(rng, On::Disk));
        let time = Duration::from_millis(rng.u64(50..=flags.interval.max(1) * 1000));
        let counter = expected.join(OPERATIONS);
        let patience = if !flags.kill {
            args.push("--kill_random_test=0".to_owned());
            args.push(format!("--ops_per_thread={}", rng.u64(1000..20_000)));
            Patience::UntilItEnds
        } else if flags.kill_after_ops > 0 {
            // The count of the run before would end the wait at once.
            remove_if_exists(&counter)?;
            Patience::Operations(counter.clone(), rng.u64(1..=flags.kill_after_ops))
        } else {
            Patience::Time(time.min(end - Instant::now().min(end)))
        };
        tally.option_sets += 1;
        one_run(program, &args, &patience, tally).map_err(|message| {
            format!(
                "run {run} of a database failed: {message}\n{} {}",
                program.display(),
                args.join(" ")
            )
        })?;
        tally.operations += operations_in(&counter);
        tally.rare.add(rare_events_in(&counter));
    }
    std::fs::remove_dir_all(&dir).map_err(|error| format!("{}: {error}", dir.display()))
}

/// The end of the wait for a run of db_stress, which is then killed.
enum Patience {
    UntilItEnds,
    Time(Duration),
    /// The file in which db_stress counts its operations, and the count.
    Operations(PathBuf, u64),
}

impl Patience {
    /// True if the wait is over after `waited`.
    fn is_over(&self, waited: Duration) -> bool {
        let limit = match self {
            Patience::UntilItEnds => HANGS_AFTER,
            Patience::Time(time) => *time,
            Patience::Operations(counter, most) if operations_in(counter) >= *most => Duration::ZERO,
            Patience::Operations(..) => HANGS_AFTER,
        };
        waited >= limit
    }

    /// True if a run that did not end by itself in time is a success.
    fn allows_a_kill(&self) -> bool {
        match self {
            Patience::UntilItEnds => false,
            Patience::Time(_) => true,
            Patience::Operations(counter, most) => operations_in(counter) >= *most,
        }
    }
}

/// The number of operations in the file in which db_stress counts them.
fn operations_in(counter: &Path) -> u64 {
    let bytes = std::fs::read(counter).unwrap_or_default();
    { bytes.first_chunk() }.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// The rare events in that file.
fn rare_events_in(counter: &Path) -> RareCounts {
    let bytes = std::fs::read(counter).unwrap_or_default();
    RareCounts::from_bytes(bytes.get(8..).unwrap_or_default())
}

fn remove_if_exists(path: &Path) -> Result<(), String> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{}: {error}", path.display()))
        }
        _ => Ok(()),
    }
}

/// Runs db_stress until `patience` is over and kills it. An error if it ends by itself without reporting
/// success.
fn one_run(program: &Path, args: &[String], patience: &Patience, tally: &mut Tally) -> Result<(), String> {
    let child = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.map_err(|error| format!("cannot be started: {error}"))?;
    let ended = wait(&mut child, patience).map_err(|error| error.to_string())?;
    if !ended {
        child.kill().map_err(|error| error.to_string())?;
    }
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    if output.status.success() {
        tally.ended += 1;
        return Ok(());
    }
    // An exit status without a code means that a signal ended db_stress, from this process or from db_stress
    // itself.
    let by_signal = output.status.code().is_none();
    let said = String::from_utf8_lossy(&output.stderr);
    if by_signal && said.lines().any(|line| line.starts_with(KILLED)) {
        tally.inside_kills += 1;
        return Ok(());
    }
    if by_signal && !ended && patience.allows_a_kill() {
        tally.kills += 1;
        return Ok(());
    }
    Err(format!(
        "{}\n{}{said}",
        output.status,
        String::from_utf8_lossy(&output.stdout)
    ))
}

/// True if `child` has ended before `patience` was over.
fn wait(child: &mut Child, patience: &Patience) -> std::io::Result<bool> {
    const STEP: Duration = Duration::from_millis(5);
    let start = Instant::now();
    while !patience.is_over(start.elapsed()) {
        if child.try_wait()?.is_some() {
            return Ok(true);
        }
        thread::park_timeout(STEP);
    }
    Ok(false)
}

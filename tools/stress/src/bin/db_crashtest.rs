//! RocksDB's db_crashtest over Esker: runs db_stress with options drawn at random, kills it, runs it again over what it left, and
//! so on. db_stress finds out what survived. See docs/stress.md.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use esker::option_table::OptionTable;
use esker::{BlockBasedOptions, ColumnFamilyOptions, Options};
use fastrand::Rng;

flags::flags! {
    /// What a crash test is told.
    pub struct Flags, others of RocksDB in "";
    /// Seconds the whole test takes.
    duration: u64 = 600;
    /// Seconds db_stress runs before it is killed, at most.
    interval: u64 = 10;
    /// Runs over one database before another is begun.
    runs_per_db: u32 = 10;
    /// Seed of everything drawn; 0: one nobody chose, which is printed.
    seed: u64 = 0;
    /// Directory for the databases. Empty: a temporary one, removed unless something is found.
    dir: String = String::new();
    /// The db_stress to run. Empty: the one beside this program.
    stress_cmd: String = String::new();
}

/// Options a database keeps: another number of levels than it has files in is refused.
const KEPT: &[&str] = &["num_levels"];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let flags = match flags::parse::<Flags>(&args) {
        Ok(flags::Parsed::Run(flags)) => *flags,
        Ok(flags::Parsed::Help) => {
            print!("db_crashtest [flags]\n\nFlags:\n{}", flags::help::<Flags>());
            return ExitCode::SUCCESS;
        }
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::FAILURE;
        }
    };
    match run(flags) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// What the test has done.
#[derive(Default)]
struct Tally {
    databases: u64,
    kills: u64,
    /// Runs that came to their end before they were killed.
    ended: u64,
}

fn run(flags: Flags) -> Result<(), String> {
    let program = match flags.stress_cmd.is_empty() {
        true => std::env::current_exe()
            .map_err(|error| format!("the path of this program: {error}"))?
            .with_file_name("db_stress"),
        false => PathBuf::from(&flags.stress_cmd),
    };
    let seed = match flags.seed {
        0 => base::env::fresh_seed(),
        seed => seed,
    };
    eprintln!("seed {seed}");
    let mut rng = Rng::with_seed(seed);
    let mut builder = tempfile::Builder::new();
    builder.prefix("db_crashtest-");
    let dir = match flags.dir.is_empty() {
        true => builder.tempdir(),
        false => std::fs::create_dir_all(&flags.dir).and_then(|()| builder.tempdir_in(&flags.dir)),
    };
    let dir = dir.map_err(|error| format!("a directory for the databases: {error}"))?;
    let end = Instant::now() + Duration::from_secs(flags.duration);
    let mut tally = Tally::default();
    while Instant::now() < end {
        if let Err(message) = one_database(&flags, &program, dir.path(), &mut rng, end, &mut tally) {
            let kept = dir.keep();
            return Err(format!(
                "{message}\nseed {seed}; what it left is in {}",
                kept.display()
            ));
        }
    }
    println!(
        "{} databases, {} kills, {} runs to their end: nothing was lost",
        tally.databases, tally.kills, tally.ended
    );
    Ok(())
}

fn one_database(
    flags: &Flags,
    program: &Path,
    dir: &Path,
    rng: &mut Rng,
    end: Instant,
    tally: &mut Tally,
) -> Result<(), String> {
    tally.databases += 1;
    let dir = dir.join(tally.databases.to_string());
    std::fs::create_dir_all(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    let kept = kept(rng);
    for run in 0..flags.runs_per_db.max(1) {
        if Instant::now() >= end {
            break;
        }
        let mut args = vec![
            format!("--db={}", dir.join("db").display()),
            format!("--expected_values_dir={}", dir.join("expected").display()),
            "--destroy_db_initially=false".to_owned(),
            "--progress_reports=false".to_owned(),
            format!("--seed={}", rng.u64(1..)),
        ];
        args.extend(kept.iter().cloned());
        args.extend(drawn(rng));
        let patience = Duration::from_millis(rng.u64(50..=flags.interval.max(1) * 1000))
            .min(end - Instant::now().min(end));
        one_run(program, &args, patience, tally).map_err(|message| {
            format!(
                "run {run} of a database failed: {message}\n{} {}",
                program.display(),
                args.join(" ")
            )
        })?;
    }
    std::fs::remove_dir_all(&dir).map_err(|error| format!("{}: {error}", dir.display()))
}

/// Runs db_stress for `patience` and kills it. An error if it ends by itself and does not say that all is well.
fn one_run(program: &Path, args: &[String], patience: Duration, tally: &mut Tally) -> Result<(), String> {
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
    // A status without a code is that of a signal: ours.
    if !ended && output.status.code().is_none() {
        tally.kills += 1;
        return Ok(());
    }
    Err(format!(
        "{}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    ))
}

/// True if `child` has ended within `patience`.
fn wait(child: &mut Child, patience: Duration) -> std::io::Result<bool> {
    const STEP: Duration = Duration::from_millis(5);
    let end = Instant::now() + patience;
    while Instant::now() < end {
        if child.try_wait()?.is_some() {
            return Ok(true);
        }
        thread::park_timeout(STEP);
    }
    Ok(false)
}

fn one_of(rng: &mut Rng, name: &str, values: &[&str]) -> String {
    format!("--{name}={}", values[rng.usize(..values.len())])
}

/// What stays as it is through all runs over a database.
fn kept(rng: &mut Rng) -> Vec<String> {
    let mut args = vec![
        one_of(rng, "max_key", &["10", "100", "1000", "20000"]),
        one_of(rng, "column_families", &["1", "2", "5"]),
        one_of(rng, "nooverwritepercent", &["0", "1", "60"]),
        one_of(rng, "value_size_mult", &["8", "33", "300"]),
    ];
    for row in ColumnFamilyOptions::rows()
        .iter()
        .filter(|row| KEPT.contains(&row.name))
    {
        args.push(one_of(rng, row.name, row.domain));
    }
    args
}

/// What each run draws anew: about half of the options that have a domain, and what the threads do.
fn drawn(rng: &mut Rng) -> Vec<String> {
    let mut args = vec![
        one_of(rng, "threads", &["1", "4", "16"]),
        "--ops_per_thread=100000000".to_owned(),
        one_of(rng, "reopen", &["0", "0", "20"]),
        one_of(rng, "use_merge", &["0", "1"]),
        one_of(rng, "use_multiget", &["0", "1"]),
        one_of(rng, "sync", &["0", "0", "0", "1"]),
        one_of(rng, "prefix_size", &["0", "5", "7", "8"]),
        one_of(rng, "bloom_bits", &["-1", "0", "10", "18.5"]),
        one_of(rng, "cache_size", &["0", "100000", "8388608"]),
        one_of(
            rng,
            "compression_type",
            &["none", "snappy", "zlib", "lz4", "zstd"],
        ),
        one_of(rng, "range_deletion_width", &["1", "10", "100"]),
        one_of(rng, "acquire_snapshot_one_in", &["0", "100", "10000"]),
        one_of(rng, "snapshot_hold_ops", &["10", "10000"]),
        one_of(rng, "flush_one_in", &["0", "1000", "100000"]),
        one_of(rng, "compact_range_one_in", &["0", "1000", "100000"]),
        one_of(rng, "compact_files_one_in", &["0", "1000", "100000"]),
        one_of(rng, "clear_column_family_one_in", &["0", "1000", "100000"]),
        one_of(rng, "sync_wal_one_in", &["0", "100", "10000"]),
        one_of(rng, "batch_one_in", &["0", "2", "10"]),
        one_of(rng, "verify_checksum_one_in", &["0", "10000"]),
        one_of(rng, "verify_file_checksums_one_in", &["0", "10000"]),
    ];
    // Percentages: mostly writes, or mostly reads.
    args.extend(
        [
            &[
                "readpercent=10",
                "prefixpercent=5",
                "writepercent=60",
                "delpercent=10",
                "delrangepercent=5",
                "iterpercent=10",
            ],
            &[
                "readpercent=50",
                "prefixpercent=10",
                "writepercent=20",
                "delpercent=5",
                "delrangepercent=0",
                "iterpercent=15",
            ],
            &[
                "readpercent=10",
                "prefixpercent=10",
                "writepercent=40",
                "delpercent=10",
                "delrangepercent=20",
                "iterpercent=10",
            ],
        ][rng.usize(..3)]
        .iter()
        .map(|arg| format!("--{arg}")),
    );
    let rows = domains::<Options>()
        .chain(domains::<ColumnFamilyOptions>())
        .chain(domains::<BlockBasedOptions>());
    for (name, domain) in rows {
        let given = args.iter().any(|arg| arg.starts_with(&format!("--{name}=")));
        if !given && !KEPT.contains(&name) && rng.bool() {
            args.push(one_of(rng, name, domain));
        }
    }
    args
}

fn domains<S: OptionTable>() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    S::rows()
        .iter()
        .filter(|row| !row.domain.is_empty())
        .map(|row| (row.name, row.domain))
}

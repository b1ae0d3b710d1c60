//! Runs histories until one fails, and shrinks that one.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use base::env::Rng;
use scale::workload::Operation;
use simulate::locks::{self, Load};
use simulate::shrink::Limits;
use simulate::{History, Report, generate, run, shrink};

const HELP: &str = "\
simulate --locks OPERATION [--threads N] [--operations N] [--seed N]
simulate [--seconds N] [--histories N] [--seed N] [--first N] [--threads N] [--out DIR] [--script FILE] [--no_shrink] [--log]

Runs random histories of the whole engine, each under one seed, until one fails, the seconds (60) are over or so many
histories were run. One that fails is shrunk, printed, and written to DIR (simulate-failures).

  --seed N       the history of this seed alone, shrunk if it fails
  --first N      the seeds from N on, instead of fresh ones
  --threads N    how many histories run at a time; default: one a core (of --locks: 16 threads)
  --script FILE  the history in FILE alone, as it is
  --no_shrink    tells the seed of a history that fails, and no more
  --log          prints what happens, of one history

  --locks OPERATION  counts the locks that the threads (16) take in so many operations of each (100), in place of a history;
                     OPERATION is one of those of `scale --help`, or all
";

struct Flags {
    seconds: u64,
    histories: u64,
    seed: Option<u64>,
    first: Option<u64>,
    threads: usize,
    out: PathBuf,
    script: Option<PathBuf>,
    log: bool,
    no_shrink: bool,
    locks: Option<String>,
    operations: u64,
}

fn flags() -> Result<Flags, String> {
    let mut flags = Flags {
        seconds: 60,
        histories: u64::MAX,
        seed: None,
        first: None,
        threads: 0,
        out: "simulate-failures".into(),
        script: None,
        log: false,
        no_shrink: false,
        locks: None,
        operations: 100,
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let (name, value) = match arg.split_once('=') {
            Some((name, value)) => (name.to_owned(), value.to_owned()),
            None if arg == "--log" || arg == "--no_shrink" => (arg.clone(), String::new()),
            None => (arg.clone(), args.next().unwrap_or_default()),
        };
        let number = || value.parse::<u64>().map_err(|_| format!("{arg}: not a number"));
        match &name[..] {
            "--seconds" => flags.seconds = number()?,
            "--histories" => flags.histories = number()?,
            "--seed" => flags.seed = Some(number()?),
            "--first" => flags.first = Some(number()?),
            "--threads" => flags.threads = number()?.clamp(1, 256) as usize,
            "--locks" => flags.locks = Some(value),
            "--operations" => flags.operations = number()?,
            "--out" => flags.out = value.into(),
            "--script" => flags.script = Some(value.into()),
            "--log" => flags.log = true,
            "--no_shrink" => flags.no_shrink = true,
            _ => return Err(format!("not understood: {arg}\n\n{HELP}")),
        }
    }
    Ok(flags)
}

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("--help" | "-h") => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Some("--version") => {
            println!("simulate {}", env!("CARGO_PKG_VERSION"));
            return ExitCode::SUCCESS;
        }
        _ => {}
    }
    let result = flags().and_then(|flags| match (&flags.script, flags.seed) {
        _ if flags.locks.is_some() => locks(&flags),
        (Some(script), _) => {
            let text =
                std::fs::read_to_string(script).map_err(|error| format!("{}: {error}", script.display()))?;
            one(&text.parse()?, &flags, false)
        }
        (None, Some(seed)) => one(&generate(seed), &flags, true),
        (None, None) => many(&flags),
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// Prints the tables of locks.
fn locks(flags: &Flags) -> Result<(), String> {
    let name = flags.locks.as_deref().unwrap_or_default();
    for (own, operation) in Operation::ALL {
        if name != "all" && name != own {
            continue;
        }
        let load = Load {
            operation,
            threads: if flags.threads == 0 {
                16
            } else {
                flags.threads as u64
            },
            operations: flags.operations,
            seed: flags.seed.unwrap_or(1),
        };
        println!("{}", locks::table(load, &locks::count(load)?));
    }
    match name == "all" || Operation::named(name).is_some() {
        true => Ok(()),
        false => Err(format!("{name} is no operation")),
    }
}

fn one(history: &History, flags: &Flags, shrinks: bool) -> Result<(), String> {
    let report = run(history, flags.log);
    print!("{}", report.log);
    let mut total = Total::default();
    total.add(&report);
    total.tell();
    match &report.failure {
        None => Ok(()),
        Some(failure) if shrinks => Err(tell(history, failure, flags)),
        Some(failure) => Err(failure.clone()),
    }
}

/// Counts of everything that was run.
#[derive(Default)]
struct Total {
    histories: u64,
    operations: u64,
    points: u64,
    faults: BTreeMap<&'static str, u64>,
}

impl Total {
    fn add(&mut self, report: &Report) {
        self.histories += 1;
        self.operations += report.operations;
        self.points += report.points;
        for (kind, count) in &report.faults {
            *self.faults.entry(kind).or_default() += count;
        }
    }

    /// Prints the counts of the run in one line, whose fixed form soak runs add up.
    fn tell(&self) {
        let named: Vec<(&str, u64)> = self.faults.iter().map(|(&kind, &count)| (kind, count)).collect();
        // Each history draws its own options, so there are as many sets of options as histories.
        let mut counts = vec![
            ("operations", self.operations),
            ("seeds", self.histories),
            ("option_sets", self.histories),
            ("points", self.points),
        ];
        counts.extend(named);
        testkit::record::record("simulation", &counts);
    }
}

fn many(flags: &Flags) -> Result<(), String> {
    let start = Instant::now();
    let end = start + Duration::from_secs(flags.seconds);
    let total: Mutex<Total> = Mutex::default();
    let failed: Mutex<Option<(History, String)>> = Mutex::default();
    let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let fresh = base::env::fresh_seed();
    thread::scope(|scope| {
        let cores = || thread::available_parallelism().map_or(1, Into::into);
        for _ in 0..(if flags.threads == 0 {
            cores()
        } else {
            flags.threads
        }) {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) && Instant::now() < end {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= flags.histories {
                        break;
                    }
                    let drawn = || Rng::with_seed(fresh.wrapping_add(number)).u64(..);
                    let history =
                        generate(flags.first.map_or_else(drawn, |first| first.wrapping_add(number)));
                    let report = run(&history, false);
                    total.lock().unwrap_or_else(PoisonError::into_inner).add(&report);
                    if let Some(failure) = report.failure {
                        stop.store(true, Ordering::Relaxed);
                        failed
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .get_or_insert((history, failure));
                    }
                }
            });
        }
    });
    let total = total.into_inner().unwrap_or_else(PoisonError::into_inner);
    let minutes = start.elapsed().as_secs_f64() / 60.0;
    total.tell();
    eprintln!(
        "{} histories, {:.0} a minute",
        total.histories,
        total.histories as f64 / minutes
    );
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        None => Ok(()),
        Some((history, failure)) => Err(tell(&history, &failure, flags)),
    }
}

/// Shrinks a history that failed and writes it to a file. Returns the report.
fn tell(history: &History, failure: &str, flags: &Flags) -> String {
    let seed = history.seed;
    if flags.no_shrink {
        return format!("seed {seed}: {failure}");
    }
    println!("seed {seed} failed: {failure}\nshrinking it ...");
    let shrunk = shrink(history, Limits::default(), &mut |history| run(history, false));
    let Some(shrunk) = shrunk else {
        return format!(
            "seed {seed}: {failure}\nit does not fail again: some decision does not depend on the seed"
        );
    };
    let text = shrunk.history.to_string();
    let path = flags.out.join(format!("{seed}.txt"));
    let written = std::fs::create_dir_all(&flags.out).and_then(|()| std::fs::write(&path, &text));
    let written = match written {
        Ok(()) => format!("written to {}", path.display()),
        Err(error) => format!("not written to {}: {error}", path.display()),
    };
    format!(
        "seed {seed}: {failure}\nto reproduce it: cargo xtask simulate --seed {seed}\n\nshrunk in {} runs, {written}:\n\n{text}\n{}",
        shrunk.runs, shrunk.failure
    )
}

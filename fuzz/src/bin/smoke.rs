//! Runs every fuzz target on mutations of its seeds, without coverage, on machines without libFuzzer.
//!
//! `smoke SECONDS [TARGET]`: seconds for each target. `ESKER_SEED` replays a run; an input that breaks a
//! target is written to `fuzz/artifacts/`.
#![forbid(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use esker_fuzz::mutate::mutate;
use esker_fuzz::{TARGETS, Target, seeds};
use testkit::TestRng;

/// An input that takes longer than this has found an endless loop.
const MOST_TIME: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let seconds = args.first().and_then(|text| text.parse().ok()).unwrap_or(5);
    let chosen = args.get(1).map(String::as_str);
    let replayed = std::env::var_os(testkit::rng::SEED_VARIABLE).is_some();
    let seed = if replayed {
        testkit::rng::seed()
    } else {
        base::env::fresh_seed()
    };
    println!("{}={seed}", testkit::rng::SEED_VARIABLE);
    let all = seeds::all();
    let mut failed = false;
    for (name, run) in TARGETS
        .iter()
        .filter(|(name, _)| chosen.is_none_or(|chosen| chosen == *name))
    {
        match smoke((name, *run), &all[name], seed, Duration::from_secs(seconds)) {
            Ok(inputs) => println!("{name}: {inputs} inputs"),
            Err(message) => {
                println!("{name}: {message}");
                failed = true;
            }
        }
    }
    if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

fn smoke((name, run): Target, seeds: &[Vec<u8>], seed: u64, time: Duration) -> Result<u64, String> {
    let mut rng = TestRng::with_seed(seed);
    let start = Instant::now();
    let mut inputs = 0;
    while start.elapsed() < time {
        let input = mutate(rng.pick::<Vec<u8>>(seeds), rng.pick::<Vec<u8>>(seeds), &mut rng);
        let began = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| run(&input)));
        let slow = began.elapsed() > MOST_TIME;
        if outcome.is_err() || slow {
            let why = if slow { "took too long" } else { "panicked" };
            let path = keep(name, &input).map_err(|error| format!("{why}, and cannot be kept: {error}"))?;
            return Err(format!("{why} on {}", path.display()));
        }
        inputs += 1;
    }
    Ok(inputs)
}

fn keep(name: &str, input: &[u8]) -> std::io::Result<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("artifacts");
    std::fs::create_dir_all(&dir)?;
    let path = dir.join(format!("{name}-{:016x}", codec::hash::xxh3_64(input)));
    std::fs::write(&path, input)?;
    Ok(path)
}

//! `soak`: everything that looks for lost rows at random, on fresh seeds, for as long as it is given.

use std::time::{Duration, Instant};

use crate::shell::{self, Outcome};

/// Seconds of one turn of a part that takes a time; each finds something else the next time.
const TURN: u64 = 120;

/// Rounds of the crash tests of a turn, in terms of those of a plain test run.
const CRASH_ROUNDS: u32 = 10;

/// Turn after turn of all parts for `seconds`. The first failure ends it; each part prints the seed that brings it back.
pub fn run(seconds: u64) -> Outcome {
    let stress = ["build", "--release", "--package", "db_stress"];
    shell::run(shell::cargo().args(stress))?;
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut turns = 0;
    while turns == 0 || Instant::now() < end {
        let left = end.saturating_duration_since(Instant::now()).as_secs();
        let turn = TURN.min(left / 4).max(1);
        crashtest(turn)?;
        histories(turn)?;
        option_sets(turn)?;
        crashes()?;
        turns += 1;
        eprintln!(
            "{turns} turns of soaking, {} seconds left",
            left.saturating_sub(4 * turn)
        );
    }
    Ok(())
}

/// Processes killed, options drawn.
fn crashtest(seconds: u64) -> Outcome {
    let run = [
        "run",
        "--quiet",
        "--release",
        "--package",
        "db_stress",
        "--bin",
        "db_crashtest",
        "--",
    ];
    shell::run(
        shell::cargo()
            .args(run)
            .arg(format!("--duration={seconds}"))
            .arg("--interval=3"),
    )
}

/// Random histories against a model.
fn histories(seconds: u64) -> Outcome {
    shell::run(dbtest("model::").env("ESKER_MODEL_SECONDS", seconds.to_string()))
}

/// The same operations under drawn option sets.
fn option_sets(seconds: u64) -> Outcome {
    let mut command = dbtest("metamorphic::option_sets");
    shell::run(command.env("ESKER_METAMORPHIC_SECONDS", seconds.to_string()))
}

/// Power cut and processes killed at every operation, failing disks, full disks.
fn crashes() -> Outcome {
    shell::run(dbtest("crash").env("ESKER_CRASH_ROUNDS", CRASH_ROUNDS.to_string()))
}

/// The tests of `dbtest` of that name, on seeds of their own.
fn dbtest(name: &str) -> std::process::Command {
    let mut command = shell::cargo();
    command.args([
        "test",
        "--release",
        "--package",
        "esker-dbtest",
        "--test",
        "it",
        name,
    ]);
    command.args(["--", "--nocapture"]).env_remove("ESKER_SEED");
    command
}

//! One run of a test.

use std::process::Command;
use std::time::Duration;

/// Rounds of tests that take less than a CPU second.
pub const ROUNDS: u64 = 200;

/// The number of rounds of slow tests.
pub const ROUNDS_OF_SLOW: u64 = 20;

/// A test is slow from this CPU time on.
pub const SLOW: Duration = Duration::from_secs(1);

/// The outcome of a run.
pub struct Ran {
    pub cpu: Duration,
    /// The seed and the last words of a test that failed.
    pub failure: Option<String>,
}

impl Ran {
    pub fn of(command: &mut Command) -> Ran {
        let output = match command.output() {
            Ok(output) => output,
            Err(error) => {
                return Ran {
                    cpu: Duration::ZERO,
                    failure: Some(error.to_string()),
                };
            }
        };
        let errors = String::from_utf8_lossy(&output.stderr);
        let said = format!("{}\n{errors}", String::from_utf8_lossy(&output.stdout));
        Ran {
            cpu: errors.lines().rev().find_map(cpu_time).unwrap_or_default(),
            failure: (!output.status.success()).then(|| why(&output.status.to_string(), &said)),
        }
    }
}

/// The beginning of the line in which the shell reports the CPU time of a command.
pub const CPU: &str = "cpu time: ";

/// User and system time of `cpu time: 0.25 0.01`, in seconds.
pub fn cpu_time(line: &str) -> Option<Duration> {
    let (user, system) = line.strip_prefix(CPU)?.split_once(' ')?;
    let seconds = user.parse::<f64>().ok()? + system.parse::<f64>().ok()?;
    Some(Duration::from_secs_f64(seconds))
}

/// Returns the seed that a failed test has printed, and the place of its panic.
pub fn why(status: &str, said: &str) -> String {
    let seed = said.split_once("ESKER_SEED=").map(|(_, rest)| {
        &rest[..rest
            .find(|c: char| !c.is_ascii_alphanumeric())
            .unwrap_or(rest.len())]
    });
    let seed = seed.map_or(String::new(), |seed| format!("ESKER_SEED={seed}, "));
    let mut lines = said.lines().skip_while(|line| !line.contains(" panicked at "));
    let place = lines.next().and_then(|line| line.split_once(" panicked at "));
    let place = place.map_or(status, |(_, place)| place.trim_end_matches(':'));
    let message = lines.next().unwrap_or("");
    format!("{seed}{place}: {message}").replace('|', "/")
}

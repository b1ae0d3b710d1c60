//! Plants each bug in a checkout of its own, and runs the test that must find it.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::Catcher::{self, CrashTest, PowerLoss, Simulation, Stress, Tests};
use super::{Canary, canaries};
use crate::part::Part;
use crate::shell::{self, Outcome};

/// Returns the reason why a planted bug does not fit its file any more, if it does not.
pub fn stale(canary: &Canary, root: &Path) -> Option<String> {
    match std::fs::read_to_string(root.join(canary.file)) {
        Err(error) => Some(error.to_string()),
        Ok(text) => match text.matches(canary.right).count() {
            1 => None,
            count => Some(format!("what it replaces stands there {count} times, not once")),
        },
    }
}

/// Plants each bug of `part` whose name contains one of `words`, separated by commas, in a separate checkout
/// of HEAD. Fails if a bug is not found.
pub fn run(words: &str, part: Part) -> Outcome {
    let place = Place {
        checkout: shell::root().join("target/canary/checkout"),
        build: shell::root().join("target/canary/build"),
    };
    let remove = || {
        shell::succeeds(
            shell::command("git")
                .args(["worktree", "remove", "--force"])
                .arg(&place.checkout),
        );
    };
    remove();
    shell::output(
        shell::command("git")
            .args(["worktree", "add", "--detach"])
            .arg(&place.checkout)
            .arg("HEAD"),
    )?;
    let mut sound = Vec::new();
    let mut survivors = Vec::new();
    let mut caught = 0;
    let chosen: Vec<&Canary> = canaries()
        .filter(|canary| words.split(',').any(|words| canary.name.contains(words)))
        .collect();
    for canary in &chosen[part.of(chosen.len())] {
        match place.plant(canary, &mut sound) {
            Ok(Some((run, end))) => {
                caught += 1;
                let by = match end {
                    End::Hung => " by the watchdog",
                    End::Passed | End::Failed => "",
                };
                eprintln!("caught in run {run}{by}: {}", canary.name);
            }
            Ok(None) => survivors.push(canary.name.to_owned()),
            Err(error) => survivors.push(format!("{} ({error})", canary.name)),
        }
    }
    remove();
    if survivors.is_empty() {
        eprintln!("{caught} planted bugs, all caught");
        Ok(())
    } else {
        Err(format!("not caught: {}", survivors.join("; ")))
    }
}

impl Catcher {
    /// The number of runs within which the test must find a bug.
    fn runs(self) -> u32 {
        match self {
            Tests(_) | Simulation(_) => 1,
            Stress(runs, _) | CrashTest(runs) | PowerLoss(runs) => runs,
        }
    }
}

/// The outcome of a test run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Passed,
    Failed,
    /// The run was killed because it exceeded its time limit, which may be an effect of the bug.
    Hung,
}

/// Runs `command` without its output for at most `limit`, and then kills it with all processes that it has
/// started.
fn run_within(command: &mut Command, limit: Duration) -> End {
    // A process group of its own: cargo does not forward signals to tests.
    let child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn();
    let Ok(mut child) = child else {
        return End::Failed;
    };
    let end = Instant::now() + limit;
    loop {
        match child.try_wait() {
            Ok(None) if Instant::now() < end => std::thread::park_timeout(LOOK),
            Ok(None) => {
                let group = format!("-{}", child.id());
                shell::succeeds(shell::command("kill").args(["-KILL", "--", &group]));
                let _ = child.wait();
                return End::Hung;
            }
            Ok(Some(status)) if status.success() => return End::Passed,
            _ => return End::Failed,
        }
    }
}

/// The interval at which a run is checked.
const LOOK: Duration = Duration::from_millis(50);

/// The time limit of a run whose normal time is unknown.
const FIRST_RUN: Duration = Duration::from_secs(1800);

/// Returns the time limit of a run with a bug, if a run without one takes `taken`: more than the variation of
/// any machine.
fn limit(taken: Duration) -> Duration {
    taken * 10 + Duration::from_secs(60)
}

/// The checkout in which bugs are planted.
struct Place {
    checkout: PathBuf,
    build: PathBuf,
}

impl Place {
    fn cargo(&self, args: &[&str]) -> Command {
        let mut command = shell::cargo();
        command
            .current_dir(&self.checkout)
            .args(args)
            .env("CARGO_TARGET_DIR", &self.build);
        command
    }

    fn builds(&self, catcher: Catcher) -> bool {
        match catcher {
            Tests(args) => shell::succeeds(self.cargo(&["test", "--no-run"]).args(args)),
            Stress(..) | CrashTest(_) | PowerLoss(_) => {
                shell::succeeds(&mut self.cargo(&["build", "-p", "db_stress"]))
            }
            Simulation(_) => shell::succeeds(&mut self.simulated("build")),
        }
    }

    /// Returns a Cargo command for the program in which a seed decides about threads.
    fn simulated(&self, verb: &str) -> Command {
        let mut command = self.cargo(&[verb, "-p", "simulate"]);
        command
            .env("RUSTFLAGS", "--cfg simulate")
            .env("CARGO_TARGET_DIR", self.build.join("simulate"));
        command
    }

    /// Runs the test once, for at most `limit`.
    fn run(&self, catcher: Catcher, limit: Duration) -> End {
        let program = |name: &str| {
            let mut command = Command::new(self.build.join("debug").join(name));
            // Other runs on this machine have their databases in another directory.
            command.env("TEST_TMPDIR", self.build.join("databases"));
            command
        };
        match catcher {
            Tests(args) => run_within(self.cargo(&["test"]).args(args), limit),
            Stress(_, flags) => run_within(program("db_stress").args(flags), limit),
            Simulation(histories) => {
                let mut command = self.simulated("run");
                command.args(["--", "--seconds=600", "--threads=1", "--no_shrink"]);
                run_within(command.arg(format!("--histories={histories}")), limit)
            }
            CrashTest(_) | PowerLoss(_) => {
                let kept = self.build.join("crashed");
                let mut command = program("db_crashtest");
                command.args(["--duration=12", "--interval=1"]);
                if matches!(catcher, PowerLoss(_)) {
                    command.arg("--simulate");
                }
                let end = run_within(command.arg(format!("--dir={}", kept.display())), limit);
                // The files that a run keeps of a planted bug are useless; they may not exist.
                let _ = std::fs::remove_dir_all(kept);
                end
            }
        }
    }

    /// Returns the run in which the planted bug was found, if it was, and the end of that run. `sound` has
    /// the tests that have passed without a bug, and the duration of each.
    fn plant(
        &self,
        canary: &Canary,
        sound: &mut Vec<(Catcher, Duration)>,
    ) -> Result<Option<(u32, End)>, String> {
        if let Some(reason) = stale(canary, &self.checkout) {
            return Err(reason);
        }
        let catcher = canary.caught_by;
        let known = sound.iter().find(|(known, _)| *known == catcher);
        let taken = match known {
            Some((_, taken)) => *taken,
            None => {
                let built = self.builds(catcher);
                let start = Instant::now();
                match built.then(|| self.run(catcher, FIRST_RUN)) {
                    Some(End::Passed) => sound.push((catcher, start.elapsed())),
                    Some(End::Hung) => return Err("what should catch it hangs without it".into()),
                    _ => return Err("what should catch it fails without it".into()),
                }
                start.elapsed()
            }
        };
        let path = self.checkout.join(canary.file);
        let right = std::fs::read_to_string(&path).map_err(|error| error.to_string())?;
        let write = |text: &str| std::fs::write(&path, text).map_err(|error| error.to_string());
        write(&right.replace(canary.right, canary.wrong))?;
        // A bug that does not compile would count as found.
        let found = if self.builds(catcher) {
            let runs = (1..=catcher.runs()).map(|run| (run, self.run(catcher, limit(taken))));
            Ok({ runs }.find(|(_, end)| *end != End::Passed))
        } else {
            Err("it does not compile".into())
        };
        write(&right)?;
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hangs_is_killed_with_all_it_has_started() {
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        };
        let long = Duration::from_secs(600);
        assert_eq!(run_within(&mut shell("exit 0"), long), End::Passed);
        assert_eq!(run_within(&mut shell("exit 3"), long), End::Failed);
        let dir = std::env::temp_dir().join(format!("esker-canary-{}", std::process::id()));
        let script = format!("(sleep 1000; true) & echo $! > {0}; wait", dir.display());
        // The limit grows until the script has printed the process that it started.
        let mut limit = Duration::from_millis(100);
        let started = loop {
            assert_eq!(run_within(&mut shell(&script), limit), End::Hung);
            match std::fs::read_to_string(&dir) {
                Ok(id) if !id.trim().is_empty() => break id,
                _ => limit *= 2,
            }
        };
        std::fs::remove_file(&dir).unwrap();
        // A dead process may remain as a zombie until its parent waits for it.
        let stat = format!("/proc/{}/stat", started.trim());
        while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
            std::thread::yield_now();
        }
    }
}

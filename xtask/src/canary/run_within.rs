//! Runs of tests with a time limit.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::shell;

/// The outcome of a test run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The run succeeded, and ran so many tests.
    Passed(usize),
    /// The run failed. The text is the name of the failed test, if it is known, or why nothing was run.
    Failed(Option<String>),
    /// The run was killed because it exceeded its time limit, which may be an effect of the bug.
    Hung,
}

/// The interval at which a run is checked.
const LOOK: Duration = Duration::from_millis(50);

/// Runs `command` without its output for at most `limit`, and then kills it with all processes that it has
/// started. It is also killed as soon as its output reports a failed test: one failure is enough.
pub fn run_within(command: &mut Command, limit: Duration) -> End {
    // The run gets a process group of its own, because a signal to the test alone does not reach the
    // processes that it starts.
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            let program = command.get_program().display();
            return End::Failed(Some(format!("{program} was not started: {error}")));
        }
    };
    let (sender, failed) = mpsc::channel();
    let output = child.stdout.take().expect("it is piped");
    // The thread that reads the output ends when the last process closes its standard output.
    let reader = std::thread::spawn(move || {
        let mut tests = 0;
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            tests += begun_tests(&line).unwrap_or(0);
            if let Some(test) = failed_test(&line) {
                // An error is ignored: the receiver is gone if the run has ended.
                let _ = sender.send(test);
            }
        }
        tests
    });
    let end = Instant::now() + limit;
    let killed = loop {
        if let Ok(test) = failed.try_recv() {
            break End::Failed(Some(test));
        }
        match child.try_wait() {
            Ok(None) if Instant::now() < end => std::thread::park_timeout(LOOK),
            Ok(None) => break End::Hung,
            Ok(Some(status)) if status.success() => return End::Passed(reader.join().unwrap_or(0)),
            _ => return End::Failed(failed.recv_timeout(LOOK).ok()),
        }
    };
    let group = format!("-{}", child.id());
    shell::succeeds(shell::command("kill").args(["-KILL", "--", &group]));
    let _ = child.wait();
    killed
}

/// The number of tests that a binary begins according to this line.
fn begun_tests(line: &str) -> Option<usize> {
    let (count, tests) = line.strip_prefix("running ")?.split_once(' ')?;
    tests.starts_with("test").then(|| count.parse().ok())?
}

/// The name of the test that failed according to this line.
fn failed_test(line: &str) -> Option<String> {
    let name = line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?;
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    const LONG: Duration = Duration::from_secs(600);

    #[test]
    fn what_hangs_is_killed_with_all_it_has_started() {
        assert_eq!(run_within(&mut shell("exit 0"), LONG), End::Passed(0));
        let two = "echo 'running 1 test'; echo 'running 0 tests'; echo 'running 2 tests'";
        assert_eq!(run_within(&mut shell(two), LONG), End::Passed(3));
        assert_eq!(run_within(&mut shell("exit 3"), LONG), End::Failed(None));
        let End::Failed(Some(why)) = run_within(&mut Command::new("/no/program"), LONG) else {
            panic!("a program that does not exist was run");
        };
        assert!(why.starts_with("/no/program was not started"), "{why}");
        let dir = std::env::temp_dir().join(format!("esker-canary-{}", std::process::id()));
        let script = format!("(sleep 1000; true) & echo $! > {0}; wait", dir.display());
        // The test raises the time limit until the script has printed the id of the process that it started.
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

    #[test]
    fn the_first_test_that_fails_ends_a_run() {
        let script = "echo 'test a::b ... ok'; echo 'test a::c ... FAILED'; sleep 1000";
        assert_eq!(
            run_within(&mut shell(script), LONG),
            End::Failed(Some("a::c".into()))
        );
    }
}

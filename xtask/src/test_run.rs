//! `test`: sets up what the tests need, runs each microbenchmark once, then all tests.

use std::collections::{BTreeSet, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::oracle;
use crate::shell::{self, Outcome};

/// The time without output after which a test binary hangs: libtest reports each test that ends, and each
/// that takes a minute.
const SILENCE: Duration = Duration::from_secs(300);

/// The sum of libtest's closing lines.
#[derive(Debug, Default, PartialEq)]
struct Totals {
    passed: u64,
    failed: u64,
    ignored: u64,
    binaries: u64,
}

impl Totals {
    /// Counts `test result: ok. 15 passed; 0 failed; 1 ignored; …`.
    fn add(&mut self, line: &str) {
        let Some((_, counts)) = line
            .strip_prefix("test result: ")
            .and_then(|rest| rest.split_once(". "))
        else {
            return;
        };
        self.binaries += 1;
        for part in counts.split("; ") {
            let Some((number, what)) = part.split_once(' ') else {
                continue;
            };
            let number: u64 = number.parse().unwrap_or(0);
            match what {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.ignored += number,
                _ => {}
            }
        }
    }
}

/// Cargo's line about a test binary that a signal ended. A binary whose tests failed has reported them
/// itself.
const DIED: &str = "process didn't exit successfully";

/// The message of a panic for a poisoned lock, which does not occur: holders of these locks do not panic.
const LISTENING: &str = "the holder does not panic";

/// The last lines of the output. A test binary that dies has no closing lines, and its output is far above
/// the end of cargo's output.
#[derive(Default)]
struct LastWords {
    recent: VecDeque<String>,
    /// The last lines before each death.
    of_the_dead: Vec<String>,
}

impl LastWords {
    /// The number of last lines that are kept: enough for a panic with its backtrace, and for the tests that
    /// ended before.
    const KEPT: usize = 60;

    fn hear(&mut self, line: &str) {
        if self.recent.len() == Self::KEPT {
            self.recent.pop_front();
        }
        self.recent.push_back(line.to_owned());
        if line.contains(DIED) {
            self.of_the_dead.extend(self.recent.drain(..));
        }
    }
}

/// Reads lines, records them, and writes them to `to`, until the last writer closes the pipe.
fn hear(from: impl Read, mut to: impl Write, words: &Mutex<LastWords>) -> std::io::Result<()> {
    for line in BufReader::new(from).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        words.lock().expect(LISTENING).hear(&line);
        writeln!(to, "{line}")?;
    }
    Ok(())
}

/// The environment variable of the file in which tests record their skips: `testkit::skip`.
const SKIPPED: &str = "ESKER_SKIPPED";

/// The file of skips.
struct Skipped(PathBuf);

impl Skipped {
    /// Creates an empty file for the skips of a run, under a name that no other run has.
    fn begin() -> Result<Skipped, String> {
        let path = std::env::temp_dir().join(format!("esker-skipped-{}", std::process::id()));
        std::fs::write(&path, "").map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Skipped(path))
    }

    fn end(self) -> Result<Vec<String>, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", self.0.display());
        let collected = std::fs::read_to_string(&self.0).map_err(failed)?;
        std::fs::remove_file(&self.0).map_err(failed)?;
        Ok(summary_of_skipped(&collected))
    }
}

/// The lines of the summary that name skipped tests, each test once for each missing thing.
fn summary_of_skipped(collected: &str) -> Vec<String> {
    let needs: BTreeSet<(&str, &str)> = collected
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .collect();
    let line = |(test, needs): &(&str, &str)| format!("skipped: {test} (needs {needs})");
    needs.iter().map(line).collect()
}

/// Runs every test of the default members, with doc tests, and without `args` each microbenchmark once.
/// `args` go to `cargo test` unchanged.
///
/// Standard output has only cargo's output, so that it ends with the test runner's closing lines; all other
/// lines go to standard error.
pub fn test(args: &[String]) -> Outcome {
    run(args, false)
}

/// Runs the tests with other seeds in each run.
pub fn test_on_fresh_seeds(args: &[String]) -> Outcome {
    run(args, true)
}

fn run(args: &[String], fresh_seeds: bool) -> Outcome {
    let oracle = oracle::set_up();
    for missing in &oracle.missing {
        eprintln!("warning: not installed: {missing}");
    }
    if !oracle.missing.is_empty() {
        if shell::on_ci() {
            return Err("on CI a test against RocksDB may not be skipped".into());
        }
        eprintln!("warning: tests that ask real RocksDB are skipped");
    }

    // Everything is built first, because the build may be silent for long; a long silence of the tests is a
    // hang.
    if !args.iter().any(|arg| arg == "--no-run") {
        let args = args.iter().take_while(|arg| *arg != "--");
        shell::run(shell::cargo().args(["test", "--quiet", "--no-run"]).args(args))?;
    }
    // The microbenchmarks run before the tests, whose closing lines must be the last.
    let benched = if args.is_empty() {
        microbenchmarks().and_then(|()| examples())
    } else {
        Ok(())
    };
    let mut command = shell::cargo();
    command.arg("test");
    if !args.iter().any(|arg| arg == "--no-fail-fast" || arg == "--") {
        command.arg("--no-fail-fast");
    }
    if fresh_seeds {
        command.env("ESKER_SEED", "random");
    }
    command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
    oracle.apply(&mut command);
    let skipped = Skipped::begin()?;
    command.env(SKIPPED, &skipped.0);
    let text = shell::line(&command);
    eprintln!("+ {text}");
    let mut child = command.spawn().map_err(|error| format!("{text}: {error}"))?;
    let output = child.stdout.take().expect("a piped output");
    let errors = child.stderr.take().expect("piped errors");
    let words = Arc::new(Mutex::new(LastWords::default()));
    let heard = words.clone();
    let hearing = thread::spawn(move || hear(errors, std::io::stderr(), &heard));
    let totals = pass_on(output, &mut child, &words).map_err(|error| format!("{text}: {error}"))?;
    let status = child.wait().map_err(|error| format!("{text}: {error}"))?;
    // The thread that reads cargo's last lines gets a moment for them. The end of the pipe is not awaited: a
    // process that a dead test left behind may hold it open indefinitely.
    let patience = Instant::now() + Duration::from_secs(1);
    while !hearing.is_finished() && Instant::now() < patience {
        thread::sleep(Duration::from_millis(10));
    }
    let Totals {
        passed,
        failed,
        ignored,
        binaries,
    } = totals;
    for line in &words.lock().expect(LISTENING).of_the_dead {
        eprintln!("before a test binary died: {line}");
    }
    let skipped = skipped.end()?;
    skipped.iter().for_each(|line| eprintln!("{line}"));
    let skips = skipped.len();
    eprintln!(
        "{passed} passed, {failed} failed, {ignored} ignored, {skips} skipped in {binaries} test binaries"
    );
    let tested = if status.success() {
        Ok(())
    } else {
        Err(format!("{text}: {status}"))
    };
    match (tested, benched) {
        (Err(tests), Err(benches)) => Err(format!("{tests}\nerror: {benches}")),
        (tested, benched) => tested.and(benched),
    }
}

/// Prints the output of the tests, and kills a test binary that hangs: the other binaries run all the same.
fn pass_on(output: ChildStdout, cargo: &mut Child, words: &Mutex<LastWords>) -> std::io::Result<Totals> {
    let (send, lines) = mpsc::channel();
    let reader = thread::spawn(move || {
        for line in BufReader::new(output).lines() {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    let mut totals = Totals::default();
    loop {
        match lines.recv_timeout(SILENCE) {
            Ok(line) => {
                let line = line?;
                totals.add(&line);
                words.lock().expect(LISTENING).hear(&line);
                writeln!(std::io::stdout(), "{line}")?;
            }
            Err(RecvTimeoutError::Timeout) => {
                eprintln!("killed: no test has ended in {} seconds", SILENCE.as_secs());
                let parent = cargo.id().to_string();
                if !shell::succeeds(shell::command("pkill").args(["-KILL", "-P", &parent])) {
                    cargo.kill()?;
                    return Ok(totals);
                }
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    // The sender is dropped, so the reading thread has ended.
    drop(reader.join());
    Ok(totals)
}

/// Runs each operation of each microbenchmark once, with tiny inputs and without measurement, so that each
/// stays executable. They are built like the tests, so little is left to build. Their output goes to standard
/// error.
fn microbenchmarks() -> Outcome {
    let mut command = shell::cargo();
    // Without the `--bench` that `cargo bench` passes, Divan runs everything once.
    command.args(["test", "--no-fail-fast", "--bench", "*"]);
    shell::run(command.stdout(std::io::stderr()))
}

/// Examples that take the directory of a database, and work on the one that they made before.
const EXAMPLES_OVER_A_DIRECTORY: &[&str] = &[
    "backup",
    "bulk_load",
    "change_options",
    "column_families",
    "errors",
    "merge_counter",
    "read_table",
    "secondary",
    "ttl",
];

/// Each example, with little to do. The tests are built with them.
fn examples() -> Outcome {
    let all: [(&str, &[&str]); 4] = [
        ("logical_backup", &["--rows=2000", "--seconds=1"]),
        ("history", &[]),
        ("bank", &[]),
        ("orders", &[]),
    ];
    for (example, args) in all {
        run_example(example, args)?;
    }
    let dir = std::env::temp_dir().join(format!("esker-examples-{}", std::process::id()));
    for example in EXAMPLES_OVER_A_DIRECTORY {
        let db = dir.join(example).join("db");
        for _ in 0..2 {
            std::fs::create_dir_all(dir.join(example)).map_err(|error| error.to_string())?;
            run_example(example, &[&db.to_string_lossy()])?;
        }
    }
    quick_start(&dir)?;
    std::fs::remove_dir_all(&dir).map_err(|error| error.to_string())
}

/// Runs the quick start of the README as its reader does: twice in one directory.
fn quick_start(dir: &Path) -> Outcome {
    for _ in 0..2 {
        let mut program = shell::command(example_program("quick_start"));
        let rows = shell::output(program.current_dir(dir))?;
        if !rows.contains("[97, 100, 97] = ") {
            return Err(format!("quick_start: no row \"ada\" in {rows:?}"));
        }
    }
    Ok(())
}

/// The program of an example that the tests were built with: `cargo run` would build the packages once more,
/// with the features of one package alone.
fn example_program(example: &str) -> PathBuf {
    shell::target().join("debug/examples").join(example)
}

fn run_example(example: &str, args: &[&str]) -> Outcome {
    shell::run(
        shell::command(example_program(example))
            .args(args)
            .stdout(std::io::stderr()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_before_a_death_is_kept() {
        let words = Mutex::default();
        let said: String = (0..100).map(|line| format!("line {line}\n")).collect();
        let death = format!("  {DIED}: `it` (signal: 6, SIGABRT)\n");
        let mut passed_on = Vec::new();
        let all = format!("{said}{death}and on\n");
        hear(all.as_bytes(), &mut passed_on, &words).unwrap();
        assert_eq!(passed_on, all.as_bytes());
        let kept = words.into_inner().unwrap().of_the_dead;
        assert_eq!(kept.len(), LastWords::KEPT);
        assert_eq!(kept.first().unwrap(), "line 41");
        assert_eq!(kept.last().unwrap(), death.trim_end());
    }

    #[test]
    fn a_skipped_test_is_named_once_for_each_thing_it_lacks() {
        let collected = "esker a::b\tldb\nesker a::b\tldb\nesker-sst c\tsst_dump\nesker a::b\trocksdict\n";
        assert_eq!(
            summary_of_skipped(collected),
            [
                "skipped: esker a::b (needs ldb)",
                "skipped: esker a::b (needs rocksdict)",
                "skipped: esker-sst c (needs sst_dump)"
            ]
        );
        assert!(summary_of_skipped("").is_empty());
    }

    #[test]
    fn closing_lines_add_up() {
        let mut totals = Totals::default();
        for line in [
            "running 3 tests",
            "test result: ok. 15 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.10s",
            "test result: FAILED. 2 passed; 4 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.00s",
        ] {
            totals.add(line);
        }
        assert_eq!(
            totals,
            Totals {
                passed: 17,
                failed: 4,
                ignored: 1,
                binaries: 2
            }
        );
    }
}

//! `repeat`: runs every test many times, to find those that fail by chance.
//!
//! Tests run in rounds. In a round each test runs once, in an order that is drawn for that round, in a
//! process of its own and on a fresh seed, three at a time on two processors. Tests that take a CPU second
//! take part only in the first rounds. So the progress is a number of rounds and a place in the next one,
//! which the committed page has: the verb continues there.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::oracle;
use crate::shell::{self, Outcome};
use crate::test_binary::{self, TestBinary};

mod page;
mod ran;

use page::Page;
use ran::{CPU, ROUNDS, ROUNDS_OF_SLOW, Ran, SLOW};

/// The number of tests at a time.
const AT_ONCE: usize = 3;

/// The number of processors that they share.
const PROCESSORS: &str = "0,1";

/// The time limit of a test in seconds.
const HANGS_AFTER: &str = "1800";

/// The interval at which the page of the progress is written.
const NOTE_EVERY: Duration = Duration::from_secs(60);

/// A test of one of the binaries.
#[derive(Debug)]
struct Test {
    binary: usize,
    name: String,
}

/// Runs the tests that remain in the rounds, for the time that `words` name.
pub fn run(words: &[&str]) -> Outcome {
    let minutes = match words {
        [] => None,
        ["--minutes", minutes] => Some(
            minutes
                .parse()
                .map_err(|_| format!("{minutes} is not a number"))?,
        ),
        _ => return Err(format!("not understood: {}", words.join(" "))),
    };
    let end = minutes.map(|minutes: u64| Instant::now() + Duration::from_secs(60 * minutes));
    let binaries = build()?;
    let tests = tests(&binaries)?;
    let path = shell::root().join(page::PATH);
    let commit = shell::output(shell::command("git").args(["rev-parse", "--short", "HEAD"]))?;
    let mut page = Page::read(&path)?;
    page.go_on_with(commit.trim(), tests.len());
    let failures = page.failures.len();
    while page.round < ROUNDS && end.is_none_or(|end| Instant::now() < end) {
        one_round(&mut page, &path, &binaries, &tests, end)?;
    }
    page.write(&path)?;
    match page.failures.len() - failures {
        0 => Ok(()),
        failed => Err(format!("{failed} runs failed, which {} lists", page::PATH)),
    }
}

/// Runs the rest of a round, or as much of it as the time permits.
fn one_round(
    page: &mut Page,
    path: &Path,
    binaries: &[TestBinary],
    tests: &[Test],
    end: Option<Instant>,
) -> Outcome {
    let label = |test: &Test| format!("{} {}", binaries[test.binary].label(), test.name);
    let slow = page.slow.clone();
    let takes_part = |test: &&Test| page.round < ROUNDS_OF_SLOW || !slow.contains(&label(test));
    let mut order: Vec<&Test> = tests.iter().filter(takes_part).collect();
    shuffle(&mut order, page.round);
    let left = &order[page.done.min(order.len())..];
    eprintln!("round {} of {ROUNDS}: {} tests", page.round + 1, left.len());
    let next = AtomicUsize::new(0);
    // The first field has true for each run that has ended. Runs after an unfinished one do not count yet.
    let state = Mutex::new((vec![false; left.len()], Instant::now(), Outcome::Ok(()), page));
    let environment = oracle::set_up();
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while end.is_none_or(|end| Instant::now() < end) {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(test) = left.get(at) else { return };
                    let mut command = command(&binaries[test.binary], &test.name);
                    environment.apply(&mut command);
                    let ran = Ran::of(&mut command);
                    let mut state = state.lock().expect("no thread panics with it");
                    let (ended, noted, outcome, page) = &mut *state;
                    ended[at] = true;
                    page.add(&label(test), &ran);
                    let count = ended.iter().take_while(|ended| **ended).count();
                    page.done = order.len() - left.len() + count;
                    if noted.elapsed() > NOTE_EVERY {
                        *noted = Instant::now();
                        *outcome = page.write(path);
                    }
                }
            });
        }
    });
    let (_, _, outcome, page) = state.into_inner().map_err(|error| error.to_string())?;
    if page.done == order.len() {
        page.end_round();
    }
    outcome.and_then(|()| page.write(path))
}

fn command(binary: &TestBinary, test: &str) -> Command {
    let mut command = Command::new("bash");
    let script = format!("TIMEFORMAT='{CPU}%3U %3S'; time \"$@\"");
    command.args(["-c", &script, "repeat"]);
    if shell::which("taskset").is_some() {
        command.args(["taskset", "-c", PROCESSORS]);
    }
    command
        .args(["timeout", "--signal=KILL", HANGS_AFTER])
        .arg(&binary.executable)
        .args(["--exact", test])
        .current_dir(&binary.dir)
        .env("CARGO_MANIFEST_DIR", &binary.dir)
        .env("ESKER_SEED", "random")
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null());
    command
}

/// Shuffles the tests into the order that the number of the round determines.
fn shuffle<T>(all: &mut [T], round: u64) {
    // SplitMix64.
    let mut state = round.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut draw = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    for last in (1..all.len()).rev() {
        all.swap(last, (draw() % (last as u64 + 1)) as usize);
    }
}

/// Builds all test binaries.
fn build() -> Result<Vec<TestBinary>, String> {
    let mut command = shell::cargo();
    command.args(["test", "--quiet", "--no-run", "--message-format=json"]);
    test_binary::build(&mut command)
}

/// Every test that is not ignored.
fn tests(binaries: &[TestBinary]) -> Result<Vec<Test>, String> {
    let mut tests = Vec::new();
    for (binary, TestBinary { executable, dir, .. }) in binaries.iter().enumerate() {
        let list = |more: &[&str]| {
            let mut command = Command::new(executable);
            command.args(["--list", "--format", "terse"]).args(more);
            shell::output(command.current_dir(dir)).map(|text| names(&text))
        };
        let ignored = list(&["--ignored"])?;
        let names = list(&[])?.into_iter().filter(|name| !ignored.contains(name));
        tests.extend(names.map(|name| Test { binary, name }));
    }
    Ok(tests)
}

fn names(list: &str) -> BTreeSet<String> {
    let name = |line: &str| line.strip_suffix(": test").map(str::to_owned);
    list.lines().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_listed_without_benchmarks() {
        let list = "a::b: test\nc: benchmark\nd: test\n\n2 tests, 1 benchmark\n";
        assert_eq!(names(list).into_iter().collect::<Vec<_>>(), ["a::b", "d"]);
    }

    #[test]
    fn a_round_has_an_order_of_its_own_and_keeps_it() {
        let order = |round| {
            let mut all: Vec<u32> = (0..100).collect();
            shuffle(&mut all, round);
            all
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
        let mut sorted = order(3);
        sorted.sort();
        assert_eq!(sorted, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn cpu_time_and_outcome_of_a_run_are_known() {
        let script = |text: &str| {
            let binary = TestBinary {
                package: "a".into(),
                kind: "test".into(),
                target: "b".into(),
                executable: "sh".into(),
                dir: std::env::temp_dir(),
            };
            // The script replaces the arguments of the test binary, such as `--exact`, which `sh` does not
            // support.
            let mut command = command(&binary, "");
            let kept: Vec<_> = command.get_args().take(3).map(ToOwned::to_owned).collect();
            command = Command::new("bash");
            command.args(kept).args(["sh", "-c", text]);
            Ran::of(&mut command)
        };
        let good = script("true");
        assert!(good.failure.is_none() && good.cpu < SLOW);
        let busy = script("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done");
        assert!(busy.cpu > Duration::ZERO);
        let failed = script(
            "echo \"thread 'a' panicked at src/a.rs:1:2:\"; echo 'it|broke'; echo 'to replay: ESKER_SEED=77'; exit 101",
        );
        assert_eq!(failed.failure.unwrap(), "ESKER_SEED=77, src/a.rs:1:2: it/broke");
        let killed = script("exit 137").failure.unwrap();
        assert!(killed.contains("137"), "{killed}");
    }
}

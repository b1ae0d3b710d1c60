//! `delays`: runs the tests while background work of the engine takes longer than usual. All must pass: a
//! test that fails depends on the time at which a background job, or the deletion of its files, ends.
//!
//! One build has all delays, in a separate checkout. The environment chooses the delay that is present.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::checkout::{self, Checkout};
use crate::oracle::{self, Oracle};
use crate::part::Part;
use crate::shell::{self, Outcome};
use crate::test_binary::{self, TestBinary};

/// A delay of background work.
struct Delay {
    name: &'static str,
    places: &'static [Place],
}

/// A place of the engine that sleeps. No lock is held there: a lock that is held longer, or released where
/// the engine does not release it, would make tests fail that depend on no time.
pub struct Place {
    /// The file, from the root.
    pub file: &'static str,
    /// The original code, which the file has exactly once.
    pub right: &'static str,
    /// The replacement, with a statement `DELAY;` wherever the thread sleeps.
    with: &'static str,
}

const DELAYS: &[Delay] = &[
    Delay {
        name: "tasks",
        // The thread sleeps before and after each run of a background task: a flush, a compaction, or
        // housekeeping.
        places: &[Place {
            file: "crates/engine/src/options/thread_pool.rs",
            right: "            let next = catch(&*run).unwrap_or(Next::Nothing);\n",
            with: "            DELAY;\n            let next = catch(&*run).unwrap_or(Next::Nothing);\n            DELAY;\n",
        }],
    },
    Delay {
        name: "deletions",
        // The thread sleeps before each deletion of a file that became obsolete in an open database.
        places: &[Place {
            file: "crates/engine/src/files/obsolete_files.rs",
            right: "    fn delete(&self, path: PathBuf) {\n",
            with: "    fn delete(&self, path: PathBuf) {\n        DELAY;\n",
        }],
    },
    Delay {
        name: "writes",
        // The thread sleeps after a job has chosen its inputs, before it writes its first output.
        places: &[
            Place {
                file: "crates/engine/src/jobs/flush.rs",
                right: "            let before = thread_cpu();\n            let written =\n",
                with: "            let before = thread_cpu();\n            DELAY;\n            let written =\n",
            },
            Place {
                file: "crates/engine/src/jobs/compaction.rs",
                right: "            self.notify_compaction_begun(family, job.job, plan);\n            if let",
                with: "            self.notify_compaction_begun(family, job.job, plan);\n            DELAY;\n            if let",
            },
        ],
    },
];

/// The number of delays. Each is a piece of the nightly runs.
pub const COUNT: usize = DELAYS.len();

/// The time of a delay in milliseconds, unless `--ms` names another.
const MS: u64 = 15;

/// The environment variable with the delay that is present, and its time: `tasks=15`.
const VARIABLE: &str = "ESKER_DELAYS";

/// Packages whose tests do not run under delays. `db_bench` and `db_stress` run workloads for seconds each,
/// and `simulate` waits in virtual time, which a delay does not change.
const PACKAGES_LEFT_OUT: &[&str] = &["db_bench", "db_stress", "simulate"];

/// Parts of the names of tests that do not run under delays: long random tests, whose hours a delay would
/// make days, and the C test that the judges build.
const TESTS_LEFT_OUT: &[&str] = &[
    "crash",
    "random",
    "model::",
    "metamorphic",
    "dies",
    "histories",
    "c_test",
];

/// The number of tests at a time: threads that sleep leave the processors to others.
const AT_ONCE: &str = "4";

/// The time limit of a test binary in seconds.
const HANGS_AFTER: &str = "2400";

/// All places that sleep, each with the name of its delay.
pub fn places() -> impl Iterator<Item = (&'static str, &'static Place)> {
    { DELAYS.iter() }.flat_map(|delay| delay.places.iter().map(|place| (delay.name, place)))
}

/// The arguments of the verb.
struct Arguments<'a> {
    part: Part,
    ms: u64,
    /// The test binaries that run have one of these words in their labels; all run if there is none.
    words: Vec<&'a str>,
}

impl<'a> Arguments<'a> {
    fn parse(words: &[&'a str]) -> Result<Arguments<'a>, String> {
        let (part, mut words) = Part::take(words)?;
        let mut ms = MS;
        if let Some(at) = words.iter().position(|word| *word == "--ms") {
            let number = words.get(at + 1).and_then(|number| number.parse().ok());
            ms = number.ok_or("--ms needs a number of milliseconds")?;
            words.drain(at..at + 2);
        }
        match words.iter().find(|word| word.starts_with('-')) {
            Some(word) => Err(format!("not understood: {word}")),
            None => Ok(Arguments { part, ms, words }),
        }
    }

    fn takes(&self, binary: &TestBinary) -> bool {
        let label = binary.label();
        let is_named = self.words.is_empty() || self.words.iter().any(|word| label.contains(word));
        is_named && !PACKAGES_LEFT_OUT.contains(&binary.package.as_str())
    }
}

/// Runs the tests under each delay of the part that `words` name. Fails if a test fails.
pub fn run(words: &[&str]) -> Outcome {
    let arguments = Arguments::parse(words)?;
    run_part(&arguments)
}

/// Runs the tests under the delay `number`, counted from 1, for the nightly runs.
pub fn nightly(number: usize) -> Outcome {
    let part = Part::new(number, COUNT).ok_or("there is no such delay")?;
    run_part(&Arguments {
        part,
        ms: MS,
        words: Vec::new(),
    })
}

fn run_part(arguments: &Arguments) -> Outcome {
    let trial = Trial::build(arguments)?;
    let mut failed = Vec::new();
    for delay in &DELAYS[arguments.part.of(COUNT)] {
        let chosen = format!("{}={}", delay.name, arguments.ms);
        for binary in &trial.binaries {
            failed.extend(trial.run(&chosen, binary)?);
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    failed.iter().for_each(|failure| eprintln!("FAILED {failure}"));
    Err(format!("failed: {}", failed.join("; ")))
}

/// The built tests.
struct Trial {
    build: PathBuf,
    binaries: Vec<TestBinary>,
    oracle: Oracle,
}

impl Trial {
    /// Builds the tests of a separate checkout of HEAD with all delays.
    fn build(arguments: &Arguments) -> Result<Trial, String> {
        let own = shell::root().join("target/delays");
        let checkout = Checkout::of_head(&own.join("checkout"))?;
        for (file, text) in delayed(&checkout)? {
            checkout.write(file, &text)?;
        }
        let build = own.join("build");
        let mut command = shell::cargo();
        command
            .args(["test", "--no-run", "--message-format=json"])
            .args(["--lib", "--bins", "--tests"])
            .current_dir(&checkout.path)
            .env("CARGO_TARGET_DIR", &build);
        let mut binaries = test_binary::build(&mut command)?;
        binaries.retain(|binary| arguments.takes(binary) && is_delayed(&binary.executable));
        match binaries.is_empty() {
            true => Err("no test binary has these words in its name".into()),
            false => Ok(Trial {
                build,
                binaries,
                oracle: oracle::set_up(),
            }),
        }
    }

    /// Runs a binary under the delay `chosen`, and returns its tests that failed.
    fn run(&self, chosen: &str, binary: &TestBinary) -> Result<Vec<String>, String> {
        let label = binary.label();
        let name = format!("{chosen} {label} {}.log", binary.kind).replace(' ', ".");
        let log = self.build.join(name);
        let failed = |error: std::io::Error| format!("{}: {error}", log.display());
        let output = File::create(&log).map_err(failed)?;
        let mut command = Command::new("timeout");
        command
            // In the foreground it stays in the process group, so that an interrupt ends the test binary too.
            .args(["--foreground", "--signal=KILL", HANGS_AFTER])
            .arg(&binary.executable)
            .args(TESTS_LEFT_OUT.iter().flat_map(|part| ["--skip", part]));
        binary.set_environment(&mut command, &self.build);
        self.oracle.apply(&mut command);
        command
            .env("RUST_TEST_THREADS", AT_ONCE)
            .env(VARIABLE, chosen)
            .stdin(Stdio::null())
            .stderr(output.try_clone().map_err(failed)?)
            .stdout(output);
        let start = Instant::now();
        let status = command.status().map_err(failed)?;
        let written = fs::read(&log).map_err(failed)?;
        let ended = Ended::of(&String::from_utf8_lossy(&written));
        let (passed, seconds) = (ended.passed, start.elapsed().as_secs());
        eprintln!(
            "{chosen}: {label}: {passed} passed, {} failed in {seconds} s",
            ended.failed.len()
        );
        if status.success() {
            return Ok(Vec::new());
        }
        eprintln!("the output is in {}", log.display());
        let failure = |test: &String| format!("{chosen} {label} {test}");
        Ok(match ended.failed.is_empty() {
            true => vec![format!("{chosen} {label}: {status}")],
            false => ended.failed.iter().map(failure).collect(),
        })
    }
}

/// The files with delays, as they are built.
fn delayed(checkout: &Checkout) -> Result<BTreeMap<&'static str, String>, String> {
    let mut files = BTreeMap::new();
    for (name, place) in places() {
        if let Some(reason) = checkout::stale(&checkout.path, place.file, place.right) {
            return Err(format!("a delay of {name:?}: {}: {reason}", place.file));
        }
        let text = match files.remove(place.file) {
            Some(text) => text,
            None => checkout.read(place.file)?,
        };
        let with = place.with.replace("DELAY;", &sleep(name));
        files.insert(place.file, text.replace(place.right, &with));
    }
    Ok(files)
}

/// The statement that sleeps if the environment chooses the delay `name`.
fn sleep(name: &str) -> String {
    format!(
        "{{ static MS: ::std::sync::OnceLock<u64> = ::std::sync::OnceLock::new(); \
         let ms = *MS.get_or_init(|| ::std::env::var(\"{VARIABLE}\").ok() \
         .and_then(|chosen| chosen.strip_prefix(\"{name}=\")?.parse().ok()).unwrap_or(0)); \
         ::std::thread::sleep(::std::time::Duration::from_millis(ms)); }}"
    )
}

/// True if the program has a delay. A program without the engine's code runs as always.
fn is_delayed(executable: &Path) -> bool {
    shell::succeeds(
        shell::command("grep")
            .args(["-q", "-a", "-F", VARIABLE])
            .arg(executable),
    )
}

/// The tests of a binary that have ended.
#[derive(Debug, Default, PartialEq)]
struct Ended {
    passed: usize,
    failed: Vec<String>,
}

impl Ended {
    /// Reads libtest's lines `test NAME ... ok` and `test NAME ... FAILED`.
    fn of(output: &str) -> Ended {
        let mut ended = Ended::default();
        for line in output.lines() {
            let test = line
                .strip_prefix("test ")
                .and_then(|rest| rest.split_once(" ... "));
            match test {
                Some((_, outcome)) if outcome.starts_with("ok") => ended.passed += 1,
                Some((name, outcome)) if outcome.starts_with("FAILED") => ended.failed.push(name.to_owned()),
                _ => {}
            }
        }
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_has_its_delay() {
        for (name, place) in places() {
            let delays = place.with.matches("DELAY;").count();
            assert!(delays > 0, "{name}");
            let without: String = { place.with.split_inclusive('\n') }
                .filter(|line| line.trim() != "DELAY;")
                .collect();
            assert_eq!(without, place.right, "{name}");
        }
    }

    #[test]
    fn the_page_names_delays_and_what_is_left_out() {
        let page = fs::read_to_string(shell::root().join("docs/stress.md")).unwrap();
        let (_, own) = page.split_once("\n## Delays\n").unwrap();
        let names = DELAYS.iter().map(|delay| &delay.name);
        for name in names.chain(PACKAGES_LEFT_OUT).chain(TESTS_LEFT_OUT) {
            assert!(own.contains(&format!("`{name}`")), "{name}");
        }
    }

    #[test]
    fn a_delay_is_code() {
        let block: syn::Block = syn::parse_str(&sleep("tasks")).unwrap();
        assert_eq!(block.stmts.len(), 3);
    }

    #[test]
    fn arguments_name_a_part_a_time_and_binaries() {
        let arguments = Arguments::parse(&["--ms", "40", "dbtest", "--part", "2/3"]).unwrap();
        assert_eq!((arguments.ms, &*arguments.words), (40, &["dbtest"][..]));
        assert_eq!(arguments.part, Part::new(2, 3).unwrap());
        assert_eq!(Arguments::parse(&[]).unwrap().ms, MS);
        for wrong in [&["--ms"][..], &["--ms", "long"], &["--minutes", "3"]] {
            assert!(Arguments::parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn tests_that_failed_are_named() {
        let output = "running 3 tests\ntest a::b ... ok <0.1s>\ntest a::c ... FAILED <1.0s>\ntest d has been running for over 60 seconds\n";
        let ended = Ended::of(output);
        assert_eq!((ended.passed, &*ended.failed), (1, &["a::c".to_owned()][..]));
    }
}

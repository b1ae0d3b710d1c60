//! The committed page that records the progress of the rounds, and the failures.

use std::collections::BTreeSet;
use std::path::Path;

use super::{ROUNDS, ROUNDS_OF_SLOW, Ran, SLOW};
use crate::shell::Outcome;

/// The page, from the root.
pub const PATH: &str = "docs/lab/repeat.md";

/// A failed run.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    pub round: u64,
    pub commit: String,
    pub test: String,
    pub why: String,
}

/// The runs on one commit.
#[derive(Clone, Debug, PartialEq)]
pub struct Stretch {
    pub commit: String,
    pub tests: usize,
    pub runs: u64,
    pub failed: u64,
}

/// The contents of the page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// The number of complete rounds.
    pub round: u64,
    /// The number of tests that have run in the next round, in its order.
    pub done: usize,
    /// The number of tests when the round began: a different number of tests has a different order.
    pub tests: usize,
    pub stretches: Vec<Stretch>,
    pub failures: Vec<Failure>,
    /// The binaries and names of the tests that take a CPU second.
    pub slow: BTreeSet<String>,
}

impl Page {
    /// The page at `path`; an empty one if it does not exist.
    pub fn read(path: &Path) -> Result<Page, String> {
        match std::fs::read_to_string(path) {
            Ok(text) => Page::parse(&text).ok_or_else(|| format!("{}: not understood", path.display())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Page::default()),
            Err(error) => Err(format!("{}: {error}", path.display())),
        }
    }

    /// Writes the page.
    pub fn write(&self, path: &Path) -> Outcome {
        std::fs::write(path, self.text()).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Records that the following runs are of commit `commit`, which has `tests` tests.
    pub fn go_on_with(&mut self, commit: &str, tests: usize) {
        if self.tests != tests {
            // Another number of tests has another random order, so the round starts again.
            self.done = 0;
            self.tests = tests;
        }
        if self
            .stretches
            .last()
            .is_none_or(|last| last.commit != commit || last.tests != tests)
        {
            self.stretches.push(Stretch {
                commit: commit.to_owned(),
                tests,
                runs: 0,
                failed: 0,
            });
        }
    }

    /// Records that a run has ended.
    pub fn add(&mut self, test: &str, ran: &Ran) {
        // A round that is continued later must have the order in which it began.
        if ran.cpu >= SLOW && self.round < ROUNDS_OF_SLOW {
            self.slow.insert(test.to_owned());
        }
        let Some(stretch) = self.stretches.last_mut() else {
            return;
        };
        stretch.runs += 1;
        if let Some(why) = &ran.failure {
            stretch.failed += 1;
            eprintln!("failed: {test}: {why}");
            self.failures.push(Failure {
                round: self.round + 1,
                commit: stretch.commit.clone(),
                test: test.to_owned(),
                why: why.clone(),
            });
        }
    }

    /// Records that each test has run in this round.
    pub fn end_round(&mut self) {
        self.round += 1;
        self.done = 0;
    }

    fn text(&self) -> String {
        let mut text = format!(
            "# Every test, many times\n\n\
             `cargo xtask repeat` runs each test {ROUNDS} times, and {ROUNDS_OF_SLOW} times where it takes a CPU second: in rounds, in each of which every test runs\n\
             once, in random order, in a process of its own and on a fresh seed, three at a time on two processors. It writes this page and goes on from it.\n\n\
             {COMPLETE}{}\n{DONE}{} of {}\n\n\
             | commit | tests | runs | failed |\n|---|---|---|---|\n",
            self.round, self.done, self.tests,
        );
        for Stretch {
            commit,
            tests,
            runs,
            failed,
        } in &self.stretches
        {
            text += &format!("| {commit} | {tests} | {runs} | {failed} |\n");
        }
        text += &format!(
            "\n{FAILED}\n\n| round | commit | test | seed, place and message |\n|---|---|---|---|\n"
        );
        for Failure {
            round,
            commit,
            test,
            why,
        } in &self.failures
        {
            text += &format!("| {round} | {commit} | {test} | {why} |\n");
        }
        text += &format!("\n{SLOWER}\n");
        for (at, test) in self.slow.iter().enumerate() {
            text += &format!("{}* {test}\n", if at == 0 { "\n" } else { "" });
        }
        text
    }

    fn parse(text: &str) -> Option<Page> {
        let mut page = Page::default();
        let mut section = "";
        for line in text.lines() {
            let cells: Vec<&str> = line.trim_matches(['|', ' ']).split(" | ").collect();
            if let Some(round) = line.strip_prefix(COMPLETE) {
                page.round = round.parse().ok()?;
            } else if let Some(done) = line.strip_prefix(DONE) {
                let (done, tests) = done.split_once(" of ")?;
                (page.done, page.tests) = (done.parse().ok()?, tests.parse().ok()?);
            } else if line.starts_with("## ") {
                section = line;
            } else if let Some(test) = line.strip_prefix("* ").filter(|_| section == SLOWER) {
                page.slow.insert(test.to_owned());
            } else if let [round, commit, test, why] = cells[..]
                && section == FAILED
                && let Ok(round) = round.parse()
            {
                let [commit, test, why] = [commit, test, why].map(str::to_owned);
                page.failures.push(Failure {
                    round,
                    commit,
                    test,
                    why,
                });
            } else if let [commit, tests, runs, failed] = cells[..]
                && section.is_empty()
                && let Ok(tests) = tests.parse()
            {
                page.stretches.push(Stretch {
                    commit: commit.to_owned(),
                    tests,
                    runs: runs.parse().ok()?,
                    failed: failed.parse().ok()?,
                });
            }
        }
        Some(page)
    }
}

const COMPLETE: &str = "Complete rounds: ";
const DONE: &str = "Tests of the next round that have run: ";
const FAILED: &str = "## Runs that failed";
const SLOWER: &str = "## Tests that take a CPU second";

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn ran(seconds: u64, failure: Option<&str>) -> Ran {
        Ran {
            cpu: Duration::from_secs(seconds),
            failure: failure.map(str::to_owned),
        }
    }

    #[test]
    fn the_page_is_read_as_it_was_written() {
        let mut page = Page::default();
        assert_eq!(Page::parse(&page.text()), Some(page.clone()));
        page.go_on_with("abc", 3);
        page.add("wal it a::b", &ran(0, None));
        page.add("wal it a::c", &ran(2, None));
        page.add("wal it a::d", &ran(0, Some("ESKER_SEED=7, src/a.rs:1:2: broke")));
        page.end_round();
        page.done = 1;
        page.go_on_with("def", 3);
        page.add("wal it a::b", &ran(0, None));
        assert_eq!(Page::parse(&page.text()), Some(page.clone()));
        assert_eq!((page.round, page.done), (1, 1));
        assert_eq!(page.stretches[0].runs, 3);
        assert_eq!(page.failures[0].round, 1);
        assert_eq!(page.slow.len(), 1);
        // With a test of another name, the page begins a round with another order.
        page.go_on_with("def", 4);
        assert_eq!((page.round, page.done, page.stretches.len()), (1, 0, 3));
        assert_eq!(Page::parse("Complete rounds: many\n"), None);
    }

    #[test]
    fn the_page_that_is_committed_is_understood() {
        let path = crate::shell::root().join(PATH);
        assert!(Page::read(&path).is_ok());
    }
}

//! Test classes of programs on the JVM, in pieces: each class runs in a JVM of its own with a time limit,
//! over Esker, and over RocksDB as well if a test fails, because the test may fail there too. The results of
//! a piece are a file below `target/judge`, so that a run that was cut off goes on with the pieces that are
//! missing. The results of Esker belong to one build of the library.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::jvm::{self, Project};
use super::{Count, Fault};
use crate::part::Part;
use crate::shell;

/// The framework of tests.
#[derive(Clone, Copy)]
pub enum Framework {
    /// The output has the format of JUnit 4 and 5.
    JUnit,
    /// The output has the format of ScalaTest.
    ScalaTest,
}

impl Framework {
    /// Returns the class of `crates/jni/judges/runner` that runs a test class.
    fn runner(self) -> &'static str {
        match self {
            Framework::JUnit => "JUnit",
            Framework::ScalaTest => "ScalaTest",
        }
    }
}

/// The test classes of a program.
pub struct Classes<'a> {
    /// The project of `crates/jni/judges` with the program.
    pub project: &'a str,
    pub framework: Framework,
    /// The full names of the classes, in the order in which they run.
    pub names: Vec<String>,
    /// The time limit of a class, in seconds.
    pub seconds: u32,
    /// The options of the JVM.
    pub options: &'a [&'a str],
    /// True if a test that fails over RocksDB too does not count.
    pub beside_rocksdb: bool,
}

/// Fetches the project and compiles the runner of its tests.
pub fn project(name: &str, framework: Framework) -> Result<Project, Fault> {
    let project = jvm::project(name)?;
    let home = shell::root().join("crates/jni/judges/runner");
    let mut compiler = shell::command("javac");
    compiler.args(["-nowarn", "-d"]).arg(&project.classes);
    compiler.arg("-cp").arg(&project.path);
    for class in ["Results", framework.runner()] {
        compiler.arg(home.join(format!("{class}.java")));
    }
    shell::output(&mut compiler)?;
    Ok(project)
}

/// Returns the names of the classes in a jar of the class path whose path in the jar `wanted` accepts.
pub fn in_jar(project: &Project, jar: &str, wanted: impl Fn(&str) -> bool) -> Result<Vec<String>, Fault> {
    let path = project.path.split(':').find(|path| path.ends_with(jar));
    let path = path.ok_or_else(|| Fault::broken(format!("no {jar} on the class path")))?;
    let listed = shell::output(shell::command("jar").args(["--list", "--file", path]))?;
    let mut names: Vec<String> = listed
        .lines()
        .filter_map(|line| line.strip_suffix(".class"))
        .filter(|class| !class.contains('$') && wanted(class))
        .map(|class| class.replace('/', "."))
        .collect();
    names.sort();
    Ok(names)
}

/// Runs the pieces that have no results yet, and counts those that have. With names of classes, runs only
/// these, and runs them again; with `--part K/N`, only a share of the classes.
pub fn run(classes: &Classes<'_>, project: &Project, library: &Path, words: &[&str]) -> Result<Count, Fault> {
    let (part, named) = Part::take(words)?;
    let simple = |class: &str| class.rsplit('.').next().unwrap_or(class).to_owned();
    if let Some(unknown) = named
        .iter()
        .find(|name| !classes.names.iter().any(|class| simple(class) == **name))
    {
        return Err(Fault::broken(format!("no test class {unknown}")));
    }
    let home = jvm::scratch(&format!("jvm-{}", classes.project))?.join("results");
    let ours = home.join(identity(&library.join("librocksdbjni.so"))?);
    let stock = home.join("rocksdb");
    let chosen: Vec<&String> = match named.is_empty() {
        true => classes.names[part.of(classes.names.len())].iter().collect(),
        false => classes
            .names
            .iter()
            .filter(|class| named.contains(&simple(class).as_str()))
            .collect(),
    };
    for class in &chosen {
        let over = |dir| Piece {
            classes,
            project,
            class,
            dir,
        };
        if !named.is_empty() || over(&ours).is_open() {
            over(&ours).run(Some(library))?;
        }
        let asks = over(&ours).results().is_none_or(|results| results.asks_rocksdb());
        if classes.beside_rocksdb && asks && over(&stock).is_open() {
            over(&stock).run(None)?;
        }
    }
    let counted = match named.is_empty() {
        // If this part completes the pieces, the count is that of all pieces.
        true => classes.names.iter().collect(),
        false => chosen,
    };
    let mut count = Count::default();
    for class in counted {
        let of = |dir: &PathBuf| {
            Piece {
                classes,
                project,
                class,
                dir,
            }
            .results()
        };
        match of(&ours) {
            None => count.not_built += 1,
            Some(results) if classes.beside_rocksdb && results.asks_rocksdb() => match of(&stock) {
                Some(stock) => add(&mut count, &simple(class), &results, Some(&stock)),
                None => count.not_built += 1,
            },
            Some(results) => add(&mut count, &simple(class), &results, None),
        }
    }
    Ok(count)
}

/// Returns a hash of the contents of a file, by which equal contents are recognized.
fn identity(file: &Path) -> Result<String, Fault> {
    let bytes = fs::read(file).map_err(|error| Fault::broken(format!("{}: {error}", file.display())))?;
    let mut hasher = DefaultHasher::new();
    hasher.write(&bytes);
    Ok(format!("esker-{:016x}", hasher.finish()))
}

/// A test class over one library.
struct Piece<'a> {
    classes: &'a Classes<'a>,
    project: &'a Project,
    class: &'a str,
    /// The directory of the test class's results.
    dir: &'a Path,
}

impl Piece<'_> {
    fn file(&self) -> PathBuf {
        self.dir.join(format!("{}.tsv", self.class))
    }

    /// Returns the results, unless the piece has not run to its end.
    fn results(&self) -> Option<Results> {
        Results::parse(&fs::read_to_string(self.file()).ok()?)
    }

    /// True if there are tests without a result.
    fn is_open(&self) -> bool {
        self.results().is_none_or(|results| results.cut.is_some())
    }

    /// Runs the test class of the piece. A JVM that crashes or that reaches the time limit ends the piece,
    /// too: the next run goes on with the tests that are missing, if the framework can.
    fn run(&self, library: Option<&Path>) -> Result<(), Fault> {
        let broken = |error: std::io::Error| Fault::broken(format!("{}: {error}", self.file().display()));
        fs::create_dir_all(self.dir).map_err(broken)?;
        let before = match (self.classes.framework, self.is_open()) {
            (Framework::ScalaTest, true) => fs::read_to_string(self.file()).unwrap_or_default(),
            _ => String::new(),
        };
        let kept = before.lines().filter(|line| !line.starts_with("END"));
        let kept: String = kept.map(|line| format!("{line}\n")).collect();
        fs::write(self.file(), kept).map_err(broken)?;
        let log = fs::File::create(self.dir.join(format!("{}.log", self.class))).map_err(broken)?;
        let java = jvm::java(self.project, library);
        let mut command = shell::command("timeout");
        // Some tests leave files in their working directory, and all do if they are killed.
        let work = jvm::empty(&format!("jvm-{}/work", self.classes.project))?;
        // The JVM is killed and not asked to end, because it would then remove files that the running test
        // uses.
        command.args(["-s", "KILL"]);
        command.arg(self.classes.seconds.to_string());
        command.arg(java.get_program()).args(self.classes.options);
        command.arg(format!("-Djava.io.tmpdir={}", work.display()));
        command.current_dir(work);
        command.args(java.get_args());
        command.args([self.classes.framework.runner(), self.class]);
        command.arg(self.file());
        command.stdout(log.try_clone().map_err(broken)?).stderr(log);
        let start = Instant::now();
        let status = command.status().map_err(broken)?;
        let said = fs::read_to_string(self.file()).unwrap_or_default();
        let end = match status.code() {
            Some(0) => "-".to_owned(),
            Some(124 | 137) | None => format!("time limit of {} seconds", self.classes.seconds),
            _ => format!("{status}"),
        };
        fs::write(self.file(), format!("{said}END\t{end}\t\n")).map_err(broken)?;
        let results = self.results().unwrap_or_default();
        println!(
            "{} over {}: {} passed, {} did not, {} s{}",
            self.class,
            if library.is_some() { "Esker" } else { "RocksDB" },
            results.passed().count(),
            results.tests.len() - results.passed().count(),
            start.elapsed().as_secs(),
            results.cut.map(|why| format!(", {why}")).unwrap_or_default()
        );
        Ok(())
    }
}

/// The results of a test class.
#[derive(Default, Debug, PartialEq)]
struct Results {
    /// Each test with its result, and the reason.
    tests: BTreeMap<String, (String, String)>,
    /// The reason for which the class was not run to its end.
    cut: Option<String>,
}

impl Results {
    /// Parses the results of a piece. Returns `None` without a last line that says how the run ended.
    fn parse(text: &str) -> Option<Results> {
        let mut results = Results::default();
        let mut ended = false;
        for line in text.lines() {
            let mut words = line.splitn(3, '\t');
            match (words.next(), words.next(), words.next()) {
                (Some("END"), Some(how), _) => {
                    ended = true;
                    results.cut = (how != "-").then(|| how.to_owned());
                }
                (Some(result), Some(test), Some(reason)) => {
                    let result = (result.to_owned(), reason.to_owned());
                    results.tests.insert(test.to_owned(), result);
                }
                _ => {}
            }
        }
        ended.then_some(results)
    }

    /// True if a test failed or was not reached.
    fn asks_rocksdb(&self) -> bool {
        self.cut.is_some() || self.tests.values().any(|(result, _)| result == "FAIL")
    }

    fn passed(&self) -> impl Iterator<Item = &String> {
        let passed = self.tests.iter().filter(|(_, (result, _))| result == "PASS");
        passed.map(|(test, _)| test)
    }
}

/// Adds the results of a class to a count. Tests that do not pass over RocksDB are ignored.
fn add(count: &mut Count, class: &str, ours: &Results, stock: Option<&Results>) {
    count.passed += ours.passed().count();
    let passes_there = |test: &String| stock.is_none_or(|stock| stock.passed().any(|other| other == test));
    for (test, (result, reason)) in &ours.tests {
        match result.as_str() {
            "PASS" => {}
            "FAIL" if passes_there(test) => count.failed.push(format!("{test}: {reason}")),
            _ => count.ignored += 1,
        }
    }
    let Some(why) = &ours.cut else { return };
    match stock {
        Some(stock) => {
            let missing = stock.passed().filter(|test| !ours.tests.contains_key(*test));
            count.failed.extend(missing.map(|test| format!("{test}: {why}")));
        }
        None => count.failed.push(format!("{class}: {why}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_that_was_cut_off_has_no_results() {
        assert_eq!(Results::parse("PASS\ta\t\n"), None);
        let results = Results::parse("PASS\ta\t\nFAIL\tb\twhy\nEND\t-\t\n").unwrap();
        assert_eq!(results.passed().collect::<Vec<_>>(), ["a"]);
        assert_eq!(results.cut, None);
        let results = Results::parse("END\ttime limit\t\n").unwrap();
        assert_eq!(results.cut.as_deref(), Some("time limit"));
    }

    #[test]
    fn a_test_that_fails_over_rocksdb_does_not_count() {
        let stock = Results::parse("PASS\ta\t\nPASS\tb\t\nPASS\tc\t\nFAIL\td\tx\nEND\t-\t\n").unwrap();
        let ours = Results::parse("PASS\ta\t\nFAIL\tb\twhy\nFAIL\td\tx\nEND\ttime limit\t\n").unwrap();
        assert!(ours.asks_rocksdb());
        let mut count = Count::default();
        add(&mut count, "C", &ours, Some(&stock));
        assert_eq!((count.passed, count.ignored), (1, 1));
        assert_eq!(count.failed, ["b: why", "c: time limit"]);
        let mut alone = Count::default();
        add(&mut alone, "C", &ours, None);
        assert_eq!(alone.passed, 1);
        assert_eq!(alone.failed, ["b: why", "d: x", "C: time limit"]);
    }
}

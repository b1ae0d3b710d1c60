//! The programs that find planted bugs. They are built once for many bugs, and run without cargo.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use super::Catcher::{self, CrashTest, LoomTests, PowerLoss, SimulatedTests, Simulation, Stress, Tests};
use super::run_within::{End, run_within};
use super::schema::VARIABLE;
use crate::shell;
use crate::test_binary::{self, TestBinary};

impl Catcher {
    /// The number of runs within which the test must find a bug.
    pub fn runs(self) -> u32 {
        match self {
            Tests(_) | SimulatedTests(_) | LoomTests(_) | Simulation(_) => 1,
            Stress(runs, _) | CrashTest(runs) | PowerLoss(runs) => runs,
        }
    }

    fn flavour(self) -> Flavour {
        match self {
            SimulatedTests(_) | Simulation(_) => Flavour::Simulated,
            LoomTests(_) => Flavour::Loom,
            Tests(_) | Stress(..) | CrashTest(_) | PowerLoss(_) => Flavour::Plain,
        }
    }

    /// The package and the binaries that this test runs.
    fn wanted(self) -> Result<Wanted<'static>, String> {
        let package = match self {
            Tests(args) | SimulatedTests(args) | LoomTests(args) => return Wanted::parse(args),
            Stress(..) | CrashTest(_) | PowerLoss(_) => "db_stress",
            Simulation(_) => "simulate",
        };
        Ok(Wanted {
            package,
            features: None,
            target: Target::All,
            rest: &[],
        })
    }
}

/// The ways to build a program.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Flavour {
    Plain,
    Simulated,
    Loom,
}

impl Flavour {
    const ALL: [Flavour; 3] = [Flavour::Plain, Flavour::Simulated, Flavour::Loom];

    /// The name of the `cfg`, which is also the name of the subdirectory of the build; `None` for a plain
    /// build.
    fn name(self) -> Option<&'static str> {
        match self {
            Flavour::Plain => None,
            Flavour::Simulated => Some("simulate"),
            Flavour::Loom => Some("loom"),
        }
    }

    /// The arguments of `cargo test` that build the tests of a package, and with them its programs.
    fn args(self) -> &'static [&'static str] {
        match self {
            Flavour::Plain | Flavour::Simulated => &["test", "--no-run", "--message-format=json", "--tests"],
            // Models take minutes without optimisation.
            Flavour::Loom => &["test", "--no-run", "--message-format=json", "--lib", "--release"],
        }
    }
}

/// The parsed arguments of `cargo test` of a planted bug.
#[derive(Debug, PartialEq)]
struct Wanted<'a> {
    package: &'a str,
    /// The features, separated by commas as for `--features`.
    features: Option<&'a str>,
    target: Target<'a>,
    /// The arguments of each binary: a part of the names of its tests.
    rest: &'a [&'a str],
}

/// The binaries of a package.
#[derive(Debug, PartialEq)]
enum Target<'a> {
    All,
    Library,
    Programs,
    Test(&'a str),
}

impl<'a> Wanted<'a> {
    fn parse(args: &'a [&'a str]) -> Result<Wanted<'a>, String> {
        let ["-p", package, rest @ ..] = args else {
            return Err(format!("{args:?}: the first arguments must be -p and a package"));
        };
        let mut rest = rest;
        let mut wanted = Wanted {
            package,
            features: None,
            target: Target::All,
            rest: &[],
        };
        loop {
            rest = match rest {
                ["--lib", rest @ ..] => {
                    wanted.target = Target::Library;
                    rest
                }
                ["--bins", rest @ ..] => {
                    wanted.target = Target::Programs;
                    rest
                }
                ["--test", name, rest @ ..] => {
                    wanted.target = Target::Test(name);
                    rest
                }
                ["--features", features, rest @ ..] => {
                    wanted.features = Some(features);
                    rest
                }
                [first, ..] if first.starts_with('-') => {
                    return Err(format!("{args:?}: {first} is not supported"));
                }
                _ => break,
            };
        }
        wanted.rest = rest;
        Ok(wanted)
    }

    fn takes(&self, binary: &TestBinary) -> bool {
        binary.package == self.package
            && match self.target {
                Target::All => true,
                Target::Library => !matches!(binary.kind.as_str(), "bin" | "test" | "bench" | "example"),
                Target::Programs => binary.kind == "bin",
                Target::Test(name) => binary.kind == "test" && binary.target == name,
            }
    }
}

/// The directories of the checkout and of the build.
pub struct Place {
    pub checkout: PathBuf,
    pub build: PathBuf,
}

impl Place {
    /// The directory of a build.
    fn built(&self, flavour: Flavour) -> PathBuf {
        flavour
            .name()
            .map_or_else(|| self.build.clone(), |name| self.build.join(name))
    }

    /// A program of a build.
    fn program(&self, flavour: Flavour, name: &str) -> Command {
        Command::new(self.built(flavour).join("debug").join(name))
    }
}

/// The programs of one build.
pub struct Programs<'a> {
    place: &'a Place,
    tests: Vec<(Flavour, TestBinary)>,
}

impl<'a> Programs<'a> {
    /// Builds the programs of all `catchers`, with the features of all of them, so that one build serves all.
    /// The error has the messages of the compiler.
    pub fn build(place: &'a Place, catchers: &[Catcher]) -> Result<Programs<'a>, String> {
        let mut programs = Programs {
            place,
            tests: Vec::new(),
        };
        for flavour in Flavour::ALL {
            let mut args = BTreeSet::new();
            for catcher in catchers.iter().filter(|catcher| catcher.flavour() == flavour) {
                let wanted = catcher.wanted()?;
                args.insert(format!("--package={}", wanted.package));
                args.extend({ wanted.features }.map(|name| format!("--features={}/{name}", wanted.package)));
            }
            if args.is_empty() {
                continue;
            }
            let mut command = shell::cargo();
            command
                .current_dir(&place.checkout)
                .args(flavour.args())
                .args(args)
                .env("CARGO_TARGET_DIR", place.built(flavour));
            if let Some(cfg) = flavour.name() {
                command.env("RUSTFLAGS", format!("--cfg {cfg}"));
            }
            let built = test_binary::build(&mut command)?;
            programs
                .tests
                .extend(built.into_iter().map(|binary| (flavour, binary)));
        }
        Ok(programs)
    }

    /// Runs the test for the `number`th time, from 1 on, for at most `limit`, with the bug named `bug`, or
    /// without a bug if the name is empty. The number is the seed of programs that draw one, so each run has
    /// its own and repeats on each machine. `worker` is the number of the calling thread, which names a
    /// separate directory for its databases.
    pub fn run(&self, catcher: Catcher, number: u32, bug: &str, limit: Duration, worker: usize) -> End {
        let own = |name: &str| self.place.build.join(format!("{name}-{worker}"));
        let run = |mut command: Command, limit| {
            command
                // A run without a bug sets the variable to nothing, so that the runs differ only in its
                // value.
                .env(VARIABLE, bug)
                // The databases of this run are in a directory that no other run on this machine uses.
                .env("TEST_TMPDIR", own("databases"));
            run_within(&mut command, limit)
        };
        match catcher {
            Tests(_) | SimulatedTests(_) | LoomTests(_) => self.run_tests(catcher, limit, run),
            Stress(_, flags) => {
                let mut command = self.place.program(Flavour::Plain, "db_stress");
                command.args(flags).arg(format!("--seed={number}"));
                run(command, limit)
            }
            Simulation(histories) => {
                let mut command = self.place.program(Flavour::Simulated, "simulate");
                command
                    .current_dir(&self.place.checkout)
                    .args(["--first=1", "--seconds=600", "--threads=1", "--no_shrink"])
                    .arg(format!("--histories={histories}"));
                run(command, limit)
            }
            CrashTest(_) | PowerLoss(_) => {
                let kept = own("crashed");
                let mut command = self.place.program(Flavour::Plain, "db_crashtest");
                command
                    .arg(format!("--seed={number}"))
                    .arg(format!("--dir={}", kept.display()))
                    .args(["--duration=12", "--interval=1"]);
                if matches!(catcher, PowerLoss(_)) {
                    command.arg("--simulate");
                }
                let end = run(command, limit);
                // The files that a run keeps of a failure are removed, because those of a planted bug are
                // useless. They may not exist.
                let _ = std::fs::remove_dir_all(kept);
                end
            }
        }
    }

    /// Runs the binaries that `cargo test` would run, up to the first that fails.
    fn run_tests(&self, catcher: Catcher, limit: Duration, run: impl Fn(Command, Duration) -> End) -> End {
        let Ok(wanted) = catcher.wanted() else {
            return End::Failed(None);
        };
        let end = Instant::now() + limit;
        let mut tests = 0;
        let own = { self.tests.iter() }.filter(|(flavour, _)| *flavour == catcher.flavour());
        for (flavour, binary) in own.filter(|(_, binary)| wanted.takes(binary)) {
            let mut command = Command::new(&binary.executable);
            command.args(wanted.rest);
            binary.set_environment(&mut command, &self.place.built(*flavour));
            match run(command, end.saturating_duration_since(Instant::now())) {
                End::Passed(more) => tests += more,
                other => return other,
            }
        }
        match tests {
            0 => End::Failed(Some("no test has the name".to_owned())),
            tests => End::Passed(tests),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_choose_binaries() {
        let binary = |kind: &str, target: &str| TestBinary {
            package: "a".into(),
            kind: kind.into(),
            target: target.into(),
            executable: PathBuf::new(),
            dir: PathBuf::new(),
        };
        let all = [
            binary("lib", "a"),
            binary("bin", "a"),
            binary("test", "it"),
            binary("test", "b"),
        ];
        let chosen = |args: &[&str]| {
            let wanted = Wanted::parse(args).unwrap();
            let takes: Vec<bool> = all.iter().map(|binary| wanted.takes(binary)).collect();
            (takes, wanted.rest.join(" "))
        };
        assert_eq!(chosen(&["-p", "a"]), (vec![true; 4], String::new()));
        assert_eq!(chosen(&["-p", "a", "x::"]), (vec![true; 4], "x::".to_owned()));
        assert_eq!(
            chosen(&["-p", "a", "--lib", "--features", "b", "x"]),
            (vec![true, false, false, false], "x".to_owned())
        );
        assert_eq!(chosen(&["-p", "a", "--bins"]).0, [false, true, false, false]);
        assert_eq!(
            chosen(&["-p", "a", "--test", "it"]).0,
            [false, false, true, false]
        );
        assert_eq!(chosen(&["-p", "b"]).0, [false; 4]);
        assert!(Wanted::parse(&["--lib"]).is_err());
        assert!(Wanted::parse(&["-p", "a", "--doc"]).is_err());
    }
}

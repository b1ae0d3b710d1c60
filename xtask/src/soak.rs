//! `soak`: all random searches for lost rows, on fresh seeds, for a limited time.
//!
//! Each part prints its counts in lines that begin with `record:` (`testkit::record`). They are added up,
//! printed at the end, and appended to a file if one is named, from which `--table` makes the table of
//! `docs/lab/soak.md`.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::shell::{self, Outcome};
use crate::{fuzz, simulate};

/// The maximum time in seconds of one turn of all parts; the next turn has other seeds.
const TURN: u64 = 600;

/// Longer runs are worth an optimised build; shorter ones use the tests' builds, with their debug assertions.
const OPTIMISED_FROM: u64 = 3600;

/// The arguments of `soak`.
#[derive(Debug, PartialEq)]
pub struct Arguments {
    seconds: u64,
    record: Option<PathBuf>,
}

impl Arguments {
    /// Parses `--hours H`, `--minutes N` and `--record FILE`; the default is an hour.
    pub fn parse(words: &[&str]) -> Result<Arguments, String> {
        let mut arguments = Arguments {
            seconds: 3600,
            record: None,
        };
        for pair in words.chunks(2) {
            match *pair {
                ["--hours", hours] => arguments.seconds = time(hours, 3600.0)?,
                ["--minutes", minutes] => arguments.seconds = time(minutes, 60.0)?,
                ["--record", file] => arguments.record = Some(PathBuf::from(file)),
                _ => return Err(format!("not understood: {}", pair.join(" "))),
            }
        }
        Ok(arguments)
    }
}

/// Converts a number of `unit`s, which may have a fraction, to seconds.
fn time(text: &str, unit: f64) -> Result<u64, String> {
    let parsed: Option<f64> = text.parse().ok().filter(|number| (0.0..1e6).contains(number));
    parsed
        .map(|number| (number * unit) as u64)
        .ok_or_else(|| format!("{text} is not a time"))
}

/// The counts by part and name.
#[derive(Debug, Default, PartialEq)]
struct Totals(BTreeMap<String, BTreeMap<String, u64>>);

/// The prefix of a line with the counts of a part.
const RECORD: &str = "record: ";

impl Totals {
    /// Adds the counts of `part=NAME count=N …`.
    fn add(&mut self, counts: &str) {
        let mut pairs = counts.split_whitespace().filter_map(|pair| pair.split_once('='));
        let Some(("part", part)) = pairs.next() else {
            return;
        };
        let counts = self.0.entry(part.to_owned()).or_default();
        for (name, count) in pairs {
            *counts.entry(name.to_owned()).or_default() += count.parse::<u64>().unwrap_or(0);
        }
    }

    /// One line for each part, in the form of the file.
    fn lines(&self) -> String {
        let line = |(part, counts): (&String, &BTreeMap<String, u64>)| {
            let counts: Vec<String> = counts
                .iter()
                .map(|(name, count)| format!("{name}={count}"))
                .collect();
            format!("{RECORD}part={part} {}\n", counts.join(" "))
        };
        self.0.iter().map(line).collect()
    }

    /// The sum of a count over all parts.
    fn sum(&self, name: &str) -> u64 {
        self.0.values().filter_map(|counts| counts.get(name)).sum()
    }

    /// The lines of `docs/lab/soak.md`: each part, and the sums.
    fn table(&self) -> String {
        let mut text = "| part | counts |\n|---|---|\n".to_owned();
        for (part, counts) in &self.0 {
            let counts: Vec<String> = counts
                .iter()
                .filter(|(_, count)| **count > 0)
                .map(|(name, count)| format!("{} {}", grouped(*count), name.replace('_', " ")))
                .collect();
            text += &format!("| {part} | {} |\n", counts.join(", "));
        }
        let sums = [
            ("operations", &["operations"][..]),
            ("crashes simulated", &["process_deaths", "power_losses"]),
            ("processes killed", &["kills", "inside_kills"]),
            ("option sets", &["option_sets"]),
            ("ownership turns with RocksDB", &["ownership_turns"]),
            (
                "faults injected",
                &["failed_changes", "failed_reads", "full_disks", "faults"],
            ),
            ("inputs fuzzed", &["inputs"]),
            ("seeds", &["seeds"]),
        ];
        for (what, names) in sums {
            let sum: u64 = names.iter().map(|name| self.sum(name)).sum();
            if sum == 0 {
                continue;
            }
            text += &format!("| **all: {what}** | **{}** |\n", grouped(sum));
        }
        text
    }
}

/// The number with commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).unwrap_or_default())
        .collect();
    groups.join(",")
}

/// Prints the table of all `files`.
pub fn table(files: &[&str]) -> Outcome {
    let mut totals = Totals::default();
    for file in files {
        let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
        text.lines()
            .filter_map(|line| line.strip_prefix(RECORD))
            .for_each(|counts| totals.add(counts));
    }
    print!("{}", totals.table());
    Ok(())
}

/// Builds the programs, then runs turn after turn of all parts. The first failure ends the soak run; each
/// part prints the seed that repeats its failure.
pub fn run(arguments: &Arguments) -> Outcome {
    let mut soak = Soak {
        profile: (arguments.seconds >= OPTIMISED_FROM).then_some("--release"),
        totals: Mutex::default(),
    };
    soak.build()?;
    let start = Instant::now();
    let end = start + Duration::from_secs(arguments.seconds);
    let mut turns = 0;
    let mut outcome = Ok(());
    while outcome.is_ok() && (turns == 0 || Instant::now() < end) {
        let left = end.saturating_duration_since(Instant::now()).as_secs();
        outcome = soak.turn(TURN.min(left));
        turns += 1;
    }
    let seconds = start.elapsed().as_secs();
    let totals = soak.totals.get_mut().map_err(|error| error.to_string())?;
    eprintln!("soaked for {seconds} seconds\n{}", totals.table());
    if let Some(path) = &arguments.record {
        append(path, seconds, outcome.is_ok(), totals)?;
    }
    outcome
}

fn append(path: &Path, seconds: u64, good: bool, totals: &Totals) -> Outcome {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut file = std::fs::File::options()
        .create(true)
        .append(true)
        .open(path)
        .map_err(failed)?;
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let how = if good { "found nothing" } else { "found something" };
    let text = format!(
        "# {seconds} seconds to {now} since 1970, {how}\n{}",
        totals.lines()
    );
    file.write_all(text.as_bytes()).map_err(failed)
}

struct Soak {
    /// Cargo's argument for an optimised build.
    profile: Option<&'static str>,
    totals: Mutex<Totals>,
}

impl Soak {
    fn cargo(&self, verb: &str) -> Command {
        let mut command = shell::cargo();
        command.arg(verb).args(self.profile).env("ESKER_SEED", "random");
        command
    }

    /// Work whose time counts for no part.
    fn build(&self) -> Outcome {
        shell::run(self.cargo("build").args(["--package", "db_stress", "--bins"]))?;
        shell::run(
            self.cargo("test")
                .args(["--package", "esker-dbtest", "--test", "it", "--no-run"]),
        )?;
        // The histories that failed in the past run first, under their exact schedules.
        simulate::replay()?;
        shell::run(simulate::program().arg("--histories=1").stdout(Stdio::null()))?;
        fuzz::build_for_quick()
    }

    /// Runs every part once, in `seconds` together.
    fn turn(&self, seconds: u64) -> Outcome {
        let share = |hundredths: u64| (seconds * hundredths / 100).max(1);
        self.crashtest(share(20), &["--interval=2"])?;
        self.crashtest(share(15), &["--simulate"])?;
        self.crashtest(share(15), &["--kill=false"])?;
        // The tests get numbers of histories and plans that take about the wanted time.
        let histories = (share(10) * 2).to_string();
        self.run(self.dbtest("model::").env("ESKER_MODEL_HISTORIES", histories))?;
        let plans = share(10).to_string();
        let mut option_sets = self.dbtest("metamorphic::option_sets");
        self.run(option_sets.env("ESKER_METAMORPHIC_PLANS", plans))?;
        // One round of the crash tests takes about a minute.
        self.run(
            self.dbtest("crash")
                .env("ESKER_CRASH_ROUNDS", (share(10) / 60).max(1).to_string()),
        )?;
        let mut histories = simulate::program();
        self.run(histories.arg(format!("--seconds={}", share(10))))?;
        let inputs = fuzz::quick_for(share(10))?;
        self.add(&format!("part=fuzz inputs={inputs}"))
    }

    fn crashtest(&self, seconds: u64, args: &[&str]) -> Outcome {
        let mut command = self.cargo("run");
        command.args(["--quiet", "--package", "db_stress", "--bin", "db_crashtest", "--"]);
        command.arg(format!("--duration={seconds}")).args(args);
        self.run(&mut command)
    }

    /// The tests of `dbtest` of that name.
    fn dbtest(&self, name: &str) -> Command {
        let mut command = self.cargo("test");
        command.args(["--quiet", "--package", "esker-dbtest", "--test", "it", name]);
        command.args(["--", "--nocapture"]);
        command
    }

    fn add(&self, counts: &str) -> Outcome {
        self.totals.lock().map_err(|error| error.to_string())?.add(counts);
        Ok(())
    }

    /// Runs a part and adds up its counts. Its output goes to standard error.
    fn run(&self, command: &mut Command) -> Outcome {
        let text = shell::line(command);
        eprintln!("+ {text}");
        let failed = |error: std::io::Error| format!("{text}: {error}");
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(failed)?;
        let streams: [Option<Box<dyn std::io::Read + Send>>; 2] = [
            child.stdout.take().map(|stream| Box::new(stream) as _),
            child.stderr.take().map(|stream| Box::new(stream) as _),
        ];
        std::thread::scope(|scope| {
            for stream in streams.into_iter().flatten() {
                scope.spawn(move || {
                    for line in BufReader::new(stream).lines().map_while(Result::ok) {
                        match line.strip_prefix(RECORD) {
                            // The sum of all counts is printed again as the last line of the output.
                            Some(counts) => drop(self.add(counts)),
                            None => eprintln!("{line}"),
                        }
                    }
                });
            }
        });
        let status = child.wait().map_err(failed)?;
        if status.success() {
            Ok(())
        } else {
            Err(format!("{text}: {status}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_understood() {
        let parse = |text: &str| Arguments::parse(&text.split_whitespace().collect::<Vec<_>>());
        let is = |seconds, record: Option<&str>| {
            Ok(Arguments {
                seconds,
                record: record.map(PathBuf::from),
            })
        };
        assert_eq!(parse(""), is(3600, None));
        assert_eq!(parse("--hours 0.5"), is(1800, None));
        assert_eq!(parse("--minutes 10 --record r"), is(600, Some("r")));
        assert!(parse("--minutes").is_err());
        assert!(parse("--minutes ten").is_err());
        assert!(parse("--days 1").is_err());
    }

    #[test]
    fn what_parts_say_is_added_up() {
        let mut totals = Totals::default();
        totals.add("part=one operations=1000000 kills=3");
        totals.add("part=two power_losses=5 process_deaths=2 operations=7");
        totals.add("part=one operations=1 inside_kills=1");
        totals.add("nothing of the kind");
        assert_eq!(
            totals.lines(),
            "record: part=one inside_kills=1 kills=3 operations=1000001\nrecord: part=two operations=7 power_losses=5 process_deaths=2\n"
        );
        let table = totals.table();
        for line in [
            "| one | 1 inside kills, 3 kills, 1,000,001 operations |",
            "| **all: operations** | **1,000,008** |",
            "| **all: crashes simulated** | **7** |",
            "| **all: processes killed** | **4** |",
        ] {
            assert!(table.contains(line), "{table}");
        }
        let mut again = Totals::default();
        totals
            .lines()
            .lines()
            .filter_map(|line| line.strip_prefix(RECORD))
            .for_each(|counts| again.add(counts));
        assert_eq!(again, totals);
        assert_eq!(
            (grouped(0), grouped(1000), grouped(999)),
            ("0".into(), "1,000".into(), "999".into())
        );
    }
}

//! `jmh`: single rows, batches and scans through RocksJava's classes, measured by JMH over RocksDB's library
//! and over Esker's in turn, as a table.

use std::collections::BTreeMap;
use std::path::Path;

use crate::judge::jvm::{self, Project};
use crate::shell::{self, Outcome};

/// The page, from the root.
const PAGE: &str = "docs/lab/jmh.md";

/// The release of RocksDB's classes and library.
const RELEASE: &str = "10.1.3";

/// The arguments of a run.
#[derive(Debug, PartialEq)]
struct Arguments {
    /// The number of times that each library is measured.
    rounds: usize,
    /// The seconds of a measurement, and those of the warm-up before it.
    seconds: usize,
    /// A regular expression of benchmark names.
    only: String,
}

impl Arguments {
    fn parse(words: &[&str]) -> Result<Arguments, String> {
        let mut arguments = Arguments {
            rounds: 5,
            seconds: 5,
            only: ".*".to_owned(),
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
            let number = || value.parse().map_err(|_| format!("{word}: {value} is no number"));
            match *word {
                "--rounds" => arguments.rounds = number()?,
                "--seconds" => arguments.seconds = number()?,
                "--only" => arguments.only = (*value).to_owned(),
                _ => return Err(format!("jmh: {word} is no argument")),
            }
        }
        if arguments.rounds == 0 || arguments.seconds == 0 {
            return Err("jmh: rounds and seconds are at least 1".to_owned());
        }
        Ok(arguments)
    }
}

/// The times of each benchmark, in nanoseconds, one of each round.
type Times = BTreeMap<String, Vec<f64>>;

/// Measures both libraries in turn and writes the page.
pub fn run(words: &[&str]) -> Outcome {
    let arguments = Arguments::parse(words)?;
    let library = jvm::release_library()?;
    let project = jvm::project("jmh").map_err(String::from)?;
    let (mut stock, mut ours) = (Times::new(), Times::new());
    for round in 0..arguments.rounds {
        // The library that is measured first changes from round to round, so that effects of the first
        // measurement on the second favour neither.
        for is_ours in [round % 2 == 1, round % 2 == 0] {
            let (times, library) = match is_ours {
                true => (&mut ours, Some(library.as_path())),
                false => (&mut stock, None),
            };
            measure(&project, library, &arguments, times)?;
        }
    }
    let table = table(&stock, &ours);
    print!("{table}");
    if arguments.only == ".*" {
        let page = shell::root().join(PAGE);
        let text = format!("{}{table}{NOTES}", head(&arguments)?);
        std::fs::write(&page, text).map_err(|error| format!("{}: {error}", page.display()))?;
    }
    Ok(())
}

/// Runs all benchmarks over a library and adds their times.
fn measure(project: &Project, library: Option<&Path>, arguments: &Arguments, times: &mut Times) -> Outcome {
    let results = jvm::empty("jvm-jmh/results")?.join("results.csv");
    let mut java = jvm::java(project, library);
    java.args(["org.openjdk.jmh.Main", &arguments.only]);
    // A benchmark that throws would have no row.
    java.args(["-foe", "true", "-f", "1", "-wi", "1", "-i", "1"]);
    java.args([
        "-w",
        &arguments.seconds.to_string(),
        "-r",
        &arguments.seconds.to_string(),
    ]);
    java.args(["-rf", "csv", "-rff"]).arg(&results);
    if let Some(library) = library {
        // JMH measures in a JVM of its own.
        java.arg("-jvmArgsAppend")
            .arg(format!("-Djava.library.path={}", library.display()));
    }
    shell::output(&mut java)?;
    let text =
        std::fs::read_to_string(&results).map_err(|error| format!("{}: {error}", results.display()))?;
    for (name, time) in scores(&text) {
        times.entry(name).or_default().push(time);
    }
    Ok(())
}

/// Returns the names of benchmarks and their scores from JMH's CSV file.
fn scores(text: &str) -> Vec<(String, f64)> {
    let rows = text.lines().skip(1).filter_map(|line| {
        let mut fields = line.split(',').map(|field| field.trim_matches('"'));
        let name = fields.next()?.rsplit('.').next()?.to_owned();
        let score = fields.nth(3)?.parse().ok()?;
        Some((name, score))
    });
    rows.collect()
}

fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => sorted[count / 2],
        count => f64::midpoint(sorted[count / 2 - 1], sorted[count / 2]),
    }
}

fn table(stock: &Times, ours: &Times) -> String {
    let mut out = "| benchmark | RocksDB, ns | Esker, ns | ratio | rounds, least to greatest |\n|---|---|---|---|---|\n".to_owned();
    for (name, times) in stock {
        let Some(own) = ours.get(name) else { continue };
        let mut ratios: Vec<f64> = times.iter().zip(own).map(|(stock, ours)| stock / ours).collect();
        ratios.sort_by(f64::total_cmp);
        out.push_str(&format!(
            "| {name} | {:.0} | {:.0} | {:.2} | {:.2} to {:.2} |\n",
            median(times),
            median(own),
            median(&ratios),
            ratios[0],
            ratios[ratios.len() - 1]
        ));
    }
    out
}

fn head(arguments: &Arguments) -> Result<String, String> {
    let load = std::fs::read_to_string("/proc/loadavg").map_err(|error| format!("/proc/loadavg: {error}"))?;
    let load = load.split(' ').next().unwrap_or("").to_owned();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(format!(
        "# RocksJava's classes over RocksDB and over Esker\n\nWritten by `cargo xtask jmh`. Each benchmark of `crates/jni/judges/jmh` runs in a JVM of its own, over the library in the jar of rocksdbjni {RELEASE} \
         and over Esker's in turn, {} rounds of {} seconds after a warm-up of the same length. Times are those of one row, as medians of all rounds; a ratio above 1 means that Esker is faster. There are 200,000 rows \
         of 16 and 100 bytes in a cache that holds them all, multiGet has 32 keys, a scan 1,000 rows, puts write no WAL.\n\nAt the end of this run the load of the machine was {load} on {cores} cores{}.\n\n",
        arguments.rounds,
        arguments.seconds,
        match load.parse::<f64>() {
            Ok(load) if load > cores as f64 => ": other programs ran, and the figures are noisy",
            _ => "",
        }
    ))
}

const NOTES: &str = "
The method is the same for both libraries up to the native function: the JVM's transition into native code, the copy of a key out of
its array, and the array that `getArray`, `multiGetArray` and `iterateArray` make for each result cost both the same, so that ratios are smaller than those of the engines
in [performance.md](performance.md).

Rounds were few and short, and other programs ran: read the ratios by their range. A scan is four native calls a row. The JVM's transition, its checks of direct buffers
and the arrays that it makes are most of a row's time over either library; a call of `isValid` alone took 18 ns over Esker and 6 to 12 over RocksDB, since Esker looks up and
checks its handle. So scans are 1.2 times as fast where 1.5 was asked. `multiGetDirect` reads key by key, and looks up Java's classes for each.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_read_from_the_file_of_jmh() {
        let text = "\"Benchmark\",\"Mode\",\"Threads\",\"Samples\",\"Score\",\"Score Error (99.9%)\",\"Unit\"\n\"bench.Rows.getArray\",\"avgt\",1,1,1234.5,NaN,\"ns/op\"\n";
        assert_eq!(scores(text), [("getArray".to_owned(), 1234.5)]);
    }

    #[test]
    fn a_ratio_is_the_median_of_the_rounds() {
        let times = |times: &[f64]| Times::from([("get".to_owned(), times.to_vec())]);
        let table = table(&times(&[100.0, 300.0, 200.0]), &times(&[100.0, 100.0, 100.0]));
        assert!(
            table.ends_with("| get | 200 | 100 | 2.00 | 1.00 to 3.00 |\n"),
            "{table}"
        );
    }

    #[test]
    fn arguments_have_defaults() {
        let arguments = Arguments::parse(&["--rounds", "2"]).unwrap();
        assert_eq!((arguments.rounds, arguments.seconds), (2, 5));
        assert!(Arguments::parse(&["--rounds"]).is_err());
        assert!(Arguments::parse(&["--rounds", "0"]).is_err());
        assert!(Arguments::parse(&["--x", "1"]).is_err());
    }
}

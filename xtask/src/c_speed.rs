//! `c-speed`: the costs of single operations through the C interface, compared with those through the Rust
//! interface and those of RocksDB's C library. `crates/capi/examples/speed.c` and `speed.rs` are the loops.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::judge::turns;
use crate::library::Library;
use crate::shell::{self, Outcome};

/// The page of the last run, from the root.
const PAGE: &str = "docs/lab/c_interface.md";

/// The rows of a database whose operations are timed, and of one whose instructions are counted.
const ROWS: &str = "200000";
const COUNTED_ROWS: &str = "20000";

/// The operations, as the programs name them.
const OPERATIONS: &[&str] = &[
    "put",
    "batch",
    "get of a memtable",
    "get",
    "get_pinned",
    "iterator step",
];

/// One of the compared programs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Face {
    Rust,
    C,
    RocksDb,
}

const FACES: &[Face] = &[Face::Rust, Face::C, Face::RocksDb];

struct Programs {
    rust: PathBuf,
    c: PathBuf,
    /// The directory of Esker's library, under the name of the library that the C program was linked to.
    ours: PathBuf,
    scratch: PathBuf,
}

/// Runs the programs in turn, for the number of rounds in `words`, counts their instructions, and writes the
/// page.
pub fn run(words: &[&str]) -> Outcome {
    let rounds = match words {
        [] => 7,
        ["--rounds", number] => number
            .parse()
            .map_err(|_| format!("{number} is not a number of rounds"))?,
        _ => return Err(format!("not understood: {}", words.join(" "))),
    };
    let programs = Programs::build()?;
    let times = programs.times(rounds)?;
    let counts = programs.counts()?;
    let page = page(rounds, &times, counts.as_ref());
    print!("{page}");
    let path = shell::root().join(PAGE);
    fs::write(&path, page).map_err(|error| format!("{}: {error}", path.display()))
}

/// The figures of each operation through one of the compared interfaces, one for each round.
type Figures = BTreeMap<(Face, &'static str), Vec<f64>>;

impl Programs {
    fn build() -> Result<Programs, String> {
        let theirs = turns::theirs().map_err(String::from)?;
        let scratch = shell::root().join("target/c-speed");
        fs::create_dir_all(&scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
        let release = ["--release", "--lib", "--example", "speed"];
        let library = Library::built(&release)?;
        let ours = library.named("7.8", &scratch.join("lib"))?.load;
        let programs = Programs {
            rust: shell::target().join("release/examples/speed"),
            c: scratch.join("speed"),
            ours,
            scratch,
        };
        shell::run(
            shell::command("cc")
                .args([
                    "-std=gnu11",
                    "-O2",
                    "-Wall",
                    "-Werror",
                    "-DROCKSDB_GENERATION=708",
                    "-o",
                ])
                .arg(&programs.c)
                .arg(format!(
                    "-I{}",
                    shell::root().join("crates/capi/include").display()
                ))
                .arg(shell::root().join("crates/capi/examples/speed.c"))
                .arg(&theirs),
        )?;
        Ok(programs)
    }

    /// Sets a command to run the program of the interface `face` over an empty directory.
    fn arguments(&self, command: &mut Command, face: Face, rows: &str) {
        let place = self.scratch.join("database");
        let _ = fs::remove_dir_all(&place);
        match face {
            Face::Rust => command.arg(&self.rust),
            Face::C => command.arg(&self.c).env("LD_LIBRARY_PATH", &self.ours),
            Face::RocksDb => command.arg(&self.c).env_remove("LD_LIBRARY_PATH"),
        };
        command.arg(place).arg(rows);
    }

    /// Runs the programs in turn. Each round begins with a different program.
    fn times(&self, rounds: usize) -> Result<Figures, String> {
        let mut figures = Figures::new();
        for round in 0..rounds {
            for at in 0..FACES.len() {
                let face = FACES[(round + at) % FACES.len()];
                let mut command = shell::command("env");
                self.arguments(&mut command, face, ROWS);
                let said = shell::output(&mut command)?;
                for operation in OPERATIONS {
                    let figure = figure(&said, operation)?;
                    figures.entry((face, *operation)).or_default().push(figure);
                }
            }
            eprintln!("round {} of {rounds}", round + 1);
        }
        Ok(figures)
    }

    /// Counts the instructions of each operation; `None` without a valgrind that can run the programs: an old
    /// one ends them when they first read the clock.
    fn counts(&self) -> Result<Option<Figures>, String> {
        if shell::which("valgrind").is_none() {
            return Ok(None);
        }
        let without_auxv = self.scratch.join("without_auxv");
        shell::run(
            shell::command("cc")
                .args(["-O1", "-Wall", "-Werror", "-o"])
                .arg(&without_auxv)
                .arg(shell::root().join("crates/capi/examples/without_auxv.c")),
        )?;
        let rows: f64 = COUNTED_ROWS.parse().unwrap_or(1.0);
        let mut figures = Figures::new();
        for face in FACES {
            for operation in OPERATIONS {
                let mut command = shell::command(&without_auxv);
                command.args(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]);
                command.args(["--collect-atstart=no", "--toggle-collect=*measured*"]);
                self.arguments(&mut command, *face, COUNTED_ROWS);
                let output = command
                    .arg(operation)
                    .output()
                    .map_err(|error| error.to_string())?;
                let said = String::from_utf8_lossy(&output.stderr);
                let counted = said
                    .lines()
                    .find_map(|line| line.split_once("Collected : ")?.1.split_whitespace().next())
                    .and_then(|number| number.parse::<f64>().ok())
                    .ok_or_else(|| format!("callgrind counted nothing:\n{said}"))?;
                if !output.status.success() || counted == 0.0 {
                    eprintln!("valgrind cannot run the programs: no instructions are counted");
                    return Ok(None);
                }
                figures.insert((*face, *operation), vec![counted / rows]);
            }
        }
        Ok(Some(figures))
    }
}

/// The figure of an operation in the output of a program.
fn figure(said: &str, operation: &str) -> Result<f64, String> {
    said.lines()
        .filter_map(|line| line.split_once('\t'))
        .find(|(name, _)| *name == operation)
        .and_then(|(_, figure)| figure.parse().ok())
        .ok_or_else(|| format!("no figure of {operation} in:\n{said}"))
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    match figures.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => figures[count / 2],
        count => (figures[count / 2 - 1] + figures[count / 2]) / 2.0,
    }
}

/// The median over rounds of what `of` makes of the figures of two interfaces in the same round.
fn between(
    figures: &Figures,
    one: Face,
    other: Face,
    operation: &'static str,
    of: fn(f64, f64) -> f64,
) -> f64 {
    let none = Vec::new();
    let take = |face| figures.get(&(face, operation)).unwrap_or(&none);
    median(
        take(one)
            .iter()
            .zip(take(other))
            .map(|(one, other)| of(*one, *other))
            .collect(),
    )
}

fn table(figures: &Figures, unit: &str) -> String {
    let mut out = format!(
        "| operation | Rust, {unit} | C, {unit} | C less Rust | C / Rust | RocksDB's C, {unit} | RocksDB / Rust | RocksDB / C |\n\
         |---|---|---|---|---|---|---|---|\n"
    );
    for operation in OPERATIONS {
        let own = |face| median(figures.get(&(face, *operation)).cloned().unwrap_or_default());
        let ratio = |one, other| between(figures, one, other, operation, |one, other| one / other);
        let _ = writeln!(
            out,
            "| {operation} | {:.0} | {:.0} | {:.0} | {:.2} | {:.0} | {:.2} | {:.2} |",
            own(Face::Rust),
            own(Face::C),
            between(figures, Face::C, Face::Rust, operation, |c, rust| c - rust),
            ratio(Face::C, Face::Rust),
            own(Face::RocksDb),
            ratio(Face::RocksDb, Face::Rust),
            ratio(Face::RocksDb, Face::C),
        );
    }
    out
}

fn page(rounds: usize, times: &Figures, counts: Option<&Figures>) -> String {
    let mut page = format!(
        "# The cost of the C interface\n\n\
         Written by `cargo xtask c-speed`: single operations through Esker's Rust interface (`crates/capi/examples/speed.rs`), through its C\n\
         interface (`speed.c`), and the same C program over RocksDB 7.8 as Debian builds it. {ROWS} rows of 16 and 100 bytes, no WAL, no\n\
         compression; `get`, `get_pinned` and the steps read one level of tables from the cache. {rounds} rounds, the three programs in turn in each;\n\
         medians, and medians of the differences and ratios of a round, in the time that the machine spent on the calling thread.\n\n\
             ## Nanoseconds\n\n"
    );
    page.push_str(&table(times, "ns"));
    if let Some(counts) = counts {
        let _ = write!(
            page,
            "\n## Instructions\n\nBy `valgrind --tool=callgrind`, of {COUNTED_ROWS} rows: they do not depend on what else the machine does. They include\n\
             those of a program's loop.\n\n{}",
            table(counts, "instructions")
        );
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_and_ratios_are_of_the_same_round() {
        let mut figures = Figures::new();
        for operation in OPERATIONS {
            figures.insert((Face::Rust, *operation), vec![100.0, 200.0, 400.0]);
            figures.insert((Face::C, *operation), vec![110.0, 230.0, 420.0]);
            figures.insert((Face::RocksDb, *operation), vec![300.0, 600.0, 1200.0]);
        }
        let page = page(3, &figures, None);
        let row = "| put | 200 | 230 | 20 | 1.10 | 600 | 3.00 | 2.73 |";
        assert!(page.lines().any(|line| line == row), "{page}");
        assert_eq!(figure("put\t12.5\nget\t7.0\n", "get"), Ok(7.0));
        assert!(figure("put\t12.5\n", "get").is_err());
    }
}

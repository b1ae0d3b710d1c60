//! The document: each table with the documents' figures, RocksDB's and ours, and the machine.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use super::args::PublishedArgs;
use super::figure::{NO_JOB, Side};
use super::run::{Cell, Runner};
use super::table::{Metric, Row, RunMethod, Table};

const SOURCES: &str = "\
S1 is RocksDB's pull request 13354 (iterators that refresh themselves), S2 its pull requests 4449 and 4493 (range
tombstones), S3 the posts of Mark Callaghan's Small Datum about RocksDB's internals, S4 CockroachDB's pull request 51462
(garbage collection of versions). Documents' figures are from the
machines of their authors, mostly larger ones, and from RocksDB's releases of their time: they say what shape a table
has, not how fast this machine should be. RocksDB and Esker are compared with each other, on this machine, in turn.
";

/// The whole document.
pub fn document(
    args: &PublishedArgs,
    dir: &Path,
    runner: &Runner,
    tables: &[(&Table, Vec<Cell>)],
    took: Duration,
) -> String {
    let mut text = String::from(
        "# Published tables, run again\n\nWritten by `cargo xtask published`; do not edit. For how it works see [benchmark.md](../benchmark.md).\n\n",
    );
    text.push_str(SOURCES);
    text.push('\n');
    text.push_str(&machine(dir));
    for line in &runner.introduction {
        let _ = writeln!(text, "* db_bench of RocksDB: {line}");
    }
    let _ = writeln!(
        text,
        "* Esker: version {}, plain release build\n* scale {}, {} rounds, {} minutes",
        env!("CARGO_PKG_VERSION"),
        args.scale,
        args.rounds,
        (took.as_secs() + 30) / 60
    );
    let spread = if args.rounds < 6 {
        "least and greatest of a round"
    } else {
        "a 95% interval"
    };
    let _ = write!(
        text,
        "\nFigures are medians of all rounds; with a ± they are means and standard deviations of a round. A ratio above 1 means that Esker is better, whichever way better is; in parentheses {spread}.\n"
    );
    for (table, cells) in tables {
        text.push_str(&one(table, cells));
    }
    text
}

fn one(table: &Table, cells: &[Cell]) -> String {
    let mut text = format!("\n## {}: {}\n\n{}\n\n", table.source, table.title, table.note);
    text.push_str(&commands(&table.rows));
    // Documents with figures from before a change have a column for those figures.
    let compares = table.rows.iter().any(|row| row.before.is_some());
    let (before, line) = if compares {
        (" document, before |", "---|")
    } else {
        ("", "")
    };
    let _ = writeln!(
        text,
        "| | unit |{before} document | RocksDB here | Esker here | ratio |\n|---|---|{line}---|---|---|---|"
    );
    let mut failures: Vec<String> = Vec::new();
    let mut uncounted = None;
    for (row, cell) in table.rows.iter().zip(cells) {
        // A processor without a counter of instructions, as in many virtual machines, leaves out these rows.
        if let (Metric::InstructionsPerCall, Err(message), Err(_)) = (row.metric, &cell.ours, &cell.theirs) {
            uncounted.get_or_insert_with(|| one_line(message));
            continue;
        }
        let mut side = |who: &str, side: &Side, mean: Option<(f64, f64)>| match side {
            Ok(figure) => match mean.filter(|_| table.means) {
                Some((mean, deviation)) => format!("{} ± {}", number(mean), number(deviation)),
                None => number(*figure),
            },
            Err(message) if message == NO_JOB => "no job".to_owned(),
            Err(message) => {
                let failure = format!("{who}: {}", one_line(message));
                if !failures.contains(&failure) {
                    failures.push(failure.clone());
                }
                let at = failures.iter().position(|other| *other == failure).unwrap_or(0);
                format!("{} [{}]", short(who, message), at + 1)
            }
        };
        let theirs = side("RocksDB", &cell.theirs, cell.means[1]);
        let ours = side("Esker", &cell.ours, cell.means[0]);
        let ratio = cell
            .ratio
            .as_ref()
            .map_or_else(|| "-".to_owned(), ToString::to_string);
        let before = if compares {
            format!("{} | ", row.before.unwrap_or("-"))
        } else {
            String::new()
        };
        let _ = writeln!(
            text,
            "| {} | {} | {before}{} | {theirs} | {ours} | {ratio} |",
            row.label,
            row.metric.name(),
            row.published
        );
    }
    if let Some(message) = uncounted {
        let _ = writeln!(text, "\nRows of instructions are left out: {message}.");
    }
    if !failures.is_empty() {
        text.push('\n');
    }
    for (at, failure) in failures.iter().enumerate() {
        let _ = writeln!(text, "{}. {failure}", at + 1);
    }
    text
}

/// The first command of the table; the commands of other rows differ as these rows say.
fn commands(rows: &[Row]) -> String {
    let Some(row) = rows
        .iter()
        .find(|row| matches!(row.run, RunMethod::DbBench { .. }))
    else {
        return String::new();
    };
    let RunMethod::DbBench { setup, flags, .. } = &row.run else {
        return String::new();
    };
    let mut text = format!("Command of the row \"{}\":\n\n```sh\n", row.label);
    if let Some(setup) = setup {
        let _ = writeln!(text, "db_bench {} --db=DB", setup.flags);
    }
    let existing = if setup.is_some() {
        " --use_existing_db=true"
    } else {
        ""
    };
    let _ = writeln!(text, "db_bench {flags}{existing} --db=DB\n```\n");
    text
}

/// A figure with about four digits.
fn number(figure: f64) -> String {
    if figure.is_infinite() {
        return "INF".to_owned();
    }
    if figure != 0.0 && figure.abs() < 0.001 {
        return format!("{figure:.2e}");
    }
    let decimals = match figure.abs() {
        large if large >= 1_000.0 => 0,
        middle if middle >= 10.0 => 1,
        small if small >= 0.1 => 2,
        _ => 4,
    };
    format!("{figure:.decimals$}")
}

fn one_line(message: &str) -> String {
    let line: Vec<&str> = message.split_whitespace().collect();
    line.join(" ").replace('|', "\\|")
}

/// The cell of a program that failed.
fn short(who: &str, message: &str) -> &'static str {
    let unknown = [
        "nothing behind it here",
        "does not have yet",
        "unknown benchmark",
        "unknown flag",
        "unknown command line flag",
    ];
    if unknown.iter().any(|words| message.contains(words)) {
        if who == "Esker" {
            "not built yet"
        } else {
            "not in this release"
        }
    } else if message.contains("not in the output") {
        "not told"
    } else {
        "failed"
    }
}

/// The processor, memory, kernel, and file system of `dir`.
fn machine(dir: &Path) -> String {
    let file = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = file("/proc/cpuinfo");
    let models: Vec<&str> = cpuinfo
        .lines()
        .filter(|line| line.starts_with("model name"))
        .filter_map(|line| line.split_once(':').map(|(_, model)| model.trim()))
        .collect();
    let memory = file("/proc/meminfo")
        .lines()
        .find_map(|line| {
            line.strip_prefix("MemTotal:")?
                .split_whitespace()
                .next()?
                .parse::<u64>()
                .ok()
        })
        .unwrap_or(0);
    let kernel = file("/proc/sys/kernel/osrelease");
    let mounts = file("/proc/mounts");
    let kind = mounts
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ').skip(1);
            Some((words.next()?, words.next()?))
        })
        .filter(|(point, _)| dir.starts_with(point))
        .max_by_key(|(point, _)| point.len())
        .map_or("unknown", |(_, kind)| kind);
    format!(
        "* {} * {}, {:.0} GiB of memory, Linux {}, databases on {kind}\n",
        models.len(),
        models.first().unwrap_or(&"unknown processor"),
        memory as f64 / 1_048_576.0,
        kernel.trim()
    )
}

#[cfg(test)]
mod tests {
    use super::super::table::Sizes;
    use super::super::tables;
    use super::*;

    #[test]
    fn cells_without_a_figure_say_why() {
        let table = Table {
            source: "S9",
            title: "T",
            note: "N",
            means: false,
            rows: vec![Row {
                label: "row".to_owned(),
                published: "12".to_owned(),
                before: None,
                metric: Metric::OpsPerSecond,
                run: RunMethod::Engines {
                    benchmark: bench_worker::workload::Workload::FillSeq,
                    num: 1,
                    write_buffer_size: 1,
                },
            }],
        };
        let cell = Cell {
            ours: Err("db_bench failed: --async_io=true: a flag of RocksDB's db_bench that has nothing behind it here yet".to_owned()),
            theirs: Ok(23_954.5),
            means: [None, Some((23_950.25, 4.5))],
            ratio: None,
        };
        let text = one(&table, std::slice::from_ref(&cell));
        assert!(
            text.contains("| row | ops/s | 12 | 23954 | not built yet [1] | - |"),
            "{text}"
        );
        assert!(
            text.contains("\n1. Esker: db_bench failed: --async_io=true"),
            "{text}"
        );
        let mut compared = Table { means: true, ..table };
        let text = one(&compared, std::slice::from_ref(&cell));
        assert!(
            text.contains("| row | ops/s | 12 | 23950 ± 4.50 | not built yet [1] | - |"),
            "{text}"
        );
        compared.rows[0].before = Some("6");
        let text = one(&compared, &[cell]);
        assert!(text.contains("| ops/s | 6 | 12 | 23950"), "{text}");
    }

    #[test]
    fn figures_are_short() {
        let figures = [
            0.0,
            0.000_008_744,
            0.004_012,
            2.345,
            38.81,
            1_234_567.8,
            f64::INFINITY,
        ];
        let texts: Vec<String> = figures.map(number).into();
        assert_eq!(
            texts,
            ["0.0000", "8.74e-6", "0.0040", "2.35", "38.8", "1234568", "INF"]
        );
    }

    #[test]
    fn every_row_can_be_run_at_every_scale() {
        for scale in [0.001, 1.0, 30.0] {
            let tables = tables::all(&Sizes { scale });
            for row in tables.iter().flat_map(|table| &table.rows) {
                assert!(!row.label.is_empty() && !row.published.is_empty());
                match &row.run {
                    RunMethod::DbBench {
                        setup,
                        flags,
                        workload,
                    } => {
                        for flags in setup.iter().map(|setup| &setup.flags).chain([flags]) {
                            for flag in flags.split_whitespace() {
                                assert!(flag.starts_with("--") && flag.contains('='), "{flag} in {flags}");
                                assert!(
                                    !flag.ends_with("=0")
                                        || flag.starts_with("--cache_size")
                                        || flag.starts_with("--min_level"),
                                    "{flag}"
                                );
                            }
                        }
                        assert!(flags.contains(workload), "{workload} in {flags}");
                    }
                    RunMethod::Collect(case) => assert!(case.delete < case.versions),
                    RunMethod::Collection(case) => assert!(case.delete < case.versions),
                    RunMethod::Ycsb(case) => assert!(case.keys > 0 && !case.time.is_zero()),
                    RunMethod::Engines { .. } | RunMethod::Versions(_) => {}
                }
            }
        }
    }

    /// The name of the setup: rows whose setups have the same name share one database.
    #[test]
    fn setups_of_a_name_are_the_same() {
        let mut known = std::collections::HashMap::new();
        for row in tables::all(&Sizes { scale: 1.0 })
            .iter()
            .flat_map(|table| &table.rows)
        {
            if let RunMethod::DbBench {
                setup: Some(setup), ..
            } = &row.run
            {
                let flags = known
                    .entry(setup.name.clone())
                    .or_insert_with(|| setup.flags.clone());
                assert_eq!(*flags, setup.flags, "{}", setup.name);
            }
        }
    }
}

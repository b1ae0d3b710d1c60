//! `nightly`: the checks that take too long for every change, in pieces, and the page that records the time
//! and the result of each.

use std::ops::Range;
use std::path::Path;
use std::time::Instant;

use crate::part::Part;
use crate::shell::{self, Outcome};
use crate::{
    book, canary, cross, delays, dist, features, fuzz, judge, package, python, sanitize, seen, soak, test_run,
};

/// A check that runs on its own.
struct Piece {
    name: String,
    /// The approximate time of the piece on two cores, including its build.
    minutes: u64,
    run: Box<dyn Fn() -> Outcome>,
}

/// The number of shares of the planted bugs; each is a piece.
const CANARY_PARTS: usize = 2;

/// The number of planted bugs for which an hour is enough.
#[cfg(test)]
const CANARIES_AN_HOUR: usize = 300;

fn piece(name: impl Into<String>, minutes: u64, run: impl Fn() -> Outcome + 'static) -> Piece {
    Piece {
        name: name.into(),
        minutes,
        run: Box::new(run),
    }
}

/// All pieces, in the order in which they run.
fn pieces() -> Vec<Piece> {
    let soaked = || soak::run(&soak::Arguments::parse(&["--minutes", "45"])?);
    let mut pieces = vec![
        piece("soak on fresh seeds, 45 minutes", 60, soaked),
        piece("tests optimised, on fresh seeds", 40, optimised_tests),
        piece("ten times what there usually is little of", 15, limits),
        piece("loom", 20, loom),
        piece("fuzz targets, a minute each", 35, || fuzz::quick(60)),
        piece("judges: RocksDB in turns and under the same plans", 60, judges),
        piece(
            "programs of others over the C library and esker-rocksdb",
            60,
            judge::nightly,
        ),
        piece("every bit of a small database", 30, every_bit),
        piece("the book", 1, book::nightly),
        piece("the packages of all crates", 15, package::nightly),
        piece("what is given away, built twice", 40, dist::nightly),
        piece(
            "builds with a part of the features, and for other machines",
            20,
            || {
                features::run()?;
                features::cross()?;
                cross::run(&[])
            },
        ),
        piece("memcheck", 50, sanitize::valgrind),
        piece("the Python package and its notebook", 20, python::nightly),
        piece(
            "Prometheus over the metrics, Chromium over the page",
            15,
            seen::nightly,
        ),
    ];
    for (name, count) in judge::in_pieces() {
        for number in 1..=count {
            let part = format!("{number}/{count}");
            let title = format!("judge {name} {part}");
            pieces.push(piece(title, 60, move || judge::run(&[name, "--part", &part])));
        }
    }
    for sanitizer in sanitize::SANITIZERS {
        let run = move || sanitize::run(sanitizer, None);
        pieces.push(piece(format!("{sanitizer} sanitizer"), 30, run));
    }
    for number in 1..=CANARY_PARTS {
        let part = Part::new(number, CANARY_PARTS).expect("the number is within the count");
        let run = move || canary::run("", part);
        pieces.push(piece(format!("planted bugs {number}/{CANARY_PARTS}"), 60, run));
    }
    for number in 1..=delays::COUNT {
        let title = format!("tests under delays {number}/{}", delays::COUNT);
        pieces.push(piece(title, 60, move || delays::nightly(number)));
    }
    pieces
}

/// The pieces that run in each hour, in their order.
fn hours(minutes: &[u64]) -> Vec<Range<usize>> {
    let mut hours: Vec<Range<usize>> = Vec::new();
    let mut left = 0;
    for (at, &own) in minutes.iter().enumerate() {
        match hours.last_mut() {
            Some(hour) if own <= left => hour.end = at + 1,
            _ => {
                hours.push(at..at + 1);
                left = 60;
            }
        }
        left -= own.min(left);
    }
    hours
}

/// The pieces of the hours in `part`, together.
fn share(minutes: &[u64], part: Part) -> Range<usize> {
    let hours = hours(minutes);
    let own = &hours[part.of(hours.len())];
    match (own.first(), own.last()) {
        (Some(first), Some(last)) => first.start..last.end,
        _ => 0..0,
    }
}

/// Runs the pieces of `part`, even after earlier ones have failed, and records each in [`PAGE`].
pub fn run(part: Part) -> Outcome {
    let pieces = pieces();
    let minutes: Vec<u64> = pieces.iter().map(|piece| piece.minutes).collect();
    let mut failed = Vec::new();
    for piece in &pieces[share(&minutes, part)] {
        eprintln!("nightly: {}", piece.name);
        let start = Instant::now();
        let outcome = (piece.run)();
        let row = row(
            &piece.name,
            &today()?,
            &commit()?,
            start.elapsed().as_secs().div_ceil(60),
            &outcome,
        );
        note(&shell::root().join(PAGE), &pieces, &piece.name, &row)?;
        if let Err(found) = outcome {
            failed.push(format!("{}: {found}", piece.name));
        }
    }
    if failed.is_empty() {
        Ok(())
    } else {
        Err(failed.join("\nerror: "))
    }
}

/// Lists the parts of an hour with their pieces.
pub fn list() -> Outcome {
    let pieces = pieces();
    let minutes: Vec<u64> = pieces.iter().map(|piece| piece.minutes).collect();
    let hours = hours(&minutes);
    for (number, hour) in hours.iter().enumerate() {
        let part = format!("--part {}/{}", number + 1, hours.len());
        for piece in &pieces[hour.clone()] {
            println!("{part}\t{} minutes\t{}", piece.minutes, piece.name);
        }
    }
    Ok(())
}

/// The path of the page, from the root.
const PAGE: &str = "docs/lab/nightly.md";

const BEGIN: &str = "<!-- nightly -->";
const END: &str = "<!-- end nightly -->";

fn today() -> Result<String, String> {
    shell::output(shell::command("date").args(["-u", "+%Y-%m-%d"])).map(|date| date.trim().to_owned())
}

/// The commit of the run, with a plus sign if files differ from it. The page itself, which each piece
/// changes, does not count.
fn commit() -> Result<String, String> {
    let git = |args: &[&str]| shell::output(shell::command("git").args(args));
    let commit = git(&["rev-parse", "--short", "HEAD"])?;
    let changed = git(&["status", "--porcelain", "--untracked-files=no"])?;
    let differs = changed.lines().any(|line| !line.ends_with(PAGE));
    Ok(format!("{}{}", commit.trim(), if differs { "+" } else { "" }))
}

/// The length of a message that fits the table.
const MOST: usize = 100;

fn row(name: &str, date: &str, commit: &str, minutes: u64, outcome: &Outcome) -> String {
    let found = match outcome {
        Ok(()) => "nothing".to_owned(),
        Err(message) => {
            let line = message.lines().next().unwrap_or("").replace('|', "/");
            line.chars().take(MOST).collect()
        }
    };
    format!("| {name} | {date} | {commit} | {minutes} min | {found} |")
}

/// Replaces the row of the piece.
fn note(page: &Path, pieces: &[Piece], name: &str, row: &str) -> Outcome {
    let failed = |error: std::io::Error| format!("{}: {error}", page.display());
    let text = std::fs::read_to_string(page).map_err(failed)?;
    let is_run = |name: &str| pieces.iter().any(|piece| piece.name == name);
    let text = with_row(&text, name, row, is_run).ok_or_else(|| format!("{}: no {BEGIN}", page.display()))?;
    std::fs::write(page, text).map_err(failed)
}

/// Returns the page `text` with the row of the piece `name`, and without rows of pieces that no longer exist.
fn with_row(text: &str, name: &str, row: &str, is_run: impl Fn(&str) -> bool) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (table, after) = rest.split_once(END)?;
    let mut lines: Vec<&str> = table.trim().lines().collect();
    // The first two lines are the head of the table.
    let mut at = 0;
    lines.retain(|line| {
        at += 1;
        at <= 2 || piece_of(line).is_some_and(&is_run)
    });
    let own = format!("| {name} |");
    match lines.iter_mut().find(|line| line.starts_with(&own)) {
        Some(line) => *line = row,
        None => lines.push(row),
    }
    Some(format!("{before}{BEGIN}\n{}\n{END}{after}", lines.join("\n")))
}

/// The name of the piece that a row is about.
fn piece_of(row: &str) -> Option<&str> {
    let (name, _) = row.strip_prefix("| ")?.split_once(" |")?;
    Some(name)
}

/// Runs the tests without debug assertions, as databases run.
fn optimised_tests() -> Outcome {
    test_run::test_on_fresh_seeds(&["--release".to_owned()])
}

/// Runs the tests of large numbers of objects with ten times as many objects as a plain run, and those of
/// rows of their real size, gigabytes, one at a time.
fn limits() -> Outcome {
    let rows = ["row_limit::", "--", "--test-threads=1"];
    for mut command in [test_of("esker-dbtest", &["limits::"]), test_of("esker", &rows)] {
        shell::run(command.env("ESKER_LIMITS", "10").env("ESKER_SEED", "random"))?;
    }
    Ok(())
}

/// Flips each of the eight bits of every byte.
fn every_bit() -> Outcome {
    shell::run(test_of("esker-dbtest", &["bit_flips::"]).env("ESKER_ALL_BITS", "1"))
}

/// `cargo test` of the integration tests of `package`, optimised, with more arguments.
fn test_of(package: &str, args: &[&str]) -> std::process::Command {
    let mut command = shell::cargo();
    command
        .args(["test", "--release", "--package", package, "--test", "it"])
        .args(args);
    command
}

/// Runs RocksDB itself, which `bench-compare` links, over the same plans, and in turns with Esker over one
/// directory.
fn judges() -> Outcome {
    let mut command = shell::cargo();
    command.args(["test", "--release", "--package", "bench-compare"]);
    shell::run(
        command
            .env("ESKER_METAMORPHIC_PLANS", "200")
            .env("ESKER_TURNS", "1000")
            .env("ESKER_SEED", "random"),
    )
}

/// The crates that model-check their concurrency under `cfg(loom)`.
const LOOM_CRATES: &[&str] = &["esker-memtable", "esker-cache", "esker"];

fn loom() -> Outcome {
    for package in LOOM_CRATES {
        let build = shell::root().join("target/loom");
        let mut command = shell::cargo();
        command.args(["test", "--release", "--package", package, "--lib", "loom"]);
        shell::run(
            command
                .env("RUSTFLAGS", "--cfg loom")
                .env("CARGO_TARGET_DIR", build),
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_fits_an_hour() {
        let minutes: Vec<u64> = pieces().iter().map(|piece| piece.minutes).collect();
        let hours = hours(&minutes);
        for hour in &hours {
            let taken: u64 = minutes[hour.clone()].iter().sum();
            assert!(taken <= 60, "{hour:?} takes {taken} minutes");
        }
        for count in 1..=hours.len() {
            let parts = (1..=count).filter_map(|number| Part::new(number, count));
            let shared: Vec<usize> = parts.flat_map(|part| share(&minutes, part)).collect();
            assert_eq!(shared, (0..minutes.len()).collect::<Vec<_>>(), "{count} parts");
        }
        let planted = canary::canaries().count();
        assert!(
            planted <= CANARY_PARTS * CANARIES_AN_HOUR,
            "{planted} planted bugs are more than {CANARY_PARTS} hours have room for"
        );
    }

    #[test]
    fn a_piece_has_one_row() {
        let page = "# Nightly\n\n<!-- nightly -->\n| piece | found |\n|---|---|\n| loom | old |\n<!-- end nightly -->\nAfter.\n";
        let with_row = |page, name, row| with_row(page, name, row, |name| name != "gone");
        let replaced = with_row(page, "loom", "| loom | new |").unwrap();
        assert_eq!(replaced, page.replace("old", "new"));
        let added = with_row(&replaced, "soak", "| soak | nothing |").unwrap();
        assert!(added.contains("| loom | new |\n| soak | nothing |\n<!-- end nightly -->\nAfter.\n"));
        let stale = page.replace("| loom |", "| gone | old |\n| loom |");
        assert_eq!(
            with_row(&stale, "loom", "| loom | new |").as_ref(),
            Some(&replaced)
        );
        assert_eq!(with_row("no table", "loom", ""), None);
    }

    #[test]
    fn a_row_says_what_was_found_in_a_line() {
        assert_eq!(
            row("loom", "2026-01-02", "abc", 7, &Ok(())),
            "| loom | 2026-01-02 | abc | 7 min | nothing |"
        );
        let found = Err("cargo test: a|b\nmore".to_owned());
        assert_eq!(
            row("loom", "2026-01-02", "abc+", 7, &found),
            "| loom | 2026-01-02 | abc+ | 7 min | cargo test: a/b |"
        );
    }

    #[test]
    fn the_page_has_a_table() {
        let page = std::fs::read_to_string(shell::root().join(PAGE)).unwrap();
        assert!(with_row(&page, "loom", "| loom |", |_| true).is_some());
        let (_, rows) = page.split_once(BEGIN).unwrap();
        let (rows, _) = rows.split_once(END).unwrap();
        let pieces = pieces();
        for row in rows.trim().lines().skip(2) {
            let name = piece_of(row).unwrap();
            assert!(pieces.iter().any(|piece| piece.name == name), "no piece {name}");
        }
        assert!(page.lines().count() <= 60, "the page is a screen long");
    }
}

//! Every number of a counter is counted, or has its reason in docs/statistics.md.

use esker::{Histogram, Ticker};

use super::names_of;
use crate::generation::Generation;
use crate::perf::METRICS;

/// A table of names and reasons: each row has patterns of names.
struct Reasons(Vec<(Vec<&'static str>, &'static str)>);

impl Reasons {
    /// The first table after the line `after`.
    fn below(after: &str) -> Reasons {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/statistics.md");
        let page: &'static str = std::fs::read_to_string(page).expect("the page").leak();
        let (_, below) = page.split_once(after).expect("the section");
        let rows = below.lines().skip_while(|line| !line.starts_with("|---"));
        let rows = rows.skip(1).take_while(|line| line.starts_with('|'));
        let row = |line: &'static str| {
            let mut cells = line.trim_matches('|').split(" | ").map(str::trim);
            let (names, why) = (cells.next().expect("names"), cells.next().expect("a reason"));
            (names.split('`').skip(1).step_by(2).collect(), why)
        };
        Reasons(rows.map(row).collect())
    }

    /// The reason of the first pattern that has `name`.
    fn of(&self, name: &str) -> Option<&'static str> {
        let has = |patterns: &[&str]| patterns.iter().any(|pattern| matches(pattern, name));
        self.0
            .iter()
            .find(|(patterns, _)| has(patterns))
            .map(|(_, why)| *why)
    }

    /// The patterns that have none of `names`.
    fn idle(&self, names: &[&str]) -> Vec<&'static str> {
        let patterns = self.0.iter().flat_map(|(patterns, _)| patterns.iter().copied());
        let is_idle = |pattern: &&str| !names.iter().any(|name| matches(pattern, name));
        patterns.filter(is_idle).collect()
    }
}

/// True if `name` fits a pattern in which `*` stands for any text.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name
            .strip_prefix(start)
            .is_some_and(|name| (0..=name.len()).any(|at| matches(rest, &name[at..]))),
    }
}

const GENERATIONS: [Generation; 4] = [
    Generation::V7_8,
    Generation::V10_4,
    Generation::V10_9,
    Generation::V11_8,
];

/// The numbers of a kind of counters in each generation, and for each name whether it is counted, or why not.
fn numbers(
    kind: usize,
    counted: impl Fn(&str) -> bool,
    reasons: &Reasons,
    idle: &mut Vec<&'static str>,
) -> String {
    let mut text = String::from("| name | 7.8 | 10.4 | 10.9 | 11.8 | counted |\n|---|---|---|---|---|---|\n");
    let generations = GENERATIONS.map(|generation| std::mem::take(&mut names_of(generation)[kind]));
    let mut names: Vec<&'static str> = Vec::new();
    for name in generations.iter().rev().flatten() {
        if !names.contains(name) {
            names.push(name);
        }
    }
    for name in names {
        let short = name.strip_prefix("rocksdb.").unwrap_or(name);
        let state = if counted(name) {
            "yes"
        } else {
            idle.push(short);
            reasons
                .of(short)
                .unwrap_or_else(|| panic!("{short} has no reason"))
        };
        let number = |names: &Vec<&str>| names.iter().position(|other| *other == name);
        let numbers =
            { generations.iter() }.map(|names| number(names).map_or(String::new(), |at| at.to_string()));
        text += &format!(
            "| `{short}` | {} | {state} |\n",
            numbers.collect::<Vec<_>>().join(" | ")
        );
    }
    text
}

#[test]
fn every_number_is_counted_or_has_its_reason() {
    let reasons = Reasons::below("## Names of RocksDB that do not exist here");
    let mut uncounted = Vec::new();
    let text = format!(
        "# The numbers of tickers and histograms\n\nThe numbers by which RocksDB's C and Java interfaces name them, in each release whose numbers differ. Names lack their \
         `rocksdb.`.\n\n## Tickers\n\n{}\n## Histograms\n\n{}",
        numbers(
            0,
            |name| Ticker::of_name(name).is_some(),
            &reasons,
            &mut uncounted
        ),
        numbers(
            1,
            |name| Histogram::of_name(name).is_some(),
            &reasons,
            &mut uncounted
        ),
    );
    assert_eq!(reasons.idle(&uncounted), [""; 0], "patterns without a name");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/statistics_numbers.md");
    if std::env::var_os("REWRITE").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        written == text,
        "{path} is not up to date: run this test with REWRITE=1"
    );
}

#[test]
fn every_field_of_a_perf_context_is_counted_or_has_its_reason() {
    let reasons = Reasons::below("Fields of RocksDB's `PerfContext` that stay 0");
    let context = base::perf::context();
    let counted = |name: &str| context.fields().any(|(field, _)| field == name);
    let uncounted: Vec<&str> = METRICS.iter().copied().filter(|name| !counted(name)).collect();
    for name in &uncounted {
        assert!(reasons.of(name).is_some(), "{name} has no reason");
    }
    assert_eq!(reasons.idle(&uncounted), [""; 0], "patterns without a field");
}

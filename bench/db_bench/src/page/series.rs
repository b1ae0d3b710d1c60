//! The runs of several files of `--json`, by workload.

use std::path::Path;

use crate::document::{Benchmark, Document};

/// A file of `--json`.
pub struct Series {
    /// The label: the file's name without its ending, made unique.
    pub label: String,
    /// The contents of the file.
    pub document: Document,
}

/// The run of a series that represents all runs of the same workload: the one with the median rate.
#[derive(Clone)]
pub struct Chosen<'a> {
    /// The number of the series.
    pub series: usize,
    /// The measured run.
    pub run: &'a Benchmark,
}

/// The CSS class that gives a series its colour.
pub fn class(series: usize) -> String {
    format!("s{}", series % 8)
}

/// The runs of one workload in each series, which may have none.
pub struct Group<'a> {
    /// The workload, with a number if it occurs more than once.
    pub name: String,
    /// The runs of each series.
    pub runs: Vec<Vec<&'a Benchmark>>,
}

impl<'a> Group<'a> {
    pub fn chosen(&self) -> Vec<Chosen<'a>> {
        let of_series = |(series, runs): (usize, &Vec<&'a Benchmark>)| {
            let mut sorted = runs.clone();
            sorted.sort_by(|a, b| a.operations_per_second.total_cmp(&b.operations_per_second));
            let run = *sorted.get(sorted.len().saturating_sub(1) / 2)?;
            Some(Chosen { series, run })
        };
        self.runs.iter().enumerate().filter_map(of_series).collect()
    }

    /// The anchor of the group in links.
    pub fn anchor(&self) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        format!("w-{}", self.name.chars().map(plain).collect::<String>())
    }
}

/// The runs of all series by workload, in the order of their first occurrence. Consecutive runs of the same
/// workload are repetitions; later runs are a group of their own, because the database has changed.
pub fn groups(series: &[Series]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for (at, of) in series.iter().enumerate() {
        let mut times: Vec<(&str, usize)> = Vec::new();
        let mut last = None;
        for run in &of.document.benchmarks {
            let name = run.name.as_str();
            if last != Some(name) {
                match times.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, count)) => *count += 1,
                    None => times.push((name, 1)),
                }
            }
            last = Some(name);
            if run.warm_up {
                continue;
            }
            let nth = times
                .iter()
                .find(|(known, _)| *known == name)
                .map_or(1, |(_, count)| *count);
            let name = if nth > 1 {
                format!("{name} #{nth}")
            } else {
                name.to_owned()
            };
            let group = match groups.iter().position(|group| group.name == name) {
                Some(found) => &mut groups[found],
                None => {
                    groups.push(Group {
                        name,
                        runs: vec![Vec::new(); series.len()],
                    });
                    groups.last_mut().expect("one was added")
                }
            };
            group.runs[at].push(run);
        }
    }
    groups
}

pub fn label(path: &str, before: &[Series]) -> String {
    let stem = Path::new(path)
        .file_stem()
        .map_or(path.into(), |stem| stem.to_string_lossy());
    let taken = |label: &str| before.iter().any(|series| series.label == label);
    let mut label = stem.to_string();
    let mut number = 2;
    while taken(&label) {
        label = format!("{stem} ({number})");
        number += 1;
    }
    label
}

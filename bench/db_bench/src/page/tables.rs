//! The tables of the page: figures, machine, flags, options, with differences marked.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::metrics::{Better, Metric, all_metrics, first_metrics};
use super::svg::{self, escape};
use super::{Group, Series, class};
use crate::document::Benchmark;

/// The number of runs of each side from which a difference is judged. Four runs and four others of the same
/// program have disjoint ranges in 3 of 100 cases; three runs in 10.
const JUDGED: usize = 4;

/// The values of several runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The median value.
    pub median: f64,
    /// The least value.
    pub least: f64,
    /// The greatest value.
    pub most: f64,
    /// The number of values.
    pub count: usize,
}

impl Spread {
    /// The spread of at least one value.
    pub fn of(mut values: Vec<f64>) -> Spread {
        values.sort_by(f64::total_cmp);
        let count = values.len();
        let at = |place: usize| values.get(place).copied().unwrap_or(0.0);
        Spread {
            median: (at(count.saturating_sub(1) / 2) + at(count / 2)) / 2.0,
            least: at(0),
            most: at(count.saturating_sub(1)),
            count,
        }
    }

    /// The median, and the range if there were several values.
    pub fn text(&self, unit: fn(f64) -> String) -> String {
        match self.count {
            _ if self.least == self.most => escape(&unit(self.median)),
            _ => format!(
                "{} <small>{} to {}</small>",
                escape(&unit(self.median)),
                escape(&unit(self.least)),
                escape(&unit(self.most))
            ),
        }
    }

    /// True if the two may be equal.
    fn overlaps(&self, other: &Spread) -> bool {
        self.least <= other.most && other.least <= self.most
    }
}

fn spread(metric: &Metric, runs: &[&Benchmark]) -> Option<Spread> {
    let values: Vec<f64> = runs.iter().filter_map(|run| (metric.value)(run)).collect();
    (!values.is_empty()).then(|| Spread::of(values))
}

/// The difference of `this` from `first`, marked if it is significant.
fn difference(metric: &Metric, first: &Spread, this: &Spread) -> String {
    if first.median == this.median {
        return "<td class=\"delta\">=</td>".to_owned();
    }
    if first.median == 0.0 {
        return "<td class=\"delta\"></td>".to_owned();
    }
    let percent = 100.0 * (this.median / first.median - 1.0);
    let text = match percent {
        _ if percent > 999.0 => format!("×{}", svg::short(this.median / first.median)),
        _ => format!("{percent:+.1}%"),
    };
    if first.count > 1 && this.count > 1 && first.overlaps(this) {
        return format!("<td class=\"delta same\" title=\"the runs overlap: {text}\">no difference</td>");
    }
    // With few runs, a difference between the figures is one between measurements and not yet one between
    // programs.
    let judged = first.count >= JUDGED && this.count >= JUDGED;
    let (class, mark) = match (judged, metric.better, percent > 0.0) {
        (false, ..) | (_, Better::Neither, _) => ("", ""),
        (_, Better::More, true) | (_, Better::Less, false) => ("good", " ✓"),
        _ => ("bad", " ✗"),
    };
    format!("<td class=\"delta {class}\">{text}{mark}</td>")
}

fn table(series: &[Series], group: &Group<'_>, metrics: &[Metric]) -> String {
    let present: Vec<usize> = (0..series.len())
        .filter(|at| !group.runs[*at].is_empty())
        .collect();
    let Some((&first, rest)) = present.split_first() else {
        return String::new();
    };
    let mut out = String::from("<div class=\"scroll\"><table><thead><tr><th></th>");
    for at in &present {
        write!(
            out,
            "<th><i class=\"{}\"></i>{}</th>",
            class(*at),
            escape(&series[*at].label)
        )
        .expect("a string takes all");
        if at != &first {
            out.push_str("<th class=\"delta\">difference</th>");
        }
    }
    out.push_str("</tr></thead><tbody>");
    for metric in metrics {
        let of = |at: usize| spread(metric, &group.runs[at]);
        if present
            .iter()
            .all(|at| of(*at).is_none_or(|spread| spread.most == 0.0))
        {
            continue;
        }
        let cell = |spread: Option<Spread>| {
            let text = spread.map_or_else(|| "–".to_owned(), |spread| spread.text(metric.unit));
            format!("<td>{text}</td>")
        };
        let base = of(first);
        write!(out, "<tr><th>{}</th>{}", escape(&metric.name), cell(base)).expect("a string takes all");
        for at in rest {
            out.push_str(&cell(of(*at)));
            out.push_str(&match (base, of(*at)) {
                (Some(base), Some(this)) => difference(metric, &base, &this),
                _ => "<td class=\"delta\"></td>".to_owned(),
            });
        }
        out.push_str("</tr>");
    }
    out + "</tbody></table></div>"
}

/// The most important figures: tiles for one series, a table for several.
pub fn headline(series: &[Series], group: &Group<'_>) -> String {
    let op = group
        .runs
        .iter()
        .flatten()
        .flat_map(|run| &run.latency_micros)
        .max_by_key(|(_, latency)| latency.count)
        .map(|(op, _)| op.as_str());
    let metrics = first_metrics(op);
    if group.runs.iter().filter(|runs| !runs.is_empty()).count() > 1 {
        return table(series, group, &metrics);
    }
    let runs: Vec<&Benchmark> = group.runs.iter().flatten().copied().collect();
    let mut out = String::from("<div class=\"tiles\">");
    for metric in &metrics {
        if let Some(spread) = spread(metric, &runs) {
            write!(
                out,
                "<div class=\"tile\"><span>{}</span><b>{}</b></div>",
                escape(&metric.name),
                spread.text(metric.unit)
            )
            .expect("a string takes all");
        }
    }
    out + "</div>"
}

/// A collapsed section with every figure.
pub fn figures(series: &[Series], group: &Group<'_>) -> String {
    let runs: Vec<&Benchmark> = group.runs.iter().flatten().copied().collect();
    let table = table(series, group, &all_metrics(&runs));
    format!("<details><summary>All figures</summary>{table}</details>")
}

/// Rows of names and values of each series; those that differ come first and are marked.
fn compared(series: &[Series], rows: &[(String, Vec<Option<String>>)]) -> (String, usize) {
    let mut out = String::from("<div class=\"scroll\"><table class=\"setting\"><thead><tr><th></th>");
    for (at, series) in series.iter().enumerate() {
        write!(
            out,
            "<th><i class=\"{}\"></i>{}</th>",
            class(at),
            escape(&series.label)
        )
        .expect("a string takes all");
    }
    out.push_str("</tr></thead><tbody>");
    let differs = |values: &[Option<String>]| values.windows(2).any(|pair| pair[0] != pair[1]);
    let (different, same): (Vec<_>, Vec<_>) = rows.iter().partition(|(_, values)| differs(values));
    for (marked, rows) in [(true, &different), (false, &same)] {
        for (name, values) in rows {
            let (class, mark) = if marked {
                (" class=\"differs\"", "≠ ")
            } else {
                ("", "")
            };
            write!(out, "<tr{class}><th>{mark}{}</th>", escape(name)).expect("a string takes all");
            for value in values {
                let value = value.as_deref().unwrap_or("–");
                write!(out, "<td>{}</td>", escape(value)).expect("a string takes all");
            }
            out.push_str("</tr>");
        }
    }
    (out + "</tbody></table></div>", different.len())
}

/// The names in order, with the value of each series.
fn rows(of_series: &[Vec<(String, String)>]) -> Vec<(String, Vec<Option<String>>)> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in of_series.iter().flatten() {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let value = |of: &Vec<(String, String)>, name: &str| {
        of.iter()
            .rev()
            .find(|(found, _)| found == name)
            .map(|(_, value)| value.clone())
    };
    names
        .into_iter()
        .map(|name| {
            (
                name.to_owned(),
                of_series.iter().map(|of| value(of, name)).collect(),
            )
        })
        .collect()
}

/// The machine, flags and options.
pub fn setting(series: &[Series]) -> String {
    let each = |of: fn(&Series) -> Vec<(String, String)>| rows(&series.iter().map(of).collect::<Vec<_>>());
    let sorted = |map: &BTreeMap<String, String>| map.clone().into_iter().collect::<Vec<_>>();
    let machine = each(|series| {
        let (document, machine) = (&series.document, &series.document.machine);
        let harness = &document.harness;
        [
            ("engine", format!("{} {}", document.engine, document.version)),
            ("program", document.program.clone()),
            ("processor", machine.cpu.clone()),
            ("cores", machine.cores.to_string()),
            ("memory", svg::bytes(machine.memory_bytes as f64)),
            ("kernel", machine.kernel.clone()),
            ("file system", machine.file_system.clone()),
            ("mount", machine.mount.clone()),
            ("database", document.db.clone()),
            ("seed", document.seed.to_string()),
            (
                "harness, an operation",
                format!(
                    "{} ({} to {})",
                    svg::micros(harness.nanos_per_operation / 1e3),
                    svg::micros(harness.least / 1e3),
                    svg::micros(harness.most / 1e3)
                ),
            ),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    });
    let given = each(|series| series.document.flags_given.clone());
    let mut out = String::from("<section><h2>Machine and settings</h2>");
    for (title, note, rows, open) in [
        ("Machine", "", machine, true),
        ("Flags given", "", given, true),
        (
            "All flags",
            "",
            rows(
                &series
                    .iter()
                    .map(|series| sorted(&series.document.flags))
                    .collect::<Vec<_>>(),
            ),
            false,
        ),
        (
            "Options of the engine",
            "",
            rows(
                &series
                    .iter()
                    .map(|series| sorted(&series.document.options))
                    .collect::<Vec<_>>(),
            ),
            false,
        ),
    ] {
        if rows.is_empty() {
            continue;
        }
        let (table, different) = compared(series, &rows);
        let note = match (series.len(), different) {
            (1, _) => note.to_owned(),
            (_, 0) => "all alike".to_owned(),
            (_, 1) => "1 differs".to_owned(),
            (_, count) => format!("{count} differ"),
        };
        let open = if open { " open" } else { "" };
        write!(
            out,
            "<details{open}><summary>{title} <span class=\"note\">{note}</span></summary>{table}</details>"
        )
        .expect("a string takes all");
    }
    out + "</section>\n"
}

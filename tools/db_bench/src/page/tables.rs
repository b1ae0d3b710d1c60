//! The tables of the page: figures, machine, flags, options, with differences marked.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::svg::{self, escape};
use super::{Group, Series, class};
use crate::document::Benchmark;
use crate::histogram::Percentiles;

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

/// The direction, higher or lower, in which a figure is better.
#[derive(Clone, Copy, PartialEq)]
enum Better {
    More,
    Less,
    Neither,
}

/// A function that returns a figure of a run, or `None` if the run does not have it.
type Value = dyn Fn(&Benchmark) -> Option<f64>;

/// A name, and the figure of a distribution that it denotes.
type OfLatency = (&'static str, fn(&Percentiles) -> f64);

/// A figure of a run.
struct Metric {
    name: String,
    unit: fn(f64) -> String,
    better: Better,
    value: Box<Value>,
}

fn metric(
    name: &str,
    unit: fn(f64) -> String,
    better: Better,
    value: impl Fn(&Benchmark) -> Option<f64> + 'static,
) -> Metric {
    Metric {
        name: name.to_owned(),
        unit,
        better,
        value: Box::new(value),
    }
}

fn seconds(value: f64) -> String {
    svg::micros(value * 1e6)
}

fn ratio(value: f64) -> String {
    format!("{value:.2}")
}

fn operations(run: &Benchmark) -> bool {
    run.operations > 0
}

/// The figures that most readers look for first.
fn first_metrics(op: Option<&str>) -> Vec<Metric> {
    let mut all = vec![metric("operations a second", svg::short, Better::More, |run| {
        operations(run).then_some(run.operations_per_second)
    })];
    let latencies: [OfLatency; 4] = [
        ("p50", |latency| latency.p50),
        ("p99", |latency| latency.p99),
        ("p99.9", |latency| latency.p99_9),
        ("max", |latency| latency.max),
    ];
    for (name, of) in latencies {
        if let Some(op) = op {
            let op = op.to_owned();
            all.push(metric(name, svg::micros, Better::Less, move |run| {
                run.latency_micros
                    .get(&op)
                    .filter(|latency| latency.count > 0)
                    .map(of)
            }));
        }
    }
    all.push(metric("CPU an operation", svg::micros, Better::Less, |run| {
        operations(run).then_some(run.cpu.micros_per_operation)
    }));
    all.push(metric("write amplification", ratio, Better::Less, |run| {
        run.writes.write_amplification
    }));
    all.push(metric(
        "bytes read an operation",
        svg::bytes,
        Better::Less,
        |run| (operations(run) && run.reads.calls > 0).then_some(run.reads.bytes_per_operation),
    ));
    all.push(metric("stalled", seconds, Better::Less, |run| {
        let stalled: f64 = run.stalls.iter().map(|stall| stall.seconds).sum();
        (stalled > 0.0).then_some(stalled)
    }));
    all.push(metric("memory, peak", svg::bytes, Better::Less, |run| {
        (run.memory.peak > 0).then_some(run.memory.peak as f64)
    }));
    all
}

/// Every figure. Totals of a run are neither good nor bad: a run that did more work also reads more.
fn all_metrics(runs: &[&Benchmark]) -> Vec<Metric> {
    use Better::{Less, More, Neither};
    let count = |value: u64| Some(value as f64);
    let mut all = vec![
        metric("operations", svg::short, Neither, move |run| {
            count(run.operations)
        }),
        metric("seconds", seconds, Neither, |run| Some(run.seconds)),
        metric("operations a second", svg::short, More, |run| {
            Some(run.operations_per_second)
        }),
        metric("a thread's time an operation", svg::micros, Less, |run| {
            Some(run.micros_per_operation)
        }),
        metric("keys and values", svg::bytes, Neither, move |run| {
            count(run.bytes)
        }),
        metric("keys and values a second", svg::bytes, More, |run| {
            Some(run.mib_per_second * 1_048_576.0)
        }),
    ];
    let mut ops: Vec<(String, bool)> = Vec::new();
    for run in runs {
        ops.extend(run.latency_micros.keys().map(|op| (op.clone(), false)));
        ops.extend(run.background.latency_micros.keys().map(|op| (op.clone(), true)));
    }
    ops.sort_by(|a, b| (a.1, &a.0).cmp(&(b.1, &b.0)));
    ops.dedup();
    let latencies: [OfLatency; 10] = [
        ("mean", |latency| latency.mean),
        ("standard deviation", |latency| latency.stdev),
        ("min", |latency| latency.min),
        ("p50", |latency| latency.p50),
        ("p75", |latency| latency.p75),
        ("p90", |latency| latency.p90),
        ("p99", |latency| latency.p99),
        ("p99.9", |latency| latency.p99_9),
        ("p99.99", |latency| latency.p99_99),
        ("max", |latency| latency.max),
    ];
    for (op, behind) in ops {
        let title = if behind {
            format!("{op} in the background")
        } else {
            op.clone()
        };
        for (name, of) in latencies {
            let op = op.clone();
            all.push(metric(
                &format!("{title}: {name}"),
                svg::micros,
                Less,
                move |run| {
                    let latencies = if behind {
                        &run.background.latency_micros
                    } else {
                        &run.latency_micros
                    };
                    latencies.get(&op).filter(|latency| latency.count > 0).map(of)
                },
            ));
        }
    }
    all.extend([
        metric("operations in the background", svg::short, Neither, move |run| {
            count(run.background.operations)
        }),
        metric("due and not done: reads", svg::short, Less, move |run| {
            count(run.overdue.reads)
        }),
        metric("due and not done: bytes written", svg::bytes, Less, move |run| {
            count(run.overdue.write_bytes)
        }),
        metric("user time", seconds, Neither, |run| Some(run.cpu.user_seconds)),
        metric("system time", seconds, Neither, |run| {
            Some(run.cpu.system_seconds)
        }),
        metric("CPU an operation", svg::micros, Less, |run| {
            Some(run.cpu.micros_per_operation)
        }),
        metric("CPU an operation, in the foreground", svg::micros, Less, |run| {
            Some(run.cpu.foreground_micros_per_operation)
        }),
        metric("processors in use", ratio, Neither, |run| Some(run.cpu.busy)),
        metric("switches forced on threads", svg::short, Neither, move |run| {
            count(run.cpu.involuntary_switches)
        }),
        metric("bytes of write batches", svg::bytes, Neither, move |run| {
            count(run.writes.user_bytes)
        }),
        metric("written to WALs", svg::bytes, Neither, move |run| {
            count(run.writes.wal_bytes)
        }),
        metric("written by flushes", svg::bytes, Neither, move |run| {
            count(run.writes.flush_bytes)
        }),
        metric("read by compactions", svg::bytes, Neither, move |run| {
            count(run.writes.compaction_read_bytes)
        }),
        metric("written by compactions", svg::bytes, Neither, move |run| {
            count(run.writes.compaction_bytes)
        }),
        metric("files moved as they are", svg::short, Neither, move |run| {
            count(run.writes.trivial_moves)
        }),
        metric("write amplification", ratio, Less, |run| {
            run.writes.write_amplification
        }),
        metric("sent to storage", svg::bytes, Neither, move |run| {
            count(run.writes.storage_bytes)
        }),
        metric("reads from files", svg::short, Neither, move |run| {
            count(run.reads.calls)
        }),
        metric("bytes read", svg::bytes, Neither, move |run| {
            count(run.reads.bytes)
        }),
        metric("bytes read an operation", svg::bytes, Less, |run| {
            Some(run.reads.bytes_per_operation)
        }),
        metric("bytes from storage", svg::bytes, Neither, move |run| {
            count(run.reads.storage_bytes)
        }),
        metric("bytes from storage an operation", svg::bytes, Less, |run| {
            Some(run.reads.storage_bytes_per_operation)
        }),
        metric("major page faults", svg::short, Neither, move |run| {
            count(run.reads.major_faults)
        }),
    ]);
    let mut reasons: Vec<String> = Vec::new();
    for stall in runs.iter().flat_map(|run| &run.stalls) {
        if !reasons.contains(&stall.reason) {
            reasons.push(stall.reason.clone());
        }
    }
    for reason in reasons {
        let (of_time, of_count) = (reason.clone(), reason.clone());
        all.push(metric(&format!("stalled: {reason}"), seconds, Less, move |run| {
            run.stalls
                .iter()
                .find(|stall| stall.reason == of_time)
                .map(|stall| stall.seconds)
        }));
        all.push(metric(
            &format!("stalls: {reason}"),
            svg::short,
            Less,
            move |run| {
                run.stalls
                    .iter()
                    .find(|stall| stall.reason == of_count)
                    .map(|stall| stall.count as f64)
            },
        ));
    }
    all.extend([
        metric("memory", svg::bytes, Neither, move |run| {
            count(run.memory.resident)
        }),
        metric("memory, peak", svg::bytes, Less, move |run| {
            count(run.memory.peak)
        }),
        metric("memtables", svg::bytes, Neither, move |run| {
            count(run.memory.memtables)
        }),
        metric(
            "indexes and filters of open tables",
            svg::bytes,
            Less,
            move |run| count(run.memory.table_readers),
        ),
        metric("block cache, capacity", svg::bytes, Neither, move |run| {
            count(run.block_cache.capacity)
        }),
        metric("block cache, used", svg::bytes, Neither, move |run| {
            count(run.block_cache.usage)
        }),
        metric("block cache, pinned", svg::bytes, Neither, move |run| {
            count(run.block_cache.pinned)
        }),
        metric("block cache, misses an operation", ratio, Less, |run| {
            operations(run).then(|| run.block_cache.misses as f64 / run.operations as f64)
        }),
        metric("block cache, misses", svg::short, Neither, move |run| {
            count(run.block_cache.misses)
        }),
        metric("block cache, blocks added", svg::short, Neither, move |run| {
            count(run.block_cache.inserts)
        }),
        metric("block cache, evictions", svg::short, Neither, move |run| {
            count(run.block_cache.evictions)
        }),
    ]);
    let levels = runs.iter().map(|run| run.levels.len()).max().unwrap_or(0);
    for level in 0..levels {
        all.push(metric(
            &format!("L{level}, files"),
            svg::short,
            Neither,
            move |run| Some(run.levels.get(level).map_or(0.0, |level| level.files as f64)),
        ));
        all.push(metric(&format!("L{level}"), svg::bytes, Neither, move |run| {
            Some(run.levels.get(level).map_or(0.0, |level| level.bytes as f64))
        }));
    }
    all
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

//! The plots of a workload.

use std::fmt::Write;

use super::svg::{self, Plot, Scale, escape};
use super::{Chosen, Series};
use crate::document::{Benchmark, IntervalRow, Level};
use crate::histogram::Percentiles;

/// The most points of a plot; more are combined.
const POINTS: usize = 200;
/// Percentiles over time: name, class, value.
type Percentile = (&'static str, fn(&Percentiles) -> f64);
const OVER_TIME: [Percentile; 4] = [
    ("p50", |latency| latency.p50),
    ("p99", |latency| latency.p99),
    ("p99.9", |latency| latency.p99_9),
    ("max", |latency| latency.max),
];
const TAIL: [Percentile; 7] = [
    ("p50", |latency| latency.p50),
    ("p75", |latency| latency.p75),
    ("p90", |latency| latency.p90),
    ("p99", |latency| latency.p99),
    ("p99.9", |latency| latency.p99_9),
    ("p99.99", |latency| latency.p99_99),
    ("max", |latency| latency.max),
];

/// One or more intervals of a run.
struct Point<'a> {
    from: f64,
    to: f64,
    rows: &'a [IntervalRow],
}

impl Point<'_> {
    fn rate(&self) -> f64 {
        let operations: u64 = self.rows.iter().map(|row| row.operations).sum();
        operations as f64 / (self.to - self.from).max(1e-9)
    }

    fn middle(&self) -> f64 {
        (self.from + self.to) / 2.0
    }

    /// The worst latency of the combined intervals, so that combining them hides nothing.
    fn latency(&self, op: &str, of: fn(&Percentiles) -> f64) -> Option<f64> {
        self.rows
            .iter()
            .filter_map(|row| row.latency_micros.get(op))
            .filter(|latency| latency.count > 0)
            .map(of)
            .reduce(f64::max)
    }
}

fn points(run: &Benchmark) -> Vec<Point<'_>> {
    let mut rows = &run.intervals[..];
    // The last interval is left out if it is much shorter than the one before, and so too short to measure a
    // rate.
    if let [.., before, last] = rows {
        let earlier = rows.len().checked_sub(3).map_or(0.0, |at| rows[at].seconds);
        if last.seconds - before.seconds < (before.seconds - earlier) / 5.0 {
            rows = &rows[..rows.len() - 1];
        }
    }
    let each = rows.len().div_ceil(POINTS).max(1);
    let mut from = 0.0;
    rows.chunks(each)
        .map(|rows| {
            let to = rows.last().map_or(from, |row| row.seconds);
            let point = Point { from, to, rows };
            from = to;
            point
        })
        .collect()
}

fn end_of(runs: &[Chosen<'_>]) -> f64 {
    let ends = runs.iter().filter_map(|run| run.run.intervals.last());
    ends.map(|row| row.seconds).fold(0.0, f64::max)
}

fn figure(title: &str, note: &str, legend: &str, plot: &str) -> String {
    let note = match note {
        "" => String::new(),
        note => format!("<span class=\"note\">{}</span>", escape(note)),
    };
    format!(
        "<figure><figcaption><b>{}</b>{note}{legend}</figcaption>{plot}</figure>\n",
        escape(title)
    )
}

fn legend<'a>(entries: impl Iterator<Item = (&'a str, String)>) -> String {
    let mut out = String::from("<span class=\"legend\">");
    for (name, class) in entries {
        write!(out, "<span><i class=\"{class}\"></i>{}</span>", escape(name)).expect("a string takes all");
    }
    out + "</span>"
}

fn series_legend(series: &[Series], runs: &[Chosen<'_>]) -> String {
    if runs.len() < 2 {
        return String::new();
    }
    legend(
        runs.iter()
            .map(|run| (series[run.series].label.as_str(), super::class(run.series))),
    )
}

/// All plots of a workload; `runs` has one run of each series that has any.
pub fn of_workload(series: &[Series], runs: &[Chosen<'_>]) -> String {
    let mut out = String::new();
    let timed: Vec<Chosen<'_>> = runs
        .iter()
        .filter(|run| !points(run.run).is_empty())
        .cloned()
        .collect();
    if timed.iter().any(|run| run.run.operations > 0) {
        out.push_str(&throughput(series, &timed));
    }
    out.push_str(&tail(series, runs));
    let name = |run: &Chosen<'_>| match runs.len() {
        1 => String::new(),
        _ => series[run.series].label.clone(),
    };
    let ops = operations(runs);
    for op in &ops {
        let worst = |pick: fn(f64, f64) -> f64, of: fn(&Percentiles) -> f64, start: f64| {
            let rows = timed.iter().flat_map(|run| &run.run.intervals);
            let found = rows
                .filter_map(|row| row.latency_micros.get(op))
                .filter(|latency| latency.count > 0);
            found.map(of).fold(start, pick)
        };
        // All plots have one scale, so that they can be compared side by side.
        let scale = Scale::log(
            worst(f64::min, |latency| latency.p50, f64::INFINITY).max(0.01),
            worst(f64::max, |latency| latency.max, 0.0),
        );
        for run in &timed {
            if run.run.latency_micros.contains_key(op) {
                out.push_str(&over_time(op, &name(run), run.run, end_of(&timed), &scale));
            }
        }
    }
    let later = timed
        .iter()
        .flat_map(|run| &run.run.intervals)
        .map(|row| &row.levels);
    let before = timed.iter().filter_map(|run| run.run.levels_before.as_ref());
    let most = later
        .chain(before)
        .map(|levels| total_bytes(levels))
        .fold(0.0, f64::max);
    if most > 0.0 {
        for run in &timed {
            out.push_str(&shape(&name(run), run.run, end_of(&timed), most));
        }
    }
    if timed
        .iter()
        .flat_map(|run| &run.run.intervals)
        .any(|row| row.stall_seconds > 0.0)
    {
        out.push_str(&stalls(series, &timed));
    }
    out
}

fn operations(runs: &[Chosen<'_>]) -> Vec<String> {
    let mut ops: Vec<String> = runs
        .iter()
        .flat_map(|run| run.run.latency_micros.keys().cloned())
        .collect();
    ops.sort();
    ops.dedup();
    ops
}

fn throughput(series: &[Series], runs: &[Chosen<'_>]) -> String {
    let most = runs
        .iter()
        .flat_map(|run| points(run.run))
        .map(|point| point.rate())
        .fold(0.0, f64::max);
    let mut plot = Plot::over_time(
        "operations a second over time",
        Scale::exact(end_of(runs)),
        Scale::linear(most),
        svg::short,
    );
    for run in runs {
        let line: Vec<_> = points(run.run)
            .iter()
            .map(|point| (point.middle(), Some(point.rate())))
            .collect();
        plot.line(&super::class(run.series), &line);
    }
    over_points(&mut plot, runs, &|run, point| {
        Some(format!(
            "{}: {} ops/s",
            series[run.series].label,
            svg::short(point.rate())
        ))
    });
    figure(
        "Throughput",
        "operations a second",
        &series_legend(series, runs),
        &plot.finish(),
    )
}

/// Adds tooltips to the points of the run that has most of them, with the other runs' values at the same
/// time.
fn over_points(
    plot: &mut Plot,
    runs: &[Chosen<'_>],
    tell: &dyn Fn(&Chosen<'_>, &Point<'_>) -> Option<String>,
) {
    let all: Vec<_> = runs.iter().map(|run| points(run.run)).collect();
    let Some(longest) = all.iter().max_by_key(|points| points.len()) else {
        return;
    };
    for at in longest {
        let mut text = format!("{} to {}", svg::seconds(at.from), svg::seconds(at.to));
        for (run, points) in runs.iter().zip(&all) {
            let found = points
                .iter()
                .find(|point| (point.from..point.to).contains(&at.middle()));
            if let Some(told) = found.and_then(|point| tell(run, point)) {
                text.push('\n');
                text.push_str(&told);
            }
        }
        plot.tip(at.from, at.to, at.middle(), &text);
    }
}

/// Percentiles of the whole run.
fn tail(series: &[Series], runs: &[Chosen<'_>]) -> String {
    let mut out = String::new();
    for op in operations(runs) {
        let of = |run: &Chosen<'_>| run.run.latency_micros.get(&op).copied();
        let found: Vec<Percentiles> = runs
            .iter()
            .filter_map(of)
            .filter(|latency| latency.count > 0)
            .collect();
        if found.is_empty() {
            continue;
        }
        let least = found
            .iter()
            .map(|latency| latency.p50)
            .fold(f64::INFINITY, f64::min);
        let most = found.iter().map(|latency| latency.max).fold(0.0, f64::max);
        let names = TAIL.map(|(name, _)| name);
        let label = format!("latency of {op} by percentile");
        let mut plot = Plot::over_names(&label, &names, Scale::log(least.max(0.01), most), svg::micros);
        for run in runs {
            if let Some(latency) = of(run) {
                let line: Vec<_> = TAIL
                    .iter()
                    .enumerate()
                    .map(|(at, (_, value))| (at as f64, Some(value(&latency))))
                    .collect();
                plot.line(&super::class(run.series), &line);
                for point in line {
                    plot.line(&super::class(run.series), &[point]);
                }
            }
        }
        for (at, (name, value)) in TAIL.iter().enumerate() {
            let mut text = (*name).to_owned();
            for run in runs {
                if let Some(latency) = of(run) {
                    write!(
                        text,
                        "\n{}: {}",
                        series[run.series].label,
                        svg::micros(value(&latency))
                    )
                    .expect("a string takes all");
                }
            }
            let at = at as f64;
            plot.tip((at - 0.5).max(0.0), at + 0.5, at, &text);
        }
        let title = format!("Latency of {op}, by percentile");
        out.push_str(&figure(
            &title,
            "whole run",
            &series_legend(series, runs),
            &plot.finish(),
        ));
    }
    out
}

fn over_time(op: &str, name: &str, run: &Benchmark, end: f64, scale: &Scale) -> String {
    let label = format!("latency of {op} over time");
    let mut plot = Plot::over_time(&label, Scale::exact(end), scale.clone(), svg::micros);
    let points = points(run);
    for (at, (_, value)) in OVER_TIME.iter().enumerate() {
        let line: Vec<_> = points
            .iter()
            .map(|point| (point.middle(), point.latency(op, *value)))
            .collect();
        plot.line(&format!("q{at}"), &line);
    }
    for point in &points {
        let mut text = format!("{} to {}", svg::seconds(point.from), svg::seconds(point.to));
        for (name, value) in OVER_TIME.iter().rev() {
            let value = point.latency(op, *value).map_or("none".to_owned(), svg::micros);
            write!(text, "\n{name}: {value}").expect("a string takes all");
        }
        plot.tip(point.from, point.to, point.middle(), &text);
    }
    let names = OVER_TIME
        .iter()
        .enumerate()
        .rev()
        .map(|(at, (name, _))| (*name, format!("q{at}")));
    figure(
        &format!("Latency of {op}, over time"),
        name,
        &legend(names),
        &plot.finish(),
    )
}

fn total_bytes(levels: &[Level]) -> f64 {
    levels.iter().map(|level| level.bytes as f64).sum()
}

/// The bytes of each level, stacked, L0 on top.
fn shape(name: &str, run: &Benchmark, end: f64, most: f64) -> String {
    let mut plot = Plot::over_time(
        "bytes of each level over time",
        Scale::exact(end),
        Scale::linear(most / 1_048_576.0),
        |mib| svg::bytes(mib * 1_048_576.0),
    );
    let points = points(run);
    // The plot has the levels at the start of the run, if they are known, and at the end of each interval.
    let start = run.levels_before.as_ref().map(|levels| (0.0, levels));
    let later = points
        .iter()
        .filter_map(|point| Some((point.to, &point.rows.last()?.levels)));
    let stands: Vec<(f64, &Vec<Level>)> = start.into_iter().chain(later).collect();
    let levels = stands.iter().map(|(_, levels)| levels.len()).max().unwrap_or(0);
    let bytes = |levels: &[Level], level: usize| {
        levels
            .get(level)
            .map_or(0.0, |level| level.bytes as f64 / 1_048_576.0)
    };
    let used: Vec<usize> = (0..levels)
        .filter(|level| stands.iter().any(|(_, levels)| bytes(levels, *level) > 0.0))
        .collect();
    for level in used.iter().rev() {
        let area: Vec<_> = stands
            .iter()
            .map(|(at, now)| {
                let low: f64 = (level + 1..levels).map(|below| bytes(now, below)).sum();
                (*at, low, low + bytes(now, *level))
            })
            .collect();
        plot.area(&format!("l{}", level.min(&6)), &area);
    }
    for point in &points {
        let Some(row) = point.rows.last() else { continue };
        let mut text = format!("at {}", svg::seconds(point.to));
        for level in &used {
            if let Some(level_now) = row.levels.get(*level) {
                write!(
                    text,
                    "\nL{level}: {} in {} files",
                    svg::bytes(level_now.bytes as f64),
                    level_now.files
                )
                .expect("a string takes all");
            }
        }
        plot.tip(point.from, point.to, point.to, &text);
    }
    let names: Vec<(String, String)> = used
        .iter()
        .map(|level| (format!("L{level}"), format!("l{}", level.min(&6))))
        .collect();
    let legend = legend(names.iter().map(|(name, class)| (name.as_str(), class.clone())));
    figure("Shape of the tree", name, &legend, &plot.finish())
}

fn stalls(series: &[Series], runs: &[Chosen<'_>]) -> String {
    let share = |point: &Point<'_>| {
        let stalled: f64 = point.rows.iter().map(|row| row.stall_seconds).sum();
        100.0 * stalled / (point.to - point.from).max(1e-9)
    };
    let most = runs
        .iter()
        .flat_map(|run| points(run.run))
        .map(|point| share(&point))
        .fold(0.0, f64::max);
    let percent = |value: f64| format!("{}%", svg::short(value));
    let mut plot = Plot::over_time(
        "time writers were held back",
        Scale::exact(end_of(runs)),
        Scale::linear(most),
        percent,
    );
    for run in runs {
        let line: Vec<_> = points(run.run)
            .iter()
            .map(|point| (point.middle(), Some(share(point))))
            .collect();
        plot.line(&super::class(run.series), &line);
    }
    over_points(&mut plot, runs, &|run, point| {
        Some(format!("{}: {}", series[run.series].label, percent(share(point))))
    });
    figure(
        "Write stalls",
        "share of the time",
        &series_legend(series, runs),
        &plot.finish(),
    )
}

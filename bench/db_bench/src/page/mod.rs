//! `db_bench report`: one page of HTML from the files of `--json`. It is self-contained: style, script, plots
//! and the figures are all inside.

mod charts;
mod metrics;
mod series;
mod svg;
mod tables;

use std::fmt::Write;

use crate::document::{Benchmark, Document};
use series::{Chosen, Group, Series, class, groups, label};
use svg::escape;

/// The file of the page, unless `--out` names another.
const OUT: &str = "report.html";
const USAGE: &str =
    "db_bench report A.json [B.json ...] [--out=report.html] [--title=TEXT]: draws files of --json";

/// Runs the command; `args` are the arguments after `report`. Returns the text to print.
pub fn command(args: &[String]) -> Result<String, String> {
    let (mut paths, mut out, mut title) = (Vec::new(), OUT.to_owned(), None);
    for arg in args {
        match arg.split_once('=') {
            _ if arg == "--help" || arg == "-h" => return Ok(format!("{USAGE}\n")),
            Some(("--out", value)) => out = value.to_owned(),
            Some(("--title", value)) => title = Some(value.to_owned()),
            _ if arg.starts_with('-') => return Err(format!("{arg}: no flag of report\n{USAGE}")),
            _ => paths.push(arg.as_str()),
        }
    }
    if paths.is_empty() {
        return Err(format!("report wants files\n{USAGE}"));
    }
    let mut series = Vec::new();
    for path in &paths {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
        let document = Document::parse(&text).map_err(|error| format!("{path}: {error}"))?;
        series.push(Series {
            label: label(path, &series),
            document,
        });
    }
    let page = render(&series, title.as_deref());
    std::fs::write(&out, &page).map_err(|error| format!("{out}: {error}"))?;
    Ok(format!("{out}: {} bytes, open it in any browser\n", page.len()))
}

/// JSON that is safe in a script element: no text in it can end the element.
fn embed(series: &[Series]) -> String {
    let documents: Vec<(&str, &Document)> = series
        .iter()
        .map(|series| (series.label.as_str(), &series.document))
        .collect();
    serde_json::to_string(&documents)
        .expect("keys are strings")
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

/// The page.
pub fn render(series: &[Series], title: Option<&str>) -> String {
    let groups = groups(series);
    let labels: Vec<&str> = series.iter().map(|series| series.label.as_str()).collect();
    let title = title.map_or_else(|| labels.join(" · "), str::to_owned);
    let title = escape(&title);
    let mut body = format!(
        "<header><p class=\"kicker\">db_bench report</p><h1>{title}</h1>{}</header>\n",
        intro(series)
    );
    body.push_str(&cards(series));
    body.push_str(&overview(series, &groups));
    for group in &groups {
        let chosen = group.chosen();
        let anchor = group.anchor();
        write!(
            body,
            "<section id=\"{anchor}\"><h2>{}</h2>{}{}",
            escape(&group.name),
            meta(&chosen),
            tables::headline(series, group)
        )
        .expect("a string takes all");
        write!(
            body,
            "<div class=\"plots\">{}</div>",
            charts::of_workload(series, &chosen)
        )
        .expect("a string takes all");
        writeln!(body, "{}</section>", tables::figures(series, group)).expect("a string takes all");
    }
    body.push_str(&tables::setting(series));
    body.push_str(NOTES);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title} - db_bench</title>\n\
         <style>{STYLE}</style></head>\n<body><main>\n{body}</main>\n<div id=\"tip\" role=\"status\"></div>\n\
         <script type=\"application/json\" id=\"data\">{}</script>\n<script>{SCRIPT}</script>\n</body></html>\n",
        embed(series)
    )
}

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
const NOTES: &str = "<footer><h2>How to read this</h2><dl>\
    <dt>Latency</dt><dd>From the start of an operation to its end. In a run with a rate, from when the rate had the operation \
    due, so that a pause is charged to every operation that should have begun in it. Points over time show the worst of the \
    intervals they stand for.</dd>\
    <dt>Write amplification</dt><dd>Bytes of WAL, flushes and compactions over bytes of write batches, of the run alone: \
    compactions that come later are not in it.</dd>\
    <dt>Bytes read</dt><dd>By the operations themselves, from files, cached by the kernel or not. From storage: by the whole \
    process, through mappings too.</dd>\
    <dt>CPU per operation</dt><dd>User and system time of the whole process, background work included, over operations.</dd>\
    <dt>Spread</dt><dd>Of several runs of a workload the median is shown, with the least and the greatest; two that overlap \
    are told as no difference. Of fewer than four runs each a difference is told and not judged: it may be chance.</dd></dl></footer>\n";

fn intro(series: &[Series]) -> String {
    if series.iter().any(|series| series.document.debug_assertions) {
        return "<p class=\"warning\">Some of these runs are of a program built without optimisation: their figures say \
                nothing about speed.</p>"
            .to_owned();
    }
    String::new()
}

/// The description of each file.
fn cards(series: &[Series]) -> String {
    let mut out = String::from("<div class=\"cards\">");
    for (at, series) in series.iter().enumerate() {
        let (document, machine) = (&series.document, &series.document.machine);
        write!(
            out,
            "<div class=\"card\"><h3><i class=\"{}\"></i>{}</h3><p>{} {} <span>{}</span></p>\
             <p>{}, {} cores, {}<br>{} on {}</p><p class=\"note\">seed {} · harness {} an operation</p></div>",
            class(at),
            escape(&series.label),
            escape(&document.engine),
            escape(&document.version),
            escape(&date(document.unix_seconds)),
            escape(&machine.cpu),
            machine.cores,
            svg::bytes(machine.memory_bytes as f64),
            escape(&machine.file_system),
            escape(&machine.kernel),
            document.seed,
            svg::micros(document.harness.nanos_per_operation / 1e3),
        )
        .expect("a string takes all");
    }
    out + "</div>\n"
}

fn meta(chosen: &[Chosen<'_>]) -> String {
    let mut parts: Vec<String> = Vec::new();
    if let Some(Chosen { run, .. }) = chosen.first() {
        // With several series, the heading shows only the properties that they have in common.
        let alike = |of: fn(&Benchmark) -> f64| chosen.iter().all(|other| of(other.run) == of(run));
        if run.operations > 0 && alike(|run| run.threads as f64) {
            parts.push(match run.threads {
                1 => "1 thread".to_owned(),
                threads => format!("{threads} threads"),
            });
        }
        if run.operations > 0 && alike(|run| run.operations as f64) {
            parts.push(format!("{} operations", svg::short(run.operations as f64)));
        }
        if alike(|run| run.seconds) {
            parts.push(svg::seconds(run.seconds));
        }
        if chosen.iter().any(|run| run.run.latency_from == "due") {
            parts.push("with a rate: latency from when an operation was due".to_owned());
        }
        if chosen.len() == 1 && !run.message.is_empty() {
            parts.push(run.message.clone());
        }
    }
    format!("<p class=\"meta\">{}</p>", escape(&parts.join(" · ")))
}

/// A bar for each workload and series.
fn overview(series: &[Series], groups: &[Group<'_>]) -> String {
    let rate = |run: &&Benchmark| run.operations_per_second;
    let timed: Vec<&Group<'_>> = groups
        .iter()
        .filter(|group| group.runs.iter().flatten().any(|run| run.operations > 0))
        .collect();
    if timed.is_empty() {
        return String::new();
    }
    let most = |group: &Group<'_>| group.runs.iter().flatten().map(rate).fold(0.0, f64::max);
    let of_all = timed.iter().map(|group| most(group)).fold(0.0, f64::max);
    // A page of one file compares its workloads; a page of several files compares the files.
    let scale = |group: &Group<'_>| if series.len() == 1 { of_all } else { most(group) }.max(1e-9);
    let note = if series.len() == 1 {
        "operations a second, one scale for all"
    } else {
        "operations a second, each workload on a scale of its own"
    };
    let mut out = format!("<section><h2>Throughput</h2><p class=\"meta\">{note}</p><div class=\"bars\">");
    for group in timed {
        write!(
            out,
            "<div class=\"group\"><a href=\"#{}\">{}</a><div>",
            group.anchor(),
            escape(&group.name)
        )
        .expect("a string takes all");
        let (runs, scale) = (&group.runs, scale(group));
        for (at, runs) in runs.iter().enumerate().filter(|(_, runs)| !runs.is_empty()) {
            let summary = tables::Spread::of(runs.iter().map(rate).collect());
            let percent = |value: f64| 100.0 * value / scale;
            write!(
                out,
                "<div class=\"row\"><div class=\"track\"><div class=\"bar {}\" style=\"width:{:.2}%\"></div>",
                class(at),
                percent(summary.median)
            )
            .expect("a string takes all");
            if runs.len() > 1 {
                write!(
                    out,
                    "<div class=\"whisker\" style=\"left:{:.2}%;width:{:.2}%\"></div>",
                    percent(summary.least),
                    percent(summary.most - summary.least)
                )
                .expect("a string takes all");
                for run in runs {
                    write!(
                        out,
                        "<div class=\"run\" style=\"left:{:.2}%\"></div>",
                        percent(rate(run))
                    )
                    .expect("a string takes all");
                }
            }
            let name = if series.len() > 1 {
                format!("<span>{}</span>", escape(&series[at].label))
            } else {
                String::new()
            };
            write!(
                out,
                "</div><div class=\"value\">{}{name}</div></div>",
                summary.text(svg::short)
            )
            .expect("a string takes all");
        }
        out.push_str("</div></div>");
    }
    out + "</div></section>\n"
}

/// The date and time in UTC.
fn date(unix_seconds: u64) -> String {
    let utc = base::date::Utc::from_unix(unix_seconds);
    format!(
        "{:04}-{:02}-{:02} {:02}:{:02} UTC",
        utc.year, utc.month, utc.day, utc.hour, utc.minute
    )
}

#[cfg(test)]
mod tests;

//! One frame: an observation as text.

use std::fmt::Write;

use clap::ValueEnum;

use serve::observe::{Family, Observation};

use super::layout::{Column, edges, names, table, wrapped};
use crate::text::{count, show_size};

/// The number of completed jobs, the newest, that are shown one by one.
const SHOWN_DONE: usize = 3;

/// The order of families in a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Sort {
    /// Families are sorted by id.
    #[default]
    Id,
    /// Families are sorted by name.
    Name,
    /// The largest family is first.
    Size,
    /// The family that most needs compaction is first.
    Score,
}

impl Sort {
    pub fn next(self) -> Sort {
        match self {
            Sort::Id => Sort::Name,
            Sort::Name => Sort::Size,
            Sort::Size => Sort::Score,
            Sort::Score => Sort::Id,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Sort::Id => "id",
            Sort::Name => "name",
            Sort::Size => "size",
            Sort::Score => "score",
        }
    }
}

/// The parts of an observation to show, and their form.
#[derive(Clone, Debug)]
pub struct View {
    /// The only family that is shown. `None`: all are shown.
    pub family: Option<String>,
    pub sort: Sort,
    /// The width of the terminal in columns, or [`UNLIMITED`](super::layout::UNLIMITED).
    pub width: usize,
    /// The maximum number of lines.
    pub height: Option<usize>,
}

/// Draws `now`. Rates are those since `before`, if there is one.
pub fn draw(now: &Observation, before: Option<&Observation>, view: &View) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = sections(&mut out, now, before, view);
    let lines = out.lines().take(view.height.unwrap_or(usize::MAX));
    lines.map(|line| format!("{line}\n")).collect()
}

fn sections(
    out: &mut String,
    now: &Observation,
    before: Option<&Observation>,
    view: &View,
) -> std::fmt::Result {
    let width = view.width;
    let clock = format!("sorted by {}  {}", view.sort.name(), utc(now.unix_seconds));
    edges(out, width, &format!("esker top  {}", now.dir.display()), &clock)?;
    let rows = before.map(|before| now.last_sequence.saturating_sub(before.last_sequence));
    let rows = rate(rows, now, before).map_or(String::new(), |rows| format!(", {rows} rows/s"));
    edges(
        out,
        width,
        &format!(
            "{}  {}, {}",
            now.manifest,
            show_size(now.manifest_bytes),
            count(now.edits, "edit")
        ),
        &format!("last sequence number {}{rows}", now.last_sequence),
    )?;
    match &now.process {
        None => wrapped(
            out,
            width,
            "no process holds the lock, or the kernel does not report it",
        )?,
        Some(process) => {
            let io = process.io.map_or(String::new(), |(read, written)| {
                format!("  read {}  written {}", show_size(read), show_size(written))
            });
            let resident = show_size(process.resident);
            edges(
                out,
                width,
                &format!("process {} {}", process.id, process.name),
                &format!("resident memory {resident}{io}"),
            )?;
        }
    }
    families(out, now, view)?;
    wals(out, now, width)?;
    jobs(out, now, before, width)?;
    log(out, now, width)
}

/// The columns of the families and their levels.
const FAMILIES: &[Column] = &[
    Column {
        title: "family",
        rank: 0,
    },
    Column {
        title: "level",
        rank: 0,
    },
    Column {
        title: "files",
        rank: 1,
    },
    Column {
        title: "size",
        rank: 0,
    },
    Column {
        title: "score",
        rank: 2,
    },
    Column {
        title: "compacting",
        rank: 4,
    },
    Column {
        title: "to compact",
        rank: 3,
    },
    Column {
        title: "blob files",
        rank: 5,
    },
    Column {
        title: "blob size",
        rank: 5,
    },
];

fn families(out: &mut String, now: &Observation, view: &View) -> std::fmt::Result {
    let size =
        |family: &Family| family.levels.iter().map(|level| level.bytes).sum::<u64>() + family.blob_bytes;
    let score = |family: &Family| {
        let scores = family.levels.iter().filter_map(|level| level.score);
        scores.fold(0.0, f64::max)
    };
    let mut families: Vec<&Family> = now
        .families
        .iter()
        .filter(|family| view.family.as_ref().is_none_or(|name| *name == family.name))
        .collect();
    match view.sort {
        Sort::Id => {}
        Sort::Name => families.sort_by(|a, b| a.name.cmp(&b.name)),
        Sort::Size => families.sort_by_key(|family| std::cmp::Reverse(size(family))),
        Sort::Score => families.sort_by(|a, b| score(b).total_cmp(&score(a))),
    }
    let if_any = |bytes: u64| match bytes {
        0 => String::new(),
        bytes => show_size(bytes),
    };
    let mut rows = Vec::new();
    for family in families {
        let files: usize = family.levels.iter().map(|level| level.files).sum();
        let blobs = match family.blob_files {
            0 => String::new(),
            blobs => blobs.to_string(),
        };
        rows.push(vec![
            family.name.clone(),
            "all".to_owned(),
            files.to_string(),
            show_size(size(family)),
            format!("{:.2}", score(family)),
            compacting(family.levels.iter().map(|level| level.compacting).sum()),
            if_any(family.pending_compaction_bytes),
            blobs,
            if_any(family.blob_bytes),
        ]);
        for level in family.levels.iter().filter(|level| level.files > 0) {
            rows.push(vec![
                String::new(),
                format!("L{}", level.level),
                level.files.to_string(),
                show_size(level.bytes),
                level.score.map_or("-".to_owned(), |score| format!("{score:.2}")),
                compacting(level.compacting),
                String::new(),
                String::new(),
                String::new(),
            ]);
        }
    }
    writeln!(out)?;
    table(out, view.width, FAMILIES, &rows)
}

/// Returns the number of files that compactions read now, with its unit.
fn compacting(files: usize) -> String {
    match files {
        0 => "-".to_owned(),
        files => count(files as u64, "file"),
    }
}

fn wals(out: &mut String, now: &Observation, width: usize) -> std::fmt::Result {
    let needed = now.wals.iter().filter(|wal| wal.needed);
    let bytes: u64 = needed.clone().map(|wal| wal.bytes).sum();
    writeln!(out)?;
    edges(
        out,
        width,
        &format!("{} in use", count(needed.count() as u64, "WAL")),
        &show_size(bytes),
    )?;
    for wal in &now.wals {
        // The line names the family that must be flushed before the oldest WAL can be deleted.
        let held = now
            .families
            .iter()
            .filter(|family| family.log_number <= wal.number);
        let begun = wal.begun.map_or(String::new(), |begun| {
            format!("begun {} ago, ", ago(now.unix_seconds.saturating_sub(begun)))
        });
        let left = format!(
            "  {:06}.log  {:>9}  {begun}written {} ago",
            wal.number,
            show_size(wal.bytes),
            ago(now.unix_seconds.saturating_sub(wal.written)),
        );
        let right = match wal.needed {
            true => may_hold(held, width, left.chars().count()),
            false => "not needed any more".to_owned(),
        };
        edges(out, width, &left, &right)?;
    }
    Ok(())
}

/// Returns the families that may have rows in a WAL: as many names as fit after `left` columns.
fn may_hold<'a>(families: impl Iterator<Item = &'a Family>, width: usize, left: usize) -> String {
    const WORDS: &str = "may hold rows of ";
    let all: Vec<&str> = families.map(|family| &*family.name).collect();
    // A list that is too long for the rest of the line has a line of its own.
    let room = [left + 2, 0].map(|left| width.saturating_sub(left + WORDS.len()));
    let beside = names(&all, room[0]);
    let listed = match room[0] < LEAST_LIST {
        true => names(&all, room[1]),
        false => beside,
    };
    format!("{WORDS}{listed}")
}

/// The number of columns below which a list of families goes to the next line.
const LEAST_LIST: usize = 12;

fn jobs(out: &mut String, now: &Observation, before: Option<&Observation>, width: usize) -> std::fmt::Result {
    writeln!(out)?;
    if !now.log.exists {
        return wrapped(out, width, "no LOG: jobs, stalls and the block cache are unknown");
    }
    let since = before.map_or(0, |before| before.unix_seconds * 1_000_000);
    let done = |compaction: bool| {
        let jobs = now
            .log
            .done
            .iter()
            .filter(move |job| job.compaction == compaction);
        let new = jobs.filter(move |job| job.micros >= since);
        new.fold((0, 0u64), |(jobs, bytes), job| {
            (jobs + 1, bytes + job.output_bytes)
        })
    };
    let ((flushes, _), (compactions, bytes)) = (done(false), done(true));
    let flushes = match flushes {
        1 => "1 flush".to_owned(),
        more => format!("{more} flushes"),
    };
    let period = match before {
        Some(_) => "since the last frame",
        None => "according to LOG",
    };
    let speed = rate(before.map(|_| bytes), now, before);
    let speed = speed.map_or(String::new(), |bytes| format!(", {}/s", show_size(bytes)));
    edges(
        out,
        width,
        &format!(
            "{flushes} and {} ended {period}",
            count(compactions, "compaction")
        ),
        &format!("{} written by compactions{speed}", show_size(bytes)),
    )?;
    for (id, job) in &now.log.running {
        let inputs: Vec<String> = job
            .inputs
            .iter()
            .map(|(level, files)| format!("{} of L{level}", count(*files as u64, "file")))
            .collect();
        let left = format!(
            "  job {id}: {} of {} for {}",
            if job.compaction { "compaction" } else { "flush" },
            job.family,
            ago(now.unix_seconds.saturating_sub(job.begun_micros / 1_000_000)),
        );
        edges(out, width, &left, &inputs.join(", "))?;
    }
    for job in now.log.done.iter().rev().take(SHOWN_DONE) {
        let took = job.took_micros.map_or(String::new(), |micros| {
            format!(" after {:.3} s", micros as f64 / 1e6)
        });
        let left = format!(
            "  job {}: {} of {} ended {} ago{took}",
            job.id,
            if job.compaction { "compaction" } else { "flush" },
            if job.family.is_empty() { "?" } else { &job.family },
            ago(now.unix_seconds.saturating_sub(job.micros / 1_000_000)),
        );
        let right = format!("{} in L{}", show_size(job.output_bytes), job.output_level);
        edges(out, width, &left, &right)?;
    }
    Ok(())
}

fn log(out: &mut String, now: &Observation, width: usize) -> std::fmt::Result {
    if !now.log.exists {
        return Ok(());
    }
    for (family, line) in &now.log.stalled {
        writeln!(out)?;
        let reason = with_rate(said(line));
        wrapped(out, width, &format!("writes to {family} are stalled: {reason}"))?;
    }
    let mut lines = |title: &str, lines: Vec<String>| -> std::fmt::Result {
        writeln!(out)?;
        wrapped(out, width, title)?;
        lines
            .iter()
            .try_for_each(|line| wrapped(out, width, &format!("  {line}")))
    };
    if !now.log.errors.is_empty() {
        let errors = now.log.errors.iter().map(|line| shortened(line));
        lines("last errors", errors.collect())?;
    }
    let stalls: Vec<String> = now.log.stalls.iter().map(|line| shortened(line)).collect();
    match stalls.is_empty() {
        true => lines("last stalls", vec!["none".to_owned()])?,
        false => lines("last stalls", stalls)?,
    }
    if let Some(dumped) = &now.log.dumped {
        let dump = now.log.cache.iter().chain(&now.log.pins);
        lines(&format!("statistics of {dumped}"), dump.cloned().collect())?;
    }
    Ok(())
}

/// A line without its time and source location.
fn said(line: &str) -> &str {
    line.rsplit_once("] ").map_or(line, |(_, said)| said)
}

/// A line of LOG without the fraction of its second, the number of its thread and its place in the source.
fn shortened(line: &str) -> String {
    let short = || {
        let (time, rest) = line.split_once(' ')?;
        let (time, _) = time.split_once('.')?;
        let (thread, rest) = rest.split_once(' ')?;
        thread.parse::<u64>().ok()?;
        let is_place = |word: &str| {
            let number = word
                .strip_suffix(']')
                .and_then(|word| word.rsplit_once(':'))
                .map(|(_, number)| number);
            word.starts_with('[') && number.is_some_and(|number| number.parse::<u64>().is_ok())
        };
        let mut words: Vec<&str> = rest.split(' ').collect();
        if let Some(place) = words.iter().take(2).position(|word| is_place(word)) {
            words.remove(place);
        }
        Some(format!("{time} {}", with_rate(&words.join(" "))))
    };
    short().unwrap_or_else(|| line.to_owned())
}

/// A line about a stall with the unit of the rate at its end, which LOG writes in bytes per second.
fn with_rate(line: &str) -> String {
    let rate = line
        .rsplit_once(" rate ")
        .and_then(|(line, rate)| Some((line, rate.parse::<u64>().ok()?)));
    match rate {
        Some((line, rate)) => format!("{line}, rate {}/s", show_size(rate)),
        None => line.to_owned(),
    }
}

/// `amount` per second; `None` without an earlier frame.
fn rate(amount: Option<u64>, now: &Observation, before: Option<&Observation>) -> Option<u64> {
    let seconds = before.map_or(0, |before| now.unix_seconds.saturating_sub(before.unix_seconds));
    amount.filter(|_| seconds > 0).map(|amount| amount / seconds)
}

fn ago(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// The time of day, in UTC.
fn utc(unix_seconds: u64) -> String {
    let of_day = unix_seconds % 86_400;
    format!(
        "{:02}:{:02}:{:02} UTC",
        of_day / 3600,
        of_day / 60 % 60,
        of_day % 60
    )
}

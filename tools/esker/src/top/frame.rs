//! One frame: an observation as text.

use std::fmt::Write;

use clap::ValueEnum;

use serve::observe::{Family, Observation};

use crate::text::{count, show_size};

/// The number of completed jobs, the newest, that are shown one by one.
const SHOWN_DONE: usize = 3;

/// The order of families in a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Sort {
    /// By id.
    #[default]
    Id,
    /// By name.
    Name,
    /// The largest first.
    Size,
    /// The one that most needs compaction first.
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
}

/// The parts of an observation to show, and their form.
#[derive(Clone, Debug)]
pub struct View {
    /// Only this family.
    pub family: Option<String>,
    pub sort: Sort,
    /// The maximum number of characters per line.
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
    let cut = |line: &str| line.chars().take(view.width).collect::<String>();
    lines.map(|line| cut(line) + "\n").collect()
}

fn sections(
    out: &mut String,
    now: &Observation,
    before: Option<&Observation>,
    view: &View,
) -> std::fmt::Result {
    writeln!(
        out,
        "esker top  {}  {}  by {:?}",
        now.dir.display(),
        utc(now.unix_seconds),
        view.sort
    )?;
    writeln!(
        out,
        "{}  {}, {}  last sequence {}{}",
        now.manifest,
        show_size(now.manifest_bytes),
        count(now.edits, "edit"),
        now.last_sequence,
        rate(
            before.map(|before| now.last_sequence.saturating_sub(before.last_sequence)),
            now,
            before
        )
    )?;
    match &now.process {
        None => writeln!(out, "no process holds the lock, or the kernel does not report it")?,
        Some(process) => {
            let io = process.io.map_or(String::new(), |(read, written)| {
                format!("  read {}  written {}", show_size(read), show_size(written))
            });
            writeln!(
                out,
                "process {} {}  rss {}{io}",
                process.id,
                process.name,
                show_size(process.resident)
            )?;
        }
    }
    families(out, now, view)?;
    wals(out, now)?;
    jobs(out, now, before)?;
    log(out, now)
}

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
    writeln!(
        out,
        "\nfamily            level   files       size   score  compacting"
    )?;
    for family in families {
        let files: usize = family.levels.iter().map(|level| level.files).sum();
        writeln!(
            out,
            "{:<16}  {:>5}  {files:>6}  {:>9}  {:>6.2}{}{}",
            family.name,
            "all",
            show_size(size(family)),
            score(family),
            match family.pending_compaction_bytes {
                0 => String::new(),
                bytes => format!("  {} to compact", show_size(bytes)),
            },
            match family.blob_files {
                0 => String::new(),
                blobs => format!(
                    "  {} in {}",
                    show_size(family.blob_bytes),
                    count(blobs as u64, "blob file")
                ),
            }
        )?;
        for level in family.levels.iter().filter(|level| level.files > 0) {
            let score = level.score.map_or("-".to_owned(), |score| format!("{score:.2}"));
            writeln!(
                out,
                "{:<16}  {:>5}  {:>6}  {:>9}  {score:>6}  {:>10}",
                "",
                format!("L{}", level.level),
                level.files,
                show_size(level.bytes),
                level.compacting
            )?;
        }
    }
    Ok(())
}

fn wals(out: &mut String, now: &Observation) -> std::fmt::Result {
    let needed = now.wals.iter().filter(|wal| wal.needed);
    let bytes: u64 = needed.clone().map(|wal| wal.bytes).sum();
    writeln!(
        out,
        "\n{} in use, {}",
        count(needed.count() as u64, "WAL"),
        show_size(bytes)
    )?;
    for wal in &now.wals {
        // The family that holds back the oldest WAL must be flushed.
        let held = now
            .families
            .iter()
            .filter(|family| family.log_number <= wal.number);
        writeln!(
            out,
            "  {:06}.log  {:>9}  {}written {} ago  {}",
            wal.number,
            show_size(wal.bytes),
            wal.begun.map_or(String::new(), |begun| format!(
                "begun {} ago, ",
                ago(now.unix_seconds.saturating_sub(begun))
            )),
            ago(now.unix_seconds.saturating_sub(wal.written)),
            match wal.needed {
                true => format!("may hold rows of {}", families_named(held)),
                false => "not needed any more".to_owned(),
            }
        )?;
    }
    Ok(())
}

fn families_named<'a>(families: impl Iterator<Item = &'a Family>) -> String {
    let names: Vec<&str> = families.map(|family| &*family.name).collect();
    match names.len() {
        0..=3 => names.join(", "),
        more => format!("{}, {} and {} more", names[0], names[1], more - 2),
    }
}

fn jobs(out: &mut String, now: &Observation, before: Option<&Observation>) -> std::fmt::Result {
    if !now.log.exists {
        return writeln!(out, "\nno LOG: jobs, stalls and the block cache are unknown");
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
    writeln!(
        out,
        "\n{} and {} ended{}, {} written by compactions{}",
        match flushes {
            1 => "1 flush".to_owned(),
            more => format!("{more} flushes"),
        },
        count(compactions, "compaction"),
        if before.is_some() {
            " since the last frame"
        } else {
            " according to LOG"
        },
        show_size(bytes),
        rate(before.map(|_| bytes), now, before)
    )?;
    for (id, job) in &now.log.running {
        let inputs: Vec<String> = job
            .inputs
            .iter()
            .map(|(level, files)| format!("{files} of L{level}"))
            .collect();
        writeln!(
            out,
            "  job {id}: {} of {} for {}  {}",
            if job.compaction { "compaction" } else { "flush" },
            job.family,
            ago(now.unix_seconds.saturating_sub(job.begun_micros / 1_000_000)),
            inputs.join(", ")
        )?;
    }
    for job in now.log.done.iter().rev().take(SHOWN_DONE) {
        writeln!(
            out,
            "  job {}: {} of {} ended {} ago{}, {} in L{}",
            job.id,
            if job.compaction { "compaction" } else { "flush" },
            if job.family.is_empty() { "?" } else { &job.family },
            ago(now.unix_seconds.saturating_sub(job.micros / 1_000_000)),
            job.took_micros.map_or(String::new(), |micros| format!(
                " after {:.3} s",
                micros as f64 / 1e6
            )),
            show_size(job.output_bytes),
            job.output_level
        )?;
    }
    Ok(())
}

fn log(out: &mut String, now: &Observation) -> std::fmt::Result {
    if !now.log.exists {
        return Ok(());
    }
    for (family, line) in &now.log.stalled {
        writeln!(out, "\nwrites to {family} are stalled: {}", said(line))?;
    }
    if !now.log.errors.is_empty() {
        writeln!(out, "\nlast errors")?;
    }
    for error in &now.log.errors {
        writeln!(out, "  {error}")?;
    }
    writeln!(out, "\nlast stalls")?;
    if now.log.stalls.is_empty() {
        writeln!(out, "  none")?;
    }
    for stall in &now.log.stalls {
        writeln!(out, "  {stall}")?;
    }
    if let Some(dumped) = &now.log.dumped {
        writeln!(out, "\nstatistics of {dumped}")?;
        for line in now.log.cache.iter().chain(&now.log.pins) {
            writeln!(out, "  {line}")?;
        }
    }
    Ok(())
}

/// A line without its time and source location.
fn said(line: &str) -> &str {
    line.rsplit_once("] ").map_or(line, |(_, said)| said)
}

/// `amount` per second, after a comma.
fn rate(amount: Option<u64>, now: &Observation, before: Option<&Observation>) -> String {
    let seconds = before.map_or(0, |before| now.unix_seconds.saturating_sub(before.unix_seconds));
    match amount {
        Some(amount) if seconds > 0 => format!(", {} a second", amount / seconds),
        _ => String::new(),
    }
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

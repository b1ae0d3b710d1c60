//! The commands that print what the database reports: events, its log, properties.

use std::collections::BTreeMap;
use std::path::Path;

use esker::{Event, Result};
use testkit::datadriven::TestCase;
use vfs::FileSystem;

use super::session::{Session, kind_of};
use super::text::{flag, list, misuse, optional, required};

/// The [`word`] for an event that is counted.
fn counted(event: &Event) -> Option<String> {
    // These events are not counted: the event at the end of a job repeats its beginning, and the number of
    // deletions, and of flushes for waiting writers, is random.
    let reported_elsewhere = matches!(
        event,
        Event::FileDeleted { .. }
            | Event::MemtableSealed { .. }
            | Event::SubcompactionBegun { .. }
            | Event::SubcompactionCompleted { .. }
            | Event::FlushBegun { .. }
            | Event::CompactionBegun { .. }
            | Event::JobEnded { .. }
            | Event::TableCreationStarted { .. }
            | Event::TableCreationFailed { .. }
            | Event::BlobFileCreationStarted { .. }
            | Event::BlobFileCreationFailed { .. }
            | Event::TableCreated { .. }
            | Event::BlobFileCreated { .. }
            | Event::WalCreated { .. }
            | Event::RecoveryBegun { .. }
            | Event::Recovered { .. }
    );
    (!reported_elsewhere && !event.is_memtable_stall()).then(|| word(event))
}

fn word(event: &Event) -> String {
    match event {
        Event::Flushed { family, .. } => format!("[{family}] flushed"),
        Event::Compacted { family, .. } => format!("[{family}] compacted"),
        Event::Dropped { family, reason, .. } => format!("[{family}] dropped for {reason}"),
        Event::Moved { family, .. } => format!("[{family}] moved"),
        other => other.to_string(),
    }
}

/// The fields of an event, by name, as the code prints them.
fn fields(event: &Event) -> Vec<(String, String)> {
    let text = format!("{event:?}");
    let Some(text) = text
        .split_once(" { ")
        .and_then(|(_, rest)| rest.strip_suffix(" }"))
    else {
        return Vec::new();
    };
    let (mut depth, mut quoted, mut parts) = (0, false, vec![String::new()]);
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            '{' | '[' | '(' if !quoted => depth += 1,
            '}' | ']' | ')' if !quoted => depth -= 1,
            ',' if !quoted && depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => (),
        }
        parts.last_mut().expect("a part").push(c);
    }
    let pairs = parts.iter().filter_map(|part| part.trim().split_once(": "));
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// An event as one line: its text, or its kind with the fields `show`.
fn line_of(event: &Event, show: &[String]) -> Result<String> {
    if show.is_empty() {
        return Ok(event.to_string());
    }
    let (mut line, fields) = (kind_of(event), fields(event));
    for name in show {
        let field = fields.iter().find(|(field, _)| field == name);
        let value = field.map(|(_, value)| value.as_str());
        // The end of a compaction has its reason in the text of the plan.
        let of_plan = || {
            let plan = fields
                .iter()
                .find(|(field, _)| name == "reason" && field == "plan");
            let (_, rest) = plan.and_then(|(_, plan)| plan.split_once("reason "))?;
            rest.split([',', '"']).next()
        };
        let value = value
            .or_else(of_plan)
            .ok_or_else(|| misuse(format!("no field {name} in {event:?}")))?;
        line.push_str(&format!(" {name}={value}"));
    }
    Ok(line)
}

impl Session {
    /// Prints the counts of the events since the last `events`, or the events of `kinds` in their
    /// order, with `unique` without repetitions, with `sorted` sorted.
    pub(super) fn events(&mut self, case: &mut TestCase, out: &mut String) -> Result<()> {
        let (kinds, show): (Vec<String>, Vec<String>) = (list(case, "kinds")?, list(case, "show")?);
        if !flag(case, "open") {
            self.must_be_closed()?;
        }
        let events = self.events.take();
        self.passed = 0;
        if !kinds.is_empty() {
            let family = optional::<String>(case, "cf")?.map(|name| format!("{name:?}"));
            let of_family = |event: &Event| {
                let wanted =
                    |(name, value): &(String, String)| name == "family" && Some(value) == family.as_ref();
                family.is_none() || fields(event).iter().any(wanted)
            };
            let of_kinds = events
                .iter()
                .filter(|event| kinds.contains(&kind_of(event)) && of_family(event));
            let lines = of_kinds.map(|event| line_of(event, &show));
            let mut lines = lines.collect::<Result<Vec<String>>>()?;
            if flag(case, "sorted") {
                lines.sort();
            }
            if flag(case, "unique") {
                lines.dedup();
            }
            lines.iter().for_each(|line| out.push_str(&format!("{line}\n")));
            return Ok(());
        }
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for word in events.iter().filter_map(counted) {
            *counts.entry(word).or_default() += 1;
        }
        for (word, count) in counts {
            // The number is omitted for a stall condition: it depends on which job ends first.
            let times = if word.contains("] writes ") {
                String::new()
            } else {
                format!(": {count}")
            };
            out.push_str(&format!("{word}{times}\n"));
        }
        Ok(())
    }

    /// Waits for the next event of `kinds`, prints it, and names its fields `keep` as numbers.
    pub(super) fn next_event(&mut self, case: &mut TestCase, out: &mut String) -> Result<()> {
        let (kinds, show): (Vec<String>, Vec<String>) = (list(case, "kinds")?, list(case, "show")?);
        let keep: Vec<String> = list(case, "keep")?;
        let mut found = None;
        testkit::wait_until("the event is sent", || {
            let events = self.events.all();
            let of_kind = |event: &Event| kinds.contains(&kind_of(event));
            let next = events
                .iter()
                .enumerate()
                .skip(self.passed)
                .find(|(_, event)| of_kind(event));
            found = next.map(|(at, event)| (at, event.clone()));
            found.is_some()
        });
        if let Some((at, event)) = found {
            self.passed = at + 1;
            for (name, value) in fields(&event) {
                if keep.contains(&name) {
                    let number = value
                        .parse()
                        .map_err(|_| misuse(format!("{name} is no number")))?;
                    self.numbers.insert(name, number);
                }
            }
            out.push_str(&line_of(&event, &show)?);
        }
        Ok(())
    }

    /// Prints the lines of the info log, or of another file, with one of the texts, from there on.
    pub(super) fn log(&self, case: &mut TestCase, out: &mut String) -> Result<()> {
        let (dir, name) = (Path::new(&self.path), optional::<String>(case, "of")?);
        let name = self.newest(dir, name.as_deref().unwrap_or("LOG"))?;
        let log = self.fs.read_file(&dir.join(name))?;
        let log = String::from_utf8_lossy(&log);
        let found = |line: &str| case.input.lines().find_map(|text| line.find(text));
        let lines: Vec<&str> = log
            .lines()
            .filter_map(|line| found(line).map(|at| &line[at..]))
            .collect();
        match flag(case, "count") {
            true => out.push_str(&format!("{} lines", lines.len())),
            false => lines.iter().for_each(|line| out.push_str(&format!("{line}\n"))),
        }
        Ok(())
    }

    /// Counts the operations of the file system since the last `calls`: for each line those whose text has all
    /// its words. With `lengths` it prints the bytes of each, with `largest` the most bytes, and with `text` the
    /// operations themselves.
    pub(super) fn calls(&self, case: &mut TestCase, out: &mut String) -> Result<()> {
        let calls = self.calls.as_ref().ok_or_else(|| misuse("new calls"))?.take();
        let [lengths, largest, text] = ["lengths", "largest", "text"].map(|name| flag(case, name));
        for line in case.input.lines() {
            let has_all = |call: &&str| line.split_whitespace().all(|word| call.contains(word));
            let found: Vec<&str> = calls.lines().filter(has_all).collect();
            let bytes = found
                .iter()
                .filter_map(|call| call.rsplit_once('+')?.1.parse().ok());
            let bytes: Vec<u64> = bytes.collect();
            let shown: Vec<String> = match (lengths, largest, text) {
                (true, ..) => bytes.iter().map(u64::to_string).collect(),
                (_, true, _) => bytes.iter().max().into_iter().map(u64::to_string).collect(),
                (.., true) => found.iter().map(|call| (*call).to_owned()).collect(),
                _ => vec![found.len().to_string()],
            };
            out.push_str(&format!(
                "{line}: {}\n",
                shown.join(if text { "; " } else { " " })
            ));
        }
        Ok(())
    }

    /// Prints a property, or its lines with one of the texts.
    pub(super) fn property(&self, case: &mut TestCase, out: &mut String) -> Result<()> {
        let (family, name) = (self.family(case)?, required::<String>(case, "name")?);
        let value = self.db()?.property(&family, &name);
        let value = value.unwrap_or_else(|| "unknown".to_owned());
        if case.input.is_empty() {
            out.push_str(&value);
            return Ok(());
        }
        for line in value.split(['\n', ',']) {
            if case.input.lines().any(|text| line.contains(text)) {
                out.push_str(&format!("{}\n", line.trim()));
            }
        }
        Ok(())
    }
}

//! `dump`: rows in order with their number, or one file.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use base::filename::{self, FileKind};
use base::statistics::HistogramImpl;
use esker::ReadOptions;

use crate::ldb::count::ByDelimiter;
use crate::ldb::line::Line;
use crate::ldb::open::Session;
use crate::ldb::outcome::{Failed, Outcome};
use crate::ldb::rows::{Rows, Times, time_text};
use crate::ldb::{dump_wal, open};
use crate::output::Out;
use crate::rocksdb_text::{blob, manifest, table, wal};

pub fn run(line: &Line, out: &mut Out) -> Outcome {
    match (line.path("path"), line.value("db")) {
        (Some(path), None) => file(line, &path, out),
        _ => rows(line, &open::read_only(line)?, out),
    }
}

/// Dumps a file, whose kind is known from its name.
fn file(line: &Line, path: &Path, out: &mut Out) -> Outcome {
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let Some(kind) = filename::parse(name) else {
        return Err(Failed::said(format!("Can't parse file type: {}", path.display())));
    };
    match kind {
        FileKind::Wal(_) => dump_wal::dump(&mut wal::Dump::full(BTreeMap::new()), path, out)?,
        FileKind::Table(_) => {
            let entries = table::Entries {
                hex: line.key_hex()?,
                decode_blob_index: line.flag("decode_blob_index"),
                from: line.key_option("from")?,
                to: line.key_option("to")?,
                ..table::Entries::default()
            };
            table::dump(path, &entries, out)?;
        }
        FileKind::Manifest(_) => {
            let form = manifest::Form {
                hex: line.key_hex()?,
                ..manifest::Form::default()
            };
            manifest::dump(path, form, &BTreeMap::new(), out)?;
        }
        FileKind::Blob(_) => {
            let form = blob::Form {
                key_hex: line.key_hex()?,
                value_hex: line.value_hex()?,
                uncompressed: line.flag("dump_uncompressed_blobs"),
            };
            blob::dump(path, form, out)?;
        }
        _ => {
            return Err(Failed::said(format!(
                "File type not supported: {}",
                path.display()
            )));
        }
    }
    Ok(String::new())
}

/// Rows counted by the times at which they were written, with `--bucket`.
struct Buckets {
    times: Times,
    size: i64,
    counts: Vec<u64>,
}

impl Buckets {
    fn new(line: &Line, times: Times) -> Result<Buckets, Failed> {
        let range = i64::from(times.end) - i64::from(times.start);
        let size = line
            .int("bucket")?
            .filter(|&size| size > 0)
            .map_or(range, i64::from);
        let buckets = match size >= range {
            true => 1,
            false => (range as u64).div_ceil(size as u64) as usize,
        };
        Ok(Buckets {
            times,
            size,
            counts: vec![0; buckets],
        })
    }

    fn add(&mut self, time: u64) {
        let at = (time as i64 - i64::from(self.times.start)).checked_div(self.size);
        if let Some(count) = at.and_then(|at| self.counts.get_mut(at as usize)) {
            *count += 1;
        }
    }

    fn print(&self, out: &mut dyn Write) -> std::io::Result<()> {
        for (number, count) in self.counts.iter().enumerate() {
            let begin = i64::from(self.times.start) + number as i64 * self.size;
            let end = match number + 1 == self.counts.len() {
                true => self.times.end.into(),
                false => begin + self.size,
            };
            writeln!(
                out,
                "Keys in range {} to {} : {count}",
                time_text(begin),
                time_text(end)
            )?;
        }
        Ok(())
    }
}

fn rows(line: &Line, session: &Session, out: &mut Out) -> Outcome {
    let (from, to) = (line.key_option("from")?, line.key_option("to")?);
    let mut left = line.int("max_keys")?.unwrap_or(-1);
    let times = Times::new(line)?;
    let (count_only, is_ttl) = (line.flag("count_only"), session.ttl.is_some());
    if line.flag("stats")
        && let Some(stats) = session.db.property(&session.family, "rocksdb.stats")
    {
        writeln!(out, "{stats}")?;
    }
    if times.end < times.start {
        eprintln!("Error: End time can't be less than start time");
        return Ok(String::new());
    }
    let mut buckets = Buckets::new(line, times)?;
    let has_buckets = is_ttl && buckets.counts.len() > 1;
    let mut groups = ByDelimiter::new(line);
    let shows_times = is_ttl && line.flag("timestamp");
    if shows_times && !count_only && groups.is_none() {
        writeln!(
            out,
            "Dumping key-values from {} to {}",
            time_text(times.start.into()),
            time_text(times.end.into())
        )?;
    }
    let order = session.family.comparator();
    let options = ReadOptions {
        timestamp: (order.timestamp_size() > 0).then(|| vec![0xff; order.timestamp_size()]),
        ..ReadOptions::default()
    };
    let mut rows = Rows::new(session, &options)?;
    rows.seek(from.as_deref());
    let (mut count, sizes) = (0u64, HistogramImpl::default());
    while rows.valid() && left != 0 {
        let is_behind = |to: &Vec<u8>| {
            order
                .compare_without_timestamp(&order.stamped(rows.key()), &order.stamped(to))
                .is_ge()
        };
        if to.as_ref().is_some_and(is_behind) {
            break;
        }
        if times.includes(&rows) {
            left = left.saturating_sub(i32::from(left > 0));
            if let Some(time) = rows.written().filter(|_| has_buckets) {
                buckets.add(time);
            }
            count += 1;
            if let Some(groups) = &mut groups {
                let size = rows.key().len() + rows.value().len();
                groups.add(rows.key(), size as u64, b"\0", out)?;
            }
            if count_only {
                sizes.add(rows.value().len() as u64);
            } else if groups.is_none() {
                if let Some(time) = rows.written().filter(|_| shows_times) {
                    write!(out, "{} ", time_text(time as i64))?;
                }
                out.write_all(&rows.text(line)?)?;
                out.write_all(b"\n")?;
            }
        }
        rows.next();
    }
    match (has_buckets, groups) {
        (true, _) => buckets.print(out)?,
        (false, Some(groups)) => groups.print(out)?,
        (false, None) => writeln!(out, "Keys in range: {count}")?,
    }
    if count_only {
        writeln!(out, "Value size distribution: \n{sizes}")?;
    }
    rows.status()
        .map_err(|error| Failed::with("Iterator error: ", &error))?;
    Ok(String::new())
}

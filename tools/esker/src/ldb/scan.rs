//! `scan`: rows in order.

use std::io::Write;

use crate::ldb::line::Line;
use crate::ldb::open;
use crate::ldb::outcome::{Failed, Outcome};
use crate::ldb::rows::{Rows, Times, time_text};
use crate::output::Out;

pub fn run(line: &Line, out: &mut Out) -> Outcome {
    let (from, to) = (line.key_option("from")?, line.key_option("to")?);
    let most = line.int("max_keys")?.unwrap_or(-1);
    if line.flag("get_write_unix_time") {
        let text = "Not implemented: --get_write_unix_time: iterators do not have the write time of a row";
        return Err(Failed::said(text));
    }
    let times = Times::new(line)?;
    let session = open::read_only(line)?;
    let options = session
        .read_options(line)
        .map_err(|error| Failed::said(format!("Scan failed: {}", error.message())))?;
    if times.end < times.start {
        eprintln!("Error: End time can't be less than start time");
        return Ok(String::new());
    }
    let shows_times = line.flag("ttl") && line.flag("timestamp");
    if shows_times {
        writeln!(
            out,
            "Scanning key-values from {} to {}",
            time_text(times.start.into()),
            time_text(times.end.into())
        )?;
    }
    let mut rows = Rows::new(&session, &options)?;
    rows.seek(from.as_deref());
    let mut scanned = 0;
    while rows.valid() && to.as_deref().is_none_or(|to| rows.key() < to) {
        if times.includes(&rows) {
            if let Some(time) = rows.written().filter(|_| shows_times) {
                write!(out, "{} ", time_text(time as i64))?;
            }
            match line.flag("no_value") {
                true => out.write_all(&line.show_key(rows.key())?)?,
                false => out.write_all(&rows.text(line)?)?,
            }
            out.write_all(b"\n")?;
            scanned += 1;
            if most >= 0 && scanned >= most {
                break;
            }
        }
        rows.next();
    }
    rows.status()?;
    Ok(String::new())
}

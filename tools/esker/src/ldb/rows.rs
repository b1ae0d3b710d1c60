//! An iterator over the rows of a family, with or without a time to live, and a row as text.

use base::Result;
use base::date::Utc;
use esker::{DbIterator, ReadOptions, TtlIterator};

use crate::ldb::line;
use crate::ldb::line::Line;
use crate::ldb::open::Session;
use crate::ldb::outcome::Failed;
use crate::rocksdb_text::{columns, key, prefixed_hex_if};

/// The text between key and value.
pub const DELIM: &[u8] = b" ==> ";

/// An iterator over the rows of a family.
pub enum Rows {
    Plain(Box<DbIterator>),
    Ttl(Box<TtlIterator>),
}

impl Rows {
    /// The rows of the session's family. It has no position.
    pub fn new(session: &Session, options: &ReadOptions) -> Result<Rows> {
        Ok(match &session.ttl {
            Some(ttl) => Rows::Ttl(Box::new(ttl.iter_cf_opt(&session.family, options)?)),
            None => Rows::Plain(Box::new(session.db.iter_cf_opt(&session.family, options))),
        })
    }

    /// Moves to `from`, or to the first row.
    pub fn seek(&mut self, from: Option<&[u8]>) {
        match (self, from) {
            (Rows::Plain(iter), Some(from)) => iter.seek(from),
            (Rows::Plain(iter), None) => iter.seek_to_first(),
            (Rows::Ttl(iter), Some(from)) => iter.seek(from),
            (Rows::Ttl(iter), None) => iter.seek_to_first(),
        }
    }

    pub fn valid(&self) -> bool {
        match self {
            Rows::Plain(iter) => iter.valid(),
            Rows::Ttl(iter) => iter.valid(),
        }
    }

    pub fn next(&mut self) {
        match self {
            Rows::Plain(iter) => iter.next(),
            Rows::Ttl(iter) => iter.next(),
        }
    }

    pub fn key(&self) -> &[u8] {
        match self {
            Rows::Plain(iter) => iter.key(),
            Rows::Ttl(iter) => iter.key(),
        }
    }

    pub fn value(&self) -> &[u8] {
        match self {
            Rows::Plain(iter) => iter.value(),
            Rows::Ttl(iter) => iter.value(),
        }
    }

    /// The time at which the row was written, in Unix seconds; `None` without `--ttl`.
    pub fn written(&self) -> Option<u64> {
        match self {
            Rows::Plain(_) => None,
            Rows::Ttl(iter) => Some(iter.ttl_timestamp()),
        }
    }

    pub fn status(&self) -> Result<()> {
        match self {
            Rows::Plain(iter) => iter.status(),
            Rows::Ttl(iter) => iter.status(),
        }
    }

    /// The row as `key ==> value`. An entity with other columns than the default one has all of them as its
    /// value.
    pub fn text(&self, line: &Line) -> Result<Vec<u8>, Failed> {
        let (key_hex, value_hex) = (line.key_hex()?, line.value_hex()?);
        let mut text = prefixed_hex_if(key_hex, self.key());
        let mut entity = None;
        if let Rows::Plain(iter) = self {
            if !iter.timestamp().is_empty() {
                text.extend_from_slice(b"|timestamp:");
                text.extend_from_slice(key::timestamp(iter.timestamp()).as_bytes());
            }
            entity = iter
                .columns()?
                .filter(|columns| columns.iter().any(|(name, _)| !name.is_empty()));
        }
        text.extend_from_slice(DELIM);
        match entity {
            Some(list) => {
                let list = list.iter().map(|(name, value)| (&name[..], &value[..]));
                text.extend(columns::columns(list, value_hex));
            }
            None => text.extend(prefixed_hex_if(value_hex, self.value())),
        }
        Ok(text)
    }
}

/// The range of times of rows to show, with `--start_time` and `--end_time`, in Unix seconds.
#[derive(Clone, Copy)]
pub struct Times {
    pub start: i32,
    pub end: i32,
}

impl Times {
    /// The range that the command line has: by default every time that RocksDB's suffix can express.
    pub fn new(line: &Line) -> Result<Times, Failed> {
        Ok(Times {
            start: line.int("start_time")?.unwrap_or(1_368_146_402),
            end: line.int("end_time")?.unwrap_or(i32::MAX),
        })
    }

    /// True if `rows` is at a row of the range.
    pub fn includes(&self, rows: &Rows) -> bool {
        rows.written()
            .is_none_or(|time| (i64::from(self.start)..i64::from(self.end)).contains(&(time as i64)))
    }
}

/// A time as C's `strftime("%c")` shows it, in UTC.
pub fn time_text(seconds: i64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let seconds = seconds.max(0) as u64;
    let utc = Utc::from_unix(seconds);
    let day = DAYS[(seconds / 86_400 % 7) as usize];
    let month = MONTHS[(utc.month as usize).clamp(1, 12) - 1];
    format!(
        "{day} {month} {:2} {:02}:{:02}:{:02} {}",
        utc.day, utc.hour, utc.minute, utc.second, utc.year
    )
}

/// A key and its value.
pub type Row = (Vec<u8>, Vec<u8>);

/// Splits a line of a dump into key and value; `None` if it has no delimiter.
pub fn parse(text: &[u8], at: &Line) -> Result<Option<Row>, Failed> {
    let Some(split) = text.windows(DELIM.len()).position(|window| window == DELIM) else {
        return Ok(None);
    };
    let key = line::unhex_if(at.key_hex()?, &text[..split])?;
    let value = line::unhex_if(at.value_hex()?, &text[split + DELIM.len()..])?;
    Ok(Some((key, value)))
}

/// Calls `each` with the rows in a dump on standard input. Returns the number of lines that are neither
/// rows nor lines that a dump has at its end.
pub fn each_of_stdin(
    line: &Line,
    mut each: impl FnMut(&[u8], &[u8]) -> Result<(), Failed>,
) -> Result<u64, Failed> {
    use std::io::BufRead;
    let mut bad = 0;
    for text in std::io::stdin().lock().split(b'\n') {
        let text = text.map_err(|error| Failed::said(format!("While reading standard input: {error}")))?;
        match parse(&text, line)? {
            Some((key, value)) => each(&key, &value)?,
            None if text.starts_with(b"Keys in range:") || text.starts_with(b"Created bg thread 0x") => {}
            None => bad += 1,
        }
    }
    Ok(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_strftime() {
        assert_eq!(time_text(1_368_146_402), "Fri May 10 00:40:02 2013");
        assert_eq!(time_text(i32::MAX.into()), "Tue Jan 19 03:14:07 2038");
    }

    #[test]
    fn rows_of_a_dump_are_split_at_the_first_delimiter() {
        let line = Line::default();
        let row = parse(b"a ==> b ==> c", &line).unwrap();
        assert_eq!(row, Some((b"a".to_vec(), b"b ==> c".to_vec())));
        assert_eq!(parse(b"a => b", &line).unwrap(), None);
    }
}

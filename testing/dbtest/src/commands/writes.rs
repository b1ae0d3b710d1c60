//! The commands that write.

use esker::{ColumnFamily, Result, WriteBatch, WriteOptions};
use testkit::datadriven::TestCase;
use testkit::keys::unescape;

use super::session::Session;
use super::text::{bytes, filler, flag, misuse, optional, required, value_of};

impl Session {
    /// Writes a batch.
    pub(super) fn write(&mut self, case: &mut TestCase, out: &mut String) -> Result<()> {
        let options = write_options(case);
        let mut batch = WriteBatch::new();
        for line in case.input.lines() {
            let mut words = line.split_whitespace().peekable();
            let family = match words.next_if(|word| word.starts_with('@')) {
                Some(name) => self.named_family(&name[1..])?,
                None => self.db()?.default_column_family(),
            };
            let words: Vec<&str> = words.collect();
            add_to_batch(&mut batch, &family, &words).map_err(|error| error.context(line))?;
        }
        if flag(case, "seqno") {
            let seqno = self.db()?.write_sequenced(batch, &options)?;
            out.push_str(&seqno.to_string());
        } else {
            self.db()?.write_opt(batch, &options)?;
        }
        self.settle(case)
    }

    /// Puts rows one by one.
    pub(super) fn fill(&mut self, case: &mut TestCase) -> Result<()> {
        let (rows, options) = (rows_of_fill(case)?, write_options(case));
        let (db, family) = (self.db()?, self.family(case)?);
        for (key, value) in rows {
            db.put_cf_opt(&family, key.as_bytes(), value, &options)?;
        }
        self.settle(case)
    }

    /// Compares rows with those that `fill` puts, and prints their number and those that differ.
    pub(super) fn filled(&self, case: &mut TestCase, out: &mut String) -> Result<()> {
        let (rows, options) = (rows_of_fill(case)?, self.read_options(case)?);
        let (db, family, rows) = (self.db()?, self.family(case)?, rows.collect::<Vec<_>>());
        let found: Vec<Result<Option<Vec<u8>>>> = match flag(case, "multi_get") {
            true => {
                let keys: Vec<&String> = rows.iter().rev().map(|row| &row.0).collect();
                let mut found = db.multi_get_cf_opt(&family, &keys, &options);
                found.reverse();
                found
            }
            false => {
                let keys = rows.iter().map(|row| row.0.as_bytes());
                keys.map(|key| db.get_cf_opt(&family, key, &options)).collect()
            }
        };
        // The rows of the same outcome that follow each other: their number, the first key and the last.
        let mut runs: Vec<(String, usize, String, String)> = Vec::new();
        for ((key, value), found) in rows.into_iter().zip(found) {
            let outcome = match found {
                Ok(Some(found)) if found == value => "as filled".to_owned(),
                Ok(Some(_)) => "another value".to_owned(),
                Ok(None) => "not found".to_owned(),
                Err(error) => error.to_string(),
            };
            match runs.last_mut() {
                Some((last, times, _, to)) if *last == outcome => (*times, *to) = (*times + 1, key),
                _ => runs.push((outcome, 1, key.clone(), key)),
            }
        }
        for (outcome, times, from, to) in runs {
            out.push_str(&format!("{times} rows {from}..{to}: {outcome}\n"));
        }
        Ok(())
    }
}

/// The rows of `fill`.
fn rows_of_fill(case: &mut TestCase) -> Result<impl Iterator<Item = (String, Vec<u8>)> + use<>> {
    let (from, to): (usize, usize) = (required(case, "from")?, required(case, "to")?);
    let len = optional(case, "len")?.unwrap_or(20);
    let step = optional(case, "step")?.unwrap_or(1);
    let salt: u8 = optional(case, "salt")?.unwrap_or(0);
    let same = flag(case, "same");
    Ok((from..to).step_by(step).map(move |number| {
        let (key, _) = row_of_fill(number, 0);
        match same {
            true => (key, vec![b'v' + salt; len]),
            false => (key, filler(number + usize::from(salt) * 1_000_000, len)),
        }
    }))
}

/// A row of `fill` with a value of `len` bytes.
pub(super) fn row_of_fill(number: usize, len: usize) -> (String, Vec<u8>) {
    (format!("key{number:06}"), filler(number, len))
}

fn write_options(case: &mut TestCase) -> WriteOptions {
    WriteOptions {
        sync: flag(case, "sync"),
        disable_wal: flag(case, "disable_wal"),
        no_slowdown: flag(case, "no_slowdown"),
        low_pri: flag(case, "low_pri"),
        ignore_missing_column_families: flag(case, "ignore_missing_column_families"),
        ..WriteOptions::default()
    }
}

fn add_to_batch(batch: &mut WriteBatch, family: &ColumnFamily, words: &[&str]) -> Result<()> {
    // A key and its timestamp, which is empty in a family without timestamps.
    let stamped = |word: &str| -> Result<(Vec<u8>, Vec<u8>)> {
        match word
            .rsplit_once('/')
            .filter(|_| family.comparator().timestamp_size() > 0)
        {
            Some((key, timestamp)) => {
                let timestamp: u64 = timestamp.parse().map_err(|_| misuse("a timestamp is a number"))?;
                Ok((bytes(key)?, timestamp.to_le_bytes().to_vec()))
            }
            None => Ok((bytes(word)?, Vec::new())),
        }
    };
    match *words {
        ["put", key, value] => {
            let (key, timestamp) = stamped(key)?;
            batch.put_at(family, &key, &timestamp, &value_of(value)?);
        }
        ["put", key] => {
            let (key, timestamp) = stamped(key)?;
            batch.put_at(family, &key, &timestamp, b"");
        }
        ["del", key] => {
            let (key, timestamp) = stamped(key)?;
            batch.delete_at(family, &key, &timestamp);
        }
        ["sdel", key] => batch.single_delete_cf(family, &bytes(key)?),
        ["merge", key, operand] => {
            let (key, timestamp) = stamped(key)?;
            batch.merge_at(family, &key, &timestamp, &value_of(operand)?);
        }
        ["delrange", begin, end] => {
            let (begin, timestamp) = stamped(begin)?;
            batch.delete_range_at(family, &begin, &bytes(end)?, &timestamp);
        }
        ["entity", key, ref columns @ ..] => {
            let column = |word: &&str| -> Result<(Vec<u8>, Vec<u8>)> {
                let (name, value) = word.split_once('=').ok_or_else(|| misuse("NAME=VALUE"))?;
                Ok((
                    unescape(name).map_err(|error| misuse(error.to_string()))?,
                    value_of(value)?,
                ))
            };
            let columns = columns.iter().map(column).collect::<Result<Vec<_>>>()?;
            let columns: Vec<(&[u8], &[u8])> = columns
                .iter()
                .map(|(name, value)| (&name[..], &value[..]))
                .collect();
            batch.put_entity_cf(family, &bytes(key)?, &columns)?;
        }
        ["log", text] => batch.put_log_data(text.as_bytes()),
        _ => return Err(misuse("no such write")),
    }
    Ok(())
}

//! `get` and `multi_get`: the values of keys.

use std::io::Write;

use esker::ReadOptions;

use crate::ldb::line::Line;
use crate::ldb::open::{self, Session};
use crate::ldb::outcome::{Failed, Outcome};
use crate::ldb::rows::DELIM;
use crate::output::Out;
use crate::rocksdb_text::prefixed_hex_if;

pub fn get(line: &Line, out: &mut Out) -> Outcome {
    let [key] = line.params() else {
        let text = "<key> must be specified for the get command";
        return Err(Failed::said(text));
    };
    let key = line.key(key)?;
    let session = open::read_only(line)?;
    let failed = |message: String| Failed::said(format!("Get failed: {message}"));
    let options = session
        .read_options(line)
        .map_err(|error| failed(error.message()))?;
    match session
        .get(&options, &key)
        .map_err(|error| failed(error.to_string()))?
    {
        Some(value) => out.write_all(&prefixed_hex_if(line.value_hex()?, &value))?,
        None => out.write_all(b"Key not found")?,
    }
    out.write_all(b"\n")?;
    Ok(String::new())
}

pub fn multi_get(line: &Line, out: &mut Out) -> Outcome {
    let command = KeysCommand {
        name: "MultiGet",
        no_key: "At least one <key> must be specified for multi_get.",
    };
    let read = |session: &Session, options: &ReadOptions, keys: &[Vec<u8>]| {
        session.db.multi_get_cf_opt(&session.family, keys, options)
    };
    command.run(line, out, read, |value| {
        Ok(prefixed_hex_if(line.value_hex()?, value))
    })
}

/// A command that reads several keys.
pub struct KeysCommand {
    /// RocksDB's name of the operation, for messages.
    pub name: &'static str,
    /// The message if no key is given.
    pub no_key: &'static str,
}

impl KeysCommand {
    /// Writes a line for each key, with the `text` of what `read` finds.
    pub fn run<T>(
        &self,
        line: &Line,
        out: &mut Out,
        read: impl FnOnce(&Session, &ReadOptions, &[Vec<u8>]) -> Vec<esker::Result<Option<T>>>,
        text: impl Fn(&T) -> Result<Vec<u8>, Failed>,
    ) -> Outcome {
        if line.params().is_empty() {
            return Err(Failed::said(self.no_key));
        }
        let keys = line
            .params()
            .iter()
            .map(|key| line.key(key))
            .collect::<Result<Vec<_>, _>>()?;
        let session = open::read_only(line)?;
        let options = session
            .read_options(line)
            .map_err(|error| Failed::said(format!("{} failed: {}", self.name, error.message())))?;
        let mut failed = false;
        for (key, found) in keys.iter().zip(read(&session, &options, &keys)) {
            let key = line.show_key(key)?;
            match found {
                Ok(Some(found)) => out.write_all(&[&key, DELIM, &text(&found)?, b"\n"].concat())?,
                Ok(None) => out.write_all(&[b"Key not found: ", &key[..], b"\n"].concat())?,
                Err(error) => {
                    eprintln!("Status for key {}: {error}", String::from_utf8_lossy(&key));
                    failed = true;
                }
            }
        }
        match failed {
            true => Err(Failed::said("one or more keys had non-okay status")),
            false => Ok(String::new()),
        }
    }
}

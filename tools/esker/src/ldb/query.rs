//! `query`: a shell over one family, which reads commands from standard input.

use std::ffi::OsStr;
use std::io::{BufRead, Write};
use std::os::unix::ffi::OsStrExt;

use base::ErrorKind;
use esker::{ReadOptions, WriteBatch};

use crate::ldb::line::{Line, unhex_if};
use crate::ldb::open;
use crate::ldb::open::{Session, timestamp};
use crate::ldb::outcome::{Failed, Outcome};
use crate::ldb::rows::{DELIM, Rows};
use crate::output::Out;
use crate::rocksdb_text::{key, prefixed_hex_if};

const HELP: &str = "\
get <key> [--read_timestamp=<uint64_ts>]
put <key> [<write_timestamp>] <value>
delete <key> [<write_timestamp>]
count [--from=<start_key>] [--to=<end_key>] [--read_timestamp=<uint64_ts>]
";

pub fn run(line: &Line, out: &mut Out) -> Outcome {
    let session = open::writable(line, false)?;
    let shell = Shell {
        line,
        session: &session,
    };
    for command in std::io::stdin().lock().split(b'\n') {
        let command =
            command.map_err(|error| Failed::said(format!("While reading standard input: {error}")))?;
        shell.run(&command, out)?;
        // The output is flushed, because the answer must be visible before the next command is typed.
        out.flush()?;
    }
    session.close()?;
    Ok(String::new())
}

struct Shell<'a> {
    line: &'a Line,
    session: &'a Session,
}

/// The end of the shell: neither a missing key nor a wrong argument.
fn is_fatal(error: &base::Error) -> bool {
    !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidArgument)
}

impl Shell<'_> {
    /// Runs one command. Its result, good or bad, is printed.
    ///
    /// Errors: only those after which the shell ends.
    fn run(&self, text: &[u8], out: &mut Out) -> Result<(), Failed> {
        let mut words = Line::default();
        text.split(|&byte| byte == b' ')
            .for_each(|word| words.add(OsStr::from_bytes(word)));
        if words.words().is_empty() || words.has_flags() {
            writeln!(out, "Bad command")?;
            return Ok(());
        }
        let plain = words.options().is_empty();
        match (&words.words()[0][..], words.params().len()) {
            (b"help", _) => out.write_all(HELP.as_bytes())?,
            (b"delete", 1 | 2) if plain => self.delete(&words, out)?,
            (b"delete", _) if plain => writeln!(out, "delete gets invalid arguments")?,
            (b"put", 2 | 3) if plain => self.put(&words, out)?,
            (b"put", _) if plain => writeln!(out, "put gets invalid arguments")?,
            (b"get", 1) => self.get(&words, out)?,
            (b"count", _) => self.count(&words, out)?,
            _ => {
                out.write_all(b"Unknown command ")?;
                out.write_all(text)?;
                out.write_all(b"\n")?;
            }
        }
        Ok(())
    }

    /// Prints the outcome of a write, and ends the shell if it is fatal.
    fn written(&self, what: Vec<u8>, result: base::Result<()>, out: &mut Out) -> Result<(), Failed> {
        out.write_all(&what)?;
        match result {
            Ok(()) => writeln!(out, " succeeded")?,
            Err(error) => {
                writeln!(out, " failed: {error}")?;
                if is_fatal(&error) {
                    return Err(error.into());
                }
            }
        }
        Ok(())
    }

    /// The timestamp in `text`; `None` if it is wrong, which is printed.
    fn timestamp(&self, command: &str, text: &[u8], out: &mut Out) -> Result<Option<[u8; 8]>, Failed> {
        match timestamp(&String::from_utf8_lossy(text)) {
            Ok(timestamp) => Ok(Some(timestamp)),
            Err(error) => {
                writeln!(out, "{command} gets invalid argument: {}", error.message())?;
                Ok(None)
            }
        }
    }

    fn delete(&self, words: &Line, out: &mut Out) -> Result<(), Failed> {
        let family = &self.session.family;
        let key = self.line.key(&words.params()[0])?;
        let mut batch = WriteBatch::new();
        let mut what = [b"delete ", &self.line.show_key(&key)?[..]].concat();
        match words.params().get(1) {
            None => batch.delete_cf(family, &key),
            Some(text) => {
                let Some(at) = self.timestamp("delete", text, out)? else {
                    return Ok(());
                };
                batch.delete_at(family, &key, &at);
                what.extend_from_slice(format!(" write_ts: {}", key::timestamp(&at)).as_bytes());
            }
        }
        self.written(what, self.session.write(batch), out)
    }

    fn put(&self, words: &Line, out: &mut Out) -> Result<(), Failed> {
        let family = &self.session.family;
        let params = words.params();
        let value_hex = self.line.value_hex()?;
        let key = self.line.key(&params[0])?;
        let value = unhex_if(value_hex, &params[params.len() - 1])?;
        let mut batch = WriteBatch::new();
        let mut what = [b"put ", &self.line.show_key(&key)?[..]].concat();
        match params.len() {
            2 => batch.put_cf(family, &key, &value),
            _ => {
                let Some(at) = self.timestamp("put", &params[1], out)? else {
                    return Ok(());
                };
                batch.put_at(family, &key, &at, &value);
                what.extend_from_slice(format!(" write_ts: {}", key::timestamp(&at)).as_bytes());
            }
        }
        what.extend_from_slice(b" => ");
        what.extend(prefixed_hex_if(value_hex, &value));
        self.written(what, self.session.write(batch), out)
    }

    /// The options of a read; `None` if they are wrong, which is printed.
    fn reading(&self, words: &Line, known: &[&str], out: &mut Out) -> Result<Option<ReadOptions>, Failed> {
        let command = String::from_utf8_lossy(&words.words()[0]).into_owned();
        if words.options().keys().any(|name| !known.contains(&&name[..])) {
            writeln!(out, "{command} gets invalid arguments")?;
            return Ok(None);
        }
        let mut options = ReadOptions::default();
        if let Some(text) = words.value("read_timestamp") {
            let Some(at) = self.timestamp(&command, text, out)? else {
                return Ok(None);
            };
            options.timestamp = Some(at.to_vec());
        }
        Ok(Some(options))
    }

    fn get(&self, words: &Line, out: &mut Out) -> Result<(), Failed> {
        let Some(options) = self.reading(words, &["read_timestamp"], out)? else {
            return Ok(());
        };
        let key = self.line.key(&words.params()[0])?;
        let shown = self.line.show_key(&key)?;
        let at = options.timestamp.as_deref().map(key::timestamp);
        let result = self.session.get(&options, &key);
        if let Ok(Some(value)) = &result {
            let at = at.map_or(String::new(), |at| format!("|timestamp:{at}"));
            let value = prefixed_hex_if(self.line.value_hex()?, value);
            out.write_all(&[&shown, at.as_bytes(), DELIM, &value, b"\n"].concat())?;
            return Ok(());
        }
        let at = at.map_or(String::new(), |at| format!(" read_timestamp: {at}"));
        out.write_all(&[b"get ", &shown[..], at.as_bytes()].concat())?;
        match result {
            Err(error) => {
                writeln!(out, " status: {error}")?;
                match is_fatal(&error) {
                    true => Err(error.into()),
                    false => Ok(()),
                }
            }
            Ok(_) => Ok(writeln!(out, " status: NotFound: ")?),
        }
    }

    fn count(&self, words: &Line, out: &mut Out) -> Result<(), Failed> {
        let known = ["from", "to", "read_timestamp"];
        let Some(mut options) = self.reading(words, &known, out)? else {
            return Ok(());
        };
        let bound = |name: &str| words.value(name).map(|text| self.line.key(text)).transpose();
        let from = bound("from")?;
        options.iterate_upper_bound = bound("to")?;
        let counted = Rows::new(self.session, &options).and_then(|mut rows| {
            rows.seek(from.as_deref());
            let mut count = 0u64;
            while rows.valid() {
                count += 1;
                rows.next();
            }
            rows.status().map(|()| count)
        });
        match counted {
            Ok(count) => writeln!(out, "{count}")?,
            Err(error) => writeln!(out, "scan failed: {error}")?,
        }
        Ok(())
    }
}

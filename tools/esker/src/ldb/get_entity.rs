//! `get_entity` and `multi_get_entity`: the columns of keys.

use std::io::Write;

use esker::{Columns, ReadOptions};

use crate::ldb::get::KeysCommand;
use crate::ldb::line::Line;
use crate::ldb::open::{self, Session};
use crate::ldb::outcome::{Failed, Outcome};
use crate::output::Out;
use crate::rocksdb_text::columns;

pub fn get_entity(line: &Line, out: &mut Out) -> Outcome {
    let [key] = line.params() else {
        let text = "<key> must be specified for the get_entity command";
        return Err(Failed::said(text));
    };
    let key = line.key(key)?;
    let session = open::read_only(line)?;
    let failed = |message: String| Failed::said(format!("GetEntity failed: {message}"));
    let options = session
        .read_options(line)
        .map_err(|error| failed(error.message()))?;
    let found = session.db.get_entity_cf_opt(&session.family, &key, &options);
    match found.map_err(|error| failed(error.to_string()))? {
        Some(found) => out.write_all(&text(&found, line)?)?,
        None => return Err(failed("NotFound: ".to_owned())),
    }
    out.write_all(b"\n")?;
    Ok(String::new())
}

fn text(found: &Columns, line: &Line) -> Result<Vec<u8>, Failed> {
    let list = found.iter().map(|(name, value)| (&name[..], &value[..]));
    Ok(columns::columns(list, line.value_hex()?))
}

pub fn multi_get_entity(line: &Line, out: &mut Out) -> Outcome {
    let command = KeysCommand {
        name: "MultiGetEntity",
        no_key: "At least one <key> must be specified for the multi_get_entity command",
    };
    let read = |session: &Session, options: &ReadOptions, keys: &[Vec<u8>]| {
        session.db.multi_get_entity(&session.family, keys, options)
    };
    command.run(line, out, read, |found| text(found, line))
}

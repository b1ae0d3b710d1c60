//! `list_column_families`, `create_column_family` and `drop_column_family`.

use std::io::Write;

use esker::Db;

use crate::ldb::line::Line;
use crate::ldb::outcome::{Failed, Outcome, ok};
use crate::ldb::{open, options};
use crate::output::Out;

pub fn list(line: &Line, out: &mut Out) -> Outcome {
    let options = options::prepare(line)?;
    let dir = line.db();
    match Db::list_column_families(&options, &dir) {
        Ok(names) => writeln!(
            out,
            "Column families in {}: \n{{{}}}",
            dir.display(),
            names.join(", ")
        )?,
        // After this error RocksDB's command still succeeds.
        Err(error) => eprintln!("Error in processing db {} {error}", dir.display()),
    }
    Ok(String::new())
}

pub fn create(line: &Line, out: &mut Out) -> Outcome {
    let name = only_name(line, "new column family name must be specified")?;
    let options = options::prepare(line)?;
    let session = open::with_options(line, options.clone())?;
    session
        .db
        .create_column_family(&name, &options.column_family)
        .map_err(|error| Failed::with("Fail to create new column family: ", &error))?;
    session.close()?;
    ok(out)
}

pub fn drop_family(line: &Line, out: &mut Out) -> Outcome {
    let name = only_name(line, "The name of column family to drop must be specified")?;
    let session = open::writable(line, false)?;
    let Some(family) = session.db.column_family(&name) else {
        return Err(Failed::said(format!(
            "Column family: {name} doesn't exist in db."
        )));
    };
    session
        .db
        .drop_column_family(&family)
        .map_err(|error| Failed::with("Fail to drop column family: ", &error))?;
    session.close()?;
    ok(out)
}

fn only_name(line: &Line, message: &str) -> Result<String, Failed> {
    match line.params() {
        [name] => Ok(String::from_utf8_lossy(name).into_owned()),
        _ => Err(Failed::said(message)),
    }
}

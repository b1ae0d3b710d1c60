//! `batchput`: sets several keys in one batch.

use esker::WriteBatch;

use crate::ldb::line::{Line, unhex_if};
use crate::ldb::open;
use crate::ldb::outcome::{Failed, Outcome, ok};
use crate::output::Out;

pub fn run(line: &Line, out: &mut Out) -> Outcome {
    let params = line.params();
    if params.len() < 2 {
        let text = "At least one <key> <value> pair must be specified batchput.";
        return Err(Failed::said(text));
    }
    if !params.len().is_multiple_of(2) {
        let text = "Equal number of <key>s and <value>s must be specified for batchput.";
        return Err(Failed::said(text));
    }
    let rows = params
        .chunks_exact(2)
        .map(|row| Ok((line.key(&row[0])?, unhex_if(line.value_hex()?, &row[1])?)))
        .collect::<Result<Vec<_>, Failed>>()?;
    let session = open::writable(line, line.flag("create_if_missing"))?;
    let mut batch = WriteBatch::new();
    for (key, value) in &rows {
        batch.put_cf(&session.family, key, value);
    }
    session
        .write(batch)
        .map_err(|error| Failed::with("Write failed: ", &error))?;
    session.close()?;
    ok(out)
}

//! `put`: sets a key.

use esker::WriteBatch;

use crate::ldb::line::{Line, unhex_if};
use crate::ldb::open;
use crate::ldb::outcome::{Failed, Outcome, ok};
use crate::output::Out;

pub fn run(line: &Line, out: &mut Out) -> Outcome {
    let [key, value] = line.params() else {
        let text = "<key> and <value> must be specified for the put command";
        return Err(Failed::said(text));
    };
    let (key, value) = (line.key(key)?, unhex_if(line.value_hex()?, value)?);
    let session = open::writable(line, line.flag("create_if_missing"))?;
    let mut batch = WriteBatch::new();
    batch.put_cf(&session.family, &key, &value);
    session.write(batch)?;
    session.close()?;
    ok(out)
}

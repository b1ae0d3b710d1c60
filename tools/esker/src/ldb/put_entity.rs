//! `put_entity`: sets a key to columns.

use esker::WriteBatch;

use crate::ldb::line::{Line, unhex_if};
use crate::ldb::open;
use crate::ldb::outcome::{Failed, Outcome, ok};
use crate::output::Out;

pub fn run(line: &Line, out: &mut Out) -> Outcome {
    let (Some((key, columns)), true) = (line.params().split_first(), line.params().len() >= 2) else {
        return Err(Failed::said(
            "<key> and at least one column <column_name>:<column_value> must be specified for the put_entity \
             command",
        ));
    };
    let key = line.key(key)?;
    let columns = columns
        .iter()
        .map(|text| column(line, text))
        .collect::<Result<Vec<_>, _>>()?;
    let session = open::writable(line, line.flag("create_if_missing"))?;
    if session.ttl.is_some() {
        return Err(Failed::said("Not implemented: wide-column entities in a TTL DB"));
    }
    let mut columns: Vec<(&[u8], &[u8])> = columns
        .iter()
        .map(|(name, value)| (&name[..], &value[..]))
        .collect();
    columns.sort_unstable();
    let mut batch = WriteBatch::new();
    batch.put_entity_cf(&session.family, &key, &columns)?;
    session.write(batch)?;
    session.close()?;
    ok(out)
}

/// `name:value`.
fn column(line: &Line, text: &[u8]) -> Result<(Vec<u8>, Vec<u8>), Failed> {
    let parts: Vec<&[u8]> = text.split(|&byte| byte == b':').collect();
    let [name, value @ [_, ..]] = parts[..] else {
        return Err(Failed::said(
            "wide column format needs to be <column_name>:<column_value> (did you mean put <key> <value>?)",
        ));
    };
    let hex = line.value_hex()?;
    Ok((unhex_if(hex, name)?, unhex_if(hex, value)?))
}

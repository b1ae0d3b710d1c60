//! `delete`, `singledelete` and `deleterange`.

use esker::{ColumnFamily, WriteBatch};

use crate::ldb::line::Line;
use crate::ldb::open;
use crate::ldb::outcome::{Failed, Outcome, ok};
use crate::output::Out;

pub fn delete(line: &Line, out: &mut Out) -> Outcome {
    let key = only_key(line, "KEY must be specified for the delete command")?;
    write(line, out, |batch, family| batch.delete_cf(family, &key))
}

pub fn single_delete(line: &Line, out: &mut Out) -> Outcome {
    let key = only_key(line, "KEY must be specified for the single delete command")?;
    write(line, out, |batch, family| batch.single_delete_cf(family, &key))
}

pub fn delete_range(line: &Line, out: &mut Out) -> Outcome {
    let [begin, end] = line.params() else {
        let text = "begin and end keys must be specified for the delete command";
        return Err(Failed::said(text));
    };
    let (begin, end) = (line.key(begin)?, line.key(end)?);
    write(line, out, |batch, family| {
        batch.delete_range_cf(family, &begin, &end)
    })
}

fn only_key(line: &Line, message: &str) -> Result<Vec<u8>, Failed> {
    match line.params() {
        [key] => line.key(key),
        _ => Err(Failed::said(message)),
    }
}

fn write(line: &Line, out: &mut Out, fill: impl FnOnce(&mut WriteBatch, &ColumnFamily)) -> Outcome {
    let session = open::writable(line, false)?;
    let mut batch = WriteBatch::new();
    fill(&mut batch, &session.family);
    session.write(batch)?;
    session.close()?;
    ok(out)
}

//! `list_file_range_deletes`: the range deletions in tables.

use std::io::Write;

use crate::dump;
use crate::ldb::line::Line;
use crate::ldb::open;
use crate::ldb::outcome::Outcome;
use crate::output::Out;
use crate::text::Form;

pub fn run(line: &Line, out: &mut Out) -> Outcome {
    let most = line.int("max_keys")?.unwrap_or(1000);
    let session = open::read_only(line)?;
    let mut text = String::new();
    let mut left = most;
    let tables = session.db.live_files();
    let own = tables
        .iter()
        .filter(|file| file.column_family == session.family.name());
    for file in own {
        if left <= 0 {
            break;
        }
        text += &format!("=== file : {} ===\n", file.path.display());
        let table = dump::sst::open(&file.path)?;
        for fragment in table.range_tombstones().iter() {
            for seqno in fragment.seqnos.iter().take(left.max(0) as usize) {
                let (start, end) = (Form::Hex.show(fragment.start), Form::Hex.show(fragment.end));
                text += &format!("start: {start} end: {end} seq: {seqno}\n");
                left -= 1;
            }
        }
    }
    if most > 0 && left <= 0 {
        text += "(results may not be complete)\n";
    }
    writeln!(out, "{text}")?;
    Ok(String::new())
}

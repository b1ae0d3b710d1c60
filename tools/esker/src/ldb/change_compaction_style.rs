//! `change_compaction_style`: puts all rows into one file in L0, so that the database can be opened with
//! universal compaction.

use std::io::Write;

use esker::CompactRangeOptions;

use crate::ldb::line::Line;
use crate::ldb::open::Session;
use crate::ldb::outcome::{Failed, Outcome};
use crate::ldb::{open, options};
use crate::output::Out;

/// RocksDB's numbers of the two styles.
const LEVEL: i32 = 0;
const UNIVERSAL: i32 = 1;

pub fn run(line: &Line, out: &mut Out) -> Outcome {
    check(line)?;
    let mut options = options::prepare(line)?;
    let family = options::family(&mut options, line);
    family.disable_auto_compactions = true;
    family.target_file_size_base = i32::MAX as u64;
    family.target_file_size_multiplier = 1;
    family.max_bytes_for_level_base = i32::MAX as u64;
    family.max_bytes_for_level_multiplier = 1.0;
    let session = open::with_options(line, options)?;
    writeln!(
        out,
        "files per level before compaction: {}",
        show(&files(&session))
    )?;
    let to_l0 = CompactRangeOptions {
        change_level: true,
        target_level: Some(0),
        ..CompactRangeOptions::default()
    };
    session
        .db
        .compact_range_cf_opt(&session.family, None, None, &to_l0)
        .map_err(|error| Failed::with("Compaction failed: ", &error))?;
    let after = files(&session);
    for (level, &number) in after.iter().enumerate() {
        let expected = usize::from(level == 0);
        if number != expected {
            return Err(Failed::said(format!(
                "Number of db files at level {level} after compaction is {number}, not {expected}.\n"
            )));
        }
    }
    writeln!(out, "files per level after compaction: {}", show(&after))?;
    session.close()?;
    Ok(String::new())
}

/// The text about two styles between which there is nothing to do, or that do not exist.
fn check(line: &Line) -> Result<(), Failed> {
    let style = |name: &str| match line.int(name)? {
        Some(style @ (LEVEL | UNIVERSAL)) => Ok(style),
        _ => {
            let which = name.split('_').next().unwrap_or_default();
            Err(Failed::said(format!(
                "Use --{name} to specify {which} compaction style. Check ldb help for proper compaction style \
                 value.\n"
            )))
        }
    };
    match (style("old_compaction_style")?, style("new_compaction_style")?) {
        (LEVEL, UNIVERSAL) => Ok(()),
        (old, new) if old == new => Err(Failed::said(
            "Old compaction style is the same as new compaction style. Nothing to do.\n",
        )),
        _ => Err(Failed::said(
            "Convert from universal compaction to level compaction. Nothing to do.\n",
        )),
    }
}

/// The number of files in each level.
fn files(session: &Session) -> Vec<usize> {
    let levels = session.db.levels(&session.family);
    levels.iter().map(|level| level.files).collect()
}

fn show(files: &[usize]) -> String {
    let numbers: Vec<String> = files.iter().map(usize::to_string).collect();
    numbers.join(",")
}

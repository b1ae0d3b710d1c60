//! `reduce_levels`: makes a database fit into fewer levels.

use std::io::Write;
use std::sync::Arc;

use base::Error;
use esker::{CompactRangeOptions, DEFAULT_COLUMN_FAMILY};
use manifest::{FamilyState, VersionEdit};

use crate::ldb::line::Line;
use crate::ldb::offline::Offline;
use crate::ldb::outcome::{Failed, Outcome};
use crate::ldb::{open, options};
use crate::output::Out;

pub fn run(line: &Line, out: &mut Out) -> Outcome {
    let levels = line.int("new_levels")?.unwrap_or(-1);
    if levels <= 0 {
        return Err(Failed::said(" Use --new_levels to specify a new level number\n"));
    }
    if levels <= 1 {
        return Err(Failed::said("Invalid number of levels.\n"));
    }
    let levels = levels as usize;
    let dir = line.db();
    let old = levels_in_use(&Offline::open(&dir)?)?;
    if line.flag("print_old_levels") {
        writeln!(out, "The old number of levels in use is {old}")?;
    }
    if old <= levels {
        return Ok(String::new());
    }
    let mut options = options::prepare(line)?;
    let family = options::family(&mut options, line);
    family.num_levels = old as i32;
    family.max_bytes_for_level_multiplier_additional = vec![1; old];
    // No level is ever too large.
    family.max_bytes_for_level_base = 1 << 50;
    family.max_bytes_for_level_multiplier = 1.0;
    let session = open::with_options(line, options)?;
    writeln!(out, "Compacting the db...")?;
    let all = CompactRangeOptions::default();
    session
        .db
        .compact_range_cf_opt(&session.family, None, None, &all)?;
    session.close()?;
    let database = Offline::open(&dir)?;
    let edit = lowered(default_family(&database.state()?.families)?, levels)?;
    if let Some(edit) = edit {
        database.apply(vec![edit])?;
    }
    Ok(String::new())
}

fn default_family(families: &std::collections::BTreeMap<u32, FamilyState>) -> base::Result<&FamilyState> {
    families
        .get(&0)
        .ok_or_else(|| Error::corruption(format!("there is no family {DEFAULT_COLUMN_FAMILY}")))
}

/// The number of levels up to the last one with files.
fn levels_in_use(database: &Offline<'_>) -> base::Result<usize> {
    let state = database.state()?;
    Ok(default_family(&state.families)?.version.num_non_empty_levels())
}

/// The edit that moves the files of the only level from `levels - 1` on to level `levels - 1`; `None` if none
/// has to move.
///
/// Errors: `InvalidArgument` if several of these levels have files.
fn lowered(family: &FamilyState, levels: usize) -> base::Result<Option<VersionEdit>> {
    let version = &family.version;
    let last = levels - 1;
    let mut filled = (last..version.num_levels()).filter(|&level| !version.files(level).is_empty());
    let (first, second) = (filled.next(), filled.next());
    if let (Some(first), Some(second)) = (first, second) {
        return Err(Error::invalid_argument(format!(
            "Found at least two levels containing files: [{first}:{}],[{second}:{}].\n",
            version.files(first).len(),
            version.files(second).len()
        )));
    }
    let Some(level) = first.filter(|&level| level != last) else {
        return Ok(None);
    };
    let files = version.files(level);
    Ok(Some(VersionEdit {
        column_family: family.id,
        deleted_files: files.iter().map(|file| (level as u32, file.number)).collect(),
        new_files: files.iter().map(|file| (last as u32, Arc::clone(file))).collect(),
        ..VersionEdit::default()
    }))
}

//! `unsafe_remove_sst_file`: removes a table from the MANIFEST, and with it its rows.

use base::{Error, ErrorKind};
use manifest::VersionEdit;

use crate::ldb::line::Line;
use crate::ldb::offline::Offline;
use crate::ldb::outcome::{Failed, Outcome};
use crate::output::Out;

pub fn run(line: &Line, _: &mut Out) -> Outcome {
    let [text] = line.params() else {
        return Err(Failed::said("SST file number must be specified"));
    };
    let text = String::from_utf8_lossy(text).into_owned();
    let Ok(number) = text.parse::<u64>() else {
        return Err(Failed::said(format!("Failed to parse SST file number {text}")));
    };
    remove(line, number).map_err(|error| Failed::with("failed to unsafely remove SST file: ", &error))?;
    Ok("unsafely removed SST file".to_owned())
}

fn remove(line: &Line, number: u64) -> base::Result<()> {
    let dir = line.db();
    let database = Offline::open(&dir)?;
    let state = database.state()?;
    let found = state.families.values().find_map(|family| {
        let level = family.version.level_of(number)?;
        Some((family.id, level))
    });
    let Some((family, level)) = found else {
        return Err(Error::new(ErrorKind::NotFound, "File not present in any level"));
    };
    database.apply(vec![VersionEdit {
        column_family: family,
        deleted_files: [(level as u32, number)].into(),
        ..VersionEdit::default()
    }])
}

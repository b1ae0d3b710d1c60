//! `update_manifest`: makes the MANIFEST say what the file system knows about the files.

use crate::ldb::line::Line;
use crate::ldb::offline::Offline;
use crate::ldb::outcome::{Failed, Outcome};
use crate::output::Out;

/// The disk's file system knows no temperatures of files, and RocksDB leaves the record of such a file as
/// it is: what remains is to check that the MANIFEST can be read and that its tables exist.
pub fn run(line: &Line, _: &mut Out) -> Outcome {
    line.is_set("verbose", false)?;
    if !line.is_set("update_temperatures", false)? {
        let text = "No action like --update_temperatures specified for update_manifest";
        return Err(Failed::said(text));
    }
    check(line).map_err(|error| Failed::with("failed to update manifest: ", &error))?;
    Ok("Manifest updates successful".to_owned())
}

fn check(line: &Line) -> base::Result<()> {
    let dir = line.db();
    let state = Offline::open(&dir)?.state()?;
    for family in state.families.values() {
        for (_, file) in family.version.all_files().filter(|(_, file)| file.path_id == 0) {
            crate::directory::open(&base::filename::table(&dir, file.number))?;
        }
    }
    Ok(())
}

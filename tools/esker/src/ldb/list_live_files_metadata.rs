//! `list_live_files_metadata`: the tables and blob files of each family.

use std::io::Write;
use std::path::PathBuf;

use crate::ldb::line::Line;
use crate::ldb::open;
use crate::ldb::outcome::Outcome;
use crate::output::Out;

/// The line of dashes below the lists.
const RULE: &str = "------------------------------";

pub fn run(line: &Line, out: &mut Out) -> Outcome {
    let session = open::read_only(line)?;
    let db = &session.db;
    let tables = db.live_files();
    if line.flag("sort_by_filename") {
        // A blob file is in no level.
        let mut files: Vec<(PathBuf, Option<usize>, String)> = tables
            .iter()
            .map(|file| (file.path.clone(), Some(file.level), file.column_family.clone()))
            .collect();
        for family in db.column_families() {
            let blobs = db.blob_files(&family);
            files.extend(
                blobs
                    .into_iter()
                    .map(|blob| (blob.path, None, family.name().to_owned())),
            );
        }
        files.sort();
        writeln!(out, "Live SST and Blob Files:")?;
        for (path, level, family) in files {
            let path = path.display();
            match level {
                Some(level) => writeln!(out, "{path} : level {level}, column family '{family}'")?,
                None => writeln!(out, "{path}, column family '{family}'")?,
            }
        }
    } else {
        for family in db.column_families() {
            writeln!(
                out,
                "===== Column Family: {} =====\nLive SST Files:",
                family.name()
            )?;
            for level in db.levels(&family) {
                writeln!(out, "---------- level {} ----------", level.level)?;
                let own = tables
                    .iter()
                    .filter(|file| file.column_family == family.name() && file.level == level.level);
                for file in own {
                    writeln!(out, "{}", file.path.display())?;
                }
            }
            writeln!(out, "Live Blob Files:")?;
            for blob in db.blob_files(&family) {
                writeln!(out, "{}", blob.path.display())?;
            }
        }
    }
    writeln!(out, "{RULE}")?;
    Ok(String::new())
}

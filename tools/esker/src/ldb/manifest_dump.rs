//! `manifest_dump` and `compaction_progress_dump`.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use base::filename::{self, FileKind};
use esker::{DEFAULT_COLUMN_FAMILY, Options};
use vfs::FileSystem;

use crate::directory;
use crate::ldb::line::Line;
use crate::ldb::options;
use crate::ldb::outcome::{Failed, Outcome};
use crate::output::{Failure, Out};
use crate::rocksdb_text::manifest;

pub fn run(line: &Line, out: &mut Out) -> Outcome {
    if line.flag("path") {
        return Err(Failed::said("--path: missing pathname"));
    }
    let form = manifest::Form {
        verbose: line.flag("verbose"),
        json: line.flag("json"),
        hex: line.key_hex()?,
    };
    let options = options::prepare(line)?;
    let loaded = options::loads_options(line)?;
    let path = match line.path("path") {
        Some(path) => path,
        None => only_manifest(&line.db())?,
    };
    if form.verbose {
        writeln!(out, "Processing Manifest file {}", path.display())?;
    }
    dump(&path, form, &levels(&options, loaded), out)?;
    if form.verbose {
        writeln!(out, "Processing Manifest file {} done", path.display())?;
    }
    Ok(String::new())
}

/// Dumps a MANIFEST. An error is printed on standard error and does not fail the command.
pub fn dump(
    path: &Path,
    form: manifest::Form,
    levels: &BTreeMap<String, usize>,
    out: &mut Out,
) -> Result<(), Failed> {
    match manifest::dump(path, form, levels, out) {
        Err(Failure::Error(error)) => {
            eprintln!("Error in processing file {} {error}", path.display());
            Ok(())
        }
        other => Ok(other?),
    }
}

/// The numbers of levels of the families whose options are known.
pub fn levels(options: &Options, loaded: bool) -> BTreeMap<String, usize> {
    if !loaded {
        return BTreeMap::new();
    }
    let others = options.column_families.iter();
    std::iter::once((DEFAULT_COLUMN_FAMILY, &options.column_family))
        .chain(others.map(|(name, family)| (name.as_str(), family)))
        .map(|(name, family)| (name.to_owned(), family.num_levels.max(0) as usize))
        .collect()
}

/// Returns the path of the only MANIFEST in a directory.
fn only_manifest(dir: &Path) -> Result<PathBuf, Failed> {
    let is_manifest = |name: &String| matches!(filename::parse(name), Some(FileKind::Manifest(_)));
    let names = directory::fs().list(dir).map_err(|error| {
        Failed::said(format!(
            "{error}: Failed to list the content of {}",
            dir.display()
        ))
    })?;
    let mut found = names.into_iter().filter(is_manifest);
    match (found.next(), found.next()) {
        (Some(name), None) => Ok(dir.join(name)),
        (Some(_), Some(_)) => Err(Failed::said(
            "Multiple MANIFEST files found; use --path to select one",
        )),
        (None, _) => Err(Failed::said(format!("No MANIFEST found in {}", dir.display()))),
    }
}

/// Esker's workers write no progress files: a job that was interrupted begins again.
pub fn compaction_progress(line: &Line, _: &mut Out) -> Outcome {
    Err(Failed::said(match line.path("path") {
        Some(_) => {
            "Not implemented: compaction_progress_dump: progress files of RocksDB's workers are not read"
        }
        None => "The --path option is required for compaction_progress_dump command",
    }))
}

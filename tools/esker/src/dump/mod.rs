//! The commands that dump files: they show the contents, decoded as far as possible.

pub mod manifest;
pub mod sst;
pub mod wal;

use std::path::PathBuf;

use base::filename::{self, FileKind};
use base::{Error, Result};

use crate::args::Source;
use crate::directory;

impl Source {
    /// The files to inspect: the named ones, or the files of the database that `belongs` selects.
    fn paths(&self, what: &str, belongs: fn(&FileKind) -> bool) -> Result<Vec<PathBuf>> {
        let Some(dir) = &self.db else {
            return Ok(self.files.clone());
        };
        let files = directory::files(dir, None)?;
        let paths: Vec<PathBuf> = files
            .into_iter()
            .filter(|file| belongs(&file.kind))
            .map(|file| file.path)
            .collect();
        match paths.is_empty() {
            true => Err(Error::invalid_argument(format!("there is no {what}")).in_file(dir)),
            false => Ok(paths),
        }
    }
}

/// The kind of a file according to its name.
fn kind(path: &std::path::Path) -> Option<FileKind> {
    filename::parse(path.file_name()?.to_str()?)
}

/// Dumps several files: continues after an error, and returns the first one at the end.
fn each(
    paths: &[PathBuf],
    mut dump: impl FnMut(&PathBuf) -> Result<(), crate::output::Failure>,
) -> Result<(), crate::output::Failure> {
    let mut first = Ok(());
    for path in paths {
        match dump(path) {
            Err(crate::output::Failure::Error(error)) => {
                let error = error.in_file(path);
                first = first.and(Err(crate::output::Failure::Error(error)));
            }
            other => other?,
        }
    }
    first
}

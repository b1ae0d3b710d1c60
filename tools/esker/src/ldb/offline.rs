//! Changes of the MANIFEST of a database that no process has open.

use std::path::Path;

use base::filename;
use base::{Error, ErrorKind, Result};
use manifest::{ManifestState, Replay, VersionEdit, snapshot_edits};
use vfs::{CreateOptions, FileLock, FileSystem};
use wal::WriterOptions;

use crate::directory;

/// A database that is held by its LOCK, and the state in its MANIFEST.
pub struct Offline<'a> {
    dir: &'a Path,
    replay: Replay,
    /// Held until the database is let go.
    _lock: Box<dyn FileLock>,
}

impl Offline<'_> {
    /// Reads the MANIFEST of the database in `dir`.
    ///
    /// Errors: `LockHeld` if a process has it open; those of reading the MANIFEST.
    pub fn open(dir: &Path) -> Result<Offline<'_>> {
        directory::check_is_database(dir)?;
        let lock = directory::fs().lock(&filename::lock(dir))?;
        let path = directory::current_manifest(dir)?;
        let mut replay = Replay::new();
        directory::for_each_edit(&path, &mut |offset, edit| {
            replay
                .apply(edit)
                .map_err(|error| error.at(offset).in_file(&path))
        })?;
        Ok(Offline {
            dir,
            replay,
            _lock: lock,
        })
    }

    /// The state in the MANIFEST.
    ///
    /// Errors: a comparator is not built in, or the files contradict each other.
    pub fn state(&self) -> Result<ManifestState> {
        self.replay.clone().finish(&mut manifest::builtin_comparator)
    }

    /// Writes a new MANIFEST with `edits` applied, and makes CURRENT name it. WALs keep their rows.
    ///
    /// Errors: those of the edits, and of writing; after an error the old MANIFEST is still in force.
    pub fn apply(mut self, edits: Vec<VersionEdit>) -> Result<()> {
        for edit in edits {
            self.replay.apply(edit)?;
        }
        let mut state = self.state()?;
        let number = state.next_file_number;
        state.next_file_number += 1;
        let fs = directory::fs();
        let path = filename::manifest(self.dir, number);
        let file = fs.create(&path, &CreateOptions::default())?;
        let mut log = wal::Writer::new(file, WriterOptions::default())?;
        for edit in snapshot_edits(&state) {
            let mut record = Vec::new();
            edit.encode(&mut record);
            log.add_record(&record)?;
        }
        log.sync()?;
        log.close()?;
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| Error::new(ErrorKind::InvalidArgument, "a path without a name"))?;
        fs.replace_file(
            &filename::current(self.dir),
            &filename::temp(self.dir, number),
            format!("{name}\n").as_bytes(),
        )?;
        fs.sync_dir(self.dir)
    }
}

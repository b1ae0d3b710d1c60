//! The SST file manager of a database at its open and its close.

use base::Result;
use base::filename::{self, FileKind};

use crate::log::log_line;
use crate::state::db_inner::DbInner;

impl DbInner {
    /// Tracks every table and blob file, obsolete ones included, because the rate of deletions depends on the
    /// size of all files. Then deletes the trash of earlier processes.
    pub(crate) fn track_files(&self) -> Result<()> {
        let dirs = self.table_directories();
        if let Some(manager) = self.sst_file_manager() {
            for dir in &dirs {
                for name in self.options.fs.list(dir)? {
                    if let Some(FileKind::Table(_) | FileKind::Blob(_)) = filename::parse(&name) {
                        let path = dir.join(name);
                        let bytes = self.options.fs.size_or_zero(&path)?;
                        manager.on_add_file(path, bytes);
                    }
                }
            }
        }
        if let Err(error) = self.obsolete.deletion().empty_trash(&dirs, &self.wal_dir) {
            log_line!(self.log, Warn, "Can't delete trash: {error}");
        }
        Ok(())
    }

    /// Removes the files of the closed database from the SST file manager.
    pub(crate) fn untrack_files(&self) {
        if let Some(manager) = self.sst_file_manager() {
            manager.on_close(&self.table_directories());
        }
    }
}

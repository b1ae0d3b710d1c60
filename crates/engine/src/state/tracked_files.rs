//! The files of a database that its SST file manager tracks.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use base::Result;

use crate::options::sst_file_manager::SstFileManager;
use crate::state::db_inner::DbInner;

impl DbInner {
    /// The manager of the database's files, if it has one.
    pub(crate) fn sst_file_manager(&self) -> Option<&Arc<SstFileManager>> {
        self.obsolete.deletion().manager()
    }

    /// Tracks a table or blob file that is complete.
    pub(crate) fn on_add_file(&self, path: impl FnOnce() -> PathBuf, bytes: u64) {
        if let Some(manager) = self.sst_file_manager() {
            manager.on_add_file(path(), bytes);
        }
    }

    /// `SpaceLimit` if the files have reached the space that their manager allows.
    pub(crate) fn check_space(&self) -> Result<()> {
        self.sst_file_manager()
            .map_or(Ok(()), |manager| manager.check_space())
    }

    /// Every directory of tables.
    pub(crate) fn table_directories(&self) -> BTreeSet<PathBuf> {
        let mut dirs = self.options.other_table_directories(&self.dir);
        dirs.insert(self.dir.clone());
        let state = self.state.lock();
        for own in state.families.values() {
            dirs.extend(own.family.paths.iter().map(PathBuf::from));
        }
        dirs
    }
}

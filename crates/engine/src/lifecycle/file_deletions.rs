//! Holds that keep obsolete files while a backup or a user copies or links the live files.

use base::{Error, Result};

use crate::state::file_deletions::FileDeletionGuard;
use crate::state::handle::Db;

/// The holder's name for calls of [`Db::disable_file_deletions`].
const APPLICATION: &str = "disable_file_deletions";

impl Db {
    /// Stops the deletion of files until [`enable_file_deletions`](Db::enable_file_deletions) has been called
    /// as often as this, so that the files in [`live_files`](Db::live_files) can be copied or linked. Files
    /// that become obsolete meanwhile occupy space; after a close, the next open deletes them. Returns when
    /// no deletion is running.
    pub fn disable_file_deletions(&self) {
        let inner = self.inner();
        inner.obsolete.hold(APPLICATION, inner.options.clock.now());
    }

    /// Takes back one [`disable_file_deletions`](Db::disable_file_deletions). After the last one, the files
    /// that became obsolete meanwhile are deleted before the call returns, unless another holder keeps them.
    /// `InvalidArgument` if file deletions are not disabled.
    pub fn enable_file_deletions(&self) -> Result<()> {
        self.inner().check_open()?;
        match self.inner().obsolete.release_one_of(APPLICATION) {
            true => self.inner().obsolete.wait_for_purge(),
            false => return Err(Error::invalid_argument("file deletions are not disabled")),
        }
        Ok(())
    }

    /// Stops the deletion of files, as [`disable_file_deletions`](Db::disable_file_deletions) does, until the
    /// returned guard is dropped. [`Db::pins`] shows `holder`. Backups, checkpoints and exports call this
    /// function themselves.
    ///
    /// ```
    /// # fn main() -> esker::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// let db = esker::Db::open(&esker::Options { create_if_missing: true, ..Default::default() }, dir.path())?;
    /// let held = db.hold_file_deletions("nightly copy");
    /// assert_eq!(db.pins().file_deletions[0].holder, "nightly copy");
    /// drop(held);
    /// # Ok(())
    /// # }
    /// ```
    pub fn hold_file_deletions(&self, holder: &str) -> FileDeletionGuard<'_> {
        FileDeletionGuard::for_holder(self.inner(), holder)
    }
}

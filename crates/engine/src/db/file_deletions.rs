//! Keeps obsolete files while somebody copies or links what was live.

use std::fmt;

use base::{Error, Result};

use super::{Db, DbInner};

/// Holds of whoever asked by the name that RocksDB has for it.
const APPLICATION: &str = "disable_file_deletions";

impl Db {
    /// Deletes no file of the database until [`enable_file_deletions`](Db::enable_file_deletions) was called as often as this:
    /// what [`live_files`](Db::live_files) names then stays, to be copied or linked. Files that become obsolete meanwhile take
    /// space; a close leaves them to the next open. Returns when no deletion is at work.
    pub fn disable_file_deletions(&self) {
        let inner = self.inner();
        inner.obsolete.hold(APPLICATION, inner.options.clock.now());
    }

    /// Takes one [`disable_file_deletions`](Db::disable_file_deletions) back; with the last one, what became obsolete meanwhile
    /// is deleted in the background, unless somebody else holds it. `InvalidArgument` if there is none to take back.
    pub fn enable_file_deletions(&self) -> Result<()> {
        self.inner().check_open()?;
        match self.inner().obsolete.release_one_of(APPLICATION) {
            true => Ok(()),
            false => Err(Error::invalid_argument("file deletions are not disabled")),
        }
    }

    /// As [`disable_file_deletions`](Db::disable_file_deletions), until what it gives is dropped. [`Db::pins`] names `holder`.
    /// Backups, checkpoints and exports do it themselves.
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
    pub fn hold_file_deletions(&self, holder: &str) -> NothingIsDeleted<'_> {
        NothingIsDeleted::for_holder(self.inner(), holder)
    }
}

/// While it lives no file of the database is deleted: [`Db::hold_file_deletions`].
#[must_use = "files are deleted again once it is dropped"]
pub struct NothingIsDeleted<'a> {
    db: &'a DbInner,
    hold: u64,
}

impl<'a> NothingIsDeleted<'a> {
    pub(crate) fn for_holder(db: &'a DbInner, holder: &str) -> NothingIsDeleted<'a> {
        let hold = db.obsolete.hold(holder, db.options.clock.now());
        NothingIsDeleted { db, hold }
    }
}

impl fmt::Debug for NothingIsDeleted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NothingIsDeleted({:?})", self.db.dir)
    }
}

impl Drop for NothingIsDeleted<'_> {
    fn drop(&mut self) {
        self.db.obsolete.release(self.hold);
    }
}

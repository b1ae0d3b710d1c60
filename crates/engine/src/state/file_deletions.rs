//! A guard that prevents the deletion of files.

use std::fmt;

use crate::state::db_inner::DbInner;

/// While this guard lives, no file of the database is deleted: see
/// [`Db::hold_file_deletions`](crate::Db::hold_file_deletions).
///
/// See the example of [`Db::hold_file_deletions`](crate::Db::hold_file_deletions).
#[must_use = "files are deleted again once it is dropped"]
pub struct FileDeletionGuard<'a> {
    db: &'a DbInner,
    hold: u64,
}

impl<'a> FileDeletionGuard<'a> {
    pub(crate) fn for_holder(db: &'a DbInner, holder: &str) -> FileDeletionGuard<'a> {
        let hold = db.obsolete.hold(holder, db.options.clock.now());
        FileDeletionGuard { db, hold }
    }
}

impl fmt::Debug for FileDeletionGuard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileDeletionGuard({:?})", self.db.dir)
    }
}

impl Drop for FileDeletionGuard<'_> {
    fn drop(&mut self) {
        self.db.obsolete.release(self.hold);
    }
}

//! The archived WALs that are kept for the cursors of change feeds, and their bytes.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use base::{Result, SeqNo};

use crate::files::archived_wals::archived;
use crate::files::dropped_families;
use crate::files::feed_cursor::Cursor;
use crate::files::wal_archive::WalArchive;
use crate::options::Options;
use crate::state::column_family::Family;
use crate::state::db_inner::DbInner;

/// A cursor of a change feed, and the WALs that are kept for it: see [`Db::pins`](crate::Db::pins).
///
/// See the example of [`Pins`](crate::Pins).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PinningCursor {
    /// The name of the cursor.
    pub name: String,
    /// The sequence number of the next row that the feed of the cursor reads.
    pub position: SeqNo,
    /// The oldest WAL that it needs.
    pub oldest_wal: u64,
    /// The number of archived WALs that the cursor keeps: the oldest needed one and all later ones.
    pub wals: usize,
    /// The size in bytes of the WALs that the cursor keeps.
    pub wal_bytes: u64,
    /// The maximum number of bytes of archived WALs that are kept for the cursor.
    pub retain_bytes: u64,
    /// The time since the last acknowledgement.
    pub age: Duration,
}

impl std::fmt::Display for PinningCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "cursor {} at sequence number {} keeps {} WALs from {:06}.log on, {} bytes of at most {}, acknowledged {} s ago",
            self.name,
            self.position,
            self.wals,
            self.oldest_wal,
            self.wal_bytes,
            self.retain_bytes,
            self.age.as_secs()
        )
    }
}

/// The cursors of the database in `path`, by name, read from its files. The database may be closed, or open
/// in another process.
///
/// # Errors
/// Those of reading them.
pub fn feed_cursors(options: &Options, path: impl AsRef<Path>) -> Result<Vec<PinningCursor>> {
    cursors_in(options, &options.wal_directory(path.as_ref()))
}

fn cursors_in(options: &Options, wal_dir: &Path) -> Result<Vec<PinningCursor>> {
    let fs = &*options.fs;
    let cursors = Cursor::all(fs, wal_dir)?;
    if cursors.is_empty() {
        return Ok(Vec::new());
    }
    let now = options.clock.unix_seconds();
    let wals = archived(fs, wal_dir)?;
    let of = |cursor: Cursor| {
        let needed = wals.range(cursor.keep..);
        // A WAL that is deleted meanwhile counts as 0 bytes.
        let sizes: Vec<u64> = needed.filter_map(|(_, path)| fs.size(path).ok()).collect();
        PinningCursor {
            name: cursor.name,
            position: cursor.position,
            oldest_wal: cursor.keep,
            wals: sizes.len(),
            wal_bytes: sizes.iter().sum(),
            retain_bytes: cursor.budget,
            age: Duration::from_secs(now.saturating_sub(cursor.acknowledged)),
        }
    };
    Ok(cursors.into_iter().map(of).collect())
}

impl DbInner {
    /// Creates the archive, through which obsolete WALs go from now on. The caller has determined and locked
    /// the directory of the WALs.
    pub(crate) fn begin_archive(&self) {
        let archive = WalArchive::new(
            &self.options,
            &self.wal_dir,
            self.obsolete.deletion().clone(),
            self.log.clone(),
        );
        archive.look_for_cursors();
        self.obsolete.archive_in(Arc::new(archive));
    }

    /// A cursor was created, deleted or acknowledged.
    pub(crate) fn cursors_changed(&self) {
        if let Some(archive) = self.obsolete.archive() {
            archive.look_for_cursors();
            archive.due_micros.store(0, Ordering::Relaxed);
            self.obsolete.wake();
        }
    }

    /// True if WALs are kept for the cursor of a change feed.
    pub(crate) fn has_cursors(&self) -> bool {
        self.obsolete
            .archive()
            .is_some_and(|archive| archive.has_cursors())
    }

    /// The cursors and the WALs that are kept for them; empty if the cursors cannot be read.
    pub(crate) fn pinning_cursors(&self) -> Vec<PinningCursor> {
        match self.has_cursors() {
            true => cursors_in(&self.options, &self.wal_dir).unwrap_or_default(),
            false => Vec::new(),
        }
    }

    /// Writes the name of a family that is about to be dropped into the archive, if its rows may be read from
    /// WALs afterwards.
    pub(crate) fn remember_family(&self, family: &Arc<Family>) -> Result<()> {
        let own = self.family_by_id(family.id);
        let is_own = own.is_some_and(|own| Arc::ptr_eq(&own, family));
        let archive = self.obsolete.archive().filter(|archive| archive.is_used());
        let Some(archive) = archive.filter(|_| is_own) else {
            return Ok(());
        };
        let _writing = archive.writing_names();
        dropped_families::remember(&*self.options.fs, &self.wal_dir, family.id, &family.name)
    }
}

//! The handle of an open database. Each part of the engine implements its own methods of the handle.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use base::{Result, SeqNo};

use crate::options::Options;
use crate::state::column_family::ColumnFamily;
use crate::state::db_inner::DbInner;
use crate::state::snapshot::Snapshot;
use crate::stats::Stats;

/// An open database. Cheap to clone; all clones are the same database, which closes when its last clone,
/// iterator and snapshot are dropped.
///
/// Every method may be called from any thread. Snapshots, iterators, pinned values and column families may
/// outlive the handle; snapshots and iterators keep the database open and its directory locked.
/// [`close`](Db::close) does not wait for them.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// use esker::{Db, Options};
///
/// let options = Options { create_if_missing: true, ..Default::default() };
/// let db = Db::open(&options, dir.path())?;
/// let writer = db.clone();
/// std::thread::spawn(move || writer.put(b"key", b"value")).join().unwrap()?;
/// assert_eq!(db.get(b"key")?.as_deref(), Some(&b"value"[..]));
/// db.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Db(pub(crate) Arc<Handle>);

/// Closes the database when dropped. Background threads hold only [`DbInner`], so they do not keep it open.
pub(crate) struct Handle {
    pub inner: Arc<DbInner>,
    /// Closes the database.
    pub close: fn(&DbInner) -> Result<()>,
    /// The primary, in a secondary or a follower.
    pub primary: Option<Arc<dyn Primary>>,
}

/// The files of the primary, as a secondary reads them.
pub(crate) trait Primary: Send + Sync {
    /// Reads the primary's writes since the last call, and makes them visible in `db`.
    fn catch_up(&self, db: &DbInner) -> Result<()>;
}

impl Drop for Handle {
    fn drop(&mut self) {
        // Callers that need the error of a close call `close`.
        let _ = (self.close)(&self.inner);
    }
}

impl fmt::Debug for Db {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Db({})", self.path().display())
    }
}

impl Db {
    #[inline]
    pub(crate) fn inner(&self) -> &DbInner {
        &self.0.inner
    }

    /// The default family, which every database has.
    pub fn default_column_family(&self) -> ColumnFamily {
        ColumnFamily(self.inner().default_family.clone())
    }

    /// The directory of the database.
    pub fn path(&self) -> &Path {
        &self.inner().dir
    }

    /// The database's id, 36 characters: from the MANIFEST, or from the file IDENTITY. Copies have the same
    /// id if the MANIFEST [records it](Options::write_dbid_to_manifest).
    pub fn identity(&self) -> &str {
        &self.inner().identity.db_id
    }

    /// The id of this open of the database, 20 characters (RocksDB's `GetDbSessionId`): every open has a new
    /// one, which its tables have in their properties, and its LOG in its header.
    pub fn session_id(&self) -> &str {
        &self.inner().identity.session_id
    }

    /// The options with which the database was opened.
    pub fn options(&self) -> &Options {
        &self.inner().options
    }

    /// The counters of this database since the open, which are always counted; see [`Options::statistics`]
    /// for all others.
    pub fn statistics(&self) -> &Stats {
        &self.inner().stats
    }

    /// The sequence number of the last write.
    pub fn latest_sequence_number(&self) -> SeqNo {
        self.inner().latest_sequence_number()
    }

    /// Takes a snapshot. While it is held, the current state stays readable, and the database stays open.
    /// After a [close](Self::close) the snapshot cannot be read.
    pub fn snapshot(&self) -> Snapshot {
        let inner = self.inner();
        match &inner.secondary {
            Some(secondary) => inner.snapshots.take_view(secondary.view(), Some(self.0.clone())),
            None => inner.snapshots.take(&inner.published, Some(self.0.clone())),
        }
    }
}

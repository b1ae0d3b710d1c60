//! What one read of a column family needs, under one reference: the memtables and the version that belong together.

use std::sync::Arc;

use manifest::Version;
use memtable::Memtable;

/// Immutable; replaced whole when a memtable is switched, a flush or a compaction is installed.
pub(crate) struct SuperVersion {
    /// Takes writes.
    pub mem: Arc<Memtable>,
    /// Full ones, newest first.
    pub immutable: Vec<Arc<Memtable>>,
    /// The files.
    pub version: Arc<Version>,
    /// Counts the super versions of the family; see [`Family::super_version_number`](crate::db::column_family::Family).
    pub number: u64,
}

//! What one read of a column family needs, under one reference: the memtables and the version that belong together.

use std::sync::Arc;

use base::{InternalComparator, MAX_SEQNO, SeqNo};
use manifest::Version;
use memtable::{Memtable, MemtableOptions};

use crate::options::ColumnFamilyOptions;

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
    /// The last row that may be read of it. No limit where rows are written; a secondary puts rows into memtables that are read already.
    pub visible: SeqNo,
    /// The options in force since it was made.
    pub options: Arc<ColumnFamilyOptions>,
    /// Versions of keys below this timestamp may be gone; empty: none are.
    pub full_history_ts_low: Box<[u8]>,
}

/// [`SuperVersion::visible`] once the database is closed. No row has such a sequence number.
const CLOSED: SeqNo = SeqNo::MAX;

impl SuperVersion {
    /// True unless all memtables are empty.
    #[inline]
    pub fn has_rows_in_memory(&self) -> bool {
        !self.mem.is_empty() || !self.immutable.is_empty()
    }

    /// The super version that replaces the last one when the database is closed.
    pub fn closed(cmp: &InternalComparator) -> SuperVersion {
        SuperVersion {
            visible: CLOSED,
            ..SuperVersion::empty(cmp)
        }
    }

    /// True if the database is closed: nothing may be read.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.visible == CLOSED
    }

    /// Without a row.
    pub fn empty(cmp: &InternalComparator) -> SuperVersion {
        SuperVersion {
            mem: Arc::new(Memtable::new(cmp.clone(), MemtableOptions::default())),
            immutable: Vec::new(),
            version: Arc::new(Version::empty(cmp.clone(), 1)),
            number: 0,
            visible: MAX_SEQNO,
            options: Arc::default(),
            full_history_ts_low: Box::default(),
        }
    }
}

//! Everything one read of a column family needs, under one reference: the memtables and the version that
//! belong together.

use std::sync::Arc;

use base::{InternalComparator, MAX_SEQNO, SeqNo};
use manifest::Version;
use memtable::{Memtable, MemtableOptions};

use crate::options::ColumnFamilyOptions;

/// Immutable. It is replaced as a whole when a memtable is switched, or a flush or compaction is installed.
pub(crate) struct SuperVersion {
    /// The mutable memtable, which takes writes.
    pub mem: Arc<Memtable>,
    /// The immutable memtables, newest first.
    pub immutable: Vec<Arc<Memtable>>,
    /// The version: the files of the family.
    pub version: Arc<Version>,
    /// The number of this super version; numbers increase within a family. See
    /// [`Family::super_version_number`](crate::state::column_family::Family).
    pub number: u64,
    /// The last sequence number that may be read. The maximum in a primary; a secondary adds rows to
    /// memtables that are already being read.
    pub visible: SeqNo,
    /// The options in force since this super version was made.
    pub options: Arc<ColumnFamilyOptions>,
    /// Versions of keys below this timestamp may have been dropped; empty if none are.
    pub full_history_ts_low: Box<[u8]>,
}

/// The value of [`SuperVersion::visible`] after the database is closed. No row has this sequence number.
const CLOSED: SeqNo = SeqNo::MAX;

impl SuperVersion {
    /// True unless all memtables are empty.
    #[inline]
    pub fn has_rows_in_memory(&self) -> bool {
        !self.mem.is_empty() || !self.immutable.is_empty()
    }

    /// True if each row of the memtables is newer than all rows of its key in tables. False without rows in
    /// memory, and while a memtable may have rows up to `ingested_until`: see
    /// [`FileChanges`](crate::state::file_changes::FileChanges). False in a secondary, which does not know
    /// what its primary ingests.
    #[inline]
    pub fn memtables_are_newest(&self, ingested_until: SeqNo) -> bool {
        let oldest = self.immutable.last().unwrap_or(&self.mem);
        self.visible == MAX_SEQNO && oldest.first_seqno().is_some_and(|first| first > ingested_until)
    }

    /// The super version that is installed when the database is closed.
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

    /// A super version without rows.
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

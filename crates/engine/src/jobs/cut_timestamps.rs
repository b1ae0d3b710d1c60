//! Memtables without timestamps, for families whose tables have none
//! ([`persist_user_defined_timestamps`](crate::ColumnFamilyOptions::persist_user_defined_timestamps)).

use std::sync::Arc;

use base::{Cursor, Kind, Result, SeqNo, internal_key};
use memtable::{Memtable, MemtableOptions};

use crate::state::column_family::Family;

/// The memtables of a flush whose rows all have the minimum timestamp.
pub(crate) struct CutMemtables {
    /// The copies, oldest first.
    pub memtables: Vec<Arc<Memtable>>,
    /// The lowest timestamp above the timestamps of all rows: from now on, reads at older timestamps would
    /// miss versions. `None` without rows.
    pub full_history_ts_low: Option<Box<[u8]>>,
}

/// The newest timestamp that was seen.
#[derive(Default)]
struct Newest(Option<u64>);

impl Newest {
    /// Records the timestamp at the end of a key, and returns the key without it.
    fn record<'k>(&mut self, user_key: &'k [u8]) -> &'k [u8] {
        let (bare, timestamp) = user_key.split_at(user_key.len().saturating_sub(size_of::<u64>()));
        let mut bytes = [0; size_of::<u64>()];
        bytes[..timestamp.len()].copy_from_slice(timestamp);
        self.0 = self.0.max(Some(u64::from_le_bytes(bytes)));
        bare
    }

    /// Records the timestamp at the end of a key, and returns the key with the minimum timestamp instead.
    fn cut(&mut self, user_key: &[u8]) -> Vec<u8> {
        [self.record(user_key), &[0; size_of::<u64>()]].concat()
    }
}

/// The newest timestamp of the rows of a memtable, each of which is read. `None` without rows.
///
/// # Errors
/// `Corruption` for a row that fails a check of the memtable.
pub(crate) fn newest_timestamp(memtable: &Arc<Memtable>) -> Result<Option<u64>> {
    let mut newest = Newest::default();
    let mut rows = memtable.cursor();
    rows.seek_to_first();
    while rows.valid() {
        newest.record(internal_key::user_key(rows.key()));
        rows.next();
    }
    rows.status()?;
    for tombstone in memtable.verified_range_tombstones(&[])?.tombstones() {
        newest.record(&tombstone.start);
    }
    Ok(newest.0)
}

/// Copies `memtables`, which readers may still use, without the timestamps of their rows. `snapshots` are
/// those that the flush serves.
///
/// # Errors
/// `Corruption` for a row that fails a check of its memtable.
pub(crate) fn cut_timestamps(
    family: &Family,
    memtables: &[Arc<Memtable>],
    snapshots: &[SeqNo],
) -> Result<CutMemtables> {
    let mut newest = Newest::default();
    let mut copies = Vec::with_capacity(memtables.len());
    for memtable in memtables {
        let copy = Memtable::new(family.cmp.clone(), MemtableOptions::default());
        let mut last: Option<(Vec<u8>, SeqNo)> = None;
        let mut rows = memtable.cursor();
        rows.seek_to_first();
        while rows.valid() {
            let row = internal_key::ParsedInternalKey::parse(rows.key())?;
            let key = newest.cut(row.user_key);
            // The rows of a key come by descending timestamps. A row that was written after a row with a
            // newer timestamp is dropped: every read that is permitted after the flush sees the newer
            // timestamp.
            let is_hidden = last
                .as_ref()
                .is_some_and(|(of, seqno)| *of == key && *seqno <= row.seqno);
            if !is_hidden {
                copy.add(row.seqno, row.kind, &key, rows.value());
                last = Some((key, row.seqno));
            }
            rows.next();
        }
        rows.status()?;
        for tombstone in memtable.verified_range_tombstones(snapshots)?.tombstones() {
            let (start, end) = (newest.cut(&tombstone.start), newest.cut(&tombstone.end));
            copy.add(tombstone.seqno, Kind::RangeDeletion, &start, &end);
        }
        copies.push(Arc::new(copy));
    }
    Ok(CutMemtables {
        memtables: copies,
        full_history_ts_low: newest
            .0
            .map(|newest| newest.saturating_add(1).to_le_bytes().into()),
    })
}

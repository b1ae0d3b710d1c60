//! The entries of a batch with an index, one by one: RocksDB's `WBWIIterator`.
//!
//! The entries of a key are read from the batch's memtable together, newest first, and those that the
//! overwrite mode hides are left out. The cursor then stands after them.

use base::internal_key::{self, ParsedInternalKey};
use base::{Cursor, Kind, MAX_SEQNO, Result, SeqNo};
use memtable::{MemtableCursor, PinnedValue};

use crate::state::batch_view::BatchView;

/// The kind of a [`BatchEntry`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchEntryKind {
    /// A value of the key.
    Put,
    /// An operand of a merge.
    Merge,
    /// A deletion of the key.
    Delete,
    /// A deletion of a key that was put once.
    SingleDelete,
    /// A wide-column entity.
    PutEntity,
}

impl BatchEntryKind {
    /// The kind of an entry for a row of `kind`. `None` for rows that are no entries.
    fn of(kind: Kind) -> Option<BatchEntryKind> {
        match kind {
            Kind::Value => Some(BatchEntryKind::Put),
            Kind::Merge => Some(BatchEntryKind::Merge),
            Kind::Deletion | Kind::DeletionWithTimestamp => Some(BatchEntryKind::Delete),
            Kind::SingleDeletion => Some(BatchEntryKind::SingleDelete),
            Kind::WideColumnEntity => Some(BatchEntryKind::PutEntity),
            _ => None,
        }
    }
}

/// One entry of a batch: RocksDB's `WriteEntry`. See the example of [`BatchEntries`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchEntry<'a> {
    /// The kind of the entry.
    pub kind: BatchEntryKind,
    /// The key, with its timestamp in a family with timestamps.
    pub key: &'a [u8],
    /// The value, the operand or the encoded entity. Empty for deletions.
    pub value: &'a [u8],
    /// The number of the batch's updates of the key up to this one, which is counted: 1 for the first update.
    pub update_count: u32,
}

/// An entry of the current key.
struct Row {
    kind: BatchEntryKind,
    value: PinnedValue,
    update_count: u32,
}

/// An iterator over the entries of a batch for one family, in the order of the family's keys: RocksDB's
/// `WBWIIterator`, which [`WriteBatchWithIndex::entries`](crate::WriteBatchWithIndex::entries) returns. The
/// newest entry of a key comes first. Deletions of ranges are no entries.
///
/// It shows the batch as it was when the iterator was created: later additions are invisible, and rows that
/// are rolled back or cleared later stay. In a family with timestamps, keys of entries and arguments include
/// them, and each version of a key counts as a key.
///
/// A move costs a search in the index of the family at most, and a step over all entries of a key, once.
///
/// ```
/// use esker::{BatchEntryKind, WriteBatchWithIndex};
///
/// let mut batch = WriteBatchWithIndex::new();
/// batch.put(b"a", b"1");
/// batch.put(b"a", b"2");
/// batch.delete(b"b");
/// let mut entries = batch.entries(None)?;
/// entries.seek_to_first();
/// let mut seen = Vec::new();
/// while let Some(entry) = entries.entry() {
///     seen.push((entry.kind, entry.key.to_vec(), entry.update_count));
///     entries.next();
/// }
/// assert_eq!(seen[0], (BatchEntryKind::Put, b"a".to_vec(), 2));
/// assert_eq!(seen[1], (BatchEntryKind::Put, b"a".to_vec(), 1));
/// assert_eq!(seen[2], (BatchEntryKind::Delete, b"b".to_vec(), 1));
///
/// // In overwrite mode the newest entry of a key replaces the one before it.
/// batch.set_overwrite_key(true);
/// let mut entries = batch.entries(None)?;
/// entries.seek(b"a");
/// assert_eq!(entries.entry().unwrap().value, b"2");
/// entries.next();
/// assert_eq!(entries.entry().unwrap().key, b"b");
/// # Ok::<(), esker::Error>(())
/// ```
pub struct BatchEntries {
    /// The rows of the batch. After a move it stands at the first row after the current key, or is not valid
    /// at the end. `None`: the batch has no rows of the family.
    cursor: Option<MemtableCursor>,
    /// The sequence number of the batch's last row at the creation of the iterator.
    limit: SeqNo,
    overwrites: bool,
    key: Vec<u8>,
    /// The entries of `key`, newest first. Empty if the iterator is not valid.
    rows: Vec<Row>,
    at: usize,
}

impl BatchEntries {
    /// The entries of `view`, which has none if it is `None`. The iterator has no position.
    pub(crate) fn new(view: Option<BatchView>, overwrites: bool) -> BatchEntries {
        BatchEntries {
            limit: view.as_ref().map_or(0, |view| view.limit),
            cursor: view.map(|view| view.table.cursor()),
            overwrites,
            key: Vec::new(),
            rows: Vec::new(),
            at: 0,
        }
    }

    /// True if the iterator is on an entry.
    pub fn valid(&self) -> bool {
        self.at < self.rows.len()
    }

    /// The current entry; `None` if the iterator is not on an entry.
    pub fn entry(&self) -> Option<BatchEntry<'_>> {
        self.rows.get(self.at).map(|row| BatchEntry {
            kind: row.kind,
            key: &self.key,
            value: &row.value,
            update_count: row.update_count,
        })
    }

    /// The error that made the iterator invalid, if one did: `Corruption` of a row in memory.
    pub fn status(&self) -> Result<()> {
        self.cursor.as_ref().map_or(Ok(()), Cursor::status)
    }

    /// Moves to the newest entry of the first key.
    pub fn seek_to_first(&mut self) {
        self.forwards_after(Cursor::seek_to_first);
    }

    /// Moves to the oldest entry of the last key.
    pub fn seek_to_last(&mut self) {
        self.backwards_after(Cursor::seek_to_last);
    }

    /// Moves to the newest entry of the first key at or after `key`.
    pub fn seek(&mut self, key: impl AsRef<[u8]>) {
        let target = newest(key.as_ref());
        self.forwards_after(|cursor| cursor.seek(&target));
    }

    /// Moves to the oldest entry of the last key at or before `key`.
    pub fn seek_for_prev(&mut self, key: impl AsRef<[u8]>) {
        // No row of the key is after this one.
        let target = internal_key::encode(key.as_ref(), 0, Kind::Deletion);
        self.backwards_after(|cursor| cursor.seek_for_prev(&target));
    }

    /// Moves to the next entry: an older one of the key, or the newest one of the next key. It has no effect
    /// if the iterator is not on an entry.
    pub fn next(&mut self) {
        if self.at + 1 < self.rows.len() {
            self.at += 1;
        } else if self.valid() {
            self.forwards_after(|_| ());
        }
    }

    /// Moves to the previous entry: a newer one of the key, or the oldest one of the previous key. It has no
    /// effect if the iterator is not on an entry.
    pub fn prev(&mut self) {
        if !self.valid() {
            return;
        }
        if self.at > 0 {
            self.at -= 1;
            return;
        }
        let first = newest(&self.key);
        self.backwards_after(|cursor| cursor.seek_for_prev(&first));
    }

    /// Makes `place` move the cursor, and then reads the entries of the first key from there on that has any.
    fn forwards_after(&mut self, place: impl FnOnce(&mut MemtableCursor)) {
        self.rows.clear();
        self.at = 0;
        let Some(mut cursor) = self.cursor.take() else {
            return;
        };
        place(&mut cursor);
        while self.rows.is_empty() && cursor.valid() {
            self.read_key(&mut cursor);
        }
        self.cursor = Some(cursor);
    }

    /// Makes `place` move the cursor, and then reads the entries of the last key up to there that has any.
    /// Moves to the oldest of them.
    fn backwards_after(&mut self, place: impl FnOnce(&mut MemtableCursor)) {
        self.rows.clear();
        self.at = 0;
        let Some(mut cursor) = self.cursor.take() else {
            return;
        };
        place(&mut cursor);
        while cursor.valid() {
            let first = newest(internal_key::user_key(cursor.key()));
            cursor.seek(&first);
            self.read_key(&mut cursor);
            if !self.rows.is_empty() {
                self.at = self.rows.len() - 1;
                break;
            }
            cursor.seek_for_prev(&first);
        }
        self.cursor = Some(cursor);
    }

    /// Reads the entries of the cursor's key, and moves the cursor to the next key. `rows` must be empty, and
    /// the cursor on the newest row of a key.
    fn read_key(&mut self, cursor: &mut MemtableCursor) {
        let user = cursor.table().comparator().user().clone();
        self.key.clear();
        self.key.extend_from_slice(internal_key::user_key(cursor.key()));
        let mut updates = 0;
        // The kind of the row that is newer by one.
        let mut newer = None;
        while cursor.valid() {
            let Ok(row) = ParsedInternalKey::parse(cursor.key()) else {
                break;
            };
            if user.compare(row.user_key, &self.key).is_ne() {
                break;
            }
            if row.seqno <= self.limit
                && let Some(kind) = BatchEntryKind::of(row.kind)
            {
                updates += 1;
                // A merge is one more entry of its key. Every other update replaces the newest one.
                let is_replaced =
                    self.overwrites && newer.is_some_and(|newer| newer != BatchEntryKind::Merge);
                if !is_replaced {
                    let value = cursor.pin_value();
                    let update_count = updates;
                    self.rows.push(Row {
                        kind,
                        value,
                        update_count,
                    });
                }
                newer = Some(kind);
            }
            cursor.next();
        }
        // The rows were counted from the newest on.
        for row in &mut self.rows {
            row.update_count = updates + 1 - row.update_count;
        }
    }
}

/// The internal key before all rows of `key`.
fn newest(key: &[u8]) -> Vec<u8> {
    internal_key::encode(key, MAX_SEQNO, Kind::ValuePreferredSeqno)
}

impl std::fmt::Debug for BatchEntries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("BatchEntries").field(&self.entry()).finish()
    }
}

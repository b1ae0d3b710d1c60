//! A write batch that can be read before it is written.
//!
//! The batch is a [`WriteBatch`]. For each family that is read through it, the family's rows in the batch are
//! also in a memtable of their own, which reads search before all others. Therefore iterators over batch and
//! database go in both directions, range deletions hide the keys they cover, and merges are resolved as after
//! the write, by the same code.
//!
//! ```text
//! sequence numbers:   0 .. the snapshot  | newer rows of the database | 2^55 + number of the operation
//!                     visible            | not visible                | visible, up to the view's limit
//! ```
//!
//! The memtable of a family is created when that family is first read, and brought up to date by each read
//! after a write. A batch that is only written to costs as much as a plain one.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use base::internal_key::InternalComparator;
use base::merge::MergeOperator;
use base::{Error, ErrorKind, Kind, MAX_SEQNO, Result, UserComparator};
use memtable::{Memtable, MemtableOptions};

use super::batch_entries::BatchEntries;
use super::pipeline::{check_row, deletion_kind};
use crate::batch::operation::HEADER_LEN;
use crate::batch::write_batch::{SavePoint, WriteBatch};
use crate::files::blob_cache::BlobRead;
use crate::files::pinned_value::PinnedValue;
use crate::read::db_iterator::DbIterator;
use crate::read::get::Answer;
use crate::state::batch_view::BatchView;
use crate::state::batch_view::UNWRITTEN;
use crate::state::column_family::{ColumnFamily, Family};
use crate::state::handle::Db;
use crate::state::read_options::ReadOptions;
use crate::state::value::Columns;

/// The id of the default family.
const DEFAULT_FAMILY_ID: u32 = 0;

/// The state of a key in a batch alone: see [`WriteBatchWithIndex::get_from_batch`].
///
/// ```
/// use esker::{BatchValue, WriteBatchWithIndex};
///
/// let mut batch = WriteBatchWithIndex::new();
/// batch.put(b"a", b"1");
/// batch.delete(b"b");
/// assert_eq!(batch.get_from_batch(None, b"a", None)?, BatchValue::Value(b"1".to_vec()));
/// assert_eq!(batch.get_from_batch(None, b"b", None)?, BatchValue::Deleted);
/// assert_eq!(batch.get_from_batch(None, b"c", None)?, BatchValue::Absent);
/// # Ok::<(), esker::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchValue {
    /// The batch has no entry for the key.
    Absent,
    /// The key is deleted.
    Deleted,
    /// The value of the key.
    Value(Vec<u8>),
    /// The key has merge operands over a value that is not in the batch, or there is no operator to merge
    /// them.
    MergeInProgress,
}

/// The index of the rows of one family.
struct FamilyIndex {
    table: Arc<Memtable>,
    /// True if the rows were checked against the limits of the column family.
    is_checked: bool,
    /// The number of bytes of the batch that are indexed.
    offset: usize,
    /// The number of operations in the indexed bytes.
    operations: u64,
}

/// A [`WriteBatch`] whose operations can be read before they are written, alone or over a database: RocksDB's
/// class of that name.
///
/// Reads see the operations in the order in which they were added, each over the earlier ones. A family that
/// is read through the batch costs a second copy of its rows in memory, until the batch is cleared or rolled
/// back. Other families cost nothing.
///
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = esker::Db::open(&esker::Options { create_if_missing: true, ..Default::default() }, dir.path()).unwrap();
/// let family = db.default_column_family();
/// db.put(b"a", b"1").unwrap();
/// let mut batch = esker::WriteBatchWithIndex::new();
/// batch.put(b"b", b"2");
/// batch.delete(b"a");
/// let options = esker::ReadOptions::default();
/// assert!(batch.get_from_batch_and_db(&db, &family, b"a", &options).unwrap().is_none());
/// let mut iter = batch.iter_with_base(&db, &family, &options).unwrap();
/// iter.seek_to_last();
/// assert_eq!(iter.key(), b"b");
/// iter.prev();
/// assert!(!iter.valid());
/// db.write(batch.into_write_batch()).unwrap();
/// ```
#[derive(Default)]
pub struct WriteBatchWithIndex {
    batch: WriteBatch,
    /// The state of the batch when it was [sealed](Self::seal).
    sealed: Option<SavePoint>,
    /// The order of the default family's keys in reads without a family; `None`: bytewise.
    backup_comparator: Option<UserComparator>,
    overwrites: bool,
    families: RefCell<HashMap<u32, FamilyIndex>>,
}

impl WriteBatchWithIndex {
    /// An empty batch.
    pub fn new() -> WriteBatchWithIndex {
        WriteBatchWithIndex::default()
    }

    /// An empty batch with an order for keys of the default family in reads [without a
    /// family](Self::get_from_batch): RocksDB's `backup_index_comparator`.
    pub fn with_comparator(backup_comparator: UserComparator) -> WriteBatchWithIndex {
        WriteBatchWithIndex {
            backup_comparator: Some(backup_comparator),
            ..WriteBatchWithIndex::default()
        }
    }

    /// The operations, as they will be written.
    pub fn write_batch(&self) -> &WriteBatch {
        &self.batch
    }

    /// Limits the size of the batch in bytes, as [`WriteBatch::set_max_bytes`] does.
    pub fn set_max_bytes(&mut self, max_bytes: usize) {
        self.batch.set_max_bytes(max_bytes);
    }

    /// Sets RocksDB's `overwrite_key`: among the [entries](Self::entries) of a key, an operation other than a
    /// merge replaces the newest one instead of being one more. Every operation stays in the batch, counts in
    /// [`count`](Self::count) and is written, and reads of values have the same results in either mode.
    /// Default: false.
    pub fn set_overwrite_key(&mut self, overwrite_key: bool) {
        self.overwrites = overwrite_key;
    }

    /// The operations, whose number and order must stay.
    pub(crate) fn batch_mut(&mut self) -> &mut WriteBatch {
        &mut self.batch
    }

    /// Adds a row of the family with id `family`: see [`WriteBatch::add_row`].
    pub(crate) fn add_row(&mut self, family: u32, kind: Kind, key: &[u8], value: &[u8]) {
        self.batch.add_row(family, kind, key, value);
    }

    /// Returns the operations as a plain batch.
    pub fn into_write_batch(self) -> WriteBatch {
        self.batch
    }

    /// The number of operations that take a sequence number.
    pub fn count(&self) -> u32 {
        self.batch.count()
    }

    /// True if the batch has no operation.
    pub fn is_empty(&self) -> bool {
        self.batch.is_empty()
    }

    /// Keeps the present operations in the batch for good: [`clear`](Self::clear) and
    /// [`rollback_to_save_point`](Self::rollback_to_save_point) remove only those that are added later. A
    /// transaction seals what it has prepared.
    pub fn seal(&mut self) {
        self.sealed = Some(self.batch.state());
    }

    /// Removes all operations that are not [sealed](Self::seal), and all save points.
    pub fn clear(&mut self) {
        match self.sealed {
            Some(sealed) => self.batch.clear_to(sealed),
            None => self.batch.clear(),
        }
        self.families.get_mut().clear();
    }

    /// Same as [`WriteBatch::update_timestamps`]. The next reads index the batch again.
    pub fn update_timestamps(
        &mut self,
        timestamp: &[u8],
        size_of: impl FnMut(u32) -> Option<usize>,
    ) -> Result<()> {
        self.batch.update_timestamps(timestamp, size_of)?;
        self.families.get_mut().clear();
        Ok(())
    }

    /// Records the current state for a later rollback. Save points nest.
    pub fn set_save_point(&mut self) {
        self.batch.set_save_point();
    }

    /// Removes the operations added since the newest save point, and the save point. The next reads index the
    /// batch again. `NotFound` if there is none; `InvalidArgument`, and no change, if operations since then
    /// are [sealed](Self::seal).
    pub fn rollback_to_save_point(&mut self) -> Result<()> {
        if let (Some(sealed), Some(point)) = (self.sealed, self.batch.newest_save_point())
            && point.len < sealed.len
        {
            return Err(Error::invalid_argument(
                "the save point is older than rows that were prepared",
            ));
        }
        self.batch.rollback_to_save_point()?;
        self.families.get_mut().clear();
        Ok(())
    }

    /// Removes the newest save point and keeps the operations. `NotFound` if there is none.
    pub fn pop_save_point(&mut self) -> Result<()> {
        self.batch.pop_save_point()
    }

    /// Sets `key` of the default family.
    pub fn put(&mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
        self.batch.put(key, value);
    }

    /// Sets `key` of `family`.
    pub fn put_cf(&mut self, family: &ColumnFamily, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
        self.batch.put_cf(family, key, value);
    }

    /// Sets `key` at `timestamp`, in a family with timestamps.
    pub fn put_at(
        &mut self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        timestamp: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) {
        self.batch.put_at(family, key, timestamp, value);
    }

    /// Deletes `key` of the default family.
    pub fn delete(&mut self, key: impl AsRef<[u8]>) {
        self.batch.delete(key);
    }

    /// Deletes `key` of `family`.
    pub fn delete_cf(&mut self, family: &ColumnFamily, key: impl AsRef<[u8]>) {
        self.batch.delete_cf(family, key);
    }

    /// Deletes `key` as of `timestamp`.
    pub fn delete_at(&mut self, family: &ColumnFamily, key: impl AsRef<[u8]>, timestamp: impl AsRef<[u8]>) {
        self.batch.delete_at(family, key, timestamp);
    }

    /// Same as [`WriteBatch::single_delete`].
    pub fn single_delete(&mut self, key: impl AsRef<[u8]>) {
        self.batch.single_delete(key);
    }

    /// Same as [`WriteBatch::merge`].
    pub fn merge(&mut self, key: impl AsRef<[u8]>, operand: impl AsRef<[u8]>) {
        self.batch.merge(key, operand);
    }

    /// Same as [`WriteBatch::delete_range`].
    pub fn delete_range(&mut self, begin: impl AsRef<[u8]>, end: impl AsRef<[u8]>) {
        self.batch.delete_range(begin, end);
    }

    /// Deletes `key` of `family`. The key must have been put exactly once since it was absent last.
    pub fn single_delete_cf(&mut self, family: &ColumnFamily, key: impl AsRef<[u8]>) {
        self.batch.single_delete_cf(family, key);
    }

    /// Adds a merge operand to `key` of `family`.
    pub fn merge_cf(&mut self, family: &ColumnFamily, key: impl AsRef<[u8]>, operand: impl AsRef<[u8]>) {
        self.batch.merge_cf(family, key, operand);
    }

    /// Same as [`WriteBatch::merge_at`].
    pub fn merge_at(
        &mut self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        timestamp: impl AsRef<[u8]>,
        operand: impl AsRef<[u8]>,
    ) {
        self.batch.merge_at(family, key, timestamp, operand);
    }

    /// Deletes the keys of `family` from `begin` (inclusive) to `end` (exclusive).
    pub fn delete_range_cf(&mut self, family: &ColumnFamily, begin: impl AsRef<[u8]>, end: impl AsRef<[u8]>) {
        self.batch.delete_range_cf(family, begin, end);
    }

    /// Same as [`WriteBatch::put_entity`].
    pub fn put_entity(&mut self, key: impl AsRef<[u8]>, columns: &[(&[u8], &[u8])]) -> Result<()> {
        self.batch.put_entity(key, columns)
    }

    /// Same as [`WriteBatch::put_entity_cf`].
    pub fn put_entity_cf(
        &mut self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        columns: &[(&[u8], &[u8])],
    ) -> Result<()> {
        self.batch.put_entity_cf(family, key, columns)
    }

    /// Adds bytes that are written to the WAL only.
    pub fn put_log_data(&mut self, blob: &[u8]) {
        self.batch.put_log_data(blob);
    }

    /// Adds the operations of `other` after those of this batch.
    pub fn append(&mut self, other: &WriteBatch) {
        self.batch.append(other);
    }

    /// The value of `key` in `family`, or in the default family, in the batch alone. `operator` resolves
    /// merges. Costs a search in the batch's index of that family.
    ///
    /// # Errors
    /// `InvalidArgument` for operations that `family` cannot take; `MergeFailed`; `NotSupported` for entities
    /// and for families with timestamps.
    pub fn get_from_batch(
        &self,
        family: Option<&ColumnFamily>,
        key: impl AsRef<[u8]>,
        operator: Option<&dyn MergeOperator>,
    ) -> Result<BatchValue> {
        let key = key.as_ref();
        let Some(view) = self.view_alone(family)? else {
            return Ok(BatchValue::Absent);
        };
        if view.table.comparator().user().timestamp_size() > 0 {
            return Err(Error::not_supported(
                "a batch with timestamps cannot be read alone",
            ));
        }
        let covering = view.table.range_tombstones().covering_seqno(key, MAX_SEQNO);
        let mut operands = Vec::new();
        let mut base = None;
        let mut refused = None;
        view.table.get(key, MAX_SEQNO, |seqno, kind, value| {
            if seqno < covering {
                return ControlFlow::Break(());
            }
            match kind {
                Kind::Merge => {
                    operands.push(value.bytes());
                    return ControlFlow::Continue(());
                }
                Kind::Value => base = Some(Some(value.bytes())),
                kind if kind.is_tombstone() => base = Some(None),
                _ => refused = Some(Error::not_supported("a batch with entities cannot be read alone")),
            }
            ControlFlow::Break(())
        })?;
        if let Some(error) = refused {
            return Err(error);
        }
        let base = base.or((covering > 0).then_some(None));
        operands.reverse();
        match (base, operands.is_empty(), operator) {
            (None, true, _) => Ok(BatchValue::Absent),
            (Some(None), true, _) => Ok(BatchValue::Deleted),
            (Some(Some(value)), true, _) => Ok(BatchValue::Value(value.to_vec())),
            (None, false, _) | (Some(_), false, None) => Ok(BatchValue::MergeInProgress),
            (Some(base), false, Some(operator)) => operator
                .merged(key, base, &operands)
                .map(BatchValue::Value)
                .ok_or_else(|| Error::new(ErrorKind::MergeFailed, "")),
        }
    }

    /// The value that `key` would have if the batch were written to `db`, as read with `options`; `None` if
    /// it would not exist.
    ///
    /// # Errors
    /// The errors of [`Db::get_pinned`]; `InvalidArgument` for operations that `family` cannot take, and if
    /// one was [refused](WriteBatch::status) for its size.
    pub fn get_from_batch_and_db(
        &self,
        db: &Db,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        options: &ReadOptions,
    ) -> Result<Option<PinnedValue>> {
        let key = key.as_ref();
        let inner = db.inner();
        inner.check_owns(&family.0)?;
        match self.view(&family.0)? {
            Some(view) => inner.get_over(&view, options, &family.0, key, Answer::Value),
            None => inner.get(options, &family.0, key),
        }
    }

    /// The columns that `key` would have if the batch were written to `db`, as read with `options`; `None` if
    /// it would not exist. Like [`Db::get_entity`]. Errors are those of
    /// [`get_from_batch_and_db`](WriteBatchWithIndex::get_from_batch_and_db).
    pub fn get_entity_from_batch_and_db(
        &self,
        db: &Db,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        options: &ReadOptions,
    ) -> Result<Option<Columns>> {
        let key = key.as_ref();
        let inner = db.inner();
        inner.check_owns(&family.0)?;
        match self.view(&family.0)? {
            Some(view) => {
                let found = inner.get_over(&view, options, &family.0, key, Answer::Columns)?;
                let columns = |found| family.0.values.columns_of(key, found, BlobRead::from(options));
                found.map(columns).transpose()
            }
            None => db.get_entity_cf_opt(family, key, options),
        }
    }

    /// An iterator over the keys of `family` as `options` would read them if the batch were written, without
    /// a position: RocksDB's `NewIteratorWithBase`. Later additions to the batch are invisible to it, and
    /// rows that are rolled back or cleared later stay visible.
    ///
    /// # Errors
    /// `InvalidArgument` for operations that `family` cannot take, if one was [refused](WriteBatch::status)
    /// for its size, and with [`tailing`](ReadOptions::tailing).
    pub fn iter_with_base(
        &self,
        db: &Db,
        family: &ColumnFamily,
        options: &ReadOptions,
    ) -> Result<DbIterator> {
        if options.tailing {
            return Err(Error::invalid_argument(
                "a tailing iterator reads new rows, and cannot read a batch",
            ));
        }
        let view = self.view(&family.0)?;
        let mut iter = db.inner().iterator_with(view, &family.0, options);
        iter.keep_open(db);
        Ok(iter)
    }

    /// The operations of the batch on keys of `family`, or of the default family, one by one in the order of
    /// the keys: RocksDB's `NewIterator`. Costs an index of the operations added since the last read of the
    /// family.
    ///
    /// # Errors
    /// `InvalidArgument` for operations that `family` cannot take, and if one was
    /// [refused](WriteBatch::status) for its size.
    pub fn entries(&self, family: Option<&ColumnFamily>) -> Result<BatchEntries> {
        Ok(BatchEntries::new(self.view_alone(family)?, self.overwrites))
    }

    /// The current rows of the batch for `family`, or for the default family; `None` if there are none.
    fn view_alone(&self, family: Option<&ColumnFamily>) -> Result<Option<BatchView>> {
        match family {
            Some(family) => self.view(&family.0),
            None => {
                let user = self.backup_comparator.clone().unwrap_or(UserComparator::Bytewise);
                self.view_of(DEFAULT_FAMILY_ID, &InternalComparator::new(user), None)
            }
        }
    }

    /// The current rows of the batch for `family`; `None` if there are none.
    fn view(&self, family: &Family) -> Result<Option<BatchView>> {
        self.view_of(family.id, &family.cmp, Some(family))
    }

    /// The current rows of the batch for the family `id`. `family`, if given, checks the rows.
    fn view_of(
        &self,
        id: u32,
        cmp: &InternalComparator,
        family: Option<&Family>,
    ) -> Result<Option<BatchView>> {
        if self.batch.is_empty() {
            return Ok(None);
        }
        self.batch.status()?;
        let mut families = self.families.borrow_mut();
        if families
            .get(&id)
            .is_some_and(|index| index.is_checked != family.is_some())
        {
            families.remove(&id);
        }
        let index = families
            .entry(id)
            .or_insert_with(|| FamilyIndex::new(cmp, family.is_some()));
        if let Err(error) = index.extend(&self.batch, id, family) {
            families.remove(&id);
            return Err(error);
        }
        Ok((!index.table.is_empty()).then(|| BatchView {
            table: index.table.clone(),
            limit: UNWRITTEN + index.operations - 1,
        }))
    }
}

impl FamilyIndex {
    fn new(cmp: &InternalComparator, is_checked: bool) -> FamilyIndex {
        FamilyIndex {
            table: Arc::new(Memtable::new(cmp.clone(), MemtableOptions::default())),
            is_checked,
            offset: HEADER_LEN,
            operations: 0,
        }
    }

    /// Indexes the operations added to `batch` since the last call. After an error the index is unusable.
    fn extend(&mut self, batch: &WriteBatch, id: u32, family: Option<&Family>) -> Result<()> {
        for operation in batch.operations_from(self.offset) {
            let operation = operation?;
            if let Some((of, kind, key, value)) = operation.row()
                && of == id
            {
                let kind = match (kind, family) {
                    (Kind::Deletion, Some(family)) => deletion_kind(family),
                    (kind, _) => kind,
                };
                if let Some(family) = family {
                    check_row(family, kind, key, value)?;
                }
                self.table.add(UNWRITTEN + self.operations, kind, key, value);
            }
            self.operations += 1;
        }
        self.offset = batch.data_size();
        Ok(())
    }
}

impl From<WriteBatch> for WriteBatchWithIndex {
    fn from(batch: WriteBatch) -> WriteBatchWithIndex {
        WriteBatchWithIndex {
            batch,
            ..WriteBatchWithIndex::default()
        }
    }
}

impl std::fmt::Debug for WriteBatchWithIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.batch.fmt(f)
    }
}

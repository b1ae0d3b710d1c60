//! The rest of the users' handle: writes of single rows, updates read from WALs and change feeds,
//! traces of queries and their replay.

mod block_cache_trace;
mod clip;
pub mod feed;
mod io_trace;
mod query_trace;
pub(crate) mod trace_replay;
pub mod wal_iterator;

use base::statistics::{Histogram, Ticker};
use std::sync::Arc;

use base::{Result, SeqNo};

use crate::batch::operation::{SingleKind, SingleOperation};
use crate::batch::write_batch::WriteBatch;
use crate::options::WriteOptions;
use crate::state::column_family::{ColumnFamily, Family};
use crate::state::handle::Db;
use crate::write::commit::Commit;

impl Db {
    /// Sets `key` to `value` in the default family.
    ///
    /// # Errors
    /// `InvalidArgument`, and nothing is written, for a value of more than 2 GiB - 1 bytes, and for a key
    /// that is longer than that together with its timestamp and eight bytes of trailer: see
    /// [`RowLimit`](crate::RowLimit). The same applies to every write.
    pub fn put(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.single_default(key.as_ref(), SingleKind::Put(value.as_ref()))
    }

    /// Sets `key` to `value` in `family`; see [`put`](Db::put).
    pub fn put_cf(
        &self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> Result<()> {
        self.put_cf_opt(family, key, value, &WriteOptions::default())
    }

    /// Sets `key` to `value` in `family`, written as `options` say; see [`put`](Db::put).
    pub fn put_cf_opt(
        &self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        options: &WriteOptions,
    ) -> Result<()> {
        self.single(options, &family.0, key.as_ref(), SingleKind::Put(value.as_ref()))
    }

    /// Deletes `key` of the default family, whether or not it exists.
    pub fn delete(&self, key: impl AsRef<[u8]>) -> Result<()> {
        self.single_default(key.as_ref(), SingleKind::Delete)
    }

    /// Deletes `key` of `family`, whether or not it exists.
    pub fn delete_cf(&self, family: &ColumnFamily, key: impl AsRef<[u8]>) -> Result<()> {
        self.delete_cf_opt(family, key, &WriteOptions::default())
    }

    /// Deletes `key` of `family`, whether or not it exists; written as `options` say.
    pub fn delete_cf_opt(
        &self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        options: &WriteOptions,
    ) -> Result<()> {
        self.single(options, &family.0, key.as_ref(), SingleKind::Delete)
    }

    /// Deletes `key` of the default family, which must have been put exactly once since it was absent last;
    /// compactions then drop the put and the deletion together. For keys that were merged, or put twice,
    /// later reads are undefined.
    pub fn single_delete(&self, key: impl AsRef<[u8]>) -> Result<()> {
        self.single_default(key.as_ref(), SingleKind::SingleDelete)
    }

    /// Deletes `key` of `family`, which was put once; see [`single_delete`](Db::single_delete).
    pub fn single_delete_cf(&self, family: &ColumnFamily, key: impl AsRef<[u8]>) -> Result<()> {
        self.single_delete_cf_opt(family, key, &WriteOptions::default())
    }

    /// Deletes `key` of `family`, which was put once, written as `options` say; see
    /// [`single_delete`](Db::single_delete).
    pub fn single_delete_cf_opt(
        &self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        options: &WriteOptions,
    ) -> Result<()> {
        self.single(options, &family.0, key.as_ref(), SingleKind::SingleDelete)
    }

    /// Adds the merge operand `operand` to `key` of the default family. The family's merge operator applies
    /// it when the key is next read or compacted.
    ///
    /// An operand may be as long as a value. If the result of the operator is larger than a value may be,
    /// each read of the key fails with `MergeFailed`, and compactions keep the operands unchanged, until the
    /// key is put or deleted.
    pub fn merge(&self, key: impl AsRef<[u8]>, operand: impl AsRef<[u8]>) -> Result<()> {
        self.single_default(key.as_ref(), SingleKind::Merge(operand.as_ref()))
    }

    /// Adds the merge operand `operand` to `key` of `family`; see [`merge`](Db::merge).
    pub fn merge_cf(
        &self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        operand: impl AsRef<[u8]>,
    ) -> Result<()> {
        self.merge_cf_opt(family, key, operand, &WriteOptions::default())
    }

    /// Adds the merge operand `operand` to `key` of `family`, written as `options` say; see
    /// [`merge`](Db::merge).
    pub fn merge_cf_opt(
        &self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        operand: impl AsRef<[u8]>,
        options: &WriteOptions,
    ) -> Result<()> {
        self.single(
            options,
            &family.0,
            key.as_ref(),
            SingleKind::Merge(operand.as_ref()),
        )
    }

    /// Deletes every key of the default family from `begin` (inclusive) to `end` (exclusive). Costs one
    /// write, however many keys it covers.
    ///
    /// # Errors
    /// `InvalidArgument` if `end` sorts before `begin`.
    pub fn delete_range(&self, begin: impl AsRef<[u8]>, end: impl AsRef<[u8]>) -> Result<()> {
        self.single_default(begin.as_ref(), SingleKind::DeleteRange(end.as_ref()))
    }

    /// Deletes every key of `family` from `begin` (inclusive) to `end` (exclusive); see
    /// [`delete_range`](Db::delete_range).
    pub fn delete_range_cf(
        &self,
        family: &ColumnFamily,
        begin: impl AsRef<[u8]>,
        end: impl AsRef<[u8]>,
    ) -> Result<()> {
        self.delete_range_cf_opt(family, begin, end, &WriteOptions::default())
    }

    /// Deletes every key of `family` from `begin` (inclusive) to `end` (exclusive), written as `options`
    /// say; see [`delete_range`](Db::delete_range).
    pub fn delete_range_cf_opt(
        &self,
        family: &ColumnFamily,
        begin: impl AsRef<[u8]>,
        end: impl AsRef<[u8]>,
        options: &WriteOptions,
    ) -> Result<()> {
        self.single(
            options,
            &family.0,
            begin.as_ref(),
            SingleKind::DeleteRange(end.as_ref()),
        )
    }

    /// Applies a batch atomically, over all families it names.
    pub fn write(&self, batch: WriteBatch) -> Result<()> {
        self.write_opt(batch, &WriteOptions::default())
    }

    /// Applies a batch atomically, written as `options` say.
    pub fn write_opt(&self, batch: WriteBatch, options: &WriteOptions) -> Result<()> {
        self.write_sequenced(batch, options).map(drop)
    }

    /// Same as [`write_opt`](Db::write_opt), and returns the sequence number of the batch's first row, which
    /// determines its place among all writes: a crash loses the writes with the highest numbers first. For an
    /// empty batch, which is not written, it is the number of the last row.
    pub fn write_sequenced(&self, mut batch: WriteBatch, options: &WriteOptions) -> Result<SeqNo> {
        self.write_in_place(&mut batch, options)
    }

    /// Same as [`write_sequenced`](Db::write_sequenced), for a batch that stays with the caller, who may
    /// write it again or extend it: its operations are unchanged.
    pub fn write_in_place(&self, batch: &mut WriteBatch, options: &WriteOptions) -> Result<SeqNo> {
        self.write_or_record(options, batch)
    }

    #[inline]
    fn single_default(&self, key: &[u8], kind: SingleKind<'_>) -> Result<()> {
        self.single(&WriteOptions::default(), &self.inner().default_family, key, kind)
    }

    #[inline]
    fn single(
        &self,
        options: &WriteOptions,
        family: &Arc<Family>,
        key: &[u8],
        what: SingleKind<'_>,
    ) -> Result<()> {
        let inner = self.inner();
        inner.check_owns(family)?;
        let operation = SingleOperation {
            family: family.id,
            key,
            what,
        };
        if options.before_images {
            return self.write_single_recorded(options, &operation).map(drop);
        }
        inner.stats.count(Ticker::KeysWritten, 1);
        let started = inner.stats.start();
        let written = inner.commit(options, Commit::Single(family, operation));
        inner.stats.stop(started, Histogram::DbWrite);
        written.map(drop)
    }
}

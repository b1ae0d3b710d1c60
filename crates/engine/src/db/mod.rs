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
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.single(
            &WriteOptions::default(),
            &self.inner().default_family,
            key,
            SingleKind::Put(value),
        )
    }

    /// Sets `key` to `value`.
    pub fn put_opt(
        &self,
        options: &WriteOptions,
        family: &ColumnFamily,
        key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        self.single(options, &family.0, key, SingleKind::Put(value))
    }

    /// Deletes `key` of the default family, whether or not it exists.
    pub fn delete(&self, key: &[u8]) -> Result<()> {
        self.single(
            &WriteOptions::default(),
            &self.inner().default_family,
            key,
            SingleKind::Delete,
        )
    }

    /// Deletes `key`, whether or not it exists.
    pub fn delete_opt(&self, options: &WriteOptions, family: &ColumnFamily, key: &[u8]) -> Result<()> {
        self.single(options, &family.0, key, SingleKind::Delete)
    }

    /// Deletes `key`, which must have been put exactly once since it was absent last; compactions then drop
    /// the put and the deletion together. For keys that were merged, or put twice, later reads are undefined.
    pub fn single_delete(&self, options: &WriteOptions, family: &ColumnFamily, key: &[u8]) -> Result<()> {
        self.single(options, &family.0, key, SingleKind::SingleDelete)
    }

    /// Adds the merge operand `operand` to `key`. The family's merge operator applies it when the key is next
    /// read or compacted.
    ///
    /// An operand may be as long as a value. If the result of the operator is larger than a value may be,
    /// each read of the key fails with `MergeFailed`, and compactions keep the operands unchanged, until the
    /// key is put or deleted.
    pub fn merge(
        &self,
        options: &WriteOptions,
        family: &ColumnFamily,
        key: &[u8],
        operand: &[u8],
    ) -> Result<()> {
        self.single(options, &family.0, key, SingleKind::Merge(operand))
    }

    /// Deletes every key from `begin` (inclusive) to `end` (exclusive). Costs one write, however many keys it
    /// covers. `InvalidArgument` if `end` sorts before `begin`.
    pub fn delete_range(
        &self,
        options: &WriteOptions,
        family: &ColumnFamily,
        begin: &[u8],
        end: &[u8],
    ) -> Result<()> {
        self.single(options, &family.0, begin, SingleKind::DeleteRange(end))
    }

    /// Applies a batch atomically, over all families it names.
    pub fn write(&self, options: &WriteOptions, batch: WriteBatch) -> Result<()> {
        self.write_sequenced(options, batch).map(drop)
    }

    /// Same as [`write`](Db::write), and returns the sequence number of the batch's first row, which
    /// determines its place among all writes: a crash loses the writes with the highest numbers first. For an
    /// empty batch, which is not written, it is the number of the last row.
    pub fn write_sequenced(&self, options: &WriteOptions, mut batch: WriteBatch) -> Result<SeqNo> {
        self.write_in_place(options, &mut batch)
    }

    /// Same as [`write_sequenced`](Db::write_sequenced), for a batch that stays with the caller, who may
    /// write it again or extend it: its operations are unchanged.
    pub fn write_in_place(&self, options: &WriteOptions, batch: &mut WriteBatch) -> Result<SeqNo> {
        self.inner().write_batch(options, batch)
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
        inner.stats.count(Ticker::KeysWritten, 1);
        let operation = SingleOperation {
            family: family.id,
            key,
            what,
        };
        let started = inner.stats.start();
        let written = inner.commit(options, Commit::Single(family, operation));
        inner.stats.stop(started, Histogram::DbWrite);
        written.map(drop)
    }
}

//! Writes with before images: such a write also records the values that it replaces, for change feeds.
//!
//! ```text
//! snapshot | old values as of it | write, if no key was written since | else: all over again
//! ```

use base::entity;
use base::{Error, ErrorKind, Kind, Result, SeqNo};

use crate::batch::before_images::{BeforeImage, BeforeImages};
use crate::batch::operation::SingleOperation;
use crate::batch::write_batch::WriteBatch;
use crate::options::WriteOptions;
use crate::state::column_family::ColumnFamily;
use crate::state::handle::Db;
use crate::state::read_options::ReadOptions;
use crate::state::snapshot::Snapshot;
use crate::write::batch_index::WriteBatchWithIndex;
use crate::write::unchanged::UnchangedKey;
use crate::write::unchanged_range::{UnchangedRange, check_no_timestamps};

impl Db {
    /// Same as [`write_sequenced`](Db::write_sequenced), if none of `keys`, and no key of `ranges`, was
    /// written since: by rows, range deletions or ingestions, up to the moment at which this write takes its
    /// place in the order of writes. Costs a search of memtables and tables for each key before the write
    /// queue, and, if other threads have written meanwhile, another search of memtables under its lock. As
    /// for [`newest_sequence_number`](Db::newest_sequence_number), the caller must hold a snapshot as old as
    /// the oldest `since`. The batch is unchanged afterwards, whether or not it was written.
    ///
    /// A range costs a step over each of its rows in memtables, and in tables that have newer rows; those in
    /// memtables once more under the queue's lock, if other threads have written meanwhile.
    ///
    /// # Errors
    /// `Busy` with an empty message if a key was written; nothing is then written. The errors of
    /// [`newest_sequence_number`](Db::newest_sequence_number) and [`write`](Db::write).
    pub fn write_if_unchanged(
        &self,
        batch: &mut WriteBatch,
        keys: &[UnchangedKey<'_>],
        ranges: &[UnchangedRange<'_>],
        options: &WriteOptions,
    ) -> Result<SeqNo> {
        match options.before_images && !batch.is_empty() {
            true => self.write_recorded(options, batch, keys, ranges),
            false => self.write_unless_changed(options, batch, keys, ranges),
        }
    }

    /// Writes `batch`, with its before images if `options` ask for them.
    #[inline]
    pub(crate) fn write_or_record(&self, options: &WriteOptions, batch: &mut WriteBatch) -> Result<SeqNo> {
        match options.before_images && !batch.is_empty() {
            true => self.write_recorded(options, batch, &[], &[]),
            false => self.inner().write_batch(options, batch),
        }
    }

    /// Writes `batch`, whose before images are recorded with it, if none of `keys` and `ranges` was written
    /// since, as for [`write_if_unchanged`](Db::write_if_unchanged).
    #[cold]
    pub(crate) fn write_recorded(
        &self,
        options: &WriteOptions,
        batch: &WriteBatch,
        keys: &[UnchangedKey<'_>],
        ranges: &[UnchangedRange<'_>],
    ) -> Result<SeqNo> {
        if options.disable_wal {
            return Err(Error::invalid_argument(
                "before_images are written to the WAL: disable_wal cannot be set",
            ));
        }
        batch.status()?;
        let options = WriteOptions {
            before_images: false,
            ..options.clone()
        };
        loop {
            let snapshot = self.snapshot();
            let (images, mut unchanged) = self.before_images(&snapshot, batch)?;
            let mut recorded = batch.clone();
            recorded.put_log_data(&images.encode());
            unchanged.extend_from_slice(keys);
            match self.write_unless_changed(&options, &mut recorded, &unchanged, ranges) {
                Err(error) if error.kind() == ErrorKind::Busy => {
                    // The error is the caller's if one of the caller's keys has changed. Otherwise another
                    // write has replaced a value that was recorded, and everything is repeated.
                    self.write_unless_changed(&options, &mut WriteBatch::new(), keys, ranges)?;
                }
                written => return written,
            }
        }
    }

    /// Same as [`write_recorded`](Db::write_recorded), for a single row.
    #[cold]
    pub(crate) fn write_single_recorded(
        &self,
        options: &WriteOptions,
        operation: &SingleOperation<'_>,
    ) -> Result<SeqNo> {
        let (kind, value) = operation.row();
        let mut batch = WriteBatch::new();
        batch.add_row(operation.family, kind, operation.key, value);
        self.write_recorded(options, &batch, &[], &[])
    }

    /// The before images of the rows of `batch`, read as of `snapshot`, and the keys of these rows, which
    /// must not change until the write.
    fn before_images<'a>(
        &self,
        snapshot: &Snapshot,
        batch: &'a WriteBatch,
    ) -> Result<(BeforeImages, Vec<UnchangedKey<'a>>)> {
        let since = snapshot.sequence_number();
        let read = ReadOptions {
            snapshot: Some(snapshot.clone()),
            ..ReadOptions::default()
        };
        let mut images = BeforeImages::default();
        let mut keys = Vec::new();
        // The rows of the batch before the current one: they determine the value that the current row
        // replaces.
        let mut so_far = WriteBatchWithIndex::new();
        for operation in batch.operations() {
            let Some((id, kind, key, value)) = operation?.row() else {
                continue;
            };
            match self.inner().family_by_id(id) {
                Some(family) if kind != Kind::RangeDeletion => {
                    check_no_timestamps(&family)?;
                    let found =
                        so_far.get_entity_from_batch_and_db(self, &ColumnFamily(family), key, &read)?;
                    add_image(&mut images, found.as_deref())?;
                    keys.push(UnchangedKey {
                        family: id,
                        key,
                        since,
                    });
                }
                _ => images.add(BeforeImage::Unknown),
            }
            so_far.add_row(id, kind, key, value);
        }
        Ok((images, keys))
    }
}

impl WriteBatchWithIndex {
    /// Adds the operations to the batch `recorded` as well.
    pub fn write_to(&mut self, db: &Db, options: &WriteOptions) -> Result<SeqNo> {
        db.write_or_record(options, self.batch_mut())
    }
}

/// Adds the before image of a key with the columns `found`; `None`: the key does not exist.
fn add_image(images: &mut BeforeImages, found: Option<&[(Vec<u8>, Vec<u8>)]>) -> Result<()> {
    match found {
        None => images.add(BeforeImage::Absent),
        Some([(name, value)]) if name.is_empty() => images.add(BeforeImage::Value(value)),
        Some(columns) => {
            let columns: Vec<_> = columns
                .iter()
                .map(|(name, value)| (&name[..], &value[..]))
                .collect();
            let mut encoded = Vec::new();
            entity::encode(&columns, &mut encoded)?;
            images.add(BeforeImage::Entity(&encoded));
        }
    }
    Ok(())
}

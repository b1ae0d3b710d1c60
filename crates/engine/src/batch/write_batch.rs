//! `WriteBatch`: operations that take effect together, in RocksDB's wire format, which is also the payload of
//! a WAL record.
//!
//! ```text
//! u64 sequence of the first operation | u32 count | operation*
//! operation = tag u8 [column family v32] operand*      operand = length v32, bytes
//! ```

use base::coding::{self, Reader};
use base::{Error, ErrorKind, Kind, Result, RowLimit};

use crate::batch::operation::{HEADER_LEN, Operation, Operations, SingleKind, SingleOperation, tag};
use crate::batch::protection::{self, BatchProtection, ProtectionMark};

/// Operations on keys of any column families of one database, applied all or none.
///
/// Families with timestamps take keys through the `_at` methods. Every method copies its arguments once.
///
/// A value has at most 2 GiB - 1 bytes, and so has a key together with its timestamp and eight bytes of
/// trailer. A larger operation is not added, and the batch can no longer be written:
/// [`Db::write`](crate::Db::write) returns the error of [`status`](WriteBatch::status) before any part of the
/// batch reaches the WAL.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// use esker::WriteBatch;
///
/// db.put(b"from", b"100")?;
/// let mut batch = WriteBatch::new();
/// batch.delete(b"from");
/// batch.put(b"to", b"100");
/// db.write(batch)?;
/// assert!(db.get(b"from")?.is_none() && db.get(b"to")?.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct WriteBatch {
    rep: Vec<u8>,
    /// The checksums of the operations, if the batch was made with protection.
    protection: Option<Box<BatchProtection>>,
    save_points: Vec<SavePoint>,
    /// The error of the first operation that was refused because it, or the batch with it, is too large.
    refused: Option<Error>,
    /// The maximum of `rep.len()`, the size of the batch in bytes.
    max_bytes: usize,
}

/// The state of a batch at a save point.
#[derive(Clone, Copy)]
pub(crate) struct SavePoint {
    /// The size of the batch in bytes.
    pub len: usize,
    count: u32,
    /// `None` if the batch had no checksums at the save point.
    protection: Option<ProtectionMark>,
    had_refused: bool,
}

impl PartialEq for WriteBatch {
    fn eq(&self, other: &WriteBatch) -> bool {
        self.rep == other.rep && self.refused.is_some() == other.refused.is_some()
    }
}

impl Eq for WriteBatch {}

impl Default for WriteBatch {
    fn default() -> WriteBatch {
        WriteBatch::new()
    }
}

impl WriteBatch {
    /// An empty batch.
    pub fn new() -> WriteBatch {
        WriteBatch::with_capacity(0)
    }

    /// An empty batch with room for `bytes` of operations.
    pub fn with_capacity(bytes: usize) -> WriteBatch {
        let mut rep = Vec::with_capacity(HEADER_LEN + bytes);
        rep.resize(HEADER_LEN, 0);
        WriteBatch {
            rep,
            protection: None,
            save_points: Vec::new(),
            refused: None,
            max_bytes: usize::MAX,
        }
    }

    /// An empty batch that keeps a checksum of `protection_bytes_per_key` bytes for each operation, computed
    /// from the arguments of its methods: 8, or 0 for none. [`WriteOptions::protection_bytes_per_key`]
    /// computes them only when the batch is written. Costs eight bytes and two hashes per operation.
    /// `InvalidArgument` for other widths.
    ///
    /// [`WriteOptions::protection_bytes_per_key`]: crate::WriteOptions::protection_bytes_per_key
    pub fn with_protection(protection_bytes_per_key: usize) -> Result<WriteBatch> {
        protection::check_width(protection_bytes_per_key)?;
        let mut batch = WriteBatch::new();
        batch.protection = (protection_bytes_per_key > 0).then(Box::default);
        Ok(batch)
    }

    /// The size of each operation's checksum in bytes: 8 or 0.
    pub fn protection_bytes_per_key(&self) -> usize {
        self.protection.as_ref().map_or(0, |_| protection::WIDTH)
    }

    /// Compares every operation with its checksum, if the batch has checksums. `Corruption` that names the
    /// first operation that has changed since it was added.
    pub fn verify_checksum(&self) -> Result<()> {
        match &self.protection {
            Some(protection) => protection.verify(&self.rep, None),
            None => Ok(()),
        }
    }

    /// Computes the checksum of every operation, unless the batch has checksums already.
    pub(crate) fn protect(&mut self) -> Result<()> {
        if self.protection.is_none() {
            let mut protection = BatchProtection::default();
            self.operations()
                .try_for_each(|operation| operation.map(|operation| protection.push(&operation)))?;
            self.protection = Some(Box::new(protection));
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn protection(&self) -> Option<&BatchProtection> {
        self.protection.as_deref()
    }

    /// Decodes a batch from its wire format. `Corruption` with the offset if it does not decode completely or
    /// its count is wrong; `InvalidArgument` for an operation that is too large.
    pub fn from_data(data: &[u8]) -> Result<WriteBatch> {
        let mut operations = Operations::new(data)?;
        operations
            .by_ref()
            .try_for_each(|operation| operation?.check(RowLimit::MAX))?;
        operations.check_count()?;
        Ok(WriteBatch {
            rep: data.to_vec(),
            protection: None,
            save_points: Vec::new(),
            refused: None,
            max_bytes: usize::MAX,
        })
    }

    /// A batch of `count` operations in their wire format, without a header. `Corruption` unless exactly
    /// `count` operations decode.
    pub(crate) fn from_rows(rows: &[u8], count: u32) -> Result<WriteBatch> {
        let mut rep = vec![0; HEADER_LEN];
        rep[8..].copy_from_slice(&count.to_le_bytes());
        rep.extend_from_slice(rows);
        WriteBatch::from_data(&rep)
    }

    /// Limits the [size](WriteBatch::data_size) of the batch in bytes; 0: no limit, which is the default. An
    /// operation that would make the batch larger is not added, and the batch can no longer be written:
    /// [`status`](WriteBatch::status) is `Aborted`, RocksDB's `MemoryLimit`, until the operation is rolled
    /// back to a save point or the batch is cleared. Operations that are in the batch already stay.
    pub fn set_max_bytes(&mut self, max_bytes: usize) {
        self.max_bytes = match max_bytes {
            0 => usize::MAX,
            limit => limit,
        };
    }

    /// The error of the first operation that was refused since the batch was created or cleared:
    /// `InvalidArgument` with the name of the part that is too large, or `Aborted` if the
    /// [limit](WriteBatch::set_max_bytes) was reached.
    pub fn status(&self) -> Result<()> {
        match &self.refused {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// The wire format, without operations that were [refused](WriteBatch::status).
    pub fn data(&self) -> &[u8] {
        &self.rep
    }

    pub(crate) fn data_mut(&mut self) -> &mut [u8] {
        &mut self.rep
    }

    /// The number of operations that take a sequence number.
    pub fn count(&self) -> u32 {
        coding::u32_at(&self.rep, 8)
    }

    /// True if the batch has no operation, and none was [refused](WriteBatch::status).
    pub fn is_empty(&self) -> bool {
        self.rep.len() == HEADER_LEN && self.refused.is_none()
    }

    /// The size of the wire format in bytes.
    pub fn data_size(&self) -> usize {
        self.rep.len()
    }

    /// Removes all operations and save points, and keeps the memory.
    pub fn clear(&mut self) {
        self.save_points.clear();
        self.refused = None;
        self.rep.clear();
        self.rep.resize(HEADER_LEN, 0);
        if let Some(protection) = &mut self.protection {
            protection.clear();
        }
    }

    /// Records the current state for a later rollback. Save points nest.
    pub fn set_save_point(&mut self) {
        self.save_points.push(self.state());
    }

    /// The current state, for [`clear_to`](Self::clear_to).
    pub(crate) fn state(&self) -> SavePoint {
        SavePoint {
            len: self.rep.len(),
            count: self.count(),
            protection: self.protection.as_deref().map(BatchProtection::mark),
            had_refused: self.refused.is_some(),
        }
    }

    /// The newest save point.
    pub(crate) fn newest_save_point(&self) -> Option<SavePoint> {
        self.save_points.last().copied()
    }

    /// Removes the operations added since the batch had the state `point`, and all save points.
    pub(crate) fn clear_to(&mut self, point: SavePoint) {
        self.save_points.clear();
        self.return_to(point);
    }

    /// Removes the operations added since the newest save point, and the save point. `NotFound` if there is
    /// none.
    pub fn rollback_to_save_point(&mut self) -> Result<()> {
        let point = self.save_points.pop().ok_or_else(no_save_point)?;
        self.return_to(point);
        Ok(())
    }

    fn return_to(&mut self, point: SavePoint) {
        self.rep.truncate(point.len);
        self.rep[8..HEADER_LEN].copy_from_slice(&point.count.to_le_bytes());
        self.refused = self.refused.take().filter(|_| point.had_refused);
        match (&mut self.protection, point.protection) {
            (Some(protection), Some(mark)) => protection.rollback(mark),
            // The batch got its checksums after the save point, including those of the older operations.
            (protection, _) => *protection = None,
        }
    }

    /// Removes the newest save point and keeps the operations. `NotFound` if there is none.
    pub fn pop_save_point(&mut self) -> Result<()> {
        self.save_points.pop().map(drop).ok_or_else(no_save_point)
    }

    /// Sets `key` of the default family.
    pub fn put(&mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
        self.counted(tag::PUT, 0, &[key.as_ref()], Some(value.as_ref()));
    }

    /// Deletes `key` of the default family.
    pub fn delete(&mut self, key: impl AsRef<[u8]>) {
        self.counted(tag::DELETE, 0, &[key.as_ref()], None);
    }

    /// Deletes `key` of the default family. The key must have been put exactly once since it was absent last.
    pub fn single_delete(&mut self, key: impl AsRef<[u8]>) {
        self.counted(tag::SINGLE_DELETE, 0, &[key.as_ref()], None);
    }

    /// Adds a merge operand to `key` of the default family.
    pub fn merge(&mut self, key: impl AsRef<[u8]>, operand: impl AsRef<[u8]>) {
        self.counted(tag::MERGE, 0, &[key.as_ref()], Some(operand.as_ref()));
    }

    /// Deletes the keys of the default family from `begin` (inclusive) to `end` (exclusive).
    pub fn delete_range(&mut self, begin: impl AsRef<[u8]>, end: impl AsRef<[u8]>) {
        self.counted(tag::DELETE_RANGE, 0, &[begin.as_ref()], Some(end.as_ref()));
    }

    /// Sets `key` of the family with id `family`.
    pub(crate) fn add_put(&mut self, family: u32, key: &[u8], value: &[u8]) {
        self.counted(tag::PUT, family, &[key], Some(value));
    }

    /// Adds a row as [`Operation::row`] returns it. Kinds that no batch has are not accepted.
    pub(crate) fn add_row(&mut self, family: u32, kind: Kind, key: &[u8], value: &[u8]) {
        let (tags, value) = match kind {
            Kind::Value => (tag::PUT, Some(value)),
            Kind::Merge => (tag::MERGE, Some(value)),
            Kind::Deletion => (tag::DELETE, None),
            Kind::SingleDeletion => (tag::SINGLE_DELETE, None),
            Kind::RangeDeletion => (tag::DELETE_RANGE, Some(value)),
            Kind::BlobIndex => (tag::BLOB_INDEX, Some(value)),
            Kind::WideColumnEntity => (tag::ENTITY, Some(value)),
            _ => return,
        };
        self.counted(tags, family, &[key], value);
    }

    /// Adds a merge operand to `key` of the family with id `family`.
    pub(crate) fn add_merge(&mut self, family: u32, key: &[u8], operand: &[u8]) {
        self.counted(tag::MERGE, family, &[key], Some(operand));
    }

    /// Adds a deletion or log data. Other operations are not accepted.
    pub(crate) fn add_without_value(&mut self, operation: &Operation<'_>) {
        match *operation {
            Operation::Delete { family, key } => self.counted(tag::DELETE, family, &[key], None),
            Operation::SingleDelete { family, key } => self.counted(tag::SINGLE_DELETE, family, &[key], None),
            Operation::DeleteRange { family, begin, end } => {
                self.counted(tag::DELETE_RANGE, family, &[begin], Some(end));
            }
            Operation::LogData(blob) => self.put_log_data(blob),
            _ => {}
        }
    }

    /// Adds bytes that are written to the WAL only.
    pub fn put_log_data(&mut self, blob: &[u8]) {
        if let Err(error) = RowLimit::MAX.check_value(blob) {
            return self.refuse(error);
        }
        let len = self.rep.len();
        self.rep.push(tag::LOG_DATA);
        coding::put_length_prefixed(&mut self.rep, blob);
        if self.rep.len() > self.max_bytes {
            return self.refuse_from(len);
        }
        if let Some(protection) = &mut self.protection {
            protection.push(&Operation::LogData(blob));
        }
    }

    /// Adds the operations of `other` after those of this batch.
    pub fn append(&mut self, other: &WriteBatch) {
        if let Some(error) = &other.refused {
            self.refuse(error.clone());
        }
        if self.rep.len() + other.rep.len() - HEADER_LEN > self.max_bytes {
            return self.refuse_from(self.rep.len());
        }
        self.rep.extend_from_slice(&other.rep[HEADER_LEN..]);
        self.add_count(other.count());
        if let Some(protection) = &mut self.protection {
            protection.append(other.operations(), other.protection());
        }
    }

    /// The operations in order.
    pub fn operations(&self) -> Operations<'_> {
        let sequence = coding::u64_at(&self.rep, 0);
        Operations {
            reader: Reader::new(&self.rep[HEADER_LEN..]),
            sequence,
            count: self.count(),
            seen: 0,
        }
    }

    /// The operations from `offset` of the wire format on. An operation must begin there.
    pub(crate) fn operations_from(&self, offset: usize) -> Operations<'_> {
        Operations {
            reader: Reader::new(&self.rep[offset..]),
            ..self.operations()
        }
    }

    /// Replaces bytes of the wire format that are a part of a key.
    pub(super) fn overwrite(&mut self, at: usize, bytes: &[u8]) {
        self.rep[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Replaces the checksums of the operations by those of their current bytes.
    pub(super) fn protect_again(&mut self) {
        let Some(mut protection) = self.protection.take() else {
            return;
        };
        protection.clear();
        protection.append(self.operations(), None);
        self.protection = Some(protection);
    }

    #[inline]
    pub(crate) fn counted(&mut self, tags: (u8, u8), family: u32, key: &[&[u8]], value: Option<&[u8]>) {
        let (key_len, value_len) = (len_of(key), value.map_or(0, <[u8]>::len));
        if !RowLimit::MAX.allows(key_len, value_len) {
            return self.refuse(match tags {
                tag::DELETE_RANGE => RowLimit::MAX.error(key_len.max(value_len), 0),
                _ => RowLimit::MAX.error(key_len, value_len),
            });
        }
        let len = self.rep.len();
        append_operation(&mut self.rep, tags, family, key, value);
        if self.rep.len() > self.max_bytes {
            return self.refuse_from(len);
        }
        self.add_count(1);
        if self.protection.is_some() {
            self.protect_last(tags, family, key, value);
        }
    }

    /// Removes the operation that was appended at `len`, because it makes the batch too large.
    #[cold]
    #[inline(never)]
    fn refuse_from(&mut self, len: usize) {
        self.rep.truncate(len);
        self.refuse(Error::new(ErrorKind::Aborted, "Memory limit reached"));
    }

    /// Marks the batch as not writable, because an operation is too large.
    #[cold]
    #[inline(never)]
    pub(crate) fn refuse(&mut self, error: Error) {
        self.refused.get_or_insert(error);
    }

    /// Adds the checksum of the last operation, computed from the arguments of the operation and not from its
    /// encoding. A key in parts has no such form: its checksum is computed from the encoding.
    #[cold]
    #[inline(never)]
    fn protect_last(&mut self, tags: (u8, u8), family: u32, key: &[&[u8]], value: Option<&[u8]>) {
        let whole;
        let key = match key {
            [key] => key,
            parts => {
                whole = parts.concat();
                &whole[..]
            }
        };
        let value = value.unwrap_or_default();
        let operation = match tags {
            tag::PUT => Operation::Put { family, key, value },
            tag::DELETE => Operation::Delete { family, key },
            tag::SINGLE_DELETE => Operation::SingleDelete { family, key },
            tag::MERGE => Operation::Merge {
                family,
                key,
                operand: value,
            },
            tag::ENTITY => Operation::Entity {
                family,
                key,
                entity: value,
            },
            _ => Operation::DeleteRange {
                family,
                begin: key,
                end: value,
            },
        };
        if let Some(protection) = &mut self.protection {
            protection.push(&operation);
        }
    }

    fn add_count(&mut self, more: u32) {
        let count = self.count().saturating_add(more);
        self.rep[8..HEADER_LEN].copy_from_slice(&count.to_le_bytes());
    }
}

#[cold]
fn no_save_point() -> Error {
    Error::new(ErrorKind::NotFound, "the batch has no save point")
}

/// The total length in bytes of a key in parts.
#[inline]
fn len_of(key: &[&[u8]]) -> usize {
    key.iter().fold(0, |sum, part| sum.saturating_add(part.len()))
}

/// The maximum number of bytes of an operation besides its key and value: its tag, its family and two
/// lengths.
const MAX_ADDED_TO_ROW: usize = 1 + coding::MAX_VARINT32 + 2 * coding::MAX_VARINT64;

#[inline]
fn append_operation(rep: &mut Vec<u8>, tags: (u8, u8), family: u32, key: &[&[u8]], value: Option<&[u8]>) {
    let rows = len_of(key) + value.map_or(0, <[u8]>::len);
    rep.reserve(rows + MAX_ADDED_TO_ROW);
    if family == 0 {
        rep.push(tags.0);
    } else {
        rep.push(tags.1);
        coding::put_varint32(rep, family);
    }
    coding::put_varint64(rep, len_of(key) as u64);
    for part in key {
        rep.extend_from_slice(part);
    }
    if let Some(value) = value {
        coding::put_length_prefixed(rep, value);
    }
}

/// Writes the wire format of a batch of one operation to `rep`, so that a single write needs no
/// [`WriteBatch`] of its own.
#[inline]
pub(crate) fn encode_single(rep: &mut Vec<u8>, single: &SingleOperation<'_>) {
    rep.clear();
    rep.resize(HEADER_LEN, 0);
    rep[8] = 1;
    let (tags, key, value) = match single.what {
        SingleKind::Put(value) => (tag::PUT, single.key, Some(value)),
        SingleKind::Delete => (tag::DELETE, single.key, None),
        SingleKind::SingleDelete => (tag::SINGLE_DELETE, single.key, None),
        SingleKind::Merge(operand) => (tag::MERGE, single.key, Some(operand)),
        SingleKind::DeleteRange(end) => (tag::DELETE_RANGE, single.key, Some(end)),
    };
    append_operation(rep, tags, single.family, &[key], value);
}

impl std::fmt::Debug for WriteBatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.operations()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::operation::set_sequence;

    #[test]
    fn worked_bytes_of_the_format_document() {
        let mut batch = WriteBatch::new();
        batch.put(b"k1", b"v1");
        let mut rep = batch.data().to_vec();
        set_sequence(&mut rep, 2);
        assert_eq!(
            rep,
            [
                2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 2, b'k', b'1', 2, b'v', b'1'
            ]
        );
        let mut single = Vec::new();
        encode_single(
            &mut single,
            &SingleOperation {
                family: 0,
                key: b"k1",
                what: SingleKind::Put(b"v1"),
            },
        );
        assert_eq!(single, batch.data());
    }

    #[test]
    fn operations_come_back_in_order() {
        let mut batch = WriteBatch::new();
        batch.put(b"a", b"1");
        batch.put_log_data(b"note");
        batch.delete_range(b"b", b"d");
        batch.merge(b"e", b"+1");
        batch.single_delete(b"f");
        let copy = WriteBatch::from_data(batch.data()).unwrap();
        let operations: Vec<_> = copy.operations().map(Result::unwrap).collect();
        assert_eq!(
            operations,
            [
                Operation::Put {
                    family: 0,
                    key: b"a",
                    value: b"1"
                },
                Operation::LogData(b"note"),
                Operation::DeleteRange {
                    family: 0,
                    begin: b"b",
                    end: b"d"
                },
                Operation::Merge {
                    family: 0,
                    key: b"e",
                    operand: b"+1"
                },
                Operation::SingleDelete { family: 0, key: b"f" },
            ]
        );
        assert_eq!(copy.count(), 4);
    }

    #[test]
    fn a_batch_is_no_larger_than_its_limit() {
        let mut batch = WriteBatch::with_protection(8).unwrap();
        batch.put(b"key", b"value");
        let one = batch.data_size();
        batch.set_max_bytes(2 * one - HEADER_LEN);
        batch.put(b"two", b"value");
        batch.status().unwrap();
        let whole = batch.data().to_vec();
        type Adds = fn(&mut WriteBatch);
        let too_much: [Adds; 4] = [
            |batch| batch.delete(b""),
            |batch| batch.put_log_data(b""),
            |batch| batch.delete_range(b"", b""),
            |batch| batch.append(&batch.clone()),
        ];
        for add in too_much {
            batch.set_save_point();
            add(&mut batch);
            let error = batch.status().unwrap_err();
            assert_eq!(error.to_string(), "Operation aborted: Memory limit reached");
            assert_eq!((batch.data(), batch.count()), (&whole[..], 2));
            batch.rollback_to_save_point().unwrap();
            batch.status().unwrap();
            batch.verify_checksum().unwrap();
        }
        batch.clear();
        batch.put(b"key", [0; 64]);
        assert!(batch.status().is_err() && batch.count() == 0);
        batch.clear();
        batch.set_max_bytes(0);
        batch.put(b"key", [0; 64]);
        batch.status().unwrap();
    }

    #[test]
    fn damaged_batches_are_corruption_with_an_offset() {
        let mut batch = WriteBatch::new();
        batch.put(b"key", b"value");
        batch.delete(b"other");
        let good = batch.data();
        for len in 0..good.len() {
            assert!(
                WriteBatch::from_data(&good[..len]).unwrap_err().is_corruption(),
                "cut at {len}"
            );
        }
        let mut unknown = good.to_vec();
        unknown[HEADER_LEN] = 0x77;
        assert_eq!(
            WriteBatch::from_data(&unknown).unwrap_err().offset(),
            Some(HEADER_LEN as u64)
        );
        let mut miscounted = good.to_vec();
        miscounted[8] = 3;
        assert!(WriteBatch::from_data(&miscounted).unwrap_err().is_corruption());
    }
}

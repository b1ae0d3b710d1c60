//! `WriteBatch`: operations that take effect together, in RocksDB's wire format, which is also the payload of
//! a WAL record.
//!
//! ```text
//! u64 sequence of the first operation | u32 count | operation*
//! operation = tag u8 [column family v32] operand*      operand = length v32, bytes
//! ```

use base::coding::{self, Reader};
use base::{Error, ErrorKind, Kind, Protection, Result, RowLimit, SeqNo};

use crate::batch::protection::{self, BatchProtection, ProtectionMark};

/// The size of the header, sequence number and count, in bytes.
pub const HEADER_LEN: usize = 12;

/// The operation tags of format.md section 3. The second tag of a pair is followed by a column family id.
pub(crate) mod tag {
    pub const DELETE: (u8, u8) = (0x00, 0x04);
    pub const PUT: (u8, u8) = (0x01, 0x05);
    pub const MERGE: (u8, u8) = (0x02, 0x06);
    pub const LOG_DATA: u8 = 0x03;
    pub const SINGLE_DELETE: (u8, u8) = (0x07, 0x08);
    pub const BEGIN_PREPARE: u8 = 0x09;
    pub const END_PREPARE: u8 = 0x0a;
    pub const COMMIT: u8 = 0x0b;
    pub const ROLLBACK: u8 = 0x0c;
    pub const NOOP: u8 = 0x0d;
    pub const DELETE_RANGE: (u8, u8) = (0x0f, 0x0e);
    pub const BLOB_INDEX: (u8, u8) = (0x11, 0x10);
    pub const BEGIN_PERSISTED_PREPARE: u8 = 0x12;
    pub const BEGIN_UNPREPARE: u8 = 0x13;
    pub const COMMIT_WITH_TIMESTAMP: u8 = 0x15;
    pub const ENTITY: (u8, u8) = (0x16, 0x17);
    pub const TIMED_PUT: (u8, u8) = (0x18, 0x19);
}

/// Operations on keys of any column families of one database, applied all or none.
///
/// Families with timestamps take keys through the `_at` methods. Every method copies its arguments once.
///
/// A value has at most 2 GiB - 1 bytes, and so has a key together with its timestamp and eight bytes of
/// trailer. A larger operation is not added, and the batch can no longer be written:
/// [`Db::write`](crate::Db::write) returns the error of [`status`](WriteBatch::status) before any part of the
/// batch reaches the WAL.
#[derive(Clone)]
pub struct WriteBatch {
    rep: Vec<u8>,
    /// The checksums of the operations, if the batch was made with protection.
    protection: Option<Box<BatchProtection>>,
    save_points: Vec<SavePoint>,
    /// The error of the first operation that was refused because it is too large.
    refused: Option<Error>,
}

/// The state of a batch at a save point.
#[derive(Clone, Copy)]
struct SavePoint {
    len: usize,
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

    /// `InvalidArgument` that names the part that is too large, if an operation was refused since the batch
    /// was made or cleared.
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
        self.save_points.push(SavePoint {
            len: self.rep.len(),
            count: self.count(),
            protection: self.protection.as_deref().map(BatchProtection::mark),
            had_refused: self.refused.is_some(),
        });
    }

    /// Removes the operations added since the newest save point, and the save point. `NotFound` if there is
    /// none.
    pub fn rollback_to_save_point(&mut self) -> Result<()> {
        let point = self.save_points.pop().ok_or_else(no_save_point)?;
        self.rep.truncate(point.len);
        self.rep[8..HEADER_LEN].copy_from_slice(&point.count.to_le_bytes());
        self.refused = self.refused.take().filter(|_| point.had_refused);
        match (&mut self.protection, point.protection) {
            (Some(protection), Some(mark)) => protection.rollback(mark),
            // The batch got its checksums after the save point, including those of the older operations.
            (protection, _) => *protection = None,
        }
        Ok(())
    }

    /// Removes the newest save point and keeps the operations. `NotFound` if there is none.
    pub fn pop_save_point(&mut self) -> Result<()> {
        self.save_points.pop().map(drop).ok_or_else(no_save_point)
    }

    /// Sets `key` of the default family.
    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        self.counted(tag::PUT, 0, &[key], Some(value));
    }

    /// Deletes `key` of the default family.
    pub fn delete(&mut self, key: &[u8]) {
        self.counted(tag::DELETE, 0, &[key], None);
    }

    /// Deletes `key` of the default family. The key must have been put exactly once since it was absent last.
    pub fn single_delete(&mut self, key: &[u8]) {
        self.counted(tag::SINGLE_DELETE, 0, &[key], None);
    }

    /// Adds a merge operand to `key` of the default family.
    pub fn merge(&mut self, key: &[u8], operand: &[u8]) {
        self.counted(tag::MERGE, 0, &[key], Some(operand));
    }

    /// Deletes the keys of the default family from `begin` (inclusive) to `end` (exclusive).
    pub fn delete_range(&mut self, begin: &[u8], end: &[u8]) {
        self.counted(tag::DELETE_RANGE, 0, &[begin], Some(end));
    }

    /// Sets `key` of the family with id `family`.
    pub(crate) fn add_put(&mut self, family: u32, key: &[u8], value: &[u8]) {
        self.counted(tag::PUT, family, &[key], Some(value));
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
        self.rep.push(tag::LOG_DATA);
        coding::put_length_prefixed(&mut self.rep, blob);
        if let Some(protection) = &mut self.protection {
            protection.push(&Operation::LogData(blob));
        }
    }

    /// Adds the operations of `other` after those of this batch.
    pub fn append(&mut self, other: &WriteBatch) {
        if let Some(error) = &other.refused {
            self.refuse(error.clone());
        }
        self.rep.extend_from_slice(&other.rep[HEADER_LEN..]);
        self.add_count(other.count());
        if let Some(protection) = &mut self.protection {
            protection.append(other, other.protection());
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

    #[inline]
    pub(crate) fn counted(&mut self, tags: (u8, u8), family: u32, key: &[&[u8]], value: Option<&[u8]>) {
        let (key_len, value_len) = (len_of(key), value.map_or(0, <[u8]>::len));
        if !RowLimit::MAX.allows(key_len, value_len) {
            return self.refuse(match tags {
                tag::DELETE_RANGE => RowLimit::MAX.error(key_len.max(value_len), 0),
                _ => RowLimit::MAX.error(key_len, value_len),
            });
        }
        append_operation(&mut self.rep, tags, family, key, value);
        self.add_count(1);
        if self.protection.is_some() {
            self.protect_last(tags, family, key, value);
        }
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

#[inline]
fn append_operation(rep: &mut Vec<u8>, tags: (u8, u8), family: u32, key: &[&[u8]], value: Option<&[u8]>) {
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

/// A write that consists of one operation.
#[derive(Clone, Copy)]
pub(crate) struct SingleOperation<'a> {
    pub family: u32,
    pub key: &'a [u8],
    pub what: SingleKind<'a>,
}

impl SingleOperation<'_> {
    /// The checksum of the operation's row with its family.
    pub(crate) fn protection(&self) -> Protection {
        let (kind, value) = self.row();
        Protection::of_row(kind as u8, self.key, value).toggle_family(self.family)
    }

    /// The kind and value of the operation's row.
    pub(crate) fn row(&self) -> (Kind, &[u8]) {
        match self.what {
            SingleKind::Put(value) => (Kind::Value, value),
            SingleKind::Delete => (Kind::Deletion, &[]),
            SingleKind::SingleDelete => (Kind::SingleDeletion, &[]),
            SingleKind::Merge(operand) => (Kind::Merge, operand),
            SingleKind::DeleteRange(end) => (Kind::RangeDeletion, end),
        }
    }
}

/// The type of a [`SingleOperation`].
#[derive(Clone, Copy)]
pub(crate) enum SingleKind<'a> {
    Put(&'a [u8]),
    Delete,
    SingleDelete,
    Merge(&'a [u8]),
    DeleteRange(&'a [u8]),
}

/// Writes the sequence number of the first operation into a batch's wire format.
#[inline]
pub(crate) fn set_sequence(rep: &mut [u8], sequence: SeqNo) {
    rep[..8].copy_from_slice(&sequence.to_le_bytes());
}

impl std::fmt::Debug for WriteBatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.operations()).finish()
    }
}

/// One operation of a batch. Keys include their timestamps if the family has timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "the fields are the operands of the wire format, named after it"
)]
pub enum Operation<'a> {
    Put {
        family: u32,
        key: &'a [u8],
        value: &'a [u8],
    },
    Delete {
        family: u32,
        key: &'a [u8],
    },
    SingleDelete {
        family: u32,
        key: &'a [u8],
    },
    Merge {
        family: u32,
        key: &'a [u8],
        operand: &'a [u8],
    },
    DeleteRange {
        family: u32,
        begin: &'a [u8],
        end: &'a [u8],
    },
    BlobIndex {
        family: u32,
        key: &'a [u8],
        index: &'a [u8],
    },
    Entity {
        family: u32,
        key: &'a [u8],
        entity: &'a [u8],
    },
    /// `value` still includes its last eight bytes, which are `write_time` in Unix seconds.
    TimedPut {
        family: u32,
        key: &'a [u8],
        value: &'a [u8],
        write_time: u64,
    },
    LogData(&'a [u8]),
    Noop,
    /// Begins a transaction's operations, which end with `EndPrepare`. `persisted`: they were inserted into
    /// memtables when prepared (RocksDB's `WRITE_PREPARED`).
    BeginPrepare {
        persisted: bool,
    },
    /// Begins a part of a transaction that was inserted before it was prepared (RocksDB's
    /// `WRITE_UNPREPARED`); it ends with `EndPrepare`.
    BeginUnprepare,
    EndPrepare {
        xid: &'a [u8],
    },
    Commit {
        xid: &'a [u8],
    },
    CommitWithTimestamp {
        timestamp: &'a [u8],
        xid: &'a [u8],
    },
    Rollback {
        xid: &'a [u8],
    },
}

impl<'a> Operation<'a> {
    /// True for operations that take a sequence number.
    pub fn is_counted(&self) -> bool {
        self.family().is_some()
    }

    /// The row of the operation in a memtable: family, kind, key and value. `None` for operations that are
    /// written to the WAL only.
    #[inline]
    pub(crate) fn row(&self) -> Option<(u32, Kind, &'a [u8], &'a [u8])> {
        Some(match *self {
            Operation::Put { family, key, value } => (family, Kind::Value, key, value),
            Operation::Delete { family, key } => (family, Kind::Deletion, key, &[]),
            Operation::SingleDelete { family, key } => (family, Kind::SingleDeletion, key, &[]),
            Operation::Merge { family, key, operand } => (family, Kind::Merge, key, operand),
            Operation::DeleteRange { family, begin, end } => (family, Kind::RangeDeletion, begin, end),
            Operation::BlobIndex { family, key, index } => (family, Kind::BlobIndex, key, index),
            Operation::Entity { family, key, entity } => (family, Kind::WideColumnEntity, key, entity),
            // Without a mapping of sequence numbers to time the value has no preferred sequence number: it is
            // a plain value.
            Operation::TimedPut {
                family, key, value, ..
            } => (family, Kind::Value, key, &value[..value.len() - 8]),
            _ => return None,
        })
    }

    /// `InvalidArgument` if the operation is larger than `limit` allows.
    #[inline]
    pub(crate) fn check(&self, limit: RowLimit) -> Result<()> {
        match (*self, self.row()) {
            (Operation::DeleteRange { begin, end, .. }, _) => {
                limit.check_key(begin)?;
                limit.check_key(end)
            }
            (_, Some((_, _, key, value))) => limit.check(key, value),
            (Operation::LogData(blob), None) => limit.check_value(blob),
            _ => Ok(()),
        }
    }

    /// The column family of the operation.
    pub fn family(&self) -> Option<u32> {
        match *self {
            Operation::Put { family, .. }
            | Operation::Delete { family, .. }
            | Operation::SingleDelete { family, .. }
            | Operation::Merge { family, .. }
            | Operation::DeleteRange { family, .. }
            | Operation::BlobIndex { family, .. }
            | Operation::Entity { family, .. }
            | Operation::TimedPut { family, .. } => Some(family),
            _ => None,
        }
    }
}

/// Decodes a batch's operations. An error ends the iteration and carries the offset within the batch.
#[derive(Clone)]
pub struct Operations<'a> {
    reader: Reader<'a>,
    sequence: SeqNo,
    count: u32,
    seen: u32,
}

impl<'a> Operations<'a> {
    /// Decodes the wire format in `data`. `Corruption` if it is shorter than a header.
    pub fn new(data: &'a [u8]) -> Result<Operations<'a>> {
        let mut header = Reader::new(data);
        let sequence = header.u64("sequence of a write batch")?;
        let count = header.u32("count of a write batch")?;
        Ok(Operations {
            reader: Reader::new(header.rest()),
            sequence,
            count,
            seen: 0,
        })
    }

    /// Sequence number of the first operation.
    pub fn sequence(&self) -> SeqNo {
        self.sequence
    }

    /// The bytes that are not decoded yet.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.reader.rest()
    }

    /// The number of operations in the header.
    pub fn promised(&self) -> u32 {
        self.count
    }

    /// Called after the last operation: `Corruption` unless their number equals the count in the header.
    pub fn check_count(&self) -> Result<()> {
        if self.seen == self.count {
            return Ok(());
        }
        Err(Error::corruption(format!(
            "WriteBatch has wrong count: {} promised, {} found",
            self.count, self.seen
        ))
        .at(8))
    }

    fn decode(&mut self) -> Result<Operation<'a>> {
        let reader = &mut self.reader;
        let start = reader.position() as u64;
        let tag_byte = reader.u8("tag")?;
        let paired = |tags: (u8, u8)| tag_byte == tags.0 || tag_byte == tags.1;
        let families = [
            tag::DELETE,
            tag::PUT,
            tag::MERGE,
            tag::SINGLE_DELETE,
            tag::DELETE_RANGE,
            tag::BLOB_INDEX,
            tag::ENTITY,
            tag::TIMED_PUT,
        ];
        if let Some(tags) = families.into_iter().find(|&tags| paired(tags)) {
            let family = if tag_byte == tags.1 {
                reader.varint32("column family of an operation")?
            } else {
                0
            };
            let key = reader.long_length_prefixed("key of an operation")?;
            if tags == tag::DELETE {
                return Ok(Operation::Delete { family, key });
            }
            if tags == tag::SINGLE_DELETE {
                return Ok(Operation::SingleDelete { family, key });
            }
            let value = reader.long_length_prefixed("value of an operation")?;
            return Ok(match tags {
                tag::PUT => Operation::Put { family, key, value },
                tag::MERGE => Operation::Merge {
                    family,
                    key,
                    operand: value,
                },
                tag::DELETE_RANGE => Operation::DeleteRange {
                    family,
                    begin: key,
                    end: value,
                },
                tag::BLOB_INDEX => Operation::BlobIndex {
                    family,
                    key,
                    index: value,
                },
                tag::ENTITY => Operation::Entity {
                    family,
                    key,
                    entity: value,
                },
                _ => {
                    let at = value
                        .len()
                        .checked_sub(8)
                        .ok_or_else(|| Error::corruption("TimedPut without its time").at(start))?;
                    Operation::TimedPut {
                        family,
                        key,
                        value,
                        write_time: coding::u64_at(value, at),
                    }
                }
            });
        }
        Ok(match tag_byte {
            tag::LOG_DATA => Operation::LogData(reader.long_length_prefixed("log data")?),
            tag::NOOP => Operation::Noop,
            tag::BEGIN_PREPARE => Operation::BeginPrepare { persisted: false },
            tag::BEGIN_PERSISTED_PREPARE => Operation::BeginPrepare { persisted: true },
            tag::BEGIN_UNPREPARE => Operation::BeginUnprepare,
            tag::END_PREPARE => Operation::EndPrepare {
                xid: reader.length_prefixed("transaction id")?,
            },
            tag::COMMIT => Operation::Commit {
                xid: reader.length_prefixed("transaction id")?,
            },
            tag::COMMIT_WITH_TIMESTAMP => Operation::CommitWithTimestamp {
                timestamp: reader.length_prefixed("commit timestamp")?,
                xid: reader.length_prefixed("transaction id")?,
            },
            tag::ROLLBACK => Operation::Rollback {
                xid: reader.length_prefixed("transaction id")?,
            },
            unknown => {
                return Err(Error::corruption(format!("unknown WriteBatch tag {unknown:#04x}")).at(start));
            }
        })
    }
}

impl<'a> Iterator for Operations<'a> {
    type Item = Result<Operation<'a>>;

    fn next(&mut self) -> Option<Result<Operation<'a>>> {
        if self.reader.is_empty() {
            return None;
        }
        let decoded = self.decode().map_err(|error| error.offset_by(HEADER_LEN as u64));
        match &decoded {
            Ok(operation) => self.seen += u32::from(operation.is_counted()),
            Err(_) => self.reader = Reader::new(&[]),
        }
        Some(decoded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

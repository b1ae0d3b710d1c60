//! The operations of a batch, and their encoding.

use base::RowLimit;
use base::coding::{self, Reader};
use base::{Error, Kind, Protection, Result, SeqNo};

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

/// One operation of a batch. Keys include their timestamps if the family has timestamps.
///
/// ```
/// use esker::{Operation, Operations, WriteBatch};
///
/// let mut batch = WriteBatch::new();
/// batch.put(b"a", b"1");
/// batch.delete(b"b");
/// for operation in Operations::new(batch.data())? {
///     match operation? {
///         Operation::Put { key, value, .. } => assert_eq!((key, value), (&b"a"[..], &b"1"[..])),
///         Operation::Delete { key, .. } => assert_eq!(key, b"b"),
///         other => println!("{other:?}"),
///     }
/// }
/// # Ok::<(), esker::Error>(())
/// ```
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
///
/// See the example of [`Operation`].
#[derive(Clone)]
pub struct Operations<'a> {
    pub(crate) reader: Reader<'a>,
    pub(crate) sequence: SeqNo,
    pub(crate) count: u32,
    pub(crate) seen: u32,
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

    /// Checks the end of a batch after the last operation: `Corruption` unless the number of operations
    /// equals the count in the header.
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

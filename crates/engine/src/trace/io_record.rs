//! The records of a trace of I/O and their encoding: `docs/format/trace.md`.

use base::coding::{self, Reader};
use base::{Error, Result};

use super::accesses::{AccessTraceReader, all_taken, sealed};
use super::kind;

/// The bits of a record's fields in its map of fields. The fields are encoded in this order.
mod field {
    pub const FILE_SIZE: u32 = 0;
    pub const LENGTH: u32 = 1;
    pub const OFFSET: u32 = 2;
}

/// The bit of the request's id in the second map of a record.
const REQUEST_ID: u64 = 1;

/// Reads a trace of I/O.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// use esker::{FileTraceWriter, IoTraceReader, TraceOptions};
///
/// let (fs, path) = (&*options.fs, dir.path().join("trace"));
/// let writer = FileTraceWriter::create(fs, &path)?;
/// db.start_io_trace(&TraceOptions::default(), Box::new(writer))?;
/// db.put(b"key", b"value")?;
/// db.flush()?;
/// db.end_io_trace()?;
///
/// let mut reader = IoTraceReader::open(fs, &path)?;
/// while let Some(record) = reader.next_record()? {
///     println!("{} {}: {} ns", record.file_operation, record.file_name, record.latency);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type IoTraceReader = AccessTraceReader<IoTraceRecord>;

/// One operation on a file.
///
/// See the example of [`IoTraceReader`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IoTraceRecord {
    /// The time at which the operation ended, in nanoseconds since a fixed moment, by
    /// [`Clock::now`](crate::Clock::now). RocksDB's clock counts from the start of the machine.
    pub access_timestamp: u64,
    /// The operation, by the name of RocksDB's method: `Read`, `Append`, `NewWritableFile` and so on.
    pub file_operation: String,
    /// The duration of the operation in nanoseconds.
    pub latency: u64,
    /// `OK`, or the text of the error.
    pub io_status: String,
    /// The file's name without its directory.
    pub file_name: String,
    /// The size in bytes that a query of the file's size returned, or to which a file was truncated; `None`
    /// for other operations.
    pub file_size: Option<u64>,
    /// The bytes that were to be read or appended; `None` for other operations.
    pub len: Option<u64>,
    /// The offset of a read; `None` for other operations.
    pub offset: Option<u64>,
    /// The id of the request that the operation belongs to. Esker records none.
    pub request_id: Option<Vec<u8>>,
}

/// The numbers that the record of an operation has.
#[derive(Clone, Copy, Default)]
pub(super) struct IoNumbers {
    pub file_size: Option<u64>,
    pub len: Option<u64>,
    pub offset: Option<u64>,
}

/// Encodes the payload of an operation.
pub(super) fn encode(
    out: &mut Vec<u8>,
    (operation, file_name, status): (&str, &str, &str),
    latency: u64,
    numbers: IoNumbers,
) {
    let fields = [
        (field::FILE_SIZE, numbers.file_size),
        (field::LENGTH, numbers.len),
        (field::OFFSET, numbers.offset),
    ];
    let map = fields
        .iter()
        .map(|(bit, value)| u64::from(value.is_some()) << bit)
        .sum();
    coding::put_u64(out, map);
    coding::put_length_prefixed(out, operation.as_bytes());
    coding::put_u64(out, latency);
    coding::put_length_prefixed(out, status.as_bytes());
    coding::put_length_prefixed(out, file_name.as_bytes());
    for value in fields.iter().filter_map(|(_, value)| *value) {
        coding::put_u64(out, value);
    }
    coding::put_u64(out, 0);
}

impl sealed::Decoded for IoTraceRecord {
    fn is_of_type(kind: u8) -> bool {
        kind == kind::IO
    }

    fn decode(timestamp: u64, _: u8, payload: &[u8]) -> Result<IoTraceRecord> {
        let mut reader = Reader::new(payload);
        let known = 1 << field::FILE_SIZE | 1 << field::LENGTH | 1 << field::OFFSET;
        let map = bits(&mut reader, known)?;
        let text = |reader: &mut Reader<'_>, what| {
            let bytes = reader.length_prefixed(what)?;
            Ok::<_, Error>(String::from_utf8_lossy(bytes).into_owned())
        };
        let file_operation = text(&mut reader, "operation of an I/O record")?;
        let latency = reader.u64("latency of an I/O record")?;
        let io_status = text(&mut reader, "status of an I/O record")?;
        let file_name = text(&mut reader, "file name of an I/O record")?;
        let mut number = |bit: u32, what| match map & 1 << bit != 0 {
            true => reader.u64(what).map(Some),
            false => Ok(None),
        };
        let file_size = number(field::FILE_SIZE, "file size of an I/O record")?;
        let len = number(field::LENGTH, "length of an I/O record")?;
        let offset = number(field::OFFSET, "offset of an I/O record")?;
        let request_id = match bits(&mut reader, REQUEST_ID)? {
            0 => None,
            _ => Some(reader.length_prefixed("request of an I/O record")?.to_vec()),
        };
        all_taken(&reader)?;
        Ok(IoTraceRecord {
            access_timestamp: timestamp,
            file_operation,
            latency,
            io_status,
            file_name,
            file_size,
            len,
            offset,
            request_id,
        })
    }
}

/// Reads a map of fields. `Corruption` if it has a bit that is not in `known`.
fn bits(reader: &mut Reader<'_>, known: u64) -> Result<u64> {
    let at = reader.position() as u64;
    match reader.u64("map of an I/O record")? {
        map if map & !known != 0 => Err(Error::corruption("an I/O record has unknown fields").at(at)),
        map => Ok(map),
    }
}

//! The records of a trace of queries and their encoding: `docs/format/trace.md`.

use base::coding::{self, Reader};
use base::{Error, Result};

use super::{MAGIC, RECORD_HEADER_LEN, ROCKSDB_RELEASE, encode_record, kind, split};

/// The version of the format that is written, major and minor, as in the header of a trace.
const VERSION: (u32, u32) = (0, 2);

/// The first version of the format whose payloads begin with a map of their fields.
const WITH_MAP: u32 = 2;

/// The bits of a payload's fields in its map of fields. The fields are encoded in this order.
mod field {
    pub const WRITE_BATCH: u32 = 1;
    pub const GET_FAMILY: u32 = 2;
    pub const GET_KEY: u32 = 3;
    pub const ITER_FAMILY: u32 = 4;
    pub const ITER_KEY: u32 = 5;
    pub const ITER_LOWER: u32 = 6;
    pub const ITER_UPPER: u32 = 7;
    pub const MULTI_GET_SIZE: u32 = 8;
    pub const MULTI_GET_FAMILIES: u32 = 9;
    pub const MULTI_GET_KEYS: u32 = 10;
}

/// One query of a trace.
///
/// See the example of [`QueryTraceReader`](super::QueryTraceReader).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceRecord {
    /// The time of the query in microseconds since 1970.
    pub timestamp: u64,
    /// The traced query.
    pub query: TracedQuery,
}

/// A query that a trace records. Its families are identified by their ids.
///
/// See the example of [`QueryTraceReader`](super::QueryTraceReader).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TracedQuery {
    /// A write: the [wire format](crate::WriteBatch::data) of its batch.
    Write(Vec<u8>),
    /// A Get.
    Get {
        /// The id of the column family.
        family: u32,
        /// The key.
        key: Vec<u8>,
    },
    /// A seek of an iterator.
    Seek {
        /// True for a seek to the last key at or before `key`, false for a seek to the first key at or after
        /// it.
        for_prev: bool,
        /// The id of the column family.
        family: u32,
        /// The target key of the seek.
        key: Vec<u8>,
        /// The iterator's lower bound; empty if it has none.
        lower: Vec<u8>,
        /// The iterator's upper bound; empty if it has none.
        upper: Vec<u8>,
    },
    /// A MultiGet: one or more keys, each with the id of its family.
    MultiGet(Vec<(u32, Vec<u8>)>),
}

impl TracedQuery {
    /// Encodes the payload of a write; `batch` is the wire format of its batch.
    pub(crate) fn encode_write(out: &mut Vec<u8>, batch: &[u8]) {
        coding::put_u64(out, 1 << field::WRITE_BATCH);
        coding::put_length_prefixed(out, batch);
    }

    pub(crate) fn encode_get(out: &mut Vec<u8>, family: u32, key: &[u8]) {
        coding::put_u64(out, 1 << field::GET_FAMILY | 1 << field::GET_KEY);
        coding::put_u32(out, family);
        coding::put_length_prefixed(out, key);
    }

    pub(crate) fn encode_seek(out: &mut Vec<u8>, family: u32, key: &[u8], bounds: [&[u8]; 2]) {
        let mut map = 1 << field::ITER_FAMILY | 1 << field::ITER_KEY;
        for (bound, bit) in bounds.iter().zip([field::ITER_LOWER, field::ITER_UPPER]) {
            map |= u64::from(!bound.is_empty()) << bit;
        }
        coding::put_u64(out, map);
        coding::put_u32(out, family);
        coding::put_length_prefixed(out, key);
        for bound in bounds.iter().filter(|bound| !bound.is_empty()) {
            coding::put_length_prefixed(out, bound);
        }
    }

    pub(crate) fn encode_multi_get<'a>(out: &mut Vec<u8>, keys: impl Iterator<Item = (u32, &'a [u8])>) {
        let (mut count, mut families, mut bytes) = (0, Vec::new(), Vec::new());
        for (family, key) in keys {
            count += 1;
            coding::put_u32(&mut families, family);
            coding::put_length_prefixed(&mut bytes, key);
        }
        let fields = [
            field::MULTI_GET_SIZE,
            field::MULTI_GET_FAMILIES,
            field::MULTI_GET_KEYS,
        ];
        coding::put_u64(out, fields.iter().map(|bit| 1 << bit).sum());
        coding::put_u32(out, count);
        coding::put_length_prefixed(out, &families);
        coding::put_length_prefixed(out, &bytes);
    }
}

/// Encodes the first record of a trace.
pub(crate) fn encode_header(out: &mut Vec<u8>, timestamp: u64) {
    let (major, minor) = ROCKSDB_RELEASE;
    let text = format!(
        "{MAGIC}\tTrace Version: {}.{}\tRocksDB Version: {major}.{minor}\tFormat: Timestamp OpType Payload\n",
        VERSION.0, VERSION.1
    );
    encode_record(out, timestamp, kind::BEGIN, text.as_bytes());
}

/// Decodes the first record of a trace. Returns the start of the trace in microseconds since 1970, and the
/// version of its format: the digits of major and minor as one number (2 for 0.2).
pub(crate) fn decode_header(record: &[u8]) -> Result<(u64, u32)> {
    let (timestamp, kind, payload) = split(record)?;
    if kind != kind::BEGIN {
        return Err(Error::corruption("Corrupted trace file. Incorrect header.").at(8));
    }
    let at = RECORD_HEADER_LEN as u64;
    let text = payload.strip_prefix(MAGIC.as_bytes());
    let text = text.ok_or_else(|| Error::corruption("Corrupted trace file. Incorrect magic.").at(at))?;
    let text = String::from_utf8_lossy(text);
    let mut parts = text.split('\t').skip(1);
    let mut version = |name: &str| {
        let part = parts.next().and_then(|part| part.strip_prefix(name));
        let (major, minor) = part?.split_once('.')?;
        let digits = major
            .bytes()
            .chain(minor.bytes())
            .all(|byte| byte.is_ascii_digit());
        let number: u32 = format!("{major}{minor}").parse().ok().filter(|_| digits)?;
        Some(number)
    };
    let versions = (version("Trace Version: "), version("RocksDB Version: "));
    let (Some(version), Some(_)) = versions else {
        return Err(Error::corruption("Corrupted trace file. Incorrect version format.").at(at));
    };
    Ok((timestamp, version))
}

/// Decodes the record of a query; `None` for the record that ends a trace.
///
/// # Errors
/// `Corruption` with the offset within the record; `NotSupported` for a type of record that is not a query.
pub(crate) fn decode(record: &[u8], version: u32) -> Result<Option<TraceRecord>> {
    let (timestamp, kind, payload) = split(record)?;
    if kind == kind::END {
        return Ok(None);
    }
    let query = decode_query(kind, payload, version).map_err(|error| match error.is_corruption() {
        true => error.offset_by(RECORD_HEADER_LEN as u64),
        false => error,
    })?;
    Ok(Some(TraceRecord { timestamp, query }))
}

fn decode_query(kind: u8, payload: &[u8], version: u32) -> Result<TracedQuery> {
    let mut fields = Fields {
        reader: Reader::new(payload),
        map: 0,
    };
    let allowed: &[u32] = match kind {
        kind::WRITE => &[field::WRITE_BATCH],
        kind::GET => &[field::GET_FAMILY, field::GET_KEY],
        kind::SEEK | kind::SEEK_FOR_PREV => &[
            field::ITER_FAMILY,
            field::ITER_KEY,
            field::ITER_LOWER,
            field::ITER_UPPER,
        ],
        kind::MULTI_GET => &[
            field::MULTI_GET_SIZE,
            field::MULTI_GET_FAMILIES,
            field::MULTI_GET_KEYS,
        ],
        _ => return Err(Error::not_supported("Unsupported trace type.")),
    };
    if version >= WITH_MAP {
        fields.map = fields.reader.u64("map of a trace record")?;
        let known: u64 = allowed.iter().map(|bit| 1 << bit).sum();
        if fields.map & !known != 0 {
            return Err(Error::corruption("a trace record has fields that its type does not have").at(0));
        }
    } else {
        fields.map = match kind {
            kind::WRITE => return Ok(TracedQuery::Write(payload.to_vec())),
            kind::MULTI_GET => return Err(Error::corruption("MultiGet is not supported.").at(0)),
            kind::GET => 1 << field::GET_FAMILY | 1 << field::GET_KEY,
            _ => 1 << field::ITER_FAMILY | 1 << field::ITER_KEY,
        };
    }
    fields.query(kind)
}

/// Reads the fields that the map of a payload names, in the order in which they are encoded.
struct Fields<'a> {
    reader: Reader<'a>,
    map: u64,
}

impl<'a> Fields<'a> {
    fn query(&mut self, kind: u8) -> Result<TracedQuery> {
        Ok(match kind {
            kind::WRITE => TracedQuery::Write(self.bytes(field::WRITE_BATCH)?.to_vec()),
            kind::GET => TracedQuery::Get {
                family: self.number(field::GET_FAMILY)?,
                key: self.bytes(field::GET_KEY)?.to_vec(),
            },
            kind::MULTI_GET => self.multi_get()?,
            _ => TracedQuery::Seek {
                for_prev: kind == kind::SEEK_FOR_PREV,
                family: self.number(field::ITER_FAMILY)?,
                key: self.bytes(field::ITER_KEY)?.to_vec(),
                lower: self.bytes(field::ITER_LOWER)?.to_vec(),
                upper: self.bytes(field::ITER_UPPER)?.to_vec(),
            },
        })
    }

    fn has(&self, bit: u32) -> bool {
        self.map & 1 << bit != 0
    }

    /// Reads the field with this bit as a number; 0 if the payload does not have the field.
    fn number(&mut self, bit: u32) -> Result<u32> {
        match self.has(bit) {
            true => self.reader.u32("number in a trace record"),
            false => Ok(0),
        }
    }

    /// Reads the field with this bit as bytes; empty if the payload does not have the field.
    fn bytes(&mut self, bit: u32) -> Result<&'a [u8]> {
        match self.has(bit) {
            true => self.reader.length_prefixed("bytes in a trace record"),
            false => Ok(&[]),
        }
    }

    fn multi_get(&mut self) -> Result<TracedQuery> {
        let count = self.number(field::MULTI_GET_SIZE)?;
        let at = self.reader.position() as u64;
        let mut families = Reader::new(self.bytes(field::MULTI_GET_FAMILIES)?);
        let mut keys = Reader::new(self.bytes(field::MULTI_GET_KEYS)?);
        if count == 0 {
            return Err(Error::invalid_argument("Empty MultiGet cf_ids or keys."));
        }
        let mut found = Vec::new();
        for _ in 0..count {
            let mut pair = || {
                let family = families.u32("family in a MultiGet of a trace")?;
                let key = keys.length_prefixed("key in a MultiGet of a trace")?;
                Ok((family, key.to_vec()))
            };
            found.push(pair().map_err(|error: Error| error.offset_by(at))?);
        }
        Ok(TracedQuery::MultiGet(found))
    }
}

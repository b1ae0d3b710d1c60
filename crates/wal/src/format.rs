//! Record types and headers.
//!
//! ```text
//! classic      masked CRC u32 | payload length u16 | type u8 |                             | payload
//! recyclable   masked CRC u32 | payload length u16 | type u8 | low half of log number u32  | payload
//! ```
//!
//! The CRC covers everything after the length. The log number distinguishes the records of a recycled file
//! from those of its former contents, whose CRCs are also valid.

use base::coding::{Reader as Decoder, put_u32, put_u64, u32_at};
use base::{Error, Result};
use codec::checksum;

/// The size of a block in bytes. No physical record crosses the end of a block.
pub const BLOCK_SIZE: usize = 32 << 10;
/// The length of a classic header in bytes.
pub const HEADER_LEN: usize = 7;
/// The length of a recyclable header in bytes.
pub const RECYCLABLE_HEADER_LEN: usize = 11;

/// Types with this bit are additions that older readers may skip.
const IGNORABLE: u8 = 0x80;

/// The type of a physical record; the number is its type byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum RecordType {
    /// No record: space claimed ahead, or the unused rest of a block.
    Zero = 0,
    /// A whole logical record.
    Full = 1,
    /// The first part of a logical record.
    First = 2,
    /// A part between the first and the last.
    Middle = 3,
    /// The last part of a logical record.
    Last = 4,
    /// A [`Full`](RecordType::Full) record of a recycled WAL.
    RecyclableFull = 5,
    /// A [`First`](RecordType::First) record of a recycled WAL.
    RecyclableFirst = 6,
    /// A [`Middle`](RecordType::Middle) record of a recycled WAL.
    RecyclableMiddle = 7,
    /// A [`Last`](RecordType::Last) record of a recycled WAL.
    RecyclableLast = 8,
    /// The compression of the following logical records. It is the first record of the file.
    SetCompressionType = 9,
    /// The timestamp sizes of column families.
    UserDefinedTimestampSize = 10,
    /// A [`UserDefinedTimestampSize`](RecordType::UserDefinedTimestampSize) record of a recycled WAL.
    RecyclableUserDefinedTimestampSize = 11,
    /// A description of the preceding WAL.
    PredecessorWalInfo = 130,
    /// A [`PredecessorWalInfo`](RecordType::PredecessorWalInfo) record of a recycled WAL.
    RecyclablePredecessorWalInfo = 131,
}

impl RecordType {
    /// The type of a type byte; `None` for an unknown one.
    #[inline]
    pub fn from_byte(byte: u8) -> Option<RecordType> {
        Some(match byte {
            0 => RecordType::Zero,
            1 => RecordType::Full,
            2 => RecordType::First,
            3 => RecordType::Middle,
            4 => RecordType::Last,
            5 => RecordType::RecyclableFull,
            6 => RecordType::RecyclableFirst,
            7 => RecordType::RecyclableMiddle,
            8 => RecordType::RecyclableLast,
            9 => RecordType::SetCompressionType,
            10 => RecordType::UserDefinedTimestampSize,
            11 => RecordType::RecyclableUserDefinedTimestampSize,
            130 => RecordType::PredecessorWalInfo,
            131 => RecordType::RecyclablePredecessorWalInfo,
            _ => return None,
        })
    }

    /// True for the types that carry a log number.
    #[inline]
    pub fn is_recyclable(self) -> bool {
        matches!(
            self,
            RecordType::RecyclableFull
                | RecordType::RecyclableFirst
                | RecordType::RecyclableMiddle
                | RecordType::RecyclableLast
                | RecordType::RecyclableUserDefinedTimestampSize
                | RecordType::RecyclablePredecessorWalInfo
        )
    }

    /// The recyclable variant of the type, if there is one.
    pub(crate) fn recyclable(self) -> RecordType {
        match self {
            RecordType::Full => RecordType::RecyclableFull,
            RecordType::First => RecordType::RecyclableFirst,
            RecordType::Middle => RecordType::RecyclableMiddle,
            RecordType::Last => RecordType::RecyclableLast,
            RecordType::UserDefinedTimestampSize => RecordType::RecyclableUserDefinedTimestampSize,
            RecordType::PredecessorWalInfo => RecordType::RecyclablePredecessorWalInfo,
            other => other,
        }
    }
}

/// True if a reader that does not know this type byte may skip the record.
#[inline]
pub fn is_ignorable(type_byte: u8) -> bool {
    type_byte & IGNORABLE != 0
}

/// The offset of the type byte in the header.
const TYPE_AT: usize = 6;

/// The header of a physical record as it is in the file, unverified.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub masked_crc: u32,
    pub payload_len: usize,
    pub type_byte: u8,
    /// The number of the log, which only recyclable records have.
    pub log_number: Option<u32>,
}

impl Header {
    /// Decodes the header at the front of `bytes`; `None` if there are too few bytes for a header.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Option<Header> {
        if bytes.len() < HEADER_LEN {
            return None;
        }
        let type_byte = bytes[TYPE_AT];
        let recyclable = RecordType::from_byte(type_byte).is_some_and(RecordType::is_recyclable);
        if recyclable && bytes.len() < RECYCLABLE_HEADER_LEN {
            return None;
        }
        Some(Header {
            masked_crc: u32_at(bytes, 0),
            payload_len: usize::from(u16::from_le_bytes([bytes[4], bytes[5]])),
            type_byte,
            log_number: recyclable.then(|| u32_at(bytes, HEADER_LEN)),
        })
    }

    /// The length of the header.
    #[inline]
    pub fn len(&self) -> usize {
        match self.log_number {
            None => HEADER_LEN,
            Some(_) => RECYCLABLE_HEADER_LEN,
        }
    }

    /// The length of header and payload.
    #[inline]
    pub fn record_len(&self) -> usize {
        self.len() + self.payload_len
    }

    /// True for claimed space without a record. RocksDB ignores the CRC here. But with a CRC this is an empty
    /// record whose type was corrupted, or a header whose writer died, and must not pass as unused space.
    #[inline]
    pub fn is_zero(&self) -> bool {
        self.type_byte == RecordType::Zero as u8 && self.payload_len == 0 && self.masked_crc == 0
    }

    /// True if the record at the front of `bytes`, which has another log number, belongs to log `log_number`
    /// nevertheless: with that number, or with one bit of its type byte flipped, its checksum matches.
    #[cold]
    pub fn was_of_log(&self, bytes: &[u8], log_number: u32) -> bool {
        let is_right = |bytes: &[u8]| {
            let record = Header::parse(bytes).and_then(|header| bytes.get(..header.record_len()));
            record.is_some_and(|record| Header::masked_crc_of(record) == self.masked_crc)
        };
        let mut numbered = bytes.to_vec();
        numbered[HEADER_LEN..RECYCLABLE_HEADER_LEN].copy_from_slice(&log_number.to_le_bytes());
        if is_right(&numbered) {
            return true;
        }
        let mut typed = bytes.to_vec();
        (0..8).any(|bit| {
            typed[TYPE_AT] = bytes[TYPE_AT] ^ 1 << bit;
            let ty = RecordType::from_byte(typed[TYPE_AT]);
            ty.is_some_and(|ty| !ty.is_recyclable()) && is_right(&typed)
        })
    }

    /// The CRC of `record` (header and payload) in its masked form.
    #[inline]
    pub fn masked_crc_of(record: &[u8]) -> u32 {
        checksum::mask(checksum::crc32c(&record[6..]))
    }
}

/// Appends a physical record to `out`. Only recyclable types use `log_number`; `payload` must fit a block.
#[inline]
pub(crate) fn put_record(out: &mut Vec<u8>, ty: RecordType, log_number: u32, payload: &[u8]) {
    let start = out.len();
    let len = (payload.len() as u16).to_le_bytes();
    out.extend_from_slice(&[0, 0, 0, 0, len[0], len[1], ty as u8]);
    if ty.is_recyclable() {
        out.extend_from_slice(&log_number.to_le_bytes());
    }
    out.extend_from_slice(payload);
    let crc = Header::masked_crc_of(&out[start..]);
    out[start..start + 4].copy_from_slice(&crc.to_le_bytes());
}

/// The description that a WAL has of the preceding one, so that a missing or shortened WAL is detected.
/// RocksDB 9.11 and later with `track_and_verify_wals`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PredecessorWal {
    /// The log number of the preceding WAL.
    pub log_number: u64,
    /// The size of the preceding WAL in bytes.
    pub size: u64,
    /// The last sequence number in the WAL.
    pub last_seqno: u64,
}

impl PredecessorWal {
    /// The length of the encoded form.
    pub(crate) const LEN: usize = 24;

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(PredecessorWal::LEN);
        put_u64(&mut out, self.log_number);
        put_u64(&mut out, self.size);
        put_u64(&mut out, self.last_seqno);
        out
    }

    pub(crate) fn decode(payload: &[u8]) -> Result<PredecessorWal> {
        let mut decoder = Decoder::new(payload);
        Ok(PredecessorWal {
            log_number: decoder.u64("number of the preceding WAL")?,
            size: decoder.u64("size of the preceding WAL")?,
            last_seqno: decoder.u64("last sequence of the preceding WAL")?,
        })
    }
}

/// The length of one family's entry in a timestamp-size record.
pub(crate) const TIMESTAMP_SIZE_ENTRY_LEN: usize = 6;

pub(crate) fn put_timestamp_size(out: &mut Vec<u8>, family: u32, size: u16) {
    put_u32(out, family);
    out.extend_from_slice(&size.to_le_bytes());
}

/// The entries of a timestamp-size record: family and size.
pub(crate) fn timestamp_sizes(payload: &[u8]) -> Result<impl Iterator<Item = (u32, u16)>> {
    let (entries, rest) = payload.as_chunks::<TIMESTAMP_SIZE_ENTRY_LEN>();
    if !rest.is_empty() {
        return Err(Error::corruption(format!(
            "timestamp-size record of {} bytes",
            payload.len()
        )));
    }
    Ok(entries.iter().map(|entry| {
        let [a, b, c, d, e, f] = *entry;
        (u32::from_le_bytes([a, b, c, d]), u16::from_le_bytes([e, f]))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_bytes_go_both_ways() {
        for byte in 0..=255 {
            if let Some(ty) = RecordType::from_byte(byte) {
                assert_eq!(ty as u8, byte);
                assert!(!ty.is_recyclable() || ty.recyclable() == ty);
            }
        }
        assert!(RecordType::Full.recyclable().is_recyclable());
        assert!(!RecordType::SetCompressionType.recyclable().is_recyclable());
        assert!(is_ignorable(130) && is_ignorable(255) && !is_ignorable(127));
    }

    #[test]
    fn headers_go_round_and_short_ones_are_none() {
        for ty in [RecordType::Middle, RecordType::RecyclableMiddle] {
            let mut out = vec![9, 9];
            put_record(&mut out, ty, 77, b"payload");
            let record = &out[2..];
            let header = Header::parse(record).unwrap();
            assert_eq!(header.type_byte, ty as u8);
            assert_eq!(header.record_len(), record.len());
            assert_eq!(header.log_number, ty.is_recyclable().then_some(77));
            assert_eq!(header.masked_crc, Header::masked_crc_of(record));
            assert!(Header::parse(&record[..header.len() - 1]).is_none());
        }
    }
}

//! The parts of a blob file.
//!
//! ```text
//! file   = header [30] ‖ record* ‖ footer [32]                     no footer if the writer died
//! header = magic u32 ‖ version u32 ‖ column family id u32 ‖ flags u8 ‖ compression type u8 ‖ expirations u64 u64
//! record = key length u64 ‖ value length u64 ‖ expiration u64 ‖ CRC of these 24 bytes u32
//!          ‖ CRC of key and value u32 ‖ user key ‖ value as stored
//! footer = magic u32 ‖ records u64 ‖ expirations u64 u64 ‖ CRC of these 28 bytes u32
//! ```
//!
//! Every CRC is a masked CRC-32C.

use base::coding::{self, Reader};
use base::{Error, Result};
use codec::checksum::{crc32c, mask};
use codec::compression::CompressionType;

/// The first bytes of the header and of the footer.
pub const MAGIC: u32 = 0x0024_8f37;
/// The only existing version.
pub const VERSION: u32 = 1;
/// The length of the file's header in bytes.
pub const HEADER_LEN: usize = 30;
/// The length of a record before its key in bytes.
pub const RECORD_HEADER_LEN: usize = 32;
/// The length of the footer in bytes.
pub const FOOTER_LEN: usize = 32;

/// The bit of the header's flags for values with a time to live.
const FLAG_TTL: u8 = 1;

/// CRC-32C in the form that blob files store.
pub(crate) fn masked_crc(bytes: &[u8]) -> u32 {
    mask(crc32c(bytes))
}

/// The header: properties of all values in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The family whose tables refer to this file.
    pub column_family_id: u32,
    /// Whether values have a time to live. RocksDB's integrated blob files never do.
    pub has_ttl: bool,
    /// The compression of every value in the file.
    pub compression: CompressionType,
    /// The lowest and the highest expiration, approximately; 0 without a time to live.
    pub expirations: (u64, u64),
}

impl Header {
    /// Encodes the header.
    pub fn encode(&self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[..4].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[4..8].copy_from_slice(&VERSION.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.column_family_id.to_le_bytes());
        bytes[12] = if self.has_ttl { FLAG_TTL } else { 0 };
        bytes[13] = self.compression as u8;
        bytes[14..22].copy_from_slice(&self.expirations.0.to_le_bytes());
        bytes[22..].copy_from_slice(&self.expirations.1.to_le_bytes());
        bytes
    }

    /// Decodes the header. It has no checksum: `Corruption` if its form is wrong.
    pub fn decode(bytes: &[u8; HEADER_LEN]) -> Result<Header> {
        let mut reader = Reader::new(bytes);
        if reader.u32("blob file magic number")? != MAGIC {
            return Err(Error::corruption("blob file: magic number mismatch").at(0));
        }
        let version = reader.u32("blob file version")?;
        if version != VERSION {
            return Err(Error::corruption(format!("blob file: unknown header version {version}")).at(4));
        }
        let column_family_id = reader.u32("column family id")?;
        let flags = reader.u8("flags")?;
        if flags & !FLAG_TTL != 0 {
            return Err(Error::corruption(format!("blob file: unknown flags {flags:#04x}")).at(12));
        }
        let compression = reader.u8("compression type")?;
        let compression = CompressionType::from_byte(compression).ok_or_else(|| {
            Error::corruption(format!("blob file: unknown compression type {compression}")).at(13)
        })?;
        Ok(Header {
            column_family_id,
            has_ttl: flags & FLAG_TTL != 0,
            compression,
            expirations: (reader.u64("expiration")?, reader.u64("expiration")?),
        })
    }
}

/// The header of a record, before its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// The length of the user key in bytes.
    pub key_len: u64,
    /// The length of the stored value in bytes.
    pub value_len: u64,
    /// Unix seconds after which the value expires; 0: never.
    pub expiration: u64,
    /// The masked CRC of key and value.
    pub blob_crc: u32,
}

impl RecordHeader {
    /// Encodes the header, appending 32 bytes to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        coding::put_u64(out, self.key_len);
        coding::put_u64(out, self.value_len);
        coding::put_u64(out, self.expiration);
        let crc = masked_crc(&out[start..]);
        coding::put_u32(out, crc);
        coding::put_u32(out, self.blob_crc);
    }

    /// Decodes the 32 bytes and checks their CRC.
    pub fn decode(bytes: &[u8; RECORD_HEADER_LEN]) -> Result<RecordHeader> {
        let header = RecordHeader {
            key_len: coding::u64_at(bytes, 0),
            value_len: coding::u64_at(bytes, 8),
            expiration: coding::u64_at(bytes, 16),
            blob_crc: coding::u32_at(bytes, 28),
        };
        if masked_crc(&bytes[..24]) != coding::u32_at(bytes, 24) {
            return Err(Error::corruption("blob record: header CRC mismatch").at(0));
        }
        Ok(header)
    }

    /// The length of the whole record in bytes, `None` if it does not fit 64 bits.
    pub fn record_len(&self) -> Option<u64> {
        self.key_len
            .checked_add(self.value_len)?
            .checked_add(RECORD_HEADER_LEN as u64)
    }
}

/// The footer of a finished file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footer {
    /// The number of records in the file.
    pub blob_count: u64,
    /// The lowest and the highest expiration; 0 without a time to live.
    pub expirations: (u64, u64),
}

impl Footer {
    /// Encodes the footer.
    pub fn encode(&self) -> [u8; FOOTER_LEN] {
        let mut bytes = [0; FOOTER_LEN];
        bytes[..4].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[4..12].copy_from_slice(&self.blob_count.to_le_bytes());
        bytes[12..20].copy_from_slice(&self.expirations.0.to_le_bytes());
        bytes[20..28].copy_from_slice(&self.expirations.1.to_le_bytes());
        let crc = masked_crc(&bytes[..28]);
        bytes[28..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Decodes the last bytes of a file. `None` if they do not begin as a footer does: the writer died before
    /// it wrote one. `Corruption` if they do, and their CRC is wrong.
    pub fn decode(bytes: &[u8; FOOTER_LEN]) -> Result<Option<Footer>> {
        if coding::u32_at(bytes, 0) != MAGIC {
            return Ok(None);
        }
        if masked_crc(&bytes[..28]) != coding::u32_at(bytes, 28) {
            return Err(Error::corruption("blob file: footer CRC mismatch").at(0));
        }
        Ok(Some(Footer {
            blob_count: coding::u64_at(bytes, 4),
            expirations: (coding::u64_at(bytes, 12), coding::u64_at(bytes, 20)),
        }))
    }
}

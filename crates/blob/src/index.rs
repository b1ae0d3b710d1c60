//! The blob index: the value that a table stores, under [`Kind::BlobIndex`], in place of a value in a blob
//! file.
//!
//! ```text
//! 0 ‖ expiration v64 ‖ value                                                    inlined, with a time to live
//! 1 ‖ file number v64 ‖ offset v64 ‖ size v64 ‖ compression type u8             in a blob file
//! 2 ‖ expiration v64 ‖ as 1                                                     in a blob file, with a time to live
//! ```

use base::coding::{self, Reader};
use base::entity::{self, ColumnValue, Entity};
use base::{Error, Kind, Result};
use codec::compression::CompressionType;

const INLINED_TTL: u8 = 0;
const BLOB: u8 = 1;
const BLOB_TTL: u8 = 2;

/// The location of a value.
///
/// See the example of [`BlobIndex`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlobLocation {
    /// The number of the blob file. 0 means the table itself (blobs embedded by RocksDB 11.6's
    /// SstFileWriter).
    pub file_number: u64,
    /// The offset in the file of the value's first byte, not of its record, which begins with a header and
    /// the key.
    pub offset: u64,
    /// The length of the stored value in bytes.
    pub size: u64,
    /// The compression of the value.
    pub compression: CompressionType,
}

/// A decoded blob index.
///
/// ```
/// # mod esker {
/// #     pub use codec::compression::CompressionType;
/// #     pub use esker_blob::{BlobIndex, BlobLocation};
/// # }
/// use esker::{BlobIndex, BlobLocation, CompressionType};
///
/// let location = BlobLocation { file_number: 7, offset: 100, size: 4096, compression: CompressionType::None };
/// let mut bytes = Vec::new();
/// BlobIndex::Blob { location, expiration: None }.encode(&mut bytes);
/// assert_eq!(BlobIndex::decode(&bytes)?, BlobIndex::Blob { location, expiration: None });
/// # Ok::<(), base::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlobIndex<'a> {
    /// The index contains the value.
    InlinedTtl {
        /// Unix seconds after which the value expires.
        expiration: u64,
        /// The value, never compressed.
        value: &'a [u8],
    },
    /// The value is in a blob file.
    Blob {
        /// The location of the value.
        location: BlobLocation,
        /// Unix seconds after which the value expires; `None`: never.
        expiration: Option<u64>,
    },
}

impl<'a> BlobIndex<'a> {
    /// Decodes the value of an entry. `Corruption` if it is not exactly one blob index.
    pub fn decode(bytes: &'a [u8]) -> Result<BlobIndex<'a>> {
        let mut reader = Reader::new(bytes);
        let kind = reader.u8("blob index type")?;
        let expiration = match kind {
            BLOB => None,
            INLINED_TTL | BLOB_TTL => Some(reader.varint64("blob index expiration")?),
            _ => return Err(Error::corruption(format!("Unknown blob index type: {kind}")).at(0)),
        };
        if kind == INLINED_TTL {
            return Ok(BlobIndex::InlinedTtl {
                expiration: expiration.unwrap_or_default(),
                value: reader.rest(),
            });
        }
        let file_number = reader.varint64("blob file number")?;
        let offset = reader.varint64("blob offset")?;
        let size = reader.varint64("blob size")?;
        let type_at = reader.position() as u64;
        let compression = reader.u8("blob compression type")?;
        if !reader.is_empty() {
            return Err(Error::corruption("blob index with bytes after its end").at(reader.position() as u64));
        }
        let compression = CompressionType::from_byte(compression).ok_or_else(|| {
            Error::corruption(format!("Unknown blob compression type: {compression}")).at(type_at)
        })?;
        Ok(BlobIndex::Blob {
            location: BlobLocation {
                file_number,
                offset,
                size,
                compression,
            },
            expiration,
        })
    }

    /// Appends the encoded form, which [`decode`](BlobIndex::decode) reads.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            BlobIndex::InlinedTtl { expiration, value } => {
                out.push(INLINED_TTL);
                coding::put_varint64(out, *expiration);
                out.extend_from_slice(value);
            }
            BlobIndex::Blob { location, expiration } => {
                match expiration {
                    None => out.push(BLOB),
                    Some(expiration) => {
                        out.push(BLOB_TTL);
                        coding::put_varint64(out, *expiration);
                    }
                }
                coding::put_varint64(out, location.file_number);
                coding::put_varint64(out, location.offset);
                coding::put_varint64(out, location.size);
                out.push(location.compression as u8);
            }
        }
    }
}

/// Calls `see` with each location in a blob file that an entry refers to: that of its value or, for an
/// entity, those of its columns. Entries of other kinds have none. `Corruption` for a malformed value.
pub fn for_each_location(
    kind: Kind,
    value: &[u8],
    mut see: impl FnMut(BlobLocation) -> Result<()>,
) -> Result<()> {
    let mut see_index = |index: &[u8]| match BlobIndex::decode(index)? {
        BlobIndex::Blob { location, .. } => see(location),
        BlobIndex::InlinedTtl { .. } => Ok(()),
    };
    match kind {
        Kind::BlobIndex => see_index(value),
        Kind::WideColumnEntity if entity::may_have_blobs(value) => {
            for (_, column) in Entity::decode(value)?.columns(value) {
                if let ColumnValue::Blob(index) = column {
                    see_index(&value[index.clone()])?;
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_round_trips() {
        let location = BlobLocation {
            file_number: 9,
            offset: 64,
            size: 6,
            compression: CompressionType::Snappy,
        };
        for (index, bytes) in [
            (
                BlobIndex::Blob {
                    location,
                    expiration: None,
                },
                &[1, 9, 64, 6, 1][..],
            ),
            (
                BlobIndex::Blob {
                    location,
                    expiration: Some(200),
                },
                &[2, 200, 1, 9, 64, 6, 1],
            ),
            (
                BlobIndex::InlinedTtl {
                    expiration: 7,
                    value: b"v",
                },
                &[0, 7, b'v'],
            ),
        ] {
            let mut out = Vec::new();
            index.encode(&mut out);
            assert_eq!(out, bytes);
            assert_eq!(BlobIndex::decode(bytes).unwrap(), index);
        }
    }

    #[test]
    fn damage_is_corruption_with_an_offset() {
        for (bytes, offset) in [
            (&b""[..], 0),
            (&[3, 1], 0),
            (&[0], 1),
            (&[1, 9, 64], 3),
            (&[1, 9, 64, 6], 4),
            (&[1, 9, 64, 6, 99], 4),
            (&[1, 9, 64, 6, 1, 0], 5),
        ] {
            let error = BlobIndex::decode(bytes).unwrap_err();
            assert!(error.is_corruption());
            assert_eq!(error.offset(), Some(offset), "{bytes:?}");
        }
    }
}

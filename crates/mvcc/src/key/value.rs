//! Values of versions: typed, and empty for a deletion.
//!
//! ```text
//! nothing                                   a tombstone
//! checksum u32 BE | tag u8 | data           a value
//! ```
//!
//! The checksum is a CRC-32C of user key, tag and data; 0 means that there is none. Tag 3: data is bytes; tag
//! 1: a zigzag varint. The checksum detects a value that was moved under another key by mistake, which the
//! checksums of blocks cannot do.

use base::coding::{self, Reader};
use base::{Error, Result};
use codec::checksum::{crc32c, crc32c_extend};

/// The size in bytes of the checksum and the tag before a value.
const HEADER: usize = 5;
const TAG_INT: u8 = 1;
const TAG_BYTES: u8 = 3;
/// The tag of values with a header of their own, which other systems write.
const TAG_EXTENDED: u8 = 101;

/// The value of a version that is not a tombstone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// Any bytes.
    Bytes(&'a [u8]),
    /// A number.
    Int(i64),
}

impl<'a> Value<'a> {
    /// Appends the value as it is stored, with a checksum over it and `user_key` if `checksum`.
    pub fn encode(&self, out: &mut Vec<u8>, user_key: &[u8], checksum: bool) {
        let start = out.len();
        out.extend_from_slice(&[0; HEADER - 1]);
        match self {
            Value::Bytes(bytes) => {
                out.reserve(1 + bytes.len());
                out.push(TAG_BYTES);
                out.extend_from_slice(bytes);
            }
            Value::Int(number) => {
                out.push(TAG_INT);
                coding::put_zigzag64(out, *number);
            }
        }
        if checksum {
            let sum = checksum_of(user_key, &out[start + HEADER - 1..]);
            out[start..start + HEADER - 1].copy_from_slice(&sum.to_be_bytes());
        }
    }

    /// The maximum length of the value's stored form.
    pub(crate) fn max_encoded_len(&self) -> usize {
        match self {
            Value::Bytes(bytes) => bytes.len().saturating_add(HEADER),
            Value::Int(_) => HEADER + coding::MAX_VARINT64,
        }
    }

    /// The value in `stored`, which is not a tombstone; its checksum is not verified. `Corruption` if it is
    /// too short or its data is malformed, `NotSupported` for types of other systems.
    pub fn decode(stored: &'a [u8]) -> Result<Value<'a>> {
        let Some((header, data)) = stored.split_first_chunk::<HEADER>() else {
            return Err(Error::corruption(format!(
                "a value of {} bytes has no type",
                stored.len()
            )));
        };
        match header[HEADER - 1] {
            TAG_BYTES => Ok(Value::Bytes(data)),
            TAG_INT => {
                let mut reader = Reader::new(data);
                let number = reader.zigzag64("a number")?;
                if !reader.is_empty() {
                    return Err(Error::corruption("bytes after a number"));
                }
                Ok(Value::Int(number))
            }
            TAG_EXTENDED => Err(Error::not_supported("values with headers")),
            tag => Err(Error::not_supported(format!("values of type {tag}"))),
        }
    }

    /// Decodes as [`decode`](Value::decode) does, and verifies the checksum, if there is one, over the value
    /// and `user_key`.
    pub fn decode_checked(stored: &'a [u8], user_key: &[u8]) -> Result<Value<'a>> {
        let value = Value::decode(stored)?;
        let kept = coding::u32_at(stored, 0).swap_bytes();
        let computed = if kept == 0 {
            0
        } else {
            checksum_of(user_key, &stored[HEADER - 1..])
        };
        if kept != computed {
            return Err(Error::corruption(format!(
                "the checksum of the value of {} is {kept:#x}, not {computed:#x}",
                user_key[..user_key.len().min(64)].escape_ascii()
            )));
        }
        Ok(value)
    }
}

/// True if the stored value of a version is a deletion. Only the length is checked.
#[inline]
pub fn is_tombstone(stored: &[u8]) -> bool {
    stored.is_empty()
}

/// A stored value without its checksum, which is a function of the other bytes.
pub(crate) fn without_checksum(stored: &[u8]) -> &[u8] {
    stored.get(HEADER - 1..).unwrap_or(stored)
}

fn checksum_of(user_key: &[u8], tagged: &[u8]) -> u32 {
    crc32c_extend(crc32c(user_key), tagged)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(value: Value<'_>, checksum: bool) -> Vec<u8> {
        let mut out = b"before".to_vec();
        value.encode(&mut out, b"key", checksum);
        out.split_off(6)
    }

    #[test]
    fn values_come_back() {
        let mut rng = testkit::rng();
        for _ in 0..1000 {
            let len = rng.usize(..30);
            let bytes = rng.bytes(len);
            let number = rng.i64(..) >> rng.u32(..64);
            for value in [Value::Bytes(&bytes), Value::Int(number)] {
                for checksum in [false, true] {
                    let stored = encoded(value, checksum);
                    assert!(!is_tombstone(&stored));
                    assert_eq!(Value::decode(&stored).unwrap(), value);
                    assert_eq!(Value::decode_checked(&stored, b"key").unwrap(), value);
                    let elsewhere = Value::decode_checked(&stored, b"kez");
                    assert_eq!(elsewhere.is_err(), checksum);
                }
            }
        }
        assert_eq!(encoded(Value::Bytes(b"b1"), false), b"\0\0\0\0\x03b1");
        assert_eq!(encoded(Value::Int(-1), false), b"\0\0\0\0\x01\x01");
        assert!(is_tombstone(b""));
    }

    #[test]
    fn damage_is_told() {
        let stored = encoded(Value::Int(1 << 40), true);
        for at in 0..stored.len() {
            let mut damaged = stored.clone();
            damaged[at] ^= 0x10;
            assert!(Value::decode_checked(&damaged, b"key").is_err(), "byte {at}");
        }
        for len in 1..HEADER {
            assert!(Value::decode(&stored[..len]).unwrap_err().is_corruption());
        }
        for tag in [0, 2, TAG_EXTENDED, 255] {
            let error = Value::decode(&[0, 0, 0, 0, tag, 1]).unwrap_err();
            assert_eq!(error.kind(), base::ErrorKind::NotSupported);
        }
        assert!(Value::decode(&[0, 0, 0, 0, TAG_INT, 0x80]).is_err());
        assert!(Value::decode(&[0, 0, 0, 0, TAG_INT, 1, 1]).is_err());
        assert!(Value::decode(&[0, 0, 0, 0, TAG_INT]).is_err());
    }
}

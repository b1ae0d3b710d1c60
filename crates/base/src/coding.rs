//! Fixed-width integers (little-endian) and varints (LEB128), in the encodings that every RocksDB file uses.
//!
//! There are two ways in. [`Reader`] decodes untrusted bytes: every step may fail with `Corruption` and the
//! offset within the buffer. The free functions serve hot paths whose input was already checked.

use crate::error::{Error, Result};

/// Longest varint of 32 bits, in bytes.
pub const MAX_VARINT32: usize = 5;
/// Longest varint of 64 bits, in bytes.
pub const MAX_VARINT64: usize = 10;

/// Appends `value` as a varint.
#[inline]
pub fn put_varint64(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends `value` as a varint.
#[inline]
pub fn put_varint32(out: &mut Vec<u8>, value: u32) {
    put_varint64(out, u64::from(value));
}

/// Appends `value` in zig-zag encoding: small magnitudes of either sign take few bytes.
#[inline]
pub fn put_zigzag64(out: &mut Vec<u8>, value: i64) {
    put_varint64(out, ((value << 1) ^ (value >> 63)) as u64);
}

/// Appends four little-endian bytes.
#[inline]
pub fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends eight little-endian bytes.
#[inline]
pub fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends the length of `bytes` as a varint, then `bytes`.
#[inline]
pub fn put_length_prefixed(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint64(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// The number of bytes that `value` takes as a varint.
#[inline]
pub fn varint_len(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

/// The varint at the start of `bytes` and its length; `None` if it is cut off or does not fit 32 bits.
#[inline]
pub fn varint32(bytes: &[u8]) -> Option<(u32, usize)> {
    match bytes.first() {
        Some(&byte) if byte < 0x80 => Some((u32::from(byte), 1)),
        _ => {
            let (value, len) = varint64(bytes)?;
            (len <= MAX_VARINT32).then_some(())?;
            Some((u32::try_from(value).ok()?, len))
        }
    }
}

/// The varint at the start of `bytes` and its length; `None` if it is cut off or does not fit 64 bits.
#[inline]
pub fn varint64(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for (i, &byte) in bytes.iter().take(MAX_VARINT64).enumerate() {
        if i == MAX_VARINT64 - 1 && byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            return Some((value, i + 1));
        }
    }
    None
}

/// The `u32` in the four bytes at `offset`. Panics on fewer; for buffers whose length was checked.
#[inline]
pub fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(bytes[offset..offset + 4].try_into().expect("a slice of four"))
}

/// The `u64` in the eight bytes at `offset`. Panics on fewer; for buffers whose length was checked.
#[inline]
pub fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(bytes[offset..offset + 8].try_into().expect("a slice of eight"))
}

/// Decodes untrusted bytes from front to back. Errors carry the offset within the buffer and say what was
/// expected.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Reader<'a> {
    /// Reads `bytes` from their start.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, position: 0 }
    }

    /// Bytes consumed so far.
    pub fn position(&self) -> usize {
        self.position
    }

    /// The bytes that are not consumed yet.
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.position..]
    }

    /// True when everything is consumed.
    pub fn is_empty(&self) -> bool {
        self.position == self.bytes.len()
    }

    #[cold]
    fn bad(&self, what: &str) -> Error {
        Error::corruption(format!("bad or truncated {what}")).at(self.position as u64)
    }

    /// Reads the next `len` bytes.
    pub fn bytes(&mut self, len: usize, what: &str) -> Result<&'a [u8]> {
        let slice = self.rest().get(..len).ok_or_else(|| self.bad(what))?;
        self.position += len;
        Ok(slice)
    }

    /// Reads one byte.
    pub fn u8(&mut self, what: &str) -> Result<u8> {
        Ok(self.bytes(1, what)?[0])
    }

    /// Reads two bytes, little-endian.
    pub fn u16(&mut self, what: &str) -> Result<u16> {
        let bytes = self.bytes(2, what)?;
        Ok(u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    /// Reads four bytes, little-endian.
    pub fn u32(&mut self, what: &str) -> Result<u32> {
        Ok(u32_at(self.bytes(4, what)?, 0))
    }

    /// Reads eight bytes, little-endian.
    pub fn u64(&mut self, what: &str) -> Result<u64> {
        Ok(u64_at(self.bytes(8, what)?, 0))
    }

    /// Reads a varint of at most 32 bits.
    pub fn varint32(&mut self, what: &str) -> Result<u32> {
        let (value, len) = varint32(self.rest()).ok_or_else(|| self.bad(what))?;
        self.position += len;
        Ok(value)
    }

    /// Reads a varint of at most 64 bits.
    pub fn varint64(&mut self, what: &str) -> Result<u64> {
        let (value, len) = varint64(self.rest()).ok_or_else(|| self.bad(what))?;
        self.position += len;
        Ok(value)
    }

    /// Reads a zig-zagged varint.
    pub fn zigzag64(&mut self, what: &str) -> Result<i64> {
        let value = self.varint64(what)?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// Reads a [`length_prefixed`](Reader::length_prefixed) slice whose length may be 4 GiB or more: a varint
    /// of 64 bits.
    #[inline]
    pub fn long_length_prefixed(&mut self, what: &str) -> Result<&'a [u8]> {
        match varint32(self.rest()) {
            Some(_) => self.length_prefixed(what),
            None => self.very_long(what),
        }
    }

    #[cold]
    fn very_long(&mut self, what: &str) -> Result<&'a [u8]> {
        let start = self.position;
        // A length that fits 32 bits has one encoding, which the code above decodes.
        let len = self.varint64(what).ok().filter(|&len| len > u64::from(u32::MAX));
        let bytes = len.and_then(|len| self.rest().get(..usize::try_from(len).ok()?));
        let Some(bytes) = bytes else {
            self.position = start;
            return Err(self.bad(what));
        };
        self.position += bytes.len();
        Ok(bytes)
    }

    /// Reads a varint length and that many bytes. Nothing is allocated, whatever the length claims.
    pub fn length_prefixed(&mut self, what: &str) -> Result<&'a [u8]> {
        let start = self.position;
        let len = self.varint32(what)? as usize;
        self.bytes(len, what).map_err(|_| {
            Error::corruption(format!("{what} claims {len} bytes beyond the end")).at(start as u64)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_round_trip_at_every_length() {
        for shift in 0..64 {
            for value in [1u64 << shift, (1u64 << shift) - 1, !0 >> shift] {
                let mut out = Vec::new();
                put_varint64(&mut out, value);
                assert_eq!(out.len(), varint_len(value));
                assert_eq!(varint64(&out), Some((value, out.len())));
                assert_eq!(
                    varint32(&out).map(|v| u64::from(v.0)),
                    (value <= u64::from(u32::MAX)).then_some(value)
                );
                assert_eq!(varint64(&out[..out.len() - 1]), None);
            }
        }
    }

    #[test]
    fn zigzag_round_trips() {
        for value in [0, 1, -1, 63, -64, 64, i64::MAX, i64::MIN] {
            let mut out = Vec::new();
            put_zigzag64(&mut out, value);
            assert_eq!(Reader::new(&out).zigzag64("z").unwrap(), value);
        }
    }

    #[test]
    fn overlong_varints_are_refused() {
        assert_eq!(varint64(&[0xff; 11]), None);
        assert_eq!(
            varint64(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]),
            None
        );
        assert_eq!(varint32(&[0xff, 0xff, 0xff, 0xff, 0x1f]), None);
    }

    #[test]
    fn a_length_beyond_the_end_is_an_error_with_its_offset() {
        let mut reader = Reader::new(&[7, 0xff, 0xff, 0x03, b'x']);
        reader.u8("tag").unwrap();
        let error = reader.length_prefixed("name").unwrap_err();
        assert_eq!(error.offset(), Some(1));
    }
}

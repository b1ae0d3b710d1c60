//! The header of an encrypted file.
//!
//! ```text
//! "ESKRENC1" | version u8 = 1 | layout u8 | length of the name u16 | length of the key u16
//!   | name of the master key | wrapped key | crc32c u32 of all before | zeros up to 4,096 bytes
//! ```
//!
//! Integers are little-endian. The layout is 0 for a file whose byte at an offset is the header's length
//! further on, and 1 for a [`log`](crate::log). The header is one page, so that offsets that are aligned for
//! direct I/O stay so.

use base::coding::{self, Reader};
use base::{Error, Result};
use codec::checksum::crc32c;

use crate::master_keys::WrappedKey;

/// The bytes of a header.
pub const HEADER_LEN: usize = 4096;

const MAGIC: &[u8; 8] = b"ESKRENC1";
const VERSION: u8 = 1;
const MAX_NAME: usize = 255;
const MAX_KEY: usize = 1024;

/// The layout of the bytes after the header of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// The encrypted bytes follow each other without frames.
    Plain,
    /// The encrypted bytes are in frames, one frame for each append.
    Log,
}

/// The contents of a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The layout of the file.
    pub layout: Layout,
    /// The key of the file.
    pub key: WrappedKey,
}

impl Header {
    /// The bytes of the header.
    ///
    /// # Errors
    /// `InvalidArgument` for a name or key that is too long.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let (name, key) = (self.key.master_key.as_bytes(), &self.key.bytes);
        if name.len() > MAX_NAME || key.len() > MAX_KEY {
            return Err(Error::invalid_argument(format!(
                "a master key's name of {} bytes and a wrapped key of {}: at most {MAX_NAME} and {MAX_KEY} fit into a header",
                name.len(),
                key.len()
            )));
        }
        let mut bytes = Vec::with_capacity(HEADER_LEN);
        bytes.extend_from_slice(MAGIC);
        bytes.push(VERSION);
        bytes.push(match self.layout {
            Layout::Plain => 0,
            Layout::Log => 1,
        });
        bytes.extend_from_slice(&(name.len() as u16).to_le_bytes());
        bytes.extend_from_slice(&(key.len() as u16).to_le_bytes());
        bytes.extend_from_slice(name);
        bytes.extend_from_slice(key);
        let crc = crc32c(&bytes);
        coding::put_u32(&mut bytes, crc);
        bytes.resize(HEADER_LEN, 0);
        Ok(bytes)
    }

    /// True for the first eight bytes of a header.
    pub(crate) fn is_magic(bytes: &[u8]) -> bool {
        bytes == MAGIC
    }

    /// Decodes the first bytes of a file.
    ///
    /// # Errors
    /// `Corruption` for anything else than a header.
    pub fn decode(bytes: &[u8]) -> Result<Header> {
        if !bytes.starts_with(MAGIC) {
            return Err(Error::corruption("the file is not encrypted: it has no header").at(0));
        }
        Header::decode_fields(bytes)
            .ok_or_else(|| Error::corruption("the header of an encrypted file is damaged").at(0))
    }

    fn decode_fields(bytes: &[u8]) -> Option<Header> {
        let mut reader = Reader::new(&bytes[MAGIC.len()..]);
        let version = reader.u8("version").ok()?;
        let layout = reader.u8("layout").ok()?;
        let mut length = || reader.u16("length").ok().map(usize::from);
        let (name_len, key_len) = (length()?, length()?);
        if version != VERSION || name_len > MAX_NAME || key_len > MAX_KEY {
            return None;
        }
        let name_at = MAGIC.len() + 6;
        let (key_at, crc_at) = (name_at + name_len, name_at + name_len + key_len);
        let crc = bytes.get(crc_at..crc_at + 4)?;
        if crc32c(&bytes[..crc_at]).to_le_bytes() != crc {
            return None;
        }
        Some(Header {
            layout: match layout {
                0 => Layout::Plain,
                1 => Layout::Log,
                _ => return None,
            },
            key: WrappedKey {
                master_key: String::from_utf8(bytes[name_at..key_at].to_vec()).ok()?,
                bytes: bytes[key_at..crc_at].to_vec(),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_come_back_and_damage_is_found() {
        let header = Header {
            layout: Layout::Log,
            key: WrappedKey {
                master_key: "key of 2026".into(),
                bytes: (0..56).collect(),
            },
        };
        let bytes = header.encode().unwrap();
        assert_eq!(bytes.len(), HEADER_LEN);
        assert_eq!(Header::decode(&bytes).unwrap(), header);
        let used = bytes.iter().rposition(|&byte| byte != 0).unwrap() + 1;
        for at in 0..used {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            assert!(Header::decode(&damaged).is_err(), "byte {at}");
            assert!(Header::decode(&bytes[..at]).is_err(), "cut at {at}");
        }
        let plain = Header::decode(b"MANIFEST-000001\n").unwrap_err();
        assert!(plain.to_string().contains("not encrypted"), "{plain}");
    }

    #[test]
    fn headers_have_limits() {
        let of = |name: usize, key: usize| Header {
            layout: Layout::Plain,
            key: WrappedKey {
                master_key: "n".repeat(name),
                bytes: vec![1; key],
            },
        };
        for (name, key) in [(0, 0), (MAX_NAME, MAX_KEY)] {
            let bytes = of(name, key).encode().unwrap();
            assert_eq!(Header::decode(&bytes).unwrap(), of(name, key));
        }
        assert!(of(MAX_NAME + 1, 0).encode().is_err());
        assert!(of(0, MAX_KEY + 1).encode().is_err());
    }
}

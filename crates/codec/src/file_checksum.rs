//! Checksums over whole files, as the MANIFEST records them.

use crate::checksum::crc32c_extend;

/// The name of RocksDB's own whole-file function in a MANIFEST.
pub const CRC32C_NAME: &str = "FileChecksumCrc32c";

/// RocksDB's own whole-file function: CRC-32C, not masked, its four bytes in big-endian order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileCrc32c(u32);

impl FileCrc32c {
    /// The checksum of no bytes.
    pub fn new() -> FileCrc32c {
        FileCrc32c(0)
    }

    /// Extends the checksum by `bytes`.
    #[inline]
    pub fn update(&mut self, bytes: &[u8]) {
        self.0 = crc32c_extend(self.0, bytes);
    }

    /// The checksum in the MANIFEST's form.
    pub fn value(self) -> [u8; 4] {
        self.0.to_be_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_make_the_checksum_of_the_whole() {
        let mut sum = FileCrc32c::new();
        sum.update(b"1234");
        sum.update(b"");
        sum.update(b"56789");
        assert_eq!(sum.value(), [0xe3, 0x06, 0x92, 0x83]);
    }
}

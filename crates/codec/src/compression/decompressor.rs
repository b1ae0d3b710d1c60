//! Decompression: one [`Decompressor`] for each file, which any number of threads use at once.

use std::fmt;
use std::sync::Arc;

use base::coding::varint32;
use base::{Error, Result};

use super::CompressionType;
use super::bounds::{bad, excessive};
use super::codecs::{bzip2_stream, lz4, snappy, zlib, zstandard};

/// Decompresses blocks, with the dictionary of their file if it has one. All readers of a file share it: it
/// has no locks, and the libraries' working memory is per thread.
pub struct Decompressor {
    dictionary: Option<Arc<[u8]>>,
    zstd_dictionary: zstandard::Prepared,
}

impl fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decompressor")
            .field(
                "dictionary_len",
                &self.dictionary.as_ref().map(|bytes| bytes.len()),
            )
            .finish_non_exhaustive()
    }
}

impl Decompressor {
    /// A decompressor for blocks written with this dictionary, or with none. The dictionary is not processed
    /// until a block needs it.
    pub fn new(dictionary: Option<Arc<[u8]>>) -> Decompressor {
        Decompressor {
            dictionary: dictionary.filter(|bytes| !bytes.is_empty()),
            zstd_dictionary: zstandard::Prepared::default(),
        }
    }

    /// Decompresses `stored`, of type `ty`, into `out`. The previous contents of `out` do not matter, but its
    /// existing length need not be zeroed: reuse it without clearing.
    ///
    /// `Corruption` if the bytes are not a valid block, or claim an impossible length; then `out` is empty.
    /// `NotSupported` for Xpress, and for types that are not built in. Takes no lock, and allocates nothing
    /// beyond `out` (except on a thread's first zlib or ZSTD block, and for bzip2).
    pub fn decompress(&self, ty: CompressionType, stored: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let result = self.decompress_or_leave(ty, stored, out);
        if result.is_err() {
            out.clear();
        }
        result
    }

    fn decompress_or_leave(&self, ty: CompressionType, stored: &[u8], out: &mut Vec<u8>) -> Result<()> {
        match ty {
            CompressionType::None => {
                out.clear();
                out.extend_from_slice(stored);
                return Ok(());
            }
            CompressionType::Snappy => return snappy::decompress(ty, stored, out),
            CompressionType::Xpress => return Err(Error::not_supported("Xpress compression")),
            _ => {}
        }
        let (claimed, prefix) = varint32(stored).ok_or_else(|| bad(ty, "truncated length"))?;
        let body = &stored[prefix..];
        let len = claimed as usize;
        if len.max(body.len()) > ty.longest() {
            return Err(excessive(ty, claimed, body.len()));
        }
        let dictionary = self.dictionary.as_deref();
        match ty {
            CompressionType::Lz4 | CompressionType::Lz4Hc => {
                lz4::decompress(ty, body, claimed, dictionary, out)
            }
            CompressionType::Zstd | CompressionType::ZstdNotFinal => {
                let dictionary = self.dictionary.as_ref();
                zstandard::decompress(ty, body, claimed, dictionary, &self.zstd_dictionary, out)
            }
            CompressionType::Zlib => zlib::decompress(ty, body, claimed, dictionary, out),
            CompressionType::Bzip2 => bzip2_stream::decompress(ty, body, claimed, dictionary, out),
            CompressionType::None | CompressionType::Snappy | CompressionType::Xpress => Ok(()),
        }
    }
}

//! Compression: one [`Compressor`] for each file being written, which reuses the library's state from block
//! to block.

use std::fmt;

use base::coding::put_varint32;
use base::{Error, Result};

use super::codecs::{bzip2_stream, lz4, snappy, zlib, zstandard};
use super::{CompressionOptions, CompressionType, failed};

/// Compresses blocks one after the other, each independently, with fixed settings.
pub struct Compressor {
    ty: CompressionType,
    body: Body,
}

enum Body {
    None,
    Snappy(snappy::Encoder),
    Zlib(zlib::Encoder),
    Bzip2(bzip2_stream::Encoder),
    Lz4(lz4::Encoder),
    Zstd(zstandard::Encoder),
}

impl fmt::Debug for Compressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compressor")
            .field("ty", &self.ty)
            .finish_non_exhaustive()
    }
}

impl Compressor {
    /// Sets up the library and the dictionary. `NotSupported` for Xpress, and for types that are not [built
    /// in](CompressionType::is_supported); `InvalidArgument` if ZSTD cannot use the dictionary. Takes from
    /// nothing (LZ4) to a megabyte (ZSTD, LZ4HC) of memory, held until dropped.
    pub fn new(
        ty: CompressionType,
        options: &CompressionOptions,
        dictionary: Option<&[u8]>,
    ) -> Result<Compressor> {
        let dictionary = dictionary.filter(|bytes| !bytes.is_empty());
        let body = match ty {
            CompressionType::None => Body::None,
            CompressionType::Snappy => Body::Snappy(snappy::Encoder::new(ty, options, dictionary)?),
            CompressionType::Zlib => Body::Zlib(zlib::Encoder::new(ty, options, dictionary)?),
            CompressionType::Bzip2 => Body::Bzip2(bzip2_stream::Encoder::new(ty, options, dictionary)?),
            CompressionType::Lz4 | CompressionType::Lz4Hc => {
                Body::Lz4(lz4::Encoder::new(ty, options, dictionary)?)
            }
            CompressionType::Zstd | CompressionType::ZstdNotFinal => {
                Body::Zstd(zstandard::Encoder::new(ty, options, dictionary)?)
            }
            CompressionType::Xpress => {
                return Err(Error::not_supported("Xpress compression"));
            }
        };
        Ok(Compressor { ty, body })
    }

    /// The type byte for the results of [`compress`](Compressor::compress).
    pub fn compression_type(&self) -> CompressionType {
        self.ty
    }

    /// Replaces the contents of `out` by the stored form of `raw`, which is at most a little longer than
    /// `raw`. [`CompressionOptions::keeps`] decides whether it is worth storing. Allocates nothing once `out`
    /// has grown.
    pub fn compress(&mut self, raw: &[u8], out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        let ty = self.ty;
        if raw.len() > ty.longest() {
            return Err(failed(ty, format_args!("{} bytes at once", raw.len())));
        }
        match &mut self.body {
            Body::None => {
                out.extend_from_slice(raw);
                return Ok(());
            }
            Body::Snappy(encoder) => return encoder.compress(ty, raw, out),
            _ => put_varint32(out, raw.len() as u32),
        }
        match &mut self.body {
            Body::None | Body::Snappy(_) => Ok(()),
            Body::Zlib(encoder) => encoder.compress(ty, raw, out),
            Body::Bzip2(encoder) => encoder.compress(ty, raw, out),
            Body::Lz4(encoder) => encoder.compress(ty, raw, out),
            Body::Zstd(encoder) => encoder.compress(ty, raw, out),
        }
    }
}

//! Snappy, by the crate `snap`.

use base::Result;
use base::coding::varint32;

use super::bounds::{Sizes, bad, fill};
use super::{CompressionOptions, CompressionType, failed};

/// The maximum number of bytes that one byte expands to, rounded up: a tag of 3 bytes copies 64.
const RATIO: u64 = 22;

pub(super) struct Encoder(Box<snap::raw::Encoder>);

impl Encoder {
    pub fn new(_: CompressionType, _: &CompressionOptions, _: Option<&[u8]>) -> Result<Encoder> {
        Ok(Encoder(Box::new(snap::raw::Encoder::new())))
    }

    /// Replaces `out` by the compressed form: a Snappy block begins with its own length.
    pub fn compress(&mut self, ty: CompressionType, raw: &[u8], out: &mut Vec<u8>) -> Result<()> {
        out.resize(snap::raw::max_compress_len(raw.len()), 0);
        let len = self.0.compress(raw, out).map_err(|error| failed(ty, error))?;
        out.truncate(len);
        Ok(())
    }
}

pub(super) fn decompress(ty: CompressionType, stored: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let (claimed, prefix) = varint32(stored).ok_or_else(|| bad(ty, "truncated length"))?;
    let sizes = Sizes {
        claimed,
        stored: stored.len() - prefix,
        ratio: RATIO,
    };
    fill(ty, &sizes, out, |out| {
        let written = snap::raw::Decoder::new().decompress(stored, out);
        written.map_err(|error| bad(ty, error))
    })
}

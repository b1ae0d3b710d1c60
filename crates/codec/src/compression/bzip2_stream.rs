//! bzip2 streams, by the crate `bzip2`.

use std::io::Write;

use base::Result;

use super::bounds::{SMALL_CLAIM, bad, expect};
use super::{CompressionOptions, CompressionType, failed};

pub(super) struct Encoder;

impl Encoder {
    pub fn new(_: CompressionType, _: &CompressionOptions, _: Option<&[u8]>) -> Result<Encoder> {
        Ok(Encoder)
    }

    /// Appends the compressed form to `out`, which has the decompressed length already. As in RocksDB: blocks
    /// of 100 kB, the smallest, whatever the level.
    pub fn compress(&mut self, ty: CompressionType, raw: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let mut encoder = bzip2::write::BzEncoder::new(out, bzip2::Compression::new(1));
        encoder
            .write_all(raw)
            .and_then(|()| encoder.finish().map(|_| ()))
            .map_err(|error| failed(ty, error))
    }
}

/// Decompresses a block. bzip2 can expand a few dozen bytes to megabytes, so the claimed length proves
/// nothing: `out` grows with the actual output.
pub(super) fn decompress(
    ty: CompressionType,
    body: &[u8],
    claimed: u32,
    _dictionary: Option<&[u8]>,
    out: &mut Vec<u8>,
) -> Result<()> {
    stream(body, claimed as usize, out).map_err(|what| bad(ty, what))?;
    expect(ty, claimed, out.len())
}

fn stream(body: &[u8], claimed: usize, out: &mut Vec<u8>) -> Result<(), String> {
    out.clear();
    // The buffer has room for one byte more than claimed, so that the end of the stream is found before the
    // buffer is full.
    out.reserve((claimed + 1).min(SMALL_CLAIM as usize));
    let mut state = bzip2::Decompress::new(false);
    loop {
        let (read, written) = (state.total_in(), out.len());
        let status = state
            .decompress_vec(&body[read as usize..], out)
            .map_err(|error| error.to_string())?;
        if status == bzip2::Status::StreamEnd {
            return Ok(());
        }
        if out.len() > claimed {
            return Err(format!("more than the {claimed} bytes it claims"));
        }
        if out.len() == out.capacity() {
            out.reserve((claimed + 1 - out.len()).min(out.len()).max(1));
        } else if state.total_in() == read && out.len() == written {
            return Err("truncated".into());
        }
    }
}

//! zlib's raw deflate, by the crate `flate2`.

use std::cell::RefCell;

use base::Result;
use flate2::{Compress, Decompress, FlushCompress, FlushDecompress, Status};

use super::bounds::{Sizes, bad, fill};
use super::{CompressionOptions, CompressionType, failed};

/// zlib's own default level.
const LEVEL: i32 = 6;
/// The maximum number of bytes that one byte expands to, rounded up: deflate copies 258 bytes by 2 bits.
const RATIO: u64 = 1032;

thread_local! {
    // The inflate state is kept per thread, not per file: its creation is expensive, and a thread uses one at
    // a time.
    static INFLATE: RefCell<Decompress> = RefCell::new(Decompress::new(false));
}

pub(super) struct Encoder {
    state: Compress,
    dictionary: Box<[u8]>,
}

impl Encoder {
    pub fn new(
        _: CompressionType,
        options: &CompressionOptions,
        dictionary: Option<&[u8]>,
    ) -> Result<Encoder> {
        let level = options.level_or(LEVEL);
        let level = if level < 0 { LEVEL } else { level.min(9) };
        // Raw deflate does not support a window of 8 bits, and RocksDB inflates with a window of 14 bits.
        let window_bits = options.window_bits.unsigned_abs().clamp(9, 14) as u8;
        Ok(Encoder {
            state: Compress::new_with_window_bits(flate2::Compression::new(level as u32), false, window_bits),
            dictionary: dictionary.unwrap_or_default().into(),
        })
    }

    /// Appends the compressed form to `out`, which has the decompressed length already.
    pub fn compress(&mut self, ty: CompressionType, raw: &[u8], out: &mut Vec<u8>) -> Result<()> {
        self.state.reset();
        if !self.dictionary.is_empty() {
            self.state
                .set_dictionary(&self.dictionary)
                .map_err(|error| failed(ty, error))?;
        }
        // The room is zlib's bound of the compressed length for any window: a ninth more than the input, plus
        // a constant.
        out.reserve(raw.len() + raw.len() / 8 + raw.len() / 64 + 64);
        loop {
            let rest = &raw[self.state.total_in() as usize..];
            let status = self
                .state
                .compress_vec(rest, out, FlushCompress::Finish)
                .map_err(|error| failed(ty, error))?;
            match status {
                Status::StreamEnd => return Ok(()),
                Status::Ok | Status::BufError => out.reserve(out.capacity()),
            }
        }
    }
}

pub(super) fn decompress(
    ty: CompressionType,
    body: &[u8],
    claimed: u32,
    dictionary: Option<&[u8]>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let sizes = Sizes {
        claimed,
        stored: body.len(),
        ratio: RATIO,
    };
    fill(ty, &sizes, out, |out| {
        let written = INFLATE.with_borrow_mut(|state| inflate(state, dictionary, body, out));
        written.map_err(|what| bad(ty, what))
    })
}

fn inflate(
    state: &mut Decompress,
    dictionary: Option<&[u8]>,
    body: &[u8],
    out: &mut [u8],
) -> Result<usize, String> {
    state.reset(false);
    if let Some(dictionary) = dictionary {
        state
            .set_dictionary(dictionary)
            .map_err(|error| error.to_string())?;
    }
    match state.decompress(body, out, FlushDecompress::Finish) {
        Ok(Status::StreamEnd) => Ok(state.total_out() as usize),
        Ok(_) => Err("does not end at its claimed length".into()),
        Err(error) => Err(error.to_string()),
    }
}

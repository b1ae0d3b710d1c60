//! WAL compression: each logical record is a separate zstd frame, fragmented as a plain record would be.

use std::fmt;

use base::{Error, Result};
use zstd::zstd_safe::{self, CCtx, CParameter, DCtx, DParameter, InBuffer, OutBuffer, ResetDirective};

/// The step in bytes by which the output buffer grows.
const STEP: usize = 32 << 10;
/// The largest window of a frame we read, as a power of two. RocksDB compresses WALs at the default level,
/// whose window is 2 MiB; a frame that claims more than 8 MiB is refused before any allocation.
const WINDOW_LOG_MAX: u32 = 23;

#[cold]
fn cannot_write(what: &str) -> Error {
    Error::invalid_argument(format!("cannot compress a WAL record: {what}"))
}

#[cold]
fn bad(what: &str) -> Error {
    Error::corruption(format!("bad compressed record: {what}"))
}

/// Compresses records into frames.
pub(crate) struct FrameWriter {
    context: CCtx<'static>,
    frame: Vec<u8>,
}

impl FrameWriter {
    pub fn new() -> Result<FrameWriter> {
        let mut context = CCtx::try_create().ok_or_else(|| cannot_write("out of memory"))?;
        context
            .set_parameter(CParameter::CompressionLevel(zstd::DEFAULT_COMPRESSION_LEVEL))
            .map_err(|code| cannot_write(zstd_safe::get_error_name(code)))?;
        Ok(FrameWriter {
            context,
            frame: Vec::new(),
        })
    }

    /// The frame of `payload`.
    pub fn compress(&mut self, payload: &[u8]) -> Result<&[u8]> {
        self.frame.clear();
        self.frame.reserve(zstd_safe::compress_bound(payload.len()));
        self.context
            .compress2(&mut self.frame, payload)
            .map_err(|code| cannot_write(zstd_safe::get_error_name(code)))?;
        Ok(&self.frame)
    }

    /// Frees memory after a record of unusual size.
    pub fn shrink_to(&mut self, capacity: usize) {
        self.frame.clear();
        self.frame.shrink_to(capacity);
    }
}

impl fmt::Debug for FrameWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameWriter").finish_non_exhaustive()
    }
}

/// Decompresses frames that come in pieces.
pub(crate) struct FrameReader {
    context: DCtx<'static>,
    complete: bool,
}

impl FrameReader {
    pub fn new() -> Result<FrameReader> {
        let mut context =
            DCtx::try_create().ok_or_else(|| Error::invalid_argument("out of memory for zstd"))?;
        context
            .set_parameter(DParameter::WindowLogMax(WINDOW_LOG_MAX))
            .map_err(|code| bad(zstd_safe::get_error_name(code)))?;
        Ok(FrameReader {
            context,
            complete: true,
        })
    }

    /// Begins a logical record, discarding an unfinished one.
    pub fn begin(&mut self) -> Result<()> {
        self.complete = true;
        self.context
            .reset(ResetDirective::SessionOnly)
            .map(|_| ())
            .map_err(|code| bad(zstd_safe::get_error_name(code)))
    }

    /// Decompresses the next `piece` of the record's frame and appends the result to `out`.
    pub fn decompress(&mut self, piece: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let mut input = InBuffer::around(piece);
        loop {
            if out.len() == out.capacity() {
                out.reserve(STEP);
            }
            let (read, room) = (input.pos(), out.capacity());
            let at = out.len();
            let hint = self
                .context
                .decompress_stream(&mut OutBuffer::around_pos(out, at), &mut input)
                .map_err(|code| bad(zstd_safe::get_error_name(code)))?;
            if input.pos() > read || out.len() > at {
                self.complete = hint == 0;
            }
            // The output has room left, so the library has no more pending bytes.
            if input.pos() == piece.len() && out.len() < room {
                return Ok(());
            }
        }
    }

    /// `Corruption` if this was the `last` piece of the record and its frame is incomplete.
    pub fn check_end(&self, last: bool) -> Result<()> {
        if last && !self.complete {
            return Err(bad("its frame is incomplete"));
        }
        Ok(())
    }
}

impl fmt::Debug for FrameReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameReader")
            .field("complete", &self.complete)
            .finish_non_exhaustive()
    }
}

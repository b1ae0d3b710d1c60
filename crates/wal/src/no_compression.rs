//! The replacement of WAL compression in a build without the feature `zstd`: a log that needs it is refused.

use base::{Error, Result};

#[cold]
fn not_built_in() -> Error {
    Error::not_supported(
        "ZSTD compression of WALs is not built in: the crate was built without the feature \"zstd\"",
    )
}

/// No record is compressed.
#[derive(Debug)]
pub(crate) enum FrameWriter {}

impl FrameWriter {
    pub fn new() -> Result<FrameWriter> {
        Err(not_built_in())
    }

    pub fn compress(&mut self, _: &[u8]) -> Result<&[u8]> {
        match *self {}
    }

    pub fn shrink_to(&mut self, _: usize) {
        match *self {}
    }
}

/// No record is decompressed.
#[derive(Debug)]
pub(crate) enum FrameReader {}

impl FrameReader {
    pub fn new() -> Result<FrameReader> {
        Err(not_built_in())
    }

    pub fn begin(&mut self) -> Result<()> {
        match *self {}
    }

    pub fn decompress(&mut self, _: &[u8], _: &mut Vec<u8>) -> Result<()> {
        match *self {}
    }

    pub fn check_end(&self, _: bool) -> Result<()> {
        match *self {}
    }
}

//! The replacement of a codec that is not built in: blocks of its type are refused with the name of the type.

use base::{Error, Result};

use super::{CompressionOptions, CompressionType};

#[cold]
fn not_built_in(ty: CompressionType) -> Error {
    Error::not_supported(format!(
        "{} compression is not built in: the crate was built without the feature {:?}",
        ty.property_name(),
        ty.feature()
    ))
}

/// No block is compressed.
pub enum Encoder {}

impl Encoder {
    pub fn new(ty: CompressionType, _: &CompressionOptions, _: Option<&[u8]>) -> Result<Encoder> {
        Err(not_built_in(ty))
    }

    pub fn compress(&mut self, _: CompressionType, _: &[u8], _: &mut Vec<u8>) -> Result<()> {
        match *self {}
    }
}

/// Shared by all codecs that are replaced, so that each reports the same error text.
#[cfg(any(not(feature = "lz4"), not(feature = "zlib"), not(feature = "bzip2")))]
pub(super) fn decompress(
    ty: CompressionType,
    _: &[u8],
    _: u32,
    _: Option<&[u8]>,
    _: &mut Vec<u8>,
) -> Result<()> {
    Err(not_built_in(ty))
}

#[cfg(not(feature = "snappy"))]
pub(super) mod snappy {
    pub use super::Encoder;
    use super::{CompressionType, Result, not_built_in};

    pub fn decompress(ty: CompressionType, _: &[u8], _: &mut Vec<u8>) -> Result<()> {
        Err(not_built_in(ty))
    }
}

#[cfg(not(feature = "zstd"))]
pub(super) mod zstandard {
    use std::sync::Arc;

    pub use super::Encoder;
    use super::{CompressionType, Result, not_built_in};

    /// The form of a dictionary that no decoder uses.
    #[derive(Default)]
    pub struct Prepared;

    pub fn decompress(
        ty: CompressionType,
        _: &[u8],
        _: u32,
        _: Option<&Arc<[u8]>>,
        _: &Prepared,
        _: &mut Vec<u8>,
    ) -> Result<()> {
        Err(not_built_in(ty))
    }

    /// Refuses to train a dictionary.
    pub fn train_dictionary(_: &[u8], _: &[usize], _: usize) -> Result<Vec<u8>> {
        Err(not_built_in(CompressionType::Zstd))
    }
}

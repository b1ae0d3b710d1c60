//! The modules of the codecs by name: each is the codec itself, or its replacement if it is not built in.

#[cfg(not(feature = "bzip2"))]
pub(super) use super::absent as bzip2_stream;
#[cfg(not(feature = "lz4"))]
pub(super) use super::absent as lz4;
#[cfg(not(feature = "zlib"))]
pub(super) use super::absent as zlib;
#[cfg(not(feature = "snappy"))]
pub(super) use super::absent::snappy;
#[cfg(not(feature = "zstd"))]
pub(super) use super::absent::zstandard;
#[cfg(feature = "bzip2")]
pub(super) use super::bzip2_stream;
#[cfg(feature = "lz4")]
pub(super) use super::lz4;
#[cfg(feature = "snappy")]
pub(super) use super::snappy;
#[cfg(feature = "zlib")]
pub(super) use super::zlib;
#[cfg(feature = "zstd")]
pub(super) use super::zstandard;

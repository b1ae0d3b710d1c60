//! The bytes at the end of a filter that describe it.

/// The number of bytes at the end of a filter that describe it.
pub const METADATA_LEN: usize = 5;

/// The seed of Hash32 for the keys of a legacy filter.
pub const LEGACY_SEED: u32 = codec::hash::BLOOM_SEED;

/// The marker of the Bloom filters of format version 5.
pub(super) const MARKER_BLOOM: i8 = -1;

/// The marker of Ribbon filters.
pub(super) const MARKER_RIBBON: i8 = -2;

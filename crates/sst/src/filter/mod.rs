//! Filters: small blocks that show which keys a table cannot hold.
//!
//! A filter gets user keys without timestamps, prefixes of them, or both; each is hashed, and only hashes are
//! stored. Every filter ends in five bytes that describe it, so that a reader need not know the writer's
//! options:
//!
//! ```text
//! filter = contents [L] ‖ marker u8 ‖ four bytes of its kind
//!   marker 1..127   legacy Bloom: number of probes     ‖ lines u32              hash: Hash32      format version < 5
//!   marker 0        always true
//!   marker -1       FastLocalBloom when followed by 0  ‖ probes u8 ‖ 0 u16      hash: XXPH3-64    format version >= 5
//!   marker -2       Ribbon                             ‖ seed u8 ‖ blocks u24   hash: XXPH3-64    format version >= 5
//!   other           of the future: always true
//! ```
//!
//! A filter may wrongly answer "maybe", but never wrongly "no": a reader treats every unknown filter as
//! "maybe". `docs/format/filter.md` shows the bytes.

pub mod bloom;
mod builder;
pub mod legacy_bloom;
mod metadata;
pub mod partitioned;
mod policy;
pub mod ribbon;
pub(crate) mod table_filter;

pub use builder::{FilterBuilder, FilterPartition};
pub use metadata::{LEGACY_SEED, METADATA_LEN};
pub use partitioned::PartitionedFilter;
pub use policy::{FilterPolicy, UNKNOWN_LEVEL};

use base::{Error, Result};

use bloom::FastLocalBloom;
use legacy_bloom::LegacyBloom;
use metadata::{MARKER_BLOOM, MARKER_RIBBON};
use ribbon::Ribbon;

/// A filter for queries.
///
/// Owns its bytes, laid out so that a probe touches one cache line.
#[derive(Debug)]
pub struct FilterReader {
    body: Body,
    /// The last bytes of the filter's contents, which hold its parameters.
    metadata: [u8; METADATA_LEN],
}

#[derive(Debug)]
enum Body {
    FastLocalBloom(FastLocalBloom),
    Ribbon(Ribbon),
    LegacyBloom(LegacyBloom),
    AlwaysTrue,
    AlwaysFalse,
}

impl FilterReader {
    /// Takes the contents of a filter block or of a partition of one. Costs one copy.
    ///
    /// Errors: `Corruption` for a filter of a known kind with an impossible size. Unknown kinds are not an
    /// error and always match.
    pub fn new(contents: impl AsRef<[u8]>) -> Result<FilterReader> {
        FilterReader::decode(contents.as_ref())
    }

    fn decode(contents: &[u8]) -> Result<FilterReader> {
        let body = match contents.split_last_chunk::<METADATA_LEN>() {
            None | Some(([], _)) => Body::AlwaysFalse,
            Some((data, metadata)) => match metadata[0] as i8 {
                0 => Body::AlwaysTrue,
                1.. => LegacyBloom::new(data, metadata).map_or(Body::AlwaysTrue, Body::LegacyBloom),
                MARKER_BLOOM => match bloom::probes(metadata) {
                    None => Body::AlwaysTrue,
                    Some(probes) => {
                        Body::FastLocalBloom(FastLocalBloom::new(data, probes).ok_or_else(|| {
                            Error::corruption(format!(
                                "Bloom filter of {} bytes, not whole lines",
                                data.len()
                            ))
                        })?)
                    }
                },
                MARKER_RIBBON => Ribbon::new(data, metadata).map_or(Body::AlwaysTrue, Body::Ribbon),
                _ => Body::AlwaysTrue,
            },
        };
        let metadata = contents.last_chunk().copied().unwrap_or_default();
        Ok(FilterReader { body, metadata })
    }

    /// The contents of an equivalent filter block: the contents from which this filter was made, without
    /// unused bytes.
    pub(crate) fn contents(&self) -> Vec<u8> {
        let mut contents = match &self.body {
            Body::FastLocalBloom(bloom) => bloom.data(),
            Body::Ribbon(ribbon) => ribbon.data(),
            Body::LegacyBloom(bloom) => bloom.data().to_vec(),
            Body::AlwaysTrue => return vec![0; METADATA_LEN + 1],
            Body::AlwaysFalse => return Vec::new(),
        };
        contents.extend_from_slice(&self.metadata);
        contents
    }

    /// False if no key with this hash was added.
    ///
    /// `hash` is XXPH3-64 of the key or prefix. `legacy_hash` is only called for filters of format versions
    /// below 5, and returns Hash32 of the same with seed [`LEGACY_SEED`].
    #[inline]
    pub fn may_match(&self, hash: u64, legacy_hash: impl FnOnce() -> u32) -> bool {
        match &self.body {
            Body::FastLocalBloom(bloom) => bloom.may_match(hash),
            Body::Ribbon(ribbon) => ribbon.may_match(hash),
            Body::LegacyBloom(bloom) => bloom.may_match(legacy_hash()),
            Body::AlwaysTrue => true,
            Body::AlwaysFalse => false,
        }
    }

    /// Prefetches the memory that [`may_match`](FilterReader::may_match) of this hash will read. Worthwhile
    /// when several filters are queried for one key: prefetch all, then query.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        match &self.body {
            Body::FastLocalBloom(bloom) => bloom.prefetch(hash),
            Body::Ribbon(ribbon) => ribbon.prefetch(hash),
            Body::LegacyBloom(_) | Body::AlwaysTrue | Body::AlwaysFalse => {}
        }
    }

    /// The bytes on the heap.
    pub fn memory_usage(&self) -> usize {
        match &self.body {
            Body::FastLocalBloom(bloom) => bloom.memory_usage(),
            Body::Ribbon(ribbon) => ribbon.memory_usage(),
            Body::LegacyBloom(bloom) => bloom.memory_usage(),
            Body::AlwaysTrue | Body::AlwaysFalse => 0,
        }
    }

    /// The name of the filter's kind.
    pub fn kind(&self) -> &'static str {
        match &self.body {
            Body::FastLocalBloom(_) => "FastLocalBloom",
            Body::Ribbon(_) => "Standard128Ribbon",
            Body::LegacyBloom(_) => "LegacyBloom",
            Body::AlwaysTrue => "AlwaysTrue",
            Body::AlwaysFalse => "AlwaysFalse",
        }
    }
}

#[cfg(test)]
mod tests;

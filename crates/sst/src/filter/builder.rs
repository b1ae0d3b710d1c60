//! Collects the keys of a table and makes its filter of them.

use std::sync::Arc;

use base::prefix::PrefixExtractor;
use codec::hash::{hash32, xxph3_64};

use super::{LEGACY_SEED, bloom, legacy_bloom};
use crate::format::FV_NEW_FILTERS;

/// How large a Bloom filter to write.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BloomPolicy {
    /// Bits of filter per key. 10 gives about 1% false positives; every 5 more divide them by about 10. Below 0.5 there
    /// is no filter; otherwise at least 1 and at most 100 are used.
    pub bits_per_key: f64,
}

impl BloomPolicy {
    /// Bits per key in thousandths, as used; 0 means no filter.
    pub fn millibits_per_key(self) -> u32 {
        match self.bits_per_key {
            bits if bits < 0.5 => 0,
            bits if bits < 1.0 => 1000,
            bits if bits < 100.0 => (bits * 1000.0 + 0.5) as u32,
            // Not a number is treated as RocksDB treats it: as too large.
            _ => 100_000,
        }
    }

    /// Whole bits per key, for filters of format versions below 5.
    pub fn whole_bits_per_key(self) -> u32 {
        (self.millibits_per_key() + 500) / 1000
    }
}

#[derive(Debug)]
enum Hashes {
    /// For FastLocalBloom: 8 bytes a key until the filter is built.
    Xxph3(Vec<u64>),
    /// For the legacy filter.
    Hash32(Vec<u32>),
}

/// Collects hashes while a table is written: 8 bytes for each, and a filter at the end.
pub struct FilterBuilder {
    policy: BloomPolicy,
    whole_key_filtering: bool,
    prefix_extractor: Option<Arc<dyn PrefixExtractor>>,
    hashes: Hashes,
    /// Hash of the prefix added last. Whole keys and prefixes come interleaved, so that the last hash alone would not
    /// tell that a prefix is known already.
    last_prefix: Option<u64>,
}

impl FilterBuilder {
    /// For a table of `format_version`. `None` if `policy` asks for no filter, or if neither whole keys nor prefixes are
    /// to be added.
    pub fn new(
        policy: BloomPolicy,
        format_version: u32,
        whole_key_filtering: bool,
        prefix_extractor: Option<Arc<dyn PrefixExtractor>>,
    ) -> Option<FilterBuilder> {
        (policy.millibits_per_key() > 0 && (whole_key_filtering || prefix_extractor.is_some())).then(|| {
            FilterBuilder {
                policy,
                whole_key_filtering,
                prefix_extractor,
                hashes: if format_version >= FV_NEW_FILTERS {
                    Hashes::Xxph3(Vec::new())
                } else {
                    Hashes::Hash32(Vec::new())
                },
                last_prefix: None,
            }
        })
    }

    /// Adds a user key without its timestamp. Keys come in order, each once: a caller with several versions of a key adds
    /// it with the first.
    #[inline]
    pub fn add(&mut self, key: &[u8]) {
        if self.whole_key_filtering {
            self.hashes.push(self.hashes.hash(key));
        }
        if self.prefix_extractor.is_some() {
            self.add_prefix(key);
        }
    }

    fn add_prefix(&mut self, key: &[u8]) {
        if let Some(prefix) = self
            .prefix_extractor
            .as_ref()
            .and_then(|extractor| extractor.prefix(key))
        {
            let hash = self.hashes.hash(prefix);
            if self.last_prefix.replace(hash) != Some(hash) {
                self.hashes.push(hash);
            }
        }
    }

    /// Hashes added so far: what `rocksdb.num.filter_entries` counts.
    pub fn num_added(&self) -> usize {
        match &self.hashes {
            Hashes::Xxph3(hashes) => hashes.len(),
            Hashes::Hash32(hashes) => hashes.len(),
        }
    }

    /// Bytes the filter of what was added so far would take.
    pub fn estimated_size(&self) -> usize {
        match &self.hashes {
            Hashes::Xxph3(hashes) => bloom::size(hashes.len(), self.policy.millibits_per_key()),
            Hashes::Hash32(hashes) => legacy_bloom::size(hashes.len(), self.policy.whole_bits_per_key()),
        }
    }

    /// The contents of the filter block; `None` if nothing was added, for then a table has no filter.
    pub fn finish(&self) -> Option<Vec<u8>> {
        (self.num_added() > 0).then(|| match &self.hashes {
            Hashes::Xxph3(hashes) => bloom::build(hashes, self.policy.millibits_per_key()),
            Hashes::Hash32(hashes) => legacy_bloom::build(hashes, self.policy.whole_bits_per_key()),
        })
    }
}

impl Hashes {
    #[inline]
    fn hash(&self, key: &[u8]) -> u64 {
        match self {
            Hashes::Xxph3(_) => xxph3_64(key),
            Hashes::Hash32(_) => u64::from(hash32(key, LEGACY_SEED)),
        }
    }

    /// Adds a hash unless it is the last one again, as it is when a whole key is its own prefix.
    #[inline]
    fn push(&mut self, hash: u64) {
        match self {
            Hashes::Xxph3(hashes) if hashes.last() != Some(&hash) => hashes.push(hash),
            Hashes::Hash32(hashes) if hashes.last() != Some(&(hash as u32)) => hashes.push(hash as u32),
            _ => {}
        }
    }
}

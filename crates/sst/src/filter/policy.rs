//! The choice of a table's filter.

use super::ribbon::RibbonBuilder;
use crate::format::FV_NEW_FILTERS;

/// The filter to write. Every release that reads the format version reads all of them, Ribbon filters from
/// RocksDB 6.15 on.
///
/// ```
/// # use esker_sst::filter as esker;
/// use esker::FilterPolicy;
///
/// // Set as `BlockBasedOptions::filter_policy`.
/// let policy = FilterPolicy::Bloom(10.0);
/// assert_eq!(policy.whole_bits_per_key(), 10);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum FilterPolicy {
    /// Tables have no filter.
    #[default]
    None,
    /// Bloom filters with this many bits a key. 10 give about 1% false positives; every 5 more divide them by
    /// about 10. Below 0.5 there is no filter; otherwise the value is clamped to 1..=100.
    Bloom(f64),
    /// Ribbon filters, which are as accurate as Bloom filters of `bits_per_key` and about 30% smaller, and
    /// take three to four times the time to build and twice the time to query.
    Ribbon {
        /// The bits per key, as in [`FilterPolicy::Bloom`].
        bits_per_key: f64,
        /// Tables of the levels before this one get Bloom filters, because they do not live long. A flush
        /// counts as level -1; `i32::MAX` makes Bloom filters everywhere. RocksDB's default is 0.
        bloom_before_level: i32,
    },
}

/// The level of a table that may be put into any level.
pub const UNKNOWN_LEVEL: i32 = i32::MAX - 1;

/// The kind of filter built from the hashes of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    LegacyBloom,
    Bloom,
    Ribbon(RibbonBuilder),
}

impl FilterPolicy {
    fn bits_per_key(self) -> f64 {
        match self {
            FilterPolicy::None => 0.0,
            FilterPolicy::Bloom(bits_per_key) | FilterPolicy::Ribbon { bits_per_key, .. } => bits_per_key,
        }
    }

    /// The bits per key in thousandths, as used; 0 means no filter.
    pub fn millibits_per_key(self) -> u32 {
        match self.bits_per_key() {
            bits if bits < 0.5 => 0,
            bits if bits < 1.0 => 1000,
            bits if bits < 100.0 => (bits * 1000.0 + 0.5) as u32,
            // NaN is treated as in RocksDB: as too large.
            _ => 100_000,
        }
    }

    /// Whole bits per key, for Bloom filters of format versions below 5.
    pub fn whole_bits_per_key(self) -> u32 {
        (self.millibits_per_key() + 500) / 1000
    }

    /// RocksDB's name of the policy, as in the properties of tables; empty for none.
    pub fn name(self) -> &'static str {
        match self {
            _ if self.millibits_per_key() == 0 => "",
            FilterPolicy::None => "",
            FilterPolicy::Bloom(_) => "bloomfilter",
            FilterPolicy::Ribbon { .. } => "ribbonfilter",
        }
    }

    /// The kind of filter for tables of `format_version` at `level`, -1 for those of flushes.
    pub(super) fn kind(self, format_version: u32, level: i32) -> Kind {
        match self {
            FilterPolicy::Ribbon {
                bloom_before_level, ..
            } if level >= bloom_before_level => {
                Kind::Ribbon(RibbonBuilder::like_bloom(self.millibits_per_key()))
            }
            FilterPolicy::Bloom(_) if format_version < FV_NEW_FILTERS => Kind::LegacyBloom,
            _ => Kind::Bloom,
        }
    }
}

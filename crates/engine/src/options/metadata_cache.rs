//! The parts of tables that stay in the block cache, if index and filter are kept there.

use super::table::OptionValue;

/// The tables for which a part stays in the block cache once it was read.
///
/// See the example of [`MetadataCacheOptions`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PinningTier {
    /// The older options `pin_l0_filter_and_index_blocks_in_cache` and `pin_top_level_index_and_filter`
    /// decide.
    #[default]
    Fallback,
    /// The metadata of no table is pinned.
    None,
    /// Tables that flushes wrote, and other tables in level 0 that are not larger than those.
    FlushedAndSimilar,
    /// The metadata of all tables is pinned.
    All,
}

impl PinningTier {
    const NAMES: [(PinningTier, &'static str); 4] = [
        (PinningTier::Fallback, "kFallback"),
        (PinningTier::None, "kNone"),
        (PinningTier::FlushedAndSimilar, "kFlushedAndSimilar"),
        (PinningTier::All, "kAll"),
    ];

    fn name(self) -> &'static str {
        let found = PinningTier::NAMES.iter().find(|(tier, _)| *tier == self);
        found.map_or("", |(_, name)| name)
    }

    fn parse(text: &str) -> Option<PinningTier> {
        let found = PinningTier::NAMES.iter().find(|(_, name)| *name == text);
        found.map(|(tier, _)| *tier)
    }

    /// True if the tier includes tables that are `flushed` or similar, or others; `fallback` is the tier from
    /// the older options.
    pub(crate) fn pins(self, flushed: bool, fallback: PinningTier) -> bool {
        match self {
            PinningTier::Fallback if fallback == PinningTier::Fallback => false,
            PinningTier::Fallback => fallback.pins(flushed, PinningTier::None),
            PinningTier::None => false,
            PinningTier::FlushedAndSimilar => flushed,
            PinningTier::All => true,
        }
    }
}

/// RocksDB's `MetadataCacheOptions`: a tier for each kind of part.
///
/// ```
/// use esker::{BlockBasedOptions, MetadataCacheOptions, PinningTier};
///
/// let table = BlockBasedOptions {
///     cache_index_and_filter_blocks: true,
///     metadata_cache_options: MetadataCacheOptions {
///         top_level_index_pinning: PinningTier::All,
///         unpartitioned_pinning: PinningTier::FlushedAndSimilar,
///         ..Default::default()
///     },
///     ..Default::default()
/// };
/// # assert!(table.block_cache.is_none());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MetadataCacheOptions {
    /// The tier of the top level of a partitioned index or filter.
    pub top_level_index_pinning: PinningTier,
    /// The tier of partitions.
    pub partition_pinning: PinningTier,
    /// The tier of an index or filter in one block.
    pub unpartitioned_pinning: PinningTier,
}

impl OptionValue for MetadataCacheOptions {
    const TYPE: &'static str =
        "`{top_level_index_pinning=TIER;partition_pinning=TIER;unpartitioned_pinning=TIER;}`";

    fn parse(text: &str) -> Option<MetadataCacheOptions> {
        let mut options = MetadataCacheOptions::default();
        let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
        for field in inner.unwrap_or(text).split(';') {
            let field = field.trim();
            if field.is_empty() {
                continue;
            }
            let (name, tier) = field.split_once('=')?;
            let tier = PinningTier::parse(tier.trim())?;
            match name.trim() {
                "top_level_index_pinning" => options.top_level_index_pinning = tier,
                "partition_pinning" => options.partition_pinning = tier,
                "unpartitioned_pinning" => options.unpartitioned_pinning = tier,
                _ => return None,
            }
        }
        Some(options)
    }

    fn text(&self) -> String {
        format!(
            "{{unpartitioned_pinning={};partition_pinning={};top_level_index_pinning={};}}",
            self.unpartitioned_pinning.name(),
            self.partition_pinning.name(),
            self.top_level_index_pinning.name()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::BlockBasedOptions;

    #[test]
    fn tiers_are_read_and_written_as_rocksdb_does() {
        let text = "{unpartitioned_pinning=kAll;partition_pinning=kFlushedAndSimilar;top_level_index_pinning=kNone;}";
        let options = MetadataCacheOptions::parse(text).unwrap();
        assert_eq!(options.text(), text);
        assert_eq!(
            MetadataCacheOptions::parse("{}"),
            Some(MetadataCacheOptions::default())
        );
        for bad in ["{partition_pinning=kSome;}", "{pinning=kAll}", "kAll"] {
            assert_eq!(MetadataCacheOptions::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_older_options_say_what_the_tiers_leave_open() {
        let mut options = BlockBasedOptions {
            pin_l0_filter_and_index_blocks_in_cache: true,
            ..BlockBasedOptions::default()
        };
        assert_eq!(options.metadata_caching(true), None);
        options.cache_index_and_filter_blocks = true;
        let flags = |options: &BlockBasedOptions, flushed| {
            let caching = options.metadata_caching(flushed).unwrap();
            [
                caching.pin_top_level,
                caching.pin_partitions,
                caching.pin_unpartitioned,
            ]
        };
        assert_eq!(flags(&options, true), [true, true, true]);
        assert_eq!(flags(&options, false), [true, false, false]);
        options.pin_l0_filter_and_index_blocks_in_cache = false;
        options.pin_top_level_index_and_filter = false;
        assert_eq!(flags(&options, true), [false; 3]);
        options.metadata_cache_options.partition_pinning = PinningTier::FlushedAndSimilar;
        options.metadata_cache_options.unpartitioned_pinning = PinningTier::All;
        assert_eq!(flags(&options, true), [false, true, true]);
        assert_eq!(flags(&options, false), [false, false, true]);
        options.pin_top_level_index_and_filter = true;
        options.metadata_cache_options.top_level_index_pinning = PinningTier::None;
        assert_eq!(flags(&options, false), [false, false, true]);
    }
}

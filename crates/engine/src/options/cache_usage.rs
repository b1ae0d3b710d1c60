//! The memory, besides blocks, that is charged to the block cache.

use std::collections::BTreeMap;

use base::{Error, Result};

/// A use of memory that may take part of the block cache's capacity besides blocks: one of the roles of
/// RocksDB's `CacheEntryRole` that `cache_usage_options` knows.
///
/// See the example of [`CacheUsageOptions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CacheEntryRole {
    /// Blocks that wait while a compression dictionary is made of them.
    CompressionDictionaryBuildingBuffer,
    /// The memory of filters while they are built.
    FilterConstruction,
    /// Open tables: their index and filter, if these are not in the cache as blocks, and their other memory.
    BlockBasedTableReader,
    /// The records of tables in the versions of a family.
    FileMetadata,
    /// The values of blob files in a cache of their own.
    BlobCache,
}

impl CacheEntryRole {
    /// RocksDB's name of the role.
    pub fn name(self) -> &'static str {
        match self {
            CacheEntryRole::CompressionDictionaryBuildingBuffer => "kCompressionDictionaryBuildingBuffer",
            CacheEntryRole::FilterConstruction => "kFilterConstruction",
            CacheEntryRole::BlockBasedTableReader => "kBlockBasedTableReader",
            CacheEntryRole::FileMetadata => "kFileMetadata",
            CacheEntryRole::BlobCache => "kBlobCache",
        }
    }
}

/// Whether the memory of a role is charged to the block cache: RocksDB's `CacheEntryRoleOptions`.
///
/// See the example of [`CacheUsageOptions`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Charged {
    /// The memory is charged.
    Enabled,
    /// The memory is not charged.
    Disabled,
    /// The memory is charged if [`CacheUsageOptions::options`] says so, and otherwise not. Default.
    #[default]
    Fallback,
}

/// The memory that is charged to the block cache, by role: see
/// [`BlockBasedOptions::cache_usage_options`](crate::BlockBasedOptions::cache_usage_options).
///
/// ```
/// use esker::{BlockBasedOptions, CacheEntryRole, CacheUsageOptions, Charged};
///
/// // The memory of open tables takes part of the block cache's capacity.
/// let usage = CacheUsageOptions::charging(CacheEntryRole::BlockBasedTableReader);
/// assert_eq!(usage.options_overrides[&CacheEntryRole::BlockBasedTableReader], Charged::Enabled);
/// let table = BlockBasedOptions { cache_usage_options: usage, ..Default::default() };
/// # assert!(table.block_cache.is_none());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheUsageOptions {
    /// The roles that are not in [`options_overrides`](Self::options_overrides). `NotSupported` for
    /// [`Charged::Enabled`], since not every role can be charged. Default: `Fallback`.
    pub options: Charged,
    /// Single roles. `NotSupported` for [`Charged::Enabled`] of another role than
    /// [`CacheEntryRole::BlockBasedTableReader`]. Default: none.
    pub options_overrides: BTreeMap<CacheEntryRole, Charged>,
}

impl CacheUsageOptions {
    /// Options that charge the memory of `role`.
    pub fn charging(role: CacheEntryRole) -> CacheUsageOptions {
        CacheUsageOptions {
            options: Charged::Fallback,
            options_overrides: BTreeMap::from([(role, Charged::Enabled)]),
        }
    }

    /// True if the memory of open tables is charged.
    pub(crate) fn charges_tables(&self) -> bool {
        let own = self.options_overrides.get(&CacheEntryRole::BlockBasedTableReader);
        own == Some(&Charged::Enabled)
    }

    /// `NotSupported` for roles that cannot be charged, each named.
    pub(crate) fn check(&self) -> Result<()> {
        if self.options == Charged::Enabled {
            return Err(Error::not_supported(
                "cache_usage_options.options: name the roles that are charged in options_overrides",
            ));
        }
        let charged = self.options_overrides.iter();
        let mut refused = charged
            .filter(|(role, charged)| {
                **charged == Charged::Enabled && **role != CacheEntryRole::BlockBasedTableReader
            })
            .map(|(role, _)| role.name());
        refused.next().map_or(Ok(()), |role| {
            Err(Error::not_supported(format!(
                "Enable/Disable CacheEntryRoleOptions::charged for CacheEntryRole {role} is not supported \
                 (cache_usage_options)"
            )))
        })
    }
}

//! The memory, besides blocks, that is charged to the block cache.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::{Error, Result};
use cache::EntryRole;
use sst::BlockCache;

/// The capacity in bytes of the block cache of a database that is given none.
pub(crate) const DEFAULT_CACHE_SIZE: usize = 32 << 20;

/// A use of memory that may take part of the block cache's capacity besides blocks: one of the roles of
/// RocksDB's `CacheEntryRole` that `cache_usage_options` knows.
///
/// See the example of [`CacheUsageOptions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CacheEntryRole {
    /// Blocks that wait while a compression dictionary is made of them. When a cache with
    /// `strict_capacity_limit` has no room for more, the dictionary is made of those there are. Charged
    /// unless it is [`Disabled`](Charged::Disabled), as in RocksDB.
    CompressionDictionaryBuildingBuffer,
    /// The memory of filters while they are built: hashes of keys, equations of Ribbon filters, and finished
    /// filters. When a cache with `strict_capacity_limit` has no room for the equations, a Bloom filter is
    /// built.
    FilterConstruction,
    /// Open tables: their index and filter, if these are not in the cache as blocks, and their other memory.
    /// When a cache with `strict_capacity_limit` has no room, tables are not opened: `Aborted`.
    BlockBasedTableReader,
    /// The records of tables in the versions of a family. When a cache with `strict_capacity_limit` has no
    /// room, the database is not opened, or an ingestion fails: `Aborted`. A flush or compaction that fails
    /// thereby stops writes until the database is [resumed](crate::Db::resume).
    FileMetadata,
    /// The usage of [`blob_cache`](crate::ColumnFamilyOptions::blob_cache), which must be another cache with
    /// at most the capacity of the block cache. It is charged once, whatever number of families share it. A
    /// blob cache is never refused a value for lack of room in the block cache.
    BlobCache,
}

impl CacheEntryRole {
    /// RocksDB's name of the role.
    pub fn name(self) -> &'static str {
        EntryRole::from(self).name()
    }
}

impl From<CacheEntryRole> for EntryRole {
    /// The role of the entries that charge the memory.
    fn from(role: CacheEntryRole) -> EntryRole {
        match role {
            CacheEntryRole::CompressionDictionaryBuildingBuffer => {
                EntryRole::CompressionDictionaryBuildingBuffer
            }
            CacheEntryRole::FilterConstruction => EntryRole::FilterConstruction,
            CacheEntryRole::BlockBasedTableReader => EntryRole::BlockBasedTableReader,
            CacheEntryRole::FileMetadata => EntryRole::FileMetadata,
            CacheEntryRole::BlobCache => EntryRole::BlobCache,
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
    /// The roles that are not in [`options_overrides`](Self::options_overrides), or are `Fallback` there.
    /// `NotSupported` for [`Charged::Enabled`] and [`Charged::Disabled`], since no cache charges every role,
    /// as in RocksDB. Default: `Fallback`.
    pub options: Charged,
    /// Single roles. Default: none.
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

    /// Options that charge the memory of the roles that are true, and not that of the others.
    pub fn of_roles(roles: impl IntoIterator<Item = (CacheEntryRole, bool)>) -> CacheUsageOptions {
        let decided = |charged| match charged {
            true => Charged::Enabled,
            false => Charged::Disabled,
        };
        let roles = roles.into_iter();
        CacheUsageOptions {
            options: Charged::Fallback,
            options_overrides: roles.map(|(role, charged)| (role, decided(charged))).collect(),
        }
    }

    /// The decision about `role`.
    fn of(&self, role: CacheEntryRole) -> Charged {
        self.options_overrides.get(&role).copied().unwrap_or_default()
    }

    /// True if the memory of `role` is charged. That of blocks that wait for a compression dictionary is
    /// charged unless it is disabled.
    pub(crate) fn charges(&self, role: CacheEntryRole) -> bool {
        match self.of(role) {
            Charged::Enabled => true,
            Charged::Disabled => false,
            Charged::Fallback => role == CacheEntryRole::CompressionDictionaryBuildingBuffer,
        }
    }

    /// Checks the options against the caches of the family: no block cache, or `block_cache`, or `None` for
    /// that of the database, and `blob_cache`. The errors are RocksDB's.
    pub(crate) fn check(
        &self,
        no_block_cache: bool,
        block_cache: Option<&Arc<BlockCache>>,
        blob_cache: Option<&Arc<BlockCache>>,
    ) -> Result<()> {
        if self.options != Charged::Fallback {
            return Err(Error::not_supported(format!(
                "{} is not supported",
                charging("Enable/Disable", EntryRole::DataBlock)
            )));
        }
        let enabled = self.options_overrides.keys().copied();
        for role in enabled.filter(|role| self.of(*role) == Charged::Enabled) {
            let refuse = |reason: &str| {
                let text = format!("{} but {reason}", charging("Enable", role.into()));
                Err(Error::invalid_argument(text))
            };
            if no_block_cache {
                return refuse("block cache is disabled");
            }
            if role != CacheEntryRole::BlobCache {
                continue;
            }
            match (blob_cache, block_cache) {
                (None, _) => return refuse("blob cache is not configured"),
                (Some(blobs), Some(blocks)) if Arc::ptr_eq(blobs, blocks) => {
                    return refuse("blob cache is the same as block cache");
                }
                (Some(blobs), blocks)
                    if blobs.capacity() > blocks.map_or(DEFAULT_CACHE_SIZE, |cache| cache.capacity()) =>
                {
                    return refuse("blob cache capacity is larger than block cache capacity");
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn charging(change: &str, role: EntryRole) -> String {
    let name = role.name();
    format!("{change} CacheEntryRoleOptions::charged for CacheEntryRole {name}")
}

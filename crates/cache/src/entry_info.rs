//! Descriptions of entries.

use crate::options::{CacheKey, EntryRole, Priority};

/// An entry, as [`Cache::entries`](crate::Cache::entries) reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryInfo {
    /// The entry's key.
    pub key: CacheKey,
    /// The entry's part of the usage, in bytes.
    pub charge: usize,
    /// The priority the entry was inserted with.
    pub priority: Priority,
    /// The role the entry was inserted with.
    pub role: EntryRole,
    /// The number of guards and handles that pin the entry.
    pub pins: u64,
    /// True if the entry is not, or no longer, in the table: its last pin frees it.
    pub erased: bool,
}

/// The entries of one role: their number and usage.
///
/// See the example of [`Cache`](crate::Cache).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoleUsage {
    /// The role of the entry in the cache.
    pub role: EntryRole,
    /// The number of entries, including erased ones that are still pinned.
    pub entries: usize,
    /// The sum of the entries' charges, in bytes.
    pub usage: usize,
}

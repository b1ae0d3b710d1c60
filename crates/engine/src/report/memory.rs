//! The memory ledger: the memory that a database uses, by purpose.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use cache::{RoleUsage, SecondaryUsage};
use sst::{BlockCache, TableMemory};

use crate::state::column_family::Family;
use crate::state::db_inner::DbInner;
use crate::state::handle::Db;

/// The memory of a database in bytes; see [`Db::memory`]. Not included: buffers of running jobs, the
/// readahead of iterators, and the overhead of the allocator.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// let memory = db.memory();
/// println!("{memory}");
/// for cache in &memory.block_caches {
///     println!("{}: {} bytes pinned of {}", cache.name, cache.pinned, cache.capacity);
/// }
/// assert!(memory.total() >= memory.memtables);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryLedger {
    /// Memtables that are written to or wait for their flush, with their overhead per row.
    pub memtables: u64,
    /// Flushed memtables that iterators, or snapshots of a secondary, still hold.
    pub pinned_memtables: u64,
    /// The block and blob caches of the families, each once and with all its contents, even if other
    /// databases share it.
    pub block_caches: Vec<CacheMemory>,
    /// Indexes that open tables own, including replaced tables that are still read.
    pub indexes: u64,
    /// Filters that open tables own.
    pub filters: u64,
    /// Other memory of open tables: properties, range tombstones.
    pub tables: u64,
    /// The cursors of open iterators, counted when they are opened. Readahead, and keys and values assembled
    /// from parts, are not included.
    pub iterators: u64,
    /// Mapped, populated windows of WALs. The kernel writes them back by itself and counts them as shared
    /// memory.
    pub wal_windows: u64,
}

/// The memory of a block cache, by role.
///
/// See the example of [`MemoryLedger`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheMemory {
    /// The kind of the cache: `LRUCache` or `HyperClockCache`, for instance.
    pub name: &'static str,
    /// The capacity in bytes.
    pub capacity: u64,
    /// The pinned bytes: blocks held by iterators, values and tables.
    pub pinned: u64,
    /// The bytes of the contents, by role.
    pub roles: Vec<RoleUsage>,
    /// The contents of the secondary cache, if there is one.
    pub secondary: Option<SecondaryUsage>,
}

impl MemoryLedger {
    /// The sum of all lines in bytes.
    pub fn total(&self) -> u64 {
        self.lines().iter().map(|(_, bytes)| bytes).sum()
    }

    /// Every line: its purpose, and its bytes.
    pub fn lines(&self) -> Vec<(String, u64)> {
        let mut lines = vec![
            ("memtables".to_owned(), self.memtables),
            ("memtables pinned".to_owned(), self.pinned_memtables),
        ];
        for cache in &self.block_caches {
            let used = cache.roles.iter().filter(|of_role| of_role.entries > 0);
            lines.extend(used.map(|of_role| {
                let name = format!("block cache {}", of_role.role.name());
                (name, of_role.usage as u64)
            }));
            let secondary = cache.secondary.iter().flat_map(|secondary| &secondary.roles);
            let used = secondary.filter(|of_role| of_role.entries > 0);
            lines.extend(used.map(|of_role| {
                let name = format!("secondary cache {}", of_role.role.name());
                (name, of_role.usage as u64)
            }));
        }
        lines.extend([
            ("indexes".to_owned(), self.indexes),
            ("filters".to_owned(), self.filters),
            ("tables".to_owned(), self.tables),
            ("iterators".to_owned(), self.iterators),
            ("WAL windows".to_owned(), self.wal_windows),
        ]);
        lines
    }
}

impl fmt::Display for MemoryLedger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, bytes) in self.lines() {
            writeln!(f, "{name}: {bytes}")?;
        }
        writeln!(f, "total: {}", self.total())
    }
}

impl Db {
    /// Returns the memory of the database, by purpose. The property `esker.memory` is the same as text, and
    /// the statistics dumps in LOG contain it.
    ///
    /// The cost is a pass over all tables, current ones and those held by iterators, and over the entries of
    /// the caches. The call waits for the write in progress.
    pub fn memory(&self) -> MemoryLedger {
        self.inner().memory()
    }
}

impl DbInner {
    pub(crate) fn memory(&self) -> MemoryLedger {
        let mut ledger = MemoryLedger {
            wal_windows: {
                let mut writer = self.write.queue.lock();
                writer.wal.as_mut().map_or(0, |wal| wal.file_mut().mapped_bytes())
            },
            ..MemoryLedger::default()
        };
        let families: Vec<Arc<Family>> = {
            let state = self.state.lock();
            for family in state.families.values() {
                let waiting = family.immutable.iter().map(|immutable| &immutable.memory);
                let memory = std::iter::once(&family.mem).chain(waiting);
                ledger.memtables += memory
                    .map(|memory| memory.table.memory_allocated() as u64)
                    .sum::<u64>();
                let pinned = family.pinned().map(|memtable| memtable.memory_allocated() as u64);
                ledger.pinned_memtables += pinned.sum::<u64>();
            }
            let families = state.families.values();
            families.map(|family| family.family.clone()).collect()
        };
        let mut caches: Vec<Arc<BlockCache>> = Vec::new();
        for family in &families {
            let tables = &family.tables;
            for cache in [
                tables.block_cache(),
                family.values.blobs.cache(),
                tables.row_cache(),
            ] {
                if let Some(cache) = cache
                    && !caches.iter().any(|known| Arc::ptr_eq(known, cache))
                {
                    caches.push(cache.clone());
                }
            }
            let iterators = family.iterators.list();
            ledger.iterators += iterators.iter().map(|open| open.bytes as u64).sum::<u64>();
            // A file can be part of many versions, and is counted once.
            let mut counted = HashSet::new();
            for super_version in family.replaced.alive().chain([family.super_version.load_full()]) {
                for (_, file) in super_version.version.all_files() {
                    if counted.insert(file.number) {
                        let TableMemory { index, filter, other } = family.tables.memory(file);
                        ledger.indexes += index as u64;
                        ledger.filters += filter as u64;
                        ledger.tables += other as u64;
                    }
                }
            }
        }
        ledger.block_caches = caches
            .iter()
            .map(|cache| CacheMemory {
                name: cache.name(),
                capacity: cache.capacity() as u64,
                pinned: cache.pinned_usage() as u64,
                roles: cache.usage_by_role(None).to_vec(),
                secondary: cache.secondary_usage(),
            })
            .collect();
        ledger
    }
}

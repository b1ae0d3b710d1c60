//! The memory ledger: what a database has in memory, by what it is for.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use cache::{RoleUsage, SecondaryUsage};
use sst::{BlockCache, TableMemory};

use super::column_family::Family;
use super::{Db, DbInner};

/// What a database has in memory, in bytes; see [`Db::memory`]. Not in it: what a job holds while it runs, what an iterator reads ahead,
/// and what the allocator needs for itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryLedger {
    /// Memtables that are written to, or wait to be flushed, and the rows' bookkeeping in them.
    pub memtables: u64,
    /// Memtables that are flushed and still held by iterators or snapshots of a secondary.
    pub pinned_memtables: u64,
    /// Caches of its families, of blocks and of blobs, each once, with all that lies in it: other databases may share it.
    pub block_caches: Vec<CacheMemory>,
    /// Indexes that open tables own, those of replaced tables among them that somebody still reads.
    pub indexes: u64,
    /// Filters that open tables own.
    pub filters: u64,
    /// What else open tables take: properties, range deletions.
    pub tables: u64,
    /// Open iterators: their cursors, counted when they are opened. What they read ahead is not in it, nor keys and values they put
    /// together.
    pub iterators: u64,
    /// Windows of WALs, mapped and populated. The kernel writes them back by itself, and counts them as shared.
    pub wal_windows: u64,
}

/// A block cache, by what is in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheMemory {
    /// Its kind.
    pub name: &'static str,
    /// Bytes it may hold.
    pub capacity: u64,
    /// Bytes that are pinned: blocks that iterators, values and tables hold.
    pub pinned: u64,
    /// What is in it.
    pub roles: Vec<RoleUsage>,
    /// What is in the secondary cache behind it, if there is one.
    pub secondary: Option<SecondaryUsage>,
}

impl MemoryLedger {
    /// The sum of all lines.
    pub fn total(&self) -> u64 {
        self.lines().iter().map(|(_, bytes)| bytes).sum()
    }

    /// Every line: what it is for, and bytes.
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
    /// What the database has in memory, by what it is for. Property `esker.memory` is the same as text, and the LOG's dumps of
    /// statistics hold it.
    ///
    /// Costs a pass over all tables, in use or held by iterators, and over the entries of the caches, and waits for a write that is under
    /// way.
    pub fn memory(&self) -> MemoryLedger {
        self.inner().memory()
    }
}

impl DbInner {
    pub(crate) fn memory(&self) -> MemoryLedger {
        let mut ledger = MemoryLedger {
            wal_windows: {
                let mut writer = self.writer.lock();
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
            for cache in [family.tables.block_cache(), family.values.blobs.cache()] {
                if let Some(cache) = cache
                    && !caches.iter().any(|known| Arc::ptr_eq(known, cache))
                {
                    caches.push(cache.clone());
                }
            }
            let iterators = family.iterators.list();
            ledger.iterators += iterators.iter().map(|open| open.bytes as u64).sum::<u64>();
            // A file is in many versions.
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

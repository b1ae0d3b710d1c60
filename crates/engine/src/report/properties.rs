//! The properties of databases. Each has one row: its name, whether it is one of a family or of the database,
//! its meaning with the unit, and its value.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use compact::levels::LevelTargets;
use compact::stall::StallCondition;
use manifest::Version;
use sst::BlockCache;

use self::PropertyScope::{Database, Family as OfFamily};
use crate::report::dump_stats::{cache_stats, file_histogram};
use crate::report::table_properties;
use crate::report::version_texts::{BlobStats, level_stats, sstables};
use crate::state::column_family::Family;
use crate::state::db_inner::DbInner;
use crate::state::db_state::{DbState, FamilyState, LiveWal};

/// A property of a database or a column family: RocksDB's, or one of Esker's, whose name begins with
/// `esker.`.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// use esker::{Property, PropertyKind, PropertyScope};
///
/// let family = db.default_column_family();
/// for property in Property::ALL {
///     if property.kind == PropertyKind::Int && property.scope == PropertyScope::Database {
///         println!("{}: {:?}", property.name, db.property_int(&family, property.name));
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Property {
    /// The name. `<N>` at its end is the place of a number, which `doc` explains.
    pub name: &'static str,
    /// The kind of its value.
    pub kind: PropertyKind,
    /// The extent of its value.
    pub scope: PropertyScope,
    /// The meaning of its value, with the unit.
    pub doc: &'static str,
    pub(super) aggregation: Aggregation,
    value: PropertyValue,
}

/// The kind of the value of a [`Property`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PropertyKind {
    /// A number, for [`Db::property_int`](crate::Db::property_int); as text, its digits.
    Int,
    /// A text.
    Text,
    /// A text that has pairs of a name and a value: in RocksDB also a value of `GetMapProperty`.
    Map,
}

/// The extent of the value of a [`Property`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PropertyScope {
    /// The value is that of a column family.
    Family,
    /// The value is that of the database: the same for each family.
    Database,
}

/// The sum of a number over all families.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aggregation {
    /// Each family counts.
    Families,
    /// Each block cache counts, once for all families that share it.
    BlockCaches,
}

/// The function of a property's value.
#[derive(Clone, Copy, Debug)]
enum PropertyValue {
    Int(fn(&Query<'_>) -> Option<u64>),
    Text(fn(&Query<'_>) -> Option<String>),
}

impl Property {
    /// All properties, those about the same subject together.
    pub const ALL: &'static [Property] = ROWS;

    /// The property of that name, with a number in the place of `<N>`.
    pub fn of_name(name: &str) -> Option<&'static Property> {
        Self::ALL.iter().find(|row| row.number_in(name).is_some())
    }

    /// The number that `name` has in the place of `<N>`, or 0 if this property has none; `None` if `name` is
    /// not a name of this property.
    pub(super) fn number_in(&self, name: &str) -> Option<usize> {
        match self.name.strip_suffix("<N>") {
            Some(beginning) => name.strip_prefix(beginning)?.parse().ok(),
            None => (self.name == name).then_some(0),
        }
    }

    /// The value as a number; `None` if it is a text.
    pub(super) fn int(&self, query: &Query<'_>) -> Option<u64> {
        match self.value {
            PropertyValue::Int(value) => value(query),
            PropertyValue::Text(_) => None,
        }
    }

    /// The value as text.
    pub(super) fn text(&self, query: &Query<'_>) -> Option<String> {
        match self.value {
            PropertyValue::Int(value) => value(query).map(|number| number.to_string()),
            PropertyValue::Text(value) => value(query),
        }
    }

    const fn sum_of_block_caches(mut self) -> Property {
        self.aggregation = Aggregation::BlockCaches;
        self
    }
}

/// A row of a number.
const fn int(
    name: &'static str,
    scope: PropertyScope,
    doc: &'static str,
    value: fn(&Query<'_>) -> Option<u64>,
) -> Property {
    row(name, PropertyKind::Int, scope, doc, PropertyValue::Int(value))
}

/// A row of a text.
const fn text(
    name: &'static str,
    scope: PropertyScope,
    doc: &'static str,
    value: fn(&Query<'_>) -> Option<String>,
) -> Property {
    row(name, PropertyKind::Text, scope, doc, PropertyValue::Text(value))
}

/// A row of a text of pairs.
const fn map(
    name: &'static str,
    scope: PropertyScope,
    doc: &'static str,
    value: fn(&Query<'_>) -> Option<String>,
) -> Property {
    row(name, PropertyKind::Map, scope, doc, PropertyValue::Text(value))
}

const fn row(
    name: &'static str,
    kind: PropertyKind,
    scope: PropertyScope,
    doc: &'static str,
    value: PropertyValue,
) -> Property {
    Property {
        name,
        kind,
        scope,
        doc,
        aggregation: Aggregation::Families,
        value,
    }
}

const ROWS: &[Property] = &[
    // Files.
    text(
        "rocksdb.num-files-at-level<N>",
        OfFamily,
        "The number of tables of level N",
        |of| {
            let (version, level) = of.version_and_level()?;
            Some(version.files(level).len().to_string())
        },
    ),
    text(
        "rocksdb.levelstats",
        OfFamily,
        "The number and the size in MiB of the tables of each level",
        |of| Some(level_stats(&of.version())),
    ),
    text(
        "rocksdb.sstables",
        OfFamily,
        "Number, size in bytes, sequence numbers and keys of each table",
        |of| Some(sstables(&of.version())),
    ),
    int(
        "rocksdb.total-sst-files-size",
        OfFamily,
        "The bytes of the tables of every version that is in use or read",
        |of| of.own(|own| own.version.total_bytes() + of.family.tables.zombie_bytes()),
    ),
    int(
        "rocksdb.live-sst-files-size",
        OfFamily,
        "The bytes of the tables of the current version",
        |of| of.own(|own| own.version.total_bytes()),
    ),
    text(
        "rocksdb.live-sst-files-size-at-temperature<N>",
        OfFamily,
        "The bytes of the tables of the current version that have RocksDB's temperature N",
        |of| {
            let temperature = u8::try_from(of.number).ok()?;
            let version = of.version();
            let files = version
                .all_files()
                .filter(|(_, file)| file.temperature.0 == temperature);
            Some(files.map(|(_, file)| file.size).sum::<u64>().to_string())
        },
    ),
    int(
        "rocksdb.obsolete-sst-files-size",
        Database,
        "The bytes of tables that no version has and that are not deleted yet",
        |of| Some(of.db.obsolete.table_bytes()),
    ),
    int(
        "rocksdb.estimate-live-data-size",
        OfFamily,
        "The estimated bytes of live data: tables that overlap none below them, and blobs that are not garbage",
        |of| Some(of.own(|own| own.version.clone())?.estimate_live_data_size()),
    ),
    int(
        "rocksdb.estimate-num-keys",
        OfFamily,
        "The estimated number of keys: entries of memtables and tables less twice the deletions. Opens tables that are not open",
        |of| Some(of.estimate_num_keys()),
    ),
    int(
        "rocksdb.base-level",
        OfFamily,
        "The level that compactions of L0 write to",
        |of| of.own(|own| LevelTargets::new(&own.version, &of.family.current().leveled()).base_level as u64),
    ),
    int(
        "rocksdb.is-file-deletions-enabled",
        Database,
        "1 if obsolete files are deleted, 0 while deletions are disabled",
        |of| Some(u64::from(!of.db.obsolete.is_held())),
    ),
    // Properties of tables.
    map(
        "rocksdb.aggregated-table-properties",
        OfFamily,
        "The sums of the properties of all tables. Opens tables that are not open",
        |of| table_properties::aggregated(of.family, &of.version(), None).ok(),
    ),
    map(
        "rocksdb.aggregated-table-properties-at-level<N>",
        OfFamily,
        "The sums of the properties of the tables of level N. Opens tables that are not open",
        |of| {
            let (version, level) = of.version_and_level()?;
            table_properties::aggregated(of.family, &version, Some(level)).ok()
        },
    ),
    text(
        "rocksdb.compression-ratio-at-level<N>",
        OfFamily,
        "The bytes of keys and values divided by the stored bytes of data blocks, of the tables of level N; -1 without tables. Opens tables that are not open",
        |of| {
            let (version, level) = of.version_and_level()?;
            let ratio = table_properties::compression_ratio(of.family, &version, level).ok()?;
            Some(format!("{ratio:.6}"))
        },
    ),
    // Blob files.
    text(
        "rocksdb.blob-stats",
        OfFamily,
        "The number of blob files, their bytes, their garbage in bytes, and the space amplification",
        |of| Some(BlobStats::of(&of.version()).to_string()),
    ),
    int(
        "rocksdb.num-blob-files",
        OfFamily,
        "The number of blob files of the current version",
        |of| of.own(|own| own.version.blob_files().len() as u64),
    ),
    int(
        "rocksdb.total-blob-file-size",
        OfFamily,
        "The bytes of the blob files of every version that is in use or read",
        |of| {
            of.own(|own| {
                let zombies = of.db.obsolete.zombie_blob_bytes.load(Ordering::Relaxed);
                BlobStats::of(&own.version).file_size + zombies
            })
        },
    ),
    int(
        "rocksdb.live-blob-file-size",
        OfFamily,
        "The bytes of the blob files of the current version",
        |of| of.own(|own| BlobStats::of(&own.version).file_size),
    ),
    int(
        "rocksdb.live-blob-file-garbage-size",
        OfFamily,
        "The bytes of values in blob files of the current version that no table refers to",
        |of| of.own(|own| BlobStats::of(&own.version).garbage_size),
    ),
    // Memtables.
    int(
        "rocksdb.num-entries-active-mem-table",
        OfFamily,
        "The number of entries of the active memtable",
        |of| of.own(|own| own.mem.table.num_entries()),
    ),
    int(
        "rocksdb.num-deletes-active-mem-table",
        OfFamily,
        "The number of deletions in the active memtable",
        |of| of.own(|own| own.mem.table.num_deletes()),
    ),
    int(
        "rocksdb.cur-size-active-mem-table",
        OfFamily,
        "The memory of the active memtable in bytes",
        |of| of.own(|own| own.mem.table.memory_allocated() as u64),
    ),
    int(
        "rocksdb.cur-size-all-mem-tables",
        OfFamily,
        "The memory in bytes of the memtables that are not flushed",
        |of| of.own(unflushed_memory),
    ),
    int(
        "rocksdb.size-all-mem-tables",
        OfFamily,
        "The memory in bytes of the memtables that are not flushed and of those that readers hold",
        |of| {
            of.own(|own| {
                let pinned = own.pinned().map(|memtable| memtable.memory_allocated() as u64);
                unflushed_memory(own) + pinned.sum::<u64>()
            })
        },
    ),
    int(
        "rocksdb.num-immutable-mem-table",
        OfFamily,
        "The number of immutable memtables that are not flushed",
        |of| of.own(|own| own.immutable.len() as u64),
    ),
    int(
        "rocksdb.num-immutable-mem-table-flushed",
        OfFamily,
        "0: flushed memtables are not kept in memory for transactions",
        |_| Some(0),
    ),
    int(
        "rocksdb.num-entries-imm-mem-tables",
        OfFamily,
        "The number of entries of the immutable memtables",
        |of| {
            of.own(|own| {
                let immutable = own.immutable.iter();
                immutable.map(|one| one.memory.table.num_entries()).sum()
            })
        },
    ),
    int(
        "rocksdb.num-deletes-imm-mem-tables",
        OfFamily,
        "The number of deletions in the immutable memtables",
        |of| {
            of.own(|own| {
                let immutable = own.immutable.iter();
                immutable.map(|one| one.memory.table.num_deletes()).sum()
            })
        },
    ),
    // Jobs.
    int(
        "rocksdb.mem-table-flush-pending",
        OfFamily,
        "1 if a flush is due",
        |of| of.own(|own| u64::from(own.wants_flush())),
    ),
    int(
        "rocksdb.compaction-pending",
        OfFamily,
        "1 if a compaction is due",
        |of| {
            of.state(|state| {
                let own = state.families.get(&of.family.id)?;
                Some(u64::from(of.db.wants_compaction(state, own)))
            })
        },
    ),
    int(
        "rocksdb.estimate-pending-compaction-bytes",
        OfFamily,
        "The estimated bytes that compactions must write until every level is within its target",
        |of| of.own(|own| own.pending_compaction_bytes),
    ),
    int(
        "rocksdb.num-running-flushes",
        Database,
        "The number of running flushes",
        |of| Some(of.state(|state| state.running_flushes as u64)),
    ),
    int(
        "rocksdb.num-running-compactions",
        Database,
        "The number of running compactions",
        |of| Some(of.state(|state| state.running_compactions as u64)),
    ),
    int(
        "rocksdb.num-unscheduled-compactions",
        Database,
        "The number of families whose compaction is due and has not begun",
        |of| {
            Some(of.state(|state| {
                let families = state.families.values();
                families.filter(|own| of.db.wants_compaction(state, own)).count() as u64
            }))
        },
    ),
    int(
        "rocksdb.compaction-abort-count",
        Database,
        "The number of requests that hold compactions back",
        |of| Some(of.state(|state| state.compaction_holds.all as u64)),
    ),
    int(
        "rocksdb.background-errors",
        Database,
        "1 while the database takes no writes after a failure",
        |of| Some(of.state(|state| u64::from(state.background_error.is_some()))),
    ),
    text(
        "esker.verify",
        Database,
        "The progress of the background verification of files",
        |of| Some(of.db.verify_progress().to_string()),
    ),
    // Stalls.
    int(
        "rocksdb.is-write-stopped",
        Database,
        "1 while writes are stopped",
        |of| Some(of.state(|state| u64::from(matches!(state.stall(), StallCondition::Stopped { .. })))),
    ),
    int(
        "rocksdb.actual-delayed-write-rate",
        Database,
        "The rate of delayed writes in bytes per second; 0 if writes are not delayed",
        |of| {
            let rate = of.db.current.load().delayed_write_rate;
            let reason = of.state(|state| state.stall_reason(rate));
            let delayed = reason.filter(|reason| !reason.is_stop());
            Some(delayed.map_or(0, |reason| reason.write_rate))
        },
    ),
    map(
        "rocksdb.cf-write-stall-stats",
        OfFamily,
        "How often writers waited because of the family, by cause",
        |of| of.own(|own| format!("Write Stall (count): {}\n", own.stats.stalls.text())),
    ),
    map(
        "rocksdb.db-write-stall-stats",
        Database,
        "How often writers waited, by cause",
        |of| Some(format!("Write Stall (count): {}\n", of.db.stats.stalls().text())),
    ),
    // Statistics.
    text(
        "rocksdb.stats",
        OfFamily,
        "The texts of `rocksdb.cfstats-no-file-histogram` and `rocksdb.dbstats`",
        |of| Some(format!("{}{}", of.family_stats(), of.db.db_stats())),
    ),
    map(
        "rocksdb.cfstats",
        OfFamily,
        "The work of flushes and compactions by level and by priority, and the histograms of table reads",
        |of| Some(format!("{}{}", of.family_stats(), file_histogram(of.family))),
    ),
    text(
        "rocksdb.cfstats-no-file-histogram",
        OfFamily,
        "The work of flushes and compactions by level and by priority",
        |of| Some(of.family_stats()),
    ),
    text(
        "rocksdb.cf-file-histogram",
        OfFamily,
        "A histogram of the microseconds of table reads of each level, if statistics are on",
        |of| Some(file_histogram(of.family)),
    ),
    map(
        "rocksdb.dbstats",
        Database,
        "The writes, WAL syncs and stalls of the database",
        |of| Some(of.db.db_stats()),
    ),
    text(
        "rocksdb.options-statistics",
        Database,
        "The text of `Options::statistics`, if there is one",
        |of| Some(of.db.options.statistics.as_ref()?.to_string()),
    ),
    text(
        "esker.write-cost",
        OfFamily,
        "The bytes and the processor time of writes, flushes and compactions",
        |of| Some(of.db.write_cost(of.family, &of.version())),
    ),
    // Versions and snapshots.
    int(
        "rocksdb.num-snapshots",
        Database,
        "The number of snapshots that are not released",
        |of| Some(of.db.snapshots.len() as u64),
    ),
    int(
        "rocksdb.oldest-snapshot-time",
        Database,
        "The time of the oldest snapshot in seconds since 1970; 0 without snapshots",
        |of| Some(of.oldest_snapshot_time()),
    ),
    int(
        "rocksdb.oldest-snapshot-sequence",
        Database,
        "The sequence number of the oldest snapshot; 0 without snapshots",
        |of| Some(of.db.snapshots.oldest().unwrap_or(0)),
    ),
    int(
        "rocksdb.num-live-versions",
        OfFamily,
        "The number of versions that are in use or that readers hold",
        |of| of.num_live_versions(),
    ),
    int(
        "rocksdb.current-super-version-number",
        OfFamily,
        "The number of changes of the family's super version since the open",
        |of| Some(of.family.super_version_number.load(Ordering::Acquire)),
    ),
    text(
        "esker.pins",
        Database,
        "The iterators, snapshots and holds that keep memory and files: see `Db::pins`",
        |of| Some(of.db.pins().to_string()),
    ),
    // Memory.
    int(
        "rocksdb.estimate-table-readers-mem",
        OfFamily,
        "The memory in bytes of open tables outside of the block cache",
        |of| {
            let version = of.own(|own| own.version.clone())?;
            let tables = &of.family.tables;
            Some(
                version
                    .all_files()
                    .map(|(_, file)| tables.memory_usage(file))
                    .sum(),
            )
        },
    ),
    int(
        "rocksdb.block-cache-capacity",
        OfFamily,
        "The capacity of the family's block cache in bytes",
        |of| Some(of.block_cache()?.capacity() as u64),
    )
    .sum_of_block_caches(),
    int(
        "rocksdb.block-cache-usage",
        OfFamily,
        "The bytes of the entries of the family's block cache",
        |of| Some(of.block_cache()?.usage() as u64),
    )
    .sum_of_block_caches(),
    int(
        "rocksdb.block-cache-pinned-usage",
        OfFamily,
        "The bytes of the entries of the family's block cache that are in use",
        |of| Some(of.block_cache()?.pinned_usage() as u64),
    )
    .sum_of_block_caches(),
    int(
        "esker.block-cache-usage-of-family",
        OfFamily,
        "The bytes of the block cache that the family uses, if several families share it",
        |of| {
            let roles = of.family.tables.usage_by_role()?;
            Some(roles.iter().map(|of_role| of_role.usage as u64).sum())
        },
    ),
    map(
        "rocksdb.block-cache-entry-stats",
        OfFamily,
        "The number and the bytes of the entries of the family's block cache, by kind of block",
        |of| of.block_cache().map(cache_stats),
    ),
    map(
        "rocksdb.fast-block-cache-entry-stats",
        OfFamily,
        "The same as `rocksdb.block-cache-entry-stats`, since counting is cheap",
        |of| of.block_cache().map(cache_stats),
    ),
    int(
        "rocksdb.blob-cache-capacity",
        OfFamily,
        "The capacity of the family's blob cache in bytes",
        |of| Some(of.blob_cache()?.capacity() as u64),
    ),
    int(
        "rocksdb.blob-cache-usage",
        OfFamily,
        "The bytes of the entries of the family's blob cache",
        |of| Some(of.blob_cache()?.usage() as u64),
    ),
    int(
        "rocksdb.blob-cache-pinned-usage",
        OfFamily,
        "The bytes of the entries of the family's blob cache that are in use",
        |of| Some(of.blob_cache()?.pinned_usage() as u64),
    ),
    text(
        "esker.memory",
        Database,
        "The memory of the database in bytes, by purpose: see `Db::memory`",
        |of| Some(of.db.memory().to_string()),
    ),
    // WALs.
    int(
        "rocksdb.min-log-number-to-keep",
        Database,
        "The number of the oldest WAL with rows that are in no table",
        |of| Some(of.state(DbState::oldest_needed_wal)),
    ),
    int(
        "esker.oldest-wal-number",
        OfFamily,
        "The number of the oldest WAL with rows of the family that are in no table; 0 without such a WAL",
        |of| of.of_oldest_wal(|wal| wal.number),
    ),
    int(
        "esker.oldest-wal-age-micros",
        OfFamily,
        "The microseconds since the creation of that WAL, or since recovery found it; 0 without such a WAL",
        |of| {
            of.of_oldest_wal(|wal| {
                let now = of.db.options.clock.now();
                now.saturating_sub(wal.begun).as_micros() as u64
            })
        },
    ),
    // Secondaries and followers.
    text(
        "esker.secondary",
        Database,
        "The progress of a secondary or follower",
        |of| Some(of.db.secondary.as_ref()?.status().to_string()),
    ),
    int(
        "esker.secondary-sequence-number",
        Database,
        "The last sequence number that a secondary or follower has",
        |of| Some(of.db.secondary.as_ref()?.status().sequence_number),
    ),
    int(
        "esker.secondary-age-micros",
        Database,
        "The microseconds since the data of a secondary or follower was up to date",
        |of| {
            let status = of.db.secondary.as_ref()?.status();
            Some(status.age(of.db.options.clock.now()).as_micros() as u64)
        },
    ),
];

/// A query for the value of a property.
pub(super) struct Query<'a> {
    db: &'a DbInner,
    family: &'a Arc<Family>,
    /// The number in the place of `<N>` in the name; 0 if the name has none.
    number: usize,
}

impl<'a> Query<'a> {
    pub(super) fn new(db: &'a DbInner, family: &'a Arc<Family>, number: usize) -> Query<'a> {
        Query { db, family, number }
    }

    /// Reads the state of the database under the database mutex.
    fn state<T>(&self, read: impl FnOnce(&DbState) -> T) -> T {
        read(&self.db.state.lock())
    }

    /// Reads the state of the family under the database mutex; `None` if the family was dropped.
    fn own<T>(&self, read: impl FnOnce(&FamilyState) -> T) -> Option<T> {
        self.state(|state| state.families.get(&self.family.id).map(read))
    }

    /// The current version, without a lock; also of a family that was dropped.
    fn version(&self) -> Arc<Version> {
        self.family.super_version.load().version.clone()
    }

    /// The current version, and the level of the name; `None` if the family does not have that level.
    fn version_and_level(&self) -> Option<(Arc<Version>, usize)> {
        let version = self.version();
        (self.number < version.num_levels()).then_some((version, self.number))
    }

    fn block_cache(&self) -> Option<&'a Arc<BlockCache>> {
        self.family.tables.block_cache()
    }

    fn blob_cache(&self) -> Option<&'a Arc<BlockCache>> {
        self.family.values.blobs.cache()
    }

    fn family_stats(&self) -> String {
        self.db.family_stats(self.family, &self.version())
    }

    fn oldest_snapshot_time(&self) -> u64 {
        let clock = &self.db.options.clock;
        let oldest = self.db.snapshots.oldest_since();
        oldest.map_or(0, |since| {
            let age = clock.now().saturating_sub(since).as_micros() as u64;
            clock.unix_micros().saturating_sub(age) / 1_000_000
        })
    }

    fn num_live_versions(&self) -> Option<u64> {
        let current = self.own(|own| own.version.clone())?;
        let replaced = self.family.replaced.alive();
        let versions = replaced.map(|super_version| super_version.version.clone());
        let distinct: HashSet<*const Version> = versions
            .chain([current])
            .map(|version| Arc::as_ptr(&version))
            .collect();
        Some(distinct.len() as u64)
    }

    /// Reads the oldest WAL with rows of the family that are in no table. 0 if every row of the family is in
    /// a table; `None` if the family was dropped.
    fn of_oldest_wal(&self, read: impl FnOnce(&LiveWal) -> u64) -> Option<u64> {
        // No WAL has this number.
        const NONE: u64 = u64::MAX;
        self.state(|state| {
            let number = state.families.get(&self.family.id)?.oldest_wal(NONE);
            let wal = state.wals.iter().find(|wal| wal.number >= number);
            Some(wal.map_or(0, read))
        })
    }

    /// The number of entries in memtables and tables, less twice the number of deletions: on average, a
    /// deletion hides one entry and is an entry itself.
    fn estimate_num_keys(&self) -> u64 {
        let super_version = self.family.super_version.load();
        let (mut entries, mut deletions) = (0u64, 0u64);
        for mem in std::iter::once(&super_version.mem).chain(&super_version.immutable) {
            entries += mem.num_entries();
            deletions += mem.num_deletes();
        }
        for (_, file) in super_version.version.all_files() {
            // A table that cannot be opened adds no keys to the estimate; readers of the table get the error.
            let _ = self.family.tables.with_table(file, |table| {
                entries += table.properties().num_entries;
                deletions += table.properties().num_deletions;
                Ok(())
            });
        }
        entries.saturating_sub(2 * deletions)
    }
}

/// The memory in bytes of the memtables of a family that are not flushed.
fn unflushed_memory(own: &FamilyState) -> u64 {
    let immutable = own.immutable.iter();
    let immutable = immutable.map(|one| one.memory.table.memory_allocated() as u64);
    own.mem.table.memory_allocated() as u64 + immutable.sum::<u64>()
}

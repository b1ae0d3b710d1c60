//! Properties whose values are numbers.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use compact::stall::StallCondition;
use manifest::Version;

use crate::report::property::BlobStats;
use crate::state::column_family::Family;
use crate::state::db_inner::DbInner;
use crate::state::db_state::{DbState, FamilyState};

impl DbInner {
    /// The value of a property by its name; `None` if there is no such number.
    pub(crate) fn property_int(&self, family: &Arc<Family>, name: &str) -> Option<u64> {
        if let Some(name) = name.strip_prefix("esker.secondary-") {
            let status = self.secondary.as_ref()?.status();
            return match name {
                "sequence-number" => Some(status.sequence_number),
                "age-micros" => Some(status.age(self.options.clock.now()).as_micros() as u64),
                _ => None,
            };
        }
        if name == "esker.block-cache-usage-of-family" {
            let roles = family.tables.usage_by_role()?;
            return Some(roles.iter().map(|of_role| of_role.usage as u64).sum());
        }
        if let Some(name) = name.strip_prefix("esker.oldest-wal-") {
            return self.oldest_wal(family, name);
        }
        let name = name.strip_prefix("rocksdb.")?;
        let state = self.state.lock();
        let memtables = |family: &FamilyState| {
            let immutable = family
                .immutable
                .iter()
                .map(|immutable| immutable.memory.table.memory_allocated() as u64);
            family.mem.table.memory_allocated() as u64 + immutable.sum::<u64>()
        };
        let own = state.families.get(&family.id);
        Some(match name {
            // Flushed memtables are not kept in memory for transactions, so there are none to count.
            "num-immutable-mem-table-flushed" => 0,
            "num-immutable-mem-table" => own?.immutable.len() as u64,
            "mem-table-flush-pending" => u64::from(own?.wants_flush()),
            "compaction-pending" => u64::from(self.wants_compaction(&state, own?)),
            "num-running-flushes" | "num-running-compactions" => running_jobs(&state, name),
            "compaction-abort-count" => state.compaction_holds.all as u64,
            "background-errors" => u64::from(state.background_error.is_some()),
            "cur-size-active-mem-table" => own?.mem.table.memory_allocated() as u64,
            "cur-size-all-mem-tables" => memtables(own?),
            "size-all-mem-tables" => {
                let pinned = own?.pinned().map(|memtable| memtable.memory_allocated() as u64);
                memtables(own?) + pinned.sum::<u64>()
            }
            "num-entries-active-mem-table" => own?.mem.table.num_entries(),
            "num-entries-imm-mem-tables" => own?
                .immutable
                .iter()
                .map(|immutable| immutable.memory.table.num_entries())
                .sum(),
            "num-deletes-active-mem-table" => own?.mem.table.num_deletes(),
            "num-deletes-imm-mem-tables" => own?
                .immutable
                .iter()
                .map(|immutable| immutable.memory.table.num_deletes())
                .sum(),
            "estimate-num-keys" => {
                drop(state);
                return Some(self.estimate_num_keys(family));
            }
            "estimate-table-readers-mem" => {
                let version = own?.version.clone();
                drop(state);
                return Some(
                    version
                        .all_files()
                        .map(|(_, file)| family.tables.memory_usage(file))
                        .sum(),
                );
            }
            "current-super-version-number" => family.super_version_number.load(Ordering::Acquire),
            "num-live-versions" => {
                let current = own?.version.clone();
                drop(state);
                let replaced = family.replaced.alive();
                let versions = replaced.map(|super_version| super_version.version.clone());
                let distinct: HashSet<*const Version> = versions
                    .chain([current])
                    .map(|version| Arc::as_ptr(&version))
                    .collect();
                return Some(distinct.len() as u64);
            }
            "num-unscheduled-compactions" => {
                let families = state.families.values();
                families.filter(|own| self.wants_compaction(&state, own)).count() as u64
            }
            "is-file-deletions-enabled" => u64::from(!self.obsolete.is_held()),
            "num-snapshots" => self.snapshots.len() as u64,
            "oldest-snapshot-time" => {
                let clock = &self.options.clock;
                let oldest = self.snapshots.oldest_since();
                oldest.map_or(0, |since| {
                    let age = clock.now().saturating_sub(since).as_micros() as u64;
                    clock.unix_micros().saturating_sub(age) / 1_000_000
                })
            }
            "oldest-snapshot-sequence" => self.snapshots.oldest().unwrap_or(0),
            "estimate-live-data-size" => {
                let version = own?.version.clone();
                drop(state);
                return Some(version.estimate_live_data_size());
            }
            "total-sst-files-size" => own?.version.total_bytes() + family.tables.zombie_bytes(),
            "live-sst-files-size" => own?.version.total_bytes(),
            "obsolete-sst-files-size" => self.obsolete.table_bytes(),
            "estimate-pending-compaction-bytes" => own?.pending_compaction_bytes,
            "min-log-number-to-keep" => state.oldest_needed_wal(),
            "base-level" => {
                compact::levels::LevelTargets::new(&own?.version, &family.current().leveled()).base_level
                    as u64
            }
            "num-blob-files" => own?.version.blob_files().len() as u64,
            "live-blob-file-size" => BlobStats::of(&own?.version).file_size,
            "total-blob-file-size" => {
                let live = BlobStats::of(&own?.version).file_size;
                live + self.obsolete.zombie_blob_bytes.load(Ordering::Relaxed)
            }
            "live-blob-file-garbage-size" => BlobStats::of(&own?.version).garbage_size,
            "is-write-stopped" => u64::from(matches!(state.stall(), StallCondition::Stopped { .. })),
            "actual-delayed-write-rate" => {
                let reason = state.stall_reason(self.current.load().delayed_write_rate);
                reason.map_or(0, |reason| match reason.is_stop() {
                    true => 0,
                    false => reason.write_rate,
                })
            }
            "block-cache-capacity" => family.tables.block_cache()?.capacity() as u64,
            "block-cache-usage" => family.tables.block_cache()?.usage() as u64,
            "block-cache-pinned-usage" => family.tables.block_cache()?.pinned_usage() as u64,
            "blob-cache-capacity" => family.values.blobs.cache()?.capacity() as u64,
            "blob-cache-usage" => family.values.blobs.cache()?.usage() as u64,
            "blob-cache-pinned-usage" => family.values.blobs.cache()?.pinned_usage() as u64,
            _ => return None,
        })
    }

    /// The oldest WAL with rows of `family` that are in no table: its `number`, or its `age-micros`, the time
    /// since its creation or since recovery found it. 0 if every row of the family is in a table.
    fn oldest_wal(&self, family: &Family, name: &str) -> Option<u64> {
        let state = self.state.lock();
        // No WAL has this number.
        const NONE: u64 = u64::MAX;
        let number = state.families.get(&family.id)?.oldest_wal(NONE);
        let wal = state.wals.iter().find(|wal| wal.number >= number);
        match name {
            "number" => Some(wal.map_or(0, |wal| wal.number)),
            "age-micros" => Some(wal.map_or(0, |wal| {
                self.options.clock.now().saturating_sub(wal.begun).as_micros() as u64
            })),
            _ => None,
        }
    }

    /// The number of entries in memtables and tables, less twice the number of deletions: on average, a
    /// deletion hides one entry and is an entry itself.
    fn estimate_num_keys(&self, family: &Family) -> u64 {
        let super_version = family.super_version.load();
        let (mut entries, mut deletions) = (0u64, 0u64);
        for mem in std::iter::once(&super_version.mem).chain(&super_version.immutable) {
            entries += mem.num_entries();
            deletions += mem.num_deletes();
        }
        for (_, file) in super_version.version.all_files() {
            // A table that cannot be opened adds no keys to the estimate; readers of the table get the error.
            let _ = family.tables.with_table(file, |table| {
                entries += table.properties().num_entries;
                deletions += table.properties().num_deletions;
                Ok(())
            });
        }
        entries.saturating_sub(2 * deletions)
    }
}

/// The number of running flushes or compactions, by the name of the property.
fn running_jobs(state: &DbState, name: &str) -> u64 {
    match name {
        "num-running-flushes" => state.running_flushes as u64,
        _ => state.running_compactions as u64,
    }
}

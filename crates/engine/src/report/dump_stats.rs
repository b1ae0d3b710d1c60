//! Statistics in RocksDB's format, for the properties `rocksdb.stats`, `rocksdb.cfstats` and
//! `rocksdb.dbstats` and for the info log, where they are dumped every
//! [`stats_dump_period_sec`](crate::Options::stats_dump_period_sec).

use base::statistics::Ticker;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use compact::stall::StallCause;
use manifest::Version;
use sst::BlockCache;

use crate::log::log_line;
use crate::state::column_family::Family;
use crate::state::db_inner::DbInner;
use crate::state::level_stats::{FamilyStats, count, size};
use crate::state::samples::Sample;
use crate::state::samples::Samples;

const GIB: f64 = (1u64 << 30) as f64;
const MIB: f64 = (1u64 << 20) as f64;

/// The writes in an interval.
pub(crate) struct Traffic {
    pub seconds: f64,
    pub keys: u64,
    pub bytes: u64,
    /// The total waiting time of all writers.
    pub stalled_seconds: f64,
}

impl DbInner {
    fn sample(&self) -> Sample {
        let stats = &self.stats;
        Sample {
            at: self.options.clock.now().saturating_sub(self.identity.opened),
            sequence: self.published.load(Ordering::Acquire),
            writes: stats.get(Ticker::WriteDone),
            bytes: stats.get(Ticker::BytesWritten),
            wal_writes: self.wal_tail.records.load(Ordering::Acquire),
            wal_syncs: stats.get(Ticker::WalSynced),
            wal_bytes: stats.get(Ticker::WalBytes),
            stall_micros: stats.get(Ticker::StallMicros),
        }
    }

    /// The writes since the database was opened, or its statistics were reset.
    pub(crate) fn traffic_since_reset(&self) -> Traffic {
        let (from, to) = (self.report.samples.lock().opened, self.sample());
        Traffic {
            seconds: to.at.saturating_sub(from.at).as_secs_f64(),
            keys: to.sequence.saturating_sub(from.sequence),
            bytes: to.bytes.saturating_sub(from.bytes),
            stalled_seconds: to.stall_micros.saturating_sub(from.stall_micros) as f64 / 1e6,
        }
    }

    /// Begins to count written rows.
    pub(crate) fn begin_samples(&self) {
        let opened = self.sample();
        *self.report.samples.lock() = Samples {
            opened,
            dumped: opened,
        };
    }

    /// Dumps statistics if that is due at `due`, and returns the time until the next dump; `None` if there
    /// will be none.
    pub(crate) fn dump_stats_when_due(&self, due: &mut Duration) -> Option<Duration> {
        let period = Duration::from_secs(self.current.load().stats_dump_period_sec);
        if period.is_zero() || !self.log.takes(crate::options::logger::InfoLogLevel::Info) {
            return None;
        }
        let now = self.options.clock.now();
        // If a shorter period was set meanwhile, the next dump is due after that period.
        *due = (*due).min(now + period);
        if now >= *due {
            self.dump_stats();
            *due = now + period;
        }
        Some(due.saturating_sub(now))
    }

    /// Writes the statistics of the database and of each family to the info log.
    pub(crate) fn dump_stats(&self) {
        log_line!(self.log, Info, "------- DUMPING STATS -------");
        let mut out = self.db_stats();
        self.report.samples.lock().dumped = self.sample();
        let families: Vec<Arc<Family>> = {
            let state = self.state.lock();
            let families = state.families.values();
            families.map(|family| family.family.clone()).collect()
        };
        let mut caches: Vec<Arc<BlockCache>> = Vec::new();
        let up = self.options.clock.now().saturating_sub(self.identity.opened);
        for family in &families {
            let version = family.super_version.load().version.clone();
            out.push_str(&self.family_stats(family, &version));
            out.push_str(&file_histogram(family));
            if let Some(own) = self.state.lock().families.get_mut(&family.id) {
                own.stats.begin_interval(up);
            }
            if let Some(cache) = family.tables.block_cache()
                && !caches.iter().any(|known| Arc::ptr_eq(known, cache))
            {
                caches.push(cache.clone());
            }
        }
        caches.iter().for_each(|cache| out.push_str(&cache_stats(cache)));
        let memory = self.memory();
        let lines = memory.lines();
        let lines: Vec<String> = lines
            .iter()
            .map(|(name, bytes)| format!("{name} {}", size(*bytes)))
            .collect();
        let _ = writeln!(
            out,
            "Memory of the database: {} in all: {}",
            size(memory.total()),
            lines.join(", ")
        );
        families
            .iter()
            .for_each(|family| out.push_str(&sampled_reads(family)));
        let _ = write!(out, "\n** Pins **\n{}", self.pins());
        log_line!(self.log, Info, "{out}");
        if let Some(statistics) = &self.options.statistics {
            log_line!(self.log, Info, "STATISTICS:\n{statistics}");
        }
    }

    /// The text of the property `rocksdb.dbstats`.
    pub(crate) fn db_stats(&self) -> String {
        let samples = *self.report.samples.lock();
        let now = self.sample();
        let mut out = format!(
            "\n** DB Stats **\nUptime(secs): {:.1} total, {:.1} interval\n",
            now.at.as_secs_f64(),
            now.at.saturating_sub(samples.dumped.at).as_secs_f64()
        );
        self.traffic(&mut out, "Cumulative", &samples.opened, &now);
        self.traffic(&mut out, "Interval", &samples.dumped, &now);
        let stats = &self.stats;
        let _ = writeln!(out, "Write Stall (count): {}", stats.stalls().text());
        let written = stats.get(Ticker::FlushWriteBytes).max(1);
        let amplification = (written + stats.get(Ticker::CompactWriteBytes)) as f64 / written as f64;
        // Writing to a string cannot fail.
        let _ = write!(
            out,
            "Flushed: {} bytes\nCompaction: {} bytes read, {} bytes written, {} trivial moves\n\
             Write amplification: {amplification:.2}\nStalled: {} us ({})\n",
            stats.get(Ticker::FlushWriteBytes),
            stats.get(Ticker::CompactReadBytes),
            stats.get(Ticker::CompactWriteBytes),
            stats.get(Ticker::TrivialMoves),
            stats.get(Ticker::StallMicros),
            StallCause::ALL
                .map(|cause| format!("{cause} {}", stats.stall_micros(cause)))
                .join(", "),
        );
        out
    }

    fn traffic(&self, out: &mut String, title: &str, from: &Sample, to: &Sample) {
        let seconds = to.at.saturating_sub(from.at).as_secs_f64().max(0.001);
        let keys = to.sequence.saturating_sub(from.sequence);
        let bytes = (to.bytes - from.bytes) as f64;
        // Cumulative values are in gigabytes, those of the last interval in megabytes.
        let (unit, name) = if title == "Cumulative" {
            (GIB, "GB")
        } else {
            (MIB, "MB")
        };
        // Each write counts as a group of its own.
        let writes = count(to.writes - from.writes);
        let keys = count(keys);
        let (wal_writes, syncs) = (to.wal_writes - from.wal_writes, to.wal_syncs - from.wal_syncs);
        let wal_bytes = (to.wal_bytes - from.wal_bytes) as f64;
        let stalled = to.stall_micros - from.stall_micros;
        let _ = write!(
            out,
            "{title} writes: {writes} writes, {keys} keys, {writes} commit groups, 1.0 writes per commit group, ingest: {:.2} {name}, {:.2} MB/s\n\
             {title} WAL: {} writes, {} syncs, {:.2} writes per sync, written: {:.2} GB, {:.2} MB/s\n\
             {title} stall: {:02}:{:02}:{:06.3} H:M:S, {:.1} percent\n",
            bytes / unit,
            bytes / MIB / seconds,
            count(wal_writes),
            count(syncs),
            wal_writes as f64 / (syncs as f64).max(1.0),
            wal_bytes / GIB,
            wal_bytes / MIB / seconds,
            stalled / 3_600_000_000,
            stalled / 60_000_000 % 60,
            (stalled % 60_000_000) as f64 / 1e6,
            stalled as f64 / 10_000.0 / seconds,
        );
    }

    /// The text of the property `rocksdb.cfstats` of a family whose current version is `version`.
    pub(crate) fn family_stats(&self, family: &Family, version: &Version) -> String {
        // The memory is computed without the database mutex, because this may iterate over many tables.
        let readers: usize = version
            .all_files()
            .map(|(_, file)| family.tables.memory_usage(file) as usize)
            .sum();
        let state = self.state.lock();
        let scores = compact::score::Scores::new(version, &family.current().leveled());
        let none = FamilyStats::default();
        let own = state.families.get(&family.id);
        let stats = own.map_or(&none, |own| &own.stats);
        let mut out = stats.table(&family.name, version, &scores);
        let up = self.options.clock.now().saturating_sub(self.identity.opened);
        out.push_str(&stats.totals(up));
        if let Some(own) = own {
            let memtables = std::iter::once(&own.mem)
                .chain(own.immutable.iter().map(|immutable| &immutable.memory))
                .map(|memory| memory.table.memory_allocated() as u64)
                .sum();
            let _ = write!(
                out,
                "Estimated pending compaction bytes: {}\nWrite Stall (count): {}\n{}Write stall: {}\nMemory of {}: memtables {}, indexes and filters of open tables {}\n",
                own.pending_compaction_bytes,
                own.stats.stalls.text(),
                own.stats.stalls_by_position(),
                own.stall_of_all(),
                family.name,
                size(memtables),
                size(readers as u64),
            );
        }
        out
    }
}

/// The contents of a block cache by role: `rocksdb.block-cache-entry-stats`.
pub(crate) fn cache_stats(cache: &Arc<BlockCache>) -> String {
    let (usage, capacity) = (cache.usage() as u64, cache.capacity() as u64);
    let mut out = format!(
        "Block cache {}@{:p} capacity: {} usage: {} occupancy: {} pinned: {}\n",
        cache.name(),
        Arc::as_ptr(cache),
        size(capacity),
        size(usage),
        cache.occupancy(),
        size(cache.pinned_usage() as u64)
    );
    out.push_str("Block cache entry stats(count,size,portion):");
    for of_role in cache.usage_by_role(None) {
        if of_role.entries > 0 {
            let portion = 100.0 * of_role.usage as f64 / capacity.max(1) as f64;
            let _ = write!(
                out,
                " {}({},{},{portion:.3}%)",
                of_role.role.name(),
                of_role.entries,
                size(of_role.usage as u64)
            );
        }
    }
    out.push('\n');
    if let Some(secondary) = cache.secondary_usage() {
        let entries: usize = secondary.roles.iter().map(|of_role| of_role.entries).sum();
        let _ = writeln!(
            out,
            "Block cache secondary, compressed, capacity: {} usage: {} occupancy: {entries}",
            size(secondary.capacity as u64),
            size(secondary.usage as u64)
        );
    }
    out
}

/// The text of the property `rocksdb.cf-file-histogram`.
pub(crate) fn file_histogram(family: &Family) -> String {
    format!(
        "\n** File Read Latency Histogram By Level [{}] **\n{}",
        family.name,
        family.tables.read_latency()
    )
}

/// The maximum number of tables of a family whose reads are listed in a dump of statistics.
const MOST_READ: usize = 1000;

/// A line with the file number and the estimated reads of each table that was read, the most read table
/// first.
fn sampled_reads(family: &Family) -> String {
    let version = family.super_version.load().version.clone();
    let mut reads: Vec<(u64, u64)> = version
        .all_files()
        .map(|(_, file)| (file.num_reads_sampled.load(Ordering::Relaxed), file.number))
        .filter(|(reads, _)| *reads > 0)
        .collect();
    reads.sort_unstable_by(|one, other| other.cmp(one));
    let reads = reads.iter().take(MOST_READ);
    let reads: Vec<String> = reads.map(|(reads, number)| format!("{number} {reads}")).collect();
    format!(
        "Sampled reads of tables of [{}]: {}\n",
        family.name,
        reads.join(", ")
    )
}

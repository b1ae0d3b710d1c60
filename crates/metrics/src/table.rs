//! The metrics besides those of `Statistics`. Each has one row, from which the encoding and the documentation
//! are generated.

use esker::Ticker;

use crate::database::{self, Sampled, Samples, Value};

/// The type of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A count that only grows while the database is open.
    Counter,
    /// A value that rises and falls.
    Gauge,
}

/// The unit of a metric, which is the end of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    None,
    Bytes,
    Seconds,
}

/// The source of a metric's samples.
#[derive(Clone, Copy)]
pub(crate) enum Source {
    /// A property of the database that is a number.
    Property(&'static str),
    /// A property of each column family that is a number. Label: `family`.
    FamilyProperty(&'static str),
    /// A property of each column family in microseconds. Label: `family`.
    FamilyMicros(&'static str),
    /// A ticker that a database counts with and without `Options::statistics`.
    Always(Ticker),
    /// A ticker in microseconds that a database counts with and without `Options::statistics`.
    AlwaysMicros(Ticker),
    /// Samples with labels of their own.
    Samples(fn(&Sampled<'_>, &mut Samples)),
}

/// A metric.
pub(crate) struct Metric {
    /// The name without prefix and unit.
    pub name: &'static str,
    pub kind: Kind,
    pub unit: Unit,
    /// The labels besides `db`.
    pub labels: &'static [&'static str],
    pub help: &'static str,
    pub source: Source,
}

/// The beginning of every name.
pub(crate) const PREFIX: &str = "esker_";

impl Unit {
    pub fn name(self) -> Option<&'static str> {
        match self {
            Unit::None => None,
            Unit::Bytes => Some("bytes"),
            Unit::Seconds => Some("seconds"),
        }
    }
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
        }
    }
}

impl Metric {
    /// Returns the metric's samples of `database`. A closed database has only `esker_up`.
    pub fn samples(&self, database: &Sampled<'_>) -> Samples {
        let mut samples = Samples::default();
        let always = |ticker| database.db.statistics().get(ticker);
        match self.source {
            Source::Samples(read) => read(database, &mut samples),
            _ if !database.open => {}
            Source::Property(name) => {
                let value = database
                    .db
                    .property_int(&database.db.default_column_family(), name);
                samples
                    .0
                    .extend(value.map(|value| (Vec::new(), Value::Int(value))));
            }
            Source::FamilyProperty(name) => database.of_families(name, |labels, value| {
                samples.int(labels, value);
            }),
            Source::FamilyMicros(name) => database.of_families(name, |labels, value| {
                samples.seconds(labels, value);
            }),
            Source::Always(ticker) => samples.int([], always(ticker)),
            Source::AlwaysMicros(ticker) => samples.seconds([], always(ticker)),
        }
        samples
    }

    /// Returns the name of the samples.
    pub fn sample_name(&self) -> String {
        let unit = self.unit.name().map_or(String::new(), |unit| format!("_{unit}"));
        let total = if self.kind == Kind::Counter { "_total" } else { "" };
        format!("{PREFIX}{}{unit}{total}", self.name)
    }
}

const fn gauge(
    name: &'static str,
    unit: Unit,
    labels: &'static [&'static str],
    source: Source,
    help: &'static str,
) -> Metric {
    Metric {
        name,
        kind: Kind::Gauge,
        unit,
        labels,
        help,
        source,
    }
}

const fn counter(
    name: &'static str,
    unit: Unit,
    labels: &'static [&'static str],
    source: Source,
    help: &'static str,
) -> Metric {
    Metric {
        name,
        kind: Kind::Counter,
        unit,
        labels,
        help,
        source,
    }
}

use Source::{Always, AlwaysMicros, FamilyMicros, FamilyProperty, Property};
use Unit::{Bytes, None as Plain, Seconds};

const FAMILY: &[&str] = &["family"];
const LEVEL: &[&str] = &["family", "level"];

/// Every metric, in the order of the document.
#[rustfmt::skip]
pub(crate) const METRICS: &[Metric] = &[
    gauge("up", Plain, &[], Source::Samples(database::up), "1 while the database is open, 0 after it was closed"),
    gauge("latest_sequence_number", Plain, &[], Source::Samples(database::latest_sequence_number), "The sequence number of the last write"),
    counter("written", Bytes, &[], Always(Ticker::BytesWritten), "Keys and values in write batches"),
    counter("writes_to_wal", Plain, &[], Always(Ticker::WriteDone), "Writes that went to a WAL"),
    counter("wal_written", Bytes, &[], Always(Ticker::WalBytes), "Writes to WALs"),
    counter("wal_syncs", Plain, &[], Always(Ticker::WalSynced), "Syncs of WALs"),
    counter("flush_written", Bytes, &[], Always(Ticker::FlushWriteBytes), "Tables and blob files that flushes wrote"),
    counter("compaction_read", Bytes, &[], Always(Ticker::CompactReadBytes), "Input of compactions"),
    counter("compaction_written", Bytes, &[], Always(Ticker::CompactWriteBytes), "Output of compactions"),
    counter("trivial_moves", Plain, &[], Always(Ticker::TrivialMoves), "Compactions that moved files without reading them"),
    counter("trivial_moved", Bytes, &[], Always(Ticker::TrivialMoveBytes), "Files that were moved without reading them"),
    counter("background_errors", Plain, &[], Always(Ticker::BgErrorCount), "Failures of background jobs"),
    gauge("background_error", Plain, &[], Property("rocksdb.background-errors"), "1 while the database refuses writes after a failure"),
    counter("stall", Seconds, &[], AlwaysMicros(Ticker::StallMicros), "The time that writers waited, of all reasons"),
    counter("stall_time", Seconds, &["condition", "cause", "option"], Source::Samples(database::stall_time), "The time that writers waited, by reason; `option` is the option whose limit was reached"),
    counter("stalls", Plain, &["condition", "cause", "option"], Source::Samples(database::stalls), "Waits of writers, by reason; `option` is the option whose limit was reached"),
    counter("family_stalls", Plain, &["family", "condition", "cause", "option"], Source::Samples(database::family_stalls), "Waits of writers that a column family was the reason of"),
    gauge("write_stopped", Plain, &[], Property("rocksdb.is-write-stopped"), "1 while writes are stopped"),
    gauge("delayed_write_rate", Bytes, &[], Property("rocksdb.actual-delayed-write-rate"), "The rate of delayed writes per second; 0 if writes are not delayed"),
    gauge("running_flushes", Plain, &[], Property("rocksdb.num-running-flushes"), "Flushes that run"),
    gauge("running_compactions", Plain, &[], Property("rocksdb.num-running-compactions"), "Compactions that run"),
    gauge("wal_files", Plain, &[], Source::Samples(database::wal_files), "WALs that the database has"),
    gauge("wal_file", Bytes, &[], Source::Samples(database::wal_file_bytes), "The size of the WALs that the database has"),
    gauge("oldest_wal_number", Plain, FAMILY, FamilyProperty("esker.oldest-wal-number"), "The oldest WAL with rows of the family that are in no table; 0 if there is none"),
    gauge("oldest_wal_age", Seconds, FAMILY, FamilyMicros("esker.oldest-wal-age-micros"), "The time since that WAL was begun, or since recovery found it"),
    gauge("pins", Plain, &["kind"], Source::Samples(database::pins), "Iterators, snapshots, replaced super versions and holds on the deletion of files"),
    gauge("oldest_pin_age", Seconds, &["kind"], Source::Samples(database::oldest_pin_age), "The age of the oldest pin of this kind; 0 if there is none"),
    gauge("pinned", Bytes, &["kind"], Source::Samples(database::pinned_bytes), "Memtables and files that only a pin keeps"),
    gauge("files_waiting", Plain, &[], Source::Samples(database::files_waiting), "Files that wait to be deleted while a hold forbids it"),
    gauge("memory", Bytes, &["part"], Source::Samples(database::memory), "Memory of the database by purpose, without block caches"),
    gauge("block_cache", Bytes, &["cache", "role"], Source::Samples(database::block_cache), "Entries of a block cache by kind of block; a cache that databases share is reported by each"),
    gauge("block_cache_capacity", Bytes, &["cache"], Source::Samples(database::block_cache_capacity), "The capacity of a block cache"),
    gauge("block_cache_pinned", Bytes, &["cache"], Source::Samples(database::block_cache_pinned), "Entries of a block cache that are in use"),
    gauge("level_files", Plain, LEVEL, Source::Samples(database::level_files), "Tables of a level"),
    gauge("level", Bytes, LEVEL, Source::Samples(database::level_bytes), "The size of the tables of a level"),
    gauge("level_compacting_files", Plain, LEVEL, Source::Samples(database::level_compacting), "Tables of a level that compactions read"),
    gauge("level_entries", Plain, LEVEL, Source::Samples(database::level_entries), "Entries of the tables of a level that have been opened, deletions included"),
    gauge("level_deletions", Plain, LEVEL, Source::Samples(database::level_deletions), "Deletions in the tables of a level that have been opened"),
    gauge("pending_compaction", Bytes, FAMILY, FamilyProperty("rocksdb.estimate-pending-compaction-bytes"), "The estimated work of compactions until every level is within its target"),
    gauge("compaction_pending", Plain, FAMILY, FamilyProperty("rocksdb.compaction-pending"), "1 if a compaction is due"),
    gauge("flush_pending", Plain, FAMILY, FamilyProperty("rocksdb.mem-table-flush-pending"), "1 if a flush is due"),
    gauge("memtables", Bytes, FAMILY, FamilyProperty("rocksdb.cur-size-all-mem-tables"), "Memory of the memtables that are not flushed"),
    gauge("immutable_memtables", Plain, FAMILY, FamilyProperty("rocksdb.num-immutable-mem-table"), "Memtables that wait for a flush"),
    gauge("estimated_keys", Plain, FAMILY, FamilyProperty("rocksdb.estimate-num-keys"), "The estimated number of keys"),
    gauge("live_data", Bytes, FAMILY, FamilyProperty("rocksdb.estimate-live-data-size"), "The estimated size of live data"),
    gauge("live_sst", Bytes, FAMILY, FamilyProperty("rocksdb.live-sst-files-size"), "The size of the tables in use"),
    gauge("total_sst", Bytes, FAMILY, FamilyProperty("rocksdb.total-sst-files-size"), "The size of the tables in use and of those that readers hold"),
    gauge("table_readers", Bytes, FAMILY, FamilyProperty("rocksdb.estimate-table-readers-mem"), "Memory of open tables outside of the block cache"),
    gauge("blob_files", Plain, FAMILY, FamilyProperty("rocksdb.num-blob-files"), "Blob files in use"),
    gauge("live_blob", Bytes, FAMILY, FamilyProperty("rocksdb.live-blob-file-size"), "The size of the blob files in use"),
    gauge("blob_garbage", Bytes, FAMILY, FamilyProperty("rocksdb.live-blob-file-garbage-size"), "Values in blob files in use that no table refers to"),
    gauge("live_versions", Plain, FAMILY, FamilyProperty("rocksdb.num-live-versions"), "Versions that are in use or held by readers"),
    gauge("base_level", Plain, FAMILY, FamilyProperty("rocksdb.base-level"), "The level that compactions of L0 write to"),
    gauge("option", Plain, &["family", "option"], Source::Samples(database::options), "The values of the options that limit writes, for comparison; 0 is no limit"),
];

//! The state of one database at a scrape, and the samples taken from it.

use std::collections::BTreeMap;
use std::time::Duration;

use esker::{
    ColumnFamily, Db, LevelMetadata, MemoryLedger, Pins, StallCause, StallCondition, StallTotal, Ticker,
};

/// A database at a scrape. Values that cost more than a few loads are read once.
pub(crate) struct Sampled<'a> {
    pub db: &'a Db,
    pub open: bool,
    families: Vec<Family>,
    memory: MemoryLedger,
    pins: Pins,
    /// The number of WALs and their bytes.
    wals: (u64, u64),
}

struct Family {
    handle: ColumnFamily,
    levels: Vec<LevelMetadata>,
    /// The tables by level.
    tables: BTreeMap<usize, Tables>,
}

/// The sums over the tables of a level.
#[derive(Clone, Copy, Default)]
struct Tables {
    compacting: u64,
    entries: u64,
    deletions: u64,
}

/// The value of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value {
    Int(u64),
    Float(f64),
}

/// The samples of a metric of one database.
#[derive(Default)]
pub(crate) struct Samples(pub Vec<(Vec<(&'static str, String)>, Value)>);

impl Samples {
    fn push<const N: usize>(&mut self, labels: [(&'static str, &str); N], value: Value) {
        let labels = labels.iter().map(|(name, value)| (*name, (*value).to_owned()));
        self.0.push((labels.collect(), value));
    }

    pub fn int<const N: usize>(&mut self, labels: [(&'static str, &str); N], value: u64) {
        self.push(labels, Value::Int(value));
    }

    pub fn seconds<const N: usize>(&mut self, labels: [(&'static str, &str); N], micros: u64) {
        self.push(labels, Value::Float(micros as f64 / 1e6));
    }
}

impl<'a> Sampled<'a> {
    pub fn new(db: &'a Db) -> Sampled<'a> {
        let default = db.default_column_family();
        // A closed database has no properties.
        let open = db.property_int(&default, "rocksdb.num-snapshots").is_some();
        if !open {
            return Sampled {
                db,
                open,
                families: Vec::new(),
                memory: MemoryLedger::default(),
                pins: Pins::default(),
                wals: (0, 0),
            };
        }
        let mut families: Vec<Family> = db
            .column_families()
            .into_iter()
            .map(|handle| Family {
                levels: db.levels(&handle),
                tables: BTreeMap::new(),
                handle,
            })
            .collect();
        for file in db.live_files() {
            let mut known = families.iter_mut();
            // Families are read again, because one may have been created or dropped since the last read.
            let Some(family) = known.find(|family| family.handle.name() == file.column_family) else {
                continue;
            };
            let tables = family.tables.entry(file.level).or_default();
            tables.compacting += u64::from(file.being_compacted);
            tables.entries += file.num_entries;
            tables.deletions += file.num_deletions;
        }
        let wals = db.get_sorted_wal_files().unwrap_or_default();
        Sampled {
            open,
            families,
            memory: db.memory(),
            pins: db.pins(),
            wals: (wals.len() as u64, wals.iter().map(|wal| wal.size).sum()),
            db,
        }
    }

    /// Calls `add` with each family's label and the value of its property.
    pub fn of_families(&self, name: &str, mut add: impl FnMut([(&'static str, &str); 1], u64)) {
        for family in &self.families {
            if let Some(value) = self.db.property_int(&family.handle, name) {
                add([("family", family.handle.name())], value);
            }
        }
    }

    fn of_levels(&self, samples: &mut Samples, value: impl Fn(&Family, &LevelMetadata) -> u64) {
        for family in &self.families {
            for level in &family.levels {
                let labels = [
                    ("family", family.handle.name()),
                    ("level", &level.level.to_string()),
                ];
                samples.int(labels, value(family, level));
            }
        }
    }

    fn of_tables(&self, samples: &mut Samples, value: impl Fn(&Tables) -> u64) {
        self.of_levels(samples, |family, level| {
            family.tables.get(&level.level).map_or(0, &value)
        });
    }

    fn of_stalls(&self, mut add: impl FnMut([(&'static str, &str); 3], StallTotal)) {
        if !self.open {
            return;
        }
        for cause in StallCause::ALL {
            for (name, condition) in conditions(cause) {
                let option = condition.option();
                let labels = [
                    ("condition", name),
                    ("cause", &*cause.to_string()),
                    ("option", option),
                ];
                add(labels, self.db.statistics().stall(condition));
            }
        }
    }
}

fn conditions(cause: StallCause) -> [(&'static str, StallCondition); 2] {
    [
        ("delayed", StallCondition::Delayed { cause }),
        ("stopped", StallCondition::Stopped { cause }),
    ]
}

pub(crate) fn up(sampled: &Sampled<'_>, samples: &mut Samples) {
    samples.int([], u64::from(sampled.open));
}

pub(crate) fn latest_sequence_number(sampled: &Sampled<'_>, samples: &mut Samples) {
    if sampled.open {
        samples.int([], sampled.db.latest_sequence_number());
    }
}

pub(crate) fn stall_time(sampled: &Sampled<'_>, samples: &mut Samples) {
    sampled.of_stalls(|labels, total| samples.seconds(labels, total.micros));
}

pub(crate) fn stalls(sampled: &Sampled<'_>, samples: &mut Samples) {
    sampled.of_stalls(|labels, total| samples.int(labels, total.count));
}

/// Parses the property's text, `memtable-limit-delays: 0, memtable-limit-stops: 2, ...`.
pub(crate) fn family_stalls(sampled: &Sampled<'_>, samples: &mut Samples) {
    for family in &sampled.families {
        let text = sampled
            .db
            .property(&family.handle, "rocksdb.cf-write-stall-stats");
        let text = text.unwrap_or_default();
        let counts: BTreeMap<&str, u64> = text
            .split([',', '\n'])
            .filter_map(|part| {
                let (name, count) = part.rsplit_once(": ")?;
                let name = name.rsplit(' ').next()?;
                Some((name, count.trim().parse().ok()?))
            })
            .collect();
        for cause in StallCause::ALL {
            for ((name, condition), suffix) in conditions(cause).into_iter().zip(["delays", "stops"]) {
                let count = counts.get(&*format!("{cause}-{suffix}"));
                let labels = [
                    ("family", family.handle.name()),
                    ("condition", name),
                    ("cause", &*cause.to_string()),
                    ("option", condition.option()),
                ];
                samples.int(labels, count.copied().unwrap_or(0));
            }
        }
    }
}

pub(crate) fn wal_files(sampled: &Sampled<'_>, samples: &mut Samples) {
    if sampled.open {
        samples.int([], sampled.wals.0);
    }
}

pub(crate) fn wal_file_bytes(sampled: &Sampled<'_>, samples: &mut Samples) {
    if sampled.open {
        samples.int([], sampled.wals.1);
    }
}

/// Returns the kinds of pins: the number of each, and the age of the oldest.
fn kinds_of_pins(pins: &Pins) -> [(&'static str, u64, Duration); 4] {
    fn oldest(ages: impl Iterator<Item = Duration>) -> Duration {
        ages.max().unwrap_or_default()
    }
    let iterators = oldest(pins.iterators.iter().map(|pin| pin.age));
    let super_versions = oldest(pins.super_versions.iter().map(|pin| pin.replaced_for));
    let snapshots = oldest(pins.snapshots.iter().map(|pin| pin.age));
    let holds = oldest(pins.file_deletions.iter().map(|hold| hold.age));
    let snapshot_holders: usize = pins.snapshots.iter().map(|pin| pin.holders).sum();
    [
        ("iterator", pins.iterators.len() as u64, iterators),
        ("super_version", pins.super_versions.len() as u64, super_versions),
        ("snapshot", snapshot_holders as u64, snapshots),
        ("file_deletions", pins.file_deletions.len() as u64, holds),
    ]
}

pub(crate) fn pins(sampled: &Sampled<'_>, samples: &mut Samples) {
    if sampled.open {
        for (kind, count, _) in kinds_of_pins(&sampled.pins) {
            samples.int([("kind", kind)], count);
        }
    }
}

pub(crate) fn oldest_pin_age(sampled: &Sampled<'_>, samples: &mut Samples) {
    if sampled.open {
        for (kind, _, age) in kinds_of_pins(&sampled.pins) {
            samples.seconds([("kind", kind)], age.as_micros() as u64);
        }
    }
}

pub(crate) fn pinned_bytes(sampled: &Sampled<'_>, samples: &mut Samples) {
    if sampled.open {
        samples.int([("kind", "memtables")], sampled.pins.memtable_bytes);
        samples.int([("kind", "files")], sampled.pins.file_bytes);
    }
}

pub(crate) fn files_waiting(sampled: &Sampled<'_>, samples: &mut Samples) {
    if sampled.open {
        samples.int([], sampled.pins.files_waiting as u64);
    }
}

pub(crate) fn memory(sampled: &Sampled<'_>, samples: &mut Samples) {
    let memory = &sampled.memory;
    if sampled.open {
        for (part, bytes) in [
            ("memtables", memory.memtables),
            ("pinned_memtables", memory.pinned_memtables),
            ("indexes", memory.indexes),
            ("filters", memory.filters),
            ("tables", memory.tables),
            ("iterators", memory.iterators),
            ("wal_windows", memory.wal_windows),
        ] {
            samples.int([("part", part)], bytes);
        }
    }
}

/// Returns the caches of a database, by a name that is unique in it.
fn caches<'a>(sampled: &'a Sampled<'_>) -> impl Iterator<Item = (String, &'a esker::CacheMemory)> {
    let caches = sampled.memory.block_caches.iter().enumerate();
    caches.map(|(nth, cache)| (format!("{nth}:{}", cache.name), cache))
}

pub(crate) fn block_cache(sampled: &Sampled<'_>, samples: &mut Samples) {
    for (name, cache) in caches(sampled) {
        for of_role in &cache.roles {
            let labels = [("cache", &*name), ("role", of_role.role.name())];
            samples.int(labels, of_role.usage as u64);
        }
    }
}

pub(crate) fn block_cache_capacity(sampled: &Sampled<'_>, samples: &mut Samples) {
    for (name, cache) in caches(sampled) {
        samples.int([("cache", &name)], cache.capacity);
    }
}

pub(crate) fn block_cache_pinned(sampled: &Sampled<'_>, samples: &mut Samples) {
    for (name, cache) in caches(sampled) {
        samples.int([("cache", &name)], cache.pinned);
    }
}

pub(crate) fn level_files(sampled: &Sampled<'_>, samples: &mut Samples) {
    sampled.of_levels(samples, |_, level| level.files as u64);
}

pub(crate) fn level_bytes(sampled: &Sampled<'_>, samples: &mut Samples) {
    sampled.of_levels(samples, |_, level| level.size);
}

pub(crate) fn level_compacting(sampled: &Sampled<'_>, samples: &mut Samples) {
    sampled.of_tables(samples, |tables| tables.compacting);
}

pub(crate) fn level_entries(sampled: &Sampled<'_>, samples: &mut Samples) {
    sampled.of_tables(samples, |tables| tables.entries);
}

pub(crate) fn level_deletions(sampled: &Sampled<'_>, samples: &mut Samples) {
    sampled.of_tables(samples, |tables| tables.deletions);
}

pub(crate) fn options(sampled: &Sampled<'_>, samples: &mut Samples) {
    for family in &sampled.families {
        let options = family.handle.current_options();
        let positive = |value: i32| u64::try_from(value).unwrap_or(0);
        for (name, value) in [
            (
                "max_write_buffer_number",
                positive(options.max_write_buffer_number),
            ),
            (
                "level0_file_num_compaction_trigger",
                positive(options.level0_file_num_compaction_trigger),
            ),
            (
                "level0_slowdown_writes_trigger",
                positive(options.level0_slowdown_writes_trigger),
            ),
            (
                "level0_stop_writes_trigger",
                positive(options.level0_stop_writes_trigger),
            ),
            (
                "soft_pending_compaction_bytes_limit",
                options.soft_pending_compaction_bytes_limit,
            ),
            (
                "hard_pending_compaction_bytes_limit",
                options.hard_pending_compaction_bytes_limit,
            ),
            ("write_buffer_size", options.write_buffer_size),
        ] {
            samples.int([("family", family.handle.name()), ("option", name)], value);
        }
    }
}

/// Returns the sum of a ticker over the statistics of a database; `None` without any.
pub(crate) fn ticker(db: &Db, ticker: Ticker) -> Option<u64> {
    let statistics = db.options().statistics.as_ref()?;
    Some(statistics.get_ticker_count(ticker))
}

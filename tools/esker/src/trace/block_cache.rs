//! The report of a trace of the block cache.

use std::collections::{BTreeMap, HashMap};

use esker::{BlockCacheTraceRecord, TracedBlock};

use super::lru::Lru;
use super::reuse::Reuse;
use crate::report::{Cell, POWERS, Powers, Report, Timeline};
use crate::text::Form;

/// The exponents of two of the capacities that are simulated unless the command line names others.
const CAPACITIES: std::ops::RangeInclusive<u32> = 16..=34;

/// Lookups, misses, and the bytes of the blocks.
#[derive(Clone, Copy, Default)]
struct Count {
    lookups: u64,
    misses: u64,
    bytes: u64,
}

impl Count {
    fn add(&mut self, record: &BlockCacheTraceRecord) {
        self.lookups += 1;
        self.misses += u64::from(!record.is_cache_hit);
        self.bytes += record.block_size;
    }

    fn cells(&self, all: u64) -> Vec<Cell> {
        vec![
            Cell::Number(self.lookups),
            Cell::share(self.lookups, all),
            Cell::Number(self.misses),
            Cell::share(self.misses, self.lookups),
            Cell::Bytes(self.bytes / self.lookups.max(1)),
        ]
    }
}

/// A block of the trace.
struct Block {
    file: u64,
    /// The offset of the block in its file, or the block's cache key if the offset is unknown.
    place: String,
    bytes: u64,
    count: Count,
}

/// The sums over a trace.
pub struct Lookups {
    all: Count,
    first: Option<u64>,
    last: u64,
    by_type: BTreeMap<u8, (&'static str, Count)>,
    by_caller: BTreeMap<u8, (&'static str, Count)>,
    by_level: BTreeMap<u32, Count>,
    by_family: BTreeMap<(u64, String), Count>,
    /// Numbers of blocks by their keys.
    numbers: HashMap<Vec<u8>, usize>,
    blocks: Vec<Block>,
    reuse: Reuse,
    distances: Powers,
    first_lookups: u64,
    caches: Vec<Lru>,
    timeline: Timeline,
    /// The last Get in the trace, and its lookups in the block cache so far.
    get: (u64, u64),
    gets: u64,
    per_get: Powers,
    /// Lookups of data blocks for Gets, and the number of them whose block did not have the key.
    searched: u64,
    in_vain: u64,
}

fn type_name(block: TracedBlock) -> &'static str {
    match block {
        TracedBlock::Index => "index",
        TracedBlock::Filter => "filter",
        TracedBlock::Data => "data",
        TracedBlock::Dictionary => "dictionary",
        TracedBlock::RangeDeletion => "range deletion",
    }
}

impl Lookups {
    /// Creates the state before the first lookup. Caches of these sizes in bytes are simulated; if the list
    /// is empty, caches whose sizes are powers of two.
    pub fn new(capacities: &[u64]) -> Lookups {
        let capacities = match capacities {
            [] => CAPACITIES.map(|exponent| 1 << exponent).collect(),
            given => given.to_vec(),
        };
        Lookups {
            all: Count::default(),
            first: None,
            last: 0,
            by_type: BTreeMap::new(),
            by_caller: BTreeMap::new(),
            by_level: BTreeMap::new(),
            by_family: BTreeMap::new(),
            numbers: HashMap::new(),
            blocks: Vec::new(),
            reuse: Reuse::default(),
            distances: Powers::default(),
            first_lookups: 0,
            caches: capacities.into_iter().map(Lru::new).collect(),
            timeline: Timeline::default(),
            get: (0, 0),
            gets: 0,
            per_get: Powers::default(),
            searched: 0,
            in_vain: 0,
        }
    }

    /// Adds a lookup.
    pub fn add(&mut self, record: &BlockCacheTraceRecord) {
        let first = *self.first.get_or_insert(record.access_timestamp);
        self.last = self.last.max(record.access_timestamp);
        self.timeline.add(record.access_timestamp.saturating_sub(first));
        self.all.add(record);
        let of_type = self.by_type.entry(record.block_type as u8);
        of_type
            .or_insert((type_name(record.block_type), Count::default()))
            .1
            .add(record);
        let of_caller = self.by_caller.entry(record.caller as u8);
        of_caller
            .or_insert((record.caller.name(), Count::default()))
            .1
            .add(record);
        self.by_level.entry(record.level).or_default().add(record);
        let family = (record.cf_id, record.cf_name.clone());
        self.by_family.entry(family).or_default().add(record);
        self.add_block(record);
        self.add_get(record);
    }

    fn add_block(&mut self, record: &BlockCacheTraceRecord) {
        let next = self.blocks.len();
        let number = *self.numbers.entry(record.block_key.clone()).or_insert(next);
        if number == next {
            self.blocks.push(Block {
                file: record.sst_fd_number,
                place: match record.block_offset() {
                    Some(offset) => offset.to_string(),
                    None => Form::Hex.show(&record.block_key).to_string(),
                },
                bytes: 0,
                count: Count::default(),
            });
        }
        let block = &mut self.blocks[number];
        block.bytes = record.block_size;
        block.count.add(record);
        match self.reuse.look_up(number, record.block_size) {
            Some(distance) => self.distances.add(distance),
            None => self.first_lookups += 1,
        }
        for cache in &mut self.caches {
            cache.look_up(number, record.block_size, !record.no_insert);
        }
    }

    fn add_get(&mut self, record: &BlockCacheTraceRecord) {
        if !record.caller.is_get() {
            return;
        }
        if record.block_type == TracedBlock::Data {
            self.searched += 1;
            self.in_vain += u64::from(!record.referenced_key_exist_in_block);
        }
        if self.get.0 != record.get_id {
            self.end_get();
            self.get = (record.get_id, 0);
        }
        self.get.1 += 1;
    }

    fn end_get(&mut self) {
        if self.get.1 > 0 {
            self.gets += 1;
            self.per_get.add(self.get.1);
        }
    }

    /// The report, with at most `top` blocks.
    pub fn report(mut self, top: usize) -> Report {
        self.end_get();
        let mut report = Report::default();
        let micros = self.last.saturating_sub(self.first.unwrap_or(0));
        let all = self.all.lookups;
        report.facts.extend([
            ("duration", Cell::Nanos(micros.saturating_mul(1000))),
            ("lookups", Cell::Number(all)),
            ("misses", Cell::Number(self.all.misses)),
            ("miss ratio", Cell::share(self.all.misses, all)),
            ("blocks", Cell::Number(self.blocks.len() as u64)),
            (
                "bytes of blocks",
                Cell::Bytes(self.blocks.iter().map(|block| block.bytes).sum()),
            ),
            ("gets", Cell::Number(self.gets)),
            (
                "data blocks without the key",
                Cell::share(self.in_vain, self.searched),
            ),
        ]);
        self.report_groups(&mut report, all);
        let mut columns = vec!["bytes between"];
        columns.extend(POWERS);
        report.table(
            "reuse distance",
            &columns,
            self.distances.rows(Cell::Bytes),
            Some(2),
        );
        report
            .facts
            .push(("first lookups", Cell::share(self.first_lookups, all)));
        let miss_ratio = |cache: &Lru| vec![Cell::Bytes(cache.capacity), Cell::share(cache.misses, all)];
        let rows = self.caches.iter().map(miss_ratio).collect();
        report.table(
            "miss ratio by cache size",
            &["LRU cache", "miss ratio"],
            rows,
            Some(1),
        );
        let mut columns = vec!["lookups of a get"];
        columns.extend(POWERS);
        report.table(
            "lookups per get",
            &columns,
            self.per_get.rows(Cell::Number),
            Some(2),
        );
        self.timeline.report(&mut report);
        self.report_hot(&mut report, top);
        report
    }

    fn report_groups(&self, report: &mut Report, all: u64) {
        let columns = |name| vec![name, "lookups", "share", "misses", "miss ratio", "mean block"];
        let row = |name: String, count: &Count| {
            let mut row = vec![Cell::Text(name)];
            row.extend(count.cells(all));
            row
        };
        let named = |group: &BTreeMap<u8, (&'static str, Count)>| {
            let rows = group.values().map(|(name, count)| row((*name).to_owned(), count));
            rows.collect::<Vec<_>>()
        };
        report.table("by block type", &columns("block"), named(&self.by_type), Some(2));
        report.table("by caller", &columns("caller"), named(&self.by_caller), Some(2));
        let level = |level: u32| match level {
            u32::MAX => "unknown".to_owned(),
            level => level.to_string(),
        };
        let rows = self
            .by_level
            .iter()
            .map(|(number, count)| row(level(*number), count));
        report.table("by level", &columns("level"), rows.collect(), Some(2));
        let rows = self
            .by_family
            .iter()
            .map(|((_, name), count)| row(name.clone(), count));
        report.table("by column family", &columns("family"), rows.collect(), Some(2));
    }

    fn report_hot(&mut self, report: &mut Report, top: usize) {
        let lookups = |block: &Block| std::cmp::Reverse(block.count.lookups);
        self.blocks
            .sort_by_cached_key(|block| (lookups(block), block.file, block.place.clone()));
        let all = self.all.lookups;
        let row = |block: &Block| {
            let mut row = vec![Cell::Number(block.file), Cell::Text(block.place.clone())];
            row.extend(block.count.cells(all));
            row
        };
        let rows = self.blocks.iter().take(top).map(row).collect();
        let columns = [
            "file",
            "place",
            "lookups",
            "share",
            "misses",
            "miss ratio",
            "bytes",
        ];
        report.table("hot blocks", &columns, rows, None);
    }
}

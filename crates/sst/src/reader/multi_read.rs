//! Many data blocks of a table at once: reads of neighbours are coalesced, and several reads are in flight
//! together.
//!
//! [`Table::start_blocks`] starts the reads, preferably those of several tables within [`vfs::together`];
//! [`Table::finish_blocks`] waits for them and holds the blocks, which are then cached if they may be. A
//! block that could not be read, or is corrupt, is not held: its user reads it again, and gets the error.

use std::collections::VecDeque;
use std::fmt;
use std::ops::{ControlFlow, Range};

use base::Result;
use vfs::PendingRead;

use super::cached_parts::index_of;
use super::get::{Located, Value};
use super::load_block::Ahead;
use super::readahead::bytes_of;
use super::table::Table;
use crate::block::{BlockPin, PinnedBytes};
use crate::fetch::Span;
use crate::index::Index;
use crate::lookup_key::LookupKey;
use crate::read_options::{BlockReadOptions, ScanBounds};

/// The maximum gap between two blocks that are read by one read: RocksDB's `io_coalesce_threshold`, in bytes.
pub const IO_COALESCE_THRESHOLD: u64 = 16 << 10;

/// The maximum size of one read, unless a block is larger.
const MOST: u64 = 1 << 20;

/// Data blocks of one table that are being read.
#[derive(Default)]
pub struct BlocksInFlight {
    /// For a table whose index is in the cache: the part of the index that leads to the blocks.
    part: Option<BlockPin>,
    runs: Vec<CoalescedRead>,
    /// Blocks that were in the cache already.
    cached: Vec<(usize, BlockPin)>,
}

/// The blocks of one read.
struct CoalescedRead {
    wanted: Vec<usize>,
    bytes: Range<u64>,
    /// The pending read. `None`: the blocks are read when a caller waits for them.
    read: Option<PendingRead>,
}

/// Data blocks of one table, held in memory, by their numbers.
#[derive(Default)]
pub struct HeldBlocks {
    blocks: Vec<(usize, BlockPin)>,
}

impl HeldBlocks {
    pub(crate) fn get(&self, number: usize) -> Option<&BlockPin> {
        let at = self.blocks.binary_search_by_key(&number, |block| block.0).ok()?;
        Some(&self.blocks[at].1)
    }

    /// The number of blocks.
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// True if it holds no block.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }
}

impl fmt::Debug for BlocksInFlight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlocksInFlight({} reads)", self.runs.len())
    }
}

impl fmt::Debug for HeldLookups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HeldLookups({:?})", self.places)
    }
}

impl fmt::Debug for HeldBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HeldBlocks({})", self.blocks.len())
    }
}

impl BlocksInFlight {
    /// The number of reads in flight.
    pub fn reads(&self) -> usize {
        self.runs.len()
    }
}

/// Lookups in a table whose index is in the cache, with their blocks being read.
#[derive(Debug, Default)]
pub struct LookupsInFlight {
    parts: Vec<BlocksInFlight>,
    places: Vec<LookupPlace>,
}

/// Lookups whose blocks are held.
#[derive(Default)]
pub struct HeldLookups {
    /// Parts of the index, with the blocks that they lead to.
    parts: Vec<(BlockPin, HeldBlocks)>,
    /// The place of each key.
    places: Vec<LookupPlace>,
}

/// The place where a key is searched.
#[derive(Clone, Copy, Debug)]
enum LookupPlace {
    /// The key is not in the table: the filter or the index excludes it.
    Nowhere,
    /// The key is searched from entry `number` of partition `partition` of the index on. The partition is
    /// held as part number `part`.
    From {
        part: usize,
        partition: usize,
        number: usize,
    },
    /// An error prevented the search, which the lookup will report.
    Unknown,
}

/// Blocks that a cursor will need, in order. The blocks of one read at a time are in memory.
#[derive(Default)]
pub struct Prepared {
    /// The blocks of each run belong to one index, or one partition of it.
    runs: VecDeque<CoalescedRead>,
    held: HeldBlocks,
    /// The range of the file that contains the held blocks: block numbers are those of one partition.
    held_bytes: Range<u64>,
}

impl Prepared {
    /// True if block `number`, at `offset` of the file, is in flight or held.
    pub(crate) fn has(&self, number: usize, offset: u64) -> bool {
        let at = self.runs.partition_point(|run| run.bytes.start <= offset);
        let run = at.checked_sub(1).and_then(|at| self.runs.get(at));
        self.holds(number, offset) || run.is_some_and(|run| run.gives(number, offset))
    }

    fn holds(&self, number: usize, offset: u64) -> bool {
        self.held_bytes.contains(&offset) && self.held.get(number).is_some()
    }

    /// Block `number`, if it was prepared, could be read, and the cursor has not moved beyond it before.
    pub(crate) fn take(
        &mut self,
        table: &Table,
        index: &Index,
        number: usize,
        options: &BlockReadOptions,
    ) -> Option<BlockPin> {
        let offset = index.handle(number).offset;
        while !self.holds(number, offset) {
            let run = self.runs.pop_front_if(|run| run.bytes.start <= offset)?;
            if run.gives(number, offset) {
                self.held = HeldBlocks::default();
                self.held_bytes = run.bytes.clone();
                table.finish_read(index, run, options, &mut self.held);
                break;
            }
        }
        match self.held_bytes.contains(&offset) {
            true => self.held.get(number).cloned(),
            false => None,
        }
    }
}

impl CoalescedRead {
    /// True if block `number`, at `offset` of the file, is among the wanted blocks of this run.
    fn gives(&self, number: usize, offset: u64) -> bool {
        self.bytes.contains(&offset) && self.wanted.binary_search(&number).is_ok()
    }
}

/// Adds blocks to be read, as far as the budget allows. False if it is used up.
fn spend(index: &Index, range: Range<usize>, blocks: &mut Vec<usize>, budget: &mut u64) -> bool {
    for block in range {
        if blocks.last() == Some(&block) {
            continue;
        }
        let size = index.handle(block).size;
        if size > *budget {
            return false;
        }
        *budget -= size;
        blocks.push(block);
    }
    true
}

impl Table {
    /// Starts to read those of the blocks that are not in the cache; they may be given several times and in
    /// any order. Blocks with at most `coalesce` bytes between them are read by one read.
    ///
    /// Reads nothing if the file is mapped, if only the cache may be read, or if the table's index is in the
    /// cache: see [`start_lookups`](Table::start_lookups).
    pub fn start_blocks(
        &self,
        blocks: impl IntoIterator<Item = Located>,
        options: &BlockReadOptions,
        coalesce: u64,
    ) -> BlocksInFlight {
        if self.caches_parts() {
            return BlocksInFlight::default();
        }
        // A key that was located had its block from the index, so the index is in memory.
        match self.owned_index() {
            Ok(index) => self.begin(
                true,
                index,
                blocks.into_iter().map(|located| located.block),
                options,
                coalesce,
            ),
            Err(_) => BlocksInFlight::default(),
        }
    }

    /// Starts to read the blocks that may hold these keys, which are in order, as
    /// [`start_blocks`](Table::start_blocks) does, for a table whose index and filter are in the cache. The
    /// parts of the index and filter that are needed for that are read at once. Does nothing for other
    /// tables.
    pub fn start_lookups<'k>(
        &self,
        keys: impl IntoIterator<Item = &'k LookupKey>,
        options: &BlockReadOptions,
        coalesce: u64,
    ) -> LookupsInFlight {
        let mut begun = LookupsInFlight::default();
        if !self.caches_parts() || options.cache_only {
            return begun;
        }
        let mut parts: Vec<(BlockPin, usize, Vec<usize>)> = Vec::new();
        for key in keys {
            let place = match self.parts_may_contain(key, options) {
                Ok(false) => Ok(None),
                Ok(true) => self.pin_sought_part(&self.target(key.internal_key()), options),
                Err(error) => Err(error),
            };
            begun.places.push(match place {
                Err(_) => LookupPlace::Unknown,
                Ok(None) => LookupPlace::Nowhere,
                Ok(Some((part, partition, number))) => {
                    match parts.last_mut().filter(|part| part.1 == partition) {
                        Some((_, _, numbers)) => numbers.push(number),
                        None => parts.push((part, partition, vec![number])),
                    }
                    LookupPlace::From {
                        part: parts.len() - 1,
                        partition,
                        number,
                    }
                }
            });
        }
        vfs::together(|| {
            for (part, _, numbers) in parts {
                let blocks = match index_of(&part) {
                    Ok(index) => self.begin(true, index, numbers, options, coalesce),
                    Err(_) => BlocksInFlight::default(),
                };
                begun.parts.push(BlocksInFlight {
                    part: Some(part),
                    ..blocks
                });
            }
        });
        begun
    }

    /// Waits for the reads of [`start_lookups`](Table::start_lookups).
    pub fn finish_lookups(&self, begun: LookupsInFlight, options: &BlockReadOptions) -> HeldLookups {
        let finish = |begun: BlocksInFlight| {
            let part = begun.part.clone()?;
            Some((part, self.finish_blocks(begun, options)))
        };
        HeldLookups {
            parts: begun.parts.into_iter().filter_map(finish).collect(),
            places: begun.places,
        }
    }

    /// Reads key number `at` of those looked up as [`Table::get`] does, from the held blocks if they hold it.
    pub fn get_looked_up(
        &self,
        key: &LookupKey,
        at: usize,
        held: &HeldLookups,
        options: &BlockReadOptions,
        visit: &mut impl FnMut(&[u8], Value<'_>) -> ControlFlow<()>,
    ) -> Result<Option<PinnedBytes>> {
        let (part, partition, number) = match held.places.get(at) {
            Some(LookupPlace::Nowhere) => return Ok(None),
            Some(&LookupPlace::From {
                part,
                partition,
                number,
            }) => (part, partition, number),
            Some(LookupPlace::Unknown) | None => return self.get(key, options, visit),
        };
        let (part, blocks) = &held.parts[part];
        let Some(pin) = blocks.get(number) else {
            return self.walk_parts(part.clone(), partition, number, key, options, visit);
        };
        let visited = self.search_pin(index_of(part)?, key, number, pin, visit)?;
        if visited.done {
            return Ok(visited.kept);
        }
        let kept = self.walk_parts(part.clone(), partition, number + 1, key, options, visit)?;
        Ok(kept.or(visited.kept))
    }

    /// Starts to read blocks as [`start_blocks`](Table::start_blocks) does, by number; unless `now`, each
    /// read is made when it is waited for.
    fn begin(
        &self,
        now: bool,
        index: &Index,
        blocks: impl IntoIterator<Item = usize>,
        options: &BlockReadOptions,
        coalesce: u64,
    ) -> BlocksInFlight {
        let mut begun = BlocksInFlight::default();
        if self.fetcher.file().mapped().is_some() || options.cache_only {
            return begun;
        }
        let mut numbers: Vec<usize> = blocks.into_iter().filter(|&block| block < index.len()).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.retain(|&block| match self.hold_cached(index, block, options) {
            Some(pin) => {
                begun.cached.push((block, pin));
                false
            }
            None => true,
        });
        let joins = |first: usize, last: usize, next: usize| {
            let (start, next) = (index.handle(first).offset, index.handle(next));
            let (Some(end), Some(next_end)) = (index.handle(last).end(), next.end()) else {
                return false;
            };
            next.offset >= end && next.offset - end <= coalesce && next_end - start <= MOST
        };
        vfs::together(|| {
            let mut rest = &numbers[..];
            while let Some(&first) = rest.first() {
                let mut count = 1;
                while count < rest.len() && joins(first, rest[count - 1], rest[count]) {
                    count += 1;
                }
                let (wanted, behind) = rest.split_at(count);
                let bytes = bytes_of(index, &(first..wanted[count - 1] + 1));
                let len = bytes.end.saturating_sub(bytes.start);
                let wanted = wanted.to_vec();
                begun.runs.push(match now {
                    true => {
                        let file = &**self.fetcher.file();
                        let (bytes, read) =
                            self.fetcher
                                .start_fill(file, &mut Span::default(), bytes.start, len);
                        let read = Some(read);
                        CoalescedRead { wanted, bytes, read }
                    }
                    false => CoalescedRead {
                        wanted,
                        bytes,
                        read: None,
                    },
                });
                rest = behind;
            }
        });
        begun
    }

    /// Waits for the reads, and holds the blocks, verified according to the options; cacheable ones are in
    /// the cache afterwards. Blocks that could not be read are not held.
    pub fn finish_blocks(&self, begun: BlocksInFlight, options: &BlockReadOptions) -> HeldBlocks {
        let mut held = HeldBlocks { blocks: begun.cached };
        if begun.runs.is_empty() {
            return held;
        }
        let index = match &begun.part {
            Some(part) => index_of(part),
            None => self.owned_index(),
        };
        let Ok(index) = index else { return held };
        for run in begun.runs {
            self.finish_read(index, run, options, &mut held);
        }
        held.blocks.sort_unstable_by_key(|block| block.0);
        held
    }

    fn finish_read(
        &self,
        index: &Index,
        run: CoalescedRead,
        options: &BlockReadOptions,
        held: &mut HeldBlocks,
    ) {
        let Range { start, end } = run.bytes;
        let mut span = Span {
            offset: start,
            ..Span::default()
        };
        let read = match run.read {
            Some(read) => read.wait().map(|bytes| span.bytes = bytes),
            None => self.fetcher.fill(
                &**self.fetcher.file(),
                &mut span,
                start,
                end.saturating_sub(start),
            ),
        };
        if read.is_err() {
            return;
        }
        // A read that ended early has the complete blocks.
        for block in run.wanted {
            if span.holds(index.handle(block))
                && let Ok(pin) = self.load_block(index, block, options, Ahead::Read(&span))
            {
                held.blocks.push((block, pin));
            }
        }
    }

    /// Starts to read the blocks of some consecutive ranges of internal keys, for a cursor that will walk
    /// through them. At most `budget` bytes, from which the started bytes are subtracted.
    pub fn start_ranges(
        &self,
        ranges: &[ScanBounds],
        options: &BlockReadOptions,
        coalesce: u64,
        budget: &mut u64,
    ) -> Prepared {
        let mut runs = VecDeque::new();
        // The cursor will report any error of the index.
        if self.caches_parts() {
            let parts = self.blocks_of_parts(ranges, options, budget).unwrap_or_default();
            vfs::together(|| {
                for (part, _, blocks) in parts {
                    if let Ok(index) = index_of(&part) {
                        runs.extend(
                            self.begin(options.async_io, index, blocks, options, coalesce)
                                .runs,
                        );
                    }
                }
            });
        } else if let Ok(index) = self.owned_index() {
            let mut blocks = Vec::new();
            for range in ranges {
                let seek =
                    |key: &Option<Vec<u8>>| Some(self.seek_index(index, &self.target(key.as_deref()?)));
                let first = seek(&range.lower).unwrap_or(0);
                let end = seek(&range.upper).map_or(index.len(), |last| last + 1);
                if !spend(index, first..end.min(index.len()), &mut blocks, budget) {
                    break;
                }
            }
            runs.extend(
                self.begin(options.async_io, index, blocks, options, coalesce)
                    .runs,
            );
        }
        Prepared {
            runs,
            ..Prepared::default()
        }
    }

    /// The blocks of some ranges, grouped by the partitions of the index, with the partitions' numbers.
    fn blocks_of_parts(
        &self,
        ranges: &[ScanBounds],
        options: &BlockReadOptions,
        budget: &mut u64,
    ) -> Result<Vec<(BlockPin, usize, Vec<usize>)>> {
        let mut parts: Vec<(BlockPin, usize, Vec<usize>)> = Vec::new();
        'ranges: for range in ranges {
            let sought = match &range.lower {
                Some(lower) => self.pin_sought_part(&self.target(lower), options)?,
                None => self.pin_index_part(0, options)?.map(|part| (part, 0, 0)),
            };
            let mut next = sought;
            while let Some((part, partition, first)) = next.take() {
                let index = index_of(&part)?;
                let last = range
                    .upper
                    .as_deref()
                    .map(|upper| self.seek_index(index, &self.target(upper)));
                let end = last.map_or(index.len(), |last| last + 1).min(index.len());
                if parts.last().is_none_or(|last| last.1 != partition) {
                    parts.push((part.clone(), partition, Vec::new()));
                }
                let blocks = parts.last_mut().map(|last| &mut last.2);
                if let Some(blocks) = blocks
                    && !spend(index, first..end, blocks, budget)
                {
                    break 'ranges;
                }
                // The range continues in the next partition.
                if last.is_none_or(|last| last >= index.len()) {
                    let following = self.pin_index_part(partition + 1, options)?;
                    next = following.map(|part| (part, partition + 1, 0));
                }
            }
        }
        Ok(parts)
    }

    /// Reads a key as [`Table::get_located`] does, from the held blocks if they hold the key.
    pub fn get_held(
        &self,
        key: &LookupKey,
        located: Located,
        held: &HeldBlocks,
        options: &BlockReadOptions,
        visit: &mut impl FnMut(&[u8], Value<'_>) -> ControlFlow<()>,
    ) -> Result<Option<PinnedBytes>> {
        let Some(pin) = held.get(located.block) else {
            return self.get_located(key, located, options, visit);
        };
        let index = self.owned_index()?;
        let visited = self.search_pin(index, key, located.block, pin, visit)?;
        if visited.done {
            return Ok(visited.kept);
        }
        let next = Located {
            block: located.block + 1,
        };
        let kept = self.get_located(key, next, options, visit)?;
        Ok(kept.or(visited.kept))
    }
}

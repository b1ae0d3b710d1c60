//! Reads more of a table than was asked for, once reading is sequential: fewer calls of the system, and the disk works ahead.
//!
//! A cursor tells of each data block that it is about to read from the file. Where that begins a run, forwards or backwards, a
//! window of whole blocks is read at once, and the blocks of the run are then taken from it. A window ends
//! where the cursor has no business any more (at the bounds of the scan, at the end of the data), and where what follows is in
//! the block cache already.

use std::ops::Range;
use std::sync::Arc;

use base::Result;
use vfs::{PendingRead, RandomAccessFile};

use crate::block::BlockPin;
use crate::blocks::Prepared;
use crate::fetch::Span;
use crate::format::{BLOCK_TRAILER_LEN, BlockHandle};
use crate::index::Index;
use crate::reader::{BlockReadOptions, Table};

/// How the cursors over a table read ahead that are not told how much to: nothing at first, and once blocks are read one after the
/// other a window of [`initial`](AutoReadahead::initial) bytes, which doubles with each window up to [`max`](AutoReadahead::max).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AutoReadahead {
    /// Bytes of the first window beyond the block asked for: `initial_auto_readahead_size`. Default 8 KiB; 0: none is ever read.
    pub initial: u64,
    /// Bytes of the largest: `max_auto_readahead_size`. Default 256 KiB; 0: none is ever read.
    pub max: u64,
    /// Blocks read one after the other before the first window: `num_file_reads_for_auto_readahead`. Default 2.
    pub after: u64,
}

impl Default for AutoReadahead {
    fn default() -> AutoReadahead {
        AutoReadahead {
            initial: 8 << 10,
            max: 256 << 10,
            after: 2,
        }
    }
}

/// The internal keys between which somebody scans: nothing outside is read ahead.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanBounds {
    /// Nothing before it is wanted. Default: none.
    pub lower: Option<Vec<u8>>,
    /// Nothing at or behind it is wanted. Default: none.
    pub upper: Option<Vec<u8>>,
}

/// By how much a window shrinks for each block that turned out to be in the cache, with `adaptive_readahead`.
const DECREMENT: u64 = 8 << 10;

/// Cached blocks one after the other across which a run goes on, with `adaptive_readahead`.
const MOST_CACHED: usize = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Forwards,
    Backwards,
}

/// What one cursor reads ahead.
#[derive(Default)]
pub(crate) struct Readahead {
    /// The block that a reader going forwards would read next; the one that went backwards is two before it.
    expected: usize,
    direction: Option<Direction>,
    /// Blocks read one after the other.
    sequential: u64,
    /// Bytes of the window read last beyond the block asked for.
    size: u64,
    /// What was read.
    span: Span,
    /// The window behind, under way: where it lies.
    next: Option<(Range<u64>, PendingRead)>,
    /// Its memory, when it is not.
    spare: Span,
    /// What of a mapped file the kernel was asked to have ready.
    hinted: Range<u64>,
    bounds: Option<Arc<ScanBounds>>,
    /// What was said to be walked through.
    prepared: Option<Box<Prepared>>,
    /// What is read through instead of the table's file.
    own_file: Option<Arc<dyn RandomAccessFile>>,
}

impl Readahead {
    /// Nothing outside of `bounds` is read ahead from now on.
    pub fn set_bounds(&mut self, bounds: Option<Arc<ScanBounds>>) {
        self.bounds = bounds;
    }

    /// Reads through `file`, another descriptor of the table's, from now on.
    pub fn read_through(&mut self, file: Arc<dyn RandomAccessFile>) {
        self.own_file = Some(file);
    }

    /// Blocks that will be walked through.
    pub fn prepare(&mut self, prepared: Option<Box<Prepared>>) {
        self.prepared = prepared;
    }

    /// What of them is left.
    pub fn take_all_prepared(&mut self) -> Option<Box<Prepared>> {
        self.prepared.take()
    }

    /// Block `number`, if it was prepared.
    pub fn take_prepared(
        &mut self,
        table: &Table,
        index: &Index,
        number: usize,
        options: &BlockReadOptions,
    ) -> Option<BlockPin> {
        self.prepared.as_mut()?.take(table, index, number, options)
    }

    /// Goes on behind the last block of the table before: its memory is used again, and if `adaptive` its run goes on too.
    pub fn follow(&mut self, before: Readahead, adaptive: bool) {
        (self.span, self.spare) = (before.span, before.spare);
        self.span.bytes.clear();
        if adaptive && before.direction == Some(Direction::Forwards) {
            self.direction = before.direction;
            self.sequential = before.sequential;
            self.size = before.size;
        }
    }

    /// What was read: blocks may be in it.
    pub fn span(&self) -> &Span {
        &self.span
    }

    /// Block `number` is about to be read from the file: reads a window that begins with it, if it is time to.
    ///
    /// Errors: those of reading.
    pub fn before_read(
        &mut self,
        table: &Table,
        index: &Index,
        number: usize,
        options: &BlockReadOptions,
    ) -> Result<()> {
        self.note(table, index, number, options);
        let auto = &table.auto_readahead;
        let most = match options.readahead_size as u64 {
            0 if self.sequential <= auto.after || auto.initial == 0 => 0,
            0 => auto.max,
            fixed => fixed,
        };
        let handle = index.handle(number);
        if !self.span.holds(handle) {
            self.take_next(handle);
        }
        if most == 0 && self.own_file.is_none() {
            return Ok(());
        }
        let mapped = self.file(table).mapped().is_some();
        let is_ready = match mapped {
            true => self.hinted.contains(&handle.offset),
            false => self.span.holds(handle),
        };
        if is_ready {
            if options.async_io && self.next.is_none() && most > 0 {
                self.start_next(table, index, options, most);
            }
            return Ok(());
        }
        self.size = match (options.readahead_size, self.size) {
            (0, 0) => auto.initial.min(most),
            (0, size) => size.saturating_mul(2).min(most),
            _ => most,
        };
        let window = self.window(table, index, number, options);
        let bytes = bytes_of(index, &window);
        if mapped {
            self.ask_for(table, &bytes);
            self.hinted = bytes;
            return Ok(());
        }
        let file = self.own_file.as_ref().unwrap_or(table.fetcher.file());
        let len = bytes.end.saturating_sub(bytes.start);
        table.fetcher.fill(&**file, &mut self.span, bytes.start, len)?;
        if most == 0 {
            return Ok(());
        }
        let beyond = match self.direction {
            Some(Direction::Backwards) => window.start.checked_sub(1),
            _ => Some(window.end).filter(|&next| next < index.len()),
        };
        if options.async_io {
            self.start_next(table, index, options, most);
        } else if let Some(next) = beyond.filter(|&next| self.is_wanted(table, index, next, options)) {
            let ahead = self.window(table, index, next, options);
            self.ask_for(table, &bytes_of(index, &ahead));
        }
        Ok(())
    }

    /// Begins to read the block at `number`, so that it is under way when it is asked for.
    pub fn start_block(&mut self, table: &Table, index: &Index, number: usize) {
        let handle = index.handle(number);
        let file = self.own_file.as_ref().unwrap_or(table.fetcher.file());
        let begun = self.next.as_ref().is_some_and(|(range, _)| covers(range, handle));
        let prepared = self
            .prepared
            .as_ref()
            .is_some_and(|prepared| prepared.has(number, handle.offset));
        if file.mapped().is_some() || begun || prepared || self.span.holds(handle) {
            return;
        }
        let len = (handle.size).saturating_add(BLOCK_TRAILER_LEN as u64);
        self.next = None;
        self.next = Some(
            table
                .fetcher
                .start_fill(&**file, &mut self.spare, handle.offset, len),
        );
    }

    /// Makes the window under way the one at hand, if the block lies in it. One that could not be read is as good as none: the block is
    /// read by itself, and that tells.
    fn take_next(&mut self, handle: BlockHandle) {
        let Some((range, read)) = self.next.take_if(|(range, _)| covers(range, handle)) else {
            return;
        };
        if let Ok(bytes) = read.wait()
            && bytes.len() as u64 == range.end - range.start
        {
            let window = Span {
                offset: range.start,
                bytes,
            };
            self.spare = std::mem::replace(&mut self.span, window);
        }
    }

    /// Begins to read the window behind the one at hand.
    fn start_next(&mut self, table: &Table, index: &Index, options: &BlockReadOptions, most: u64) {
        let end = self.span.offset + self.span.bytes.len() as u64;
        let backwards = self.direction == Some(Direction::Backwards);
        let number = match backwards {
            false => index.block_at_or_after(end),
            true => index
                .block_at_or_after(self.span.offset)
                .checked_sub(1)
                .unwrap_or(index.len()),
        };
        if self.span.bytes.is_empty()
            || number >= index.len()
            || !self.is_wanted(table, index, number, options)
        {
            return;
        }
        if options.readahead_size == 0 {
            self.size = self.size.saturating_mul(2).min(most);
        }
        let bytes = bytes_of(index, &self.window(table, index, number, options));
        let file = self.own_file.as_ref().unwrap_or(table.fetcher.file());
        let len = bytes.end.saturating_sub(bytes.start);
        self.next = Some(
            table
                .fetcher
                .start_fill(&**file, &mut self.spare, bytes.start, len),
        );
    }

    /// Whether reading goes on from where it was.
    fn note(&mut self, table: &Table, index: &Index, number: usize, options: &BlockReadOptions) {
        let direction = if number == self.expected {
            Some(Direction::Forwards)
        } else if number + 2 == self.expected && self.sequential > 0 {
            Some(Direction::Backwards)
        } else if options.adaptive_readahead && self.went_through_cache(table, index, number) {
            let cached = (number - self.expected) as u64;
            let least = table.auto_readahead.initial.min(self.size);
            self.size = self
                .size
                .saturating_sub(cached.saturating_mul(DECREMENT))
                .max(least);
            Some(Direction::Forwards)
        } else {
            None
        };
        let goes_on = direction.is_some() && (self.direction.is_none() || self.direction == direction);
        if goes_on {
            self.sequential += 1;
        } else {
            self.sequential = 1;
            self.size = 0;
        }
        // The first two blocks tell which way it goes.
        self.direction = direction.filter(|_| self.sequential > 1);
        self.expected = number + 1;
    }

    /// True if the blocks between the one read last and this one were there to be walked through.
    fn went_through_cache(&self, table: &Table, index: &Index, number: usize) -> bool {
        self.direction == Some(Direction::Forwards)
            && number > self.expected
            && number - self.expected <= MOST_CACHED
            && (self.expected..number).all(|block| table.is_cached(index, block))
    }

    /// True if block `number` lies within the bounds and is not in the cache.
    fn is_wanted(&self, table: &Table, index: &Index, number: usize, options: &BlockReadOptions) -> bool {
        self.within_bounds(table, index, options).contains(&number)
            && !(options.auto_readahead_size && table.is_cached(index, number))
    }

    /// The blocks that somebody within the bounds reads.
    fn within_bounds(&self, table: &Table, index: &Index, options: &BlockReadOptions) -> Range<usize> {
        let bounds = self.bounds.as_deref().filter(|_| options.auto_readahead_size);
        let seek = |key: &Option<Vec<u8>>| Some(table.seek_index(index, &table.target(key.as_deref()?)));
        let lower = bounds.and_then(|bounds| seek(&bounds.lower)).unwrap_or(0);
        let upper = bounds.and_then(|bounds| seek(&bounds.upper));
        lower..upper.map_or(index.len(), |last| (last + 1).min(index.len()))
    }

    /// The blocks to read when block `number` is read: itself, and what follows it within `size` bytes.
    fn window(
        &self,
        table: &Table,
        index: &Index,
        number: usize,
        options: &BlockReadOptions,
    ) -> Range<usize> {
        let wanted = self.within_bounds(table, index, options);
        let is_cached = |block| options.auto_readahead_size && table.is_cached(index, block);
        let handle = index.handle(number);
        if self.direction == Some(Direction::Backwards) {
            let least = handle.offset.saturating_sub(self.size);
            let mut first = number;
            while first > wanted.start && index.handle(first - 1).offset >= least {
                first -= 1;
            }
            while first < number && is_cached(first) {
                first += 1;
            }
            return first..number + 1;
        }
        let most = handle.end().unwrap_or(u64::MAX).saturating_add(self.size);
        let mut end = number + 1;
        while end < wanted.end && index.handle(end).end().is_some_and(|end| end <= most) {
            end += 1;
        }
        while end > number + 1 && is_cached(end - 1) {
            end -= 1;
        }
        number..end
    }

    /// Asks the kernel to have them ready.
    fn ask_for(&self, table: &Table, bytes: &Range<u64>) {
        let len = bytes.end.saturating_sub(bytes.start);
        self.file(table).prefetch(bytes.start, len);
    }

    /// What is read through.
    pub fn file<'a>(&'a self, table: &'a Table) -> &'a dyn RandomAccessFile {
        &**self.own_file.as_ref().unwrap_or(table.fetcher.file())
    }
}

fn covers(range: &Range<u64>, handle: BlockHandle) -> bool {
    range.start <= handle.offset && handle.end().is_some_and(|end| end <= range.end)
}

/// Where a run of blocks, not empty, lies in the file.
pub(crate) fn bytes_of(index: &Index, blocks: &Range<usize>) -> Range<u64> {
    let last = index.handle(blocks.end - 1);
    index.handle(blocks.start).offset..last.end().unwrap_or(u64::MAX)
}

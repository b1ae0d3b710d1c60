//! Readahead: once reading is sequential, a cursor reads more of a table than was asked for. This saves
//! system calls and lets the disk work ahead.
//!
//! A cursor announces each data block that it is about to read from the file. If the block belongs to a run,
//! forwards or backwards, the cursor reads a window of whole blocks at once and takes the following blocks
//! from the window. A window ends at the bounds of the scan or at the end of the data, and where the
//! following block is in the block cache already.

use std::ops::Range;
use std::sync::Arc;

use base::Result;
use vfs::{PendingRead, RandomAccessFile};

use super::table::Table;
use crate::fetch::Span;
use crate::format::{BLOCK_TRAILER_LEN, BlockHandle};
use crate::index::Index;
use crate::read_options::{BlockReadOptions, ScanBounds};

/// The bytes by which a window shrinks for each block that turned out to be in the cache, with
/// `adaptive_readahead`.
const DECREMENT: u64 = 8 << 10;

/// The maximum number of consecutive cached blocks across which a run continues, with `adaptive_readahead`.
const MOST_CACHED: usize = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Forwards,
    Backwards,
}

/// The readahead state of one cursor.
#[derive(Default)]
pub(crate) struct Readahead {
    /// The next block of a reader that goes forwards. The next block of a reader that goes backwards is two
    /// before it.
    expected: usize,
    direction: Option<Direction>,
    /// The number of blocks read one after the other.
    sequential: u64,
    /// The bytes of the last window beyond the requested block.
    size: u64,
    /// The last window that was read.
    span: Span,
    /// The window after `span` that is being read: its range in the file and the read.
    next: Option<(Range<u64>, PendingRead)>,
    /// The buffer for the next window, while no read uses it.
    spare: Span,
    /// The range of a mapped file that the kernel was asked to make ready.
    hinted: Range<u64>,
    bounds: Option<Arc<ScanBounds>>,
    /// The descriptor through which blocks are read, instead of the table's own.
    own_file: Option<Arc<dyn RandomAccessFile>>,
}

impl Readahead {
    /// Reads nothing ahead outside of `bounds` from now on.
    pub fn set_bounds(&mut self, bounds: Option<Arc<ScanBounds>>) {
        self.bounds = bounds;
    }

    /// Reads through `file`, another descriptor of the table's file, from now on.
    pub fn read_through(&mut self, file: Arc<dyn RandomAccessFile>) {
        self.own_file = Some(file);
    }

    /// Continues after the last block of the table `before`: takes over its buffers and, if `adaptive`, its
    /// run.
    pub fn follow(&mut self, before: Readahead, adaptive: bool) {
        (self.span, self.spare) = (before.span, before.spare);
        self.span.bytes.clear();
        if adaptive && before.direction == Some(Direction::Forwards) {
            self.direction = before.direction;
            self.sequential = before.sequential;
            self.size = before.size;
        }
    }

    /// The last window that was read; blocks may be in it.
    pub fn span(&self) -> &Span {
        &self.span
    }

    /// Block `number` is about to be read from the file. Reads a window that begins with it, if the block
    /// belongs to a run.
    ///
    /// Errors: those of reading the file.
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

    /// Starts to read block `number`, so that the read is under way when the block is requested.
    pub fn start_block(&mut self, table: &Table, index: &Index, number: usize) {
        let handle = index.handle(number);
        let file = self.own_file.as_ref().unwrap_or(table.fetcher.file());
        let begun = self.next.as_ref().is_some_and(|(range, _)| covers(range, handle));
        if file.mapped().is_some() || begun || self.span.holds(handle) {
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

    /// Makes the pending window the current one, if it holds the block. A window that could not be read is
    /// dropped: the block is then read by itself, and that read returns the error.
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

    /// Starts to read the window after the current one.
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

    /// Updates the run: block `number` continues it or starts a new one.
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
        // The first two blocks determine the direction.
        self.direction = direction.filter(|_| self.sequential > 1);
        self.expected = number + 1;
    }

    /// True if all blocks between the last one read and this one are in the cache, so that the cursor went
    /// through them.
    fn went_through_cache(&self, table: &Table, index: &Index, number: usize) -> bool {
        self.direction == Some(Direction::Forwards)
            && number > self.expected
            && number - self.expected <= MOST_CACHED
            && (self.expected..number).all(|block| table.is_cached(index, block))
    }

    /// True if block `number` is within the bounds and is not in the cache.
    fn is_wanted(&self, table: &Table, index: &Index, number: usize, options: &BlockReadOptions) -> bool {
        self.within_bounds(table, index, options).contains(&number)
            && !(options.auto_readahead_size && table.is_cached(index, number))
    }

    /// The blocks of the table that are within the bounds of the scan.
    fn within_bounds(&self, table: &Table, index: &Index, options: &BlockReadOptions) -> Range<usize> {
        let bounds = self.bounds.as_deref().filter(|_| options.auto_readahead_size);
        let seek = |key: &Option<Vec<u8>>| Some(table.seek_index(index, &table.target(key.as_deref()?)));
        let lower = bounds.and_then(|bounds| seek(&bounds.lower)).unwrap_or(0);
        let upper = bounds.and_then(|bounds| seek(&bounds.upper));
        lower..upper.map_or(index.len(), |last| (last + 1).min(index.len()))
    }

    /// The blocks to read with block `number`: the block itself, and the following ones within `size` bytes.
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

    /// Asks the kernel to make these bytes ready.
    fn ask_for(&self, table: &Table, bytes: &Range<u64>) {
        let len = bytes.end.saturating_sub(bytes.start);
        self.file(table).prefetch(bytes.start, len);
    }

    /// The file to read through.
    pub fn file<'a>(&'a self, table: &'a Table) -> &'a dyn RandomAccessFile {
        &**self.own_file.as_ref().unwrap_or(table.fetcher.file())
    }
}

fn covers(range: &Range<u64>, handle: BlockHandle) -> bool {
    range.start <= handle.offset && handle.end().is_some_and(|end| end <= range.end)
}

/// The range in the file of a run of blocks, which is not empty.
pub(crate) fn bytes_of(index: &Index, blocks: &Range<usize>) -> Range<u64> {
    let last = index.handle(blocks.end - 1);
    index.handle(blocks.start).offset..last.end().unwrap_or(u64::MAX)
}

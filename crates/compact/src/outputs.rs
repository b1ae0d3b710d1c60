//! From the surviving entries to output files: points as they come, and each file's share of the range tombstones.

use std::cmp::Ordering;
use std::marker::PhantomData;
use std::ops::ControlFlow;

use base::internal_key::{self, TRAILER_LEN};
use base::{BlockwiseCursor, Error, InternalComparator, Kind, MAX_SEQNO, Result, SeqNo, user_code};
use rangedel::RangeTombstone;

use crate::cursor::{BlockRun, CompactionCursor};
use crate::order;
use crate::partitioner::SstPartitioner;
use crate::split::OutputSplitter;

/// The bounds of a file, as its `FileMetadata` needs them.
///
/// A tombstone reaches up to the *sentinel* of its end: the end's user key with the highest sequence number, which says
/// that the user key itself is not in the file and may be the smallest of the next one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileBounds {
    /// Smallest internal key. Empty without entries.
    pub smallest: Vec<u8>,
    /// Largest internal key. Empty without entries.
    pub largest: Vec<u8>,
    /// Lowest sequence number.
    pub smallest_seqno: SeqNo,
    /// Highest sequence number.
    pub largest_seqno: SeqNo,
    /// Point entries.
    pub num_entries: u64,
    /// Range tombstones.
    pub num_range_deletions: u64,
}

impl FileBounds {
    /// True while nothing was added.
    pub fn is_empty(&self) -> bool {
        self.largest.is_empty()
    }

    /// Extends to a point entry, which must come in order.
    #[inline]
    pub fn add_point(&mut self, key: &[u8]) {
        if self.num_entries == 0 {
            self.smallest.extend_from_slice(key);
        }
        self.largest.clear();
        self.largest.extend_from_slice(key);
        self.num_entries += 1;
        self.add_seqno(internal_key::seqno(key));
    }

    /// Extends to a point entry, which must come in order behind another; what is the largest key is told later.
    #[inline]
    fn add_inner(&mut self, key: &[u8]) {
        self.num_entries += 1;
        let seqno = internal_key::seqno(key);
        self.smallest_seqno = self.smallest_seqno.min(seqno);
        self.largest_seqno = self.largest_seqno.max(seqno);
    }

    /// Extends to point entries, from the internal key `first` to `last`, which must come in order.
    fn add_run(&mut self, first: &[u8], last: &[u8], run: &BlockRun) {
        if self.num_entries == 0 {
            self.smallest.extend_from_slice(first);
            (self.smallest_seqno, self.largest_seqno) = (run.smallest_seqno, run.largest_seqno);
        }
        self.largest.clear();
        self.largest.extend_from_slice(last);
        self.num_entries += run.entries;
        self.smallest_seqno = self.smallest_seqno.min(run.smallest_seqno);
        self.largest_seqno = self.largest_seqno.max(run.largest_seqno);
    }

    /// Extends to a range tombstone, in any order, once all points are in.
    pub fn add_tombstone(&mut self, cmp: &InternalComparator, tombstone: &RangeTombstone) {
        let start = internal_key::encode(&tombstone.start, tombstone.seqno, Kind::RangeDeletion);
        if self.smallest.is_empty() || cmp.compare(&start, &self.smallest) == Ordering::Less {
            self.smallest = start;
        }
        let mut end = tombstone.end.clone();
        // The greatest timestamp sorts first, so that every version at the end key is behind the sentinel.
        let bare = cmp.user().strip_timestamp(&end).len();
        end[bare..].fill(0xff);
        let end = internal_key::encode(&end, MAX_SEQNO, Kind::RangeDeletion);
        if self.largest.is_empty() || cmp.compare(&end, &self.largest) == Ordering::Greater {
            self.largest = end;
        }
        self.num_range_deletions += 1;
        self.add_seqno(tombstone.seqno);
    }

    /// Extends to what lies behind it, without a key in common.
    pub fn append(&mut self, behind: FileBounds) {
        if self.is_empty() {
            *self = behind;
            return;
        }
        self.largest = behind.largest;
        self.smallest_seqno = self.smallest_seqno.min(behind.smallest_seqno);
        self.largest_seqno = self.largest_seqno.max(behind.largest_seqno);
        self.num_entries += behind.num_entries;
        self.num_range_deletions += behind.num_range_deletions;
    }

    #[inline]
    fn add_seqno(&mut self, seqno: SeqNo) {
        if self.num_entries + self.num_range_deletions == 1 {
            (self.smallest_seqno, self.largest_seqno) = (seqno, seqno);
        } else {
            self.smallest_seqno = self.smallest_seqno.min(seqno);
            self.largest_seqno = self.largest_seqno.max(seqno);
        }
    }
}

/// Where the output of a compaction or flush goes: one file after the other. `C` is what is read.
pub trait OutputSink<C> {
    /// Begins a file.
    fn open(&mut self) -> Result<()>;

    /// Adds an entry to the open file. Entries come in the order of internal keys.
    fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()>;

    /// As [`add`](OutputSink::add), where it is known that the key has exactly so many bytes in common with the [one before](OutputSink::last_key).
    fn add_sharing(&mut self, key: &[u8], common: usize, value: &[u8]) -> Result<()> {
        let _ = common;
        self.add(key, value)
    }

    /// The entry that `input` stands on, or what was made of it, was refused with `error`: what the failure is to be.
    fn refused(&mut self, error: Error, input: &C) -> Error {
        let _ = input;
        error
    }

    /// The internal key of the entry added last.
    fn last_key(&self) -> &[u8];

    /// True if the block that `input` stands at the beginning of may be added to the open file as it is stored.
    fn can_copy_block(&mut self, input: &C) -> bool {
        let _ = input;
        false
    }

    /// Adds all entries of that block, and leaves `input` where it is. False, and nothing added, if that is not possible after all.
    fn copy_block(&mut self, input: &mut C) -> Result<bool> {
        let _ = input;
        Ok(false)
    }

    /// Adds a range tombstone to the open file. They come after its entries, by start, newest first.
    fn add_range_tombstone(&mut self, tombstone: &RangeTombstone) -> Result<()>;

    /// Bytes of the open file so far, estimated.
    fn file_size(&self) -> u64;

    /// Ends the open file.
    fn close(&mut self, bounds: FileBounds) -> Result<()>;
}

/// Which part of a compaction is written: user keys without timestamp, `start` inclusive, `end` exclusive, `None`:
/// unbounded. The cursor must stand on its first entry and have the same end
/// ([`CompactionRules::end`](crate::CompactionRules::end)).
#[derive(Clone, Copy, Debug, Default)]
pub struct OutputRange<'a> {
    /// First user key.
    pub start: Option<&'a [u8]>,
    /// First user key beyond.
    pub end: Option<&'a [u8]>,
}

/// Writes what `cursor` shows to `sink`, cut by `splitter`, each file with its share of the range tombstones.
///
/// No file is opened that would be empty. On an error a file may be left open, for its owner to abandon.
///
/// Blocks that nothing touches are copied where `sink` can: see [`BlockwiseCursor`].
pub fn write_outputs<C: BlockwiseCursor, S: OutputSink<C>>(
    cursor: &mut CompactionCursor<C>,
    range: OutputRange<'_>,
    mut splitter: OutputSplitter,
    sink: &mut S,
) -> Result<()> {
    let mut partitions = splitter.partitioner.take().map(Partitions::new);
    // A partitioner is asked of each key.
    let by_many = cursor.may_keep_blocks() && partitions.is_none();
    let mut files = Files {
        _input: PhantomData,
        cmp: InternalComparator::new(cursor.comparator().clone()),
        sink,
        bounds: FileBounds::default(),
        lower: range.start.map(<[u8]>::to_vec),
        is_open: false,
    };
    let mut beyond = cursor.beyond();
    // True from the first key or tombstone start that belongs to the current file.
    let mut begun = false;
    while cursor.valid() && !cursor.stops_if_cancelled() {
        let size = begun.then(|| if files.is_open { files.sink.file_size() } else { 0 });
        let starts_user_key = cursor.starts_user_key();
        let mut stop = splitter.should_stop_before(cursor.key(), size, starts_user_key);
        if let Some(partitions) = &mut partitions
            && starts_user_key
        {
            stop |= partitions.begins_at(cursor.key(), size);
        }
        if stop {
            let next = order::bare_user_key(cursor.comparator(), cursor.key()).to_vec();
            files.close(cursor, &mut beyond, Some(next))?;
        }
        begun = true;
        if !cursor.is_tombstone_start() {
            if !files.is_open {
                files.open()?;
            }
            if by_many && cursor.at_block_start() && files.copy_block(cursor, &splitter)? {
                continue;
            }
            if let Err(error) = files.sink.add(cursor.key(), cursor.value()) {
                return Err(files.sink.refused(error, cursor.input_mut()));
            }
            files.bounds.add_point(cursor.key());
            if by_many && cursor.may_run() {
                files.run(cursor, &splitter)?;
                continue;
            }
        }
        cursor.next();
    }
    cursor.status()?;
    files.close(cursor, &mut beyond, range.end.map(<[u8]>::to_vec))
}

/// What a user's partitioner is asked with.
struct Partitions {
    partitioner: Box<dyn SstPartitioner>,
    /// The user key before.
    last: Vec<u8>,
}

impl Partitions {
    fn new(partitioner: Box<dyn SstPartitioner>) -> Partitions {
        Partitions {
            partitioner,
            last: Vec::new(),
        }
    }

    /// True if a file of so many bytes is to end before `key`.
    fn begins_at(&mut self, key: &[u8], file_size: Option<u64>) -> bool {
        let user_key = internal_key::user_key(key);
        let begins = file_size.is_some_and(|size| {
            let partitioner = &mut self.partitioner;
            user_code::call(
                "partitioner",
                || "",
                || partitioner.should_partition(&self.last, user_key, size),
            )
        });
        self.last.clear();
        self.last.extend_from_slice(user_key);
        begins
    }
}

struct Files<'a, C, S> {
    _input: PhantomData<C>,
    cmp: InternalComparator,
    sink: &'a mut S,
    bounds: FileBounds,
    /// Where the current file's tombstones begin: the user key, without timestamp, the last one ended before.
    lower: Option<Vec<u8>>,
    is_open: bool,
}

impl<C: BlockwiseCursor, S: OutputSink<C>> Files<'_, C, S> {
    fn open(&mut self) -> Result<()> {
        self.sink.open()?;
        self.is_open = true;
        Ok(())
    }

    /// Adds the block that `cursor` stands at the beginning of as it is stored, if nothing touches it, and moves behind it. False, and
    /// nothing done, if its entries are to be added one by one.
    #[inline(never)]
    fn copy_block(&mut self, cursor: &mut CompactionCursor<C>, splitter: &OutputSplitter) -> Result<bool> {
        let uncut = |bound| splitter.is_uncut_up_to(bound);
        if !cursor.lone_block_bound().is_some_and(uncut) || !self.sink.can_copy_block(cursor.input_mut()) {
            return Ok(false);
        }
        let Some(run) = cursor.surviving_block() else {
            return Ok(false);
        };
        let copied = self.sink.copy_block(cursor.input_mut());
        if !copied.map_err(|error| self.sink.refused(error, cursor.input_mut()))? {
            return Ok(false);
        }
        self.bounds.add_run(cursor.key(), cursor.last_of_block(), &run);
        cursor.leave_block(&run);
        Ok(true)
    }

    /// Moves behind the entry that `cursor` stands on and that was added; and adds those of the same block that follow it and are the plain
    /// case, for as long as the file does not end.
    fn run(&mut self, cursor: &mut CompactionCursor<C>, splitter: &OutputSplitter) -> Result<()> {
        let (sink, bounds) = (&mut *self.sink, &mut self.bounds);
        let most = splitter.max_file_size();
        let mut failed = Ok(());
        let added = cursor.run(splitter.uncut_below(), |key, common, value| {
            if sink.file_size() >= most {
                return ControlFlow::Break(());
            }
            failed = sink.add_sharing(key, common, value);
            if failed.is_err() {
                return ControlFlow::Break(());
            }
            bounds.add_inner(key);
            ControlFlow::Continue(())
        });
        let last = (added > 0).then(|| sink.last_key());
        if let Some(last) = last {
            bounds.largest.clear();
            bounds.largest.extend_from_slice(last);
        }
        if let Err(error) = failed {
            return Err(self.sink.refused(error, cursor.input_mut()));
        }
        cursor.resume(last);
        Ok(())
    }

    /// Ends the current file before the user key `upper`: writes the tombstones up to there and leaves the rest to the
    /// next file. Files share no user key.
    fn close(
        &mut self,
        cursor: &mut CompactionCursor<C>,
        beyond: &mut crate::BeyondOutput,
        upper: Option<Vec<u8>>,
    ) -> Result<()> {
        let lower = self.lower.take();
        let (tombstones, rules) = cursor.tombstone_output();
        if !tombstones.is_empty() {
            tombstones.output(lower.as_deref(), upper.as_deref(), rules, beyond, |tombstone| {
                if !self.is_open {
                    self.open()?;
                }
                self.sink.add_range_tombstone(tombstone)?;
                self.bounds.add_tombstone(&self.cmp, tombstone);
                Ok(())
            })?;
        }
        self.lower = upper;
        if self.is_open {
            self.is_open = false;
            let bounds = std::mem::take(&mut self.bounds);
            base::invariant!(bounds.smallest.len() >= TRAILER_LEN);
            self.sink.close(bounds)?;
        }
        Ok(())
    }
}

//! Writes the surviving entries to output files: points as they come, and each file's share of the range
//! tombstones.

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
/// A tombstone extends to the *sentinel* of its end: the end's user key with the highest sequence number. The
/// sentinel means that the user key itself is not in the file, and may be the smallest key of the next file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileBounds {
    /// The smallest internal key. Empty without entries.
    pub smallest: Vec<u8>,
    /// The largest internal key. Empty without entries.
    pub largest: Vec<u8>,
    /// The lowest sequence number.
    pub smallest_seqno: SeqNo,
    /// The highest sequence number.
    pub largest_seqno: SeqNo,
    /// The number of point entries.
    pub num_entries: u64,
    /// The number of range tombstones.
    pub num_range_deletions: u64,
}

impl FileBounds {
    /// True if nothing was added.
    pub fn is_empty(&self) -> bool {
        self.largest.is_empty()
    }

    /// Extends the bounds to a point entry. Points must come in order.
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

    /// Extends the bounds to a point entry that follows another one. The largest key is set later.
    #[inline]
    fn add_inner(&mut self, key: &[u8]) {
        self.num_entries += 1;
        let seqno = internal_key::seqno(key);
        self.smallest_seqno = self.smallest_seqno.min(seqno);
        self.largest_seqno = self.largest_seqno.max(seqno);
    }

    /// Extends the bounds to a run of point entries, from the internal key `first` to `last`. Runs must come
    /// in order.
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

    /// Extends the bounds to a range tombstone. Tombstones may come in any order, after all points.
    pub fn add_tombstone(&mut self, cmp: &InternalComparator, tombstone: &RangeTombstone) {
        let start = internal_key::encode(&tombstone.start, tombstone.seqno, Kind::RangeDeletion);
        if self.smallest.is_empty() || cmp.compare(&start, &self.smallest) == Ordering::Less {
            self.smallest = start;
        }
        let mut end = tombstone.end.clone();
        // The greatest timestamp sorts first, so that every version of the end key is after the sentinel.
        let bare = cmp.user().strip_timestamp(&end).len();
        end[bare..].fill(0xff);
        let end = internal_key::encode(&end, MAX_SEQNO, Kind::RangeDeletion);
        if self.largest.is_empty() || cmp.compare(&end, &self.largest) == Ordering::Greater {
            self.largest = end;
        }
        self.num_range_deletions += 1;
        self.add_seqno(tombstone.seqno);
    }

    /// Extends the bounds to include the range `behind`, which comes later and shares no key with them.
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

/// The destination of a compaction's or flush's output: one file after the other. `C` is the type of the
/// input.
pub trait OutputSink<C> {
    /// Opens a file.
    fn open(&mut self) -> Result<()>;

    /// Adds an entry to the open file. Entries come in the order of internal keys.
    fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()>;

    /// Adds an entry as [`add`](OutputSink::add) does, for a key that is known to share exactly `common`
    /// bytes with [the previous one](OutputSink::last_key).
    fn add_sharing(&mut self, key: &[u8], common: usize, value: &[u8]) -> Result<()> {
        let _ = common;
        self.add(key, value)
    }

    /// Called when the entry at `input`, or the result computed from it, was refused with `error`. Returns
    /// the error that the write fails with.
    fn refused(&mut self, error: Error, input: &C) -> Error {
        let _ = input;
        error
    }

    /// The internal key of the last entry added.
    fn last_key(&self) -> &[u8];

    /// True if the block that `input` is at the start of may be copied into the open file in its stored form.
    fn can_copy_block(&mut self, input: &C) -> bool {
        let _ = input;
        false
    }

    /// Adds all entries of the block at `input`'s position, and does not move `input`. False, with nothing
    /// added, if the block cannot be copied after all.
    fn copy_block(&mut self, input: &mut C) -> Result<bool> {
        let _ = input;
        Ok(false)
    }

    /// Adds a range tombstone to the open file. Tombstones come after the file's entries, by start, newest
    /// first.
    fn add_range_tombstone(&mut self, tombstone: &RangeTombstone) -> Result<()>;

    /// The estimated size of the open file so far, in bytes.
    fn file_size(&self) -> u64;

    /// Closes the open file.
    fn close(&mut self, bounds: FileBounds) -> Result<()>;
}

/// The part of a compaction to write: user keys without timestamp, `start` inclusive, `end` exclusive,
/// `None`: unbounded. The cursor must be at its first entry and have the same end
/// ([`CompactionRules::end`](crate::CompactionRules::end)).
#[derive(Clone, Copy, Debug, Default)]
pub struct OutputRange<'a> {
    /// First user key.
    pub start: Option<&'a [u8]>,
    /// The first user key after the part.
    pub end: Option<&'a [u8]>,
}

/// Writes the entries of `cursor` to `sink`, cut by `splitter`, each file with its share of the range
/// tombstones.
///
/// It opens no file that would be empty. After an error a file may still be open, which its owner must
/// abandon.
///
/// Blocks that need no change are copied where `sink` can: see [`BlockwiseCursor`].
pub fn write_outputs<C: BlockwiseCursor, S: OutputSink<C>>(
    cursor: &mut CompactionCursor<C>,
    range: OutputRange<'_>,
    splitter: OutputSplitter,
    sink: &mut S,
) -> Result<()> {
    let mut output = Output::new(cursor, range, splitter, sink, Share::All);
    // A partitioner is asked about each key.
    let by_many = cursor.may_keep_blocks() && output.partitions.is_none();
    while cursor.valid() && !cursor.stops_if_cancelled() {
        output.cut_before(cursor, cursor.starts_user_key())?;
        if !cursor.is_tombstone_start() {
            let Output { files, splitter, .. } = &mut output;
            if !files.is_open {
                files.open()?;
            }
            if by_many && cursor.at_block_start() && files.copy_block(cursor, splitter)? {
                continue;
            }
            files.add(cursor)?;
            if by_many && cursor.may_run() {
                files.run(cursor, splitter)?;
                continue;
            }
        }
        cursor.next();
    }
    cursor.status()?;
    output.close(cursor, range.end)
}

/// Writes entries as [`write_outputs`] does, and divides them: those of sequence numbers above `after`, and
/// the range tombstones of such numbers, go to `newer`, all others to `older`.
pub fn write_outputs_by_age<C: BlockwiseCursor, S: OutputSink<C>>(
    cursor: &mut CompactionCursor<C>,
    range: OutputRange<'_>,
    after: SeqNo,
    older: (OutputSplitter, &mut S),
    newer: (OutputSplitter, &mut S),
) -> Result<()> {
    let mut outputs = [
        Output::new(cursor, range, older.0, older.1, Share::Through(after)),
        Output::new(cursor, range, newer.0, newer.1, Share::After(after)),
    ];
    // True for an output that has taken no entry of the current user key yet.
    let mut starts_user_key = [false; 2];
    while cursor.valid() && !cursor.stops_if_cancelled() {
        if cursor.starts_user_key() {
            starts_user_key = [true; 2];
        }
        let of = usize::from(internal_key::seqno(cursor.key()) > after);
        outputs[of].cut_before(cursor, std::mem::take(&mut starts_user_key[of]))?;
        if !cursor.is_tombstone_start() {
            let files = &mut outputs[of].files;
            if !files.is_open {
                files.open()?;
            }
            files.add(cursor)?;
        }
        cursor.next();
    }
    cursor.status()?;
    outputs
        .iter_mut()
        .try_for_each(|output| output.close(cursor, range.end))
}

/// The range tombstones that an output takes, by their sequence numbers.
#[derive(Clone, Copy)]
enum Share {
    All,
    Through(SeqNo),
    After(SeqNo),
}

impl Share {
    fn has(self, seqno: SeqNo) -> bool {
        match self {
            Share::All => true,
            Share::Through(last) => seqno <= last,
            Share::After(last) => seqno > last,
        }
    }
}

/// The files of one output, and where they are cut.
struct Output<'a, C, S> {
    files: Files<'a, C, S>,
    splitter: OutputSplitter,
    partitions: Option<Partitions>,
    beyond: crate::BeyondOutput,
    /// True until the current file has its first key or tombstone start.
    begun: bool,
}

impl<'a, C: BlockwiseCursor, S: OutputSink<C>> Output<'a, C, S> {
    fn new(
        cursor: &CompactionCursor<C>,
        range: OutputRange<'_>,
        mut splitter: OutputSplitter,
        sink: &'a mut S,
        share: Share,
    ) -> Output<'a, C, S> {
        Output {
            files: Files {
                _input: PhantomData,
                cmp: InternalComparator::new(cursor.comparator().clone()),
                sink,
                share,
                bounds: FileBounds::default(),
                lower: range.start.map(<[u8]>::to_vec),
                is_open: false,
            },
            partitions: splitter.partitioner.take().map(Partitions::new),
            splitter,
            beyond: cursor.beyond(),
            begun: false,
        }
    }

    /// Ends the current file before the current entry of `cursor`, if it is to end there.
    #[inline]
    fn cut_before(&mut self, cursor: &mut CompactionCursor<C>, starts_user_key: bool) -> Result<()> {
        let files = &mut self.files;
        let size = (self.begun).then(|| if files.is_open { files.sink.file_size() } else { 0 });
        let mut stop = (self.splitter).should_stop_before(cursor.key(), size, starts_user_key);
        if let Some(partitions) = &mut self.partitions
            && starts_user_key
        {
            stop |= partitions.begins_at(cursor.key(), size);
        }
        if stop {
            let next = order::bare_user_key(cursor.comparator(), cursor.key()).to_vec();
            files.close(cursor, &mut self.beyond, Some(next))?;
        }
        self.begun = true;
        Ok(())
    }

    fn close(&mut self, cursor: &mut CompactionCursor<C>, end: Option<&[u8]>) -> Result<()> {
        self.files
            .close(cursor, &mut self.beyond, end.map(<[u8]>::to_vec))
    }
}

/// The calls of a user's partitioner.
struct Partitions {
    partitioner: Box<dyn SstPartitioner>,
    /// The previous user key.
    last: Vec<u8>,
}

impl Partitions {
    fn new(partitioner: Box<dyn SstPartitioner>) -> Partitions {
        Partitions {
            partitioner,
            last: Vec::new(),
        }
    }

    /// True if a file of `file_size` bytes is to end before `key`.
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
    share: Share,
    bounds: FileBounds,
    /// The start of the current file's tombstones: the user key, without timestamp, before which the last
    /// file ended.
    lower: Option<Vec<u8>>,
    is_open: bool,
}

impl<C: BlockwiseCursor, S: OutputSink<C>> Files<'_, C, S> {
    fn open(&mut self) -> Result<()> {
        self.sink.open()?;
        self.is_open = true;
        Ok(())
    }

    /// Adds the current entry of `cursor` to the open file.
    #[inline]
    fn add(&mut self, cursor: &mut CompactionCursor<C>) -> Result<()> {
        if let Err(error) = self.sink.add(cursor.key(), cursor.value()) {
            return Err(self.sink.refused(error, cursor.input_mut()));
        }
        self.bounds.add_point(cursor.key());
        Ok(())
    }

    /// Copies the block that `cursor` is at the start of in its stored form, if it needs no change, and moves
    /// past it. False, with nothing done, if its entries must be added one by one.
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

    /// Moves past the current entry of `cursor`, which was added. Also adds the following entries of the same
    /// block that are the plain case, as long as the file does not end.
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

    /// Ends the current file before the user key `upper`: writes the tombstones up to there and leaves the
    /// rest to the next file. Files share no user key.
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
                if !self.share.has(tombstone.seqno) {
                    return Ok(());
                }
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

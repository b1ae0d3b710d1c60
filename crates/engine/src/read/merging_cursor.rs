//! One sorted run merged from many: memtables, L0 files and levels. Entries that range tombstones cover are
//! skipped.
//!
//! ```text
//!   child 0  memtable           newest        heap: children that stand on an entry, the smallest key on top
//!   child 1  immutable memtable   |           (going backwards: the largest)
//!   child 2  L0 file              |
//!   child 3  L1 (a run of files)  v           tombstones[i]: the range tombstones of child i where it stands now
//!   child 4  L2                 oldest
//! ```
//!
//! Invariants:
//! 1. Every child outside the heap is past its end in the current direction, has no entry with the sought
//!    prefix, or failed.
//! 2. Going forwards, no child is before the top's key; going backwards, no child is after it.
//! 3. For one user key, the entries of child `i` are newer than those of every child `j > i`. Therefore a
//!    tombstone of child `i` covers everything in its span in the older children, and these may seek to the
//!    end of the span without looking at the entries. Its own child may do so if no visible entry in it is
//!    newer than the tombstone, as far as memtables and tables know.
//! 4. The child on top is at an entry that was read. Other children may be at an entry of which only the
//!    key is known, so that levels whose turn never comes are not read.
//! 5. A level stays at a *boundary* (the bound of a file that has range tombstones) until every other child
//!    has passed it, so that the file's tombstones stay in force exactly as long as they can cover an entry.

use std::cmp::Ordering;
use std::ops::ControlFlow;
use std::sync::Arc;

use base::internal_key::{self, KIND_FOR_SEEK, MAX_SEQNO, TRAILER_LEN, pack_trailer};
use base::perf;
use base::prefix::PrefixExtractor;
use base::{BlockwiseCursor, Cursor, Error, InternalComparator, Result, SeqNo, UserComparator};
use memtable::MemtableCursor;
use rangedel::{TombstoneCursor, TombstoneSource};
use sst::{BlockReadOptions, ScanBounds, TableCursor};

use super::level_cursor::LevelCursor;
use super::spare::Spare;
use crate::files::pinned_value::PinnedValue;

/// The number of covered entries that are stepped over before the covered children seek to the end of the
/// span: a seek costs as much as some tens of steps.
const STEPS_BEFORE_SEEK: u32 = 8;

/// The source of a child's entries. An enum, so that a step costs a predictable branch and not an indirect
/// call.
pub(crate) enum Source {
    /// A memtable, mutable or immutable.
    Memtable(MemtableCursor),
    /// One table of L0.
    Table(TableCursor),
    /// The files of a level below L0, one after the other.
    Level(LevelCursor),
}

macro_rules! on_source {
    ($source:expr, $cursor:ident => $body:expr) => {
        match $source {
            Source::Memtable($cursor) => $body,
            Source::Table($cursor) => $body,
            Source::Level($cursor) => $body,
        }
    };
}

impl Source {
    #[inline]
    fn valid(&self) -> bool {
        on_source!(self, cursor => cursor.valid())
    }
    #[inline]
    fn key(&self) -> &[u8] {
        on_source!(self, cursor => cursor.key())
    }
    #[inline]
    fn value(&self) -> &[u8] {
        on_source!(self, cursor => cursor.value())
    }
    /// Moves to the next entry. True if the entry that was left was the last of a block.
    #[inline(always)]
    fn next(&mut self) -> bool {
        match self {
            Source::Memtable(cursor) => {
                cursor.next();
                false
            }
            Source::Table(cursor) => cursor.step(),
            Source::Level(cursor) => cursor.step(),
        }
    }
    #[inline]
    fn prev(&mut self) {
        on_source!(self, cursor => cursor.prev())
    }
    fn seek(&mut self, target: &[u8]) {
        on_source!(self, cursor => cursor.seek(target))
    }
    fn seek_within_prefix(&mut self, target: &[u8], extractor: &dyn PrefixExtractor) {
        match self {
            Source::Memtable(cursor) => cursor.seek_within_prefix(target, extractor),
            Source::Table(cursor) => cursor.seek_within_prefix(target),
            Source::Level(cursor) => cursor.seek_within_prefix(target),
        }
    }
    fn seek_for_prev(&mut self, target: &[u8]) {
        on_source!(self, cursor => cursor.seek_for_prev(target))
    }
    fn seek_for_prev_within_prefix(&mut self, target: &[u8], extractor: &dyn PrefixExtractor) {
        match self {
            Source::Memtable(cursor) => cursor.seek_for_prev_within_prefix(target, extractor),
            _ => self.seek_for_prev(target),
        }
    }
    fn seek_to_first(&mut self) {
        on_source!(self, cursor => cursor.seek_to_first())
    }
    fn seek_to_last(&mut self) {
        on_source!(self, cursor => cursor.seek_to_last())
    }
    fn status(&self) -> Result<()> {
        on_source!(self, cursor => cursor.status())
    }
    #[inline]
    fn at_boundary(&self) -> bool {
        matches!(self, Source::Level(level) if level.at_boundary())
    }
    #[inline]
    fn is_unread(&self) -> bool {
        matches!(self, Source::Level(level) if level.is_unread())
    }

    /// True if an entry of this source may be visible at `snapshot` and at least as new as one of the
    /// source's own tombstones, whose sequence number is `tombstone`. Such an entry may be within the
    /// tombstone's span without being covered, so the span must not be skipped. The answer is for the whole
    /// memtable or table and not for the span, so only false is certain.
    fn may_have_over(&self, tombstone: SeqNo, snapshot: SeqNo) -> bool {
        let table = match self {
            Source::Memtable(cursor) => return cursor.table().has_entries_over(tombstone, snapshot),
            Source::Table(cursor) => Some(cursor),
            Source::Level(cursor) => cursor.at_table(),
        };
        // The tombstones of an ingested file have the sequence number of its entries but cover only older
        // entries, so a table whose newest entry is as new as the tombstone counts as well.
        table.is_none_or(|cursor| cursor.table().largest_entry_seqno() >= tombstone)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Forward,
    Backward,
}

/// A kind of seek whose reads may be started in advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SeekKind {
    /// The seek is a `seek`.
    Seek,
    /// The seek is a `seek_within_prefix`.
    WithinPrefix,
    /// The seek is a `seek_for_prev`.
    ForPrev,
}

/// A child in the heap, with the first eight bytes of its key: most comparisons need no more.
#[derive(Clone, Copy)]
struct Item {
    prefix: u64,
    child: u32,
}

thread_local! {
    static SOURCES: Spare<Source> = const { Spare::new() };
    static HEAP: Spare<Item> = const { Spare::new() };
}

/// Merges sources. The module documentation lists the invariants.
pub(crate) struct MergingCursor {
    cmp: InternalComparator,
    sources: Vec<Source>,
    /// For each child, the cursor over the tombstones in force at the child's position. `None`, and possibly
    /// beyond the end of the vector, for children that never had tombstones.
    tombstones: Vec<Option<Box<TombstoneCursor>>>,
    /// The number of children with tombstones, plus the number of children at an entry that was not read.
    /// While it is not 0, steps take the slower path.
    active: usize,
    /// The number of children at an entry that was not read.
    unread: usize,
    /// The number of children that read tables: the last ones.
    runs: usize,
    /// True if the children that read tables are left out since the last seek: they may be anywhere.
    memtables_only: bool,
    heap: Vec<Item>,
    direction: Direction,
    /// True if the last step forwards left the last entry of a block of the top child. The child is then
    /// possibly at the first entry of its next block.
    ended_block: bool,
    /// Range tombstones with a sequence number above this number are invisible.
    snapshot: SeqNo,
    /// Range tombstones of the newest child with a sequence number above this one are invisible.
    newest_snapshot: SeqNo,
    /// The read timestamp, if keys have timestamps: range tombstones with a newer timestamp are invisible.
    read_ts: Option<Box<[u8]>>,
    error: Option<Error>,
    /// A copy of a key, valid after the cursor it came from has moved.
    scratch: Vec<u8>,
}

impl MergingCursor {
    /// A cursor over sources from newest to oldest that returns every entry: the input of a compaction.
    pub fn over(cmp: InternalComparator, sources: Vec<Source>) -> MergingCursor {
        let mut cursor = MergingCursor::new(cmp, sources.len(), MAX_SEQNO, None);
        for source in sources {
            cursor.add(source, None);
        }
        cursor
    }

    /// A cursor over sources that are [added](MergingCursor::add) later, usually at most `most`. Entries
    /// covered by tombstones that a reader at `snapshot` and `read_ts` sees are skipped.
    pub fn new(
        cmp: InternalComparator,
        most: usize,
        snapshot: SeqNo,
        read_ts: Option<&[u8]>,
    ) -> MergingCursor {
        let mut sources = SOURCES.try_with(Spare::take).unwrap_or_default();
        let mut heap = HEAP.try_with(Spare::take).unwrap_or_default();
        sources.reserve_exact(most);
        heap.reserve_exact(most);
        MergingCursor {
            cmp,
            sources,
            tombstones: Vec::new(),
            active: 0,
            unread: 0,
            runs: 0,
            memtables_only: false,
            heap,
            direction: Direction::Forward,
            ended_block: false,
            snapshot,
            newest_snapshot: snapshot,
            read_ts: read_ts.map(Into::into),
            error: None,
            scratch: Vec::new(),
        }
    }

    /// Heap memory in bytes, without buffers that grow as the cursor moves, and without unused capacity of
    /// recycled buffers.
    pub fn memory_usage(&self) -> usize {
        let tombstones = self.tombstones.iter().flatten().count() * size_of::<TombstoneCursor>();
        let of_children = self.tombstones.len() * size_of::<Option<Box<TombstoneCursor>>>();
        self.sources.len() * (size_of::<Source>() + size_of::<Item>()) + of_children + tombstones
    }

    /// Adds a source older than all added before, with its range tombstones. Levels supply their own, file by
    /// file.
    pub fn add(&mut self, source: Source, tombstones: Option<TombstoneSource>) {
        self.runs += usize::from(!matches!(source, Source::Memtable(_)));
        self.sources.push(source);
        self.set_tombstones(self.sources.len() - 1, tombstones);
    }

    /// In the newest child, which is not added yet, tombstones up to `snapshot` are visible, independently of
    /// the other children.
    pub fn see_in_newest(&mut self, snapshot: SeqNo) {
        self.newest_snapshot = snapshot;
    }

    /// From the next seek on, the cursor merges the memtables alone if `only`, else all sources.
    #[inline]
    pub fn set_memtables_only(&mut self, only: bool) {
        self.memtables_only = only;
    }

    /// The number of children that are merged, the newest ones.
    #[inline]
    fn children(&self) -> usize {
        match self.memtables_only {
            true => self.sources.len() - self.runs,
            false => self.sources.len(),
        }
    }

    /// Replaces the tombstones of `child` by `tombstones`.
    fn set_tombstones(&mut self, child: usize, tombstones: Option<TombstoneSource>) {
        let tombstones = tombstones.filter(|tombstones| !tombstones.is_empty());
        if tombstones.is_some() && child >= self.tombstones.len() {
            self.tombstones.resize_with(self.sources.len(), || None);
        }
        let Some(slot) = self.tombstones.get_mut(child) else {
            return;
        };
        let is_active = |slot: &Option<Box<TombstoneCursor>>| {
            usize::from(slot.as_ref().is_some_and(|cursor| !cursor.is_empty()))
        };
        self.active -= is_active(slot);
        match (&mut *slot, tombstones) {
            (Some(cursor), tombstones) => cursor.set_sources(tombstones),
            (None, Some(tombstones)) => {
                let cursor = TombstoneCursor::new(self.cmp.user().clone(), [tombstones]);
                *slot = Some(Box::new(cursor.with_read_timestamp(self.read_ts.as_deref())));
            }
            (None, None) => {}
        }
        self.active += is_active(slot);
    }

    /// From the next seek on, skips entries covered by tombstones at or below `snapshot`. The tombstones of
    /// the newest child are replaced by `newest`.
    pub fn move_snapshot(&mut self, snapshot: SeqNo, newest: TombstoneSource) {
        (self.snapshot, self.newest_snapshot) = (snapshot, snapshot);
        if !self.sources.is_empty() {
            self.set_tombstones(0, Some(newest));
        }
    }

    /// Sets the bounds of a scan, as internal keys: nothing outside them is read ahead.
    pub fn set_bounds(&mut self, bounds: Option<&Arc<ScanBounds>>) {
        for source in &mut self.sources {
            match source {
                Source::Memtable(_) => {}
                Source::Table(cursor) => cursor.set_bounds(bounds.cloned()),
                Source::Level(cursor) => cursor.set_bounds(bounds.cloned()),
            }
        }
    }

    /// Begins to read the blocks of all sources in these ranges of internal keys, which are in order: at most
    /// `budget` bytes in all. The cursor is not valid afterwards.
    pub fn prepare(&mut self, ranges: &[ScanBounds], read: &BlockReadOptions, coalesce: u64, budget: u64) {
        let mut budget = budget;
        vfs::together(|| {
            for source in &mut self.sources {
                match source {
                    Source::Memtable(_) => {}
                    Source::Table(cursor) => {
                        let prepared = cursor.table().start_ranges(ranges, read, coalesce, &mut budget);
                        cursor.prepare(prepared);
                    }
                    Source::Level(cursor) => cursor.prepare(ranges, coalesce, &mut budget),
                }
            }
        });
        self.heap.clear();
    }

    /// If there are several runs of tables, makes each prefetch into the CPU's cache the memory that a `seek`
    /// to `target` (or a `seek_for_prev` if `backwards`) reads first, so that the cache misses overlap. That
    /// seek must follow.
    #[inline]
    pub fn hint_seek(&mut self, target: &[u8], backwards: bool) {
        if self.runs < 2 || self.memtables_only {
            return;
        }
        for source in &mut self.sources {
            match source {
                Source::Memtable(_) => {}
                Source::Table(cursor) => cursor.hint_seek(target),
                Source::Level(cursor) => cursor.hint_seek(target, backwards),
            }
        }
    }

    /// Begins to read the blocks of every source that a seek of kind `kind` to `target` will need, all reads
    /// together. That seek must follow.
    #[cold]
    pub fn start_seek(&mut self, target: &[u8], kind: SeekKind) {
        let children = self.children();
        vfs::together(|| {
            for source in &mut self.sources[..children] {
                match (source, kind) {
                    (Source::Memtable(_), _) => {}
                    (Source::Table(cursor), SeekKind::WithinPrefix) => {
                        cursor.start_seek_within_prefix(target)
                    }
                    (Source::Table(cursor), _) => cursor.start_seek(target, kind == SeekKind::ForPrev),
                    (Source::Level(cursor), SeekKind::Seek) => cursor.start_seek(target),
                    (Source::Level(cursor), SeekKind::WithinPrefix) => {
                        cursor.start_seek_within_prefix(target)
                    }
                    (Source::Level(cursor), SeekKind::ForPrev) => cursor.start_seek_for_prev(target),
                }
            }
        });
    }

    /// Seeks as `seek` does, for a caller that needs no key after those with `target`'s prefix by
    /// `extractor`. Memtables and tables whose filters exclude the prefix are not read. With `side_by_side`,
    /// the reads of the other tables are started together.
    pub fn seek_within_prefix(&mut self, target: &[u8], extractor: &dyn PrefixExtractor, side_by_side: bool) {
        if side_by_side {
            self.start_seek(target, SeekKind::WithinPrefix);
        }
        self.place(Direction::Forward, |source| {
            source.seek_within_prefix(target, extractor);
        });
    }

    /// Seeks as `seek_for_prev` does, for a caller that needs no key before those with `target`'s prefix.
    /// Only the filters of memtables are used.
    pub fn seek_for_prev_within_prefix(&mut self, target: &[u8], extractor: &dyn PrefixExtractor) {
        self.place(Direction::Backward, |source| {
            source.seek_for_prev_within_prefix(target, extractor);
        });
    }

    #[inline]
    fn prefix_of(&self, child: usize) -> u64 {
        if !self.cmp.user().is_bytewise() {
            return 0;
        }
        internal_key::prefix(internal_key::user_key(self.sources[child].key()))
    }

    /// True if `a` leaves the heap before `b`.
    #[inline(always)]
    fn before(&self, a: Item, b: Item) -> bool {
        if a.prefix != b.prefix {
            return (a.prefix < b.prefix) == (self.direction == Direction::Forward);
        }
        self.before_by_key(a, b)
    }

    /// True if `a` leaves the heap before `b`, for two items whose first eight bytes are equal.
    #[inline(never)]
    fn before_by_key(&self, a: Item, b: Item) -> bool {
        let [a, b] = [a, b].map(|item| self.sources[item.child as usize].key());
        self.cmp.compare(a, b)
            == match self.direction {
                Direction::Forward => Ordering::Less,
                Direction::Backward => Ordering::Greater,
            }
    }

    /// The child of `at` that leaves the heap first; `None` for a leaf.
    #[inline(always)]
    fn child(&self, at: usize) -> Option<usize> {
        let left = 2 * at + 1;
        let right = left + 1;
        match right.cmp(&self.heap.len()) {
            Ordering::Less => Some(left + usize::from(self.before(self.heap[right], self.heap[left]))),
            Ordering::Equal => Some(left),
            Ordering::Greater => None,
        }
    }

    /// Moves the item at `at` down to its place in the heap. An item that moves at all usually moves far: the
    /// path of smallest children is followed to its end without comparing with the item, and then back up.
    fn sift_down(&mut self, mut at: usize) {
        let item = self.heap[at];
        let Some(first) = self.child(at) else { return };
        if !self.before(self.heap[first], item) {
            return;
        }
        self.heap[at] = self.heap[first];
        at = first;
        while let Some(child) = self.child(at) {
            self.heap[at] = self.heap[child];
            at = child;
        }
        while at != first {
            let parent = (at - 1) / 2;
            if !self.before(item, self.heap[parent]) {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = item;
    }

    fn rebuild(&mut self) {
        self.heap.clear();
        let mut unread = 0;
        for child in 0..self.children() {
            self.record_moved(child);
            if self.sources[child].valid() {
                unread += usize::from(self.sources[child].is_unread());
                self.heap.push(Item {
                    prefix: self.prefix_of(child),
                    child: child as u32,
                });
            }
        }
        if self.unread + unread > 0 {
            self.active = self.active - self.unread + unread;
            self.unread = unread;
        }
        for at in (0..self.heap.len() / 2).rev() {
            self.sift_down(at);
        }
        if self.error.is_some() {
            self.heap.clear();
        }
    }

    /// After a move of `child`: adopts the tombstones of the file that a level is in now, and its error if it
    /// failed.
    #[inline]
    fn record_moved(&mut self, child: usize) {
        if let Source::Level(level) = &mut self.sources[child]
            && let Some(changed) = level.take_changed_tombstones()
        {
            self.set_tombstones(child, changed.map(Into::into));
        }
        if !self.sources[child].valid()
            && let Err(error) = self.sources[child].status()
        {
            self.error = Some(error);
        }
    }

    /// Restores the heap after its top child moved.
    #[inline]
    fn settle_top(&mut self) {
        let child = self.heap[0].child as usize;
        self.record_moved(child);
        if self.sources[child].valid() {
            // A single child is compared with no other, and the heap is rebuilt when children are added.
            if self.heap.len() > 1 {
                self.heap[0].prefix = self.prefix_of(child);
                self.sift_down(0);
            }
            return;
        }
        if self.error.is_some() {
            self.heap.clear();
            return;
        }
        self.heap.swap_remove(0);
        if !self.heap.is_empty() {
            self.sift_down(0);
        }
    }

    #[inline]
    fn step_top(&mut self) {
        let child = self.heap[0].child as usize;
        match self.direction {
            Direction::Forward => self.ended_block = self.sources[child].next(),
            Direction::Backward => self.sources[child].prev(),
        }
        self.settle_top();
    }

    /// The snapshot that limits the visible tombstones of `child`.
    fn snapshot_of(&self, child: usize) -> SeqNo {
        match child {
            0 => self.newest_snapshot,
            _ => self.snapshot,
        }
    }

    /// The newest child whose tombstones cover the top entry, and the sequence number of the newest such
    /// tombstone.
    fn covering_child(&mut self) -> Option<(usize, SeqNo)> {
        let key = self.sources[self.heap[0].child as usize].key();
        let user_key = internal_key::user_key(key);
        let seqno = internal_key::seqno(key);
        let covers = |(child, cursor): (usize, &mut Option<Box<TombstoneCursor>>)| {
            let cursor = cursor.as_mut().filter(|cursor| !cursor.is_empty())?;
            let snapshot = if child == 0 {
                self.newest_snapshot
            } else {
                self.snapshot
            };
            let covering = cursor.covering(user_key, snapshot);
            (covering > seqno).then_some((child, covering))
        };
        self.tombstones.iter_mut().enumerate().find_map(covers)
    }

    /// Moves on until no tombstone covers the top entry.
    #[inline]
    fn skip_covered(&mut self) {
        if self.active > 0 {
            self.skip_covered_slow();
        }
    }

    #[inline(never)]
    fn skip_covered_slow(&mut self) {
        let passed = self.pass_over_covered();
        if passed > 0 {
            perf::count(|cells| &cells.internal_key_skipped_count, passed);
        }
    }

    /// Moves on until no tombstone covers the top entry. Returns the number of covered entries that were
    /// stepped over.
    #[inline(always)]
    fn pass_over_covered(&mut self) -> u64 {
        let mut passed = 0;
        let mut steps = 0;
        while let Some(top) = self.heap.first() {
            let top_child = top.child as usize;
            if self.sources[top_child].at_boundary() {
                self.step_top();
                continue;
            }
            if self.unread > 0 && self.read_top() {
                continue;
            }
            let Some((child, tombstone)) = self.covering_child() else {
                return passed;
            };
            steps += 1;
            if steps > STEPS_BEFORE_SEEK {
                steps = 0;
                let first = match child < top_child {
                    true => Some(child + 1),
                    false => self.lies_under(child, tombstone).then_some(child),
                };
                if first.is_some_and(|first| self.seek_past(child, first)) {
                    continue;
                }
            }
            passed += 1;
            self.step_top();
        }
        passed
    }

    /// True if tombstone `tombstone` of `child` covers every visible entry of the child within its span.
    fn lies_under(&self, child: usize, tombstone: SeqNo) -> bool {
        // If keys have timestamps, the timestamps decide too, so the answer is unknown.
        self.cmp.user().timestamp_size() == 0
            && !self.sources[child].may_have_over(tombstone, self.snapshot_of(child))
    }

    /// Reads the top entry's block if it was not read. True if it had to be read.
    fn read_top(&mut self) -> bool {
        let child = self.heap[0].child as usize;
        let Source::Level(level) = &mut self.sources[child] else {
            return false;
        };
        if !level.is_unread() {
            return false;
        }
        level.read();
        self.unread -= 1;
        self.active -= 1;
        self.settle_top();
        true
    }

    /// Moves child `first` and all older children past the span of the current tombstone of `child`. False
    /// if the span is not known.
    #[cold]
    fn seek_past(&mut self, child: usize, first: usize) -> bool {
        let span = self.tombstones[child].as_ref().and_then(|cursor| cursor.span());
        let Some((start, end)) = span else {
            return false;
        };
        let edge = match self.direction {
            Direction::Forward => end,
            Direction::Backward => start,
        };
        let mut target = std::mem::take(&mut self.scratch);
        before_key(&mut target, self.cmp.user(), edge);
        let children = self.children();
        for source in &mut self.sources[first..children] {
            if !source.valid() {
                continue;
            }
            match (self.direction, self.cmp.compare(source.key(), &target)) {
                (Direction::Forward, Ordering::Less) => source.seek(&target),
                (Direction::Backward, Ordering::Greater) => source.seek_for_prev(&target),
                _ => {}
            }
        }
        self.scratch = target;
        perf::count(|cells| &cells.internal_range_del_reseek_count, 1);
        self.rebuild();
        true
    }

    /// Changes direction: moves every other child to the far side of the current key.
    fn turn(&mut self, direction: Direction) {
        let current = self.heap[0].child as usize;
        let mut key = std::mem::take(&mut self.scratch);
        key.clear();
        key.extend_from_slice(self.sources[current].key());
        let children = self.children();
        for (child, source) in self.sources[..children].iter_mut().enumerate() {
            if child == current {
                continue;
            }
            match direction {
                Direction::Forward => source.seek(&key),
                Direction::Backward => source.seek_for_prev(&key),
            }
        }
        self.scratch = key;
        self.direction = direction;
        // The current child must stay on top until it is stepped. Sequence numbers are unique, so another
        // child is at the same key only if that key is a boundary, and a boundary of another child is skipped
        // like an entry.
        self.rebuild();
        if let Some(at) = self.heap.iter().position(|item| item.child as usize == current) {
            self.heap.swap(0, at);
        }
    }

    fn place(&mut self, direction: Direction, mut seek: impl FnMut(&mut Source)) {
        self.direction = direction;
        self.ended_block = true;
        self.error = None;
        let children = self.children();
        self.sources[..children].iter_mut().for_each(&mut seek);
        self.rebuild();
        self.skip_covered();
    }

    fn advance(&mut self, direction: Direction) {
        if self.direction == direction {
            self.step_top();
        } else {
            self.turn(direction);
            if self.heap.is_empty() {
                return;
            }
            let child = self.heap[0].child as usize;
            match direction {
                Direction::Forward => {
                    self.sources[child].next();
                }
                Direction::Backward => self.sources[child].prev(),
            }
            self.rebuild();
        }
        self.skip_covered();
    }
}

impl Drop for MergingCursor {
    fn drop(&mut self) {
        let _ = SOURCES.try_with(|spare| spare.leave(&mut self.sources));
        let _ = HEAP.try_with(|spare| spare.leave(&mut self.heap));
    }
}

impl Cursor for MergingCursor {
    #[inline]
    fn valid(&self) -> bool {
        !self.heap.is_empty()
    }

    fn seek_to_first(&mut self) {
        self.place(Direction::Forward, Source::seek_to_first);
    }

    fn seek_to_last(&mut self) {
        self.place(Direction::Backward, Source::seek_to_last);
    }

    fn seek(&mut self, target: &[u8]) {
        self.place(Direction::Forward, |source| source.seek(target));
    }

    fn seek_for_prev(&mut self, target: &[u8]) {
        self.place(Direction::Backward, |source| source.seek_for_prev(target));
    }

    #[inline]
    fn next(&mut self) {
        if self.direction == Direction::Forward && self.active == 0 {
            self.step_top();
            self.skip_covered();
            return;
        }
        self.advance(Direction::Forward);
    }

    #[inline]
    fn prev(&mut self) {
        if self.direction == Direction::Backward && self.active == 0 {
            self.step_top();
            self.skip_covered();
            return;
        }
        self.advance(Direction::Backward);
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.sources[self.heap[0].child as usize].key()
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.sources[self.heap[0].child as usize].value()
    }

    fn status(&self) -> Result<()> {
        self.error.clone().map_or(Ok(()), Err)
    }
}

impl BlockwiseCursor for MergingCursor {
    /// The entry into a block is not reported if another child was on top before, because a key of that child
    /// is then between the two blocks.
    #[inline]
    fn at_block_start(&self) -> bool {
        self.ended_block && self.top_table().is_some_and(TableCursor::at_block_start)
    }

    fn lone_block_bound(&self) -> Option<&[u8]> {
        if self.active > 0 {
            return None;
        }
        let bound = self.top_table()?.block_bound()?;
        // The smallest key of the other children is in one of the two children of the heap's top.
        let mut others = self.heap[1..].iter().take(2);
        let is_behind = |other: &Item| {
            let key = self.sources[other.child as usize].key();
            self.cmp.user().compare(bound, internal_key::user_key(key)) == Ordering::Less
        };
        others.all(is_behind).then_some(bound)
    }

    fn walk_block(&mut self, visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>) -> bool {
        self.top_table_mut()
            .is_some_and(|cursor| cursor.walk_block(visit))
    }

    #[inline]
    fn run(&mut self, stop: u64, visit: impl FnMut(&[u8], usize, &[u8]) -> ControlFlow<()>) {
        if !self.run_top(stop, visit) {
            self.next();
        }
    }

    #[cold]
    fn leave_block(&mut self) {
        let Some(top) = self.heap.first() else { return };
        match &mut self.sources[top.child as usize] {
            Source::Memtable(_) => {}
            Source::Table(cursor) => cursor.leave_block(),
            Source::Level(cursor) => cursor.leave_block(),
        }
        self.ended_block = true;
        self.rebuild();
    }
}

impl MergingCursor {
    /// Same as [`BlockwiseCursor::run`], for the top child. False if that is a memtable, or if keys are not
    /// in bytewise order.
    #[inline]
    fn run_top(&mut self, stop: u64, visit: impl FnMut(&[u8], usize, &[u8]) -> ControlFlow<()>) -> bool {
        let Some(&top) = self.heap.first() else {
            return false;
        };
        if self.active > 0 || self.direction == Direction::Backward || !self.cmp.user().is_bytewise() {
            return false;
        }
        // The smallest key of the other children is in one of the two children of the heap's top.
        let others = self.heap[1..].iter().take(2).map(|other| other.prefix);
        let stop = others.fold(stop, u64::min);
        self.ended_block = match &mut self.sources[top.child as usize] {
            Source::Table(cursor) if cursor.reads_as_stored() => cursor.run(stop, visit),
            Source::Level(cursor) if cursor.at_table().is_some_and(TableCursor::reads_as_stored) => {
                cursor.run(stop, visit)
            }
            _ => return false,
        };
        self.settle_top();
        true
    }

    /// The cursor over the table of the current entry; `None` if the entry is in a memtable.
    #[inline]
    pub fn top_table(&self) -> Option<&TableCursor> {
        match &self.sources[self.heap.first()?.child as usize] {
            Source::Memtable(_) => None,
            Source::Table(cursor) => Some(cursor),
            Source::Level(cursor) => cursor.at_table(),
        }
    }

    /// The cursor over the table of the current entry, to inspect the entry's block. The caller must not move
    /// it.
    pub fn top_table_mut(&mut self) -> Option<&mut TableCursor> {
        match &mut self.sources[self.heap.first()?.child as usize] {
            Source::Memtable(_) => None,
            Source::Table(cursor) => Some(cursor),
            Source::Level(cursor) => cursor.at_table_mut(),
        }
    }

    /// The current key and value. Requires `valid`.
    #[inline]
    pub fn item(&self) -> (&[u8], &[u8]) {
        match &self.sources[self.heap[0].child as usize] {
            Source::Memtable(cursor) => (cursor.key(), cursor.value()),
            Source::Table(cursor) => (cursor.key(), cursor.value()),
            Source::Level(cursor) => cursor.item(),
        }
    }

    /// The current value as a handle that keeps it alive in its table or memtable. Requires `valid`.
    pub fn pin_value(&self) -> PinnedValue {
        match &self.sources[self.heap[0].child as usize] {
            Source::Memtable(cursor) => PinnedValue::in_memtable(cursor.pin_value()),
            Source::Table(cursor) => PinnedValue::pinned(cursor.value_pin()),
            Source::Level(cursor) => PinnedValue::pinned(cursor.value_pin()),
        }
    }
}

/// Makes `out` the seek target before every entry of `key`, which carries no timestamp.
pub(crate) fn before_key(out: &mut Vec<u8>, user: &UserComparator, key: &[u8]) {
    beside_key(out, user, key, 0xff, pack_trailer(MAX_SEQNO, KIND_FOR_SEEK));
}

/// Makes `out` the seek target after every entry of `key`, which carries no timestamp.
pub(crate) fn after_key(out: &mut Vec<u8>, user: &UserComparator, key: &[u8]) {
    beside_key(out, user, key, 0, pack_trailer(0, 0));
}

#[inline]
fn beside_key(out: &mut Vec<u8>, user: &UserComparator, key: &[u8], timestamp: u8, trailer: u64) {
    let stamped = key.len() + user.timestamp_size();
    out.clear();
    out.reserve(stamped + TRAILER_LEN);
    out.extend_from_slice(key);
    if stamped > key.len() {
        out.resize(stamped, timestamp);
    }
    out.extend_from_slice(&trailer.to_le_bytes());
}

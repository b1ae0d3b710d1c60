//! The files of one level below L0, read as one sorted run. A file is opened when the cursor reaches it.

use std::collections::VecDeque;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use base::{Cursor, Error, Result};
use manifest::{FileMetadata, Version};
use rangedel::FragmentedTombstones;
use sst::{BlockReadOptions, PinnedBytes, Prepared, ScanBounds, TableCursor};

use super::filters::Filters;
use crate::files::table_cache::TableCache;
use vfs::OpenOptions;

/// The position of a [`LevelCursor`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LevelPosition {
    /// No position: past an end, or failed.
    Nowhere,
    /// The cursor is at an entry of the current file.
    Entry,
    /// The cursor is at the first entry of a block that has not been read: only its key is known.
    Unread,
    /// The cursor is at the largest bound of the current file. Its entries are all before it, but its range
    /// tombstones may extend further.
    LargestBound,
    /// The cursor is at the smallest bound of the current file, going backwards.
    SmallestBound,
}

/// The files of the cursor: ordered by key, without overlap.
enum Files {
    /// A whole level, whose index by key prefixes finds the file.
    Level(Arc<Version>, usize),
    /// Some files of a level: the input of a compaction.
    Some(Vec<Arc<FileMetadata>>),
}

/// Iterates over a level. In a file with range tombstones the cursor stops once more at the file's bound
/// before it goes on to the next file, at an entry of kind "boundary" that the merging cursor skips; see
/// `merging_cursor` for the reason.
pub(crate) struct LevelCursor {
    tables: Arc<TableCache>,
    files: Files,
    options: BlockReadOptions,
    bounds: Option<Arc<ScanBounds>>,
    /// Prefetched files: their indexes in `files`, in order, and the reads that were begun.
    prepared: VecDeque<(usize, Prepared)>,
    /// How files are opened for this cursor alone; `None`: through the open tables that all readers share.
    own_files: Option<OpenOptions>,
    /// The filters by which files, and blocks of files, are skipped.
    filters: Option<Arc<Filters>>,
    /// True if the cursor stops at boundaries; if false, the owner of the cursor handles range tombstones
    /// itself.
    with_tombstones: bool,
    /// True if a seek may end at an entry whose block is not read yet; see
    /// [`defer_reads`](Self::defer_reads).
    defers: bool,
    /// Index of the current file.
    file: usize,
    cursor: Option<TableCursor>,
    /// The current file's tombstones within its bounds; `None` without any.
    tombstones: Option<Arc<FragmentedTombstones>>,
    /// True if `tombstones` has changed since the last
    /// [`take_changed_tombstones`](Self::take_changed_tombstones).
    tombstones_changed: bool,
    place: LevelPosition,
    error: Option<Error>,
}

impl LevelCursor {
    /// A cursor over `level` of `version`. Opens no file yet.
    pub fn new(
        tables: Arc<TableCache>,
        version: Arc<Version>,
        level: usize,
        options: BlockReadOptions,
        with_tombstones: bool,
    ) -> LevelCursor {
        LevelCursor::walking(tables, Files::Level(version, level), options, with_tombstones)
    }

    /// A cursor over one file.
    pub fn over_file(
        tables: Arc<TableCache>,
        file: Arc<FileMetadata>,
        options: BlockReadOptions,
        with_tombstones: bool,
    ) -> LevelCursor {
        LevelCursor::walking(tables, Files::Some(vec![file]), options, with_tombstones)
    }

    /// Allows a seek to skip reading the block it ends in, if the index has the block's first key: the cursor
    /// is then [unread](Self::is_unread).
    pub fn defer_reads(mut self) -> LevelCursor {
        self.defers = true;
        self
    }

    /// Skips the files and blocks that `filters` reject. Range tombstones, and the bounds of files that have
    /// some, are kept.
    pub fn filtered(mut self, filters: Option<Arc<Filters>>) -> LevelCursor {
        self.filters = filters;
        self
    }

    /// A cursor over `files`, which are files of one level below L0, in order. It returns every entry and no
    /// boundaries, and reads through its own file descriptors.
    pub fn over_files(
        tables: Arc<TableCache>,
        files: Vec<Arc<FileMetadata>>,
        options: BlockReadOptions,
        own_files: OpenOptions,
    ) -> LevelCursor {
        LevelCursor {
            own_files: Some(own_files),
            ..LevelCursor::walking(tables, Files::Some(files), options, false)
        }
    }

    fn walking(
        tables: Arc<TableCache>,
        files: Files,
        options: BlockReadOptions,
        with_tombstones: bool,
    ) -> LevelCursor {
        LevelCursor {
            tables,
            files,
            options,
            bounds: None,
            prepared: VecDeque::new(),
            own_files: None,
            filters: None,
            with_tombstones,
            defers: false,
            file: 0,
            cursor: None,
            tombstones: None,
            tombstones_changed: false,
            place: LevelPosition::Nowhere,
            error: None,
        }
    }

    /// Sets the bounds of a scan: nothing outside them is read ahead.
    pub fn set_bounds(&mut self, bounds: Option<Arc<ScanBounds>>) {
        if let Some(cursor) = &mut self.cursor {
            cursor.set_bounds(bounds.clone());
        }
        self.bounds = bounds;
    }

    /// The current key and value.
    #[inline]
    pub fn item(&self) -> (&[u8], &[u8]) {
        match (&self.cursor, self.place) {
            (Some(cursor), LevelPosition::Entry) => (cursor.key(), cursor.value()),
            _ => (self.key(), self.value()),
        }
    }

    /// The current entry's value as a handle that keeps it alive. Requires an entry, not a bound.
    pub fn value_pin(&self) -> PinnedBytes {
        self.cursor
            .as_ref()
            .map_or_else(|| PinnedBytes::copied(&[]), TableCursor::value_pin)
    }

    fn files(&self) -> &[Arc<FileMetadata>] {
        match &self.files {
            Files::Level(version, level) => version.files(*level),
            Files::Some(files) => files,
        }
    }

    /// The cursor over the current file, if the position is an entry that was read.
    #[inline]
    pub fn at_table(&self) -> Option<&TableCursor> {
        self.cursor
            .as_ref()
            .filter(|_| self.place == LevelPosition::Entry)
    }

    /// The cursor over the current file, if the position is an entry that was read, to inspect the block of
    /// the entry. The caller must not move it.
    pub fn at_table_mut(&mut self) -> Option<&mut TableCursor> {
        self.cursor
            .as_mut()
            .filter(|_| self.place == LevelPosition::Entry)
    }

    /// Same as [`TableCursor::run`], for the current table.
    #[inline]
    pub fn run(&mut self, stop: u64, visit: impl FnMut(&[u8], usize, &[u8]) -> ControlFlow<()>) -> bool {
        match (&mut self.cursor, self.place) {
            (Some(cursor), LevelPosition::Entry) => {
                let ended = cursor.run(stop, visit);
                self.settle_forwards();
                ended
            }
            _ => self.step(),
        }
    }

    /// Moves to the first entry after the current block.
    pub fn leave_block(&mut self) {
        if let Some(cursor) = self.at_table_mut() {
            cursor.leave_block();
            self.settle_forwards();
        }
    }

    /// Moves to the next entry, like [`Cursor::next`]. True if the entry that was left was the last of a
    /// block.
    #[inline]
    pub fn step(&mut self) -> bool {
        debug_assert!(!self.is_unread(), "read first");
        let mut ended = false;
        match (&mut self.cursor, self.place) {
            (Some(cursor), LevelPosition::Entry) => ended = cursor.step(),
            // At the smallest bound of a file, all entries of the file are still ahead.
            (Some(cursor), LevelPosition::SmallestBound) => cursor.seek_to_first(),
            _ => {}
        }
        self.settle_forwards();
        ended
    }

    /// True if the position is a bound of a file and not an entry.
    #[inline]
    pub fn at_boundary(&self) -> bool {
        matches!(
            self.place,
            LevelPosition::LargestBound | LevelPosition::SmallestBound
        )
    }

    /// True if only the key of the current entry is known: [`read`](Self::read) must be called before its
    /// value is used, and before a step.
    #[inline]
    pub fn is_unread(&self) -> bool {
        self.place == LevelPosition::Unread
    }

    /// Reads the block of the current entry.
    #[cold]
    pub fn read(&mut self) {
        if let Some(cursor) = &mut self.cursor {
            cursor.load_deferred();
        }
        self.settle_forwards();
    }

    /// The tombstones in force, if they have changed since the last call.
    #[inline]
    pub fn take_changed_tombstones(&mut self) -> Option<Option<Arc<FragmentedTombstones>>> {
        if !self.tombstones_changed {
            return None;
        }
        self.tombstones_changed = false;
        Some(self.tombstones.clone())
    }

    fn leave(&mut self) {
        self.place = LevelPosition::Nowhere;
        self.set_tombstones(None);
    }

    fn set_tombstones(&mut self, tombstones: Option<Arc<FragmentedTombstones>>) {
        if self.tombstones.is_some() || tombstones.is_some() {
            self.tombstones = tombstones;
            self.tombstones_changed = true;
        }
    }

    /// Makes `file` the current one. False, without a current file, past either end or after an error.
    fn enter(&mut self, file: Option<usize>) -> bool {
        let Some(file) = file.filter(|&file| file < self.files().len()) else {
            self.leave();
            return false;
        };
        if self.cursor.is_some()
            && self.file == file
            && self.error.is_none()
            && self.place != LevelPosition::Nowhere
        {
            return true;
        }
        match self.open(file) {
            Ok(()) => true,
            Err(error) => {
                self.error = Some(error);
                self.cursor = None;
                self.leave();
                false
            }
        }
    }

    fn open(&mut self, file: usize) -> Result<()> {
        let metadata = &self.files()[file];
        if self.options.cache_only {
            self.tables.check_in_memory(metadata)?;
        }
        let table = self.tables.table(metadata)?;
        let tombstones = if self.with_tombstones && !table.range_tombstones().is_empty() {
            Some(self.tables.tombstones_within_bounds(metadata, &table).clone())
        } else {
            None
        };
        let mut cursor = table.cursor(self.options);
        if let Some(filters) = &self.filters {
            filters.apply(&table, &mut cursor)?;
        }
        if let Some(open) = &self.own_files {
            cursor.read_through(self.tables.open_file(metadata, open)?);
        } else {
            // Only reads of users are sampled. A compaction never comes here, because it has its own file
            // handles.
            metadata.sample_read();
        }
        match self.cursor.take() {
            Some(before) if file == self.file + 1 => cursor.follow(before),
            Some(before) if file == self.file => cursor.follow_in_table(before),
            _ => {}
        }
        while let Some((place, prepared)) = self.prepared.pop_front_if(|(place, _)| *place <= file) {
            if place == file {
                cursor.prepare(prepared);
            }
        }
        cursor.set_bounds(self.bounds.clone());
        self.cursor = Some(cursor);
        self.file = file;
        self.set_tombstones(tombstones);
        Ok(())
    }

    /// After the current file's cursor moved forwards: the position becomes its entry or its bound, or moves
    /// to the next file.
    #[inline]
    fn settle_forwards(&mut self) {
        match &self.cursor {
            Some(cursor) if cursor.valid() => self.place = LevelPosition::Entry,
            _ => self.settle_forwards_slow(),
        }
    }

    fn settle_forwards_slow(&mut self) {
        loop {
            let Some(cursor) = &self.cursor else { return };
            if cursor.valid() {
                self.place = LevelPosition::Entry;
                return;
            }
            if let Err(error) = cursor.status() {
                self.error = Some(error);
                self.leave();
                return;
            }
            if self.tombstones.is_some() && self.place != LevelPosition::LargestBound {
                self.place = LevelPosition::LargestBound;
                return;
            }
            let next = Some(self.file + 1);
            self.place = LevelPosition::Nowhere;
            if !self.enter(next) {
                return;
            }
            if let Some(cursor) = &mut self.cursor {
                cursor.seek_to_first();
            }
        }
    }

    #[inline]
    fn settle_backwards(&mut self) {
        match &self.cursor {
            Some(cursor) if cursor.valid() => self.place = LevelPosition::Entry,
            _ => self.settle_backwards_slow(),
        }
    }

    fn settle_backwards_slow(&mut self) {
        loop {
            let Some(cursor) = &self.cursor else { return };
            if cursor.valid() {
                self.place = LevelPosition::Entry;
                return;
            }
            if let Err(error) = cursor.status() {
                self.error = Some(error);
                self.leave();
                return;
            }
            if self.tombstones.is_some() && self.place != LevelPosition::SmallestBound {
                self.place = LevelPosition::SmallestBound;
                return;
            }
            let before = self.file.checked_sub(1);
            self.place = LevelPosition::Nowhere;
            if !self.enter(before) {
                return;
            }
            if let Some(cursor) = &mut self.cursor {
                cursor.seek_to_last();
            }
        }
    }

    /// Moves to the first entry at or after `target`. If no key at or after `target` has its prefix, the
    /// resulting position is unspecified: a file whose filter excludes the prefix is not read.
    pub fn seek_within_prefix(&mut self, target: &[u8]) {
        let file = self.file_of(target);
        if !self
            .files()
            .get(file)
            .is_some_and(|metadata| self.lacks_prefix(metadata, target))
        {
            return self.seek(target);
        }
        let behind = self.files().get(file + 1);
        if !behind.is_some_and(|behind| self.tables.same_prefix(&behind.smallest, target)) {
            self.error = None;
            return self.leave();
        }
        if self.place_in(Some(file + 1), TableCursor::seek_to_first) {
            self.settle_forwards();
        }
    }

    /// True if `file` has neither keys with the prefix of `target` at or after it, nor range tombstones.
    fn lacks_prefix(&self, file: &Arc<FileMetadata>, target: &[u8]) -> bool {
        let lacks = self.tables.with_table(file, |table| {
            Ok(table.range_tombstones().is_empty() && !table.may_contain_prefix_of(target, &self.options)?)
        });
        // If the filter cannot be read, the file may have the prefix: the following seek reports the error.
        lacks.unwrap_or(false)
    }

    /// The first file that ends at or after `target`.
    fn file_of(&self, target: &[u8]) -> usize {
        match &self.files {
            Files::Level(version, level) => version.find_file(*level, target),
            Files::Some(files) => {
                let cmp = self.tables.comparator();
                files.partition_point(|file| cmp.compare(&file.largest, target).is_lt())
            }
        }
    }

    /// The last file that begins at or before `target`: the first file that does not end before `target`, or
    /// the file before that file.
    fn file_before(&self, target: &[u8]) -> Option<usize> {
        let i = self.file_of(target);
        let cmp = self.tables.comparator();
        let reaches = |file: &Arc<FileMetadata>| cmp.compare(&file.smallest, target).is_le();
        match self.files().get(i).is_some_and(reaches) {
            true => Some(i),
            false => i.checked_sub(1),
        }
    }

    fn place_in(&mut self, file: Option<usize>, seek: impl FnOnce(&mut TableCursor)) -> bool {
        self.error = None;
        if !self.enter(file) {
            return false;
        }
        if let Some(cursor) = &mut self.cursor {
            seek(cursor);
        }
        // The cursor is no longer at a bound.
        self.place = LevelPosition::Entry;
        true
    }
}

impl LevelCursor {
    /// Begins to read the blocks in `ranges`, which are in order: at most `budget` bytes, from which the size
    /// of the reads is subtracted. Files that cannot be opened now fail when the cursor reaches them.
    pub fn prepare(&mut self, ranges: &[ScanBounds], coalesce: u64, budget: &mut u64) {
        self.prepared.clear();
        // The files to read, and for each file the ranges that the file overlaps.
        let mut places: Vec<(usize, Range<usize>)> = Vec::new();
        for (number, range) in ranges.iter().enumerate() {
            let first = range.lower.as_deref().map_or(0, |lower| self.file_of(lower));
            let end = match &range.upper {
                Some(upper) => (self.file_of(upper) + 1).min(self.files().len()),
                None => self.files().len(),
            };
            for place in first..end {
                match places.last_mut() {
                    Some((last, numbers)) if *last == place => numbers.end = number + 1,
                    _ => places.push((place, number..number + 1)),
                }
            }
        }
        for (place, numbers) in places {
            if *budget == 0 {
                break;
            }
            if let Ok(table) = self.tables.table(&self.files()[place]) {
                let prepared = table.start_ranges(&ranges[numbers], &self.options, coalesce, budget);
                self.prepared.push_back((place, prepared));
            }
        }
        // The open file is opened again, to use the prefetched blocks.
        self.cursor = None;
        self.leave();
    }

    /// Prefetches into the CPU's cache the memory that a `seek` to `target` (or a `seek_for_prev` if
    /// `backwards`) reads first. That seek must follow.
    pub fn hint_seek(&mut self, target: &[u8], backwards: bool) {
        let file = match backwards {
            true => self.file_before(target),
            false => Some(self.file_of(target)),
        };
        self.place_in(file, |cursor| cursor.hint_seek(target));
    }

    /// Begins to read the blocks that `seek` to `target` will need. That seek must follow.
    pub fn start_seek(&mut self, target: &[u8]) {
        let file = self.file_of(target);
        self.place_in(Some(file), |cursor| cursor.start_seek(target, false));
    }

    /// Begins to read the blocks that `seek_within_prefix` to `target` will need. That seek must follow.
    pub fn start_seek_within_prefix(&mut self, target: &[u8]) {
        let file = self.files().get(self.file_of(target));
        if file.is_some_and(|file| !self.lacks_prefix(file, target)) {
            self.start_seek(target);
        }
    }

    /// Begins to read the blocks that `seek_for_prev` to `target` will need. That seek must follow.
    pub fn start_seek_for_prev(&mut self, target: &[u8]) {
        let file = self.file_before(target);
        self.place_in(file, |cursor| cursor.start_seek(target, true));
    }
}

impl Cursor for LevelCursor {
    #[inline]
    fn valid(&self) -> bool {
        self.place != LevelPosition::Nowhere
    }

    fn seek_to_first(&mut self) {
        if self.place_in(Some(0), TableCursor::seek_to_first) {
            self.settle_forwards();
        }
    }

    fn seek_to_last(&mut self) {
        let last = self.files().len().checked_sub(1);
        if self.place_in(last, TableCursor::seek_to_last) {
            self.settle_backwards();
        }
    }

    fn seek(&mut self, target: &[u8]) {
        let file = self.file_of(target);
        let mut unread = false;
        let defers = self.defers;
        let placed = self.place_in(Some(file), |cursor| match defers {
            true => unread = cursor.seek_deferring(target),
            false => cursor.seek(target),
        });
        if unread {
            self.place = LevelPosition::Unread;
        } else if placed {
            self.settle_forwards();
        }
    }

    fn seek_for_prev(&mut self, target: &[u8]) {
        let file = self.file_before(target);
        if self.place_in(file, |cursor| cursor.seek_for_prev(target)) {
            self.settle_backwards();
        }
    }

    #[inline]
    fn next(&mut self) {
        self.step();
    }

    #[inline]
    fn prev(&mut self) {
        debug_assert!(!self.is_unread(), "read first");
        match (&mut self.cursor, self.place) {
            (Some(cursor), LevelPosition::Entry) => cursor.prev(),
            (Some(cursor), LevelPosition::LargestBound) => cursor.seek_to_last(),
            _ => {}
        }
        self.settle_backwards();
    }

    #[inline]
    fn key(&self) -> &[u8] {
        match self.place {
            LevelPosition::Entry => self.cursor.as_ref().map_or(&[], TableCursor::key),
            LevelPosition::LargestBound => &self.files()[self.file].largest,
            LevelPosition::SmallestBound => &self.files()[self.file].smallest,
            LevelPosition::Unread => self.cursor.as_ref().map_or(&[], TableCursor::deferred_key),
            LevelPosition::Nowhere => &[],
        }
    }

    #[inline]
    fn value(&self) -> &[u8] {
        match self.place {
            LevelPosition::Entry => self.cursor.as_ref().map_or(&[], TableCursor::value),
            _ => &[],
        }
    }

    fn status(&self) -> Result<()> {
        self.error.clone().map_or(Ok(()), Err)
    }
}

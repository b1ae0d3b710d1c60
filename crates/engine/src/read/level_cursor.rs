//! The files of one level below L0, read as one sorted run. A file is opened when the cursor comes to it.

use std::collections::VecDeque;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use base::{Cursor, Error, Result};
use manifest::{FileMetadata, Version};
use rangedel::FragmentedTombstones;
use sst::{BlockReadOptions, PinnedBytes, Prepared, ScanBounds, TableCursor};

use super::filters::Filters;
use super::table_cache::TableCache;
use vfs::OpenOptions;

/// Where a [`LevelCursor`] stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Nowhere: off an end, or failed.
    Nowhere,
    /// On an entry of the current file.
    Entry,
    /// On the first entry of a block that has not been read: its key is known.
    Unread,
    /// On the largest bound of the current file, whose entries are behind but whose range tombstones may reach further.
    LargestBound,
    /// On the smallest bound of the current file, going backwards.
    SmallestBound,
}

/// The files walked: by key, without overlap.
enum Files {
    /// A whole level, whose files are searched by their prefixes.
    Level(Arc<Version>, usize),
    /// Some files of a level: the input of a compaction.
    Some(Vec<Arc<FileMetadata>>),
}

/// Walks a level. Standing on a file with range tombstones it stops once more at the file's bound before it goes on to the
/// next file, as an entry of kind "boundary" that the merging cursor steps over; see there for why.
pub(crate) struct LevelCursor {
    tables: Arc<TableCache>,
    files: Files,
    options: BlockReadOptions,
    bounds: Option<Arc<ScanBounds>>,
    /// What was begun to be read of files, by their places, in their order.
    prepared: VecDeque<(usize, Prepared)>,
    /// How files are opened for this cursor alone; `None`: they are read as by everybody.
    own_files: Option<OpenOptions>,
    /// What of the files is passed over.
    filters: Option<Arc<Filters>>,
    /// False: range tombstones are somebody else's business, and there are no boundaries.
    with_tombstones: bool,
    /// A seek may end on an entry whose block it does not read; see [`defer_reads`](Self::defer_reads).
    defers: bool,
    /// Index of the current file.
    file: usize,
    cursor: Option<TableCursor>,
    /// The current file's tombstones within its bounds; `None` without any.
    tombstones: Option<Arc<FragmentedTombstones>>,
    /// Set when `tombstones` is another than at the last [`take_changed_tombstones`](Self::take_changed_tombstones).
    tombstones_changed: bool,
    place: Place,
    error: Option<Error>,
}

impl LevelCursor {
    /// Over `level` of `version`. Opens nothing yet.
    pub fn new(
        tables: Arc<TableCache>,
        version: Arc<Version>,
        level: usize,
        options: BlockReadOptions,
        with_tombstones: bool,
    ) -> LevelCursor {
        LevelCursor::walking(tables, Files::Level(version, level), options, with_tombstones)
    }

    /// Over one file.
    pub fn over_file(
        tables: Arc<TableCache>,
        file: Arc<FileMetadata>,
        options: BlockReadOptions,
        with_tombstones: bool,
    ) -> LevelCursor {
        LevelCursor::walking(tables, Files::Some(vec![file]), options, with_tombstones)
    }

    /// From now on a seek need not read the block it ends in, where the index tells its first key: the cursor is
    /// [unread](Self::is_unread) then.
    pub fn defer_reads(mut self) -> LevelCursor {
        self.defers = true;
        self
    }

    /// Passes over what `filters` do not want. Range tombstones, and the bounds of files that have some, stay.
    pub fn filtered(mut self, filters: Option<Arc<Filters>>) -> LevelCursor {
        self.filters = filters;
        self
    }

    /// Over `files`, which lie in one level below L0, in their order; every entry of them, and no boundaries. Reads through
    /// descriptors of its own.
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
            place: Place::Nowhere,
            error: None,
        }
    }

    /// Says between which keys somebody scans: nothing outside is read ahead.
    pub fn set_bounds(&mut self, bounds: Option<Arc<ScanBounds>>) {
        if let Some(cursor) = &mut self.cursor {
            cursor.set_bounds(bounds.clone());
        }
        self.bounds = bounds;
    }

    /// The current entry's value, kept alive by itself. Requires an entry, not a bound.
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

    /// The cursor over the current file, on an entry that was read.
    #[inline]
    pub fn at_table(&self) -> Option<&TableCursor> {
        self.cursor.as_ref().filter(|_| self.place == Place::Entry)
    }

    /// The same, to look at the block it stands in. It is to be left where it is.
    pub fn at_table_mut(&mut self) -> Option<&mut TableCursor> {
        self.cursor.as_mut().filter(|_| self.place == Place::Entry)
    }

    /// As [`TableCursor::run`], on an entry of a table.
    #[inline]
    pub fn run(&mut self, stop: u64, visit: impl FnMut(&[u8], usize, &[u8]) -> ControlFlow<()>) -> bool {
        match (&mut self.cursor, self.place) {
            (Some(cursor), Place::Entry) => {
                let ended = cursor.run(stop, visit);
                self.settle_forwards();
                ended
            }
            _ => self.step(),
        }
    }

    /// To the first entry behind the block it stands in.
    pub fn leave_block(&mut self) {
        if let Some(cursor) = self.at_table_mut() {
            cursor.leave_block();
            self.settle_forwards();
        }
    }

    /// To the entry after, as [`Cursor::next`]. True if that was the end of a block.
    #[inline]
    pub fn step(&mut self) -> bool {
        debug_assert!(!self.is_unread(), "read first");
        let mut ended = false;
        match (&mut self.cursor, self.place) {
            (Some(cursor), Place::Entry) => ended = cursor.step(),
            // From the smallest bound the entries lie ahead.
            (Some(cursor), Place::SmallestBound) => cursor.seek_to_first(),
            _ => {}
        }
        self.settle_forwards();
        ended
    }

    /// True on a file's bound rather than on an entry.
    #[inline]
    pub fn at_boundary(&self) -> bool {
        matches!(self.place, Place::LargestBound | Place::SmallestBound)
    }

    /// True if it stands on an entry whose key alone is known: [`read`](Self::read) comes before its value, and before a step.
    #[inline]
    pub fn is_unread(&self) -> bool {
        self.place == Place::Unread
    }

    /// Reads the block of the entry it stands on.
    #[cold]
    pub fn read(&mut self) {
        if let Some(cursor) = &mut self.cursor {
            cursor.load_deferred();
        }
        self.settle_forwards();
    }

    /// The tombstones in force, if they are not those of the last call.
    #[inline]
    pub fn take_changed_tombstones(&mut self) -> Option<Option<Arc<FragmentedTombstones>>> {
        if !self.tombstones_changed {
            return None;
        }
        self.tombstones_changed = false;
        Some(self.tombstones.clone())
    }

    fn leave(&mut self) {
        self.place = Place::Nowhere;
        self.set_tombstones(None);
    }

    fn set_tombstones(&mut self, tombstones: Option<Arc<FragmentedTombstones>>) {
        if self.tombstones.is_some() || tombstones.is_some() {
            self.tombstones = tombstones;
            self.tombstones_changed = true;
        }
    }

    /// Makes `file` the current one. False, with nothing current, beyond either end or after an error.
    fn enter(&mut self, file: Option<usize>) -> bool {
        let Some(file) = file.filter(|&file| file < self.files().len()) else {
            self.leave();
            return false;
        };
        if self.cursor.is_some() && self.file == file && self.error.is_none() && self.place != Place::Nowhere
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

    /// After the current file's cursor moved forwards: stands on its entry, its bound, or goes on to the next file.
    #[inline]
    fn settle_forwards(&mut self) {
        match &self.cursor {
            Some(cursor) if cursor.valid() => self.place = Place::Entry,
            _ => self.settle_forwards_slow(),
        }
    }

    fn settle_forwards_slow(&mut self) {
        loop {
            let Some(cursor) = &self.cursor else { return };
            if cursor.valid() {
                self.place = Place::Entry;
                return;
            }
            if let Err(error) = cursor.status() {
                self.error = Some(error);
                self.leave();
                return;
            }
            if self.tombstones.is_some() && self.place != Place::LargestBound {
                self.place = Place::LargestBound;
                return;
            }
            let next = Some(self.file + 1);
            self.place = Place::Nowhere;
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
            Some(cursor) if cursor.valid() => self.place = Place::Entry,
            _ => self.settle_backwards_slow(),
        }
    }

    fn settle_backwards_slow(&mut self) {
        loop {
            let Some(cursor) = &self.cursor else { return };
            if cursor.valid() {
                self.place = Place::Entry;
                return;
            }
            if let Err(error) = cursor.status() {
                self.error = Some(error);
                self.leave();
                return;
            }
            if self.tombstones.is_some() && self.place != Place::SmallestBound {
                self.place = Place::SmallestBound;
                return;
            }
            let before = self.file.checked_sub(1);
            self.place = Place::Nowhere;
            if !self.enter(before) {
                return;
            }
            if let Some(cursor) = &mut self.cursor {
                cursor.seek_to_last();
            }
        }
    }

    /// To the first entry at or after `target`, or anywhere if nothing at or behind `target` has its prefix: a file whose filter
    /// knows that is not read.
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

    /// True if `file` has nothing to say about keys with the prefix of `target` at or behind it. Range tombstones say something.
    fn lacks_prefix(&self, file: &Arc<FileMetadata>, target: &[u8]) -> bool {
        let lacks = self.tables.with_table(file, |table| {
            Ok(table.range_tombstones().is_empty() && !table.may_contain_prefix_of(target, &self.options)?)
        });
        // Whoever seeks is told.
        lacks.unwrap_or(false)
    }

    /// The first file that ends at or behind `target`.
    fn file_of(&self, target: &[u8]) -> usize {
        match &self.files {
            Files::Level(version, level) => version.find_file(*level, target),
            Files::Some(files) => {
                let cmp = self.tables.comparator();
                files.partition_point(|file| cmp.compare(&file.largest, target).is_lt())
            }
        }
    }

    /// The last file that begins at or before `target`: the first that does not end before it, or the one before.
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
        // Whatever bound it stood on, it stands there no more.
        self.place = Place::Entry;
        true
    }
}

impl LevelCursor {
    /// Begins to read what lies in these ranges, which follow each other: no more than `budget` bytes, which what is begun is taken from.
    /// Files that cannot be opened now fail when they are come to.
    pub fn prepare(&mut self, ranges: &[ScanBounds], coalesce: u64, budget: &mut u64) {
        self.prepared.clear();
        // Files, and which ranges come to them.
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
        // Whatever is open is opened again, to have them.
        self.cursor = None;
        self.leave();
    }

    /// Asks for the memory that a `seek`, or if `backwards` a `seek_for_prev`, to `target` reads first; one of the two must follow.
    pub fn hint_seek(&mut self, target: &[u8], backwards: bool) {
        let file = match backwards {
            true => self.file_before(target),
            false => Some(self.file_of(target)),
        };
        self.place_in(file, |cursor| cursor.hint_seek(target));
    }

    /// Begins to read what `seek` to `target`, which must follow, will want.
    pub fn start_seek(&mut self, target: &[u8]) {
        let file = self.file_of(target);
        self.place_in(Some(file), |cursor| cursor.start_seek(target, false));
    }

    /// The same of `seek_within_prefix`.
    pub fn start_seek_within_prefix(&mut self, target: &[u8]) {
        let file = self.files().get(self.file_of(target));
        if file.is_some_and(|file| !self.lacks_prefix(file, target)) {
            self.start_seek(target);
        }
    }

    /// The same of `seek_for_prev`.
    pub fn start_seek_for_prev(&mut self, target: &[u8]) {
        let file = self.file_before(target);
        self.place_in(file, |cursor| cursor.start_seek(target, true));
    }
}

impl Cursor for LevelCursor {
    #[inline]
    fn valid(&self) -> bool {
        self.place != Place::Nowhere
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
            self.place = Place::Unread;
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
            (Some(cursor), Place::Entry) => cursor.prev(),
            (Some(cursor), Place::LargestBound) => cursor.seek_to_last(),
            _ => {}
        }
        self.settle_backwards();
    }

    #[inline]
    fn key(&self) -> &[u8] {
        match self.place {
            Place::Entry => self.cursor.as_ref().map_or(&[], TableCursor::key),
            Place::LargestBound => &self.files()[self.file].largest,
            Place::SmallestBound => &self.files()[self.file].smallest,
            Place::Unread => self.cursor.as_ref().map_or(&[], TableCursor::deferred_key),
            Place::Nowhere => &[],
        }
    }

    #[inline]
    fn value(&self) -> &[u8] {
        match self.place {
            Place::Entry => self.cursor.as_ref().map_or(&[], TableCursor::value),
            _ => &[],
        }
    }

    fn status(&self) -> Result<()> {
        self.error.clone().map_or(Ok(()), Err)
    }
}

//! The user's iterator: the newest visible value of each key. Deleted keys are skipped, merges are resolved.
//!
//! The cursor iterates over *entries*, this iterator over *keys*. The cursor relative to the current key:
//!
//! * [`DbPosition::Cursor`]: going forwards, the cursor is at the entry that is the current key and value.
//! * [`DbPosition::Saved`], forwards: key and value were combined from several entries, and the cursor
//!   is after them.
//! * [`DbPosition::Saved`], backwards: the cursor is before all entries of the current key.

mod backwards;
mod counted;
mod merges;
mod moves;
mod next_prefix;
mod pins;
mod unprepared;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use base::internal_key::{self, ParsedInternalKey, TRAILER_LEN};
use base::statistics::Ticker;
use base::steps::{MAX_STEPS_BEFORE_SEEK, StepsBeforeSeek};
use base::{Cursor, Error, ErrorKind, Kind, MAX_SEQNO, Result, SeqNo, UserComparator};
use sst::ScanBounds;

use super::merging_cursor::{MergingCursor, SeekKind, after_key, before_key};
use super::sources::{self, SourceOptions};
use super::spare::Spare;
use crate::files::blob_cache::BlobRead;
use crate::files::charged_reads::{Charge, charge_of};
use crate::files::pinned_value::PinnedValue;
use crate::options::ReadTier;
use crate::state::batch_view::{BatchView, UNWRITTEN};
use crate::state::column_family::{CLOSED, Family};
use crate::state::error_state::closing;
use crate::state::handle::{Db, Handle};
use crate::state::open_iterators::Listed;
use crate::state::read_options::ReadOptions;
use crate::state::read_options::TAILING_WITH_SNAPSHOT;
use crate::state::snapshot::Snapshot;
use crate::state::super_version::SuperVersion;
use crate::state::value::Columns;

use pins::Pins;

pub use next_prefix::PrefixMove;
pub use unprepared::UnpreparedValue;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Forward,
    Backward,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DbPosition {
    /// No current key: not positioned yet, past an end, or failed.
    Nowhere,
    /// The key and the value of the iterator are those of the cursor.
    Cursor,
    /// Key and value are in `saved_key` and `value`.
    Saved,
    /// Key and value are in `pins`, which has the place that they were copied from.
    Pinned,
}

/// Iterates over the keys of a column family in order, in either direction.
///
/// It reads the database as of its creation, or as of [`ReadOptions::snapshot`], and keeps alive everything
/// it reads: it may outlive the [`Db`](crate::Db) that made it. It is `Send`; one thread uses it at a time.
/// It pins the memtables and files it reads, even after flushes and compactions replaced them, until it is
/// dropped, is [refreshed](DbIterator::refresh) or, with a snapshot, refreshes itself by
/// [`ReadOptions::auto_refresh_iterator_with_snapshot`].
///
/// A new iterator has no position: seek first. `next`, `prev`, `key` and `value` require
/// [`valid`](DbIterator::valid) and panic otherwise. When the iterator is not valid,
/// [`status`](DbIterator::status) distinguishes the end of the keys from an error. A panic of user code (a
/// comparator, a merge operator) propagates to the caller of the move; the iterator is then not valid until
/// the next seek.
///
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = esker::Db::open(&esker::Options { create_if_missing: true, ..Default::default() }, dir.path()).unwrap();
/// db.put(b"a", b"1").unwrap();
/// db.put(b"b", b"2").unwrap();
/// let mut iter = db.iter();
/// iter.seek_to_first();
/// let mut keys = Vec::new();
/// while iter.valid() {
///     keys.push(iter.key().to_vec());
///     iter.next();
/// }
/// iter.status().unwrap();
/// assert_eq!(keys, [b"a", b"b"]);
/// ```
pub struct DbIterator {
    cursor: MergingCursor,
    family: Arc<Family>,
    seqno: SeqNo,
    /// Rows of a batch that are not written yet and are visible to this iterator.
    unwritten: Option<BatchView>,
    /// The highest sequence number of the visible unwritten rows; 0 without such rows.
    unwritten_limit: SeqNo,
    read_ts: Option<Vec<u8>>,
    /// The bounds, each followed by a timestamp if the family's keys have one.
    lower: Option<Vec<u8>>,
    upper: Option<Vec<u8>>,
    /// With `prefix_same_as_start`: the prefix of the key of the last seek.
    prefix: Option<Vec<u8>>,
    prefix_same_as_start: bool,
    auto_prefix_mode: bool,
    direction: Direction,
    place: DbPosition,
    /// In [`DbPosition::Saved`], the current user key with its timestamp; else the key whose versions are
    /// skipped.
    saved_key: Vec<u8>,
    /// The value in [`DbPosition::Saved`], and whenever the cursor's bytes are not the plain value.
    value: Vec<u8>,
    /// The kind of the current entry. The plain value is in `value` for every kind except `Value`.
    kind: Kind,
    /// The bytes of the current entity; in [`DbPosition::Saved`], the blob index of a value that was not
    /// prepared.
    entity: Vec<u8>,
    /// The value of [`ReadOptions::allow_unprepared_value`].
    allow_unprepared: bool,
    /// True if the current value is in a blob file and was not read. Only meaningful if the entry is a blob
    /// index.
    unprepared: bool,
    error: Option<Error>,
    /// The error with which every move fails: the iterator is refused in the current super version, or a
    /// source, whose rows must not be skipped, could not be opened.
    broken: Option<Error>,
    /// The error because of which the iterator cannot be valid in any super version.
    refused: Option<Error>,
    target: Vec<u8>,
    /// Scratch: a key after all keys with a prefix.
    successor: Vec<u8>,
    /// The number of steps that `next_prefix` tries before it seeks.
    prefix_steps: StepsBeforeSeek,
    /// The value of the option
    /// [`max_sequential_skip_in_iterations`](crate::ColumnFamilyOptions::max_sequential_skip_in_iterations).
    max_skip: u64,
    /// The options with which the sources are read, and whether files may be read at all.
    sources: SourceOptions,
    /// True if the last seek left out the tables.
    memtables_only: bool,
    /// True if each seek moves the iterator to the newest rows.
    tailing: bool,
    max_skippable: u64,
    /// The number of entries skipped during this move.
    skipped: u64,
    /// The super version that is read; it keeps its memtables and files alive.
    super_version: Arc<SuperVersion>,
    /// The snapshot that is read; held so that it stays in the list of snapshots.
    snapshot: Option<Snapshot>,
    /// [`ReadOptions::auto_refresh_iterator_with_snapshot`]; effective only while there is a snapshot.
    auto_refresh_with_snapshot: bool,
    /// True if the iterator moves to newer super versions by itself: `auto_refresh_with_snapshot` is true and
    /// there is a snapshot.
    auto_refresh: bool,
    /// The newest super version that the iterator moved to, or tried to move to.
    number: u64,
    /// A super version with a higher number than this makes the next move take the slow path. It is `number`
    /// if the iterator moves to newer super versions, else the number just below that of the closed database,
    /// and 0 with a deadline.
    watched: u64,
    /// The value of [`ReadOptions::deadline`].
    deadline: Option<Duration>,
    /// The value of [`ReadOptions::io_timeout`].
    io_timeout: Option<Duration>,
    /// With [`ReadOptions::pin_data`]: the rows that the iterator was at.
    pins: Option<Box<Pins>>,
    /// The place of this iterator in the family's list of open iterators.
    listed: Option<Listed>,
    /// True if moves are observed: by statistics, a perf context (of the thread of the last seek), or a rate
    /// limiter.
    observed: bool,
    /// The rate limiter that reads are charged to, with their priority.
    charge: Option<Charge>,
    /// Keeps the database open. The last field: everything that is read is dropped before.
    handle: Option<Arc<Handle>>,
}

impl DbIterator {
    /// `usable` is an error if the iterator can never be valid, and says why.
    pub(crate) fn new(
        super_version: Arc<SuperVersion>,
        family: Arc<Family>,
        seqno: SeqNo,
        unwritten: Option<BatchView>,
        options: &ReadOptions,
        usable: Result<()>,
    ) -> DbIterator {
        let stamped = |bound: &Option<Vec<u8>>| {
            let stamped = family.cmp.user().stamped(bound.as_deref()?);
            Some(stamped.into_owned())
        };
        let lower = stamped(&options.iterate_lower_bound);
        let upper = stamped(&options.iterate_upper_bound);
        let timestamp = options.timestamp.as_deref();
        let sources = SourceOptions::of(options);
        let (cursor, missing) = sources::merged(
            &family,
            &super_version,
            seqno,
            unwritten.as_ref(),
            timestamp,
            &sources,
        );
        let charge = charge_of(family.tables.rate_limiter(), options.rate_limiter_priority);
        let refused = usable.err();
        let broken = refused.clone().or(missing);
        let mut iterator = DbIterator {
            cursor,
            max_skip: super_version.options.max_sequential_skip_in_iterations,
            family,
            seqno,
            unwritten_limit: unwritten.as_ref().map_or(0, |view| view.limit),
            unwritten,
            read_ts: options.timestamp.clone(),
            lower,
            upper,
            prefix: None,
            prefix_same_as_start: options.prefix_same_as_start,
            auto_prefix_mode: options.auto_prefix_mode,
            direction: Direction::Forward,
            place: DbPosition::Nowhere,
            saved_key: SAVED_KEY.try_with(Spare::take).unwrap_or_default(),
            value: VALUE.try_with(Spare::take).unwrap_or_default(),
            kind: Kind::Value,
            entity: Vec::new(),
            allow_unprepared: options.allow_unprepared_value,
            unprepared: false,
            error: broken.clone(),
            broken,
            refused,
            target: TARGET.try_with(Spare::take).unwrap_or_default(),
            successor: Vec::new(),
            prefix_steps: StepsBeforeSeek::new(MAX_STEPS_BEFORE_SEEK),
            sources,
            memtables_only: false,
            tailing: options.tailing,
            max_skippable: match options.max_skippable_internal_keys {
                0 => u64::MAX,
                most => most,
            },
            skipped: 0,
            snapshot: options.snapshot.clone(),
            auto_refresh_with_snapshot: options.auto_refresh_iterator_with_snapshot,
            auto_refresh: options.auto_refresh_iterator_with_snapshot && options.snapshot.is_some(),
            number: super_version.number,
            watched: CLOSED - 1,
            deadline: options.deadline,
            io_timeout: options.io_timeout,
            pins: options.pin_data.then(|| Box::new(Pins::new())),
            super_version,
            listed: None,
            observed: false,
            charge,
            handle: None,
        };
        iterator.watch();
        iterator.enter();
        iterator.bound_readahead();
        iterator
    }

    /// Keeps `db` open for the lifetime of the iterator.
    pub(crate) fn keep_open(&mut self, db: &Db) {
        self.handle = Some(db.0.clone());
    }

    /// Updates `watched`; call it after a change of `auto_refresh` or `number`.
    fn watch(&mut self) {
        self.watched = match self.auto_refresh {
            _ if self.deadline.is_some() => 0,
            true => self.number.min(CLOSED - 1),
            false => CLOSED - 1,
        };
    }

    /// Begins to read the blocks within the bounds, user keys in order. The iterator is not valid afterwards.
    pub(crate) fn prepare(&mut self, ranges: &[(Vec<u8>, Option<Vec<u8>>)], coalesce: u64, budget: u64) {
        let user = self.family.cmp.user();
        let internal = |key: &[u8]| {
            let mut target = Vec::new();
            internal_key::set_seek_target(&mut target, &user.stamped(key), MAX_SEQNO);
            target
        };
        let bounds = ranges.iter().map(|(start, limit)| ScanBounds {
            lower: Some(internal(start)),
            upper: limit.as_deref().map(internal),
        });
        let bounds: Vec<ScanBounds> = bounds.collect();
        self.cursor.prepare(&bounds, &self.sources.read, coalesce, budget);
        self.place = DbPosition::Nowhere;
    }

    /// True if the iterator may read files, and not memory alone.
    pub(crate) fn reads_disk(&self) -> bool {
        self.sources.tier == ReadTier::All
    }

    /// Sets the bounds beyond which the sources read nothing ahead.
    fn bound_readahead(&mut self) {
        if self.lower.is_none() && self.upper.is_none() || !self.sources.read.auto_readahead_size {
            return;
        }
        let internal = |bound: &Option<Vec<u8>>| {
            let mut key = Vec::new();
            internal_key::set_seek_target(&mut key, bound.as_deref()?, MAX_SEQNO);
            Some(key)
        };
        let bounds = ScanBounds {
            lower: internal(&self.lower),
            upper: internal(&self.upper),
        };
        self.cursor.set_bounds(Some(&Arc::new(bounds)));
    }

    /// Reads from now on as of `snapshot`, or without one as of now, and releases the memtables and files
    /// that have been replaced since. The iterator is not valid afterwards: seek. Bounds and other options
    /// are kept.
    ///
    /// # Errors
    /// If a file cannot be opened; the iterator then continues to read its previous view at its
    /// previous position. `InvalidArgument` for a snapshot if it is [tailing](ReadOptions::tailing), and if
    /// the history of its timestamp has ended meanwhile.
    pub fn refresh(&mut self, snapshot: Option<&Snapshot>) -> Result<()> {
        if self.tailing && snapshot.is_some() {
            return Err(Error::invalid_argument(TAILING_WITH_SNAPSHOT));
        }
        let (super_version, seqno) = self.family.view(snapshot);
        self.move_to(super_version, seqno)?;
        self.snapshot = snapshot.cloned();
        self.auto_refresh = self.auto_refresh_with_snapshot && snapshot.is_some();
        self.watch();
        Ok(())
    }

    /// True if there is a newer super version to move to, or if the database is closed.
    #[inline]
    fn outdated(&self) -> bool {
        self.family.super_version_number.load(Ordering::Relaxed) > self.watched
    }

    /// Moves to the newest super version if possible. A failure loses nothing: the rows are the same, unless
    /// the history of the iterator's timestamp has ended, and then those of the old super version are right.
    #[cold]
    fn move_to_newest(&mut self) {
        self.number = self.family.super_version_number.load(Ordering::Acquire);
        self.watch();
        let (super_version, seqno) = self.family.view(self.snapshot.as_ref());
        // After a failure the iterator keeps its files.
        let _ = self.move_to(super_version, seqno);
    }

    /// Moves to the newest super version, at the same key.
    #[cold]
    fn read_on_in_newest(&mut self) {
        if !self.valid() {
            if self.error.is_none() {
                self.move_to_newest();
            }
            return;
        }
        let key = self.key().to_vec();
        match self.direction {
            Direction::Forward => self.seek_internal(&key),
            Direction::Backward => self.seek_for_prev_internal(&key),
        }
    }

    /// Continues to read as of the newest published row. Without a newer super version all open sources are
    /// kept. If a newer one cannot be read, the current view is too old: the iterator is broken until the
    /// next seek.
    fn catch_up(&mut self) {
        let seqno = self.family.published.load(Ordering::Acquire);
        let newest = &self.family.super_version;
        // Rows up to `seqno` may be in a memtable newer than this super version.
        let moves = self.broken.is_some() || self.sources.ignore_range_deletions;
        if moves || !Arc::ptr_eq(&self.super_version, &newest.load()) {
            let (super_version, seqno) = self.family.view(None);
            if let Err(error) = self.move_to(super_version, seqno) {
                self.broken = Some(error);
            }
            return;
        }
        self.seqno = seqno.min(self.super_version.visible);
        let tombstones = self.super_version.mem.range_tombstones().source();
        self.cursor.move_snapshot(self.seqno, tombstones);
    }

    /// Counts a skipped entry. If the move has skipped too many, the iterator fails and the result is true.
    #[inline]
    fn skips_too_many(&mut self) -> bool {
        self.skipped += 1;
        let too_many = self.skipped > self.max_skippable;
        if too_many {
            self.fail_skipped();
        }
        too_many
    }

    #[cold]
    fn fail_skipped(&mut self) {
        self.fail(Error::new(
            ErrorKind::Incomplete,
            "too many internal keys skipped",
        ));
    }

    fn move_to(&mut self, super_version: Arc<SuperVersion>, seqno: SeqNo) -> Result<()> {
        if let Some(refused) = &self.refused {
            return Err(refused.clone());
        }
        if super_version.is_closed() {
            return Err(closing());
        }
        let timestamp = self.read_ts.as_deref();
        let (cursor, missing) = sources::merged(
            &self.family,
            &super_version,
            seqno,
            self.unwritten.as_ref(),
            timestamp,
            &self.sources,
        );
        if let Some(error) = missing {
            return Err(error);
        }
        (self.cursor, self.seqno) = (cursor, seqno);
        self.bound_readahead();
        // A snapshot of a secondary is read in the super version of its creation.
        self.number = self.number.max(super_version.number);
        self.watch();
        self.super_version = super_version;
        self.record_moved();
        self.broken = None;
        self.error = None;
        self.place = DbPosition::Nowhere;
        Ok(())
    }

    #[inline]
    fn user(&self) -> &UserComparator {
        self.family.cmp.user()
    }

    /// True while the iterator is at a key.
    #[inline]
    pub fn valid(&self) -> bool {
        self.place != DbPosition::Nowhere
    }

    /// The error that ended the iteration, if one did.
    pub fn status(&self) -> Result<()> {
        self.error.clone().map_or(Ok(()), Err)
    }

    /// The current key, without its timestamp.
    #[inline]
    pub fn key(&self) -> &[u8] {
        self.user().strip_timestamp(self.full_key())
    }

    /// The timestamp of the current key; empty in families without timestamps.
    pub fn timestamp(&self) -> &[u8] {
        self.user().timestamp(self.full_key())
    }

    #[inline]
    fn full_key(&self) -> &[u8] {
        match self.place {
            DbPosition::Cursor => internal_key::user_key(self.cursor.key()),
            DbPosition::Saved => &self.saved_key,
            DbPosition::Pinned => self.pinned_key(),
            DbPosition::Nowhere => panic!("the iterator is not valid"),
        }
    }

    /// The current value; of an entity, its unnamed column. Empty until [prepared](Self::prepare_value).
    #[inline]
    pub fn value(&self) -> &[u8] {
        match self.place {
            DbPosition::Cursor if self.kind == Kind::Value => self.cursor.value(),
            DbPosition::Pinned => self.current_pinned_value(),
            DbPosition::Nowhere => panic!("the iterator is not valid"),
            _ => &self.value,
        }
    }

    /// The current [`key`](Self::key) and [`value`](Self::value), found together; `None` without a current
    /// key.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = esker::Db::open(&esker::Options { create_if_missing: true, ..Default::default() }, dir.path()).unwrap();
    /// db.put(b"a", b"1").unwrap();
    /// let mut iter = db.iter();
    /// iter.seek_to_first();
    /// assert_eq!(iter.item(), Some((&b"a"[..], &b"1"[..])));
    /// iter.next();
    /// assert_eq!(iter.item(), None);
    /// ```
    #[inline]
    pub fn item(&self) -> Option<(&[u8], &[u8])> {
        let (key, value) = match self.place {
            DbPosition::Nowhere => return None,
            DbPosition::Cursor if self.kind == Kind::Value => {
                let (key, value) = self.cursor.item();
                (internal_key::user_key(key), value)
            }
            _ => (self.full_key(), self.value()),
        };
        Some((self.user().strip_timestamp(key), value))
    }

    /// The current value, usable while the iterator moves on. A value in a block of a table is not copied.
    pub fn value_pinned(&self) -> PinnedValue {
        if self.own_place() == DbPosition::Cursor && self.kind == Kind::Value {
            return self.cursor.pin_value();
        }
        PinnedValue::owned(self.value().to_vec())
    }

    /// The columns of the current entity in the order of their names; `None` if the value is a plain one.
    pub fn columns(&self) -> Result<Option<Columns>> {
        if self.kind != Kind::WideColumnEntity {
            return Ok(None);
        }
        self.family
            .values
            .columns(self.full_key(), &self.entity, BlobRead::from(&self.sources.read))
            .map(Some)
    }

    /// The columns of the current entity, or the current value as the column without a name.
    pub(crate) fn columns_or_value(&self) -> Result<Columns> {
        let plain = || vec![(Vec::new(), self.value().to_vec())];
        Ok(self.columns()?.unwrap_or_else(plain))
    }

    /// Restricts the iterator to the keys from `lower` (inclusive) to `upper` (exclusive). The iterator is
    /// not valid afterwards: seek. Costs two copies of keys; open files and read blocks are kept.
    pub fn set_bounds(&mut self, lower: Option<&[u8]>, upper: Option<&[u8]>) {
        let stamp = |bound: &mut Option<Vec<u8>>, key: Option<&[u8]>| {
            *bound = key.map(|key| {
                let mut stamped = bound.take().unwrap_or_default();
                stamped.clear();
                stamped.extend_from_slice(&self.family.cmp.user().stamped(key));
                stamped
            });
        };
        stamp(&mut self.lower, lower);
        stamp(&mut self.upper, upper);
        if lower.is_none() && upper.is_none() {
            self.cursor.set_bounds(None);
        }
        self.bound_readahead();
        self.place = DbPosition::Nowhere;
    }

    fn find_first(&mut self) {
        self.prefix = None;
        match self.lower.take() {
            Some(lower) => {
                let bare = self.user().strip_timestamp(&lower).len();
                self.seek_internal(&lower[..bare]);
                self.lower = Some(lower);
            }
            None if self.start(Direction::Forward) => {
                self.cursor.seek_to_first();
                self.find_next(false);
            }
            None => {}
        }
    }

    fn find_last(&mut self) {
        self.prefix = None;
        if !self.start(Direction::Backward) {
            return;
        }
        match &self.upper {
            Some(upper) => {
                let user = self.family.cmp.user();
                before_key(&mut self.target, user, user.strip_timestamp(upper));
                self.cursor.seek_for_prev(&self.target);
            }
            None => self.cursor.seek_to_last(),
        }
        self.find_prev();
    }

    fn find(&mut self, key: &[u8]) {
        self.remember_prefix(key);
        if let Some(lower) = self.lower.take_if(|lower| {
            let user = self.family.cmp.user();
            user.compare_without_timestamp(&user.stamped(key), lower).is_lt()
        }) {
            let bare = self.user().strip_timestamp(&lower).len();
            self.seek_internal(&lower[..bare]);
            self.lower = Some(lower);
        } else {
            self.seek_internal(key);
        }
    }

    fn seek_internal(&mut self, key: &[u8]) {
        if !self.start(Direction::Forward) {
            return;
        }
        let newest = self.newest_seqno();
        newest_visible(&mut self.target, key, self.read_ts.as_deref(), newest);
        let within = self.prefix.is_some() || self.auto_prefix_mode && self.is_bounded_by_prefix(key);
        if let Some(extractor) = self.family.prefix_extractor.as_deref().filter(|_| within) {
            let side_by_side = self.sources.read.async_io;
            self.cursor
                .seek_within_prefix(&self.target, extractor, side_by_side);
        } else {
            self.seek_cursor();
        }
        self.find_next(false);
    }

    /// Moves the cursor to `target`.
    fn seek_cursor(&mut self) {
        match self.sources.read.async_io {
            true => self.cursor.start_seek(&self.target, SeekKind::Seek),
            false => self.cursor.hint_seek(&self.target, false),
        }
        self.cursor.seek(&self.target);
    }

    /// True if all keys from `key` to the upper bound have `key`'s prefix.
    fn is_bounded_by_prefix(&self, key: &[u8]) -> bool {
        let (Some(extractor), Some(upper)) = (&self.family.prefix_extractor, &self.upper) else {
            return false;
        };
        let prefix = extractor.prefix_of(key);
        prefix.is_some() && prefix == extractor.prefix_of(self.user().strip_timestamp(upper))
    }

    fn find_for_prev(&mut self, key: &[u8]) {
        self.remember_prefix(key);
        self.seek_for_prev_internal(key);
    }

    fn seek_for_prev_internal(&mut self, key: &[u8]) {
        if !self.start(Direction::Backward) {
            return;
        }
        let user = self.family.cmp.user();
        let mut within = self.prefix.is_some();
        match &self.upper {
            Some(upper) if user.compare_without_timestamp(&user.stamped(key), upper).is_ge() => {
                before_key(&mut self.target, user, user.strip_timestamp(upper));
                within = false;
            }
            _ => after_key(&mut self.target, user, key),
        }
        match self.sources.read.async_io {
            true => self.cursor.start_seek(&self.target, SeekKind::ForPrev),
            false => self.cursor.hint_seek(&self.target, true),
        }
        match self.family.prefix_extractor.as_deref().filter(|_| within) {
            Some(extractor) => self.cursor.seek_for_prev_within_prefix(&self.target, extractor),
            None => self.cursor.seek_for_prev(&self.target),
        }
        self.find_prev();
    }

    fn remember_prefix(&mut self, key: &[u8]) {
        self.prefix = match &self.family.prefix_extractor {
            Some(extractor) if self.prefix_same_as_start => extractor.prefix_of(key).map(<[u8]>::to_vec),
            _ => None,
        };
    }

    /// Begins a seek. False if the seek cannot succeed.
    fn start(&mut self, direction: Direction) -> bool {
        let outdated = self.outdated();
        if outdated && !self.may_move() {
            return false;
        }
        if self.tailing {
            self.catch_up();
        } else if outdated && self.has_newer() {
            self.move_to_newest();
        }
        if self.broken.is_some() {
            self.mend();
        }
        self.cursor.set_memtables_only(self.memtables_only);
        self.skipped = 0;
        self.direction = direction;
        self.place = DbPosition::Nowhere;
        self.error = self.broken.clone();
        self.error.is_none()
    }

    #[inline]
    fn forward(&mut self) {
        if self.outdated() {
            return self.move_outdated(DbIterator::step_forward);
        }
        self.step_forward();
    }

    /// Moves to the same key of the newest super version, then makes the move `step`.
    #[cold]
    fn move_outdated(&mut self, step: impl FnOnce(&mut DbIterator)) {
        assert!(self.valid(), "the iterator is not valid");
        if self.may_move() {
            let newer = self.has_newer();
            step(self);
            if newer {
                self.read_on_in_newest();
            }
        }
    }

    #[inline]
    fn step_forward(&mut self) {
        self.skipped = 0;
        match (self.place, self.direction) {
            (DbPosition::Cursor, _) => {
                let key = self.cursor.key();
                // An entry of sequence number 0 is the last version of its key: no other must be skipped.
                let skip = internal_key::seqno(key) != 0 || self.read_ts.is_some();
                if skip {
                    self.saved_key.clear();
                    self.saved_key.extend_from_slice(internal_key::user_key(key));
                }
                self.cursor.next();
                self.find_next(skip);
            }
            (DbPosition::Saved, Direction::Forward) => self.find_next(true),
            (DbPosition::Saved, Direction::Backward) => {
                self.direction = Direction::Forward;
                before_key(
                    &mut self.target,
                    self.family.cmp.user(),
                    self.family.cmp.user().strip_timestamp(&self.saved_key),
                );
                self.cursor.seek(&self.target);
                self.find_next(true);
            }
            (DbPosition::Nowhere | DbPosition::Pinned, _) => panic!("the iterator is not valid"),
        }
    }

    fn backward(&mut self) {
        if self.outdated() {
            return self.move_outdated(DbIterator::step_backward);
        }
        self.step_backward();
    }

    fn step_backward(&mut self) {
        assert!(self.valid(), "the iterator is not valid");
        self.skipped = 0;
        if self.direction == Direction::Forward {
            if self.place == DbPosition::Cursor {
                self.saved_key.clear();
                self.saved_key
                    .extend_from_slice(internal_key::user_key(self.cursor.key()));
            }
            self.direction = Direction::Backward;
            self.step_before_saved_key();
        }
        self.find_prev();
    }

    fn fail(&mut self, error: Error) {
        self.error = Some(error);
        self.place = DbPosition::Nowhere;
    }

    /// Ends the iteration, with the cursor's error if it has one.
    fn end(&mut self) {
        self.place = DbPosition::Nowhere;
        if let Err(error) = self.cursor.status() {
            self.error = Some(error);
        }
    }

    /// The highest visible sequence number.
    #[inline]
    fn newest_seqno(&self) -> SeqNo {
        self.seqno.max(self.unwritten_limit)
    }

    #[inline]
    fn visible(&self, entry: &ParsedInternalKey<'_>) -> bool {
        (entry.seqno <= self.seqno || entry.seqno >= UNWRITTEN && entry.seqno <= self.unwritten_limit)
            && self.read_ts.as_ref().is_none_or(|read_ts| {
                self.user()
                    .compare_timestamp(self.user().timestamp(entry.user_key), read_ts)
                    .is_le()
            })
    }

    #[inline]
    fn is_saved_key(&self, user_key: &[u8]) -> bool {
        match self.user() {
            UserComparator::Bytewise | UserComparator::ReverseBytewise => user_key == self.saved_key,
            // Before the first move there is no saved key, and an empty key has no timestamp to strip.
            user => {
                (user.timestamp_size() == 0 || !self.saved_key.is_empty())
                    && user.compare_without_timestamp(user_key, &self.saved_key).is_eq()
            }
        }
    }

    fn outside_prefix(&self, user_key: &[u8]) -> bool {
        match (&self.prefix, &self.family.prefix_extractor) {
            (Some(prefix), Some(extractor)) => {
                extractor.prefix_of(self.user().strip_timestamp(user_key)) != Some(&prefix[..])
            }
            _ => false,
        }
    }

    /// Moves forwards to the first visible key. With `skipping`, entries of `saved_key` are skipped.
    #[inline]
    fn find_next(&mut self, mut skipping: bool) {
        // The number of skipped entries of `saved_key`.
        let mut steps = 0;
        while self.cursor.valid() {
            let entry = match ParsedInternalKey::parse(self.cursor.key()) {
                Ok(entry) => entry,
                Err(error) => return self.fail(error),
            };
            if let Some(upper) = &self.upper
                && self
                    .user()
                    .compare_without_timestamp(entry.user_key, upper)
                    .is_ge()
            {
                break;
            }
            if self.prefix.is_some() && self.outside_prefix(entry.user_key) {
                break;
            }
            if skipping && self.is_saved_key(entry.user_key) {
                if self.skips_too_many() {
                    return;
                }
                if steps == self.max_skip {
                    let user = self.family.cmp.user();
                    after_key(&mut self.target, user, user.strip_timestamp(&self.saved_key));
                    // The target is the position of the oldest possible entry of the key, so the seek may end
                    // at an entry of the key.
                    self.cursor.seek(&self.target);
                } else {
                    self.cursor.next();
                }
                steps += 1;
                continue;
            }
            if !self.visible(&entry) {
                if skipping || !self.is_saved_key(entry.user_key) {
                    self.saved_key.clear();
                    self.saved_key.extend_from_slice(entry.user_key);
                    skipping = false;
                    steps = 0;
                }
                if self.skips_too_many() {
                    return;
                }
                if steps != self.max_skip || !self.seek_to_visible() {
                    self.cursor.next();
                }
                steps += 1;
                continue;
            }
            match entry.kind {
                Kind::Value => {
                    self.kind = Kind::Value;
                    self.place = DbPosition::Cursor;
                    return;
                }
                kind if kind.is_tombstone() => {
                    self.saved_key.clear();
                    self.saved_key.extend_from_slice(entry.user_key);
                    skipping = true;
                    steps = 0;
                    if self.skips_too_many() {
                        return;
                    }
                    self.cursor.next();
                }
                Kind::Merge => return self.merge_forwards(),
                kind => return self.take_special(kind),
            }
        }
        self.end();
    }

    /// The cursor is at an invisible version of `saved_key`: seeks past the versions that are too new. False
    /// if this version is not too new by its timestamp, because the seek would then move backwards.
    #[cold]
    fn seek_to_visible(&mut self) -> bool {
        let user = self.family.cmp.user();
        let timestamp = user.timestamp(internal_key::user_key(self.cursor.key()));
        if let Some(read_ts) = &self.read_ts
            && user.compare_timestamp(timestamp, read_ts).is_le()
        {
            return false;
        }
        // Either the batch got the row after the iterator's view, or it was written after the snapshot.
        let newest = match internal_key::seqno(self.cursor.key()) > self.unwritten_limit {
            true => self.newest_seqno(),
            false => self.seqno,
        };
        let key = user.strip_timestamp(&self.saved_key);
        newest_visible(&mut self.target, key, self.read_ts.as_deref(), newest);
        self.cursor.seek(&self.target);
        true
    }

    /// Makes the cursor's entry the current one, when its bytes are not its plain value.
    fn take_special(&mut self, kind: Kind) {
        if self.leaves_unread(kind) {
            self.place = DbPosition::Cursor;
            return;
        }
        let user_key = internal_key::user_key(self.cursor.key());
        if let Err(error) = self.family.values.plain(
            kind,
            user_key,
            self.cursor.value(),
            BlobRead::from(&self.sources.read),
            &mut self.value,
        ) {
            return self.fail(error);
        }
        if kind == Kind::WideColumnEntity {
            self.entity.clear();
            self.entity.extend_from_slice(self.cursor.value());
        }
        self.kind = kind;
        self.place = DbPosition::Cursor;
    }

    /// Makes `saved_key` the current key, with the bytes of an entry of `kind`.
    fn take_saved(&mut self, kind: Kind, bytes: Vec<u8>) {
        if kind == Kind::Value {
            self.value = bytes;
        } else if self.leaves_unread(kind) {
            self.entity = bytes;
        } else {
            if let Err(error) = self.family.values.plain(
                kind,
                &self.saved_key,
                &bytes,
                BlobRead::from(&self.sources.read),
                &mut self.value,
            ) {
                return self.fail(error);
            }
            self.entity = bytes;
        }
        self.kind = kind;
        self.place = DbPosition::Saved;
    }
}

impl Drop for DbIterator {
    fn drop(&mut self) {
        let _ = SAVED_KEY.try_with(|spare| spare.leave(&mut self.saved_key));
        let _ = VALUE.try_with(|spare| spare.leave(&mut self.value));
        let _ = TARGET.try_with(|spare| spare.leave(&mut self.target));
        self.family.iterators.leave(self.listed);
        let stats = self.family.tables.stats();
        stats.count(Ticker::IteratorsDeleted, 1);
    }
}

thread_local! {
    static SAVED_KEY: Spare<u8> = const { Spare::new() };
    static VALUE: Spare<u8> = const { Spare::new() };
    static TARGET: Spare<u8> = const { Spare::new() };
}

/// Sets `target` to a key that sorts at or before the newest entry of `key` visible at `seqno` and `read_ts`,
/// and after all newer entries.
pub(super) fn newest_visible(target: &mut Vec<u8>, key: &[u8], read_ts: Option<&[u8]>, seqno: SeqNo) {
    let read_ts = read_ts.unwrap_or_default();
    target.clear();
    target.reserve(key.len() + read_ts.len() + TRAILER_LEN);
    target.extend_from_slice(key);
    target.extend_from_slice(read_ts);
    let trailer = internal_key::pack_trailer(seqno, internal_key::KIND_FOR_SEEK);
    target.extend_from_slice(&trailer.to_le_bytes());
}

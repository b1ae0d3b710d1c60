//! Readers, and the iterator over versions that every operation uses.

use std::sync::Arc;

use esker::{BlockPropertyFilter, ColumnFamily, Db, DbIterator, ReadOptions, Snapshot, WriteBatchWithIndex};

use crate::counters::{ReadCounters, ReadTotals};
use crate::error::{Error, Result};
use crate::key::{MvccKey, encode_key};
use crate::ranges::{Cover, Order, Ranges};
use crate::store::threshold_of;
use crate::timestamp::Timestamp;
use base::steps::{MAX_STEPS_BEFORE_SEEK, StepsBeforeSeek};

/// The user keys from `start` up to `end`, exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span<'a> {
    /// The first key; empty for the first key there is.
    pub start: &'a [u8],
    /// The first key after the span; `None` for no end.
    pub end: Option<&'a [u8]>,
}

impl<'a> Span<'a> {
    /// Every user key.
    pub const ALL: Span<'static> = Span {
        start: &[],
        end: None,
    };

    /// The span from `start` up to `end`, exclusive.
    pub fn new(start: &'a [u8], end: &'a [u8]) -> Span<'a> {
        Span {
            start,
            end: Some(end),
        }
    }

    /// True if the span contains no key.
    pub fn is_empty(&self) -> bool {
        self.end.is_some_and(|end| end <= self.start)
    }

    /// The engine keys that bound the span. The empty user key is not available to users:
    /// [`MvccStore`](crate::MvccStore) keeps its record there.
    pub(crate) fn bounds(&self) -> (Vec<u8>, Option<Vec<u8>>) {
        let first: &[u8] = if self.start.is_empty() { b"\0" } else { self.start };
        let bare = |user_key: &[u8]| {
            MvccKey {
                user_key,
                timestamp: Timestamp::ZERO,
            }
            .encode()
        };
        (bare(first), self.end.map(bare))
    }
}

/// A reader of a family of versioned keys, of its current state or of a snapshot, optionally with a batch
/// that is not written yet.
#[derive(Clone)]
pub struct Reader<'a> {
    db: &'a Db,
    family: &'a ColumnFamily,
    batch: Option<&'a WriteBatchWithIndex>,
    options: ReadOptions,
    max_steps: u32,
    /// Garbage at this time may exist or not.
    collected: Timestamp,
    /// Versions at or below this time are not read: the threshold of the state that is read, or a later one.
    pub(crate) threshold: Timestamp,
    /// The range tombstones of the state that is read; `None` if there are none.
    ranges: Option<Arc<Ranges>>,
    /// The totals that its scans are added to.
    pub(crate) totals: Option<&'a ReadTotals>,
}

impl<'a> Reader<'a> {
    /// A reader of `family`, which reads the current state at each operation. The family must have been set
    /// up by [`configure`](crate::configure). Unlike readers of stores and their batches it knows of no range
    /// tombstones and of no garbage collection threshold; see
    /// [`with_range_tombstones`](Self::with_range_tombstones) and [`with_threshold`](Self::with_threshold).
    pub fn new(db: &'a Db, family: &'a ColumnFamily) -> Reader<'a> {
        Reader {
            db,
            family,
            batch: None,
            options: ReadOptions::default(),
            max_steps: MAX_STEPS_BEFORE_SEEK,
            collected: Timestamp::ZERO,
            threshold: Timestamp::ZERO,
            ranges: None,
            totals: None,
        }
    }

    /// Makes the reader read at `snapshot`.
    pub fn at(mut self, snapshot: Snapshot) -> Reader<'a> {
        self.options.snapshot = Some(snapshot);
        self
    }

    /// Makes the reader read as if `batch` were written.
    pub fn over(mut self, batch: &'a WriteBatchWithIndex) -> Reader<'a> {
        self.batch = Some(batch);
        self
    }

    /// The same reader with the range tombstones that are stored now, or at its snapshot, which must be set
    /// first. One seek where there are none.
    ///
    /// # Errors
    /// `Corruption` if a range tombstone is malformed; errors of the engine.
    pub fn with_range_tombstones(mut self) -> Result<Reader<'a>> {
        self.ranges = Ranges::load(&self)?;
        Ok(self)
    }

    /// The same reader, refusing reads at or below the threshold that the family's store had at its snapshot,
    /// which must be set first, or has now. Without a snapshot the threshold may rise later, and the versions
    /// read may be gone. One get.
    ///
    /// # Errors
    /// `Corruption` if the store's record is malformed; errors of the engine.
    pub fn with_threshold(mut self) -> Result<Reader<'a>> {
        self.threshold = threshold_of(self.db, self.family, &self.options)?;
        Ok(self)
    }

    /// Sets the maximum number of steps tried before a seek; 0 always seeks. Default: 10. Tests set it low,
    /// to exercise both.
    pub fn with_max_steps(mut self, max_steps: u32) -> Reader<'a> {
        self.max_steps = max_steps;
        self
    }

    pub(crate) fn max_steps(&self) -> u32 {
        self.max_steps
    }

    /// The reader of a store that has collected garbage up to a time.
    pub(crate) fn of_store(mut self, collected: Timestamp) -> Reader<'a> {
        self.collected = collected;
        self
    }

    /// The reader of a state with these range tombstones.
    pub(crate) fn with_ranges(mut self, ranges: Option<Arc<Ranges>>) -> Reader<'a> {
        self.ranges = ranges;
        self
    }

    pub(crate) fn into_ranges(self) -> Option<Arc<Ranges>> {
        self.ranges
    }

    pub(crate) fn ranges(&self) -> Option<&Ranges> {
        self.ranges.as_deref()
    }

    /// A cover for keys that are queried in `order`.
    pub(crate) fn cover(&self, order: Order) -> Option<Cover> {
        self.ranges.as_ref().map(|ranges| Cover::new(ranges, order))
    }

    pub(crate) fn collected(&self) -> Timestamp {
        self.collected
    }

    /// The same reader, skipping tables and runs of their blocks according to `filter`.
    pub(crate) fn filtered(&self, filter: Arc<dyn BlockPropertyFilter>) -> Reader<'a> {
        let mut reader = self.clone();
        reader.options.block_property_filter = Some(filter);
        reader
    }

    /// Fails unless the state at `timestamp` can be read: no version has a time at or below
    /// [`Timestamp::ZERO`], or a negative counter, and versions at or below the threshold may be gone.
    #[inline]
    pub(crate) fn check_time(&self, timestamp: Timestamp) -> Result<()> {
        timestamp.check()?;
        if timestamp <= self.threshold {
            return Err(Error::BelowThreshold {
                timestamp,
                threshold: self.threshold,
            });
        }
        Ok(())
    }

    /// Fails unless the versions above `after` and at or below `until` can be read; from [`Timestamp::ZERO`]
    /// on the remaining ones.
    pub(crate) fn check_window(&self, after: Timestamp, until: Timestamp) -> Result<()> {
        after.check_sign()?;
        self.check_time(until)?;
        if !after.is_zero() && after < self.threshold {
            return Err(Error::BelowThreshold {
                timestamp: after,
                threshold: self.threshold,
            });
        }
        Ok(())
    }

    pub(crate) fn db(&self) -> &'a Db {
        self.db
    }

    pub(crate) fn family(&self) -> &'a ColumnFamily {
        self.family
    }

    /// An iterator over the versions in `span`, and nothing else.
    pub(crate) fn versions(&self, span: Span<'_>) -> Result<VersionIter> {
        let (lower, upper) = span.bounds();
        let options = ReadOptions {
            iterate_lower_bound: Some(lower),
            iterate_upper_bound: upper,
            ..self.options.clone()
        };
        self.iterator(options)
    }

    /// An iterator from one engine key up to another, exclusive.
    pub(crate) fn between(&self, start: Vec<u8>, end: Vec<u8>) -> Result<VersionIter> {
        self.iterator(ReadOptions {
            iterate_lower_bound: Some(start),
            iterate_upper_bound: Some(end),
            ..self.options.clone()
        })
    }

    /// An iterator over the versions of one user key at a time: after a seek it shows those of the given key,
    /// and uses filters for it.
    pub(crate) fn versions_of_one(&self) -> Result<VersionIter> {
        let options = ReadOptions {
            prefix_same_as_start: true,
            ..self.options.clone()
        };
        self.iterator(options)
    }

    fn iterator(&self, options: ReadOptions) -> Result<VersionIter> {
        // Values that are stepped over are not read from blob files.
        let options = ReadOptions {
            allow_unprepared_value: true,
            ..options
        };
        let mut iter = match self.batch {
            Some(batch) => batch.iter_with_base(self.db, &options, self.family)?,
            None => self.db.iter_cf(&options, self.family),
        };
        iter.set_max_prefix_steps(self.max_steps);
        Ok(VersionIter {
            iter,
            counters: ReadCounters::default(),
            target: Vec::new(),
            steps: StepsBeforeSeek::new(self.max_steps),
        })
    }
}

/// The version at an iterator's position, with its value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Version<'a> {
    pub user_key: &'a [u8],
    /// [`Timestamp::ZERO`] for an inline value.
    pub timestamp: Timestamp,
    pub stored: &'a [u8],
}

/// A version that a backward walk has found; the iterator may have moved past it.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// [`Timestamp::ZERO`] for an inline value.
    pub timestamp: Timestamp,
    /// Empty while it is not read.
    pub stored: Vec<u8>,
    pub is_read: bool,
    /// The length of a value that is not read, if it is known.
    pub unread_len: Option<usize>,
}

/// The maximum length of a compressed deletion, which is an empty value; with a large margin.
const MAX_COMPRESSED_NOTHING: u64 = 64;

/// An iterator over versions: user keys in order, the newest version of each first.
pub(crate) struct VersionIter {
    iter: DbIterator,
    pub counters: ReadCounters,
    target: Vec<u8>,
    pub steps: StepsBeforeSeek,
}

impl VersionIter {
    /// The key at the current position; `None` at an end.
    #[inline]
    pub fn current(&self) -> Result<Option<MvccKey<'_>>> {
        if !self.iter.valid() {
            self.iter.status()?;
            return Ok(None);
        }
        Ok(Some(MvccKey::decode(self.iter.key())?))
    }

    /// The version at the current position with its value, which is read if it is in a blob file. Requires
    /// that [`current`](Self::current) returns a key.
    #[inline]
    pub fn version(&mut self) -> Result<Version<'_>> {
        self.prepare()?;
        let key = MvccKey::decode(self.iter.key())?;
        Ok(Version {
            user_key: key.user_key,
            timestamp: key.timestamp,
            stored: self.iter.value(),
        })
    }

    #[inline]
    fn prepare(&mut self) -> Result<()> {
        if !self.iter.is_value_prepared() && !self.iter.prepare_value() {
            self.iter.status()?;
        }
        Ok(())
    }

    /// The length of the current value, if the value is not read and the length is known nevertheless.
    #[inline]
    pub fn unread_len(&self) -> Result<Option<usize>> {
        if self.iter.is_value_prepared() {
            return Ok(None);
        }
        let unread = self.iter.unprepared_value()?;
        let own_size = unread.filter(|unread| !unread.is_compressed);
        // A size that no value can have is left for the read to report.
        Ok(own_size.and_then(|unread| u32::try_from(unread.stored_size).ok()?.try_into().ok()))
    }

    /// The length of the current value, which is read if the length is unknown otherwise. Requires that
    /// [`current`](Self::current) returns a key.
    #[inline]
    pub fn value_len(&mut self) -> Result<usize> {
        if let Some(len) = self.unread_len()? {
            return Ok(len);
        }
        self.prepare()?;
        Ok(self.iter.value().len())
    }

    /// True at a deletion. Requires that [`current`](Self::current) returns a version.
    #[inline]
    pub fn is_tombstone(&mut self) -> Result<bool> {
        if !self.iter.is_value_prepared()
            && let Some(unread) = self.iter.unprepared_value()?
            && unread.is_compressed
            && unread.stored_size > MAX_COMPRESSED_NOTHING
        {
            return Ok(false);
        }
        Ok(self.value_len()? == 0)
    }

    /// The time of the current version, if it is one of `user_key`.
    #[inline]
    pub fn time_of(&self, user_key: &[u8]) -> Result<Option<Timestamp>> {
        if !self.iter.valid() {
            self.iter.status()?;
            return Ok(None);
        }
        let key = MvccKey::decode(self.iter.key())?;
        Ok((key.user_key == user_key).then_some(key.timestamp))
    }

    /// The current engine key. Requires that [`current`](Self::current) returns a key.
    #[inline]
    pub fn engine_key(&self) -> &[u8] {
        self.iter.key()
    }

    pub fn seek_to_first(&mut self) {
        self.counters.seeks += 1;
        self.iter.seek_to_first();
    }

    pub fn seek_to_last(&mut self) {
        self.counters.seeks += 1;
        self.iter.seek_to_last();
    }

    /// Moves to the first entry of `user_key`, its inline value or its newest version, or to the first entry
    /// after the key.
    pub fn seek_key(&mut self, user_key: &[u8]) {
        self.counters.seeks += 1;
        self.target.clear();
        encode_key(&mut self.target, user_key, Timestamp::ZERO);
        self.iter.seek(&self.target);
    }

    /// Moves to the first version of `user_key` at or below `timestamp`, which must be a valid time of a
    /// version, or to the first entry after the key.
    pub fn seek(&mut self, user_key: &[u8], timestamp: Timestamp) {
        debug_assert!(
            timestamp.check().is_ok(),
            "{timestamp} is encoded as above all versions"
        );
        self.counters.seeks += 1;
        self.target.clear();
        encode_key(&mut self.target, user_key, timestamp);
        self.iter.seek(&self.target);
    }

    /// Moves to the last version of `user_key` at or above `timestamp`, which must be a valid time of a
    /// version, or to the entry before it.
    pub fn seek_for_prev(&mut self, user_key: &[u8], timestamp: Timestamp) {
        debug_assert!(
            timestamp.check().is_ok(),
            "{timestamp} is encoded as above all versions"
        );
        self.counters.seeks += 1;
        self.target.clear();
        encode_key(&mut self.target, user_key, timestamp);
        self.iter.seek_for_prev(&self.target);
    }

    /// Moves past all entries.
    pub fn seek_behind_all(&mut self) {
        if self.iter.valid() {
            self.iter.seek_to_last();
            self.iter.next();
        }
    }

    #[inline]
    pub fn next(&mut self) {
        self.counters.steps += 1;
        self.iter.next();
    }

    #[inline]
    pub fn prev(&mut self) {
        self.counters.steps += 1;
        self.iter.prev();
    }

    /// Moves from a version of `user_key` down to the newest at or below `timestamp`. False if there is none:
    /// the iterator is then after the key.
    pub fn descend(&mut self, user_key: &[u8], timestamp: Timestamp) -> Result<bool> {
        for _ in 0..self.steps.get() {
            self.counters.skipped += 1;
            self.next();
            match self.time_of(user_key)? {
                Some(time) if time > timestamp => {}
                found => {
                    self.steps.found();
                    return Ok(found.is_some());
                }
            }
        }
        self.counters.skipped += 1;
        self.steps.missed();
        self.seek(user_key, timestamp);
        Ok(self.time_of(user_key)?.is_some())
    }

    /// Moves from a version to the first entry after its key.
    pub fn next_key(&mut self) {
        let moved = self.iter.next_prefix();
        self.counters.steps += u64::from(moved.steps);
        self.counters.seeks += u64::from(moved.sought);
        // The last step, if no seek followed, left the key.
        self.counters.skipped += u64::from(moved.steps.saturating_sub(u32::from(!moved.sought)));
    }

    /// Moves from a version of `user_key` to the entry before all of them.
    pub fn prev_key(&mut self, user_key: &[u8]) -> Result<()> {
        for _ in 0..self.steps.get() {
            self.prev();
            if self.time_of(user_key)?.is_none() {
                self.steps.found();
                return Ok(());
            }
            self.counters.skipped += 1;
        }
        self.steps.missed();
        self.seek_before(user_key)
    }

    /// Moves to the entry before all versions of `user_key`.
    pub fn seek_before(&mut self, user_key: &[u8]) -> Result<()> {
        self.counters.seeks += 1;
        self.target.clear();
        encode_key(&mut self.target, user_key, Timestamp::ZERO);
        self.iter.seek_for_prev(&self.target);
        if self.time_of(user_key)?.is_some() {
            self.prev();
        }
        Ok(())
    }

    /// Moves from the oldest version of `user_key`, at or below `timestamp`, up to the newest such version,
    /// which is stored in `found`, perhaps not [read](Self::read). True if the iterator is then before the
    /// key already.
    pub fn climb(&mut self, user_key: &[u8], timestamp: Timestamp, found: &mut Found) -> Result<bool> {
        for _ in 0..self.steps.get() {
            self.take(found)?;
            self.prev();
            match self.time_of(user_key)? {
                None => {
                    self.steps.found();
                    return Ok(true);
                }
                Some(time) if time.is_zero() => return Err(mixed(user_key)),
                // Either the reader does not see this version, or it does not see the one before.
                Some(time) => {
                    self.counters.skipped += 1;
                    if time > timestamp {
                        self.steps.found();
                        return Ok(false);
                    }
                }
            }
        }
        self.steps.missed();
        self.seek(user_key, timestamp);
        self.take(found)?;
        Ok(false)
    }

    /// Stores the current version in `found`, with its value if that is available.
    pub fn take(&self, found: &mut Found) -> Result<()> {
        if let Some(version) = self.current()? {
            found.timestamp = version.timestamp;
            found.stored.clear();
            found.stored.extend_from_slice(self.iter.value());
            found.is_read = self.iter.is_value_prepared();
            found.unread_len = self.unread_len()?;
        }
        Ok(())
    }

    /// Reads the value of a version of `user_key` that was found, moving back to it.
    #[cold]
    pub fn read(&mut self, user_key: &[u8], found: &mut Found) -> Result<()> {
        if self.time_of(user_key)? != Some(found.timestamp) {
            match found.timestamp.is_zero() {
                true => self.seek_key(user_key),
                false => self.seek(user_key, found.timestamp),
            }
        }
        if self.current()?.is_some() {
            self.prepare()?;
        }
        self.take(found)
    }
}

/// The error of a key that has both an inline value and versions.
#[cold]
pub(crate) fn mixed(user_key: &[u8]) -> Error {
    Error::corruption(format!(
        "{} has an inline value and versions",
        crate::error::Shown(user_key)
    ))
}

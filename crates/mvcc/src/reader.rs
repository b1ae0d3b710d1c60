//! What is read, and the walk over its versions that every operation is made of.

use std::sync::Arc;

use esker::{BlockPropertyFilter, ColumnFamily, Db, DbIterator, ReadOptions, Snapshot, WriteBatchWithIndex};

use crate::counters::{ReadCounters, ReadTotals};
use crate::error::{Error, Result};
use crate::key::{MvccKey, encode_key};
use crate::ranges::{Cover, Order, Ranges};
use crate::store::threshold_of;
use crate::timestamp::Timestamp;
use base::steps::{MAX_STEPS_BEFORE_SEEK, StepsBeforeSeek};

/// User keys from `start` to before `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span<'a> {
    /// The first; empty for the first there is.
    pub start: &'a [u8],
    /// The first no longer in it; `None` for no end.
    pub end: Option<&'a [u8]>,
}

impl<'a> Span<'a> {
    /// Every user key.
    pub const ALL: Span<'static> = Span {
        start: &[],
        end: None,
    };

    /// From `start` to before `end`.
    pub fn new(start: &'a [u8], end: &'a [u8]) -> Span<'a> {
        Span {
            start,
            end: Some(end),
        }
    }

    /// True if no key lies in it.
    pub fn is_empty(&self) -> bool {
        self.end.is_some_and(|end| end <= self.start)
    }

    /// The engine's keys it lies between. The empty user key is no user's: [`MvccStore`](crate::MvccStore) keeps its record there.
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

/// What is read: a family of versioned keys as it is now or at a snapshot, perhaps with a batch that is not written yet.
#[derive(Clone)]
pub struct Reader<'a> {
    db: &'a Db,
    family: &'a ColumnFamily,
    batch: Option<&'a WriteBatchWithIndex>,
    options: ReadOptions,
    max_steps: u32,
    /// Garbage at this time may be there or not.
    collected: Timestamp,
    /// What was at or below it is not read: that of what is read, or a later one.
    pub(crate) threshold: Timestamp,
    /// Of the moment that is read; `None` if there are none.
    ranges: Option<Arc<Ranges>>,
    /// Where its scans are added up.
    pub(crate) totals: Option<&'a ReadTotals>,
}

impl<'a> Reader<'a> {
    /// Of `family` as it is at each operation. It must have been set up by [`configure`](crate::configure). It knows of no range tombstones and of
    /// no garbage collection threshold, unlike those of stores and their batches; see [`with_range_tombstones`](Self::with_range_tombstones) and
    /// [`with_threshold`](Self::with_threshold).
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

    /// As of `snapshot`.
    pub fn at(mut self, snapshot: Snapshot) -> Reader<'a> {
        self.options.snapshot = Some(snapshot);
        self
    }

    /// With what is in `batch` as if it were written.
    pub fn over(mut self, batch: &'a WriteBatchWithIndex) -> Reader<'a> {
        self.batch = Some(batch);
        self
    }

    /// With the range tombstones that lie there now, or at its snapshot, which is to be given first. One seek where there are none.
    ///
    /// # Errors
    /// `Corruption` if one is damaged, what the engine says.
    pub fn with_range_tombstones(mut self) -> Result<Reader<'a>> {
        self.ranges = Ranges::load(&self)?;
        Ok(self)
    }

    /// Refuses reads at or below the threshold that the family's store had at its snapshot, which is to be given first, or has now: without a
    /// snapshot that may rise, and what is read then be gone. One get.
    ///
    /// # Errors
    /// `Corruption` if the store's record is damaged, what the engine says.
    pub fn with_threshold(mut self) -> Result<Reader<'a>> {
        self.threshold = threshold_of(self.db, self.family, &self.options)?;
        Ok(self)
    }

    /// Tries at most so many steps before it seeks; 0 always seeks. Default: 10. Tests set it low, to go both ways.
    pub fn with_max_steps(mut self, max_steps: u32) -> Reader<'a> {
        self.max_steps = max_steps;
        self
    }

    pub(crate) fn max_steps(&self) -> u32 {
        self.max_steps
    }

    /// Of a store that has collected garbage up to a time.
    pub(crate) fn of_store(mut self, collected: Timestamp) -> Reader<'a> {
        self.collected = collected;
        self
    }

    /// Of a moment that has these range tombstones.
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

    /// For keys that come in `order`.
    pub(crate) fn cover(&self, order: Order) -> Option<Cover> {
        self.ranges.as_ref().map(|ranges| Cover::new(ranges, order))
    }

    pub(crate) fn collected(&self) -> Timestamp {
        self.collected
    }

    /// Passes over tables and runs of their blocks as `filter` says.
    pub(crate) fn filtered(&self, filter: Arc<dyn BlockPropertyFilter>) -> Reader<'a> {
        let mut reader = self.clone();
        reader.options.block_property_filter = Some(filter);
        reader
    }

    /// Fails unless what was at `timestamp` can be read: no version has a time at or below [`Timestamp::ZERO`], or a negative counter, and those at or
    /// below the threshold may be gone.
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

    /// Fails unless the versions above `after` and at or below `until` can be read; above [`Timestamp::ZERO`] those that are left.
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

    /// The versions in `span`, and nothing else.
    pub(crate) fn versions(&self, span: Span<'_>) -> Result<VersionIter> {
        let (lower, upper) = span.bounds();
        let options = ReadOptions {
            iterate_lower_bound: Some(lower),
            iterate_upper_bound: upper,
            ..self.options.clone()
        };
        self.iterator(options)
    }

    /// What lies from one of the engine's keys to before another.
    pub(crate) fn between(&self, start: Vec<u8>, end: Vec<u8>) -> Result<VersionIter> {
        self.iterator(ReadOptions {
            iterate_lower_bound: Some(start),
            iterate_upper_bound: Some(end),
            ..self.options.clone()
        })
    }

    /// The versions of one user key at a time: after a seek it shows those of the key sought, and filters are asked for it.
    pub(crate) fn versions_of_one(&self) -> Result<VersionIter> {
        let options = ReadOptions {
            prefix_same_as_start: true,
            ..self.options.clone()
        };
        self.iterator(options)
    }

    fn iterator(&self, options: ReadOptions) -> Result<VersionIter> {
        // What is stepped over is not read from blob files.
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

/// A version where an iterator stands, and its value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Version<'a> {
    pub user_key: &'a [u8],
    /// [`Timestamp::ZERO`] of an inline value.
    pub timestamp: Timestamp,
    pub stored: &'a [u8],
}

/// A version that a walk backwards has found, and perhaps left behind.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// [`Timestamp::ZERO`] of an inline value.
    pub timestamp: Timestamp,
    /// Nothing while it is not read.
    pub stored: Vec<u8>,
    pub is_read: bool,
    /// Bytes of a value that is not read, if they are known.
    pub unread_len: Option<usize>,
}

/// What a deletion, an empty value, takes at most when it is compressed, and much more.
const MAX_COMPRESSED_NOTHING: u64 = 64;

/// Walks versions: user keys in order, of each the newest first.
pub(crate) struct VersionIter {
    iter: DbIterator,
    pub counters: ReadCounters,
    target: Vec<u8>,
    pub steps: StepsBeforeSeek,
}

impl VersionIter {
    /// Where it stands; `None` at an end.
    #[inline]
    pub fn current(&self) -> Result<Option<MvccKey<'_>>> {
        if !self.iter.valid() {
            self.iter.status()?;
            return Ok(None);
        }
        Ok(Some(MvccKey::decode(self.iter.key())?))
    }

    /// The same with its value, read if it lies in a blob file. Only where [`current`](Self::current) shows one.
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

    /// Bytes of the value it stands on, if that is not read and they are known nevertheless.
    #[inline]
    pub fn unread_len(&self) -> Result<Option<usize>> {
        if self.iter.is_value_prepared() {
            return Ok(None);
        }
        let unread = self.iter.unprepared_value()?;
        let own_size = unread.filter(|unread| !unread.is_compressed);
        // What no value can be is left to whoever reads it.
        Ok(own_size.and_then(|unread| u32::try_from(unread.stored_size).ok()?.try_into().ok()))
    }

    /// Bytes of the value it stands on, which is read if they are not known without. Only where [`current`](Self::current) shows one.
    #[inline]
    pub fn value_len(&mut self) -> Result<usize> {
        if let Some(len) = self.unread_len()? {
            return Ok(len);
        }
        self.prepare()?;
        Ok(self.iter.value().len())
    }

    /// True if it stands on a deletion. Only where [`current`](Self::current) shows a version.
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

    /// The time of the version it stands on, if that is one of `user_key`.
    #[inline]
    pub fn time_of(&self, user_key: &[u8]) -> Result<Option<Timestamp>> {
        if !self.iter.valid() {
            self.iter.status()?;
            return Ok(None);
        }
        let key = MvccKey::decode(self.iter.key())?;
        Ok((key.user_key == user_key).then_some(key.timestamp))
    }

    /// The engine's key it stands on. Only where [`current`](Self::current) shows one.
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

    /// To the first there is of `user_key`, its inline value or its newest version, or to what comes behind the key.
    pub fn seek_key(&mut self, user_key: &[u8]) {
        self.counters.seeks += 1;
        self.target.clear();
        encode_key(&mut self.target, user_key, Timestamp::ZERO);
        self.iter.seek(&self.target);
    }

    /// To the first version of `user_key` at or below `timestamp`, which a version may have, or to what comes behind the key.
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

    /// To the last version of `user_key` at or above `timestamp`, which a version may have, or to what comes before.
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

    /// To nowhere: there is nothing more.
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

    /// From a version of `user_key` down to the newest at or below `timestamp`. False if there is none: it stands behind the key then.
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

    /// From a version to what comes behind all of its key.
    pub fn next_key(&mut self) {
        let moved = self.iter.next_prefix();
        self.counters.steps += u64::from(moved.steps);
        self.counters.seeks += u64::from(moved.sought);
        // The last step, if no seek followed, led out of the key.
        self.counters.skipped += u64::from(moved.steps.saturating_sub(u32::from(!moved.sought)));
    }

    /// From a version of `user_key` to what comes before all of them.
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

    /// To what comes before all versions of `user_key`.
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

    /// From the oldest version of `user_key`, at or below `timestamp`, up to the newest such, which is left in `found`, perhaps not
    /// [read](Self::read). True if it then stands before the key already.
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
                // Either this one is not seen, or the one before is not.
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

    /// Leaves the version it stands on in `found`, with its value if that is there.
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

    /// Reads the value of a version of `user_key` that was found, going back to it.
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

/// A key must have either an inline value or versions.
#[cold]
pub(crate) fn mixed(user_key: &[u8]) -> Error {
    Error::corruption(format!(
        "{} has an inline value and versions",
        crate::error::Shown(user_key)
    ))
}

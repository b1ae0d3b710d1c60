//! Writes that take effect together, each of which sees those before it.
//!
//! Every write reads the newest version first. If that is at or above the time to write, the write fails with
//! [`Error::WriteTooOld`] and changes nothing; a version is never written at another time than the one asked
//! for. Statistics are updated by the difference between the versions read and the one written
//! ([`KeyStats`]).

use std::collections::BTreeSet;
use std::sync::Arc;

use esker::{ColumnFamily, Db, WriteBatchWithIndex};

use crate::error::{Error, Result};
use crate::key::mvcc_key::{MAX_ADDED_TO_KEY, encode_key};
use crate::key::range_stack::{Stack, hidden_since};
use crate::key::ranges::Ranges;
use crate::key::span::Span;
use crate::key::stats::{KeyStats, MvccStats};
use crate::key::timestamp::Timestamp;
use crate::key::value::Value;
use crate::read::counters::ReadCounters;
use crate::read::reader::Reader;
use crate::read::results::{GetResult, MvccReadOptions, Resume, ScanResult, check_key};
use crate::write::recent_keys::RecentVersion;
use base::steps::MAX_STEPS_BEFORE_SEEK;

/// The options of a batch.
#[derive(Clone, Copy, Debug)]
pub struct BatchOptions {
    /// Whether the batch keeps statistics of its changes. Without them some writes read less. Default: true.
    pub statistics: bool,
    /// Whether values get a checksum over key and value. Default: true.
    pub checksums: bool,
    /// Number of consecutive entries from which a clear or revert removes them by one range deletion instead
    /// of a deletion each: with fewer, a range deletion costs readers more than it saves. Default: 64.
    pub min_range_entries: usize,
    /// Steps tried before a seek, see [`Reader::with_max_steps`]. Default: 10.
    pub max_steps: u32,
    /// Whether range tombstones may be written, see [`MvccBatch::delete_range_using_tombstone`]. Without it
    /// such writes are refused; existing range tombstones are respected in any case. Default: false.
    pub range_tombstones: bool,
}

impl Default for BatchOptions {
    fn default() -> BatchOptions {
        BatchOptions {
            statistics: true,
            checksums: true,
            min_range_entries: 64,
            max_steps: MAX_STEPS_BEFORE_SEEK,
            range_tombstones: false,
        }
    }
}

/// Writes of versions that are applied atomically. Reads through the batch see them.
///
/// No other writer may write to the keys it touches until it is written:
/// [`MvccStore::begin`](crate::MvccStore::begin) ensures that.
pub struct MvccBatch<'a> {
    db: &'a Db,
    family: &'a ColumnFamily,
    options: BatchOptions,
    pub(crate) batch: WriteBatchWithIndex,
    /// The changes of the batch.
    stats: MvccStats,
    /// The cost of the batch's reads.
    pub(crate) counters: ReadCounters,
    /// Versions at or below this time are neither written nor read. It does not rise during the batch.
    pub(crate) threshold: Timestamp,
    /// Garbage at this time is not counted in statistics: compactions may have dropped it or not.
    pub(crate) collected: Timestamp,
    /// The latest version above the threshold that was removed.
    pub(crate) removed_until: Timestamp,
    /// Keys written, while a watch records them.
    pub(crate) touched: Option<Touched>,
    /// Range tombstones after the batch; `None` if there are none.
    pub(crate) ranges: Option<Arc<Ranges>>,
    /// The times of the range tombstones that the batch changes.
    pub(crate) changed_times: Option<BTreeSet<Timestamp>>,
    /// True if the batch belongs to a store, which knows the existing range tombstones.
    pub(crate) knows_ranges: bool,
    /// The newest version of the key of the next write, if the owner of the batch knows it.
    pub(crate) known: Option<RecentVersion>,
    /// Scratch buffers for the key and the value that are written.
    key: Vec<u8>,
    stored: Vec<u8>,
}

/// A record of the keys that were written.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    pub keys: BTreeSet<Vec<u8>>,
    /// True if any key may have been written, because the written keys are no longer recorded one by one.
    pub all: bool,
}

impl Touched {
    pub fn add(&mut self, other: Touched) {
        self.keys.extend(other.keys);
        self.all |= other.all;
    }
}

/// The newest version of a key.
pub(crate) struct Newest {
    pub timestamp: Timestamp,
    /// The bytes of the version's value, if statistics are kept or the value was asked for.
    pub value_len: usize,
    /// The version's value, if it was asked for.
    stored: Vec<u8>,
    deletes: bool,
    /// True if a range tombstone hides the version.
    is_hidden: bool,
}

impl Newest {
    /// True if a reader of the newest state sees a value of the key.
    fn is_live(&self) -> bool {
        !self.is_hidden && !self.deletes
    }
}

/// The result of a deletion of a span.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteRangeResult {
    /// Keys deleted.
    pub count: u64,
    /// The deleted keys, if they were asked for.
    pub keys: Vec<Vec<u8>>,
    /// The rest of the span, if a limit was reached.
    pub resume: Option<Resume>,
}

impl<'a> MvccBatch<'a> {
    /// An empty batch for `family` of `db`. Ages in its statistics are as of `now`, in nanoseconds. Unlike
    /// [batches of stores](crate::MvccStore::begin) it knows of no range tombstones, and is for families that
    /// have none.
    pub fn new(db: &'a Db, family: &'a ColumnFamily, options: BatchOptions, now: i64) -> MvccBatch<'a> {
        MvccBatch {
            db,
            family,
            options,
            batch: WriteBatchWithIndex::new(),
            stats: MvccStats::at(now),
            counters: ReadCounters::default(),
            threshold: Timestamp::ZERO,
            collected: Timestamp::ZERO,
            removed_until: Timestamp::ZERO,
            touched: None,
            ranges: None,
            changed_times: None,
            knows_ranges: false,
            known: None,
            key: Vec::new(),
            stored: Vec::new(),
        }
    }

    /// The changes of the writes so far; zero without [`BatchOptions::statistics`].
    pub fn stats(&self) -> MvccStats {
        self.stats
    }

    /// The cost of the reads of the batch's operations so far.
    pub fn counters(&self) -> ReadCounters {
        self.counters
    }

    /// True if nothing was written.
    pub fn is_empty(&self) -> bool {
        self.batch.is_empty() && self.changed_rows() == 0
    }

    /// The number of engine operations in the batch.
    pub fn count(&self) -> u32 {
        self.batch.count() + self.changed_rows() as u32
    }

    /// The number of rows of range tombstones that the batch writes.
    pub(crate) fn changed_rows(&self) -> usize {
        self.changed_times.as_ref().map_or(0, BTreeSet::len)
    }

    /// The engine operations of the batch, for a caller that does not write them through
    /// [`MvccStore`](crate::MvccStore). A store that is open meanwhile does not learn of them.
    pub fn into_write_batch(self) -> esker::WriteBatch {
        let mut batch = self.batch.into_write_batch();
        if let Some(times) = &self.changed_times {
            for row in self.ranges.unwrap_or_default().rows(times) {
                match row.value {
                    Some(value) => batch.put_cf(self.family, &row.key, &value),
                    None => batch.delete_cf(self.family, &row.key),
                }
            }
        }
        batch
    }

    /// A reader of the state after the batch is written, above the threshold of its store.
    pub fn reader(&self) -> Reader<'_> {
        let mut reader = Reader::new(self.db, self.family);
        reader.threshold = self.threshold;
        reader
            .over(&self.batch)
            .with_max_steps(self.options.max_steps)
            .of_store(self.collected)
            .with_ranges(self.ranges.clone())
    }

    /// Reads as [`Reader::get`] does, with the changes of the batch.
    pub fn get(&self, key: &[u8], timestamp: Timestamp, options: &MvccReadOptions) -> Result<GetResult> {
        self.reader().get(key, timestamp, options)
    }

    /// Reads as [`Reader::scan`] does, with the changes of the batch.
    pub fn scan(
        &self,
        span: Span<'_>,
        timestamp: Timestamp,
        options: &MvccReadOptions,
    ) -> Result<ScanResult> {
        self.reader().scan(span, timestamp, options)
    }

    /// Writes `value` of `key` at `timestamp`.
    ///
    /// # Errors
    /// [`Error::WriteTooOld`]; [`Error::BelowThreshold`]; `InvalidArgument` for the empty key, an invalid
    /// time, a key with an inline value, and a key or value that is too large. The limit is 2 GiB - 1 bytes:
    /// for a key including the bytes added to it (its time, a sentinel and the engine's trailer, 22 bytes),
    /// and for a value including its header of five bytes.
    pub fn put(&mut self, key: &[u8], timestamp: Timestamp, value: Value<'_>) -> Result<()> {
        self.check_size(key, Some(value))?;
        let newest = self.writable(key, timestamp, false)?;
        self.write(key, timestamp, Some(value), newest.as_ref());
        Ok(())
    }

    /// Puts a value as [`put`](Self::put) does, for a key that has no version, as the caller knows: nothing
    /// is read. If the key does have a version, statistics are wrong from then on, and so is the history if
    /// that version is at or above `timestamp`. Range tombstones are checked.
    pub fn put_blind(&mut self, key: &[u8], timestamp: Timestamp, value: Value<'_>) -> Result<()> {
        self.check_size(key, Some(value))?;
        self.check_write(key, timestamp)?;
        self.check_deletions(key, timestamp, Timestamp::ZERO)?;
        self.write(key, timestamp, Some(value), None);
        Ok(())
    }

    /// Deletes `key` at `timestamp`, even if there is nothing to delete. Returns whether there was a value.
    ///
    /// # Errors
    /// Those of [`put`](Self::put).
    pub fn delete(&mut self, key: &[u8], timestamp: Timestamp) -> Result<bool> {
        self.check_size(key, None)?;
        let newest = self.writable(key, timestamp, false)?;
        self.write(key, timestamp, None, newest.as_ref());
        Ok(newest.is_some_and(|newest| newest.is_live()))
    }

    /// Puts a value as [`put`](Self::put) does, if the newest value is `expected`: `None` means no value,
    /// whether never written or deleted. With `allow_if_not_exists` the absence of a value also satisfies the
    /// condition.
    ///
    /// # Errors
    /// [`Error::ConditionFailed`] with the value found; those of [`put`](Self::put), which take precedence:
    /// with a newer version the error is [`Error::WriteTooOld`], whether or not that version has the expected
    /// value.
    pub fn conditional_put(
        &mut self,
        key: &[u8],
        timestamp: Timestamp,
        value: Value<'_>,
        expected: Option<Value<'_>>,
        allow_if_not_exists: bool,
    ) -> Result<()> {
        self.check_size(key, Some(value))?;
        let newest = self.writable(key, timestamp, true)?;
        check_condition(key, newest.as_ref(), expected, allow_if_not_exists)?;
        self.write(key, timestamp, Some(value), newest.as_ref());
        Ok(())
    }

    /// Adds `by` to the number that is the value of `key`, or to 0 if the key has no value, and writes the
    /// sum at `timestamp`. Returns the sum.
    ///
    /// # Errors
    /// `InvalidArgument` if the value is not a number, [`Error::Overflow`], those of [`put`](Self::put).
    pub fn increment(&mut self, key: &[u8], timestamp: Timestamp, by: i64) -> Result<i64> {
        self.check_size(key, Some(Value::Int(by)))?;
        let newest = self.writable(key, timestamp, true)?;
        let sum = sum_of(key, newest.as_ref(), by)?;
        self.write(key, timestamp, Some(Value::Int(sum)), newest.as_ref());
        Ok(sum)
    }

    /// Deletes every key of `span` that has a value, at `timestamp`, by one deletion each and `max_keys` at
    /// most. Returns the keys if `return_keys`.
    ///
    /// # Errors
    /// [`Error::WriteTooOld`] if a key has a version at or above `timestamp`, deleted or not, or a range
    /// tombstone of such a time covers any of the span; it names a key as
    /// [`fail_on_more_recent`](MvccReadOptions::fail_on_more_recent) does. Nothing is written then.
    pub fn delete_range(
        &mut self,
        span: Span<'_>,
        timestamp: Timestamp,
        max_keys: Option<u64>,
        return_keys: bool,
    ) -> Result<DeleteRangeResult> {
        self.check_time(timestamp)?;
        let options = MvccReadOptions {
            max_keys,
            fail_on_more_recent: true,
            ..MvccReadOptions::default()
        };
        let statistics = self.options.statistics;
        let (found, value_lens) = self.reader().scan_keys(span, timestamp, &options, statistics)?;
        self.counters += found.counters;
        if let Some(inline) = found.rows.iter().find(|row| row.timestamp.is_zero()) {
            return Err(inline_in_the_way(inline.user_key));
        }
        let mut result = DeleteRangeResult {
            resume: found.resume,
            count: found.rows.len(),
            keys: Vec::new(),
        };
        for (row, value_len) in found.rows.iter().zip(value_lens) {
            self.write_over(row.user_key, timestamp, None, Some((row.timestamp, value_len)));
            if return_keys {
                result.keys.push(row.user_key.to_vec());
            }
        }
        Ok(result)
    }

    /// The newest version of `key`, or its inline value. Its value is read only if `reads_value`.
    pub(crate) fn newest(&mut self, key: &[u8], reads_value: bool) -> Result<Option<Newest>> {
        if let Some(known) = self.known.filter(|_| !reads_value) {
            return Ok(Some(Newest {
                timestamp: known.timestamp,
                value_len: known.value_len,
                stored: Vec::new(),
                deletes: known.value_len == 0,
                is_hidden: self.is_hidden(key, known.timestamp),
            }));
        }
        let mut iter = self.reader().versions_of_one()?;
        let mut newest = None;
        if let Some(timestamp) = iter.seek_newest(key)? {
            let mut stored = Vec::new();
            if reads_value {
                stored.extend_from_slice(iter.version()?.stored);
            }
            let weighs = reads_value || self.options.statistics;
            newest = Some(Newest {
                timestamp,
                value_len: if weighs { iter.value_len()? } else { 0 },
                stored,
                deletes: iter.is_tombstone()?,
                is_hidden: self.is_hidden(key, timestamp),
            });
        }
        let counters = iter.counters;
        self.counters += counters;
        Ok(newest)
    }

    /// True if a range tombstone hides the version of `key` at `timestamp`, which is no inline value.
    fn is_hidden(&self, key: &[u8], timestamp: Timestamp) -> bool {
        let deletions = self.deletions(key).filter(|_| !timestamp.is_zero());
        deletions.is_some_and(|stack| hidden_since(stack, timestamp).is_some())
    }

    /// The version that was written last.
    pub(crate) fn written(&self, timestamp: Timestamp) -> RecentVersion {
        RecentVersion {
            timestamp,
            value_len: self.stored.len(),
        }
    }

    /// The times at which range tombstones deleted `key`.
    pub(crate) fn deletions(&self, key: &[u8]) -> Option<&Stack> {
        self.ranges.as_ref()?.stack(key)
    }

    /// [`Error::WriteTooOld`] if a range tombstone at or above `timestamp` deletes `key`, whose newest
    /// version is `newest`.
    fn check_deletions(&self, key: &[u8], timestamp: Timestamp, newest: Timestamp) -> Result<()> {
        match self.deletions(key) {
            Some(stack) if stack[0] >= timestamp => Err(Error::WriteTooOld {
                key: key.to_vec(),
                timestamp,
                actual: stack[0].max(newest).next(),
            }),
            _ => Ok(()),
        }
    }

    /// The newest version of `key`, if `timestamp` may be written over it. Its value is read only if
    /// `reads_value`.
    fn writable(&mut self, key: &[u8], timestamp: Timestamp, reads_value: bool) -> Result<Option<Newest>> {
        self.check_write(key, timestamp)?;
        let newest = self.newest(key, reads_value)?;
        let newest_time = newest.as_ref().map_or(Timestamp::ZERO, |newest| newest.timestamp);
        self.check_deletions(key, timestamp, newest_time)?;
        match &newest {
            Some(newest) if newest.timestamp.is_zero() => Err(inline_in_the_way(key)),
            Some(newest) if newest.timestamp >= timestamp => Err(Error::WriteTooOld {
                key: key.to_vec(),
                timestamp,
                actual: newest.timestamp.next(),
            }),
            _ => Ok(newest),
        }
    }

    /// `InvalidArgument` for a key or value that the engine would refuse once encoded. The check precedes any
    /// copy.
    pub(crate) fn check_size(&self, key: &[u8], value: Option<Value<'_>>) -> Result<()> {
        let limit = self.db.options().row_limit;
        let key_len = key.len().saturating_add(MAX_ADDED_TO_KEY);
        let value_len = value.map_or(0, |value| value.max_encoded_len());
        match limit.allows(key_len, value_len) {
            true => Ok(()),
            false => Err(limit.error(key_len, value_len).into()),
        }
    }

    fn check_write(&self, key: &[u8], timestamp: Timestamp) -> Result<()> {
        check_key(key)?;
        self.check_time(timestamp)
    }

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

    /// Writes the inline value of `key`, or removes the previous one, which has `before` bytes.
    pub(crate) fn write_inline(&mut self, key: &[u8], value: Option<Value<'_>>, before: Option<usize>) {
        self.touch(key);
        self.encode(key, Timestamp::ZERO);
        match value {
            Some(value) => {
                self.stored.clear();
                value.encode(&mut self.stored, key, self.options.checksums);
                self.batch.put_cf(self.family, &self.key, &self.stored);
            }
            None if before.is_some() => self.batch.delete_cf(self.family, &self.key),
            None => {}
        }
        let weigh = |value_len| {
            let mut stats = self.weigh(key);
            stats.inline(value_len);
            stats.finish()
        };
        let nothing = MvccStats::at(self.stats.last_update_nanos);
        let (before, after) = (before.map(weigh), value.map(|_| weigh(self.stored.len())));
        self.account(before.unwrap_or(nothing), after.unwrap_or(nothing));
    }

    fn encode(&mut self, key: &[u8], timestamp: Timestamp) {
        self.key.clear();
        encode_key(&mut self.key, key, timestamp);
    }

    fn write(&mut self, key: &[u8], timestamp: Timestamp, value: Option<Value<'_>>, newest: Option<&Newest>) {
        let over = newest.map(|newest| (newest.timestamp, newest.value_len));
        self.write_over(key, timestamp, value, over);
    }

    /// Writes a version over the newest one, whose time and value length are given.
    pub(crate) fn write_over(
        &mut self,
        key: &[u8],
        timestamp: Timestamp,
        value: Option<Value<'_>>,
        newest: Option<(Timestamp, usize)>,
    ) {
        self.touch(key);
        self.encode(key, timestamp);
        self.stored.clear();
        if let Some(value) = value {
            value.encode(&mut self.stored, key, self.options.checksums);
        }
        self.batch.put_cf(self.family, &self.key, &self.stored);
        if self.options.statistics {
            let mut after = self.weigh(key);
            after.version(timestamp, self.stored.len());
            if let Some((timestamp, bytes)) = newest {
                after.version(timestamp, bytes);
                let mut before = self.weigh(key);
                before.version(timestamp, bytes);
                self.stats -= before.finish();
            }
            self.stats += after.finish();
        }
    }

    /// Starts the statistics of `key`, to which its versions are added from the newest to the oldest.
    pub(crate) fn weigh(&self, key: &[u8]) -> KeyStats {
        self.weigh_deleted(key, self.deletions(key))
    }

    /// Starts the statistics of `key` as [`weigh`](Self::weigh) does, as if range tombstones had deleted the
    /// key at the times `deleted`.
    pub(crate) fn weigh_deleted(&self, key: &[u8], deleted: Option<&Stack>) -> KeyStats {
        KeyStats::new(key, self.stats.last_update_nanos, self.collected, deleted)
    }

    /// Records that `key` changes.
    pub(crate) fn touch(&mut self, key: &[u8]) {
        if let Some(touched) = &mut self.touched {
            touched.keys.insert(key.to_vec());
        }
    }

    /// Records that any key may change.
    pub(crate) fn touch_all(&mut self) {
        if let Some(touched) = &mut self.touched {
            touched.all = true;
        }
    }

    /// Records that a version is removed while older versions of its key, which it hid, may exist or be
    /// written later.
    pub(crate) fn record_removed(&mut self, timestamp: Timestamp) {
        if timestamp > self.threshold {
            self.removed_until = self.removed_until.max(timestamp);
        }
    }

    pub(crate) fn family(&self) -> &'a ColumnFamily {
        self.family
    }

    pub(crate) fn options(&self) -> &BatchOptions {
        &self.options
    }

    /// Reverts the writes of `write` if it fails.
    pub(crate) fn all_or_nothing<T>(&mut self, write: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let stats = self.stats;
        let ranges = (self.ranges.clone(), self.changed_times.clone());
        self.batch.set_save_point();
        let written = write(self);
        match written {
            Ok(_) => self.batch.pop_save_point()?,
            Err(_) => {
                self.batch.rollback_to_save_point()?;
                self.stats = stats;
                (self.ranges, self.changed_times) = ranges;
            }
        }
        written
    }

    /// Adds the difference between two states to the statistics.
    pub(crate) fn account(&mut self, before: MvccStats, after: MvccStats) {
        if self.options.statistics {
            self.stats += after;
            self.stats -= before;
        }
    }
}

/// [`Error::ConditionFailed`] unless the newest value of `key` is `expected`, where `None` means no value.
pub(crate) fn check_condition(
    key: &[u8],
    newest: Option<&Newest>,
    expected: Option<Value<'_>>,
    allow_if_not_exists: bool,
) -> Result<()> {
    let live = newest.filter(|newest| newest.is_live());
    let stored = live.map(|newest| &newest.stored);
    let actual = stored
        .map(|stored| Value::decode_checked(stored, key))
        .transpose()?;
    match actual == expected || actual.is_none() && allow_if_not_exists {
        true => Ok(()),
        false => Err(Error::ConditionFailed {
            actual: stored.cloned(),
        }),
    }
}

/// The sum of `by` and the number that is the newest value of `key`, where no value counts as 0.
pub(crate) fn sum_of(key: &[u8], newest: Option<&Newest>, by: i64) -> Result<i64> {
    let current = match newest.filter(|newest| newest.is_live()) {
        None => 0,
        Some(newest) => match Value::decode_checked(&newest.stored, key)? {
            Value::Int(current) => current,
            Value::Bytes(_) => {
                return Err(Error::invalid_argument(format!(
                    "{} is not a number",
                    crate::error::Shown(key)
                )));
            }
        },
    };
    current.checked_add(by).ok_or(Error::Overflow { current })
}

#[cold]
pub(crate) fn inline_in_the_way(key: &[u8]) -> Error {
    Error::invalid_argument(format!(
        "{} has an inline value, and takes no versions",
        crate::error::Shown(key)
    ))
}

//! Writes to keys that are known beforehand, by many threads at once.

use esker::WriteOptions;

use crate::error::{Error, Result, Shown};
use crate::key::stats::MvccStats;
use crate::key::timestamp::Timestamp;
use crate::key::value::Value;
use crate::read::counters::ReadCounters;
use crate::read::results::{GetResult, MvccReadOptions};
use crate::write::batch::MvccBatch;
use crate::write::recent_keys::{Epoch, RecentVersion};
use crate::write::store::{MvccStore, check_write_options};
use crate::write::writers::{Changes, Latched};

/// A batch of a store that writes certain keys only. Other writers of these keys wait until it is committed
/// or dropped; writers of other keys do not.
///
/// A thread that has one must not begin another, nor a [`StoreBatch`](crate::StoreBatch): it would wait for
/// itself.
///
/// ```
/// use esker::{Db, Options, WriteOptions};
/// use esker_mvcc::{BatchOptions, MvccReadOptions, MvccStore, Timestamp, Value, configure};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// let mut options = Options { create_if_missing: true, ..Options::default() };
/// configure(&mut options.column_family);
/// let db = Db::open(&options, dir.path())?;
/// let store = MvccStore::open(&db, &db.default_column_family(), BatchOptions::default(), 1)?;
///
/// let mut batch = store.begin_keys(&[b"ada", b"grace"], 10);
/// batch.put(b"ada", Timestamp::from_nanos(10), Value::Bytes(b"1815"))?;
/// batch.put(b"grace", Timestamp::from_nanos(10), Value::Bytes(b"1906"))?;
/// batch.commit(&WriteOptions::default())?;
///
/// let found = store.get(b"ada", Timestamp::from_nanos(11), &MvccReadOptions::default())?;
/// assert!(found.found.is_some());
/// # Ok(())
/// # }
/// ```
pub struct KeyBatch<'a> {
    /// The batch is declared before the latches, so that it is dropped first.
    batch: MvccBatch<'a>,
    store: &'a MvccStore,
    keys: Vec<&'a [u8]>,
    latched: Latched<'a>,
    epoch: Epoch,
    /// The newest version of each written key, by its place in `keys`; `None` for an inline value.
    written: Vec<(usize, Option<RecentVersion>)>,
}

impl MvccStore {
    /// Begins a batch that writes no key but `keys`; ages in its statistics are as of `now` nanoseconds.
    /// Waits for other writers of these keys, and for a batch of [`begin`](Self::begin).
    pub fn begin_keys<'a>(&'a self, keys: &[&'a [u8]], now: i64) -> KeyBatch<'a> {
        let mut keys = keys.to_vec();
        keys.sort_unstable();
        let latched = self.writers.latch(&keys);
        KeyBatch {
            batch: self.batch(&latched.shared, now),
            store: self,
            keys,
            epoch: Epoch {
                batches: latched.shared.batches,
                file_changes: self.family().num_file_changes(),
            },
            latched,
            written: Vec::new(),
        }
    }
}

impl<'a> KeyBatch<'a> {
    /// The changes of the writes so far; zero without [`BatchOptions::statistics`](crate::BatchOptions).
    pub fn stats(&self) -> MvccStats {
        self.batch.stats()
    }

    /// The cost of the reads of its writes so far.
    pub fn counters(&self) -> ReadCounters {
        self.batch.counters()
    }

    /// True if nothing was written.
    pub fn is_empty(&self) -> bool {
        self.batch.is_empty()
    }

    /// The version of any key at `timestamp`, with the writes of this batch. A key that is not among those of
    /// the batch may change at any time.
    ///
    /// # Errors
    /// Those of [`Reader::get`](crate::Reader::get).
    pub fn get(&self, key: &[u8], timestamp: Timestamp, options: &MvccReadOptions) -> Result<GetResult> {
        self.batch.get(key, timestamp, options)
    }

    /// Puts a value as [`MvccBatch::put`] does.
    ///
    /// # Errors
    /// `InvalidArgument` for a key that is not among those of the batch; those of the function named.
    pub fn put(&mut self, key: &[u8], timestamp: Timestamp, value: Value<'_>) -> Result<()> {
        self.write(key, Some(timestamp), |batch| batch.put(key, timestamp, value))
    }

    /// Puts a value as [`MvccBatch::put_blind`] does.
    ///
    /// # Errors
    /// Those of [`put`](Self::put).
    pub fn put_blind(&mut self, key: &[u8], timestamp: Timestamp, value: Value<'_>) -> Result<()> {
        self.write(key, Some(timestamp), |batch| {
            batch.put_blind(key, timestamp, value)
        })
    }

    /// Deletes a key as [`MvccBatch::delete`] does.
    ///
    /// # Errors
    /// Those of [`put`](Self::put).
    pub fn delete(&mut self, key: &[u8], timestamp: Timestamp) -> Result<bool> {
        self.write(key, Some(timestamp), |batch| batch.delete(key, timestamp))
    }

    /// Puts a value as [`MvccBatch::conditional_put`] does.
    ///
    /// # Errors
    /// Those of [`put`](Self::put), and [`Error::ConditionFailed`].
    pub fn conditional_put(
        &mut self,
        key: &[u8],
        timestamp: Timestamp,
        value: Value<'_>,
        expected: Option<Value<'_>>,
        allow_if_not_exists: bool,
    ) -> Result<()> {
        self.write(key, Some(timestamp), |batch| {
            batch.conditional_put(key, timestamp, value, expected, allow_if_not_exists)
        })
    }

    /// Increments a value as [`MvccBatch::increment`] does.
    ///
    /// # Errors
    /// Those of [`put`](Self::put), and [`Error::Overflow`].
    pub fn increment(&mut self, key: &[u8], timestamp: Timestamp, by: i64) -> Result<i64> {
        self.write(key, Some(timestamp), |batch| batch.increment(key, timestamp, by))
    }

    /// Puts an inline value as [`MvccBatch::put_inline`] does.
    ///
    /// # Errors
    /// Those of [`put`](Self::put).
    pub fn put_inline(&mut self, key: &[u8], value: Option<Value<'_>>) -> Result<bool> {
        self.write(key, None, |batch| batch.put_inline(key, value))
    }

    /// Puts an inline value as [`MvccBatch::conditional_put_inline`] does.
    ///
    /// # Errors
    /// Those of [`put`](Self::put), and [`Error::ConditionFailed`].
    pub fn conditional_put_inline(
        &mut self,
        key: &[u8],
        value: Option<Value<'_>>,
        expected: Option<Value<'_>>,
        allow_if_not_exists: bool,
    ) -> Result<()> {
        self.write(key, None, |batch| {
            batch.conditional_put_inline(key, value, expected, allow_if_not_exists)
        })
    }

    /// Increments an inline value as [`MvccBatch::increment_inline`] does.
    ///
    /// # Errors
    /// Those of [`put`](Self::put), and [`Error::Overflow`].
    pub fn increment_inline(&mut self, key: &[u8], by: i64) -> Result<i64> {
        self.write(key, None, |batch| batch.increment_inline(key, by))
    }

    /// Writes the batch atomically. A batch that is dropped without a commit writes nothing. While other
    /// batches commit, one write of the engine may take several.
    ///
    /// # Errors
    /// Those of [`StoreBatch::commit`](crate::StoreBatch::commit).
    pub fn commit(self, options: &WriteOptions) -> Result<()> {
        check_write_options(options)?;
        if self.batch.is_empty() {
            return Ok(());
        }
        let KeyBatch {
            batch,
            store,
            keys,
            mut latched,
            epoch,
            written,
        } = self;
        let (shared, has_ranges) = (*latched.shared, store.has_ranges());
        let result = store
            .writers
            .commit(Changes::of(batch), options, |totals, changes| {
                store.write_changes(&shared, totals, changes, has_ranges, options)
            });
        for (at, version) in written {
            // After an error the versions may be written or not.
            let version = version.filter(|_| result.is_ok());
            latched.set_recent(keys[at], version.map(|version| (version, epoch)));
        }
        result
    }

    /// Writes `key` with `write`: a version at a time, or an inline value.
    fn write<T>(
        &mut self,
        key: &[u8],
        timestamp: Option<Timestamp>,
        write: impl FnOnce(&mut MvccBatch<'a>) -> Result<T>,
    ) -> Result<T> {
        let Ok(at) = self.keys.binary_search(&key) else {
            return Err(Error::invalid_argument(format!(
                "{} is not among the keys that the batch began with",
                Shown(key)
            )));
        };
        let before = self.written.iter().find(|(written, _)| *written == at);
        self.batch.known = match before {
            Some((_, version)) => *version,
            None => self.latched.recent(key, self.epoch),
        };
        let result = write(&mut self.batch)?;
        let version = timestamp.map(|timestamp| self.batch.written(timestamp));
        self.written.retain(|(written, _)| *written != at);
        self.written.push((at, version));
        Ok(result)
    }
}

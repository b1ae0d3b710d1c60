//! A store of versions in a family of a database: one writer at a time, a garbage collection threshold and
//! durable statistics.
//!
//! ```text
//! key 00 (the empty user key, which no user has) ->
//!   u8 1 | threshold: i64, i32 | collected: i64, i32 | distrusted: i64, i32 | u8 statistics follow | 8 x i64, little-endian
//!   u8 2 | the same, with 11 x i64
//! ```
//!
//! The second form is written while there are range tombstones, which are the [versions of the same
//! key](crate::ranges).
//!
//! Every batch writes the record with itself, so the statistics match the written data even after a crash.
//! The threshold is durable before any version is deleted because of it, so an interrupted collection has
//! removed nothing that could still be read.

use base::coding;
use base::sync::{Mutex, MutexGuard};
use esker::{ColumnFamily, Db, SeqNo, WriteBatch, WriteOptions};

use crate::batch::{BatchOptions, MvccBatch, Touched};
use crate::count_stats::compute_stats;
use crate::counters::{ReadCounters, ReadTotals};
use crate::error::{Error, Result};
use crate::gc::filter::CompactionGc;
use crate::key_span::Span;
use crate::ranges::index::RangeIndex;
use crate::read_results::{GetResult, MvccReadOptions, ScanResult};
use crate::reader::Reader;
use crate::record::{
    FIELDS, PLAIN_FIELDS, PLAIN_VERSION, RECORD_KEY, RECORD_VERSION, Record, decode_record, fields,
};
use crate::stats::MvccStats;
use crate::timestamp::Timestamp;

/// A family of versioned keys.
///
/// Reads take no lock except for a copy of the threshold. Writes are batches, one at a time:
/// [`begin`](MvccStore::begin) waits until the batch before is committed or dropped. No other code may write
/// to the family.
pub struct MvccStore {
    db: Db,
    family: ColumnFamily,
    options: BatchOptions,
    /// Held by the batch that is being written.
    writing: Mutex<Writing>,
    threshold: Mutex<Timestamp>,
    ranges: RangeIndex,
    /// The cost of scans.
    scans: ReadTotals,
    /// The cost of scans at the end of the last collection.
    pub(crate) scans_before: Mutex<ReadCounters>,
    /// Held by a running collection, and locked before `writing`.
    pub(crate) collecting: Mutex<()>,
    /// The limits of compactions that drop garbage.
    gc: Option<CompactionGc>,
}

/// The state that batches change, without the batch in progress.
pub(crate) struct Writing {
    pub total: MvccStats,
    /// Garbage at this time was collected, and may exist or not.
    pub collected: Timestamp,
    /// The latest version that was removed above the threshold.
    pub distrusted: Timestamp,
    /// The keys written, while a watch records them.
    pub touched: Option<Touched>,
}

/// A batch of a store: an [`MvccBatch`] that makes other writers wait until it is committed or dropped.
pub struct StoreBatch<'a> {
    batch: MvccBatch<'a>,
    store: &'a MvccStore,
    writing: MutexGuard<'a, Writing>,
}

impl MvccStore {
    /// Opens the versions in `family` of `db`, which [`configure`](crate::configure) must have set up. If the
    /// family was never a store, was written without statistics, or has
    /// [implausible](MvccStats::is_plausible) ones, they are counted as of `now` nanoseconds, which reads all
    /// data.
    ///
    /// # Errors
    /// `InvalidArgument` for a family with another comparator, `Corruption` if its record is malformed.
    pub fn open(db: &Db, family: &ColumnFamily, options: BatchOptions, now: i64) -> Result<MvccStore> {
        MvccStore::open_with_compactions(db, family, options, now, None)
    }

    /// As [`open`](Self::open), for a family whose options were given `gc`: its compactions drop the garbage
    /// that [`collect_in_compactions`](Self::collect_in_compactions) has collected.
    pub fn open_with_compactions(
        db: &Db,
        family: &ColumnFamily,
        options: BatchOptions,
        now: i64,
        gc: Option<CompactionGc>,
    ) -> Result<MvccStore> {
        if family.comparator().name() != crate::MvccComparator::NAME {
            return Err(Error::invalid_argument(format!(
                "the column family {:?} is ordered by {}, not by {}",
                family.name(),
                family.comparator().name(),
                crate::MvccComparator::NAME
            )));
        }
        let record = db.get_opt(&Default::default(), family, RECORD_KEY)?;
        let record = match record {
            Some(record) => decode_record(&record)?,
            None => Record::default(),
        };
        if let Some(gc) = &gc {
            gc.distrust(record.distrusted);
            // The record was written at an unknown earlier time.
            gc.rise(
                record.collected,
                db.latest_sequence_number(),
                oldest_snapshot(db, family),
            );
        }
        let reader = Reader::new(db, family)
            .of_store(record.collected)
            .with_range_tombstones()?;
        let total = match record.stats {
            Some(stats) if options.statistics && stats.is_plausible() => stats,
            _ if options.statistics => compute_stats(&reader, Span::ALL, now)?,
            _ => MvccStats::at(now),
        };
        let ranges = RangeIndex::new(reader.into_ranges());
        Ok(MvccStore {
            db: db.clone(),
            family: family.clone(),
            options,
            writing: Mutex::new(Writing {
                total,
                collected: record.collected,
                distrusted: record.distrusted,
                touched: None,
            }),
            threshold: Mutex::new(record.threshold),
            ranges,
            scans: ReadTotals::default(),
            scans_before: Mutex::new(ReadCounters::default()),
            collecting: Mutex::new(()),
            gc,
        })
    }

    /// The database.
    pub fn db(&self) -> &Db {
        &self.db
    }

    /// The family.
    pub fn family(&self) -> &ColumnFamily {
        &self.family
    }

    /// The time at or below which nothing is read or written: its versions may have been collected.
    pub fn threshold(&self) -> Timestamp {
        *self.threshold.lock()
    }

    /// The statistics, with ages as of `now` nanoseconds. Waits for the batch in progress. `None` without
    /// [`BatchOptions::statistics`].
    pub fn stats(&self, now: i64) -> Option<MvccStats> {
        let mut stats = self.writing.lock().total;
        stats.age_to(now);
        self.options.statistics.then_some(stats)
    }

    /// The cost and yield of all scans of its readers since the store was opened. Gets are not counted, nor
    /// are the reads of batches.
    pub fn scan_counters(&self) -> ReadCounters {
        self.scans.get()
    }

    /// Repairs statistics that are implausible after all garbage at `collected` was removed. True if they
    /// were wrong.
    pub(crate) fn repair_after(&self, collected: Timestamp, now: i64) -> Result<bool> {
        let wrong = self
            .stats(now)
            .is_some_and(|stats| !stats.is_plausible() || !stats.is_as_old_as(collected.wall));
        if wrong {
            self.repair_stats(now)?;
        }
        Ok(wrong)
    }

    /// Resets the scan counters for the next collection: the garbage that scans have met until now is
    /// collected.
    pub(crate) fn begin_scans_anew(&self) {
        *self.scans_before.lock() = self.scan_counters();
    }

    /// Counts the data as of `now` nanoseconds, while no batch writes; reads all of it. The result should
    /// equal [`stats`](Self::stats).
    pub fn recount(&self, now: i64) -> Result<MvccStats> {
        let writing = self.writing.lock();
        self.count(&writing, now)
    }

    fn count(&self, writing: &Writing, now: i64) -> Result<MvccStats> {
        compute_stats(&self.written(writing.collected), Span::ALL, now)
    }

    /// A reader of the written state, for a caller that excludes writers. Garbage at `collected` has no
    /// weight.
    pub(crate) fn written(&self, collected: Timestamp) -> Reader<'_> {
        Reader::new(&self.db, &self.family)
            .of_store(collected)
            .with_ranges(self.ranges.current())
    }

    /// Counts as [`recount`](Self::recount) does, and continues with the result: needed after a file of
    /// versions was ingested. If the statistics are [implausible](MvccStats::is_plausible),
    /// [`open`](Self::open), [`gc_score`](Self::gc_score) and [`collect_garbage`](Self::collect_garbage) do
    /// so by themselves. Returns the result.
    pub fn repair_stats(&self, now: i64) -> Result<MvccStats> {
        let mut writing = self.writing.lock();
        let counted = self.count(&writing, now)?;
        let mut batch = WriteBatch::new();
        self.update_record(&mut batch, self.threshold(), &writing, &counted);
        self.db.write(&WriteOptions::default(), batch)?;
        writing.total = counted;
        Ok(counted)
    }

    /// The version of `key` at `timestamp`.
    ///
    /// # Errors
    /// [`Error::BelowThreshold`]; those of [`Reader::get`].
    pub fn get(&self, key: &[u8], timestamp: Timestamp, options: &MvccReadOptions) -> Result<GetResult> {
        self.reader(timestamp)?.get(key, timestamp, options)
    }

    /// The versions of the keys of `span` at `timestamp`.
    ///
    /// # Errors
    /// [`Error::BelowThreshold`]; those of [`Reader::scan`].
    pub fn scan(
        &self,
        span: Span<'_>,
        timestamp: Timestamp,
        options: &MvccReadOptions,
    ) -> Result<ScanResult> {
        self.reader(timestamp)?.scan(span, timestamp, options)
    }

    /// A reader of the current state at `timestamp` and other times above the threshold. The state stays
    /// readable as long as the reader is held, whatever is collected meanwhile.
    ///
    /// # Errors
    /// [`Error::BelowThreshold`].
    pub fn reader(&self, timestamp: Timestamp) -> Result<Reader<'_>> {
        // The snapshot comes first: versions that are collected for a threshold set after the check below are
        // still in it, and are read.
        let (snapshot, ranges) = self.ranges.snapshot(&self.db, &self.family)?;
        let mut reader = Reader::new(&self.db, &self.family)
            .at(snapshot)
            .with_max_steps(self.options.max_steps)
            .with_ranges(ranges);
        reader.threshold = self.threshold();
        reader.check_time(timestamp)?;
        reader.totals = Some(&self.scans);
        Ok(reader)
    }

    /// Begins a batch; ages in its statistics are as of `now` nanoseconds. Waits for the batch before.
    pub fn begin(&self, now: i64) -> StoreBatch<'_> {
        let writing = self.writing.lock();
        let mut batch = MvccBatch::new(&self.db, &self.family, self.options, now);
        batch.threshold = self.threshold();
        batch.collected = writing.collected;
        batch.ranges = self.ranges.current();
        batch.knows_ranges = true;
        batch.touched = writing.touched.as_ref().map(|_| Touched::default());
        StoreBatch {
            batch,
            store: self,
            writing,
        }
    }

    /// Raises the threshold to `threshold`, durably; a lower one changes nothing. From then on reads and
    /// writes at or below it are refused. Waits for the batch in progress.
    ///
    /// # Errors
    /// `InvalidArgument` for [`Timestamp::MAX`] and an invalid time; errors of the engine.
    pub fn advance_threshold(&self, threshold: Timestamp) -> Result<()> {
        let writing = self.writing.lock();
        if threshold <= self.threshold() {
            return Ok(());
        }
        threshold.check()?;
        if threshold == Timestamp::MAX {
            return Err(Error::invalid_argument(
                "no time is left above the last one for anything to be read or written",
            ));
        }
        let mut batch = WriteBatch::new();
        self.update_record(&mut batch, threshold, &writing, &writing.total);
        self.db.write(&durable(), batch)?;
        *self.threshold.lock() = threshold;
        Ok(())
    }

    /// The limits of compactions that drop garbage, if they do and statistics are kept.
    pub(crate) fn compaction_gc(&self) -> Option<&CompactionGc> {
        self.gc.as_ref().filter(|_| self.options.statistics)
    }

    /// No snapshot of the engine, open or future, is older than this.
    pub(crate) fn oldest_snapshot(&self) -> SeqNo {
        oldest_snapshot(&self.db, &self.family)
    }

    /// Starts to record written keys. Returns a reader of the current state, and the time up to which garbage
    /// has been collected.
    pub(crate) fn begin_watch(&self) -> (Reader<'_>, Timestamp) {
        let mut writing = self.writing.lock();
        writing.touched = Some(Touched::default());
        let now = self.written(writing.collected).at(self.db.snapshot());
        (now, writing.collected)
    }

    /// Calls `tell` with the keys written since [`begin_watch`](Self::begin_watch), while no batch writes.
    pub(crate) fn end_watch<T>(&self, tell: impl FnOnce(&mut Writing, Touched) -> Result<T>) -> Result<T> {
        let mut writing = self.writing.lock();
        let touched = writing.touched.take().unwrap_or_default();
        tell(&mut writing, touched)
    }

    /// Makes it durable that garbage at `collected` no longer counts.
    pub(crate) fn write_collected(
        &self,
        writing: &mut Writing,
        collected: Timestamp,
        total: MvccStats,
    ) -> Result<()> {
        let before = std::mem::replace(&mut writing.collected, collected);
        let mut batch = WriteBatch::new();
        self.update_record(&mut batch, self.threshold(), writing, &total);
        if let Err(error) = self.db.write(&durable(), batch) {
            writing.collected = before;
            return Err(error.into());
        }
        writing.total = total;
        Ok(())
    }

    /// As [`put_record`](Self::put_record), without a change to range tombstones.
    fn update_record(
        &self,
        batch: &mut WriteBatch,
        threshold: Timestamp,
        writing: &Writing,
        stats: &MvccStats,
    ) {
        let has_ranges = self.ranges.current().is_some();
        self.put_record(batch, threshold, writing, stats, has_ranges);
    }

    fn put_record(
        &self,
        batch: &mut WriteBatch,
        threshold: Timestamp,
        writing: &Writing,
        stats: &MvccStats,
        has_ranges: bool,
    ) {
        // Without range tombstones the record has the form that releases without them read.
        let (version, len) = match has_ranges {
            true => (RECORD_VERSION, FIELDS),
            false => (PLAIN_VERSION, PLAIN_FIELDS),
        };
        let mut record = vec![version];
        for time in [threshold, writing.collected, writing.distrusted] {
            coding::put_u64(&mut record, time.wall as u64);
            coding::put_u32(&mut record, time.logical as u32);
        }
        record.push(u8::from(self.options.statistics));
        if self.options.statistics {
            for field in &fields(stats)[..len] {
                coding::put_u64(&mut record, *field as u64);
            }
        }
        batch.put_cf(&self.family, RECORD_KEY, &record);
    }
}

impl<'a> std::ops::Deref for StoreBatch<'a> {
    type Target = MvccBatch<'a>;

    fn deref(&self) -> &MvccBatch<'a> {
        &self.batch
    }
}

impl<'a> std::ops::DerefMut for StoreBatch<'a> {
    fn deref_mut(&mut self) -> &mut MvccBatch<'a> {
        &mut self.batch
    }
}

impl StoreBatch<'_> {
    /// Writes the batch atomically. A batch that is dropped without a commit writes nothing.
    ///
    /// # Errors
    /// `NotSupported` for [`WriteOptions::disable_wal`]: statistics count everything that was written, and
    /// must not survive a crash without it. Errors of the engine.
    pub fn commit(mut self, options: &WriteOptions) -> Result<()> {
        check_write_options(options)?;
        if self.batch.is_empty() {
            return Ok(());
        }
        let mut total = self.writing.total;
        total += self.batch.stats();
        if self.batch.removed_until > self.writing.distrusted {
            self.writing.distrusted = self.batch.removed_until;
            if let Some(gc) = &self.store.gc {
                gc.distrust(self.writing.distrusted);
            }
        }
        let touched = self.batch.touched.take();
        let changes_ranges = self.batch.changed_rows() > 0;
        let ranges = self.batch.ranges.clone();
        let mut batch = self.batch.into_write_batch();
        let store = self.store;
        let threshold = store.threshold();
        store.put_record(&mut batch, threshold, &self.writing, &total, ranges.is_some());
        let write = || Ok(store.db.write(options, batch)?);
        match changes_ranges {
            true => store.ranges.change(ranges, write)?,
            false => write()?,
        }
        self.writing.total = total;
        if let (Some(all), Some(touched)) = (&mut self.writing.touched, touched) {
            all.add(touched);
        }
        Ok(())
    }
}

fn oldest_snapshot(db: &Db, family: &ColumnFamily) -> SeqNo {
    // The sequence number is read before the snapshots: snapshots taken later are newer.
    let latest = db.latest_sequence_number();
    let property = |name| db.property_int(family, name);
    match property("rocksdb.num-snapshots") {
        Some(0) => latest,
        // The oldest snapshot was released in between, which is reported as 0.
        _ => property("rocksdb.oldest-snapshot-sequence").map_or(0, |oldest| oldest.min(latest)),
    }
}

/// The WAL must hold all writes before the threshold's record, because the statistics count them.
pub(crate) fn check_write_options(options: &WriteOptions) -> Result<()> {
    match options.disable_wal {
        true => Err(base::Error::not_supported("writes of a versioned store with disable_wal").into()),
        false => Ok(()),
    }
}

/// Write options of writes that are durable when they return.
fn durable() -> WriteOptions {
    WriteOptions {
        sync: true,
        ..WriteOptions::default()
    }
}

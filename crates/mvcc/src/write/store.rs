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
//! key](crate::read::range_rows).
//!
//! Every batch writes the record with itself, so the statistics match the written data even after a crash.
//! The threshold is durable before any version is deleted because of it, so an interrupted collection has
//! removed nothing that could still be read.

use base::sync::Mutex;
use esker::{ColumnFamily, Db, SeqNo, WriteBatch, WriteOptions};

use crate::error::{Error, Result};
use crate::key::span::Span;
use crate::key::stats::MvccStats;
use crate::key::timestamp::Timestamp;
use crate::read::count_stats::compute_stats;
use crate::read::counters::{ReadCounters, ReadTotals};
use crate::read::range_index::RangeIndex;
use crate::read::reader::Reader;
use crate::read::record::{RECORD_KEY, Record, decode_record};
use crate::read::results::{GetResult, MvccReadOptions, ScanResult};
use crate::write::batch::{BatchOptions, MvccBatch, Touched};
use crate::write::compaction_limits::CompactionGc;
use crate::write::threshold::Threshold;
use crate::write::writers::{Alone, Changes, Shared, Totals, Writers};

/// A family of versioned keys.
///
/// Reads take no lock. Writers of known keys run at once, unless they
/// write the same key: [`begin_keys`](MvccStore::begin_keys). A batch of any keys and spans waits until all
/// writers before it have committed or dropped theirs, and others wait for it: [`begin`](MvccStore::begin).
/// No other code may write to the family.
pub struct MvccStore {
    db: Db,
    family: ColumnFamily,
    options: BatchOptions,
    pub(crate) writers: Writers,
    threshold: Threshold,
    ranges: RangeIndex,
    /// The cost of scans.
    scans: ReadTotals,
    /// The cost of scans at the end of the last collection.
    pub(crate) scans_before: Mutex<ReadCounters>,
    /// The lock that a running collection holds. It is locked before the locks of `writers`.
    pub(crate) collecting: Mutex<()>,
    /// The limits of compactions that drop garbage.
    gc: Option<CompactionGc>,
}

/// A batch of a store: an [`MvccBatch`] that makes other writers wait until it is committed or dropped.
pub struct StoreBatch<'a> {
    batch: MvccBatch<'a>,
    store: &'a MvccStore,
    alone: Alone<'a>,
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

    /// Opens the store as [`open`](Self::open) does, for a family whose options were given `gc`: its
    /// compactions drop the garbage that [`collect_in_compactions`](Self::collect_in_compactions) has
    /// collected.
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
        let record = db.get_cf(family, RECORD_KEY)?;
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
            writers: Writers::new(
                Shared {
                    collected: record.collected,
                    is_watched: false,
                    batches: 0,
                },
                Totals {
                    stats: total,
                    distrusted: record.distrusted,
                    touched: None,
                },
            ),
            threshold: Threshold::new(record.threshold),
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
        self.threshold.get()
    }

    /// The statistics, with ages as of `now` nanoseconds. Waits for a batch of [`begin`](Self::begin). `None`
    /// without [`BatchOptions::statistics`].
    pub fn stats(&self, now: i64) -> Option<MvccStats> {
        let mut stats = self.writers.totals().stats;
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

    /// Counts the data as of `now` nanoseconds, while nothing is written; reads all of it. The result should
    /// equal [`stats`](Self::stats).
    pub fn recount(&self, now: i64) -> Result<MvccStats> {
        self.count(&self.writers.alone(), now)
    }

    fn count(&self, alone: &Alone<'_>, now: i64) -> Result<MvccStats> {
        compute_stats(&self.written(alone.shared.collected), Span::ALL, now)
    }

    /// Returns a reader of the written state, for a caller that excludes writers. Versions that are garbage
    /// at `collected` are not counted.
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
        let mut alone = self.writers.alone();
        let counted = self.count(&alone, now)?;
        let record = Record {
            stats: Some(counted),
            ..self.record(&alone)
        };
        self.write_record(record, &WriteOptions::default())?;
        alone.totals.stats = counted;
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

    /// Begins a batch; ages in its statistics are as of `now` nanoseconds. Waits for all other writers, as
    /// these wait for the batch.
    pub fn begin(&self, now: i64) -> StoreBatch<'_> {
        let alone = self.writers.alone();
        StoreBatch {
            batch: self.batch(&alone.shared, now),
            store: self,
            alone,
        }
    }

    /// An empty batch for a writer that holds `shared`.
    pub(crate) fn batch(&self, shared: &Shared, now: i64) -> MvccBatch<'_> {
        let mut batch = MvccBatch::new(&self.db, &self.family, self.options, now);
        batch.threshold = self.threshold();
        batch.collected = shared.collected;
        batch.ranges = self.ranges.current();
        batch.knows_ranges = true;
        batch.touched = shared.is_watched.then(Touched::default);
        batch
    }

    /// Raises the threshold to `threshold`, durably; a lower one changes nothing. From then on reads and
    /// writes at or below it are refused. Waits for the batch in progress.
    ///
    /// # Errors
    /// `InvalidArgument` for [`Timestamp::MAX`] and an invalid time; errors of the engine.
    pub fn advance_threshold(&self, threshold: Timestamp) -> Result<()> {
        let alone = self.writers.alone();
        if threshold <= self.threshold() {
            return Ok(());
        }
        threshold.check()?;
        if threshold == Timestamp::MAX {
            return Err(Error::invalid_argument(
                "no time is left above the last one for anything to be read or written",
            ));
        }
        let record = Record {
            threshold,
            ..self.record(&alone)
        };
        self.write_record(record, &durable())?;
        self.threshold.raise(threshold);
        Ok(())
    }

    /// The limits of compactions that drop garbage; `None` if compactions drop none, or no statistics are
    /// kept.
    pub(crate) fn compaction_gc(&self) -> Option<&CompactionGc> {
        self.gc.as_ref().filter(|_| self.options.statistics)
    }

    /// A sequence number below which no snapshot of the engine is, neither one that is open nor a future one.
    pub(crate) fn oldest_snapshot(&self) -> SeqNo {
        oldest_snapshot(&self.db, &self.family)
    }

    /// Starts to record written keys. Returns a reader of the current state, and the time up to which garbage
    /// has been collected.
    pub(crate) fn begin_watch(&self) -> (Reader<'_>, Timestamp) {
        let mut alone = self.writers.alone();
        alone.totals.touched = Some(Touched::default());
        alone.shared.is_watched = true;
        let collected = alone.shared.collected;
        (self.written(collected).at(self.db.snapshot()), collected)
    }

    /// Calls `tell` with the keys written since [`begin_watch`](Self::begin_watch), while nothing is written.
    pub(crate) fn end_watch<T>(&self, tell: impl FnOnce(&mut Alone<'_>, Touched) -> Result<T>) -> Result<T> {
        let mut alone = self.writers.alone();
        alone.shared.is_watched = false;
        let touched = alone.totals.touched.take().unwrap_or_default();
        tell(&mut alone, touched)
    }

    /// Makes it durable that garbage at `collected` is no longer counted.
    pub(crate) fn write_collected(
        &self,
        alone: &mut Alone<'_>,
        collected: Timestamp,
        stats: MvccStats,
    ) -> Result<()> {
        let record = Record {
            collected,
            stats: Some(stats),
            ..self.record(alone)
        };
        self.write_record(record, &durable())?;
        alone.shared.collected = collected;
        alone.totals.stats = stats;
        Ok(())
    }

    /// The current state of the store, as the record that a commit writes.
    fn record(&self, alone: &Alone<'_>) -> Record {
        Record {
            threshold: self.threshold(),
            collected: alone.shared.collected,
            distrusted: alone.totals.distrusted,
            stats: Some(alone.totals.stats),
        }
    }

    /// Writes a record by itself, for a caller that excludes writers.
    fn write_record(&self, record: Record, options: &WriteOptions) -> Result<()> {
        let mut batch = WriteBatch::new();
        self.put_record(&mut batch, record, self.has_ranges());
        Ok(self.db.write_opt(batch, options)?)
    }

    fn put_record(&self, batch: &mut WriteBatch, mut record: Record, has_ranges: bool) {
        record.stats = record.stats.filter(|_| self.options.statistics);
        batch.put_cf(&self.family, RECORD_KEY, &record.encode(has_ranges));
    }

    /// Writes `changes` and the record that matches them, and updates the totals.
    pub(crate) fn write_changes(
        &self,
        shared: &Shared,
        totals: &mut Totals,
        changes: Changes,
        has_ranges: bool,
        options: &WriteOptions,
    ) -> Result<()> {
        let mut stats = totals.stats;
        stats += changes.stats;
        if changes.removed_until > totals.distrusted {
            totals.distrusted = changes.removed_until;
            if let Some(gc) = &self.gc {
                gc.distrust(totals.distrusted);
            }
        }
        let record = Record {
            threshold: self.threshold(),
            collected: shared.collected,
            distrusted: totals.distrusted,
            stats: Some(stats),
        };
        let mut rows = changes.rows;
        self.put_record(&mut rows, record, has_ranges);
        self.db.write_opt(rows, options)?;
        totals.stats = stats;
        if let (Some(all), Some(touched)) = (&mut totals.touched, changes.touched) {
            all.add(touched);
        }
        Ok(())
    }

    /// True if there are range tombstones, for a caller that excludes their writers.
    pub(crate) fn has_ranges(&self) -> bool {
        self.ranges.current().is_some()
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
        let (store, ranges) = (self.store, self.batch.ranges.clone());
        let Alone { shared, totals } = &mut self.alone;
        shared.batches += 1;
        let (changes_ranges, has_ranges) = (self.batch.changed_rows() > 0, ranges.is_some());
        let changes = Changes::of(self.batch);
        let write = || store.write_changes(shared, totals, changes, has_ranges, options);
        match changes_ranges {
            true => store.ranges.change(ranges, write),
            false => write(),
        }
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
        true => {
            Err(base::Error::not_supported("a versioned store cannot be written with disable_wal").into())
        }
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

//! Reads of versioned keys at a time.

use std::sync::Arc;

use esker::{BlockPropertyFilter, ColumnFamily, Db, ReadOptions, Snapshot, WriteBatchWithIndex};

use crate::error::{Error, Result};
use crate::key::ranges::{Cover, Order, Ranges};
use crate::key::span::Span;
use crate::key::timestamp::Timestamp;
use crate::read::counters::{ReadCounters, ReadTotals};
use crate::read::record::threshold_of;
use crate::read::version_iter::VersionIter;
use base::steps::{MAX_STEPS_BEFORE_SEEK, StepsBeforeSeek};

/// A reader of a family of versioned keys, of its current state or of a snapshot, optionally with a batch
/// that is not written yet.
#[derive(Clone)]
pub struct Reader<'a> {
    db: &'a Db,
    family: &'a ColumnFamily,
    batch: Option<&'a WriteBatchWithIndex>,
    options: ReadOptions,
    max_steps: u32,
    /// Garbage older than this time may have been collected already, wholly or in part.
    collected: Timestamp,
    /// Versions at or below this time are not read: the threshold of the state that is read, or a later one.
    pub(crate) threshold: Timestamp,
    /// The range tombstones of the state that is read; `None` if there are none.
    ranges: Option<Arc<Ranges>>,
    /// The totals to which the reader's scans are added.
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

    /// Makes the reader refuse reads at or below the threshold that the family's store had at its snapshot,
    /// which must be set first, or has now. Without a snapshot the threshold may rise later, and the versions
    /// read may be gone. Costs one get.
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

    /// Creates a reader of a state with these range tombstones.
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

    /// The deletion times of keys by range tombstones, for keys that are queried in `order`.
    pub(crate) fn cover(&self, order: Order) -> Option<Cover> {
        self.ranges.as_ref().map(|ranges| Cover::new(ranges, order))
    }

    pub(crate) fn collected(&self) -> Timestamp {
        self.collected
    }

    /// Makes the reader skip tables and runs of their blocks according to `filter`.
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
            Some(batch) => batch.iter_with_base(self.db, self.family, &options)?,
            None => self.db.iter_cf_opt(self.family, &options),
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

//! Garbage collection of a store in pages, so that writers never wait long.

use std::time::Duration;

use crate::error::Result;
use crate::gc::keys::GcResult;
use crate::gc::options::GcOptions;
use crate::gc::plan::Planner;
use crate::key::span::Span;
use crate::key::timestamp::Timestamp;
use crate::read::counters::ReadCounters;
use crate::write::store::{MvccStore, check_write_options};

/// The result of a garbage collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GcReport {
    /// The threshold of the collection.
    pub threshold: Timestamp,
    /// The versions and keys removed.
    pub removed: GcResult,
    /// The number of removed range tombstones, counted as times of fragments.
    pub range_tombstones: u64,
    /// Batches written.
    pub pages: u64,
    /// Range deletions among the batches.
    pub runs: u64,
    /// True if the statistics were recounted, because after the collection they showed garbage that cannot be
    /// left, or [implausible](crate::MvccStats::is_plausible) numbers.
    pub recounted: bool,
    /// The cost of the search for garbage. Removing it costs about one more step per version.
    pub counters: ReadCounters,
}

/// The threshold that makes everything garbage which has been garbage for longer than `ttl` at `now`
/// nanoseconds.
pub(super) fn threshold_of(ttl: Duration, now: i64) -> Timestamp {
    let ttl = i64::try_from(ttl.as_nanos()).unwrap_or(i64::MAX);
    Timestamp::from_nanos(now.saturating_sub(ttl).max(0))
}

impl MvccStore {
    /// Removes versions that have been garbage for longer than `ttl` at `now` nanoseconds; with a `ttl` of 0
    /// all garbage. The cost is proportional to the garbage, plus a few steps for each key without garbage.
    /// Other threads read and write meanwhile; a collection waits only for writers.
    ///
    /// # Errors
    /// `NotSupported` as of [`StoreBatch::commit`](crate::StoreBatch::commit), and nothing is done. Errors of
    /// the engine: the threshold has been raised then, and versions removed so far stay removed; another
    /// collection continues.
    pub fn collect_garbage(&self, ttl: Duration, now: i64, options: &GcOptions) -> Result<GcReport> {
        self.collect_garbage_at(threshold_of(ttl, now), now, options)
    }

    /// Collects garbage as [`collect_garbage`](Self::collect_garbage) does, for garbage at `threshold`, or at
    /// the current threshold if that is later.
    pub fn collect_garbage_at(
        &self,
        threshold: Timestamp,
        now: i64,
        options: &GcOptions,
    ) -> Result<GcReport> {
        check_write_options(&options.write)?;
        let _alone = self.collecting.lock();
        self.advance_threshold(threshold)?;
        let threshold = self.threshold();
        let mut report = GcReport {
            threshold,
            ..GcReport::default()
        };
        if threshold.is_zero() {
            return Ok(report);
        }
        let reader = self.reader(threshold.next())?;
        let mut planner = Planner::new(&reader, threshold, options)?;
        while let Some(mut page) = planner.next_page()? {
            let mut batch = self.begin(now);
            report.removed += batch.garbage_collect(&mut page.keys)?;
            for (start, end) in &page.runs {
                report.removed += batch.garbage_collect_run(start, end, threshold)?;
            }
            report.pages += 1;
            report.runs += page.runs.len() as u64;
            batch.commit(&options.write)?;
        }
        report.counters = planner.counters();
        // The planner saw everything that tombstones at or below the threshold hide, and no write can have
        // come there since.
        let mut batch = self.begin(now);
        batch.touch_all();
        report.range_tombstones = batch.remove_ranges(Span::ALL, |time| time <= threshold);
        batch.commit(&options.write)?;
        report.recounted = self.repair_after(threshold, now)?;
        self.begin_scans_anew();
        Ok(report)
    }
}

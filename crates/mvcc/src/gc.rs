//! What is garbage, when to collect it, and doing so in pages that nobody waits for long.
//!
//! A version is garbage at a threshold T if it is at or below T and either a deletion or hidden by a newer version or a range tombstone at or
//! below T. What a read right above T sees stays. Range tombstones at or below T go once all that they hide has.
//!
//! First T is made known, durably: nothing at or below it is read or written any more ([`MvccStore::advance_threshold`]). Then garbage is
//! looked for on a snapshot, each key from its oldest version up ([`plan`]), and removed page by page, each a batch of its own that
//! looks again at what it removes. Where a page ends within a key it has the older part, so that no deletion goes before what it
//! hides; whatever cuts the collection off, what is read above T is right.

pub(crate) mod compactions;
mod hidden;
mod plan;

use std::time::Duration;

use esker::WriteOptions;

use crate::collect::GcResult;
use crate::counters::ReadCounters;
use crate::error::Result;
use crate::reader::Span;
use crate::stats::MvccStats;
use crate::store::{MvccStore, check_write_options};
use crate::timestamp::Timestamp;

/// How garbage is collected.
#[derive(Clone, Debug)]
pub struct GcOptions {
    /// Versions removed one by one in a batch at most: how long writers may have to wait. Default: 4096.
    pub page_versions: u64,
    /// Bytes of the keys of versions removed one by one in a batch at most, or one version: how much it writes. Default: 1 MiB.
    pub page_bytes: u64,
    /// Versions of garbage that follow each other, with nothing kept in between, from which on one range deletion removes them; 0: never. Default:
    /// 2000.
    pub min_run_versions: u64,
    /// Versions that one range deletion removes at most. They are read while writers wait. Default: 65536.
    pub max_run_versions: u64,
    /// How batches are written; not with [`WriteOptions::disable_wal`].
    pub write: WriteOptions,
}

impl Default for GcOptions {
    fn default() -> GcOptions {
        GcOptions {
            page_versions: 4096,
            page_bytes: 1 << 20,
            min_run_versions: 2000,
            max_run_versions: 65_536,
            write: WriteOptions::default(),
        }
    }
}

/// What a collection has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GcReport {
    /// The threshold it collected for.
    pub threshold: Timestamp,
    /// What it removed.
    pub removed: GcResult,
    /// Range tombstones among what it removed: times of fragments.
    pub range_tombstones: u64,
    /// Batches written.
    pub pages: u64,
    /// Range deletions among them.
    pub runs: u64,
    /// Statistics were counted anew: after the collection they told of garbage that cannot have been left, or of what
    /// [cannot be](MvccStats::is_plausible) at all.
    pub recounted: bool,
    /// What looking for garbage cost; removing it costs about a step a version again.
    pub counters: ReadCounters,
}

/// How urgent a collection is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GcScore {
    /// Part of all bytes that is garbage, 0 to 1.
    pub dead_fraction: f64,
    /// Age of the garbage in lifetimes: what a collection leaves behind has at most 1.
    pub lifetimes: f64,
    /// Part of what scans have met that was versions and deletions passed over, 0 to 1.
    pub wasted_fraction: f64,
}

/// Versions that scans may pass over without being noticed.
const FEW_VERSIONS: f64 = 1000.0;

/// Time after a collection during which another one must be more urgent, less and less so.
const COOL_DOWN: Duration = Duration::from_secs(2 * 60 * 60);

impl GcScore {
    /// Of what `stats` say as of `now` nanoseconds, where versions are kept for `ttl`; less than a second counts as one.
    pub fn of(stats: &MvccStats, ttl: Duration, now: i64) -> GcScore {
        let mut stats = *stats;
        stats.age_to(now);
        let ttl = ttl.as_secs().max(1) as f64;
        GcScore {
            dead_fraction: 1.0 - stats.live_bytes as f64 / (1 + stats.total_bytes()) as f64,
            lifetimes: stats.gc_bytes_age as f64 / (ttl * (1 + stats.gc_bytes()) as f64),
            wasted_fraction: 0.0,
        }
    }

    /// The same where scans have met `scans` since the last collection.
    pub fn with_scans(self, scans: &ReadCounters) -> GcScore {
        let wasted = scans.wasted() as f64;
        GcScore {
            wasted_fraction: wasted / (wasted + scans.rows as f64 + FEW_VERSIONS),
            ..self
        }
    }

    /// Above 1 a collection is worth its while: the part that is garbage times its age in lifetimes, and up to twice as much the more of it scans
    /// have met. Twice, because garbage that comes evenly is half as old on the whole as the oldest of it: so where scans meet little but
    /// garbage, the collection comes when the first of it may go, and not before.
    pub fn score(&self) -> f64 {
        self.dead_fraction * self.lifetimes * (1.0 + self.wasted_fraction)
    }

    /// Whether to collect now, if the last collection is `since` ago: at a score above 1, and within two hours of the last the higher
    /// the sooner it was, up to 2.
    pub fn is_due(&self, since: Option<Duration>) -> bool {
        let wait = (2.0 - self.score()).clamp(0.0, 1.0);
        let rested = since.is_none_or(|since| since.as_secs_f64() >= COOL_DOWN.as_secs_f64() * wait);
        self.score() > 1.0 && rested
    }
}

/// The time at which what has been garbage for longer than `ttl` at `now` nanoseconds is garbage.
fn threshold_of(ttl: Duration, now: i64) -> Timestamp {
    let ttl = i64::try_from(ttl.as_nanos()).unwrap_or(i64::MAX);
    Timestamp::from_nanos(now.saturating_sub(ttl).max(0))
}

impl MvccStore {
    /// Removes what has been garbage for longer than `ttl` at `now` nanoseconds; with a `ttl` of 0 all garbage, now. Costs what there is to
    /// collect, and of each key that has nothing to collect a few steps. Others read and write meanwhile; collections wait for none but
    /// writers.
    ///
    /// # Errors
    /// `NotSupported` as of [`StoreBatch::commit`](crate::StoreBatch::commit), and nothing is done. What the engine says: the threshold has been raised
    /// then, and what was removed is gone; collecting again goes on.
    pub fn collect_garbage(&self, ttl: Duration, now: i64, options: &GcOptions) -> Result<GcReport> {
        self.collect_garbage_at(threshold_of(ttl, now), now, options)
    }

    /// As [`collect_garbage`](Self::collect_garbage), of what is garbage at `threshold`, or at the threshold there is if that is later.
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
        let mut planner = plan::Planner::new(&reader, threshold, options)?;
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
        // All that is hidden by what is at or below the threshold was seen by the planner, and nothing can have been written there since.
        let mut batch = self.begin(now);
        batch.touch_all();
        report.range_tombstones = batch.remove_ranges(Span::ALL, |time| time <= threshold);
        batch.commit(&options.write)?;
        report.recounted = self.repair_after(threshold, now)?;
        self.begin_scans_anew();
        Ok(report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_fall_with_a_collection() {
        let stats = MvccStats {
            live_bytes: 100,
            key_bytes: 150,
            val_bytes: 150,
            gc_bytes_age: 200 * 50,
            ..MvccStats::at(0)
        };
        let ttl = Duration::from_secs(25);
        let score = GcScore::of(&stats, ttl, 0);
        assert!((score.dead_fraction - 2.0 / 3.0).abs() < 0.01);
        assert!((score.lifetimes - 2.0).abs() < 0.02);
        assert!(score.is_due(None));
        assert!(!score.is_due(Some(Duration::from_secs(1))));
        assert!(score.is_due(Some(COOL_DOWN)));
        let later = GcScore::of(&stats, ttl, 1_000_000_000_000);
        assert!(later.score() > 2.0 && later.is_due(Some(Duration::ZERO)));
        assert!(!GcScore::of(&MvccStats::at(0), Duration::ZERO, 0).is_due(None));
    }

    #[test]
    fn scans_over_garbage_hasten_a_collection() {
        // Nearly all is garbage, which came evenly for one lifetime, or a little longer.
        let of_age = |seconds: i64| {
            let stats = MvccStats {
                live_bytes: 10,
                key_bytes: 5_000,
                val_bytes: 5_000,
                gc_bytes_age: 9_990 * seconds,
                ..MvccStats::at(0)
            };
            GcScore::of(&stats, Duration::from_secs(100), 0)
        };
        let scans = |wasted: u64, rows| ReadCounters {
            skipped: wasted / 2,
            tombstones: wasted - wasted / 2,
            rows,
            ..ReadCounters::default()
        };
        assert!(!of_age(51).is_due(None) && !of_age(99).is_due(None));
        assert!(of_age(51).with_scans(&scans(1_000_000, 10)).is_due(None));
        assert!(!of_age(49).with_scans(&scans(1_000_000, 10)).is_due(None));
        assert!(!of_age(51).with_scans(&scans(1_000, 1_000_000)).is_due(None));
        assert!(!of_age(51).with_scans(&scans(100, 0)).is_due(None));
        assert_eq!(of_age(70).with_scans(&scans(0, 0)), of_age(70));
        let rested = Some(COOL_DOWN / 2);
        assert!(!of_age(80).with_scans(&scans(1_000, 1_000)).is_due(rested));
        assert!(of_age(80).with_scans(&scans(1_000_000, 1_000)).is_due(rested));
    }
}

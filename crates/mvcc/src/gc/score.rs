//! The score that decides when to collect garbage.

use std::time::Duration;

use crate::error::Result;
use crate::key::stats::MvccStats;
use crate::read::counters::ReadCounters;
use crate::write::store::MvccStore;

/// The urgency of a collection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GcScore {
    /// The fraction of all bytes that is garbage, 0 to 1.
    pub dead_fraction: f64,
    /// The age of the garbage in lifetimes: the garbage that a collection leaves has at most 1.
    pub lifetimes: f64,
    /// The fraction of the versions met by scans that were skipped versions and deletions, 0 to 1.
    pub wasted_fraction: f64,
}

/// The number of versions that scans may skip without an effect on the score.
const FEW_VERSIONS: f64 = 1000.0;

/// The time after a collection during which the next one needs a higher score, decreasing over that time.
const COOL_DOWN: Duration = Duration::from_secs(2 * 60 * 60);

impl GcScore {
    /// The score of `stats` as of `now` nanoseconds, where versions are kept for `ttl`; a `ttl` of less than
    /// a second counts as one.
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

    /// Adds the versions that scans read in vain to the score. `scans`: the counters of the scans since the
    /// last garbage collection.
    pub fn with_scans(self, scans: &ReadCounters) -> GcScore {
        let wasted = scans.wasted() as f64;
        GcScore {
            wasted_fraction: wasted / (wasted + scans.rows as f64 + FEW_VERSIONS),
            ..self
        }
    }

    /// Above 1 a collection is worthwhile. The score is the garbage fraction times its age in lifetimes, and
    /// up to twice that, the more of the garbage scans have met. The factor is two because garbage that
    /// accrues evenly is on average half as old as its oldest part. So where scans meet little but garbage,
    /// the collection is due when the first garbage may be removed, and not before.
    pub fn score(&self) -> f64 {
        self.dead_fraction * self.lifetimes * (1.0 + self.wasted_fraction)
    }

    /// Whether a collection is due, if the last one was `since` ago: at a score above 1. Within two hours
    /// after the last collection the required score is higher, up to 2, the more recent that collection was.
    pub fn is_due(&self, since: Option<Duration>) -> bool {
        let wait = (2.0 - self.score()).clamp(0.0, 1.0);
        let rested = since.is_none_or(|since| since.as_secs_f64() >= COOL_DOWN.as_secs_f64() * wait);
        self.score() > 1.0 && rested
    }
}

impl MvccStore {
    /// The urgency of a collection at `now` nanoseconds, where versions are kept for `ttl`: it depends on the
    /// statistics and on the garbage that scans have met since the last collection. `None` without
    /// [statistics](crate::BatchOptions::statistics). Waits for the batch in progress.
    /// [Implausible](MvccStats::is_plausible) statistics are [repaired](Self::repair_stats) first.
    ///
    /// # Errors
    /// Errors of the engine during a repair.
    pub fn gc_score(&self, ttl: Duration, now: i64) -> Result<Option<GcScore>> {
        let mut scans = self.scan_counters();
        scans -= *self.scans_before.lock();
        let Some(mut stats) = self.stats(now) else {
            return Ok(None);
        };
        if !stats.is_plausible() {
            stats = self.repair_stats(now)?;
        }
        Ok(Some(GcScore::of(&stats, ttl, now).with_scans(&scans)))
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
        // Nearly everything is garbage, which accrued evenly over one lifetime or a little longer.
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

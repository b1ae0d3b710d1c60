//! Exact statistics: the amount of data and of garbage, and the age of the garbage.
//!
//! Every operation adds the difference it makes; [`compute_stats`] recounts, with the same result.
//! [`KeyStats`] adds up the keys for both, so the weight of a version is defined in one place.

use std::ops::{AddAssign, SubAssign};

use crate::key::mvcc_key::VERSION_SIZE;
use crate::key::range_stack::{Stack, hidden_since};
use crate::key::timestamp::Timestamp;

const NANOS: i64 = 1_000_000_000;
/// More bytes than any database has, but few enough that sums of several such numbers do not overflow.
const MAX_BYTES: i64 = 1 << 56;

/// Bytes and counts of a span, all exact. In a difference, fields may be negative.
///
/// A user key counts with its length plus one, once per key; the time of a version with [`VERSION_SIZE`],
/// however it is stored; a value with its stored bytes. The newest version of a key is *live* if it is not a
/// deletion; everything else is garbage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MvccStats {
    /// The time, in nanoseconds, for which [`gc_bytes_age`](Self::gc_bytes_age) is valid.
    pub last_update_nanos: i64,
    /// Bytes of live keys, with their newest version and its value.
    pub live_bytes: i64,
    /// The number of keys whose newest version is not a deletion.
    pub live_count: i64,
    /// Bytes of keys and of versions' times.
    pub key_bytes: i64,
    /// The number of keys.
    pub key_count: i64,
    /// Bytes of values.
    pub val_bytes: i64,
    /// The number of versions and inline values.
    pub val_count: i64,
    /// The number of fragments of range tombstones: maximal spans all of which was deleted at the same times.
    pub range_key_count: i64,
    /// Bytes of the fragments' bounds, each with its length plus one, and of their times, each with the
    /// length of its suffix in a key.
    pub range_key_bytes: i64,
    /// The number of times of range-tombstone fragments. Range tombstones have no values, so there is no
    /// count of their bytes.
    pub range_val_count: i64,
    /// The sum over all garbage bytes of the seconds since each became garbage: a value since a newer version
    /// or a range tombstone over it was written, a deletion since it was written, the key itself since its
    /// newest version is a deletion or a range tombstone deletes it; the bounds of a fragment since its
    /// newest time, each of its times since that time. If times do not come from a clock, such as counters
    /// with a Unix `now`, the sum may overflow: it then stays at the greatest number until it is
    /// [recounted](crate::MvccStore::repair_stats) with a lower result.
    pub gc_bytes_age: i64,
}

impl MvccStats {
    /// Empty statistics, at a time in nanoseconds.
    pub fn at(now: i64) -> MvccStats {
        MvccStats {
            last_update_nanos: now,
            ..MvccStats::default()
        }
    }

    /// Bytes of garbage.
    pub fn gc_bytes(&self) -> i64 {
        self.total_bytes().saturating_sub(self.live_bytes)
    }

    /// Bytes of keys, values and range tombstones.
    pub fn total_bytes(&self) -> i64 {
        self.key_bytes
            .saturating_add(self.val_bytes)
            .saturating_add(self.range_key_bytes)
    }

    /// Updates the ages to `now` nanoseconds, which may also be earlier.
    pub fn age_to(&mut self, now: i64) {
        let seconds = whole_seconds(self.last_update_nanos, now);
        self.add_age(self.gc_bytes(), seconds);
        self.last_update_nanos = now;
    }

    /// Adds the age of `bytes` that have been garbage for `seconds`. It saturates, because a time chosen by
    /// the user must not cause a panic.
    pub(crate) fn add_age(&mut self, bytes: i64, seconds: i64) {
        let age = bytes.saturating_mul(seconds);
        self.gc_bytes_age = self.gc_bytes_age.saturating_add(age);
    }

    /// False for statistics that no history can have: bytes without keys, negative counts, more live data
    /// than data, garbage older than time. True means possible, not correct: only [a
    /// count](crate::compute_stats) shows that. Not for differences.
    pub fn is_plausible(&self) -> bool {
        let within = |least: i64, value: i64, most: i64| least <= value && value <= most;
        let counts = within(0, self.live_count, self.key_count)
            && within(0, self.key_count, self.val_count)
            && within(0, self.range_key_count, self.range_val_count);
        let most = MAX_BYTES;
        let are_few = self.val_count <= most && self.range_val_count <= most;
        if !counts || !are_few {
            return false;
        }
        // A key has at least one byte and one more for its bound, and a value that is not a deletion at least
        // one.
        let bytes = within(2 * self.key_count, self.key_bytes, most)
            && within(self.live_count, self.val_bytes, most)
            && within(
                3 * self.live_count,
                self.live_bytes,
                self.key_bytes + self.val_bytes,
            );
        let ranges = within(
            3 * self.range_key_count + 9 * self.range_val_count,
            self.range_key_bytes,
            most,
        );
        let nothing = (self.key_count > 0
            || self.val_count == 0 && self.key_bytes == 0 && self.val_bytes == 0)
            && (self.live_count > 0 || self.live_bytes == 0)
            && (self.range_key_count > 0 || self.range_val_count == 0 && self.range_key_bytes == 0);
        bytes && ranges && nothing && self.is_as_old_as(0) && self.is_as_young_as(i64::MAX)
    }

    /// True unless the garbage is older than it could be if all of it became garbage at or after `since`
    /// nanoseconds.
    pub(crate) fn is_as_old_as(&self, since: i64) -> bool {
        i128::from(self.gc_bytes_age) <= self.age_since(since)
    }

    fn is_as_young_as(&self, since: i64) -> bool {
        i128::from(self.gc_bytes_age) >= self.age_since(since)
    }

    /// The age of the garbage if all of it has been garbage since `since`.
    fn age_since(&self, since: i64) -> i128 {
        i128::from(self.gc_bytes()) * i128::from(whole_seconds(since, self.last_update_nanos))
    }

    /// True if all fields except the time are zero.
    pub fn is_zero(&self) -> bool {
        *self == MvccStats::at(self.last_update_nanos)
    }

    fn combine(&mut self, mut other: MvccStats, sign: i64) {
        let now = self.last_update_nanos.max(other.last_update_nanos);
        self.age_to(now);
        other.age_to(now);
        // The numbers may come from a record on disk, which may hold any.
        let add = |to: &mut i64, other: i64| *to = to.saturating_add(other.saturating_mul(sign));
        add(&mut self.live_bytes, other.live_bytes);
        add(&mut self.live_count, other.live_count);
        add(&mut self.key_bytes, other.key_bytes);
        add(&mut self.key_count, other.key_count);
        add(&mut self.val_bytes, other.val_bytes);
        add(&mut self.val_count, other.val_count);
        add(&mut self.range_key_count, other.range_key_count);
        add(&mut self.range_key_bytes, other.range_key_bytes);
        add(&mut self.range_val_count, other.range_val_count);
        add(&mut self.gc_bytes_age, other.gc_bytes_age);
    }
}

impl AddAssign for MvccStats {
    /// The two statistics are first aged to the later of their times.
    fn add_assign(&mut self, other: MvccStats) {
        self.combine(other, 1);
    }
}

impl SubAssign for MvccStats {
    /// The two statistics are first aged to the later of their times.
    fn sub_assign(&mut self, other: MvccStats) {
        self.combine(other, -1);
    }
}

/// Seconds from one time to another as ages count them: whole seconds are subtracted.
pub(crate) fn whole_seconds(from: i64, to: i64) -> i64 {
    to.div_euclid(NANOS) - from.div_euclid(NANOS)
}

/// Adds up the versions of one key, or of several keys one after the other, each from the newest down. It may
/// begin below the newest and end above the oldest version: the weight of the versions left out does not
/// depend on those included, except for the first one below, whose age they determine.
#[derive(Debug)]
pub(crate) struct KeyStats {
    stats: MvccStats,
    /// The time of the version above.
    above: Option<Timestamp>,
    key_bytes: i64,
    /// Versions that are garbage at this time are not counted.
    collected: Timestamp,
    /// The times at which range tombstones deleted the key.
    deleted: Option<Stack>,
}

impl KeyStats {
    /// For the key `user_key`, which range tombstones deleted at the times `deleted`, as of `now`
    /// nanoseconds. Garbage at `collected` counts as absent, because it may be.
    #[inline]
    pub fn new(user_key: &[u8], now: i64, collected: Timestamp, deleted: Option<&Stack>) -> KeyStats {
        KeyStats {
            stats: MvccStats::at(now),
            above: None,
            key_bytes: user_key.len() as i64 + 1,
            collected,
            deleted: deleted.cloned(),
        }
    }

    /// Begins another key, which is added to those before.
    #[inline]
    pub(crate) fn begin_key(&mut self, user_key: &[u8], deleted: Option<&Stack>) {
        self.above = None;
        self.key_bytes = user_key.len() as i64 + 1;
        self.deleted = deleted.cloned();
    }

    /// Declares that the next version is directly below a version at `above`, which is not counted.
    pub fn stands_below(&mut self, above: Timestamp) {
        self.above = Some(above);
    }

    /// Adds the next older version, with the length of its value: 0 for a deletion.
    pub fn version(&mut self, timestamp: Timestamp, value_bytes: usize) {
        let value_bytes = value_bytes as i64;
        let bytes = VERSION_SIZE as i64 + value_bytes;
        let stats = &mut self.stats;
        let now = stats.last_update_nanos;
        let is_tombstone = value_bytes == 0;
        let since = match &self.deleted {
            None => self.above,
            Some(stack) => first_of(self.above, hidden_since(stack, timestamp)),
        };
        let is_hidden = since.is_some_and(|since| since <= self.collected);
        if timestamp <= self.collected && (is_tombstone || is_hidden) {
            self.above = Some(timestamp);
            return;
        }
        let is_newest = self.above.is_none();
        // The bytes of the key itself become garbage together with its newest version.
        let weight = if is_newest { bytes + self.key_bytes } else { bytes };
        match since {
            _ if is_tombstone => stats.add_age(weight, whole_seconds(timestamp.wall, now)),
            Some(since) => stats.add_age(weight, whole_seconds(since.wall, now)),
            None => {
                stats.live_count += 1;
                stats.live_bytes += weight;
            }
        }
        if is_newest {
            stats.key_count += 1;
            stats.key_bytes += self.key_bytes;
        }
        stats.key_bytes += VERSION_SIZE as i64;
        stats.val_bytes += value_bytes;
        stats.val_count += 1;
        self.above = Some(timestamp);
    }

    /// Adds an inline value of `value_bytes` bytes, which is all of the key.
    pub fn inline(&mut self, value_bytes: usize) {
        let stats = &mut self.stats;
        stats.key_count += 1;
        stats.key_bytes += self.key_bytes;
        stats.val_count += 1;
        stats.val_bytes += value_bytes as i64;
        stats.live_count += 1;
        stats.live_bytes += self.key_bytes + value_bytes as i64;
    }

    /// Returns the sum of the added statistics.
    pub fn finish(self) -> MvccStats {
        self.stats
    }
}

fn first_of(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The versions of key "b", newest first: seconds, and bytes of the value.
    fn key(versions: &[(i64, usize)]) -> MvccStats {
        let mut stats = KeyStats::new(b"b", 100 * NANOS, Timestamp::ZERO, None);
        for &(seconds, bytes) in versions {
            stats.version(Timestamp::from_secs(seconds), bytes);
        }
        stats.finish()
    }

    fn delta(before: &[(i64, usize)], after: &[(i64, usize)]) -> MvccStats {
        let mut delta = key(after);
        delta -= key(before);
        delta
    }

    #[test]
    fn worked_numbers() {
        let at = MvccStats::at(100 * NANOS);
        assert_eq!(
            delta(&[], &[(1, 7)]),
            MvccStats {
                key_count: 1,
                key_bytes: 14,
                val_count: 1,
                val_bytes: 7,
                live_count: 1,
                live_bytes: 21,
                ..at
            }
        );
        assert_eq!(
            delta(&[(1, 7)], &[(2, 0), (1, 7)]),
            MvccStats {
                key_bytes: 12,
                val_count: 1,
                live_count: -1,
                live_bytes: -21,
                gc_bytes_age: 3234,
                ..at
            }
        );
        assert_eq!(
            delta(&[(2, 0), (1, 7)], &[(3, 0), (2, 0), (1, 7)]),
            MvccStats {
                key_bytes: 12,
                val_count: 1,
                gc_bytes_age: 1162,
                ..at
            }
        );
        assert_eq!(
            delta(&[(3, 0), (2, 0), (1, 7)], &[(6, 7), (3, 0), (2, 0), (1, 7)]),
            MvccStats {
                key_bytes: 12,
                val_count: 1,
                val_bytes: 7,
                live_count: 1,
                live_bytes: 21,
                gc_bytes_age: -194,
                ..at
            }
        );
    }

    #[test]
    fn what_is_collected_weighs_nothing() {
        let weigh = |versions: &[(i64, usize)], collected| {
            let mut stats = KeyStats::new(b"b", 100 * NANOS, Timestamp::from_secs(collected), None);
            for &(seconds, bytes) in versions {
                stats.version(Timestamp::from_secs(seconds), bytes);
            }
            stats.finish()
        };
        let all = [(9, 7), (7, 0), (5, 7), (4, 9), (2, 0), (1, 7)];
        assert_eq!(weigh(&all, 0), key(&all));
        assert_eq!(weigh(&all, 1), key(&all));
        assert_eq!(weigh(&all, 2), key(&all[..4]));
        assert_eq!(weigh(&all, 4), key(&all[..4]));
        assert_eq!(weigh(&all, 5), key(&all[..3]));
        assert_eq!(weigh(&all, 8), key(&all[..1]));
        assert_eq!(weigh(&all[1..], 8), MvccStats::at(100 * NANOS));
    }

    #[test]
    fn what_cannot_be_is_told() {
        let stats = key(&[(9, 7), (7, 0), (5, 7)]);
        let nothing = MvccStats::at(100 * NANOS);
        let ranges = MvccStats {
            range_key_count: 1,
            range_key_bytes: 13,
            range_val_count: 1,
            gc_bytes_age: 13 * 97,
            ..nothing
        };
        let deleted = key(&[(9, 0)]);
        let written_ahead = key(&[(500, 7), (400, 7)]);
        for good in [stats, nothing, ranges, deleted, written_ahead] {
            assert!(good.is_plausible(), "{good:?}");
        }
        type Field = fn(&mut MvccStats) -> &mut i64;
        let fields: [Field; 10] = [
            |stats| &mut stats.live_bytes,
            |stats| &mut stats.live_count,
            |stats| &mut stats.key_bytes,
            |stats| &mut stats.key_count,
            |stats| &mut stats.val_bytes,
            |stats| &mut stats.val_count,
            |stats| &mut stats.range_key_count,
            |stats| &mut stats.range_key_bytes,
            |stats| &mut stats.range_val_count,
            |stats| &mut stats.gc_bytes_age,
        ];
        for field in fields {
            for value in [i64::MIN, -1 << 40, 1 << 60, i64::MAX] {
                let mut bad = stats;
                *field(&mut bad) = value;
                assert!(!bad.is_plausible(), "{bad:?}");
            }
            let mut bad = nothing;
            *field(&mut bad) = 1;
            assert!(!bad.is_plausible(), "{bad:?}");
        }
        let mut bad = stats;
        bad.live_bytes = bad.key_bytes + bad.val_bytes + 1;
        assert!(!bad.is_plausible());
        bad = stats;
        bad.gc_bytes_age = bad.gc_bytes() * 100 + 1;
        assert!(!bad.is_plausible());
        bad.age_to(i64::MAX);
        assert!(!bad.is_plausible());
    }

    #[test]
    fn ages_grow_with_the_garbage() {
        let mut stats = key(&[(2, 0), (1, 7)]);
        assert_eq!(stats.gc_bytes(), 33);
        let before = stats;
        stats.age_to(110 * NANOS + 999_999_999);
        assert_eq!(stats.gc_bytes_age, before.gc_bytes_age + 330);
        stats.age_to(100 * NANOS);
        assert_eq!(stats, before);
    }

    /// Times are counters while `now` is a clock's: ages are as many seconds as since 1970.
    #[test]
    fn ages_that_are_too_large_are_the_largest_there_are() {
        const NOW: i64 = 1_800_000_000 * NANOS;
        let weigh = |bytes, now| {
            let mut stats = KeyStats::new(b"b", now, Timestamp::ZERO, None);
            stats.version(Timestamp::from_nanos(2), 7);
            stats.version(Timestamp::from_nanos(1), bytes);
            stats.finish()
        };
        let large = weigh(1 << 40, NOW);
        assert_eq!(large.gc_bytes_age, i64::MAX);
        assert_eq!(large.gc_bytes(), (1 << 40) + 12);
        let score = crate::GcScore::of(&large, std::time::Duration::from_secs(1), NOW);
        assert!(score.score() > 1.0 && score.is_due(None));
        // The time is as far before 1970 as the type allows.
        assert_eq!(weigh(1 << 40, i64::MIN).gc_bytes_age, i64::MIN);
        let mut sum = large;
        sum += large;
        assert_eq!((sum.gc_bytes_age, sum.val_bytes), (i64::MAX, 2 * large.val_bytes));
        sum -= weigh(1 << 10, NOW);
        assert!(sum.gc_bytes_age > i64::MAX / 2);
        let mut later = weigh(1 << 30, 0);
        assert_eq!(later.gc_bytes_age, 0);
        later.age_to(i64::MAX);
        assert_eq!(later.gc_bytes_age, i64::MAX);
        // Statistics that a corrupt record may hold.
        let mut any = MvccStats {
            live_bytes: i64::MIN,
            key_bytes: i64::MAX,
            val_bytes: i64::MAX,
            range_key_bytes: i64::MAX,
            gc_bytes_age: i64::MIN,
            ..MvccStats::at(i64::MIN)
        };
        any -= any;
        any.age_to(i64::MAX);
        any -= large;
    }

    #[test]
    fn parts_of_a_key_add_up() {
        let all = [(9, 7), (7, 0), (5, 7), (4, 9), (2, 0), (1, 7)];
        // The entries below a version count the same, whatever is above that version.
        for above in 0..all.len() {
            for below in above..all.len() {
                let whole = delta(&all[..below + 1], &all);
                let part = delta(&all[above..below + 1], &all[above..]);
                assert_eq!(whole, part);
            }
        }
    }
}

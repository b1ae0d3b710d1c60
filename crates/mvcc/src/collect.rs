//! Garbage collection of keys that somebody has chosen, at a cost of what it collects.
//!
//! Of each key all versions at or below a time go. A few steps lead past the versions above, which stay; where there are many, a
//! seek does. Neither depends on how many there are, and so a history collected page by page is not walked anew for each page.

use crate::batch::{MvccBatch, inline_in_the_way};
use crate::error::{Error, Result, Shown};
use crate::key::MvccKey;
use crate::ranges::hidden_since;
use crate::reader::{Reader, Span, VersionIter};
use crate::timestamp::Timestamp;
use crate::value::is_tombstone;

/// A key, and the time up to which its versions are to go.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GcKey {
    /// The user key.
    pub user_key: Vec<u8>,
    /// The last version to go; [`Timestamp::ZERO`] to remove an inline value.
    pub timestamp: Timestamp,
}

/// What a collection has removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GcResult {
    /// Versions and inline values.
    pub versions: u64,
    /// Keys of which nothing is left.
    pub keys: u64,
}

impl std::ops::AddAssign for GcResult {
    fn add_assign(&mut self, other: GcResult) {
        self.versions += other.versions;
        self.keys += other.keys;
    }
}

impl MvccBatch<'_> {
    /// Removes of each of `keys` the versions at or below its time. Sorts them; of several times of a key the latest counts. Keys that are not
    /// there, or have no such version, are passed over; [`Timestamp::ZERO`] is below all versions.
    ///
    /// The versions above the time cost a few steps or a seek, however many they are; those removed a step each, and a deletion.
    ///
    /// # Errors
    /// `InvalidArgument` for a negative time, and if the newest version of a key is to go though it is neither a deletion nor hidden by a
    /// range tombstone: that is no garbage. Nothing is removed then.
    pub fn garbage_collect(&mut self, keys: &mut [GcKey]) -> Result<GcResult> {
        keys.iter().try_for_each(|key| key.timestamp.check_sign())?;
        self.all_or_nothing(|batch| batch.collect_keys(keys))
    }

    fn collect_keys(&mut self, keys: &mut [GcKey]) -> Result<GcResult> {
        let mut result = GcResult::default();
        if !keys.is_sorted() {
            keys.sort_unstable();
        }
        let (Some(first), Some(last)) = (keys.first(), keys.last()) else {
            return Ok(result);
        };
        let end = crate::key::next_user_key(&last.user_key);
        let mut iter = self.reader().versions(Span::new(&first.user_key, &end))?;
        for at in 0..keys.len() {
            let later = keys.get(at + 1);
            if later.is_some_and(|later| later.user_key == keys[at].user_key) {
                continue;
            }
            result += self.collect(&mut iter, &keys[at])?;
        }
        self.counters += iter.counters;
        Ok(result)
    }

    /// The iterator stands nowhere, or at or before the key, or behind it if it is not there.
    fn collect(&mut self, iter: &mut VersionIter, key: &GcKey) -> Result<GcResult> {
        let user_key = &key.user_key[..];
        let stands = iter.current()?.map(|version| version.user_key.cmp(user_key));
        // Behind the last key collected it often stands on the next one.
        if stands.is_none_or(|order| order.is_lt()) {
            iter.seek_key(user_key);
        }
        let Some(newest) = iter.current()?.filter(|version| version.user_key == user_key) else {
            return Ok(GcResult::default());
        };
        if newest.timestamp.is_zero() {
            let bytes = newest.stored.len();
            return Ok(self.collect_inline(iter, key, bytes));
        }
        if key.timestamp.is_zero() {
            return Ok(GcResult::default());
        }
        let mut above = None;
        if newest.timestamp > key.timestamp {
            above = Some(newest.timestamp);
            if !self.pass_kept(iter, key, &mut above)? {
                return Ok(GcResult::default());
            }
        } else if !is_tombstone(newest.stored)
            && !self.is_deleted_since(user_key, newest.timestamp, Timestamp::MAX)
        {
            return Err(Error::invalid_argument(format!(
                "{} at {} is no garbage: it is the newest version, and no deletion",
                Shown(user_key),
                newest.timestamp
            )));
        }
        self.remove_rest(iter, user_key, above)
    }

    /// From the newest version, which stays, to the first to go. `above` becomes the time of the one before it, if that is known. False if
    /// none is to go.
    fn pass_kept(
        &mut self,
        iter: &mut VersionIter,
        key: &GcKey,
        above: &mut Option<Timestamp>,
    ) -> Result<bool> {
        let user_key = &key.user_key[..];
        for _ in 0..iter.steps.get() {
            iter.next();
            match iter.time_of(user_key)? {
                Some(time) if time > key.timestamp => *above = Some(time),
                found => {
                    iter.steps.found();
                    return Ok(found.is_some());
                }
            }
        }
        iter.steps.missed();
        // Only ages ask for the time of the version above, and only of the first that goes.
        if self.options().statistics {
            iter.seek_for_prev(user_key, key.timestamp.next());
            *above = iter.time_of(user_key)?;
            iter.next();
        } else {
            iter.seek(user_key, key.timestamp);
        }
        Ok(iter.time_of(user_key)?.is_some())
    }

    /// Removes the version it stands on and all below it.
    fn remove_rest(
        &mut self,
        iter: &mut VersionIter,
        user_key: &[u8],
        above: Option<Timestamp>,
    ) -> Result<GcResult> {
        self.touch(user_key);
        let statistics = self.options().statistics;
        let mut removed = self.weigh(user_key);
        if let Some(above) = above {
            removed.stands_below(above);
        }
        let mut result = GcResult::default();
        let family = self.family();
        if let Some(latest) = iter.time_of(user_key)? {
            self.note_removed(latest);
        }
        while let Some(version) = iter.current()?.filter(|version| version.user_key == user_key) {
            if statistics {
                removed.version(version.timestamp, version.stored.len());
            }
            self.batch.delete_cf(family, iter.engine_key());
            result.versions += 1;
            iter.next();
        }
        result.keys = u64::from(above.is_none());
        if statistics {
            self.account(
                removed.finish(),
                crate::MvccStats::at(self.stats().last_update_nanos),
            );
        }
        Ok(result)
    }

    /// A range tombstone at or below `until` hides the version of `user_key` at `time`.
    fn is_deleted_since(&self, user_key: &[u8], time: Timestamp, until: Timestamp) -> bool {
        let since = self
            .deletions(user_key)
            .and_then(|stack| hidden_since(stack, time));
        since.is_some_and(|since| since <= until)
    }

    fn collect_inline(&mut self, iter: &mut VersionIter, key: &GcKey, bytes: usize) -> GcResult {
        self.touch(&key.user_key);
        let family = self.family();
        self.batch.delete_cf(family, iter.engine_key());
        iter.next();
        let now = self.stats().last_update_nanos;
        let mut removed = self.weigh(&key.user_key);
        removed.inline(bytes);
        self.account(removed.finish(), crate::MvccStats::at(now));
        GcResult { versions: 1, keys: 1 }
    }

    /// Removes all that lies from `start` to before `end`, engine's keys, by one range deletion, after it has seen that all of it is garbage at
    /// `threshold`.
    ///
    /// # Errors
    /// `InvalidArgument` naming a version that is no garbage, or an inline value. Nothing is written then.
    pub(crate) fn garbage_collect_run(
        &mut self,
        start: &[u8],
        end: &[u8],
        threshold: Timestamp,
    ) -> Result<GcResult> {
        let now = self.stats().last_update_nanos;
        let mut iter = self.reader().between(start.to_vec(), end.to_vec())?;
        let mut result = GcResult::default();
        let mut total = crate::MvccStats::at(now);
        let run_key = MvccKey::decode(start)?;
        iter.seek_to_first();
        while let Some(first) = iter.current()? {
            if first.timestamp.is_zero() {
                return Err(inline_in_the_way(first.user_key));
            }
            let user_key = first.user_key.to_vec();
            // Only the first key of a run can have versions above it.
            let above = match result.versions == 0 && run_key.user_key == user_key {
                true => version_above(&self.reader(), &run_key)?,
                false => None,
            };
            let hidden = above.is_some_and(|above| above <= threshold);
            let hidden = hidden || self.is_deleted_since(&user_key, first.timestamp, threshold);
            if first.timestamp > threshold || !hidden && !is_tombstone(first.stored) {
                return Err(Error::invalid_argument(format!(
                    "{} at {} is no garbage at the threshold {threshold}",
                    Shown(&user_key),
                    first.timestamp
                )));
            }
            let mut removed = self.weigh(&user_key);
            if let Some(above) = above {
                removed.stands_below(above);
            }
            while let Some(version) = iter.current()?.filter(|version| version.user_key == user_key) {
                removed.version(version.timestamp, version.stored.len());
                result.versions += 1;
                iter.next();
            }
            result.keys += u64::from(above.is_none());
            total += removed.finish();
        }
        self.counters += iter.counters;
        if result.versions > 0 {
            self.touch_all();
            let family = self.family();
            self.batch.delete_range_cf(family, start, end);
            self.account(total, crate::MvccStats::at(now));
        }
        Ok(result)
    }
}

/// The time of the version right above `key`, if there is one of the same user key.
fn version_above(reader: &Reader<'_>, key: &MvccKey<'_>) -> Result<Option<Timestamp>> {
    let mut iter = reader.versions_of_one()?;
    iter.seek_for_prev(key.user_key, key.timestamp.next());
    iter.time_of(key.user_key)
}

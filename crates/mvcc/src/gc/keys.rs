//! Garbage collection of given keys, at a cost proportional to the versions removed.
//!
//! A collection removes all versions of a key at or below a time. Where few versions stay above it, one
//! iterator moves forwards past them and over those to remove, and is then at the next key. Where many stay,
//! a second iterator moves from the key's oldest version up to the first that stays. That takes one seek,
//! however many stay, and also yields the time of the version above, which ages need. The choice adapts from
//! key to key. A history that is collected page by page is not walked again for each page.

use crate::error::{Error, Result, Shown};
use crate::key::mvcc_key::{MvccKey, next_user_key};
use crate::key::range_stack::hidden_since;
use crate::key::span::Span;
use crate::key::timestamp::Timestamp;
use crate::read::reader::Reader;
use crate::read::version_iter::{VersionIter, mixed};
use crate::write::batch::MvccBatch;
use crate::write::clear::Runs;

/// A key, and the time up to which its versions are removed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GcKey {
    /// The user key.
    pub user_key: Vec<u8>,
    /// The last version to remove; [`Timestamp::ZERO`] removes an inline value.
    pub timestamp: Timestamp,
}

/// The result of a collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GcResult {
    /// Versions and inline values removed.
    pub versions: u64,
    /// Keys removed entirely.
    pub keys: u64,
}

impl std::ops::AddAssign for GcResult {
    fn add_assign(&mut self, other: GcResult) {
        self.versions += other.versions;
        self.keys += other.keys;
    }
}

impl MvccBatch<'_> {
    /// Removes the versions of each of `keys` at or below its time. Sorts them; of several times of a key the
    /// latest counts. Keys that do not exist or have no such version are skipped. [`Timestamp::ZERO`], which
    /// is below all versions, is for inline values, and no other time removes one.
    ///
    /// The versions above the time cost a few steps or a seek, however many they are. The versions removed
    /// cost a step and a deletion each.
    ///
    /// # Errors
    /// `InvalidArgument` for a negative time, and if the newest version of a key would be removed although it
    /// is neither a deletion nor hidden by a range tombstone, and thus is not garbage. Nothing is removed
    /// then.
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
        let end = next_user_key(&last.user_key);
        let span = Span::new(&first.user_key, &end);
        let mut walk = Walk {
            span,
            last: &last.user_key,
            iter: self.reader().versions(span)?,
            back: None,
            looks_further: 0,
            removed: Vec::new(),
        };
        for times in keys.chunk_by(|key, later| key.user_key == later.user_key) {
            let takes_inline = times[0].timestamp.is_zero();
            result += self.collect(&mut walk, &times[times.len() - 1], takes_inline)?;
        }
        self.counters += walk.iter.counters;
        self.counters += walk.back.map_or_else(Default::default, |back| back.counters);
        Ok(result)
    }

    fn collect(&mut self, walk: &mut Walk<'_>, key: &GcKey, takes_inline: bool) -> Result<GcResult> {
        let user_key = &key.user_key[..];
        walk.removed.clear();
        // Where many versions stay, the backward iterator is used at once.
        let above = match walk.iter.steps.get() > 1 || takes_inline {
            true => {
                let newest = match walk.go_to(user_key)? {
                    Some(time) if time.is_zero() && takes_inline => {
                        return self.collect_inline(&mut walk.iter, key);
                    }
                    Some(time) if !time.is_zero() => time,
                    _ => return Ok(GcResult::default()),
                };
                match walk.pass_kept(key, newest)? {
                    Some(above) => {
                        self.remove_forwards(walk, user_key)?;
                        above
                    }
                    None => self.remove_backwards(walk, key)?,
                }
            }
            false => self.remove_backwards(walk, key)?,
        };
        self.account_removed(user_key, &walk.removed, above)
    }

    /// Removes the version of `user_key` at the iterator's position, if there is one, and all below it.
    fn remove_forwards(&mut self, walk: &mut Walk<'_>, user_key: &[u8]) -> Result<()> {
        while let Some(time) = walk.iter.time_of(user_key)? {
            let is_first = walk.removed.is_empty();
            self.remove(&mut walk.iter, time, is_first, &mut walk.removed)?;
            walk.iter.next();
        }
        Ok(())
    }

    /// Removes the versions of a key from the oldest up to its time. Returns the time of the version above,
    /// if there is one.
    fn remove_backwards(&mut self, walk: &mut Walk<'_>, key: &GcKey) -> Result<Option<Timestamp>> {
        let user_key = &key.user_key[..];
        let iter = match &mut walk.back {
            Some(back) => back,
            // After the last key, no further key needs the forward iterator.
            None if user_key == walk.last => &mut walk.iter,
            back => back.insert(self.reader().versions(walk.span)?),
        };
        iter.seek_before(&next_user_key(user_key))?;
        let mut above = None;
        while let Some(time) = iter.time_of(user_key)? {
            if time > key.timestamp {
                above = Some(time);
                break;
            }
            if time.is_zero() {
                match walk.removed.is_empty() {
                    true => break,
                    false => return Err(mixed(user_key)),
                }
            }
            self.remove(iter, time, true, &mut walk.removed)?;
            iter.prev();
        }
        walk.looks_further = (walk.looks_further + 1) % KEYS_PER_LOOK;
        if above.is_some() && walk.looks_further == 0 {
            iter.prev();
            // Only one version of the key stays, so a few steps would have sufficed.
            if iter.time_of(user_key)?.is_none() {
                walk.iter.steps.found();
            }
        }
        walk.removed.reverse();
        Ok(above)
    }

    /// Removes the version at `time` at the position of `iter`. Its value is examined only if it may be the
    /// newest.
    #[inline]
    fn remove(
        &mut self,
        iter: &mut VersionIter,
        time: Timestamp,
        may_be_newest: bool,
        removed: &mut Vec<Removed>,
    ) -> Result<()> {
        let value_len = match self.options().statistics {
            true => iter.value_len()?,
            false => 0,
        };
        removed.push(Removed {
            time,
            value_len,
            deletes: may_be_newest && iter.is_tombstone()?,
        });
        self.batch.delete_cf(self.family(), iter.engine_key());
        Ok(())
    }

    /// Accounts for versions of `user_key` that were removed, from the newest down. `above` is the time of
    /// the version above them, if any. Fails if they are not garbage.
    fn account_removed(
        &mut self,
        user_key: &[u8],
        removed: &[Removed],
        above: Option<Timestamp>,
    ) -> Result<GcResult> {
        let Some(newest) = removed.first() else {
            return Ok(GcResult::default());
        };
        let is_garbage =
            above.is_some() || newest.deletes || self.is_deleted_since(user_key, newest.time, Timestamp::MAX);
        if !is_garbage {
            return Err(Error::invalid_argument(format!(
                "{} at {} is not garbage: it is the newest version, and not a deletion",
                Shown(user_key),
                newest.time
            )));
        }
        self.touch(user_key);
        self.record_removed(newest.time);
        if self.options().statistics {
            let mut weight = self.weigh(user_key);
            if let Some(above) = above {
                weight.stands_below(above);
            }
            for version in removed {
                weight.version(version.time, version.value_len);
            }
            let now = self.stats().last_update_nanos;
            self.account(weight.finish(), crate::MvccStats::at(now));
        }
        Ok(GcResult {
            versions: removed.len() as u64,
            keys: u64::from(above.is_none()),
        })
    }

    /// True if a range tombstone at or below `until` hides the version of `user_key` at `time`.
    fn is_deleted_since(&self, user_key: &[u8], time: Timestamp, until: Timestamp) -> bool {
        let since = self
            .deletions(user_key)
            .and_then(|stack| hidden_since(stack, time));
        since.is_some_and(|since| since <= until)
    }

    /// Removes the inline value of a key, at which `iter` is positioned.
    fn collect_inline(&mut self, iter: &mut VersionIter, key: &GcKey) -> Result<GcResult> {
        self.touch(&key.user_key);
        let mut removed = self.weigh(&key.user_key);
        removed.inline(iter.value_len()?);
        self.batch.delete_cf(self.family(), iter.engine_key());
        iter.next();
        let now = self.stats().last_update_nanos;
        self.account(removed.finish(), crate::MvccStats::at(now));
        Ok(GcResult { versions: 1, keys: 1 })
    }

    /// Removes the garbage at `threshold` in the engine keys from `start` up to `end`, exclusive: by one
    /// range deletion if everything is garbage. Entries written there since the plan are kept, and split the
    /// run.
    pub(crate) fn garbage_collect_run(
        &mut self,
        start: &[u8],
        end: &[u8],
        threshold: Timestamp,
    ) -> Result<GcResult> {
        let now = self.stats().last_update_nanos;
        let mut iter = self.reader().between(start.to_vec(), end.to_vec())?;
        let mut runs = Runs::new(self.options().min_range_entries);
        let statistics = self.options().statistics;
        let mut is_parted = false;
        let mut result = GcResult::default();
        let mut total = crate::MvccStats::at(now);
        let run_key = MvccKey::decode(start)?;
        let mut user_key = Vec::new();
        iter.seek_to_first();
        while let Some(first) = iter.current()? {
            user_key.clear();
            user_key.extend_from_slice(first.user_key);
            // Only the first key of a run can have versions before the run.
            let mut above = match run_key.user_key == user_key {
                true => version_above(&self.reader(), &run_key)?,
                false => None,
            };
            let mut removed = self.weigh(&user_key);
            let mut versions = 0;
            while let Some(time) = iter.time_of(&user_key)? {
                // All versions below a garbage version are garbage.
                if versions == 0 {
                    let hidden = above.is_some_and(|above| above <= threshold)
                        || self.is_deleted_since(&user_key, time, threshold);
                    let is_garbage = hidden || iter.is_tombstone()?;
                    if time.is_zero() || time > threshold || !is_garbage {
                        runs.end(iter.engine_key());
                        is_parted = true;
                        above = Some(time);
                        iter.next();
                        continue;
                    }
                    if let Some(above) = above {
                        removed.stands_below(above);
                    }
                }
                if statistics {
                    removed.version(time, iter.value_len()?);
                }
                runs.add(iter.engine_key());
                versions += 1;
                iter.next();
            }
            result.versions += versions;
            result.keys += u64::from(versions > 0 && above.is_none());
            total += removed.finish();
        }
        self.counters += iter.counters;
        if result.versions > 0 {
            self.touch_all();
            match is_parted {
                false => self.batch.delete_range_cf(self.family(), start, end),
                true => {
                    runs.end(end);
                    self.delete_runs(runs);
                }
            }
            self.account(total, crate::MvccStats::at(now));
        }
        Ok(result)
    }
}

/// A version to remove.
struct Removed {
    time: Timestamp,
    /// Bytes of the value; 0 without statistics.
    value_len: usize,
    /// True if the version is a deletion. Only known for the newest version of a key.
    deletes: bool,
}

/// If many versions of each key stay, one key in this many is checked for whether that is still so: the check
/// costs a step.
const KEYS_PER_LOOK: u32 = 8;

/// The two iterators that reach the versions to remove.
struct Walk<'a> {
    /// The span of all keys.
    span: Span<'a>,
    /// The last key.
    last: &'a [u8],
    /// Moves forwards over the keys, and learns how many steps are worth trying.
    iter: VersionIter,
    /// The iterator that moves from the oldest version of a key to newer versions. `None` before its first
    /// use.
    back: Option<VersionIter>,
    /// Counts keys: at every `KEYS_PER_LOOK`th key the collection checks whether many versions of each key
    /// stay.
    looks_further: u32,
    /// The versions of the current key that are removed, from the newest down.
    removed: Vec<Removed>,
}

impl Walk<'_> {
    /// Moves to the first entry of `user_key`, and returns its time. `None` if there is none.
    fn go_to(&mut self, user_key: &[u8]) -> Result<Option<Timestamp>> {
        let iter = &mut self.iter;
        let stands = iter.current()?.map(|version| version.user_key.cmp(user_key));
        // After the last key collected, the iterator is often at the next one already.
        if stands.is_none_or(|order| order.is_lt()) {
            iter.seek_key(user_key);
        }
        iter.time_of(user_key)
    }

    /// Moves from the newest version of a key past those that stay, by a few steps. Returns the time of the
    /// last of them, if any; `None` if there are too many.
    fn pass_kept(&mut self, key: &GcKey, newest: Timestamp) -> Result<Option<Option<Timestamp>>> {
        if newest <= key.timestamp {
            return Ok(Some(None));
        }
        let iter = &mut self.iter;
        let mut above = newest;
        for _ in 0..iter.steps.get() {
            iter.next();
            match iter.time_of(&key.user_key)? {
                Some(time) if time > key.timestamp => above = time,
                _ => {
                    iter.steps.found();
                    return Ok(Some(Some(above)));
                }
            }
        }
        iter.steps.missed();
        Ok(None)
    }
}

/// The time of the version directly above `key`, if there is one of the same user key.
fn version_above(reader: &Reader<'_>, key: &MvccKey<'_>) -> Result<Option<Timestamp>> {
    let mut iter = reader.versions_of_one()?;
    iter.seek_for_prev(key.user_key, key.timestamp.next());
    iter.time_of(key.user_key)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use esker::{Db, Options, WriteOptions};
    use vfs::MemFs;

    use super::*;
    use crate::{BatchOptions, MvccReadOptions, MvccStore, Value};

    fn at(wall: i64) -> Timestamp {
        Timestamp::from_nanos(wall)
    }

    /// Keys k0 to k9, all deleted, and the run that they form.
    fn deleted_keys(options: BatchOptions) -> (MvccStore, Vec<u8>, Vec<u8>) {
        let mut opened = Options {
            create_if_missing: true,
            fs: Arc::new(MemFs::new()),
            ..Options::default()
        };
        crate::configure(&mut opened.column_family);
        let db = Db::open(&opened, Path::new("/db")).unwrap();
        let store = MvccStore::open(&db, &db.default_column_family(), options, 0).unwrap();
        let mut batch = store.begin(0);
        for key in 0..10 {
            let key = format!("k{key}").into_bytes();
            batch.put(&key, at(1), Value::Bytes(b"value")).unwrap();
            batch.put(&key, at(2), Value::Bytes(b"value")).unwrap();
            batch.delete(&key, at(3)).unwrap();
        }
        batch.commit(&WriteOptions::default()).unwrap();
        let start = MvccKey {
            user_key: b"k0",
            timestamp: at(3),
        };
        (store, start.encode(), b"k9\0\0".to_vec())
    }

    /// A run is checked again when it is removed: entries written since the plan are kept.
    #[test]
    fn a_run_passes_over_what_came_since() {
        for min_range_entries in [0, 4, 64] {
            let (store, start, end) = deleted_keys(BatchOptions {
                min_range_entries,
                ..BatchOptions::default()
            });
            store.advance_threshold(at(5)).unwrap();
            let mut batch = store.begin(0);
            batch.clear_range(Span::new(b"k2", b"k4")).unwrap();
            let inline = Some(Value::Bytes(b"inline"));
            batch.put_inline(b"k2", inline).unwrap();
            batch.put_inline(b"k55", inline).unwrap();
            batch.put(b"k5", at(6), Value::Bytes(b"again")).unwrap();
            batch.put(b"k3", at(6), Value::Bytes(b"again")).unwrap();
            batch.put(b"k9", at(7), Value::Bytes(b"again")).unwrap();
            batch.put(b"k0", at(7), Value::Bytes(b"again")).unwrap();
            batch.commit(&WriteOptions::default()).unwrap();
            let mut batch = store.begin(0);
            let removed = batch.garbage_collect_run(&start, &end, at(5)).unwrap();
            assert_eq!((removed.versions, removed.keys), (24, 5));
            batch.commit(&WriteOptions::default()).unwrap();
            let options = MvccReadOptions {
                tombstones: true,
                ..MvccReadOptions::default()
            };
            let found = store.scan(Span::ALL, at(6), &options).unwrap();
            let keys: Vec<&[u8]> = found.rows.iter().map(|row| row.user_key).collect();
            assert_eq!(keys, [&b"k2"[..], b"k3", b"k5", b"k55"]);
            assert_eq!(store.scan(Span::ALL, at(9), &options).unwrap().rows.len(), 6);
            let stats = store.stats(0).unwrap();
            assert_eq!((stats.val_count, stats.live_count), (6, 6));
            assert_eq!(stats, store.recount(0).unwrap());
        }
    }

    #[test]
    fn only_no_time_takes_an_inline_value() {
        let (store, ..) = deleted_keys(BatchOptions::default());
        let mut batch = store.begin(0);
        batch.put_inline(b"i", Some(Value::Int(1))).unwrap();
        let key = |timestamp| GcKey {
            user_key: b"i".to_vec(),
            timestamp,
        };
        for time in [at(1), Timestamp::MAX] {
            let removed = batch.garbage_collect(&mut [key(time)]).unwrap();
            assert_eq!(removed, GcResult::default());
        }
        let both = &mut [key(Timestamp::MAX), key(Timestamp::ZERO)];
        assert_eq!(batch.garbage_collect(both).unwrap().versions, 1);
        assert!(!batch.put_inline(b"i", None).unwrap());
    }
}

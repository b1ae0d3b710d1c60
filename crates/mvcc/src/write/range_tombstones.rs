//! Writing and removal of range tombstones.

use std::sync::Arc;

use crate::error::{Error, Result, Shown};
use crate::key::ranges::{Cover, Order, RangeTombstone};
use crate::key::span::Span;
use crate::key::stats::{MvccStats, whole_seconds};
use crate::key::timestamp::Timestamp;
use crate::read::count_stats::count_versions;
use crate::read::counters::ReadCounters;
use crate::read::range_mask::Mask;
use crate::read::reader::Reader;
use crate::read::version_iter::VersionIter;
use crate::write::batch::{MvccBatch, inline_in_the_way};

/// The options of a range tombstone write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RangeTombstoneOptions {
    /// True to write nothing if range tombstones already hide all versions in the span; the deletion of a
    /// single key counts as a version too. Default: false.
    pub idempotent: bool,
    /// The statistics of the span, if the caller knows them. Its keys are then read only where table
    /// properties show times at or above that of the range tombstone, and with `idempotent` up to the first
    /// that is not hidden. The statistics must be exact, and the span must have no inline values. Default:
    /// none.
    pub known: Option<MvccStats>,
}

impl MvccBatch<'_> {
    /// Deletes every key of `span`, which must have an end, at `timestamp`, including keys that do not exist:
    /// by one row, however many keys there are. Versions in it stay, and are read as of earlier times, until
    /// they are garbage collected. With statistics it reads the newest version of each key that no other
    /// range tombstone deletes already; without them, or with [`known`](RangeTombstoneOptions::known), only
    /// keys that may be too recent. Returns whether it was written.
    ///
    /// The range tombstone takes memory for its bounds and for a time in each fragment it overlaps, and each
    /// change copies the list of fragments. The row holds all spans deleted at one time: a caller that
    /// deletes many spans should do so in one batch, or at different times.
    ///
    /// # Errors
    /// `NotSupported` without [`BatchOptions::range_tombstones`](crate::BatchOptions::range_tombstones), and
    /// for a batch that is not a store's; [`Error::WriteTooOld`] with the first key that has a version, or
    /// the start of a range tombstone, at or above `timestamp`; [`Error::BelowThreshold`]; `InvalidArgument`
    /// for a span that is empty or has no end, and for an inline value among the keys that are read. Nothing
    /// is written then.
    pub fn delete_range_using_tombstone(
        &mut self,
        span: Span<'_>,
        timestamp: Timestamp,
        options: &RangeTombstoneOptions,
    ) -> Result<bool> {
        self.check_range(span)?;
        self.check_time(timestamp)?;
        let now = self.stats().last_update_nanos;
        let live = match options.known {
            None if self.options().statistics => {
                let mut found = Visible::at(now);
                self.check_not_newer(span, timestamp, Some(&mut found))?;
                if options.idempotent && !found.any {
                    return Ok(false);
                }
                found.live
            }
            known => {
                self.check_not_newer(span, timestamp, None)?;
                if options.idempotent && !self.has_visible(span)? {
                    return Ok(false);
                }
                known.unwrap_or(MvccStats::at(now))
            }
        };
        self.account(
            MvccStats::at(now),
            MvccStats {
                live_count: -live.live_count,
                live_bytes: -live.live_bytes,
                gc_bytes_age: live.live_bytes.saturating_mul(whole_seconds(timestamp.wall, now)),
                ..MvccStats::at(now)
            },
        );
        self.edit_ranges(span, |stack| [&[timestamp], stack].concat());
        Ok(true)
    }

    /// Adds range tombstones of another store, as [`export_to_sst`](crate::Reader::export_to_sst) returns
    /// them: history, which may be below existing versions. With statistics it reads their spans twice.
    ///
    /// # Errors
    /// Those of [`delete_range_using_tombstone`](Self::delete_range_using_tombstone), except `WriteTooOld`
    /// and those of inline values, which are not deleted.
    pub fn import_range_tombstones(&mut self, tombstones: &[RangeTombstone]) -> Result<()> {
        for tombstone in tombstones {
            self.check_range(Span::new(&tombstone.start, &tombstone.end))?;
            tombstone
                .timestamps
                .iter()
                .try_for_each(|time| self.check_time(*time))?;
        }
        self.all_or_nothing(|batch| {
            batch.touch_all();
            for tombstone in tombstones {
                let span = Span::new(&tombstone.start, &tombstone.end);
                let before = batch.count_versions(span)?;
                batch.edit_ranges(span, |stack| {
                    let mut times = [&tombstone.timestamps, stack].concat();
                    times.sort_unstable_by(|a, b| b.cmp(a));
                    times.dedup();
                    times
                });
                let after = batch.count_versions(span)?;
                batch.account(before, after);
            }
            Ok(())
        })
    }

    /// Removes the range tombstones in `span` at or below `timestamp`, once the versions they hide have been
    /// collected. Returns the number of fragment times removed.
    ///
    /// # Errors
    /// `InvalidArgument` naming a version that one of them hides. Nothing is removed then.
    pub fn garbage_collect_range_tombstones(&mut self, span: Span<'_>, timestamp: Timestamp) -> Result<u64> {
        let Some(ranges) = &self.ranges else {
            return Ok(0);
        };
        let garbage = ranges.window(span, Timestamp::ZERO, timestamp);
        for fragment in garbage.fragments() {
            let span = Span::new(&fragment.start, &fragment.end);
            let mut left = self
                .reader()
                .window(span, Timestamp::ZERO, fragment.stack[0], true)?;
            if let Some(left) = left.next()? {
                return Err(Error::invalid_argument(format!(
                    "the range tombstone at {} hides {} at {}",
                    fragment.stack[0],
                    Shown(left.user_key),
                    left.timestamp
                )));
            }
        }
        self.touch_all();
        Ok(self.remove_ranges(span, |time| time <= timestamp))
    }

    /// Removes the range tombstones in `span` at the times that `goes` accepts. Returns the number of
    /// fragment times removed.
    pub(crate) fn remove_ranges(&mut self, span: Span<'_>, goes: impl Fn(Timestamp) -> bool) -> u64 {
        let Some(ranges) = &self.ranges else {
            return 0;
        };
        let times = ranges
            .overlapping(span)
            .iter()
            .flat_map(|fragment| fragment.stack.iter());
        let removed = times.filter(|time| goes(**time)).count() as u64;
        if removed > 0 {
            self.edit_ranges(span, |stack| {
                stack.iter().copied().filter(|time| !goes(*time)).collect()
            });
        }
        removed
    }

    fn edit_ranges(&mut self, span: Span<'_>, change: impl Fn(&[Timestamp]) -> Vec<Timestamp>) {
        let now = self.stats().last_update_nanos;
        let mut ranges = self.ranges.take().unwrap_or_default();
        let changed = self.changed_times.get_or_insert_default();
        let delta = Arc::make_mut(&mut ranges).edit(span, now, changed, change);
        self.ranges = (!ranges.is_empty()).then_some(ranges);
        self.account(MvccStats::at(now), delta);
    }

    fn check_range(&self, span: Span<'_>) -> Result<()> {
        self.check_ranges_allowed()?;
        self.check_size(span.start, None)?;
        self.check_size(span.end.unwrap_or_default(), None)?;
        if span.is_empty() || span.end.is_none() {
            return Err(Error::invalid_argument(
                "a range tombstone needs an end after its start",
            ));
        }
        Ok(())
    }

    /// `NotSupported` if the batch may not write range tombstones.
    pub(crate) fn check_ranges_allowed(&self) -> Result<()> {
        if !self.options().range_tombstones {
            return Err(base::Error::not_supported(
                "the batch cannot write range tombstones: set BatchOptions::range_tombstones",
            )
            .into());
        }
        if !self.knows_ranges {
            return Err(base::Error::not_supported(
                "range tombstones can be written only by batches of an MvccStore",
            )
            .into());
        }
        Ok(())
    }

    /// The statistics of the versions in `span`, if the batch keeps any.
    fn count_versions(&self, span: Span<'_>) -> Result<MvccStats> {
        let now = self.stats().last_update_nanos;
        match self.options().statistics {
            true => Ok(count_versions(&self.reader(), span, now)?.0),
            false => Ok(MvccStats::at(now)),
        }
    }

    /// True for a deletion that compactions may have dropped already: the result must be the same before and
    /// after they do.
    fn is_collected(&self, newest: &NewestOf<'_>, iter: &mut VersionIter) -> Result<bool> {
        Ok(newest.timestamp <= self.collected && iter.is_tombstone()?)
    }

    /// True if the newest version of a key in `span` is not hidden by a range tombstone. Reads up to the
    /// first such key.
    fn has_visible(&mut self, span: Span<'_>) -> Result<bool> {
        let mut found = false;
        let reader = self.reader();
        let counters = walk_newest(&reader, span, |newest, iter| {
            found = !newest.is_hidden && !self.is_collected(&newest, iter)?;
            Ok(!found)
        })?;
        drop(reader);
        self.counters += counters;
        Ok(found)
    }

    /// Fails if `span` has a version or range tombstone at or above `timestamp`. With `visible` the check
    /// reads every key, and adds to it the statistics of keys that are not hidden.
    fn check_not_newer(
        &mut self,
        span: Span<'_>,
        timestamp: Timestamp,
        visible: Option<&mut Visible>,
    ) -> Result<()> {
        // The first key with a version or range tombstone at or above `timestamp`, and the newest time of all
        // of these.
        let mut newer: Option<(Vec<u8>, Timestamp)> = None;
        let mut note = |key: &[u8], time: Timestamp| {
            let (first, newest) = newer.get_or_insert_with(|| (key.to_vec(), time));
            *newest = time.max(*newest);
            if key < &first[..] {
                *first = key.to_vec();
            }
        };
        if let Some(ranges) = &self.ranges {
            for fragment in ranges.overlapping(span) {
                if fragment.stack[0] >= timestamp {
                    note(span.start.max(&fragment.start), fragment.stack[0]);
                }
            }
        }
        let reader = self.reader();
        let counters = if let Some(visible) = visible {
            walk_newest(&reader, span, |newest, iter| {
                if newest.timestamp >= timestamp {
                    note(newest.user_key, newest.timestamp);
                }
                visible.any |= !newest.is_hidden && !self.is_collected(&newest, iter)?;
                if !newest.is_hidden && !iter.is_tombstone()? {
                    let mut weight = self.weigh(newest.user_key);
                    weight.version(newest.timestamp, iter.value_len()?);
                    visible.live += weight.finish();
                }
                Ok(true)
            })?
        } else {
            let mut iter = reader.window(span, timestamp.prev(), Timestamp::MAX, true)?;
            while let Some(version) = iter.next_key()? {
                note(version.user_key, version.timestamp);
            }
            iter.counters()
        };
        drop(reader);
        self.counters += counters;
        match newer {
            Some((key, newest)) => Err(Error::WriteTooOld {
                key,
                timestamp,
                actual: newest.next(),
            }),
            None => Ok(()),
        }
    }
}

/// The versions that no range tombstone hides yet.
struct Visible {
    /// True if a version or a deletion is not hidden.
    any: bool,
    /// The statistics of the live versions.
    live: MvccStats,
}

impl Visible {
    fn at(now: i64) -> Visible {
        Visible {
            any: false,
            live: MvccStats::at(now),
        }
    }
}

/// The newest version of a key.
struct NewestOf<'a> {
    user_key: &'a [u8],
    timestamp: Timestamp,
    /// True if a range tombstone hides the version.
    is_hidden: bool,
}

/// Calls `visit` with the newest version of each key in `span`, with the iterator at that version, until it
/// returns false. Some keys that range tombstones hide are skipped. Returns the cost. `InvalidArgument` for
/// an inline value.
fn walk_newest(
    reader: &Reader<'_>,
    span: Span<'_>,
    mut visit: impl FnMut(NewestOf<'_>, &mut VersionIter) -> Result<bool>,
) -> Result<ReadCounters> {
    let mut iter = reader.versions(span)?;
    let mut cover = reader.cover(Order::Forwards);
    let mut mask = Mask::new(reader, span);
    let mut user_key = Vec::new();
    iter.seek_to_first();
    while let Some(version) = iter.current()? {
        user_key.clear();
        user_key.extend_from_slice(version.user_key);
        let time = version.timestamp;
        if time.is_zero() {
            return Err(inline_in_the_way(&user_key));
        }
        let stack = cover.as_mut().and_then(|cover| cover.stack(&user_key));
        let deleted = stack.map(|stack| stack[0]).filter(|newest| *newest >= time);
        let newest = NewestOf {
            user_key: &user_key,
            timestamp: time,
            is_hidden: deleted.is_some(),
        };
        if !visit(newest, &mut iter)? {
            break;
        }
        let skips = mask.note(deleted.is_some());
        let fragment = cover.as_ref().and_then(Cover::fragment).filter(|_| skips);
        match (deleted, fragment) {
            (Some(newest), Some(fragment)) => {
                mask.skip_forwards(&mut iter, fragment, newest, &user_key)?;
            }
            _ => iter.next_key(),
        }
    }
    let mut counters = iter.counters;
    counters += mask.counters();
    Ok(counters)
}

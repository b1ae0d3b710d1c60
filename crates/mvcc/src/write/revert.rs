//! Reverts a span to an earlier time: removes later versions without a trace, in several calls if there are
//! many.

use std::collections::BTreeSet;

use crate::error::{Error, Result};
use crate::key::mvcc_key::{encoded_suffix_len, next_user_key};
use crate::key::range_stack::Stack;
use crate::key::ranges::{Cover, Order, RangeTombstone, Ranges};
use crate::key::span::Span;
use crate::key::stats::MvccStats;
use crate::key::timestamp::Timestamp;
use crate::read::results::{Resume, ResumeReason};
use crate::read::version_iter::VersionIter;
use crate::write::batch::{MvccBatch, inline_in_the_way};
use crate::write::clear::{Runs, bare};

/// Options of a return to an earlier time: the times and the limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RevertOptions {
    /// The last time to revert: later versions stay. Default: `None`, no end.
    pub until: Option<Timestamp>,
    /// The number of versions, and times of range tombstones, at which it stops, after their key or where
    /// their range tombstone begins. A time counts once, however many spans were deleted at it, because they
    /// are one row. Default: no limit.
    pub max_versions: Option<u64>,
    /// The bytes of keys and values of versions, and of the bounds of range tombstones that count, at which
    /// it stops likewise. Bounds how much it reads and, with statistics, how long other writers wait.
    /// Default: no limit.
    pub max_bytes: Option<u64>,
}

/// The result of a return to an earlier time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RevertResult {
    /// Versions removed.
    pub versions: u64,
    /// Range tombstones removed: times of fragments.
    pub range_tombstones: u64,
    /// The rest of the span, if a limit was reached.
    pub resume: Option<Resume>,
}

impl MvccBatch<'_> {
    /// Reverts `span` to its state at `timestamp`: removes every version above it, up to
    /// [`until`](RevertOptions::until), and the parts of range tombstones of these times in the span, as if
    /// they had never been written. Stops after the key at which a limit of `options` is reached. Later
    /// versions, which stay, are stepped over.
    ///
    /// # Errors
    /// `InvalidArgument` if there is an inline value, which has no history; [`Error::BelowThreshold`] if
    /// versions of that time may be gone. Nothing is written then.
    pub fn revert_to(
        &mut self,
        span: Span<'_>,
        timestamp: Timestamp,
        options: &RevertOptions,
    ) -> Result<RevertResult> {
        if timestamp < self.threshold {
            return Err(Error::BelowThreshold {
                timestamp,
                threshold: self.threshold,
            });
        }
        let until = options.until.unwrap_or(Timestamp::MAX);
        until.check_sign()?;
        if span.is_empty() || until <= timestamp {
            return Ok(RevertResult::default());
        }
        let tombstones = self.ranges.as_deref().map_or_else(Vec::new, |ranges: &Ranges| {
            ranges.window(span, timestamp, until).tombstones()
        });
        let mut iter = self.reader().versions(span)?;
        let mut revert = Revert {
            after: timestamp,
            until,
            cover: self.reader().cover(Order::Forwards),
            runs: Runs::new(self.options().min_range_entries),
            done: Done::default(),
            weighs: self.options().statistics || options.max_bytes.is_some(),
            latest: Timestamp::ZERO,
            before: MvccStats::at(self.stats().last_update_nanos),
            left: MvccStats::at(self.stats().last_update_nanos),
        };
        let resume_at = revert.walk(self, &mut iter, &tombstones, options)?;
        let end = match (iter.current()?, span.end) {
            (Some(_), _) => iter.engine_key().to_vec(),
            (None, Some(end)) => bare(end),
            (None, None) => bare(&next_user_key(&revert.done.last_key)),
        };
        revert.runs.end(&end);
        self.counters += iter.counters;
        drop(iter);
        let mut result = RevertResult {
            versions: revert.done.versions,
            range_tombstones: 0,
            resume: resume_at.map(|(start, reason)| Resume {
                start,
                end: span.end.map(<[u8]>::to_vec),
                reason,
                next_bytes: 0,
            }),
        };
        let done = Span {
            end: result.resume.as_ref().map_or(span.end, |left| Some(&left.start)),
            ..span
        };
        self.record_removed(revert.latest);
        self.touch_all();
        self.delete_runs(revert.runs);
        self.account(revert.before, revert.left);
        if !done.is_empty() {
            let goes = |time| time > timestamp && time <= until;
            result.range_tombstones = self.remove_ranges(done, goes);
        }
        Ok(result)
    }
}

/// A revert in progress.
struct Revert {
    /// The exclusive lower bound of the times whose versions are removed.
    after: Timestamp,
    /// The inclusive upper bound of the times whose versions are removed.
    until: Timestamp,
    cover: Option<Cover>,
    runs: Runs,
    done: Done,
    /// True if the lengths of values are needed.
    weighs: bool,
    /// The latest version that is removed.
    latest: Timestamp,
    /// Statistics of the keys that change, before and after the removal.
    before: MvccStats,
    left: MvccStats,
}

/// The amount that was removed.
#[derive(Default)]
struct Done {
    versions: u64,
    /// The times of range tombstones that count.
    times: BTreeSet<Timestamp>,
    bytes: u64,
    last_key: Vec<u8>,
}

impl Done {
    fn limit(&self, options: &RevertOptions) -> Option<ResumeReason> {
        let reached = |limit: Option<u64>, now| limit.is_some_and(|most| now >= most);
        match () {
            _ if reached(options.max_versions, self.versions + self.times.len() as u64) => {
                Some(ResumeReason::KeyLimit)
            }
            _ if reached(options.max_bytes, self.bytes) => Some(ResumeReason::ByteLimit),
            _ => None,
        }
    }

    fn add(&mut self, tombstone: &RangeTombstone) {
        for time in &tombstone.timestamps {
            if self.times.insert(*time) {
                let bounds = tombstone.start.len() + tombstone.end.len() + 2;
                self.bytes += (bounds + encoded_suffix_len(*time)) as u64;
            }
        }
    }
}

impl Revert {
    /// Walks over keys and range tombstones in order. Returns where it stops and why, if it does not reach
    /// the end.
    fn walk(
        &mut self,
        batch: &MvccBatch<'_>,
        iter: &mut VersionIter,
        tombstones: &[RangeTombstone],
        options: &RevertOptions,
    ) -> Result<Option<(Vec<u8>, ResumeReason)>> {
        let mut tombstones = tombstones.iter().peekable();
        let mut is_first = true;
        iter.seek_to_first();
        loop {
            let at = iter.current()?;
            if let Some(version) = at.filter(|version| version.timestamp.is_zero()) {
                return Err(inline_in_the_way(version.user_key));
            }
            let user_key = at.map(|version| version.user_key.to_vec());
            let next = tombstones.peek().map(|tombstone| &tombstone.start);
            let place = match (&user_key, next) {
                (Some(key), Some(start)) => key.min(start),
                (Some(place), None) | (None, Some(place)) => place,
                (None, None) => return Ok(None),
            };
            // Tombstones that begin at one place are removed together, and each round removes some.
            if let Some(reason) = self.done.limit(options).filter(|_| !is_first) {
                return Ok(Some((place.clone(), reason)));
            }
            is_first = false;
            let is_at_key = user_key.as_ref() == Some(place);
            if let Some(tombstone) = tombstones.next_if(|next| next.start == *place) {
                self.done.add(tombstone);
            }
            if let Some(key) = user_key.filter(|_| is_at_key) {
                self.take_back(batch, iter, &key)?;
                self.done.last_key = key;
            }
        }
    }

    /// Reverts the key at the iterator's position, and moves past it.
    fn take_back(&mut self, batch: &MvccBatch<'_>, iter: &mut VersionIter, user_key: &[u8]) -> Result<()> {
        let mut before = batch.weigh(user_key);
        // Versions that range tombstones hid may be visible again.
        let deleted = self
            .cover
            .as_mut()
            .and_then(|cover| cover.stack(user_key))
            .cloned();
        let kept: Option<Stack> = deleted.as_ref().map(|stack| {
            let stays = |time: &&Timestamp| **time <= self.after || **time > self.until;
            stack.iter().filter(stays).copied().collect()
        });
        let mut left = batch.weigh_deleted(user_key, kept.as_ref());
        let mut changes = deleted.is_some();
        while let Some(time) = iter.time_of(user_key)? {
            if time > self.until {
                before.stands_below(time);
                left.stands_below(time);
                self.runs.end(iter.engine_key());
                iter.next();
                continue;
            }
            let value_len = if self.weighs { iter.value_len()? } else { 0 };
            before.version(time, value_len);
            if time <= self.after {
                // The version becomes the newest of its key, or the version directly below a version that
                // stays.
                left.version(time, value_len);
                self.runs.end(iter.engine_key());
                break;
            }
            self.latest = self.latest.max(time);
            self.done.bytes += (iter.engine_key().len() + value_len) as u64;
            self.done.versions += 1;
            self.runs.add(iter.engine_key());
            changes = true;
            iter.next();
        }
        if changes {
            self.before += before.finish();
            self.left += left.finish();
        }
        if iter.time_of(user_key)?.is_some() {
            iter.next_key();
        }
        Ok(())
    }
}

//! Removing versions without a trace: whole spans, or what was written after a time.

use crate::batch::{MvccBatch, inline_in_the_way};
use crate::error::{Error, Result};
use crate::key::{MvccKey, next_user_key};
use crate::ranges::Order;
use crate::reader::Span;
use crate::scan::{Resume, ResumeReason};
use crate::stats::count_versions;
use crate::timestamp::Timestamp;

/// How much is taken back to an earlier time at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RevertOptions {
    /// Versions with which it stops, behind their key; range tombstones are not counted. Default: no limit.
    pub max_versions: Option<u64>,
    /// Bytes of keys and values of versions with which it stops, behind their key: how much it reads, and with statistics keeps others waiting.
    /// Default: no limit.
    pub max_bytes: Option<u64>,
}

/// What a return to an earlier time has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RevertResult {
    /// Versions removed.
    pub versions: u64,
    /// What is left of the span.
    pub resume: Option<Resume>,
}

impl MvccBatch<'_> {
    /// Removes every version and every inline value in `span`, and what range tombstones have in it, as if it had never been: nothing of it
    /// can be read at any time afterwards. A few are deleted one by one, more by one range deletion. With statistics it reads the span; without, a
    /// few entries.
    pub fn clear_range(&mut self, span: Span<'_>) -> Result<()> {
        if span.is_empty() {
            return Ok(());
        }
        let mut iter = self.reader().versions(span)?;
        iter.seek_to_first();
        let mut few = Vec::new();
        while few.len() < self.options().min_range_entries && iter.current()?.is_some() {
            few.push(iter.engine_key().to_vec());
            iter.next();
        }
        let min = self.options().min_range_entries;
        let is_empty = few.is_empty() && iter.current()?.is_none();
        self.counters += iter.counters;
        drop(iter);
        if is_empty {
            self.clear_ranges(span);
            return Ok(());
        }
        self.touch_all();
        if self.options().statistics {
            let now = self.stats().last_update_nanos;
            let (before, latest) = count_versions(&self.reader(), span, now)?;
            self.note_removed(latest);
            self.account(before, crate::MvccStats::at(now));
        }
        if !self.options().statistics {
            // Nobody has looked.
            self.note_removed(Timestamp::MAX);
        }
        let family = self.family();
        let (start, end) = span.bounds();
        let end = match end {
            Some(end) => end,
            None => self.end_of_all()?,
        };
        match few.len() < min {
            true => few.iter().for_each(|key| self.batch.delete_cf(family, key)),
            false => self.batch.delete_range_cf(family, &start, &end),
        }
        self.clear_ranges(span);
        Ok(())
    }

    fn clear_ranges(&mut self, span: Span<'_>) {
        if self.remove_ranges(span, |_| true) > 0 {
            self.touch_all();
        }
    }

    /// An engine's key behind all there are.
    fn end_of_all(&self) -> Result<Vec<u8>> {
        let mut iter = self.reader().versions(Span::ALL)?;
        iter.seek_to_last();
        let last = iter.current()?.map(|version| next_user_key(version.user_key));
        Ok(bare(&last.unwrap_or_default()))
    }

    /// Takes `span` back to what it was at `timestamp`: removes every version above it, and what range tombstones above it have in the span, as if
    /// they had never been written. Stops behind the key with which it has removed as much as `options` say.
    ///
    /// # Errors
    /// `InvalidArgument` if there is an inline value, which has no history; [`Error::BelowThreshold`] if what was then may be gone. Nothing is
    /// written then.
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
        let mut result = RevertResult::default();
        if span.is_empty() {
            return Ok(result);
        }
        let now = self.stats().last_update_nanos;
        // Otherwise nobody asks how large values are.
        let weighs = self.options().statistics || options.max_bytes.is_some();
        let (mut before, mut after) = (crate::MvccStats::at(now), crate::MvccStats::at(now));
        let mut iter = self.reader().versions(span)?;
        let mut runs = Runs::new(self.options().min_range_entries);
        let (mut latest, mut bytes) = (Timestamp::ZERO, 0);
        let mut user_key = Vec::new();
        let mut cover = self.reader().cover(Order::Forwards);
        iter.seek_to_first();
        while let Some(version) = iter.current()? {
            if version.timestamp.is_zero() {
                return Err(inline_in_the_way(version.user_key));
            }
            user_key.clear();
            user_key.extend_from_slice(version.user_key);
            let reached = |limit: Option<u64>, now| limit.is_some_and(|most| now >= most);
            let limit = match () {
                _ if reached(options.max_versions, result.versions) => Some(ResumeReason::KeyLimit),
                _ if reached(options.max_bytes, bytes) => Some(ResumeReason::ByteLimit),
                _ => None,
            };
            if let Some(reason) = limit {
                result.resume = Some(Resume {
                    start: user_key.clone(),
                    end: span.end.map(<[u8]>::to_vec),
                    reason,
                    next_bytes: 0,
                });
                break;
            }
            // From the newest down to the first that stays, which becomes the newest.
            let mut removed = self.weigh(&user_key);
            // What range tombstones hid may be seen again.
            let deleted = cover.as_mut().and_then(|cover| cover.stack(&user_key));
            let kept = deleted.map(|stack| stack[stack.partition_point(|time| *time > timestamp)..].into());
            let mut any = deleted.is_some();
            let mut left = self.weigh_deleted(&user_key, kept.as_ref());
            while let Some(time) = iter.time_of(&user_key)? {
                let value_len = if weighs { iter.value_len()? } else { 0 };
                removed.version(time, value_len);
                if time <= timestamp {
                    left.version(time, value_len);
                    runs.end(iter.engine_key());
                    break;
                }
                latest = latest.max(time);
                bytes += (iter.engine_key().len() + value_len) as u64;
                runs.add(iter.engine_key());
                result.versions += 1;
                any = true;
                iter.next();
            }
            if any {
                before += removed.finish();
                after += left.finish();
            }
            if iter.time_of(&user_key)?.is_some() {
                iter.next_key();
            }
        }
        let done = Span {
            end: result.resume.as_ref().map_or(span.end, |left| Some(&left.start)),
            ..span
        };
        let end = match iter.current()? {
            Some(_) => iter.engine_key().to_vec(),
            None => bare(&next_user_key(&user_key)),
        };
        runs.end(&end);
        self.counters += iter.counters;
        drop(iter);
        self.note_removed(latest);
        self.touch_all();
        self.delete_runs(runs);
        self.account(before, after);
        if !done.is_empty() {
            self.remove_ranges(done, |time| time > timestamp);
        }
        Ok(result)
    }
}

impl MvccBatch<'_> {
    pub(crate) fn delete_runs(&mut self, runs: Runs) {
        let family = self.family();
        for run in runs.done {
            match run.end {
                Some(end) => self.batch.delete_range_cf(family, &run.keys[0], &end),
                None => run.keys.iter().for_each(|key| self.batch.delete_cf(family, key)),
            }
        }
    }
}

/// The engine's key of `user_key` without a version.
pub(crate) fn bare(user_key: &[u8]) -> Vec<u8> {
    MvccKey {
        user_key,
        timestamp: Timestamp::ZERO,
    }
    .encode()
}

/// Entries that follow each other and are to go: one by one, or as a range where they are many.
pub(crate) struct Runs {
    /// From so many entries on it is a range.
    min: usize,
    done: Vec<Run>,
    open: Run,
    /// Entries of the open run.
    len: usize,
}

#[derive(Default)]
struct Run {
    /// The entries; of a range the first alone.
    keys: Vec<Vec<u8>>,
    /// Where the range ends.
    end: Option<Vec<u8>>,
}

impl Runs {
    pub fn new(min: usize) -> Runs {
        Runs {
            min,
            done: Vec::new(),
            open: Run::default(),
            len: 0,
        }
    }

    pub fn add(&mut self, key: &[u8]) {
        self.len += 1;
        if self.len >= self.min && self.len > 1 {
            self.open.keys.truncate(1);
        } else {
            self.open.keys.push(key.to_vec());
        }
    }

    /// The next entry stays, or is not known: it is at or behind `key`.
    pub fn end(&mut self, key: &[u8]) {
        let mut run = std::mem::take(&mut self.open);
        let len = std::mem::take(&mut self.len);
        if len > 0 && len >= self.min {
            run.end = Some(key.to_vec());
        }
        if len > 0 {
            self.done.push(run);
        }
    }
}

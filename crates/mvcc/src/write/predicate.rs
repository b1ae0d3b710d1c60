//! Deletions of the keys that were written after a time: undoes an import, and leaves older keys.
//!
//! Keys to delete are found by a walk over a window of time, which skips tables without versions in it. They
//! are gathered in *runs*: keys with no other live key between them. A long run is deleted by one range
//! tombstone, a short one by a deletion for each key.

use crate::error::{Error, Result};
use crate::key::mvcc_key::{encoded_len, next_user_key};
use crate::key::ranges::{Cover, Order};
use crate::key::span::Span;
use crate::key::stats::MvccStats;
use crate::key::timestamp::Timestamp;
use crate::read::reader::Reader;
use crate::read::results::{Resume, ResumeReason, check_key};
use crate::read::version_iter::VersionIter;
use crate::write::batch::MvccBatch;
use crate::write::range_tombstones::RangeTombstoneOptions;

/// Options of a predicate delete: the keys, the form of the deletions, the limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PredicateDeleteOptions {
    /// Keys whose newest version was written after this time are deleted. Default: [`Timestamp::ZERO`], all
    /// keys that have a value.
    pub after: Timestamp,
    /// The number of consecutive keys, with no other live key between them, from which one range tombstone
    /// deletes them in place of a deletion each. Default: `None`, never.
    pub min_range_keys: Option<u64>,
    /// The maximum number of keys deleted; with `Some(0)` none. Default: no limit.
    pub max_keys: Option<u64>,
    /// Bytes of keys with their times at which no more keys are taken; a key longer than that is deleted by
    /// itself. Default: no limit.
    pub max_bytes: Option<u64>,
}

/// The result of a deletion of keys written after a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PredicateDeleteResult {
    /// Keys deleted.
    pub keys: u64,
    /// Range tombstones written.
    pub range_tombstones: u64,
    /// The rest of the span: it begins at a key that is to be deleted.
    pub resume: Option<Resume>,
}

impl MvccBatch<'_> {
    /// Deletes at `timestamp` every key of `span` whose newest version is a value and was written after
    /// [`options.after`](PredicateDeleteOptions::after). Keys that were not written since stay, even if they
    /// have been deleted; keys whose newest version is a deletion, or hidden by a range tombstone, are
    /// skipped.
    ///
    /// It reads tables that have versions after that time and, with
    /// [`min_range_keys`](PredicateDeleteOptions::min_range_keys), the keys between those it deletes, up to
    /// the first that stays.
    ///
    /// # Errors
    /// [`Error::WriteTooOld`] if the part of the span that was read has a version or a range tombstone at or
    /// above `timestamp`: it names the first such key, or the start of the range tombstone in the span.
    /// `InvalidArgument` if `after` is negative or not below `timestamp`, for a span whose end is the empty
    /// key, and for an inline value that is met. `NotSupported` for `min_range_keys` without
    /// [`BatchOptions::range_tombstones`](crate::BatchOptions::range_tombstones), or in a batch that is not a
    /// store's. [`Error::BelowThreshold`]. Nothing is written then.
    pub fn predicate_delete_range(
        &mut self,
        span: Span<'_>,
        timestamp: Timestamp,
        options: &PredicateDeleteOptions,
    ) -> Result<PredicateDeleteResult> {
        self.check_time(timestamp)?;
        options.after.check_sign()?;
        if options.after >= timestamp {
            return Err(Error::invalid_argument(format!(
                "no version written after {} can be deleted at {timestamp}",
                options.after
            )));
        }
        if options.min_range_keys.is_some() {
            self.check_ranges_allowed()?;
        }
        if let Some(end) = span.end {
            check_key(end)?;
        }
        if span.is_empty() {
            return Ok(PredicateDeleteResult::default());
        }
        let found = self.find_matches(span, timestamp, options)?;
        let result = PredicateDeleteResult {
            keys: found.runs.iter().map(|run| run.len).sum(),
            range_tombstones: 0,
            resume: found.resume,
        };
        self.all_or_nothing(|batch| batch.delete_matches(found.runs, timestamp, options, result))
    }

    fn delete_matches(
        &mut self,
        runs: Vec<DeletedRun>,
        timestamp: Timestamp,
        options: &PredicateDeleteOptions,
        mut result: PredicateDeleteResult,
    ) -> Result<PredicateDeleteResult> {
        for run in runs {
            if !run.is_long(options) {
                for key in run.keys {
                    let newest = (key.newest, key.value_len);
                    self.write_over(&key.user_key, timestamp, None, Some(newest));
                }
                continue;
            }
            let end = next_user_key(&run.last);
            let tombstone = RangeTombstoneOptions {
                known: Some(run.live),
                ..RangeTombstoneOptions::default()
            };
            self.delete_range_using_tombstone(Span::new(&run.first, &end), timestamp, &tombstone)?;
            result.range_tombstones += 1;
        }
        Ok(result)
    }

    /// Finds the keys to delete. Nothing is written.
    fn find_matches(
        &mut self,
        span: Span<'_>,
        timestamp: Timestamp,
        options: &PredicateDeleteOptions,
    ) -> Result<Matches> {
        let mut matches = Matches::default();
        let reader = self.reader();
        let mut cover = reader.cover(Order::Forwards);
        let mut iter = reader.versions_alone(span, options.after, Timestamp::MAX)?;
        let mut between = match options.min_range_keys {
            Some(_) => Some(Between::new(&reader, span, options.after)?),
            None => None,
        };
        let statistics = self.options().statistics;
        let (mut keys, mut bytes) = (0, 0);
        let mut too_recent = None;
        while iter.advance(true)? {
            let Some(at) = iter.iter().current()? else { break };
            let (user_key, newest) = (at.user_key.to_vec(), at.timestamp);
            if newest >= timestamp {
                too_recent = Some((user_key, newest));
                break;
            }
            let hidden = cover
                .as_mut()
                .and_then(|cover| cover.hides(&user_key, newest, Timestamp::MAX));
            if hidden.is_some() || iter.iter().is_tombstone()? {
                continue;
            }
            let size = encoded_len(&user_key, timestamp) as u64;
            let reason = match () {
                _ if options.max_keys.is_some_and(|most| keys >= most) => Some(ResumeReason::KeyLimit),
                _ if keys > 0 && options.max_bytes.is_some_and(|most| bytes + size > most) => {
                    Some(ResumeReason::ByteLimit)
                }
                _ => None,
            };
            if let Some(reason) = reason {
                matches.resume = Some(Resume {
                    start: user_key,
                    end: span.end.map(<[u8]>::to_vec),
                    reason,
                    next_bytes: 0,
                });
                break;
            }
            keys += 1;
            bytes += size;
            let value_len = if statistics { iter.iter().value_len()? } else { 0 };
            let mut live = self.weigh(&user_key);
            live.version(newest, value_len);
            let key = Match {
                user_key,
                newest,
                value_len,
            };
            let continues = match &mut between {
                Some(between) => between.continues(&key.user_key)?,
                None => true,
            };
            matches.add(key, live.finish(), continues, options);
        }
        let mut counters = iter.counters();
        counters += between.map_or_else(Default::default, |between| between.iter.counters);
        drop(iter);
        drop(reader);
        self.counters += counters;
        self.check_visited(span, timestamp, matches.resume.as_ref(), too_recent)?;
        Ok(matches)
    }

    /// Fails if there is a `too_recent` key, or a range tombstone at or above the time over the part of
    /// `span` that was read.
    fn check_visited(
        &self,
        span: Span<'_>,
        timestamp: Timestamp,
        resume: Option<&Resume>,
        too_recent: Option<(Vec<u8>, Timestamp)>,
    ) -> Result<()> {
        let behind_it = too_recent.as_ref().map(|(key, _)| next_user_key(key));
        let stopped_at = resume.map(|left| &left.start).or(behind_it.as_ref());
        let visited = Span {
            start: span.start,
            end: stopped_at.map(Vec::as_slice).or(span.end),
        };
        let ranges = self.ranges.iter();
        let deleted = ranges
            .flat_map(|ranges| ranges.overlapping(visited))
            .map(|fragment| (span.start.max(&fragment.start).to_vec(), fragment.stack[0]))
            .filter(|(_, newest)| *newest >= timestamp);
        let all: Vec<_> = deleted.chain(too_recent).collect();
        let newest = all.iter().map(|(_, newest)| *newest).max();
        let first = all.into_iter().map(|(key, _)| key).min();
        match (first, newest) {
            (Some(key), Some(newest)) => Err(Error::WriteTooOld {
                key,
                timestamp,
                actual: newest.next(),
            }),
            _ => Ok(()),
        }
    }
}

/// A key to delete.
struct Match {
    user_key: Vec<u8>,
    newest: Timestamp,
    value_len: usize,
}

/// Keys to delete, between which no key stays.
struct DeletedRun {
    first: Vec<u8>,
    last: Vec<u8>,
    len: u64,
    /// The keys, to be deleted one by one if they are too few for a range tombstone; empty once they are
    /// enough.
    keys: Vec<Match>,
    /// The statistics of the run's keys.
    live: MvccStats,
}

impl DeletedRun {
    fn is_long(&self, options: &PredicateDeleteOptions) -> bool {
        options.min_range_keys.is_some_and(|min| self.len >= min)
    }
}

#[derive(Default)]
struct Matches {
    runs: Vec<DeletedRun>,
    resume: Option<Resume>,
}

impl Matches {
    fn add(&mut self, key: Match, live: MvccStats, continues: bool, options: &PredicateDeleteOptions) {
        if !continues || self.runs.is_empty() {
            self.runs.push(DeletedRun {
                first: key.user_key.clone(),
                last: Vec::new(),
                len: 0,
                keys: Vec::new(),
                live: MvccStats::at(live.last_update_nanos),
            });
        }
        let Some(run) = self.runs.last_mut() else { return };
        run.len += 1;
        run.live += live;
        run.last.clone_from(&key.user_key);
        match run.is_long(options) {
            true => run.keys.clear(),
            false => run.keys.push(key),
        }
    }
}

/// Determines whether keys that stay are between two deleted keys.
struct Between {
    iter: VersionIter,
    cover: Option<Cover>,
    after: Timestamp,
    /// True if the iterator is at the last key that is deleted.
    is_open: bool,
}

impl Between {
    fn new(reader: &Reader<'_>, span: Span<'_>, after: Timestamp) -> Result<Between> {
        Ok(Between {
            iter: reader.versions(span)?,
            cover: reader.cover(Order::Forwards),
            after,
            is_open: false,
        })
    }

    /// Moves to `user_key`. True if no live key is between it and the previous key.
    fn continues(&mut self, user_key: &[u8]) -> Result<bool> {
        while self.is_open {
            self.iter.next_key();
            let Some(at) = self.iter.current()? else { break };
            if at.user_key >= user_key {
                return Ok(true);
            }
            let hidden = self
                .cover
                .as_mut()
                .and_then(|cover| cover.hides(at.user_key, at.timestamp, Timestamp::MAX));
            // A key with a live version newer than `after` would be a match, and would have been passed to
            // this function.
            if at.timestamp <= self.after && hidden.is_none() && !self.iter.is_tombstone()? {
                break;
            }
        }
        self.is_open = true;
        self.iter.seek_key(user_key);
        Ok(false)
    }
}

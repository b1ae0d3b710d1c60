//! The versions written in a window of time, without reading all others.
//!
//! Table properties record, for the table and for each run of its blocks, between which times the versions
//! are ([`TimeInterval`]). Two iterators work together: one skips what is outside the window, and finds the
//! keys that may have a version in it; the other skips nothing, and is read. The first iterator alone would
//! be wrong: it could show a version whose deletion by the engine is in a skipped table. It misses no key,
//! because an existing version in the window is in a run whose times meet the window.

use std::sync::Arc;

use esker::{BlockPropertyCollector, BlockPropertyCollectorFactory, BlockPropertyFilter, EntryType, SeqNo};

use crate::counters::ReadCounters;
use crate::error::{Error, Result};
use crate::key::{SENTINEL, decode_suffix, split};
use crate::reader::{Reader, Span, VersionIter};
use crate::rows::Row;
use crate::timestamp::Timestamp;

/// The name of the property.
const NAME: &str = "esker.mvcc.time";
/// The byte that ends a property where there are inline values.
const INLINE: u8 = 1;

/// Records the interval of the versions' times for tables and runs of their blocks, both ends included: two
/// times of an i64 and an i32, big-endian, or nothing where there are no versions; and a byte 1 where there
/// are inline values. [`configure`](crate::configure) adds it.
#[derive(Clone, Copy, Debug, Default)]
pub struct TimeInterval;

impl BlockPropertyCollectorFactory for TimeInterval {
    fn name(&self) -> &str {
        NAME
    }

    fn create(&self) -> Box<dyn BlockPropertyCollector> {
        Box::new(Collector {
            blocks: Times::NONE,
            table: Times::NONE,
        })
    }
}

/// The times from the first to the last, both included; none if the first is later than the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Times {
    first: Timestamp,
    last: Timestamp,
    /// There are inline values, too, which have no time.
    has_inline: bool,
}

impl Times {
    const NONE: Times = Times {
        first: Timestamp::MAX,
        last: Timestamp::ZERO,
        has_inline: false,
    };
    const INLINE: Times = Times {
        has_inline: true,
        ..Times::NONE
    };
    const ALL: Times = Times {
        first: Timestamp::ZERO,
        last: Timestamp::MAX,
        has_inline: true,
    };

    fn add(&mut self, other: Times) {
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        self.has_inline |= other.has_inline;
    }

    fn encode(self, property: &mut Vec<u8>) {
        if self.first <= self.last {
            for time in [self.first, self.last] {
                property.extend_from_slice(&time.wall.to_be_bytes());
                property.extend_from_slice(&time.logical.to_be_bytes());
            }
        }
        if self.has_inline {
            property.push(INLINE);
        }
    }

    /// A malformed property counts as all times.
    fn decode(property: &[u8]) -> Times {
        let (property, has_inline) = match property.split_last() {
            Some((&INLINE, times)) if times.len() % 2 == 0 => (times, true),
            _ => (property, false),
        };
        if property.is_empty() {
            return if has_inline { Times::INLINE } else { Times::NONE };
        }
        let time = |bytes: &[u8]| {
            let (wall, rest) = bytes.split_first_chunk()?;
            let (logical, rest) = rest.split_first_chunk()?;
            let time = Timestamp {
                wall: i64::from_be_bytes(*wall),
                logical: i32::from_be_bytes(*logical),
            };
            rest.is_empty().then_some(time)
        };
        let both = property.split_at_checked(property.len() / 2);
        both.and_then(|(first, last)| {
            Some(Times {
                first: time(first)?,
                last: time(last)?,
                has_inline,
            })
        })
        .unwrap_or(Times::ALL)
    }
}

struct Collector {
    blocks: Times,
    table: Times,
}

impl BlockPropertyCollector for Collector {
    fn add(&mut self, key: &[u8], _value: &[u8], _entry: EntryType, _seqno: SeqNo) {
        match decode_suffix(split(key).1) {
            // A store's record does not belong to a user key.
            Some(Timestamp::ZERO) if key == [SENTINEL] => {}
            Some(Timestamp::ZERO) => self.blocks.add(Times::INLINE),
            Some(time) => self.blocks.add(Times {
                first: time,
                last: time,
                has_inline: false,
            }),
            // A read of this key reports the corruption, so it must not be skipped.
            None => self.blocks.add(Times::ALL),
        }
    }

    fn finish_blocks(&mut self, property: &mut Vec<u8>) {
        self.blocks.encode(property);
        self.table.add(std::mem::replace(&mut self.blocks, Times::NONE));
    }

    fn finish_table(&mut self, property: &mut Vec<u8>) {
        self.table.add(self.blocks);
        self.table.encode(property);
    }
}

/// Skips data without a version above `after` and at or below `until`.
struct Meets {
    after: Timestamp,
    until: Timestamp,
    /// Blocks with inline values are not skipped either.
    wants_inline: bool,
}

impl BlockPropertyFilter for Meets {
    fn name(&self) -> &str {
        NAME
    }

    fn may_match(&self, property: &[u8]) -> bool {
        let times = Times::decode(property);
        let meets = times.first <= self.until && times.last > self.after;
        meets || self.wants_inline && times.has_inline
    }
}

/// Skips data that has neither an inline value nor a version above `time`.
pub(crate) fn above(time: Timestamp) -> Arc<dyn BlockPropertyFilter> {
    Arc::new(Above(time))
}

struct Above(Timestamp);

impl BlockPropertyFilter for Above {
    fn name(&self) -> &str {
        NAME
    }

    fn may_match(&self, property: &[u8]) -> bool {
        let times = Times::decode(property);
        times.has_inline || times.last > self.0
    }
}

/// The versions of a span in a window of time: keys in order, the newest version of each first, including
/// those that range tombstones hide. Inline values have no time, and are skipped.
pub struct Incremental {
    /// Finds the keys that may have a version in the window; `None` if all may.
    candidates: Option<VersionIter>,
    iter: VersionIter,
    after: Timestamp,
    until: Timestamp,
    /// The iteration fails at an inline value.
    refuses_inline: bool,
    /// The current key, which the next move starts from.
    user_key: Vec<u8>,
    started: bool,
}

impl Reader<'_> {
    /// The versions in `span` above `after` and at or below `until`. From [`Timestamp::ZERO`] on it reads all
    /// of the span; from a later time, the tables and runs of blocks that have versions of such times.
    ///
    /// # Errors
    /// [`Error::BelowThreshold`](crate::Error::BelowThreshold) if the window ends at or below a store's
    /// threshold, or begins below it and not with [`Timestamp::ZERO`], because versions of it may be gone.
    /// From [`Timestamp::ZERO`] on it has the remaining ones: those above the threshold, and those that a
    /// reader directly above it sees. `InvalidArgument` for an end at [`Timestamp::ZERO`], and for negative
    /// times.
    pub fn incremental(&self, span: Span<'_>, after: Timestamp, until: Timestamp) -> Result<Incremental> {
        self.check_window(after, until)?;
        self.window(span, after, until, !after.is_zero())
    }

    /// As `incremental`. With `passes_over` it skips data that properties show to be outside; otherwise it
    /// reads all of the span.
    pub(crate) fn window(
        &self,
        span: Span<'_>,
        after: Timestamp,
        until: Timestamp,
        passes_over: bool,
    ) -> Result<Incremental> {
        let candidates = match passes_over {
            true => Some(self.candidates(span, after, until, false)?),
            false => None,
        };
        Ok(Incremental {
            candidates,
            iter: self.versions(span)?,
            after,
            until,
            refuses_inline: false,
            user_key: Vec::new(),
            started: false,
        })
    }

    /// As [`incremental`](Self::incremental), but fails at any inline value.
    pub(crate) fn versions_alone(
        &self,
        span: Span<'_>,
        after: Timestamp,
        until: Timestamp,
    ) -> Result<Incremental> {
        let mut iter = self.window(span, after, until, false)?;
        if !after.is_zero() {
            iter.candidates = Some(self.candidates(span, after, until, true)?);
        }
        iter.refuses_inline = true;
        Ok(iter)
    }

    /// An iterator over the keys that may have versions in the window, and with `wants_inline` those that may
    /// have an inline value.
    fn candidates(
        &self,
        span: Span<'_>,
        after: Timestamp,
        until: Timestamp,
        wants_inline: bool,
    ) -> Result<VersionIter> {
        let meets = Meets {
            after,
            until,
            wants_inline,
        };
        self.filtered(Arc::new(meets)).versions(span)
    }
}

impl Incremental {
    /// The next version; `None` at the end.
    // This is not an `Iterator`, because the result borrows from the current position.
    #[expect(clippy::should_implement_trait, reason = "an iterator cannot lend")]
    pub fn next(&mut self) -> Result<Option<Row<'_>>> {
        self.step(false)
    }

    /// The first version of the next key; `None` at the end.
    pub fn next_key(&mut self) -> Result<Option<Row<'_>>> {
        self.step(true)
    }

    /// The cost of both iterators together.
    pub fn counters(&self) -> ReadCounters {
        let mut counters = self.iter.counters;
        if let Some(candidates) = &self.candidates {
            counters += candidates.counters;
        }
        counters
    }

    fn step(&mut self, skip_key: bool) -> Result<Option<Row<'_>>> {
        if !self.advance(skip_key)? {
            return Ok(None);
        }
        let version = self.iter.version()?;
        Ok(Some(Row {
            user_key: version.user_key,
            timestamp: version.timestamp,
            stored: version.stored,
        }))
    }

    /// The iterator at the version that was returned last.
    pub(crate) fn iter(&mut self) -> &mut VersionIter {
        &mut self.iter
    }

    /// As [`next`](Self::next) or [`next_key`](Self::next_key), without reading the value. False at the end.
    pub(crate) fn advance(&mut self, skip_key: bool) -> Result<bool> {
        if !self.started {
            self.started = true;
            match &mut self.candidates {
                Some(candidates) => {
                    candidates.seek_to_first();
                    self.go_to_candidate()?;
                }
                None => self.iter.seek_to_first(),
            }
        } else if self.iter.current()?.is_none() {
            return Ok(false);
        } else if skip_key {
            self.leave_key()?;
        } else {
            self.iter.next();
            if self.iter.time_of(&self.user_key)?.is_none() {
                self.follow()?;
            }
        }
        self.settle()?;
        Ok(self.iter.current()?.is_some())
    }

    /// Moves from the current position to the first version in the window.
    fn settle(&mut self) -> Result<()> {
        while let Some(version) = self.iter.current()? {
            let time = version.timestamp;
            self.user_key.clear();
            self.user_key.extend_from_slice(version.user_key);
            if time.is_zero() && self.refuses_inline {
                return Err(inline_in_window(&self.user_key));
            }
            if time > self.until {
                if !self.iter.descend(&self.user_key, self.until)? {
                    self.follow()?;
                }
            } else if time > self.after {
                return Ok(());
            } else {
                self.leave_key()?;
            }
        }
        Ok(())
    }

    /// Moves past the current key.
    fn leave_key(&mut self) -> Result<()> {
        match &mut self.candidates {
            Some(candidates) => {
                // The candidates may be anywhere up to the key.
                if candidates
                    .current()?
                    .is_some_and(|version| version.user_key < &self.user_key[..])
                {
                    candidates.seek_key(&self.user_key);
                }
                if candidates.time_of(&self.user_key)?.is_some() {
                    candidates.next_key();
                }
            }
            None => self.iter.next_key(),
        }
        self.follow()
    }

    /// Moves from a key to the first at or after it that may have a version in the window.
    fn follow(&mut self) -> Result<()> {
        let (Some(candidates), Some(here)) = (&mut self.candidates, self.iter.current()?) else {
            return Ok(());
        };
        if candidates
            .current()?
            .is_some_and(|version| version.user_key < here.user_key)
        {
            candidates.seek_key(here.user_key);
        }
        self.go_to_candidate()
    }

    /// Moves to the first key, from the candidates' position on, that may have a version in the window.
    fn go_to_candidate(&mut self) -> Result<()> {
        let Some(candidates) = &mut self.candidates else {
            return Ok(());
        };
        while let Some(version) = candidates.current()? {
            let time = version.timestamp;
            if time.is_zero() {
                if self.refuses_inline {
                    let here = self.iter.current()?;
                    if here.is_none_or(|here| here.user_key < version.user_key) {
                        self.iter.seek_key(version.user_key);
                    }
                    if self
                        .iter
                        .time_of(version.user_key)?
                        .is_some_and(|time| time.is_zero())
                    {
                        return Ok(());
                    }
                }
                // This may be an inline value whose removal is in a skipped table: versions may follow it.
                candidates.next();
                continue;
            }
            if time > self.until || time <= self.after {
                self.user_key.clear();
                self.user_key.extend_from_slice(version.user_key);
                match time > self.until {
                    true => drop(candidates.descend(&self.user_key, self.until)?),
                    false => candidates.next_key(),
                }
                continue;
            }
            let stands = self
                .iter
                .current()?
                .is_some_and(|here| here.user_key >= version.user_key);
            if !stands {
                self.iter.seek_key(version.user_key);
            }
            return Ok(());
        }
        self.iter.seek_behind_all();
        Ok(())
    }
}

#[cold]
pub(crate) fn inline_in_window(user_key: &[u8]) -> Error {
    Error::invalid_argument(format!(
        "{} has an inline value, which has no time and is in no window",
        crate::error::Shown(user_key)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_hold_both_their_ends() {
        let mut collector = TimeInterval.create();
        let at = |wall, logical| Timestamp { wall, logical };
        let add = |collector: &mut Box<dyn BlockPropertyCollector>, timestamp| {
            let key = crate::MvccKey {
                user_key: b"k",
                timestamp,
            };
            collector.add(&key.encode(), b"", EntryType::Put, 0);
        };
        let (mut none, mut some, mut table) = (Vec::new(), Vec::new(), Vec::new());
        let mut inline = Vec::new();
        collector.add(b"\0", b"", EntryType::Put, 0);
        collector.finish_blocks(&mut none);
        add(&mut collector, Timestamp::ZERO);
        collector.finish_blocks(&mut inline);
        add(&mut collector, at(7, 3));
        add(&mut collector, at(5, 0));
        collector.finish_blocks(&mut some);
        add(&mut collector, at(9, 0));
        collector.finish_table(&mut table);
        let meets_or_inline = |after, until, wants_inline, property: &[u8]| {
            let meets = Meets {
                after,
                until,
                wants_inline,
            };
            meets.may_match(property)
        };
        let meets = |after, until, property: &[u8]| meets_or_inline(after, until, false, property);
        let all = (Timestamp::ZERO, Timestamp::MAX);
        assert!(meets_or_inline(all.0, all.1, true, &inline) && !meets_or_inline(all.0, all.1, true, &none));
        assert!(!meets(Timestamp::ZERO, Timestamp::MAX, &none));
        assert!(!meets(Timestamp::ZERO, Timestamp::MAX, &inline));
        let is_above = |time, property: &[u8]| above(time).may_match(property);
        assert!(!is_above(at(1, 0), &none) && is_above(at(1, 0), &inline) && is_above(at(9, 9), &table));
        assert!(is_above(at(7, 2), &some) && !is_above(at(7, 3), &some));
        assert!(is_above(at(7, 3), b"damaged"));
        assert!(meets(at(7, 2), at(9, 0), &some) && !meets(at(7, 3), at(9, 0), &some));
        assert!(meets(at(1, 0), at(5, 0), &some) && !meets(at(1, 0), at(4, i32::MAX), &some));
        assert!(meets(at(8, 0), at(9, 0), &table) && meets(at(5, 9), at(6, 0), &table));
        assert!(!meets(at(9, 0), at(11, 0), &table));
        assert!(meets(at(1, 0), at(2, 0), b"damaged") && meets(at(1, 0), at(2, 0), &[0; 25]));
        collector = TimeInterval.create();
        collector.add(b"k\0\xff\xff\xff\xff\xff\xff\xff\xff\x09", b"", EntryType::Put, 0);
        let mut all = Vec::new();
        collector.finish_blocks(&mut all);
        assert!(meets(at(1, 0), at(2, 0), &all), "a malformed key is not skipped");
    }
}

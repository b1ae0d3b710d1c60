//! An iterator over versions and range tombstones together, in either direction.
//!
//! Positions have the order of the engine's keys. The start of a range tombstone is a position of its own,
//! before all versions of its user key, unless the key has an inline value: then the two are one position. At
//! every position the iterator returns the fragment that covers it.
//!
//! ```text
//! [b, d) deleted at 5, versions a@1 b@7 b@2 c@3:   a@1 | b [b, d) | b@7 [b, d) | b@2 [b, d) | c@3 [b, d)
//! ```

use std::cmp::Ordering;

use crate::error::Result;
use crate::key::ranges::{Fragment, Ranges};
use crate::key::span::Span;
use crate::key::timestamp::Timestamp;
use crate::read::counters::ReadCounters;
use crate::read::reader::Reader;
use crate::read::rows::Row;
use crate::read::version_iter::VersionIter;

/// The kinds of keys that an [`MvccIterator`] stops at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyTypes {
    /// The iterator stops only at versions and inline values; range tombstones are not reported.
    Points,
    /// True if the iterator visits only the starts of range tombstones.
    Ranges,
    /// The iterator stops at versions, inline values and starts of range tombstones.
    #[default]
    PointsAndRanges,
}

/// A fragment of range tombstones, truncated to the span of an iterator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeTombstoneAt<'a> {
    /// The first user key.
    pub start: &'a [u8],
    /// The exclusive end of the span, a user key.
    pub end: &'a [u8],
    /// The times of its range tombstones, from the newest to the oldest. Never empty.
    pub timestamps: &'a [Timestamp],
}

/// Iterates over the versions of a span, including deletions and inline values, and the range tombstones over
/// it.
pub struct MvccIterator {
    /// At a version, this iterator is at the same version. Elsewhere it is at the next version in
    /// `direction`. `None` without versions.
    points: Option<VersionIter>,
    direction: Direction,
    /// The range tombstones of the span.
    ranges: Ranges,
    here: Option<Here>,
    /// The fragment at the current position, and the one at the previous position.
    fragment: Option<usize>,
    range_changed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Forwards,
    Backwards,
}

/// The current position.
#[derive(Debug)]
struct Here {
    user_key: Vec<u8>,
    /// [`Timestamp::ZERO`] for an inline value, and for the start of a range tombstone.
    timestamp: Timestamp,
    is_point: bool,
}

/// The order of positions.
fn compare(a: (&[u8], Timestamp), b: (&[u8], Timestamp)) -> Ordering {
    let by_time = || match (a.1.is_zero(), b.1.is_zero()) {
        (false, false) => b.1.cmp(&a.1),
        (a_is_first, b_is_first) => b_is_first.cmp(&a_is_first),
    };
    a.0.cmp(b.0).then_with(by_time)
}

impl Reader<'_> {
    /// An iterator over `span`, over the kinds `types`. Range tombstones are truncated to the span; only
    /// those that the reader knows of are reported (see
    /// [`with_range_tombstones`](Self::with_range_tombstones)). The iterator has no position until it is
    /// moved. In a store with a threshold it shows the remaining history at or below it.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn iter(&self, span: Span<'_>, types: KeyTypes) -> Result<MvccIterator> {
        let ranges = match (types, self.ranges()) {
            (KeyTypes::Points, _) | (_, None) => Ranges::default(),
            (_, Some(ranges)) => ranges.window(span, Timestamp::ZERO, Timestamp::MAX),
        };
        Ok(MvccIterator {
            points: match types {
                KeyTypes::Ranges => None,
                // An iterator of the engine needs ordered bounds.
                _ if span.is_empty() => None,
                _ => Some(self.versions(span)?),
            },
            direction: Direction::Forwards,
            ranges,
            here: None,
            fragment: None,
            range_changed: false,
        })
    }
}

impl MvccIterator {
    /// Moves to the first position. False if there is none.
    pub fn seek_to_first(&mut self) -> Result<bool> {
        self.direction = Direction::Forwards;
        if let Some(points) = &mut self.points {
            points.seek_to_first();
        }
        self.settle(self.ranges.fragments().first().map(|_| 0))
    }

    /// Moves to the last position. False if there is none.
    pub fn seek_to_last(&mut self) -> Result<bool> {
        self.direction = Direction::Backwards;
        if let Some(points) = &mut self.points {
            points.seek_to_last();
        }
        self.settle(self.ranges.fragments().len().checked_sub(1))
    }

    /// Moves to the first position at or after `user_key` at `timestamp`, where [`Timestamp::ZERO`] comes
    /// before all versions. Within a range tombstone that is the given position itself, whether there is a
    /// version or not, because it is covered. False if there is none.
    ///
    /// # Errors
    /// `InvalidArgument` for an invalid time; errors of the engine.
    pub fn seek(&mut self, user_key: &[u8], timestamp: Timestamp) -> Result<bool> {
        if !timestamp.is_zero() {
            timestamp.check()?;
        }
        self.direction = Direction::Forwards;
        if let Some(points) = &mut self.points {
            match timestamp.is_zero() {
                true => points.seek_key(user_key),
                false => points.seek(user_key, timestamp),
            }
        }
        let Some(covering) = self.ranges.position_of(user_key) else {
            return self.settle(self.ranges.first_start_from(user_key));
        };
        let is_point = self
            .point_place()?
            .as_ref()
            .is_some_and(|(key, time)| compare((key, *time), (user_key, timestamp)).is_eq());
        self.stand(
            Some(Here {
                user_key: user_key.to_vec(),
                timestamp,
                is_point,
            }),
            Some(covering),
        );
        Ok(true)
    }

    /// Moves to the last position before all of `user_key`. False if there is none.
    pub fn seek_before(&mut self, user_key: &[u8]) -> Result<bool> {
        self.direction = Direction::Backwards;
        if let Some(points) = &mut self.points {
            points.seek_before(user_key)?;
        }
        let start = self
            .ranges
            .first_start_from(user_key)
            .unwrap_or(self.ranges.fragments().len());
        self.settle(start.checked_sub(1))
    }

    /// Moves to the next position. False at the end, and without a position.
    #[expect(clippy::should_implement_trait, reason = "an iterator cannot lend")]
    pub fn next(&mut self) -> Result<bool> {
        self.range_changed = false;
        let Some(here) = &self.here else {
            return Ok(false);
        };
        if let Some(points) = &mut self.points {
            match (here.is_point, self.direction) {
                (true, _) => points.next(),
                (false, Direction::Forwards) => {}
                (false, Direction::Backwards) if here.timestamp.is_zero() => points.seek_key(&here.user_key),
                (false, Direction::Backwards) => points.seek(&here.user_key, here.timestamp),
            }
        }
        self.direction = Direction::Forwards;
        let next = self
            .ranges
            .first_start_from(&crate::key::mvcc_key::next_user_key(&here.user_key));
        self.settle(next)
    }

    /// Moves to the first position after the user key. False at the end, and without a position.
    pub fn next_key(&mut self) -> Result<bool> {
        self.range_changed = false;
        let Some(here) = &self.here else {
            return Ok(false);
        };
        let behind = crate::key::mvcc_key::next_user_key(&here.user_key);
        if let Some(points) = &mut self.points {
            match here.is_point {
                true => points.next_key(),
                false => points.seek_key(&behind),
            }
        }
        self.direction = Direction::Forwards;
        let next = self.ranges.first_start_from(&behind);
        self.settle(next)
    }

    /// Moves to the previous position. False at the start, and without a position.
    pub fn prev(&mut self) -> Result<bool> {
        self.range_changed = false;
        let Some(here) = &self.here else {
            return Ok(false);
        };
        if let Some(points) = &mut self.points {
            match (here.is_point, self.direction) {
                (true, _) => points.prev(),
                (false, Direction::Backwards) => {}
                (false, Direction::Forwards) if here.timestamp.is_zero() => {
                    points.seek_before(&here.user_key)?;
                }
                (false, Direction::Forwards) => points.seek_for_prev(&here.user_key, here.timestamp),
            }
        }
        self.direction = Direction::Backwards;
        let fragments = self.ranges.fragments();
        let behind = match here.timestamp.is_zero() {
            true => self.ranges.first_start_from(&here.user_key),
            false => self
                .ranges
                .first_start_from(&crate::key::mvcc_key::next_user_key(&here.user_key)),
        };
        self.settle(behind.unwrap_or(fragments.len()).checked_sub(1))
    }

    /// The user key at the current position; `None` without a position.
    pub fn user_key(&self) -> Option<&[u8]> {
        self.here.as_ref().map(|here| &here.user_key[..])
    }

    /// The version or inline value at the current position; `None` at a position with only a range tombstone.
    ///
    /// # Errors
    /// Errors of the engine for a value in a blob file.
    pub fn point(&mut self) -> Result<Option<Row<'_>>> {
        let is_point = self.here.as_ref().is_some_and(|here| here.is_point);
        let Some(points) = self.points.as_mut().filter(|_| is_point) else {
            return Ok(None);
        };
        let version = points.version()?;
        Ok(Some(Row {
            user_key: version.user_key,
            timestamp: version.timestamp,
            stored: version.stored,
        }))
    }

    /// The fragment of range tombstones that covers the current position.
    pub fn range_tombstone(&self) -> Option<RangeTombstoneAt<'_>> {
        let Fragment { start, end, stack } = self.ranges.fragments().get(self.fragment?)?;
        Some(RangeTombstoneAt {
            start,
            end,
            timestamps: stack,
        })
    }

    /// True if the last move led to another fragment, from one to none, or from none to one.
    pub fn range_changed(&self) -> bool {
        self.range_changed
    }

    /// The cost so far.
    pub fn counters(&self) -> ReadCounters {
        self.points
            .as_ref()
            .map_or_else(ReadCounters::default, |points| points.counters)
    }

    /// The position of the versions' iterator.
    fn point_place(&self) -> Result<Option<(Vec<u8>, Timestamp)>> {
        let Some(points) = &self.points else {
            return Ok(None);
        };
        let at = points.current()?;
        Ok(at.map(|at| (at.user_key.to_vec(), at.timestamp)))
    }

    /// Moves to the first of two positions in the current direction: the version of `points`, or the start of
    /// the fragment `start`.
    fn settle(&mut self, start: Option<usize>) -> Result<bool> {
        let point = self.point_place()?;
        let start = start.map(|start| self.ranges.fragments()[start].start.to_vec());
        let here = match (point, start) {
            (None, None) => None,
            (Some((user_key, timestamp)), None) => Some(Here {
                user_key,
                timestamp,
                is_point: true,
            }),
            (None, Some(user_key)) => Some(Here {
                user_key,
                timestamp: Timestamp::ZERO,
                is_point: false,
            }),
            (Some((key, time)), Some(start)) => {
                let order = compare((&key, time), (&start, Timestamp::ZERO));
                let takes_point = match self.direction {
                    Direction::Forwards => order.is_le(),
                    Direction::Backwards => order.is_ge(),
                };
                Some(Here {
                    user_key: if takes_point { key } else { start },
                    timestamp: if takes_point { time } else { Timestamp::ZERO },
                    is_point: takes_point,
                })
            }
        };
        let fragment = here
            .as_ref()
            .and_then(|here| self.ranges.position_of(&here.user_key));
        self.stand(here, fragment);
        Ok(self.here.is_some())
    }

    fn stand(&mut self, here: Option<Here>, fragment: Option<usize>) {
        self.range_changed = fragment != self.fragment;
        self.here = here;
        self.fragment = fragment;
    }
}

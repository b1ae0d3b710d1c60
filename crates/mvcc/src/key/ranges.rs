//! Range tombstones: deletions of whole spans at a time, whose size is that of their bounds.
//!
//! All of them are in memory as *fragments*: spans that do not overlap, each with the times at which it was
//! deleted. The fragments depend only on which spans were deleted at which times, not on the order of writes:
//! where the times change, one fragment ends and the next begins.
//!
//! ```text
//! [a, m) deleted at 3, [f, z) at 5:   [a, f) 3 | [f, m) 5 3 | [m, z) 5
//! ```
//!
//! A range tombstone hides the versions in its span that are not above it. It does not affect inline values,
//! which have no time. A reader has the fragments of its own moment (`RangeIndex`), or `None` where there
//! are none: then it pays only for that check.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::range_stack::{Stack, hides, lacks};
use crate::key::mvcc_key::encoded_suffix_len;
use crate::key::span::Span;
use crate::key::stats::{MvccStats, whole_seconds};
use crate::key::timestamp::Timestamp;

/// A span, and the times at which all of it was deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeTombstone {
    /// The first user key.
    pub start: Vec<u8>,
    /// The exclusive end of the span, a user key.
    pub end: Vec<u8>,
    /// The times of the deletions, from the newest to the oldest. Never empty.
    pub timestamps: Vec<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fragment {
    pub start: Arc<[u8]>,
    pub end: Arc<[u8]>,
    /// The list is never empty.
    pub stack: Stack,
}

/// All range tombstones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ranges {
    /// The fragments in the order of their keys. Adjoining fragments differ in their times.
    fragments: Vec<Fragment>,
}

impl Ranges {
    /// The fragments of spans with one time each, in any order. Spans of one time must not overlap.
    pub fn of_spans(spans: Vec<Deleted>) -> Ranges {
        let mut bounds: BTreeMap<Arc<[u8]>, Vec<(bool, Timestamp)>> = BTreeMap::new();
        for Deleted { start, end, time } in spans {
            bounds.entry(start).or_default().push((true, time));
            bounds.entry(end).or_default().push((false, time));
        }
        let mut ranges = Ranges::default();
        let mut open: BTreeSet<Timestamp> = BTreeSet::new();
        let mut since: Option<Arc<[u8]>> = None;
        for (bound, mut changes) in bounds {
            if let Some(start) = since.take() {
                ranges.append(start, bound.clone(), open.iter().rev().copied().collect());
            }
            changes.sort_unstable();
            for (begins, time) in changes {
                match begins {
                    true => open.insert(time),
                    false => open.remove(&time),
                };
            }
            since = (!open.is_empty()).then_some(bound);
        }
        ranges
    }

    /// Appends a fragment after all others.
    fn append(&mut self, start: Arc<[u8]>, end: Arc<[u8]>, stack: Stack) {
        push(&mut self.fragments, Fragment { start, end, stack });
    }

    pub fn is_empty(&self) -> bool {
        self.fragments.is_empty()
    }

    /// The times at which `user_key` was deleted.
    pub fn stack(&self, user_key: &[u8]) -> Option<&Stack> {
        Some(&self.fragments[self.position_of(user_key)?].stack)
    }

    /// All fragments, in order.
    pub fn fragments(&self) -> &[Fragment] {
        &self.fragments
    }

    /// The index of the fragment that contains `user_key`.
    pub fn position_of(&self, user_key: &[u8]) -> Option<usize> {
        let at = self.first_ending_behind(user_key);
        let fragment = self.fragments.get(at)?;
        (*fragment.start <= *user_key).then_some(at)
    }

    /// The index of the first fragment that starts at or after `user_key`.
    pub fn first_start_from(&self, user_key: &[u8]) -> Option<usize> {
        let at = self
            .fragments
            .partition_point(|fragment| *fragment.start < *user_key);
        (at < self.fragments.len()).then_some(at)
    }

    fn first_ending_behind(&self, user_key: &[u8]) -> usize {
        self.fragments
            .partition_point(|fragment| *fragment.end <= *user_key)
    }

    /// The fragments that overlap `span`.
    pub fn overlapping(&self, span: Span<'_>) -> &[Fragment] {
        if span.is_empty() {
            return &[];
        }
        let from = self.first_ending_behind(span.start);
        let rest = &self.fragments[from..];
        let len = match span.end {
            Some(end) => rest.partition_point(|fragment| *fragment.start < *end),
            None => rest.len(),
        };
        &rest[..len]
    }

    /// The fragments in `span` with times above `after` and at or below `until`.
    pub fn window(&self, span: Span<'_>, after: Timestamp, until: Timestamp) -> Ranges {
        let mut window = Ranges::default();
        for fragment in self.overlapping(span) {
            let stack = &fragment.stack;
            let newest = stack.partition_point(|time| *time > until);
            let oldest = stack.partition_point(|time| *time > after);
            let times = stack.get(newest..oldest).unwrap_or_default();
            if !times.is_empty() {
                let (start, end) = clip(fragment, span);
                window.append(start, end, times.into());
            }
        }
        window
    }

    /// The fragments with only their newest times.
    pub fn newest(&self) -> Ranges {
        let mut newest = Ranges::default();
        for Fragment { start, end, stack } in &self.fragments {
            newest.append(start.clone(), end.clone(), stack[..1].into());
        }
        newest
    }

    /// The fragments in their public form.
    pub fn tombstones(&self) -> Vec<RangeTombstone> {
        let fragments = self.fragments.iter();
        fragments
            .map(|fragment| RangeTombstone {
                start: fragment.start.to_vec(),
                end: fragment.end.to_vec(),
                timestamps: fragment.stack.to_vec(),
            })
            .collect()
    }

    /// The statistics of the fragments, as of `now` nanoseconds.
    pub fn weigh(&self, now: i64) -> MvccStats {
        weigh(&self.fragments, now)
    }

    /// Replaces the times in `span` by the result of `change`, and adds the times that came or went to
    /// `changed`. Returns the change of the statistics as of `now` nanoseconds. In a span without an end,
    /// `change` must map no times to no times.
    pub fn edit(
        &mut self,
        span: Span<'_>,
        now: i64,
        changed: &mut BTreeSet<Timestamp>,
        change: impl Fn(&[Timestamp]) -> Vec<Timestamp>,
    ) -> MvccStats {
        // A fragment that adjoins the span may be joined with a fragment in the span.
        let from = self
            .fragments
            .partition_point(|fragment| *fragment.end < *span.start);
        let until = match span.end {
            Some(end) => self.fragments.partition_point(|fragment| *fragment.start <= *end),
            None => self.fragments.len(),
        };
        let old = &self.fragments[from..until];
        let mut new = Vec::new();
        let mut become_changed = |start: Arc<[u8]>, end: Arc<[u8]>, stack: &[Timestamp]| {
            let times = change(stack);
            changed.extend(times.iter().filter(|time| lacks(stack, **time)));
            changed.extend(stack.iter().filter(|time| lacks(&times, **time)));
            if !times.is_empty() {
                let stack = times.into();
                push(&mut new, Fragment { start, end, stack });
            }
        };
        let mut left = None;
        let mut right = None;
        // The part of the span before this key has been processed.
        let mut done: Arc<[u8]> = span.start.into();
        for fragment in old {
            let (start, end) = clip(fragment, span);
            if *fragment.start < *span.start {
                left = Some(Fragment {
                    end: std::cmp::min(&*fragment.end, span.start).into(),
                    ..fragment.clone()
                });
            }
            if let Some(behind) = span.end.filter(|behind| **behind < *fragment.end) {
                right = Some(Fragment {
                    start: std::cmp::max(&*fragment.start, behind).into(),
                    ..fragment.clone()
                });
            }
            if start < end {
                if done < start {
                    become_changed(done, start.clone(), &[]);
                }
                become_changed(start, end.clone(), &fragment.stack);
                done = end;
            }
        }
        if let Some(end) = span.end.filter(|end| *done < **end) {
            become_changed(done, end.into(), &[]);
        }
        let mut all = Vec::with_capacity(new.len() + 2);
        for fragment in left.into_iter().chain(new).chain(right) {
            push(&mut all, fragment);
        }
        let mut delta = weigh(&all, now);
        delta -= weigh(old, now);
        self.fragments.splice(from..until, all);
        delta
    }
}

/// Appends a fragment after all of `fragments`, joined to the last of them if it adjoins and has the same
/// times.
fn push(fragments: &mut Vec<Fragment>, fragment: Fragment) {
    match fragments.last_mut() {
        Some(last) if last.end == fragment.start && last.stack == fragment.stack => last.end = fragment.end,
        _ => fragments.push(fragment),
    }
}

/// The bounds of the part of `fragment` in `span`.
fn clip(fragment: &Fragment, span: Span<'_>) -> (Arc<[u8]>, Arc<[u8]>) {
    let start = match *fragment.start < *span.start {
        true => span.start.into(),
        false => fragment.start.clone(),
    };
    let end = match span.end.filter(|end| **end < *fragment.end) {
        Some(end) => end.into(),
        None => fragment.end.clone(),
    };
    (start, end)
}

/// The statistics of fragments. The bounds of a fragment count once, each with its length plus one, and are
/// as old as its newest time; each time counts the bytes that it takes in a key.
fn weigh(fragments: &[Fragment], now: i64) -> MvccStats {
    let mut stats = MvccStats::at(now);
    for Fragment { start, end, stack } in fragments {
        let age = |since: &Timestamp| whole_seconds(since.wall, now);
        let bounds = (start.len() + end.len() + 2) as i64;
        stats.range_key_count += 1;
        stats.range_key_bytes += bounds;
        stats.add_age(bounds, age(&stack[0]));
        for time in stack.iter() {
            let bytes = encoded_suffix_len(*time) as i64;
            stats.range_val_count += 1;
            stats.range_key_bytes += bytes;
            stats.add_age(bytes, age(time));
        }
    }
    stats
}

/// The order in which keys are queried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Forwards,
    Backwards,
}

/// Finds the deletion times of keys that are queried in order. Costs one comparison where the previous key
/// has the same answer.
pub(crate) struct Cover {
    ranges: Arc<Ranges>,
    order: Order,
    /// The first fragment that ends after the last key queried; `None` before the first query.
    at: Option<usize>,
    /// True if the key queried last is in the fragment `at`, and not before it.
    is_inside: bool,
}

impl Cover {
    pub fn new(ranges: &Arc<Ranges>, order: Order) -> Cover {
        Cover {
            ranges: ranges.clone(),
            order,
            at: None,
            is_inside: false,
        }
    }

    /// True if `user_key` is in the same fragment, or in the same gap between two, as the previous key.
    fn has_same_answer(&self, user_key: &[u8]) -> bool {
        let fragments = &self.ranges.fragments;
        let Some(at) = self.at else {
            return false;
        };
        match (self.order, self.is_inside) {
            (Order::Forwards, true) => *user_key < *fragments[at].end,
            (Order::Forwards, false) => fragments.get(at).is_none_or(|next| *user_key < *next.start),
            (Order::Backwards, true) => *user_key >= *fragments[at].start,
            (Order::Backwards, false) => at == 0 || *user_key >= *fragments[at - 1].end,
        }
    }

    /// Returns the result of [`hides`] for a version of `user_key`.
    pub fn hides(&mut self, user_key: &[u8], at: Timestamp, read: Timestamp) -> Option<Timestamp> {
        self.stack(user_key).and_then(|stack| hides(stack, at, read))
    }

    /// The fragment that contains the last key queried.
    pub fn fragment(&self) -> Option<&Fragment> {
        self.ranges.fragments.get(self.at.filter(|_| self.is_inside)?)
    }

    /// The times at which `user_key` was deleted.
    pub fn stack(&mut self, user_key: &[u8]) -> Option<&Stack> {
        if !self.has_same_answer(user_key) {
            let at = self.ranges.first_ending_behind(user_key);
            let fragment = self.ranges.fragments.get(at);
            self.at = Some(at);
            self.is_inside = fragment.is_some_and(|fragment| *fragment.start <= *user_key);
        }
        self.fragment().map(|fragment| &fragment.stack)
    }
}

/// A span that was deleted at a time.
pub(crate) struct Deleted {
    pub start: Arc<[u8]>,
    pub end: Arc<[u8]>,
    pub time: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::range_stack::hidden_since;
    use crate::read::range_rows;

    /// The deletion times of every key of one byte.
    type Cells = Vec<BTreeSet<Timestamp>>;

    const KEYS: u8 = 12;

    fn at(wall: i64) -> Timestamp {
        Timestamp::from_nanos(wall * 1_500_000_000)
    }

    fn times(cells: &Cells, key: u8) -> Vec<Timestamp> {
        cells[usize::from(key)].iter().rev().copied().collect()
    }

    /// The fragments of range tombstones that `cells` describe: the times of the tombstones over each key.
    fn canonical(cells: &Cells) -> Vec<Fragment> {
        let mut fragments = Vec::new();
        for key in 0..KEYS {
            let stack: Stack = times(cells, key).into();
            if !stack.is_empty() {
                let (start, end) = ([key][..].into(), [key + 1][..].into());
                push(&mut fragments, Fragment { start, end, stack });
            }
        }
        fragments
    }

    fn decoded(rows: Vec<range_rows::Row>) -> Ranges {
        let mut spans = Vec::new();
        for row in rows {
            let key = crate::MvccKey::decode(&row.key).unwrap();
            if let Some(value) = row.value {
                range_rows::decode(key.timestamp, &value, &mut spans).unwrap();
            }
        }
        Ranges::of_spans(spans)
    }

    #[test]
    fn fragments_follow_from_what_is_deleted_when() {
        const NOW: i64 = 100_000_000_000;
        let mut rng = testkit::rng();
        for _ in 0..300 {
            let mut ranges = Ranges::default();
            let mut cells: Cells = vec![BTreeSet::new(); usize::from(KEYS)];
            for _ in 0..30 {
                let (a, b) = (rng.u8(..KEYS), rng.u8(..KEYS));
                let (start, end) = (a.min(b), a.max(b) + 1);
                let time = at(rng.i64(1..6));
                let before = ranges.clone();
                let mut changed = BTreeSet::new();
                let open_ended = rng.one_in(4);
                let adds = rng.u8(..3) > 0 && !open_ended;
                let (first, last) = ([start], [end]);
                let span = Span {
                    start: if start == 0 { b"" } else { &first },
                    end: (!open_ended).then_some(&last[..]),
                };
                // The span does not begin before the first key: that would be another fragment.
                let span = if adds {
                    Span {
                        start: &first,
                        ..span
                    }
                } else {
                    span
                };
                let delta = ranges.edit(span, NOW, &mut changed, |stack| {
                    let mut times: BTreeSet<Timestamp> = stack.iter().copied().collect();
                    match adds {
                        true => times.insert(time),
                        false => times.remove(&time),
                    };
                    times.into_iter().rev().collect()
                });
                for key in start..if open_ended { KEYS } else { end } {
                    match adds {
                        true => cells[usize::from(key)].insert(time),
                        false => cells[usize::from(key)].remove(&time),
                    };
                }
                assert_eq!(ranges.fragments, canonical(&cells));
                let mut counted = ranges.weigh(NOW);
                counted -= before.weigh(NOW);
                assert_eq!(delta, counted);
                let all: BTreeSet<Timestamp> = (1..6).map(at).collect();
                assert_eq!(decoded(ranges.rows(&all)), ranges);
                // Rows whose times are not reported as changed are the same.
                for (row, old) in ranges.rows(&all).into_iter().zip(before.rows(&all)) {
                    let time = crate::MvccKey::decode(&row.key).unwrap().timestamp;
                    assert_eq!(row != old, changed.contains(&time));
                }
            }
            let shared = Arc::new(ranges);
            let order = if rng.bool() {
                Order::Forwards
            } else {
                Order::Backwards
            };
            let mut cover = Cover::new(&shared, order);
            let mut asked: Vec<u8> = (0..20).map(|_| rng.u8(..KEYS + 1)).collect();
            asked.sort_unstable();
            if order == Order::Backwards {
                asked.reverse();
            }
            for key in asked {
                let expected = if key < KEYS {
                    times(&cells, key)
                } else {
                    Vec::new()
                };
                let found = cover.stack(&[key]).map(|stack| stack.to_vec());
                assert_eq!(found.unwrap_or_default(), expected);
                assert_eq!(shared.stack(&[key]), cover.stack(&[key]));
                let (after, until) = (at(rng.i64(0..6)), at(rng.i64(0..7)));
                let (a, b) = (rng.u8(..KEYS), rng.u8(..KEYS));
                let mut within = cells.clone();
                for (key, times) in within.iter_mut().enumerate() {
                    let inside = (usize::from(a.min(b))..usize::from(a.max(b))).contains(&key);
                    times.retain(|time| inside && *time > after && *time <= until);
                }
                let window = shared.window(Span::new(&[a.min(b)], &[a.max(b)]), after, until);
                assert_eq!(window.fragments, canonical(&within));
            }
        }
    }

    #[test]
    fn what_hides_and_since_when() {
        let stack = [at(7), at(5), at(2)];
        assert_eq!(hidden_since(&stack, at(1)), Some(at(2)));
        assert_eq!(hidden_since(&stack, at(5)), Some(at(5)));
        assert_eq!(hidden_since(&stack, at(6)), Some(at(7)));
        assert_eq!(hidden_since(&stack, at(8)), None);
        assert_eq!(hides(&stack, at(1), at(6)), Some(at(5)));
        assert_eq!(hides(&stack, at(5), at(5)), Some(at(5)));
        assert_eq!(hides(&stack, at(3), at(4)), None);
        assert_eq!(hides(&stack, Timestamp::ZERO, at(9)), None, "an inline value");
    }

    #[test]
    fn worked_numbers() {
        let mut ranges = Ranges::default();
        let seconds = Timestamp::from_secs;
        let now = 100_000_000_000;
        let mut write = |start: &[u8], end: &[u8], time| {
            let span = Span::new(start, end);
            ranges.edit(span, now, &mut BTreeSet::new(), |stack| [&[time], stack].concat())
        };
        let delta = write(b"d", b"j", seconds(3));
        let expected = MvccStats {
            range_key_count: 1,
            range_key_bytes: 13,
            range_val_count: 1,
            gc_bytes_age: 13 * 97,
            ..MvccStats::at(now)
        };
        assert_eq!(delta, expected);
        // A newer deletion of the same span takes the bounds, which become that much younger.
        let delta = write(
            b"d",
            b"j",
            Timestamp {
                logical: 1,
                ..seconds(10)
            },
        );
        let expected = MvccStats {
            range_key_bytes: 13,
            range_val_count: 1,
            gc_bytes_age: 13 * 90 - 4 * 7,
            ..MvccStats::at(now)
        };
        assert_eq!(delta, expected);
    }

    #[test]
    fn damaged_rows_are_told() {
        let mut ranges = Ranges::default();
        let times = BTreeSet::from([at(1)]);
        for (start, end) in [("a", "c"), ("e", "h")] {
            let span = Span::new(start.as_bytes(), end.as_bytes());
            ranges.edit(span, 0, &mut BTreeSet::new(), |_| vec![at(1)]);
        }
        let row = ranges.rows(&times).remove(0).value.unwrap();
        assert_eq!(row, b"\x01\x01a\x01c\x01e\x01h");
        for len in 0..row.len() {
            let is_whole = len == 5;
            assert_eq!(
                range_rows::decode(at(1), &row[..len], &mut Vec::new()).is_ok(),
                is_whole
            );
        }
        for (at_byte, byte) in [(0, 2), (1, 0xff), (2, b'd'), (4, b'f'), (6, b'c'), (8, b'e')] {
            let mut damaged = row.clone();
            damaged[at_byte] = byte;
            assert!(
                range_rows::decode(at(1), &damaged, &mut Vec::new()).is_err(),
                "byte {at_byte}"
            );
        }
    }
}

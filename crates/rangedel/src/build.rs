//! Builds fragments from tombstones and from other fragments, and truncates them to a file's bounds.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use base::internal_key::{TRAILER_LEN, pack_trailer};
use base::{Error, KeyPrefixes, Kind, MAX_SEQNO, Result, SeqNo, UserComparator};

use crate::RangeTombstone;
use crate::bound::{Bound, just_after, stored, stored_of_internal, stored_timestamp_size};
use crate::entries::{Entries, append_union};
use crate::fragments::{FragmentedTombstones, KeyRef, Span};

/// The trailer of a file's largest key that is a tombstone's end: the key itself is not in the file.
const SENTINEL: [u8; TRAILER_LEN] = pack_trailer(MAX_SEQNO, Kind::RangeDeletion as u8).to_le_bytes();

/// Takes fragments in order, each beginning at or after the end of the last, and joins neighbours with the
/// same tombstones.
pub(crate) struct Builder<'a> {
    cmp: &'a UserComparator,
    /// Keeps only the entries that readers at these snapshots need; see [`append_union`].
    snapshots: Option<&'a [SeqNo]>,
    set: FragmentedTombstones,
}

impl<'a> Builder<'a> {
    pub fn new(cmp: &'a UserComparator) -> Builder<'a> {
        let set = FragmentedTombstones {
            timestamp_size: cmp.timestamp_size(),
            stored_timestamp_size: stored_timestamp_size(cmp),
            ..FragmentedTombstones::default()
        };
        Builder {
            cmp,
            snapshots: None,
            set,
        }
    }

    pub fn for_snapshots(mut self, snapshots: Option<&'a [SeqNo]>) -> Builder<'a> {
        self.snapshots = snapshots;
        self
    }

    pub fn snapshots(&self) -> Option<&'a [SeqNo]> {
        self.snapshots
    }

    fn add_key(&mut self, bound: Bound<'_>) -> KeyRef {
        let offset = self.set.keys.len();
        self.set.keys.extend_from_slice(bound.key);
        KeyRef {
            offset,
            len: bound.key.len() as u32,
            after: bound.after,
        }
    }

    /// Adds a fragment with the union of two lists of entries, at least one of which is not empty.
    pub fn push(&mut self, start: Bound<'_>, end: Bound<'_>, a: Entries<'_>, b: Entries<'_>) {
        let entries = self.set.seqnos.len();
        append_union(
            self.cmp,
            a,
            b,
            self.snapshots,
            &mut self.set.seqnos,
            &mut self.set.timestamps,
        );
        let neighbour = self
            .set
            .spans
            .last()
            .copied()
            .filter(|last| self.set.key(last.end).compare(self.cmp, start).is_eq());
        if let Some(last) = neighbour
            && self.same_entries(last.entries..entries, entries..self.set.seqnos.len())
        {
            self.set.seqnos.truncate(entries);
            self.set.timestamps.truncate(entries * self.set.timestamp_size);
            self.set.keys.truncate(last.end.offset);
            let end = self.add_key(end);
            if let Some(last) = self.set.spans.last_mut() {
                last.end = end;
            }
            return;
        }
        let start = neighbour.map_or_else(|| self.add_key(start), |last| last.end);
        let end = self.add_key(end);
        self.set.spans.push(Span { start, end, entries });
    }

    fn same_entries(&self, a: Range<usize>, b: Range<usize>) -> bool {
        let size = self.set.timestamp_size;
        let timestamps = |range: &Range<usize>| range.start * size..range.end * size;
        self.set.seqnos[a.clone()] == self.set.seqnos[b.clone()]
            && self.set.timestamps[timestamps(&a)] == self.set.timestamps[timestamps(&b)]
    }

    /// Adds whole fragments of another set. Their keys and entries are copied as blocks of bytes.
    pub fn push_run(&mut self, from: &FragmentedTombstones, run: Range<usize>) {
        let mut run = run;
        // Fragments are added one by one while entries may have to be dropped, or the first may join the last
        // one here. The others have no equal neighbours.
        let alone = match self.snapshots {
            Some(_) => run.len(),
            None => usize::from(!run.is_empty() && self.touches_last(from.start(run.start))),
        };
        for i in run.by_ref().take(alone) {
            self.push(from.start(i), from.end(i), from.entries(i), Entries::default());
        }
        if run.is_empty() {
            return;
        }
        let (first, last) = (from.spans[run.start].start, from.spans[run.end - 1].end);
        let keys = first.offset..last.offset + last.len as usize;
        let entries = from.entry_range(run.clone());
        let (old_key, new_key) = (keys.start, self.set.keys.len());
        let (old_entry, new_entry) = (entries.start, self.set.seqnos.len());
        let moved = |key: KeyRef| KeyRef {
            offset: key.offset - old_key + new_key,
            ..key
        };
        self.set.spans.extend(from.spans[run].iter().map(|span| Span {
            start: moved(span.start),
            end: moved(span.end),
            entries: span.entries - old_entry + new_entry,
        }));
        self.set.keys.extend_from_slice(&from.keys[keys]);
        let size = self.set.timestamp_size;
        self.set
            .timestamps
            .extend_from_slice(&from.timestamps[entries.start * size..entries.end * size]);
        self.set.seqnos.extend_from_slice(&from.seqnos[entries]);
    }

    fn touches_last(&self, start: Bound<'_>) -> bool {
        let last = self.set.spans.last();
        last.is_some_and(|last| self.set.key(last.end).compare(self.cmp, start).is_eq())
    }

    pub fn finish(mut self) -> FragmentedTombstones {
        self.set.keys.shrink_to_fit();
        self.set.spans.shrink_to_fit();
        self.set.seqnos.shrink_to_fit();
        self.set.timestamps.shrink_to_fit();
        let set = &self.set;
        let ends = KeyPrefixes::new(self.cmp, set.len(), |i| set.end(i).key);
        self.set.ends = ends;
        self.set
    }
}

/// A tombstone by reference, with its keys in [stored] form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item<'a> {
    pub start: Bound<'a>,
    pub end: Bound<'a>,
    pub seqno: SeqNo,
    pub timestamp: &'a [u8],
}

impl<'a> Item<'a> {
    /// `None` for a tombstone that covers nothing.
    pub fn new(cmp: &UserComparator, start: &'a [u8], end: &'a [u8], seqno: SeqNo) -> Option<Item<'a>> {
        let item = Item {
            start: Bound::before(stored(cmp, start)),
            end: Bound::before(stored(cmp, end)),
            seqno,
            timestamp: cmp.timestamp(start),
        };
        // Only a corrupt file has a key shorter than its timestamp.
        let whole = item.timestamp.len() == cmp.timestamp_size();
        (whole && item.start.compare(cmp, item.end).is_lt()).then_some(item)
    }

    /// Newer items sort first.
    fn compare_age(&self, cmp: &UserComparator, other: &Item<'_>) -> Ordering {
        other.seqno.cmp(&self.seqno).then_with(|| {
            if self.timestamp == other.timestamp {
                Ordering::Equal
            } else {
                cmp.compare_timestamp(other.timestamp, self.timestamp)
            }
        })
    }
}

/// Fragments items, which may be in any order.
///
/// Linear if they are sorted by start and disjoint or identical, as RocksDB writes them. Otherwise a sweep: a
/// sort, plus the size of the result, which is quadratic where tombstones nest deeply.
pub(crate) fn fragment(cmp: &UserComparator, items: &[Item<'_>]) -> FragmentedTombstones {
    fragment_within(cmp, items, usize::MAX).unwrap_or_default()
}

/// Fragments as [`fragment`] does. But if items overlap and result in more than `most` tombstones, each
/// fragment keeps only as many of its newest as bring the total to about `most`, and at least one. `None` if
/// older ones cannot be dropped: in families with timestamps.
fn fragment_within(cmp: &UserComparator, items: &[Item<'_>], most: usize) -> Option<FragmentedTombstones> {
    let mut builder = Builder::new(cmp);
    let same = |a: &Item<'_>, b: &Item<'_>| {
        a.start.compare(cmp, b.start).is_eq() && a.end.compare(cmp, b.end).is_eq()
    };
    let mut list = EntryList::default();
    if items.is_sorted_by(|a, b| a.end.compare(cmp, b.start).is_le() || same(a, b)) {
        for group in items.chunk_by(same) {
            list.fill(cmp, group.iter());
            builder.push(group[0].start, group[0].end, list.entries(), Entries::default());
        }
    } else if !sweep(cmp, items, &mut builder, most, usize::MAX) {
        if cmp.timestamp_size() > 0 {
            return None;
        }
        builder = Builder::new(cmp);
        let each = most / (2 * items.len());
        sweep(cmp, items, &mut builder, usize::MAX, each.max(1));
    }
    Some(builder.finish())
}

/// Entries collected from items.
#[derive(Debug, Default)]
pub(crate) struct EntryList {
    seqnos: Vec<SeqNo>,
    timestamps: Vec<u8>,
}

impl EntryList {
    /// Takes the items' sequence numbers and timestamps, newest first, without duplicates.
    pub fn fill<'a>(&mut self, cmp: &UserComparator, items: impl Iterator<Item = &'a Item<'a>> + Clone) {
        if items.clone().is_sorted_by(|a, b| a.compare_age(cmp, b).is_le()) {
            self.fill_sorted(cmp, items);
        } else {
            let mut sorted: Vec<_> = items.collect();
            sorted.sort_by(|a, b| a.compare_age(cmp, b));
            self.fill_sorted(cmp, sorted.into_iter());
        }
    }

    fn fill_sorted<'a>(&mut self, cmp: &UserComparator, items: impl Iterator<Item = &'a Item<'a>>) {
        self.seqnos.clear();
        self.timestamps.clear();
        let mut last: Option<&Item<'_>> = None;
        for item in items {
            if !last.is_some_and(|last| last.compare_age(cmp, item).is_eq()) {
                self.seqnos.push(item.seqno);
                self.timestamps.extend_from_slice(item.timestamp);
            }
            last = Some(item);
        }
    }

    pub fn entries(&self) -> Entries<'_> {
        Entries {
            seqnos: &self.seqnos,
            timestamps: &self.timestamps,
        }
    }
}

/// Adds one fragment for each stretch between positions where the set of open tombstones changes, with those
/// tombstones, or the `each` newest of them. Stops and returns false at more than `most` tombstones.
fn sweep(
    cmp: &UserComparator,
    items: &[Item<'_>],
    builder: &mut Builder<'_>,
    most: usize,
    each: usize,
) -> bool {
    let mut by_age: Vec<&Item<'_>> = items.iter().collect();
    by_age.sort_by(|a, b| a.compare_age(cmp, b));
    // Tombstones of the same age are one tombstone wherever both are open.
    let mut ages: Vec<usize> = (0..items.len()).collect();
    for i in 1..items.len() {
        if by_age[i - 1].compare_age(cmp, by_age[i]).is_eq() {
            ages[i] = ages[i - 1];
        }
    }
    let mut starts: Vec<usize> = (0..items.len()).collect();
    let mut ends = starts.clone();
    starts.sort_by(|&a, &b| by_age[a].start.compare(cmp, by_age[b].start));
    ends.sort_by(|&a, &b| by_age[a].end.compare(cmp, by_age[b].end));
    let (mut starts, mut ends) = (starts.into_iter().peekable(), ends.into_iter().peekable());

    // By age, the newest first: the number of open tombstones.
    let mut open: BTreeMap<usize, i64> = BTreeMap::new();
    let mut changes: Vec<(usize, i64)> = Vec::new();
    let mut list = EntryList::default();
    let mut from: Option<Bound<'_>> = None;
    while let Some(&next_end) = ends.peek() {
        let end = by_age[next_end].end;
        let next_start = starts.peek().map(|&i| by_age[i].start);
        let here = next_start
            .filter(|start| start.compare(cmp, end).is_lt())
            .unwrap_or(end);
        changes.clear();
        while let Some(i) = ends.next_if(|&i| by_age[i].end.compare(cmp, here).is_eq()) {
            changes.push((ages[i], -1));
        }
        while let Some(i) = starts.next_if(|&i| by_age[i].start.compare(cmp, here).is_eq()) {
            changes.push((ages[i], 1));
        }
        changes.sort_unstable();
        let of_one_age = |changes: &[(usize, i64)]| -> (usize, i64) {
            (changes[0].0, changes.iter().map(|(_, by)| by).sum())
        };
        let goes_on = changes
            .chunk_by(|a, b| a.0 == b.0)
            .map(of_one_age)
            .all(|(age, by)| {
                let now = open.get(&age).copied().unwrap_or(0);
                (now > 0) == (now + by > 0)
            });
        if !goes_on {
            if let Some(from) = from.filter(|_| !open.is_empty()) {
                list.fill_sorted(cmp, open.keys().take(each).map(|&age| by_age[age]));
                builder.push(from, here, list.entries(), Entries::default());
                if builder.set.num_tombstones() > most {
                    return false;
                }
            }
            from = Some(here);
        }
        for (age, by) in changes.chunk_by(|a, b| a.0 == b.0).map(of_one_age) {
            let count = open.entry(age).or_default();
            *count += by;
            if *count == 0 {
                open.remove(&age);
            }
        }
    }
    true
}

/// Merges two sets. Runs of fragments that do not overlap the other set are copied as blocks.
pub(crate) fn merge_into(builder: &mut Builder<'_>, a: &FragmentedTombstones, b: &FragmentedTombstones) {
    let cmp = builder.cmp;
    let (mut i, mut j) = (0, 0);
    // The starts of the unprocessed parts of `a[i]` and `b[j]`.
    let (mut a_from, mut b_from) = (None, None);
    while i < a.len() && j < b.len() {
        let (a_start, b_start) = (
            a_from.unwrap_or_else(|| a.start(i)),
            b_from.unwrap_or_else(|| b.start(j)),
        );
        let (a_end, b_end) = (a.end(i), b.end(j));
        if a_end.compare(cmp, b_start).is_le() {
            push_until(builder, a, &mut i, &mut a_from, b_start);
            continue;
        }
        if b_end.compare(cmp, a_start).is_le() {
            push_until(builder, b, &mut j, &mut b_from, a_start);
            continue;
        }
        match a_start.compare(cmp, b_start) {
            Ordering::Less => {
                builder.push(a_start, b_start, a.entries(i), Entries::default());
                a_from = Some(b_start);
            }
            Ordering::Greater => {
                builder.push(b_start, a_start, b.entries(j), Entries::default());
                b_from = Some(a_start);
            }
            Ordering::Equal => {
                let order = a_end.compare(cmp, b_end);
                let end = if order.is_le() { a_end } else { b_end };
                builder.push(a_start, end, a.entries(i), b.entries(j));
                (a_from, b_from) = (Some(end), Some(end));
                if order.is_le() {
                    (i, a_from) = (i + 1, None);
                }
                if order.is_ge() {
                    (j, b_from) = (j + 1, None);
                }
            }
        }
    }
    push_rest(builder, a, i, a_from, a.len());
    push_rest(builder, b, j, b_from, b.len());
}

/// Pushes the fragments that end at or before `limit`, of which there is at least one.
fn push_until<'a>(
    builder: &mut Builder<'_>,
    set: &'a FragmentedTombstones,
    at: &mut usize,
    from: &mut Option<Bound<'a>>,
    limit: Bound<'_>,
) {
    // The first fragment that ends after `limit` is searched by doubling steps: runs are more often short
    // than long.
    let ends_by = |i: usize| set.end(i).compare(builder.cmp, limit).is_le();
    let (mut low, mut step) = (*at, 1);
    while low + step < set.len() && ends_by(low + step) {
        low += step;
        step *= 2;
    }
    let mut high = (low + step).min(set.len());
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        if ends_by(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    push_rest(builder, set, *at, from.take(), low + 1);
    *at = low + 1;
}

/// Pushes the fragments from `first` up to `last`, exclusive, the first of them from `from` on.
fn push_rest(
    builder: &mut Builder<'_>,
    set: &FragmentedTombstones,
    mut first: usize,
    from: Option<Bound<'_>>,
    last: usize,
) {
    if let Some(from) = from
        && first < last
    {
        builder.push(from, set.end(first), set.entries(first), Entries::default());
        first += 1;
    }
    if first < last {
        builder.push_run(set, first..last);
    }
}

impl FragmentedTombstones {
    /// Fragments `tombstones`, which may be in any order; empty ones are skipped.
    ///
    /// Linear if they are sorted by start and disjoint or identical, as RocksDB writes them. Otherwise
    /// `O(n log n)` plus the size of the result, which is quadratic where they nest deeply.
    pub fn build(
        tombstones: impl IntoIterator<Item = RangeTombstone>,
        cmp: &UserComparator,
    ) -> FragmentedTombstones {
        let tombstones: Vec<RangeTombstone> = tombstones.into_iter().collect();
        fragment(cmp, &items(cmp, &tombstones))
    }

    /// Builds as [`build`](Self::build) does, for untrusted tombstones: it takes no more time and memory than
    /// for `most` [tombstones](Self::num_tombstones), or for the fragments given. Fragments, which RocksDB
    /// writes, are taken as they are. If other tombstones nest so deeply that fragmenting creates more, each
    /// fragment keeps its newest. That is all that readers need whose snapshots are newer than every
    /// tombstone, which all are if the file is older than the session.
    ///
    /// Errors: `Corruption` in families with timestamps, where older tombstones may matter to any reader.
    pub fn build_within(
        tombstones: impl IntoIterator<Item = RangeTombstone>,
        cmp: &UserComparator,
        most: usize,
    ) -> Result<FragmentedTombstones> {
        let tombstones: Vec<RangeTombstone> = tombstones.into_iter().collect();
        fragment_within(cmp, &items(cmp, &tombstones), most).ok_or_else(|| {
            Error::corruption(format!(
                "{} range tombstones with timestamps are nested so deeply that they have more fragments than {most}",
                tombstones.len()
            ))
        })
    }

    /// The union of `sets`. `O(n log k)` for `n` fragments in `k` sets; cheap where the sets do not overlap.
    pub fn merge(cmp: &UserComparator, sets: &[&FragmentedTombstones]) -> FragmentedTombstones {
        match sets {
            [] => FragmentedTombstones::default(),
            [one] => FragmentedTombstones::clone(one),
            [a, b] => {
                let mut builder = Builder::new(cmp);
                merge_into(&mut builder, a, b);
                builder.finish()
            }
            _ => {
                let (left, right) = sets.split_at(sets.len() / 2);
                let halves = [
                    FragmentedTombstones::merge(cmp, left),
                    FragmentedTombstones::merge(cmp, right),
                ];
                FragmentedTombstones::merge(cmp, &[&halves[0], &halves[1]])
            }
        }
    }

    /// The set truncated to a file's bounds, which are internal keys as in the MANIFEST. A `largest` that is
    /// a tombstone's end (sequence number [`MAX_SEQNO`], kind `RangeDeletion`) is itself outside; any other
    /// is inside, and so are all versions of its user key.
    ///
    /// RocksDB writes a tombstone whole into each file it extends into, and only the bounds define the part
    /// that the file is responsible for.
    pub fn truncate(&self, cmp: &UserComparator, smallest: &[u8], largest: &[u8]) -> FragmentedTombstones {
        let mut buffer = Vec::new();
        let (low, high) = file_bounds(cmp, smallest, largest, &mut buffer);
        let first = self.ends_after(cmp, low);
        let starts_before = |i: usize| self.start(i).compare(cmp, high).is_lt();
        let (mut last, mut end) = (first, self.len());
        while last < end {
            let middle = last + (end - last) / 2;
            if starts_before(middle) {
                last = middle + 1;
            } else {
                end = middle;
            }
        }
        let mut builder = Builder::new(cmp);
        let mut run = first..last;
        if !run.is_empty() && self.start(first).compare(cmp, low).is_lt() {
            let end = self.end(first);
            let end = if end.compare(cmp, high).is_gt() { high } else { end };
            if low.compare(cmp, end).is_lt() {
                builder.push(low, end, self.entries(first), Entries::default());
            }
            run.start += 1;
        }
        if !run.is_empty() && self.end(last - 1).compare(cmp, high).is_gt() {
            run.end -= 1;
            builder.push_run(self, run);
            let i = last - 1;
            builder.push(self.start(i), high, self.entries(i), Entries::default());
        } else if !run.is_empty() {
            builder.push_run(self, run);
        }
        builder.finish()
    }

    /// Truncates as [`truncate`](Self::truncate) does, without a copy if nothing is truncated.
    pub fn truncate_shared(
        self: &Arc<Self>,
        cmp: &UserComparator,
        smallest: &[u8],
        largest: &[u8],
    ) -> Arc<FragmentedTombstones> {
        let mut buffer = Vec::new();
        let (low, high) = file_bounds(cmp, smallest, largest, &mut buffer);
        let within = self.is_empty()
            || (self.start(0).compare(cmp, low).is_ge()
                && self.end(self.len() - 1).compare(cmp, high).is_le());
        if within {
            Arc::clone(self)
        } else {
            Arc::new(self.truncate(cmp, smallest, largest))
        }
    }
}

fn items<'a>(cmp: &UserComparator, tombstones: &'a [RangeTombstone]) -> Vec<Item<'a>> {
    let item = |one: &'a RangeTombstone| Item::new(cmp, &one.start, &one.end, one.seqno);
    tombstones.iter().filter_map(item).collect()
}

fn file_bounds<'a>(
    cmp: &UserComparator,
    smallest: &'a [u8],
    largest: &'a [u8],
    buffer: &'a mut Vec<u8>,
) -> (Bound<'a>, Bound<'a>) {
    let high = stored_of_internal(cmp, largest);
    let high = if largest.ends_with(&SENTINEL) {
        Bound::before(high)
    } else {
        just_after(cmp, high, buffer)
    };
    (Bound::before(stored_of_internal(cmp, smallest)), high)
}

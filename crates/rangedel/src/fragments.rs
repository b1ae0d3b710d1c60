//! Fragments of range tombstones: cut wherever one begins or ends, so that they do not overlap.

use std::ops::Range;
use std::sync::Arc;

use base::{KeyPrefixes, SeqNo, UserComparator};

use crate::RangeTombstone;
use crate::bound::{Bound, stored};
use crate::entries::{Entries, Query};

/// One of a set's non-overlapping ranges, and the tombstones that cover it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment<'a> {
    /// The first user key covered, without timestamp.
    pub start: &'a [u8],
    /// The first user key no longer covered, without timestamp.
    pub end: &'a [u8],
    /// The sequence numbers of its tombstones, newest first; never empty.
    pub seqnos: &'a [SeqNo],
    /// False if `start` itself is not covered, because a fragment with
    /// [`end_is_covered`](Self::end_is_covered) was merged with the one that follows it.
    pub start_is_covered: bool,
    /// True if `end` itself is covered too. This only results from
    /// [truncation](FragmentedTombstones::truncate) at a point key in an order in which keys have no next
    /// key: never bytewise.
    pub end_is_covered: bool,
    pub(crate) timestamps: &'a [u8],
}

impl<'a> Fragment<'a> {
    /// The timestamp of the tombstone `seqnos[i]`; empty in families without timestamps.
    pub fn timestamp(&self, i: usize) -> &'a [u8] {
        let entries = Entries {
            seqnos: self.seqnos,
            timestamps: self.timestamps,
        };
        entries.timestamp(i)
    }
}

/// A key in the arena of a set, and the side of it on which the position is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyRef {
    pub offset: usize,
    pub len: u32,
    pub after: bool,
}

/// The keys and entries of a fragment. Its entries end where the next fragment's begin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub start: KeyRef,
    pub end: KeyRef,
    pub entries: usize,
}

/// Range tombstones, fragmented so that they do not overlap. Immutable; share it in an `Arc`.
///
/// All sequence numbers of a fragment are kept, because readers at snapshots need them. Neighbours with the
/// same tombstones are one fragment, so a set does not depend on how it was built. The comparator passed to
/// the methods must be the one it was built with.
#[derive(Clone, Debug, Default)]
pub struct FragmentedTombstones {
    /// Keys in order, without duplicates.
    pub(crate) keys: Vec<u8>,
    pub(crate) spans: Vec<Span>,
    /// The prefixes of the fragments' ends.
    pub(crate) ends: KeyPrefixes,
    pub(crate) seqnos: Vec<SeqNo>,
    /// One timestamp for each sequence number.
    pub(crate) timestamps: Vec<u8>,
    pub(crate) timestamp_size: usize,
    /// See [`bound::stored_timestamp_size`](crate::bound::stored_timestamp_size).
    pub(crate) stored_timestamp_size: usize,
}

impl FragmentedTombstones {
    /// No tombstones.
    pub fn empty() -> Arc<FragmentedTombstones> {
        Arc::default()
    }

    /// True if there are no tombstones.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The number of fragments.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// The number of tombstones a file needs to hold this set: one for each fragment and each of its sequence
    /// numbers.
    pub fn num_tombstones(&self) -> usize {
        self.seqnos.len()
    }

    /// The highest sequence number of any tombstone, or 0 without one. Linear.
    pub fn max_seqno(&self) -> SeqNo {
        self.seqnos.iter().copied().max().unwrap_or(0)
    }

    /// The memory of the fragments in bytes.
    pub fn memory_usage(&self) -> usize {
        size_of::<FragmentedTombstones>()
            + self.keys.capacity()
            + self.spans.capacity() * size_of::<Span>()
            + self.seqnos.capacity() * size_of::<SeqNo>()
            + self.timestamps.capacity()
            + self.ends.memory_usage()
    }

    pub(crate) fn key(&self, key: KeyRef) -> Bound<'_> {
        Bound {
            key: &self.keys[key.offset..key.offset + key.len as usize],
            after: key.after,
        }
    }

    pub(crate) fn start(&self, i: usize) -> Bound<'_> {
        self.key(self.spans[i].start)
    }

    pub(crate) fn end(&self, i: usize) -> Bound<'_> {
        self.key(self.spans[i].end)
    }

    pub(crate) fn entry_range(&self, fragments: Range<usize>) -> Range<usize> {
        let from = |i: usize| self.spans.get(i).map_or(self.seqnos.len(), |span| span.entries);
        from(fragments.start)..from(fragments.end)
    }

    pub(crate) fn entries(&self, i: usize) -> Entries<'_> {
        let range = self.entry_range(i..i + 1);
        let size = self.timestamp_size;
        Entries {
            seqnos: &self.seqnos[range.clone()],
            timestamps: &self.timestamps[range.start * size..range.end * size],
        }
    }

    /// The fragments in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Fragment<'_>> + ExactSizeIterator {
        (0..self.len()).map(|i| self.fragment(i))
    }

    /// Fragment `i`, which must be below [`len`](Self::len).
    pub fn fragment(&self, i: usize) -> Fragment<'_> {
        let bare = |key: &'_ [u8]| key.len().saturating_sub(self.stored_timestamp_size);
        let (start, end, entries) = (self.start(i), self.end(i), self.entries(i));
        Fragment {
            start: &start.key[..bare(start.key)],
            end: &end.key[..bare(end.key)],
            seqnos: entries.seqnos,
            start_is_covered: !start.after,
            end_is_covered: end.after,
            timestamps: entries.timestamps,
        }
    }

    /// The tombstones as a file holds them: one for each fragment and sequence number, by start, newest
    /// first.
    pub fn tombstones(&self) -> impl Iterator<Item = RangeTombstone> {
        self.iter().flat_map(|fragment| {
            (0..fragment.seqnos.len()).map(move |i| RangeTombstone {
                start: [fragment.start, fragment.timestamp(i)].concat(),
                end: [fragment.end, fragment.timestamp(i)].concat(),
                seqno: fragment.seqnos[i],
            })
        })
    }

    /// The index of the first fragment that ends after `user_key`, or [`len`](Self::len) if none does.
    /// Logarithmic.
    #[inline]
    pub fn seek(&self, cmp: &UserComparator, user_key: &[u8]) -> usize {
        self.ends_after(cmp, Bound::before(stored(cmp, user_key)))
    }

    /// True if a tombstone covers a user key from `start` to `limit`, both inclusive, timestamps ignored.
    pub fn overlaps(&self, cmp: &UserComparator, start: &[u8], limit: &[u8]) -> bool {
        let i = self.seek(cmp, start);
        i < self.len() && self.starts_at_or_before(cmp, i, stored(cmp, limit))
    }

    /// The index of the first fragment that ends after the position `bound`.
    #[inline]
    pub(crate) fn ends_after(&self, cmp: &UserComparator, bound: Bound<'_>) -> usize {
        self.ends
            .partition_point(bound.key, |i| self.end(i).compare(cmp, bound).is_le())
    }

    /// True if fragment `i`, a result of [`ends_after`](Self::ends_after), covers the stored `key`.
    #[inline]
    pub(crate) fn starts_at_or_before(&self, cmp: &UserComparator, i: usize, key: &[u8]) -> bool {
        self.start(i).compare(cmp, Bound::before(key)).is_le()
    }

    /// The newest tombstone over the stored `key` that counts.
    #[inline]
    pub(crate) fn newest(&self, cmp: &UserComparator, key: &[u8], query: &Query<'_>) -> SeqNo {
        let i = self.ends_after(cmp, Bound::before(key));
        if i == self.len() || !self.starts_at_or_before(cmp, i, key) {
            return 0;
        }
        self.entries(i).newest(cmp, query)
    }

    /// The highest sequence number `<= snapshot` of a tombstone covering the entry `user_key`, or 0 if none
    /// does. No allocation.
    ///
    /// With timestamps, only tombstones not older than the entry count.
    #[inline]
    pub fn covering_seqno(&self, cmp: &UserComparator, user_key: &[u8], snapshot: SeqNo) -> SeqNo {
        self.covering_seqno_at(cmp, user_key, snapshot, None)
    }

    /// Returns [`covering_seqno`](Self::covering_seqno) for a read at a timestamp: tombstones newer than
    /// `read_ts` are ignored.
    #[inline]
    pub fn covering_seqno_at(
        &self,
        cmp: &UserComparator,
        user_key: &[u8],
        snapshot: SeqNo,
        read_ts: Option<&[u8]>,
    ) -> SeqNo {
        if self.is_empty() {
            return 0;
        }
        let query = Query {
            snapshot,
            entry_ts: Some(cmp.timestamp(user_key)),
            read_ts,
        };
        self.newest(cmp, stored(cmp, user_key), &query)
    }

    /// For a Get, whose `user_key` ends in the read timestamp and not in an entry's: the newest tombstone it
    /// sees. It covers the entries of lower sequence numbers, because RocksDB requires that timestamps of one
    /// key grow with its sequence numbers.
    #[inline]
    pub fn covering_seqno_for_get(&self, cmp: &UserComparator, user_key: &[u8], snapshot: SeqNo) -> SeqNo {
        if self.is_empty() {
            return 0;
        }
        let query = Query {
            snapshot,
            entry_ts: None,
            read_ts: Some(cmp.timestamp(user_key)),
        };
        self.newest(cmp, stored(cmp, user_key), &query)
    }
}

impl PartialEq for FragmentedTombstones {
    fn eq(&self, other: &FragmentedTombstones) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for FragmentedTombstones {}

//! The sources of a tombstone cursor, and the lookup of one key in all of them.

use base::{SeqNo, UserComparator};

use crate::bound::{Bound, compare};
use crate::entries::{Entries, Query};
use crate::fragments::FragmentedTombstones;

/// One end of a range of keys, owned and reused; without a key it is unbounded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Edge {
    key: Vec<u8>,
    after: bool,
    bounded: bool,
}

impl Edge {
    pub fn clear(&mut self) {
        self.bounded = false;
    }

    pub fn set(&mut self, bound: Bound<'_>) {
        self.key.clear();
        self.key.extend_from_slice(bound.key);
        self.after = bound.after;
        self.bounded = true;
    }

    pub fn bound(&self) -> Option<Bound<'_>> {
        self.bounded.then_some(Bound {
            key: &self.key,
            after: self.after,
        })
    }
}

/// A range of keys.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extent {
    pub low: Edge,
    pub high: Edge,
}

impl Extent {
    pub fn clear(&mut self) {
        self.low.clear();
        self.high.clear();
    }

    pub fn set(&mut self, low: Bound<'_>, high: Bound<'_>) {
        self.low.set(low);
        self.high.set(high);
    }

    /// True if the range contains the stored `key`.
    #[inline]
    pub fn contains(&self, cmp: &UserComparator, key: &[u8]) -> bool {
        let beyond = |edge: &Edge| compare(cmp, &edge.key, key).then(edge.after.cmp(&false));
        (!self.low.bounded || beyond(&self.low).is_le()) && (!self.high.bounded || beyond(&self.high).is_gt())
    }
}

/// A lookup of one key in several sources: collects the newest tombstone over it, and the range of keys in
/// which nothing changes.
pub(crate) struct Probe<'a> {
    pub cmp: &'a UserComparator,
    /// The key in stored form.
    pub key: &'a [u8],
    pub query: Query<'a>,
    /// The newest tombstone found that counts.
    pub newest: SeqNo,
    /// The range of the fragment, or tombstone, of `newest`.
    pub span: &'a mut Extent,
    /// The range around the key in which every key is covered by the same tombstones.
    pub same: &'a mut Extent,
    /// True if any tombstone covers the key, whether it counts or not.
    pub covered: bool,
}

impl Probe<'_> {
    /// Records that the covering tombstones are the same for all keys between `low` and `high`; `None` is
    /// unbounded.
    pub fn narrow(&mut self, low: Option<Bound<'_>>, high: Option<Bound<'_>>) {
        if let Some(low) = low
            && self
                .same
                .low
                .bound()
                .is_none_or(|old| old.compare(self.cmp, low).is_lt())
        {
            self.same.low.set(low);
        }
        if let Some(high) = high
            && self
                .same
                .high
                .bound()
                .is_none_or(|old| old.compare(self.cmp, high).is_gt())
        {
            self.same.high.set(high);
        }
    }

    /// Records that `entries`, whose range is `low` to `high`, cover the key.
    pub fn found(&mut self, entries: Entries<'_>, low: Bound<'_>, high: Bound<'_>) {
        self.found_seqno(entries.newest(self.cmp, &self.query), low, high);
    }

    /// Records that tombstones from `low` to `high` cover the key. `newest` is the sequence number of the
    /// newest tombstone that counts, or 0 if none counts.
    pub fn found_seqno(&mut self, newest: SeqNo, low: Bound<'_>, high: Bound<'_>) {
        self.covered = true;
        if newest > self.newest {
            self.newest = newest;
            self.span.set(low, high);
        }
    }
}

impl FragmentedTombstones {
    /// Narrows `probe` to the fragment or the gap around its key.
    pub(crate) fn probe(&self, probe: &mut Probe<'_>, hint: &mut usize) {
        let i = self.ends_after_near(probe.cmp, Bound::before(probe.key), *hint);
        *hint = i;
        let here = i < self.len() && self.starts_at_or_before(probe.cmp, i, probe.key);
        if here {
            probe.narrow(Some(self.start(i)), Some(self.end(i)));
            probe.found(self.entries(i), self.start(i), self.end(i));
        } else {
            let low = i.checked_sub(1).map(|before| self.end(before));
            probe.narrow(low, (i < self.len()).then(|| self.start(i)));
        }
    }

    /// Returns the result of [`ends_after`](Self::ends_after), searching around `hint` first.
    fn ends_after_near(&self, cmp: &UserComparator, bound: Bound<'_>, hint: usize) -> usize {
        let ends_after = |i: usize| self.end(i).compare(cmp, bound).is_gt();
        let fits = |i: usize| (i == 0 || !ends_after(i - 1)) && (i == self.len() || ends_after(i));
        let near = [Some(hint), hint.checked_add(1), hint.checked_sub(1)];
        near.into_iter()
            .flatten()
            .find(|&i| i <= self.len() && fits(i))
            .unwrap_or_else(|| self.ends_after(cmp, bound))
    }
}

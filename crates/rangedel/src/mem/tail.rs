//! The newest tombstones of a memtable, in the order of their addition.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use base::{KeyRank, SeqNo, UserComparator};

use crate::bound::{Bound, contains};
use crate::build::Item;
use crate::entries::{Entries, Query};

/// The number of tombstones in a tail. Readers compare with each of them; the cost of folding them into the
/// tree is amortised over as many additions.
pub(super) const CAPACITY: usize = 32;

/// A tombstone's bytes: start, end and timestamp, one after the other.
#[derive(Debug)]
struct Bytes {
    all: Box<[u8]>,
    start_len: usize,
    end_len: usize,
}

/// Slots that are filled once, from first to last.
///
/// Invariant: the slots below `len` are complete and never change. The writer's release and the reader's
/// acquire of `len` are the only ordering.
#[derive(Debug)]
pub(super) struct Tail {
    /// The ranks of keys after the prefix that the keys in the tree share, so that numbers alone exclude most
    /// tombstones.
    rank: KeyRank,
    len: AtomicUsize,
    starts: [AtomicU64; CAPACITY],
    ends: [AtomicU64; CAPACITY],
    seqnos: [AtomicU64; CAPACITY],
    bytes: [OnceLock<Bytes>; CAPACITY],
}

/// Bytes that a tombstone takes in a tail.
pub(super) fn memory_of(item: &Item<'_>) -> usize {
    size_of::<[u64; 3]>()
        + size_of::<OnceLock<Bytes>>()
        + item.start.key.len()
        + item.end.key.len()
        + item.timestamp.len()
}

impl Tail {
    pub fn new(rank: KeyRank) -> Tail {
        Tail {
            rank,
            len: AtomicUsize::new(0),
            starts: [const { AtomicU64::new(0) }; CAPACITY],
            ends: [const { AtomicU64::new(0) }; CAPACITY],
            seqnos: [const { AtomicU64::new(0) }; CAPACITY],
            bytes: [const { OnceLock::new() }; CAPACITY],
        }
    }

    pub fn len(&self) -> usize {
        self.len.load(Ordering::Acquire)
    }

    /// Adds a tombstone; false if there is no room. One writer at a time.
    pub fn push(&self, item: &Item<'_>) -> bool {
        let i = self.len.load(Ordering::Relaxed);
        if i == CAPACITY {
            return false;
        }
        let (start, end) = (item.start.key, item.end.key);
        self.starts[i].store(self.rank.rank(start), Ordering::Relaxed);
        self.ends[i].store(self.rank.rank(end), Ordering::Relaxed);
        self.seqnos[i].store(item.seqno, Ordering::Relaxed);
        let bytes = Bytes {
            all: [start, end, item.timestamp].concat().into(),
            start_len: start.len(),
            end_len: end.len(),
        };
        let fresh = self.bytes[i].set(bytes).is_ok();
        base::invariant!(fresh, "a slot is filled once");
        self.len.store(i + 1, Ordering::Release);
        true
    }

    fn item(&self, i: usize) -> Option<Item<'_>> {
        let bytes = self.bytes[i].get()?;
        let (start, rest) = bytes.all.split_at(bytes.start_len);
        let (end, timestamp) = rest.split_at(bytes.end_len);
        Some(Item {
            start: Bound::before(start),
            end: Bound::before(end),
            seqno: self.seqnos[i].load(Ordering::Relaxed),
            timestamp,
        })
    }

    /// The tombstones, at most the first `limit`.
    pub fn items(&self, limit: usize) -> impl Iterator<Item = Item<'_>> {
        (0..self.len().min(limit)).filter_map(|i| self.item(i))
    }

    /// The newest tombstone over `key` that counts, or 0 without one.
    #[inline]
    pub fn newest(&self, cmp: &UserComparator, key: &[u8], query: &Query<'_>) -> SeqNo {
        let len = self.len();
        if len == 0 {
            return 0;
        }
        let rank = self.rank.rank(key);
        let mut newest = 0;
        let ranks = self.starts.iter().zip(&self.ends).zip(&self.seqnos);
        for (i, ((start, end), seqno)) in ranks.take(len).enumerate() {
            let (start, end) = (start.load(Ordering::Relaxed), end.load(Ordering::Relaxed));
            if rank < start || end < rank || seqno.load(Ordering::Relaxed) <= newest {
                continue;
            }
            if let Some(item) = self.item(i)
                && contains(cmp, item.start.key, item.end.key, key)
            {
                newest = newest.max(item.entries().newest(cmp, query));
            }
        }
        newest
    }
}

impl Item<'_> {
    /// The tombstone as a list of entries.
    pub(crate) fn entries(&self) -> Entries<'_> {
        Entries {
            seqnos: std::slice::from_ref(&self.seqno),
            timestamps: self.timestamp,
        }
    }
}

//! The tombstones over one range: sequence numbers and timestamps, newest first.

use std::cmp::Ordering;

use base::{SeqNo, UserComparator};

/// Sequence numbers, newest first. `timestamps` has the timestamp of each, all of one size, which may be 0.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entries<'a> {
    pub seqnos: &'a [SeqNo],
    pub timestamps: &'a [u8],
}

/// The tombstones that count for a read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Query<'a> {
    /// Tombstones up to this sequence number.
    pub snapshot: SeqNo,
    /// Tombstones not older than the entry to cover; `None` if that entry is not known yet.
    pub entry_ts: Option<&'a [u8]>,
    /// Tombstones not newer than the read timestamp.
    pub read_ts: Option<&'a [u8]>,
}

impl<'a> Entries<'a> {
    pub fn len(&self) -> usize {
        self.seqnos.len()
    }

    pub fn is_empty(&self) -> bool {
        self.seqnos.is_empty()
    }

    /// The timestamp of `seqnos[i]`.
    pub fn timestamp(&self, i: usize) -> &'a [u8] {
        let size = self.timestamps.len() / self.seqnos.len();
        &self.timestamps[i * size..(i + 1) * size]
    }

    /// Compares entry `i` with entry `j` of `other`: the greater one is newer.
    pub fn compare(&self, cmp: &UserComparator, i: usize, other: &Entries<'_>, j: usize) -> Ordering {
        self.seqnos[i].cmp(&other.seqnos[j]).then_with(|| {
            let (a, b) = (self.timestamp(i), other.timestamp(j));
            if a == b {
                Ordering::Equal
            } else {
                cmp.compare_timestamp(a, b)
            }
        })
    }

    /// The highest sequence number that counts, or 0 without one.
    #[inline]
    pub fn newest(&self, cmp: &UserComparator, query: &Query<'_>) -> SeqNo {
        let Some(&newest) = self.seqnos.first() else {
            return 0;
        };
        let first = if newest <= query.snapshot {
            0
        } else {
            self.seqnos.partition_point(|&seqno| seqno > query.snapshot)
        };
        if self.timestamps.is_empty() {
            return self.seqnos.get(first).copied().unwrap_or(0);
        }
        let counts = |&i: &usize| {
            let ts = self.timestamp(i);
            query
                .entry_ts
                .is_none_or(|entry| cmp.compare_timestamp(entry, ts).is_le())
                && query
                    .read_ts
                    .is_none_or(|read| cmp.compare_timestamp(ts, read).is_le())
        };
        (first..self.len()).find(counts).map_or(0, |i| self.seqnos[i])
    }
}

/// Appends the union of `a` and `b` to the two vectors, newest first, without duplicates. With `snapshots`
/// (ascending) it keeps only the entries that are the newest for one of them or for the newest state; not in
/// families with timestamps, where an older tombstone may hide an entry that a newer one must not hide.
pub(crate) fn append_union(
    cmp: &UserComparator,
    a: Entries<'_>,
    b: Entries<'_>,
    snapshots: Option<&[SeqNo]>,
    seqnos: &mut Vec<SeqNo>,
    timestamps: &mut Vec<u8>,
) {
    let start = seqnos.len();
    let snapshots = snapshots.filter(|_| a.timestamps.is_empty() && b.timestamps.is_empty());
    // Usually one list is empty, or newer than all of the other.
    let newer = |a: &Entries<'_>, b: &Entries<'_>| a.seqnos.last() > b.seqnos.first();
    if snapshots.is_none() && (a.is_empty() || b.is_empty() || newer(&a, &b) || newer(&b, &a)) {
        for entries in if newer(&b, &a) { [b, a] } else { [a, b] } {
            seqnos.extend_from_slice(entries.seqnos);
            timestamps.extend_from_slice(entries.timestamps);
        }
        return;
    }
    // The newest snapshot that sees none of the entries kept so far: no reader needs an entry above it.
    let mut stripe = SeqNo::MAX;
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        let order = match (i < a.len(), j < b.len()) {
            (true, true) => a.compare(cmp, i, &b, j),
            (true, false) => Ordering::Greater,
            _ => Ordering::Less,
        };
        let (seqno, timestamp) = if order.is_ge() {
            (a.seqnos[i], a.timestamp(i))
        } else {
            (b.seqnos[j], b.timestamp(j))
        };
        i += usize::from(order.is_ge());
        j += usize::from(order.is_le());
        if seqno > stripe {
            continue;
        }
        if let Some(snapshots) = snapshots {
            let below = snapshots.partition_point(|&snapshot| snapshot < seqno);
            if below == 0 {
                seqnos.push(seqno);
                return;
            }
            stripe = snapshots[below - 1];
        }
        if seqnos.len() > start && timestamps.is_empty() && seqnos.last() == Some(&seqno) {
            continue;
        }
        seqnos.push(seqno);
        timestamps.extend_from_slice(timestamp);
    }
}

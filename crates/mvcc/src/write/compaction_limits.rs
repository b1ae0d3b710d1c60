//! The limits of the garbage that compactions may drop. The store raises them, and the compaction filter
//! reads them.

use std::sync::Arc;

use base::sync::Mutex;
use esker::SeqNo;

use crate::key::timestamp::Timestamp;

/// Makes compactions of a family drop garbage. Pass it first to the family's options, and then to its
/// [store](crate::MvccStore::open_with_compactions). Until the store is open nothing is dropped.
#[derive(Clone, Default)]
pub struct CompactionGc(Arc<Mutex<Limits>>);

/// The default fraction of a table that must be garbage for it to be rewritten.
const MIN_GARBAGE: f64 = 0.25;

/// The limits that compactions use.
struct Limits {
    /// See [`set_min_garbage`](CompactionGc::set_min_garbage).
    min_garbage: f64,
    /// The collections in the order of their times. Each applies to compactions whose oldest snapshot is
    /// older than the next collection; the last one applies without snapshots.
    rises: Vec<Rise>,
    distrusted: Timestamp,
}

/// A collection of garbage at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rise {
    collected: Timestamp,
    /// The sequence number of the write after which the collection is in force: snapshots from this number on
    /// were taken after it.
    since: SeqNo,
}

/// The maximum number of collections that are remembered. If there are more while one snapshot is open, some
/// are forgotten, and the garbage that compactions could drop because of them stays until that snapshot is
/// closed.
const MAX_RISES: usize = 64;

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            min_garbage: MIN_GARBAGE,
            rises: Vec::new(),
            distrusted: Timestamp::ZERO,
        }
    }
}

impl CompactionGc {
    /// An instance for one family.
    pub fn new() -> CompactionGc {
        CompactionGc::default()
    }

    /// Sets the fraction of a table's bytes, before compression, that must be garbage for a table with
    /// nothing below it to be rewritten for that alone; values in blob files count where they are garbage. 0:
    /// any garbage that the table's property shows, which divides time into 32 stretches and counts each
    /// entirely or not at all. Above 1: never. With a fraction p, each freed byte costs 1/p - 1 written
    /// bytes. Default: 0.25.
    pub fn set_min_garbage(&self, part: f64) {
        self.0.lock().min_garbage = part;
    }

    pub(crate) fn min_garbage(&self) -> f64 {
        self.0.lock().min_garbage
    }

    /// From now on, no version at or before `distrusted` counts as hiding older versions.
    pub(crate) fn distrust(&self, distrusted: Timestamp) {
        self.0.lock().distrusted = distrusted;
    }

    /// Records that garbage at `collected` was collected by the write `since` or an earlier one. No snapshot
    /// older than `oldest_snapshot` is open or will be taken.
    pub(crate) fn rise(&self, collected: Timestamp, since: SeqNo, oldest_snapshot: SeqNo) {
        let rises = &mut self.0.lock().rises;
        if rises.last().is_some_and(|last| last.collected >= collected) {
            return;
        }
        rises.push(Rise { collected, since });
        // A compaction whose oldest snapshot is older than all remembered collections finds none of them, and
        // keeps everything.
        let passed = rises.partition_point(|rise| rise.since <= oldest_snapshot);
        rises.drain(..passed.saturating_sub(1));
        if rises.len() > MAX_RISES {
            rises.remove(1);
        }
    }

    /// The times of versions that hide older ones, if no snapshot is older than `oldest_snapshot`: above the
    /// first time, and at or below the second.
    pub(crate) fn hiders(&self, oldest_snapshot: SeqNo) -> (Timestamp, Timestamp) {
        let limits = self.0.lock();
        let last = limits.rises.iter().rfind(|rise| rise.since <= oldest_snapshot);
        (
            limits.distrusted,
            last.map_or(Timestamp::ZERO, |rise| rise.collected),
        )
    }
}

#[cfg(test)]
mod tests {
    use base::MAX_SEQNO;

    use super::*;

    #[test]
    fn snapshots_go_by_what_was_collected_before_them() {
        let gc = CompactionGc::new();
        let at = Timestamp::from_nanos;
        assert_eq!(gc.hiders(MAX_SEQNO), (Timestamp::ZERO, Timestamp::ZERO));
        gc.distrust(at(3));
        gc.rise(at(4), 100, 50);
        gc.rise(at(6), 200, 150);
        // A second collection at the same time has no effect.
        gc.rise(at(6), 250, 150);
        gc.rise(at(8), 300, 150);
        for (oldest, until) in [
            (0, 0),
            (99, 0),
            (100, 4),
            (199, 4),
            (200, 6),
            (299, 6),
            (300, 8),
            (MAX_SEQNO, 8),
        ] {
            assert_eq!(gc.hiders(oldest), (at(3), at(until)), "{oldest}");
        }
        // Rises that no snapshot needs are forgotten.
        gc.rise(at(9), 400, 310);
        assert_eq!(
            [299, 300, 400].map(|oldest| gc.hiders(oldest).1),
            [at(0), at(8), at(9)]
        );
        // While a snapshot is held, the first collection applies to it, and the last collection applies to
        // later snapshots.
        for more in 1..1000 {
            gc.rise(at(9 + more), 400 + more as u64, 310);
        }
        assert!(gc.0.lock().rises.len() <= MAX_RISES);
        assert_eq!(
            [310, 1398, 1399].map(|oldest| gc.hiders(oldest).1),
            [at(8), at(1007), at(1008)]
        );
    }
}

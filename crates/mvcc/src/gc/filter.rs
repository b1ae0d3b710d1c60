//! The compaction filter that drops garbage, and the limits of the garbage that it may drop.

use std::sync::Arc;

use base::sync::Mutex;
use esker::{
    ColumnFamilyOptions, CompactionFilter, CompactionFilterFactory, Decision, FilterContext, SeqNo, ValueType,
};

use super::hidden::HiddenVersions;
use crate::key::MvccKey;
use crate::timestamp::Timestamp;

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

    /// Sets this as the compaction filter of `options`, and adds the table property that records how much of
    /// a table is garbage at what time.
    pub fn configure(&self, options: &mut ColumnFamilyOptions) {
        options.compaction_filter_factory = Some(Arc::new(self.clone()));
        options
            .table_properties_collector_factories
            .push(Arc::new(HiddenVersions));
    }

    /// Sets the fraction of a table's bytes, before compression, that must be garbage for a table with
    /// nothing below it to be rewritten for that alone; values in blob files count where they are garbage. 0:
    /// any garbage that the table's property shows, which divides time into 32 stretches and counts each
    /// entirely or not at all. Above 1: never. With a fraction p, each freed byte costs 1/p - 1 written
    /// bytes. Default: 0.25.
    pub fn set_min_garbage(&self, part: f64) {
        self.0.lock().min_garbage = part;
    }

    pub(super) fn min_garbage(&self) -> f64 {
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
    pub(super) fn hiders(&self, oldest_snapshot: SeqNo) -> (Timestamp, Timestamp) {
        let limits = self.0.lock();
        let last = limits.rises.iter().rfind(|rise| rise.since <= oldest_snapshot);
        (
            limits.distrusted,
            last.map_or(Timestamp::ZERO, |rise| rise.collected),
        )
    }
}

impl CompactionFilterFactory for CompactionGc {
    fn name(&self) -> &str {
        "esker.MvccCompactionGc"
    }

    fn create(&self, context: &FilterContext) -> Option<Box<dyn CompactionFilter>> {
        let (after, until) = self.hiders(context.oldest_snapshot);
        (after < until).then(|| {
            Box::new(Filter {
                after,
                until,
                user_key: Vec::new(),
                hidden: false,
            }) as Box<dyn CompactionFilter>
        })
    }
}

/// The filter of one compaction or subcompaction, which sees the entries in order.
struct Filter {
    after: Timestamp,
    until: Timestamp,
    /// The user key of the last entry.
    user_key: Vec<u8>,
    /// True if a version was seen that hides the older versions of that user key.
    hidden: bool,
}

impl Filter {
    fn decide(&mut self, key: &[u8]) -> Decision {
        // Corruption is reported when the entry is read; no user key is empty.
        let (user_key, time) = match MvccKey::decode(key) {
            Ok(key) => (key.user_key, key.timestamp),
            Err(_) => (&[][..], Timestamp::ZERO),
        };
        if user_key != self.user_key {
            self.user_key.clear();
            self.user_key.extend_from_slice(user_key);
            self.hidden = false;
        }
        // Range tombstones are stored under the empty user key, and none hides another.
        if time.is_zero() || user_key.is_empty() {
            return Decision::Keep;
        }
        if self.hidden {
            return Decision::Remove;
        }
        self.hidden = time > self.after && time <= self.until;
        Decision::Keep
    }
}

impl CompactionFilter for Filter {
    fn filter(&mut self, _level: usize, key: &[u8], _value_type: ValueType, _value: &[u8]) -> Decision {
        self.decide(key)
    }

    fn filter_blob_by_key(&mut self, _level: usize, key: &[u8]) -> Option<Decision> {
        Some(self.decide(key))
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

    #[test]
    fn hiders_lie_above_what_is_distrusted() {
        let at = Timestamp::from_nanos;
        let mut filter = Filter {
            after: at(3),
            until: at(10),
            user_key: Vec::new(),
            hidden: false,
        };
        let mut removed = Vec::new();
        for (key, times) in [
            ("a", vec![12, 10, 9, 2]),
            ("b", vec![11, 3, 2, 1]),
            ("c", vec![0, 4, 1]),
        ] {
            for wall in times {
                let bytes = MvccKey {
                    user_key: key.as_bytes(),
                    timestamp: at(wall),
                }
                .encode();
                if filter.decide(&bytes) == Decision::Remove {
                    removed.push((key, wall));
                }
            }
        }
        assert_eq!(removed, [("a", 9), ("a", 2), ("c", 1)]);
        assert_eq!(filter.decide(b"damaged"), Decision::Keep);
    }
}

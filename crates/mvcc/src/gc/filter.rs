//! The compaction filter that drops garbage.

use std::sync::Arc;

use esker::{
    ColumnFamilyOptions, CompactionFilter, CompactionFilterFactory, Decision, FilterContext, ValueType,
};

use super::hidden::HiddenVersions;
use crate::key::mvcc_key::MvccKey;
use crate::key::timestamp::Timestamp;
use crate::write::compaction_limits::CompactionGc;

impl CompactionGc {
    /// Sets this as the compaction filter of `options`, and adds the table property that records how much of
    /// a table is garbage at what time.
    pub fn configure(&self, options: &mut ColumnFamilyOptions) {
        options.compaction_filter_factory = Some(Arc::new(self.clone()));
        options
            .table_properties_collector_factories
            .push(Arc::new(HiddenVersions));
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

    fn filter_entity(&mut self, _level: usize, key: &[u8], _columns: &[(&[u8], &[u8])]) -> Decision {
        self.decide(key)
    }

    fn filter_blob_by_key(&mut self, _level: usize, key: &[u8]) -> Option<Decision> {
        Some(self.decide(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

//! The order of keys in tables that store them without their timestamps.

use std::cmp::Ordering;
use std::sync::Arc;

use base::UserComparator;
use base::comparator::Comparator;

/// The order of keys whose timestamps were stripped.
pub(crate) fn without_timestamps(order: &UserComparator) -> UserComparator {
    match order {
        UserComparator::BytewiseU64Ts => UserComparator::Bytewise,
        UserComparator::ReverseBytewiseU64Ts => UserComparator::ReverseBytewise,
        UserComparator::Custom(custom) => UserComparator::Custom(Arc::new(MinimumTimestamps(custom.clone()))),
        UserComparator::Bytewise | UserComparator::ReverseBytewise => order.clone(),
    }
}

/// A user's order over stored keys without timestamps, which all have the minimum timestamp. It copies both
/// keys for each comparison, because a user's order compares only keys with timestamps.
struct MinimumTimestamps(Arc<dyn Comparator>);

impl Comparator for MinimumTimestamps {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let with_timestamp = |key: &[u8]| {
            let mut key = key.to_vec();
            key.resize(key.len() + self.0.timestamp_size(), 0);
            key
        };
        self.0.compare(&with_timestamp(a), &with_timestamp(b))
    }
}

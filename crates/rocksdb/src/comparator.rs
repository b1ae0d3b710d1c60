//! Comparators that are made from functions.

use std::cmp::Ordering;

/// Compares two keys. Any thread may call it.
pub type CompareFn = dyn Fn(&[u8], &[u8]) -> Ordering + Send + Sync;

/// Compares two timestamps.
pub type CompareTsFn = dyn Fn(&[u8], &[u8]) -> Ordering + Send + Sync;

/// Compares two keys without their timestamps. The flag after each key is true if the key ends with a
/// timestamp.
pub type CompareWithoutTsFn = dyn Fn(&[u8], bool, &[u8], bool) -> Ordering + Send + Sync;

/// A comparator whose keys have no timestamps.
pub(crate) struct Order {
    pub(crate) name: String,
    pub(crate) compare: Box<CompareFn>,
}

impl esker::Comparator for Order {
    fn name(&self) -> &str {
        &self.name
    }

    /// Keys of equal bytes are equal in every order, so the user's function is not called for them.
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        match a == b {
            true => Ordering::Equal,
            false => (self.compare)(a, b),
        }
    }
}

/// An order of keys that end with a timestamp.
pub(crate) struct OrderWithTs {
    pub(crate) name: String,
    pub(crate) timestamp_size: usize,
    pub(crate) compare: Box<CompareFn>,
    pub(crate) compare_without_ts: Box<CompareWithoutTsFn>,
}

impl OrderWithTs {
    fn has_timestamp(&self, key: &[u8]) -> bool {
        key.len() >= self.timestamp_size
    }
}

impl esker::Comparator for OrderWithTs {
    fn name(&self) -> &str {
        &self.name
    }

    /// Bytes that are too short for a timestamp are compared without one: the function may rely on the
    /// length.
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        match self.has_timestamp(a) && self.has_timestamp(b) {
            true => (self.compare)(a, b),
            false => self.compare_without_timestamp(a, b),
        }
    }

    fn timestamp_size(&self) -> usize {
        self.timestamp_size
    }

    fn compare_without_timestamp(&self, a: &[u8], b: &[u8]) -> Ordering {
        (self.compare_without_ts)(a, self.has_timestamp(a), b, self.has_timestamp(b))
    }
}

//! Ranges of keys for [`ReadOptions::set_iterate_range`](crate::ReadOptions::set_iterate_range).

use std::ops::{Range, RangeFrom, RangeFull, RangeTo};

/// Types that define the bounds of an iterator.
pub trait IterateBounds {
    /// The first visible key, and the first one after the visible keys; `None` without a bound.
    fn into_bounds(self) -> (Option<Vec<u8>>, Option<Vec<u8>>);
}

impl IterateBounds for RangeFull {
    fn into_bounds(self) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        (None, None)
    }
}

impl<K: Into<Vec<u8>>> IterateBounds for Range<K> {
    fn into_bounds(self) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        (Some(self.start.into()), Some(self.end.into()))
    }
}

impl<K: Into<Vec<u8>>> IterateBounds for RangeFrom<K> {
    fn into_bounds(self) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        (Some(self.start.into()), None)
    }
}

impl<K: Into<Vec<u8>>> IterateBounds for RangeTo<K> {
    fn into_bounds(self) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        (None, Some(self.end.into()))
    }
}

/// All keys that begin with the given bytes, in a family in bytewise order.
#[derive(Clone, Copy)]
pub struct PrefixRange<K>(pub K);

impl<K: Into<Vec<u8>>> IterateBounds for PrefixRange<K> {
    fn into_bounds(self) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        let prefix = self.0.into();
        let end = behind(&prefix);
        let begin = (!prefix.is_empty()).then_some(prefix);
        (begin, end)
    }
}

/// The first key after all keys that begin with `prefix`; `None` if there is none.
fn behind(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != u8::MAX)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_ends_before_the_next_one() {
        let bounds = |prefix: &[u8]| PrefixRange(prefix).into_bounds();
        assert_eq!(bounds(b""), (None, None));
        assert_eq!(bounds(b"ab"), (Some(b"ab".to_vec()), Some(b"ac".to_vec())));
        assert_eq!(bounds(b"a\xff"), (Some(b"a\xff".to_vec()), Some(b"b".to_vec())));
        assert_eq!(bounds(b"\xff\xff"), (Some(b"\xff\xff".to_vec()), None));
    }
}

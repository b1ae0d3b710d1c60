//! Ranges of keys, which transactions lock or read.

use std::cmp::Ordering;
use std::ops::Bound;

use base::UserComparator;

/// The keys from one on up to another, in the order of their column family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// The first key; `None`: no lower bound.
    pub begin: Option<Vec<u8>>,
    /// The end of the range.
    pub end: Bound<Vec<u8>>,
}

impl KeyRange {
    /// The range from `begin` to `end`, exclusive; `None`: no bound.
    pub(crate) fn half_open(begin: Option<&[u8]>, end: Option<&[u8]>) -> KeyRange {
        KeyRange {
            begin: begin.map(<[u8]>::to_vec),
            end: end.map_or(Bound::Unbounded, |end| Bound::Excluded(end.to_vec())),
        }
    }

    /// Returns the end of the range, borrowed.
    pub(crate) fn end(&self) -> Bound<&[u8]> {
        self.end.as_ref().map(|end| &end[..])
    }

    pub(crate) fn contains(&self, user: &UserComparator, key: &[u8]) -> bool {
        let begin = self.begin.as_ref();
        begin.is_none_or(|begin| user.compare(begin, key).is_le()) && is_within(user, key, self.end())
    }

    /// True if a key can be in each of the two ranges.
    pub(crate) fn meets(&self, user: &UserComparator, other: &KeyRange) -> bool {
        let begins_within = |begin: &Option<Vec<u8>>, end: Bound<&[u8]>| {
            begin.as_ref().is_none_or(|begin| is_within(user, begin, end))
        };
        begins_within(&self.begin, other.end()) && begins_within(&other.begin, self.end())
    }

    /// True if each key of `other` is in this range.
    pub(crate) fn covers(&self, user: &UserComparator, other: &KeyRange) -> bool {
        compare_begins(user, self, other).is_le() && compare_ends(user, self, other).is_ge()
    }
}

fn is_within(user: &UserComparator, key: &[u8], end: Bound<&[u8]>) -> bool {
    match end {
        Bound::Unbounded => true,
        Bound::Included(end) => user.compare(key, end).is_le(),
        Bound::Excluded(end) => user.compare(key, end).is_lt(),
    }
}

/// Compares the beginnings of two ranges.
pub(crate) fn compare_begins(user: &UserComparator, a: &KeyRange, b: &KeyRange) -> Ordering {
    match (&a.begin, &b.begin) {
        (Some(a), Some(b)) => user.compare(a, b),
        (a, b) => a.is_some().cmp(&b.is_some()),
    }
}

/// Compares the ends of two ranges.
pub(crate) fn compare_ends(user: &UserComparator, a: &KeyRange, b: &KeyRange) -> Ordering {
    let parts = |range: &KeyRange| match range.end() {
        Bound::Unbounded => None,
        // An inclusive end of a range is just after its key, an exclusive one just before it.
        Bound::Included(end) => Some((end.to_vec(), true)),
        Bound::Excluded(end) => Some((end.to_vec(), false)),
    };
    match (parts(a), parts(b)) {
        (Some((a, behind_a)), Some((b, behind_b))) => user.compare(&a, &b).then(behind_a.cmp(&behind_b)),
        (a, b) => a.is_none().cmp(&b.is_none()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTEWISE: UserComparator = UserComparator::Bytewise;

    fn closed(begin: &str, end: &str) -> KeyRange {
        KeyRange {
            begin: Some(begin.into()),
            end: Bound::Included(end.into()),
        }
    }

    fn half_open(begin: Option<&str>, end: Option<&str>) -> KeyRange {
        KeyRange::half_open(begin.map(str::as_bytes), end.map(str::as_bytes))
    }

    #[test]
    fn ends_are_in_a_range_or_not() {
        let range = half_open(Some("b"), Some("d"));
        let contains = |key: &[u8]| range.contains(&BYTEWISE, key);
        assert_eq!(
            (contains(b"a"), contains(b"b"), contains(b"c"), contains(b"d")),
            (false, true, true, false)
        );
        let meets = |other: KeyRange| {
            assert_eq!(range.meets(&BYTEWISE, &other), other.meets(&BYTEWISE, &range));
            range.meets(&BYTEWISE, &other)
        };
        assert!(!meets(half_open(None, Some("b"))) && meets(closed("a", "b")));
        assert!(!meets(half_open(Some("d"), None)) && meets(half_open(Some("c"), None)));
        assert!(meets(half_open(None, None)));
    }

    #[test]
    fn a_range_covers_what_begins_not_before_and_ends_not_behind() {
        let range = half_open(Some("b"), Some("d"));
        let covers = |other: KeyRange| range.covers(&BYTEWISE, &other);
        assert!(covers(range.clone()) && covers(closed("b", "c")));
        assert!(!covers(closed("b", "d")) && !covers(half_open(Some("b"), None)));
        assert!(!covers(half_open(None, Some("c"))) && !covers(closed("a", "c")));
        assert!(half_open(None, None).covers(&BYTEWISE, &half_open(None, None)));
        assert!(closed("b", "d").covers(&BYTEWISE, &range));
    }
}

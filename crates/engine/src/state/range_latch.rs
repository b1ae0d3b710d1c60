//! The key ranges that writers may not write to while an ingestion is in progress.
//!
//! The latch is set and removed under the write queue's lock and the database mutex, and read under the mutex
//! by writers that hold the write queue. So a writer either has its rows in memtables before the latch is
//! set, or finds the latch.

use std::ops::Bound;
use std::sync::Arc;

use base::{Kind, UserComparator};

use crate::state::column_family::Family;
use crate::state::removals::{KeyRange, is_within};

/// The latched ranges of some families.
pub(crate) struct RangeLatch {
    families: Vec<Latched>,
}

struct Latched {
    family: Arc<Family>,
    /// The ranges in ascending order; none overlaps another.
    ranges: Vec<KeyRange>,
}

impl RangeLatch {
    /// A latch on `ranges` of each family, in any order.
    pub fn new(families: impl IntoIterator<Item = (Arc<Family>, Vec<KeyRange>)>) -> RangeLatch {
        let families = families.into_iter().map(|(family, ranges)| Latched {
            ranges: disjoint(family.cmp.user(), ranges),
            family,
        });
        RangeLatch {
            families: families.collect(),
        }
    }

    /// True if the row may be in a latched range. `value` is the end of the range if `kind` is a range
    /// deletion.
    pub fn holds(&self, family: u32, kind: Kind, key: &[u8], value: &[u8]) -> bool {
        let latched = self.families.iter().find(|latched| latched.family.id == family);
        latched.is_some_and(|latched| {
            let user = latched.family.cmp.user();
            match kind {
                Kind::RangeDeletion => meets(&latched.ranges, user, key, value),
                _ => contains(&latched.ranges, user, key),
            }
        })
    }
}

/// True if one of `ranges`, which ascend and do not overlap, has the key.
fn contains(ranges: &[KeyRange], user: &UserComparator, key: &[u8]) -> bool {
    let begun = ranges.partition_point(|range| {
        let begin = range.begin.as_ref();
        begin.is_none_or(|begin| user.compare_without_timestamp(begin, key).is_le())
    });
    begun > 0 && ranges[begun - 1].contains(user, key)
}

/// True if one of `ranges` has a key from `begin` (inclusive) to `end` (exclusive).
fn meets(ranges: &[KeyRange], user: &UserComparator, begin: &[u8], end: &[u8]) -> bool {
    let begun = ranges.partition_point(|range| {
        let first = range.begin.as_ref();
        first.is_none_or(|first| user.compare_without_timestamp(first, end).is_lt())
    });
    // The last range that begins before `end` reaches furthest, because the ranges do not overlap.
    begun > 0 && is_within(user, begin, ranges[begun - 1].end.as_ref().map(|end| &end[..]))
}

/// The union of `ranges` as ascending ranges that do not overlap.
fn disjoint(user: &UserComparator, mut ranges: Vec<KeyRange>) -> Vec<KeyRange> {
    ranges.sort_by(|a, b| match (&a.begin, &b.begin) {
        (Some(a), Some(b)) => user.compare_without_timestamp(a, b),
        (a, b) => a.is_some().cmp(&b.is_some()),
    });
    let mut union: Vec<KeyRange> = Vec::new();
    for range in ranges {
        let joins = union.last_mut().filter(|last| {
            let begin = range.begin.as_ref();
            begin.is_none_or(|begin| is_within(user, begin, last.end.as_ref().map(|end| &end[..])))
        });
        match joins {
            Some(last) if ends_before(user, &last.end, &range.end) => last.end = range.end,
            Some(_) => {}
            None => union.push(range),
        }
    }
    union
}

fn ends_before(user: &UserComparator, a: &Bound<Vec<u8>>, b: &Bound<Vec<u8>>) -> bool {
    match (a, b) {
        (Bound::Unbounded, _) => false,
        (_, Bound::Unbounded) => true,
        (Bound::Included(a), Bound::Included(b) | Bound::Excluded(b)) => {
            user.compare_without_timestamp(a, b).is_lt()
        }
        (Bound::Excluded(a), Bound::Included(b)) => user.compare_without_timestamp(a, b).is_le(),
        (Bound::Excluded(a), Bound::Excluded(b)) => user.compare_without_timestamp(a, b).is_lt(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(begin: Option<&str>, end: Bound<&str>) -> KeyRange {
        KeyRange {
            begin: begin.map(|key| key.as_bytes().to_vec()),
            end: end.map(|key| key.as_bytes().to_vec()),
        }
    }

    fn shown(ranges: &[KeyRange]) -> Vec<String> {
        let key = |key: &[u8]| String::from_utf8_lossy(key).into_owned();
        let shown = ranges.iter().map(|range| {
            let begin = range.begin.as_deref().map_or("-".to_owned(), key);
            match &range.end {
                Bound::Unbounded => format!("{begin}..-"),
                Bound::Included(end) => format!("{begin}..={}", key(end)),
                Bound::Excluded(end) => format!("{begin}..{}", key(end)),
            }
        });
        shown.collect()
    }

    #[test]
    fn ranges_are_joined_where_they_overlap() {
        let user = UserComparator::Bytewise;
        let joined = disjoint(
            &user,
            vec![
                range(Some("m"), Bound::Included("n")),
                range(Some("a"), Bound::Excluded("c")),
                range(Some("n"), Bound::Excluded("p")),
                range(Some("c"), Bound::Excluded("d")),
                range(Some("b"), Bound::Included("bb")),
            ],
        );
        assert_eq!(shown(&joined), ["a..c", "c..d", "m..p"]);
        let all = disjoint(
            &user,
            vec![
                range(Some("m"), Bound::Unbounded),
                range(None, Bound::Excluded("n")),
                range(Some("x"), Bound::Included("y")),
            ],
        );
        assert_eq!(shown(&all), ["-..-"]);
    }

    #[test]
    fn a_range_deletion_meets_the_ranges_that_it_overlaps() {
        let user = UserComparator::Bytewise;
        let ranges = [
            range(Some("c"), Bound::Excluded("e")),
            range(Some("m"), Bound::Included("p")),
        ];
        let holds = |key: &str| contains(&ranges, &user, key.as_bytes());
        assert_eq!(
            ["b", "c", "d", "e", "m", "p", "pp"].map(holds),
            [false, true, true, false, true, true, false]
        );
        let deletes = |begin: &str, end: &str| meets(&ranges, &user, begin.as_bytes(), end.as_bytes());
        assert!(!deletes("a", "c") && deletes("a", "cc") && deletes("d", "e"));
        assert!(!deletes("e", "m") && deletes("e", "ma") && deletes("p", "z") && !deletes("pp", "z"));
        assert!(deletes("a", "z"));
    }
}

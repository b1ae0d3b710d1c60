//! Key ranges whose rows were removed without a deletion: tables dropped without reading them, or replaced by
//! ingested ones. A transaction that has read such a key must fail as if it had been written.
//!
//! ```text
//! pending record | the tables are removed from the version | a sequence number is taken | the record gets it
//! ```
//!
//! The record comes first, so that no transaction is validated after the tables are gone and before the
//! record exists; a pending record counts as newer than everything. The number comes last: a transaction that
//! reads at it, or at a later one, finds the tables gone.

use std::ops::Bound;
use std::sync::atomic::{AtomicUsize, Ordering};

use base::sync::Mutex;
use base::{MAX_SEQNO, SeqNo, UserComparator};

/// The maximum number of separate records. Beyond it, they are merged into one for every key, and
/// transactions fail that need not.
const MOST: usize = 64;

/// The recorded removals of key ranges of one family.
#[derive(Default)]
pub(crate) struct Removals {
    recorded: Mutex<Vec<Removal>>,
    /// The number of records. It is nearly always 0, and then the mutex is not locked.
    len: AtomicUsize,
}

/// The record of one removal.
struct Removal {
    range: KeyRange,
    /// The sequence number of the removal; [`MAX_SEQNO`] while it is pending.
    seqno: SeqNo,
}

/// A range of user keys without timestamps, from `begin` up to `end`. Default: all keys.
#[derive(Clone, Debug)]
pub(crate) struct KeyRange {
    /// The first key; `None` for no bound.
    pub begin: Option<Vec<u8>>,
    pub end: Bound<Vec<u8>>,
}

impl KeyRange {
    const ALL: KeyRange = KeyRange {
        begin: None,
        end: Bound::Unbounded,
    };

    /// True if the key lies in the range.
    pub fn contains(&self, user: &UserComparator, key: &[u8]) -> bool {
        self.begins_at_or_before(user, key) && is_within(user, key, as_bound(&self.end))
    }

    fn begins_at_or_before(&self, user: &UserComparator, key: &[u8]) -> bool {
        let begin = self.begin.as_ref();
        begin.is_none_or(|begin| user.compare_without_timestamp(begin, key).is_le())
    }

    /// True if this range and the one from `begin` to `end` may share a key.
    fn meets(&self, user: &UserComparator, begin: Option<&[u8]>, end: Bound<&[u8]>) -> bool {
        let begins_within = |begin: Option<&[u8]>, end| begin.is_none_or(|begin| is_within(user, begin, end));
        begins_within(begin, as_bound(&self.end)) && begins_within(self.begin.as_deref(), end)
    }
}

/// True if `key` is before `end`, or is an inclusive `end`.
pub(crate) fn is_within(user: &UserComparator, key: &[u8], end: Bound<&[u8]>) -> bool {
    match end {
        Bound::Unbounded => true,
        Bound::Included(end) => user.compare_without_timestamp(key, end).is_le(),
        Bound::Excluded(end) => user.compare_without_timestamp(key, end).is_lt(),
    }
}

fn as_bound(end: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    match end {
        Bound::Unbounded => Bound::Unbounded,
        Bound::Included(end) => Bound::Included(end),
        Bound::Excluded(end) => Bound::Excluded(end),
    }
}

impl Removals {
    /// Adds a pending record of the removal of the rows of `range`. Records that are not newer than `oldest`,
    /// the oldest snapshot, are dropped.
    pub fn begin(&self, range: KeyRange, oldest: SeqNo) {
        let mut recorded = self.recorded.lock();
        recorded.retain(|removal| removal.seqno > oldest);
        recorded.push(Removal {
            range,
            seqno: MAX_SEQNO,
        });
        self.len.store(recorded.len(), Ordering::Release);
    }

    /// Ends a removal that [`begin`](Self::begin) has recorded. With `seqno`, reads at that number or later
    /// do not find the rows of `range`; with `None`, the rows have stayed. If two records of the same range
    /// are pending, either may get the number.
    pub fn end(&self, range: &KeyRange, seqno: Option<SeqNo>) {
        let mut recorded = self.recorded.lock();
        let pending = |removal: &Removal| {
            removal.seqno == MAX_SEQNO && removal.range.begin == range.begin && removal.range.end == range.end
        };
        match (recorded.iter().position(pending), seqno) {
            (Some(at), Some(seqno)) => recorded[at].seqno = seqno,
            (Some(at), None) => drop(recorded.swap_remove(at)),
            (None, _) => {}
        }
        if recorded.len() > MOST && recorded.iter().all(|removal| removal.seqno != MAX_SEQNO) {
            let seqno = recorded.iter().map(|removal| removal.seqno).max().unwrap_or(0);
            *recorded = vec![Removal {
                range: KeyRange::ALL,
                seqno,
            }];
        }
        self.len.store(recorded.len(), Ordering::Release);
    }

    /// True if no removal is recorded.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len.load(Ordering::Acquire) == 0
    }

    /// The sequence number of the newest removal of a key range with `key`; 0 if there was none.
    #[inline]
    pub fn newest_of(&self, user: &UserComparator, key: &[u8]) -> SeqNo {
        match self.is_empty() {
            true => 0,
            false => self.newest(|range| range.contains(user, key)),
        }
    }

    /// The sequence number of the newest removal of a key range that overlaps `begin` to `end`; 0 if there
    /// was none.
    pub fn newest_in(&self, user: &UserComparator, begin: Option<&[u8]>, end: Bound<&[u8]>) -> SeqNo {
        match self.is_empty() {
            true => 0,
            false => self.newest(|range| range.meets(user, begin, end)),
        }
    }

    #[cold]
    fn newest(&self, concerns: impl Fn(&KeyRange) -> bool) -> SeqNo {
        let recorded = self.recorded.lock();
        let concerning = recorded.iter().filter(|removal| concerns(&removal.range));
        concerning.map(|removal| removal.seqno).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(begin: &str, end: &str) -> KeyRange {
        KeyRange {
            begin: Some(begin.into()),
            end: Bound::Included(end.into()),
        }
    }

    #[test]
    fn a_removal_counts_as_newest_until_it_has_its_number() {
        let user = UserComparator::Bytewise;
        let removals = Removals::default();
        assert_eq!(removals.newest_of(&user, b"b"), 0);
        removals.begin(range("b", "d"), 0);
        assert_eq!(removals.newest_of(&user, b"b"), MAX_SEQNO);
        assert_eq!(removals.newest_of(&user, b"a"), 0);
        removals.end(&range("b", "d"), Some(7));
        let newest = |key: &[u8]| removals.newest_of(&user, key);
        assert_eq!((newest(b"a"), newest(b"d"), newest(b"e")), (0, 7, 0));
        let newest_in = |begin, end| removals.newest_in(&user, begin, end);
        assert_eq!(newest_in(None, Bound::Excluded(b"b")), 0);
        assert_eq!(newest_in(None, Bound::Included(b"b")), 7);
        assert_eq!(newest_in(Some(b"d"), Bound::Unbounded), 7);
        assert_eq!(newest_in(Some(b"e"), Bound::Unbounded), 0);
        // A failed removal must leave no record.
        removals.begin(range("x", "y"), 0);
        removals.end(&range("x", "y"), None);
        assert_eq!(removals.newest_of(&user, b"x"), 0);
    }

    #[test]
    fn records_go_with_the_snapshots_that_need_them_and_are_few() {
        let user = UserComparator::Bytewise;
        let removals = Removals::default();
        let remove = |key: &str, seqno, oldest| {
            removals.begin(range(key, key), oldest);
            removals.end(&range(key, key), Some(seqno));
        };
        remove("a", 5, 0);
        remove("b", 6, 5);
        assert_eq!(removals.newest_of(&user, b"a"), 0);
        assert_eq!(removals.newest_of(&user, b"b"), 6);
        for seqno in 7..7 + MOST as u64 {
            remove("c", seqno, 5);
        }
        assert_eq!(
            removals.newest_of(&user, b"z"),
            6 + MOST as u64,
            "one record of every key"
        );
        assert_eq!(removals.len.load(Ordering::Relaxed), 1);
    }
}

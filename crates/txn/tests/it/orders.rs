//! Tests of range locks in families with an order of their own: the lock manager asks the comparator.

use std::cmp::Ordering as Order;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use esker::{ColumnFamilyOptions, Comparator, Options, UserComparator};
use esker_txn::TransactionDB;
use vfs::MemFs;

use super::common::*;

/// Shorter keys come first, keys of one length in the order of their bytes. The call after `left` others
/// panics; none does if it is negative.
#[derive(Default)]
struct Shortlex {
    left: AtomicI64,
}

impl Comparator for Shortlex {
    fn name(&self) -> &str {
        "shortlex"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Order {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 0 {
            std::panic::resume_unwind(Box::new("the comparator panics"));
        }
        a.len().cmp(&b.len()).then_with(|| a.cmp(b))
    }
}

fn shortlex() -> Arc<Shortlex> {
    Arc::new(Shortlex {
        left: AtomicI64::new(-1),
    })
}

fn open_ordered(comparator: UserComparator) -> TransactionDB {
    let fs = MemFs::new();
    let options = Options {
        column_family: ColumnFamilyOptions {
            comparator,
            ..ColumnFamilyOptions::default()
        },
        ..options(&fs)
    };
    TransactionDB::open(&options, &no_wait(), DIR).unwrap()
}

/// Locks the range from `begin` to `end` and tries to write `within` and `outside` by another transaction, in
/// each order.
fn check_range(db: &TransactionDB, (begin, end): (&[u8], &[u8]), within: &[&[u8]], outside: &[&[u8]]) {
    let family = family(db.db());
    let mut first = begin_synced(db, b"first");
    first.lock_range(&family, Some(begin), Some(end), true).unwrap();
    for key in within {
        assert_eq!(text(db.put(key, b"1")), TIMED_OUT, "{}", key.escape_ascii());
    }
    for key in outside {
        db.put(key, b"1").unwrap();
    }
    assert!(first.lock_range(&family, Some(end), Some(begin), true).is_err());
    first.commit().unwrap();
    for (keys, expected) in [(within, TIMED_OUT), (outside, "ok")] {
        for key in keys {
            let mut holder = begin_synced(db, b"holder");
            holder.put_cf(&family, key, b"1").unwrap();
            let mut other = begin_synced(db, b"other");
            let locked = other.lock_range(&family, Some(begin), Some(end), false);
            assert_eq!(text(locked), expected, "{}", key.escape_ascii());
        }
    }
    // Ranges that have no key in common do not conflict.
    let (mut low, mut high) = (begin_synced(db, b"low"), begin_synced(db, b"high"));
    low.lock_range(&family, None, Some(begin), true).unwrap();
    high.lock_range(&family, Some(begin), None, true).unwrap();
    assert_eq!(
        text(low.lock_range(&family, Some(begin), Some(end), true)),
        TIMED_OUT
    );
}

#[test]
fn a_range_has_the_keys_of_its_familys_order() {
    let db = open_ordered(UserComparator::ReverseBytewise);
    check_range(
        &db,
        (b"d", b"b"),
        &[b"d", b"c", b"bb"],
        &[b"dd", b"e", b"b", b"a"],
    );
    let db = open_ordered(UserComparator::Custom(shortlex()));
    check_range(
        &db,
        (b"b", b"ba"),
        &[b"b", b"z", b"aa", b"az"],
        &[b"a", b"ba", b"aaa"],
    );
}

/// A panic of the comparator in any of its calls leaves every lock as it was, and no mutex locked.
#[test]
fn locks_are_as_before_when_the_comparator_panics() {
    let order = shortlex();
    let db = open_ordered(UserComparator::Custom(order.clone()));
    let family = family(db.db());
    let mut first = begin_synced(&db, b"first");
    first.lock_range(&family, Some(b"b"), Some(b"ba"), true).unwrap();
    first.put_cf(&family, b"aaa", b"1").unwrap();
    let mut second = begin_synced(&db, b"second");
    second.lock_range(&family, Some(b"aaaa"), None, false).unwrap();
    let (keys, ranges) = (db.lock_status(), db.range_lock_status());
    let mut panics = 0;
    for key_alone in [true, false] {
        for before in 0.. {
            order.left.store(before, Ordering::Relaxed);
            let locked = catch_unwind(AssertUnwindSafe(|| match key_alone {
                true => text(second.lock_for_update(&family, b"z", true, true)),
                false => text(second.lock_range(&family, Some(b"a"), Some(b"bbbb"), true)),
            }));
            order.left.store(-1, Ordering::Relaxed);
            assert_eq!(
                (db.lock_status(), db.range_lock_status()),
                (keys.clone(), ranges.clone())
            );
            match locked {
                Ok(locked) => {
                    assert_eq!(locked, TIMED_OUT);
                    break;
                }
                Err(_) => panics += 1,
            }
        }
    }
    assert!(panics > 5, "{panics}");
    second.put_cf(&family, b"a", b"1").unwrap();
    second.commit().unwrap();
    first.commit().unwrap();
    assert!(db.lock_status().is_empty() && db.range_lock_status().is_empty());
    assert_eq!(get(db.db(), &family, b"aaa"), "1");
}

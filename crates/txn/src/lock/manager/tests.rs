use std::cmp::Ordering as Order;
use std::sync::atomic::AtomicUsize;
use std::sync::{Barrier, OnceLock};

use base::UserComparator;
use base::comparator::Comparator;
use esker::ManualClock;

use super::*;
use crate::key_range::KeyRange;
use crate::lock::held_ranges::RangeLockId;
use crate::lock::range::WantedRange;
use crate::state::TransactionState;

fn manager(max_num_locks: i64) -> (LockManager, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::default());
    let manager = LockManager::new(4, max_num_locks, 5, clock.clone());
    manager.add_family(0);
    (manager, clock)
}

fn at_once(id: TransactionId) -> LockRequest {
    LockRequest {
        id,
        timeout: Some(Duration::ZERO),
        expires: None,
        deadlock_detect_depth: None,
    }
}

fn as_long_as_it_takes(id: TransactionId) -> LockRequest {
    LockRequest {
        timeout: None,
        deadlock_detect_depth: Some(50),
        ..at_once(id)
    }
}

fn text(result: Result<()>) -> String {
    result.map_or_else(|error| error.to_string(), |()| "ok".to_owned())
}

const HELD: &str = "Operation timed out: Timeout waiting to lock key";

#[test]
fn one_holder_or_several_that_share() {
    let (manager, _) = manager(0);
    let lock = |id, exclusive| text(manager.try_lock(&at_once(id), 0, b"k", exclusive));
    assert_eq!(lock(1, false), "ok");
    assert_eq!(lock(2, false), "ok");
    assert_eq!(lock(1, true), HELD, "an upgrade waits for the other holder");
    manager.unlock(2, 0, b"k");
    assert_eq!(lock(1, true), "ok", "a sole holder upgrades in place");
    assert_eq!(lock(2, false), HELD);
    assert_eq!(lock(1, false), "ok", "and downgrades");
    assert_eq!(lock(2, false), "ok");
    manager.unlock(1, 0, b"k");
    manager.unlock(2, 0, b"k");
    assert!(manager.status().is_empty());
}

#[test]
fn families_are_apart_and_come_and_go() {
    let (manager, _) = manager(0);
    manager.add_family(3);
    assert_eq!(text(manager.try_lock(&at_once(1), 0, b"k", true)), "ok");
    assert_eq!(text(manager.try_lock(&at_once(2), 3, b"k", true)), "ok");
    manager.remove_family(3);
    let gone = text(manager.try_lock(&at_once(2), 3, b"k", true));
    assert_eq!(gone, "Invalid argument: Column family id not found: 3");
    manager.unlock(2, 3, b"k");
}

#[test]
fn a_family_has_as_many_locks_as_it_may_have() {
    let (manager, _) = manager(2);
    let lock = |key: &[u8]| text(manager.try_lock(&at_once(1), 0, key, true));
    assert_eq!((lock(b"a"), lock(b"b")), ("ok".to_owned(), "ok".to_owned()));
    assert_eq!(
        lock(b"c"),
        "Operation aborted: Failed to acquire lock due to max_num_locks limit"
    );
    assert_eq!(lock(b"a"), "ok", "held already");
    manager.unlock(1, 0, b"b");
    assert_eq!(lock(b"c"), "ok");
}

#[test]
fn locks_of_a_transaction_that_has_expired_are_taken() {
    let (manager, clock) = manager(0);
    let state = Arc::new(SharedState::new());
    let expiring = LockRequest {
        expires: Some(Duration::from_secs(5)),
        ..at_once(1)
    };
    manager.add_expirable(1, state.clone());
    assert_eq!(text(manager.try_lock(&expiring, 0, b"a", true)), "ok");
    assert_eq!(text(manager.try_lock(&expiring, 0, b"b", true)), "ok");
    assert_eq!(text(manager.try_lock(&at_once(2), 0, b"a", true)), HELD);
    clock.advance(Duration::from_secs(5));
    assert_eq!(text(manager.try_lock(&at_once(2), 0, b"a", true)), "ok");
    assert_eq!(state.get(), TransactionState::LocksStolen);
    // Transaction 1 has lost its lock, so its release has no effect.
    manager.unlock(1, 0, b"a");
    assert_eq!(text(manager.try_lock(&at_once(3), 0, b"a", true)), HELD);
    assert_eq!(text(manager.try_lock(&at_once(3), 0, b"b", true)), "ok");
}

#[test]
fn locks_of_a_transaction_that_commits_are_not_taken() {
    let (manager, clock) = manager(0);
    let state = Arc::new(SharedState::new());
    let expiring = LockRequest {
        expires: Some(Duration::from_secs(5)),
        ..at_once(1)
    };
    manager.add_expirable(1, state.clone());
    assert_eq!(text(manager.try_lock(&expiring, 0, b"a", true)), "ok");
    assert!(state.leave_started(TransactionState::AwaitingCommit));
    clock.advance(Duration::from_secs(9));
    assert_eq!(text(manager.try_lock(&at_once(2), 0, b"a", true)), HELD);
}

#[test]
fn who_waits_has_the_lock_when_it_is_given_back() {
    let (manager, _) = manager(0);
    assert_eq!(text(manager.try_lock(&at_once(1), 0, b"k", true)), "ok");
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| text(manager.try_lock(&as_long_as_it_takes(2), 0, b"k", true)));
        testkit::wait_until("the lock is waited for", || manager.waiting.lock().is_waiting(2));
        manager.unlock(1, 0, b"k");
        assert_eq!(waits.join().unwrap(), "ok");
    });
    assert_eq!(manager.status()[0].1.ids, [2]);
}

#[test]
fn two_that_upgrade_are_a_deadlock_and_one_goes_on() {
    let (manager, _) = manager(0);
    for id in [1, 2] {
        assert_eq!(text(manager.try_lock(&at_once(id), 0, b"k", false)), "ok");
    }
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| text(manager.try_lock(&as_long_as_it_takes(1), 0, b"k", true)));
        testkit::wait_until("the lock is waited for", || manager.waiting.lock().is_waiting(1));
        let closes = text(manager.try_lock(&as_long_as_it_takes(2), 0, b"k", true));
        assert_eq!(closes, "Resource busy: Deadlock");
        manager.unlock(2, 0, b"k");
        assert_eq!(waits.join().unwrap(), "ok");
    });
    let ids: Vec<TransactionId> = manager.deadlocks()[0]
        .path
        .iter()
        .map(|info| info.transaction_id)
        .collect();
    assert_eq!(ids, [1, 2]);
}

#[test]
fn a_lock_waited_for_is_taken_when_its_holder_expires() {
    let (manager, clock) = manager(0);
    manager.add_expirable(1, Arc::new(SharedState::new()));
    let expiring = LockRequest {
        expires: Some(Duration::from_micros(50)),
        ..at_once(1)
    };
    assert_eq!(text(manager.try_lock(&expiring, 0, b"k", true)), "ok");
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| text(manager.try_lock(&as_long_as_it_takes(2), 0, b"k", true)));
        clock.advance(Duration::from_micros(50));
        assert_eq!(waits.join().unwrap(), "ok");
    });
}

#[test]
fn a_wait_ends_with_its_time_limit_by_the_clock_of_the_options() {
    let (manager, clock) = manager(0);
    assert_eq!(text(manager.try_lock(&at_once(1), 0, b"k", true)), "ok");
    let limited = |id| LockRequest {
        timeout: Some(Duration::from_micros(50)),
        ..as_long_as_it_takes(id)
    };
    let waits = |id| manager.waiting.lock().is_waiting(id);
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| text(manager.try_lock(&limited(2), 0, b"k", true)));
        testkit::wait_until("the lock is waited for", || waits(2));
        clock.advance(Duration::from_micros(49));
        testkit::wait_until("the lock is waited for", || waits(2));
        clock.advance(Duration::from_micros(1));
        assert_eq!(waiter.join().unwrap(), HELD);
    });
    let range = half_open(b"a", b"z");
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let locked = manager.try_lock_range(&limited(3), &wanted(&range, true));
            text(locked.map(drop))
        });
        testkit::wait_until("the range is waited for", || waits(3));
        clock.advance(Duration::from_micros(50));
        assert_eq!(waiter.join().unwrap(), HELD);
    });
    // A release within the limit grants the lock.
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| text(manager.try_lock(&limited(4), 0, b"k", true)));
        testkit::wait_until("the lock is waited for", || waits(4));
        manager.unlock(1, 0, b"k");
        assert_eq!(waiter.join().unwrap(), "ok");
    });
}

/// Threads lock keys in any order, give up on deadlocks, and count under the locks that they hold.
#[test]
fn threads_that_lock_in_any_order_exclude_each_other() {
    let (manager, _) = manager(0);
    let counters: Vec<Mutex<u64>> = (0..4).map(|_| Mutex::new(0)).collect();
    let seed = testkit::rng().u64(..);
    let start = Barrier::new(4);
    let done: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (1..=4u64)
            .map(|id| {
                let (manager, counters, start) = (&manager, &counters, &start);
                scope.spawn(move || {
                    let mut rng = fastrand::Rng::with_seed(seed ^ id);
                    let mut added = 0;
                    start.wait();
                    for round in 0..300 {
                        let id = id + 4 * round;
                        let keys: Vec<usize> = (0..2).map(|_| rng.usize(..4)).collect();
                        let mut held = Vec::new();
                        for &key in &keys {
                            let locked =
                                manager.try_lock(&as_long_as_it_takes(id), 0, &[key as u8], rng.bool());
                            match locked {
                                Ok(()) => held.push(key),
                                Err(error) => {
                                    assert_eq!(error.message(), "Deadlock");
                                    break;
                                }
                            }
                        }
                        for &key in &held {
                            let exclusive = manager.try_lock(
                                &LockRequest {
                                    timeout: Some(Duration::ZERO),
                                    ..as_long_as_it_takes(id)
                                },
                                0,
                                &[key as u8],
                                true,
                            );
                            if exclusive.is_ok() {
                                let mut counter = counters[key].try_lock().expect("another has the lock");
                                *counter += 1;
                                added += 1;
                            }
                        }
                        held.iter().for_each(|&key| manager.unlock(id, 0, &[key as u8]));
                    }
                    added
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(counters.iter().map(|counter| *counter.lock()).sum::<u64>(), done);
    assert!(manager.status().is_empty());
}

fn wanted<'a>(range: &'a KeyRange, exclusive: bool) -> WantedRange<'a> {
    WantedRange {
        family: 0,
        comparator: &UserComparator::Bytewise,
        range,
        exclusive,
    }
}

fn half_open(begin: &[u8], end: &[u8]) -> KeyRange {
    KeyRange::half_open(Some(begin), Some(end))
}

#[test]
fn who_waits_for_a_key_under_a_range_and_for_a_range_over_a_key_is_woken() {
    let (manager, _) = manager(0);
    let range = half_open(b"a", b"m");
    let held = manager
        .try_lock_range(&at_once(1), &wanted(&range, true))
        .unwrap();
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| text(manager.try_lock(&as_long_as_it_takes(2), 0, b"k", true)));
        testkit::wait_until("the key is waited for", || manager.waiting.lock().is_waiting(2));
        manager.unlock_ranges(0, &[held]);
        assert_eq!(waits.join().unwrap(), "ok");
    });
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| {
            let locked = manager.try_lock_range(&as_long_as_it_takes(3), &wanted(&range, false));
            text(locked.map(drop))
        });
        testkit::wait_until("the range is waited for", || manager.waiting.lock().is_waiting(3));
        manager.unlock(2, 0, b"k");
        assert_eq!(waits.join().unwrap(), "ok");
    });
    let over = half_open(b"l", b"z");
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| {
            let locked = manager.try_lock_range(&as_long_as_it_takes(4), &wanted(&over, true));
            text(locked.map(drop))
        });
        testkit::wait_until("the range is waited for", || manager.waiting.lock().is_waiting(4));
        let held: Vec<RangeLockId> = (1..=2).collect();
        manager.unlock_ranges(0, &held);
        assert_eq!(waits.join().unwrap(), "ok");
    });
    assert_eq!(manager.range_status().len(), 1);
}

#[test]
fn a_circle_through_ranges_is_a_deadlock() {
    let (manager, _) = manager(0);
    let (low, high) = (half_open(b"a", b"m"), half_open(b"m", b"z"));
    manager.try_lock_range(&at_once(1), &wanted(&low, true)).unwrap();
    manager.try_lock(&at_once(2), 0, b"p", true).unwrap();
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| {
            let locked = manager.try_lock_range(&as_long_as_it_takes(1), &wanted(&high, true));
            text(locked.map(drop))
        });
        testkit::wait_until("the range is waited for", || manager.waiting.lock().is_waiting(1));
        let closes = text(manager.try_lock(&as_long_as_it_takes(2), 0, b"b", true));
        assert_eq!(closes, "Resource busy: Deadlock");
        manager.unlock(2, 0, b"p");
        assert_eq!(waits.join().unwrap(), "ok");
    });
    let path = &manager.deadlocks()[0].path;
    assert_eq!(
        path.iter().map(|info| info.transaction_id).collect::<Vec<_>>(),
        [1, 2]
    );
    assert_eq!(path[0].waiting_range.as_ref(), Some(&high));
    assert_eq!(
        (path[0].waiting_key.as_slice(), path[1].waiting_range.as_ref()),
        (&b"m"[..], None)
    );
}

/// Threads lock keys and ranges over them in any order, give up on deadlocks, and count under the locks that
/// they hold.
#[test]
fn threads_that_lock_keys_and_ranges_exclude_each_other() {
    let (manager, _) = manager(0);
    let counters: Vec<Mutex<u64>> = (0..6).map(|_| Mutex::new(0)).collect();
    let seed = testkit::rng().u64(..);
    let start = Barrier::new(4);
    let done: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (1..=4u64)
            .map(|thread| {
                let (manager, counters, start) = (&manager, &counters, &start);
                scope.spawn(move || {
                    let mut rng = fastrand::Rng::with_seed(seed ^ thread);
                    start.wait();
                    (0..200u64)
                        .map(|round| count_under_locks(manager, counters, &mut rng, thread + 4 * round))
                        .sum::<u64>()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(counters.iter().map(|counter| *counter.lock()).sum::<u64>(), done);
    assert!(manager.status().is_empty() && manager.range_status().is_empty());
}

/// Each step locks a key or a range, then another one, and increments the counter of each exclusively locked
/// key.
fn count_under_locks(
    manager: &LockManager,
    counters: &[Mutex<u64>],
    rng: &mut fastrand::Rng,
    id: TransactionId,
) -> u64 {
    let request = as_long_as_it_takes(id);
    let (mut keys, mut ranges, mut own) = (Vec::new(), Vec::new(), vec![false; counters.len()]);
    for _ in 0..2 {
        let (first, last) = (rng.u8(..6), rng.u8(..6));
        let locked = match rng.bool() {
            true => manager.try_lock(&request, 0, &[first], true).map(|()| {
                keys.push(first);
                first..=first
            }),
            false => {
                let (first, last) = (first.min(last), first.max(last));
                let range = half_open(&[first], &[last + 1]);
                let locked = manager.try_lock_range(&request, &wanted(&range, true));
                locked.map(|held| {
                    ranges.push(held);
                    first..=last
                })
            }
        };
        match locked {
            Ok(locked) => locked.for_each(|key| own[usize::from(key)] = true),
            Err(error) => {
                assert_eq!(error.message(), "Deadlock");
                break;
            }
        }
    }
    let mut added = 0;
    for (counter, _) in counters.iter().zip(&own).filter(|(_, own)| **own) {
        *counter.try_lock().expect("another has the lock") += 1;
        added += 1;
    }
    keys.iter().for_each(|&key| manager.unlock(id, 0, &[key]));
    manager.unlock_ranges(0, &ranges);
    added
}

/// The order of bytes, by a comparator that finds each mutex of the manager free.
#[derive(Default)]
struct Unlocked {
    manager: OnceLock<Arc<LockManager>>,
    calls: AtomicUsize,
}

impl Comparator for Unlocked {
    fn name(&self) -> &str {
        "unlocked"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Order {
        self.calls.fetch_add(1, Ordering::Relaxed);
        for (_, map) in self.manager.get().expect("the manager is set").all_families() {
            let is_free = |stripe: &Stripe| stripe.locks.try_lock().is_some();
            assert!(map.stripes.iter().all(is_free) && map.ranges.is_unlocked());
        }
        a.cmp(b)
    }
}

#[test]
fn no_mutex_is_locked_while_a_range_is_compared() {
    let (manager, clock) = manager(0);
    let manager = Arc::new(manager);
    let order = Arc::new(Unlocked::default());
    order.manager.set(manager.clone()).ok();
    let comparator = UserComparator::Custom(order.clone());
    let lock_range = |id, begin, end, exclusive| {
        let range = half_open(begin, end);
        let wanted = WantedRange {
            comparator: &comparator,
            ..wanted(&range, exclusive)
        };
        let calls = order.calls.load(Ordering::Relaxed);
        let locked = manager.try_lock_range(&at_once(id), &wanted);
        (
            text(locked.map(drop)),
            order.calls.load(Ordering::Relaxed) - calls,
        )
    };
    for key in [b"b", b"c", b"d", b"e", b"f"] {
        manager.try_lock(&at_once(1), 0, key, false).unwrap();
    }
    assert_eq!(
        lock_range(1, b"a", b"m", true).1,
        0,
        "only its own keys are locked"
    );
    let (shared, compared) = lock_range(2, b"p", b"q", true);
    assert_eq!(shared, "ok");
    assert!(
        compared >= 6,
        "five keys and a range were compared, not {compared}"
    );
    assert_eq!(lock_range(2, b"e", b"g", false).0, HELD);
    let lock = |id, key: &[u8]| text(manager.try_lock(&at_once(id), 0, key, true));
    assert_eq!(
        (lock(2, b"b"), lock(2, b"l"), lock(2, b"m")),
        (HELD.into(), HELD.into(), "ok".into())
    );
    assert_eq!((lock(1, b"o"), lock(1, b"pp")), ("ok".into(), HELD.into()));

    // A range that is released while others wait for it, or whose holder expires, is compared no more.
    manager.add_expirable(3, Arc::new(SharedState::new()));
    let expiring = LockRequest {
        expires: Some(Duration::from_secs(5)),
        ..at_once(3)
    };
    let range = half_open(b"x", b"y");
    let wanted = WantedRange {
        comparator: &comparator,
        ..wanted(&range, true)
    };
    manager.try_lock_range(&expiring, &wanted).unwrap();
    assert_eq!(lock(1, b"xx"), HELD);
    clock.advance(Duration::from_secs(5));
    assert_eq!(lock(1, b"xx"), "ok");
    let before = order.calls.load(Ordering::Relaxed);
    manager.unlock_ranges(0, &[1, 2, 3]);
    assert_eq!((lock(4, b"l"), lock(4, b"pp")), ("ok".into(), "ok".into()));
    assert_eq!(order.calls.load(Ordering::Relaxed), before, "there are no ranges");
}

/// The order of bytes, by a comparator that locks a key in the middle of its first call, and releases a range
/// in a later one.
struct Meddler {
    manager: OnceLock<Arc<LockManager>>,
    /// The number of calls until each deed.
    locks_in: AtomicI64,
    unlocks_in: AtomicI64,
}

impl Comparator for Meddler {
    fn name(&self) -> &str {
        "meddler"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Order {
        let manager = self.manager.get().expect("the manager is set");
        if self.locks_in.fetch_sub(1, Ordering::Relaxed) == 0 {
            assert_eq!(text(manager.try_lock(&at_once(8), 0, b"new", true)), "ok");
        }
        if self.unlocks_in.fetch_sub(1, Ordering::Relaxed) == 0 {
            manager.unlock_ranges(0, &[1]);
        }
        a.cmp(b)
    }
}

/// Keys that are locked, and ranges that are released, while the comparator runs, are noticed.
#[test]
fn locks_that_come_and_go_during_the_comparison_count() {
    for (locks_in, unlocks_in) in (0..4).flat_map(|locks| (0..6).map(move |unlocks| (locks, unlocks))) {
        let (manager, _) = manager(0);
        let manager = Arc::new(manager);
        let meddler = Arc::new(Meddler {
            manager: OnceLock::new(),
            locks_in: AtomicI64::new(i64::MAX),
            unlocks_in: AtomicI64::new(i64::MAX),
        });
        meddler.manager.set(manager.clone()).ok();
        let comparator = UserComparator::Custom(meddler.clone());
        let range = half_open(b"a", b"m");
        let first = WantedRange {
            comparator: &comparator,
            ..wanted(&range, true)
        };
        manager.try_lock_range(&at_once(1), &first).unwrap();
        manager.try_lock(&at_once(2), 0, b"p", true).unwrap();
        meddler.locks_in.store(locks_in, Ordering::Relaxed);
        meddler.unlocks_in.store(unlocks_in, Ordering::Relaxed);
        let (low, high) = (half_open(b"b", b"o"), half_open(b"n", b"p"));
        for range in [&high, &low] {
            let second = WantedRange {
                comparator: &comparator,
                ..wanted(range, true)
            };
            let locked = manager.try_lock_range(&at_once(3), &second);
            let has_new = manager.status().iter().any(|(_, lock)| lock.key == b"new");
            let has_first = manager.range_status().iter().any(|(_, held)| held.id == 1);
            let refused = has_new || (has_first && range == &low);
            assert_eq!(locked.is_err(), refused, "{locks_in} {unlocks_in}");
            locked
                .ok()
                .into_iter()
                .for_each(|id| manager.unlock_ranges(0, &[id]));
        }
    }
}

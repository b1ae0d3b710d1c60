use std::sync::Barrier;

use esker::ManualClock;

use super::*;
use crate::state::TransactionState;

fn manager(max_num_locks: i64) -> (PointLockManager, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::default());
    let manager = PointLockManager::new(4, max_num_locks, 5, clock.clone());
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
    // The lock it gives back then is not its own any more.
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

/// Threads that lock keys in any order, give up where that is a deadlock, and count with what they have locked.
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

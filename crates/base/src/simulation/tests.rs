use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::*;

fn settings(seed: u64, strategy: Strategy) -> Settings {
    Settings {
        seed,
        strategy,
        most_points: 100_000,
        keep_choices: false,
    }
}

fn any(seed: u64) -> Settings {
    settings(seed, Strategy::Random { one_in: 2 })
}

/// Three threads record their steps under a lock; the story shows their interleaving.
fn story(settings: Settings) -> (String, Outcome) {
    let told: Arc<Mutex<String>> = Arc::default();
    let body = {
        let told = told.clone();
        move || {
            let start = |letter: char| {
                let told = told.clone();
                let work = move || {
                    for step in 1..=5 {
                        mark(step);
                        told.lock().push(letter);
                        point("");
                    }
                };
                thread::Builder::new()
                    .name(letter.to_string())
                    .spawn(work)
                    .unwrap()
            };
            let threads: Vec<_> = "abc".chars().map(start).collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        }
    };
    let outcome = run(settings, body);
    let told = told.lock().clone();
    (told, outcome)
}

#[test]
fn a_seed_tells_the_same_story_again() {
    let stories: Vec<String> = (0..20).map(|seed| story(any(seed)).0).collect();
    for (seed, told) in stories.iter().enumerate() {
        assert_eq!(*told, story(any(seed as u64)).0);
    }
    let different: std::collections::BTreeSet<_> = stories.iter().collect();
    assert!(different.len() > 10, "{stories:?}");
}

#[test]
fn the_turns_of_a_run_repeat_it() {
    let priorities = Strategy::Priorities {
        changes: 5,
        within: 60,
    };
    for seed in 0..20 {
        for strategy in [Strategy::Random { one_in: 3 }, priorities.clone()] {
            let (told, outcome) = story(settings(seed, strategy));
            assert_eq!(outcome.failure, None);
            let written: Vec<String> = outcome.turns.iter().map(Turn::to_string).collect();
            let read = written.iter().map(|text| text.parse().unwrap()).collect();
            assert_eq!(story(settings(seed, Strategy::Turns(read))).0, told);
        }
    }
    assert_eq!(
        story(settings(0, Strategy::Turns(Vec::new()))).0,
        "aaaaabbbbbccccc"
    );
}

#[test]
fn choices_are_the_turns_there_could_have_been() {
    let none = Settings {
        keep_choices: true,
        ..settings(0, Strategy::Turns(Vec::new()))
    };
    let (told, outcome) = story(none);
    assert_eq!(told, "aaaaabbbbbccccc");
    let stories: std::collections::BTreeSet<String> = outcome
        .choices
        .iter()
        .flatten()
        .map(|turn| story(settings(0, Strategy::Turns(vec![turn.clone()]))).0)
        .collect();
    // An interrupted thread continues when the other threads have ended or wait.
    assert!(stories.contains("aabbbbbcccccaaa"), "{stories:?}");
    assert!(stories.contains("aaaaabbbcccccbb"), "{stories:?}");
    let (_, outcome) = story(any(1));
    assert_eq!(outcome.choices, Vec::<Vec<Turn>>::new());
}

#[test]
fn a_wait_that_nobody_ends_is_a_deadlock() {
    let outcome = run(any(1), || {
        let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
        let other = {
            let (a, b) = (a.clone(), b.clone());
            thread::spawn(move || {
                let _b = b.lock();
                point("");
                drop(a.lock());
            })
        };
        let _a = a.lock();
        sleep(Duration::from_secs(1));
        drop(b.lock());
        other.join().unwrap();
    });
    let failure = outcome.failure.unwrap();
    assert!(
        failure.starts_with("deadlock") && failure.contains("main (mark 0"),
        "{failure}"
    );
}

#[test]
fn a_lost_update_is_found() {
    let lost = (0..50).filter(|&seed| {
        let outcome = run(any(seed), || {
            let count = Arc::new(AtomicU64::new(0));
            let add = |count: Arc<AtomicU64>| {
                move || {
                    let before = count.load(Ordering::Relaxed);
                    point("");
                    count.store(before + 1, Ordering::Relaxed);
                }
            };
            let threads = [
                thread::spawn(add(count.clone())),
                thread::spawn(add(count.clone())),
            ];
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            assert_eq!(count.load(Ordering::Relaxed), 2, "an update was lost");
        });
        outcome
            .failure
            .is_some_and(|failure| failure.contains("an update was lost"))
    });
    assert!((1..50).contains(&lost.count()));
}

#[test]
fn the_clock_jumps_when_everybody_waits() {
    let outcome = run(settings(1, Strategy::Turns(Vec::new())), || {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let sleeper = thread::spawn(|| sleep(Duration::from_secs(3600)));
        let mut done = pair.0.lock();
        assert!(pair.1.wait_for(&mut done, Duration::from_secs(60)).timed_out());
        drop(done);
        let at = now().unwrap();
        assert!((60..61).contains(&at.as_secs()), "{at:?}");
        let notifier = {
            let pair = pair.clone();
            thread::spawn(move || {
                *pair.0.lock() = true;
                pair.1.notify_all();
            })
        };
        let mut done = pair.0.lock();
        while !*done {
            assert!(!pair.1.wait_for(&mut done, Duration::from_secs(60)).timed_out());
        }
        drop(done);
        notifier.join().unwrap();
        sleeper.join().unwrap();
    });
    assert_eq!(outcome.failure, None);
    assert_eq!(outcome.time.as_secs(), 3600);
}

#[test]
fn scoped_threads_borrow_and_are_waited_for() {
    let outcome = run(any(7), || {
        let sum = AtomicU64::new(0);
        thread::scope(|scope| {
            for number in 1..=4 {
                let sum = &sum;
                let started = thread::Builder::new().spawn_scoped(scope, move || {
                    point("");
                    sum.fetch_add(number, Ordering::Relaxed);
                });
                drop(started.unwrap());
            }
        });
        assert_eq!(sum.load(Ordering::Relaxed), 10);
    });
    assert_eq!(outcome.failure, None);
}

#[test]
fn a_released_guard_takes_its_mutex_again() {
    for seed in 0..20 {
        let outcome = run(any(seed), || {
            let count = Arc::new(Mutex::new(0));
            let other = {
                let count = count.clone();
                thread::spawn(move || *count.lock() += 1)
            };
            let mut guard = count.lock();
            *guard += 1;
            MutexGuard::unlocked(&mut guard, || other.join().unwrap());
            assert_eq!(*guard, 2);
        });
        assert_eq!(outcome.failure, None);
    }
}

#[test]
fn what_does_not_end_is_told() {
    let outcome = run(any(3), || {
        loop {
            point("");
        }
    });
    assert!(outcome.failure.unwrap().contains("not ended after 100000 points"));
}

#[test]
fn outside_of_a_world_they_are_ordinary_locks() {
    let pair = Arc::new((Mutex::new(0), Condvar::new()));
    let other = {
        let pair = pair.clone();
        thread::spawn(move || {
            *pair.0.lock() += 1;
            pair.1.notify_all();
        })
    };
    let mut count = pair.0.lock();
    while *count == 0 {
        pair.1.wait(&mut count);
    }
    drop(count);
    other.join().unwrap();
    assert_eq!((now(), chance(), name()), (None, None, None));
}

#[test]
fn locks_are_counted_by_the_line_that_takes_them() {
    let sum: Arc<Mutex<u64>> = Arc::default();
    let counted: Arc<Mutex<Vec<(LockSite, LockCounts)>>> = Arc::default();
    let line = line!() + 5;
    let body = {
        let (sum, counted) = (sum.clone(), counted.clone());
        move || {
            let add = |steps: u64| {
                let mut held = sum.lock();
                (0..steps).for_each(|_| point(""));
                *held += steps;
            };
            // Nothing is counted before the first call.
            add(1);
            assert!(count_locks().is_empty());
            add(3);
            add(5);
            let held = sum.lock();
            let other = sum.clone();
            let waits = thread::spawn(move || drop(other.lock()));
            sleep(Duration::from_millis(1));
            drop(held);
            waits.join().unwrap();
            let counts = count_locks();
            assert!(count_locks().is_empty());
            counted.lock().extend(counts);
        }
    };
    let settings = settings(1, Strategy::Turns(Vec::new()));
    assert_eq!(run(settings, body).failure, None);
    let counted = counted.lock().clone();
    let (first, counts) = counted[0];
    assert_eq!((first.guarded, first.line, first.is_shared), ("u64", line, false));
    assert!(first.to_string().ends_with(&format!("tests.rs:{line}")));
    assert_eq!(
        counts,
        LockCounts {
            taken: 2,
            waited: 0,
            held: 8,
            longest: 5
        }
    );
    let waited: Vec<u64> = counted.iter().map(|(_, counts)| counts.waited).collect();
    assert_eq!((counted.len(), waited), (3, vec![0, 0, 1]));
}

//! The only place in tests that waits by time: it ends a test that hangs, and pauses between checks of a
//! condition.
//!
//! No outcome depends on the length of a pause. A watchdog counts its checks instead of using a clock: a
//! machine that was suspended, as a virtual one may be, has not checked meanwhile.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// The time between two checks of a watchdog.
const LOOK: Duration = Duration::from_millis(50);

/// The pause between two checks of a condition.
const PAUSE: Duration = Duration::from_millis(1);

/// The number of checks of a condition, at least [`PAUSE`] apart, after which it is assumed never to hold.
/// Far above the need of a loaded machine.
const LOOKS: u32 = 120_000;

/// Ends the process if neither a beat nor the test's end comes in time: a test that hangs must report it.
#[derive(Debug)]
pub struct Watchdog {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    done: AtomicBool,
    beats: AtomicU64,
}

impl Watchdog {
    /// Waits `limit` for the test called `name`; `state` returns what it was doing.
    pub fn new(name: &'static str, limit: Duration, state: impl Fn() -> String + Send + 'static) -> Watchdog {
        Watchdog::with_end(limit, move || {
            // The message is written past libtest's capture of output, which is lost when the process ends.
            let _ = writeln!(std::io::stderr(), "{name} hangs: {}", state());
            std::process::abort();
        })
    }

    fn with_end(limit: Duration, end: impl FnOnce() + Send + 'static) -> Watchdog {
        let shared = Arc::new(Shared::default());
        let watched = shared.clone();
        let most = limit.as_millis() / LOOK.as_millis();
        std::thread::spawn(move || {
            let (mut looks, mut beats) = (0, 0);
            while looks < most {
                std::thread::sleep(LOOK);
                if watched.done.load(Ordering::Relaxed) {
                    return;
                }
                looks += 1;
                let now = watched.beats.load(Ordering::Relaxed);
                if now != beats {
                    (looks, beats) = (0, now);
                }
            }
            end();
        });
        Watchdog { shared }
    }

    /// The test makes progress: the limit starts again.
    pub fn beat(&self) {
        self.shared.beats.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.shared.done.store(true, Ordering::Relaxed);
    }
}

/// Waits until `condition` holds. `what` names the condition; the panic after two minutes or more reports it.
#[track_caller]
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    for _ in 0..LOOKS {
        if condition() {
            return;
        }
        std::thread::sleep(PAUSE);
    }
    panic!("waited in vain until {what}");
}

/// Waits for a message of another thread, which must come.
#[track_caller]
pub fn receive<T>(what: &str, from: &Receiver<T>) -> T {
    match from.recv_timeout(PAUSE * LOOKS) {
        Ok(sent) => sent,
        Err(RecvTimeoutError::Timeout) => panic!("waited in vain for {what}"),
        Err(RecvTimeoutError::Disconnected) => panic!("the sender of {what} has ended"),
    }
}

/// A thread of this process, for others to observe.
#[derive(Clone, Debug)]
pub struct Task(PathBuf);

/// The number of consecutive checks, at least [`PAUSE`] apart, at which a thread must be asleep to count as
/// waiting for another.
const ASLEEP: u32 = 50;

impl Task {
    /// The calling thread.
    pub fn current() -> Task {
        let own = std::fs::read_link("/proc/thread-self").expect("Linux names the thread");
        Task(PathBuf::from("/proc").join(own).join("stat"))
    }

    /// True if the thread sleeps: it is neither running nor runnable.
    fn sleeps(&self) -> bool {
        let stat = std::fs::read_to_string(&self.0).unwrap_or_default();
        stat.rsplit_once(") ")
            .is_some_and(|(_, state)| state.starts_with('S'))
    }

    /// Waits until the thread waits for another thread: until each of many checks finds it asleep. It may
    /// wake up now and then to check a condition. A thread that only lacks a processor does not sleep.
    #[track_caller]
    pub fn wait_until_asleep(&self) {
        self.wait_until_asleep_or(|| false);
    }

    /// Waits as [`wait_until_asleep`](Self::wait_until_asleep) does, or until `over` holds.
    #[track_caller]
    pub fn wait_until_asleep_or(&self, over: impl Fn() -> bool) {
        let mut looks = 0;
        wait_until("the thread waits for another", || {
            looks = if self.sleeps() { looks + 1 } else { 0 };
            looks == ASLEEP || over()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_thread_that_waits_for_another_is_known_by_its_sleep() {
        let (say, said) = mpsc::channel();
        let (go, gone) = mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            say.send(Task::current()).unwrap();
            gone.recv().unwrap();
        });
        let task = receive("its name", &said);
        task.wait_until_asleep();
        assert!(!thread.is_finished());
        go.send(()).unwrap();
        thread.join().unwrap();
        assert!(!Task::current().sleeps());
    }

    #[test]
    fn a_watchdog_barks_once_nothing_beats_any_more() {
        let (bark, barked) = mpsc::channel();
        let watchdog = Watchdog::with_end(LOOK * 3, move || bark.send(()).unwrap());
        receive("the bark", &barked);
        drop(watchdog);
    }

    #[test]
    fn a_watchdog_that_is_dropped_is_silent() {
        let (bark, barked) = mpsc::channel::<()>();
        drop(Watchdog::with_end(LOOK * 3, move || bark.send(()).unwrap()));
        // The error shows that the watchdog's thread has ended and dropped the sender without a message.
        assert_eq!(barked.recv(), Err(mpsc::RecvError));
    }

    #[test]
    fn a_condition_is_waited_for() {
        let mut looks = 0;
        wait_until("three looks", || {
            looks += 1;
            looks == 3
        });
        assert_eq!(looks, 3);
    }
}

//! The one place in tests that waits by time: the end of a test that hangs, and the pause between two looks at a condition.
//!
//! No outcome depends on how long a pause is. A watchdog counts its looks instead of asking a clock: a machine that stood
//! still meanwhile, as a virtual one may, has not looked.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How often a watchdog looks.
const LOOK: Duration = Duration::from_millis(50);

/// The pause between two looks at a condition.
const PAUSE: Duration = Duration::from_millis(1);

/// Looks at a condition, at least [`PAUSE`] apart, after which it is taken to never hold. Far above what a loaded machine needs.
const LOOKS: u32 = 120_000;

/// Ends the process if neither a beat nor its end comes in time: a test that hangs must say so.
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
    /// Waits `limit` for the test called `name`; `state` is asked what it was doing.
    pub fn new(name: &'static str, limit: Duration, state: impl Fn() -> String + Send + 'static) -> Watchdog {
        Watchdog::with_end(limit, move || {
            // Past the capture of the test's output, which dies with the process.
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

    /// The test goes on: the limit begins anew.
    pub fn beat(&self) {
        self.shared.beats.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.shared.done.store(true, Ordering::Relaxed);
    }
}

/// Waits until `condition` holds. `what` says what is waited for; the panic after two minutes and more names it.
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

/// Waits for what another thread sends, which must come.
#[track_caller]
pub fn receive<T>(what: &str, from: &Receiver<T>) -> T {
    match from.recv_timeout(PAUSE * LOOKS) {
        Ok(sent) => sent,
        Err(RecvTimeoutError::Timeout) => panic!("waited in vain for {what}"),
        Err(RecvTimeoutError::Disconnected) => panic!("the sender of {what} has ended"),
    }
}

/// Does what must not be over too soon. There is no upper bound: a slow machine breaks none.
#[track_caller]
pub fn takes_at_least<T>(least: Duration, what: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let done = what();
    let took = start.elapsed();
    assert!(took >= least, "over in {took:?}, and not in {least:?} or more");
    done
}

/// A thread of this process, for others to look at.
#[derive(Clone, Debug)]
pub struct Task(PathBuf);

/// Looks in a row, at least [`PAUSE`] apart, at which a thread that waits for another is asleep.
const ASLEEP: u32 = 50;

impl Task {
    /// The thread that asks.
    pub fn current() -> Task {
        let own = std::fs::read_link("/proc/thread-self").expect("Linux names the thread");
        Task(PathBuf::from("/proc").join(own).join("stat"))
    }

    /// True unless the thread runs, or would if there were a processor for it.
    fn sleeps(&self) -> bool {
        let stat = std::fs::read_to_string(&self.0).unwrap_or_default();
        stat.rsplit_once(") ")
            .is_some_and(|(_, state)| state.starts_with('S'))
    }

    /// Waits until the thread waits for what another thread has to do: until it is found asleep each time. It may wake up now and then to
    /// look. A thread that only lacks a processor does not sleep.
    #[track_caller]
    pub fn wait_until_asleep(&self) {
        let mut looks = 0;
        wait_until("the thread waits for another", || {
            looks = if self.sleeps() { looks + 1 } else { 0 };
            looks == ASLEEP
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
        // Its thread ends, and with it the sender.
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

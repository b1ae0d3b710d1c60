//! Schedules: the choice of the next thread.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use fastrand::Rng;

/// How a world chooses the next thread.
#[derive(Clone, Debug)]
pub enum Strategy {
    /// Chooses a random thread at one in `one_in` points, otherwise the current one. 1 chooses at random at
    /// every point.
    Random {
        /// The number of points, at least 1.
        one_in: u32,
    },
    /// The thread of the highest priority; priorities are random. At some points the current thread gets the
    /// lowest priority. Finds bugs that need few switches in unlucky places ("probabilistic concurrency
    /// testing").
    Priorities {
        /// The number of points at which priorities change.
        changes: u32,
        /// Priorities change only at the first points, as many as this number.
        within: u64,
    },
    /// The current thread as long as it can run, then the next in turn, except for these turns. A thread that
    /// a turn interrupted runs only after all others for a while.
    Turns(Vec<Turn>),
}

/// A switch to another thread than the default one.
///
/// Its text is `thread:mark.count>to`: when `thread`, after it passed mark `mark`, came to its `count`th
/// point, `to` was chosen.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Turn {
    /// The thread that came to a point.
    pub thread: String,
    /// The latest [`mark`](super::mark) that the thread had passed, 0 before the first.
    pub mark: u64,
    /// The number of points that the thread had come to since that mark.
    pub count: u64,
    /// The thread that was chosen.
    pub to: String,
}

impl fmt::Display for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}.{}>{}", self.thread, self.mark, self.count, self.to)
    }
}

impl FromStr for Turn {
    type Err = String;

    fn from_str(text: &str) -> Result<Turn, String> {
        let parse = || {
            let (place, to) = text.split_once('>')?;
            let (thread, at) = place.split_once(':')?;
            let (mark, count) = at.split_once('.')?;
            Some(Turn {
                thread: thread.to_owned(),
                mark: mark.parse().ok()?,
                count: count.parse().ok()?,
                to: to.to_owned(),
            })
        };
        parse().ok_or_else(|| format!("{text:?} is not thread:mark.count>thread"))
    }
}

/// A thread that could run next.
pub(crate) struct Candidate {
    pub thread: usize,
    /// The thread sleeps, or waits with a limit that has not expired.
    pub early: bool,
    /// The thread was interrupted recently.
    pub behind: bool,
}

/// The state of a strategy.
#[derive(Debug)]
pub(crate) enum Scheduler {
    Random {
        rng: Rng,
        one_in: u32,
    },
    Priorities {
        rng: Rng,
        of: Vec<u64>,
        changes: Vec<u64>,
        lowest: u64,
    },
    Turns(HashMap<(String, u64, u64), String>),
}

/// At one in this many points a recently interrupted thread may run: the others should make progress
/// meanwhile.
const BEHIND_ONE_IN: u32 = 4;

/// At one in this many points a sleeper is woken although other threads could run.
const EARLY_ONE_IN: u32 = 8;

impl Scheduler {
    pub fn new(strategy: Strategy, seed: u64) -> Scheduler {
        let mut rng = Rng::with_seed(seed);
        match strategy {
            Strategy::Random { one_in } => Scheduler::Random {
                rng,
                one_in: one_in.max(1),
            },
            Strategy::Priorities { changes, within } => {
                let changes = (0..changes).map(|_| rng.u64(..within.max(1))).collect();
                Scheduler::Priorities {
                    rng,
                    of: Vec::new(),
                    changes,
                    lowest: u64::MAX / 2,
                }
            }
            Strategy::Turns(turns) => {
                let keyed = turns
                    .into_iter()
                    .map(|turn| ((turn.thread, turn.mark, turn.count), turn.to));
                Scheduler::Turns(keyed.collect())
            }
        }
    }

    /// True if the strategy may choose at this point: most of the time it does not.
    pub fn is_interested(&mut self) -> bool {
        match self {
            Scheduler::Random { rng, one_in } => rng.u32(..*one_in) == 0,
            Scheduler::Priorities { .. } => true,
            Scheduler::Turns(turns) => !turns.is_empty(),
        }
    }

    /// Chooses one of `candidates`, or returns `None` if the default choice applies. `place` is the thread
    /// that came to a point, with name, mark and count.
    pub fn choose(
        &mut self,
        candidates: &[Candidate],
        current: usize,
        point: u64,
        place: (&str, u64, u64),
        named: impl Fn(&str) -> Option<usize>,
    ) -> Option<usize> {
        match self {
            Scheduler::Random { rng, .. } => {
                let sleepers = rng.u32(..EARLY_ONE_IN) == 0;
                let interrupted = rng.u32(..BEHIND_ONE_IN) == 0;
                let awake = candidates
                    .iter()
                    .filter(|candidate| (sleepers || !candidate.early) && (interrupted || !candidate.behind));
                let mut choice = None;
                for (seen, candidate) in awake.enumerate() {
                    if rng.usize(..=seen) == 0 {
                        choice = Some(candidate.thread);
                    }
                }
                choice
            }
            Scheduler::Priorities {
                rng,
                of,
                changes,
                lowest,
            } => {
                let most = candidates
                    .iter()
                    .map(|candidate| candidate.thread)
                    .max()
                    .unwrap_or(0)
                    .max(current);
                while of.len() <= most {
                    // The priority of a new thread is above all priorities that were lowered.
                    of.push(u64::MAX / 2 + rng.u64(..u64::MAX / 4));
                }
                if changes.contains(&point) {
                    *lowest -= 1;
                    of[current] = *lowest;
                }
                let sleepers = rng.u32(..EARLY_ONE_IN * 64) == 0;
                let awake = candidates.iter().filter(|candidate| sleepers || !candidate.early);
                awake
                    .map(|candidate| candidate.thread)
                    .max_by_key(|&thread| of[thread])
            }
            Scheduler::Turns(turns) => {
                let to = turns.remove(&(place.0.to_owned(), place.1, place.2))?;
                let to = named(&to)?;
                candidates
                    .iter()
                    .map(|candidate| candidate.thread)
                    .find(|&thread| thread == to)
            }
        }
    }
}

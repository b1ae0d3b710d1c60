//! Reduces a history that fails, as long as it fails in the same way.
//!
//! Everything that can be left out is tried without: lives, threads, steps, changes of a batch, faults,
//! options, turns, latency. With fewer steps the turns no longer fit, so each attempt is also run under other
//! seeds; the turns of the first run that fails are then kept, and left out one by one in a later pass.

use base::simulation::Strategy;

use crate::history::{ChangeKind, End, History, What};
use crate::run::Report;

/// The limits of a reduction.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The maximum number of runs.
    pub runs: u64,
    /// The number of other seeds that an attempt is run under.
    pub seeds: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { runs: 6000, seeds: 6 }
    }
}

/// A history that failed and was reduced.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The history, which fails each time it is run.
    pub history: History,
    /// The failure.
    pub failure: String,
    /// The number of runs.
    pub runs: u64,
}

struct Shrinker<'a> {
    run: &'a mut dyn FnMut(&History) -> Report,
    limits: Limits,
    kind: String,
    best: History,
    failure: String,
    runs: u64,
}

/// Shrinks `history`, which fails when `run`. `None` if it does not fail.
pub fn shrink(history: &History, limits: Limits, run: &mut dyn FnMut(&History) -> Report) -> Option<Shrunk> {
    let report = run(history);
    let mut shrinker = Shrinker {
        kind: report.kind()?.to_owned(),
        failure: report.failure.clone()?,
        best: History {
            schedule: Some(Strategy::Turns(report.turns)),
            ..history.clone()
        },
        run,
        limits,
        runs: 1,
    };
    while shrinker.pass() {}
    Some(Shrunk {
        history: shrinker.best,
        failure: shrinker.failure,
        runs: shrinker.runs,
    })
}

impl Shrinker<'_> {
    /// Tries to leave out everything once. True if something could be left out.
    fn pass(&mut self) -> bool {
        let mut smaller = false;
        smaller |= self.without(
            true,
            |history| history.lives.len(),
            |history, range| drop(history.lives.drain(range)),
        );
        for life in (0..self.best.lives.len()).rev() {
            smaller |= self.without(
                true,
                move |history| history.lives[life].threads.len(),
                move |history, range| {
                    history.lives[life].threads.drain(range);
                },
            );
            for thread in (0..self.best.lives[life].threads.len()).rev() {
                smaller |= self.without(
                    true,
                    move |history| history.lives[life].threads[thread].len(),
                    move |history, range| drop(history.lives[life].threads[thread].drain(range)),
                );
            }
            smaller |= self.without(
                true,
                move |history| history.lives[life].faults.len(),
                move |history, range| {
                    history.lives[life].faults.drain(range);
                },
            );
            smaller |= self.attempt(true, |history| history.lives[life].full.take().is_some());
            smaller |= self.attempt(true, |history| match &mut history.lives[life].end {
                End::Kill(at) | End::Power(_, at) => at.take().is_some(),
                End::Close => false,
            });
            smaller |= self.attempt(true, |history| {
                let end = &mut history.lives[life].end;
                let simpler = *end != End::Close;
                *end = End::Close;
                simpler
            });
        }
        smaller |= self.without(
            false,
            |history| history.options.len(),
            |history, range| {
                history.options.drain(range);
            },
        );
        smaller |= self.without(
            false,
            |history| history.families.len(),
            |history, range| {
                history.families.drain(range);
            },
        );
        smaller |= self.attempt(true, |history| std::mem::take(&mut history.latency) > 0);
        smaller |= self.batches();
        smaller |= self.without(false, turns, |history, range| {
            if let Some(Strategy::Turns(turns)) = &mut history.schedule {
                turns.drain(range);
            }
        });
        smaller
    }

    /// Tries smaller batches and values, and fewer syncs.
    fn batches(&mut self) -> bool {
        let mut smaller = false;
        let ids: Vec<u64> = self.best.steps().map(|step| step.id).collect();
        for id in ids {
            let changes = move |history: &History| {
                let what = history.steps().find(|step| step.id == id).map(|step| &step.what);
                match what {
                    Some(What::Write { changes, .. }) => changes.len().saturating_sub(1),
                    _ => 0,
                }
            };
            // The last change stays: a step without changes is left out as a whole.
            smaller |= self.without(false, changes, move |history, range| {
                if let Some(What::Write { changes, .. }) = what_of(history, id) {
                    changes.drain(range);
                }
            });
            smaller |= self.attempt(false, |history| match what_of(history, id) {
                Some(What::Write { sync, .. }) => std::mem::take(sync),
                _ => false,
            });
            smaller |= self.attempt(false, |history| match what_of(history, id) {
                Some(What::Write { no_slowdown, .. }) => std::mem::take(no_slowdown),
                _ => false,
            });
            smaller |= self.attempt(false, |history| match what_of(history, id) {
                Some(What::Write { low_pri, .. }) => std::mem::take(low_pri),
                _ => false,
            });
            smaller |= self.attempt(false, |history| {
                let Some(What::Write { changes, .. }) = what_of(history, id) else {
                    return false;
                };
                let mut shorter = false;
                for change in changes {
                    if let ChangeKind::Put(len) = &mut change.kind
                        && *len > SHORT
                    {
                        *len = SHORT;
                        shorter = true;
                    }
                }
                shorter
            });
        }
        smaller
    }

    /// Tries to leave out runs of the `count` elements of a list, long runs first and then shorter ones.
    fn without(
        &mut self,
        seeds: bool,
        count: impl Fn(&History) -> usize,
        remove: impl Fn(&mut History, std::ops::Range<usize>),
    ) -> bool {
        let mut smaller = false;
        let mut chunk = count(&self.best);
        while chunk > 0 {
            let mut end = count(&self.best);
            while end > 0 {
                let start = end.saturating_sub(chunk);
                smaller |= self.attempt(seeds, |history| {
                    remove(history, start..end);
                    true
                });
                // Steps from `start` on were tried, whether they were removed or not.
                end = start.min(count(&self.best));
            }
            chunk /= 2;
        }
        smaller
    }

    /// Takes the best history as `change`d, if it fails in the same way; with `seeds`, also under other
    /// seeds.
    fn attempt(&mut self, seeds: bool, change: impl FnOnce(&mut History) -> bool) -> bool {
        let mut candidate = self.best.clone();
        if !change(&mut candidate) {
            return false;
        }
        if self.fails(candidate.clone()) {
            return true;
        }
        for more in 0..if seeds { self.limits.seeds } else { 0 } {
            candidate.seed = self.best.seed.wrapping_add(more);
            candidate.schedule = Some(Strategy::Random {
                one_in: [4, 12, 40][more as usize % 3],
            });
            if self.fails(candidate.clone()) {
                return true;
            }
        }
        false
    }

    fn fails(&mut self, candidate: History) -> bool {
        if self.runs >= self.limits.runs {
            return false;
        }
        self.runs += 1;
        let report = (self.run)(&candidate);
        if report.kind() != Some(&self.kind) {
            return false;
        }
        self.failure = report.failure.unwrap_or_default();
        self.best = History {
            schedule: Some(Strategy::Turns(report.turns)),
            ..candidate
        };
        true
    }
}

/// The shortest value from which its step can be derived.
const SHORT: usize = 8;

fn turns(history: &History) -> usize {
    match &history.schedule {
        Some(Strategy::Turns(turns)) => turns.len(),
        _ => 0,
    }
}

fn what_of(history: &mut History, id: u64) -> Option<&mut What> {
    let steps = history
        .lives
        .iter_mut()
        .flat_map(|life| life.threads.iter_mut().flatten());
    steps
        .into_iter()
        .find(|step| step.id == id)
        .map(|step| &mut step.what)
}

#[cfg(test)]
mod tests {
    use base::simulation::Turn;

    use super::*;

    /// Fails if a sync write comes in a life that ends with a loss of power, a turn goes to the thread that
    /// deletes, and the option is set.
    fn pretended(history: &History) -> Report {
        let lost = history.lives.iter().any(|life| {
            let synced = |what: &What| matches!(what, What::Write { sync: true, .. });
            matches!(life.end, End::Power(..)) && life.threads.iter().flatten().any(|step| synced(&step.what))
        });
        let option = history.options.iter().any(|(name, _)| name == "block_size");
        let (turn, turns) = match &history.schedule {
            Some(Strategy::Turns(turns)) => (turns.iter().any(|turn| turn.to == "delete"), turns.clone()),
            // Under other seeds the simulated failure occurs in every second history.
            _ => {
                let turn = Turn {
                    thread: "w0".into(),
                    mark: 1,
                    count: 1,
                    to: "delete".into(),
                };
                (history.seed.is_multiple_of(2), vec![turn; 9])
            }
        };
        let failure = (lost && option && turn).then(|| "recovery: a row is gone".to_owned());
        Report {
            failure,
            turns,
            ..Report::default()
        }
    }

    #[test]
    fn what_does_not_matter_is_left_out() {
        let failing = (0..200)
            .map(crate::generate)
            .filter(|history| pretended(history).failure.is_some());
        let mut shrunk = 0;
        for history in failing.take(20) {
            let small = shrink(&history, Limits::default(), &mut pretended).unwrap();
            let text = small.history.to_string();
            let lines: Vec<&str> = text.lines().collect();
            // The six lines of the shrunk history are seed, option, life, step, end and turn.
            assert_eq!(lines.len(), 6, "{text}");
            assert!(
                lines[1].starts_with("options block_size=") && lines[1].matches('=').count() == 1,
                "{text}"
            );
            assert!(
                lines[3].starts_with("w0 ") && lines[3].contains("write sync: ") && !lines[3].contains('/'),
                "{text}"
            );
            assert!(
                lines[4].starts_with("end power ") && !lines[4].contains(" at "),
                "{text}"
            );
            assert_eq!(lines[5], "turns w0:1.1>delete");
            shrunk += 1;
        }
        assert_eq!(shrunk, 20);
    }

    #[test]
    fn it_stays_the_same_failure() {
        let mut run = |history: &History| {
            let steps = history.steps().count();
            let failure = match steps {
                0 => Some("open: another".to_owned()),
                1..=3 => None,
                _ => Some("recovery: this one".to_owned()),
            };
            Report {
                failure,
                ..Report::default()
            }
        };
        let history = (0..)
            .map(crate::generate)
            .find(|history| history.steps().count() > 10)
            .unwrap();
        let small = shrink(&history, Limits::default(), &mut run).unwrap();
        assert_eq!(small.history.steps().count(), 4);
        assert_eq!(small.failure, "recovery: this one");
    }

    #[test]
    fn runs_are_limited() {
        let mut count = 0;
        let mut run = |history: &History| {
            count += 1;
            pretended(history)
        };
        let history = (0..)
            .map(crate::generate)
            .find(|history| pretended(history).failure.is_some())
            .unwrap();
        let limits = Limits { runs: 30, seeds: 2 };
        assert_eq!(shrink(&history, limits, &mut run).unwrap().runs, 30);
        assert_eq!(count, 30);
    }

    #[test]
    fn one_that_does_not_fail_is_left_alone() {
        let mut run = |_: &History| Report::default();
        assert!(shrink(&crate::generate(1), Limits::default(), &mut run).is_none());
    }
}

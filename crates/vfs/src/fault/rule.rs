//! What goes wrong, where, and when.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use base::ErrorKind;
use fastrand::Rng;

use crate::Op;

/// Called on an operation and its path.
pub type Hook = Arc<dyn Fn(Op, &Path) + Send + Sync>;

/// What a [`Rule`] does to the operation it fires on.
#[derive(Clone)]
pub enum Action {
    /// It fails, and nothing was done.
    Fail(ErrorKind),
    /// An append fails with a random part of its data appended, and with `NoSpace` as on a disk with room for that part: a log is then as
    /// it was. Any other operation is done and reported as failed.
    FailAfter(ErrorKind),
    /// A read gives fewer bytes than it should, as if the file ended there. Other operations are left alone.
    ShortRead,
    /// A read gives its bytes with one bit turned. Other operations are left alone.
    BitFlip,
    /// It is not done, and like all later ones fails: see [`FaultFs::crash_at`](crate::FaultFs::crash_at).
    Crash,
    /// Calls a function first, on the thread of the operation and with no lock held, then goes on: to wait for another
    /// thread at a certain point, or to look at the state there.
    Call(Hook),
}

impl fmt::Debug for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::Fail(kind) => write!(f, "Fail({kind:?})"),
            Action::FailAfter(kind) => write!(f, "FailAfter({kind:?})"),
            Action::ShortRead => f.write_str("ShortRead"),
            Action::BitFlip => f.write_str("BitFlip"),
            Action::Crash => f.write_str("Crash"),
            Action::Call(_) => f.write_str("Call"),
        }
    }
}

#[derive(Clone, Debug)]
enum PathPattern {
    Contains(String),
    EndsWith(String),
    EndsOtherwise(String),
}

/// An [`Action`] and the operations it happens to: by default all of them.
#[derive(Clone, Debug)]
pub struct Rule {
    pub(super) action: Action,
    ops: Vec<Op>,
    paths: Vec<PathPattern>,
    skip: u64,
    times: u64,
    probability: f64,
    pub(super) rng: Rng,
    pub(super) fired: u64,
}

impl Rule {
    /// Happens to every operation until narrowed.
    pub fn new(action: Action) -> Rule {
        Rule {
            action,
            ops: Vec::new(),
            paths: Vec::new(),
            skip: 0,
            times: u64::MAX,
            probability: 1.0,
            rng: Rng::with_seed(0),
            fired: 0,
        }
    }

    /// Only to these operations.
    pub fn on(mut self, ops: impl IntoIterator<Item = Op>) -> Rule {
        self.ops.extend(ops);
        self
    }

    /// Only to paths that contain `part`.
    pub fn path_contains(mut self, part: impl Into<String>) -> Rule {
        self.paths.push(PathPattern::Contains(part.into()));
        self
    }

    /// Only to paths that end in `end`.
    pub fn path_ends_with(mut self, end: impl Into<String>) -> Rule {
        self.paths.push(PathPattern::EndsWith(end.into()));
        self
    }

    /// Not to paths that end in `end`.
    pub fn unless_path_ends_with(mut self, end: impl Into<String>) -> Rule {
        self.paths.push(PathPattern::EndsOtherwise(end.into()));
        self
    }

    /// Not to the first `count` operations that match.
    pub fn skip(mut self, count: u64) -> Rule {
        self.skip = count;
        self
    }

    /// At most `count` times.
    pub fn times(mut self, count: u64) -> Rule {
        self.times = count;
        self
    }

    /// Only to the `index`th operation that matches, counted from 0.
    pub fn nth(self, index: u64) -> Rule {
        self.skip(index).times(1)
    }

    /// To each with that probability, from 0 to 1, drawn from `seed`.
    pub fn with_probability(mut self, probability: f64, seed: u64) -> Rule {
        self.probability = probability;
        self.rng = Rng::with_seed(seed);
        self
    }

    /// Chooses torn lengths, short lengths and bits by `seed`. Default 0.
    pub fn with_seed(mut self, seed: u64) -> Rule {
        self.rng = Rng::with_seed(seed);
        self
    }

    /// Told of an operation, says whether the rule happens to it.
    pub(super) fn fires(&mut self, op: Op, path: &Path) -> bool {
        let path = path.to_string_lossy();
        let matches = (self.ops.is_empty() || self.ops.contains(&op))
            && self.paths.iter().all(|pattern| match pattern {
                PathPattern::Contains(part) => path.contains(part),
                PathPattern::EndsWith(end) => path.ends_with(end),
                PathPattern::EndsOtherwise(end) => !path.ends_with(end),
            });
        if !matches || self.fired >= self.times {
            return false;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        if self.probability < 1.0 && self.rng.f64() >= self.probability {
            return false;
        }
        self.fired += 1;
        true
    }
}

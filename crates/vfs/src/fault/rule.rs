//! Rules: which fault to inject, where, and when.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use base::ErrorKind;
use fastrand::Rng;

use crate::Op;

/// A function called with an operation and its path.
pub type Hook = Arc<dyn Fn(Op, &Path) + Send + Sync>;

/// The effect of a [`Rule`] on the operation it fires on.
#[derive(Clone)]
pub enum Action {
    /// The operation fails and has no effect.
    Fail(ErrorKind),
    /// An append fails with a random part of its data appended; with `NoSpace` as on a disk with room for
    /// that part, where a log is then unchanged. Any other operation is done and reported as failed.
    FailAfter(ErrorKind),
    /// A read returns too few bytes, as if the file ended there. Other operations are not affected.
    ShortRead,
    /// A read returns its bytes with one bit flipped. Other operations are not affected.
    BitFlip,
    /// The operation is not done, and like all later ones fails: see
    /// [`FaultFs::crash_at`](crate::FaultFs::crash_at).
    Crash,
    /// Calls a function first, on the thread of the operation and with no lock held, then continues: to wait
    /// for another thread at a certain point, or to inspect the state there.
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

/// An [`Action`], and the operations to which it applies. Default: all operations.
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
    /// A rule for every operation, until narrowed.
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

    /// Restricts the rule to these operations.
    pub fn on(mut self, ops: impl IntoIterator<Item = Op>) -> Rule {
        self.ops.extend(ops);
        self
    }

    /// Restricts the rule to paths that contain `part`.
    pub fn path_contains(mut self, part: impl Into<String>) -> Rule {
        self.paths.push(PathPattern::Contains(part.into()));
        self
    }

    /// Restricts the rule to paths that end in `end`.
    pub fn path_ends_with(mut self, end: impl Into<String>) -> Rule {
        self.paths.push(PathPattern::EndsWith(end.into()));
        self
    }

    /// Excludes paths that end in `end`.
    pub fn unless_path_ends_with(mut self, end: impl Into<String>) -> Rule {
        self.paths.push(PathPattern::EndsOtherwise(end.into()));
        self
    }

    /// Excludes the first `count` operations that match.
    pub fn skip(mut self, count: u64) -> Rule {
        self.skip = count;
        self
    }

    /// Limits the rule to `count` times.
    pub fn times(mut self, count: u64) -> Rule {
        self.times = count;
        self
    }

    /// Restricts the rule to the matching operation of this index, counted from 0.
    pub fn nth(self, index: u64) -> Rule {
        self.skip(index).times(1)
    }

    /// Applies the rule with that probability, from 0 to 1, drawn from `seed`.
    pub fn with_probability(mut self, probability: f64, seed: u64) -> Rule {
        self.probability = probability;
        self.rng = Rng::with_seed(seed);
        self
    }

    /// Sets the seed that chooses torn lengths, short lengths and bits. Default: 0.
    pub fn with_seed(mut self, seed: u64) -> Rule {
        self.rng = Rng::with_seed(seed);
        self
    }

    /// Returns true if the rule applies to the operation, and counts the operation.
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

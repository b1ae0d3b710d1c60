//! The same operations over different databases: option sets, engines, a model. Each run records the results
//! of the operations, and any two histories must be equal, line by line.
//!
//! A [`Plan`] is drawn from one seed: families with their comparator and merge operator, and [`Operation`]s.
//! [`run_phase`] executes the operations between two reopenings on any [`Database`]; [`EskerStore`] opens one
//! under drawn options, [`ModelStore`] one without files. Background work is not part of the history.

mod esker_store;
mod generate;
mod layer;
mod model_store;
mod watched;

pub use esker_store::{EskerDatabase, EskerStore, Habits};
pub use generate::{Kind, generate};
pub use layer::{EskerWalk, Layer};
pub use model_store::{ModelDatabase, ModelStore};

use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use base::UserComparator;
use testkit::model::{Op, Row};

use crate::settings;

/// Operations, and the families they run on.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The families; the first is `default`.
    pub families: Vec<FamilyPlan>,
    /// The operations in order.
    pub operations: Vec<Operation>,
}

/// The properties of a column family that determine its rows.
#[derive(Clone, Debug)]
pub struct FamilyPlan {
    /// The name of the family in the database.
    pub name: String,
    /// The name of the family's comparator, for [`settings::comparator`].
    pub comparator: &'static str,
    /// The name of the family's merge operator, for
    /// [`settings::merge_operator`], or `nullptr`.
    pub merge_operator: &'static str,
}

impl FamilyPlan {
    /// The order of the family's keys, which does not use timestamps.
    pub fn key_order(&self) -> UserComparator {
        let name = self.comparator.strip_suffix("u64ts").unwrap_or(self.comparator);
        let name = match name {
            "" => "bytewise",
            name => name.trim_end_matches('-'),
        };
        settings::comparator(name).expect("a known order")
    }

    /// True if each row of the family has a timestamp.
    pub fn has_timestamps(&self) -> bool {
        self.comparator.ends_with("u64ts")
    }
}

impl Plan {
    /// The operations between reopenings.
    pub fn phases(&self) -> impl Iterator<Item = &[Operation]> {
        self.operations
            .split(|operation| matches!(operation, Operation::Reopen))
    }
}

/// One call. Families are indexes into [`Plan::families`]; numbers of snapshots and iterators are not reused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are the operands of the operation")]
pub enum Operation {
    /// Writes a batch.
    Write { writes: Vec<(usize, Op)>, sync: bool },
    /// Reads a key.
    Get {
        family: usize,
        key: Vec<u8>,
        snapshot: Option<u32>,
    },
    /// Reads several keys.
    MultiGet {
        family: usize,
        keys: Vec<Vec<u8>>,
        snapshot: Option<u32>,
    },
    /// Reads all rows of a view.
    Scan { view: View, backwards: bool },
    /// Creates an iterator and holds it.
    OpenIterator { iterator: u32, view: View },
    /// Moves an iterator.
    Move { iterator: u32, steps: Vec<Step> },
    /// Drops an iterator.
    CloseIterator(u32),
    /// Takes a snapshot, under a number.
    Snapshot(u32),
    /// Releases a snapshot. Iterators over it stay usable.
    Release(u32),
    /// Flushes families.
    Flush(Vec<usize>),
    /// Compacts a range, and the last level too if `force`.
    Compact {
        family: usize,
        begin: Option<Vec<u8>>,
        end: Option<Vec<u8>>,
        force: bool,
    },
    /// From now on rows are written at timestamp `write` and read as of timestamp `read`, in families with
    /// timestamps.
    Time { write: u64, read: u64 },
    /// Allows compactions to drop the history of a family below a timestamp.
    IncreaseFullHistoryTsLow { family: usize, timestamp: u64 },
    /// Drops a family and creates it again.
    Recreate(usize),
    /// Opens the database again, possibly under other options or by another engine.
    Reopen,
}

/// The options of an iterator.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are the read options of that name")]
pub struct View {
    pub family: usize,
    pub snapshot: Option<u32>,
    pub lower: Option<Vec<u8>>,
    pub upper: Option<Vec<u8>>,
}

/// A move of an iterator. `Next` and `Prev` do nothing if it has no position.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are the calls of that name")]
pub enum Step {
    First,
    Last,
    Seek(Vec<u8>),
    SeekForPrev(Vec<u8>),
    Next,
    Prev,
}

/// The outcome of a call: a value, or the first words of RocksDB's status.
pub type Outcome<T = ()> = Result<T, String>;

/// A database on which a plan is executed.
pub trait Database {
    /// A snapshot of the database.
    type Snapshot<'a>
    where
        Self: 'a;
    /// An iterator over the database.
    type Walk<'a>: Walk
    where
        Self: 'a;

    /// Writes a batch.
    fn write(&self, writes: &[(usize, Op)], sync: bool) -> Outcome;
    /// Reads a key.
    fn get<'a>(
        &'a self,
        family: usize,
        key: &[u8],
        at: Option<&Self::Snapshot<'a>>,
    ) -> Outcome<Option<Vec<u8>>>;
    /// Reads several keys.
    fn multi_get<'a>(
        &'a self,
        family: usize,
        keys: &[Vec<u8>],
        at: Option<&Self::Snapshot<'a>>,
    ) -> Vec<Outcome<Option<Vec<u8>>>>;
    /// Creates an iterator; `at` is the snapshot that `view.snapshot` names.
    fn walk<'a>(&'a self, view: &View, at: Option<&Self::Snapshot<'a>>) -> Self::Walk<'a>;
    /// Takes a snapshot.
    fn snapshot(&self) -> Self::Snapshot<'_>;
    /// Flushes families.
    fn flush(&self, families: &[usize]) -> Outcome;
    /// Compacts a range of a family, and the last level too if `force`.
    fn compact(&self, family: usize, begin: Option<&[u8]>, end: Option<&[u8]>, force: bool) -> Outcome;
    /// Sets the timestamps of later writes and reads. Only plans with timestamps need it.
    fn set_time(&self, _write: u64, _read: u64) {}
    /// Allows compactions to drop the history of a family below a timestamp. Only plans with timestamps need
    /// it.
    fn increase_full_history_ts_low(&self, _family: usize, _timestamp: u64) -> Outcome {
        Ok(())
    }
    /// Drops a family and creates it again.
    fn recreate(&self, family: usize) -> Outcome;
}

/// An iterator. `Next` and `Prev` are only called while it is valid.
pub trait Walk {
    /// Moves the iterator.
    fn step(&mut self, step: &Step);
    /// The current row; `None` if the iterator has no position.
    fn row(&self) -> Option<Row>;
    /// The iterator's error, if the iterator has no position because of one.
    fn status(&self) -> Outcome;
}

/// Executes `operations`, which contain no `Reopen`, and adds a line for each to `history`.
pub fn run_phase<D: Database>(db: &D, operations: &[Operation], history: &mut Vec<String>) {
    let mut snapshots: HashMap<u32, D::Snapshot<'_>> = HashMap::new();
    let mut walks: HashMap<u32, D::Walk<'_>> = HashMap::new();
    for operation in operations {
        let at = |number: &Option<u32>| number.as_ref().and_then(|number| snapshots.get(number));
        let result = match operation {
            Operation::Write { writes, sync } => show_done(db.write(writes, *sync)),
            Operation::Get {
                family,
                key,
                snapshot,
            } => show_found(db.get(*family, key, at(snapshot))),
            Operation::MultiGet {
                family,
                keys,
                snapshot,
            } => {
                let found = db.multi_get(*family, keys, at(snapshot));
                found.into_iter().map(show_found).collect::<Vec<_>>().join(" ")
            }
            Operation::Scan { view, backwards } => scan(&mut db.walk(view, at(&view.snapshot)), *backwards),
            Operation::OpenIterator { iterator, view } => {
                let walk = db.walk(view, at(&view.snapshot));
                walks.insert(*iterator, walk);
                "ok".to_owned()
            }
            Operation::Move { iterator, steps } => match walks.get_mut(iterator) {
                Some(walk) => wander(walk, steps),
                None => "no such iterator".to_owned(),
            },
            Operation::CloseIterator(iterator) => {
                walks.remove(iterator);
                "ok".to_owned()
            }
            Operation::Snapshot(number) => {
                snapshots.insert(*number, db.snapshot());
                "ok".to_owned()
            }
            Operation::Release(number) => {
                snapshots.remove(number);
                "ok".to_owned()
            }
            Operation::Flush(families) => show_done(db.flush(families)),
            Operation::Compact {
                family,
                begin,
                end,
                force,
            } => show_done(db.compact(*family, begin.as_deref(), end.as_deref(), *force)),
            Operation::Time { write, read } => {
                db.set_time(*write, *read);
                "ok".to_owned()
            }
            Operation::IncreaseFullHistoryTsLow { family, timestamp } => {
                show_done(db.increase_full_history_ts_low(*family, *timestamp))
            }
            Operation::Recreate(family) => show_done(db.recreate(*family)),
            Operation::Reopen => "a phase ends here".to_owned(),
        };
        history.push(format!("{operation} -> {result}"));
    }
}

fn scan(walk: &mut impl Walk, backwards: bool) -> String {
    let (first, next) = match backwards {
        false => (Step::First, Step::Next),
        true => (Step::Last, Step::Prev),
    };
    let mut rows = Vec::new();
    walk.step(&first);
    while let Some((key, value)) = walk.row() {
        rows.push(format!("{}={}", show(&key), show(&value)));
        walk.step(&next);
    }
    rows.push(show_place(walk));
    rows.join(" ")
}

fn wander(walk: &mut impl Walk, steps: &[Step]) -> String {
    let mut places = Vec::new();
    for step in steps {
        if !matches!(step, Step::Next | Step::Prev) || walk.row().is_some() {
            walk.step(step);
        }
        places.push(show_place(walk));
    }
    places.join(" ")
}

fn show_place(walk: &impl Walk) -> String {
    match (walk.row(), walk.status()) {
        (Some((key, value)), _) => format!("{}={}", show(&key), show(&value)),
        (None, Ok(())) => ".".to_owned(),
        (None, Err(words)) => format!("!{words}"),
    }
}

fn show_done(outcome: Outcome) -> String {
    outcome.map_or_else(|words| format!("!{words}"), |()| "ok".to_owned())
}

fn show_found(found: Outcome<Option<Vec<u8>>>) -> String {
    match found {
        Ok(Some(value)) => show(&value),
        Ok(None) => "none".to_owned(),
        Err(words) => format!("!{words}"),
    }
}

/// Bytes as text; long ones as their beginning, length and hash.
fn show(bytes: &[u8]) -> String {
    const LONG: usize = 28;
    if bytes.len() <= LONG {
        return format!("'{}'", bytes.escape_ascii());
    }
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    let begin = bytes[..8].escape_ascii();
    format!("'{begin}..'<{}:{:08x}>", bytes.len(), hasher.finish() as u32)
}

/// The first difference between two histories, with the lines before it; `None` if they are equal.
pub fn difference(one: &[String], other: &[String]) -> Option<String> {
    const BEFORE: usize = 40;
    let lines = one.len().max(other.len());
    let at = (0..lines).find(|&at| one.get(at) != other.get(at))?;
    let line = |history: &[String]| history.get(at).cloned().unwrap_or("(ends)".to_owned());
    let before = one[at.saturating_sub(BEFORE)..at].join("\n  ");
    Some(format!(
        "operation {at} of {lines}:\n  {before}\none:   {}\nother: {}",
        line(one),
        line(other)
    ))
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |snapshot: &Option<u32>| snapshot.map_or(String::new(), |number| format!(" @{number}"));
        let bound = |key: &Option<Vec<u8>>| key.as_ref().map_or("-".to_owned(), |key| show(key));
        match self {
            Operation::Write { writes, sync } => {
                f.write_str(if *sync { "write sync" } else { "write" })?;
                writes.iter().try_for_each(|(family, op)| match op {
                    Op::Put(key, value) => write!(f, " {family}:{}={}", show(key), show(value)),
                    Op::Delete(key) => write!(f, " {family}:del {}", show(key)),
                    Op::SingleDelete(key) => write!(f, " {family}:sdel {}", show(key)),
                    Op::Merge(key, operand) => write!(f, " {family}:merge {}+{}", show(key), show(operand)),
                    Op::DeleteRange(begin, end) => {
                        write!(f, " {family}:delrange {}..{}", show(begin), show(end))
                    }
                })
            }
            Operation::Get {
                family,
                key,
                snapshot,
            } => write!(f, "get {family}:{}{}", show(key), at(snapshot)),
            Operation::MultiGet {
                family,
                keys,
                snapshot,
            } => {
                let keys: Vec<String> = keys.iter().map(|key| show(key)).collect();
                write!(f, "multi_get {family}:{}{}", keys.join(" "), at(snapshot))
            }
            Operation::Scan { view, backwards } => {
                write!(f, "scan{} {view}", if *backwards { " back" } else { "" })
            }
            Operation::OpenIterator { iterator, view } => write!(f, "iterator {iterator} {view}"),
            Operation::Move { iterator, steps } => {
                write!(f, "move {iterator}")?;
                steps.iter().try_for_each(|step| match step {
                    Step::First => f.write_str(" first"),
                    Step::Last => f.write_str(" last"),
                    Step::Seek(key) => write!(f, " seek {}", show(key)),
                    Step::SeekForPrev(key) => write!(f, " seek_for_prev {}", show(key)),
                    Step::Next => f.write_str(" next"),
                    Step::Prev => f.write_str(" prev"),
                })
            }
            Operation::CloseIterator(iterator) => write!(f, "close {iterator}"),
            Operation::Snapshot(number) => write!(f, "snapshot {number}"),
            Operation::Release(number) => write!(f, "release {number}"),
            Operation::Flush(families) => write!(f, "flush {families:?}"),
            Operation::Compact {
                family,
                begin,
                end,
                force,
            } => write!(
                f,
                "compact{} {family}:{}..{}",
                if *force { " all" } else { "" },
                bound(begin),
                bound(end)
            ),
            Operation::Time { write, read } => write!(f, "time write {write} read {read}"),
            Operation::IncreaseFullHistoryTsLow { family, timestamp } => {
                write!(f, "full_history_ts_low {family}:{timestamp}")
            }
            Operation::Recreate(family) => write!(f, "recreate {family}"),
            Operation::Reopen => f.write_str("reopen"),
        }
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = |key: &Option<Vec<u8>>| key.as_ref().map_or("-".to_owned(), |key| show(key));
        write!(
            f,
            "{}:{}..{}",
            self.family,
            bound(&self.lower),
            bound(&self.upper)
        )?;
        self.snapshot.map_or(Ok(()), |snapshot| write!(f, " @{snapshot}"))
    }
}

//! A history as text.
//!
//! ```text
//! seed 7
//! options write_buffer_size=16384 max_background_jobs=4
//! families warm cold
//! latency 300
//! life
//! fault torn append .log 3
//! w0 1 write sync: put default k01 40 / delrange warm k02 k05
//! w1 2 get default k01
//! end power at 33
//! life
//! end close
//! turns w0:1.2>flush w1:2.1>w0
//! ```
//!
//! | line | means |
//! |---|---|
//! | `seed N` | the seed of random decisions: identities, latencies, the length of a torn append, the data that a loss of power takes |
//! | `options NAME=VALUE ...` | as `dbtest::settings::set` takes them |
//! | `families NAME ...` | column families besides `default`, created by the first life |
//! | `latency MICROS` | the maximum latency of a file operation, by the world's clock |
//! | `life` | a process opens the database; its contents are compared with the promises |
//! | `fault [open] WHAT OP PATH N` | a fault of the Nth such operation on a file whose path contains PATH: it `fail`s; it is done, an append perhaps in part, and fails all the same (`torn`; `partial` if the error is lack of space: a log is then as it was); a read is `short`; or a bit of it is `flip`ped. With `open`, operations are counted while the database is opened, otherwise after that |
//! | `full BYTES` | the free space of the disk in bytes once the database is open |
//! | `wN ID OPERATION` | a step of the life's Nth thread, in order. Its ID is unique in a history |
//! | `end close`, `end kill [at N]`, `end power POLICY [at N]` | the end of the life: when all threads are done, or at the Nth change to the disk since the life began |
//! | `schedule random ONE_IN`, `schedule priorities CHANGES WITHIN`, `turns TURN ...` | the order of the threads: see [`Strategy`] |
//!
//! | operation | does |
//! |---|---|
//! | `write [sync] [no_wal] [no_slowdown] [low_pri]: CHANGE / CHANGE ...` | a batch of `put FAMILY KEY LENGTH`, `del FAMILY KEY`, `delrange FAMILY FROM TO`, `merge FAMILY KEY`; values are made from the operation's number |
//! | `get FAMILY KEY [@SNAPSHOT]`, `multi_get FAMILY KEY ...`, `scan FAMILY [back] [@SNAPSHOT]` | |
//! | `snapshot NAME`, `release NAME` | |
//! | `iter NAME FAMILY [@SNAPSHOT]`, `refresh NAME` | makes an iterator (with a snapshot, one that refreshes itself); moves it to the newest version |
//! | `move NAME first\|last\|KEY COUNT` | positions the iterator and takes COUNT steps, backwards if negative |
//! | `flush FAMILY ...`, `compact FAMILY`, `sync_wal`, `wait`, `pause MICROS` | |
//! | `compact_files FAMILY` | compacts a few neighbouring files, chosen by the operation's number, one level down |
//! | `create FAMILY`, `drop FAMILY` | a family whose name is used once and by one thread |
//! | `resume`, `room BYTES` | resumes after a failure; sets the free space of the disk in bytes |
//! | `checkpoint [logged]` | makes a checkpoint, opens it and compares it; with `logged`, WALs hold its newest rows |

use std::fmt;
use std::str::FromStr;

use base::simulation::{Strategy, Turn};
use vfs::UnsyncedPolicy;

/// Lives of a process and its disk.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The seed of all random decisions.
    pub seed: u64,
    /// Names and values of options.
    pub options: Vec<(String, String)>,
    /// The column families besides `default`.
    pub families: Vec<String>,
    /// The maximum latency of a file operation, in microseconds.
    pub latency: u64,
    /// The lives, in order.
    pub lives: Vec<Life>,
    /// The schedule of the threads. `None`: the running thread goes on as long as it can.
    pub schedule: Option<Strategy>,
}

/// A process from its start to its end.
#[derive(Clone, Debug)]
pub struct Life {
    /// The faults of the disk.
    pub faults: Vec<Fault>,
    /// The free space of the disk in bytes.
    pub full: Option<u64>,
    /// The steps of each thread.
    pub threads: Vec<Vec<Step>>,
    /// How the life ends.
    pub end: End,
}

/// One operation of one thread.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The step's number: unique in its history, and never 0.
    pub id: u64,
    /// The operation.
    pub what: What,
}

/// The operation of a step.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    missing_docs,
    reason = "the fields are the operands of the operation, as the module's documentation describes them"
)]
pub enum What {
    Write {
        sync: bool,
        no_wal: bool,
        no_slowdown: bool,
        low_pri: bool,
        changes: Vec<Change>,
    },
    Get {
        family: String,
        key: String,
        snapshot: Option<String>,
    },
    MultiGet {
        family: String,
        keys: Vec<String>,
    },
    Scan {
        family: String,
        back: bool,
        snapshot: Option<String>,
    },
    Snapshot(String),
    Release(String),
    Refresh(String),
    Iter {
        name: String,
        family: String,
        snapshot: Option<String>,
    },
    Move {
        name: String,
        to: String,
        count: i64,
    },
    Flush(Vec<String>),
    Compact(String),
    CompactFiles(String),
    Create(String),
    Drop(String),
    Checkpoint {
        logged: bool,
    },
    SyncWal,
    Wait,
    Pause(u64),
    /// Resumes after a failure that stopped writes.
    Resume,
    /// Sets the free space of the disk to this number of bytes.
    Room(u64),
}

/// One change of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The name of the family.
    pub family: String,
    /// The key; for a range, its start.
    pub key: String,
    /// The kind of the change.
    pub kind: ChangeKind,
}

/// The kind of a change to a key.
#[derive(Clone, Debug, PartialEq)]
pub enum ChangeKind {
    /// Puts a value with this number of bytes.
    Put(usize),
    /// Deletes the key.
    Delete,
    /// Deletes the range up to this key.
    DeleteRange(String),
    /// Merges an operand that is appended.
    Merge,
}

/// A fault of the disk that happens once.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// True for a fault that happens while the database is opened.
    pub open: bool,
    /// The fault: `fail`, `torn`, `partial`, `short` or `flip`.
    pub what: String,
    /// The file operation, as `vfs::Op` prints it.
    pub op: String,
    /// A part of the path; `.` matches any path.
    pub path: String,
    /// The number of the operation that fails among those that match, counted from 1.
    pub nth: u64,
}

/// How a life ends.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// The database is closed.
    Close,
    /// The process is killed: at a number of changes to the disk, or when all threads are done.
    Kill(Option<u64>),
    /// The machine loses power; the policy decides which unsynced data survives.
    Power(UnsyncedPolicy, Option<u64>),
}

impl History {
    /// All steps of all lives.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.lives.iter().flat_map(|life| life.threads.iter().flatten())
    }
}

fn policy_name(policy: UnsyncedPolicy) -> &'static str {
    match policy {
        UnsyncedPolicy::Lose => "lose",
        UnsyncedPolicy::Keep => "keep",
        UnsyncedPolicy::Random => "random",
        UnsyncedPolicy::RandomPages => "pages",
    }
}

fn policy(name: &str) -> Option<UnsyncedPolicy> {
    use UnsyncedPolicy::{Keep, Lose, Random, RandomPages};
    [Lose, Keep, Random, RandomPages]
        .into_iter()
        .find(|&policy| policy_name(policy) == name)
}

/// The number of turns in a line of text.
const TURNS_A_LINE: usize = 8;

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}", self.seed)?;
        if !self.options.is_empty() {
            let options: Vec<String> = self
                .options
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            writeln!(f, "options {}", options.join(" "))?;
        }
        if !self.families.is_empty() {
            writeln!(f, "families {}", self.families.join(" "))?;
        }
        if self.latency > 0 {
            writeln!(f, "latency {}", self.latency)?;
        }
        for life in &self.lives {
            write!(f, "{life}")?;
        }
        match &self.schedule {
            None => Ok(()),
            Some(Strategy::Random { one_in }) => writeln!(f, "schedule random {one_in}"),
            Some(Strategy::Priorities { changes, within }) => {
                writeln!(f, "schedule priorities {changes} {within}")
            }
            Some(Strategy::Turns(turns)) => turns.chunks(TURNS_A_LINE).try_for_each(|turns| {
                let turns: Vec<String> = turns.iter().map(Turn::to_string).collect();
                writeln!(f, "turns {}", turns.join(" "))
            }),
        }
    }
}

impl fmt::Display for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "life")?;
        for fault in &self.faults {
            let open = if fault.open { "open " } else { "" };
            writeln!(
                f,
                "fault {open}{} {} {} {}",
                fault.what, fault.op, fault.path, fault.nth
            )?;
        }
        if let Some(bytes) = self.full {
            writeln!(f, "full {bytes}")?;
        }
        for (thread, steps) in self.threads.iter().enumerate() {
            for step in steps {
                writeln!(f, "w{thread} {} {}", step.id, step.what)?;
            }
        }
        let (end, at) = match &self.end {
            End::Close => ("close".to_owned(), None),
            End::Kill(at) => ("kill".to_owned(), *at),
            End::Power(policy, at) => (format!("power {}", policy_name(*policy)), *at),
        };
        match at {
            None => writeln!(f, "end {end}"),
            Some(at) => writeln!(f, "end {end} at {at}"),
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |snapshot: &Option<String>| {
            snapshot
                .as_ref()
                .map_or_else(String::new, |name| format!(" @{name}"))
        };
        match self {
            What::Write {
                sync,
                no_wal,
                no_slowdown,
                low_pri,
                changes,
            } => {
                let changes: Vec<String> = changes.iter().map(Change::to_string).collect();
                f.write_str("write")?;
                for (is, word) in [
                    (sync, "sync"),
                    (no_wal, "no_wal"),
                    (no_slowdown, "no_slowdown"),
                    (low_pri, "low_pri"),
                ] {
                    if *is {
                        write!(f, " {word}")?;
                    }
                }
                write!(f, ": {}", changes.join(" / "))
            }
            What::Get {
                family,
                key,
                snapshot,
            } => write!(f, "get {family} {key}{}", at(snapshot)),
            What::MultiGet { family, keys } => write!(f, "multi_get {family} {}", keys.join(" ")),
            What::Scan {
                family,
                back,
                snapshot,
            } => {
                write!(
                    f,
                    "scan {family}{}{}",
                    if *back { " back" } else { "" },
                    at(snapshot)
                )
            }
            What::Snapshot(name) => write!(f, "snapshot {name}"),
            What::Release(name) => write!(f, "release {name}"),
            What::Iter {
                name,
                family,
                snapshot,
            } => write!(f, "iter {name} {family}{}", at(snapshot)),
            What::Refresh(name) => write!(f, "refresh {name}"),
            What::Move { name, to, count } => write!(f, "move {name} {to} {count}"),
            What::Flush(families) => write!(f, "flush {}", families.join(" ")),
            What::Compact(family) => write!(f, "compact {family}"),
            What::CompactFiles(family) => write!(f, "compact_files {family}"),
            What::Create(family) => write!(f, "create {family}"),
            What::Drop(family) => write!(f, "drop {family}"),
            What::Checkpoint { logged: false } => f.write_str("checkpoint"),
            What::Checkpoint { logged: true } => f.write_str("checkpoint logged"),
            What::SyncWal => f.write_str("sync_wal"),
            What::Wait => f.write_str("wait"),
            What::Pause(micros) => write!(f, "pause {micros}"),
            What::Resume => f.write_str("resume"),
            What::Room(bytes) => write!(f, "room {bytes}"),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Change { family, key, kind } = self;
        match kind {
            ChangeKind::Put(len) => write!(f, "put {family} {key} {len}"),
            ChangeKind::Delete => write!(f, "del {family} {key}"),
            ChangeKind::DeleteRange(end) => write!(f, "delrange {family} {key} {end}"),
            ChangeKind::Merge => write!(f, "merge {family} {key}"),
        }
    }
}

impl FromStr for History {
    type Err = String;

    fn from_str(text: &str) -> Result<History, String> {
        let mut history = History::default();
        let mut turns: Option<Vec<Turn>> = None;
        for line in text.lines() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            parse_line(&mut history, &mut turns, line).ok_or_else(|| format!("not understood: {line}"))?;
        }
        if let Some(turns) = turns {
            history.schedule = Some(Strategy::Turns(turns));
        }
        Ok(history)
    }
}

fn parse_line(history: &mut History, turns: &mut Option<Vec<Turn>>, line: &str) -> Option<()> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (&first, rest) = words.split_first()?;
    match (first, rest) {
        ("seed", [seed]) => history.seed = seed.parse().ok()?,
        ("options", _) => {
            for option in rest {
                let (name, value) = option.split_once('=')?;
                history.options.push((name.to_owned(), value.to_owned()));
            }
        }
        ("families", _) => history.families = owned(rest),
        ("latency", [micros]) => history.latency = micros.parse().ok()?,
        ("schedule", ["random", one_in]) => {
            history.schedule = Some(Strategy::Random {
                one_in: one_in.parse().ok()?,
            });
        }
        ("schedule", ["priorities", changes, within]) => {
            let (changes, within) = (changes.parse().ok()?, within.parse().ok()?);
            history.schedule = Some(Strategy::Priorities { changes, within });
        }
        ("turns", _) => {
            let turns = turns.get_or_insert_default();
            for turn in rest {
                turns.push(turn.parse().ok()?);
            }
        }
        ("life", []) => history.lives.push(Life {
            faults: Vec::new(),
            full: None,
            threads: Vec::new(),
            end: End::Close,
        }),
        _ => parse_in_life(history.lives.last_mut()?, first, rest)?,
    }
    Some(())
}

fn parse_in_life(life: &mut Life, first: &str, rest: &[&str]) -> Option<()> {
    match (first, rest) {
        ("fault", [at @ .., what, op, path, nth]) if at.is_empty() || *at == ["open"] => {
            life.faults.push(Fault {
                open: !at.is_empty(),
                what: (*what).to_owned(),
                op: (*op).to_owned(),
                path: (*path).to_owned(),
                nth: nth.parse().ok()?,
            })
        }
        ("full", [bytes]) => life.full = Some(bytes.parse().ok()?),
        ("end", ["close"]) => life.end = End::Close,
        ("end", ["kill", at @ ..]) => life.end = End::Kill(parse_at(at)?),
        ("end", ["power", name, at @ ..]) => life.end = End::Power(policy(name)?, parse_at(at)?),
        (thread, [id, what @ ..]) => {
            let thread: usize = thread
                .strip_prefix('w')?
                .parse()
                .ok()
                .filter(|&thread| thread < 64)?;
            while life.threads.len() <= thread {
                life.threads.push(Vec::new());
            }
            life.threads[thread].push(Step {
                id: id.parse().ok()?,
                what: parse_what(what)?,
            });
        }
        _ => return None,
    }
    Some(())
}

fn parse_at(words: &[&str]) -> Option<Option<u64>> {
    match words {
        [] => Some(None),
        ["at", at] => Some(Some(at.parse().ok()?)),
        _ => None,
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn parse_what(words: &[&str]) -> Option<What> {
    let own = |word: &str| word.to_owned();
    Some(match words {
        [first, ..] if first.starts_with("write") => {
            let text = words.join(" ");
            let (head, changes) = text.split_once(':')?;
            let head: Vec<&str> = head.split(' ').collect();
            What::Write {
                sync: head.contains(&"sync"),
                no_wal: head.contains(&"no_wal"),
                no_slowdown: head.contains(&"no_slowdown"),
                low_pri: head.contains(&"low_pri"),
                changes: changes.split(" / ").map(parse_change).collect::<Option<_>>()?,
            }
        }
        ["get", family, key] => What::Get {
            family: own(family),
            key: own(key),
            snapshot: None,
        },
        ["get", family, key, at] => What::Get {
            family: own(family),
            key: own(key),
            snapshot: Some(own(at.strip_prefix('@')?)),
        },
        ["multi_get", family, keys @ ..] => What::MultiGet {
            family: own(family),
            keys: owned(keys),
        },
        ["scan", family, rest @ ..] => What::Scan {
            family: own(family),
            back: rest.contains(&"back"),
            snapshot: rest.iter().find_map(|word| word.strip_prefix('@')).map(own),
        },
        ["snapshot", name] => What::Snapshot(own(name)),
        ["release", name] => What::Release(own(name)),
        ["iter", name, family, at @ ..] => What::Iter {
            name: own(name),
            family: own(family),
            snapshot: match at {
                [] => None,
                [at] => Some(own(at.strip_prefix('@')?)),
                _ => return None,
            },
        },
        ["refresh", name] => What::Refresh(own(name)),
        ["move", name, to, count] => What::Move {
            name: own(name),
            to: own(to),
            count: count.parse().ok()?,
        },
        ["flush", families @ ..] => What::Flush(owned(families)),
        ["compact", family] => What::Compact(own(family)),
        ["compact_files", family] => What::CompactFiles(own(family)),
        ["create", family] => What::Create(own(family)),
        ["drop", family] => What::Drop(own(family)),
        ["checkpoint"] => What::Checkpoint { logged: false },
        ["checkpoint", "logged"] => What::Checkpoint { logged: true },
        ["sync_wal"] => What::SyncWal,
        ["wait"] => What::Wait,
        ["pause", micros] => What::Pause(micros.parse().ok()?),
        ["resume"] => What::Resume,
        ["room", bytes] => What::Room(bytes.parse().ok()?),
        _ => return None,
    })
}

fn parse_change(text: &str) -> Option<Change> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (family, key, kind) = match words[..] {
        ["put", family, key, len] => (family, key, ChangeKind::Put(len.parse().ok()?)),
        ["del", family, key] => (family, key, ChangeKind::Delete),
        ["delrange", family, key, end] => (family, key, ChangeKind::DeleteRange(end.to_owned())),
        ["merge", family, key] => (family, key, ChangeKind::Merge),
        _ => return None,
    };
    Some(Change {
        family: family.to_owned(),
        key: key.to_owned(),
        kind,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for seed in 0..200 {
            let mut history = crate::generate(seed);
            if seed % 3 == 0 {
                let turns = ["w0:1.2>flush", "delete-2:0.7>w1"].map(|turn| turn.parse().unwrap());
                history.schedule = Some(Strategy::Turns(turns.to_vec()));
            }
            let text = history.to_string();
            let read: History = text.parse().unwrap();
            assert_eq!(read.to_string(), text);
            assert_eq!(read.steps().count(), history.steps().count());
        }
    }

    #[test]
    fn what_is_not_understood_is_told() {
        let wrong = |text: &str| text.parse::<History>().unwrap_err();
        assert_eq!(wrong("seed x"), "not understood: seed x");
        assert_eq!(wrong("life\nw0 1 fly"), "not understood: w0 1 fly");
        assert_eq!(wrong("w0 1 wait"), "not understood: w0 1 wait");
        assert_eq!(
            wrong("life\nw0 1 write: put k"),
            "not understood: w0 1 write: put k"
        );
    }
}

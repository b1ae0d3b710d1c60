//! The workloads: the same operations for every engine.

use std::fmt;
use std::hint::black_box;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use paired::Cost;

use crate::burden::Burden;
use crate::data::{Data, key, missing_key};
use crate::engine::{Engine, Scan};
use crate::transaction::{Control, Keys};
use crate::write::{self, fill_unique_random, fill_unique_random_and};

/// A workload by its name. A number behind a name is one the workload wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Brings the database of the reading workloads into being; what the comparison starts before them.
    Load,
    /// Ascending keys.
    FillSeq,
    /// Descending keys.
    FillSeqDesc,
    /// Streams written at once.
    FillStreams(u64),
    /// Streams written at once, until nothing is left to compact.
    FillStreamsAndWait(u64),
    /// Streams written one after the other.
    FillStreamsInTurn(u64),
    /// Random keys.
    FillRandom,
    /// Every key once, in random order, until nothing is left to compact.
    FillUniqueRandomAndWait,
    /// Random keys of a database that has all of them.
    Overwrite,
    /// That, until nothing is left to compact.
    OverwriteAndWait,
    /// Overwrites at full speed, of which the slowest thousandth is what counts: the time of an operation is the 99.9th percentile.
    OverwriteTail,
    /// Random keys, every write synced: a hundredth of the writes of the others.
    FillSync,
    /// Two memtables' worth and more of random keys, nothing compacted yet, become one level. An operation is a KiB that goes in.
    Compact,
    /// A published setting of mixgraph.
    Mixgraph(&'static str),
    /// A database is opened whose WAL holds so many MiB of rows; an operation is a row.
    Recovery(u64),
    /// Two rows read for update and put by each transaction; an operation is a transaction.
    Transact(Control, Keys),
    /// Random keys that are there.
    ReadRandom,
    /// Keys between those that are there.
    ReadMissing,
    /// Keys asked for at once.
    MultiReadRandom(u64),
    /// A scan of everything.
    ReadSeq,
    /// A scan of everything, back.
    ReadReverse,
    /// Steps after each seek.
    SeekRandom(u64),
    /// Steps back after each seek.
    SeekReverse(u64),
    /// Random keys, beside a writer.
    ReadWhileWriting,
    /// Steps after each seek, beside a writer.
    FwdRangeWhileWriting(u64),
    /// Steps back after each seek, beside a writer.
    RevRangeWhileWriting(u64),
    /// Range tombstones in the memtable when the reads begin; the writer adds one every fifty writes.
    ReadWhileDeleting(u64),
}

use Workload::{
    Compact, FillRandom, FillSeq, FillSeqDesc, FillStreams, FillStreamsAndWait, FillStreamsInTurn, FillSync,
    FillUniqueRandomAndWait, FwdRangeWhileWriting, Load, Mixgraph, MultiReadRandom, Overwrite,
    OverwriteAndWait, OverwriteTail, ReadMissing, ReadRandom, ReadReverse, ReadSeq, ReadWhileDeleting,
    ReadWhileWriting, Recovery, RevRangeWhileWriting, SeekRandom, SeekReverse, Transact,
};

const PLAIN: &[(&str, Workload)] = &[
    ("load", Load),
    ("fillseq", FillSeq),
    ("fillseqdesc", FillSeqDesc),
    ("fillrandom", FillRandom),
    ("filluniquerandomandwait", FillUniqueRandomAndWait),
    ("overwrite", Overwrite),
    ("overwriteandwait", OverwriteAndWait),
    ("overwritetail", OverwriteTail),
    ("fillsync", FillSync),
    ("compact", Compact),
    ("mixgraph_all_dist", Mixgraph("all_dist")),
    ("mixgraph_prefix_dist", Mixgraph("prefix_dist")),
    ("mixgraph_all_random", Mixgraph("all_random")),
    ("mixgraph_prefix_random", Mixgraph("prefix_random")),
    ("randomtransaction", Transact(Control::Locks, Keys::Cold)),
    ("randomtransactionhot", Transact(Control::Locks, Keys::Hot)),
    ("randomtransaction2pc", Transact(Control::TwoPhases, Keys::Cold)),
    ("randomtransaction2pchot", Transact(Control::TwoPhases, Keys::Hot)),
    (
        "randomtransactionoptimistic",
        Transact(Control::Optimistic, Keys::Cold),
    ),
    (
        "randomtransactionoptimistichot",
        Transact(Control::Optimistic, Keys::Hot),
    ),
    ("readrandom", ReadRandom),
    ("readmissing", ReadMissing),
    ("readseq", ReadSeq),
    ("readreverse", ReadReverse),
    ("readwhilewriting", ReadWhileWriting),
];

/// A workload made from the number behind its name.
type Numbered = fn(u64) -> Workload;

/// With the least number that makes sense.
const NUMBERED: &[(&str, u64, Numbered)] = &[
    ("fillstreamsinturn", 1, FillStreamsInTurn),
    ("fillstreamsandwait", 1, FillStreamsAndWait),
    ("fillstreams", 1, FillStreams),
    ("recovery", 1, Recovery),
    ("multireadrandom", 1, MultiReadRandom),
    ("seekrandom", 0, SeekRandom),
    ("seekreverse", 0, SeekReverse),
    ("fwdrangewhilewriting", 0, FwdRangeWhileWriting),
    ("revrangewhilewriting", 0, RevRangeWhileWriting),
    ("readwhiledeleting", 0, ReadWhileDeleting),
];

impl FromStr for Workload {
    type Err = String;

    fn from_str(name: &str) -> Result<Workload, String> {
        let plain = PLAIN.iter().find(|(known, _)| *known == name);
        let numbered = || {
            NUMBERED.iter().find_map(|(known, least, make)| {
                let number = name.strip_prefix(known)?.parse().ok()?;
                (number >= *least).then(|| make(number))
            })
        };
        plain
            .map(|(_, workload)| *workload)
            .or_else(numbered)
            .ok_or_else(|| {
                let plain = PLAIN.iter().map(|(name, _)| (*name).to_owned());
                let numbered = NUMBERED.iter().map(|(name, ..)| format!("{name}<N>"));
                let names: Vec<String> = plain.chain(numbered).collect();
                format!("unknown benchmark {name:?}; there are {}", names.join(", "))
            })
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = PLAIN.iter().find(|(_, workload)| workload == self);
        match (plain, self.number()) {
            (Some((name, _)), _) => out.write_str(name),
            (None, number) => {
                let found = NUMBERED.iter().find(|(.., make)| make(number) == *self);
                write!(out, "{}{number}", found.map_or("", |(name, ..)| name))
            }
        }
    }
}

impl Workload {
    fn number(self) -> u64 {
        match self {
            FillStreams(number)
            | FillStreamsAndWait(number)
            | FillStreamsInTurn(number)
            | Recovery(number)
            | MultiReadRandom(number)
            | SeekRandom(number)
            | SeekReverse(number)
            | FwdRangeWhileWriting(number)
            | RevRangeWhileWriting(number)
            | ReadWhileDeleting(number) => number,
            _ => 0,
        }
    }

    /// True if it needs a database loaded before.
    pub fn is_read(self) -> bool {
        !self.is_fill()
    }

    /// True if it reads a loaded database and changes it.
    pub fn changes_what_it_reads(self) -> bool {
        matches!(
            self,
            ReadWhileWriting | FwdRangeWhileWriting(_) | RevRangeWhileWriting(_) | ReadWhileDeleting(_)
        )
    }

    /// True if nothing of its database is compacted until it says so.
    pub fn disables_auto_compactions(self) -> bool {
        self == Compact
    }

    /// True if every write of it is synced, asked for or not.
    pub fn syncs(self) -> bool {
        self == FillSync
    }

    fn is_fill(self) -> bool {
        matches!(
            self,
            Load | FillSeq
                | FillSeqDesc
                | FillStreams(_)
                | FillStreamsAndWait(_)
                | FillStreamsInTurn(_)
                | FillRandom
                | FillSync
                | FillUniqueRandomAndWait
                | Overwrite
                | OverwriteAndWait
                | OverwriteTail
                | Compact
                | Mixgraph(_)
                | Recovery(_)
                | Transact(..)
        )
    }
}

/// In what state a database is when reading begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Shape {
    /// Every key once, in random order, then compacted into one level.
    Compacted,
    /// That, and then as many random keys written again, flushed, and compacted as the engine thinks right.
    Overwritten,
    /// The keys of eight ascending streams in turn, each once, flushed, and compacted as the engine thinks right.
    Streams,
    /// Every key once, in random order, flushed, and compacted as the engine thinks right.
    Written,
    /// That, and a range tombstone over a hundred keys after every hundredth: RocksDB's pull request 4449.
    Tombstones,
}

/// How a workload runs, beside what it does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    pub seed: u64,
    /// Of the database to load.
    pub shape: Shape,
    /// Threads that read or write; streams, `compact` and `recovery` are written by one.
    pub threads: u64,
    /// Writes a second of the thread that writes while others read.
    pub writes_per_second: u64,
    /// Share of the operations' time burnt on top.
    pub slow_down: f64,
    /// Reads go past the page cache.
    pub direct: bool,
}

/// What a workload did.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Done {
    pub operations: u64,
    /// Entries found or walked; every engine must find as many. 0 where that is up to chance.
    pub found: u64,
    /// Bytes of keys and values written.
    pub written: u64,
    pub time: Duration,
    /// Where the slowest operations count and not all: how long the 99.9th percentile took.
    pub tail: Option<Duration>,
    /// What the operations cost, and the flushes and compactions they left to be done.
    pub cost: Cost,
}

/// Brings the database of a reading workload into being.
fn load<E: Engine>(db: &E, data: &Data, shape: Shape) {
    match shape {
        Shape::Streams => write_streams(db, data),
        Shape::Written => fill_unique_random(db, data),
        Shape::Tombstones => write_under_tombstones(db, data),
        Shape::Compacted | Shape::Overwritten => {
            fill_unique_random(db, data);
            db.flush();
            db.compact();
        }
    }
    if shape == Shape::Overwritten {
        db.settle();
        let mut rng = fastrand::Rng::with_seed(11);
        for at in 0..data.num {
            db.put(&key(rng.u64(..data.num)), data.value(at));
        }
    }
    db.flush();
    db.settle();
}

fn write_streams<E: Engine>(db: &E, data: &Data) {
    let each = data.num.div_ceil(STREAMS);
    let of_streams = (0..each).flat_map(|at| (0..STREAMS).map(move |stream| stream * each + at));
    for number in of_streams.filter(|&number| number < data.num) {
        db.put(&key(number), data.value(number));
    }
}

fn write_under_tombstones<E: Engine>(db: &E, data: &Data) {
    let mut rng = fastrand::Rng::with_seed(13);
    fill_unique_random_and(db, data, |puts| {
        if puts.is_multiple_of(PUTS_PER_TOMBSTONE) {
            let from = rng.u64(..data.num);
            db.delete_range(&key(from), &key(from + PUTS_PER_TOMBSTONE));
        }
    });
}

/// Those of [`Shape::Tombstones`], and the keys under each.
const PUTS_PER_TOMBSTONE: u64 = 100;

/// Those of [`Shape::Streams`].
const STREAMS: u64 = 8;

/// Everything into the cache, and found there a few times: what a block gets when it is searched again it has, and what the
/// processor learns of the code it has learnt.
fn warm_up<E: Engine>(db: &E, data: &Data, direct: bool) {
    db.scan(Scan::Forward, u64::MAX);
    let lookups = if direct { DIRECT_LOOKUPS } else { usize::MAX };
    for at in (0..data.num).step_by(LOOKUPS_STEP).take(lookups) {
        // Neighbours in time should be none in the database.
        let number = at.wrapping_mul(0x9e37_79b9_7f4a_7c15) % data.num;
        black_box(db.get(&key(number)));
    }
}

/// One key in so many is looked up to warm up: of each block about eight, or four if older versions lie below.
const LOOKUPS_STEP: usize = 4;

/// Most keys that are looked up to warm up where a lookup waits for the disk.
const DIRECT_LOOKUPS: usize = 5_000;

/// Runs a workload over an empty database, or over a loaded one if it reads. What must come before it is not timed.
pub(crate) fn run<E: Engine>(db: &E, workload: Workload, data: &Data, pace: &Pace) -> Done {
    if workload == Load {
        load(db, data, pace.shape);
        return Done::default();
    }
    if !workload.is_read() {
        return write::run(db, workload, data, pace);
    }
    warm_up(db, data, pace.direct);
    if let ReadWhileDeleting(tombstones) = workload {
        for at in 0..tombstones {
            delete_some(db, data, at);
        }
    }
    let before = Cost::of_self();
    let done = if workload.changes_what_it_reads() {
        beside_a_writer(db, workload, data, pace)
    } else {
        read_by_threads(db, workload, data, pace)
    };
    Done {
        cost: Cost::of_self().since(&before),
        ..done
    }
}

/// Has so many threads do the same, each told its number, and puts together what they did.
pub(crate) fn by_threads(threads: u64, work: impl Fn(u64) -> Done + Sync) -> Done {
    let start = Instant::now();
    let work = &work;
    let mut all = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads)
            .map(|thread| scope.spawn(move || work(thread)))
            .collect();
        let mut all = work(0);
        for thread in others {
            let done = thread.join().expect("a thread of the workload");
            all.operations += done.operations;
            all.found += done.found;
            all.written += done.written;
        }
        all
    });
    all.time = start.elapsed();
    all
}

/// The threads do the same share each, over keys of their own choice.
fn read_by_threads<E: Engine>(db: &E, workload: Workload, data: &Data, pace: &Pace) -> Done {
    by_threads(pace.threads, |thread| read(db, workload, data, pace, thread))
}

/// Reads until the share of one thread is done.
fn read<E: Engine>(db: &E, workload: Workload, data: &Data, pace: &Pace, thread: u64) -> Done {
    let mut rng = fastrand::Rng::with_seed(pace.seed * 1_000 + thread);
    let burden = &mut Burden::new(pace.slow_down);
    let num = data.num;
    let reads = data.reads / pace.threads;
    let mut found = 0;
    let operations = match workload {
        ReadMissing => {
            for _ in 0..reads {
                found += u64::from(black_box(db.get(&missing_key(rng.u64(..num)))).is_some());
                burden.bear();
            }
            reads
        }
        MultiReadRandom(batch) => {
            let mut keys = Vec::with_capacity(batch as usize);
            for _ in 0..reads / batch {
                keys.clear();
                keys.extend((0..batch).map(|_| key(rng.u64(..num))));
                found += black_box(db.multi_get(&keys));
                burden.bear();
            }
            reads / batch * batch
        }
        ReadSeq | ReadReverse => {
            let from = if workload == ReadSeq {
                Scan::Forward
            } else {
                Scan::Backward
            };
            found = db.scan(from, u64::MAX).entries;
            burden.burn();
            found
        }
        SeekRandom(steps)
        | SeekReverse(steps)
        | FwdRangeWhileWriting(steps)
        | RevRangeWhileWriting(steps) => {
            let back = matches!(workload, SeekReverse(_) | RevRangeWhileWriting(_));
            let seeks = (reads * 2 / (steps + 8)).max(1);
            for _ in 0..seeks {
                let key = key(rng.u64(..num));
                let from = if back {
                    Scan::BackFrom(&key)
                } else {
                    Scan::From(&key)
                };
                found += db.scan(from, steps.max(1)).entries;
                burden.bear();
            }
            seeks
        }
        _ => {
            for _ in 0..reads {
                found += u64::from(black_box(db.get(&key(rng.u64(..num)))).is_some());
                burden.bear();
            }
            reads
        }
    };
    Done {
        operations,
        found,
        ..Done::default()
    }
}

/// Writes of the writer from one range tombstone to the next: those of the report on reads under tombstones.
const WRITES_PER_TOMBSTONE: u64 = 50;

/// Keys under one range tombstone.
const TOMBSTONE_WIDTH: u64 = 10;

/// A range tombstone somewhere.
fn delete_some<E: Engine>(db: &E, data: &Data, at: u64) {
    let mut rng = fastrand::Rng::with_seed(at);
    let from = rng.u64(..data.num - TOMBSTONE_WIDTH);
    db.delete_range(&key(from), &key(from + TOMBSTONE_WIDTH));
}

/// The readers, while one thread overwrites keys at the pace asked for.
fn beside_a_writer<E: Engine>(db: &E, workload: Workload, data: &Data, pace: &Pace) -> Done {
    let stop = &AtomicBool::new(false);
    let done = std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut rng = fastrand::Rng::with_seed(pace.seed ^ 0x5eed);
            let start = Instant::now();
            let mut written = 0u64;
            while !stop.load(Ordering::Relaxed) {
                let due = (start.elapsed().as_secs_f64() * pace.writes_per_second as f64) as u64;
                while written < due && !stop.load(Ordering::Relaxed) {
                    db.put(&key(rng.u64(..data.num)), data.value(written));
                    written += 1;
                    if matches!(workload, ReadWhileDeleting(_))
                        && written.is_multiple_of(WRITES_PER_TOMBSTONE)
                    {
                        delete_some(db, data, rng.u64(..));
                    }
                }
                std::thread::sleep(Duration::from_micros(200));
            }
        });
        let done = read_by_threads(db, workload, data, pace);
        stop.store(true, Ordering::Relaxed);
        done
    });
    // What is found depends on how far the writer got.
    Done { found: 0, ..done }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        for name in [
            "fillseq",
            "fillstreams8",
            "fillstreamsinturn2",
            "seekrandom100",
            "seekreverse0",
            "readmissing",
            "readwhiledeleting3000",
            "recovery500",
            "mixgraph_all_dist",
            "fillstreamsandwait8",
            "filluniquerandomandwait",
        ] {
            assert_eq!(name.parse::<Workload>().unwrap().to_string(), name);
        }
        for name in ["", "fillstreams", "fillstreams0", "seekrandomx", "readsq"] {
            let error = name.parse::<Workload>().unwrap_err();
            assert!(error.contains("fillstreamsinturn<N>"), "{name}");
        }
    }

    #[test]
    fn what_reads_needs_a_database() {
        let of = |name: &str| name.parse::<Workload>().unwrap();
        assert!(of("multireadrandom10").is_read() && !of("overwrite").is_read());
        assert!(of("fwdrangewhilewriting10").changes_what_it_reads());
        assert!(!of("seekrandom10").changes_what_it_reads());
    }
}

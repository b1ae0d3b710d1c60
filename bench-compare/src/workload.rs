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

/// A workload by its name. A number after a name is one that the workload needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Creates the database of the reading workloads; the comparison starts it before them.
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
    /// Ascending keys, so many in one batch.
    FillSeqBatch(u64),
    /// Random keys, so many in one batch.
    FillRandomBatch(u64),
    /// Random keys of a database that has all of them.
    Overwrite,
    /// Random keys of a database that has all of them, until nothing is left to compact.
    OverwriteAndWait,
    /// Overwrites at full speed; the time of an operation is the 99.9th percentile.
    OverwriteTail,
    /// Random keys, every write synced: a hundredth of the writes of the others.
    FillSync,
    /// Two memtables and more of random keys, not compacted yet, become one level. An operation is a KiB of
    /// input.
    Compact,
    /// A published setting of mixgraph.
    Mixgraph(&'static str),
    /// The open of a database whose WAL has so many MiB of rows; an operation is a row.
    Recovery(u64),
    /// Each transaction reads two rows for update and puts them; an operation is a transaction.
    Transact(Control, Keys),
    /// Random existing keys.
    ReadRandom,
    /// Absent keys between existing ones.
    ReadMissing,
    /// Keys of one MultiGet.
    MultiReadRandom(u64),
    /// A scan of everything.
    ReadSeq,
    /// A scan of everything, backwards.
    ReadReverse,
    /// Steps after each seek.
    SeekRandom(u64),
    /// Steps backwards after each seek.
    SeekReverse(u64),
    /// Random keys, during writes of another thread.
    ReadWhileWriting,
    /// Steps after each seek, during writes of another thread.
    FwdRangeWhileWriting(u64),
    /// Steps backwards after each seek, during writes of another thread.
    RevRangeWhileWriting(u64),
    /// Range tombstones in the memtable when the reads begin; the writer adds one every fifty writes.
    ReadWhileDeleting(u64),
}

use Workload::{
    Compact, FillRandom, FillRandomBatch, FillSeq, FillSeqBatch, FillSeqDesc, FillStreams,
    FillStreamsAndWait, FillStreamsInTurn, FillSync, FillUniqueRandomAndWait, FwdRangeWhileWriting, Load,
    Mixgraph, MultiReadRandom, Overwrite, OverwriteAndWait, OverwriteTail, ReadMissing, ReadRandom,
    ReadReverse, ReadSeq, ReadWhileDeleting, ReadWhileWriting, Recovery, RevRangeWhileWriting, SeekRandom,
    SeekReverse, Transact,
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

/// A workload made from the number after its name.
type Numbered = fn(u64) -> Workload;

/// With the smallest valid number.
const NUMBERED: &[(&str, u64, Numbered)] = &[
    ("fillstreamsinturn", 1, FillStreamsInTurn),
    ("fillstreamsandwait", 1, FillStreamsAndWait),
    ("fillstreams", 1, FillStreams),
    ("fillseqbatch", 1, FillSeqBatch),
    ("fillrandombatch", 1, FillRandomBatch),
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
            | FillSeqBatch(number)
            | FillRandomBatch(number)
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

    /// True if it needs a loaded database.
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

    /// True if nothing of its database is compacted before it requests it.
    pub fn disables_auto_compactions(self) -> bool {
        self == Compact
    }

    /// True if each of its writes is synced, whatever the settings.
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
                | FillSeqBatch(_)
                | FillRandomBatch(_)
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

/// The state of a database when reads begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Shape {
    /// Every key once, in random order, then compacted into one level.
    Compacted,
    /// The same, and then as many random keys written again, flushed, and compacted as the engine decides.
    Overwritten,
    /// The keys of eight ascending streams in turn, each once, flushed, and compacted as the engine decides.
    Streams,
    /// Every key once, in random order, flushed, and compacted as the engine decides.
    Written,
    /// The same, with a range tombstone over a hundred keys after every hundredth: RocksDB's pull request
    /// 4449.
    Tombstones,
}

/// The settings of a workload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    pub seed: u64,
    /// The shape of the database to load.
    pub shape: Shape,
    /// The number of threads that read or write; streams, `compact` and `recovery` are written by one.
    pub threads: u64,
    /// The writes per second of the thread that writes while others read.
    pub writes_per_second: u64,
    /// The share of the operations' time that is burnt in addition.
    pub slow_down: f64,
    /// Reads bypass the page cache.
    pub direct: bool,
}

/// The outcome of a workload.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Done {
    pub operations: u64,
    /// The number of entries found or walked, which must be equal for every engine; 0 if it depends on
    /// chance.
    pub found: u64,
    /// The bytes of keys and values written.
    pub written: u64,
    pub time: Duration,
    /// The 99.9th percentile, for workloads that measure the slowest operations.
    pub tail: Option<Duration>,
    /// The cost of the operations, and of the flushes and compactions they caused.
    pub cost: Cost,
}

/// Creates the database of a reading workload.
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

/// The number of tombstones of [`Shape::Tombstones`], and of the keys under each.
const PUTS_PER_TOMBSTONE: u64 = 100;

/// The number of streams of [`Shape::Streams`].
const STREAMS: u64 = 8;

/// Reads everything into the cache and finds it there a few times: so each block has the index that it gets
/// when it is searched again, and the processor has learnt the code.
fn warm_up<E: Engine>(db: &E, data: &Data, direct: bool) {
    db.scan(Scan::Forward, u64::MAX);
    let lookups = if direct { DIRECT_LOOKUPS } else { usize::MAX };
    for at in (0..data.num).step_by(LOOKUPS_STEP).take(lookups) {
        // Neighbours in time should be no neighbours in the database.
        let number = at.wrapping_mul(0x9e37_79b9_7f4a_7c15) % data.num;
        black_box(db.get(&key(number)));
    }
}

/// One key in so many is looked up for the warm-up: about eight of each block, or four if older versions are
/// below.
const LOOKUPS_STEP: usize = 4;

/// The maximum number of lookups of the warm-up if a lookup waits for the disk.
const DIRECT_LOOKUPS: usize = 5_000;

/// Runs a workload over an empty database, or over a loaded one if it reads. Preparations are not timed.
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

/// Runs the same function on so many threads, each with its number, and joins their results.
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

/// Each thread does the same share, over keys of its own choice.
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

/// The writes from one range tombstone to the next, as in the report on reads under tombstones.
const WRITES_PER_TOMBSTONE: u64 = 50;

/// The number of keys under one range tombstone.
const TOMBSTONE_WIDTH: u64 = 10;

/// A range tombstone at a random place.
fn delete_some<E: Engine>(db: &E, data: &Data, at: u64) {
    let mut rng = fastrand::Rng::with_seed(at);
    let from = rng.u64(..data.num - TOMBSTONE_WIDTH);
    db.delete_range(&key(from), &key(from + TOMBSTONE_WIDTH));
}

/// The readers, while one thread overwrites keys at the given pace.
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
    // The number of found entries depends on the writer's progress.
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
            "fillrandombatch1000",
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

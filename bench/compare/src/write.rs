//! The workloads that write.

use std::path::Path;
use std::time::{Duration, Instant};

use db_bench::Kind;
use paired::Cost;

use crate::burden::Burden;
use crate::data::{Data, KEY_SIZE, key, stream_key, write_key};
use crate::engine::{Engine, Scan, Settings};
use crate::threads::{Done, Pace, by_threads};
use crate::workload::Workload::{
    self, Compact, FillRandom, FillRandomBatch, FillSeqBatch, FillSeqDesc, FillStreams, FillStreamsAndWait,
    FillStreamsInTurn, FillSync, FillUniqueRandomAndWait, Mixgraph, Overwrite, OverwriteAndWait,
    OverwriteTail,
};

/// The divisor of the number of operations of a workload that syncs every write.
pub const SYNCED_SHARE: u64 = 100;

/// The number of operations of which the slowest is the 99.9th percentile.
const TAIL: usize = 1_000;

/// Runs a workload that writes, over an empty database, and waits until the database is at rest. Preparations
/// are not timed.
pub fn run<E: Engine>(db: &E, workload: Workload, data: &Data, pace: &Pace) -> Done {
    match workload {
        Mixgraph(setting) => return mixgraph(db, setting, data, pace),
        Compact => return compact(db, data, pace),
        Overwrite | OverwriteAndWait | OverwriteTail => {
            fill_unique_random(db, data);
            db.settle();
        }
        _ => {}
    }
    let numbers = match workload {
        FillUniqueRandomAndWait => shuffled(data.num, pace.seed),
        _ => Vec::new(),
    };
    let (before, start) = (Cost::of_self(), Instant::now());
    let mut done = fill(db, workload, data, pace, &numbers);
    if matches!(
        workload,
        FillUniqueRandomAndWait | OverwriteAndWait | FillStreamsAndWait(_)
    ) {
        db.settle();
    }
    done.time = start.elapsed();
    rest(db, done, &before)
}

/// Waits for the flushes and compactions of a workload: they are part of its cost, not of its time.
fn rest<E: Engine>(db: &E, done: Done, before: &Cost) -> Done {
    db.flush();
    db.settle();
    Done {
        cost: Cost::of_self().since(before),
        ..done
    }
}

/// `numbers` has the numbers of the keys in the order of the writes, if each key is written once.
fn fill<E: Engine>(db: &E, workload: Workload, data: &Data, pace: &Pace, numbers: &[u64]) -> Done {
    let num = data.num;
    let put = Put { db, data, pace };
    match workload {
        FillStreams(streams) | FillStreamsAndWait(streams) => {
            put.rows(num, 0, |at| stream_key(at % streams, at / streams))
        }
        FillStreamsInTurn(streams) => {
            let each = num.div_ceil(streams);
            put.rows(num, 0, |at| stream_key(at / each, at % each))
        }
        OverwriteTail => overwrite_timed(db, data, pace),
        _ => by_threads(pace.threads, |thread| {
            let mut rng = fastrand::Rng::with_seed(pace.seed * 1_000 + thread);
            let rows = num / pace.threads;
            match workload {
                FillSeqDesc => put.rows(rows, thread, |at| key(num - 1 - at)),
                FillUniqueRandomAndWait => {
                    let own = &numbers[(thread * rows) as usize..];
                    put.rows(rows, thread, |at| key(own[at as usize]))
                }
                FillRandom | Overwrite | OverwriteAndWait => put.rows(rows, thread, |_| key(rng.u64(..num))),
                FillSeqBatch(batch) => put.batches(rows, thread, batch, key),
                FillRandomBatch(batch) => put.batches(rows, thread, batch, |_| key(rng.u64(..num))),
                FillSync => put.rows((rows / SYNCED_SHARE).max(1), thread, |_| key(rng.u64(..num))),
                // As in db_bench, every thread writes from the first key on.
                _ => put.rows(rows, thread, key),
            }
        }),
    }
}

/// The arguments of a put.
struct Put<'a, E> {
    db: &'a E,
    data: &'a Data,
    pace: &'a Pace,
}

impl<E: Engine> Put<'_, E> {
    /// Puts `rows` rows as thread number `thread`; `key` chooses the key of each.
    fn rows(&self, rows: u64, thread: u64, mut key: impl FnMut(u64) -> [u8; KEY_SIZE]) -> Done {
        let burden = &mut Burden::new(self.pace.slow_down);
        let first = thread * rows;
        for at in 0..rows {
            self.db.put(&key(at), self.data.value(first + at));
            burden.bear();
        }
        Done {
            operations: rows,
            written: rows * self.data.entry_size(),
            ..Done::default()
        }
    }

    /// Writes rows in batches of `batch` rows.
    fn batches(
        &self,
        rows: u64,
        thread: u64,
        batch: u64,
        mut key: impl FnMut(u64) -> [u8; KEY_SIZE],
    ) -> Done {
        let burden = &mut Burden::new(self.pace.slow_down);
        let first = thread * rows;
        let mut pending = Vec::new();
        for at in 0..rows {
            pending.push((key(at), self.data.value(first + at)));
            if pending.len() as u64 == batch || at + 1 == rows {
                self.db.put_all(&pending);
                pending.clear();
                burden.bear();
            }
        }
        Done {
            operations: rows,
            written: rows * self.data.entry_size(),
            ..Done::default()
        }
    }
}

/// Overwrites, each timed separately.
fn overwrite_timed<E: Engine>(db: &E, data: &Data, pace: &Pace) -> Done {
    let mut rng = fastrand::Rng::with_seed(pace.seed);
    let mut times: Vec<u64> = Vec::with_capacity(data.num as usize);
    let burden = &mut Burden::new(pace.slow_down);
    for at in 0..data.num {
        let key = key(rng.u64(..data.num));
        let start = Instant::now();
        db.put(&key, data.value(at));
        times.push(start.elapsed().as_nanos() as u64);
        burden.bear();
    }
    let slow = times.len() / TAIL;
    let (_, tail, _) = times.select_nth_unstable_by(slow, |a, b| b.cmp(a));
    let tail = Duration::from_nanos(*tail);
    Done {
        operations: data.num,
        written: data.num * data.entry_size(),
        tail: Some(tail),
        ..Done::default()
    }
}

/// Every key once, in random order.
pub fn fill_unique_random<E: Engine>(db: &E, data: &Data) {
    fill_unique_random_and(db, data, |_| ());
}

/// Puts every key once, in random order, and calls `then` after each with the number of keys put so far.
pub fn fill_unique_random_and<E: Engine>(db: &E, data: &Data, mut then: impl FnMut(u64)) {
    for (at, number) in (0..).zip(shuffled(data.num, 7)) {
        db.put(&key(number), data.value(at));
        then(at + 1);
    }
}

/// The numbers below `num` in random order.
fn shuffled(num: u64, seed: u64) -> Vec<u64> {
    let mut numbers: Vec<u64> = (0..num).collect();
    fastrand::Rng::with_seed(seed).shuffle(&mut numbers);
    numbers
}

/// Flushes twice as many random keys as the database has, into L0, and measures the time of their compaction.
fn compact<E: Engine>(db: &E, data: &Data, pace: &Pace) -> Done {
    let mut rng = fastrand::Rng::with_seed(pace.seed);
    let rows = data.num * 2;
    for at in 0..rows {
        db.put(&key(rng.u64(..data.num)), data.value(at));
    }
    db.flush();
    let (before, start) = (Cost::of_self(), Instant::now());
    db.compact();
    let written = rows * data.entry_size();
    let done = Done {
        operations: written >> 10,
        written,
        time: start.elapsed(),
        ..Done::default()
    };
    rest(db, done, &before)
}

/// The setting's database is filled as its authors did, comes to rest, and is read into the cache. Then all
/// threads together do as many operations as there are reads. All keys exist, so that every engine must find
/// the same number.
fn mixgraph<E: Engine>(db: &E, setting: &str, data: &Data, pace: &Pace) -> Done {
    let setting = db_bench::Mixgraph::of_preset(setting, data.num, data.reads, pace.seed)
        .expect("a setting of mixgraph, and keys enough for it");
    let mut key = vec![0; setting.key_size];
    for (at, number) in shuffled(data.num, 7).into_iter().enumerate() {
        write_key(number, &mut key);
        db.put(&key, data.value_of(at as u64, setting.value_size));
    }
    db.flush();
    db.settle();
    db.scan(Scan::Forward, u64::MAX);
    let before = Cost::of_self();
    let done = by_threads(pace.threads, |_| {
        let mut key = vec![0; setting.key_size];
        let mut done = Done::default();
        let burden = &mut Burden::new(pace.slow_down);
        for operation in setting.operations.share() {
            write_key(operation.key, &mut key);
            done.operations += 1;
            match operation.kind {
                Kind::Get => done.found += u64::from(db.get(&key).is_some()),
                Kind::Put => {
                    db.put(&key, data.value_of(operation.key, operation.value_size));
                    done.written += (key.len() + operation.value_size) as u64;
                }
                Kind::Seek => done.found += db.scan(Scan::From(&key), operation.scan_length.max(1)).entries,
            }
            burden.bear();
        }
        done
    });
    rest(db, done, &before)
}

/// Opens a database in `dir` whose WAL has `mib` MiB of rows in random order, as a process leaves it that
/// dies before its first flush: only the open is timed.
pub fn recover<E: Engine>(dir: &Path, settings: &Settings, data: &Data, mib: u64, pace: &Pace) -> (E, Done) {
    let rows = (mib << 20) / data.entry_size();
    let unflushed = Settings {
        write_buffer_size: 16 << 30,
        ..settings.clone()
    };
    let db = E::open(dir, &unflushed);
    for (at, number) in shuffled(rows, pace.seed).into_iter().enumerate() {
        db.put(&key(number), data.value(at as u64));
    }
    drop(db);
    let (before, start) = (Cost::of_self(), Instant::now());
    let db = E::open(dir, settings);
    let time = start.elapsed();
    let done = Done {
        operations: rows,
        written: rows * data.entry_size(),
        time,
        ..Done::default()
    };
    let mut done = rest(&db, done, &before);
    done.found = db.scan(Scan::Forward, u64::MAX).entries;
    assert_eq!(done.found, rows, "rows after the recovery");
    (db, done)
}

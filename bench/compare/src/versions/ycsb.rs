//! YCSB's workloads, A to F, by two threads over keys of which some are hot, while a third thread collects
//! versions older than a short lifetime.
//!
//! Every write is a new version at the current time; reads are as of now. Files are on disk, writes go
//! through a WAL without syncs, and each engine collects in its own way: Esker's compactions drop hidden
//! versions, and files with much garbage are rewritten; RocksDB raises `full_history_ts_low` and compacts
//! everything. Esker keeps exact statistics, and its writers check for a later version.

use std::hint::black_box;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use mvcc::{MvccReadOptions, MvccStore, Span, Timestamp, Value};
use rocksdb::ReadOptions;

use super::stores::{self, Settings};

/// The size of a value in bytes.
const VALUE: [u8; 100] = [b'v'; 100];
/// The maximum number of keys that a scan returns.
const SCAN: usize = 100;
const WORKERS: u64 = 2;
/// Older versions are collected.
const LIFETIME: Duration = Duration::from_millis(500);
/// The time from the end of a collection to the start of the next.
const PAUSE: Duration = Duration::from_millis(250);

/// The letter of YCSB's workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Workload {
    A,
    B,
    C,
    D,
    E,
    F,
}

/// A run: a workload over a number of keys, each of which was written twice before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Case {
    pub workload: Workload,
    pub keys: usize,
    pub time: Duration,
}

/// The result of a run.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    pub operations_per_second: f64,
    /// The maximum number of bytes of tables in use at the start of a collection.
    pub most_table_bytes: u64,
}

/// Runs each engine in a database of its own, in turn: Esker's outcomes and RocksDB's, one for each round.
pub fn measure(case: Case, rounds: usize, dir: &Path) -> Result<[Vec<Outcome>; 2], String> {
    let mut outcomes = [Vec::new(), Vec::new()];
    for round in 0..rounds {
        for turn in 0..2 {
            let at = (round + turn) % 2;
            let place = dir.join(format!("{at}-{round}"));
            std::fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
            let settings = Settings {
                dir: Some(&place),
                write_buffer_size: 8 << 20,
                cache_size: 64 << 20,
                lz4: true,
            };
            let outcome = match at {
                0 => run(&Esker::open(&settings)?, case),
                _ => run(&RocksDb::open(&settings), case),
            };
            // A file of the finished database that cannot be removed does no harm.
            let _ = std::fs::remove_dir_all(&place);
            outcomes[at].push(outcome?);
        }
    }
    Ok(outcomes)
}

/// The number of operations in each engine.
trait Store: Sync {
    /// The state of an engine that a thread of YCSB keeps from one read to the next.
    type Session;
    fn session(&self) -> Self::Session;
    /// A new version of the key.
    fn write(&self, key: usize);
    /// True if the key has a value.
    fn read(&self, session: &mut Self::Session, key: usize) -> bool;
    /// The rows from `start` on, up to a maximum.
    fn scan(&self, start: &[u8], most: usize) -> usize;
    /// Returns when versions older than `lifetime` are collected and no compaction is due.
    fn collect(&self, lifetime: Duration) -> Result<(), String>;
    /// Flushes and compacts everything.
    fn settle(&self);
    fn table_bytes(&self) -> u64;
}

struct YcsbRun<'a, S> {
    store: &'a S,
    workload: Workload,
    /// The number of keys that are inserted, or soon will be.
    keys: AtomicUsize,
    done: AtomicBool,
    operations: AtomicU64,
}

fn run<S: Store>(store: &S, case: Case) -> Result<Outcome, String> {
    for _ in 0..2 {
        (0..case.keys).for_each(|key| store.write(key));
    }
    store.settle();
    let run = YcsbRun {
        store,
        workload: case.workload,
        keys: AtomicUsize::new(case.keys),
        done: AtomicBool::new(false),
        operations: AtomicU64::new(0),
    };
    let start = Instant::now();
    let mut outcome = thread::scope(|scope| {
        // No message is ever sent over this channel: a worker that fails drops its sender, which ends the
        // collections.
        let (alive, workers) = mpsc::channel::<()>();
        for worker in 0..WORKERS {
            let (run, alive) = (&run, alive.clone());
            scope.spawn(move || {
                run.work(worker + 1);
                drop(alive);
            });
        }
        drop(alive);
        let outcome = run.collect_until(start + case.time, &workers);
        run.done.store(true, Ordering::Relaxed);
        outcome
    })?;
    let operations = run.operations.load(Ordering::Relaxed);
    outcome.operations_per_second = operations as f64 / start.elapsed().as_secs_f64();
    let keys = run.keys.load(Ordering::Relaxed);
    let found = store.scan(b"", usize::MAX);
    match found == keys {
        true => Ok(outcome),
        false => Err(format!("{found} of {keys} keys are left")),
    }
}

impl<S: Store> YcsbRun<'_, S> {
    /// Collects old versions repeatedly until `end`, or until a worker fails.
    fn collect_until(&self, end: Instant, workers: &mpsc::Receiver<()>) -> Result<Outcome, String> {
        let mut most_table_bytes = 0;
        while Instant::now() < end {
            most_table_bytes = self.store.table_bytes().max(most_table_bytes);
            self.store.collect(LIFETIME)?;
            let rest = end.saturating_duration_since(Instant::now());
            if let Err(RecvTimeoutError::Disconnected) = workers.recv_timeout(rest.min(PAUSE)) {
                return Err("the workers have ended".to_owned());
            }
        }
        Ok(Outcome {
            operations_per_second: 0.0,
            most_table_bytes,
        })
    }

    fn work(&self, seed: u64) {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut session = self.store.session();
        let mut operations = 0;
        while !self.done.load(Ordering::Relaxed) {
            self.operate(&mut session, &mut rng);
            operations += 1;
        }
        self.operations.fetch_add(operations, Ordering::Relaxed);
    }

    fn operate(&self, session: &mut S::Session, rng: &mut fastrand::Rng) {
        let key = self.key(rng);
        match (self.workload, rng.u32(..100)) {
            (Workload::A, 0..50) | (Workload::B, 0..5) => self.store.write(key),
            (Workload::D | Workload::E, 0..5) => self.store.write(self.keys.fetch_add(1, Ordering::Relaxed)),
            (Workload::E, _) => {
                black_box(self.store.scan(&key_of(key), rng.usize(1..=SCAN)));
            }
            (Workload::F, 0..50) => {
                black_box(self.store.read(session, key));
                self.store.write(key);
            }
            _ => {
                black_box(self.store.read(session, key));
            }
        }
    }

    /// Draws a key. A few keys are hot: in workload D those that were inserted last.
    fn key(&self, rng: &mut fastrand::Rng) -> usize {
        let keys = self.keys.load(Ordering::Relaxed);
        let at = (keys as f64 * rng.f64().powi(4)) as usize;
        match self.workload {
            Workload::D => keys - 1 - at,
            _ => at,
        }
    }
}

fn key_of(key: usize) -> Vec<u8> {
    // The inserted keys are between the others.
    let spread = (key as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    format!("user{spread:020}").into_bytes()
}

/// The times of versions, in nanoseconds since 1970: all are different.
#[derive(Default)]
struct Times(AtomicU64);

impl Times {
    fn next(&self) -> u64 {
        let now = now();
        let later = |last: u64| Some(now.max(last + 1));
        let last = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, later);
        now.max(last.unwrap_or(0) + 1)
    }

    /// A time at or after every version that was written so far.
    fn present(&self) -> u64 {
        now().max(self.0.load(Ordering::Relaxed))
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

struct Esker {
    opened: stores::Esker,
    store: MvccStore,
    times: Times,
}

impl Esker {
    fn open(settings: &Settings<'_>) -> Result<Esker, String> {
        let opened = stores::Esker::open(settings);
        let store = opened.store(now() as i64)?;
        Ok(Esker {
            opened,
            store,
            times: Times::default(),
        })
    }

    fn present(&self) -> Timestamp {
        Timestamp::from_nanos(self.times.present() as i64)
    }
}

impl Store for Esker {
    type Session = ();

    fn session(&self) {}

    fn write(&self, key: usize) {
        let key = key_of(key);
        let mut batch = self.store.begin_keys(&[&key], now() as i64);
        // The lock of the key is held: no other thread writes the key.
        let time = Timestamp::from_nanos(self.times.next() as i64);
        batch.put(&key, time, Value::Bytes(&VALUE)).expect("put");
        batch.commit(&esker::WriteOptions::default()).expect("commit");
    }

    fn read(&self, (): &mut (), key: usize) -> bool {
        let found = self
            .store
            .get(&key_of(key), self.present(), &MvccReadOptions::default());
        black_box(found.expect("get").found).is_some()
    }

    fn scan(&self, start: &[u8], most: usize) -> usize {
        let span = Span { start, end: None };
        let options = MvccReadOptions {
            max_keys: Some(most as u64),
            ..MvccReadOptions::default()
        };
        let found = self.store.scan(span, self.present(), &options);
        black_box(found.expect("scan")).rows.len() as usize
    }

    fn collect(&self, lifetime: Duration) -> Result<(), String> {
        self.store
            .collect_in_compactions(lifetime, now() as i64)
            .map_err(|error| error.to_string())?;
        self.opened
            .db
            .wait_for_compact()
            .map_err(|error| error.to_string())
    }

    fn settle(&self) {
        self.opened.compact();
    }

    fn table_bytes(&self) -> u64 {
        self.opened.property("rocksdb.live-sst-files-size")
    }
}

/// Locks by which versions of one key are written in the order of their times, as RocksDB requires.
const STRIPES: usize = 64;

struct RocksDb {
    opened: stores::RocksDb,
    stripes: Vec<Mutex<()>>,
    times: Times,
}

impl RocksDb {
    fn open(settings: &Settings<'_>) -> RocksDb {
        RocksDb {
            opened: stores::RocksDb::open(settings),
            stripes: (0..STRIPES).map(|_| Mutex::default()).collect(),
            times: Times::default(),
        }
    }
}

impl Store for RocksDb {
    type Session = ReadOptions;

    fn session(&self) -> ReadOptions {
        ReadOptions::default()
    }

    fn write(&self, key: usize) {
        let stripe = self.stripes[key % STRIPES].lock();
        let _ordered = stripe.unwrap_or_else(PoisonError::into_inner);
        let time = self.times.next().to_le_bytes();
        self.opened.0.put_with_ts(key_of(key), time, VALUE).expect("put");
    }

    fn read(&self, session: &mut ReadOptions, key: usize) -> bool {
        session.set_timestamp(self.times.present().to_le_bytes());
        let found = self.opened.0.get_opt(key_of(key), session).expect("get");
        black_box(found).is_some()
    }

    fn scan(&self, start: &[u8], most: usize) -> usize {
        self.opened.scan(start, self.times.present(), most)
    }

    fn collect(&self, lifetime: Duration) -> Result<(), String> {
        self.opened.collect_below(now() - lifetime.as_nanos() as u64)
    }

    fn settle(&self) {
        self.opened.compact();
    }

    fn table_bytes(&self) -> u64 {
        self.opened.property("rocksdb.live-sst-files-size")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_run_every_workload() {
        let dir = tempfile::tempdir().unwrap();
        for workload in [
            Workload::A,
            Workload::B,
            Workload::C,
            Workload::D,
            Workload::E,
            Workload::F,
        ] {
            let case = Case {
                workload,
                keys: 2000,
                time: Duration::from_millis(100),
            };
            let outcomes = measure(case, 1, dir.path()).unwrap();
            for outcome in outcomes.iter().flatten() {
                assert!(outcome.operations_per_second > 100.0, "{workload:?}: {outcome:?}");
                assert!(outcome.most_table_bytes > 1000);
            }
        }
    }

    #[test]
    fn times_rise() {
        let times = Times::default();
        let first = times.next();
        let drawn: Vec<u64> = (0..1000).map(|_| times.next()).collect();
        assert!(first < drawn[0] && drawn.is_sorted_by(|a, b| a < b));
        assert!(times.present() >= drawn[999]);
    }
}

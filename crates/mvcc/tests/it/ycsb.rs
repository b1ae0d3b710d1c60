//! The workloads A to F of YCSB over skewed keys, with an occasional range tombstone in workloads with
//! updates, while versions older than a short lifetime are collected. Reads as of any time above the
//! threshold are correct, space stays bounded, and in the end the statistics match the data.
//!
//! Times come from a clock that each read of it advances, so that a lifetime is a number of operations.
//! `ESKER_OPERATIONS=60000000 cargo test --release -p esker-mvcc --test it ycsb::workload_a -- --nocapture`
//! runs that many operations, with a longer lifetime.

use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use esker::{Db, Options, WriteOptions};
use mvcc::{
    BatchOptions, CompactionGc, Error, GcOptions, MvccReadOptions, MvccStore, Span, Timestamp, Value,
    Versioned,
};
use testkit::TestRng;

const KEYS: usize = 10_000;
const VALUE: usize = 100;
/// The maximum number of keys: after that, an insertion becomes an update.
const MOST_KEYS: usize = 1_000_000;
/// The maximum number of keys that a scan reads.
const SCAN: usize = 100;
/// The number of operations of an ordinary test run, by all workers.
const OPERATIONS: u64 = 60_000;
/// The nanoseconds by which each read of the clock advances it.
const TICK: i64 = 1_000;
/// The first time of the clock: a day in 2023.
const BEGIN: i64 = 1_700_000_000_000_000_000;
/// The number of threads.
const WORKERS: u64 = 2;

/// The percentages of the kinds of operations; the rest are reads.
#[derive(Clone, Copy, Default)]
struct Workload {
    name: &'static str,
    updates: u32,
    inserts: u32,
    scans: u32,
    /// A value is read, changed and written again.
    read_modify_writes: u32,
    /// True if recently inserted keys are the most popular.
    latest: bool,
}

/// The history of a key, oldest first: the time of each change, and the beginning of its value, `None` for a
/// deletion.
type History = Vec<(i64, Option<u64>)>;

struct YcsbRun {
    workload: Workload,
    store: MvccStore,
    model: Vec<Mutex<History>>,
    /// The number of keys that were inserted or are about to be.
    keys: AtomicUsize,
    clock: AtomicI64,
    /// The time of the next collection.
    due: AtomicI64,
    /// The number of operations started by all workers.
    begun: AtomicU64,
    /// The number of operations to run.
    operations: u64,
    reads: AtomicU64,
    refused: AtomicU64,
    writes: AtomicU64,
    lifetime: Duration,
}

fn key_of(at: usize) -> Vec<u8> {
    format!("user{at:08}").into_bytes()
}

/// The beginning of a version's value.
fn id_of(version: &Versioned, key: &[u8]) -> Option<u64> {
    let Some(Value::Bytes(bytes)) = version.value(key).unwrap() else {
        return None;
    };
    Some(u64::from_le_bytes(bytes[..8].try_into().unwrap()))
}

/// The value that a reader at `time` must see.
fn as_of(history: &History, time: i64) -> Option<u64> {
    let before = history.partition_point(|(changed, _)| *changed <= time);
    before.checked_sub(1).and_then(|last| history[last].1)
}

impl YcsbRun {
    fn now(&self) -> i64 {
        self.clock.fetch_add(TICK, Ordering::Relaxed) + TICK
    }

    fn history(&self, at: usize) -> MutexGuard<'_, History> {
        self.model[at].lock().unwrap()
    }

    /// A random key; few keys are popular.
    fn skewed(&self, rng: &mut TestRng) -> usize {
        let keys = self.keys.load(Ordering::Relaxed).min(MOST_KEYS);
        let at = ((keys as f64) * rng.f64().powi(4)) as usize;
        if self.workload.latest { keys - 1 - at } else { at }
    }

    /// Returns a time for a read; some of the times are too old.
    fn some_time(&self, rng: &mut TestRng) -> i64 {
        let lifetime = self.lifetime.as_nanos() as i64;
        self.now() - rng.i64(0..lifetime + lifetime / 4)
    }

    fn update(&self, rng: &mut TestRng) {
        let at = self.skewed(rng);
        let deletes = rng.one_in(20);
        self.write(at, &mut self.history(at), (!deletes).then(|| rng.u64(..)));
    }

    fn insert(&self, rng: &mut TestRng) {
        let at = self.keys.fetch_add(1, Ordering::Relaxed);
        if at >= MOST_KEYS {
            return self.update(rng);
        }
        self.write(at, &mut self.history(at), Some(rng.u64(..)));
    }

    fn read_modify_write(&self, rng: &mut TestRng) {
        let at = self.skewed(rng);
        let key = key_of(at);
        let mut history = self.history(at);
        let time = self.now().max(history.last().map_or(0, |(time, _)| *time));
        let found = self
            .store
            .get(&key, Timestamp::from_nanos(time), &MvccReadOptions::default());
        let found = match found {
            Err(Error::BelowThreshold { .. }) => return,
            found => found.unwrap(),
        };
        let id = found.found.and_then(|version| id_of(&version, &key));
        assert_eq!(id, as_of(&history, time), "{} at {time}", key.escape_ascii());
        self.write(at, &mut history, Some(id.unwrap_or(0).wrapping_add(1)));
    }

    /// Writes a key. The caller holds the lock of the key's history, so times rise.
    fn write(&self, at: usize, history: &mut History, id: Option<u64>) {
        let key = key_of(at);
        let last = history.last().map_or(0, |(time, _)| *time);
        let time = self.now().max(last + 1);
        let timestamp = Timestamp::from_nanos(time);
        let mut batch = self.store.begin_keys(&[&key], time);
        let written = match id {
            None => batch.delete(&key, timestamp).map(drop),
            Some(id) => {
                let mut value = id.to_le_bytes().to_vec();
                value.resize(VALUE, b'.');
                batch.put(&key, timestamp, Value::Bytes(&value))
            }
        };
        match written {
            // The writer had to wait for a whole lifetime.
            Err(Error::BelowThreshold { .. }) => return,
            written => written.unwrap(),
        }
        batch.commit(&WriteOptions::default()).unwrap();
        history.push((time, id));
        self.forget(history);
        self.writes.fetch_add(1, Ordering::Relaxed);
    }

    /// Drops history: above the threshold, reads still see the newest version at or below it.
    fn forget(&self, history: &mut History) {
        let threshold = self.store.threshold().wall;
        let seen = history.partition_point(|(time, _)| *time <= threshold);
        history.drain(..seen.saturating_sub(1));
    }

    /// Deletes some consecutive keys by a range tombstone.
    fn delete_some(&self, rng: &mut TestRng) {
        let first = self.skewed(rng);
        let behind = (first + rng.usize(1..20)).min(MOST_KEYS);
        // Locks are taken in key order, so that two such deletions do not deadlock.
        let mut histories: Vec<_> = (first..behind).map(|at| self.history(at)).collect();
        let last = histories
            .iter()
            .filter_map(|history| history.last())
            .map(|(time, _)| *time)
            .max();
        let time = self.now().max(last.unwrap_or(0) + 1);
        let (start, end) = (key_of(first), key_of(behind));
        let (span, timestamp) = (Span::new(&start, &end), Timestamp::from_nanos(time));
        let mut batch = self.store.begin(time);
        match batch.delete_range_using_tombstone(span, timestamp, &Default::default()) {
            Err(Error::BelowThreshold { .. }) => return,
            written => assert!(written.unwrap()),
        }
        batch.commit(&WriteOptions::default()).unwrap();
        for history in &mut histories {
            history.push((time, None));
            self.forget(history);
        }
        self.writes.fetch_add(1, Ordering::Relaxed);
    }

    fn read(&self, rng: &mut TestRng) {
        let at = self.skewed(rng);
        let key = key_of(at);
        let history = self.history(at);
        let time = self.some_time(rng);
        let found = self
            .store
            .get(&key, Timestamp::from_nanos(time), &MvccReadOptions::default());
        let found = match found {
            Err(Error::BelowThreshold { threshold, .. }) => return self.refuse(time, threshold),
            found => found.unwrap(),
        };
        let id = found.found.and_then(|version| id_of(&version, &key));
        assert_eq!(id, as_of(&history, time), "{} at {time}", key.escape_ascii());
        self.reads.fetch_add(1, Ordering::Relaxed);
    }

    fn scan(&self, rng: &mut TestRng) {
        let from = self.skewed(rng);
        let until = (from + rng.usize(1..=SCAN)).min(MOST_KEYS);
        let histories: Vec<MutexGuard<'_, History>> = (from..until).map(|at| self.history(at)).collect();
        let time = self.some_time(rng);
        let (start, end) = (key_of(from), key_of(until));
        let found = self.store.scan(
            Span::new(&start, &end),
            Timestamp::from_nanos(time),
            &MvccReadOptions::default(),
        );
        let found = match found {
            Err(Error::BelowThreshold { threshold, .. }) => return self.refuse(time, threshold),
            found => found.unwrap(),
        };
        let mut rows = found.rows.iter();
        for (at, history) in (from..until).zip(&histories) {
            let Some(expected) = as_of(history, time) else {
                continue;
            };
            let key = key_of(at);
            let row = rows.next().expect("a row");
            assert_eq!(row.user_key, key, "at {time}");
            let version = Versioned {
                timestamp: row.timestamp,
                stored: row.stored.to_vec(),
            };
            assert_eq!(
                id_of(&version, &key),
                Some(expected),
                "{} at {time}",
                key.escape_ascii()
            );
        }
        assert!(rows.next().is_none());
        self.reads.fetch_add(1, Ordering::Relaxed);
    }

    fn refuse(&self, time: i64, threshold: Timestamp) {
        assert!(time <= threshold.wall);
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    fn work(&self, seed: u64) {
        let mut rng = TestRng::with_seed(seed);
        let workload = self.workload;
        let shares = [
            workload.updates,
            workload.inserts,
            workload.scans,
            workload.read_modify_writes,
        ];
        while self.begun.fetch_add(1, Ordering::Relaxed) < self.operations {
            // Workers stay at most two lifetimes ahead of the collector.
            let ahead = 2 * self.lifetime.as_nanos() as i64;
            while self.clock.load(Ordering::Relaxed) > self.due.load(Ordering::Relaxed).saturating_add(ahead)
            {
                thread::yield_now();
            }
            let mut drawn = rng.u32(..100);
            let share = shares.iter().position(|&share| match drawn.checked_sub(share) {
                Some(rest) => {
                    drawn = rest;
                    false
                }
                None => true,
            });
            match share {
                Some(0) if rng.one_in(500) => self.delete_some(&mut rng),
                Some(0) => self.update(&mut rng),
                Some(1) => self.insert(&mut rng),
                Some(2) => self.scan(&mut rng),
                Some(_) => self.read_modify_write(&mut rng),
                None => self.read(&mut rng),
            }
        }
    }

    /// Bytes of tables and memtables.
    fn space(&self) -> u64 {
        let family = self.store.family();
        let property = |name: &str| self.store.db().property_int(family, name).unwrap();
        property("rocksdb.live-sst-files-size") + property("rocksdb.cur-size-all-mem-tables")
    }
}

/// Lets the workers continue without a collector.
struct NoMoreCollections<'a>(&'a AtomicI64);

impl Drop for NoMoreCollections<'_> {
    fn drop(&mut self) {
        self.0.store(i64::MAX, Ordering::Relaxed);
    }
}

fn run(workload: Workload) {
    let operations = testkit::rng::runs("ESKER_OPERATIONS", OPERATIONS);
    let long = operations > OPERATIONS;
    // The lifetime as a number of operations that read the clock once. Some operations read it twice.
    let lifetime = if long { 100_000 } else { 8_000 };
    let lifetime = Duration::from_nanos(lifetime * TICK as u64);
    let dir = tempfile::tempdir().unwrap();
    let mut options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    let gc = CompactionGc::new();
    mvcc::configure(&mut options.column_family);
    gc.configure(&mut options.column_family);
    options.column_family.write_buffer_size = 4 << 20;
    let db = Db::open(&options, dir.path()).unwrap();
    let family = db.default_column_family();
    let batches = BatchOptions {
        range_tombstones: true,
        ..BatchOptions::default()
    };
    let store = MvccStore::open_with_compactions(&db, &family, batches, BEGIN, Some(gc)).unwrap();
    let run = YcsbRun {
        workload,
        store,
        model: (0..MOST_KEYS).map(|_| Mutex::default()).collect(),
        keys: AtomicUsize::new(KEYS),
        clock: AtomicI64::new(BEGIN),
        due: AtomicI64::new(BEGIN),
        begun: AtomicU64::new(0),
        operations,
        reads: AtomicU64::new(0),
        refused: AtomicU64::new(0),
        writes: AtomicU64::new(0),
        lifetime,
    };
    // Each key is written twice, so that there is garbage even in workloads without later writes.
    for id in [1, 2] {
        (0..KEYS).for_each(|at| run.write(at, &mut run.history(at), Some(id)));
    }
    let loaded = run.writes.swap(0, Ordering::Relaxed);
    assert_eq!(loaded, 2 * KEYS as u64);
    let seed = testkit::rng().seed();
    let (mut spaces, mut collected, mut left_out) = (Vec::new(), 0, 0);
    thread::scope(|scope| {
        let workers = (0..WORKERS).map(|worker| {
            let run = &run;
            scope.spawn(move || run.work(seed ^ worker))
        });
        let workers: Vec<_> = workers.collect();
        let mut round = 0u64;
        // The guard ends the collections even if one of them fails.
        let _end = NoMoreCollections(&run.due);
        // The loop ends even if a worker fails, because a failed worker is finished too.
        while !workers.iter().all(thread::ScopedJoinHandle::is_finished) {
            if run.clock.load(Ordering::Relaxed) < run.due.load(Ordering::Relaxed) {
                thread::yield_now();
                continue;
            }
            round += 1;
            // The two kinds of collection alternate, because each leaves no garbage for the other.
            if round.is_multiple_of(8) {
                let garbage = run.store.collect_in_compactions(lifetime, run.now()).unwrap();
                left_out += garbage.val_count;
            } else {
                let report = run
                    .store
                    .collect_garbage(lifetime, run.now(), &GcOptions::default());
                collected += report.unwrap().removed.versions;
            }
            let next = run.now() + lifetime.as_nanos() as i64 / 2;
            run.due.store(next, Ordering::Relaxed);
            spaces.push(run.space());
            if long && round.is_multiple_of(60) {
                let (writes, space) = (run.writes.load(Ordering::Relaxed), run.space());
                println!("round {round}: {writes} writes, {collected} versions removed, {space} bytes");
            }
        }
    });
    let at = run.now();
    assert_eq!(run.store.stats(at).unwrap(), run.store.recount(at).unwrap());
    let all = run
        .store
        .scan(Span::ALL, Timestamp::from_nanos(at), &MvccReadOptions::default());
    let there = run.model.iter().filter(|history| {
        let history = history.lock().unwrap();
        history.last().is_some_and(|(_, id)| id.is_some())
    });
    assert_eq!(all.unwrap().rows.len(), there.count() as u64);
    assert!(collected + left_out as u64 > 0);
    let (reads, writes) = (run.reads.into_inner(), run.writes.into_inner());
    let writes_wanted = workload.updates + workload.inserts + workload.read_modify_writes;
    assert!(
        reads > 20 && (writes > 20 || writes_wanted == 0),
        "{reads} reads, {writes} writes"
    );
    if long {
        // The first half fills memtables and levels.
        let (early, late) = spaces.split_at(spaces.len() / 2);
        let (early, late) = (early.iter().max().unwrap(), late.iter().max().unwrap());
        println!(
            "{}: {reads} reads, {} refused, {writes} writes, {collected} versions removed and {left_out} left to \
             compactions, at most {early} bytes in the first half and {late} in the second",
            workload.name,
            run.refused.into_inner(),
        );
        let fills = operations < 5_000_000 || workload.inserts > 0;
        assert!(
            fills || *late <= early + early / 4,
            "{late} bytes, {early} before"
        );
    }
}

#[test]
fn workload_a_updates_as_much_as_it_reads() {
    run(Workload {
        name: "A",
        updates: 50,
        ..Workload::default()
    });
}

#[test]
fn workload_b_mostly_reads() {
    run(Workload {
        name: "B",
        updates: 5,
        ..Workload::default()
    });
}

#[test]
fn workload_c_only_reads() {
    run(Workload {
        name: "C",
        ..Workload::default()
    });
}

#[test]
fn workload_d_reads_what_was_inserted_last() {
    run(Workload {
        name: "D",
        inserts: 5,
        latest: true,
        ..Workload::default()
    });
}

#[test]
fn workload_e_scans_and_inserts() {
    run(Workload {
        name: "E",
        inserts: 5,
        scans: 95,
        ..Workload::default()
    });
}

#[test]
fn workload_f_writes_what_it_has_read() {
    run(Workload {
        name: "F",
        read_modify_writes: 50,
        ..Workload::default()
    });
}

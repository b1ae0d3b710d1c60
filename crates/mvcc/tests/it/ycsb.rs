//! Half reads, half updates, as in YCSB-A, of keys some of which are in much demand, and now and then a range tombstone over
//! some, while what is older than a short lifetime is collected: reads as
//! of any time above the threshold are right, space stays bounded, and in the end the statistics are those of what is there.
//!
//! `ESKER_SECONDS=600 cargo test --release -p esker-mvcc --test it ycsb -- --nocapture` goes on for ten minutes with a lifetime of a second.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Mutex, MutexGuard, mpsc};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use esker::{Db, Options, WriteOptions};
use mvcc::{
    BatchOptions, CompactionGc, Error, GcOptions, MvccReadOptions, MvccStore, Span, Timestamp, Value,
};
use testkit::TestRng;

const KEYS: usize = 10_000;
const VALUE: usize = 100;

/// What a key was, oldest first: when it changed, and what its value begins with, `None` of a deletion.
type History = Vec<(i64, Option<u64>)>;

struct Run {
    store: MvccStore,
    model: Vec<Mutex<History>>,
    done: AtomicBool,
    reads: AtomicU64,
    refused: AtomicU64,
    updates: AtomicU64,
    lifetime: Duration,
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap().as_nanos() as i64
}

fn key_of(at: usize) -> Vec<u8> {
    format!("user{at:08}").into_bytes()
}

/// Few keys are asked for often.
fn skewed(rng: &mut TestRng) -> usize {
    ((KEYS as f64) * rng.f64().powi(4)) as usize
}

impl Run {
    fn history(&self, at: usize) -> MutexGuard<'_, History> {
        self.model[at].lock().unwrap()
    }

    fn update(&self, rng: &mut TestRng) {
        let at = skewed(rng);
        let key = key_of(at);
        // Whoever holds a key's history writes the key: so times rise.
        let mut history = self.history(at);
        let last = history.last().map_or(0, |(time, _)| *time);
        let (time, deletes) = (now().max(last + 1), rng.one_in(20));
        let timestamp = Timestamp::from_nanos(time);
        let mut batch = self.store.begin(time);
        let written = match deletes {
            true => batch.delete(&key, timestamp).map(|_| None),
            false => {
                let id = rng.u64(..);
                let mut value = id.to_le_bytes().to_vec();
                value.resize(VALUE, b'.');
                batch
                    .put(&key, timestamp, Value::Bytes(&value))
                    .map(|()| Some(id))
            }
        };
        let id = match written {
            // It was kept waiting for a whole lifetime.
            Err(Error::BelowThreshold { .. }) => return,
            written => written.unwrap(),
        };
        batch.commit(&WriteOptions::default()).unwrap();
        history.push((time, id));
        self.forget(&mut history);
        self.updates.fetch_add(1, Ordering::Relaxed);
    }

    /// Above the threshold there is what the newest version at or below it was.
    fn forget(&self, history: &mut History) {
        let threshold = self.store.threshold().wall;
        let seen = history.partition_point(|(time, _)| *time <= threshold);
        history.drain(..seen.saturating_sub(1));
    }

    /// Deletes some keys that follow each other by a range tombstone.
    fn delete_some(&self, rng: &mut TestRng) {
        let first = skewed(rng);
        let behind = (first + rng.usize(1..20)).min(KEYS);
        // In their order, so that two who do so do not wait for each other.
        let mut histories: Vec<_> = (first..behind).map(|at| self.history(at)).collect();
        let last = histories
            .iter()
            .filter_map(|history| history.last())
            .map(|(time, _)| *time)
            .max();
        let time = now().max(last.unwrap_or(0) + 1);
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
        self.updates.fetch_add(1, Ordering::Relaxed);
    }

    fn read(&self, rng: &mut TestRng) {
        let at = skewed(rng);
        let key = key_of(at);
        let history = self.history(at);
        let lifetime = self.lifetime.as_nanos() as i64;
        let time = now() - rng.i64(0..lifetime + lifetime / 4);
        let found = self
            .store
            .get(&key, Timestamp::from_nanos(time), &MvccReadOptions::default());
        let found = match found {
            Err(Error::BelowThreshold { threshold, .. }) => {
                assert!(time <= threshold.wall);
                self.refused.fetch_add(1, Ordering::Relaxed);
                return;
            }
            found => found.unwrap(),
        };
        let id = found.found.and_then(|version| {
            let Some(Value::Bytes(bytes)) = version.value(&key).unwrap() else {
                return None;
            };
            Some(u64::from_le_bytes(bytes[..8].try_into().unwrap()))
        });
        let before = history.partition_point(|(changed, _)| *changed <= time);
        let expected = before.checked_sub(1).and_then(|last| history[last].1);
        assert_eq!(id, expected, "{} at {time}", key.escape_ascii());
        self.reads.fetch_add(1, Ordering::Relaxed);
    }

    fn work(&self, seed: u64) {
        let mut rng = TestRng::with_seed(seed);
        while !self.done.load(Ordering::Relaxed) {
            match rng.u32(..1000) {
                0 => self.delete_some(&mut rng),
                1..500 => self.update(&mut rng),
                _ => self.read(&mut rng),
            }
        }
    }

    /// Bytes of tables and memtables.
    fn space(&self) -> u64 {
        let family = self.store.family();
        let property = |name: &str| self.store.db().property_int(family, name).unwrap();
        property("rocksdb.total-sst-files-size") + property("rocksdb.cur-size-all-mem-tables")
    }
}

#[test]
fn garbage_is_collected_while_all_goes_on() {
    let long = std::env::var("ESKER_SECONDS").ok();
    let seconds: u64 = long.as_ref().map_or(3, |seconds| seconds.parse().unwrap());
    let lifetime = Duration::from_millis(if long.is_some() { 1000 } else { 150 });
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
    let store = MvccStore::open_with_compactions(&db, &family, batches, now(), Some(gc)).unwrap();
    let run = Run {
        store,
        model: (0..KEYS).map(|_| Mutex::default()).collect(),
        done: AtomicBool::new(false),
        reads: AtomicU64::new(0),
        refused: AtomicU64::new(0),
        updates: AtomicU64::new(0),
        lifetime,
    };
    let seed = testkit::rng().seed();
    let start = Instant::now();
    let mut spaces = Vec::new();
    thread::scope(|scope| {
        // Nothing is ever sent: who fails lets go of his end.
        let (alive, workers) = mpsc::channel::<()>();
        for worker in 0..2 {
            let (run, alive) = (&run, alive.clone());
            scope.spawn(move || {
                let _alive = alive;
                run.work(seed ^ worker);
            });
        }
        drop(alive);
        let (mut collected, mut round) = (0, 0u64);
        while start.elapsed() < Duration::from_secs(seconds)
            && workers.recv_timeout(lifetime / 2) == Err(RecvTimeoutError::Timeout)
        {
            round += 1;
            // One leaves nothing for the other, whichever comes first.
            if round.is_multiple_of(8) {
                run.store.collect_in_compactions(lifetime, now()).unwrap();
            } else {
                let report = run.store.collect_garbage(lifetime, now(), &GcOptions::default());
                collected += report.unwrap().removed.versions;
            }
            spaces.push(run.space());
            if long.is_some() && round.is_multiple_of(60) {
                let (updates, space) = (run.updates.load(Ordering::Relaxed), run.space());
                println!(
                    "{:4} s: {updates} updates, {collected} versions removed, {space} bytes",
                    start.elapsed().as_secs()
                );
            }
        }
        run.done.store(true, Ordering::Relaxed);
        assert!(collected > 0);
    });
    let at = now();
    assert_eq!(run.store.stats(at).unwrap(), run.store.recount(at).unwrap());
    let (reads, updates) = (run.reads.into_inner(), run.updates.into_inner());
    assert!(reads > 100 && updates > 100, "{reads} reads, {updates} updates");
    if long.is_some() {
        // The first minute fills memtables and levels.
        let (early, late) = spaces.split_at(spaces.len() / 2);
        let (early, late) = (early.iter().max().unwrap(), late.iter().max().unwrap());
        println!(
            "{reads} reads, {} refused, {updates} updates, at most {early} bytes in the first half and {late} in the second",
            run.refused.into_inner()
        );
        assert!(*late <= early + early / 4, "{late} bytes, {early} before");
    }
}

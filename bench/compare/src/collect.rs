//! Garbage collection of versions, in the way CockroachDB's `MVCCGarbageCollect` measures it (pull request
//! 51462): over Esker's MVCC layer, and over RocksDB by the best means of its interface.
//!
//! Keys and values have 128 random bytes. All versions of each key are in the memtable, and the oldest ones
//! of each are removed. A call begins a batch, collects, and drops the batch, so that every call finds the
//! same data.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mvcc::{BatchOptions, GcKey, MvccBatch, Timestamp, Value, encode_key};
use perf_event::Builder;
use perf_event::events::Hardware;

const LEN: usize = 128;
/// The first of January 2000.
const BASE: i64 = 946_684_800_000_000_000;
/// The size of memtables: nothing is flushed.
const MEMORY: usize = 8 << 30;
/// The minimum time of a sample.
const SAMPLE: Duration = Duration::from_millis(20);

/// The size of a collection: `delete` of the `versions` of each of `keys` keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Case {
    pub keys: usize,
    pub versions: usize,
    pub delete: usize,
    /// True for Esker's exact statistics, which RocksDB does not have.
    pub statistics: bool,
}

/// The costs of one call: first that of Esker, then that of RocksDB.
#[derive(Clone, Debug)]
pub struct Costs {
    /// Microseconds, one value for each round.
    pub micros: [Vec<f64>; 2],
    /// The instructions executed in user mode by each engine, or the reason why the kernel does not count
    /// them.
    pub instructions: Result<[f64; 2], String>,
}

/// Measures the engines, which take turns at being first.
pub fn measure(case: Case, rounds: usize, dir: &Path) -> Result<Costs, String> {
    let data = Data::new(case);
    let esker = Esker::load(&data);
    let rocksdb = RocksDb::load(&data, dir);
    let counts = [esker.collect(&data), rocksdb.collect(&data)];
    let due = case.keys * case.delete;
    if counts != [due, due] {
        return Err(format!("{counts:?} versions collected, not {due}"));
    }
    let mut micros = [Vec::new(), Vec::new()];
    for round in 0..rounds {
        for turn in 0..2 {
            let at = (round + turn) % 2;
            micros[at].push(match at {
                0 => micros_of(|| esker.collect(&data)),
                _ => micros_of(|| rocksdb.collect(&data)),
            });
        }
    }
    let instructions = instructions_of(|| esker.collect(&data))
        .and_then(|ours| Ok([ours, instructions_of(|| rocksdb.collect(&data))?]))
        .map_err(|error| format!("instructions cannot be counted: {error}"));
    Ok(Costs { micros, instructions })
}

/// The number of calls whose instructions are counted.
const COUNTED: u32 = 10;

fn instructions_of(mut call: impl FnMut() -> usize) -> std::io::Result<f64> {
    let mut counter = Builder::new(Hardware::INSTRUCTIONS)
        .exclude_kernel(true)
        .exclude_hv(true)
        .build()?;
    counter.enable()?;
    for _ in 0..COUNTED {
        black_box(call());
    }
    counter.disable()?;
    Ok(counter.read()? as f64 / f64::from(COUNTED))
}

fn micros_of(mut call: impl FnMut() -> usize) -> f64 {
    let start = Instant::now();
    let mut calls = 0u32;
    while start.elapsed() < SAMPLE {
        black_box(call());
        calls += 1;
    }
    start.elapsed().as_secs_f64() * 1e6 / f64::from(calls)
}

struct Data {
    case: Case,
    keys: Vec<Vec<u8>>,
    value: Vec<u8>,
}

impl Data {
    fn new(case: Case) -> Data {
        let mut rng = fastrand::Rng::with_seed(51462);
        let mut bytes = || (0..LEN).map(|_| rng.u8(..)).collect::<Vec<u8>>();
        let mut keys: Vec<Vec<u8>> = (0..case.keys).map(|_| bytes()).collect();
        // The keys are sorted here, so that the first collection does not sort them.
        keys.sort_unstable();
        Data {
            case,
            keys,
            value: bytes(),
        }
    }

    /// The time up to which versions are removed.
    fn threshold(&self) -> Timestamp {
        time(self.case.delete - 1)
    }
}

fn time(version: usize) -> Timestamp {
    Timestamp::from_nanos(BASE + version as i64 + 1)
}

struct Esker {
    db: esker::Db,
    statistics: bool,
}

impl Esker {
    fn load(data: &Data) -> Esker {
        let mut options = esker::Options {
            create_if_missing: true,
            fs: Arc::new(vfs::MemFs::new()),
            ..esker::Options::default()
        };
        mvcc::configure(&mut options.column_family);
        options.column_family.write_buffer_size = MEMORY as u64;
        let db = esker::Db::open(&options, "/db").expect("open esker");
        let unlogged = esker::WriteOptions {
            disable_wal: true,
            ..esker::WriteOptions::default()
        };
        let (mut key, mut stored) = (Vec::new(), Vec::new());
        for user_key in &data.keys {
            let mut batch = esker::WriteBatch::new();
            for version in 0..data.case.versions {
                key.clear();
                stored.clear();
                encode_key(&mut key, user_key, time(version));
                Value::Bytes(&data.value).encode(&mut stored, user_key, false);
                batch.put(&key, &stored);
            }
            db.write_opt(batch, &unlogged).expect("write");
        }
        Esker {
            db,
            statistics: data.case.statistics,
        }
    }

    fn collect(&self, data: &Data) -> usize {
        let options = BatchOptions {
            statistics: self.statistics,
            ..BatchOptions::default()
        };
        let timestamp = data.threshold();
        let key = |user_key: &Vec<u8>| GcKey {
            user_key: user_key.clone(),
            timestamp,
        };
        let mut keys: Vec<GcKey> = data.keys.iter().map(key).collect();
        let family = self.db.default_column_family();
        let mut batch = MvccBatch::new(&self.db, &family, options, BASE + 2);
        let result = batch.garbage_collect(&mut keys).expect("collect");
        result.versions as usize
    }
}

/// RocksDB with the same rows as Esker, under keys of user key and inverted time, which bytewise order sorts
/// in the same way.
struct RocksDb(rocksdb::DB);

impl RocksDb {
    fn load(data: &Data, dir: &Path) -> RocksDb {
        let mut options = rocksdb::Options::default();
        options.create_if_missing(true);
        options.set_env(&rocksdb::Env::mem_env().expect("an environment in memory"));
        options.set_write_buffer_size(MEMORY);
        let db = rocksdb::DB::open(&options, dir).expect("open rocksdb");
        let mut unlogged = rocksdb::WriteOptions::default();
        unlogged.disable_wal(true);
        for user_key in &data.keys {
            let mut batch = rocksdb::WriteBatch::default();
            for version in 0..data.case.versions {
                batch.put(inverted(user_key, time(version)), &data.value);
            }
            db.write_opt(batch, &unlogged).expect("write");
        }
        RocksDb(db)
    }

    /// One iterator for all keys, which only moves forwards: it seeks past the versions that stay.
    fn collect(&self, data: &Data) -> usize {
        let threshold = data.threshold();
        let mut batch = rocksdb::WriteBatch::default();
        let mut iterator = self.0.raw_iterator();
        for user_key in &data.keys {
            let newest = inverted(user_key, Timestamp::from_nanos(i64::MAX));
            if iterator.key().is_none_or(|key| key < &newest[..]) {
                iterator.seek(&newest);
            }
            let first = inverted(user_key, threshold);
            if iterator.key().is_some_and(|key| key < &first[..]) {
                iterator.seek(&first);
            }
            while let Some(key) = iterator.key().filter(|key| key.starts_with(user_key)) {
                batch.delete(key);
                iterator.next();
            }
        }
        iterator.status().expect("scan");
        batch.len()
    }
}

fn inverted(user_key: &[u8], time: Timestamp) -> Vec<u8> {
    let mut key = Vec::with_capacity(LEN + 9);
    key.extend_from_slice(user_key);
    key.push(0);
    key.extend_from_slice(&(!(time.wall as u64)).to_be_bytes());
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_collect_the_same() {
        let dir = tempfile::tempdir().unwrap();
        for (nth, delete) in [1, 3, 8].into_iter().enumerate() {
            let case = Case {
                keys: 4,
                versions: 9,
                delete,
                statistics: nth == 1,
            };
            let costs = measure(case, 2, &dir.path().join(nth.to_string())).unwrap();
            assert!(costs.micros.iter().flatten().all(|micros| *micros > 0.0));
            // Instructions cannot be counted on every machine.
            if let Ok(instructions) = costs.instructions {
                assert!(instructions.iter().all(|count| *count > 100.0));
            }
        }
    }
}

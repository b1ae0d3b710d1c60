//! Versions of keys over Esker's MVCC layer, and over RocksDB's user-defined timestamps
//! (`leveldb.BytewiseComparator.u64ts`): reads as of a time, scans and writes here, [collections of old
//! versions](collection), and [YCSB's workloads](ycsb) during those.
//!
//! Here each engine has everything in memory, in files that were compacted into one level, uncompressed, with
//! Bloom filters over keys without their versions and a block cache that holds everything.

pub mod collection;
mod stores;
pub mod ycsb;

use std::hint::black_box;
use std::time::{Duration, Instant};

use mvcc::{BatchOptions, MvccBatch, MvccReadOptions, Reader, Span, Timestamp, Value};
use rocksdb::ReadOptions;

use self::stores::IN_MEMORY;

/// The number of versions of all keys together.
pub const ROWS: usize = 100_000;
const VALUE: usize = 64;
/// The number of keys that a scan returns.
const SCAN: usize = 100;
/// The minimum time of a sample.
const SAMPLE: Duration = Duration::from_millis(50);
/// The number of operations between two reads of the clock.
const BURST: usize = 20;

/// The measured operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// The value of a random key as of a random time.
    Get,
    /// The values of a hundred keys from a random one on, as of a random time.
    Scan,
    /// A new version of a random key. Esker checks whether a later one exists; RocksDB does not.
    Put,
    /// A new version of a random key, without the check for a later version.
    PutBlind,
}

/// An operation over keys with this number of versions each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Case {
    pub operation: Operation,
    pub versions: usize,
}

/// The microseconds of an operation, one value for each round: Esker's and RocksDB's, which take turns at
/// being first.
pub fn measure(case: Case, rounds: usize) -> Result<[Vec<f64>; 2], String> {
    let mut micros = [Vec::new(), Vec::new()];
    let data = Data::new(case.versions, ROWS);
    let mut esker = Esker::load(&data);
    let mut rocksdb = RocksDb::load(&data);
    let mut seed = 0;
    let agree = |esker: &mut Esker, rocksdb: &mut RocksDb, drawn: u64| {
        let mut rng = fastrand::Rng::with_seed(drawn);
        let ours = esker.perform(case.operation, &data, &mut rng);
        let mut rng = fastrand::Rng::with_seed(drawn);
        let theirs = rocksdb.perform(case.operation, &data, &mut rng);
        match ours == theirs {
            true => Ok(()),
            false => Err(format!("{ours} and {theirs} rows found")),
        }
    };
    (0..100).try_for_each(|drawn| agree(&mut esker, &mut rocksdb, drawn))?;
    for round in 0..rounds {
        seed += 1;
        for turn in 0..2 {
            let at = (round + turn) % 2;
            let mut rng = fastrand::Rng::with_seed(seed);
            micros[at].push(match at {
                0 => micros_of(|| esker.perform(case.operation, &data, &mut rng)),
                _ => micros_of(|| rocksdb.perform(case.operation, &data, &mut rng)),
            });
        }
    }
    Ok(micros)
}

fn micros_of(mut perform: impl FnMut() -> usize) -> f64 {
    let start = Instant::now();
    let mut performed = 0;
    while start.elapsed() < SAMPLE {
        for _ in 0..BURST {
            black_box(perform());
        }
        performed += BURST;
    }
    start.elapsed().as_secs_f64() * 1e6 / performed as f64
}

struct Data {
    keys: usize,
    versions: usize,
    value: [u8; VALUE],
}

impl Data {
    fn new(versions: usize, rows: usize) -> Data {
        Data {
            keys: rows / versions,
            versions,
            value: [7; VALUE],
        }
    }

    fn key(&self, rng: &mut fastrand::Rng) -> Vec<u8> {
        key(rng.usize(..self.keys))
    }

    /// A time at which every key has a version.
    fn time(&self, rng: &mut fastrand::Rng) -> u64 {
        time(rng.usize(..self.versions))
    }

    /// The time of the newest version.
    fn newest(&self) -> u64 {
        time(self.versions - 1)
    }
}

fn key(at: usize) -> Vec<u8> {
    format!("key{at:012}").into_bytes()
}

fn time(version: usize) -> u64 {
    5 * (version as u64 + 1)
}

struct Esker {
    db: esker::Db,
    unlogged: esker::WriteOptions,
    /// The time of the next version.
    next: u64,
}

impl Esker {
    fn load(data: &Data) -> Esker {
        let opened = stores::Esker::open(&IN_MEMORY);
        let mut loaded = Esker {
            db: opened.db.clone(),
            unlogged: esker::WriteOptions {
                disable_wal: true,
                ..esker::WriteOptions::default()
            },
            next: data.newest() + 1,
        };
        for at in 0..data.keys {
            for version in 0..data.versions {
                loaded.put(&key(at), time(version), data, true);
            }
        }
        opened.compact();
        loaded
    }

    fn put(&mut self, key: &[u8], time: u64, data: &Data, blind: bool) {
        let options = BatchOptions {
            statistics: false,
            ..BatchOptions::default()
        };
        let family = self.db.default_column_family();
        let mut batch = MvccBatch::new(&self.db, &family, options, time as i64);
        let (time, value) = (Timestamp::from_nanos(time as i64), Value::Bytes(&data.value));
        match blind {
            true => batch.put_blind(key, time, value),
            false => batch.put(key, time, value),
        }
        .expect("put");
        self.db
            .write_opt(batch.into_write_batch(), &self.unlogged)
            .expect("write");
    }

    /// Performs an operation, and returns the number of rows that it found or wrote.
    fn perform(&mut self, operation: Operation, data: &Data, rng: &mut fastrand::Rng) -> usize {
        let key = data.key(rng);
        let options = MvccReadOptions::default();
        let family = self.db.default_column_family();
        match operation {
            Operation::Get => {
                let time = Timestamp::from_nanos(data.time(rng) as i64);
                let found = Reader::new(&self.db, &family).get(&key, time, &options);
                let found = found.expect("get").found;
                usize::from(black_box(found).is_some())
            }
            Operation::Scan => {
                let time = Timestamp::from_nanos(data.time(rng) as i64);
                let span = Span {
                    start: &key,
                    end: None,
                };
                let options = MvccReadOptions {
                    max_keys: Some(SCAN as u64),
                    ..options
                };
                let found = Reader::new(&self.db, &family).scan(span, time, &options);
                black_box(found.expect("scan")).rows.len() as usize
            }
            Operation::Put | Operation::PutBlind => {
                self.next += 1;
                self.put(&key, self.next, data, operation == Operation::PutBlind);
                1
            }
        }
    }
}

struct RocksDb {
    opened: stores::RocksDb,
    unlogged: rocksdb::WriteOptions,
    read: ReadOptions,
    next: u64,
}

impl RocksDb {
    fn load(data: &Data) -> RocksDb {
        let mut unlogged = rocksdb::WriteOptions::default();
        unlogged.disable_wal(true);
        let loaded = RocksDb {
            opened: stores::RocksDb::open(&IN_MEMORY),
            unlogged,
            read: ReadOptions::default(),
            next: data.newest() + 1,
        };
        for at in 0..data.keys {
            for version in 0..data.versions {
                loaded.put(&key(at), time(version), data);
            }
        }
        loaded.opened.compact();
        loaded
    }

    fn put(&self, key: &[u8], time: u64, data: &Data) {
        let db = &self.opened.0;
        db.put_with_ts_opt(key, time.to_le_bytes(), data.value, &self.unlogged)
            .expect("put");
    }

    fn perform(&mut self, operation: Operation, data: &Data, rng: &mut fastrand::Rng) -> usize {
        let key = data.key(rng);
        match operation {
            Operation::Get => {
                self.read.set_timestamp(data.time(rng).to_le_bytes());
                let found = self.opened.0.get_opt(&key, &self.read).expect("get");
                usize::from(black_box(found).is_some())
            }
            Operation::Scan => self.opened.scan(&key, data.time(rng), SCAN),
            Operation::Put | Operation::PutBlind => {
                self.next += 1;
                self.put(&key, self.next, data);
                1
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_find_the_same() {
        let operations = [
            Operation::Get,
            Operation::Scan,
            Operation::Put,
            Operation::PutBlind,
        ];
        for operation in operations {
            let case = Case {
                operation,
                versions: 10,
            };
            let micros = measure(case, 2).unwrap();
            assert!(micros.iter().flatten().all(|micros| *micros > 0.0));
        }
    }
}

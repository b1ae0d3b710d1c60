//! The collection of old versions by a compaction of everything, in each engine: Esker's threshold is raised,
//! its statistics are updated, and its compactions drop hidden versions; RocksDB's `full_history_ts_low` is
//! raised.
//!
//! All versions are in files of one level, in memory, uncompressed. The oldest versions of each key are
//! removed; the collection ends when no file has them any more.

use std::time::{Duration, Instant};

use mvcc::{BatchOptions, MvccBatch, Timestamp, Value, split};

use super::stores::{Esker, IN_MEMORY, RocksDb};
use super::time;

/// The size of a collection: `delete` of the `versions` of each of `keys` keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Collection {
    pub keys: usize,
    pub versions: usize,
    pub delete: usize,
    /// The size of a key in bytes, which are random.
    pub key_size: usize,
    /// The size of a value in bytes.
    pub value_size: usize,
}

/// The microseconds of a collection, one value for each round, each in a database of its own: Esker's and
/// RocksDB's, which take turns at being first.
pub fn measure(case: Collection, rounds: usize) -> Result<[Vec<f64>; 2], String> {
    let mut micros = [Vec::new(), Vec::new()];
    let data = Data::new(case);
    for round in 0..rounds {
        for turn in 0..2 {
            let at = (round + turn) % 2;
            micros[at].push(match at {
                0 => esker(&data)?,
                _ => rocksdb(&data)?,
            });
        }
    }
    Ok(micros)
}

struct Data {
    case: Collection,
    keys: Vec<Vec<u8>>,
    value: Vec<u8>,
}

impl Data {
    fn new(case: Collection) -> Data {
        let mut rng = fastrand::Rng::with_seed(51462);
        let mut bytes = |len: usize| (0..len).map(|_| rng.u8(..)).collect::<Vec<u8>>();
        let mut keys: Vec<Vec<u8>> = (0..case.keys).map(|_| bytes(case.key_size)).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), case.keys, "keys are long enough to be different ones");
        Data {
            case,
            keys,
            value: bytes(case.value_size),
        }
    }

    /// Returns the time up to which old versions are collected: of each key, the newest version at or before
    /// this time stays.
    fn kept(&self) -> u64 {
        time(self.case.delete)
    }

    /// Fails if the tables have more versions than the collection may leave. If two tables have versions of a
    /// key, one more may stay.
    fn check_left(&self, versions: u64, tables: u64) -> Result<(), String> {
        let due = (self.case.keys * (self.case.versions - self.case.delete)) as u64;
        match (due..due + tables.max(1)).contains(&versions) {
            true => Ok(()),
            false => Err(format!("{versions} versions are left, not {due}")),
        }
    }
}

fn esker(data: &Data) -> Result<f64, String> {
    let opened = Esker::open(&IN_MEMORY);
    let (db, family) = (&opened.db, opened.db.default_column_family());
    // With this threshold no table counts as having enough garbage to be rewritten alone: everything is
    // compacted, as in RocksDB.
    opened.gc.set_min_garbage(2.0);
    let unlogged = esker::WriteOptions {
        disable_wal: true,
        ..esker::WriteOptions::default()
    };
    let batches = BatchOptions {
        statistics: false,
        ..BatchOptions::default()
    };
    for key in &data.keys {
        let mut batch = MvccBatch::new(db, &family, batches, 0);
        for version in 0..data.case.versions {
            let time = Timestamp::from_nanos(time(version) as i64);
            let value = Value::Bytes(&data.value);
            batch.put_blind(key, time, value).expect("put");
        }
        db.write_opt(batch.into_write_batch(), &unlogged).expect("write");
    }
    opened.compact();
    let now = data.kept() as i64;
    let store = opened.store(now)?;
    let start = Instant::now();
    store
        .collect_in_compactions(Duration::ZERO, now)
        .map_err(|error| error.to_string())?;
    let everything = esker::CompactRangeOptions {
        bottommost_level_compaction: esker::BottommostLevelCompaction::Force,
        ..esker::CompactRangeOptions::default()
    };
    db.compact_range_cf_opt(&family, None, None, &everything)
        .map_err(|error| error.to_string())?;
    let micros = start.elapsed().as_secs_f64() * 1e6;
    let mut versions = 0;
    let mut iterator = db.iter();
    iterator.seek_to_first();
    while iterator.valid() {
        // The MVCC layer's own records have an empty user key and are not counted.
        versions += u64::from(split(iterator.key()).0.len() > 1);
        iterator.next();
    }
    iterator.status().map_err(|error| error.to_string())?;
    data.check_left(versions, db.live_files().len() as u64)?;
    Ok(micros)
}

fn rocksdb(data: &Data) -> Result<f64, String> {
    let opened = RocksDb::open(&IN_MEMORY);
    let mut unlogged = rocksdb::WriteOptions::default();
    unlogged.disable_wal(true);
    for key in &data.keys {
        let mut batch = rocksdb::WriteBatch::default();
        for version in 0..data.case.versions {
            batch.put_cf_with_ts(opened.family(), key, time(version).to_le_bytes(), &data.value);
        }
        opened.0.write_opt(batch, &unlogged).expect("write");
    }
    opened.compact();
    let start = Instant::now();
    // The newest of the older versions stays.
    opened.collect_below(data.kept() + 1)?;
    let micros = start.elapsed().as_secs_f64() * 1e6;
    let tables = opened.0.live_files().map_err(|error| error.to_string())?.len();
    data.check_left(opened.property("rocksdb.estimate-num-keys"), tables as u64)?;
    Ok(micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_collect_the_same() {
        for (keys, versions, delete) in [(1, 2, 1), (1, 9, 8), (5, 9, 3), (1000, 3, 2)] {
            let case = Collection {
                keys,
                versions,
                delete,
                key_size: 20,
                value_size: 30,
            };
            let micros = measure(case, 2).unwrap();
            assert!(micros.iter().flatten().all(|micros| *micros > 0.0));
        }
    }
}

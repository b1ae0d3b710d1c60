//! The operations that are counted, and the database they work on.

use std::hint::black_box;
use std::path::Path;

use esker::{ColumnFamily, Db, Options, WriteBatch, WriteOptions};
use mvcc::{BatchOptions, MvccReadOptions, MvccStore, Timestamp, Value};

/// The number of keys that the database has at first.
pub const KEYS: u64 = 4_000;

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A put of a random key, without sync.
    Put,
    /// A put of a random key, with sync.
    PutSync,
    /// A Get of a random key, whose block is in the cache.
    Get,
    /// A Get of 64 random keys.
    MultiGet,
    /// A new iterator, a seek to a random key, and ten steps.
    Seek,
    /// Ten puts and a flush.
    Flush,
    /// Ten puts, a flush and a compaction of everything.
    Compact,
    /// A put into a store of versions, which checks for a later version and keeps statistics.
    MvccPut,
    /// A Get from a store of versions, as of the latest time.
    MvccGet,
}

impl Operation {
    /// All operations, with their names.
    pub const ALL: [(&'static str, Operation); 9] = [
        ("put", Operation::Put),
        ("put-sync", Operation::PutSync),
        ("get", Operation::Get),
        ("multi-get", Operation::MultiGet),
        ("seek", Operation::Seek),
        ("flush", Operation::Flush),
        ("compact", Operation::Compact),
        ("mvcc-put", Operation::MvccPut),
        ("mvcc-get", Operation::MvccGet),
    ];

    /// The operation of a name.
    pub fn named(name: &str) -> Option<Operation> {
        let found = Operation::ALL.iter().find(|(own, _)| *own == name);
        found.map(|(_, operation)| *operation)
    }

    /// The name of the operation.
    pub fn name(self) -> &'static str {
        let found = Operation::ALL.iter().find(|(_, own)| *own == self);
        found.map_or("", |(name, _)| name)
    }

    fn is_mvcc(self) -> bool {
        matches!(self, Operation::MvccPut | Operation::MvccGet)
    }
}

/// A database in one level, over which threads do an operation.
pub struct Workload {
    operation: Operation,
    db: Db,
    family: ColumnFamily,
    store: Option<MvccStore>,
}

impl Workload {
    /// Opens the database in `dir`, or creates it. `options` has the file system and the clock.
    pub fn open(operation: Operation, mut options: Options, dir: &Path) -> Result<Workload, String> {
        options.create_if_missing = true;
        if operation.is_mvcc() {
            mvcc::configure(&mut options.column_family);
        }
        let db = Db::open(&options, dir).map_err(|error| error.to_string())?;
        let family = db.default_column_family();
        let store = match operation.is_mvcc() {
            true => Some(
                MvccStore::open(&db, &family, BatchOptions::default(), 1)
                    .map_err(|error| error.to_string())?,
            ),
            false => None,
        };
        let workload = Workload {
            operation,
            db,
            family,
            store,
        };
        workload.load().map_err(|error| error.to_string())?;
        Ok(workload)
    }

    fn load(&self) -> Result<(), esker::Error> {
        if self.db.latest_sequence_number() < KEYS {
            self.create()?;
        }
        // Every block comes into the cache and gets what a block's first searches add.
        for _ in 0..4 {
            let mut iter = self.db.iter();
            iter.seek_to_first();
            while iter.valid() {
                black_box(iter.value());
                iter.next();
            }
        }
        Ok(())
    }

    fn create(&self) -> Result<(), esker::Error> {
        let mut batch = WriteBatch::new();
        for number in 0..KEYS {
            match &self.store {
                Some(_) => {
                    let (mut key, mut stored) = (Vec::new(), Vec::new());
                    mvcc::encode_key(&mut key, &key_of(number), Timestamp::from_nanos(1));
                    Value::Bytes(&VALUE).encode(&mut stored, &key_of(number), true);
                    batch.put(key, stored);
                }
                None => batch.put(key_of(number), VALUE),
            }
        }
        self.db.write_opt(batch, &WriteOptions::default())?;
        self.db.flush()?;
        self.db.compact_range(None, None)
    }

    /// Performs the operation number `number` of thread `thread`.
    pub fn perform(&self, thread: u64, number: u64) -> Result<(), String> {
        let mut random = Random(thread << 32 | number);
        let result = match (self.operation, &self.store) {
            (Operation::MvccPut, Some(store)) => {
                let key = random.key();
                let time = 10 + number * 1000 + thread;
                let mut batch = store.begin_keys(&[&key], time as i64);
                let put = batch.put(&key, Timestamp::from_nanos(time as i64), Value::Bytes(&VALUE));
                return match put.and_then(|()| batch.commit(&WriteOptions::default())) {
                    // Another thread has written the key at a later time.
                    Ok(()) | Err(mvcc::Error::WriteTooOld { .. }) => Ok(()),
                    Err(error) => Err(error.to_string()),
                };
            }
            (_, Some(store)) => {
                let found = store.get(&random.key(), Timestamp::MAX, &MvccReadOptions::default());
                return black_box(found).map(drop).map_err(|error| error.to_string());
            }
            (Operation::Get, None) => self.db.get(random.key()).map(|found| drop(black_box(found))),
            (Operation::MultiGet, None) => {
                let keys: Vec<_> = (0..64).map(|_| random.key()).collect();
                self.db
                    .multi_get(&keys)
                    .into_iter()
                    .try_for_each(|found| black_box(found).map(drop))
            }
            (Operation::Seek, None) => {
                let mut iter = self.db.iter();
                iter.seek(random.key());
                for _ in 0..10 {
                    if iter.valid() {
                        black_box(iter.value());
                        iter.next();
                    }
                }
                iter.status()
            }
            (operation, None) => self.write(operation, random),
        };
        result.map_err(|error| error.to_string())
    }

    fn write(&self, operation: Operation, mut random: Random) -> Result<(), esker::Error> {
        let sync = WriteOptions {
            sync: operation == Operation::PutSync,
            ..WriteOptions::default()
        };
        let puts = match operation {
            Operation::Flush | Operation::Compact => 10,
            _ => 1,
        };
        for _ in 0..puts {
            self.db.put_cf_opt(&self.family, random.key(), VALUE, &sync)?;
        }
        match operation {
            Operation::Flush => self.db.flush(),
            Operation::Compact => self.db.flush().and_then(|()| self.db.compact_range(None, None)),
            _ => Ok(()),
        }
    }
}

const VALUE: [u8; 100] = [b'v'; 100];

fn key_of(number: u64) -> [u8; 16] {
    let mut key = *b"key0000000000000";
    let mut rest = number;
    for digit in key.iter_mut().rev().take(13) {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    key
}

/// Draws keys: SplitMix64.
struct Random(u64);

impl Random {
    fn key(&mut self) -> [u8; 16] {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        key_of((mixed ^ (mixed >> 31)) % KEYS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_runs() {
        for (name, operation) in Operation::ALL {
            assert_eq!(Operation::named(name), Some(operation));
            assert_eq!(operation.name(), name);
            let dir = tempfile::tempdir().unwrap();
            let workload = Workload::open(operation, Options::default(), dir.path()).unwrap();
            for thread in 0..2 {
                workload.perform(thread, 1).unwrap();
            }
        }
        assert_eq!(Operation::named("none"), None);
    }
}

//! The parameters of a workload.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use esker::{ColumnFamily, Db, ReadOptions, WriteOptions};

use crate::flags::Flags;
use crate::keys::KeyFormat;
use crate::mixgraph::Shared;
use crate::transactions::Transactions;
use crate::values::Values;

/// The time at which entries are written: each entry increments it.
pub type Time = Arc<AtomicU64>;

/// The parameters of a workload: the flags, with the changes of the workload itself.
#[derive(Clone)]
pub struct Params<'a> {
    /// The command line.
    pub flags: &'a Flags,
    /// The database.
    pub db: &'a Db,
    /// The families over which keys are spread.
    pub families: &'a [ColumnFamily],
    /// The database by which transactions are begun, if there is one.
    pub transactions: Option<&'a Transactions>,
    /// The number of keys that the workload writes.
    pub num: i64,
    /// The number of reads of a thread.
    pub reads: i64,
    /// The number of writes of a thread.
    pub writes: i64,
    /// The number of deletions of a thread.
    pub deletes: i64,
    /// The number of operations in a batch.
    pub batch: i64,
    /// The format of keys.
    pub keys: KeyFormat,
    /// The source of values; each thread has its own.
    pub values: Values,
    /// The number of steps after a seek.
    pub seek_nexts: i64,
    /// True if steps go backwards.
    pub reverse: bool,
    /// The options of writes.
    pub write: WriteOptions,
    /// The options of reads.
    pub read: ReadOptions,
    /// The seed of the state that the threads of the workload share: the shuffle of unique keys, the
    /// operations of mixgraph.
    pub workload_seed: u64,
    /// The operations of mixgraph.
    pub mixgraph: Option<Arc<Shared>>,
    /// The clock of timeseries.
    pub time: Time,
}

impl Params<'_> {
    /// The number of operations of a thread that reads and writes.
    pub fn readwrites(&self) -> i64 {
        match self.flags.reads.max(self.flags.writes) {
            given if given >= 0 => given,
            _ => self.flags.num,
        }
    }

    /// The number of keys among which merges choose.
    pub fn merge_keys(&self) -> i64 {
        match self.flags.merge_keys {
            keys if keys > 0 => keys,
            _ => self.flags.num,
        }
    }

    /// The family of the key of `number`, which is the same for writes and for reads.
    #[inline]
    pub fn family(&self, number: u64) -> &ColumnFamily {
        &self.families[self.family_index(number)]
    }

    /// The index in `families` of the family of a key.
    pub fn family_index(&self, number: u64) -> usize {
        match self.families.len() {
            // One family is the usual case, for which no division is made for each key.
            1 => 0,
            len => (number % len as u64) as usize,
        }
    }
}

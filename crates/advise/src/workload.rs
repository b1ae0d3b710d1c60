//! A workload: the tables at its beginning, and the operations that follow.

use base::{SeqNo, UserComparator};
use twox_hash::XxHash3_64;

use crate::keys::{Keys, Numbered};
use crate::rows::{DELETION, Row};

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// A write of a value with this number of bytes.
    Put(u32),
    Delete,
    Get,
    Seek,
}

/// An operation of the sampled workload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    /// Microseconds since the first operation.
    pub(crate) at: u64,
    pub(crate) key: u32,
    pub(crate) action: Action,
}

/// A table that the database has before the first operation.
#[derive(Clone, Debug)]
pub(crate) struct StartTable {
    pub(crate) level: usize,
    /// Bytes of the file.
    pub(crate) size: u64,
    /// In L0 a larger number is newer.
    pub(crate) epoch: u64,
    /// The sampled rows, in the order of their keys.
    pub(crate) rows: Vec<Row>,
}

/// A workload that is complete. Its replays need about 24 bytes for each operation and for each row.
#[derive(Clone, Debug)]
pub struct Workload {
    pub(crate) keys: Keys,
    pub(crate) tables: Vec<StartTable>,
    pub(crate) operations: Vec<Operation>,
    /// The sampling factor: each sampled row and operation stands for this number of rows and operations.
    pub(crate) weight: u64,
    pub(crate) last_seqno: SeqNo,
    passed_over: u64,
}

impl Workload {
    /// The number of operations in the workload. In a sampled workload each stands for several.
    pub fn operations(&self) -> u64 {
        self.operations.len() as u64
    }

    /// The number of rows in the tables before the first operation.
    pub fn rows(&self) -> u64 {
        self.tables.iter().map(|table| table.rows.len() as u64).sum()
    }

    /// Operations that no replay models, such as range deletions.
    pub fn passed_over(&self) -> u64 {
        self.passed_over
    }
}

/// Collects a workload. Operations come in the order of their times.
#[derive(Debug)]
pub struct WorkloadBuilder {
    cmp: UserComparator,
    weight: u64,
    pub(crate) keys: Numbered,
    tables: Vec<StartTable>,
    pub(crate) operations: Vec<Operation>,
    last_seqno: SeqNo,
    passed_over: u64,
}

impl WorkloadBuilder {
    /// An empty workload over keys in the order of `cmp`. One key in `one_in`, chosen by a hash, is kept and
    /// stands for all: a sample of a workload too large for memory.
    pub fn new(cmp: UserComparator, one_in: u64) -> WorkloadBuilder {
        WorkloadBuilder {
            cmp,
            weight: one_in.max(1),
            keys: Numbered::default(),
            tables: Vec::new(),
            operations: Vec::new(),
            last_seqno: 0,
            passed_over: 0,
        }
    }

    /// True if it has a key.
    pub fn has_keys(&self) -> bool {
        self.keys.len() > 0
    }

    /// The sampling factor: each sampled row and operation stands for this number of rows and operations.
    pub(crate) fn weight(&self) -> u64 {
        self.weight
    }

    /// The number of `key`, if the key is in the sample.
    fn number(&mut self, key: &[u8]) -> Option<u32> {
        let is_kept = self.weight == 1 || XxHash3_64::oneshot(key).is_multiple_of(self.weight);
        is_kept.then(|| self.keys.number(key))
    }

    /// Begins a table of `size` bytes in `level`, whose rows [`row`](Self::row) adds. In L0 a table with a
    /// larger `epoch` is newer.
    pub fn table(&mut self, level: usize, size: u64, epoch: u64) {
        self.tables.push(StartTable {
            level,
            size,
            epoch,
            rows: Vec::new(),
        });
    }

    /// Adds a row to the last table; `value`: the size of its value, `None` for a deletion. Rows come by key.
    ///
    /// # Panics
    /// If there is no table.
    pub fn row(&mut self, key: &[u8], seqno: SeqNo, value: Option<usize>) {
        self.last_seqno = self.last_seqno.max(seqno);
        let Some(key) = self.number(key) else { return };
        let table = self.tables.last_mut().expect("a table was begun");
        table.rows.push(Row {
            seqno,
            key,
            value: value.map_or(DELETION, size),
        });
    }

    fn operation(&mut self, at: u64, key: &[u8], action: Action) {
        if let Some(key) = self.number(key) {
            self.operations.push(Operation { at, key, action });
        }
    }

    /// A write of a value of `value` bytes, `at` microseconds after the beginning.
    pub fn put(&mut self, at: u64, key: &[u8], value: usize) {
        self.operation(at, key, Action::Put(size(value)));
    }

    /// A deletion.
    pub fn delete(&mut self, at: u64, key: &[u8]) {
        self.operation(at, key, Action::Delete);
    }

    /// A read of a key.
    pub fn get(&mut self, at: u64, key: &[u8]) {
        self.operation(at, key, Action::Get);
    }

    /// A seek of an iterator.
    pub fn seek(&mut self, at: u64, key: &[u8]) {
        self.operation(at, key, Action::Seek);
    }

    /// Counts an operation that replays do not model.
    pub fn pass_over(&mut self) {
        self.passed_over += 1;
    }

    /// The workload.
    pub fn finish(mut self) -> Workload {
        let (keys, index_of) = self.keys.sort(self.cmp);
        for row in self.tables.iter_mut().flat_map(|table| &mut table.rows) {
            row.key = index_of[row.key as usize];
        }
        for operation in &mut self.operations {
            operation.key = index_of[operation.key as usize];
        }
        self.tables.retain(|table| !table.rows.is_empty());
        // A replay has no snapshots: only the newest version of each key counts.
        for table in &mut self.tables {
            table.rows = crate::rows::newest(std::mem::take(&mut table.rows));
        }
        Workload {
            keys,
            tables: self.tables,
            operations: self.operations,
            weight: self.weight,
            last_seqno: self.last_seqno,
            passed_over: self.passed_over,
        }
    }
}

/// Returns the size of a value, limited so that it differs from the mark of a deletion.
pub(crate) fn size(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX).min(DELETION - 1)
}

//! The trace of the block cache in the tables of a column family, and the reads that its records name.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock, Weak};

use base::sync::Mutex;
use base::{Result, SeqNo};
use manifest::Version;
use sst::block_trace::BlockAccess;
use sst::{BlockTrace, TableReaderCaller};

use crate::state::column_family::Family;
use crate::state::db_inner::DbInner;
use crate::state::read_options::ReadOptions;
use crate::trace::BlockCacheTrace;

/// The trace of a database for the tables of one column family.
pub(crate) struct FamilyBlockTrace {
    trace: Arc<BlockCacheTrace>,
    id: u32,
    name: Box<str>,
    family: OnceLock<Weak<Family>>,
    /// No other lock is taken while this one is held.
    levels: Mutex<Levels>,
}

/// The levels of a family's files.
#[derive(Default)]
struct Levels {
    /// The version whose files and levels are in `now`.
    version: Weak<Version>,
    now: HashMap<u64, u32>,
    /// The levels of the files of the previous version, which readers may still use.
    before: HashMap<u64, u32>,
}

impl fmt::Debug for FamilyBlockTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FamilyBlockTrace")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl FamilyBlockTrace {
    pub fn new(trace: Arc<BlockCacheTrace>, id: u32, name: &str) -> FamilyBlockTrace {
        FamilyBlockTrace {
            trace,
            id,
            name: name.into(),
            family: OnceLock::new(),
            levels: Mutex::default(),
        }
    }

    /// Sets the family whose current version determines the levels of files. Called once.
    pub fn belongs_to(&self, family: &Arc<Family>) {
        let _ = self.family.set(Arc::downgrade(family));
    }

    /// The level of a file; `u32::MAX` if it is not known.
    fn level_of(&self, file: u64) -> u32 {
        let Some(family) = self.family.get().and_then(Weak::upgrade) else {
            return u32::MAX;
        };
        // Declared before the lock, so that it is dropped after the lock is released: this may be the last
        // reference to the super version.
        let super_version = family.super_version.load_full();
        let mut levels = self.levels.lock();
        if !std::ptr::eq(levels.version.as_ptr(), Arc::as_ptr(&super_version.version)) {
            let files = super_version.version.all_files();
            let now = files.map(|(level, file)| (file.number, level as u32)).collect();
            levels.before = std::mem::replace(&mut levels.now, now);
            levels.version = Arc::downgrade(&super_version.version);
        }
        let known = levels.now.get(&file).or_else(|| levels.before.get(&file));
        known.copied().unwrap_or(u32::MAX)
    }
}

impl BlockTrace for FamilyBlockTrace {
    fn is_on(&self) -> bool {
        self.trace.is_on()
    }

    fn record(&self, access: &BlockAccess<'_>) {
        let level = self.level_of(access.file_number);
        self.trace.record(access, (self.id, &self.name), level);
    }
}

impl DbInner {
    /// Records a Get in the traces that are on.
    #[cold]
    pub(crate) fn trace_get(&self, options: &ReadOptions, family: &Family, key: &[u8], seqno: SeqNo) {
        self.traces.query.get(family.id, key);
        self.begin_traced_get(options, key, seqno);
    }

    /// Starts a Get in the trace of the block cache: later lookups of this thread belong to it.
    #[cold]
    pub(crate) fn begin_traced_get(&self, options: &ReadOptions, key: &[u8], seqno: SeqNo) {
        let caller = TableReaderCaller::UserGet;
        self.traces
            .block
            .begin(caller, options.snapshot.is_some(), key, seqno);
    }

    /// Records a MultiGet of keys, with the ids of their families, in the traces that are on.
    #[cold]
    pub(crate) fn trace_multi_get<'a>(
        &self,
        options: &ReadOptions,
        keys: impl ExactSizeIterator<Item = (u32, &'a [u8])>,
    ) {
        self.traces.query.multi_get(keys);
        let caller = TableReaderCaller::UserMultiGet;
        self.traces
            .block
            .begin(caller, options.snapshot.is_some(), &[], 0);
    }

    /// Ends the trace of the block cache, if there is one.
    pub(crate) fn end_block_trace(&self) -> Result<()> {
        self.traces.query.watch_blocks(false);
        self.traces.block.end()
    }
}

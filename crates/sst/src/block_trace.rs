//! The lookups of blocks in the block cache, recorded while a trace is on: RocksDB's block cache trace.
//!
//! A counter of the process shows whether a trace is on: without a trace, a lookup reads only this counter.
//! The facts that a record needs about the Get (its id, whether it found its key) are collected per thread,
//! in `LOOKUP`.
//!
//! Data blocks of a Get or MultiGet are recorded after they were searched, as in RocksDB. Until then they
//! wait in the thread's list.

use std::cell::RefCell;
use std::fmt::Debug;
use std::sync::atomic::{AtomicUsize, Ordering};

use base::internal_key::set_seek_target;

/// The number of block cache traces that run in this process.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// True while any database of the process traces its lookups.
#[inline(always)]
pub fn is_on() -> bool {
    RUNNING.load(Ordering::Relaxed) != 0
}

/// A guard: while it exists, lookups of the process look for a trace of their database.
#[derive(Debug)]
pub struct Running(());

impl Running {
    /// Counts one more running trace, until the guard is dropped.
    pub fn begin() -> Running {
        RUNNING.fetch_add(1, Ordering::Relaxed);
        Running(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The purpose of a read: RocksDB's `TableReaderCaller`, with its numbers.
///
/// ```
/// # use esker_sst::block_trace as esker;
/// use esker::TableReaderCaller;
///
/// assert!(TableReaderCaller::UserMultiGet.is_get());
/// assert!(!TableReaderCaller::Compaction.is_get());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum TableReaderCaller {
    /// A Get.
    UserGet = 1,
    /// A MultiGet.
    UserMultiGet = 2,
    /// An iterator of a user.
    UserIterator = 3,
    /// An approximate size.
    UserApproximateSize = 4,
    /// A verification of checksums that a user asked for.
    UserVerifyChecksum = 5,
    /// RocksDB's `sst_dump`.
    SstDumpTool = 6,
    /// The ingestion of a file.
    ExternalSstIngestion = 7,
    /// A repair.
    Repair = 8,
    /// Blocks loaded before they are asked for.
    Prefetch = 9,
    /// A compaction.
    Compaction = 10,
    /// The check of a compaction's output.
    CompactionRefill = 11,
    /// The check of a flush's output.
    Flush = 12,
    /// A reader of single files.
    SstFileReader = 13,
    /// A caller of any other kind.
    #[default]
    Uncategorized = 14,
}

impl TableReaderCaller {
    /// All callers, by number from 1 on.
    pub const ALL: [TableReaderCaller; 14] = [
        TableReaderCaller::UserGet,
        TableReaderCaller::UserMultiGet,
        TableReaderCaller::UserIterator,
        TableReaderCaller::UserApproximateSize,
        TableReaderCaller::UserVerifyChecksum,
        TableReaderCaller::SstDumpTool,
        TableReaderCaller::ExternalSstIngestion,
        TableReaderCaller::Repair,
        TableReaderCaller::Prefetch,
        TableReaderCaller::Compaction,
        TableReaderCaller::CompactionRefill,
        TableReaderCaller::Flush,
        TableReaderCaller::SstFileReader,
        TableReaderCaller::Uncategorized,
    ];

    /// The caller's name in reports: that of RocksDB's analyzer, if it has one.
    pub fn name(self) -> &'static str {
        match self {
            TableReaderCaller::UserGet => "Get",
            TableReaderCaller::UserMultiGet => "MultiGet",
            TableReaderCaller::UserIterator => "Iterator",
            TableReaderCaller::UserApproximateSize => "ApproximateSize",
            TableReaderCaller::UserVerifyChecksum => "VerifyChecksum",
            TableReaderCaller::SstDumpTool => "SSTDumpTool",
            TableReaderCaller::ExternalSstIngestion => "ExternalSSTIngestion",
            TableReaderCaller::Repair => "Repair",
            TableReaderCaller::Prefetch => "Prefetch",
            TableReaderCaller::Compaction => "Compaction",
            TableReaderCaller::CompactionRefill => "CompactionRefill",
            TableReaderCaller::Flush => "Flush",
            TableReaderCaller::SstFileReader => "SSTFileReader",
            TableReaderCaller::Uncategorized => "Uncategorized",
        }
    }

    /// True of Gets and MultiGets, whose records have more fields.
    pub fn is_get(self) -> bool {
        matches!(self, TableReaderCaller::UserGet | TableReaderCaller::UserMultiGet)
    }
}

/// The kinds of blocks in a trace, with RocksDB's record types.
///
/// ```
/// # use esker_sst::block_trace as esker;
/// use esker::TracedBlock;
///
/// // The numbers of RocksDB's records.
/// assert_eq!(TracedBlock::Data as u8, 9);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TracedBlock {
    /// An index, or a partition of an index.
    Index = 7,
    /// A filter, or a partition of a filter.
    Filter = 8,
    /// A data block.
    Data = 9,
    /// A compression dictionary. Esker keeps no dictionary in the cache.
    Dictionary = 10,
    /// A block of range deletions. Esker keeps no such block in the cache.
    RangeDeletion = 11,
}

/// The part of a record that concerns Gets and MultiGets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GetAccess<'a> {
    /// The id of the Get or MultiGet, equal in all of its lookups.
    pub get_id: u64,
    /// True if the read has a snapshot.
    pub from_snapshot: bool,
    /// The internal key that is looked for; empty where a MultiGet looks for several.
    pub key: &'a [u8],
    /// The bytes of the versions of the key, with their values, that were found in a data block.
    pub referenced_data_size: u64,
    /// The number of entries in the data block, estimated as the average of the table.
    pub num_keys_in_block: u64,
    /// True if the key was in the data block.
    pub key_exists: bool,
}

/// A lookup in the block cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockAccess<'a> {
    /// The kind of block.
    pub block: TracedBlock,
    /// The block's key in the cache: two varints, the number of the table in the cache and the block's offset
    /// in the file.
    pub block_key: &'a [u8],
    /// Bytes the block takes of the cache.
    pub size: u64,
    /// The number of the file.
    pub file_number: u64,
    /// The purpose of the read.
    pub caller: TableReaderCaller,
    /// True if the block was in the cache.
    pub is_hit: bool,
    /// True if a block that is not in the cache is not inserted.
    pub no_insert: bool,
    /// The fields of Gets and MultiGets; `None` for other reads.
    pub get: Option<GetAccess<'a>>,
}

/// The trace of the lookups in the tables of a column family. Any thread may call it, with any locks held.
pub trait BlockTrace: Send + Sync + Debug {
    /// True while lookups are to be recorded.
    fn is_on(&self) -> bool;

    /// Records a lookup.
    fn record(&self, access: &BlockAccess<'_>);
}

/// The Get or MultiGet that the thread executes.
#[derive(Default)]
pub(crate) struct ThreadLookup {
    pub caller: TableReaderCaller,
    pub id: u64,
    pub from_snapshot: bool,
    /// The internal key of a Get.
    pub key: Vec<u8>,
    /// The data blocks that were looked up and not searched yet: the file number, the offset, true for a hit,
    /// true if not inserted.
    pub found: Vec<(u64, u64, bool, bool)>,
}

thread_local! {
    static LOOKUP: RefCell<ThreadLookup> = RefCell::default();
}

/// Calls `act` with the lookup of this thread. Does nothing while the thread writes a record: the reads of a
/// trace writer that uses another database are not traced.
pub(crate) fn with_lookup(act: impl FnOnce(&mut ThreadLookup)) {
    LOOKUP.with(|lookup| {
        if let Ok(mut lookup) = lookup.try_borrow_mut() {
            act(&mut lookup);
        }
    });
}

/// Starts the Get or MultiGet `id`: from now on lookups of this thread for Gets belong to it. `user_key` is
/// empty for a MultiGet.
pub fn begin_lookup(caller: TableReaderCaller, id: u64, from_snapshot: bool, user_key: &[u8], seqno: u64) {
    with_lookup(|lookup| {
        (lookup.caller, lookup.id, lookup.from_snapshot) = (caller, id, from_snapshot);
        lookup.key.clear();
        lookup.found.clear();
        if caller == TableReaderCaller::UserGet {
            set_seek_target(&mut lookup.key, user_key, seqno);
        }
    });
}

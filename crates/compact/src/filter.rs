//! What a user's code may do to entries while they are compacted, and what the engine does to values in blob files.

use base::{Kind, Result, SeqNo};

/// What a [`CompactionFilter`] is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// A plain value, read from its blob file where it lies in one.
    Value,
    /// One operand of a merge.
    MergeOperand,
    /// A wide-column entity, as serialized.
    WideColumnEntity,
}

/// What becomes of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It stays as it is.
    Keep,
    /// It becomes a deletion, so that older versions below do not come back. A merge operand just vanishes.
    Remove,
    /// Its value is replaced. An entity becomes a plain value; an operand stays an operand.
    ChangeValue(Vec<u8>),
    /// It becomes a single deletion: for keys that were put exactly once since they last did not exist. A merge operand stays.
    Purge,
    /// Every entry from this key up to the given user key, exclusive, vanishes without leaving deletions behind, though
    /// a snapshot may see it and older versions below may come back. A key not greater than this one means `Keep`.
    RemoveAndSkipUntil(Vec<u8>),
}

/// A user's code that sees entries as they are compacted.
///
/// It is asked about the newest version of each key, whether or not a snapshot sees it, and about each merge operand
/// newer than the last snapshot. Values that come out of a merge are not shown. What snapshots see is not kept from it: see
/// [`FilterContext::oldest_snapshot`].
pub trait CompactionFilter: Send {
    /// Decides about `key` (with its timestamp, if the family has them), compacted from `level`.
    fn filter(&mut self, level: usize, key: &[u8], value_type: ValueType, value: &[u8]) -> Decision;

    /// Decides about a key whose value lies in a blob file without reading it; `None`: read it and ask
    /// [`filter`](CompactionFilter::filter).
    fn filter_blob_by_key(&mut self, _level: usize, _key: &[u8]) -> Option<Decision> {
        None
    }
}

/// Why a table is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TableFileCreationReason {
    /// Memtables are flushed.
    Flush,
    /// Files are compacted.
    Compaction,
    /// Rows of WALs are written down when the database is opened.
    Recovery,
}

/// What a table, or a compaction, is about, for the choice of its filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilterContext {
    /// Every file of the family takes part.
    pub is_full_compaction: bool,
    /// A user asked for it.
    pub is_manual_compaction: bool,
    /// Id of the column family.
    pub column_family_id: u32,
    /// The topmost level files come from; `None`: rows come from memory.
    pub input_start_level: Option<usize>,
    /// Why tables are written.
    pub reason: TableFileCreationReason,
    /// No snapshot is older, whether open or still to come: the oldest one's sequence number, without any that of the last write. A filter
    /// is asked about entries that snapshots see, too; one that is to keep them goes by what was so up to then.
    pub oldest_snapshot: SeqNo,
}

/// Makes a filter for each compaction, and for flushes that it asks for.
pub trait CompactionFilterFactory: Send + Sync + 'static {
    /// Name in the OPTIONS file.
    fn name(&self) -> &str;

    /// True if rows are to be filtered when tables are written for this reason. Default: by compactions alone.
    fn should_filter_table_file_creation(&self, reason: TableFileCreationReason) -> bool {
        reason == TableFileCreationReason::Compaction
    }

    /// The filter of one table, or of one compaction; it is used by one thread. `None`: nothing is filtered.
    fn create(&self, context: &FilterContext) -> Option<Box<dyn CompactionFilter>>;
}

/// What becomes of a blob index on its way into an output file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relocation {
    /// It still points to the right place.
    Keep,
    /// The blob was copied; the new index lies in the buffer.
    Moved,
    /// The value lies in the buffer and goes into the SST.
    Inlined,
}

/// The engine's hands on values that lie, or should lie, in blob files.
pub trait BlobHook: Send {
    /// Bytes from which on a plain value belongs into a blob file; `usize::MAX`: never.
    fn min_blob_size(&self) -> usize {
        usize::MAX
    }

    /// The same of a value that stands behind a newer version of its key, and is not to be read by many any more. Not above
    /// [`min_blob_size`](BlobHook::min_blob_size). Default: no less.
    fn min_older_version_blob_size(&self) -> usize {
        self.min_blob_size()
    }

    /// Writes `value`, which is large enough, to a blob file and its index to `index`; false if it is to stay in the SST all the same.
    fn extract(&mut self, user_key: &[u8], value: &[u8], index: &mut Vec<u8>) -> Result<bool>;

    /// Moves the blob behind `index` where garbage collection wants that, filling `out`.
    fn relocate(&mut self, user_key: &[u8], index: &[u8], out: &mut Vec<u8>) -> Result<Relocation>;

    /// Reads the blob behind `index` into `out`, which is empty.
    fn fetch(&mut self, user_key: &[u8], index: &[u8], out: &mut Vec<u8>) -> Result<()>;

    /// An input entry of a kind that [may refer to blobs](may_refer_to_blobs), with its value. What enters and does not
    /// [`leave`](BlobHook::leave) is garbage.
    fn enter(&mut self, user_key: &[u8], kind: Kind, value: &[u8]) -> Result<()>;

    /// An output entry of such a kind.
    fn leave(&mut self, user_key: &[u8], kind: Kind, value: &[u8]) -> Result<()>;

    /// Takes back into `entity` the columns that garbage collection wants to move, filling `out`; false if there are none.
    fn relocate_columns(&mut self, user_key: &[u8], entity: &[u8], out: &mut Vec<u8>) -> Result<bool>;
}

/// True for kinds whose values are blob indexes, or may hold some: columns of entities may lie in blob files.
#[inline]
pub fn may_refer_to_blobs(kind: u8) -> bool {
    kind == Kind::BlobIndex as u8 || kind == Kind::WideColumnEntity as u8
}

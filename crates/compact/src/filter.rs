//! The interfaces by which user code changes entries during a compaction, and the engine handles values in
//! blob files.

use base::{Kind, Result, SeqNo};

/// The kind of value that a [`CompactionFilter`] is called with.
///
/// See the example of [`CompactionFilter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// A plain value; a value in a blob file has been read.
    Value,
    /// One operand of a merge.
    MergeOperand,
}

/// The decision of a filter about an entry.
///
/// See the example of [`CompactionFilter`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The entry stays as it is.
    Keep,
    /// The entry becomes a deletion, so that older versions below do not reappear. A merge operand is
    /// dropped.
    Remove,
    /// The value is replaced. An entity becomes a plain value; an operand stays an operand.
    ChangeValue(Vec<u8>),
    /// The entry becomes a wide-column entity of these names and values, in any order. An entry stays as it
    /// is if two columns have one name; a merge operand always stays.
    ChangeWideColumnEntity(Vec<(Vec<u8>, Vec<u8>)>),
    /// The entry becomes a single deletion: for keys that were put exactly once since they last did not
    /// exist. A merge operand stays.
    Purge,
    /// Every entry from this key up to the given user key, exclusive, is dropped without leaving deletions,
    /// even if a snapshot sees it; older versions below may reappear. A given key that is not greater than
    /// this one means `Keep`.
    RemoveAndSkipUntil(Vec<u8>),
}

/// User code that sees entries during a compaction.
///
/// It is called for the newest version of each key, whether or not a snapshot sees it, and for each merge
/// operand newer than the last snapshot. It is not called for the results of a merge. Entries that snapshots
/// see are not excluded: see [`FilterContext::oldest_snapshot`].
///
/// ```
/// # use esker_compact as esker;
///
/// use esker::{CompactionFilter, Decision, ValueType};
///
/// /// Drops rows without a value.
/// struct DropsEmpty;
///
/// impl CompactionFilter for DropsEmpty {
///     fn filter(&mut self, _level: usize, _key: &[u8], kind: ValueType, value: &[u8]) -> Decision {
///         match kind == ValueType::Value && value.is_empty() {
///             true => Decision::Remove,
///             false => Decision::Keep,
///         }
///     }
/// }
///
/// assert_eq!(DropsEmpty.filter(1, b"key", ValueType::Value, b""), Decision::Remove);
/// ```
pub trait CompactionFilter: Send {
    /// Decides about the value or operand of `key` (with its timestamp, if the family has timestamps),
    /// compacted from `level`.
    fn filter(&mut self, level: usize, key: &[u8], value_type: ValueType, value: &[u8]) -> Decision;

    /// Decides about a wide-column entity. `columns` are names and values, sorted by name; those in blob
    /// files have been read. The default column has the empty name. Default: the entity is kept, as in
    /// RocksDB's `FilterV3`.
    fn filter_entity(&mut self, _level: usize, _key: &[u8], _columns: &[(&[u8], &[u8])]) -> Decision {
        Decision::Keep
    }

    /// Decides about a key whose value is in a blob file, without reading the value. `None`: the value is
    /// read, and [`filter`](CompactionFilter::filter) is called.
    fn filter_blob_by_key(&mut self, _level: usize, _key: &[u8]) -> Option<Decision> {
        None
    }
}

/// Why a table is written.
///
/// See the example of [`CompactionFilterFactory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TableFileCreationReason {
    /// A flush of memtables.
    Flush,
    /// A compaction of files.
    Compaction,
    /// The rows of WALs are written to tables when the database is opened.
    Recovery,
}

/// The circumstances of a flush or compaction, from which its filter is created.
///
/// See the example of [`CompactionFilterFactory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilterContext {
    /// True if every file of the family takes part in the compaction.
    pub is_full_compaction: bool,
    /// True if a user asked for the compaction.
    pub is_manual_compaction: bool,
    /// The id of the column family.
    pub column_family_id: u32,
    /// The topmost level of the input files; `None`: the rows come from memory.
    pub input_start_level: Option<usize>,
    /// Why tables are written.
    pub reason: TableFileCreationReason,
    /// No snapshot is or will be older: the sequence number of the oldest snapshot, or of the last write
    /// without one. A filter is also called for entries that snapshots see; a filter that should keep those
    /// must keep entries up to this sequence number.
    pub oldest_snapshot: SeqNo,
}

/// Creates a filter for each compaction, and for the flushes that it chooses.
///
/// ```
/// # use esker_compact as esker;
///
/// use esker::{CompactionFilter, CompactionFilterFactory, Decision, FilterContext, ValueType};
/// # struct DropsEmpty;
/// # impl CompactionFilter for DropsEmpty {
/// #     fn filter(&mut self, _: usize, _: &[u8], _: ValueType, _: &[u8]) -> Decision {
/// #         Decision::Keep
/// #     }
/// # }
///
/// struct Factory;
///
/// impl CompactionFilterFactory for Factory {
///     fn name(&self) -> &str {
///         "example.Factory"
///     }
///
///     fn create(&self, context: &FilterContext) -> Option<Box<dyn CompactionFilter>> {
///         context.is_full_compaction.then(|| Box::new(DropsEmpty) as _)
///     }
/// }
/// ```
pub trait CompactionFilterFactory: Send + Sync + 'static {
    /// The factory's name in the OPTIONS file.
    fn name(&self) -> &str;

    /// The factory as text in the OPTIONS file; `None`: the file does not name it. Default: `None`.
    fn text(&self) -> Option<String> {
        None
    }

    /// True if rows are filtered when tables are written for this reason. Default: only in compactions.
    fn should_filter_table_file_creation(&self, reason: TableFileCreationReason) -> bool {
        reason == TableFileCreationReason::Compaction
    }

    /// The filter of one table, or of one compaction; one thread uses it. `None`: nothing is filtered.
    fn create(&self, context: &FilterContext) -> Option<Box<dyn CompactionFilter>>;
}

/// The outcome for a blob index on its way into an output file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relocation {
    /// The blob index stays valid.
    Keep,
    /// The blob was copied; the new index is in the buffer.
    Moved,
    /// The value is in the buffer and goes into the SST.
    Inlined,
}

/// The engine's access to values that are, or should be, in blob files.
pub trait BlobHook: Send {
    /// The size in bytes from which a plain value goes to a blob file; `usize::MAX`: never.
    fn min_blob_size(&self) -> usize {
        usize::MAX
    }

    /// The size in bytes from which a value that follows a newer version of its key goes to a blob file: few
    /// readers will need it. At most [`min_blob_size`](BlobHook::min_blob_size), which is the default.
    fn min_older_version_blob_size(&self) -> usize {
        self.min_blob_size()
    }

    /// Writes `value`, which is large enough, to a blob file and its index to `index`; false if the value
    /// stays in the SST nevertheless.
    fn extract(&mut self, user_key: &[u8], value: &[u8], index: &mut Vec<u8>) -> Result<bool>;

    /// Moves the blob of `index` if its blob file is being collected, and fills `out`.
    fn relocate(&mut self, user_key: &[u8], index: &[u8], out: &mut Vec<u8>) -> Result<Relocation>;

    /// Reads the blob of `index` into `out`, which is empty.
    fn fetch(&mut self, user_key: &[u8], index: &[u8], out: &mut Vec<u8>) -> Result<()>;

    /// Reports an input entry of a kind that [may refer to blobs](may_refer_to_blobs), with its value. A blob
    /// that enters and does not [`leave`](BlobHook::leave) is garbage.
    fn enter(&mut self, user_key: &[u8], kind: Kind, value: &[u8]) -> Result<()>;

    /// Reports an output entry of a kind that may refer to blobs.
    fn leave(&mut self, user_key: &[u8], kind: Kind, value: &[u8]) -> Result<()>;

    /// Moves the columns of `entity` whose blob files are being collected back into the entity, and fills
    /// `out`; false if there are none.
    fn relocate_columns(&mut self, user_key: &[u8], entity: &[u8], out: &mut Vec<u8>) -> Result<bool>;
}

/// True for kinds whose values are blob indexes or may contain some: columns of entities may be in blob
/// files.
#[inline]
pub fn may_refer_to_blobs(kind: u8) -> bool {
    kind == Kind::BlobIndex as u8 || kind == Kind::WideColumnEntity as u8
}

//! The kinds of entries as user code sees them, independent of how the engine stores them.

use crate::internal_key::Kind;

/// The kind of an entry of a table, as collectors of table properties see it.
///
/// ```
/// # use esker_base::entry_type as esker;
/// use esker::EntryType;
///
/// let entries = [EntryType::Put, EntryType::Delete, EntryType::SingleDelete];
/// let is_deletion = |entry: &EntryType| matches!(entry, EntryType::Delete | EntryType::SingleDelete);
/// assert_eq!(entries.into_iter().filter(is_deletion).count(), 2);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryType {
    /// A value stored with its key.
    Put,
    /// A value in a blob file; the entry holds its index.
    BlobIndex,
    /// A deletion.
    Delete,
    /// A deletion of a key that was put at most once.
    SingleDelete,
    /// A merge operand.
    Merge,
    /// An entry of any other kind.
    Other,
}

impl EntryType {
    /// The type of an entry whose trailer has this kind byte.
    pub fn of(kind: u8) -> EntryType {
        match Kind::from_byte(kind) {
            Some(Kind::Value) => EntryType::Put,
            Some(Kind::BlobIndex) => EntryType::BlobIndex,
            Some(Kind::Deletion | Kind::DeletionWithTimestamp) => EntryType::Delete,
            Some(Kind::SingleDeletion) => EntryType::SingleDelete,
            Some(Kind::Merge) => EntryType::Merge,
            _ => EntryType::Other,
        }
    }
}

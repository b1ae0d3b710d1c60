//! What an entry is to a user's code, whichever way it is kept.

use crate::internal_key::Kind;

/// What an entry of a table is, to whoever gathers properties of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryType {
    /// A value that lies where its key does.
    Put,
    /// A value that lies in a blob file: where, is what stands in its place.
    BlobIndex,
    /// A deletion.
    Delete,
    /// A deletion of what was put once.
    SingleDelete,
    /// An operand of a merge.
    Merge,
    /// Something else.
    Other,
}

impl EntryType {
    /// Of an entry whose trailer has this kind.
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

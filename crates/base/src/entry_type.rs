//! What an entry is to a user's code, whichever way it is kept.

use crate::internal_key::Kind;

/// What an entry of a table is, to whoever gathers properties of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryType {
    /// A value, wherever it lies.
    Put,
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
            Some(Kind::Value | Kind::BlobIndex) => EntryType::Put,
            Some(Kind::Deletion | Kind::DeletionWithTimestamp) => EntryType::Delete,
            Some(Kind::SingleDeletion) => EntryType::SingleDelete,
            Some(Kind::Merge) => EntryType::Merge,
            _ => EntryType::Other,
        }
    }
}

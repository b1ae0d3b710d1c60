//! A value that was read, pinned in the block, memtable or cache that holds it.

use std::ops::Deref;

use cache::Handle;
use sst::{Block, PinnedBytes};

/// A value that was read. It refers to a block of a table, to a memtable or to a cached blob, and keeps that
/// alive; a value that was merged or assembled is an owned copy.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// db.put(b"key", b"value")?;
/// if let Some(value) = db.get_pinned(b"key")? {
///     assert_eq!(&value[..], b"value"); // no copy
///     let owned: Vec<u8> = value.into_vec();
///     assert_eq!(owned, b"value");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct PinnedValue(Repr);

enum Repr {
    Block(PinnedBytes),
    Memtable(memtable::PinnedValue),
    Owned(Vec<u8>),
    /// The bytes of a wide-column entity, for readers of its columns.
    Entity(Vec<u8>),
    /// A value of a blob file, in the block cache.
    Cached(Handle<Block>),
    /// The first bytes of another value.
    First(Box<PinnedValue>, usize),
}

impl PinnedValue {
    pub(crate) fn in_memtable(value: memtable::PinnedValue) -> PinnedValue {
        PinnedValue(Repr::Memtable(value))
    }

    pub(crate) fn cached(blob: Handle<Block>) -> PinnedValue {
        PinnedValue(Repr::Cached(blob))
    }

    pub(crate) fn of_entity(bytes: Vec<u8>) -> PinnedValue {
        PinnedValue(Repr::Entity(bytes))
    }

    /// The bytes of the value if it is a wide-column entity.
    pub(crate) fn entity(&self) -> Option<&[u8]> {
        match &self.0 {
            Repr::Entity(bytes) => Some(bytes),
            _ => None,
        }
    }

    pub(crate) fn owned(bytes: Vec<u8>) -> PinnedValue {
        PinnedValue(Repr::Owned(bytes))
    }

    pub(crate) fn pinned(bytes: PinnedBytes) -> PinnedValue {
        PinnedValue(Repr::Block(bytes))
    }

    /// The first `length` bytes of the value, which stays pinned; all if it is shorter.
    pub(crate) fn first(self, length: usize) -> PinnedValue {
        match self.0 {
            Repr::Owned(mut bytes) => {
                bytes.truncate(length);
                PinnedValue::owned(bytes)
            }
            repr => {
                let whole = PinnedValue(repr);
                let length = length.min(whole.len());
                PinnedValue(Repr::First(Box::new(whole), length))
            }
        }
    }

    /// The bytes as a vector; copied unless the value is owned.
    pub fn into_vec(self) -> Vec<u8> {
        match self.0 {
            Repr::Block(bytes) => bytes.to_vec(),
            Repr::Memtable(bytes) => bytes.to_vec(),
            Repr::Owned(bytes) | Repr::Entity(bytes) => bytes,
            Repr::Cached(blob) => blob.data().to_vec(),
            Repr::First(whole, length) => whole[..length].to_vec(),
        }
    }
}

impl Deref for PinnedValue {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Repr::Block(bytes) => bytes,
            Repr::Memtable(bytes) => bytes,
            Repr::Owned(bytes) | Repr::Entity(bytes) => bytes,
            Repr::Cached(blob) => blob.data(),
            Repr::First(whole, length) => &whole[..*length],
        }
    }
}

impl std::fmt::Debug for PinnedValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: AsRef<[u8]>> PartialEq<T> for PinnedValue {
    fn eq(&self, other: &T) -> bool {
        **self == *other.as_ref()
    }
}

//! Iterators with `iter_start_ts`: every version of every key between two timestamps.

use base::Kind;
use esker::{Error, Result, VersionsIterator};

/// An iterator over versions, with the internal key of the current version, which RocksDB shows as the key.
pub struct Versions {
    iter: VersionsIterator,
    /// The internal key of the current version: the key, the timestamp, and the number and kind of the write.
    key: Vec<u8>,
}

impl Versions {
    /// Returns an iterator without a position.
    pub fn new(iter: VersionsIterator) -> Versions {
        Versions {
            iter,
            key: Vec::new(),
        }
    }

    /// Moves the iterator.
    pub fn moved(&mut self, go: impl FnOnce(&mut VersionsIterator)) {
        go(&mut self.iter);
        self.key.clear();
        if self.iter.valid() {
            let kind = match self.iter.is_deletion() {
                true => Kind::DeletionWithTimestamp,
                false => Kind::Value,
            };
            let trailer = self.iter.sequence_number() << 8 | u64::from(kind as u8);
            self.key.extend_from_slice(self.iter.key());
            self.key.extend_from_slice(self.iter.timestamp());
            self.key.extend_from_slice(&trailer.to_le_bytes());
        }
    }

    /// True if the iterator is at a version.
    pub fn valid(&self) -> bool {
        self.iter.valid()
    }

    /// The error that ended the iteration, if one did.
    pub fn status(&self) -> Result<()> {
        self.iter.status()
    }

    /// The internal key of the current version.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// The value of the current version; empty for a deletion.
    pub fn value(&self) -> &[u8] {
        self.iter.value()
    }

    /// The timestamp of the current version.
    pub fn timestamp(&self) -> &[u8] {
        self.iter.timestamp()
    }

    /// Returns an error: an iterator over versions cannot be refreshed to a newer state.
    pub fn refresh(&self) -> Result<()> {
        Err(Error::not_supported(
            "a refresh of an iterator with iter_start_ts",
        ))
    }
}

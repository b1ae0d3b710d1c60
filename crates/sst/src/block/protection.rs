//! Checksums of a block's entries: computed when the block is read into memory, verified whenever an entry is
//! read from there.
//!
//! They are stored outside of the block, so that corruption of one does not affect the other.

use base::internal_key::{trailer, user_key};
use base::protection::mismatch;
use base::{Error, Protection, Result};

use super::Entry;
use super::entries::{Entries, bad_entry};

/// The checksums of the entries of one block.
#[derive(Debug)]
pub(crate) struct BlockProtection {
    /// The size of each checksum in bytes.
    width: usize,
    /// The offset of each entry, ascending.
    offsets: Box<[u32]>,
    /// The checksums, concatenated.
    checksums: Box<[u8]>,
}

impl BlockProtection {
    /// Computes the checksums of `entries`, those of a block, in one pass. `Corruption` with the offset of an
    /// entry that does not decode.
    pub fn new(entries: &[u8], width: u8) -> Result<BlockProtection> {
        let width = usize::from(width);
        let (mut offsets, mut checksums) = (Vec::new(), Vec::new());
        let mut entries = Entries::new(entries);
        while let Some(entry) = entries.next()? {
            offsets.push(entry.offset as u32);
            let start = checksums.len();
            checksums.resize(start + width, 0);
            Protection::of_entry(entry.key, entry.value).store(&mut checksums[start..]);
        }
        Ok(BlockProtection {
            width,
            offsets: offsets.into(),
            checksums: checksums.into(),
        })
    }

    /// `Corruption` unless the entry at `at` is unchanged; `key` is its stored key, assembled.
    pub fn verify(&self, at: usize, key: &[u8], entry: &Entry, entries: &[u8]) -> Result<()> {
        let number = self.offsets.binary_search(&(at as u32)).ok();
        let stored = number.and_then(|number| self.checksums.get(number * self.width..)?.get(..self.width));
        if stored.is_some_and(|stored| Protection::of_entry(key, entry.value(entries)).is_stored_as(stored)) {
            return Ok(());
        }
        Err(damaged(at, key))
    }

    /// The memory of the checksums besides this value, in bytes.
    pub fn memory_usage(&self) -> usize {
        size_of_val(&*self.offsets) + self.checksums.len()
    }
}

#[cold]
fn damaged(at: usize, key: &[u8]) -> Error {
    if key.len() < base::internal_key::TRAILER_LEN {
        return bad_entry(at);
    }
    mismatch("a block", user_key(key), trailer(key) >> 8, trailer(key) as u8).at(at as u64)
}

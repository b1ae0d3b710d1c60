//! Checksums of a block's entries: made when the block comes into memory, compared whenever an entry is read from there.
//!
//! They lie beside the block, so that whatever damages the one does not damage the other.

use base::internal_key::{trailer, user_key};
use base::protection::mismatch;
use base::{Error, Protection, Result};

use super::entries::{Entries, bad_entry};
use super::{Block, Entry};

/// What each entry of one block hashes to.
#[derive(Debug)]
pub(crate) struct BlockProtection {
    /// Bytes of each checksum.
    width: usize,
    /// Where each entry begins, ascending.
    offsets: Box<[u32]>,
    /// One behind the other.
    checksums: Box<[u8]>,
}

impl BlockProtection {
    /// Of every entry of a block, in one pass. `Corruption` with the offset of an entry that does not decode.
    pub fn new(block: &Block, width: u8) -> Result<BlockProtection> {
        let width = usize::from(width);
        let (mut offsets, mut checksums) = (Vec::new(), Vec::new());
        let mut entries = Entries::new(block);
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

    /// `Corruption` unless the entry that was met at `at` is the one that was there: `key` as it is stored, put together.
    pub fn verify(&self, at: usize, key: &[u8], entry: &Entry, entries: &[u8]) -> Result<()> {
        let number = self.offsets.binary_search(&(at as u32)).ok();
        let stored = number.and_then(|number| self.checksums.get(number * self.width..)?.get(..self.width));
        if stored.is_some_and(|stored| Protection::of_entry(key, entry.value(entries)).is_stored_as(stored)) {
            return Ok(());
        }
        Err(damaged(at, key))
    }

    /// Bytes it takes in memory beyond this value.
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

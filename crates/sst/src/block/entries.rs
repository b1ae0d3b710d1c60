//! A sequential walk over the entries of a small block, key by key: properties, metaindex, index, range
//! deletions.

use base::{Error, Result};

use base::coding;

use super::Entry;

/// Walks a block once. Not optimised, so not for data blocks.
#[derive(Debug)]
pub struct Entries<'a> {
    entries: &'a [u8],
    at: usize,
    key: Vec<u8>,
}

/// One entry: its key, its value, and the offset of the value in the block.
#[derive(Debug, PartialEq, Eq)]
pub struct EntryRef<'a, 'k> {
    /// The whole key.
    pub key: &'k [u8],
    /// The value.
    pub value: &'a [u8],
    /// The offset of the value within the block.
    pub value_offset: usize,
    /// The offset of the entry within the block.
    pub offset: usize,
    /// The number of bytes that the key shares with the previous one.
    pub shared: usize,
}

impl<'a> Entries<'a> {
    /// A walk over the entries of a block, whose bytes are `entries`, from the first entry on.
    pub fn new(entries: &'a [u8]) -> Entries<'a> {
        Entries {
            entries,
            at: 0,
            key: Vec::new(),
        }
    }

    /// The next entry, `None` after the last.
    ///
    /// Errors: `Corruption` with the offset within the block.
    pub fn next(&mut self) -> Result<Option<EntryRef<'a, '_>>> {
        if self.at >= self.entries.len() {
            return Ok(None);
        }
        let offset = self.at;
        let entry = Entry::decode(self.entries, offset)
            .filter(|entry| entry.shared <= self.key.len())
            .ok_or_else(|| bad_entry(offset))?;
        self.key.truncate(entry.shared);
        self.key.extend_from_slice(entry.suffix(self.entries));
        self.at = entry.end;
        Ok(Some(EntryRef {
            key: &self.key,
            value: entry.value(self.entries),
            value_offset: entry.value,
            offset,
            shared: entry.shared,
        }))
    }

    /// The next key of an index block with delta-coded values: `v32 shared ‖ v32 non_shared ‖ key`, and then
    /// the value, whose length is not stored. `value` gets the bytes after the key and returns the value and
    /// its length.
    pub fn next_without_value_len<V>(
        &mut self,
        value: impl FnOnce(&[u8], usize, &mut coding::Reader<'a>) -> Result<V>,
    ) -> Result<Option<V>> {
        if self.at >= self.entries.len() {
            return Ok(None);
        }
        let offset = self.at;
        let mut reader = coding::Reader::new(&self.entries[offset..]);
        let step = || {
            let shared = reader.varint32("shared length")? as usize;
            let non_shared = reader.varint32("key length")? as usize;
            let suffix = reader.bytes(non_shared, "key")?;
            if shared > self.key.len() {
                return Err(Error::corruption(
                    "bad entry in block: shares more bytes than the previous key has",
                ));
            }
            self.key.truncate(shared);
            self.key.extend_from_slice(suffix);
            value(&self.key, shared, &mut reader)
        };
        let value = step().map_err(|error| error.offset_by(offset as u64))?;
        self.at = offset + reader.position();
        Ok(Some(value))
    }
}

/// The error for an entry that does not decode, at its offset within the block.
#[cold]
pub(crate) fn bad_entry(offset: usize) -> Error {
    Error::corruption("bad entry in block").at(offset as u64)
}

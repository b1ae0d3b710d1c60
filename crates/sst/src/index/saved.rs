//! The bytes of a decoded index, for the secondary cache. Restoring them costs less than decoding the table's
//! index block again. They are never on disk.
//!
//! ```text
//! number varint   then for each block
//! shared varint   bytes of the separator before that this one begins with
//! rest            varint length ‖ bytes
//! offset varint   size varint
//! ```

use base::coding::{self, Reader};
use base::{Result, UserComparator, shared_len};

use super::{Index, IndexBuilder};
use crate::format::BlockHandle;

impl Index {
    /// The index as bytes. The places of blocks in memory are not saved.
    pub(crate) fn save(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.keys.len() + 8 * self.len());
        coding::put_varint64(&mut out, self.len() as u64);
        let mut last: &[u8] = &[];
        for i in 0..self.len() {
            let separator = self.separator(i);
            let shared = shared_len(last, separator);
            coding::put_varint64(&mut out, shared as u64);
            coding::put_length_prefixed(&mut out, &separator[shared..]);
            let handle = self.handle(i);
            coding::put_varint64(&mut out, handle.offset);
            coding::put_varint64(&mut out, handle.size);
            last = separator;
        }
        out
    }

    /// Restores an index from the bytes that [`save`](Index::save) made, for a table whose blocks end before
    /// `limit`.
    pub(crate) fn restore(
        saved: &[u8],
        user_keys: bool,
        limit: u64,
        stored_order: &UserComparator,
    ) -> Result<Index> {
        let mut builder = IndexBuilder::new(user_keys, limit);
        // The size limits are not checked here: the index was within them when it was read from the table.
        builder.keys_limit = u32::MAX as usize;
        let mut saved = Reader::new(saved);
        let mut separator: Vec<u8> = Vec::new();
        for _ in 0..saved.varint64("number of blocks")? {
            separator.truncate(saved.varint64("shared length")? as usize);
            separator.extend_from_slice(saved.length_prefixed("separator")?);
            let handle = BlockHandle {
                offset: saved.varint64("offset")?,
                size: saved.varint64("size")?,
            };
            builder.push(&separator, handle)?;
        }
        Ok(builder.build(stored_order))
    }
}

//! The entries of index blocks.

use base::coding::Reader;
use base::internal_key::TRAILER_LEN;
use base::{Error, Result};

use super::{IndexBuilder, IndexCoding, IndexEntry, KEYS_FACTOR};
use crate::block::Block;
use crate::block::entries::Entries;
use crate::format::{BLOCK_TRAILER_LEN, BlockHandle};

/// Passes every entry of an index block to `on_entry`, in order.
///
/// Errors: `Corruption` with the offset within the block, and the errors of `on_entry`.
pub fn decode_block(
    block: &Block,
    coding: IndexCoding,
    mut on_entry: impl FnMut(IndexEntry<'_>) -> Result<()>,
) -> Result<()> {
    let min_key = if coding.user_keys { 0 } else { TRAILER_LEN };
    let mut entries = Entries::new(block.entries());
    let mut last = BlockHandle::default();
    let mut take = |separator: &[u8], shared: Option<usize>, value: &mut Reader<'_>| {
        if separator.len() < min_key {
            return Err(Error::corruption("bad index entry: separator is no internal key"));
        }
        let handle = match shared {
            Some(shared) if shared > 0 => {
                let size = last.size.checked_add_signed(value.zigzag64("block size delta")?);
                BlockHandle {
                    offset: last
                        .offset
                        .wrapping_add(last.size)
                        .wrapping_add(BLOCK_TRAILER_LEN as u64),
                    size: size.ok_or_else(|| Error::corruption("bad index entry: block of negative size"))?,
                }
            }
            _ => BlockHandle::decode(value)?,
        };
        let first_key = match coding.first_keys {
            true => Some(value.length_prefixed("first key")?),
            false => None,
        };
        last = handle;
        on_entry(IndexEntry {
            separator,
            handle,
            first_key,
        })
    };
    if coding.delta {
        while entries
            .next_without_value_len(|key, shared, rest| take(key, Some(shared), rest))?
            .is_some()
        {}
    } else {
        while let Some(entry) = entries.next()? {
            take(entry.key, None, &mut Reader::new(entry.value))
                .map_err(|error| error.offset_by(entry.value_offset as u64))?;
        }
    }
    Ok(())
}

impl IndexBuilder {
    /// Adds to an index the data blocks of an index block or of a partition of an index.
    ///
    /// Errors: as [`decode_block`], and `Corruption` for a handle beyond the end of the file.
    pub fn add_block(&mut self, block: &Block, coding: IndexCoding) -> Result<()> {
        self.keys_limit = self
            .keys_limit
            .saturating_add(block.data().len().saturating_mul(KEYS_FACTOR))
            .min(u32::MAX as usize);
        decode_block(block, coding, |entry| {
            self.push(entry.separator, entry.handle)?;
            entry.first_key.map_or(Ok(()), |key| self.push_first_key(key))
        })
    }
}

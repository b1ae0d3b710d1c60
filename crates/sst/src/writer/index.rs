//! Builds the index of a table: one block with an entry for each data block.
//!
//! An entry is a separator, a key at or after every key of its block and before those of the next, and the block's
//! handle. Whether separators are user keys or whole internal keys is one choice for the table: user keys, unless two
//! neighbouring blocks meet within the versions of one user key, or the format version is too old to know them. That is
//! known only when the last block is written; until then separators are kept as internal keys, and the block is built at
//! the end, once.

use base::internal_key::{TRAILER_LEN, pack_trailer, trailer, user_key};
use base::{InternalComparator, MAX_SEQNO};
use std::cmp::Ordering;

use crate::block::builder::BlockBuilder;
use crate::format::{BlockHandle, FV_DELTA_INDEX, FV_USER_KEY_INDEX, MAX_HANDLE_LEN};

/// Kind byte of shortened separators: RocksDB's highest until 8.10, so that every release knows it. With the highest
/// sequence number any kind sorts before every entry of its user key.
const SEPARATOR_KIND: u8 = 0x16;

/// About what an entry takes beside its key: lengths, handle, restart point.
const ENTRY_OVERHEAD: usize = 12;

pub(super) struct IndexBuilder {
    /// Separators as internal keys, back to back.
    separators: Vec<u8>,
    /// Where each separator ends.
    ends: Vec<usize>,
    /// The handles of the blocks written so far; the block of the last separators may not be.
    handles: Vec<BlockHandle>,
    /// A user key alone does not tell two neighbouring blocks apart.
    needs_internal_keys: bool,
    delta_coded: bool,
    restart_interval: usize,
    /// The user key of a separator while it is being shortened.
    scratch: Vec<u8>,
}

/// A finished index block and what its reader must be told.
pub(super) struct Index {
    pub contents: Vec<u8>,
    pub key_is_user_key: bool,
    pub value_is_delta_encoded: bool,
}

impl IndexBuilder {
    /// `contiguous`: every block follows the one before without a gap.
    pub fn new(format_version: u32, restart_interval: usize, contiguous: bool) -> IndexBuilder {
        IndexBuilder {
            separators: Vec::new(),
            ends: Vec::new(),
            handles: Vec::new(),
            needs_internal_keys: format_version < FV_USER_KEY_INDEX,
            delta_coded: format_version >= FV_DELTA_INDEX && contiguous,
            restart_interval,
            scratch: Vec::new(),
        }
    }

    /// Adds the separator between `last`, the last key of a block, and `next`, the first key of the block after; without
    /// a block after it is `last` itself. Both are internal keys.
    pub fn add_separator(&mut self, cmp: &InternalComparator, last: &[u8], next: Option<&[u8]>) {
        let last_user_key = user_key(last);
        self.scratch.clear();
        self.scratch.extend_from_slice(last_user_key);
        if let Some(next) = next {
            if cmp.user().compare(last_user_key, user_key(next)) == Ordering::Equal {
                self.needs_internal_keys = true;
            } else {
                cmp.user().shorten_separator(&mut self.scratch, user_key(next));
            }
        }
        let trailer = if self.scratch == last_user_key {
            trailer(last)
        } else {
            pack_trailer(MAX_SEQNO, SEPARATOR_KIND)
        };
        self.separators.extend_from_slice(&self.scratch);
        self.separators.extend_from_slice(&trailer.to_le_bytes());
        self.ends.push(self.separators.len());
    }

    /// Adds the handle of the next block.
    #[inline]
    pub fn add_handle(&mut self, handle: BlockHandle) {
        self.handles.push(handle);
    }

    /// About what the block would take if it were finished now.
    #[inline]
    pub fn estimated_size(&self) -> usize {
        let trailers = if self.needs_internal_keys {
            0
        } else {
            self.ends.len() * TRAILER_LEN
        };
        self.separators.len() - trailers + self.ends.len() * ENTRY_OVERHEAD + 4
    }

    /// The block. There are as many handles as separators.
    pub fn finish(&self) -> Index {
        let mut block = BlockBuilder::new(self.restart_interval);
        let (mut full, mut delta) = (
            Vec::with_capacity(MAX_HANDLE_LEN),
            Vec::with_capacity(MAX_HANDLE_LEN),
        );
        let (mut start, mut last_size) = (0, 0);
        for (&end, &handle) in self.ends.iter().zip(&self.handles) {
            let separator = &self.separators[start..end];
            let key = if self.needs_internal_keys {
                separator
            } else {
                user_key(separator)
            };
            full.clear();
            handle.encode(&mut full);
            if self.delta_coded {
                delta.clear();
                base::coding::put_zigzag64(&mut delta, handle.size.wrapping_sub(last_size) as i64);
                block.add_delta(key, &full, &delta);
            } else {
                block.add(key, &full);
            }
            (start, last_size) = (end, handle.size);
        }
        Index {
            contents: std::mem::take(block.finish().0),
            key_is_user_key: !self.needs_internal_keys,
            value_is_delta_encoded: self.delta_coded,
        }
    }
}

#[cfg(test)]
mod tests {
    use base::{Kind, UserComparator, internal_key};

    use super::*;
    use crate::vectors::{unhex, vectors};

    fn bytewise() -> InternalComparator {
        InternalComparator::new(UserComparator::Bytewise)
    }

    #[test]
    fn an_index_block_is_rocksdbs_to_the_byte() {
        let mut rebuilt = 0;
        for vector in vectors("index_block") {
            if vector["index_type"] != 0 {
                continue;
            }
            let desc = vector["desc"].as_str().unwrap();
            let restart_interval = if desc.contains("interval 4") { 4 } else { 1 };
            let format_version = vector["format_version"].as_u64().unwrap() as u32;
            let mut builder = IndexBuilder::new(format_version, restart_interval, true);
            for entry in vector["entries"].as_array().unwrap() {
                let mut key = unhex(&entry["key_hex"]);
                if vector["key_is_user_key"] == true {
                    key.extend_from_slice(&[0; TRAILER_LEN]);
                }
                builder.add_separator(&bytewise(), &key, None);
                builder.add_handle(BlockHandle::new(
                    entry["offset"].as_u64().unwrap(),
                    entry["size"].as_u64().unwrap(),
                ));
            }
            let index = builder.finish();
            assert_eq!(index.contents, unhex(&vector["block_hex"]), "{desc}");
            assert_eq!(vector["key_is_user_key"], index.key_is_user_key);
            assert_eq!(vector["value_delta_encoded"], index.value_is_delta_encoded);
            assert!(
                builder.estimated_size() + 8 > index.contents.len(),
                "{desc}: not estimated too low"
            );
            rebuilt += 1;
        }
        assert_eq!(rebuilt, 4);
    }

    /// Separators of a table whose blocks end and begin with the keys of `neighbours`, and whether they are user keys.
    fn separators(format_version: u32, neighbours: &[(&[u8], &[u8])]) -> (Vec<Vec<u8>>, bool) {
        let mut builder = IndexBuilder::new(format_version, 1, true);
        for (last, next) in neighbours {
            builder.add_separator(&bytewise(), last, Some(next));
        }
        let mut start = 0;
        let separators = builder.ends.iter().map(|&end| {
            let separator = builder.separators[start..end].to_vec();
            start = end;
            separator
        });
        (separators.collect(), !builder.needs_internal_keys)
    }

    #[test]
    fn separators_are_shortened_and_carry_the_highest_seqno() {
        let last = internal_key::encode(b"the quick brown fox", 7, Kind::Value);
        let next = internal_key::encode(b"the who", 3, Kind::Value);
        let (keys, user_keys) = separators(5, &[(&last, &next)]);
        assert_eq!(keys[0], [b"the r\x16".as_slice(), &[0xff; 7]].concat());
        assert!(user_keys);
        assert!(bytewise().compare(&last, &keys[0]).is_lt() && bytewise().compare(&keys[0], &next).is_lt());
        assert!(!separators(2, &[(&last, &next)]).1);
    }

    #[test]
    fn blocks_that_meet_within_a_user_key_need_internal_keys() {
        let version = |seqno| internal_key::encode(b"key", seqno, Kind::Value);
        let other = internal_key::encode(b"other", 1, Kind::Value);
        let (keys, user_keys) = separators(5, &[(&version(9), &version(8)), (&version(1), &other)]);
        assert_eq!(keys[0], version(9));
        assert_eq!(internal_key::user_key(&keys[1]), b"l");
        assert!(!user_keys);
    }
}

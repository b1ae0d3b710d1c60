//! Builds the contents of a block: entries without the prefixes they share, then the restart array.
//!
//! ```text
//! entry       = shared v32 ‖ non-shared v32 ‖ value length v32 ‖ key from `shared` on ‖ value
//! index entry = shared v32 ‖ non-shared v32 ‖ key from `shared` on ‖ value          where values are delta-coded
//! block       = entry* ‖ offset of a restart point u32 * ‖ [hash index] ‖ number of restart points and flags u32
//!
//! With keys and values apart, where the first entry from a restart point on has one length more:
//! entry       = shared v32 ‖ non-shared v32 ‖ value length v32 ‖ [offset of its value v32] ‖ key from `shared` on
//! block       = entry* ‖ value* ‖ offset of a restart point u32 * ‖ [hash index] ‖ offset of the values u32 ‖ number and flags u32
//! ```
//!
//! Every `restart_interval` entries the sharing stops at a restart point, where a search can begin. The first
//! entry is always a restart point, and a block without entries has that one too.

use base::coding::{MAX_VARINT32, put_varint32};
use base::internal_key::user_key;
use base::shared_len;

use super::hash_index::HashIndexBuilder;
use super::{HASH_INDEX, SEPARATED};

/// Builds one block after another, in reused buffers.
#[derive(Debug)]
pub struct BlockBuilder {
    buffer: Vec<u8>,
    /// The offsets of restart points; the first is 0.
    restarts: Vec<u32>,
    /// The number of entries since the last restart point.
    counter: usize,
    restart_interval: usize,
    /// The key added last; while the block is empty, the last key of the previous block.
    last_key: Vec<u8>,
    /// True if keys share their prefix with the previous key.
    shares: bool,
    hash_index: Option<HashIndexBuilder>,
    /// The size of the hash index so far, in bytes.
    hash_index_size: usize,
    /// The values, if they are stored after all keys.
    values: Option<Vec<u8>>,
}

impl BlockBuilder {
    /// A builder with a restart point every `restart_interval` entries; 0 counts as 1.
    pub fn new(restart_interval: usize) -> BlockBuilder {
        BlockBuilder {
            buffer: Vec::new(),
            restarts: vec![0],
            counter: 0,
            restart_interval: restart_interval.max(1),
            last_key: Vec::new(),
            shares: true,
            hash_index: None,
            hash_index_size: 0,
            values: None,
        }
    }

    /// A builder of data blocks: their internal keys share prefixes only if `use_delta_encoding`. With a hash
    /// index, it has the given number of keys per bucket.
    pub fn of_data(
        restart_interval: usize,
        use_delta_encoding: bool,
        hash_table_util_ratio: Option<f64>,
    ) -> BlockBuilder {
        let hash_index = hash_table_util_ratio.map(HashIndexBuilder::new);
        BlockBuilder {
            shares: use_delta_encoding,
            hash_index_size: hash_index.as_ref().map_or(0, HashIndexBuilder::size),
            hash_index,
            ..BlockBuilder::new(restart_interval)
        }
    }

    /// The same builder, with values after all keys of their block.
    pub fn with_values_apart(self) -> BlockBuilder {
        BlockBuilder {
            values: Some(Vec::new()),
            ..self
        }
    }

    /// True if no entry was added since the last [`reset`](BlockBuilder::reset).
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// The size that the block would have if it were finished now, in bytes.
    #[inline]
    pub fn size(&self) -> usize {
        let values = self.values.as_ref().map_or(0, |values| values.len() + 4);
        self.buffer.len() + 4 * self.restarts.len() + 4 + self.hash_index_size + values
    }

    /// RocksDB's estimate of [`size`](BlockBuilder::size) after an entry of those lengths: slightly too
    /// large, because it ignores shared prefixes.
    #[inline]
    pub fn size_after(&self, key_len: usize, value_len: usize) -> usize {
        let restart = if self.counter >= self.restart_interval {
            4
        } else {
            0
        };
        let lengths = base::coding::varint_len(key_len as u64) + base::coding::varint_len(value_len as u64);
        let offset = match &self.values {
            Some(values) if self.counter == 0 || restart > 0 => base::coding::varint_len(values.len() as u64),
            _ => 0,
        };
        // Four bytes for the shared length: RocksDB's estimate, which determines where blocks end.
        self.size() + key_len + value_len + restart + 4 + lengths + offset
    }

    /// Returns [`size_after`](BlockBuilder::size_after) for an entry of
    /// [`add_delta`](BlockBuilder::add_delta), whose full value has `value_len` bytes: RocksDB estimates a
    /// delta at half of that.
    pub fn size_after_delta(&self, key_len: usize, value_len: usize) -> usize {
        let value = if self.counter >= self.restart_interval {
            value_len + 4 + base::coding::varint_len(value_len as u64)
        } else {
            value_len / 2
        };
        self.size() + key_len + value + 4 + base::coding::varint_len(key_len as u64)
    }

    /// The last key added, even if it was added to the previous block.
    #[inline]
    pub fn last_key(&self) -> &[u8] {
        &self.last_key
    }

    /// Sets the last key to that of a block that was copied from another table. The current block must be
    /// empty.
    pub fn set_last_key(&mut self, key: &[u8]) {
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
    }

    /// Starts a new entry: makes `key` the last key, which shares `common` bytes with the previous one, and
    /// returns the number of bytes that the entry shares.
    #[inline]
    fn start_entry(&mut self, key: &[u8], common: usize) -> usize {
        if self.counter == self.restart_interval {
            self.restarts.push(self.buffer.len() as u32);
            self.counter = 0;
        }
        // The counter is 0 directly after a restart point, and at the start of the block.
        let shared = if self.counter == 0 || !self.shares {
            0
        } else {
            common
        };
        self.counter += 1;
        self.last_key.truncate(common);
        self.last_key.extend_from_slice(&key[common..]);
        shared
    }

    /// Adds an entry, whose key sorts after the previous ones. The caller keeps the block below 4 GiB.
    /// Returns the number of bytes that the key has in common with the previous one, whether or not the entry
    /// shares them.
    #[inline]
    pub fn add(&mut self, key: &[u8], value: &[u8]) -> usize {
        let common = shared_len(&self.last_key, key);
        self.add_sharing(key, common, value);
        common
    }

    /// Adds an entry as [`add`](BlockBuilder::add) does, for a key that is known to have `common` bytes in
    /// common with the [previous one](BlockBuilder::last_key).
    #[inline]
    pub fn add_sharing(&mut self, key: &[u8], common: usize, value: &[u8]) {
        let shared = self.start_entry(key, common);
        if self.values.is_some() {
            return self.add_apart(key, shared, value);
        }
        let rest = &key[shared..];
        self.buffer.reserve(3 * MAX_VARINT32 + rest.len() + value.len());
        if shared | rest.len() | value.len() < 0x80 {
            self.buffer
                .extend_from_slice(&[shared as u8, rest.len() as u8, value.len() as u8]);
        } else {
            put_varint32(&mut self.buffer, shared as u32);
            put_varint32(&mut self.buffer, rest.len() as u32);
            put_varint32(&mut self.buffer, value.len() as u32);
        }
        self.buffer.extend_from_slice(rest);
        self.buffer.extend_from_slice(value);
        if self.hash_index.is_some() {
            self.add_to_hash_index(key);
        }
    }

    /// Adds the started entry, with its value in the values section.
    #[inline(never)]
    fn add_apart(&mut self, key: &[u8], shared: usize, value: &[u8]) {
        let Some(values) = &mut self.values else { return };
        put_varint32(&mut self.buffer, shared as u32);
        put_varint32(&mut self.buffer, (key.len() - shared) as u32);
        put_varint32(&mut self.buffer, value.len() as u32);
        // The first entry since the restart point.
        if self.counter == 1 {
            put_varint32(&mut self.buffer, values.len() as u32);
        }
        self.buffer.extend_from_slice(&key[shared..]);
        values.extend_from_slice(value);
        if self.hash_index.is_some() {
            self.add_to_hash_index(key);
        }
    }

    #[inline(never)]
    fn add_to_hash_index(&mut self, key: &[u8]) {
        if let Some(hash_index) = &mut self.hash_index {
            hash_index.add(user_key(key), self.restarts.len() - 1);
            self.hash_index_size = hash_index.size();
        }
    }

    /// Adds an entry to an index block with delta-coded values, which have no length: `full` if the key
    /// shares nothing with the previous one, `delta` otherwise.
    pub fn add_delta(&mut self, key: &[u8], full: &[u8], delta: &[u8]) {
        let shared = self.start_entry(key, shared_len(&self.last_key, key));
        put_varint32(&mut self.buffer, shared as u32);
        put_varint32(&mut self.buffer, (key.len() - shared) as u32);
        self.buffer.extend_from_slice(&key[shared..]);
        self.buffer
            .extend_from_slice(if shared == 0 { full } else { delta });
    }

    /// Ends the block and returns its contents and its last key. Call [`reset`](BlockBuilder::reset) next;
    /// the buffer is lent so that a trailer can be appended to the contents, or so that it can be kept.
    pub fn finish(&mut self) -> (&mut Vec<u8>, &[u8]) {
        let size = self.size();
        self.buffer.reserve(size - self.buffer.len());
        let values_offset = self.buffer.len() as u32;
        if let Some(values) = &self.values {
            self.buffer.extend_from_slice(values);
        }
        for restart in &self.restarts {
            self.buffer.extend_from_slice(&restart.to_le_bytes());
        }
        let mut packed = self.restarts.len() as u32;
        if let Some(hash_index) = &self.hash_index
            && hash_index.finish(size, &mut self.buffer)
        {
            packed |= HASH_INDEX;
        }
        if self.values.is_some() {
            packed |= SEPARATED;
            self.buffer.extend_from_slice(&values_offset.to_le_bytes());
        }
        self.buffer.extend_from_slice(&packed.to_le_bytes());
        (&mut self.buffer, &self.last_key)
    }

    /// Begins the next block. The last key is kept.
    pub fn reset(&mut self) {
        self.buffer.clear();
        self.restarts.clear();
        self.restarts.push(0);
        self.counter = 0;
        if let Some(values) = &mut self.values {
            values.clear();
        }
        if let Some(hash_index) = &mut self.hash_index {
            hash_index.reset();
            self.hash_index_size = hash_index.size();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::{unhex, vectors};

    #[test]
    fn a_data_block_is_rocksdbs_to_the_byte() {
        let blocks = vectors("data_block");
        let (mut rebuilt, mut apart) = (0, 0);
        for vector in &blocks {
            let flags = &vector["flags"];
            let hash = (flags["hash"] == true).then_some(0.75);
            let mut builder = BlockBuilder::of_data(16, true, hash);
            if flags["sep"] == true {
                builder = builder.with_values_apart();
                apart += 1;
            }
            for entry in vector["entries"].as_array().unwrap() {
                builder.add(&unhex(&entry["internal_key_hex"]), &unhex(&entry["value_hex"]));
            }
            let size = builder.size();
            let contents = builder.finish().0;
            assert_eq!(*contents, unhex(&vector["block_hex"]));
            assert_eq!(contents.len(), size);
            rebuilt += 1;
        }
        assert_eq!((rebuilt, apart), (blocks.len(), blocks.len() - 2));
        assert!(apart > 0);
    }

    #[test]
    fn an_empty_block_has_one_restart_point() {
        let mut builder = BlockBuilder::new(16);
        assert_eq!(builder.size(), 8);
        assert_eq!(*builder.finish().0, [0, 0, 0, 0, 1, 0, 0, 0]);
    }

    #[test]
    fn keys_share_prefixes_between_restart_points_only() {
        let mut builder = BlockBuilder::new(2);
        let common: Vec<usize> = ["aaab", "aaac", "aab", "b"]
            .map(|key| builder.add(key.as_bytes(), b"v"))
            .into();
        assert_eq!(common, [0, 3, 2, 0]);
        let size = builder.size();
        let contents = builder.finish().0.clone();
        assert_eq!(contents.len(), size);
        let mut expected = b"\x00\x04\x01aaabv\x03\x01\x01cv\x00\x03\x01aabv\x00\x01\x01bv".to_vec();
        for word in [0u32, 13, 2] {
            expected.extend_from_slice(&word.to_le_bytes());
        }
        assert_eq!(contents, expected);

        builder.reset();
        assert!(builder.is_empty());
        assert_eq!(
            builder.add(b"bc", &[7; 200]),
            1,
            "the last key of the block before is still known"
        );
        assert_eq!(
            builder.finish().0[..6],
            *b"\x00\x02\xc8\x01bc",
            "and is not shared with"
        );
    }
}

//! An index block under construction.

use base::internal_key::user_key;

use crate::block::builder::BlockBuilder;
use crate::format::{BlockHandle, MAX_HANDLE_LEN};

/// The coding of the entries of index blocks, top-level blocks included, and of the top level of a
/// partitioned filter.
#[derive(Clone, Copy)]
pub(super) struct BlockCoding {
    /// True if two neighbouring blocks are not separated by a user key alone.
    pub internal_keys: bool,
    pub delta: bool,
    pub restart_interval: usize,
}

/// An index block under construction.
pub(super) struct IndexBlock {
    block: BlockBuilder,
    coding: BlockCoding,
    last_size: u64,
    full: Vec<u8>,
    delta: Vec<u8>,
}

impl IndexBlock {
    pub fn new(coding: BlockCoding) -> IndexBlock {
        IndexBlock {
            block: BlockBuilder::new(coding.restart_interval),
            coding,
            last_size: 0,
            full: Vec::with_capacity(MAX_HANDLE_LEN),
            delta: Vec::with_capacity(MAX_HANDLE_LEN),
        }
    }

    /// Adds an entry for the internal key `separator`. The entry's value is the handle, followed by
    /// `first_key`.
    pub fn add(&mut self, separator: &[u8], handle: BlockHandle, first_key: Option<&[u8]>) {
        let key = match self.coding.internal_keys {
            true => separator,
            false => user_key(separator),
        };
        self.full.clear();
        handle.encode(&mut self.full);
        if let Some(first_key) = first_key {
            base::coding::put_length_prefixed(&mut self.full, first_key);
        }
        if self.coding.delta {
            self.delta.clear();
            let delta = handle.size.wrapping_sub(self.last_size) as i64;
            base::coding::put_zigzag64(&mut self.delta, delta);
            if let Some(first_key) = first_key {
                base::coding::put_length_prefixed(&mut self.delta, first_key);
            }
            self.block.add_delta(key, &self.full, &self.delta);
        } else {
            self.block.add(key, &self.full);
        }
        self.last_size = handle.size;
    }

    /// The block builder.
    pub fn builder(&self) -> &BlockBuilder {
        &self.block
    }

    /// The contents of the finished block.
    pub fn finish(mut self) -> Vec<u8> {
        std::mem::take(self.block.finish().0)
    }
}

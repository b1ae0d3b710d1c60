//! The hints of a hash index: for each prefix the data blocks that hold it.
//!
//! ```text
//! rocksdb.hashindex.prefixes   prefix*
//! rocksdb.hashindex.metadata   (bytes of the prefix v32 ‖ its first data block v32 ‖ data blocks v32) *
//! ```
//!
//! RocksDB searches no block for a prefix that has no hint. So a table in which some key has no prefix has no
//! hints.

use std::sync::Arc;

use base::coding::put_varint32;
use base::prefix::PrefixExtractor;

pub(super) struct PrefixBlocks {
    extractor: Arc<dyn PrefixExtractor>,
    prefixes: Vec<u8>,
    metadata: Vec<u8>,
    /// The prefix of the key added last.
    last: Vec<u8>,
    /// The data blocks of the last prefix; empty before the first key.
    blocks: std::ops::Range<u32>,
    /// True if some key added is outside the domain of the prefix extractor.
    incomplete: bool,
}

impl PrefixBlocks {
    pub fn new(extractor: Arc<dyn PrefixExtractor>) -> PrefixBlocks {
        PrefixBlocks {
            extractor,
            prefixes: Vec::new(),
            metadata: Vec::new(),
            last: Vec::new(),
            blocks: 0..0,
            incomplete: false,
        }
    }

    /// Adds a key of data block `block`: a user key without timestamp. Keys must come in order.
    pub fn add(&mut self, key: &[u8], block: u32) {
        let extractor = self.extractor.clone();
        let Some(prefix) = extractor.prefix_of(key) else {
            self.incomplete = true;
            return;
        };
        if self.blocks.is_empty() || self.last != prefix {
            self.end_prefix();
            self.last.clear();
            self.last.extend_from_slice(prefix);
            self.blocks = block..block;
        }
        self.blocks.end = block + 1;
    }

    fn end_prefix(&mut self) {
        if !self.blocks.is_empty() {
            self.prefixes.extend_from_slice(&self.last);
            for number in [
                self.last.len() as u32,
                self.blocks.start,
                self.blocks.end - self.blocks.start,
            ] {
                put_varint32(&mut self.metadata, number);
            }
        }
    }

    /// The contents of the two blocks, prefixes first. `None` if the hints would be incomplete.
    pub fn finish(mut self) -> Option<[Vec<u8>; 2]> {
        self.end_prefix();
        (!self.incomplete).then_some([self.prefixes, self.metadata])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(keys: &[(&str, u32)]) -> Option<[Vec<u8>; 2]> {
        let mut prefixes = PrefixBlocks::new(base::prefix::builtin("fixed:2").unwrap());
        for (key, block) in keys {
            prefixes.add(key.as_bytes(), *block);
        }
        prefixes.finish()
    }

    #[test]
    fn each_prefix_has_its_blocks() {
        let [prefixes, metadata] = blocks(&[
            ("aa1", 0),
            ("aa2", 0),
            ("ab1", 0),
            ("ab1", 1),
            ("ab3", 2),
            ("b1", 2),
            ("cc", 300),
        ])
        .unwrap();
        assert_eq!(prefixes, b"aaabb1cc");
        assert_eq!(metadata, [2, 0, 1, 2, 0, 3, 2, 2, 1, 2, 0xac, 2, 1]);
        assert_eq!(blocks(&[]).unwrap(), [b"", b""]);
        assert_eq!(
            blocks(&[("aa", 0), ("b", 0)]),
            None,
            "a key without a prefix has no hint"
        );
    }
}

//! The hash index of a data block: the restart point at which a search for a user key begins, in one byte per
//! bucket.
//!
//! ```text
//! bucket = Hash32(user key, 397) mod buckets    holds the number of a restart point, 254 for several, 255 for none
//! index  = bucket u8 × buckets ‖ buckets u16    behind the restart array
//! ```
//!
//! It is written for RocksDB, which begins a Get there. Our code does not read it: a block in memory has an
//! entry index, which leads to the entry itself.

use codec::hash::{DATA_BLOCK_INDEX_SEED, hash32};

/// The bucket has several restart points.
const COLLISION: u8 = 254;
/// The bucket is empty.
const EMPTY: u8 = 255;
/// The number of restart points that a bucket can name.
const MAX_RESTARTS: usize = 253;
/// Larger blocks have no hash index.
const MAX_BLOCK_SIZE: usize = 64 << 10;

/// Collects the keys of one block after another.
#[derive(Debug)]
pub(super) struct HashIndexBuilder {
    buckets_per_key: f64,
    /// The hash and the restart point of each key. Several versions of one key have a further pair only if
    /// the restart point changes.
    keys: Vec<(u32, u8)>,
    /// The number of buckets: proportional to the keys, including versions.
    buckets: f64,
    /// True if a key is after a restart point that no bucket can name.
    too_many: bool,
}

impl HashIndexBuilder {
    /// A builder with `util_ratio` keys per bucket; 0 or less counts as 0.75.
    pub fn new(util_ratio: f64) -> HashIndexBuilder {
        let util_ratio = if util_ratio > 0.0 { util_ratio } else { 0.75 };
        HashIndexBuilder {
            buckets_per_key: 1.0 / util_ratio,
            keys: Vec::new(),
            buckets: 0.0,
            too_many: false,
        }
    }

    /// Adds a user key after the restart point of that number.
    pub fn add(&mut self, user_key: &[u8], restart: usize) {
        if restart > MAX_RESTARTS {
            self.too_many = true;
            return;
        }
        self.buckets += self.buckets_per_key;
        let key = (hash32(user_key, DATA_BLOCK_INDEX_SEED), restart as u8);
        if self.keys.last() != Some(&key) {
            self.keys.push(key);
        }
    }

    fn num_buckets(&self) -> u16 {
        self.buckets as u16 | 1
    }

    /// The size that the hash index would have now; 0 if the block gets none.
    pub fn size(&self) -> usize {
        match self.too_many {
            true => 0,
            false => 2 + usize::from(self.num_buckets()),
        }
    }

    /// Appends the index to a block of `size` bytes, including the index, if the block can have one.
    pub fn finish(&self, size: usize, out: &mut Vec<u8>) -> bool {
        if self.too_many || size > MAX_BLOCK_SIZE {
            return false;
        }
        let start = out.len();
        let buckets = self.num_buckets();
        out.resize(start + usize::from(buckets), EMPTY);
        for &(hash, restart) in &self.keys {
            let bucket = &mut out[start + (hash % u32::from(buckets)) as usize];
            *bucket = match *bucket {
                EMPTY => restart,
                there if there == restart => restart,
                _ => COLLISION,
            };
        }
        out.extend_from_slice(&buckets.to_le_bytes());
        true
    }

    /// Clears the hash index for the next block.
    pub fn reset(&mut self) {
        self.keys.clear();
        self.buckets = 0.0;
        self.too_many = false;
    }
}

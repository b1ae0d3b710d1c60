//! A simulated LRU cache.

use std::collections::{BTreeMap, HashMap};

/// The blocks that an LRU cache of a given size in bytes would hold, and how often a lookup would miss.
pub struct Lru {
    /// The capacity of the cache in bytes.
    pub capacity: u64,
    /// The number of lookups whose block was not in the cache.
    pub misses: u64,
    used: u64,
    clock: u64,
    /// Each block with its last use and its bytes.
    blocks: HashMap<usize, (u64, u64)>,
    /// Blocks by their last use.
    by_use: BTreeMap<u64, usize>,
}

impl Lru {
    /// An empty cache.
    pub fn new(capacity: u64) -> Lru {
        Lru {
            capacity,
            misses: 0,
            used: 0,
            clock: 0,
            blocks: HashMap::new(),
            by_use: BTreeMap::new(),
        }
    }

    /// Looks up a block of `bytes` bytes. A block that is not in the cache is inserted if `inserts`, unless
    /// it is larger than the cache.
    pub fn look_up(&mut self, block: usize, bytes: u64, inserts: bool) {
        let known = self.blocks.get(&block).copied();
        self.misses += u64::from(known.is_none());
        if known.is_none() && (!inserts || bytes > self.capacity) {
            return;
        }
        self.clock += 1;
        if let Some((used, before)) = known {
            self.by_use.remove(&used);
            self.used -= before;
        }
        self.used += bytes;
        self.blocks.insert(block, (self.clock, bytes));
        self.by_use.insert(self.clock, block);
        while self.used > self.capacity
            && let Some((_, oldest)) = self.by_use.pop_first()
        {
            let (_, bytes) = self.blocks.remove(&oldest).unwrap_or_default();
            self.used -= bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_goes() {
        let mut cache = Lru::new(20);
        for block in [1, 2, 1, 3, 1, 2] {
            cache.look_up(block, 10, true);
        }
        // Block 3 has evicted block 2, and the second lookup of block 2 has evicted block 3.
        assert_eq!(cache.misses, 4);
        cache.look_up(3, 10, false);
        cache.look_up(3, 10, false);
        assert_eq!(cache.misses, 6, "not inserted");
        cache.look_up(9, 21, true);
        cache.look_up(1, 10, true);
        assert_eq!(cache.misses, 7, "a block that is too large pushes nothing out");
    }
}

//! Removes the blocks of an obsolete table from the block cache. No reader will ask for them again, and they
//! would take room until they are evicted.

use cache::CacheKey;

use super::cached_parts::PartKind;
use super::table::Table;
use crate::filter::table_filter::FilterHandle;
use crate::index::Index;
use crate::read_options::{BlockCache, BlockReadOptions};

/// The number of attempts to uncache blocks that may find nothing before the ratio of successes counts.
const MOST_ALLOWED: u32 = 3;

/// Decides how long to continue, from the results so far. The rule and its numbers are RocksDB's.
struct Advisor {
    allowance: u32,
    threshold: f64,
    useful: u32,
    useless: u32,
}

impl Advisor {
    fn new(aggressiveness: u32) -> Advisor {
        Advisor {
            allowance: aggressiveness.min(MOST_ALLOWED),
            threshold: 0.99f64.powf(f64::from(aggressiveness) - 1.0),
            useful: 0,
            useless: 0,
        }
    }

    fn goes_on(&self) -> bool {
        if self.useless < self.allowance {
            return true;
        }
        let tried = f64::from(self.useful) + f64::from(self.useless);
        (f64::from(self.useful) + 1.0) / (tried - f64::from(self.allowance) + 1.5) >= self.threshold
    }

    fn report(&mut self, erased: bool) {
        match erased {
            true => self.useful += 1,
            false => self.useless += 1,
        }
    }
}

/// The value of `uncache_aggressiveness` with which the search for blocks never ends early.
const EVERY_BLOCK: u32 = u32::MAX;

/// The uncompressed blocks of a mapped file in the block cache keep its mapping, and with it the space of the
/// file after its deletion. So none of them stays there after the table.
impl Drop for Table {
    fn drop(&mut self) {
        if self.fetcher.file().mapped().is_some() {
            self.uncache(EVERY_BLOCK);
        }
    }
}

impl Table {
    /// Removes the table's blocks from the block cache and from the secondary cache: for a table whose file
    /// is obsolete. Pinned blocks stay until they are released.
    ///
    /// `aggressiveness` is RocksDB's `uncache_aggressiveness`. With 0 nothing is done. Otherwise the search
    /// continues block by block while the share of blocks found makes it likely that the next block is in the
    /// cache: with a probability of at least 0.99 to the power of `aggressiveness` - 1. Each attempt takes a
    /// shard's lock. Nothing is read: without an index in memory nothing is found.
    pub fn uncache(&self, aggressiveness: u32) {
        let Some(cache) = &self.cache else { return };
        if aggressiveness == 0 {
            return;
        }
        let mut advisor = Advisor::new(aggressiveness);
        if self.caches_parts() {
            self.uncache_parts(cache, &mut advisor, aggressiveness);
        } else if let Some(index) = self.loaded_index() {
            self.uncache_blocks(cache, index, &mut advisor);
        }
    }

    fn uncache_blocks(&self, cache: &BlockCache, index: &Index, advisor: &mut Advisor) {
        for i in 0..index.len() {
            if !advisor.goes_on() {
                return;
            }
            let key = CacheKey {
                id: self.cache_id,
                offset: index.handle(i).offset,
            };
            advisor.report(cache.erase(key));
        }
    }

    /// Removes the data blocks that parts in memory lead to, then the parts.
    fn uncache_parts(&self, cache: &BlockCache, advisor: &mut Advisor, aggressiveness: u32) {
        let in_memory = BlockReadOptions {
            cache_only: true,
            fill_cache: false,
            ..BlockReadOptions::default()
        };
        self.cached_parts().unpin();
        let erase = |kind: PartKind, handle| cache.erase(kind.key(self.cache_id, handle));
        if !self.has_partitioned_index() {
            if let Ok(part) = self.first_part(&in_memory)
                && let Ok(index) = part.index()
            {
                self.uncache_blocks(cache, index, advisor);
            }
            erase(PartKind::Index, self.index_handle);
        } else {
            if let Ok(part) = self.first_part(&in_memory)
                && let Ok(top) = part.index()
            {
                for partition in 0..top.len() {
                    if let Ok(part) = self.partition(top, partition, &in_memory)
                        && let Ok(blocks) = part.index()
                    {
                        self.uncache_blocks(cache, blocks, advisor);
                    }
                }
                self.uncache_partitions(cache, top, PartKind::IndexPartition, aggressiveness);
            }
            erase(PartKind::TopLevelIndex, self.index_handle);
        }
        match self.filter_handle {
            FilterHandle::None => {}
            FilterHandle::Full(handle) => {
                erase(PartKind::Filter, handle);
            }
            FilterHandle::Partitioned(handle) => {
                if let Ok(part) = self.top_level_filter(handle, &in_memory)
                    && let Ok(top) = part.index()
                {
                    self.uncache_partitions(cache, top, PartKind::FilterPartition, aggressiveness);
                }
                erase(PartKind::TopLevelFilter, handle);
            }
        }
    }

    fn uncache_partitions(&self, cache: &BlockCache, top: &Index, kind: PartKind, aggressiveness: u32) {
        // Pinned partitions are in the cache, so no missing partition ends the search.
        let pinned = self.cached_parts().pins(kind);
        let mut advisor = Advisor::new(aggressiveness);
        for partition in 0..top.len() {
            if !pinned && !advisor.goes_on() {
                return;
            }
            advisor.report(cache.erase(kind.key(self.cache_id, top.handle(partition))));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of attempts, at most `most`, if every `every`th attempt finds a block.
    fn attempts(aggressiveness: u32, every: u32, most: u32) -> u32 {
        let mut advisor = Advisor::new(aggressiveness);
        for i in 0..most {
            if !advisor.goes_on() {
                return i;
            }
            advisor.report(every > 0 && (i + 1) % every == 0);
        }
        most
    }

    #[test]
    fn it_goes_on_as_long_as_it_pays() {
        // With aggressiveness 1, the search ends at the first block that is not in the cache.
        assert_eq!(attempts(1, 1, 1_000), 1_000);
        assert_eq!((attempts(1, 0, 1_000), attempts(1, 2, 1_000)), (1, 1));
        // With aggressiveness 2, the search continues while 99 of 100 blocks are found; with 69, half of
        // them; with 230, a tenth.
        assert_eq!(attempts(2, 1, 1_000), 1_000);
        assert!(attempts(2, 2, 1_000) < 10);
        assert_eq!(attempts(100, 2, 1_000), 1_000);
        assert!(attempts(69, 3, 1_000) < 20);
        assert_eq!(attempts(240, 10, 1_000), 1_000);
        assert!((10..30).contains(&attempts(230, 0, 1_000)));
        assert!((80..200).contains(&attempts(460, 0, 1_000)));
        assert_eq!(attempts(10_000, 0, 100_000), 100_000);
    }
}

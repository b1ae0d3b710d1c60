//! Loads blocks into the cache before they are requested.

use base::Result;
use base::internal_key::{KIND_FOR_SEEK, MAX_SEQNO, pack_trailer};

use super::cached_parts::index_of;
use super::load_block::Ahead;
use super::readahead::Readahead;
use super::table::Table;
use crate::block_trace::TableReaderCaller;
use crate::index::Index;
use crate::read_options::BlockReadOptions;

impl Table {
    /// Reads data blocks into the cache: those for which `wants` returns true. `wants` is called for each
    /// block in order, with an internal key near the end of the previous block, empty for the first, and one
    /// near the end of the block itself. Index and filter are read too, if they belong in the cache. The cost
    /// is that of reading the blocks, with readahead, and other entries are evicted.
    ///
    /// Errors: those of reading the file.
    pub fn warm(&self, mut wants: impl FnMut(&[u8], &[u8]) -> bool) -> Result<()> {
        let options = BlockReadOptions {
            readahead_size: WARM_READAHEAD,
            caches_first_reads: true,
            caller: TableReaderCaller::Prefetch,
            ..BlockReadOptions::default()
        };
        let mut ahead = Readahead::default();
        let mut before = Vec::new();
        if !self.caches_parts() {
            return self.warm_blocks(self.owned_index()?, &options, &mut ahead, &mut before, &mut wants);
        }
        self.load_parts()?;
        let mut partition = 0;
        while let Some(part) = self.pin_index_part(partition, &options)? {
            let index = index_of(&part)?;
            self.warm_blocks(index, &options, &mut ahead, &mut before, &mut wants)?;
            partition += 1;
        }
        Ok(())
    }

    fn warm_blocks(
        &self,
        index: &Index,
        options: &BlockReadOptions,
        ahead: &mut Readahead,
        before: &mut Vec<u8>,
        wants: &mut impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<()> {
        for i in 0..index.len() {
            let mut behind = index.separator(i).to_vec();
            if index.has_user_keys() {
                behind.extend_from_slice(&pack_trailer(MAX_SEQNO, KIND_FOR_SEEK).to_le_bytes());
            }
            if wants(before, &behind) {
                self.load_block(index, i, options, Ahead::Cursor(ahead))?;
            }
            *before = behind;
        }
        Ok(())
    }

    /// True if the data block that may hold the internal key `target` is in the cache, and so are the parts
    /// that lead to it. Reads nothing.
    pub fn has_cached_block_of(&self, target: &[u8]) -> bool {
        let Some(cache) = &self.cache else {
            return false;
        };
        let target = self.target(target);
        let cached = |index: &Index, i: usize| i < index.len() && cache.get(&index.place(i).slot).is_some();
        if !self.caches_parts() {
            return self
                .loaded_index()
                .is_some_and(|index| cached(index, self.seek_index(index, &target)));
        }
        let options = BlockReadOptions {
            cache_only: true,
            fill_cache: false,
            ..BlockReadOptions::default()
        };
        match self.seek_parts(&target, &options) {
            Ok(Some(place)) => place.part.index().is_ok_and(|index| cached(index, place.number)),
            _ => false,
        }
    }
}

/// The bytes read at a time.
const WARM_READAHEAD: usize = 256 << 10;

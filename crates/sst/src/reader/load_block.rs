//! A data block that no slot leads to: from the cache, from readahead, or from the file.

use std::sync::Arc;

use base::{Error, ErrorKind, Result};
use cache::{EntryRole, Priority, prefetch};

use super::cached_blocks::Found;
use super::readahead::Readahead;
use super::table::Table;
use crate::block::BlockPin;
use crate::block_trace;
use crate::fetch::Span;
use crate::index::Index;
use crate::read_options::{BlockCache, BlockReadOptions};

/// The bytes of a mapped block that are prefetched. Processors do not support many more outstanding lines,
/// and prefetch further by themselves.
const MAPPED_AHEAD: usize = 8 << 10;

/// A place that is searched for a block before the file is read.
pub(crate) enum Ahead<'a> {
    Nothing,
    /// The readahead of a cursor, which reads ahead now.
    Cursor(&'a mut Readahead),
    /// A range of the file that was read before.
    Read(&'a Span),
}

impl Table {
    /// The typical bytes of an uncompressed data block according to the table's properties: whole keys, and
    /// nothing for lengths.
    fn usual_block_len(&self) -> usize {
        let properties = &self.properties;
        let all = properties.raw_key_size.saturating_add(properties.raw_value_size);
        let one = all.checked_div(properties.num_data_blocks).unwrap_or(0);
        usize::try_from(one).unwrap_or(usize::MAX)
    }

    /// Data block `i`, whose slot leads to nothing: from the cache, from readahead, or from the file.
    #[cold]
    #[inline(never)]
    pub(crate) fn load_block(
        &self,
        index: &Index,
        i: usize,
        options: &BlockReadOptions,
        ahead: Ahead<'_>,
    ) -> Result<BlockPin> {
        let handle = index.handle(i);
        // All of a mapped block is about to be read, at least for its checksum. Its first lines load in
        // parallel and both of its pages are translated while the cache is searched.
        if let Some(mapped) = self.fetcher.file().mapped()
            && let Some(block) = mapped.get(handle.offset as usize..)
        {
            prefetch(
                block.as_ptr().addr(),
                block.len().min(handle.size as usize).min(MAPPED_AHEAD),
            );
        }
        let looked_up = !matches!(ahead, Ahead::Cursor(_));
        let read = |cache: Option<&Arc<BlockCache>>| {
            if options.cache_only && self.fetcher.file().mapped().is_none() {
                return Err(Error::new(ErrorKind::Incomplete, "a block is not in the cache")
                    .at(handle.offset)
                    .in_file(self.path()));
            }
            let verify = options.verify_checksums;
            let started = self.start_of_read();
            let memory = cache.map(|cache| cache.memory());
            let block = match ahead {
                Ahead::Nothing => self
                    .fetcher
                    .data_block(handle, verify, &Span::default(), memory)?,
                Ahead::Read(span) => self.fetcher.data_block(handle, verify, span, memory)?,
                Ahead::Cursor(ahead) => {
                    if !options.cache_only {
                        ahead.before_read(self, index, i, options)?;
                    }
                    self.fetcher.data_block(handle, verify, ahead.span(), memory)?
                }
            };
            self.record_read(started);
            let protected = block.protect(self.block_protection);
            let block = protected.map_err(|error| self.fetcher.in_block(error, handle))?;
            Ok(if verify { block } else { block.unverified() })
        };
        let Some(cache) = &self.cache else {
            return Ok(BlockPin::Owned(Arc::new(read(None)?)));
        };
        let key = self.block_key(handle);
        // A block that was not verified is replaced by a verified one.
        let mut replaces = false;
        if self.slots_tell_all && !index.place(i).slot.is_set() {
            cache.record_absent(key);
        } else {
            match self.lookup_block(cache, index, i, options) {
                Found::Block(block) => return Ok(block),
                Found::Unverified => replaces = true,
                Found::Nothing => {}
            }
        }
        self.record_miss(EntryRole::DataBlock);
        let always = replaces || self.caches_first_reads || options.caches_first_reads;
        let len = self.usual_block_len().max(handle.size as usize);
        if !options.fill_cache || !always && !cache.admits(key, len) {
            index.record_read(i, true);
            let block = read(None)?;
            if block_trace::is_on() {
                self.trace_data(index, i, &block, false, options);
            }
            return Ok(BlockPin::Owned(Arc::new(block)));
        }
        let block = read(Some(cache))?;
        if looked_up {
            block.expect_searches();
        }
        if block_trace::is_on() {
            self.trace_data(index, i, &block, false, options);
        }
        let charge = block.charge();
        let inserted = cache.insert_as(key, block, charge, Priority::Low, EntryRole::DataBlock);
        self.record_insert(EntryRole::DataBlock, charge, inserted.is_ok());
        Ok(match inserted {
            Ok(block) => {
                index.place(i).slot.store(&block);
                BlockPin::Cached(block)
            }
            Err(block) => BlockPin::Owned(Arc::new(block)),
        })
    }
}

//! The lookups of a table's blocks, recorded while a trace is on.

use std::ops::ControlFlow;

use base::coding;
use base::internal_key::set_seek_target;

use super::table::Table;
use crate::block::Block;
use crate::block::search::{Lookup, visit_versions};
use crate::block_trace::{BlockAccess, BlockTrace, GetAccess, TableReaderCaller, TracedBlock, with_lookup};
use crate::format::BlockHandle;
use crate::read_options::BlockReadOptions;

impl Table {
    fn block_trace(&self) -> Option<&dyn BlockTrace> {
        self.block_trace.as_deref().filter(|trace| trace.is_on())
    }

    /// Records a lookup whose record is complete, and notes that of a data block for a Get, whose search
    /// follows.
    #[cold]
    #[inline(never)]
    pub(crate) fn trace_access(
        &self,
        block: TracedBlock,
        handle: BlockHandle,
        size: usize,
        is_hit: bool,
        options: &BlockReadOptions,
    ) {
        let Some(trace) = self.block_trace() else { return };
        let no_insert = options.cache_only || !options.fill_cache;
        with_lookup(|lookup| {
            let is_get = options.caller.is_get();
            if is_get && block == TracedBlock::Data {
                let noted = (self.file_number(), handle.offset, is_hit, no_insert);
                lookup.found.push(noted);
                return;
            }
            let get = is_get.then(|| GetAccess {
                get_id: lookup.id,
                from_snapshot: lookup.from_snapshot,
                key: &lookup.key,
                referenced_data_size: 0,
                num_keys_in_block: 0,
                key_exists: false,
            });
            trace.record(&BlockAccess {
                block,
                block_key: &self.trace_key(handle),
                size: size as u64,
                file_number: self.file_number(),
                caller: match is_get && lookup.id != 0 {
                    true => lookup.caller,
                    false => options.caller,
                },
                is_hit,
                no_insert,
                get,
            });
        });
    }

    /// Records the lookup of a data block that a Get or MultiGet has searched.
    #[cold]
    #[inline(never)]
    pub(crate) fn trace_searched(&self, handle: BlockHandle, block: &Block, lookup: &Lookup<'_>) {
        let Some(trace) = self.block_trace() else { return };
        let (mut bytes, mut exists) = (0, false);
        let counted = visit_versions(block, lookup, &mut |key, value| {
            bytes += (key.len() + value.len()) as u64;
            exists = true;
            ControlFlow::Continue(())
        });
        if counted.is_err() {
            // If the index cannot be read, the read of the block reports the error.
            return;
        }
        with_lookup(|thread| {
            let mut noted = thread.found.iter_mut();
            let noted = noted.find(|noted| (noted.0, noted.1) == (self.file_number(), handle.offset));
            // A block that serves several keys of a MultiGet is looked up once; for the other keys it counts
            // as a hit.
            let (is_hit, no_insert) = match noted {
                Some(noted) => (std::mem::replace(&mut noted.2, true), noted.3),
                None if thread.id == 0 => return,
                None => (true, false),
            };
            let mut key = Vec::new();
            set_seek_target(&mut key, lookup.user_key, lookup.seqno);
            let properties = self.properties();
            let per_block = properties.num_entries.checked_div(properties.num_data_blocks);
            trace.record(&BlockAccess {
                block: TracedBlock::Data,
                block_key: &self.trace_key(handle),
                size: block.charge() as u64,
                file_number: self.file_number(),
                caller: match thread.id {
                    0 => TableReaderCaller::UserGet,
                    _ => thread.caller,
                },
                is_hit,
                no_insert,
                get: Some(GetAccess {
                    get_id: thread.id,
                    from_snapshot: thread.from_snapshot,
                    key: &key,
                    referenced_data_size: bytes,
                    num_keys_in_block: per_block.unwrap_or(0).max(1),
                    key_exists: exists,
                }),
            });
        });
    }

    fn trace_key(&self, handle: BlockHandle) -> Vec<u8> {
        let mut key = Vec::new();
        coding::put_varint64(&mut key, self.cache_id);
        coding::put_varint64(&mut key, handle.offset);
        key
    }
}

//! The index of an open table that owns it.

use std::ops::Deref;

use base::{Error, Result};

use super::table::Table;
use crate::block::Target;
use crate::format::{BlockHandle, FOOTER_LEN, Footer, IndexType};
use crate::index::{self, Index, IndexBuilder, IndexCoding};

/// The whole index of a table, owned by the table or by the caller.
#[derive(Debug)]
pub enum IndexRef<'a> {
    /// The table owns the index.
    Own(&'a Index),
    /// The index was read for the caller, from a table that keeps its index in the cache.
    Read(Box<Index>),
}

impl Deref for IndexRef<'_> {
    type Target = Index;

    fn deref(&self) -> &Index {
        match self {
            IndexRef::Own(index) => index,
            IndexRef::Read(index) => index,
        }
    }
}

impl Table {
    /// The whole index, decoded. The first call reads the file. If the index is in the cache, every call
    /// reads the file, and the cache is neither searched nor filled.
    pub fn index(&self) -> Result<IndexRef<'_>> {
        match self.parts {
            None => self.owned_index().map(IndexRef::Own),
            Some(_) => self.load_index().map(Box::new).map(IndexRef::Read),
        }
    }

    /// The index of a table that owns it. The first call reads the file.
    #[inline]
    pub(crate) fn owned_index(&self) -> Result<&Index> {
        self.index.get_or_try(|| self.load_index())
    }

    /// The index, if the table owns it and has loaded it.
    #[inline]
    pub(crate) fn loaded_index(&self) -> Option<&Index> {
        self.index.value.get()
    }

    pub(super) fn load_index(&self) -> Result<Index> {
        self.with_index_handle(|handle| self.load_index_at(handle))
    }

    /// The result of `read` for the index at its handle. Below format version 6 the footer has no checksum.
    /// If the index is not at its handle, the footer may have been read wrong when the table was opened, so
    /// it is read again.
    #[inline]
    pub(super) fn with_index_handle<R>(&self, read: impl Fn(BlockHandle) -> Result<R>) -> Result<R> {
        let result = read(self.index_handle);
        match result.as_ref().is_err_and(Error::is_corruption) {
            true => self.index_handle_again().map_or(result, read),
            false => result,
        }
    }

    /// The index handle of the footer, read again. `None` if it has not changed.
    #[cold]
    fn index_handle_again(&self) -> Option<BlockHandle> {
        self.footer.index?;
        let offset = self.file_size() - FOOTER_LEN as u64;
        let mut footer = [0; FOOTER_LEN];
        self.fetcher.file().read_exact_at(offset, &mut footer).ok()?;
        let handle = Footer::decode(&footer, offset).ok()?.index?;
        (handle != self.index_handle).then_some(handle)
    }

    fn load_index_at(&self, handle: BlockHandle) -> Result<Index> {
        base::perf::count(|cells| &cells.index_block_read_count, 1);
        let _timer = base::perf::time(|cells| &cells.read_index_block_nanos);
        let coding = IndexCoding::of(&self.properties);
        let limit = self.file_size() - FOOTER_LEN as u64;
        let mut builder = IndexBuilder::new(coding.user_keys, limit);
        let mut add = |handle: BlockHandle| {
            let block = self.fetcher.meta_block(handle, self.verify_checksums)?;
            builder
                .add_block(&block, coding)
                .map_err(|error| self.fetcher.in_block(error, handle))
        };
        if self.properties.index_type == IndexType::TwoLevel {
            for handle in self.partitions(handle)? {
                add(handle)?;
            }
        } else {
            add(handle)?;
        }
        Ok(builder.build(&self.stored_order))
    }

    /// The handles in the top-level index at `handle`. Partitions do not overlap, so the size of the file
    /// bounds their number.
    pub(crate) fn partitions(&self, handle: BlockHandle) -> Result<Vec<BlockHandle>> {
        let block = self.fetcher.meta_block(handle, self.verify_checksums)?;
        let coding = IndexCoding::of(&self.properties).top_level();
        let mut handles = Vec::new();
        let mut end = 0;
        index::decode_block(&block, coding, |entry| {
            if entry.handle.offset < end {
                return Err(Error::corruption("partitions overlap"));
            }
            end = entry.handle.end().unwrap_or(u64::MAX);
            handles.push(entry.handle);
            Ok(())
        })
        .map_err(|error| self.fetcher.in_block(error, handle))?;
        Ok(handles)
    }

    /// The first data block that can hold an entry at or after the target.
    #[inline(always)]
    pub(crate) fn seek_index(&self, index: &Index, target: &Target<'_>) -> usize {
        index.seek(target, &self.stored_order, &self.form)
    }
}

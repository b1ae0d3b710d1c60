//! An open table: what is kept of it in memory, and point lookups.
//!
//! Opening reads the footer, the metaindex, the properties, the dictionary and the range deletions. The index and the
//! filter are read and decoded by the first who needs them, and stay: the table owns them, not the cache, and
//! [`Table::memory_usage`] counts them. With [`TableReadOptions::metadata_caching`] they lie in the cache instead
//! (`parts`), which bounds what open tables take.

mod counted;
mod filter;
mod get;
mod open;
mod parts;
#[cfg(test)]
mod tests;
mod uncache;
mod warm;

use std::fmt;
use std::ops::Deref;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use base::prefix::PrefixExtractor;
use base::statistics::Statistics;
use base::sync::Mutex;
use base::{Error, InternalComparator, Result, SeqNo, UserComparator};
use cache::{Cache, SecondaryTally};
use rangedel::FragmentedTombstones;
use vfs::RandomAccessFile;

use crate::block::{Block, KeyForm, Target};
use crate::cursor::TableCursor;
use crate::fetch::BlockFetcher;
use crate::format::{BlockHandle, FOOTER_LEN, Footer, IndexType, meta};
use crate::index::{self, Index, IndexBuilder, IndexCoding};
use crate::properties::TableProperties;
use crate::readahead::AutoReadahead;

use filter::{FilterHandle, TableFilter};
pub(crate) use get::Ahead;
pub use get::{Approached, Located, Value};
pub(crate) use open::read_properties;
use parts::CachedParts;
pub use parts::MetadataCaching;
pub(crate) use parts::index_of;

/// The cache of blocks, and of indexes and filters where they lie there, shared by all tables of a process or a database.
pub type BlockCache = Cache<Block>;

/// How to open a table.
#[derive(Clone)]
pub struct TableReadOptions {
    /// The order of internal keys: that of the column family. The name in the properties is not compared with it.
    pub cmp: InternalComparator,
    /// The number of the file, for people.
    pub file_number: u64,
    /// The highest sequence number of the file by MANIFEST, which is the global one of an ingested file. `None` where
    /// there is no MANIFEST: then the properties decide.
    pub largest_seqno: Option<SeqNo>,
    /// Where data blocks are kept. `None`: every access reads the file.
    pub cache: Option<Arc<BlockCache>>,
    /// The table's identity in the cache, one of [`Cache::new_id`] of that cache: given again for the same file, what it left
    /// in the cache is found there. Default: a new one.
    pub cache_id: Option<u64>,
    /// No table was opened with that `cache_id` before: whatever of this one is in the cache, it put there itself and knows the way to.
    /// Default false; true of a table that is given none.
    pub cache_id_is_new: bool,
    /// Data blocks go into a full cache when they are read for the first time. If not, when they are asked for again before long:
    /// [`Cache::admits`]. Default false.
    pub caches_first_reads: bool,
    /// Where it is counted what came back from the cache's secondary cache. Default: a count of its own.
    pub secondary_tally: Arc<SecondaryTally>,
    /// Where it is counted what is found in the cache, read, filtered and uncompressed. Default: nowhere.
    pub statistics: Option<Arc<Statistics>>,
    /// Index and filter lie in the cache too, and are read again when they were evicted; without a cache, whenever they are
    /// needed. Default: the table owns them.
    pub metadata_caching: Option<MetadataCaching>,
    /// The column family's prefix extractor. Prefixes are looked up in the filter only if the table was written with one
    /// of the same name.
    pub prefix_extractor: Option<Arc<dyn PrefixExtractor>>,
    /// Verify the checksums of meta blocks, index and filter as they are read. Default true.
    pub verify_checksums: bool,
    /// Bytes of a checksum for each entry of a data block in memory, made when the block is read and compared whenever the entry
    /// is: 0, 1, 2, 4 or 8. Default 0: none.
    pub block_protection_bytes_per_key: u8,
    /// How cursors read ahead that are not told how much to.
    pub auto_readahead: AutoReadahead,
}

impl TableReadOptions {
    /// For tables in that order, with no cache and no prefix extractor.
    pub fn new(cmp: InternalComparator) -> TableReadOptions {
        TableReadOptions {
            cmp,
            file_number: 0,
            largest_seqno: None,
            cache: None,
            cache_id: None,
            cache_id_is_new: false,
            caches_first_reads: false,
            secondary_tally: Arc::default(),
            statistics: None,
            metadata_caching: None,
            prefix_extractor: None,
            verify_checksums: true,
            block_protection_bytes_per_key: 0,
            auto_readahead: AutoReadahead::default(),
        }
    }
}

/// How to read data blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockReadOptions {
    /// Verify the checksum of each block. If not, blocks that are read go into the cache unverified, and the first reader that has them
    /// verified reads them again. Default true.
    pub verify_checksums: bool,
    /// Keep blocks read from the file in the cache. Default true.
    pub fill_cache: bool,
    /// Even those that a full cache would not take yet. Default false.
    pub caches_first_reads: bool,
    /// Read nothing from the file: what is neither in the cache nor mapped is the error `Incomplete`. Default false.
    pub cache_only: bool,
    /// Bytes a cursor reads beyond a block, into memory of its own, and as many that it asks the file to have ready. 0, the
    /// default: as the table's [`AutoReadahead`] says.
    pub readahead_size: usize,
    /// What is read ahead automatically goes on as before in the next table of a level, and through blocks that are in the cache,
    /// for each of which it becomes 8 KiB less. Default false: it begins anew.
    pub adaptive_readahead: bool,
    /// Nothing is read ahead beyond the bounds of the scan, nor at the end of a window what is in the cache. Default true.
    pub auto_readahead_size: bool,
    /// A cursor that reads ahead has the next window read while it walks through the one at hand. Default false.
    pub async_io: bool,
}

impl Default for BlockReadOptions {
    fn default() -> BlockReadOptions {
        BlockReadOptions {
            verify_checksums: true,
            fill_cache: true,
            caches_first_reads: false,
            cache_only: false,
            readahead_size: 0,
            adaptive_readahead: false,
            auto_readahead_size: true,
            async_io: false,
        }
    }
}

/// Made once, by the first who needs it.
struct Lazy<T> {
    value: OnceLock<T>,
    making: Mutex<()>,
}

impl<T> Lazy<T> {
    fn new() -> Lazy<T> {
        Lazy {
            value: OnceLock::new(),
            making: Mutex::new(()),
        }
    }

    #[inline]
    fn get_or_try(&self, make: impl FnOnce() -> Result<T>) -> Result<&T> {
        match self.value.get() {
            Some(value) => Ok(value),
            None => self.make(make),
        }
    }

    #[cold]
    #[inline(never)]
    fn make(&self, make: impl FnOnce() -> Result<T>) -> Result<&T> {
        let _making = self.making.lock();
        if let Some(value) = self.value.get() {
            return Ok(value);
        }
        let value = make()?;
        Ok(self.value.get_or_init(|| value))
    }
}

/// The whole index of a table: the table's own, or read for who asked.
#[derive(Debug)]
pub enum IndexRef<'a> {
    /// The table owns it.
    Own(&'a Index),
    /// Made for who asked, of a table that keeps its index in the cache.
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

/// Bytes a table keeps in memory outside of the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableMemory {
    /// Its index, if it owns it.
    pub index: usize,
    /// Its filter, if it owns it.
    pub filter: usize,
    /// Range deletions and the rest.
    pub other: usize,
}

/// A table open for reading. Shared by all who read it; everything in it is immutable but the cache slots.
pub struct Table {
    pub(crate) fetcher: BlockFetcher,
    pub(crate) footer: Footer,
    pub(crate) metaindex: Vec<(Vec<u8>, BlockHandle)>,
    pub(crate) index_handle: BlockHandle,
    properties: TableProperties,
    pub(crate) cmp: InternalComparator,
    /// The order of user keys as blocks hold them.
    pub(crate) stored_order: UserComparator,
    pub(crate) form: KeyForm,
    range_tombstones: Arc<FragmentedTombstones>,
    index: Lazy<Index>,
    filter: Lazy<Option<TableFilter>>,
    /// Set if index and filter lie in the cache: then the two above stay empty.
    parts: Option<Box<CachedParts>>,
    filter_handle: FilterHandle,
    /// Set if the filter holds prefixes of this extractor and no whole keys can be asked for.
    filter_prefixes: Option<Arc<dyn PrefixExtractor>>,
    filter_has_whole_keys: bool,
    has_first_keys: bool,
    cache: Option<Arc<BlockCache>>,
    cache_id: u64,
    /// A data block that its slot in the index does not lead to is not in the cache, nor in what is below it.
    slots_tell_all: bool,
    caches_first_reads: bool,
    secondary_tally: Arc<SecondaryTally>,
    file_number: u64,
    largest_seqno: Option<SeqNo>,
    verify_checksums: bool,
    block_protection: u8,
    pub(crate) auto_readahead: AutoReadahead,
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("path", &self.fetcher.path())
            .field("footer", &self.footer)
            .finish_non_exhaustive()
    }
}

impl Table {
    /// What the table says about itself.
    pub fn properties(&self) -> &TableProperties {
        &self.properties
    }

    /// True if its data blocks are compressed with a dictionary of its own.
    pub(crate) fn has_dictionary(&self) -> bool {
        let mut names = self.metaindex.iter().map(|(name, _)| &name[..]);
        names.any(|name| name == meta::COMPRESSION_DICT.as_bytes())
    }

    /// The range deletions, in fragments, as they stand in the file: not cut to the bounds the file has in MANIFEST.
    pub fn range_tombstones(&self) -> &Arc<FragmentedTombstones> {
        &self.range_tombstones
    }

    /// No entry has a higher sequence number, range tombstones left out of account where the table tells: the highest there can be where
    /// neither table nor MANIFEST tell any.
    pub fn largest_entry_seqno(&self) -> SeqNo {
        let told = self.properties.entry_largest_seqno;
        // An ingested file says what it was written with.
        let told = told.filter(|_| self.properties.external_sst_file_version.is_none());
        told.or(self.largest_seqno).unwrap_or(base::MAX_SEQNO)
    }

    /// The number of the file.
    pub fn file_number(&self) -> u64 {
        self.file_number
    }

    /// Bytes of the file, when it was opened.
    pub fn file_size(&self) -> u64 {
        self.fetcher.file().len()
    }

    /// The file as it was opened.
    pub fn file(&self) -> &Arc<dyn RandomAccessFile> {
        self.fetcher.file()
    }

    /// The path it was opened by.
    pub fn path(&self) -> &Path {
        self.fetcher.path()
    }

    /// 2 to 7.
    pub fn format_version(&self) -> u32 {
        self.footer.format_version
    }

    /// The order of its keys.
    pub fn comparator(&self) -> &InternalComparator {
        &self.cmp
    }

    /// Bytes this keeps in memory outside of the cache: index, filter, properties, range deletions. Grows when index and
    /// filter are loaded.
    pub fn memory_usage(&self) -> usize {
        let TableMemory { index, filter, other } = self.memory();
        index + filter + other
    }

    /// The same, by what it is.
    pub fn memory(&self) -> TableMemory {
        let filter = self.filter.value.get().and_then(Option::as_ref);
        let names: usize = self.metaindex.iter().map(|entry| entry.0.len()).sum();
        TableMemory {
            index: self.index.value.get().map_or(0, Index::memory_usage),
            filter: filter.map_or(0, TableFilter::memory_usage),
            other: size_of::<Table>() + names + self.range_tombstones.memory_usage(),
        }
    }

    /// The whole index, decoded. Reads the file the first time; each time if the index lies in the cache, which is neither
    /// asked nor filled.
    pub fn index(&self) -> Result<IndexRef<'_>> {
        match self.parts {
            None => self.owned_index().map(IndexRef::Own),
            Some(_) => self.load_index().map(Box::new).map(IndexRef::Read),
        }
    }

    /// The index of a table that owns it. Reads the file the first time.
    #[inline]
    pub(crate) fn owned_index(&self) -> Result<&Index> {
        self.index.get_or_try(|| self.load_index())
    }

    /// The index, if the table owns it and it was read.
    #[inline]
    pub(crate) fn loaded_index(&self) -> Option<&Index> {
        self.index.value.get()
    }

    /// True once index and filter are loaded: from then on lookups read nothing from the file but data blocks. Always true
    /// where they lie in the cache: then each lookup finds out.
    pub fn is_loaded(&self) -> bool {
        self.caches_parts() || (self.index.value.get().is_some() && self.filter.value.get().is_some())
    }

    /// Loads index and filter now, so that no later lookup has to, unless they are evicted meanwhile.
    pub fn load(&self) -> Result<()> {
        if self.caches_parts() {
            return self.load_parts();
        }
        self.owned_index()?;
        self.filter()?;
        Ok(())
    }

    fn load_index(&self) -> Result<Index> {
        self.with_index_handle(|handle| self.load_index_at(handle))
    }

    /// What `read` makes of the index, which lies where it is told. Below format version 6 the footer has no checksum: where the index is not
    /// where it says, it may have been read wrong when the table was opened, and is read again.
    #[inline]
    fn with_index_handle<R>(&self, read: impl Fn(BlockHandle) -> Result<R>) -> Result<R> {
        let result = read(self.index_handle);
        match result.as_ref().is_err_and(Error::is_corruption) {
            true => self.index_handle_again().map_or(result, read),
            false => result,
        }
    }

    /// Where the footer says that the index is, if that is not where it said before.
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

    /// The handles in the top-level index at `handle`. Partitions lie apart, so their number is bounded by the file.
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

    /// True if the index tells the first key of each block, so that a cursor may stand there without the block.
    #[inline]
    pub fn has_first_keys(&self) -> bool {
        self.has_first_keys
    }

    #[inline(always)]
    pub(crate) fn target<'a>(&self, internal_key: &'a [u8]) -> Target<'a> {
        self.form.target(internal_key, self.cmp.user())
    }

    /// The first data block that can hold an entry at or after the target.
    #[inline(always)]
    pub(crate) fn seek_index(&self, index: &Index, target: &Target<'_>) -> usize {
        index.seek(target, &self.stored_order, &self.form)
    }

    /// A cursor over all entries of the table. Not placed yet.
    pub fn cursor(self: &Arc<Self>, options: BlockReadOptions) -> TableCursor {
        TableCursor::new(self.clone(), options)
    }

    /// Up to `most` user keys, without timestamps, that cut the table into parts of about the same size, each with the bytes of
    /// data blocks between the one before and itself. All but the last stand between two blocks; the last stands behind all.
    ///
    /// Errors: those of reading the index, the first time.
    pub fn anchors(&self, most: usize) -> Result<Vec<(Vec<u8>, u64)>> {
        let index = self.index()?;
        let step = index.len().div_ceil(most.max(1)).max(1);
        let mut anchors = Vec::with_capacity(index.len().div_ceil(step));
        let mut from = 0;
        while from < index.len() {
            let last = (from + step).min(index.len()) - 1;
            let separator = index.separator(last);
            let user_key = match index.has_user_keys() {
                true => separator,
                false => base::internal_key::user_key(separator),
            };
            let bare = match self.form.timestamp_size() {
                0 => self.cmp.user().strip_timestamp(user_key),
                _ => user_key,
            };
            let bytes = (from..=last).map(|block| index.handle(block).size);
            anchors.push((bare.to_vec(), bytes.fold(0, u64::saturating_add)));
            from = last + 1;
        }
        Ok(anchors)
    }

    /// About where in the file the entries from `internal_key` on begin, to the precision of a block.
    ///
    /// Errors: those of reading the index, the first time.
    pub fn approximate_offset_of(&self, internal_key: &[u8]) -> Result<u64> {
        let target = self.target(internal_key);
        if self.caches_parts() {
            let place = self.seek_parts(&target, &BlockReadOptions::default())?;
            let handle = match &place {
                Some(place) if place.number < place.part.index()?.len() => {
                    Some(place.part.index()?.handle(place.number))
                }
                _ => None,
            };
            let end_of_data = self.properties.data_size.min(self.file_size());
            return Ok(handle.map_or(end_of_data, |handle| handle.offset));
        }
        let index = self.owned_index()?;
        let i = self.seek_index(index, &target);
        if i < index.len() {
            return Ok(index.handle(i).offset);
        }
        let end_of_data = match index.len() {
            0 => 0,
            len => index.handle(len - 1).end().unwrap_or(0),
        };
        Ok(end_of_data.max(self.properties.data_size).min(self.file_size()))
    }
}

//! An open table: its state in memory, and point lookups.
//!
//! Opening reads the footer, the metaindex, the properties, the dictionary and the range deletions. The first
//! reader that needs the index or the filter reads and decodes it, and it stays: the table owns it, not the
//! cache, and [`Table::memory_usage`] counts it. With [`TableReadOptions::metadata_caching`] index and filter
//! are in the cache instead (`parts`), which bounds the memory of open tables.

mod charge;
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
use crate::block_trace::{BlockTrace, TableReaderCaller};
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

/// The cache of blocks, shared by all tables of a process or a database. With
/// [`TableReadOptions::metadata_caching`] it also holds indexes and filters.
///
/// See the example of [`Cache`].
pub type BlockCache = Cache<Block>;

/// The options for opening a table.
#[derive(Clone)]
pub struct TableReadOptions {
    /// The order of internal keys of the column family. It is not compared with the name in the properties.
    pub cmp: InternalComparator,
    /// The number of the file, for messages.
    pub file_number: u64,
    /// The highest sequence number of the file according to the MANIFEST, which is the global sequence number
    /// of an ingested file. `None` if there is no MANIFEST: the properties decide then.
    pub largest_seqno: Option<SeqNo>,
    /// The cache of data blocks. `None`: every access reads the file.
    pub cache: Option<Arc<BlockCache>>,
    /// The table's identity in the cache, from [`Cache::new_id`] of that cache. A table that is reopened with
    /// the same id finds its blocks in the cache. Default: a new one.
    pub cache_id: Option<u64>,
    /// No table was opened with that `cache_id` before. Every block of the table in the cache was then
    /// inserted by this table, and a slot leads to it. Default: false; true of a table without a `cache_id`.
    pub cache_id_is_new: bool,
    /// A full cache takes data blocks when they are read for the first time. If false, it takes them when
    /// they are read again soon after: [`Cache::admits`]. Default: false.
    pub caches_first_reads: bool,
    /// Counts the parts that came back from the secondary cache. Default: a tally of its own.
    pub secondary_tally: Arc<SecondaryTally>,
    /// Counts cache hits, reads, filter checks and decompression. Default: nothing is counted.
    pub statistics: Option<Arc<Statistics>>,
    /// Index and filter are in the cache too, and are read again after an eviction; without a cache, on every
    /// use. Default: the table owns them.
    pub metadata_caching: Option<MetadataCaching>,
    /// The prefix extractor of the column family. Prefixes are looked up in the filter only if the table was
    /// written with an extractor of the same name.
    pub prefix_extractor: Option<Arc<dyn PrefixExtractor>>,
    /// Verify the checksums of meta blocks, index and filter when they are read. Default: true.
    pub verify_checksums: bool,
    /// The bytes of the checksum that protects each entry of a data block in memory: 0, 1, 2, 4 or 8. The
    /// checksum is computed when the block is read and compared on every access to the entry. Default: 0, no
    /// checksum.
    pub block_protection_bytes_per_key: u8,
    /// The readahead of cursors that are opened without a readahead size.
    pub auto_readahead: AutoReadahead,
    /// Records lookups of blocks in the cache, while a trace is on. Default: nothing is recorded.
    pub block_trace: Option<Arc<dyn BlockTrace>>,
    /// Charges the [memory](Table::memory_usage) of the table to the cache as long as it is open. Index and
    /// filter are then loaded when the table is opened, and a strict cache without room for them refuses it.
    /// Default: false.
    pub charges_cache: bool,
}

impl TableReadOptions {
    /// Options for tables in that order, without a cache and a prefix extractor.
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
            block_trace: None,
            charges_cache: false,
        }
    }
}

/// The options for reading data blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockReadOptions {
    /// Verify the checksum of each block. If false, blocks go into the cache unverified, and the first reader
    /// that needs them verified reads them again. Default: true.
    pub verify_checksums: bool,
    /// Keep blocks read from the file in the cache. Default: true.
    pub fill_cache: bool,
    /// Insert also those blocks that a full cache would not admit on their first read. Default: false.
    pub caches_first_reads: bool,
    /// Read nothing from the file. A block that is neither in the cache nor mapped is the error `Incomplete`.
    /// Default: false.
    pub cache_only: bool,
    /// The number of bytes that a cursor reads beyond a block into its own memory, and as many again that it
    /// asks the file to make ready. 0: the table's [`AutoReadahead`] decides. Default: 0.
    pub readahead_size: usize,
    /// Automatic readahead continues in the next table of a level, and across blocks that are in the cache.
    /// Each such block makes the window 8 KiB smaller. If false, it starts again. Default: false.
    pub adaptive_readahead: bool,
    /// Readahead stops at the bounds of the scan, and before blocks at the end of a window that are in the
    /// cache. Default: true.
    pub auto_readahead_size: bool,
    /// A cursor that reads ahead starts to read the next window while it goes through the current one.
    /// Default: false.
    pub async_io: bool,
    /// The purpose of the reads, for the trace of the block cache. Default: `Uncategorized`.
    pub caller: TableReaderCaller,
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
            caller: TableReaderCaller::Uncategorized,
        }
    }
}

/// A value that the first reader that needs it creates, once.
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

/// The bytes that a table keeps in memory outside of the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableMemory {
    /// The index, if the table owns it.
    pub index: usize,
    /// The filter, if the table owns it.
    pub filter: usize,
    /// The range deletions and the rest.
    pub other: usize,
}

/// A table open for reading, shared by all its readers. Everything in it but the cache slots is immutable.
pub struct Table {
    pub(crate) fetcher: BlockFetcher,
    pub(crate) footer: Footer,
    pub(crate) metaindex: Vec<(Vec<u8>, BlockHandle)>,
    pub(crate) index_handle: BlockHandle,
    properties: TableProperties,
    pub(crate) cmp: InternalComparator,
    /// The order of user keys as stored in blocks.
    pub(crate) stored_order: UserComparator,
    pub(crate) form: KeyForm,
    range_tombstones: Arc<FragmentedTombstones>,
    index: Lazy<Index>,
    filter: Lazy<Option<TableFilter>>,
    /// Set if index and filter are in the cache; the two fields above stay empty then.
    parts: Option<Box<CachedParts>>,
    filter_handle: FilterHandle,
    /// Set if the filter holds prefixes of this extractor and no whole keys.
    filter_prefixes: Option<Arc<dyn PrefixExtractor>>,
    filter_has_whole_keys: bool,
    has_first_keys: bool,
    cache: Option<Arc<BlockCache>>,
    /// See [`block_trace`](crate::block_trace).
    pub(crate) block_trace: Option<Arc<dyn BlockTrace>>,
    pub(crate) cache_id: u64,
    /// A data block is in the cache, or in the secondary cache below it, only if its slot in the index leads
    /// to it.
    slots_tell_all: bool,
    caches_first_reads: bool,
    secondary_tally: Arc<SecondaryTally>,
    file_number: u64,
    largest_seqno: Option<SeqNo>,
    verify_checksums: bool,
    block_protection: u8,
    pub(crate) auto_readahead: AutoReadahead,
    /// The entry of the cache that the table's memory is charged by.
    charge: Option<charge::Charge>,
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
    /// The properties of the table.
    pub fn properties(&self) -> &TableProperties {
        &self.properties
    }

    /// True if the data blocks are compressed with the table's own dictionary.
    pub(crate) fn has_dictionary(&self) -> bool {
        let mut names = self.metaindex.iter().map(|(name, _)| &name[..]);
        names.any(|name| name == meta::COMPRESSION_DICT.as_bytes())
    }

    /// The range deletions, in fragments, as stored in the file. They are not cut to the bounds that the
    /// MANIFEST has for the file.
    pub fn range_tombstones(&self) -> &Arc<FragmentedTombstones> {
        &self.range_tombstones
    }

    /// An upper bound of the sequence numbers of the entries, without range tombstones if the table records
    /// that. The highest possible number if neither the table nor the MANIFEST has one.
    pub fn largest_entry_seqno(&self) -> SeqNo {
        let told = self.properties.entry_largest_seqno;
        // An ingested file has the value of its writer, not of its ingestion.
        let told = told.filter(|_| self.properties.external_sst_file_version.is_none());
        told.or(self.largest_seqno).unwrap_or(base::MAX_SEQNO)
    }

    /// The number of the file.
    pub fn file_number(&self) -> u64 {
        self.file_number
    }

    /// Bytes of the file when it was opened.
    pub fn file_size(&self) -> u64 {
        self.fetcher.file().len()
    }

    /// The file as it was opened.
    pub fn file(&self) -> &Arc<dyn RandomAccessFile> {
        self.fetcher.file()
    }

    /// The path by which the file was opened.
    pub fn path(&self) -> &Path {
        self.fetcher.path()
    }

    /// The format version, 2 to 7.
    pub fn format_version(&self) -> u32 {
        self.footer.format_version
    }

    /// The order of the table's keys.
    pub fn comparator(&self) -> &InternalComparator {
        &self.cmp
    }

    /// The bytes that the table keeps in memory outside of the cache: index, filter, properties, range
    /// deletions. They grow when index and filter are loaded.
    pub fn memory_usage(&self) -> usize {
        let TableMemory { index, filter, other } = self.memory();
        index + filter + other
    }

    /// The bytes of [`memory_usage`](Table::memory_usage), by part.
    pub fn memory(&self) -> TableMemory {
        let filter = self.filter.value.get().and_then(Option::as_ref);
        let names: usize = self.metaindex.iter().map(|entry| entry.0.len()).sum();
        TableMemory {
            index: self.index.value.get().map_or(0, Index::memory_usage),
            filter: filter.map_or(0, TableFilter::memory_usage),
            other: size_of::<Table>() + names + self.range_tombstones.memory_usage(),
        }
    }

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

    /// True once index and filter are loaded: lookups then read nothing but data blocks from the file. Always
    /// true if index and filter are in the cache, where each lookup has to search for them.
    pub fn is_loaded(&self) -> bool {
        self.caches_parts() || (self.index.value.get().is_some() && self.filter.value.get().is_some())
    }

    /// Loads index and filter now, so that no later lookup has to, unless they are evicted before.
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

    /// The result of `read` for the index at its handle. Below format version 6 the footer has no checksum.
    /// If the index is not at its handle, the footer may have been read wrong when the table was opened, so
    /// it is read again.
    #[inline]
    fn with_index_handle<R>(&self, read: impl Fn(BlockHandle) -> Result<R>) -> Result<R> {
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

    /// True if the index holds the first key of each block, so that a cursor can stand there without the
    /// block.
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

    /// A cursor over all entries of the table, not positioned yet.
    pub fn cursor(self: &Arc<Self>, options: BlockReadOptions) -> TableCursor {
        TableCursor::new(self.clone(), options)
    }

    /// Up to `most` user keys, without timestamps, that cut the table into parts of about the same size. Each
    /// comes with the bytes of data blocks since the previous one. All but the last are between two blocks;
    /// the last is after all blocks.
    ///
    /// Errors: those of reading the index, on the first call.
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

    /// The approximate offset in the file at which the entries from `internal_key` on begin, to the precision
    /// of a block.
    ///
    /// Errors: those of reading the index, on the first call.
    pub fn approximate_offset_of(&self, internal_key: &[u8]) -> Result<u64> {
        let target = self.target(internal_key);
        if self.caches_parts() {
            let options = BlockReadOptions {
                caller: TableReaderCaller::UserApproximateSize,
                ..BlockReadOptions::default()
            };
            let place = self.seek_parts(&target, &options)?;
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

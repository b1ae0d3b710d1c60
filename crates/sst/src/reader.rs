//! An open table: what is kept of it in memory, and point lookups.
//!
//! Opening reads the footer, the metaindex, the properties, the dictionary and the range deletions. The index and the
//! filter are read and decoded by the first who needs them, and stay: the table owns them, not the cache, and
//! [`Table::memory_usage`] counts them.

use std::cmp::Ordering;
use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use base::comparator::Comparator;
use base::internal_key;
use base::prefix::PrefixExtractor;
use base::{Error, InternalComparator, Kind, MAX_SEQNO, ParsedInternalKey, Result, SeqNo, UserComparator};
use cache::{Cache, CacheKey, Guard, Priority};
use codec::hash::{hash32, xxph3_64};
use parking_lot::Mutex;
use rangedel::{FragmentedTombstones, RangeTombstone};
use vfs::RandomAccessFile;

use crate::block::entries::Entries;
use crate::block::search::{Lookup, Outcome, visit_versions};
use crate::block::{Block, BlockPin, KeyForm, PinRef, PinnedBytes, Target};
use crate::cursor::TableCursor;
use crate::fetch::{BlockFetcher, Span};
use crate::filter::{FilterReader, LEGACY_SEED, PartitionedFilter};
use crate::format::{BlockHandle, FOOTER_LEN, Footer, IndexType, meta};
use crate::index::{self, Index, IndexBuilder, IndexCoding, Place};
use crate::lookup_key::LookupKey;
use crate::properties::{GLOBAL_SEQNO, TableProperties};

/// The cache of data blocks, shared by all tables of a process or a database.
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
    /// The column family's prefix extractor. Prefixes are looked up in the filter only if the table was written with one
    /// of the same name.
    pub prefix_extractor: Option<Arc<dyn PrefixExtractor>>,
    /// Verify the checksums of meta blocks, index and filter as they are read. Default true.
    pub verify_checksums: bool,
}

impl TableReadOptions {
    /// For tables in that order, with no cache and no prefix extractor.
    pub fn new(cmp: InternalComparator) -> TableReadOptions {
        TableReadOptions {
            cmp,
            file_number: 0,
            largest_seqno: None,
            cache: None,
            prefix_extractor: None,
            verify_checksums: true,
        }
    }
}

/// How to read data blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockReadOptions {
    /// Verify the checksum of each block read from the file. Default true.
    pub verify_checksums: bool,
    /// Keep blocks read from the file in the cache. Default true.
    pub fill_cache: bool,
    /// Bytes a cursor reads at a time, into memory of its own, and as many that it asks the file to have ready. 0, the
    /// default: block by block, and once those follow each other 8 KiB, and twice that each time up to 256 KiB.
    pub readahead_size: usize,
}

impl Default for BlockReadOptions {
    fn default() -> BlockReadOptions {
        BlockReadOptions {
            verify_checksums: true,
            fill_cache: true,
            readahead_size: 0,
        }
    }
}

/// A value within a block, borrowed while the visitor runs.
#[derive(Clone, Copy)]
pub struct Value<'a> {
    bytes: &'a [u8],
    start: usize,
    pin: PinRef<'a>,
}

impl<'a> Value<'a> {
    /// The value.
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The value, to keep: holds its block in memory, and copies nothing (but where another thread moved the block to
    /// another place in the cache at this moment).
    pub fn pin(&self) -> PinnedBytes {
        match self.pin.to_pin() {
            Some(pin) => PinnedBytes::in_block(pin, self.start, self.bytes.len()),
            None => PinnedBytes::copied(self.bytes),
        }
    }
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Value({} bytes)", self.bytes.len())
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

/// The filter of a table, loaded.
#[derive(Debug)]
enum TableFilter {
    Full(FilterReader),
    Partitioned(PartitionedFilter),
}

impl TableFilter {
    fn memory_usage(&self) -> usize {
        match self {
            TableFilter::Full(filter) => filter.memory_usage(),
            TableFilter::Partitioned(filter) => filter.memory_usage(),
        }
    }
}

/// Where the filter of a table is.
#[derive(Clone, Copy, Debug)]
enum FilterHandle {
    None,
    Full(BlockHandle),
    Partitioned(BlockHandle),
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
    filter_handle: FilterHandle,
    /// Set if the filter holds prefixes of this extractor and no whole keys can be asked for.
    filter_prefixes: Option<Arc<dyn PrefixExtractor>>,
    filter_has_whole_keys: bool,
    cache: Option<Arc<BlockCache>>,
    cache_id: u64,
    file_number: u64,
    verify_checksums: bool,
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("path", &self.fetcher.path())
            .field("footer", &self.footer)
            .finish_non_exhaustive()
    }
}

/// How much of the end of a file is read at once to open it: footer, metaindex, properties and often the index.
const TAIL_LEN: u64 = 8 << 10;

impl Table {
    /// Opens a table. Reads its end, usually in one go; index and filter are left for later.
    ///
    /// Errors: `Corruption` naming file and offset; `NotSupported` for tables of other kinds, of format versions below
    /// 2, or with a user-defined index alone; what the file system says. The size of the file is not compared with
    /// anything: that is for whoever has a MANIFEST.
    pub fn open(file: Arc<dyn RandomAccessFile>, options: TableReadOptions) -> Result<Arc<Table>> {
        let path = file.path().to_path_buf();
        Table::open_file(file, options)
            .map(Arc::new)
            .map_err(|error| error.in_file(&path))
    }

    fn open_file(file: Arc<dyn RandomAccessFile>, options: TableReadOptions) -> Result<Table> {
        let len = file.len();
        let tail_offset = len.saturating_sub(TAIL_LEN);
        let mut tail = vec![0; (len - tail_offset) as usize];
        file.read_exact_at(tail_offset, &mut tail)?;
        let footer_offset = len.saturating_sub(FOOTER_LEN as u64);
        let footer = Footer::decode(&tail, footer_offset)?;
        let tail = Span {
            offset: tail_offset,
            bytes: tail,
        };
        let mut fetcher = BlockFetcher::new(file, &footer, footer_offset, tail);
        let verify = options.verify_checksums;

        let metaindex = read_metaindex(&fetcher, footer.metaindex, verify)?;
        let find = |name: &str| {
            let entry = metaindex.iter().find(|entry| entry.0 == name.as_bytes());
            entry.map(|entry| entry.1)
        };
        let properties_handle = find(meta::PROPERTIES).ok_or_else(|| {
            Error::corruption("no properties block in the metaindex").at(footer.metaindex.offset)
        })?;
        let properties = read_properties(&fetcher, properties_handle, verify)
            .map_err(|error| fetcher.in_block(error, properties_handle))?;
        if properties.udi_is_primary_index != 0 {
            return Err(Error::not_supported(
                "table whose only index is a user-defined one",
            ));
        }
        let index_handle = match footer.index {
            Some(handle) => handle,
            None => find(meta::INDEX).ok_or_else(|| {
                Error::corruption("no index block in the metaindex").at(footer.metaindex.offset)
            })?,
        };

        let global_seqno = global_seqno(&properties, options.largest_seqno)
            .map_err(|error| error.at(properties_handle.offset))?;
        let order = options.cmp.user().clone();
        let lacks_timestamps = order.timestamp_size() > 0 && !properties.user_defined_timestamps_persisted;
        let (stored_order, missing) = match lacks_timestamps {
            true => (without_timestamps(&order), order.timestamp_size()),
            false => (order.clone(), 0),
        };
        let form = KeyForm::new(global_seqno, missing);

        if let Some(handle) = find(meta::COMPRESSION_DICT) {
            let dictionary = fetcher.raw(handle, verify)?;
            fetcher.set_dictionary(dictionary.into());
        }
        let range_tombstones = match find(meta::RANGE_DEL) {
            Some(handle) => {
                let block = fetcher.meta_block(handle, verify)?;
                let tombstones =
                    read_range_deletions(&block, &form).map_err(|error| fetcher.in_block(error, handle))?;
                Arc::new(FragmentedTombstones::build(tombstones, &order))
            }
            None => FragmentedTombstones::empty(),
        };

        let filter_handle = match (find(meta::FULL_FILTER), find(meta::PARTITIONED_FILTER)) {
            (Some(handle), _) => FilterHandle::Full(handle),
            (None, Some(handle)) => FilterHandle::Partitioned(handle),
            (None, None) => FilterHandle::None,
        };
        let filter_prefixes = options.prefix_extractor.filter(|extractor| {
            properties.prefix_filtering != Some(false)
                && properties.prefix_extractor() == Some(extractor.name().as_bytes())
        });
        fetcher.drop_tail();
        Ok(Table {
            filter_has_whole_keys: properties.whole_key_filtering != Some(false),
            cache_id: options.cache.as_ref().map_or(0, |cache| cache.new_id()),
            cache: options.cache,
            fetcher,
            footer,
            metaindex,
            index_handle,
            properties,
            cmp: options.cmp,
            stored_order,
            form,
            range_tombstones,
            index: Lazy::new(),
            filter: Lazy::new(),
            filter_handle,
            filter_prefixes,
            file_number: options.file_number,
            verify_checksums: verify,
        })
    }

    /// What the table says about itself.
    pub fn properties(&self) -> &TableProperties {
        &self.properties
    }

    /// The range deletions, in fragments, as they stand in the file: not cut to the bounds the file has in MANIFEST.
    pub fn range_tombstones(&self) -> &Arc<FragmentedTombstones> {
        &self.range_tombstones
    }

    /// The number of the file.
    pub fn file_number(&self) -> u64 {
        self.file_number
    }

    /// Bytes of the file, when it was opened.
    pub fn file_size(&self) -> u64 {
        self.fetcher.file().len()
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
        let index = self.index.value.get().map_or(0, Index::memory_usage);
        let filter = self.filter.value.get().and_then(Option::as_ref);
        let names: usize = self.metaindex.iter().map(|entry| entry.0.len()).sum();
        size_of::<Table>()
            + index
            + filter.map_or(0, TableFilter::memory_usage)
            + names
            + self.range_tombstones.memory_usage()
    }

    /// The index, decoded. Reads the file the first time.
    #[inline]
    pub fn index(&self) -> Result<&Index> {
        self.index.get_or_try(|| self.load_index())
    }

    /// Loads index and filter now, so that no later lookup has to.
    pub fn load(&self) -> Result<()> {
        self.index()?;
        self.filter()?;
        Ok(())
    }

    fn load_index(&self) -> Result<Index> {
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
            for handle in self.partitions(self.index_handle)? {
                add(handle)?;
            }
        } else {
            add(self.index_handle)?;
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

    #[inline]
    fn filter(&self) -> Result<Option<&TableFilter>> {
        Ok(self.filter.get_or_try(|| self.load_filter())?.as_ref())
    }

    fn load_filter(&self) -> Result<Option<TableFilter>> {
        let verify = self.verify_checksums;
        let read = |handle: BlockHandle| {
            FilterReader::new(self.fetcher.raw(handle, verify)?)
                .map_err(|error| self.fetcher.in_block(error, handle))
        };
        Ok(match self.filter_handle {
            FilterHandle::None => None,
            FilterHandle::Full(handle) => Some(TableFilter::Full(read(handle)?)),
            FilterHandle::Partitioned(handle) => {
                let block = self.fetcher.meta_block(handle, verify)?;
                let coding = IndexCoding::of(&self.properties).top_level();
                let mut partitions = Vec::new();
                let mut end = 0;
                index::decode_block(&block, coding, |entry| {
                    if entry.handle.offset < end {
                        return Err(Error::corruption("filter partitions overlap"));
                    }
                    end = entry.handle.end().unwrap_or(u64::MAX);
                    partitions.push(Ok((entry.separator.to_vec(), read(entry.handle)?)));
                    Ok(())
                })
                .map_err(|error| self.fetcher.in_block(error, handle))?;
                Some(TableFilter::Partitioned(PartitionedFilter::new(partitions)?))
            }
        })
    }

    /// False if the filter knows that no version of the key is in the table; range deletions are not counted. True where
    /// there is no filter, or none that can tell.
    ///
    /// Errors: those of reading the filter, the first time.
    #[inline]
    pub fn may_contain(&self, key: &LookupKey) -> Result<bool> {
        let Some(filter) = self.filter()? else {
            return Ok(true);
        };
        if self.filter_has_whole_keys {
            let legacy = || key.legacy_filter_hash();
            return Ok(match filter {
                TableFilter::Full(filter) => filter.may_match(key.filter_hash(), legacy),
                TableFilter::Partitioned(filter) => {
                    self.partition_may_match(filter, key.internal_key(), key.filter_hash(), legacy)
                }
            });
        }
        let Some(extractor) = &self.filter_prefixes else {
            return Ok(true);
        };
        match extractor.prefix(key.user_key_without_timestamp()) {
            Some(prefix) => Ok(self.filter_may_match(filter, key.internal_key(), prefix)),
            None => Ok(true),
        }
    }

    /// False if the filter knows that no user key at or after the internal key `target` and with `target`'s prefix is in
    /// the table. True also where the table was not written with this prefix extractor.
    ///
    /// Errors: those of reading the filter, the first time.
    pub fn may_contain_prefix_of(&self, target: &[u8]) -> Result<bool> {
        let Some(extractor) = &self.filter_prefixes else {
            return Ok(true);
        };
        let user_key = self.cmp.user().strip_timestamp(internal_key::user_key(target));
        match (extractor.prefix(user_key), self.filter()?) {
            (Some(prefix), Some(filter)) => Ok(self.filter_may_match(filter, target, prefix)),
            _ => Ok(true),
        }
    }

    fn filter_may_match(&self, filter: &TableFilter, internal_key: &[u8], bytes: &[u8]) -> bool {
        let legacy = || hash32(bytes, LEGACY_SEED);
        match filter {
            TableFilter::Full(filter) => filter.may_match(xxph3_64(bytes), legacy),
            TableFilter::Partitioned(filter) => {
                self.partition_may_match(filter, internal_key, xxph3_64(bytes), legacy)
            }
        }
    }

    fn partition_may_match(
        &self,
        filter: &PartitionedFilter,
        internal_key: &[u8],
        hash: u64,
        legacy: impl FnOnce() -> u32,
    ) -> bool {
        let target = self.target(internal_key);
        let user_keys = self.properties.index_key_is_user_key;
        filter
            .partition(|separator| {
                index::separator_is_before(separator, user_keys, &target, &self.stored_order, &self.form)
            })
            .is_none_or(|partition| partition.may_match(hash, legacy))
    }

    /// Starts to bring the filter's memory for this key into the processor's cache, if the filter is loaded. Of use when
    /// several tables will be asked for one key.
    #[inline]
    pub fn prefetch_filter(&self, key: &LookupKey) {
        if let Some(Some(TableFilter::Full(filter))) = self.filter.value.get() {
            filter.prefetch(key.filter_hash());
        }
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

    /// Looks a key up: shows `visit` the versions of it that are visible at the key's sequence number (and timestamp),
    /// newest first, until it breaks. The filter is asked first. Range deletions are not looked at.
    ///
    /// Nothing is allocated and nothing locked while the block is in the cache.
    ///
    /// Errors: `Corruption` with file and offset; what the file system says. Versions shown before an error were there.
    #[inline]
    pub fn get(
        &self,
        key: &LookupKey,
        options: &BlockReadOptions,
        visit: &mut impl FnMut(&[u8], Value<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        if !self.may_contain(key)? {
            return Ok(());
        }
        self.get_unfiltered(key, options, visit)
    }

    /// As [`Table::get`], for a caller who has asked the filter already.
    #[inline]
    pub fn get_unfiltered(
        &self,
        key: &LookupKey,
        options: &BlockReadOptions,
        visit: &mut impl FnMut(&[u8], Value<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let index = self.index()?;
        let lookup = Lookup {
            target: self.target(key.internal_key()),
            user_key: key.user_key(),
            seqno: key.seqno(),
            form: &self.form,
            stored_order: &self.stored_order,
            order: self.cmp.user(),
        };
        let mut i = self.seek_index(index, &lookup.target);
        while i < index.len() {
            let outcome = self.with_block(index, i, options, |pin| {
                let block = pin.block();
                visit_versions(block, &lookup, &mut |internal_key, value| {
                    let value = Value {
                        bytes: &block.data()[value.clone()],
                        start: value.start,
                        pin,
                    };
                    visit(internal_key, value)
                })
            })?;
            // A user key that separates blocks is in one of them only, unless it has timestamps: they are part of it.
            let one_block = index.has_user_keys() && self.cmp.user().timestamp_size() == 0;
            if outcome == Outcome::Done || one_block {
                break;
            }
            i += 1;
        }
        Ok(())
    }

    #[inline(always)]
    fn with_block<R>(
        &self,
        index: &Index,
        i: usize,
        options: &BlockReadOptions,
        read: impl FnOnce(PinRef<'_>) -> Result<R>,
    ) -> Result<R> {
        let result = match &self.cache {
            Some(cache) => match cached(cache, index.place(i)) {
                Some(block) => {
                    let result = read(PinRef::Guard {
                        block: &block,
                        cache,
                        slot: &index.place(i).slot,
                    });
                    index.place(i).note(&block);
                    result
                }
                None => read(PinRef::Pin(&self.load_block(
                    index,
                    i,
                    options,
                    &Span::default(),
                )?)),
            },
            None => read(PinRef::Pin(&self.load_block(
                index,
                i,
                options,
                &Span::default(),
            )?)),
        };
        result.map_err(|error| self.fetcher.in_block(error, index.handle(i)))
    }

    /// Data block `i`, to hold, if its slot leads to the cache.
    #[inline]
    pub(crate) fn cached_block(&self, index: &Index, i: usize) -> Option<BlockPin> {
        let cache = self.cache.as_ref()?;
        let block = cached(cache, index.place(i))?;
        Some(BlockPin::Cached(block.into_handle(cache)))
    }

    /// Data block `i`, whose slot leads nowhere: from the cache, from `near`, or from the file.
    #[cold]
    #[inline(never)]
    pub(crate) fn load_block(
        &self,
        index: &Index,
        i: usize,
        options: &BlockReadOptions,
        near: &Span,
    ) -> Result<BlockPin> {
        let handle = index.handle(i);
        let read = || self.fetcher.data_block(handle, options.verify_checksums, near);
        let Some(cache) = &self.cache else {
            return Ok(BlockPin::Owned(Arc::new(read()?)));
        };
        let key = CacheKey {
            id: self.cache_id,
            offset: handle.offset,
        };
        if let Some(block) = cache.lookup(key) {
            index.place(i).slot.store(&block);
            return Ok(BlockPin::Cached(block));
        }
        let block = read()?;
        if !options.fill_cache {
            return Ok(BlockPin::Owned(Arc::new(block)));
        }
        let charge = block.charge();
        Ok(match cache.insert(key, block, charge, Priority::Low) {
            Ok(block) => {
                index.place(i).slot.store(&block);
                BlockPin::Cached(block)
            }
            Err(block) => BlockPin::Owned(Arc::new(block)),
        })
    }

    /// A cursor over all entries of the table. Not placed yet.
    pub fn cursor(self: &Arc<Self>, options: BlockReadOptions) -> TableCursor {
        TableCursor::new(self.clone(), options)
    }

    /// About where in the file the entries from `internal_key` on begin, to the precision of a block.
    ///
    /// Errors: those of reading the index, the first time.
    pub fn approximate_offset_of(&self, internal_key: &[u8]) -> Result<u64> {
        let index = self.index()?;
        let i = self.seek_index(index, &self.target(internal_key));
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

/// The block at `place`, if it is in the cache.
#[inline(always)]
fn cached<'a>(cache: &'a Arc<BlockCache>, place: &Place) -> Option<Guard<'a, Block>> {
    place.prefetch();
    cache.get(&place.slot)
}

/// The entries of a metaindex block.
fn read_metaindex(
    fetcher: &BlockFetcher,
    handle: BlockHandle,
    verify: bool,
) -> Result<Vec<(Vec<u8>, BlockHandle)>> {
    let block = fetcher.meta_block(handle, verify)?;
    let mut entries = Entries::new(&block);
    let mut read = || {
        let mut found = Vec::new();
        while let Some(entry) = entries.next()? {
            let handle = BlockHandle::decode(&mut base::coding::Reader::new(entry.value))
                .map_err(|error| error.offset_by(entry.value_offset as u64))?;
            found.push((entry.key.to_vec(), handle));
        }
        Ok(found)
    };
    read().map_err(|error| fetcher.in_block(error, handle))
}

/// The properties. Old-style ingestion wrote the global sequence number into them and left the checksum as it was, which
/// is over zeros in its place.
pub(crate) fn read_properties(
    fetcher: &BlockFetcher,
    handle: BlockHandle,
    verify: bool,
) -> Result<TableProperties> {
    let block = fetcher.meta_block(handle, false)?;
    let mut entries = Entries::new(&block);
    let mut global_seqno_at = None;
    let mut found = Vec::new();
    let mut read = || -> Result<()> {
        while let Some(entry) = entries.next()? {
            if entry.key == GLOBAL_SEQNO.as_bytes() {
                global_seqno_at = Some(entry.value_offset..entry.value_offset + entry.value.len());
            }
            found.push((entry.key.to_vec(), entry.value.to_vec()));
        }
        Ok(())
    };
    let read = read();
    if verify {
        let (mut contents, trailer) = fetcher.stored(handle)?;
        if !fetcher.verifies(handle, &contents, &trailer) {
            let as_written = global_seqno_at
                .filter(|range| trailer[0] == 0 && range.end <= contents.len())
                .is_some_and(|range| {
                    contents[range].fill(0);
                    fetcher.verifies(handle, &contents, &trailer)
                });
            if !as_written {
                fetcher.verify(handle)?;
            }
        }
    }
    read?;
    TableProperties::from_entries(found.iter().map(|(name, value)| (&name[..], &value[..])))
}

/// The sequence number all keys of an ingested table have, if it is one.
fn global_seqno(properties: &TableProperties, largest_seqno: Option<SeqNo>) -> Result<Option<SeqNo>> {
    let stored = properties.external_sst_file_global_seqno;
    let version = match (properties.external_sst_file_version, stored) {
        (None, None) => return Ok(None),
        (None, Some(_)) => {
            return Err(Error::corruption(
                "external sst file without version has a global sequence number",
            ));
        }
        (Some(version), _) => version,
    };
    if version < 2 {
        return match (version, stored) {
            (1, None) => Ok(None),
            _ => Err(Error::corruption(format!(
                "external sst file of version {version} with global sequence number {stored:?}"
            ))),
        };
    }
    let stored = stored.unwrap_or(0);
    let seqno = match largest_seqno {
        Some(largest) if stored == 0 => largest,
        Some(largest) if stored != largest => {
            return Err(Error::corruption(format!(
                "external sst file has global sequence number {stored}, MANIFEST says {largest}"
            )));
        }
        _ => stored,
    };
    if seqno > MAX_SEQNO {
        return Err(Error::corruption(format!(
            "external sst file has global sequence number {seqno}, above the highest"
        )));
    }
    Ok(Some(seqno))
}

/// The range deletions of a block, in the order they stand there, which may be any.
fn read_range_deletions(block: &Block, form: &KeyForm) -> Result<Vec<RangeTombstone>> {
    let mut entries = Entries::new(block);
    let mut tombstones = Vec::new();
    while let Some(entry) = entries.next()? {
        let bad = |error: Error| error.at(entry.offset as u64);
        let key = ParsedInternalKey::parse(entry.key).map_err(bad)?;
        if key.kind != Kind::RangeDeletion {
            return Err(bad(Error::corruption(format!(
                "entry of kind {:?} among range deletions",
                key.kind
            ))));
        }
        let with_timestamp = |user_key: &[u8]| {
            let mut user_key = user_key.to_vec();
            user_key.resize(user_key.len() + form.timestamp_size(), 0);
            user_key
        };
        tombstones.push(RangeTombstone {
            start: with_timestamp(key.user_key),
            end: with_timestamp(entry.value),
            seqno: form.trailer(internal_key::trailer(entry.key)) >> 8,
        });
    }
    Ok(tombstones)
}

/// The order of keys from which the timestamps were cut off.
fn without_timestamps(order: &UserComparator) -> UserComparator {
    match order {
        UserComparator::BytewiseU64Ts => UserComparator::Bytewise,
        UserComparator::ReverseBytewiseU64Ts => UserComparator::ReverseBytewise,
        UserComparator::Custom(custom) => UserComparator::Custom(Arc::new(MinimumTimestamps(custom.clone()))),
        UserComparator::Bytewise | UserComparator::ReverseBytewise => order.clone(),
    }
}

/// A user's order over keys that all have the minimum timestamp and do not hold it. Copies both keys for each comparison:
/// a user's order knows no other kind of key.
struct MinimumTimestamps(Arc<dyn Comparator>);

impl Comparator for MinimumTimestamps {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let with_timestamp = |key: &[u8]| {
            let mut key = key.to_vec();
            key.resize(key.len() + self.0.timestamp_size(), 0);
            key
        };
        self.0.compare(&with_timestamp(a), &with_timestamp(b))
    }
}

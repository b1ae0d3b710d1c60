//! An open table: its state in memory.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use base::prefix::PrefixExtractor;
use base::{InternalComparator, SeqNo, UserComparator};
use cache::SecondaryTally;
use rangedel::FragmentedTombstones;
use vfs::RandomAccessFile;

use super::cached_parts::CachedParts;
use super::charge::Charge;
use super::lazy::Lazy;
use crate::block::{KeyForm, Target};
use crate::block_trace::BlockTrace;
use crate::fetch::BlockFetcher;
use crate::filter::table_filter::{FilterHandle, TableFilter};
use crate::format::{BlockHandle, Footer, IndexType, meta};
use crate::index::Index;
use crate::properties::TableProperties;
use crate::read_options::{AutoReadahead, BlockCache};

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
    pub(super) properties: TableProperties,
    pub(crate) cmp: InternalComparator,
    /// The order of user keys as stored in blocks.
    pub(crate) stored_order: UserComparator,
    pub(crate) form: KeyForm,
    pub(super) range_tombstones: Arc<FragmentedTombstones>,
    pub(super) index: Lazy<Index>,
    pub(super) filter: Lazy<Option<TableFilter>>,
    /// Set if index and filter are in the cache; `index` and `filter` stay empty then.
    pub(super) parts: Option<Box<CachedParts>>,
    pub(super) filter_handle: FilterHandle,
    /// Set if the filter holds prefixes of this extractor and no whole keys.
    pub(super) filter_prefixes: Option<Arc<dyn PrefixExtractor>>,
    pub(super) filter_has_whole_keys: bool,
    pub(super) has_first_keys: bool,
    pub(super) cache: Option<Arc<BlockCache>>,
    /// See [`block_trace`](crate::block_trace).
    pub(crate) block_trace: Option<Arc<dyn BlockTrace>>,
    pub(crate) cache_id: u64,
    /// True if a data block is in the cache, or in the secondary cache below it, only if its slot in the
    /// index leads to it.
    pub(super) slots_tell_all: bool,
    pub(super) caches_first_reads: bool,
    pub(super) secondary_tally: Arc<SecondaryTally>,
    pub(super) file_number: u64,
    pub(super) largest_seqno: Option<SeqNo>,
    pub(super) verify_checksums: bool,
    pub(super) block_protection: u8,
    pub(crate) auto_readahead: AutoReadahead,
    /// The entry of the cache that the table's memory is charged by.
    pub(super) charge: Option<Charge>,
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
        // In an ingested file the property has the sequence number of the file's writer, not that of the
        // ingestion.
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

    /// True once index and filter are loaded: lookups then read nothing but data blocks from the file. Always
    /// true if index and filter are in the cache, where each lookup has to search for them.
    pub fn is_loaded(&self) -> bool {
        self.caches_parts() || (self.index.value.get().is_some() && self.filter.value.get().is_some())
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

    /// True if index and filter are in the block cache and not owned by the table.
    #[inline]
    pub fn caches_parts(&self) -> bool {
        self.parts.is_some()
    }

    pub(super) fn cached_parts(&self) -> &CachedParts {
        self.parts
            .as_deref()
            .expect("only tables that keep their parts in the cache have them")
    }

    pub(super) fn has_partitioned_index(&self) -> bool {
        self.properties.index_type == IndexType::TwoLevel
    }
}

//! Opening a table: footer, metaindex, properties, dictionary and range deletions. Index and filter are
//! loaded on request.

use std::sync::Arc;

use base::internal_key;
use base::{Error, Kind, MAX_SEQNO, ParsedInternalKey, Result, SeqNo};
use rangedel::{FragmentedTombstones, RangeTombstone};
use vfs::RandomAccessFile;

use super::cached_parts::CachedParts;
use super::charge::Charge;
use super::lazy::Lazy;
use super::table::Table;
use crate::block::entries::Entries;
use crate::block::{Block, KeyForm};
use crate::fetch::{BlockFetcher, Span};
use crate::filter::table_filter::FilterHandle;
use crate::format::{BlockHandle, FOOTER_LEN, Footer, IndexType, meta};
use crate::properties::{GLOBAL_SEQNO, TableProperties};
use crate::read_options::TableReadOptions;
use crate::stored_order::without_timestamps;

/// The bytes read at once from the end of a file to open it: footer, metaindex, properties and often the
/// index.
const TAIL_LEN: u64 = 8 << 10;

/// The maximum number of tombstones that the overlapping tombstones of a range-deletion block are cut into.
/// Beyond it each fragment keeps only its newest: a small block of nested tombstones could otherwise take
/// gigabytes. Tombstones that are fragments already, as RocksDB writes them, are not limited. A snapshot
/// older than a fragment's newest tombstone would miss the dropped ones. But files with such overlaps come
/// from releases before 2018, and none of their tombstones is newer than a snapshot that still exists.
const MOST_TOMBSTONES: usize = 4 << 20;

impl Table {
    /// Opens a table. Reads its end, usually in one read; index and filter are read later.
    ///
    /// Errors: `Corruption` naming file and offset; `NotSupported` for tables of other kinds, of format
    /// versions below 2, or with only a user-defined index; those of the file system. The size of the file is
    /// not checked: that is for callers that have a MANIFEST.
    pub fn open(file: Arc<dyn RandomAccessFile>, options: TableReadOptions) -> Result<Arc<Table>> {
        let path = file.path().to_path_buf();
        let charges_cache = options.charges_cache;
        Table::open_file(file, options)
            .and_then(|table| match charges_cache {
                true => table.charged(),
                false => Ok(table),
            })
            .map(Arc::new)
            .map_err(|error| error.in_file(&path))
    }

    /// The properties of a table, for a caller that needs nothing else: the order of the table's keys may be
    /// unknown.
    ///
    /// Errors: as [`Table::open`].
    pub fn read_properties(file: Arc<dyn RandomAccessFile>) -> Result<TableProperties> {
        let path = file.path().to_path_buf();
        read_end(file, true)
            .map(|end| end.properties)
            .map_err(|error| error.in_file(&path))
    }

    /// The offset in the file of the eight bytes of the table's global sequence number, least significant
    /// byte first. The checksum of their block counts them as 0. `None` if the table has no room for one.
    ///
    /// Errors: as [`Table::open`].
    pub fn global_seqno_offset(&self) -> Result<Option<u64>> {
        let Some(handle) = find(&self.metaindex, meta::PROPERTIES) else {
            return Ok(None);
        };
        let (contents, trailer) = self.fetcher.stored(handle)?;
        let block = self.fetcher.meta_block(handle, false)?;
        let mut entries = Entries::new(block.entries());
        while let Some(entry) = entries
            .next()
            .map_err(|error| self.fetcher.in_block(error, handle))?
        {
            let end = entry.value_offset + entry.value.len();
            let as_stored = trailer[0] == 0 && contents.get(entry.value_offset..end) == Some(entry.value);
            if entry.key == GLOBAL_SEQNO.as_bytes() && entry.value.len() == 8 && as_stored {
                return Ok(Some(handle.offset + entry.value_offset as u64));
            }
        }
        Ok(None)
    }

    fn open_file(file: Arc<dyn RandomAccessFile>, options: TableReadOptions) -> Result<Table> {
        let verify = options.verify_checksums;
        let TableEnd {
            mut fetcher,
            footer,
            metaindex,
            properties_handle,
            properties,
        } = read_end(file, verify)?;
        fetcher.set_statistics(options.statistics);
        let find = |name: &str| find(&metaindex, name);
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
            let dictionary = fetcher.raw(handle, verify, |contents| Arc::from(contents))?;
            fetcher.set_dictionary(dictionary);
        }
        let range_tombstones = match find(meta::RANGE_DEL) {
            Some(handle) => {
                let block = fetcher.meta_block(handle, verify)?;
                let tombstones =
                    read_range_deletions(&block, &form).map_err(|error| fetcher.in_block(error, handle))?;
                let fragments = FragmentedTombstones::build_within(tombstones, &order, MOST_TOMBSTONES);
                Arc::new(fragments.map_err(|error| fetcher.in_block(error, handle))?)
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
            has_first_keys: properties.index_type == IndexType::BinarySearchWithFirstKey && form.is_plain(),
            caches_first_reads: options.caches_first_reads,
            // When index and filter blocks are evicted from the cache, their slots are emptied.
            slots_tell_all: (options.cache_id.is_none() || options.cache_id_is_new)
                && options.metadata_caching.is_none()
                && options.cache.as_ref().is_some_and(|cache| !cache.has_secondary()),
            cache_id: options
                .cache_id
                .or_else(|| Some(options.cache.as_ref()?.new_id()))
                .unwrap_or(0),
            secondary_tally: options.secondary_tally,
            parts: options
                .metadata_caching
                .map(|caching| Box::new(CachedParts::new(caching))),
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
            largest_seqno: options.largest_seqno,
            block_trace: options.block_trace,
            verify_checksums: verify,
            block_protection: options.block_protection_bytes_per_key,
            auto_readahead: options.auto_readahead,
            charge: None,
        })
    }
}

impl Table {
    /// Loads index and filter now, so that no later lookup has to, unless they are evicted before.
    pub fn load(&self) -> Result<()> {
        if self.caches_parts() {
            return self.load_parts();
        }
        self.owned_index()?;
        self.filter()?;
        Ok(())
    }

    /// Loads what the table keeps in memory and charges it to the cache, if there is one.
    ///
    /// Errors: those of [`load`](Table::load) and of [`Charge::new`].
    fn charged(mut self) -> Result<Table> {
        if let Some(cache) = self.cache.clone() {
            self.load()?;
            self.charge = Some(Charge::new(cache, self.cache_id, self.memory_usage())?);
        }
        Ok(self)
    }
}

/// The parsed end of a table.
struct TableEnd {
    fetcher: BlockFetcher,
    footer: Footer,
    metaindex: Vec<(Vec<u8>, BlockHandle)>,
    properties_handle: BlockHandle,
    properties: TableProperties,
}

fn read_end(file: Arc<dyn RandomAccessFile>, verify: bool) -> Result<TableEnd> {
    let len = file.len();
    let tail_offset = len.saturating_sub(TAIL_LEN);
    let mut tail = vec![0; (len - tail_offset) as usize];
    file.read_exact_at(tail_offset, &mut tail)?;
    let footer_offset = len.saturating_sub(FOOTER_LEN as u64);
    let footer = Footer::decode(&tail, footer_offset)?;
    let tail = Span {
        offset: tail_offset,
        bytes: tail[..].into(),
    };
    let fetcher = BlockFetcher::new(file, &footer, footer_offset, tail);
    let metaindex = read_metaindex(&fetcher, footer.metaindex, verify)?;
    let properties_handle = find(&metaindex, meta::PROPERTIES).ok_or_else(|| {
        Error::corruption("no properties block in the metaindex").at(footer.metaindex.offset)
    })?;
    let properties = read_properties(&fetcher, properties_handle, verify)
        .map_err(|error| fetcher.in_block(error, properties_handle))?;
    Ok(TableEnd {
        fetcher,
        footer,
        metaindex,
        properties_handle,
        properties,
    })
}

/// The location of a block according to the metaindex.
fn find(metaindex: &[(Vec<u8>, BlockHandle)], name: &str) -> Option<BlockHandle> {
    let entry = metaindex.iter().find(|entry| entry.0 == name.as_bytes());
    entry.map(|entry| entry.1)
}

/// The entries of a metaindex block.
fn read_metaindex(
    fetcher: &BlockFetcher,
    handle: BlockHandle,
    verify: bool,
) -> Result<Vec<(Vec<u8>, BlockHandle)>> {
    let block = fetcher.meta_block(handle, verify)?;
    let mut entries = Entries::new(block.entries());
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

/// The properties. Old-style ingestion wrote the global sequence number into them and did not change the
/// checksum, which covers zeros in its place.
pub(crate) fn read_properties(
    fetcher: &BlockFetcher,
    handle: BlockHandle,
    verify: bool,
) -> Result<TableProperties> {
    let block = fetcher.meta_block(handle, false)?;
    let mut entries = Entries::new(block.entries());
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

/// The sequence number of all keys of an ingested table. `None` if the table was not ingested.
pub(super) fn global_seqno(
    properties: &TableProperties,
    largest_seqno: Option<SeqNo>,
) -> Result<Option<SeqNo>> {
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
                "external sst file has global sequence number {stored}, MANIFEST has {largest}"
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

/// The range deletions of a block, in the order of the block, which may be any order.
fn read_range_deletions(block: &Block, form: &KeyForm) -> Result<Vec<RangeTombstone>> {
    let mut entries = Entries::new(block.entries());
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

//! Open tables. The slot of a file's table is attached to the file's metadata, so that finding it takes no
//! lock and no hash.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use base::prefix::PrefixExtractor;
use base::statistics::{Histogram, Ticker};
use base::{Error, ErrorKind, InternalComparator, Result, SeqNo, filename, internal_key};
use cache::{EntryRole, RoleUsage};
use codec::compression::CompressionType;
use manifest::{FileMetadata, FileStats};
use rangedel::FragmentedTombstones;
use sst::{
    AutoReadahead, BlockCache, BlockTrace, CacheReservation, MetadataCaching, Table, TableMemory,
    TableProperties, TableReadOptions,
};
use vfs::{Access, FileSystem, OpenOptions, RandomAccessFile, RateLimiter};

use crate::files::obsolete_files::ObsoleteFiles;
use crate::files::open_limit::{Closable, OpenLimit};
use crate::files::read_latency::ReadLatency;
use crate::files::row_cache::RowCache;
use crate::files::table_place::{OpenTable, TablePlace};
use crate::files::timed_file::TimedFile;
use crate::options::TablePaths;
use crate::stats::Stats;

/// The settings of a family that a [`TableCache`] needs to open its tables.
pub(crate) struct TableCacheOptions {
    pub cmp: InternalComparator,
    pub prefix_extractor: Option<Arc<dyn PrefixExtractor>>,
    pub block_cache: Option<Arc<BlockCache>>,
    pub row_cache: Option<Arc<BlockCache>>,
    /// True if the memory of open tables is charged to the block cache.
    pub charges_cache: bool,
    /// True if the records of tables are charged to the block cache.
    pub charges_metadata: bool,
    pub stats: Arc<Stats>,
    pub rate_limiter: Option<Arc<RateLimiter>>,
    pub direct: bool,
    pub mmap: bool,
    pub advise_random: bool,
    /// True if a data block is inserted into a full block cache at its first read; see
    /// [`caches_first_reads`](crate::BlockBasedOptions::caches_first_reads).
    pub caches_first_reads: bool,
    pub auto_readahead: AutoReadahead,
    pub block_trace: Option<Arc<dyn BlockTrace>>,
    pub block_protection_bytes_per_key: u8,
    pub verify_unique_ids: bool,
    /// The caching of index and filter blocks in the block cache, `None` if tables own them: first for most
    /// tables, then for flushed and similar ones.
    pub metadata_caching: [Option<MetadataCaching>; 2],
    /// The maximum size in bytes of a file that counts as flushed.
    pub largest_flushed: u64,
    /// The number of misses that are tolerated when the blocks of an obsolete table are erased from the block
    /// cache; 0: no block is erased.
    pub uncache_aggressiveness: u32,
    /// The number of levels of the family.
    pub num_levels: usize,
}

/// Opens the tables of one column family and keeps them open.
pub(crate) struct TableCache {
    fs: Arc<dyn FileSystem>,
    paths: TablePaths,
    options: TableCacheOptions,
    /// The owner id of the family's tables in the block cache; 0 without a cache.
    cache_owner: u32,
    rows: Option<RowCache>,
    /// The charge of the records of tables to the block cache, if they are charged.
    metadata: Option<Arc<CacheReservation>>,
    limit: Arc<OpenLimit>,
    obsolete: Arc<ObsoleteFiles>,
    /// The bytes of the family's obsolete tables, which no later version refers to, that a reader still
    /// holds.
    zombie_bytes: Arc<AtomicU64>,
    latency: Arc<ReadLatency>,
}

/// The slot of a file's table. It has the lifetime of the file's metadata.
struct TableSlot {
    number: u64,
    /// The directories of the family, and the index of the directory of this file.
    paths: TablePaths,
    path_id: u32,
    /// The size of the file in bytes.
    size: u64,
    table: TablePlace,
    /// The table's identity in the block cache, the same each time it is opened; 0 without a cache.
    cache_id: u64,
    /// True if the table was opened before.
    opened: AtomicBool,
    /// True if a flush wrote the file, or if the file was in level 0 when the database was opened.
    level_0: AtomicBool,
    /// The table's range tombstones within the file's bounds; set by the first reader that needs them.
    tombstones: OnceLock<Arc<FragmentedTombstones>>,
    /// Set by each read, cleared when the limit of open files looks for a table to close.
    touched: AtomicBool,
    /// Set when no later version refers to the file: the file is deleted with the last version that does.
    obsolete: AtomicBool,
    uncache_aggressiveness: u32,
    /// True if the file is mapped: the table removes its blocks from the block cache when it is closed.
    is_mapped: bool,
    files: Arc<ObsoleteFiles>,
    zombie_bytes: Arc<AtomicU64>,
}

impl Drop for TableSlot {
    fn drop(&mut self) {
        if self.obsolete.load(Ordering::Acquire) {
            // The table is closed before the file is deleted, by this thread or by the thread that deletes
            // files.
            let table = self.table.take();
            self.files.zombie_bytes.fetch_sub(self.size, Ordering::Relaxed);
            self.zombie_bytes.fetch_sub(self.size, Ordering::Relaxed);
            match table {
                Some(table) if self.is_mapped || self.uncache_aggressiveness > 0 => {
                    self.files.uncache(table, self.uncache_aggressiveness);
                }
                table => drop(table),
            }
            let path = filename::table(self.paths.dir(self.path_id), self.number);
            self.files.add_table(path, self.size);
        }
    }
}

/// A file whose table is open, in the list of the limit of open files.
struct OpenTableFile(Arc<FileMetadata>);

impl Closable for OpenTableFile {
    fn number(&self) -> u64 {
        self.0.number
    }

    fn take_touched(&self) -> bool {
        slot_of(&self.0).is_some_and(|slot| slot.touched.swap(false, Ordering::Relaxed))
    }

    fn is_kept(&self) -> bool {
        slot_of(&self.0).is_some_and(|slot| slot.table.is_shared())
    }

    fn close(&self) {
        if let Some(slot) = slot_of(&self.0) {
            slot.table.close();
        }
    }
}

/// The compression type that a table's property names: by name, or from format version 7 on as `manager;types
/// in hex;`.
fn compression_named(property: &[u8]) -> Option<CompressionType> {
    let text = std::str::from_utf8(property).ok()?;
    match text.split_once(';') {
        None => CompressionType::from_property_name(text),
        Some((_, types)) => match types.get(..2).filter(|hex| *hex != ";") {
            Some(hex) if hex != ";;" => CompressionType::from_byte(u8::from_str_radix(hex, 16).ok()?),
            _ => Some(CompressionType::None),
        },
    }
}

/// The charge of the record of one table.
struct ChargedRecord {
    reservation: Arc<CacheReservation>,
    bytes: usize,
}

impl ChargedRecord {
    fn new(reservation: Arc<CacheReservation>, bytes: usize) -> Result<ChargedRecord> {
        reservation.add(bytes)?;
        Ok(ChargedRecord { reservation, bytes })
    }
}

impl Drop for ChargedRecord {
    fn drop(&mut self) {
        self.reservation.subtract(self.bytes);
    }
}

/// The statistics of a table's entries that compaction pickers and events use.
pub(crate) fn file_stats(properties: &TableProperties) -> FileStats {
    FileStats {
        num_entries: properties.num_entries,
        num_deletions: properties.num_deletions,
        num_range_deletions: properties.num_range_deletions,
        raw_key_size: properties.raw_key_size,
        raw_value_size: properties.raw_value_size,
        compression: compression_named(&properties.compression).map(|compression| compression as u8),
    }
}

/// The access pattern that files for users' reads are opened with, by
/// [`advise_random_on_open`](crate::Options::advise_random_on_open).
pub(crate) fn access(advise_random: bool) -> Access {
    match advise_random {
        true => Access::Random,
        false => Access::Normal,
    }
}

#[inline]
fn slot_of(file: &FileMetadata) -> Option<&TableSlot> {
    file.handle.get()?.downcast_ref()
}

/// `Corruption` if the MANIFEST records a unique id for the table and the opened table has another.
pub(crate) fn check_unique_id(file: &FileMetadata, table: &Table) -> Result<()> {
    let properties = table.properties();
    match &file.unique_id {
        Some(recorded) if !properties.has_unique_id(recorded) => Err(Error::corruption(format!(
            "Mismatch in unique ID on table file {}: it was written as file {} of session {} of database {}",
            file.number,
            properties.orig_file_number,
            String::from_utf8_lossy(&properties.db_session_id),
            String::from_utf8_lossy(&properties.db_id),
        ))
        .in_file(table.path())),
        _ => Ok(()),
    }
}

impl TableCache {
    /// A cache of the tables in `paths`.
    pub fn new(
        fs: Arc<dyn FileSystem>,
        paths: TablePaths,
        options: TableCacheOptions,
        limit: Arc<OpenLimit>,
        obsolete: Arc<ObsoleteFiles>,
    ) -> TableCache {
        let cache_owner = options.block_cache.as_ref().map_or(0, |cache| cache.new_owner());
        let latency = Arc::new(ReadLatency::new(options.num_levels));
        let rows = options.row_cache.clone().map(RowCache::new);
        let charged = options.block_cache.clone().filter(|_| options.charges_metadata);
        let metadata = charged.map(|cache| CacheReservation::new(cache, EntryRole::FileMetadata));
        TableCache {
            fs,
            paths,
            options,
            cache_owner,
            rows,
            metadata: metadata.map(Arc::new),
            limit,
            obsolete,
            zombie_bytes: Arc::default(),
            latency,
        }
    }

    /// True if the obsolete files of this cache are queued in `obsolete`, which holds for all tables of one
    /// database.
    #[inline]
    pub fn belongs_to(&self, obsolete: &Arc<ObsoleteFiles>) -> bool {
        Arc::ptr_eq(&self.obsolete, obsolete)
    }

    /// The order of the family's keys.
    pub fn comparator(&self) -> &InternalComparator {
        &self.options.cmp
    }

    /// True if the user keys of two internal keys have the same prefix by the family's extractor. False for
    /// keys without a prefix.
    pub fn same_prefix(&self, a: &[u8], b: &[u8]) -> bool {
        let Some(extractor) = &self.options.prefix_extractor else {
            return false;
        };
        let user = self.options.cmp.user();
        let prefix = |key| extractor.prefix_of(user.strip_timestamp(internal_key::user_key(key)));
        prefix(a).is_some_and(|prefix_of_a| prefix(b) == Some(prefix_of_a))
    }

    /// The rate limiter of reads of the family's files.
    pub fn rate_limiter(&self) -> &Option<Arc<RateLimiter>> {
        &self.options.rate_limiter
    }

    /// The statistics of the database.
    #[inline]
    pub fn stats(&self) -> &Stats {
        &self.options.stats
    }

    /// The block cache of the family's tables.
    pub fn block_cache(&self) -> Option<&Arc<BlockCache>> {
        self.options.block_cache.as_ref()
    }

    /// The row cache of the family's tables, if there is one.
    #[inline]
    pub fn rows(&self) -> Option<&RowCache> {
        self.rows.as_ref()
    }

    /// The cache that holds the rows of [`rows`](TableCache::rows).
    pub fn row_cache(&self) -> Option<&Arc<BlockCache>> {
        self.options.row_cache.as_ref()
    }

    /// The usage of the block cache by the family's tables, by role; `None` without a cache.
    pub fn usage_by_role(&self) -> Option<[RoleUsage; EntryRole::ALL.len()]> {
        let cache = self.options.block_cache.as_ref()?;
        Some(cache.usage_by_role(Some(self.cache_owner)))
    }

    /// The number of merge operands in `file`, if its table is open.
    pub fn merge_operands(&self, file: &FileMetadata) -> Option<u64> {
        let table = self.slot(file).table.get()?;
        Some(table.properties().num_merge_operands)
    }

    /// The highest timestamp in `file`, if its table is open and records it.
    pub fn max_timestamp(&self, file: &FileMetadata) -> Option<Box<[u8]>> {
        if !file.user_defined_timestamps_persisted {
            // All keys have the minimum timestamp.
            return Some(vec![0; file.padded_timestamp_size].into());
        }
        let table = self.slot(file).table.get()?;
        let newest = &table.properties().timestamp_max;
        (!newest.is_empty()).then(|| newest.as_slice().into())
    }

    /// The range tombstones of `file`, if its table is open.
    pub fn range_tombstones(&self, file: &FileMetadata) -> Option<Arc<FragmentedTombstones>> {
        let table = self.slot(file).table.get()?;
        Some(table.range_tombstones().clone())
    }

    /// The memory of the open table of `file` outside the block cache, in bytes; 0 if it is not open.
    pub fn memory_usage(&self, file: &FileMetadata) -> u64 {
        let TableMemory { index, filter, other } = self.memory(file);
        (index + filter + other) as u64
    }

    /// The memory of the open table of `file` outside the block cache, in bytes, by part.
    pub fn memory(&self, file: &FileMetadata) -> TableMemory {
        let slot = self.slot(file);
        let table = slot.table.get();
        let mut memory = table
            .as_ref()
            .map_or_else(TableMemory::default, |table| table.memory());
        // Range tombstones that were cut to the file's bounds take memory in addition to those of the table.
        let whole = table.as_ref().map(|table| table.range_tombstones());
        if let Some(cut) = slot.tombstones.get()
            && !whole.is_some_and(|whole| Arc::ptr_eq(whole, cut))
        {
            memory.other += cut.memory_usage();
        }
        memory
    }

    #[inline]
    fn slot<'a>(&self, file: &'a FileMetadata) -> &'a TableSlot {
        let handle = file.handle.get_or_init(|| {
            Box::new(TableSlot {
                number: file.number,
                paths: self.paths.clone(),
                path_id: file.path_id,
                size: file.size,
                table: TablePlace::new(self.limit.most().is_some()),
                cache_id: self
                    .options
                    .block_cache
                    .as_ref()
                    .map_or(0, |cache| cache.new_id_of(self.cache_owner)),
                opened: AtomicBool::new(false),
                level_0: AtomicBool::new(false),
                tombstones: OnceLock::new(),
                touched: AtomicBool::new(false),
                obsolete: AtomicBool::new(false),
                uncache_aggressiveness: self.options.uncache_aggressiveness,
                is_mapped: self.options.mmap,
                files: self.obsolete.clone(),
                zombie_bytes: self.zombie_bytes.clone(),
            })
        });
        handle
            .downcast_ref()
            .expect("the table cache alone fills the handle")
    }

    /// Calls `read` with the table of `file`. Takes no lock and counts no reference while the table is open.
    #[inline]
    pub fn with_table<T>(
        &self,
        file: &Arc<FileMetadata>,
        read: impl FnOnce(&Table) -> Result<T>,
    ) -> Result<T> {
        read(&*self.open_table_of(file)?)
    }

    /// The table of `file`, opened if it is not open, held as cheaply as by
    /// [`with_table`](TableCache::with_table).
    #[inline]
    pub fn open_table_of<'a>(&self, file: &'a Arc<FileMetadata>) -> Result<OpenTable<'a>> {
        let slot = self.slot(file);
        let Some(table) = slot.table.get() else {
            return self.open(file);
        };
        if matches!(table, OpenTable::Guarded(_)) {
            slot.touched.store(true, Ordering::Relaxed);
        }
        Ok(table)
    }

    /// The table of `file`, if it is open.
    #[inline]
    pub fn open_already<'a>(&self, file: &'a FileMetadata) -> Option<OpenTable<'a>> {
        self.slot(file).table.get()
    }

    /// The table of `file`, opened if it is not open.
    pub fn table(&self, file: &Arc<FileMetadata>) -> Result<Arc<Table>> {
        Ok(self.open_table_of(file)?.share())
    }

    /// `Incomplete` if finding a block of `file` would read from the file system.
    #[cold]
    pub fn check_in_memory(&self, file: &Arc<FileMetadata>) -> Result<()> {
        if self.slot(file).table.get().is_some_and(|table| table.is_loaded()) {
            return Ok(());
        }
        let path = self.paths.table(file);
        Err(Error::new(ErrorKind::Incomplete, "a table is not open").in_file(&path))
    }

    #[cold]
    fn open<'a>(&self, file: &'a Arc<FileMetadata>) -> Result<OpenTable<'a>> {
        let table = self.open_table(file, self.open_options())?;
        let slot = self.slot(file);
        let table = slot.table.set(table);
        // An obsolete table is closed with its last reader. Recording it here would keep it open.
        if !slot.obsolete.load(Ordering::Acquire) {
            self.limit.opened(OpenTableFile(file.clone()));
        }
        Ok(table)
    }

    /// Opens a table that was just written and lets `check` inspect it. It stays open if there is no limit of
    /// open files.
    pub fn open_written(
        &self,
        file: &FileMetadata,
        check: impl FnOnce(&Arc<Table>) -> Result<()>,
    ) -> Result<()> {
        let table = self.open_table(file, self.open_options())?;
        check(&table)?;
        if self.limit.most().is_none() {
            self.slot(file).table.set(table);
        }
        Ok(())
    }

    /// The latencies of reads of the family's tables, by level; empty without statistics.
    pub fn read_latency(&self) -> &ReadLatency {
        &self.latency
    }

    fn open_options(&self) -> OpenOptions {
        OpenOptions {
            direct: self.options.direct,
            mmap: self.options.mmap,
            access: access(self.options.advise_random),
            ..OpenOptions::default()
        }
    }

    /// Opens another descriptor of the file, for another access pattern than users' reads.
    pub fn open_file(&self, file: &FileMetadata, open: &OpenOptions) -> Result<Arc<dyn RandomAccessFile>> {
        let open = &OpenOptions {
            temperature: file.temperature,
            ..*open
        };
        let path = self.paths.table(file);
        let reader = match self.fs.open_random(&path, open) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let leveldb = path.with_extension("ldb");
                self.fs
                    .open_random(&leveldb, open)
                    .map_err(|_| error.with_kind(ErrorKind::Io))?
            }
            other => other?,
        };
        if reader.len() != file.size {
            return Err(Error::corruption(format!(
                "Sst file size mismatch: {} bytes, MANIFEST says {}",
                reader.len(),
                file.size
            ))
            .in_file(&path));
        }
        Ok(TimedFile::over(
            reader,
            &self.options.stats,
            &self.options.rate_limiter,
            open.access,
            Some((file, &self.latency)),
        ))
    }

    fn open_table(&self, file: &FileMetadata, open: OpenOptions) -> Result<Arc<Table>> {
        let stats = &self.options.stats;
        let started = stats.start();
        let opened = self.open_table_in(file, open);
        stats.stop(started, Histogram::TableOpenIoMicros);
        let ticker = match opened {
            Ok(_) => Ticker::FileOpens,
            Err(_) => Ticker::FileErrors,
        };
        stats.count(ticker, 1);
        opened
    }

    fn open_table_in(&self, file: &FileMetadata, open: OpenOptions) -> Result<Arc<Table>> {
        let reader = self.open_file(file, &open)?;
        self.open_reader(file, reader, Some(file.largest_seqno), self.paths.table(file))
    }

    /// Opens the table at `path` in the place of the table of `file`, and keeps it open. No MANIFEST knows
    /// the table: its global sequence number is the one that it records. Requires a cache without a limit of
    /// open files.
    pub fn open_foreign(&self, file: &FileMetadata, path: &Path) -> Result<Arc<Table>> {
        let open = self.open_options();
        let reader = self.fs.open_random(path, &open)?;
        let (stats, limiter) = (&self.options.stats, &self.options.rate_limiter);
        let reader = TimedFile::over(reader, stats, limiter, open.access, None);
        let table = self.open_reader(file, reader, None, path.to_path_buf())?;
        Ok(self.slot(file).table.set(table).share())
    }

    fn open_reader(
        &self,
        file: &FileMetadata,
        reader: Arc<dyn RandomAccessFile>,
        largest_seqno: Option<SeqNo>,
        path: PathBuf,
    ) -> Result<Arc<Table>> {
        let slot = self.slot(file);
        let flushed = slot.level_0.load(Ordering::Relaxed) && file.size <= self.options.largest_flushed;
        let options = TableReadOptions {
            cache_id: Some(slot.cache_id),
            cache_id_is_new: !slot.opened.swap(true, Ordering::Relaxed),
            secondary_tally: self.options.stats.secondary.clone(),
            statistics: self.options.stats.shared().cloned(),
            metadata_caching: self.options.metadata_caching[usize::from(flushed)],
            cmp: self.options.cmp.clone(),
            file_number: file.number,
            largest_seqno,
            cache: self.options.block_cache.clone(),
            caches_first_reads: self.options.caches_first_reads,
            prefix_extractor: self.options.prefix_extractor.clone(),
            verify_checksums: true,
            block_protection_bytes_per_key: self.options.block_protection_bytes_per_key,
            auto_readahead: self.options.auto_readahead,
            block_trace: self.options.block_trace.clone(),
            charges_cache: self.options.charges_cache,
        };
        let table = Table::open(reader, options).map_err(|error| error.in_file(&path))?;
        if self.options.verify_unique_ids {
            check_unique_id(file, &table)?;
        }
        file.stats.get_or_init(|| file_stats(table.properties()));
        Ok(table)
    }

    /// Charges the records of `files` to the block cache, as long as they exist, if they are to be charged.
    ///
    /// # Errors
    /// `Aborted`, RocksDB's `MemoryLimit`, if the cache has no room.
    pub fn charge_records<'a>(&self, files: impl IntoIterator<Item = &'a Arc<FileMetadata>>) -> Result<()> {
        let Some(reservation) = &self.metadata else {
            return Ok(());
        };
        for file in files {
            if file.charge.get().is_none() {
                let record = ChargedRecord::new(reservation.clone(), file.memory_usage())?;
                // Only the thread that changes the versions of the family charges records.
                let _ = file.charge.set(Box::new(record));
            }
        }
        Ok(())
    }

    /// Records that `file` is in level 0. Called before its table is opened.
    pub fn mark_level_0(&self, file: &FileMetadata) {
        if self.options.metadata_caching[0].is_some() {
            self.slot(file).level_0.store(true, Ordering::Relaxed);
        }
    }

    /// The range tombstones of `table`, the table of `file`, cut to the file's bounds. They are cut once and
    /// kept: later calls take no lock, allocate nothing and count no reference.
    #[inline]
    pub fn tombstones_within_bounds<'a>(
        &self,
        file: &'a FileMetadata,
        table: &Table,
    ) -> &'a Arc<FragmentedTombstones> {
        let slot = self.slot(file);
        let cut = || {
            let user = self.options.cmp.user();
            table
                .range_tombstones()
                .truncate_shared(user, &file.smallest, &file.largest)
        };
        slot.tombstones.get_or_init(cut)
    }

    /// The bytes of the family's obsolete tables, which no later version refers to, that a reader still
    /// holds.
    pub fn zombie_bytes(&self) -> u64 {
        self.zombie_bytes.load(Ordering::Relaxed)
    }

    /// Marks `file` as obsolete: no later version refers to it, and it is deleted when the last version that
    /// does is dropped.
    pub fn mark_obsolete(&self, file: &FileMetadata) {
        let slot = self.slot(file);
        // The bytes are added before the mark is set: the drop that sees the mark subtracts them.
        self.obsolete.zombie_bytes.fetch_add(slot.size, Ordering::Relaxed);
        self.zombie_bytes.fetch_add(slot.size, Ordering::Relaxed);
        slot.obsolete.store(true, Ordering::Release);
        self.limit.forget(file.number);
    }
}

//! Creating and dropping column families of an open database.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arc_swap::ArcSwap;
use base::prefix;
use base::{Error, InternalComparator, MAX_SEQNO, Result};
use compact::stall::StallCondition;
use manifest::{Version, VersionEdit};
use sst::BlockCache;

use crate::files::blob_cache::{BlobCache, BlobFileCache};
use crate::files::obsolete_files::ObsoleteFiles;
use crate::files::open_limit::OpenLimit;
use crate::files::table_cache::{TableCache, TableCacheOptions};
use crate::log::listeners::report_without_effect;
use crate::log::log_line;
use crate::options::file::StoredFamily;
use crate::options::names::DEFAULT_COLUMN_FAMILY;
use crate::options::names::Merger;
use crate::options::names::STATS_COLUMN_FAMILY;
use crate::options::names::stored_merger;
use crate::options::{CacheEntryRole, ColumnFamilyOptions, Options};
use crate::state::block_trace::FamilyBlockTrace;
use crate::state::column_family::{ColumnFamily, Family};
use crate::state::db_inner::DbInner;
use crate::state::db_state::{FamilyState, Memory};
use crate::state::disk_waits::DiskWaits;
use crate::state::file_changes::FileChanges;
use crate::state::handle::Db;
use crate::state::memtables::new_memtable;
use crate::state::open_iterators::OpenIterators;
use crate::state::removals::Removals;
use crate::state::replaced::Replaced;
use crate::state::stream_floor::StreamFloor;
use crate::state::super_version::SuperVersion;
use crate::state::value::ValueResolver;
use crate::stats::Stats;
use crate::timed_hooks;
use crate::trace::{BlockCacheTrace, QueryTrace};

impl Db {
    /// The column family of that name, if it exists.
    pub fn column_family(&self, name: &str) -> Option<ColumnFamily> {
        let inner = self.inner();
        let family = inner.family_by_name(name).filter(|_| !inner.is_closed());
        family.map(ColumnFamily)
    }

    /// The column family of that id, if it exists.
    pub fn column_family_by_id(&self, id: u32) -> Option<ColumnFamily> {
        let inner = self.inner();
        let family = inner.family_by_id(id).filter(|_| !inner.is_closed());
        family.map(ColumnFamily)
    }

    /// All column families in the order of their ids, except the one that stores statistics
    /// ([`persist_stats_to_disk`](Options::persist_stats_to_disk)).
    pub fn column_families(&self) -> Vec<ColumnFamily> {
        let inner = self.inner();
        let state = inner.state.lock();
        let families = state.families.values();
        families
            .filter(|family| family.family.name != STATS_COLUMN_FAMILY && !inner.is_closed())
            .map(|family| ColumnFamily(family.family.clone()))
            .collect()
    }

    /// Creates a column family. `InvalidArgument` if the name exists.
    pub fn create_column_family(&self, name: &str, options: &ColumnFamilyOptions) -> Result<ColumnFamily> {
        self.inner().check_open()?;
        self.inner().create_column_family(name, options)
    }

    /// Creates column families in the given order and writes the OPTIONS file once. Created one by one, each
    /// writes an OPTIONS file with all families, so that the cost grows with the square of their number.
    ///
    /// # Errors
    /// The errors of [`create_column_family`](Self::create_column_family) for the first family that fails.
    /// The families before it are created.
    pub fn create_column_families(
        &self,
        families: &[(&str, &ColumnFamilyOptions)],
    ) -> Result<Vec<ColumnFamily>> {
        self.inner().check_open()?;
        self.inner().create_column_families(families)
    }

    /// Drops a column family. Its handles can still read, and its files are deleted when they are no longer
    /// read. `InvalidArgument` for the default family.
    pub fn drop_column_family(&self, family: &ColumnFamily) -> Result<()> {
        self.inner().check_open()?;
        self.inner().remember_family(&family.0)?;
        self.inner().drop_column_family(&family.0)
    }
}

/// The parts that all families of a database share.
pub(crate) struct Shared<'a> {
    pub options: &'a Options,
    pub dir: &'a Path,
    pub block_cache: &'a Arc<BlockCache>,
    pub open_limit: &'a Arc<OpenLimit>,
    pub obsolete: &'a Arc<ObsoleteFiles>,
    pub published: &'a Arc<AtomicU64>,
    pub query_trace: &'a Arc<QueryTrace>,
    pub block_trace: &'a Arc<BlockCacheTrace>,
    pub stats: &'a Arc<Stats>,
}

/// Returns the merge operator of the options or, without one, of the OPTIONS file.
fn merger_of(shared: &Shared<'_>, options: &ColumnFamilyOptions, stored: Option<&StoredFamily>) -> Merger {
    let merger = match (
        &options.merge_operator,
        stored.and_then(|stored| stored.merge_operator.as_deref()),
    ) {
        (Some(operator), _) => Merger::Operator(operator.clone()),
        (None, Some(text)) => stored_merger(text),
        (None, None) => Merger::Unknown(String::new()),
    };
    match merger {
        Merger::Operator(operator) => Merger::Operator(timed_hooks::merge_operator(
            operator,
            shared.options.statistics.as_ref(),
        )),
        unknown => unknown,
    }
}

/// Returns the open blob files of a family in `dir`: none yet.
fn blob_files_of(
    shared: &Shared<'_>,
    id: u32,
    dir: &Path,
    options: &ColumnFamilyOptions,
) -> Arc<BlobFileCache> {
    let charges = options
        .table
        .cache_usage_options
        .charges(CacheEntryRole::BlobCache);
    let charged_to = block_cache(shared, options).filter(|_| charges);
    let values = options.blob_cache.clone();
    BlobFileCache::new(
        shared.options.fs.clone(),
        dir.to_path_buf(),
        id,
        shared.options.advise_random_on_open,
        values.map(|cache| BlobCache::new(cache, charged_to.as_ref())),
        shared.open_limit.clone(),
        shared.stats.clone(),
    )
}

/// Returns the block cache of a family with these options.
fn block_cache(shared: &Shared<'_>, options: &ColumnFamilyOptions) -> Option<Arc<BlockCache>> {
    match (&options.table.block_cache, options.table.no_block_cache) {
        (_, true) => None,
        (Some(own), false) => Some(own.clone()),
        (None, false) => Some(shared.block_cache.clone()),
    }
}

/// Creates a family from its options. The components that they leave open come from the OPTIONS file.
pub(crate) fn assemble(
    shared: &Shared<'_>,
    id: u32,
    name: &str,
    options: &ColumnFamilyOptions,
    stored: Option<&StoredFamily>,
    version: &Arc<Version>,
) -> Arc<Family> {
    let cmp = version.cmp().clone();
    let stored_extractor = || stored.and_then(|stored| prefix::builtin(stored.prefix_extractor.as_deref()?));
    let prefix_extractor = options.prefix_extractor.clone().or_else(stored_extractor);
    let stored_partitioner = || {
        stored.and_then(|stored| compact::partitioner::builtin(stored.sst_partitioner_factory.as_deref()?))
    };
    let partitioner = options.sst_partitioner_factory.clone();
    let sst_partitioner_factory = partitioner.or_else(stored_partitioner);
    let merger = merger_of(shared, options, stored);
    let fs = &shared.options.fs;
    let paths = shared.options.table_paths(options, shared.dir);
    let dir = paths.dir(0).to_path_buf();
    let charges = |role| options.table.cache_usage_options.charges(role);
    let block_trace = Arc::new(FamilyBlockTrace::new(shared.block_trace.clone(), id, name));
    let tables = TableCache::new(
        fs.clone(),
        paths.clone(),
        TableCacheOptions {
            cmp: cmp.clone(),
            prefix_extractor: prefix_extractor.clone(),
            block_cache: block_cache(shared, options),
            row_cache: shared.options.row_cache.clone(),
            charges_cache: charges(CacheEntryRole::BlockBasedTableReader),
            charges_metadata: charges(CacheEntryRole::FileMetadata),
            stats: shared.stats.clone(),
            rate_limiter: shared.options.rate_limiter.clone(),
            direct: shared.options.use_direct_reads,
            mmap: shared.options.allow_mmap_reads,
            advise_random: shared.options.advise_random_on_open,
            // With direct reads, a second read of a block would come from the disk itself, not from the page
            // cache, so the first read inserts the block already.
            caches_first_reads: options.table.caches_first_reads || shared.options.use_direct_reads,
            auto_readahead: options.table.auto_readahead(),
            block_trace: Some(block_trace.clone()),
            block_protection_bytes_per_key: options.block_protection_bytes_per_key as u8,
            verify_unique_ids: shared.options.verify_sst_unique_id_in_manifest,
            metadata_caching: [false, true].map(|flushed| options.table.metadata_caching(flushed)),
            // RocksDB's limit for the size of tables that it treats as freshly flushed.
            largest_flushed: options.write_buffer_size / 2 * 3,
            num_levels: options.num_levels as usize,
            uncache_aggressiveness: options.uncache_aggressiveness,
        },
        shared.open_limit.clone(),
        shared.obsolete.clone(),
    );
    let super_version = SuperVersion {
        mem: new_memtable(&cmp, options),
        immutable: Vec::new(),
        version: version.clone(),
        number: 0,
        visible: MAX_SEQNO,
        options: Arc::new(options.clone()),
        full_history_ts_low: Box::default(),
    };
    version.files(0).iter().for_each(|file| tables.mark_level_0(file));
    let family = Arc::new(Family {
        id,
        name: name.to_owned(),
        dir: dir.clone(),
        paths,
        options: options.clone(),
        reserves_last_level: options.can_reserve_last_level()
            && (options.cf_allow_ingest_behind || shared.options.allow_ingest_behind),
        current: ArcSwap::from_pointee(options.clone()),
        write_buffer_size: AtomicU64::new(options.write_buffer_size),
        prefix_extractor,
        sst_partitioner_factory,
        values: ValueResolver {
            merger,
            blobs: blob_files_of(shared, id, &dir, options),
            row_limit: shared.options.row_limit,
        },
        tables: Arc::new(tables),
        super_version: ArcSwap::from_pointee(super_version),
        super_version_number: AtomicU64::new(0),
        replaced: Replaced::default(),
        clock: shared.options.clock.clone(),
        published: shared.published.clone(),
        file_changes: FileChanges::default(),
        disk_waits: DiskWaits::default(),
        query_trace: shared.query_trace.clone(),
        dropped: AtomicBool::new(false),
        pressing: Arc::default(),
        stream_floor: StreamFloor::default(),
        iterators: OpenIterators::default(),
        removals: Removals::default(),
        cmp,
    });
    block_trace.belongs_to(&family);
    family
}

/// The state of a family at its open, without rows in memory.
pub(crate) fn fresh_state(
    family: Arc<Family>,
    version: Arc<Version>,
    log_number: u64,
    first_wal: u64,
) -> FamilyState {
    let table = family.super_version.load().mem.clone();
    let persists = family.options.persist_user_defined_timestamps;
    let mut state = FamilyState {
        family,
        version,
        mem: Memory {
            table,
            first_wal,
            oldest_section: None,
        },
        immutable: VecDeque::new(),
        retired: Vec::new(),
        flush_requested: None,
        log_number,
        persist_user_defined_timestamps: persists,
        full_history_ts_low: Box::default(),
        stall: StallCondition::Normal,
        behind: false,
        drain: Default::default(),
        l0_work: None,
        stalled: Default::default(),
        memtables_stall: false,
        pending_compaction_bytes: 0,
        compaction_score: 0.0,
        compaction_due: false,
        awaits_room: false,
        running: Default::default(),
        released_snapshot: 0,
        manual_waits: 0,
        suggested: Default::default(),
        to_rewrite: Default::default(),
        left_alone: Default::default(),
        flushing: false,
        unreported_flushes: 0,
        stream_borders: Default::default(),
        stats: Default::default(),
    };
    state.update_stall();
    state
}

impl DbInner {
    /// Opens the files of `version`, unless the number of open files is limited.
    pub(crate) fn hold_files(&self, family: &Family, version: &Version) -> Result<()> {
        if self.options.max_open_files >= 0 {
            return Ok(());
        }
        version
            .all_files()
            .try_for_each(|(_, file)| family.tables.table(file).map(drop))?;
        let blobs = version.blob_files().values();
        blobs
            .into_iter()
            .try_for_each(|blob| family.values.blobs.hold(blob))
    }

    pub(crate) fn shared(&self) -> Shared<'_> {
        Shared {
            options: &self.options,
            dir: &self.dir,
            block_cache: &self.block_cache,
            open_limit: &self.open_limit,
            obsolete: &self.obsolete,
            published: &self.published,
            query_trace: &self.traces.query,
            block_trace: &self.traces.block,
            stats: &self.stats,
        }
    }

    fn create_column_family(&self, name: &str, options: &ColumnFamilyOptions) -> Result<ColumnFamily> {
        let mut created = self.create_column_families(&[(name, options)])?;
        created
            .pop()
            .ok_or_else(|| Error::invalid_argument("no family to create"))
    }

    fn create_column_families(&self, families: &[(&str, &ColumnFamilyOptions)]) -> Result<Vec<ColumnFamily>> {
        if self.read_only {
            return Err(Error::not_supported("the database is open for reading only"));
        }
        let mut created = Vec::with_capacity(families.len());
        let mut outcome = Ok(());
        for (name, options) in families {
            match self.add_column_family(name, options) {
                Ok(family) => created.push(ColumnFamily(family)),
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
        }
        let written = match created.is_empty() {
            true => Ok(()),
            false => self.write_options_file(),
        };
        outcome.and(written).map(|()| created)
    }

    /// Creates a family without writing the OPTIONS file.
    pub(crate) fn add_column_family(&self, name: &str, options: &ColumnFamilyOptions) -> Result<Arc<Family>> {
        crate::options::check::check_family_options(&self.options, name, options)?;
        let mut options = options.clone();
        for said in options.sanitize(self.options.atomic_flush, &self.options.db_paths) {
            log_line!(self.log, Warn, "column family {name}: {said}");
        }
        let options = &options;
        for own in &options.cf_paths {
            crate::files::copy::create_dir(&*self.options.fs, &own.path)?;
        }
        // Under the write queue's lock, no other family is created or dropped, and no WAL begins.
        let writer = self.write.queue.lock();
        let mut state = self.state.lock();
        state.check_writable()?;
        if self.family_by_name(name).is_some() {
            return Err(Error::invalid_argument(format!(
                "Column family already exists: {name}"
            )));
        }
        let id = state.max_family + 1;
        let cmp = InternalComparator::new(options.comparator.clone());
        let version = Arc::new(Version::empty(cmp, options.num_levels as usize));
        let family = assemble(&self.shared(), id, name, options, None, &version);
        let wal = state.current_wal();
        let edit = VersionEdit {
            column_family: id,
            column_family_add: Some(name.to_owned()),
            comparator: Some(family.cmp.user().name().to_owned()),
            persist_user_defined_timestamps: Some(options.persist_user_defined_timestamps),
            log_number: Some(wal),
            ..VersionEdit::default()
        };
        state.max_family = id;
        self.log_edit(&mut state, edit)?;
        state
            .families
            .insert(id, fresh_state(family.clone(), version, wal, wal));
        self.reindex(&state);
        self.rotate_manifest(&mut state)?;
        drop(state);
        drop(writer);
        self.log.write_family(name, id, options);
        report_without_effect(name, options, None, &self.listeners);
        Ok(family)
    }

    pub(crate) fn drop_column_family(&self, family: &Arc<Family>) -> Result<()> {
        if family.id == 0 || family.name == DEFAULT_COLUMN_FAMILY {
            return Err(Error::invalid_argument("Can't drop default column family"));
        }
        if self.read_only {
            return Err(Error::not_supported("the database is open for reading only"));
        }
        let writer = self.write.queue.lock();
        let mut state = self.state.lock();
        state.check_writable()?;
        family.check_writable()?;
        // The WALs that the other families need: the log number of a family without rows does not advance.
        let needed = state.oldest_needed_wal_without(family.id);
        let edit = VersionEdit {
            column_family: family.id,
            column_family_drop: true,
            min_log_number_to_keep: Some(needed),
            ..VersionEdit::default()
        };
        self.log_edit(&mut state, edit)?;
        let recorded = &mut state.recorded;
        recorded.min_log_number_to_keep = recorded.min_log_number_to_keep.max(needed);
        family.dropped.store(true, Ordering::Release);
        if let Some(mut gone) = state.families.remove(&family.id) {
            // The handles of the dropped family can read until the database is closed.
            state
                .dropped_families
                .retain(|dropped| dropped.strong_count() > 0);
            state.dropped_families.push(Arc::downgrade(family));
            let delayed_write_rate = self.current.load().delayed_write_rate;
            state.stall_events.extend(gone.end_stall(delayed_write_rate));
            gone.version
                .all_files()
                .for_each(|(_, file)| family.tables.mark_obsolete(file));
            let blobs = gone.version.blob_files().values();
            blobs.for_each(|blob| family.values.blobs.mark_obsolete(blob, &self.obsolete));
        }
        self.reindex(&state);
        self.drop_unneeded_wals(&mut state);
        self.changed.notify_all();
        self.rotate_manifest(&mut state)?;
        drop(state);
        drop(writer);
        self.notify_stalls();
        log_line!(
            self.log,
            Info,
            "Dropped column family [{}] with id {}",
            family.name,
            family.id
        );
        self.write_options_file()
    }

    /// Updates the lookups by id and name to the families in `state`.
    pub(crate) fn reindex(&self, state: &crate::state::db_state::DbState) {
        let mut index = crate::state::db_inner::FamilyIndex::default();
        for family in state.families.values() {
            index.by_id.insert(family.family.id, family.family.clone());
            index
                .by_name
                .insert(family.family.name.clone(), family.family.clone());
        }
        self.index.store(Arc::new(index));
    }
}

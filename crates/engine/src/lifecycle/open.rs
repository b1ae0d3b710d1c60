//! Opening, creating and destroying databases.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use arc_swap::ArcSwap;
use base::filename::{self, FileKind};
use base::sync::{Condvar, Mutex};
use base::user_code::catch_or_fail;
use base::{Error, ErrorKind, Result, SeqNo, env};
use cache::{Cache, CacheOptions};
use manifest::{ManifestState, Version, VersionEdit};
use sst::BlockCache;
use vfs::FileLock;

use crate::files::copy::create_dir;
use crate::files::deletion::Deletion;
use crate::files::obsolete_files::ObsoleteFiles;
use crate::files::open_limit::OpenLimit;
use crate::files::session_id::new_session_id;
use crate::files::wal_archive;
use crate::jobs::families::{Shared, assemble, fresh_state};
use crate::lifecycle::best_efforts::{database_exists, read_state};
use crate::lifecycle::manifest_tail::read_manifest;
use crate::lifecycle::moment::{Moment, READ_ONLY_ATTEMPTS, read_identity, write_identity};
use crate::lifecycle::stored_options::{find_options, stored_options};
use crate::lifecycle::wal_dir::{self, WalDir};
use crate::log::listeners::Listeners;
use crate::log::listeners::report_without_effect;
use crate::log::listeners::with_file_listeners;
use crate::log::{self, InfoLog, log_line};
use crate::options::Options;
use crate::options::cache_usage::DEFAULT_CACHE_SIZE;
use crate::options::check::{check_options, check_recorded_timestamps};
use crate::options::file::OptionsFile;
use crate::options::names::STATS_COLUMN_FAMILY;
use crate::options::sst_file_manager::is_trash;
use crate::options::write_buffer_manager::WriteBufferManager;
use crate::report::stats_history;
use crate::state::background::{JobSide, Work};
use crate::state::column_family::Family;
use crate::state::db_inner::RECOVERY_JOB;
use crate::state::db_inner::{DbInner, DirLocks, FamilyIndex, Identity, Traces};
use crate::state::db_state::DbState;
use crate::state::handle::{Db, Handle};
use crate::state::samples::ReportSide;
use crate::state::snapshot::SnapshotList;
use crate::state::stalls::wal_limit;
use crate::state::sync_group::WalTail;
use crate::state::verifier::Verifier;
use crate::state::version_set::{VersionSet, set_current};
use crate::state::write_queue::WriteQueue;
use crate::state::write_side::WriteSide;
use crate::state::writer::Writer;
use crate::stats::Stats;
use crate::trace::{BlockCacheTrace, IoTrace, QueryTrace, TracedFs};
use crate::write::throttle::low_pri_limiter;

/// The number of the first MANIFEST of a new database.
const FIRST_MANIFEST: u64 = 1;

impl Db {
    /// Opens the database in `path`, written by RocksDB or Esker, with all its column families, and recovers
    /// the rows in its WALs. Creates it if it does not exist and [`Options::create_if_missing`] is set.
    ///
    /// `LockHeld`, with the holder and the path, if it is open elsewhere; `Corruption`, with file and offset,
    /// if its files are damaged; `NoDatabase` if it does not exist; `ComparatorMismatch` if it was written in
    /// another order; `InvalidArgument` if an option does not fit.
    pub fn open(options: &Options, path: impl AsRef<Path>) -> Result<Db> {
        open(options, path.as_ref(), false)
    }

    /// Opens the database in `path` in its current state, for reading only: nothing in the directory changes,
    /// no lock is taken, and concurrent or later writes of other processes are not visible. Rows in WALs are
    /// kept in memory. With [`Options::max_open_files`] at -1, every table is held open, so that it stays
    /// readable after its writer has deleted it.
    ///
    /// `TryAgain` if the database changes faster than it can be opened.
    pub fn open_read_only(options: &Options, path: impl AsRef<Path>) -> Result<Db> {
        let path = path.as_ref();
        let mut changed = None;
        for _ in 0..READ_ONLY_ATTEMPTS {
            let before = Moment::of(options, path)?;
            match open(options, path, true) {
                // An error about a missing file is retried if the MANIFEST has changed: its writer has
                // replaced the file meanwhile.
                Err(error) if error.kind() == ErrorKind::TryAgain || before != Moment::of(options, path)? => {
                    changed = Some(error);
                }
                result => return result,
            }
        }
        let reason = changed.map_or(String::new(), |error| format!(": {error}"));
        Err(Error::new(
            ErrorKind::TryAgain,
            format!("the database changes while it is opened{reason}"),
        ))
    }

    /// Returns the names of the column families of the database in `path`, without opening it.
    pub fn list_column_families(options: &Options, path: impl AsRef<Path>) -> Result<Vec<String>> {
        let (_, state) = read_manifest(options, path.as_ref())?;
        Ok(state.families.into_values().map(|family| family.name).collect())
    }

    /// Deletes the database in `path`: its files, and the directories if they contain nothing else.
    /// `LockHeld` if it is open, `InvalidArgument` if [`wal_dir`](Options::wal_dir) belongs to another
    /// database. Nothing happens if it does not exist. An [SST file manager](Options::sst_file_manager) paces
    /// the deletion of tables and blob files, and of WALs in `path`; the call returns when they are gone.
    pub fn destroy(options: &Options, path: impl AsRef<Path>) -> Result<()> {
        let (fs, dir) = (&*options.fs, path.as_ref());
        if !fs.exists(dir)? {
            return Ok(());
        }
        let lock = fs.lock(&filename::lock(dir))?;
        let id = wal_dir::id_of(options, dir);
        let mut claimed = WalDir::claim(options, dir, id.as_deref())?;
        let wal_dir = claimed.path().to_path_buf();
        let others = options.other_table_directories(dir);
        let deletion = Deletion::new(options, dir);
        let bucket = options
            .sst_file_manager
            .as_ref()
            .map(|manager| manager.new_trash_bucket());
        let delete = |path: &Path| deletion.delete_unaccounted(path, bucket);
        wal_archive::destroy(fs, &wal_dir, &delete)?;
        for directory in others.iter().map(PathBuf::as_path).chain([&*wal_dir, dir]) {
            let names = match fs.list(directory) {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                other => other?,
            };
            let has_tables = directory == dir || others.contains(directory);
            for name in names {
                match filename::parse(&name) {
                    None if is_trash(&name) => delete(&directory.join(&name))?,
                    Some(FileKind::Lock) | None => {}
                    Some(FileKind::Wal(_)) if directory == dir || directory == wal_dir => {
                        delete(&directory.join(&name))?;
                    }
                    Some(FileKind::Table(_) | FileKind::Blob(_)) if has_tables => {
                        delete(&directory.join(&name))?;
                    }
                    // Other files in the directories of WALs and tables do not belong to the database.
                    Some(_) if directory == dir => fs.remove(&directory.join(&name))?,
                    Some(_) => {}
                }
            }
        }
        if let (Some(manager), Some(bucket)) = (&options.sst_file_manager, bucket) {
            manager.wait_for_bucket(bucket);
        }
        wal_archive::remove_empty(fs, &wal_dir)?;
        log::destroy(options, dir)?;
        claimed.unmark(fs)?;
        claimed.remove_lock(fs)?;
        drop(lock);
        fs.remove(&filename::lock(dir))?;
        for directory in others.iter().map(PathBuf::as_path).chain([&*wal_dir, dir]) {
            if fs.exists(directory)? && fs.list(directory)?.is_empty() {
                fs.remove_dir(directory)?;
            }
        }
        Ok(())
    }
}

fn open(options: &Options, dir: &Path, read_only: bool) -> Result<Db> {
    check_options(options)?;
    let fs = &*options.fs;
    let current = filename::current(dir);
    let mut lock = None;
    if !read_only {
        if options.create_if_missing {
            create_dir(fs, dir)?;
            create_dir(fs, &options.wal_directory(dir))?;
        } else if !database_exists(options, dir)? {
            // No LOCK file is created in a directory without a database.
            return Err(does_not_exist(&current));
        }
        lock = Some(fs.lock(&filename::lock(dir))?);
        for other in options.other_table_directories(dir) {
            create_dir(fs, &other)?;
        }
    }
    let exists = database_exists(options, dir)?;
    let mut claimed = None;
    if exists && options.error_if_exists {
        return Err(Error::invalid_argument("exists (error_if_exists is true)").in_file(dir));
    }
    if !exists {
        if read_only || !options.create_if_missing {
            return Err(does_not_exist(&current));
        }
        // A directory of WALs that belongs to another database is refused before any file is created.
        claimed = Some(WalDir::claim(options, dir, None)?);
        create(options, dir)?;
    }
    // The info log is opened after the lock is taken: the holder of the lock is the only writer of the log.
    let log = Arc::new(match read_only {
        true => InfoLog::given(options),
        false => InfoLog::open(options, dir),
    });
    let opened = catch_or_fail(|| open_existing(&with_file_listeners(options), dir, lock, claimed, &log));
    opened.inspect_err(|error| {
        log_line!(log, Error, "Open failed: {error}");
        log.close();
    })
}

/// Opens an existing database; without a lock, for reading only. `claimed` is the directory of its WALs if it
/// was just created.
fn open_existing(
    options: &Options,
    dir: &Path,
    lock: Option<Box<dyn FileLock>>,
    claimed: Option<WalDir>,
    log: &Arc<InfoLog>,
) -> Result<Db> {
    let read_only = lock.is_none();
    let moment = Moment::of(options, dir)?;
    let (manifest, recorded) = read_state(options, dir)?;
    check_live_files(options, dir, &recorded)?;
    let id = match &recorded.db_id {
        Some(id) => Some(id.clone()),
        None => read_identity(&*options.fs, dir)?,
    };
    let mut inner = assemble_db(options, dir, read_only, lock, recorded, log.clone())?;
    if read_only {
        inner.wal_dir = WalDir::look(options, dir, Some(&inner.identity.db_id))?;
    } else {
        let claimed = claimed.map_or_else(|| WalDir::claim(options, dir, id.as_deref()), Ok);
        inner.take_wal_dir(claimed?)?;
    }
    let db = Db(Arc::new(Handle {
        inner: Arc::new(inner),
        close: DbInner::close,
        primary: None,
    }));
    let inner = &db.0.inner;
    // The database object exists at this point, so that an error closes it as usual.
    catch_or_fail(|| {
        if read_only {
            inner.recover_read_only(&moment, &manifest)?;
            inner.begin_samples();
        } else {
            inner.begin_archive();
            inner.recover(&manifest)?;
            inner.begin_samples();
            inner.create_missing_families()?;
            inner.open_stats_history()?;
            inner.write_options_file()?;
            inner.start_threads();
            if options.verify_rate_bytes_per_sec > 0 {
                inner.start_verifier()?;
            }
        }
        inner.finish_open()
    })?;
    Ok(db)
}

fn does_not_exist(current: &Path) -> Error {
    Error::new(
        ErrorKind::NoDatabase,
        "does not exist (create_if_missing is false)",
    )
    .in_file(current)
}

/// `Corruption` unless every file of every version exists with the size in the MANIFEST: an incomplete
/// database must not be written to, and no file of it deleted.
fn check_live_files(options: &Options, dir: &Path, recorded: &ManifestState) -> Result<()> {
    let check = |path: &Path, recorded: u64| match options.fs.size(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(Error::corruption("a file that the MANIFEST names does not exist").in_file(path))
        }
        Ok(size) if size != recorded => {
            let message = format!("file size mismatch: {size} bytes, the MANIFEST recorded {recorded}");
            Err(Error::corruption(message).in_file(path).at(size.min(recorded)))
        }
        other => other.map(drop),
    };
    for family in recorded.families.values() {
        let paths = options.table_paths(options.family(&family.name), dir);
        for (_, file) in family.version.all_files() {
            check(&paths.table(file), file.size)?;
        }
        for blob in family.version.blob_files().values() {
            check(&filename::blob(paths.dir(0), blob.number()), blob.file_size())?;
        }
    }
    Ok(())
}

/// Writes the files of an empty database. CURRENT comes last: without it, the database does not exist.
fn create(options: &Options, dir: &Path) -> Result<()> {
    let fs = &*options.fs;
    let wal_dir = options.wal_directory(dir);
    if fs
        .list(&wal_dir)?
        .iter()
        .any(|name| matches!(filename::parse(name), Some(FileKind::Wal(_))))
    {
        return Err(Error::corruption(
            "While creating a new Db, wal_dir contains existing log file: a database was here, and its CURRENT is gone",
        )
        .in_file(&wal_dir));
    }
    let db_id = new_db_id();
    if options.write_identity_file {
        write_identity(fs, dir, &db_id)?;
    }
    let edit = VersionEdit {
        db_id: options.write_dbid_to_manifest.then_some(db_id),
        comparator: Some(options.column_family.comparator.name().to_owned()),
        persist_user_defined_timestamps: Some(options.column_family.persist_user_defined_timestamps),
        log_number: Some(0),
        next_file_number: Some(FIRST_MANIFEST + 1),
        last_sequence: Some(0),
        ..VersionEdit::default()
    };
    let mut record = Vec::new();
    edit.encode(&mut record);
    let file = fs.create(&filename::manifest(dir, FIRST_MANIFEST), &Default::default())?;
    let mut log = wal::Writer::new(file, Default::default())?;
    log.add_record(&record)?;
    log.sync()?;
    log.close()?;
    set_current(fs, dir, FIRST_MANIFEST)
}

/// Creates a database id in the form of a random UUID.
fn new_db_id() -> String {
    let mut rng = env::Rng::with_seed(env::fresh_seed());
    let mut bytes = rng.u128(..).to_be_bytes();
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!(
        "{}-{}-{}-{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..]
    )
}

/// The block cache of families whose options name none.
fn default_block_cache() -> Arc<BlockCache> {
    Cache::lru(CacheOptions {
        capacity: DEFAULT_CACHE_SIZE,
        ..CacheOptions::default()
    })
}

/// Assembles the database in `dir` from its options and the state that its MANIFEST recorded. Recovery adds
/// the rows in WALs.
pub(crate) fn assemble_db(
    options: &Options,
    dir: &Path,
    read_only: bool,
    lock: Option<Box<dyn FileLock>>,
    recorded: ManifestState,
    log: Arc<InfoLog>,
) -> Result<DbInner> {
    let mut options = options.clone();
    let io_trace = Arc::new(IoTrace::new(options.clock.clone()));
    options.fs = Arc::new(TracedFs::new(options.fs, io_trace.clone()));
    let sanitized = options.sanitize();
    let options = &options;
    let fs = options.fs.clone();
    let session_id = new_session_id();
    let found = find_options(options, dir);
    let release = options.release(found.as_ref().ok().and_then(Option::as_ref).map(|(_, file)| file));
    log.write_header(options, dir, &session_id, &release);
    for said in sanitized {
        log_line!(log, Warn, "{said}");
    }
    let listeners = Listeners::new(log.clone(), options);
    let obsolete = Arc::new(ObsoleteFiles::new(Deletion::new(options, dir), listeners.clone()));
    let open_limit = Arc::new(OpenLimit::new(options.max_open_files));
    let block_cache = default_block_cache();
    // Components that the options do not set are the same as at the last open.
    let stored = stored_options(found, options, &listeners)?;
    let published = Arc::new(AtomicU64::new(recorded.last_sequence));
    let traces = Traces {
        query: Arc::new(QueryTrace::new(options.clock.clone())),
        io: io_trace,
        block: Arc::new(BlockCacheTrace::new(options.clock.clone())),
    };
    let stats = Arc::new(Stats::new(options.statistics.clone(), options.clock.clone()));
    let shared = Shared {
        options,
        dir,
        block_cache: &block_cache,
        open_limit: &open_limit,
        obsolete: &obsolete,
        published: &published,
        query_trace: &traces.query,
        block_trace: &traces.block,
        stats: &stats,
    };
    let mut state = DbState::new(&recorded, options);
    let default_family = add_families(
        &shared,
        recorded.families,
        stored.as_ref(),
        &listeners,
        &mut state,
    )?;
    let max_total_wal_size = wal_limit(options, &state);
    let db_id = match recorded.db_id {
        Some(db_id) => db_id,
        None => read_identity(&*fs, dir)?.unwrap_or_else(new_db_id),
    };
    let inner = DbInner {
        dir: dir.to_path_buf(),
        identity: Identity::new(db_id, session_id, options.clock.now()),
        jobs: JobSide::new(
            RECOVERY_JOB + 1,
            Verifier::new(options.verify_rate_bytes_per_sec, options.clock.clone())?,
        ),
        report: ReportSide::default(),
        wal_dir: options.wal_directory(dir),
        versions: VersionSet::new(fs, dir, recorded.next_file_number, options.max_manifest_file_size),
        current: ArcSwap::from_pointee(options.clone()),
        options_file: Mutex::default(),
        options: options.clone(),
        work: Work::default(),
        async_reads: Arc::default(),
        changed: Condvar::new(),
        write: write_side(options, recorded.last_sequence, read_only)?,
        wal_tail: WalTail::new(max_total_wal_size),
        published,
        traces,
        snapshots: Arc::new(SnapshotList::new(options.clock.clone())),
        obsolete,
        index: ArcSwap::from_pointee(FamilyIndex::default()),
        default_family,
        log,
        listeners,
        stats,
        open_limit,
        block_cache,
        read_only,
        secondary: None,
        dir_locks: DirLocks {
            db: Mutex::new(lock),
            wal_dir: Mutex::default(),
        },
        state: Mutex::new(state),
    };
    inner.reindex(&inner.state.lock());
    Ok(inner)
}

/// Adds the families of the MANIFEST to `state`, and returns the default one. `stored` is the OPTIONS file of
/// the last open.
fn add_families(
    shared: &Shared<'_>,
    recorded: BTreeMap<u32, manifest::FamilyState>,
    stored: Option<&OptionsFile>,
    listeners: &Listeners,
    state: &mut DbState,
) -> Result<Arc<Family>> {
    let stats_options = stats_history::family_options();
    let mut default_family: Option<Arc<Family>> = None;
    for (id, family) in recorded {
        let options = match family.name == STATS_COLUMN_FAMILY {
            true => &stats_options,
            false => shared.options.family(&family.name),
        };
        check_recorded_timestamps(shared.options, &family, options)?;
        let stored = stored.map(|stored| stored.stored(&family.name));
        let version = Arc::new(with_levels(&family, options.num_levels as usize)?);
        let assembled = assemble(shared, id, &family.name, options, stored.as_ref(), &version);
        assembled
            .tables
            .charge_records(version.all_files().map(|(_, file)| file))?;
        if id == 0 {
            default_family = Some(assembled.clone());
        }
        report_without_effect(&family.name, options, None, listeners);
        let mut own = fresh_state(assembled, version, family.log_number, family.log_number);
        own.full_history_ts_low = family.full_history_ts_low;
        state.families.insert(id, own);
    }
    default_family
        .ok_or_else(|| Error::corruption("the MANIFEST knows no default column family").in_file(shared.dir))
}

/// The version of a family, with the number of levels in the options. `InvalidArgument` if more levels have
/// files.
fn with_levels(family: &manifest::FamilyState, levels: usize) -> Result<Version> {
    let non_empty = family.version.num_non_empty_levels();
    if non_empty > levels {
        return Err(Error::invalid_argument(format!(
            "column family {} has files in {non_empty} levels, more than num_levels {levels}",
            family.name
        )));
    }
    Ok(family.version.with_num_levels(levels))
}

/// The write side of a database whose last sequence number is `last_sequence`.
fn write_side(options: &Options, last_sequence: SeqNo, read_only: bool) -> Result<WriteSide> {
    // A read-only database has no share of a write buffer manager, because it flushes nothing.
    let manager = match (&options.write_buffer_manager, options.db_write_buffer_size) {
        _ if read_only => None,
        (Some(manager), _) => Some(manager.clone()),
        (None, 0) => None,
        (None, bytes) => Some(WriteBufferManager::new(bytes, None, false)),
    };
    Ok(WriteSide {
        queue: WriteQueue::new(Writer::new(last_sequence)),
        line: Mutex::default(),
        telling: Mutex::default(),
        low_pri_limiter: low_pri_limiter(options)?,
        attention: AtomicBool::new(false),
        share: manager.map(|manager| manager.join()),
    })
}

impl DbInner {
    /// Makes `claimed` the directory of the WALs, and this database its owner.
    pub(crate) fn take_wal_dir(&mut self, mut claimed: WalDir) -> Result<()> {
        claimed.mark(&*self.options.fs, &self.dir, &self.identity.db_id)?;
        self.wal_dir = claimed.path().to_path_buf();
        self.dir_locks.wal_dir = Mutex::new(claimed.into_lock());
        Ok(())
    }

    /// Creates the families that the options name and the database does not have, if the options permit it.
    fn create_missing_families(&self) -> Result<()> {
        let missing = self
            .options
            .column_families
            .iter()
            .filter(|(name, _)| self.family_by_name(name).is_none());
        for (name, options) in missing {
            if !self.options.create_missing_column_families {
                return Err(Error::invalid_argument(format!(
                    "Column family not found: {name}"
                )));
            }
            self.add_column_family(name, options)?;
        }
        Ok(())
    }
}

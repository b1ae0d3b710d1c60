//! Column families: keyspaces with options and files of their own that share the WAL.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arc_swap::{ArcSwap, Guard};
use base::env::Clock;
use base::prefix::PrefixExtractor;
use base::{Error, ErrorKind, InternalComparator, Result, SeqNo, UserComparator, sync};
use compact::{Plan, SstPartitionerFactory};
use manifest::Version;
use memtable::Memtable;

use crate::files::table_cache::TableCache;
use crate::options::{ColumnFamilyOptions, CompactionStyle, TablePaths};
use crate::state::disk_waits::DiskWaits;
use crate::state::error_state::closing;
use crate::state::file_changes::FileChanges;
use crate::state::open_iterators::OpenIterators;
use crate::state::removals::Removals;
use crate::state::replaced::Replaced;
use crate::state::snapshot::Snapshot;
use crate::state::stream_floor::StreamFloor;
use crate::state::super_version::SuperVersion;
use crate::state::value::ValueResolver;
use crate::trace::QueryTrace;

/// The parts of a family that do not change while the database is open, and its current super version.
pub(crate) struct Family {
    pub id: u32,
    pub name: String,
    /// The first directory of the family: it holds blob files, and tables that no compaction has written.
    pub dir: PathBuf,
    /// The directories of the family's tables.
    pub paths: TablePaths,
    /// The options of the open. The options in force are in [`current`](Self::current).
    pub options: ColumnFamilyOptions,
    /// True if the last level is reserved for files that are ingested behind all others; see
    /// [`cf_allow_ingest_behind`](ColumnFamilyOptions::cf_allow_ingest_behind).
    pub reserves_last_level: bool,
    pub current: ArcSwap<ColumnFamilyOptions>,
    /// The current `write_buffer_size` in bytes, which every write reads.
    pub write_buffer_size: AtomicU64,
    pub cmp: InternalComparator,
    pub prefix_extractor: Option<Arc<dyn PrefixExtractor>>,
    pub sst_partitioner_factory: Option<Arc<dyn SstPartitionerFactory>>,
    pub values: ValueResolver,
    pub tables: Arc<TableCache>,
    pub super_version: ArcSwap<SuperVersion>,
    /// The number of the newest super version, set after it was installed, or [`CLOSED`] once the database is
    /// closed. Iterators read it at each step.
    pub super_version_number: AtomicU64,
    pub replaced: Replaced,
    pub clock: Arc<dyn Clock>,
    /// The published sequence number of the database: all rows up to this number are in their memtables.
    pub published: Arc<AtomicU64>,
    pub file_changes: FileChanges,
    pub disk_waits: DiskWaits,
    /// The database's trace, in which iterators record their seeks.
    pub query_trace: Arc<QueryTrace>,
    pub dropped: AtomicBool,
    /// True while writes to the family are delayed or stopped. A rate limiter then serves the family's jobs
    /// first.
    pub pressing: Arc<AtomicBool>,
    /// The minimum size of a stream that a flush writes to a table of its own, as far as the speed of the
    /// disk determines it.
    pub stream_floor: StreamFloor,
    pub iterators: OpenIterators,
    /// Removals without a row of their own (dropped tables, say), for transactions that have read the removed
    /// keys.
    pub removals: Removals,
}

/// The number of the super version of a closed database, higher than all others.
pub(crate) const CLOSED: u64 = u64::MAX;

impl Family {
    /// True if keys lose their timestamps in tables.
    pub fn cuts_timestamps(&self) -> bool {
        self.cut_timestamp_size() > 0
    }

    /// The bytes of the timestamp that each key loses in a table; 0 if keys are stored whole.
    pub fn cut_timestamp_size(&self) -> usize {
        match self.options.persist_user_defined_timestamps {
            true => 0,
            false => self.cmp.user().timestamp_size(),
        }
    }

    /// The number of the directory for tables of `level`, in styles in which a level has one.
    pub fn path_of_level(&self, level: usize) -> u32 {
        match self.paths.len() {
            1 => 0,
            _ => compact::path::leveled(self.paths.targets(), &self.current().leveled(), level),
        }
    }

    /// The number of the directory for the output of `plan` in `level`.
    pub fn path_of(&self, plan: &Plan, level: usize) -> u32 {
        if let Some(asked) = plan.output_path_id {
            return asked;
        }
        let options = self.current();
        match options.compaction_style {
            CompactionStyle::Universal => {
                let bytes = plan.files().map(|(_, file)| file.size).sum();
                let size_ratio = options.compaction_options_universal.size_ratio;
                compact::path::universal(self.paths.targets(), size_ratio, bytes)
            }
            _ => self.path_of_level(level),
        }
    }

    /// Returns a super version and a sequence number up to which all rows are visible in it: that of
    /// `snapshot`, or the newest.
    pub fn view(&self, snapshot: Option<&Snapshot>) -> (Arc<SuperVersion>, SeqNo) {
        loop {
            let super_version = Guard::into_inner(self.super_version_of(snapshot));
            sync::point("super version");
            if let Some(snapshot) = snapshot {
                return (super_version, snapshot.sequence_number());
            }
            let seqno = self.published.load(Ordering::Acquire).min(super_version.visible);
            sync::point("read");
            // If a memtable was switched after the super version was loaded, rows up to `seqno` may be in
            // memtables that it does not have.
            if Arc::ptr_eq(&super_version, &self.super_version.load()) {
                return (super_version, seqno);
            }
        }
    }

    /// The super version to read: the one that a secondary's snapshot holds, or the newest.
    #[inline]
    pub fn super_version_of(&self, snapshot: Option<&Snapshot>) -> Guard<Arc<SuperVersion>> {
        let held = snapshot.and_then(|snapshot| snapshot.super_version_of(self.id, &self.cmp));
        let held = held.filter(|_| !self.is_closed());
        held.map_or_else(|| self.super_version.load(), Guard::from_inner)
    }

    /// The options in force.
    pub fn current(&self) -> Guard<Arc<ColumnFamilyOptions>> {
        self.current.load()
    }

    /// Replaces the options in force. Called under the database mutex; the next super version has them.
    pub fn set_current(&self, options: ColumnFamilyOptions) {
        self.write_buffer_size
            .store(options.write_buffer_size, Ordering::Relaxed);
        self.current.store(Arc::new(options));
    }

    /// True once the database is closed.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.super_version_number.load(Ordering::Relaxed) == CLOSED
    }

    /// Makes the family unreadable except through super versions that are held. Called under the database
    /// mutex; no super version is installed afterwards.
    pub fn close(&self) {
        let old = self.super_version.swap(Arc::new(SuperVersion::closed(&self.cmp)));
        self.super_version_number.store(CLOSED, Ordering::Release);
        self.replaced.add(&old, self.clock.now());
    }

    /// Installs the super version of these parts, which shows rows up to `visible`. Called under the database
    /// mutex.
    pub fn install(
        &self,
        mem: Arc<Memtable>,
        immutable: Vec<Arc<Memtable>>,
        version: Arc<Version>,
        visible: SeqNo,
        full_history_ts_low: &[u8],
    ) -> Arc<SuperVersion> {
        if self.is_closed() {
            return self.super_version.load_full();
        }
        let number = self.super_version_number.load(Ordering::Relaxed) + 1;
        let super_version = Arc::new(SuperVersion {
            mem,
            immutable,
            version,
            number,
            visible,
            options: self.current.load_full(),
            full_history_ts_low: full_history_ts_low.into(),
        });
        sync::point("install");
        let old = self.super_version.swap(super_version.clone());
        sync::point("installed");
        self.super_version_number.store(number, Ordering::Release);
        self.replaced.add(&old, self.clock.now());
        super_version
    }

    /// Adds the family's name to an error about rows in memory.
    #[cold]
    pub fn in_memory(&self, error: Error) -> Error {
        error.context(&format!("column family {}", self.name))
    }

    /// `ColumnFamilyDropped` if the family was dropped: its handles can still read, but not write.
    pub fn check_writable(&self) -> Result<()> {
        match self.dropped.load(Ordering::Acquire) {
            true if self.is_closed() => Err(closing()),
            true => Err(Error::new(ErrorKind::ColumnFamilyDropped, self.name.clone())),
            false => Ok(()),
        }
    }
}

/// A handle of a column family. Cheap to clone. The family stays readable through it after it was dropped.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// use esker::ColumnFamilyOptions;
///
/// let users = db.create_column_family("users", &ColumnFamilyOptions::default())?;
/// db.put_cf(&users, b"1", b"Ada")?;
/// assert!(db.get(b"1")?.is_none(), "the default family has other keys");
/// db.drop_column_family(&users)?;
/// assert!(db.get_cf(&users, b"1")?.is_some(), "the handle keeps the rows");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ColumnFamily(pub(crate) Arc<Family>);

impl ColumnFamily {
    /// The id in WAL and MANIFEST; 0 is `default`. An id is never reused within a database.
    pub fn id(&self) -> u32 {
        self.0.id
    }

    /// The name of the family.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The options in force: those of the open, with later changes by
    /// [`Db::set_options`](crate::Db::set_options).
    pub fn current_options(&self) -> ColumnFamilyOptions {
        ColumnFamilyOptions::clone(&self.0.current())
    }

    /// The options with which the family was opened.
    pub fn options(&self) -> &ColumnFamilyOptions {
        &self.0.options
    }

    /// The number of times that files were ingested into the family, or deleted with their rows, since the
    /// database was opened. A caller that remembers rows forgets them when the number changes.
    pub fn num_file_changes(&self) -> u64 {
        self.0.file_changes.count()
    }

    /// The order of the keys: the comparator in the options, or the built-in one that the family was created
    /// with.
    pub fn comparator(&self) -> &UserComparator {
        self.0.cmp.user()
    }
}

impl fmt::Debug for ColumnFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ColumnFamily({} {:?})", self.id(), self.name())
    }
}

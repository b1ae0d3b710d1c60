//! Column families: one keyspace each, with options and files of its own, sharing the WAL.

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

use super::pins::Replaced;
use super::removals::Removals;
use super::snapshot::Snapshot;
use super::state::closing;
use crate::options::{ColumnFamilyOptions, CompactionStyle, TablePaths};
use crate::read::open_iterators::OpenIterators;
use crate::read::super_version::SuperVersion;
use crate::read::table_cache::TableCache;
use crate::read::value::ValueResolver;
use crate::trace::QueryTrace;

/// The family every database has.
pub const DEFAULT_COLUMN_FAMILY: &str = "default";

/// What does not change about a family while the database is open, and the super version that does.
pub(crate) struct Family {
    pub id: u32,
    pub name: String,
    /// The first of its directories, in which blob files lie, and new tables that come from no compaction.
    pub dir: PathBuf,
    /// The directories of its tables.
    pub paths: TablePaths,
    /// The options it was opened with. Those that may change are read by [`current`](Self::current).
    pub options: ColumnFamilyOptions,
    /// The last level is left to files that are ingested behind all others; see
    /// [`cf_allow_ingest_behind`](ColumnFamilyOptions::cf_allow_ingest_behind).
    pub reserves_last_level: bool,
    pub current: ArcSwap<ColumnFamilyOptions>,
    /// The one that every write asks for.
    pub write_buffer_size: AtomicU64,
    pub cmp: InternalComparator,
    pub prefix_extractor: Option<Arc<dyn PrefixExtractor>>,
    pub sst_partitioner_factory: Option<Arc<dyn SstPartitionerFactory>>,
    pub values: ValueResolver,
    pub tables: Arc<TableCache>,
    pub super_version: ArcSwap<SuperVersion>,
    /// The number of the newest super version, set after it was, and [`CLOSED`] once the database is closed: iterators look at it at each
    /// step.
    pub super_version_number: AtomicU64,
    pub replaced: Replaced,
    pub clock: Arc<dyn Clock>,
    /// The database's: rows up to this sequence number are in their memtables.
    pub published: Arc<AtomicU64>,
    /// The database's: iterators record their seeks there.
    pub query_trace: Arc<QueryTrace>,
    pub dropped: AtomicBool,
    /// Writes to it are delayed or stopped: its jobs come first where a rate limiter shares out the disk.
    pub pressing: Arc<AtomicBool>,
    pub iterators: OpenIterators,
    /// For transactions that have read what went without a row.
    pub removals: Removals,
}

/// The number of the super version of a closed database: higher than all others.
pub(crate) const CLOSED: u64 = u64::MAX;

impl Family {
    /// The number of the directory of tables of `level`, where a level has one.
    pub fn path_of_level(&self, level: usize) -> u32 {
        match self.paths.len() {
            1 => 0,
            _ => compact::path::leveled(self.paths.targets(), &self.current().leveled(), level),
        }
    }

    /// The number of the directory of what `plan` writes.
    pub fn path_of(&self, plan: &Plan) -> u32 {
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
            _ => self.path_of_level(plan.output_level),
        }
    }

    /// A super version that has all that is visible at the sequence number beside it: that of `snapshot`, or the newest.
    pub fn view(&self, snapshot: Option<&Snapshot>) -> (Arc<SuperVersion>, SeqNo) {
        loop {
            let super_version = Guard::into_inner(self.super_version_of(snapshot));
            sync::point("super version");
            if let Some(snapshot) = snapshot {
                return (super_version, snapshot.sequence_number());
            }
            let seqno = self.published.load(Ordering::Acquire).min(super_version.visible);
            sync::point("read");
            // If a memtable was switched in between, rows up to `seqno` may lie where this super version does not look.
            if Arc::ptr_eq(&super_version, &self.super_version.load()) {
                return (super_version, seqno);
            }
        }
    }

    /// What is read: what a secondary's snapshot holds, or the newest super version.
    #[inline]
    pub fn super_version_of(&self, snapshot: Option<&Snapshot>) -> Guard<Arc<SuperVersion>> {
        let held = snapshot.and_then(|snapshot| snapshot.super_version_of(self));
        let held = held.filter(|_| !self.is_closed());
        held.map_or_else(|| self.super_version.load(), Guard::from_inner)
    }

    /// The options in force.
    pub fn current(&self) -> Guard<Arc<ColumnFamilyOptions>> {
        self.current.load()
    }

    /// Puts other options in force. Under the database mutex; the next super version has them.
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

    /// Lets nothing be read any more but what is held. Under the database mutex; nothing is installed afterwards.
    pub fn close(&self) {
        let old = self.super_version.swap(Arc::new(SuperVersion::closed(&self.cmp)));
        self.super_version_number.store(CLOSED, Ordering::Release);
        self.replaced.add(&old, self.clock.now());
    }

    /// Makes these the super version that is read, up to the row `visible`. Under the database mutex.
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

    /// An error about rows in memory: names the family.
    #[cold]
    pub fn in_memory(&self, error: Error) -> Error {
        error.context(&format!("column family {}", self.name))
    }

    /// `ColumnFamilyDropped` once the family was dropped: its handles still read, but write no more.
    pub fn check_writable(&self) -> Result<()> {
        match self.dropped.load(Ordering::Acquire) {
            true if self.is_closed() => Err(closing()),
            true => Err(Error::new(ErrorKind::ColumnFamilyDropped, self.name.clone())),
            false => Ok(()),
        }
    }
}

/// A handle on a column family. Cheap to clone; keeps what it needs to read alive by itself, also after the family was dropped.
#[derive(Clone)]
pub struct ColumnFamily(pub(crate) Arc<Family>);

impl ColumnFamily {
    /// The id that lies in WAL and MANIFEST; 0 is `default`. Never given twice in one database.
    pub fn id(&self) -> u32 {
        self.0.id
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The options in force: those it was opened with, and what [`Db::set_options`](crate::Db::set_options) has changed since.
    pub fn current_options(&self) -> ColumnFamilyOptions {
        ColumnFamilyOptions::clone(&self.0.current())
    }

    /// The options it was opened with.
    pub fn options(&self) -> &ColumnFamilyOptions {
        &self.0.options
    }

    /// The order of its keys: the built-in one it was created with, whatever the options leave open.
    pub fn comparator(&self) -> &UserComparator {
        self.0.cmp.user()
    }
}

impl fmt::Debug for ColumnFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ColumnFamily({} {:?})", self.id(), self.name())
    }
}

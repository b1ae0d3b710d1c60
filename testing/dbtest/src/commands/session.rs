//! The databases of a script, and what the script holds of them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use base::env::ManualClock;
use esker::{
    ColumnFamily, CompactionFilter, CompactionFilterFactory, Db, DbIterator, Event,
    ExportImportFilesMetaData, FileIngestionHandle, FilterContext, MergeOperator, Options, Result, Snapshot,
};
use testkit::datadriven::TestCase;
use vfs::{FaultFs, FileSystem, LogFs, MemFs};

use super::text::{flag, list, misuse, optional, optional_timestamp};
use crate::events::{NoAutoRecovery, Recorder};
use crate::gate::{Gate, OpensOnDrop};
use crate::settings;

/// The path of the first database in the file system in memory.
const PATH: &str = "/db";

/// The directory of files that belong to no database.
pub const OUTSIDE: &str = "/outside";

/// Databases in memory, and the snapshots, iterators and handles that a script holds.
pub struct Session {
    /// Opens the gate first at the end: a failed script must not leave threads there, for which the databases
    /// would wait.
    _opens: Option<OpensOnDrop>,
    pub(super) fs: MemFs,
    /// `fs` with the faults of the script.
    pub(super) faults: FaultFs,
    /// `faults` with a log of all operations, for `new calls`.
    pub(super) calls: Option<LogFs>,
    pub(super) clock: Option<Arc<ManualClock>>,
    pub(super) options: Options,
    /// The path of the database to which commands apply.
    pub(super) path: String,
    pub(super) open: BTreeMap<String, Db>,
    pub(super) snapshots: BTreeMap<String, Snapshot>,
    pub(super) iterators: BTreeMap<String, DbIterator>,
    /// Handles of families that were taken before the families were dropped.
    pub(super) handles: BTreeMap<String, ColumnFamily>,
    pub(super) events: Arc<Recorder>,
    /// The number of recorded events that `next_event` has passed.
    pub(super) passed: usize,
    pub(super) gate: Arc<Gate>,
    /// The numbers that the script has named.
    pub(super) numbers: BTreeMap<String, i128>,
    /// Commands that run on threads of their own.
    pub(super) background: BTreeMap<String, JoinHandle<String>>,
    pub(super) prepared: BTreeMap<String, FileIngestionHandle>,
    pub(super) exports: BTreeMap<String, ExportImportFilesMetaData>,
}

/// Pauses background work in user code: in a compaction filter factory that returns no filter, and in a merge
/// operator.
struct PausesAt(Arc<Gate>);

impl CompactionFilterFactory for PausesAt {
    fn name(&self) -> &str {
        "dbtest.Gate"
    }

    fn create(&self, _context: &FilterContext) -> Option<Box<dyn CompactionFilter>> {
        self.0.pass();
        None
    }
}

impl MergeOperator for PausesAt {
    fn name(&self) -> &str {
        "dbtest.Gate"
    }

    fn full_merge(&self, _key: &[u8], _existing: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        self.0.pass();
        operands.last().map(|operand| operand.to_vec())
    }
}

/// The name of an event's kind, as in the code.
pub fn kind_of(event: &Event) -> String {
    let text = format!("{event:?}");
    let end = text.find(|c: char| !c.is_ascii_alphanumeric());
    text[..end.unwrap_or(text.len())].to_owned()
}

impl Default for Session {
    fn default() -> Session {
        Session::new()
    }
}

impl Session {
    /// Creates a session without a database.
    pub fn new() -> Session {
        let fs = MemFs::new();
        let gate = Arc::<Gate>::default();
        Session {
            _opens: Some(OpensOnDrop(gate.clone())),
            faults: FaultFs::new(Arc::new(fs.clone())),
            fs,
            calls: None,
            clock: None,
            options: Options::default(),
            path: PATH.to_owned(),
            open: BTreeMap::new(),
            snapshots: BTreeMap::new(),
            iterators: BTreeMap::new(),
            handles: BTreeMap::new(),
            events: Recorder::events(),
            passed: 0,
            gate,
            numbers: BTreeMap::new(),
            background: BTreeMap::new(),
            prepared: BTreeMap::new(),
            exports: BTreeMap::new(),
        }
    }

    /// A session on the same databases, for a command in the background.
    pub(super) fn of_thread(&self) -> Session {
        Session {
            fs: self.fs.clone(),
            faults: self.faults.clone(),
            calls: self.calls.clone(),
            clock: self.clock.clone(),
            options: self.options.clone(),
            path: self.path.clone(),
            open: self.open.clone(),
            snapshots: self.snapshots.clone(),
            handles: self.handles.clone(),
            events: self.events.clone(),
            gate: self.gate.clone(),
            _opens: None,
            ..Session::new()
        }
    }

    /// Begins with an empty file system and default options.
    pub(super) fn begin(&mut self, case: &mut TestCase) -> Result<()> {
        self.close_all()?;
        *self = Session::new();
        self.fs.create_dir_all(Path::new(OUTSIDE))?;
        if flag(case, "calls") {
            let log = LogFs::new(Arc::new(self.faults.clone()), PATH);
            self.calls = Some(log.with_queries());
        }
        if flag(case, "clock") {
            let clock = Arc::new(ManualClock::default());
            clock.advance(Duration::from_secs(1_700_000_000));
            self.clock = Some(clock);
        }
        self.reset_options();
        if flag(case, "gate") {
            let family = &mut self.options.column_family;
            family.compaction_filter_factory = Some(Arc::new(PausesAt(self.gate.clone())));
            family.merge_operator = Some(Arc::new(PausesAt(self.gate.clone())));
        }
        if flag(case, "no_auto_recovery") {
            self.options.listeners.push(Arc::new(NoAutoRecovery));
        }
        let kinds: Vec<String> = list(case, "gate")?;
        if !kinds.is_empty() {
            let gate = self.gate.listener(move |event| kinds.contains(&kind_of(event)));
            self.options.listeners.push(gate);
        }
        Ok(())
    }

    /// Sets default options.
    pub(super) fn reset_options(&mut self) {
        let kept = std::mem::take(&mut self.options.listeners);
        self.options = Options {
            create_if_missing: true,
            ..Options::default()
        };
        if let Some(clock) = &self.clock {
            self.options.clock = clock.clone();
        }
        // A gate stays among the listeners.
        self.options.listeners = kept;
        if self.options.listeners.is_empty() {
            self.options.listeners.push(self.events.clone());
        }
    }

    /// Sets the options in the lines of a case.
    pub(super) fn set_options(&mut self, case: &TestCase) -> Result<()> {
        for (name, value) in case
            .input
            .split_whitespace()
            .filter_map(|setting| setting.split_once('='))
        {
            settings::set(&mut self.options, name, value)?;
        }
        self.options.fs = match &self.calls {
            Some(calls) => Arc::new(calls.clone()),
            None => Arc::new(self.faults.clone()),
        };
        Ok(())
    }

    /// Opens the database, with its options and those of the lines.
    pub(super) fn open(&mut self, case: &mut TestCase) -> Result<()> {
        self.set_options(case)?;
        let path = Path::new(&self.path);
        let db = if flag(case, "read_only") {
            Db::open_read_only(&self.options, path)?
        } else if let Some(primary) = optional::<String>(case, "secondary_of")? {
            Db::open_as_secondary(&self.options, format!("/{primary}"), path)?
        } else if let Some(timestamp) = optional_timestamp(case, "trim_to")? {
            Db::open_and_trim_history(&self.options, path, &timestamp)?
        } else {
            Db::open(&self.options, path)?
        };
        self.open.insert(self.path.clone(), db);
        self.settle(case)
    }

    /// Closes the database.
    pub(super) fn close(&mut self) -> Result<()> {
        self.snapshots.clear();
        self.handles.clear();
        self.open.remove(&self.path).map_or(Ok(()), |db| db.close())
    }

    /// Closes all databases.
    pub(super) fn close_all(&mut self) -> Result<()> {
        self.snapshots.clear();
        self.handles.clear();
        std::mem::take(&mut self.open)
            .into_values()
            .try_for_each(|db| db.close())
    }

    /// Continues after the death of the process: the databases are closed in the original of the file system,
    /// and this session goes on in a copy as the death leaves it.
    pub(super) fn kill(&mut self) {
        self.fs = self.fs.process_death_clone();
        self.faults = FaultFs::new(Arc::new(self.fs.clone()));
    }

    /// The database to which commands apply.
    pub(super) fn db(&self) -> Result<&Db> {
        let open = self.open.get(&self.path);
        open.ok_or_else(|| misuse("no database is open"))
    }

    /// Waits for the end of background work, unless it is paused.
    pub(super) fn settle(&self, case: &mut TestCase) -> Result<()> {
        let held = flag(case, "no_wait") | flag(case, "read_only") | !self.gate.is_open();
        if held || self.db()?.secondary_path().is_some() {
            Ok(())
        } else {
            self.db()?.wait_for_compact()
        }
    }

    /// The family of the case: that of `cf=`, or the default one.
    pub(super) fn family(&self, case: &mut TestCase) -> Result<ColumnFamily> {
        match optional::<String>(case, "cf")? {
            Some(name) => self.named_family(&name),
            None => Ok(self.db()?.default_column_family()),
        }
    }

    /// The families of `cf=(a,b)`, or the default one.
    pub(super) fn families(&self, case: &mut TestCase) -> Result<Vec<ColumnFamily>> {
        let names: Vec<String> = list(case, "cf")?;
        if names.is_empty() {
            return Ok(vec![self.db()?.default_column_family()]);
        }
        names.iter().map(|name| self.named_family(name)).collect()
    }

    /// The family of that name.
    pub(super) fn named_family(&self, name: &str) -> Result<ColumnFamily> {
        let held = self.handles.get(name).cloned();
        held.or(self.db()?.column_family(name))
            .ok_or_else(|| misuse(format!("no column family {name}")))
    }

    /// The snapshot of that name.
    pub(super) fn snapshot(&self, name: &str) -> Result<&Snapshot> {
        let held = self.snapshots.get(name);
        held.ok_or_else(|| misuse(format!("no snapshot {name}")))
    }

    /// A command must not run while the database is open.
    pub(super) fn must_be_closed(&self) -> Result<()> {
        if self.open.contains_key(&self.path) {
            Err(misuse("close the database first"))
        } else {
            Ok(())
        }
    }
}

//! Secondaries and followers: a database that another process (or another handle) writes is read, and followed.
//!
//! What is read is always a prefix of what the primary wrote, over all column families, and never goes back. A catch-up reads in this
//! order, and installs nothing before all of it went well:
//!
//! 1. CURRENT and the size of the MANIFEST: the *moment*.
//! 2. The MANIFEST, from where it was read to last.
//! 3. WALs and tables that it needs are opened. Open files stay readable whatever becomes of their names.
//! 4. The moment again. While nobody has written to the MANIFEST, no file that it needs is deleted or recycled, so all that were opened
//!    belong to it. If somebody has, the catch-up begins anew.
//! 5. The WALs, each from where it was read to last, up to the first record that is not whole. The next WAL is gone on with only if
//!    the one before is complete: it says so itself, or its rows have the next sequence numbers, or nothing has changed since.
//! 6. If the MANIFEST has changed since, no family has come or gone: that, too, happened before some of the rows.
//! 7. Versions and memtables of all families are installed, then the sequence number up to which they may be read.
//!
//! Rows of one WAL lie in memtables of their own, so that they can go exactly when a table has them. Rows are added to memtables that
//! are read already; readers do not see them, because each super version says up to which row it may be read
//! ([`SuperVersion::visible`](crate::read::super_version::SuperVersion)).

mod followed_wals;
mod manifest_tail;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use arc_swap::ArcSwap;
use base::filename::{self, FileKind};
use base::sync::{Mutex, MutexGuard, thread};
use base::user_code::catch_or_fail;
use base::{Error, ErrorKind, MAX_SEQNO, Result, SeqNo};
use manifest::{ManifestState, Version};

use self::followed_wals::{FollowedWals, Read};
pub(crate) use self::manifest_tail::{ManifestTail, TornTail};
use super::column_family::Family;
use super::families::{assemble, fresh_state, new_memtable};
use super::open::{Moment, assemble_db, check_options, read_identity};
use super::snapshot::View;
use super::state::{Immutable, LiveWal, Memory};
use super::stored_options::newest_options;
use super::wal_dir::WalDir;
use super::{Db, DbInner, Handle};
use crate::events::with_file_listeners;
use crate::log::{InfoLog, log_line};
use crate::options::Options;

/// How often a catch-up begins anew because the primary writes its MANIFEST meanwhile.
const ATTEMPTS: usize = 100;

/// What a secondary knows of its primary.
pub(crate) struct Secondary {
    /// Its own directory. Nothing is written anywhere else.
    own_dir: PathBuf,
    /// What was read of the primary's files. Held by whoever catches up.
    reading: Mutex<Reading>,
    /// What was installed last, for snapshots.
    view: ArcSwap<View>,
    status: Mutex<CatchUpStatus>,
}

/// What was read of the primary's files.
#[derive(Default)]
struct Reading {
    manifest: ManifestTail,
    /// What the MANIFEST said at `moment`.
    state: Option<ManifestState>,
    moment: Option<Moment>,
    /// Families assembled so far, by id.
    families: BTreeMap<u32, Arc<Family>>,
    wals: FollowedWals,
    /// Everything up to here is installed.
    installed: bool,
}

/// How far a secondary or follower has come.
#[derive(Clone, Debug, Default)]
pub struct CatchUpStatus {
    /// The last row that is read: what [`Db::latest_sequence_number`] says.
    pub sequence_number: SeqNo,
    /// When the last catch-up that succeeded began, by the clock of the options: everything the primary had written by then is read.
    pub caught_up_at: Duration,
    /// Catch-ups that succeeded, the one at open included.
    pub catch_ups: u64,
    /// Catch-ups that failed.
    pub failures: u64,
    /// Why the last one failed, unless one has succeeded since.
    pub last_error: Option<Error>,
}

impl CatchUpStatus {
    /// How old what is read may be at `now`, by the clock of the options: the time since the last catch-up that succeeded began.
    pub fn age(&self, now: Duration) -> Duration {
        now.saturating_sub(self.caught_up_at)
    }
}

impl fmt::Display for CatchUpStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "sequence number {}, caught up at {:.6} s, {} catch-ups, {} failed",
            self.sequence_number,
            self.caught_up_at.as_secs_f64(),
            self.catch_ups,
            self.failures
        )?;
        match &self.last_error {
            Some(error) => write!(f, "; the last one: {error}"),
            None => Ok(()),
        }
    }
}

/// How one attempt to catch up ended.
enum Attempt {
    Done,
    /// The primary was at work on its files. Worth another look.
    Changed(Error),
}

impl Db {
    /// Opens the database in `path`, which somebody else may have open for writing, as RocksDB's `OpenAsSecondary` does: for reading
    /// only, with all its column families, as it is now. [`try_catch_up_with_primary`](Db::try_catch_up_with_primary) takes it to where
    /// the primary is then. Nothing is written into `path`; `secondary_path` is a directory of the secondary's own (created if missing).
    ///
    /// What is read is always the primary's database as it was at one moment, over all families. Rows written without WAL are seen once
    /// they are flushed. Snapshots and iterators stay what they are while the secondary goes on. With
    /// [`max_open_files`](Options::max_open_files) at -1 all tables are held open, and can be read when the primary has deleted them;
    /// otherwise a read may fail until the next catch-up.
    ///
    /// # Errors
    /// Those of [`open_read_only`](Db::open_read_only). `TryAgain` if the primary changes its files faster than they can be opened.
    pub fn open_as_secondary(
        options: &Options,
        path: impl AsRef<Path>,
        secondary_path: impl AsRef<Path>,
    ) -> Result<Db> {
        open(options, path.as_ref(), secondary_path.as_ref())
    }

    /// Opens the database in `leader_path` as [`open_as_secondary`](Db::open_as_secondary) does, and then follows by itself, as RocksDB's
    /// `OpenAsFollower`: every [`follower_refresh_catchup_period_ms`](Options::follower_refresh_catchup_period_ms). A catch-up that fails
    /// is tried again [`follower_catchup_retry_count`](Options::follower_catchup_retry_count) times; meanwhile, and if that was in vain
    /// until the next period, what was read before stays. [`catch_up_status`](Db::catch_up_status) tells. `path` is the follower's own directory.
    ///
    /// Unlike RocksDB's, which knows what is in tables alone, rows in WALs are followed too.
    pub fn open_as_follower(
        options: &Options,
        path: impl AsRef<Path>,
        leader_path: impl AsRef<Path>,
    ) -> Result<Db> {
        let db = open(options, leader_path.as_ref(), path.as_ref())?;
        db.0.inner.start_following();
        Ok(db)
    }

    /// Of a secondary or follower: reads what the primary has written since. All or nothing: after an error everything is read as before,
    /// and the next call may succeed. Reads go on meanwhile. Costs what there is new in MANIFEST and WALs.
    ///
    /// # Errors
    /// `NotSupported` if this is no secondary. `TryAgain` if the primary changes its files faster than they can be opened. `Corruption`
    /// where a file is damaged, or the database in the directory is another one, or is older than what was read of it already.
    pub fn try_catch_up_with_primary(&self) -> Result<()> {
        self.inner().check_open()?;
        self.inner().catch_up()
    }

    /// How far a secondary or follower has come; `None` of any other database.
    pub fn catch_up_status(&self) -> Option<CatchUpStatus> {
        let inner = self.inner();
        let secondary = inner.secondary.as_ref().filter(|_| !inner.is_closed());
        secondary.map(Secondary::status)
    }

    /// The directory a secondary or follower has of its own.
    pub fn secondary_path(&self) -> Option<&Path> {
        self.inner()
            .secondary
            .as_ref()
            .map(|secondary| &*secondary.own_dir)
    }
}

fn open(options: &Options, dir: &Path, own_dir: &Path) -> Result<Db> {
    check_options(options)?;
    if own_dir == dir || own_dir == options.wal_directory(dir) {
        return Err(
            Error::invalid_argument("a secondary needs a directory other than the primary's")
                .in_file(own_dir),
        );
    }
    let current = filename::current(dir);
    if !options.fs.exists(&current)? {
        return Err(Error::invalid_argument("does not exist: there is no primary").in_file(&current));
    }
    options.fs.create_dir_all(own_dir)?;
    let recorded = again_while_it_changes(options, dir, || ManifestTail::default().read(options, dir))?;
    let log = Arc::new(InfoLog::open(options, own_dir));
    let mut inner = assemble_db(&with_file_listeners(options), dir, true, None, recorded, log)?;
    inner.wal_dir = WalDir::look(options, dir, Some(&inner.db_id))?;
    inner.secondary = Some(Secondary {
        own_dir: own_dir.to_path_buf(),
        reading: Mutex::new(Reading {
            wals: FollowedWals::new(options.allow_2pc),
            ..Reading::default()
        }),
        view: ArcSwap::default(),
        status: Mutex::default(),
    });
    let db = Db(Arc::new(Handle {
        inner: Arc::new(inner),
    }));
    db.0.inner.check_unread_wals()?;
    db.0.inner.catch_up()?;
    db.0.inner.finish_open()?;
    Ok(db)
}

/// Does `read` until it succeeds, or fails although nobody has written to the MANIFEST meanwhile.
fn again_while_it_changes<T>(
    options: &Options,
    dir: &Path,
    mut read: impl FnMut() -> Result<T>,
) -> Result<T> {
    let mut last = None;
    for _ in 0..ATTEMPTS {
        let before = Moment::of(options, dir)?;
        match read() {
            Err(error) if before != Moment::of(options, dir)? => last = Some(error),
            result => return result,
        }
    }
    Err(changes_too_fast(last))
}

fn changes_too_fast(last: Option<Error>) -> Error {
    let reason = last.map_or(String::new(), |error| format!(": {error}"));
    Error::new(
        ErrorKind::TryAgain,
        format!("the primary changes its files faster than they can be opened{reason}"),
    )
}

impl Secondary {
    /// What was installed last.
    pub fn view(&self) -> Arc<View> {
        self.view.load_full()
    }

    /// How far it has come.
    pub fn status(&self) -> CatchUpStatus {
        self.status.lock().clone()
    }
}

impl DbInner {
    /// See [`Db::try_catch_up_with_primary`].
    pub(crate) fn catch_up(&self) -> Result<()> {
        let Some(secondary) = &self.secondary else {
            return Err(Error::not_supported("the database is no secondary"));
        };
        let mut reading = secondary.reading.lock();
        let begun = self.options.clock.now();
        let result = self.catch_up_in_attempts(secondary, &mut reading);
        let mut status = secondary.status.lock();
        match &result {
            Ok(()) => {
                status.sequence_number = self.published.load(Ordering::Acquire);
                status.caught_up_at = begun;
                status.catch_ups += 1;
                status.last_error = None;
            }
            Err(error) => {
                status.failures += 1;
                status.last_error = Some(error.clone());
            }
        }
        drop((status, reading));
        if let Err(error) = &result {
            log_line!(self.log, Warn, "Catch-up failed: {error}");
        }
        result
    }

    fn catch_up_in_attempts(&self, secondary: &Secondary, reading: &mut Reading) -> Result<()> {
        let mut last = None;
        for _ in 0..ATTEMPTS {
            if self.state.lock().closing {
                return Err(crate::db::state::closing());
            }
            let moment = Moment::of(&self.options, &self.dir)?;
            match catch_or_fail(|| self.attempt(secondary, reading, &moment)) {
                Ok(Attempt::Done) => return Ok(()),
                Ok(Attempt::Changed(error)) => last = Some(error),
                Err(error) => {
                    // Rows of half a record may be in memtables that nobody reads yet.
                    reading.wals.forget();
                    if moment == Moment::of(&self.options, &self.dir)? {
                        return Err(error);
                    }
                    // What the primary replaced meanwhile is missing to whoever knew of it before.
                    last = Some(error);
                }
            }
        }
        Err(changes_too_fast(last))
    }

    fn attempt(&self, secondary: &Secondary, reading: &mut Reading, moment: &Moment) -> Result<Attempt> {
        if reading.moment.as_ref() != Some(moment) || reading.state.is_none() {
            reading.moment = None;
            let state = reading.manifest.read(&self.options, &self.dir)?;
            self.check_is_same_database(&state)?;
            reading.state = Some(self.with_known_files(state)?);
            reading.moment = Some(moment.clone());
            reading.installed = false;
        }
        let Some(state) = &reading.state else {
            return Err(Error::new(ErrorKind::TryAgain, "there is no MANIFEST"));
        };
        let changed = |what: &str| Attempt::Changed(Error::new(ErrorKind::TryAgain, what.to_owned()));
        let listed = self.wals_of(state)?;
        if !reading.wals.open(self, &listed)? {
            return Ok(changed("a WAL went away"));
        }
        for (id, family) in &state.families {
            if !reading.families.contains_key(id) {
                let assembled = self.assemble_followed(family)?;
                reading.families.insert(*id, assembled);
            }
        }
        reading.families.retain(|id, _| state.families.contains_key(id));
        for (id, family) in &state.families {
            self.hold_files(&reading.families[id], &family.version)?;
        }
        if *moment != Moment::of(&self.options, &self.dir)? {
            return Ok(changed("the MANIFEST has changed"));
        }
        let still = || Ok(*moment == Moment::of(&self.options, &self.dir)?);
        let published = self.published.load(Ordering::Acquire);
        let read = reading
            .wals
            .read(self, state, &reading.families, published, &still)?;
        match read {
            Read::Nothing if reading.installed => return Ok(Attempt::Done),
            Read::Nothing | Read::Rows => {}
            Read::Changed(error) => return Ok(Attempt::Changed(error)),
        }
        // A family that came or went meanwhile did so before some of the rows.
        if !still()? {
            let now = reading.manifest.read(&self.options, &self.dir)?;
            if !now.has_families_of(state) {
                return Ok(changed("a column family was created or dropped"));
            }
        }
        let reached = reading.reached();
        if reached < published {
            return Err(Error::corruption(format!(
                "the database in this directory has rows up to {reached}; rows up to {published} were read of it before"
            ))
            .in_file(&self.dir));
        }
        self.install(secondary, reading, reached);
        Ok(Attempt::Done)
    }

    /// `Corruption` if what lies in the directory now is not the database that was opened.
    fn check_is_same_database(&self, state: &ManifestState) -> Result<()> {
        // RocksDB before 9 writes the id to IDENTITY alone.
        let id = match &state.db_id {
            Some(id) => Some(id.clone()),
            None => read_identity(&*self.options.fs, &self.dir)?,
        };
        match &id {
            Some(id) if *id != self.db_id => Err(Error::corruption(format!(
                "another database lies here now: its id is {id}, it was {}",
                self.db_id
            ))
            .in_file(&self.dir)),
            _ => Ok(()),
        }
    }

    /// `state`, holding on to the tables and blob files that are open already, in as many levels as the options have.
    fn with_known_files(&self, mut state: ManifestState) -> Result<ManifestState> {
        let own = self.state.lock();
        for (id, family) in &mut state.families {
            let levels = match own.families.get(id) {
                Some(known) => {
                    family.version = family.version.sharing_files_of(&known.version);
                    known.family.options.num_levels
                }
                None => self.options.family(&family.name).num_levels,
            };
            if family.version.num_non_empty_levels() > levels as usize {
                return Err(Error::invalid_argument(format!(
                    "column family {} has files in {} levels, more than num_levels {levels}",
                    family.name,
                    family.version.num_non_empty_levels()
                )));
            }
            family.version = family.version.with_num_levels(levels as usize);
        }
        Ok(state)
    }

    /// The numbers of the WALs there are that may hold rows no table of `state` has, ascending.
    fn wals_of(&self, state: &ManifestState) -> Result<Vec<u64>> {
        let oldest = match self.options.allow_2pc {
            // A section may lie in a WAL of which no family needs a row.
            true => state.min_log_number_to_keep,
            false => state.oldest_needed_wal(),
        };
        let names = self.options.fs.list(&self.wal_dir)?;
        let numbers = names.iter().filter_map(|name| match filename::parse(name) {
            Some(FileKind::Wal(number)) => Some(number),
            _ => None,
        });
        let mut numbers: Vec<u64> = numbers.filter(|&number| number >= oldest).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// The family of that id as it was assembled before, or assembled now.
    fn assemble_followed(&self, family: &manifest::FamilyState) -> Result<Arc<Family>> {
        if let Some(known) = self.state.lock().families.get(&family.id) {
            return Ok(known.family.clone());
        }
        let stored = newest_options(&self.options, &self.dir, &self.listeners);
        let stored = stored.map(|stored| stored.stored(&family.name));
        Ok(assemble(
            &self.shared(),
            family.id,
            &family.name,
            self.options.family(&family.name),
            stored.as_ref(),
            &Arc::new(family.version.clone()),
        ))
    }

    /// Opens what `version` consists of, unless only so many tables may be open.
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

    /// Makes readers see what was read, up to row `reached`.
    fn install(&self, secondary: &Secondary, reading: &mut Reading, reached: SeqNo) {
        let Some(recorded) = &reading.state else { return };
        let mut state = self.state.lock();
        // Whoever loads a super version below finds this number in force; with an older one it sees what that shows.
        self.published.store(reached, Ordering::Release);
        let gone: Vec<u32> = state.families.keys().copied().collect();
        for id in gone.into_iter().filter(|id| !recorded.families.contains_key(id)) {
            if let Some(own) = state.families.remove(&id) {
                own.family.dropped.store(true, Ordering::Release);
            }
        }
        let mut view = View {
            seqno: reached,
            super_versions: HashMap::new(),
        };
        for (&id, family) in &recorded.families {
            let version = Arc::new(family.version.clone());
            let assembled = &reading.families[&id];
            let own = state.families.entry(id).or_insert_with(|| {
                let log_number = family.log_number;
                fresh_state(assembled.clone(), version.clone(), log_number, log_number)
            });
            own.version = version;
            own.log_number = family.log_number;
            own.persist_user_defined_timestamps = family.persist_user_defined_timestamps;
            own.full_history_ts_low.clone_from(&family.full_history_ts_low);
            let mut memories: VecDeque<Memory> = reading.wals.memories(id).collect();
            if let Some(newest) = memories.pop_back() {
                own.mem = newest;
            } else if !own.mem.table.is_empty() {
                own.mem = Memory {
                    table: new_memtable(&assembled.cmp, &assembled.options),
                    first_wal: family.log_number,
                    oldest_section: None,
                };
            }
            own.immutable = memories
                .into_iter()
                .map(|memory| Immutable {
                    memory,
                    flushing: false,
                })
                .collect();
            own.update_stall();
            let super_version = own.install_up_to(reached);
            view.super_versions.insert(id, super_version);
        }
        state.max_family = recorded.max_column_family;
        state.wals = reading
            .wals
            .sizes()
            .map(|(number, size)| LiveWal { number, size })
            .collect();
        self.reindex(&state);
        secondary.view.store(Arc::new(view));
        drop(state);
        reading.wals.installed();
        reading.installed = true;
    }

    /// Starts the thread of a follower.
    fn start_following(self: &Arc<Self>) {
        let inner = self.clone();
        let thread = thread::Builder::new()
            .name("esker-follow".to_owned())
            .spawn(move || inner.follow());
        match thread {
            Ok(thread) => self.threads.lock().push(thread),
            Err(error) => self.latch(
                "start the thread that follows",
                Error::io("start thread", &self.dir, error),
            ),
        }
    }

    fn follow(&self) {
        let period = Duration::from_millis(self.options.follower_refresh_catchup_period_ms);
        let pause = Duration::from_millis(self.options.follower_catchup_retry_wait_ms);
        let mut state = self.state.lock();
        loop {
            self.pause_following(&mut state, period);
            for attempt in 0..=self.options.follower_catchup_retry_count {
                if attempt > 0 {
                    self.pause_following(&mut state, pause);
                }
                if state.closing {
                    return;
                }
                // Who wants to know asks for the status.
                if MutexGuard::unlocked(&mut state, || self.catch_up()).is_ok() {
                    break;
                }
            }
        }
    }

    /// Returns after `time`, or when there is something to do: when the database is closing, say.
    fn pause_following(&self, state: &mut MutexGuard<'_, super::state::DbState>, time: Duration) {
        if !state.closing {
            self.work.wait_for(state, time);
        }
    }
}

impl Reading {
    /// The last row that was read.
    fn reached(&self) -> SeqNo {
        let Some(state) = &self.state else { return 0 };
        let tables = state
            .families
            .values()
            .flat_map(|family| family.version.all_files())
            .map(|(_, file)| file.largest_seqno);
        let rows = self.wals.last_seqno();
        tables
            .fold(state.last_sequence.max(rows), SeqNo::max)
            .min(MAX_SEQNO)
    }
}

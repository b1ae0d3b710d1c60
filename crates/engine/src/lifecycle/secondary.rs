//! Secondaries and followers: read-only databases that follow a primary, which another process (or another
//! handle) writes.
//!
//! A secondary always shows a prefix of the primary's writes, over all column families, and never goes back.
//! A catch-up reads in this order, and installs nothing before all of it has succeeded:
//!
//! 1. CURRENT and the size of the MANIFEST: the *moment*.
//! 2. The MANIFEST, from the end of the last read.
//! 3. The WALs and tables that it needs are opened. Open files stay readable even if their names are removed.
//! 4. The moment again. While the MANIFEST is unchanged, no file that it needs is deleted or recycled, so all
//!    opened files belong to it. If it has changed, the catch-up begins again.
//! 5. The WALs, each from the end of its last read, up to the first incomplete record. The next WAL is read
//!    only if the previous one is complete: it says so itself, the next WAL's rows have the next sequence
//!    numbers, or nothing has changed since.
//! 6. If the MANIFEST has changed since, no family may have been created or dropped: that, too, happened
//!    before some of the rows.
//! 7. The versions and memtables of all families are installed, then the sequence number up to which they are
//!    visible.
//!
//! Rows of each WAL are in memtables of their own, so that they can be dropped exactly when a table has them.
//! Rows are also added to memtables that are being read; readers do not see them, because each super version
//! limits the rows that it shows ([`SuperVersion::visible`](crate::state::super_version::SuperVersion)).

mod followed_wals;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use arc_swap::ArcSwap;
use base::filename::{self, FileKind};
use base::sync::{Mutex, MutexGuard, thread};
use base::user_code::catch_or_fail;
use base::{Error, ErrorKind, MAX_SEQNO, Result, SeqNo};
use manifest::ManifestState;

use self::followed_wals::{FollowedWals, Read};
use crate::jobs::families::{assemble, fresh_state};
use crate::lifecycle::manifest_tail::ManifestTail;
use crate::lifecycle::moment::{Moment, read_identity};
use crate::lifecycle::open::assemble_db;
use crate::lifecycle::stored_options::newest_options;
use crate::lifecycle::wal_dir::WalDir;
use crate::log::listeners::with_file_listeners;
use crate::log::{InfoLog, log_line};
use crate::options::Options;
use crate::options::check::check_options;
use crate::state::column_family::Family;
use crate::state::db_inner::DbInner;
use crate::state::db_state::{Immutable, LiveWal, Memory};
use crate::state::handle::{Db, Handle, Primary};
use crate::state::memtables::new_memtable;
use crate::state::secondary::{CatchUpStatus, Secondary};
use crate::state::snapshot::View;

/// The number of times a catch-up begins again because the primary changes its MANIFEST.
const ATTEMPTS: usize = 100;

/// The contents of the primary's files read so far.
#[derive(Default)]
struct Reading {
    manifest: ManifestTail,
    /// The state of the MANIFEST at `moment`.
    state: Option<ManifestState>,
    moment: Option<Moment>,
    /// The families created so far, by id.
    families: BTreeMap<u32, Arc<Family>>,
    wals: FollowedWals,
    /// True if everything that was read so far is installed for readers.
    installed: bool,
}

/// The outcome of one attempt to catch up.
enum Attempt {
    Done,
    /// The primary has changed its files meanwhile; the attempt is repeated.
    Changed(Error),
}

impl Db {
    /// Opens the database in `path`, which another process may have open for writing, as RocksDB's
    /// `OpenAsSecondary` does: for reading only, with all its column families, in its current state.
    /// [`try_catch_up_with_primary`](Db::try_catch_up_with_primary) advances it to the primary's state.
    /// Nothing is written to `path`; `secondary_path` is the secondary's own directory (created if it does
    /// not exist).
    ///
    /// The visible state is always that of the primary at one moment, over all families. Rows written without
    /// a WAL become visible after their flush. Snapshots and iterators keep their state while the secondary
    /// advances. With [`max_open_files`](Options::max_open_files) at -1, all tables are held open and stay
    /// readable after the primary has deleted them; otherwise a read may fail until the next catch-up.
    ///
    /// # Errors
    /// The errors of [`open_read_only`](Db::open_read_only). `TryAgain` if the primary changes its files
    /// faster than they can be opened.
    pub fn open_as_secondary(
        options: &Options,
        path: impl AsRef<Path>,
        secondary_path: impl AsRef<Path>,
    ) -> Result<Db> {
        open(options, path.as_ref(), secondary_path.as_ref())
    }

    /// Opens the database in `leader_path` as [`open_as_secondary`](Db::open_as_secondary) does, and then
    /// catches up automatically every
    /// [`follower_refresh_catchup_period_ms`](Options::follower_refresh_catchup_period_ms), as RocksDB's
    /// `OpenAsFollower` does. A failed catch-up is repeated up to
    /// [`follower_catchup_retry_count`](Options::follower_catchup_retry_count) times; the previous state
    /// stays visible meanwhile and, if all of them fail, until the next period.
    /// [`catch_up_status`](Db::catch_up_status) reports the progress. `path` is the follower's own directory.
    ///
    /// Unlike RocksDB's follower, which sees only tables, this one also follows rows in WALs.
    pub fn open_as_follower(
        options: &Options,
        path: impl AsRef<Path>,
        leader_path: impl AsRef<Path>,
    ) -> Result<Db> {
        let db = open(options, leader_path.as_ref(), path.as_ref())?;
        db.0.inner.start_following(db.primary()?.clone());
        Ok(db)
    }

    /// Reads the primary's recent writes into a secondary or follower. After an error the visible state is
    /// unchanged, and the next call may succeed. Reads continue meanwhile. The cost is that of the new parts
    /// of MANIFEST and WALs.
    ///
    /// # Errors
    /// `NotSupported` if this is not a secondary. `TryAgain` if the primary changes its files faster than
    /// they can be opened. `Corruption` if a file is damaged, or if the database in the directory is another
    /// one or is older than the state that was read before.
    pub fn try_catch_up_with_primary(&self) -> Result<()> {
        self.inner().check_open()?;
        self.primary()?.catch_up(self.inner())
    }

    fn primary(&self) -> Result<&Arc<dyn Primary>> {
        self.0.primary.as_ref().ok_or_else(not_a_secondary)
    }

    /// The progress of a secondary or follower; `None` for any other database.
    pub fn catch_up_status(&self) -> Option<CatchUpStatus> {
        let inner = self.inner();
        let secondary = inner.secondary.as_ref().filter(|_| !inner.is_closed());
        secondary.map(Secondary::status)
    }

    /// The secondary's or follower's own directory.
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
        return Err(
            Error::new(ErrorKind::NoDatabase, "does not exist: there is no primary").in_file(&current),
        );
    }
    options.fs.create_dir_all(own_dir)?;
    let recorded = again_while_it_changes(options, dir, || ManifestTail::default().read(options, dir))?;
    let log = Arc::new(InfoLog::open(options, own_dir));
    let mut inner = assemble_db(&with_file_listeners(options), dir, true, None, recorded, log)?;
    inner.wal_dir = WalDir::look(options, dir, Some(&inner.identity.db_id))?;
    inner.secondary = Some(Secondary {
        own_dir: own_dir.to_path_buf(),
        view: ArcSwap::default(),
        status: Mutex::default(),
    });
    let db = Db(Arc::new(Handle {
        inner: Arc::new(inner),
        close: DbInner::close,
        primary: Some(Arc::new(Mutex::new(Reading {
            wals: FollowedWals::new(options.allow_2pc),
            ..Reading::default()
        }))),
    }));
    db.0.inner.check_unread_wals()?;
    db.primary()?.catch_up(&db.0.inner)?;
    db.0.inner.finish_open()?;
    Ok(db)
}

/// Repeats `read` until it succeeds, or until it fails although the MANIFEST has not changed meanwhile.
pub(super) fn again_while_it_changes<T>(
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

fn not_a_secondary() -> Error {
    Error::not_supported("the database is not a secondary")
}

impl Primary for Mutex<Reading> {
    /// See [`Db::try_catch_up_with_primary`].
    fn catch_up(&self, db: &DbInner) -> Result<()> {
        let secondary = db.secondary.as_ref().ok_or_else(not_a_secondary)?;
        db.catch_up_with(secondary, &mut self.lock())
    }
}

impl DbInner {
    fn catch_up_with(&self, secondary: &Secondary, reading: &mut Reading) -> Result<()> {
        let begun = self.options.clock.now();
        let result = self.catch_up_in_attempts(secondary, reading);
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
        drop(status);
        if let Err(error) = &result {
            log_line!(self.log, Warn, "Catch-up failed: {error}");
        }
        result
    }

    fn catch_up_in_attempts(&self, secondary: &Secondary, reading: &mut Reading) -> Result<()> {
        let mut last = None;
        for _ in 0..ATTEMPTS {
            if self.state.lock().closing {
                return Err(crate::state::error_state::closing());
            }
            let moment = Moment::of(&self.options, &self.dir)?;
            match catch_or_fail(|| self.attempt(secondary, reading, &moment)) {
                Ok(Attempt::Done) => return Ok(()),
                Ok(Attempt::Changed(error)) => last = Some(error),
                Err(error) => {
                    // New memtables, which have no readers yet, may contain part of a batch, so the WALs are
                    // read again.
                    reading.wals.forget();
                    if moment == Moment::of(&self.options, &self.dir)? {
                        return Err(error);
                    }
                    // If the MANIFEST has changed, the primary may have deleted the missing file: the attempt
                    // is repeated.
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
            return Ok(changed("a WAL was deleted"));
        }
        for (id, family) in &state.families {
            if !reading.families.contains_key(id) {
                let assembled = self.assemble_followed(family)?;
                reading.families.insert(*id, assembled);
            }
        }
        reading.families.retain(|id, _| state.families.contains_key(id));
        for (id, family) in &state.families {
            let tables = &reading.families[id].tables;
            tables.charge_records(family.version.all_files().map(|(_, file)| file))?;
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
        // A family that was created or dropped during the catch-up was so before some of the rows.
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

    /// `Corruption` if the directory now contains another database than the one that was opened.
    fn check_is_same_database(&self, state: &ManifestState) -> Result<()> {
        // RocksDB before version 9 writes the id only to IDENTITY.
        let id = match &state.db_id {
            Some(id) => Some(id.clone()),
            None => read_identity(&*self.options.fs, &self.dir)?,
        };
        match &id {
            Some(id) if *id != self.identity.db_id => Err(Error::corruption(format!(
                "the directory contains another database now: its id is {id}, it was {}",
                self.identity.db_id
            ))
            .in_file(&self.dir)),
            _ => Ok(()),
        }
    }

    /// Returns `state` with the metadata of tables and blob files that are open already, and with as many
    /// levels as the options have.
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

    /// The numbers of the existing WALs that may have rows of no table in `state`, in ascending order.
    fn wals_of(&self, state: &ManifestState) -> Result<Vec<u64>> {
        let oldest = match self.options.allow_2pc {
            // A prepared section may be in a WAL of which no family needs a row.
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

    /// Returns the family with that id; creates it if it does not exist yet.
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

    /// Makes everything read so far visible, up to row `reached`.
    fn install(&self, secondary: &Secondary, reading: &mut Reading, reached: SeqNo) {
        let Some(recorded) = &reading.state else { return };
        let mut state = self.state.lock();
        // A reader that loads a super version below finds this number in force; a reader with an older super
        // version is limited by that one.
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
        let begun = self.options.clock.now();
        state.wals = reading
            .wals
            .sizes()
            .map(|(number, size)| LiveWal { number, size, begun })
            .collect();
        self.reindex(&state);
        secondary.view.store(Arc::new(view));
        drop(state);
        reading.wals.installed();
        reading.installed = true;
    }

    /// Starts the thread of a follower.
    fn start_following(self: &Arc<Self>, primary: Arc<dyn Primary>) {
        let inner = self.clone();
        let thread = thread::Builder::new()
            .name("esker-follow".to_owned())
            .spawn(move || inner.follow(&*primary));
        match thread {
            Ok(thread) => self.jobs.threads.lock().push(thread),
            Err(error) => self.latch(
                "start the thread that follows",
                Error::io("start thread", &self.dir, error),
            ),
        }
    }

    fn follow(&self, primary: &dyn Primary) {
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
                // The error of a failed catch-up is in the status.
                if MutexGuard::unlocked(&mut state, || primary.catch_up(self)).is_ok() {
                    break;
                }
            }
        }
    }

    /// Returns after `time`, or earlier if there is work, such as a close.
    fn pause_following(&self, state: &mut MutexGuard<'_, crate::state::db_state::DbState>, time: Duration) {
        if !state.closing {
            self.work.wait_for(state, time);
        }
    }
}

impl Reading {
    /// The sequence number of the last row that was read.
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

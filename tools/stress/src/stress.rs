//! The database under stress, and what all threads share.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::{Error, ErrorKind};
use esker::{ColumnFamily, Db, Options};
use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::expected_state::ExpectedState;
use crate::expected_value::ExpectedValue;
use crate::faults::{self, Faults};
use crate::filter::{Families, RemovesAbsent};
use crate::flags::Flags;
use crate::followers::Secondary;
use crate::keys;
use crate::transactions::Transactions;
use crate::wal_dirs::WalDirs;

/// The database is wrong, or could not be used.
#[derive(Clone, Debug)]
pub enum Failure {
    /// It says what is not so.
    Wrong(String),
    /// It says that it cannot.
    Error(Error),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Wrong(what) => f.write_str(what),
            Failure::Error(error) => error.fmt(f),
        }
    }
}

impl Open {
    /// True if a failure in the background lets it take no more writes.
    pub fn is_latched(&self) -> bool {
        let family = self.db.default_column_family();
        self.db.property_int(&family, "rocksdb.background-errors") != Some(0)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Error(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        Failure::Wrong(format!("the expected state: {error}"))
    }
}

/// What a thread has done so far, or why it stopped.
pub type Outcome<T = ()> = Result<T, Failure>;

/// An open database.
pub struct Open {
    pub db: Db,
    /// By index; a family that is cleared is replaced by another.
    pub families: Vec<RwLock<ColumnFamily>>,
    /// Who follows it.
    pub secondary: Option<Secondary>,
    /// The transaction database that writes it, if transactions do.
    pub transactions: Option<Transactions>,
}

/// What all threads share.
pub struct Stress {
    pub flags: Flags,
    pub options: Options,
    pub path: PathBuf,
    pub expected: Arc<ExpectedState>,
    /// Which family of the database is which of the expected state.
    pub families: Arc<Families>,
    /// The process that had the database before lost no more than itself: with a WAL, every write that returned is there.
    pub all_acknowledged: bool,
    /// What is made to fail.
    pub faults: Option<Faults>,
    /// Calls off half of the compactions of a key range.
    pub canceled: Arc<AtomicBool>,
    /// Where the WALs lie.
    pub wal_dirs: WalDirs,
    /// Held by whoever makes a backup: one at a time.
    pub backups: Mutex<()>,
    /// The state of every key, by family and key, when the database was last opened. Where a key is absent in it, nobody knows whether
    /// a deletion lies in the files, or whether that went with a family, or with the crash.
    pub when_opened: RwLock<Vec<ExpectedValue>>,
    /// Of `2^log2_keys_per_lock` neighbouring keys each, family by family. A writer holds a key's lock from the mark to the
    /// answer. Several are taken in order.
    locks: Vec<RwLock<()>>,
    locks_of_family: usize,
    /// The first failure that says what is not so, or the first at all: everybody stops.
    failure: Mutex<Option<Failure>>,
    failed: AtomicBool,
    recovered: AtomicBool,
    /// Something failed that was made to, and the database takes no more writes: it is to be opened again.
    interrupted: AtomicBool,
}

impl Stress {
    /// Over the database at `path`.
    pub fn new(flags: Flags, mut options: Options, path: PathBuf, expected: Arc<ExpectedState>) -> Stress {
        let families = Arc::new(Families::default());
        if flags.enable_compaction_filter {
            options.column_family.compaction_filter_factory = Some(Arc::new(RemovesAbsent {
                expected: expected.clone(),
                families: families.clone(),
                nooverwritepercent: flags.nooverwritepercent,
            }));
        }
        let faults = Faults::over(options.fs.clone(), &flags);
        if let Some(faults) = &faults {
            options.fs = faults.fs();
            faults.wrap_user_code(&mut options);
        }
        let locks_of_family = (expected.keys() >> flags.log2_keys_per_lock) as usize + 1;
        let count = locks_of_family * flags.column_families as usize;
        let wal_dirs = WalDirs::new(flags.seed, &options.wal_dir);
        Stress {
            locks: (0..count).map(|_| RwLock::new(())).collect(),
            locks_of_family,
            failure: Mutex::new(None),
            failed: AtomicBool::new(false),
            recovered: AtomicBool::new(false),
            interrupted: AtomicBool::new(false),
            faults,
            flags,
            options,
            path,
            expected,
            families,
            all_acknowledged: false,
            canceled: Arc::default(),
            wal_dirs,
            backups: Mutex::new(()),
            when_opened: RwLock::new(Vec::new()),
        }
    }

    /// Opens the database, `after_failure` or not. What is made to fail meanwhile is tried again, at last without failures.
    pub fn open(&self, after_failure: bool) -> Outcome<Open> {
        const ATTEMPTS: usize = 4;
        if let Some(faults) = &self.faults {
            for _ in 0..ATTEMPTS {
                faults.begin_open(after_failure);
                let opened = self.open_once();
                faults.end();
                match opened {
                    Err(failure) if self.is_injected(&failure) => {}
                    opened => return opened,
                }
            }
        }
        self.open_once()
    }

    /// Opens the database and its families, those it lacks made anew.
    fn open_once(&self) -> Outcome<Open> {
        let db = self.open_somewhere()?;
        let transactions = Transactions::over(&self.flags, &db)?;
        let mut families = vec![RwLock::new(db.default_column_family())];
        for index in 1..self.flags.column_families as usize {
            let own = format!("{index}.");
            let found = db
                .column_families()
                .into_iter()
                .find(|family| family.name().starts_with(&own));
            families.push(RwLock::new(match found {
                Some(family) => family,
                None => db.create_column_family(&format!("{own}0"), &self.options.column_family)?,
            }));
        }
        self.drop_imported(&db)?;
        let secondary = self.open_secondary()?;
        Ok(Open {
            db,
            families,
            secondary,
            transactions,
        })
    }

    /// A path beside the database's.
    pub fn beside(&self, name: &str) -> PathBuf {
        let mut path = self.path.as_os_str().to_owned();
        path.push(format!(".{name}"));
        PathBuf::from(path)
    }

    fn lock_index(&self, family: usize, key: u64) -> usize {
        family * self.locks_of_family + (key >> self.flags.log2_keys_per_lock) as usize
    }

    /// The right to change `key`.
    pub fn lock(&self, family: usize, key: u64) -> RwLockWriteGuard<'_, ()> {
        self.locks[self.lock_index(family, key)].write()
    }

    /// The right to change the keys from `start` to `end`, exclusive.
    pub fn lock_range(&self, family: usize, start: u64, end: u64) -> Vec<RwLockWriteGuard<'_, ()>> {
        let last = self.lock_index(family, end.saturating_sub(1).max(start));
        let locks = &self.locks[self.lock_index(family, start)..=last];
        locks.iter().map(RwLock::write).collect()
    }

    /// Keeps the keys from `start` to `end`, exclusive, as they are.
    pub fn hold_range(&self, family: usize, start: u64, end: u64) -> Vec<RwLockReadGuard<'_, ()>> {
        let last = self.lock_index(family, end.saturating_sub(1).max(start));
        let locks = &self.locks[self.lock_index(family, start)..=last];
        locks.iter().map(RwLock::read).collect()
    }

    /// The number of the write that left `value`.
    pub fn write_of(&self, family: usize, key: u64, value: &[u8]) -> Outcome<u32> {
        keys::write_of(key, value, self.flags.value_size_mult as usize).ok_or_else(|| {
            Failure::Wrong(format!(
                "{}: a value nobody wrote: {:02x?}",
                self.name(family, key),
                value
            ))
        })
    }

    /// The value write `write` of `key` leaves.
    pub fn value(&self, key: u64, write: u32) -> Vec<u8> {
        keys::value(key, write, self.flags.value_size_mult as usize)
    }

    /// True for a key that is written only while it is absent, so that single deletions may delete it.
    pub fn is_single(&self, key: u64) -> bool {
        keys::is_single(key, self.flags.nooverwritepercent)
    }

    /// How messages name a key.
    pub fn name(&self, family: usize, key: u64) -> String {
        format!("column family {family}, key {key} ({:016X})", key)
    }

    /// Compares what was found with what must be there; the key's lock is held.
    pub fn check(
        &self,
        family: usize,
        key: u64,
        expected: ExpectedValue,
        found: Option<&[u8]>,
        how: &str,
    ) -> Outcome {
        let found = found.map(|value| self.write_of(family, key, value)).transpose()?;
        let wanted = expected.exists().then(|| expected.write());
        if found == wanted {
            return Ok(());
        }
        let show = |write: Option<u32>| write.map_or("nothing".to_owned(), |write| format!("write {write}"));
        Err(Failure::Wrong(format!(
            "{}: {how} finds {}, expected is {}",
            self.name(family, key),
            show(found),
            show(wanted)
        )))
    }

    /// Takes note that the expected state is right.
    pub fn set_recovered(&self) {
        self.recovered.store(true, Ordering::Release);
    }

    /// True once it was.
    pub fn has_recovered(&self) -> bool {
        self.recovered.load(Ordering::Acquire)
    }

    /// True for what failed because it was made to, or because nobody knows what became of such a change.
    pub fn is_injected(&self, failure: &Failure) -> bool {
        match failure {
            Failure::Error(error) if self.faults.is_some() => {
                let cleared_in_part = is_of_a_dropped_family(error) && self.is_interrupted();
                error.kind() == ErrorKind::Aborted
                    || cleared_in_part
                    || faults::is_injected(&error.to_string())
            }
            _ => false,
        }
    }

    /// Tells everybody to stop, because the database must be opened again.
    pub fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Release);
    }

    /// True if it must.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Acquire)
    }

    /// True if it must, which is forgotten.
    pub fn take_interrupted(&self) -> bool {
        self.interrupted.swap(false, Ordering::AcqRel)
    }

    /// Takes note of a failure and tells everybody to stop.
    pub fn fail(&self, failure: Failure) {
        let mut first = self.failure.lock();
        // Where a file system dies everybody gets errors; what is wrong is wrong.
        if matches!(
            (&*first, &failure),
            (None, _) | (Some(Failure::Error(_)), Failure::Wrong(_))
        ) {
            *first = Some(failure);
        }
        self.failed.store(true, Ordering::Release);
    }

    /// True if somebody failed.
    pub fn failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// Why, if somebody did.
    pub fn failure(&self) -> Option<Failure> {
        self.failure.lock().clone()
    }
}

/// True for an error of a call that names a column family which was dropped.
fn is_of_a_dropped_family(error: &Error) -> bool {
    let in_a_batch = error.kind() == ErrorKind::InvalidArgument
        && error
            .to_string()
            .contains("Invalid column family specified in write batch");
    error.kind() == ErrorKind::ColumnFamilyDropped || in_a_batch
}

/// True for what a compaction of named files may meet while others work.
pub fn is_collision(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Aborted | ErrorKind::InvalidArgument)
}

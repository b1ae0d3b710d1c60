//! The database under stress, and the state that all threads share.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::{Error, ErrorKind};
use esker::{ColumnFamily, CompactionService, Db, Options};
use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use vfs::MemFs;

use crate::expected_state::ExpectedState;
use crate::expected_value::ExpectedValue;
use crate::failure::{Failure, Outcome};
use crate::faults::{self, Faults};
use crate::filter::{Families, RemovesAbsent};
use crate::flags::Flags;
use crate::keys;
use crate::rare::RareEvents;
use crate::remote::Workers;
use crate::secondary::Secondary;
use crate::transaction_db::Transactions;
use crate::wal_dirs::WalDirs;

impl Open {
    /// True if a background failure prevents further writes.
    pub fn is_latched(&self) -> bool {
        let family = self.db.default_column_family();
        self.db.property_int(&family, "rocksdb.background-errors") != Some(0)
    }
}

/// An open database.
pub struct Open {
    pub db: Db,
    /// The families by index; a family that is cleared is replaced by another.
    pub families: Vec<RwLock<ColumnFamily>>,
    /// The secondary or follower of the database.
    pub secondary: Option<Secondary>,
    /// The transaction database over the database, if writes use transactions.
    pub transactions: Option<Transactions>,
}

/// A file system in memory, and a function that returns true once it is dead.
pub type Memory = (MemFs, Box<dyn Fn() -> bool + Send + Sync>);

/// The state that all threads share.
pub struct Stress {
    pub flags: Flags,
    pub options: Options,
    pub path: PathBuf,
    pub expected: Arc<ExpectedState>,
    /// The index in the expected state of each family of the database.
    pub families: Arc<Families>,
    /// True if the process that had the database before lost no more than itself: with a WAL, every write
    /// that returned has survived.
    pub all_acknowledged: bool,
    /// The rare events of this run.
    pub rare: RareEvents,
    /// True if the power was lost in an earlier life of the database.
    pub lost_power: bool,
    /// The file system in memory below the database, if it has one, and whether it is dead.
    pub memory: Option<Memory>,
    /// The injected failures.
    pub faults: Option<Faults>,
    /// The workers of the compaction service.
    pub workers: Option<Arc<Workers>>,
    /// Cancels half of the compactions of a key range.
    pub canceled: Arc<AtomicBool>,
    /// The directories of the WALs.
    pub wal_dirs: WalDirs,
    /// Held by the thread that makes a backup: one at a time.
    pub backups: Mutex<()>,
    /// The state of every key, by family and key, when the database was last opened. If a key is absent in
    /// it, a deletion may be in the files, or may have been lost with a family or in a crash.
    pub when_opened: RwLock<Vec<ExpectedValue>>,
    /// One lock for each `2^log2_keys_per_lock` neighbouring keys of each family. A writer holds a key's lock
    /// from the moment when it marks the key as pending until the write has returned. Several locks are taken
    /// in order.
    locks: Vec<RwLock<()>>,
    locks_of_family: usize,
    /// The first failure that reports a wrong result, or the first at all: all threads stop.
    failure: Mutex<Option<Failure>>,
    failed: AtomicBool,
    recovered: AtomicBool,
    /// True if an injected failure has stopped the writes of the database, which must be reopened.
    interrupted: AtomicBool,
}

impl Stress {
    /// A test of the database at `path`.
    pub fn new(flags: Flags, mut options: Options, path: PathBuf, expected: Arc<ExpectedState>) -> Stress {
        let families = Arc::new(Families::default());
        if flags.enable_compaction_filter {
            options.column_family.compaction_filter_factory = Some(Arc::new(RemovesAbsent {
                expected: expected.clone(),
                families: families.clone(),
                nooverwritepercent: flags.nooverwritepercent,
                row_limit: options.row_limit,
            }));
        }
        let faults = Faults::over(options.fs.clone(), &flags);
        if let Some(faults) = &faults {
            options.fs = faults.fs();
            faults.wrap_user_code(&mut options);
        }
        let workers = Workers::of(&flags, &options, &path).map(Arc::new);
        options.compaction_service = workers
            .clone()
            .map(|workers| workers as Arc<dyn CompactionService>);
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
            workers,
            flags,
            options,
            path,
            expected,
            families,
            all_acknowledged: false,
            rare: RareEvents::default(),
            lost_power: false,
            memory: None,
            canceled: Arc::default(),
            wal_dirs,
            backups: Mutex::new(()),
            when_opened: RwLock::new(Vec::new()),
        }
    }

    /// A path next to the database's.
    pub fn beside(&self, name: &str) -> PathBuf {
        let mut path = self.path.as_os_str().to_owned();
        path.push(format!(".{name}"));
        PathBuf::from(path)
    }

    fn lock_index(&self, family: usize, key: u64) -> usize {
        family * self.locks_of_family + (key >> self.flags.log2_keys_per_lock) as usize
    }

    /// Locks `key` for a change.
    pub fn lock(&self, family: usize, key: u64) -> RwLockWriteGuard<'_, ()> {
        self.locks[self.lock_index(family, key)].write()
    }

    /// Locks the keys from `start` to `end`, exclusive, for a change.
    pub fn lock_range(&self, family: usize, start: u64, end: u64) -> Vec<RwLockWriteGuard<'_, ()>> {
        let last = self.lock_index(family, end.saturating_sub(1).max(start));
        let locks = &self.locks[self.lock_index(family, start)..=last];
        locks.iter().map(RwLock::write).collect()
    }

    /// Locks the keys from `start` to `end`, exclusive, against changes.
    pub fn hold_range(&self, family: usize, start: u64, end: u64) -> Vec<RwLockReadGuard<'_, ()>> {
        let last = self.lock_index(family, end.saturating_sub(1).max(start));
        let locks = &self.locks[self.lock_index(family, start)..=last];
        locks.iter().map(RwLock::read).collect()
    }

    /// The number of the write that wrote `value`.
    pub fn write_of(&self, family: usize, key: u64, value: &[u8]) -> Outcome<u32> {
        keys::write_of(key, value, self.flags.value_size_mult as usize).ok_or_else(|| {
            Failure::Mismatch(format!(
                "{}: a value that was never written: {:02x?}",
                self.name(family, key),
                value
            ))
        })
    }

    /// The value of write `write` of `key`.
    pub fn value(&self, key: u64, write: u32) -> Vec<u8> {
        keys::value(key, write, self.flags.value_size_mult as usize)
    }

    /// True for a key that is written only while it is absent, so that single deletions may delete it.
    pub fn is_single(&self, key: u64) -> bool {
        keys::is_single(key, self.flags.nooverwritepercent)
    }

    /// The name of a key in messages.
    pub fn name(&self, family: usize, key: u64) -> String {
        format!("column family {family}, key {key} ({:016X})", key)
    }

    /// Compares the write found with the expected one; the key's lock is held.
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
        Err(Failure::Mismatch(format!(
            "{}: {how} finds {}, expected is {}",
            self.name(family, key),
            show(found),
            show(wanted)
        )))
    }

    /// Records that the expected state is right.
    pub fn set_recovered(&self) {
        self.recovered.store(true, Ordering::Release);
    }

    /// True if the expected state is right.
    pub fn has_recovered(&self) -> bool {
        self.recovered.load(Ordering::Acquire)
    }

    /// True for a failure that was injected, or that comes from the unknown effect of such a failure.
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

    /// Makes all threads stop, because the database must be reopened.
    pub fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Release);
    }

    /// True if the database must be reopened.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Acquire)
    }

    /// True if the database must be reopened. Resets the request.
    pub fn take_interrupted(&self) -> bool {
        self.interrupted.swap(false, Ordering::AcqRel)
    }

    /// Records a failure and makes all threads stop.
    pub fn fail(&self, failure: Failure) {
        let mut first = self.failure.lock();
        // After the death of a file system all threads get errors; wrong results are failures all the same.
        if matches!(
            (&*first, &failure),
            (None, _) | (Some(Failure::Error(_)), Failure::Mismatch(_))
        ) {
            *first = Some(failure);
        }
        self.failed.store(true, Ordering::Release);
    }

    /// True if there is a failure.
    pub fn failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// The first failure of a thread, if any thread has failed.
    pub fn failure(&self) -> Option<Failure> {
        self.failure.lock().clone()
    }

    /// The options of another database, such as a copy of this one. Its WALs are in its own directory.
    pub fn options_of_copy(&self) -> Options {
        Options {
            wal_dir: String::new(),
            db_paths: Vec::new(),
            // A copy has no SST file manager, because the deletion of its files would wait for the delete
            // rate.
            sst_file_manager: None,
            // The workers would look for the tables in the directory of this database.
            compaction_service: None,
            // A copy may have no WAL.
            track_and_verify_wals: false,
            ..self.options.clone()
        }
    }
}

/// True for the error of a call with a column family that was dropped.
fn is_of_a_dropped_family(error: &Error) -> bool {
    let in_a_batch = error.kind() == ErrorKind::InvalidArgument
        && error
            .to_string()
            .contains("Invalid column family specified in write batch");
    error.kind() == ErrorKind::ColumnFamilyDropped || in_a_batch
}

/// True for an error that a compaction of named files may have while other threads work.
pub fn is_collision(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Aborted | ErrorKind::InvalidArgument)
}

/// True for the error of a compaction that another thread cancelled.
pub(super) fn is_called_off(error: &Error) -> bool {
    let texts = ["Manual compaction paused", "All compactions aborted"];
    error.kind() == ErrorKind::Incomplete && texts.iter().any(|text| error.to_string().contains(text))
}

//! The archive: WALs that no recovery needs, kept for readers of updates in the subdirectory `archive` of the
//! directory of live WALs, as RocksDB keeps them, until they are too old (`WAL_ttl_seconds`) or too many
//! (`WAL_size_limit_MB`), and for the cursors of change feeds, without these options too.
//!
//! The thread that deletes files moves a WAL there instead of deleting it, by one rename: after a crash the
//! WAL has one name or the other, and the next open moves those that are left. Recovery reads no archived
//! WAL, and checkpoints and backups have none.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use base::Result;
use base::env::Clock;
use base::filename::{self, FileKind};
use base::sync::{Mutex, MutexGuard};
use vfs::FileSystem;

use crate::files::archived_wals::{archived, create_directory, directory, wals_in};
use crate::files::deletion::Deletion;
use crate::files::dropped_families;
use crate::files::feed_cursor::{self, Cursor};
use crate::files::unread_wals;
use crate::log::{InfoLog, log_line};
use crate::options::Options;
use crate::options::sst_file_manager::is_trash;

/// The maximum time between two searches for archived WALs that are too old.
const LONGEST_INTERVAL: Duration = Duration::from_secs(600);

/// The lists in the archive, and their temporary files.
const LISTS: &[&str] = &[
    dropped_families::DROPPED,
    dropped_families::TEMPORARY,
    unread_wals::UNREAD,
    unread_wals::TEMPORARY,
];

/// The archive of a database that is open for writing.
pub(crate) struct WalArchive {
    fs: Arc<dyn FileSystem>,
    deletion: Arc<Deletion>,
    clock: Arc<dyn Clock>,
    log: Arc<InfoLog>,
    /// The directory of the live WALs.
    wal_dir: PathBuf,
    /// Seconds after which an archived WAL is deleted; 0: its age does not matter.
    ttl_seconds: u64,
    /// The maximum number of bytes of all archived WALs together; 0: no limit.
    size_limit: u64,
    /// The numbers of WALs that are deleted instead of archived: a recovery ended before them, and their rows
    /// are in no table.
    unread: OnceLock<BTreeSet<u64>>,
    /// True if a WAL was archived since the last purge.
    moved: AtomicBool,
    /// The time of the next purge, in microseconds of the clock. Without an archive, a purge is due only
    /// after a cursor was dropped.
    pub due_micros: AtomicU64,
    has_cursors: AtomicBool,
    names: Mutex<()>,
}

/// Deletes the archived WALs, with `delete`, and the other files in the archive.
pub(crate) fn destroy(
    fs: &dyn FileSystem,
    wal_dir: &Path,
    delete: &dyn Fn(&Path) -> Result<()>,
) -> Result<()> {
    let dir = directory(wal_dir);
    if !fs.exists(&dir)? {
        return Ok(());
    }
    for name in fs.list(&dir)? {
        if is_trash(&name) || matches!(filename::parse(&name), Some(FileKind::Wal(_))) {
            delete(&dir.join(&name))?;
        }
        if feed_cursor::is_cursor_file(&name) || LISTS.contains(&&*name) {
            fs.remove(&dir.join(name))?;
        }
    }
    Ok(())
}

/// Removes the directory if nothing is in it.
pub(crate) fn remove_empty(fs: &dyn FileSystem, wal_dir: &Path) -> Result<()> {
    let dir = directory(wal_dir);
    match fs.exists(&dir)? && fs.list(&dir)?.is_empty() {
        true => fs.remove_dir(&dir),
        false => Ok(()),
    }
}

impl WalArchive {
    /// Creates the archive that the options describe.
    pub fn new(options: &Options, wal_dir: &Path, deletion: Arc<Deletion>, log: Arc<InfoLog>) -> WalArchive {
        WalArchive {
            fs: options.fs.clone(),
            deletion,
            clock: options.clock.clone(),
            log,
            wal_dir: wal_dir.to_path_buf(),
            ttl_seconds: options.wal_ttl_seconds,
            size_limit: options.wal_size_limit_mb.saturating_mul(1 << 20),
            unread: OnceLock::new(),
            moved: AtomicBool::new(false),
            due_micros: AtomicU64::new(1),
            has_cursors: AtomicBool::new(false),
            names: Mutex::default(),
        }
    }

    /// True if all WALs are archived.
    fn is_on(&self) -> bool {
        self.ttl_seconds > 0 || self.size_limit > 0
    }

    /// True if WALs are kept for a cursor of a change feed, as far as this process knows.
    pub fn has_cursors(&self) -> bool {
        self.has_cursors.load(Ordering::Relaxed)
    }

    /// True if rows may be read from WALs that recovery does not need.
    pub fn is_used(&self) -> bool {
        self.is_on() || self.has_cursors()
    }

    /// Reads the cursors of change feeds again. If they cannot be read, there may be one:
    /// [`has_cursors`](Self::has_cursors) is true.
    pub fn look_for_cursors(&self) {
        if let Err(error) = self.cursors() {
            self.has_cursors.store(true, Ordering::Relaxed);
            log_line!(self.log, Warn, "Can't read the cursors of change feeds: {error}");
        }
    }

    fn cursors(&self) -> Result<Vec<Cursor>> {
        let cursors = Cursor::all(&*self.fs, &self.wal_dir)?;
        self.has_cursors.store(!cursors.is_empty(), Ordering::Relaxed);
        Ok(cursors)
    }

    /// The lock that is held while the names of dropped families are written.
    pub fn writing_names(&self) -> MutexGuard<'_, ()> {
        self.names.lock()
    }

    /// Records which of the WALs `there`, which the MANIFEST needs, recovery has left out: they are not
    /// archived. Those that earlier recoveries have left out count as well. The list is durable when the call
    /// returns, so the caller writes no MANIFEST before it that needs none of them.
    pub fn leave_unread(&self, there: &[u64], left_out: BTreeSet<u64>) -> Result<()> {
        let before = unread_wals::unread(&*self.fs, &self.wal_dir);
        let unread = match &before {
            Err(error) if !error.is_corruption() => return Err(error.clone()),
            Ok(before) if before.is_empty() && left_out.is_empty() => BTreeSet::new(),
            before => self.existing_unread(before, there, left_out)?,
        };
        if !before.is_ok_and(|before| before == unread) {
            unread_wals::write(&*self.fs, &self.wal_dir, &unread)?;
        }
        // The numbers of the unread WALs are set only once, because a database is recovered once.
        let _ = self.unread.set(unread);
        Ok(())
    }

    /// The numbers of the WALs on disk that this recovery or one before it has left out.
    fn existing_unread(
        &self,
        before: &Result<BTreeSet<u64>>,
        there: &[u64],
        mut unread: BTreeSet<u64>,
    ) -> Result<BTreeSet<u64>> {
        let live = wals_in(&*self.fs, &self.wal_dir)?;
        let is_older = |number: &u64| !there.contains(number);
        match before {
            Ok(before) => unread.extend(before.iter().copied().filter(is_older)),
            // Any older WAL may be one that was left out, so a feed has a gap instead of wrong rows.
            Err(error) => {
                log_line!(self.log, Warn, "Can't read which WALs were left out: {error}");
                unread.extend(live.keys().copied().filter(is_older));
            }
        }
        let archived = archived(&*self.fs, &self.wal_dir)?;
        unread.retain(|number| live.contains_key(number) || archived.contains_key(number));
        Ok(unread)
    }

    /// The numbers of the WALs that recoveries have left out.
    pub fn unread(&self) -> BTreeSet<u64> {
        self.unread.get().cloned().unwrap_or_default()
    }

    /// Moves the obsolete file at `path` into the archive. False if the caller must delete the file instead:
    /// it is no WAL, or a WAL that is not archived.
    pub fn take(&self, path: &Path) -> bool {
        let name = path.file_name().and_then(|name| name.to_str());
        let Some(FileKind::Wal(number)) = name.and_then(filename::parse) else {
            return false;
        };
        if path.parent() != Some(&*self.wal_dir) || self.is_unread(number) || !self.wants(number) {
            return false;
        }
        let to = filename::wal(&directory(&self.wal_dir), number);
        match self.move_to(path, &to) {
            Ok(()) => {
                self.moved.store(true, Ordering::Relaxed);
                log_line!(
                    self.log,
                    Info,
                    "Move log file {} to {} -- OK",
                    path.display(),
                    to.display()
                );
            }
            // The next open tries again.
            Err(error) => log_line!(
                self.log,
                Warn,
                "Move log file {} to {} -- {error}",
                path.display(),
                to.display()
            ),
        }
        true
    }

    /// True if WAL `number` is archived. If the cursors cannot be read, every WAL is archived, because a
    /// cursor may need it.
    fn wants(&self, number: u64) -> bool {
        match self.cursors() {
            Ok(cursors) => self.is_on() || cursors.iter().any(|cursor| cursor.keep <= number),
            Err(_) => true,
        }
    }

    fn is_unread(&self, number: u64) -> bool {
        self.unread.get().is_some_and(|unread| unread.contains(&number))
    }

    fn move_to(&self, path: &Path, to: &Path) -> Result<()> {
        create_directory(&*self.fs, &self.wal_dir)?;
        if !self.has_cursors() {
            return self.fs.rename(path, to);
        }
        self.fs.sync_file(path)?;
        self.fs.rename(path, to)?;
        self.fs.sync_dir(&directory(&self.wal_dir))
    }

    /// Deletes archived WALs that are too old or too many, if a WAL was archived since the last purge.
    pub fn purge_if_moved(&self) {
        if self.moved.swap(false, Ordering::Relaxed) {
            self.look();
        }
    }

    /// Deletes archived WALs that are too old or too many, if a purge is due. Returns the time until the next
    /// purge; `None`: there is no archive.
    pub fn purge_when_due(&self) -> Option<Duration> {
        if !self.is_used() && self.due_micros.load(Ordering::Relaxed) > 0 {
            return None;
        }
        let now = self.clock.now();
        let due = Duration::from_micros(self.due_micros.load(Ordering::Relaxed));
        if now < due {
            return Some(due - now);
        }
        self.look();
        let interval = self.interval();
        let next = (now + interval).as_micros() as u64;
        self.due_micros.store(next.max(1), Ordering::Relaxed);
        self.is_used().then_some(interval)
    }

    fn look(&self) {
        if let Err(error) = self.purge() {
            log_line!(self.log, Warn, "Can't delete archived log files: {error}");
        }
    }

    fn interval(&self) -> Duration {
        match self.ttl_seconds {
            0 => LONGEST_INTERVAL,
            ttl => LONGEST_INTERVAL.min(Duration::from_secs((ttl / 2).max(1))),
        }
    }

    fn purge(&self) -> Result<()> {
        let cursors = self.cursors()?;
        let mut wals: Vec<(u64, PathBuf, u64)> = Vec::new();
        for (number, path) in archived(&*self.fs, &self.wal_dir)? {
            let size = self.fs.size_or_zero(&path)?;
            wals.push((number, path, size));
        }
        let kept = feed_cursor::kept(&cursors, &wals);
        let mut total: u64 = wals.iter().map(|(_, _, size)| size).sum();
        let limit = if self.size_limit > 0 {
            self.size_limit
        } else {
            u64::MAX
        };
        for (number, path, size) in wals {
            if kept.contains(&number) {
                continue;
            }
            let why = match self.is_on() {
                false => "no change feed needs it",
                true if self.has_expired(&path)? => "it is older than WAL_ttl_seconds",
                true if total > limit => "the archive is larger than WAL_size_limit_MB",
                true => continue,
            };
            for cursor in cursors.iter().filter(|cursor| cursor.keep <= number) {
                log_line!(
                    self.log,
                    Warn,
                    "The WALs from {:06}.log on, which cursor {} needs, have more than its {} bytes: the feed will have a gap",
                    cursor.keep,
                    cursor.name,
                    cursor.budget
                );
            }
            self.delete(&path, why);
            total -= size;
        }
        Ok(())
    }

    /// True if an archived WAL is older than its time to live. A file whose time is in the future, because
    /// the clock was set back, is not.
    fn has_expired(&self, path: &Path) -> Result<bool> {
        if self.ttl_seconds == 0 {
            return Ok(false);
        }
        let written = self.fs.modified_seconds(path)?;
        Ok(self.clock.unix_seconds().saturating_sub(written) > self.ttl_seconds)
    }

    fn delete(&self, path: &Path, why: &str) {
        match self.deletion.delete(path) {
            Ok(()) => log_line!(
                self.log,
                Info,
                "Deleted archived log file {}: {why}",
                path.display()
            ),
            Err(error) => log_line!(self.log, Warn, "Can't delete file: {error}"),
        }
    }
}

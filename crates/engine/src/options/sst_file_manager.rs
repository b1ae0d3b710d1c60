//! RocksDB's `SstFileManager`: the files of several databases, the rate at which they are deleted, and the
//! space that they may take.

mod tracked;
mod trash;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use base::env::{Clock, SystemClock};
use base::{Error, ErrorKind, Result};

use self::trash::Trash;
pub(crate) use self::trash::{Unneeded, is_trash};
use crate::options::logger::Logger;
use crate::options::thread_pool::{Kind, Next, Task, ThreadPool};

/// The settings of an [`SstFileManager`].
///
/// See the example of [`SstFileManager`].
#[derive(Clone)]
pub struct SstFileManagerOptions {
    /// The rate in bytes per second at which files are deleted. 0 or less: files are deleted at once.
    /// Default: 0.
    pub rate_bytes_per_sec: i64,
    /// The share of the bytes of all files that may wait for their deletion. While there are more, files are
    /// deleted at once. Default: 0.25.
    pub max_trash_db_ratio: f64,
    /// The bytes by which a larger file is truncated at a time, until it is gone. Each truncation counts
    /// against the rate, and the next one waits. A file with a second hard link, in a checkpoint for
    /// instance, is deleted whole. 0: every file is deleted whole. Set 0 if read-only databases, secondaries
    /// or followers read the directory: they may have an obsolete table open, and would find a truncated
    /// table damaged. Default: 64 MiB.
    pub bytes_max_delete_chunk: u64,
    /// The clock of the rate. Default: the machine's clock.
    pub clock: Arc<dyn Clock>,
    /// Receives a line for each file that is deleted or waits for its deletion. Default: none.
    pub info_log: Option<Arc<dyn Logger>>,
}

impl Default for SstFileManagerOptions {
    fn default() -> SstFileManagerOptions {
        SstFileManagerOptions {
            rate_bytes_per_sec: 0,
            max_trash_db_ratio: 0.25,
            bytes_max_delete_chunk: 64 << 20,
            clock: Arc::new(SystemClock::new()),
            info_log: None,
        }
    }
}

/// Tracks the table and blob files of the databases that share it
/// ([`Options::sst_file_manager`](crate::Options::sst_file_manager)), paces their deletion, and limits the
/// space that they take: RocksDB's `SstFileManager`.
///
/// With a [rate](SstFileManagerOptions::rate_bytes_per_sec), a file that is no longer needed is renamed to
/// `NAME.trash`, and a thread of the process's [pool](crate::ThreadPool::of_process) deletes one after the
/// other at that rate. WALs are deleted in this way too if they are in the directory of the database. Trash
/// counts as space taken. Trash that is there when the manager is dropped, or the process dies, is deleted by
/// the next open of the database, by RocksDB too; a database without a manager deletes it at once.
///
/// With a [limit](Self::set_max_allowed_space_usage) a database stops writes when a flush or a compaction
/// reaches it, with [`ErrorKind::SpaceLimit`], and resumes by itself when there is room.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// use esker::{Db, Options, SstFileManager, SstFileManagerOptions};
///
/// let slowly = SstFileManagerOptions { rate_bytes_per_sec: 64 << 20, ..Default::default() };
/// let manager = SstFileManager::new(slowly)?;
/// manager.set_max_allowed_space_usage(100 << 30);
/// let options = Options {
///     create_if_missing: true,
///     sst_file_manager: Some(manager.clone()),
///     ..Default::default()
/// };
/// let db = Db::open(&options, dir.path())?;
/// println!("{} bytes", manager.total_size());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SstFileManager {
    trash: Arc<Trash>,
    /// The task whose runs delete the trash; not set before the first file becomes trash.
    task: OnceLock<Option<Task>>,
    pool: ThreadPool,
}

impl SstFileManager {
    /// A manager without files.
    ///
    /// # Errors
    /// `InvalidArgument` if the ratio is negative or no number.
    pub fn new(options: SstFileManagerOptions) -> Result<Arc<SstFileManager>> {
        check_ratio(options.max_trash_db_ratio)?;
        Ok(Arc::new(SstFileManager {
            pool: ThreadPool::default_of(&options.clock),
            trash: Arc::new(Trash::new(
                options.clock,
                options.info_log,
                options.rate_bytes_per_sec,
                options.max_trash_db_ratio,
                options.bytes_max_delete_chunk,
            )),
            task: OnceLock::new(),
        }))
    }

    /// Sets the space in bytes that the tables and blob files of all databases may take together, including
    /// trash. 0: there is no limit, which is the default. Databases that the limit had stopped resume within
    /// five seconds when they have room, and at once by [`Db::resume`](crate::Db::resume).
    pub fn set_max_allowed_space_usage(&self, bytes: u64) {
        self.trash.tracked.set_max_allowed(bytes);
    }

    /// Sets the space in bytes that a compaction must leave for flushes when its output is as large as its
    /// input. A compaction that would leave less is not begun: a manual one fails with
    /// [`ErrorKind::CompactionTooLarge`], and an automatic one waits. Default: 0.
    pub fn set_compaction_buffer_size(&self, bytes: u64) {
        self.trash.tracked.set_compaction_buffer(bytes);
    }

    /// True if the files have reached the space allowed.
    pub fn is_max_allowed_space_reached(&self) -> bool {
        self.trash.tracked.is_max_allowed_reached(false)
    }

    /// True if the files have reached the space allowed, with the outputs of running compactions, which count
    /// as large as their inputs.
    pub fn is_max_allowed_space_reached_including_compactions(&self) -> bool {
        self.trash.tracked.is_max_allowed_reached(true)
    }

    /// The bytes of all tracked files, including trash.
    pub fn total_size(&self) -> u64 {
        self.trash.tracked.total()
    }

    /// The tracked files and their sizes in bytes.
    pub fn tracked_files(&self) -> BTreeMap<PathBuf, u64> {
        self.trash.tracked.all()
    }

    /// The rate in bytes per second at which files are deleted; 0 or less: at once.
    pub fn delete_rate_bytes_per_second(&self) -> i64 {
        self.trash.rate.load(Ordering::Relaxed)
    }

    /// Changes the rate in bytes per second at which files are deleted, including those that are trash
    /// already. 0 or less: files are deleted at once.
    pub fn set_delete_rate_bytes_per_second(&self, rate: i64) {
        self.trash.rate.store(rate, Ordering::Relaxed);
        if let Some(Some(task)) = self.task.get() {
            task.notify();
        }
    }

    /// The share of the bytes of all files that may be trash.
    pub fn max_trash_db_ratio(&self) -> f64 {
        f64::from_bits(self.trash.max_ratio.load(Ordering::Relaxed))
    }

    /// Changes the share of the bytes of all files that may be trash.
    ///
    /// # Errors
    /// `InvalidArgument` if it is negative or no number.
    pub fn set_max_trash_db_ratio(&self, ratio: f64) -> Result<()> {
        check_ratio(ratio)?;
        self.trash.max_ratio.store(ratio.to_bits(), Ordering::Relaxed);
        Ok(())
    }

    /// The bytes of trash of open databases.
    pub fn total_trash_size(&self) -> u64 {
        self.trash.bytes.load(Ordering::Relaxed)
    }

    /// Returns when all trash is deleted.
    pub fn wait_for_empty_trash(&self) {
        self.trash.wait_for(None);
    }

    /// Tracks a file, or notes its new size.
    pub(crate) fn on_add_file(&self, path: PathBuf, bytes: u64) {
        self.trash.tracked.add(path, bytes);
    }

    /// Stops tracking the files of a closed database, except its trash.
    pub(crate) fn on_close(&self, dirs: &BTreeSet<PathBuf>) {
        self.trash.tracked.remove_files_of(dirs);
    }

    /// Deletes a file of an open database, at once or later.
    pub(crate) fn delete_file(&self, file: &Unneeded<'_>) -> Result<()> {
        if self.trash.delete(file)? {
            self.begin();
        }
        Ok(())
    }

    /// The number of a new bucket: a group of files whose deletion can be [waited
    /// for](Self::wait_for_bucket).
    pub(crate) fn new_trash_bucket(&self) -> u64 {
        self.trash.new_bucket()
    }

    /// Deletes a file of a database that is not open, at once or later.
    pub(crate) fn delete_unaccounted_file(&self, file: &Unneeded<'_>, bucket: u64) -> Result<()> {
        if self.trash.delete_unaccounted(file, Some(bucket))? {
            self.begin();
        }
        Ok(())
    }

    /// Returns when all files of the bucket are deleted.
    pub(crate) fn wait_for_bucket(&self, bucket: u64) {
        self.trash.wait_for(Some(bucket));
    }

    /// `SpaceLimit` if the files have reached the space allowed.
    pub(crate) fn check_space(&self) -> Result<()> {
        match self.is_max_allowed_space_reached() {
            true => Err(Error::new(ErrorKind::SpaceLimit, "Max allowed space was reached")),
            false => Ok(()),
        }
    }

    /// True if the files may take `bytes` bytes more.
    pub(crate) fn has_room_for(&self, bytes: u64) -> bool {
        self.trash.tracked.has_room_for(bytes)
    }

    /// The bytes of free space that a compaction must leave to flushes.
    pub(crate) fn compaction_buffer_size(&self) -> u64 {
        self.trash.tracked.compaction_buffer()
    }

    /// Reserves space for a compaction with inputs of `bytes`. Returns `None` if there is too little space.
    pub(crate) fn reserve(self: &Arc<Self>, bytes: u64) -> Option<Reserved> {
        self.trash.tracked.reserve(bytes).then(|| Reserved {
            manager: self.clone(),
            bytes,
        })
    }

    /// Makes a thread of the pool work off the trash.
    fn begin(&self) {
        let task = self.task.get_or_init(|| {
            let trash = self.trash.clone();
            self.pool
                .add(Kind::Housekeeping, 1, move || trash.work_off())
                .ok()
        });
        match task {
            Some(task) => task.notify(),
            // If no thread can be started, this thread deletes the trash, without pauses.
            None => {
                self.trash.rate.store(0, Ordering::Relaxed);
                while self.trash.work_off() == Next::Again {}
            }
        }
    }
}

impl Drop for SstFileManager {
    fn drop(&mut self) {
        self.trash.close();
        if let Some(Some(task)) = self.task.get() {
            // The current thread may be one of the pool, so it does not wait for the threads of the pool.
            task.leave();
        }
    }
}

impl fmt::Debug for SstFileManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (total, trash) = (self.total_size(), self.total_trash_size());
        write!(f, "SstFileManager({total} bytes, {trash} of trash)")
    }
}

/// Space that a running compaction may fill.
pub(crate) struct Reserved {
    manager: Arc<SstFileManager>,
    bytes: u64,
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.manager.trash.tracked.release(self.bytes);
    }
}

fn check_ratio(ratio: f64) -> Result<()> {
    match ratio >= 0.0 {
        true => Ok(()),
        false => Err(Error::invalid_argument(format!(
            "max_trash_db_ratio={ratio} must be 0 or greater"
        ))),
    }
}

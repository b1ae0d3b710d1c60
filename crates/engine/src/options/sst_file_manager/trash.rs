//! Files are renamed to `NAME.trash` and deleted one after the other, at a limited rate: the deletion of a
//! large file discards so many blocks at once that some disks stall. If the process crashes, or the manager
//! is dropped, before all trash is deleted, the next open finds the files by their names.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use base::env::Clock;
use base::filename::{self, FileKind};
use base::statistics::{Statistics, Ticker};
use base::sync::{Condvar, Mutex, SIMULATED};
use base::{Error, ErrorKind, Result};
use vfs::FileSystem;

use super::tracked::{TRASH, TrackedFiles};
use crate::options::logger::{InfoLogLevel, Logger};
use crate::options::thread_pool::Next;

/// The longest time between two readings of the clock. A test may advance the clock, which wakes no thread.
const LOOK: Duration = Duration::from_millis(50);

/// The deletions of the databases that share a manager.
pub(super) struct Trash {
    pub tracked: Arc<TrackedFiles>,
    clock: Arc<dyn Clock>,
    info_log: Option<Arc<dyn Logger>>,
    /// Bytes per second; 0 or less: files are deleted at once.
    pub rate: AtomicI64,
    /// The bits of an `f64`: the share of the tracked bytes that may be trash.
    pub max_ratio: AtomicU64,
    /// The bytes by which a larger file is truncated at a time; 0: files are deleted whole.
    max_chunk: u64,
    /// The bytes of tracked files that wait for their deletion.
    pub bytes: AtomicU64,
    queue: Mutex<Queue>,
    /// The condition variable that is notified when the queue or a bucket is empty, and at the end.
    emptied: Condvar,
    /// Held while a name is chosen and taken.
    naming: Mutex<()>,
}

#[derive(Default)]
struct Queue {
    files: VecDeque<Arc<TrashFile>>,
    pace: Pace,
    next_bucket: u64,
    closed: bool,
}

/// The bytes deleted since the queue was last empty, or since the rate was changed.
#[derive(Default)]
struct Pace {
    rate: i64,
    began: Duration,
    deleted: u64,
    /// The time of the next deletion.
    due: Duration,
}

impl Pace {
    fn begin(&mut self, now: Duration, rate: i64) {
        *self = Pace {
            rate,
            began: now,
            deleted: 0,
            due: now,
        };
    }

    fn record(&mut self, bytes: u64) {
        self.deleted = self.deleted.saturating_add(bytes);
        self.due = self.began;
        if self.rate > 0 {
            let micros = u128::from(self.deleted) * 1_000_000 / self.rate as u128;
            self.due += Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX));
        }
    }
}

/// A file that waits for its deletion.
struct TrashFile {
    fs: Arc<dyn FileSystem>,
    path: PathBuf,
    /// The statistics of the file's database.
    statistics: Option<Arc<Statistics>>,
    /// True if the file is tracked.
    accounted: bool,
    /// The tracked bytes that are not deleted yet.
    left: AtomicU64,
    /// The bucket of the file: a thread may wait until all files of a bucket are deleted.
    bucket: Option<u64>,
}

/// A request to delete a file.
pub(crate) struct Unneeded<'a> {
    pub fs: &'a Arc<dyn FileSystem>,
    pub path: &'a Path,
    pub statistics: Option<&'a Arc<Statistics>>,
}

impl Unneeded<'_> {
    fn count(&self, ticker: Ticker) {
        if let Some(statistics) = self.statistics {
            statistics.record_tick(ticker, 1);
        }
    }
}

/// True if `name` is that of a table, a blob file or a WAL that waits for its deletion: with `.trash`, and a
/// number before that if there was such a file already.
pub(crate) fn is_trash(name: &str) -> bool {
    let Some(stem) = name.strip_suffix(TRASH) else {
        return false;
    };
    let stem = stem.trim_end_matches(|last: char| last.is_ascii_digit());
    matches!(
        filename::parse(stem),
        Some(FileKind::Table(_) | FileKind::Blob(_) | FileKind::Wal(_))
    )
}

impl Trash {
    pub fn new(
        clock: Arc<dyn Clock>,
        info_log: Option<Arc<dyn Logger>>,
        rate: i64,
        max_ratio: f64,
        max_chunk: u64,
    ) -> Trash {
        Trash {
            tracked: Arc::default(),
            clock,
            info_log,
            rate: AtomicI64::new(rate),
            max_ratio: AtomicU64::new(max_ratio.to_bits()),
            max_chunk,
            bytes: AtomicU64::new(0),
            queue: Mutex::default(),
            emptied: Condvar::new(),
            naming: Mutex::new(()),
        }
    }

    fn log(&self, level: InfoLogLevel, message: impl FnOnce() -> String) {
        if let Some(log) = &self.info_log {
            log.log(level, &message());
        }
    }

    /// Deletes a tracked file, at once or later. Returns true if it is queued.
    pub fn delete(&self, file: &Unneeded<'_>) -> Result<bool> {
        let (rate, trash) = (
            self.rate.load(Ordering::Relaxed),
            self.bytes.load(Ordering::Relaxed),
        );
        let (total, ratio) = (
            self.tracked.total(),
            f64::from_bits(self.max_ratio.load(Ordering::Relaxed)),
        );
        if rate > 0 && trash as f64 <= total as f64 * ratio {
            return self.put(file, true, None);
        }
        self.remove(file, true)?;
        self.log(InfoLogLevel::Info, || {
            format!(
                "Deleted file {} immediately, rate_bytes_per_sec {rate}, total_trash_size {trash}, total_size {total}, max_trash_db_ratio {ratio:.6}",
                file.path.display()
            )
        });
        Ok(false)
    }

    /// Deletes a file that is not tracked, at once or later. A file with another hard link is deleted at
    /// once, because its deletion frees no blocks. Returns true if it is queued.
    pub fn delete_unaccounted(&self, file: &Unneeded<'_>, bucket: Option<u64>) -> Result<bool> {
        let rate = self.rate.load(Ordering::Relaxed);
        if rate > 0 && file.fs.links(file.path).unwrap_or(1) <= 1 {
            return self.put(file, false, bucket);
        }
        self.remove(file, false)?;
        self.log(InfoLogLevel::Info, || {
            format!(
                "Deleted file {} immediately, rate_bytes_per_sec {rate}",
                file.path.display()
            )
        });
        Ok(false)
    }

    fn remove(&self, file: &Unneeded<'_>, accounted: bool) -> Result<()> {
        file.fs.remove(file.path)?;
        if accounted {
            self.tracked.remove(file.path);
        }
        file.count(Ticker::FilesDeletedImmediately);
        Ok(())
    }

    /// Renames a file and queues it.
    fn put(&self, file: &Unneeded<'_>, accounted: bool, bucket: Option<u64>) -> Result<bool> {
        let path = match self.mark(file, accounted) {
            Ok(path) => path,
            Err(error) => {
                self.log(InfoLogLevel::Error, || {
                    format!("Failed to mark {} as trash -- {error}", file.path.display())
                });
                return self.remove(file, accounted).map(|()| false);
            }
        };
        self.log(InfoLogLevel::Info, || {
            format!("Mark file: {} as trash -- OK", path.display())
        });
        let bytes = match accounted {
            true => file.fs.size(&path).unwrap_or(0),
            false => 0,
        };
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        file.count(Ticker::FilesMarkedTrash);
        let queued = Arc::new(TrashFile {
            fs: file.fs.clone(),
            path,
            statistics: file.statistics.cloned(),
            accounted,
            left: AtomicU64::new(bytes),
            bucket,
        });
        let mut queue = self.queue.lock();
        if queue.files.is_empty() {
            let now = self.clock.now().max(queue.pace.due);
            queue.pace.begin(now, self.rate.load(Ordering::Relaxed));
        }
        queue.files.push_back(queued);
        Ok(true)
    }

    /// Renames a file, unless its name is that of trash. Returns the new path.
    fn mark(&self, file: &Unneeded<'_>, accounted: bool) -> Result<PathBuf> {
        let Some(name) = file.path.file_name().and_then(|name| name.to_str()) else {
            return Err(Error::invalid_argument("file_path is corrupted").in_file(file.path));
        };
        if name.ends_with(TRASH) {
            return Ok(file.path.to_path_buf());
        }
        let _naming = self.naming.lock();
        let mut to = file.path.with_file_name(format!("{name}{TRASH}"));
        let mut taken = 0;
        while file.fs.exists(&to)? {
            to = file.path.with_file_name(format!("{name}{taken}{TRASH}"));
            taken += 1;
        }
        file.fs.rename(file.path, &to)?;
        if accounted {
            self.tracked.rename(file.path, &to);
        }
        Ok(to)
    }

    /// Deletes the first queued file, or a part of the file, if the rate allows it now.
    pub fn work_off(&self) -> Next {
        let mut queue = self.queue.lock();
        let now = self.clock.now();
        let rate = self.rate.load(Ordering::Relaxed);
        if rate != queue.pace.rate {
            queue.pace.begin(now, rate);
            self.log(InfoLogLevel::Info, || {
                format!("rate_bytes_per_sec is changed to {rate}")
            });
        }
        let Some(file) = queue.files.front().filter(|_| !queue.closed).cloned() else {
            return Next::Nothing;
        };
        if now < queue.pace.due {
            let wait = queue.pace.due - now;
            return Next::After(if SIMULATED { wait } else { wait.min(LOOK) });
        }
        drop(queue);
        let deleted = self.delete_part(&file);
        let (bytes, is_gone) = deleted.unwrap_or_else(|error| {
            self.log(InfoLogLevel::Error, || {
                format!("Failed to delete {} from trash -- {error}", file.path.display())
            });
            // If the deletion fails, the next open finds the file in the trash.
            (0, true)
        });
        let left = file.left.load(Ordering::Relaxed);
        let freed = if is_gone { left } else { left.min(bytes) };
        file.left.store(left - freed, Ordering::Relaxed);
        self.bytes.fetch_sub(freed, Ordering::Relaxed);
        if is_gone && let Some(statistics) = &file.statistics {
            statistics.record_tick(Ticker::FilesDeletedFromTrashQueue, 1);
        }
        let mut queue = self.queue.lock();
        queue.pace.record(bytes);
        self.log(InfoLogLevel::Info, || {
            let penalty = queue.pace.due.saturating_sub(queue.pace.began).as_micros();
            match queue.pace.rate > 0 {
                true => format!(
                    "Rate limiting is enabled with penalty {penalty} after deleting file {}",
                    file.path.display()
                ),
                false => format!(
                    "Rate limiting is disabled after deleting file {}",
                    file.path.display()
                ),
            }
        });
        if is_gone {
            queue.files.pop_front();
            self.emptied.notify_all();
        }
        Next::Again
    }

    /// Deletes a file, or the last chunk of a large one. Returns the freed bytes, and whether the file
    /// is gone.
    fn delete_part(&self, file: &TrashFile) -> Result<(u64, bool)> {
        let (fs, path) = (&*file.fs, &file.path);
        let bytes = match fs.size_or_zero(path) {
            // Another process has opened the database, and has deleted the file.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.tracked.remove(path);
                return Ok((0, true));
            }
            size => size?,
        };
        // A file with another hard link is not truncated: the other name belongs to a checkpoint or a backup.
        if self.max_chunk > 0 && bytes > self.max_chunk && fs.links(path).is_ok_and(|links| links == 1) {
            let cut = fs.truncate(path, bytes - self.max_chunk);
            match cut.and_then(|()| fs.sync_file(path)) {
                Ok(()) => return Ok((self.max_chunk, false)),
                Err(error) => self.log(InfoLogLevel::Warn, || {
                    format!(
                        "Failed to partially delete {} from trash -- {error}",
                        path.display()
                    )
                }),
            }
        }
        fs.remove(path)?;
        if file.accounted {
            self.tracked.remove(path);
        }
        if let Some(dir) = path.parent() {
            fs.sync_dir(dir)?;
        }
        Ok((bytes, true))
    }

    /// The number of a new bucket: a group of files whose deletion a thread [waits for](Self::wait_for).
    pub fn new_bucket(&self) -> u64 {
        let mut queue = self.queue.lock();
        queue.next_bucket += 1;
        queue.next_bucket
    }

    /// Waits until no file of the bucket is queued; without a bucket, until no file at all is queued.
    pub fn wait_for(&self, bucket: Option<u64>) {
        let mut queue = self.queue.lock();
        let waits = |file: &Arc<TrashFile>| bucket.is_none() || file.bucket == bucket;
        while !queue.closed && queue.files.iter().any(waits) {
            self.emptied.wait(&mut queue);
        }
    }

    /// Stops the deletion of queued files.
    pub fn close(&self) {
        self.queue.lock().closed = true;
        self.emptied.notify_all();
    }
}

#[cfg(test)]
mod tests;

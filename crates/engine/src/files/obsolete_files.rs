//! Deletes files that are not needed. A file that no version refers to, or a WAL older than every memtable,
//! is queued by the thread that finds it, and deleted by a background thread. After a crash the next open
//! deletes the remaining files.

use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use base::sync::{Condvar, Mutex, MutexGuard};
use base::user_code::catch;
use sst::Table;
use vfs::FileSync;

use crate::events::Event;
use crate::files::deletion::Deletion;
use crate::files::wal_archive::WalArchive;
use crate::log::listeners::Listeners;
use crate::options::thread_pool::Task;

/// The queue of files to delete.
pub(crate) struct ObsoleteFiles {
    deletion: Arc<Deletion>,
    listeners: Listeners,
    queue: Mutex<Queue>,
    changed: Condvar,
    /// The task whose runs delete files, once the database is open.
    task: OnceLock<Task>,
    /// Takes WALs that are not deleted, once the database is being opened for writing.
    archive: OnceLock<Arc<WalArchive>>,
    /// The bytes of obsolete tables, which no later version refers to, that a reader still holds.
    pub zombie_bytes: AtomicU64,
    /// The bytes of obsolete blob files, which no later version refers to, that a reader still holds.
    pub zombie_blob_bytes: AtomicU64,
}

#[derive(Default)]
struct Queue {
    files: Vec<PathBuf>,
    /// The bytes of the tables among the queued files.
    table_bytes: u64,
    /// File handles to be dropped: the drop of a file's last handle closes the file.
    to_close: Vec<Arc<dyn FileSync>>,
    /// Obsolete tables with blocks in the block cache, and the value of `uncache_aggressiveness` for each
    /// table.
    uncached: Vec<(Arc<Table>, u32)>,
    /// The holds that are in force, oldest first: while there is one, no file is deleted.
    holds: Vec<Hold>,
    /// The id of the next hold.
    next_hold: u64,
    /// True while the background thread deletes files or closes handles that it took from the queue.
    deleting: bool,
    /// True if the background thread must call `idle` again.
    woken: bool,
    closed: bool,
}

/// A hold: a request that no file be deleted.
#[derive(Clone, Debug)]
pub(crate) struct Hold {
    id: u64,
    /// The description of the requester, for people.
    pub holder: Arc<str>,
    /// The time at which the deletion was requested.
    pub since: Duration,
}

impl ObsoleteFiles {
    /// An empty queue.
    pub fn new(deletion: Deletion, listeners: Listeners) -> ObsoleteFiles {
        ObsoleteFiles {
            deletion: Arc::new(deletion),
            listeners,
            queue: Mutex::default(),
            changed: Condvar::new(),
            task: OnceLock::new(),
            archive: OnceLock::new(),
            zombie_bytes: AtomicU64::new(0),
            zombie_blob_bytes: AtomicU64::new(0),
        }
    }

    /// Makes the runs of `task` delete the queued files from now on.
    pub fn begin(&self, task: Task) {
        // The task is set only here, and a database is opened once.
        let _ = self.task.set(task);
    }

    /// From now on `archive` takes obsolete WALs.
    pub fn archive_in(&self, archive: Arc<WalArchive>) {
        // The archive is set only once, because a database is opened once.
        let _ = self.archive.set(archive);
    }

    /// The state of the deletion of single files.
    pub fn deletion(&self) -> &Arc<Deletion> {
        &self.deletion
    }

    /// The archive of WALs, once the database is being opened for writing.
    pub fn archive(&self) -> Option<&WalArchive> {
        self.archive.get().map(|archive| &**archive)
    }

    /// Notifies the waiters for a change, and the thread that deletes.
    fn notify(&self) {
        self.changed.notify_all();
        if let Some(task) = self.task.get() {
            task.notify();
        }
    }

    /// Queues the table at `path` of `bytes` bytes; 0 for a table that was in no version.
    pub fn add_table(&self, path: PathBuf, bytes: u64) {
        let mut queue = self.queue.lock();
        queue.files.push(path);
        queue.table_bytes += bytes;
        drop(queue);
        self.notify();
    }

    /// The bytes of queued tables whose deletion has not begun.
    pub fn table_bytes(&self) -> u64 {
        self.queue.lock().table_bytes
    }

    /// Erases the blocks of an obsolete table from the block cache, with this aggressiveness, even while
    /// deletions are held.
    pub fn uncache(&self, table: Arc<Table>, aggressiveness: u32) {
        self.queue.lock().uncached.push((table, aggressiveness));
        self.notify();
    }

    /// Wakes the thread that deletes files, so that it checks its periodic work again.
    pub fn wake(&self) {
        self.queue.lock().woken = true;
        self.notify();
    }

    /// Queues file handles to be closed that are no longer synced. They are closed before the files queued
    /// later are deleted, even while deletions are held.
    pub fn close_files(&self, handles: Vec<Arc<dyn FileSync>>) {
        if !handles.is_empty() {
            self.queue.lock().to_close.extend(handles);
            self.notify();
        }
    }

    /// Queues a file.
    pub fn add(&self, path: PathBuf) {
        self.queue.lock().files.push(path);
        self.notify();
    }

    /// Deletes nothing until the hold is [released](Self::release). Returns when no deletion is in progress.
    pub fn hold(&self, holder: &str, now: Duration) -> u64 {
        let mut queue = self.queue.lock();
        let id = queue.next_hold;
        queue.next_hold += 1;
        queue.holds.push(Hold {
            id,
            holder: holder.into(),
            since: now,
        });
        while queue.deleting {
            self.changed.wait(&mut queue);
        }
        id
    }

    /// Releases a [`hold`](Self::hold).
    pub fn release(&self, id: u64) {
        self.queue.lock().holds.retain(|hold| hold.id != id);
        self.notify();
    }

    /// Releases the newest hold whose description is `holder`. False if there is none.
    pub fn release_one_of(&self, holder: &str) -> bool {
        let mut queue = self.queue.lock();
        let Some(last) = queue.holds.iter().rposition(|hold| *hold.holder == *holder) else {
            return false;
        };
        queue.holds.remove(last);
        self.notify();
        true
    }

    /// True if deletions are held.
    pub fn is_held(&self) -> bool {
        !self.queue.lock().holds.is_empty()
    }

    /// The holds, oldest first, and the number of files that wait for them.
    pub fn held(&self) -> (Vec<Hold>, usize) {
        let queue = self.queue.lock();
        match queue.holds.is_empty() {
            true => (Vec::new(), 0),
            false => (queue.holds.clone(), queue.files.len()),
        }
    }

    /// Deletes the queued files. After each batch of deletions, and with nothing to delete, it calls `idle`,
    /// which returns the time after which it wants to be called again; `None`: never. Linux takes
    /// milliseconds to free a large file's blocks, so a thread does nothing else than this.
    pub fn work_off(&self, idle: &mut dyn FnMut() -> Option<Duration>) -> Option<Duration> {
        let mut queue = self.queue.lock();
        let mut wait = None;
        let mut called = false;
        loop {
            let uncached = std::mem::take(&mut queue.uncached);
            let to_close = std::mem::take(&mut queue.to_close);
            if !to_close.is_empty() {
                queue.deleting = true;
                MutexGuard::unlocked(&mut queue, || drop(to_close));
                queue.deleting = false;
                self.changed.notify_all();
            }
            if !uncached.is_empty() {
                MutexGuard::unlocked(&mut queue, || {
                    for (table, aggressiveness) in uncached {
                        self.outlive(|| table.uncache(aggressiveness));
                    }
                });
                continue;
            }
            let is_done = queue.files.is_empty() || !queue.holds.is_empty();
            if is_done && (queue.closed || called && !queue.woken) {
                return wait;
            }
            if !is_done {
                self.delete_queued(&mut queue);
            }
            // Files may be queued meanwhile, so the queue is checked again. They may be queued as fast as
            // they are deleted, so `idle` does not wait for an empty queue.
            if !queue.closed {
                called = true;
                queue.woken = false;
                wait = MutexGuard::unlocked(&mut queue, &mut *idle);
            }
        }
    }

    /// Deletes the files in the queue, which is unlocked meanwhile.
    fn delete_queued(&self, queue: &mut MutexGuard<'_, Queue>) {
        let files = std::mem::take(&mut queue.files);
        queue.table_bytes = 0;
        queue.deleting = true;
        MutexGuard::unlocked(queue, || {
            files
                .into_iter()
                .for_each(|file| self.outlive(|| self.delete(file)));
            if let Some(archive) = self.archive() {
                self.outlive(|| archive.purge_if_moved());
            }
        });
        queue.deleting = false;
        self.changed.notify_all();
    }

    /// Continues after a panic in `work`. The database is notified of it when there is nothing to delete.
    fn outlive(&self, work: impl FnOnce()) {
        if let Err(error) = catch(work) {
            self.listeners.record_panic(error);
        }
    }

    /// A failed deletion is not an error: the next open deletes the file.
    fn delete(&self, path: PathBuf) {
        if self.archive().is_some_and(|archive| archive.take(&path)) {
            return;
        }
        if self.deletion.delete(&path).is_ok() {
            self.listeners.notify(&Event::FileDeleted {
                path: path.display().to_string(),
            });
        }
    }

    /// Returns when the queue has neither files that may be deleted nor handles to be closed.
    pub fn wait_for_purge(&self) {
        let mut queue = self.queue.lock();
        let is_due = |queue: &Queue| !queue.files.is_empty() && queue.holds.is_empty();
        while queue.deleting || !queue.to_close.is_empty() || is_due(&queue) {
            self.changed.wait(&mut queue);
        }
    }

    /// Ends the runs of the background task. From now on only [`work_off`](Self::work_off) deletes files.
    pub fn close(&self) {
        self.queue.lock().closed = true;
        self.changed.notify_all();
        if let Some(task) = self.task.get() {
            task.close();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::options::Options;

    /// A handle whose close queues a file and another handle until `stopped` is set.
    struct Refill {
        files: Arc<ObsoleteFiles>,
        stopped: Arc<AtomicBool>,
        /// The number of handles that may follow.
        left: u64,
        least: Arc<AtomicU64>,
    }

    impl std::fmt::Debug for Refill {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.debug_struct("Refill").finish_non_exhaustive()
        }
    }

    impl FileSync for Refill {
        fn sync(&self) -> base::Result<()> {
            Ok(())
        }
    }

    impl Drop for Refill {
        fn drop(&mut self) {
            self.least.store(self.left, Ordering::Relaxed);
            if self.stopped.load(Ordering::Relaxed) || self.left == 0 {
                return;
            }
            self.files.add(PathBuf::from("/db/000001.sst"));
            self.files.close_files(vec![Arc::new(Refill {
                files: self.files.clone(),
                stopped: self.stopped.clone(),
                left: self.left - 1,
                least: self.least.clone(),
            })]);
        }
    }

    /// Files are queued as fast as they are deleted, until the periodic work is done.
    #[test]
    fn periodic_work_does_not_wait_for_an_empty_queue() {
        let options = Options {
            fs: Arc::new(vfs::MemFs::new()),
            ..Options::default()
        };
        let deletion = Deletion::new(&options, Path::new("/db"));
        let files = Arc::new(ObsoleteFiles::new(deletion, Listeners::none()));
        let (stopped, least) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        files.close_files(vec![Arc::new(Refill {
            files: files.clone(),
            stopped: stopped.clone(),
            left: 100,
            least: least.clone(),
        })]);
        files.work_off(&mut || {
            stopped.store(true, Ordering::Relaxed);
            None
        });
        assert!(least.load(Ordering::Relaxed) > 90, "{least:?}");
        assert!(files.queue.lock().files.is_empty());
    }
}

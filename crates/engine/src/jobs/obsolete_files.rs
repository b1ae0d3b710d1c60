//! Deletes files nobody needs. A file that no version holds any more, or a WAL behind every memtable, is queued by whoever
//! notices, and deleted by a background thread. A crash on the way only leaves files that the next open deletes.

use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use base::sync::{Condvar, Mutex, MutexGuard};
use base::user_code::catch;
use sst::Table;
use vfs::{FileSync, FileSystem};

use super::thread_pool::Lane;
use crate::events::{Event, Listeners};

/// The queue of files to delete.
pub(crate) struct ObsoleteFiles {
    fs: Arc<dyn FileSystem>,
    listeners: Listeners,
    queue: Mutex<Queue>,
    changed: Condvar,
    /// Whose turns delete them, once the database is open.
    lane: OnceLock<Lane>,
    /// Bytes of tables that no version to come holds, and that somebody who reads still does.
    pub zombie_bytes: AtomicU64,
    /// The same of blob files.
    pub zombie_blob_bytes: AtomicU64,
}

#[derive(Default)]
struct Queue {
    files: Vec<PathBuf>,
    /// Bytes of the tables among them.
    table_bytes: u64,
    /// Handles to be dropped: the last one of a file closes it.
    to_close: Vec<Arc<dyn FileSync>>,
    /// Obsolete tables with blocks in the block cache, and how hard these are to be taken out.
    uncached: Vec<(Arc<Table>, u32)>,
    /// Who asked that nothing be deleted, and has not taken it back. Oldest first.
    holds: Vec<Hold>,
    /// Of the next of them.
    next_hold: u64,
    /// The thread is at work on files or handles it took off the queue.
    deleting: bool,
    /// It is to call `idle` again.
    woken: bool,
    closed: bool,
}

/// Somebody asked that nothing be deleted.
#[derive(Clone, Debug)]
pub(crate) struct Hold {
    id: u64,
    /// Who, for people.
    pub holder: Arc<str>,
    /// When.
    pub since: Duration,
}

impl ObsoleteFiles {
    /// None yet.
    pub fn new(fs: Arc<dyn FileSystem>, listeners: Listeners) -> ObsoleteFiles {
        ObsoleteFiles {
            fs,
            listeners,
            queue: Mutex::default(),
            changed: Condvar::new(),
            lane: OnceLock::new(),
            zombie_bytes: AtomicU64::new(0),
            zombie_blob_bytes: AtomicU64::new(0),
        }
    }

    /// From now on turns of `lane` delete files.
    pub fn begin(&self, lane: Lane) {
        // A database is opened once.
        let _ = self.lane.set(lane);
    }

    /// Tells whoever waits for a change, and the thread that deletes.
    fn notify(&self) {
        self.changed.notify_all();
        if let Some(lane) = self.lane.get() {
            lane.notify();
        }
    }

    /// Queues the table at `path`, of so many bytes; 0 for one that was in no version.
    pub fn add_table(&self, path: PathBuf, bytes: u64) {
        let mut queue = self.queue.lock();
        queue.files.push(path);
        queue.table_bytes += bytes;
        drop(queue);
        self.notify();
    }

    /// Bytes of the tables that nobody holds any more and whose deletion has not begun.
    pub fn table_bytes(&self) -> u64 {
        self.queue.lock().table_bytes
    }

    /// Has the blocks of an obsolete table taken out of the block cache, as hard as that, whether files may be deleted or not.
    pub fn uncache(&self, table: Arc<Table>, aggressiveness: u32) {
        self.queue.lock().uncached.push((table, aggressiveness));
        self.notify();
    }

    /// Has the thread that deletes look again at what else it does.
    pub fn wake(&self) {
        self.queue.lock().woken = true;
        self.notify();
    }

    /// Has files closed that are not synced any more, before the files queued after this are deleted, whether files may be deleted
    /// or not.
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

    /// Deletes nothing until that is [released](Self::release). Returns when no deletion is at work.
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

    /// Takes a [`hold`](Self::hold) back.
    pub fn release(&self, id: u64) {
        self.queue.lock().holds.retain(|hold| hold.id != id);
        self.notify();
    }

    /// Takes the last hold of that holder back. False if there is none.
    pub fn release_one_of(&self, holder: &str) -> bool {
        let mut queue = self.queue.lock();
        let Some(last) = queue.holds.iter().rposition(|hold| *hold.holder == *holder) else {
            return false;
        };
        queue.holds.remove(last);
        self.notify();
        true
    }

    /// True if nothing may be deleted now.
    pub fn is_held(&self) -> bool {
        !self.queue.lock().holds.is_empty()
    }

    /// Who holds it, oldest first, and how many files wait for them.
    pub fn held(&self) -> (Vec<Hold>, usize) {
        let queue = self.queue.lock();
        match queue.holds.is_empty() {
            true => (Vec::new(), 0),
            false => (queue.holds.clone(), queue.files.len()),
        }
    }

    /// Deletes what is queued. With nothing to delete it calls `idle`, which says after what time it wants to be called again; `None`: never. Linux
    /// takes milliseconds to free a large file's blocks, so this has a thread that does nothing else.
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
            if queue.files.is_empty() || !queue.holds.is_empty() {
                if queue.closed || called && !queue.woken {
                    return wait;
                }
                // Something may be queued meanwhile, so it is looked at again.
                called = true;
                queue.woken = false;
                wait = MutexGuard::unlocked(&mut queue, &mut *idle);
                continue;
            }
            let files = std::mem::take(&mut queue.files);
            queue.table_bytes = 0;
            queue.deleting = true;
            MutexGuard::unlocked(&mut queue, || {
                files
                    .into_iter()
                    .for_each(|file| self.outlive(|| self.delete(file)))
            });
            queue.deleting = false;
            self.changed.notify_all();
        }
    }

    /// Goes on after a panic in `work`, which the database hears of when there is nothing to delete.
    fn outlive(&self, work: impl FnOnce()) {
        if let Err(error) = catch(work) {
            self.listeners.note_panic(error);
        }
    }

    /// A file that cannot be deleted now is deleted by the next open: nothing to fail for.
    fn delete(&self, path: PathBuf) {
        if self.fs.remove(&path).is_ok() {
            self.listeners.notify(&Event::FileDeleted {
                path: path.display().to_string(),
            });
        }
    }

    /// Returns when nothing is queued that may be deleted or is to be closed.
    pub fn wait_for_purge(&self) {
        let mut queue = self.queue.lock();
        let is_due = |queue: &Queue| !queue.files.is_empty() && queue.holds.is_empty();
        while queue.deleting || !queue.to_close.is_empty() || is_due(&queue) {
            self.changed.wait(&mut queue);
        }
    }

    /// Ends the turns that delete, and what else is due then. Files are deleted by [`work_off`](Self::work_off) alone from now on.
    pub fn close(&self) {
        self.queue.lock().closed = true;
        self.changed.notify_all();
        if let Some(lane) = self.lane.get() {
            lane.close();
        }
    }
}

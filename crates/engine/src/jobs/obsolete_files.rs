//! Deletes files nobody needs. A file that no version holds any more, or a WAL behind every memtable, is queued by whoever
//! notices, and deleted by a background thread. A crash on the way only leaves files that the next open deletes.

use std::path::PathBuf;
use std::sync::Arc;

use base::filename;
use parking_lot::{Condvar, Mutex};
use vfs::FileSystem;

use crate::events::{Event, EventListener};

/// The queue of files to delete.
pub(crate) struct ObsoleteFiles {
    fs: Arc<dyn FileSystem>,
    dir: PathBuf,
    listeners: Vec<Arc<dyn EventListener>>,
    queue: Mutex<Queue>,
    added: Condvar,
}

#[derive(Default)]
struct Queue {
    files: Vec<PathBuf>,
    closed: bool,
}

impl ObsoleteFiles {
    /// Of the database in `dir`.
    pub fn new(
        fs: Arc<dyn FileSystem>,
        dir: PathBuf,
        listeners: Vec<Arc<dyn EventListener>>,
    ) -> ObsoleteFiles {
        ObsoleteFiles {
            fs,
            dir,
            listeners,
            queue: Mutex::default(),
            added: Condvar::new(),
        }
    }

    /// Queues table `number`.
    pub fn add_table(&self, number: u64) {
        self.add(filename::table(&self.dir, number));
    }

    /// Queues a file.
    pub fn add(&self, path: PathBuf) {
        self.queue.lock().files.push(path);
        self.added.notify_one();
    }

    /// Deletes what is queued, as it comes, until [`close`](Self::close). Runs on a thread of its own: Linux takes
    /// milliseconds to free a large file's blocks.
    pub fn run(&self) {
        let mut queue = self.queue.lock();
        loop {
            if queue.closed && queue.files.is_empty() {
                return;
            }
            if queue.files.is_empty() {
                self.added.wait(&mut queue);
                continue;
            }
            let files = std::mem::take(&mut queue.files);
            parking_lot::MutexGuard::unlocked(&mut queue, || {
                files.into_iter().for_each(|file| self.delete(file))
            });
        }
    }

    /// A file that cannot be deleted now is deleted by the next open: nothing to fail for.
    fn delete(&self, path: PathBuf) {
        if self.fs.remove(&path).is_ok() {
            let event = Event::FileDeleted {
                path: path.display().to_string(),
            };
            self.listeners
                .iter()
                .for_each(|listener| listener.on_event(&event));
        }
    }

    /// Lets [`run`](Self::run) delete what is queued and return.
    pub fn close(&self) {
        self.queue.lock().closed = true;
        self.added.notify_all();
    }
}

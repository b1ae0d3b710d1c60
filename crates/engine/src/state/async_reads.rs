//! Reads that continue on threads of the pool, because their blocks are not in memory.
//!
//! A database enters the pool for reads at its first such read: a database without them has no thread for
//! reads. A thread takes one read at a time, and calls for another thread while more are waiting.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock, Weak};

use base::sync::Mutex;

use crate::options::thread_pool::{Kind, Next, Task, ThreadPool};

/// A read that waits for a thread.
pub(crate) trait WaitingRead: Send + Sync {
    /// Reads and wakes the reader; does nothing if the reader has gone.
    fn run(&self);

    /// Fails the read because the database is closing, and wakes the reader.
    fn fail(&self);
}

/// The reads of a database that wait for a thread.
#[derive(Default)]
pub(crate) struct AsyncReads {
    /// A leaf lock, apart from the pool's.
    queue: Mutex<Queue>,
    task: OnceLock<Task>,
}

#[derive(Default)]
struct Queue {
    reads: VecDeque<Arc<dyn WaitingRead>>,
    closed: bool,
}

thread_local! {
    /// True on a thread of the pool that runs a read.
    static READS: Cell<bool> = const { Cell::new(false) };
}

impl AsyncReads {
    /// Queues a read. `pool` is that of the database. If no thread can be started, the caller reads.
    pub fn add(self: &Arc<Self>, read: Arc<dyn WaitingRead>, pool: impl FnOnce() -> ThreadPool) {
        let mut queue = self.queue.lock();
        if queue.closed {
            drop(queue);
            return read.fail();
        }
        if self.task.get().is_none() {
            let own = Arc::downgrade(self);
            let added = pool().add(Kind::Read, usize::MAX, move || run_next(&own));
            let Ok(task) = added else {
                drop(queue);
                return read.run();
            };
            // The lock is held, and no other thread sets the task.
            let _ = self.task.set(task);
        }
        queue.reads.push_back(read);
        drop(queue);
        self.notify();
    }

    fn notify(&self) {
        if let Some(task) = self.task.get() {
            task.notify();
        }
    }

    /// Fails all waiting reads, and each later one.
    pub fn close(&self) {
        let reads = {
            let mut queue = self.queue.lock();
            queue.closed = true;
            std::mem::take(&mut queue.reads)
        };
        reads.iter().for_each(|read| read.fail());
    }

    /// Leaves the pool, after [`close`](Self::close). Waits for reads in progress, unless the caller is one:
    /// the last handle of the database may be dropped with the snapshot of a read.
    pub fn leave(&self) {
        if let Some(task) = self.task.get() {
            match READS.get() {
                true => task.leave(),
                false => task.close(),
            }
        }
    }
}

/// Runs the next waiting read of a database.
fn run_next(reads: &Weak<AsyncReads>) -> Next {
    let Some(reads) = reads.upgrade() else {
        return Next::Nothing;
    };
    let (next, more) = {
        let mut queue = reads.queue.lock();
        (queue.reads.pop_front(), !queue.reads.is_empty())
    };
    let Some(next) = next else {
        return Next::Nothing;
    };
    if more {
        reads.notify();
    }
    READS.set(true);
    next.run();
    drop(next);
    // The read may have been the last one to hold the database.
    drop(reads);
    READS.set(false);
    Next::Again
}

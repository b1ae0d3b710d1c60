//! Group sync: one sync of the WAL makes the writes of many threads durable.
//!
//! One thread at a time syncs everything appended before it began; threads that come later wait. When it is
//! done, it first wakes one thread that it did not serve, which syncs next, and then those it served. So no
//! sync waits for a thread to wake up except the one that syncs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::sync::{Condvar, Mutex};
use base::user_code::catch_or_fail;
use base::{Error, Result};
use vfs::FileSync;

/// A WAL that may have to be synced.
#[derive(Clone)]
pub(crate) struct UnsyncedWal {
    pub number: u64,
    pub sync: Arc<dyn FileSync>,
}

/// The progress of the WALs, for threads that sync them while others write.
#[derive(Default)]
pub(crate) struct WalTail {
    /// The number of records appended to all WALs together; it identifies a point of the WALs for syncs.
    /// Written under the write queue's lock.
    pub records: AtomicU64,
    /// The WALs with unsynced records that a recovery may read; the current one is last. Each entry holds its
    /// file open.
    pub unsynced: Mutex<Vec<UnsyncedWal>>,
    /// The bytes of WALs older than the current one.
    pub older_bytes: AtomicU64,
    /// The bytes of WAL beyond which memtables are flushed so that the oldest WAL can be deleted. Written
    /// under the database mutex.
    pub max_bytes: AtomicU64,
    /// The state shared by syncs. The write queue's lock is not taken under it: its holder may wait for a
    /// flush, which syncs.
    group: Mutex<SyncGroup>,
}

/// The database that the WALs belong to.
pub(crate) trait SyncEnv {
    /// Syncs `wals`, oldest first, and their directory if one of them is newer than WAL `directory`. Returns
    /// the number of the newest WAL whose directory entry is on disk.
    fn sync(&self, wals: &[UnsyncedWal], directory: u64) -> Result<u64>;

    /// Stops writes, because `action` failed. Called before a thread gets the error.
    fn latch(&self, action: &'static str, error: &Error);

    /// Reports the failure. Called without a lock.
    fn report(&self, action: &'static str, error: &Error);
}

impl WalTail {
    /// The progress of a database without WALs, and the limit of their bytes.
    pub fn new(max_bytes: u64) -> WalTail {
        WalTail {
            max_bytes: AtomicU64::new(max_bytes),
            ..WalTail::default()
        }
    }

    /// Registers a new WAL. Its first record is a record like others, to be synced before anything later can
    /// survive: torn, it would be damage in a WAL that precedes existing tables.
    pub fn begin(&self, number: u64, wal: &wal::Writer) {
        if let Some(sync) = wal.syncer() {
            self.unsynced.lock().push(UnsyncedWal { number, sync });
            self.records.fetch_add(1, Ordering::Release);
        }
    }

    /// Removes the WALs older than `number` from the list, and returns their handles. The rows of such a WAL
    /// are in synced tables, and the MANIFEST says that no recovery reads it: a later sync is complete
    /// without it.
    pub fn forget_older(&self, number: u64) -> Vec<Arc<dyn FileSync>> {
        let mut unsynced = self.unsynced.lock();
        let forgotten = unsynced.extract_if(.., |wal| wal.number < number);
        forgotten.map(|wal| wal.sync).collect()
    }

    /// The newest WAL that a sync included: those before it are complete and on disk.
    pub fn directory(&self) -> u64 {
        self.group.lock().directory
    }

    /// Returns when the WALs are on disk up to their `records`th record.
    pub fn sync(&self, records: u64, env: &impl SyncEnv) -> Result<()> {
        let mut group = self.group.lock();
        if let Some(outcome) = group.outcome(records) {
            return outcome;
        }
        if group.busy {
            let waiter = Arc::new(Waiter {
                records,
                turn: Mutex::new(Turn::Waits),
                woken: Condvar::new(),
            });
            group.waiting.push(waiter.clone());
            drop(group);
            if waiter.wait() == Turn::Served {
                let outcome = self.group.lock().outcome(records);
                return outcome.unwrap_or(Ok(()));
            }
            group = self.group.lock();
        }
        group.busy = true;
        let directory = group.directory;
        drop(group);
        // The number of records is read before the list of WALs: every record appended by then is in one of
        // the listed WALs.
        let upto = self.records.load(Ordering::Acquire);
        let synced = catch_or_fail(|| {
            let wals = self.unsynced.lock().clone();
            env.sync(&wals, directory)
        });
        // The database latches before the waiters are notified: a waiter that gets the error may rely on the
        // database having stopped.
        if let Err(error) = &synced {
            env.latch(SYNC, error);
        }
        self.end_sync(upto, &synced);
        match synced {
            Ok(newest) => {
                // The WALs before the newest are complete, so they need no further sync.
                self.unsynced.lock().retain(|wal| wal.number >= newest);
                Ok(())
            }
            Err(error) => {
                env.report(SYNC, &error);
                Err(error)
            }
        }
    }

    /// Records a sync of the first `upto` records, and wakes the waiting threads.
    fn end_sync(&self, upto: u64, synced: &Result<u64>) {
        let mut group = self.group.lock();
        match synced {
            Ok(newest) => {
                group.synced = upto;
                group.directory = *newest;
            }
            Err(error) => {
                group.failed = Some(error.clone().context(SYNC).latched());
            }
        }
        // After a failure no thread syncs any more, and every waiter gets the error.
        let failed = group.failed.is_some();
        let waiting = std::mem::take(&mut group.waiting);
        let (served, mut others): (Vec<_>, Vec<_>) = waiting
            .into_iter()
            .partition(|waiter| failed || waiter.records <= upto);
        let next = (!others.is_empty()).then(|| others.remove(0));
        group.busy = next.is_some();
        group.waiting = others;
        drop(group);
        if let Some(next) = next {
            next.wake(Turn::Syncs);
        }
        served.iter().for_each(|waiter| waiter.wake(Turn::Served));
    }
}

/// The name of a failed sync in errors.
const SYNC: &str = "sync the WAL";

/// The progress of syncs, and the threads that wait for them.
#[derive(Default)]
struct SyncGroup {
    /// The number of records known to be on disk.
    synced: u64,
    /// The number of the newest WAL whose directory entry is on disk.
    directory: u64,
    /// The error of a failed sync. The kernel may have dropped the pages that it could not write, so that a
    /// second sync could succeed without writing them: no sync is tried again.
    failed: Option<Error>,
    /// True while a thread syncs.
    busy: bool,
    /// The waiting threads, in the order of their arrival.
    waiting: Vec<Arc<Waiter>>,
}

/// A thread that waits for a sync.
struct Waiter {
    records: u64,
    turn: Mutex<Turn>,
    woken: Condvar,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    Waits,
    /// The waiter's records are on disk, or a sync failed.
    Served,
    /// The waiter makes the next sync.
    Syncs,
}

impl Waiter {
    fn wake(&self, turn: Turn) {
        *self.turn.lock() = turn;
        self.woken.notify_one();
    }

    fn wait(&self) -> Turn {
        let mut turn = self.turn.lock();
        while *turn == Turn::Waits {
            self.woken.wait(&mut turn);
        }
        *turn
    }
}

impl SyncGroup {
    /// The outcome for the first `records` records; `None`: they are still to be synced.
    fn outcome(&self, records: u64) -> Option<Result<()>> {
        if self.synced >= records {
            return Some(Ok(()));
        }
        self.failed.clone().map(Err)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    /// Syncs nothing, and begins to fail on demand.
    #[derive(Default)]
    struct Env {
        fails: AtomicBool,
        /// The recorded calls of `sync`, in order.
        calls: Mutex<Vec<String>>,
    }

    impl SyncEnv for Env {
        fn sync(&self, wals: &[UnsyncedWal], directory: u64) -> Result<u64> {
            let numbers: Vec<u64> = wals.iter().map(|wal| wal.number).collect();
            self.calls
                .lock()
                .push(format!("sync {numbers:?} after {directory}"));
            match self.fails.load(Ordering::Relaxed) {
                true => Err(Error::corruption("torn")),
                false => Ok(wals.last().map_or(directory, |wal| wal.number)),
            }
        }

        fn latch(&self, action: &'static str, _: &Error) {
            self.calls.lock().push(format!("latch: {action}"));
        }

        fn report(&self, action: &'static str, _: &Error) {
            self.calls.lock().push(format!("report: {action}"));
        }
    }

    #[derive(Debug)]
    struct NoFile;

    impl FileSync for NoFile {
        fn sync(&self) -> Result<()> {
            Ok(())
        }
    }

    fn tail(wals: &[u64]) -> WalTail {
        let tail = WalTail::default();
        for &number in wals {
            let sync = Arc::new(NoFile);
            tail.unsynced.lock().push(UnsyncedWal { number, sync });
        }
        tail
    }

    #[test]
    fn records_that_are_on_disk_are_not_synced_again() {
        let (tail, env) = (tail(&[4, 7]), Env::default());
        tail.records.store(3, Ordering::Release);
        tail.sync(2, &env).unwrap();
        tail.sync(3, &env).unwrap();
        // The directory entry of WAL 7 is on disk, and WAL 4 is complete.
        tail.records.store(4, Ordering::Release);
        tail.sync(4, &env).unwrap();
        assert_eq!(*env.calls.lock(), ["sync [4, 7] after 0", "sync [7] after 7"]);
    }

    #[test]
    fn no_sync_follows_one_that_failed() {
        let (tail, env) = (tail(&[4]), Env::default());
        tail.records.store(1, Ordering::Release);
        tail.sync(1, &env).unwrap();
        env.fails.store(true, Ordering::Relaxed);
        tail.records.store(2, Ordering::Release);
        assert!(tail.sync(2, &env).is_err());
        env.fails.store(false, Ordering::Relaxed);
        assert!(tail.sync(2, &env).is_err());
        tail.sync(1, &env).unwrap();
        assert_eq!(
            env.calls.lock()[1..],
            ["sync [4] after 4", "latch: sync the WAL", "report: sync the WAL"]
        );
    }
}

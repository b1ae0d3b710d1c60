//! Group sync: one sync of the WAL makes the writes of many threads durable.
//!
//! One thread at a time syncs everything appended before it began; threads that come later wait. When it is
//! done, it first wakes one thread that it did not serve, which syncs next, and then those it served. So no
//! sync waits for a thread to wake up except the one that syncs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::statistics::{Histogram, Ticker};
use base::sync::{Condvar, Mutex};
use base::user_code::catch_or_fail;
use base::{Error, ErrorKind, Result, perf};
use vfs::FileSync;

use crate::state::db_inner::DbInner;

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
}

impl WalTail {
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
}

/// The name of a failed sync in errors.
const SYNC: &str = "sync the WAL";

/// The state shared by syncs.
#[derive(Default)]
pub(crate) struct SyncGroup {
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

impl DbInner {
    /// Returns when the WALs are on disk up to their `records`th record.
    pub(crate) fn sync_wal(&self, records: u64) -> Result<()> {
        let mut group = self.sync_group.lock();
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
                let outcome = self.sync_group.lock().outcome(records);
                return outcome.unwrap_or(Ok(()));
            }
            group = self.sync_group.lock();
        }
        group.busy = true;
        let directory = group.directory;
        drop(group);
        // The number of records is read before the list of WALs: every record appended by then is in one of
        // the listed WALs.
        let upto = self.wal_tail.records.load(Ordering::Acquire);
        let synced = catch_or_fail(|| self.sync_wals_listed(directory));
        // The database latches before the waiters are notified: a waiter that gets the error may rely on the
        // database having stopped.
        if let Err(error) = &synced {
            self.latch_in(&mut self.state.lock(), SYNC, error);
        }
        let mut group = self.sync_group.lock();
        match &synced {
            Ok(newest) => {
                group.synced = upto;
                group.directory = *newest;
            }
            Err(error) => {
                let latched = error.clone().context(SYNC);
                group.failed = Some(latched.with_kind(ErrorKind::ReadOnly));
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
        match synced {
            Ok(newest) => {
                self.stats.add(Ticker::WalSynced, 1);
                // The WALs before the newest are complete, so they need no further sync.
                self.wal_tail.unsynced.lock().retain(|wal| wal.number >= newest);
                Ok(())
            }
            Err(error) => {
                self.tell_failure(SYNC, error.clone());
                Err(error)
            }
        }
    }

    /// Syncs the WALs that have unsynced records, and their directory if one of them is newer than
    /// `directory`. Returns the number of the newest WAL whose directory entry is on disk.
    fn sync_wals_listed(&self, directory: u64) -> Result<u64> {
        let wals = self.wal_tail.unsynced.lock().clone();
        let started = self.stats.start();
        let timer = perf::time(|cells| &cells.write_wal_time);
        let synced = wals.iter().try_for_each(|wal| wal.sync.sync());
        drop(timer);
        self.stats.stop(started, Histogram::WalFileSyncMicros);
        synced?;
        let newest = wals.last().map_or(directory, |wal| wal.number);
        if directory < newest {
            self.options.fs.sync_dir(&self.wal_dir)?;
        }
        Ok(newest.max(directory))
    }
}

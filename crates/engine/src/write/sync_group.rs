//! Making WALs durable, for many at once.
//!
//! One thread syncs at a time, everything appended until it began; whoever comes meanwhile waits. When it is done it first
//! wakes one of those it did not serve, who syncs next, then those it did: no sync waits for anybody to wake up but the one
//! who does it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::statistics::{Histogram, Ticker};
use base::sync::{Condvar, Mutex};
use base::user_code::catch_or_fail;
use base::{Error, ErrorKind, Result, perf};
use vfs::FileSync;

use crate::db::DbInner;

/// A WAL that may have to be synced.
#[derive(Clone)]
pub(crate) struct UnsyncedWal {
    pub number: u64,
    pub sync: Arc<dyn FileSync>,
}

/// How far the WALs have come, for those who sync them while others write.
#[derive(Default)]
pub(crate) struct WalTail {
    /// Records appended, over all WALs, so that syncs can be told apart. Written under the write queue's lock.
    pub records: AtomicU64,
    /// WALs with records that are not synced yet and that a recovery may read, the one written to last. Each holds its file open.
    pub unsynced: Mutex<Vec<UnsyncedWal>>,
}

impl WalTail {
    /// Takes note of a fresh WAL. What it begins with is a record like others, to be synced before anything survives that
    /// comes later: torn, it would be damage in front of tables that are there.
    pub fn begin(&self, number: u64, wal: &wal::Writer) {
        if let Some(sync) = wal.syncer() {
            self.unsynced.lock().push(UnsyncedWal { number, sync });
            self.records.fetch_add(1, Ordering::Release);
        }
    }

    /// Takes the WALs older than `number` off the list, and gives their handles. The rows of such a WAL are in synced tables,
    /// and the MANIFEST says that no recovery reads it: a later sync keeps its promise without it.
    pub fn forget_older(&self, number: u64) -> Vec<Arc<dyn FileSync>> {
        let mut unsynced = self.unsynced.lock();
        let forgotten = unsynced.extract_if(.., |wal| wal.number < number);
        forgotten.map(|wal| wal.sync).collect()
    }
}

/// What a failed sync is called.
const SYNC: &str = "sync the WAL";

/// What syncs share.
#[derive(Default)]
pub(crate) struct SyncGroup {
    /// Records known to be on disk.
    synced: u64,
    /// The newest WAL whose directory entry is on disk.
    directory: u64,
    /// A sync failed. The kernel may have dropped what it could not write, so none may be tried again: it might succeed.
    failed: Option<Error>,
    /// Somebody syncs.
    busy: bool,
    /// Those who wait, in the order in which they came.
    waiting: Vec<Arc<Waiter>>,
}

/// One who waits for a sync.
struct Waiter {
    records: u64,
    turn: Mutex<Turn>,
    woken: Condvar,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    Waits,
    /// Its records are on disk, or a sync failed.
    Served,
    /// It is to sync.
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
    /// How it stands with the first `records` records; `None`: they are to be synced.
    fn outcome(&self, records: u64) -> Option<Result<()>> {
        if self.synced >= records {
            return Some(Ok(()));
        }
        self.failed.clone().map(Err)
    }
}

impl DbInner {
    /// Returns when the WAL up to its `records`th record lies on the disk.
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
        // Read first: whatever was appended by then is in one of the WALs listed.
        let upto = self.wal_tail.records.load(Ordering::Acquire);
        let synced = catch_or_fail(|| self.sync_wals_listed(directory));
        // Before anybody is told of the failure: who is told takes it that the database has stopped for it.
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
        // After a failure nobody syncs any more, and all are told.
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
                // Those before the newest are complete, so they need no further sync.
                self.wal_tail.unsynced.lock().retain(|wal| wal.number >= newest);
                Ok(())
            }
            Err(error) => {
                self.tell_failure(SYNC, error.clone());
                Err(error)
            }
        }
    }

    /// Syncs the WALs that have records to be synced, and their directory if one of them is newer than `directory`. Gives the
    /// newest whose entry in the directory is on disk.
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

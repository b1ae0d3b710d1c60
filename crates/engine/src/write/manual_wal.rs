//! Manual operations on the WAL: flush, sync, lock.

use std::sync::atomic::Ordering;

use base::sync::MutexGuard;
use base::user_code::catch_or_fail;
use base::{Error, ErrorKind, Result};
use compact::stall::StallCondition;

use crate::events::Event;
use crate::state::db_inner::DbInner;
use crate::state::db_state::{APPEND_TO_WAL, DbState, WAL_LOCKED};
use crate::state::handle::Db;
use crate::state::write_queue::DrainedQueue;
use crate::state::writer::Writer;
use crate::stats::StallTotal;

impl Db {
    /// Makes everything written so far durable, as [`WriteOptions::sync`](crate::WriteOptions::sync) does for
    /// one write, including records that [`manual_wal_flush`](crate::Options::manual_wal_flush) holds back.
    pub fn sync_wal(&self) -> Result<()> {
        self.flush_wal(true)
    }

    /// Writes the buffered records of the WAL to the kernel: from then on they survive the death of the
    /// process. Without [`manual_wal_flush`](crate::Options::manual_wal_flush) nothing is buffered. With
    /// `sync` the WAL is made durable as well, as by [`sync_wal`](Self::sync_wal).
    ///
    /// # Errors
    /// The errors of the append, after which nothing is written until [`resume`](Self::resume) or the next
    /// open.
    pub fn flush_wal(&self, sync: bool) -> Result<()> {
        self.inner().check_open()?;
        let inner = self.inner();
        if inner.options.manual_wal_flush {
            let mut writer = inner.write.queue.lock();
            inner.flush_wal_of(&mut writer)?;
        }
        match sync {
            true => inner.sync_wal(inner.wal_tail.records.load(Ordering::Acquire)),
            false => Ok(()),
        }
    }

    /// Freezes the contents of the database: flushes the WAL (as [`flush_wal`](Self::flush_wal) does), and
    /// blocks writes and ingestions until [`unlock_wal`](Self::unlock_wal) was called as often as this.
    /// Writers wait meanwhile, or fail with `Incomplete` if they asked for
    /// [`no_slowdown`](crate::WriteOptions::no_slowdown). Reads, flushes, compactions and checkpoints
    /// continue: a flush changes the place of rows and not their set, but it begins another WAL. Families may
    /// be created and dropped.
    ///
    /// # Errors
    /// The errors of the flush of the WAL, and the error that has stopped writes, if one has; the WAL is then
    /// not locked.
    pub fn lock_wal(&self) -> Result<()> {
        self.inner().check_open()?;
        let inner = self.inner();
        // Under the write queue's lock no write is half done.
        let mut writer = inner.write.queue.lock();
        inner.wait_until_unlatched(&mut writer)?;
        inner.flush_wal_of(&mut writer)?;
        let mut state = inner.state.lock();
        state.wal_locks += 1;
        inner.write.attention.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Undoes one [`lock_wal`](Self::lock_wal).
    ///
    /// # Errors
    /// `Aborted` if the WAL is not locked.
    pub fn unlock_wal(&self) -> Result<()> {
        self.inner().check_open()?;
        let inner = self.inner();
        let mut state = inner.state.lock();
        let locks = state.wal_locks.checked_sub(1);
        state.wal_locks = locks.ok_or_else(|| Error::new(ErrorKind::Aborted, "No LockWAL() in effect"))?;
        inner.changed.notify_all();
        Ok(())
    }
}

impl DbInner {
    /// Writes the buffered records of the WAL to the kernel. The caller holds the write queue's lock.
    pub(crate) fn flush_wal_of(&self, writer: &mut Writer) -> Result<()> {
        let Some(wal) = writer.wal.as_mut().filter(|wal| wal.is_unflushed()) else {
            return Ok(());
        };
        self.state.lock().check_job()?;
        let flushed = catch_or_fail(|| wal.flush());
        // The buffered records are in the file now, so a sync includes them; after a panic they may be.
        self.wal_tail.records.fetch_add(1, Ordering::Release);
        flushed.inspect_err(|error| self.latch(APPEND_TO_WAL, error.clone()))
    }

    /// Waits for a change of the locks on the WAL, or until nothing can be written anyway.
    pub(super) fn wait_for_wal_lock(&self, mut state: MutexGuard<'_, DbState>) {
        let start = self.options.clock.now();
        if state.wal_lock_stall.begin() {
            let event =
                Event::stall_of_database(StallCondition::Normal, WAL_LOCKED, StallTotal::default(), (0, 0));
            state.stall_events.push(event);
            MutexGuard::unlocked(&mut state, || self.notify_stalls());
        }
        while state.wal_locks > 0 && state.check_writable().is_ok() {
            self.changed.wait(&mut state);
        }
        let waited = self.options.clock.now().saturating_sub(start);
        self.stats.stalled(WAL_LOCKED, waited);
        if let Some(stalled) = state.wal_lock_stall.end(waited.as_micros() as u64) {
            let event = Event::stall_of_database(WAL_LOCKED, StallCondition::Normal, stalled, (0, 0));
            state.stall_events.push(event);
            drop(state);
            self.notify_stalls();
        }
    }

    /// Returns with the write queue's lock once the WAL is not locked. The queue's lock is released while it
    /// waits.
    pub(crate) fn wait_until_wal_unlocked(&self, writer: &mut DrainedQueue<'_>) -> Result<()> {
        loop {
            let state = self.state.lock();
            state.check_writable()?;
            if state.wal_locks == 0 {
                return Ok(());
            }
            writer.unlocked(|| self.wait_for_wal_lock(state));
        }
    }
}

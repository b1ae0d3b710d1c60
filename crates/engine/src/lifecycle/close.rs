//! Closing: background work ends, rows without a WAL are flushed, files are closed, and the lock is released
//! last.

use std::sync::{Arc, Weak};

use base::user_code::{catch, catch_or_fail};
use base::{Error, ErrorKind, Result, filename};

use crate::log::log_line;
use crate::options::thread_pool::Next;
use crate::state::column_family::Family;
use crate::state::db_inner::DbInner;
use crate::state::db_state::Close;
use crate::state::handle::Db;

impl Db {
    /// Closes the database for all its handles and returns the outcome: flushes rows without a WAL (unless
    /// `avoid_flush_during_shutdown` is set), waits for background jobs and manual compactions, and closes
    /// files. A second close waits for the first and returns its outcome.
    ///
    /// Afterwards another process may open the directory, and this handle reads nothing there any more: each
    /// call fails with `ShutdownInProgress`, and so does the next step of an iterator, through its
    /// [`status`](crate::DbIterator::status). The current row of an iterator and pinned values stay readable.
    /// Calls that cannot fail find nothing if they concern files ([`column_family`](Self::column_family),
    /// [`property`](Self::property), [`live_files`](Self::live_files)), and work as before if they concern
    /// the handle and memory ([`options`](Self::options), [`statistics`](Self::statistics),
    /// [`latest_sequence_number`](Self::latest_sequence_number), [`pins`](Self::pins)).
    ///
    /// Dropping the last handle, iterator, snapshot or prepared ingestion of the database closes it too, and
    /// ignores the outcome.
    pub fn close(&self) -> Result<()> {
        self.inner().close()
    }
}

/// A close in progress. Threads that wait for it continue even if it panics.
struct Closing<'a> {
    db: &'a DbInner,
    outcome: Option<Result<()>>,
}

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        let panicked = || {
            Err(Error::new(
                ErrorKind::Aborted,
                "a thread panicked while it closed the database",
            ))
        };
        self.db.state.lock().close = Close::Done(self.outcome.take().unwrap_or_else(panicked));
        self.db.changed.notify_all();
    }
}

impl DbInner {
    pub(crate) fn close(&self) -> Result<()> {
        {
            let mut state = self.state.lock();
            loop {
                match &state.close {
                    Close::No => break,
                    Close::Begun => self.changed.wait(&mut state),
                    Close::Done(outcome) => return outcome.clone(),
                }
            }
            state.close = Close::Begun;
        }
        let mut closing = Closing {
            db: self,
            outcome: None,
        };
        let closed = self.close_files();
        closing.outcome = Some(closed.clone());
        closed
    }

    fn close_files(&self) -> Result<()> {
        log_line!(self.log, Info, "Shutdown: canceling all background work");
        self.begin_shutdown();
        // A panic, of the file system for instance, ends one step and not the close: the threads always end
        // and the lock is always released.
        let flushed = catch_or_fail(|| {
            let flushed = self.flush_unlogged();
            self.report_sections();
            flushed
        });
        self.end_background_work();
        self.stop_verifier();
        self.work.close();
        self.async_reads.close();
        // A compaction that no thread has begun ends here: it is cancelled.
        while self.compact_handed_over() == Next::Again {}
        let threads = std::mem::take(&mut *self.jobs.threads.lock());
        // A panic in a background thread has been printed already, and no caller waits for it.
        threads.into_iter().for_each(|thread| drop(thread.join()));
        self.wait_for_callers();
        if let Some(share) = &self.write.share {
            share.set(0, 0);
        }
        let recyclable = std::mem::take(&mut self.state.lock().recyclable_wals);
        for number in recyclable {
            self.obsolete.add(filename::wal(&self.wal_dir, number));
        }
        self.end_housekeeping();
        // This is the last task in the pool: a read on this very thread may close the database, and cannot
        // wait for the threads of the pool.
        self.async_reads.leave();
        self.untrack_files();
        let closed_wal = catch_or_fail(|| {
            let wal = {
                // Under the write queue's lock no write is in progress, and after this no write begins.
                let mut writer = self.write.queue.lock();
                self.close_families();
                writer.wal.take()
            };
            wal.map_or(Ok(()), |mut wal| wal.close())
        });
        // A failed trace is an error of `end_trace` alone: the close loses no data of the database.
        drop(catch(|| self.traces.query.end()));
        drop(catch(|| self.end_block_trace()));
        let closed_manifest = catch_or_fail(|| self.versions.close());
        drop(catch(|| self.traces.io.end()));
        // An OPTIONS file that is being written is finished; no other is begun.
        drop(self.options_file.lock());
        log_line!(self.log, Info, "Shutdown complete");
        self.log.close();
        let unlocked = [
            catch(|| drop(self.dir_locks.wal_dir.lock().take())),
            catch(|| drop(self.dir_locks.db.lock().take())),
        ];
        let closed = flushed.and(closed_wal).and(closed_manifest);
        unlocked
            .into_iter()
            .fold(closed, |closed, unlocked| closed.and(unlocked))
    }

    /// Waits for jobs on threads of users, which write files as well.
    fn wait_for_callers(&self) {
        let mut state = self.state.lock();
        while state.running_manual + state.running_flushes + state.running_compactions > 0
            || state.manifest_busy
        {
            self.changed.wait(&mut state);
        }
    }

    /// Makes every family unreadable, including dropped ones.
    fn close_families(&self) {
        let mut state = self.state.lock();
        let dropped: Vec<Weak<Family>> = std::mem::take(&mut state.dropped_families);
        let dropped: Vec<Arc<Family>> = dropped.iter().filter_map(Weak::upgrade).collect();
        let families = state.families.values().map(|own| own.family.clone());
        let families: Vec<Arc<Family>> = families.chain(dropped).collect();
        families.iter().for_each(|family| family.close());
        // The last super version is released without the database mutex.
        drop(state);
    }
}

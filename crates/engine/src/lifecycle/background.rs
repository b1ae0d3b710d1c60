//! The background work of an open database: its start in the pool of threads, its periodic part, its end.

use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::jobs::scheduler::workers;
use crate::options::thread_pool::{Kind, Next, ThreadPool};
use crate::state::background::{Housekeeping, Tasks};
use crate::state::db_inner::DbInner;
use crate::state::db_state::HOUSEKEEPING;
use crate::state::error_state::closing;

impl DbInner {
    /// Starts the background work of a database that is open for writing, in its pool of threads.
    pub(crate) fn start_threads(self: &Arc<Self>) {
        if let Some(share) = &self.write.share {
            let owner: Weak<DbInner> = Arc::downgrade(self);
            share.belongs_to(owner);
        }
        self.begin_stats_history();
        *self.jobs.housekeeping.lock() = Some(self.begin_housekeeping());
        if let Err(error) = self.join_pool() {
            // If no thread can be started, the database still serves reads; operations that need a thread
            // return this error.
            self.latch(
                "start a background thread",
                base::Error::io("start thread", &self.dir, error),
            );
        }
        self.work.notify_all();
        self.obsolete.wake();
    }

    fn join_pool(self: &Arc<Self>) -> io::Result<()> {
        let pool = self.options.thread_pool.clone();
        let pool = pool.unwrap_or_else(|| ThreadPool::default_of(&self.options.clock));
        let task = |run: fn(&DbInner) -> Next| {
            let inner = Arc::downgrade(self);
            move || inner.upgrade().map_or(Next::Nothing, |inner| run(&inner))
        };
        let (flushers, compactors) = workers(self.options.max_background_jobs as usize);
        let flushes = pool.add(Kind::Flush, flushers, task(DbInner::flush_due))?;
        let compactions = pool.add(Kind::Compaction, compactors, task(DbInner::compact_due))?;
        let bottom = pool.add(Kind::Bottom, usize::MAX, task(DbInner::compact_handed_over))?;
        self.work.begin(Tasks {
            flushes,
            compactions,
            bottom,
        });
        let housekeeping = pool.add(Kind::Housekeeping, 1, task(DbInner::keep_house))?;
        self.obsolete.begin(housekeeping);
        Ok(())
    }

    fn begin_housekeeping(&self) -> Housekeeping {
        let now = self.options.clock.now();
        let current = self.current.load();
        Housekeeping {
            dump: self.identity.opened + Duration::from_secs(current.stats_dump_period_sec),
            aged: now,
            timed: now,
            persisted: self.identity.opened + Duration::from_secs(current.stats_persist_period_sec),
            room: None,
            recovery: None,
        }
    }

    /// A run of the task that deletes files: it deletes the queued files, and does the periodic work
    /// between them and when none is left.
    fn keep_house(&self) -> Next {
        let wait = self.obsolete.work_off(&mut || {
            let mut house = self.jobs.housekeeping.lock();
            let house = house.as_mut()?;
            self.latch_listener();
            let looked = self.guarded(HOUSEKEEPING, || {
                let dump = self.dump_stats_when_due(&mut house.dump);
                let age = self.record_ages_when_due(&mut house.aged);
                let time = self.record_seqno_time_when_due(&mut house.timed);
                let stats = self.persist_stats_when_due(&mut house.persisted);
                let room = self.retry_for_room_when_due(&mut house.room);
                let recovers = self.recover_when_due(&mut house.recovery);
                let archive = self.obsolete.archive();
                let purge = archive.and_then(|archive| archive.purge_when_due());
                let others = dump.into_iter().chain(age).chain(time).chain(stats);
                let others = others.chain(purge).chain(room);
                Ok(others.chain(recovers).min())
            });
            looked.unwrap_or_default()
        });
        wait.map_or(Next::Nothing, Next::After)
    }

    /// Ends the periodic work for the database. The remaining files are deleted on this thread.
    pub(crate) fn end_housekeeping(&self) {
        self.obsolete.close();
        self.obsolete.work_off(&mut || None);
        if let Some(mut house) = self.jobs.housekeeping.lock().take() {
            self.end_auto_recovery(&mut house.recovery, Some(closing()));
        }
    }
}

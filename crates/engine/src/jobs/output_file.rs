//! Wraps the table files that jobs write, for a rate limiter and statistics.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::statistics::Histogram;
use base::{Error, ErrorKind, Result};
use vfs::rate_limiter::{IoPriority, OpType};
use vfs::{Ahead, FileSync, RateLimiter, WritableFile};

use crate::state::column_family::Family;
use crate::state::db_inner::DbInner;
use crate::stats::Stats;

/// A table that a job writes.
pub(crate) struct OutputFile {
    file: Box<dyn WritableFile>,
    limiter: Option<Arc<RateLimiter>>,
    stats: Arc<Stats>,
    /// The cancellation flag of the compaction that writes the file, which ends once it is set.
    cancelled: Option<Arc<AtomicBool>>,
    /// True while writes to the family are delayed or stopped.
    pressing: Arc<AtomicBool>,
}

impl OutputFile {
    /// Wraps `file`, or returns `file` itself without a rate limiter and statistics. `compacts`: a compaction
    /// writes it, and not a flush.
    pub fn over(
        db: &DbInner,
        family: &Family,
        compacts: bool,
        file: Box<dyn WritableFile>,
    ) -> Box<dyn WritableFile> {
        let limiter = db.options.rate_limiter.clone();
        if limiter.is_none() && db.stats.shared().is_none() {
            return file;
        }
        Box::new(OutputFile {
            file,
            limiter,
            stats: db.stats.clone(),
            cancelled: compacts.then(|| db.jobs.cancelled.clone()),
            pressing: family.pressing.clone(),
        })
    }

    /// Waits until `bytes` may be written.
    fn await_permission(&self, bytes: u64) -> Result<()> {
        let Some(limiter) = &self.limiter else {
            return Ok(());
        };
        if !limiter.is_rate_limited(OpType::Write) {
            return Ok(());
        }
        let goes_on = || {
            let cancelled = self.cancelled.as_ref();
            !cancelled.is_some_and(|cancelled| cancelled.load(Ordering::Relaxed))
        };
        let started = self.stats.start();
        let mut left = bytes;
        while left > 0 {
            let priority = match (self.pressing.load(Ordering::Relaxed), &self.cancelled) {
                // Delayed writers wait for the job that writes this file.
                (true, _) => IoPriority::User,
                (false, None) => IoPriority::High,
                (false, Some(_)) => IoPriority::Low,
            };
            let part = left.min(limiter.single_burst_bytes()).max(1);
            if !limiter.request_while(part, priority, OpType::Write, goes_on) {
                return Err(Error::new(ErrorKind::Aborted, "the compaction was cancelled"));
            }
            left -= part;
        }
        self.stats.stop(started, Histogram::RateLimiterWaitMicrosWrite);
        Ok(())
    }

    fn timed<T>(
        &mut self,
        flush: Histogram,
        compaction: Histogram,
        action: impl FnOnce(&mut dyn WritableFile) -> Result<T>,
    ) -> Result<T> {
        let started = self.stats.start();
        let done = action(&mut *self.file);
        let histogram = match self.cancelled {
            None => flush,
            Some(_) => compaction,
        };
        self.stats.stop(started, histogram);
        done
    }
}

impl std::fmt::Debug for OutputFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "OutputFile({:?})", self.file)
    }
}

impl WritableFile for OutputFile {
    fn append(&mut self, data: &[u8]) -> Result<()> {
        self.await_permission(data.len() as u64)?;
        let started = self.stats.start();
        let appended = self.timed(
            Histogram::FileWriteFlushMicros,
            Histogram::FileWriteCompactionMicros,
            |file| file.append(data),
        );
        self.stats.stop(started, Histogram::SstWriteMicros);
        appended
    }

    fn flush(&mut self) -> Result<()> {
        self.file.flush()
    }

    fn sync(&mut self) -> Result<()> {
        self.timed(
            Histogram::TableSyncMicros,
            Histogram::CompactionOutfileSyncMicros,
            |file| file.sync(),
        )
    }

    fn sync_all(&mut self) -> Result<()> {
        self.timed(
            Histogram::TableSyncMicros,
            Histogram::CompactionOutfileSyncMicros,
            |file| file.sync_all(),
        )
    }

    fn len(&self) -> u64 {
        self.file.len()
    }

    fn close(&mut self) -> Result<()> {
        self.file.close()
    }

    fn path(&self) -> &Path {
        self.file.path()
    }

    fn mapped_bytes(&self) -> u64 {
        self.file.mapped_bytes()
    }

    fn syncer(&self) -> Option<Arc<dyn FileSync>> {
        Some(Arc::new(TimedSync {
            file: self.file.syncer()?,
            stats: self.stats.clone(),
            histogram: match self.cancelled {
                None => Histogram::TableSyncMicros,
                Some(_) => Histogram::CompactionOutfileSyncMicros,
            },
            ahead: AtomicBool::new(false),
        }))
    }
}

/// Syncs a finished table, for statistics.
#[derive(Debug)]
struct TimedSync {
    file: Arc<dyn FileSync>,
    stats: Arc<Stats>,
    histogram: Histogram,
    /// True if the sync of the file ran ahead of its turn, and so was counted already.
    ahead: AtomicBool,
}

impl FileSync for TimedSync {
    fn sync(&self) -> Result<()> {
        if self.ahead.swap(false, Ordering::Relaxed) {
            return self.file.sync();
        }
        let started = self.stats.start();
        let synced = self.file.sync();
        self.stats.stop(started, self.histogram);
        synced
    }

    fn ahead(self: Arc<Self>) -> Option<Ahead> {
        let job = self.file.clone().ahead()?;
        Some(Box::new(move || {
            let started = self.stats.start();
            job();
            self.stats.stop(started, self.histogram);
            self.ahead.store(true, Ordering::Relaxed);
        }))
    }
}

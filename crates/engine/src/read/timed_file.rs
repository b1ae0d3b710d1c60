//! Table files whose reads somebody limits or counts: a rate limiter, statistics.

use std::path::Path;
use std::sync::Arc;

use base::Result;
use base::statistics::Histogram;
use vfs::rate_limiter::{IoPriority, OpType};
use vfs::{Access, PendingRead, RandomAccessFile, RateLimiter, ReadBuffer};

use super::charged_reads;
use crate::stats::Stats;

/// A table file whose reads are limited and timed. Made only where there is a limit, or statistics are on.
#[derive(Debug)]
pub(crate) struct TimedFile {
    file: Arc<dyn RandomAccessFile>,
    stats: Arc<Stats>,
    /// A compaction reads it.
    compacted: bool,
    limiter: Option<Arc<RateLimiter>>,
}

impl TimedFile {
    /// `file` itself where nobody limits and nobody counts. What is opened to be read front to back is read by compactions, which count
    /// against `limiter`; other reads do where they [say so](super::charged_reads).
    pub fn over(
        file: Arc<dyn RandomAccessFile>,
        stats: &Arc<Stats>,
        limiter: &Option<Arc<RateLimiter>>,
        access: Access,
    ) -> Arc<dyn RandomAccessFile> {
        let compacted = access == Access::Sequential;
        let limiter = limiter.clone();
        let limiter = limiter.filter(|limiter| limiter.is_rate_limited(OpType::Read));
        if limiter.is_none() && stats.shared().is_none() {
            return file;
        }
        Arc::new(TimedFile {
            file,
            stats: stats.clone(),
            compacted,
            limiter,
        })
    }

    /// Waits until `bytes` may be read.
    fn await_permission(&self, bytes: usize) {
        match &self.limiter {
            None => {}
            Some(limiter) if self.compacted => {
                charged_reads::wait(limiter, IoPriority::Low, bytes, &self.stats)
            }
            Some(_) => charged_reads::await_permission(bytes, &self.stats),
        }
    }
}

impl RandomAccessFile for TimedFile {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize> {
        self.await_permission(buf.len());
        let started = self.stats.start();
        let read = self.file.read_at(offset, buf);
        self.stats.stop(started, Histogram::SstReadMicros);
        if self.compacted {
            self.stats.stop(started, Histogram::FileReadCompactionMicros);
        }
        read
    }

    fn len(&self) -> u64 {
        self.file.len()
    }

    fn mapped(&self) -> Option<&[u8]> {
        self.file.mapped()
    }

    fn prefetch(&self, offset: u64, len: u64) {
        self.file.prefetch(offset, len);
    }

    fn start_read(&self, offset: u64, len: usize, memory: ReadBuffer) -> PendingRead {
        self.await_permission(len);
        self.file.start_read(offset, len, memory)
    }

    fn path(&self) -> &Path {
        self.file.path()
    }
}

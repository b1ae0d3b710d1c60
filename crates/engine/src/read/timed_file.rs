//! Table files whose reads are timed, for the histograms of statistics.

use std::path::Path;
use std::sync::Arc;

use base::Result;
use base::statistics::Histogram;
use vfs::{Access, PendingRead, RandomAccessFile, ReadBuffer};

use crate::stats::Stats;

/// A table file whose reads are timed. Made only where statistics are on.
#[derive(Debug)]
pub(crate) struct TimedFile {
    file: Arc<dyn RandomAccessFile>,
    stats: Arc<Stats>,
    /// A compaction reads it.
    compacted: bool,
}

impl TimedFile {
    /// `file` itself where nothing is counted. What is opened to be read front to back is read by compactions.
    pub fn over(
        file: Arc<dyn RandomAccessFile>,
        stats: &Arc<Stats>,
        access: Access,
    ) -> Arc<dyn RandomAccessFile> {
        match stats.shared() {
            None => file,
            Some(_) => Arc::new(TimedFile {
                file,
                stats: stats.clone(),
                compacted: access == Access::Sequential,
            }),
        }
    }
}

impl RandomAccessFile for TimedFile {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize> {
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
        self.file.start_read(offset, len, memory)
    }

    fn path(&self) -> &Path {
        self.file.path()
    }
}

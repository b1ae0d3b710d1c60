//! Table files whose reads are rate limited or counted in statistics.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use base::statistics::{Histogram, Ticker};
use base::{Result, Temperature};
use manifest::FileMetadata;
use vfs::rate_limiter::{IoPriority, OpType};
use vfs::{Access, PendingRead, RandomAccessFile, RateLimiter, ReadBuffer};

use crate::files::charged_reads;
use crate::files::read_latency::ReadLatency;
use crate::stats::Stats;

/// A table file whose reads are limited and timed. Made only if there is a rate limiter or statistics.
#[derive(Debug)]
pub(crate) struct TimedFile {
    file: Arc<dyn RandomAccessFile>,
    stats: Arc<Stats>,
    /// True if a compaction reads the file.
    compacted: bool,
    limiter: Option<Arc<RateLimiter>>,
    /// The place of the table, by which its reads are counted; `None` in a verification.
    place: Option<TableLocation>,
}

/// The place of a table, by which its reads are counted.
#[derive(Debug)]
struct TableLocation {
    /// The level of the table. It may change while the table is open.
    level: Arc<AtomicU8>,
    temperature: Temperature,
    latency: Arc<ReadLatency>,
}

impl TimedFile {
    /// Wraps `file`, or returns `file` itself if its reads are neither limited nor counted. Files opened for
    /// sequential access are read by compactions, which are charged to `limiter`; other reads are charged if
    /// their thread [requests it](crate::files::charged_reads).
    pub fn over(
        file: Arc<dyn RandomAccessFile>,
        stats: &Arc<Stats>,
        limiter: &Option<Arc<RateLimiter>>,
        access: Access,
        place: Option<(&FileMetadata, &Arc<ReadLatency>)>,
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
            place: place.map(|(table, latency)| TableLocation {
                level: table.level.clone(),
                temperature: table.temperature,
                latency: latency.clone(),
            }),
        })
    }

    /// Counts a read of `bytes` by the level and temperature of the table.
    fn count(&self, bytes: u64) {
        let Some(place) = self.place.as_ref().filter(|_| self.stats.shared().is_some()) else {
            return;
        };
        let (in_bytes, in_reads) = match place.latency.is_last(place.level.load(Ordering::Relaxed)) {
            true => (Ticker::LastLevelReadBytes, Ticker::LastLevelReadCount),
            false => (Ticker::NonLastLevelReadBytes, Ticker::NonLastLevelReadCount),
        };
        self.stats.count(in_bytes, bytes);
        self.stats.count(in_reads, 1);
        let (in_bytes, in_reads) = match place.temperature {
            Temperature::HOT => (Ticker::HotFileReadBytes, Ticker::HotFileReadCount),
            Temperature::WARM => (Ticker::WarmFileReadBytes, Ticker::WarmFileReadCount),
            Temperature::COOL => (Ticker::CoolFileReadBytes, Ticker::CoolFileReadCount),
            Temperature::COLD => (Ticker::ColdFileReadBytes, Ticker::ColdFileReadCount),
            Temperature::ICE => (Ticker::IceFileReadBytes, Ticker::IceFileReadCount),
            _ => return,
        };
        self.stats.count(in_bytes, bytes);
        self.stats.count(in_reads, 1);
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
        let micros = self.stats.stop(started, Histogram::SstReadMicros);
        if let Some((place, micros)) = self.place.as_ref().zip(micros) {
            place.latency.add(place.level.load(Ordering::Relaxed), micros);
        }
        if self.compacted {
            self.stats.stop(started, Histogram::FileReadCompactionMicros);
        }
        if let Ok(bytes) = read {
            self.count(bytes as u64);
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
        // The length of the result is known only when the read is awaited. It equals the requested length
        // except at the end of the file.
        self.count(len as u64);
        self.file.start_read(offset, len, memory)
    }

    fn path(&self) -> &Path {
        self.file.path()
    }
}

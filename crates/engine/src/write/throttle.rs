//! Writes that are throttled on their own request: low-priority writes, and writes charged to the rate
//! limiter.

use std::sync::Arc;

use base::env::Clock;
use base::statistics::Histogram;
use base::{Error, ErrorKind, Result, perf};
use vfs::rate_limiter::{IoPriority, OpType, RateLimiter, RateLimiterOptions};

use super::commit::Commit;
use crate::batch::write_batch;
use crate::options::{Options, WriteOptions};
use crate::state::db_inner::DbInner;
use crate::state::db_state::LOW_PRIORITY;
use crate::state::writer::LEAST_WAIT;

/// The rate in bytes per second of all low-priority writes together while compactions are behind: RocksDB's.
const LOW_PRI_RATE: u64 = 1 << 20;

/// The rate limiter of low-priority writes.
pub(crate) fn low_pri_limiter(options: &Options) -> Result<RateLimiter> {
    let limits = RateLimiterOptions {
        rate_bytes_per_sec: LOW_PRI_RATE,
        ..RateLimiterOptions::default()
    };
    let clock: Arc<dyn Clock> = options.clock.clone();
    RateLimiter::with_options(limits, clock)
}

impl DbInner {
    /// Delays a write whose options ask for throttling. Called without locks, so that no other write waits.
    #[cold]
    pub(super) fn throttle(&self, options: &WriteOptions, commit: &Commit<'_>) -> Result<()> {
        let bytes = match commit {
            Commit::Batch(batch) => batch.data().len(),
            Commit::Single(_, operation) => {
                let mut rep = Vec::new();
                write_batch::encode_single(&mut rep, operation);
                rep.len()
            }
        } as u64;
        match options.rate_limiter_priority {
            None => {}
            Some(IoPriority::User) => {
                if options.disable_wal || self.options.manual_wal_flush {
                    return Err(Error::invalid_argument(
                        "WriteOptions::rate_limiter_priority currently only supports rate-limiting automatic WAL flush, which requires \
                         `WriteOptions::disable_wal` and `Options::manual_wal_flush` both set to false",
                    ));
                }
                if let Some(limiter) = &self.options.rate_limiter {
                    let started = self.stats.start();
                    self.wait_for_permission(limiter, bytes)?;
                    self.stats.stop(started, Histogram::RateLimiterWaitMicrosWrite);
                }
            }
            Some(_) => {
                return Err(Error::invalid_argument(
                    "WriteOptions::rate_limiter_priority only allows IoPriority::User, or none",
                ));
            }
        }
        match options.low_pri {
            true => self.throttle_low_pri(options, bytes),
            false => Ok(()),
        }
    }

    fn throttle_low_pri(&self, options: &WriteOptions, bytes: u64) -> Result<()> {
        let mut state = self.state.lock();
        if !state.families.values().any(|own| own.behind) {
            return Ok(());
        }
        if options.no_slowdown {
            return Err(Error::new(ErrorKind::Incomplete, "Low priority write stall"));
        }
        let is_news = state.record_low_pri(LOW_PRI_RATE);
        drop(state);
        if is_news {
            self.notify_stalls();
        }
        let _timer = perf::time_wait(|cells| &cells.write_delay_time);
        let start = self.options.clock.now();
        let permitted = self.wait_for_permission(&self.write.low_pri_limiter, bytes);
        let waited = self.options.clock.now().saturating_sub(start);
        // Bytes that are available at once do not count as a stall.
        if waited >= LEAST_WAIT {
            self.stats.stalled(LOW_PRIORITY, waited);
            if let Some((_, stalled)) = &mut self.state.lock().low_pri_stall {
                stalled.count += 1;
                stalled.micros += waited.as_micros() as u64;
            }
        }
        permitted
    }

    fn wait_for_permission(&self, limiter: &RateLimiter, bytes: u64) -> Result<()> {
        if !limiter.is_rate_limited(OpType::Write) {
            return Ok(());
        }
        let mut left = bytes;
        while left > 0 {
            let part = left.min(limiter.single_burst_bytes()).max(1);
            let goes_on = || !self.jobs.cancelled.load(std::sync::atomic::Ordering::Relaxed);
            if !limiter.request_while(part, IoPriority::User, OpType::Write, goes_on) {
                return Err(crate::state::error_state::closing());
            }
            left -= part;
        }
        Ok(())
    }
}

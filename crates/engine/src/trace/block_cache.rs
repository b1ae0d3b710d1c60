//! The trace of the lookups in the block cache of a database that runs.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use base::env::Clock;
use base::sync::Mutex;
use base::{Error, ErrorKind, Result, SeqNo};
use codec::hash::xxph3_64;
use sst::TableReaderCaller;
use sst::block_trace::{self, BlockAccess};

use super::appender::Appender;
use super::{BlockCacheTraceOptions, TraceWriter, accesses, block_record};

/// Where lookups are recorded while a trace is on.
pub(crate) struct BlockCacheTrace {
    on: AtomicBool,
    clock: Arc<dyn Clock>,
    /// Gets and MultiGets since the database was opened; the id of the last one.
    gets: AtomicU64,
    /// Nothing else is locked under it, and the file is written under it.
    running: Mutex<Option<Running>>,
}

/// A trace under way.
struct Running {
    appender: Appender,
    sampling_frequency: u64,
    _of_process: block_trace::Running,
}

impl fmt::Debug for BlockCacheTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockCacheTrace")
            .field("on", &self.on)
            .finish_non_exhaustive()
    }
}

impl BlockCacheTrace {
    pub fn new(clock: Arc<dyn Clock>) -> BlockCacheTrace {
        BlockCacheTrace {
            on: AtomicBool::new(false),
            clock,
            gets: AtomicU64::new(0),
            running: Mutex::new(None),
        }
    }

    pub fn start(&self, options: &BlockCacheTraceOptions, writer: Box<dyn TraceWriter>) -> Result<()> {
        let mut slot = self.running.lock();
        if slot.is_some() {
            return Err(Error::new(ErrorKind::Busy, ""));
        }
        let header = accesses::header(self.clock.unix_micros());
        *slot = Some(Running {
            appender: Appender::begin(writer, options.max_trace_file_size, header)?,
            sampling_frequency: options.sampling_frequency,
            _of_process: block_trace::Running::begin(),
        });
        self.on.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Ends the trace, if there is one.
    pub fn end(&self) -> Result<()> {
        let mut slot = self.running.lock();
        self.on.store(false, Ordering::Relaxed);
        slot.take().map_or(Ok(()), |running| running.appender.finish(&[]))
    }

    /// True while lookups are to be recorded.
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// Starts a read of a user: later lookups of this thread for `caller` belong to it.
    pub fn begin(&self, caller: TableReaderCaller, has_snapshot: bool, key: &[u8], seqno: SeqNo) {
        if self.is_on() {
            let id = self.gets.fetch_add(1, Ordering::Relaxed) + 1;
            block_trace::begin_lookup(caller, id, has_snapshot, key, seqno);
        }
    }

    pub fn record(&self, access: &BlockAccess<'_>, family: (u32, &str), level: u32) {
        let mut slot = self.running.lock();
        if let Some(running) = &mut *slot
            && running.takes(access.block_key)
        {
            let kind = access.block as u8;
            running.appender.append(self.clock.unix_micros(), kind, |out| {
                block_record::encode(out, access, family, level);
            });
        }
    }
}

impl Running {
    /// True of a block that is recorded. All lookups of a block are, or none: RocksDB's choice, by the hash
    /// of its key.
    fn takes(&self, block_key: &[u8]) -> bool {
        if self.appender.is_full() {
            return false;
        }
        let ranged = u128::from(xxph3_64(block_key)) * u128::from(self.sampling_frequency);
        self.sampling_frequency <= 1 || ranged >> 64 == 0
    }
}

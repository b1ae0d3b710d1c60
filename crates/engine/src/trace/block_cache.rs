//! The running trace of the lookups in the block cache of a database.

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

/// Records lookups of blocks while a trace is running.
pub(crate) struct BlockCacheTrace {
    on: AtomicBool,
    clock: Arc<dyn Clock>,
    /// The number of Gets and MultiGets in traces since the database was opened, which is also the id of the
    /// last one.
    gets: AtomicU64,
    /// The lock of the trace: records are written to the file under this lock, and no other lock of the
    /// database is taken meanwhile.
    running: Mutex<Option<Running>>,
}

/// A running trace.
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

    /// Ends the running trace, if there is one. Returns the error of the first record that could not be
    /// written.
    pub fn end(&self) -> Result<()> {
        let mut slot = self.running.lock();
        self.on.store(false, Ordering::Relaxed);
        slot.take().map_or(Ok(()), |running| running.appender.finish(&[]))
    }

    /// True while a trace is running, so that lookups must be recorded.
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// Begins a Get or MultiGet of a user: later lookups of this thread for `caller` belong to it.
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
    /// True if lookups of the block with this key are recorded. As in RocksDB, the hash of the key decides,
    /// so that all lookups of a block are recorded or none.
    fn takes(&self, block_key: &[u8]) -> bool {
        if self.appender.is_full() {
            return false;
        }
        let ranged = u128::from(xxph3_64(block_key)) * u128::from(self.sampling_frequency);
        self.sampling_frequency <= 1 || ranged >> 64 == 0
    }
}

//! The trace of queries of a database that runs.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use base::Result;
use base::env::Clock;
use base::sync::Mutex;

use super::appender::Appender;
use super::record::{self, TracedQuery};
use super::{TraceOptions, TraceWriter, encode_record, kind};

/// A trace of queries is on.
const QUERIES: u8 = 1;

/// A trace of the block cache is on: its records name the Get they are part of.
const BLOCKS: u8 = 1 << 1;

/// Where queries are recorded while a trace is on. Queries look at one flag where none is.
pub(crate) struct QueryTrace {
    /// [`QUERIES`] and [`BLOCKS`], for what is on.
    on: AtomicU8,
    clock: Arc<dyn Clock>,
    /// Nothing else is locked under it, and the file is written under it.
    running: Mutex<Option<Running>>,
}

/// A trace under way.
struct Running {
    options: TraceOptions,
    appender: Appender,
    /// Queries since the last one that was recorded.
    passed_over: u64,
}

impl fmt::Debug for QueryTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueryTrace")
            .field("on", &self.on)
            .finish_non_exhaustive()
    }
}

impl QueryTrace {
    pub fn new(clock: Arc<dyn Clock>) -> QueryTrace {
        QueryTrace {
            on: AtomicU8::new(0),
            clock,
            running: Mutex::new(None),
        }
    }

    /// True while queries are to be recorded, or their lookups of blocks.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed) != 0
    }

    /// Reads tell the trace of the block cache which they are, from now on or no longer.
    pub fn watch_blocks(&self, on: bool) {
        self.set(BLOCKS, on);
    }

    fn set(&self, bit: u8, on: bool) {
        match on {
            true => self.on.fetch_or(bit, Ordering::Relaxed),
            false => self.on.fetch_and(!bit, Ordering::Relaxed),
        };
    }

    pub fn start(&self, options: TraceOptions, writer: Box<dyn TraceWriter>) -> Result<()> {
        let mut header = Vec::new();
        record::encode_header(&mut header, self.clock.unix_micros());
        let running = Running {
            appender: Appender::begin(writer, options.max_trace_file_size, header)?,
            options,
            passed_over: 0,
        };
        let mut slot = self.running.lock();
        if let Some(before) = slot.replace(running) {
            self.finish(before)?;
        }
        self.set(QUERIES, true);
        Ok(())
    }

    /// Ends the trace, if there is one.
    pub fn end(&self) -> Option<Result<()>> {
        let mut slot = self.running.lock();
        self.set(QUERIES, false);
        let running = slot.take()?;
        Some(self.finish(running))
    }

    fn finish(&self, running: Running) -> Result<()> {
        let mut last = Vec::new();
        encode_record(&mut last, self.clock.unix_micros(), kind::END, &[]);
        running.appender.finish(&last)
    }

    /// Records a write, by the bytes of its batch. Called with the write queue's lock: records stand in the
    /// order of sequence numbers.
    #[cold]
    pub fn write(&self, batch: &[u8]) {
        let filter = TraceOptions::FILTER_WRITE;
        self.record(kind::WRITE, filter, |out| TracedQuery::encode_write(out, batch));
    }

    /// Records a Get.
    #[cold]
    pub fn get(&self, family: u32, key: &[u8]) {
        let filter = TraceOptions::FILTER_GET;
        self.record(kind::GET, filter, |out| TracedQuery::encode_get(out, family, key));
    }

    /// Records a MultiGet of keys with the ids of their families.
    #[cold]
    pub fn multi_get<'a>(&self, keys: impl ExactSizeIterator<Item = (u32, &'a [u8])>) {
        if keys.len() > 0 {
            self.record(kind::MULTI_GET, TraceOptions::FILTER_MULTI_GET, |out| {
                TracedQuery::encode_multi_get(out, keys);
            });
        }
    }

    /// Records a seek of an iterator within these bounds; an empty one is none.
    #[cold]
    pub fn seek(&self, for_prev: bool, family: u32, key: &[u8], bounds: [&[u8]; 2]) {
        let (kind, filter) = match for_prev {
            true => (kind::SEEK_FOR_PREV, TraceOptions::FILTER_ITERATOR_SEEK_FOR_PREV),
            false => (kind::SEEK, TraceOptions::FILTER_ITERATOR_SEEK),
        };
        self.record(kind, filter, |out| {
            TracedQuery::encode_seek(out, family, key, bounds)
        });
    }

    fn record(&self, kind: u8, filter: u64, payload: impl FnOnce(&mut Vec<u8>)) {
        let mut slot = self.running.lock();
        let Some(running) = &mut *slot else {
            return;
        };
        if running.passes_over(filter) {
            return;
        }
        running.appender.append(self.clock.unix_micros(), kind, payload);
    }
}

impl Running {
    /// True of a query that is not recorded.
    fn passes_over(&mut self, filter: u64) -> bool {
        if self.appender.is_full() {
            return true;
        }
        if self.options.filter & filter != 0 {
            return true;
        }
        self.passed_over += 1;
        if self.passed_over < self.options.sampling_frequency {
            return true;
        }
        self.passed_over = 0;
        false
    }
}

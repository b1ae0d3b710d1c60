//! The running trace of the queries of a database.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use base::Result;
use base::env::Clock;
use base::sync::Mutex;

use super::appender::Appender;
use super::record::{self, TracedQuery};
use super::{TraceOptions, TraceWriter, encode_record, kind};

/// The flag of a running trace of queries.
const QUERIES: u8 = 1;

/// The flag of a running trace of the block cache, whose records name the Get that they belong to.
const BLOCKS: u8 = 1 << 1;

/// Records queries while a trace is running. Otherwise a query only reads one flag.
pub(crate) struct QueryTrace {
    /// The flags of the running traces: [`QUERIES`] and [`BLOCKS`].
    on: AtomicU8,
    clock: Arc<dyn Clock>,
    /// The lock of the trace: records are written to the file under this lock, and no other lock of the
    /// database is taken meanwhile.
    running: Mutex<Option<Running>>,
}

/// A running trace.
struct Running {
    options: TraceOptions,
    appender: Appender,
    /// The number of queries since the last recorded one.
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

    /// True while queries, or their lookups of blocks, must be recorded.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed) != 0
    }

    /// Sets whether reads identify themselves to the trace of the block cache.
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
        if let Some(before) = slot.take() {
            // If the end of a trace cannot be written, no trace is running any more.
            self.set(QUERIES, false);
            self.finish(before)?;
        }
        *slot = Some(running);
        self.set(QUERIES, true);
        Ok(())
    }

    /// Ends the running trace; `None` if there is none. The result has the error of the first record that
    /// could not be written.
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

    /// Records a write by the wire format of its batch. Called with the write queue's lock, so that records
    /// are in the order of sequence numbers.
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

    /// Records a MultiGet of keys, each with the id of its family. A MultiGet without keys is not recorded.
    #[cold]
    pub fn multi_get<'a>(&self, keys: impl ExactSizeIterator<Item = (u32, &'a [u8])>) {
        if keys.len() > 0 {
            self.record(kind::MULTI_GET, TraceOptions::FILTER_MULTI_GET, |out| {
                TracedQuery::encode_multi_get(out, keys);
            });
        }
    }

    /// Records a seek of an iterator with these bounds, lower and upper. An empty bound means no bound.
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
    /// Counts a query, unless `filter`, the flag of its kind, excludes it. True if the query is not recorded.
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

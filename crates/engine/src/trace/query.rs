//! The trace of queries of a database that runs.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::env::Clock;
use base::sync::Mutex;
use base::user_code::catch_or_fail;
use base::{Error, Result};

use super::record::{self, TracedQuery};
use super::{TraceOptions, TraceWriter, encode_record, kind};

/// Where queries are recorded while a trace is on. Queries look at one flag where none is.
pub(crate) struct QueryTrace {
    on: AtomicBool,
    clock: Arc<dyn Clock>,
    /// Nothing else is locked under it, and the file is written under it.
    running: Mutex<Option<Running>>,
}

/// A trace under way.
struct Running {
    options: TraceOptions,
    writer: Box<dyn TraceWriter>,
    /// Queries since the last one that was recorded.
    passed_over: u64,
    /// Why nothing is recorded any more.
    error: Option<Error>,
    payload: Vec<u8>,
    record: Vec<u8>,
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
            on: AtomicBool::new(false),
            clock,
            running: Mutex::new(None),
        }
    }

    /// True while queries are to be recorded.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    pub fn start(&self, options: TraceOptions, writer: Box<dyn TraceWriter>) -> Result<()> {
        let mut running = Running {
            options,
            writer,
            passed_over: 0,
            error: None,
            payload: Vec::new(),
            record: Vec::new(),
        };
        record::encode_header(&mut running.record, self.clock.unix_micros());
        running.writer.write(&running.record)?;
        let mut slot = self.running.lock();
        if let Some(before) = slot.replace(running) {
            self.finish(before)?;
        }
        self.on.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Ends the trace, if there is one.
    pub fn end(&self) -> Option<Result<()>> {
        let mut slot = self.running.lock();
        self.on.store(false, Ordering::Relaxed);
        let running = slot.take()?;
        Some(self.finish(running))
    }

    fn finish(&self, mut running: Running) -> Result<()> {
        if let Some(error) = running.error.take() {
            // The first error is the reason; the file is closed as far as it can be.
            let _ = running.writer.close();
            return Err(error);
        }
        running.record.clear();
        encode_record(&mut running.record, self.clock.unix_micros(), kind::END, &[]);
        running.writer.write(&running.record)?;
        running.writer.close()
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
        running.payload.clear();
        payload(&mut running.payload);
        running.append(self.clock.unix_micros(), kind);
    }
}

impl Running {
    /// True of a query that is not recorded.
    fn passes_over(&mut self, filter: u64) -> bool {
        if self.error.is_some() || self.writer.file_size() > self.options.max_trace_file_size {
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

    fn append(&mut self, timestamp: u64, kind: u8) {
        if u32::try_from(self.payload.len()).is_err() {
            self.error = Some(Error::not_supported("a query of 4 GiB or more in a trace"));
            return;
        }
        self.record.clear();
        encode_record(&mut self.record, timestamp, kind, &self.payload);
        // A panic of the user's writer ends the trace, and no query.
        self.error = catch_or_fail(|| self.writer.write(&self.record)).err();
    }
}

//! The trace of I/O of a database that runs.

use std::cell::Cell;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base::env::Clock;
use base::sync::Mutex;
use base::{Error, ErrorKind, Result};

use super::appender::Appender;
use super::io_record::{self, IoNumbers};
use super::{TraceOptions, TraceWriter, accesses, kind};

thread_local! {
    /// The thread writes a trace: what it does to files meanwhile is not part of it.
    static RECORDING: Cell<bool> = const { Cell::new(false) };
}

/// Where operations on files are recorded while a trace is on. Operations look at one flag where none is.
pub(crate) struct IoTrace {
    on: AtomicBool,
    clock: Arc<dyn Clock>,
    /// Nothing else is locked under it, and the file is written under it.
    running: Mutex<Option<Running>>,
}

/// A trace under way.
struct Running {
    appender: Appender,
    sampling_frequency: u64,
    /// Operations since the last one that was recorded.
    passed_over: u64,
}

/// One finished operation.
pub(super) struct Finished<'a> {
    /// RocksDB's name of it.
    pub name: &'static str,
    pub path: &'a Path,
    pub numbers: IoNumbers,
    /// When it began, by the clock of the trace.
    pub began: Duration,
    pub error: Option<&'a Error>,
}

impl fmt::Debug for IoTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IoTrace")
            .field("on", &self.on)
            .finish_non_exhaustive()
    }
}

impl IoTrace {
    pub fn new(clock: Arc<dyn Clock>) -> IoTrace {
        IoTrace {
            on: AtomicBool::new(false),
            clock,
            running: Mutex::new(None),
        }
    }

    /// True while operations are to be recorded.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// The time, for the beginning of an operation.
    pub fn now(&self) -> Duration {
        self.clock.now()
    }

    pub fn start(&self, options: &TraceOptions, writer: Box<dyn TraceWriter>) -> Result<()> {
        let mut slot = self.running.lock();
        if slot.is_some() {
            return Err(Error::new(ErrorKind::Busy, ""));
        }
        let header = accesses::header(self.clock.unix_micros());
        *slot = Some(Running {
            appender: Appender::begin(writer, options.max_trace_file_size, header)?,
            sampling_frequency: options.sampling_frequency,
            passed_over: 0,
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

    /// Records an operation.
    #[cold]
    pub(super) fn record(&self, finished: &Finished<'_>) {
        if RECORDING.replace(true) {
            return;
        }
        let took = self.now().saturating_sub(finished.began);
        let mut slot = self.running.lock();
        if let Some(running) = &mut *slot
            && running.takes_next()
        {
            let name = finished.path.file_name().unwrap_or_default().to_string_lossy();
            let status = finished.error.map(Error::to_string);
            let status = status.as_deref().unwrap_or("OK");
            let ended = (finished.began + took).as_nanos() as u64;
            running.appender.append(ended, kind::IO, |out| {
                let texts = (finished.name, &*name, status);
                io_record::encode(out, texts, took.as_nanos() as u64, finished.numbers);
            });
        }
        drop(slot);
        RECORDING.set(false);
    }
}

impl Running {
    /// True of an operation that is recorded.
    fn takes_next(&mut self) -> bool {
        if self.appender.is_full() {
            return false;
        }
        self.passed_over += 1;
        if self.passed_over < self.sampling_frequency {
            return false;
        }
        self.passed_over = 0;
        true
    }
}

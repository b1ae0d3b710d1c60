//! The running trace of the I/O of a database.

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
    /// True while this thread writes a trace: its file operations are not recorded then.
    static RECORDING: Cell<bool> = const { Cell::new(false) };
}

/// Records operations on files while a trace is running. Otherwise an operation only reads one flag.
pub(crate) struct IoTrace {
    on: AtomicBool,
    clock: Arc<dyn Clock>,
    /// The lock of the trace: records are written to the file under this lock, and no other lock of the
    /// database is taken meanwhile.
    running: Mutex<Option<Running>>,
}

/// A running trace.
struct Running {
    appender: Appender,
    sampling_frequency: u64,
    /// The number of operations since the last recorded one.
    passed_over: u64,
}

/// One finished operation.
pub(super) struct Finished<'a> {
    /// RocksDB's name of the operation.
    pub name: &'static str,
    pub path: &'a Path,
    pub numbers: IoNumbers,
    /// The time at which the operation began, by the clock of the trace.
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

    /// True while a trace is running, so that operations must be recorded.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// The current time by the clock of the trace.
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

    /// Ends the running trace, if there is one. Returns the error of the first record that could not be
    /// written.
    pub fn end(&self) -> Result<()> {
        let mut slot = self.running.lock();
        self.on.store(false, Ordering::Relaxed);
        slot.take().map_or(Ok(()), |running| running.appender.finish(&[]))
    }

    /// Records an operation, unless the trace itself performs it.
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
    /// Counts an operation. True if the operation is to be recorded.
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

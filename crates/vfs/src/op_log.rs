//! A file system that records the calls it gets, for tests that compare the text.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{Result, Temperature};
use parking_lot::Mutex;

use crate::layer::{Call, Details, Layer};
use crate::{Access, CreateOptions, FileSystem, Op, OpenOptions, PendingRead, RandomAccessFile, ReadBuffer};

/// Wraps any file system and records a line for each call when the call returns. Clones are handles to the
/// same one.
///
/// ```text
/// create 000004.log log
/// sync 000004.log
/// rename 000005.dbtmp -> CURRENT
/// sync_dir .
/// open 000007.sst: NotFound
/// ```
///
/// Paths are relative to a given directory; the option words are those that differ from the default; an error
/// is given after a colon. Appends (with their length), and calls without effect other than opens and locks,
/// are recorded only if requested.
#[derive(Clone, Debug)]
pub struct LogFs {
    inner: Arc<dyn FileSystem>,
    log: Arc<OpLog>,
}

#[derive(Debug)]
struct OpLog {
    root: PathBuf,
    appends: bool,
    queries: bool,
    lines: Mutex<String>,
}

impl OpLog {
    fn name(&self, path: &Path) -> String {
        match path.strip_prefix(&self.root) {
            Ok(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
            Ok(inside) => inside.display().to_string(),
            Err(_) => path.display().to_string(),
        }
    }

    fn records(&self, op: Op) -> bool {
        match op {
            Op::Append => self.appends,
            Op::Open | Op::Lock => true,
            op => op.is_change() || self.queries,
        }
    }

    /// The line of a call with that result.
    fn line<T>(&self, call: &Call<'_>, result: &Result<T>) -> String {
        let paths = match call.from {
            Some(from) => format!("{} -> {}", self.name(from), self.name(call.path)),
            None => self.name(call.path),
        };
        let details = match call.details {
            Details::None => String::new(),
            Details::Open(options) => open_words(options),
            Details::Create(options) => create_words(options),
            Details::Length(len) => format!(" {len}"),
            Details::Range(offset, len) => format!(" {offset}+{len}"),
        };
        let failure = result.as_ref().err();
        let failure = failure.map_or_else(String::new, |error| format!(": {}", error.kind().words()));
        format!("{} {paths}{details}{failure}\n", call.op)
    }
}

fn open_words(options: &OpenOptions) -> String {
    let mut words = String::new();
    for (set, word) in [
        (options.direct, " direct"),
        (options.mmap, " mmap"),
        (options.access == Access::Random, " random"),
        (options.access == Access::Sequential, " sequential"),
    ] {
        if set {
            words += word;
        }
    }
    words += &temperature_words(options.temperature);
    words
}

fn temperature_words(temperature: Temperature) -> String {
    match temperature {
        Temperature::UNKNOWN => String::new(),
        said => format!(" temperature={:#x}", said.0),
    }
}

fn create_words(options: &CreateOptions) -> String {
    let mut words = String::new();
    if options.log {
        words += " log";
    }
    if options.direct {
        words += " direct";
    }
    if options.preallocate > 0 {
        words += &format!(" preallocate={}", options.preallocate);
    }
    if options.bytes_per_sync > 0 {
        words += &format!(" bytes_per_sync={}", options.bytes_per_sync);
    }
    if options.strict_bytes_per_sync {
        words += " strict_bytes_per_sync";
    }
    words += &temperature_words(options.temperature);
    words
}

impl LogFs {
    /// A recording file system over `inner`. Paths below `root` are recorded relative to it.
    pub fn new(inner: Arc<dyn FileSystem>, root: impl Into<PathBuf>) -> LogFs {
        LogFs::with(inner, root.into(), false, false)
    }

    /// Makes the log record appends too.
    pub fn with_appends(self) -> LogFs {
        LogFs::with(self.inner, self.log.root.clone(), true, self.log.queries)
    }

    /// Makes the log record reads and queries too.
    pub fn with_queries(self) -> LogFs {
        LogFs::with(self.inner, self.log.root.clone(), self.log.appends, true)
    }

    fn with(inner: Arc<dyn FileSystem>, root: PathBuf, appends: bool, queries: bool) -> LogFs {
        let log = OpLog {
            root,
            appends,
            queries,
            lines: Mutex::default(),
        };
        LogFs {
            inner,
            log: Arc::new(log),
        }
    }

    /// The lines recorded since the last call, each with its newline.
    pub fn take(&self) -> String {
        std::mem::take(&mut self.log.lines.lock())
    }
}

impl Layer for LogFs {
    fn below(&self) -> &dyn FileSystem {
        &*self.inner
    }

    fn around<T>(&self, call: &Call<'_>, perform: impl FnOnce() -> Result<T>) -> Result<T> {
        let result = perform();
        if self.log.records(call.op) {
            let line = self.log.line(call, &result);
            self.log.lines.lock().push_str(&line);
        }
        result
    }

    fn start_read(
        &self,
        call: &Call<'_>,
        file: &dyn RandomAccessFile,
        offset: u64,
        len: usize,
        memory: ReadBuffer,
    ) -> PendingRead {
        let call = Call {
            op: Op::StartRead,
            ..*call
        };
        self.around(&call, || Ok(file.start_read(offset, len, memory)))
            .unwrap_or_else(PendingRead::failed)
    }

    fn prefetch(&self, call: &Call<'_>, file: &dyn RandomAccessFile, offset: u64, len: u64) {
        let hinted: Result<()> = self.around(call, || {
            file.prefetch(offset, len);
            Ok(())
        });
        debug_assert!(hinted.is_ok());
    }
}

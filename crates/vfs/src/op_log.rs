//! A file system that writes down what is asked of it, for tests that compare the text.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::Result;
use parking_lot::Mutex;

use crate::{
    Access, CreateOptions, FileLock, FileSync, FileSystem, Op, OpenOptions, RandomAccessFile, WritableFile,
};

/// Wraps any file system and records a line per call, when the call is over. Clones are handles to the same one.
///
/// ```text
/// create 000004.log log
/// sync 000004.log
/// rename 000005.dbtmp -> CURRENT
/// sync_dir .
/// open 000007.sst: NotFound
/// ```
///
/// Paths are relative to a directory given; the option words are those that differ from the default; behind a colon
/// stand the words of an error. Appends (with their length) and what changes nothing but is no open or lock are recorded
/// only if asked for.
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

    /// Records a call of `op` on `path` that came out as `result`.
    fn record<T>(&self, op: Op, path: &Path, details: impl FnOnce() -> String, result: &Result<T>) {
        if !self.records(op) {
            return;
        }
        let failure = result
            .as_ref()
            .err()
            .map_or_else(String::new, |error| format!(": {}", error.kind().words()));
        let line = format!("{op} {}{}{failure}", self.name(path), details());
        let written = writeln!(self.lines.lock(), "{line}");
        written.expect("a String takes all that is written");
    }
}

fn nothing() -> String {
    String::new()
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
    words
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
    words
}

impl LogFs {
    /// Over `inner`. Paths below `root` are recorded relative to it.
    pub fn new(inner: Arc<dyn FileSystem>, root: impl Into<PathBuf>) -> LogFs {
        LogFs::with(inner, root.into(), false, false)
    }

    /// Records appends too.
    pub fn with_appends(self) -> LogFs {
        LogFs::with(self.inner, self.log.root.clone(), true, self.log.queries)
    }

    /// Records reads and questions too.
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

    /// The lines recorded since the last time, each with its newline.
    pub fn take(&self) -> String {
        std::mem::take(&mut self.log.lines.lock())
    }

    fn call<T>(&self, op: Op, path: &Path, call: impl FnOnce() -> Result<T>) -> Result<T> {
        let result = call();
        self.log.record(op, path, nothing, &result);
        result
    }

    fn writer(&self, inner: Box<dyn WritableFile>) -> Box<dyn WritableFile> {
        Box::new(LogWriter {
            inner,
            log: self.log.clone(),
        })
    }
}

impl FileSystem for LogFs {
    fn open_random(&self, path: &Path, options: &OpenOptions) -> Result<Arc<dyn RandomAccessFile>> {
        let result = self.inner.open_random(path, options);
        self.log.record(Op::Open, path, || open_words(options), &result);
        Ok(Arc::new(LogReader {
            inner: result?,
            log: self.log.clone(),
        }))
    }

    fn create(&self, path: &Path, options: &CreateOptions) -> Result<Box<dyn WritableFile>> {
        let result = self.inner.create(path, options);
        self.log
            .record(Op::Create, path, || create_words(options), &result);
        Ok(self.writer(result?))
    }

    fn reuse(&self, old: &Path, new: &Path, options: &CreateOptions) -> Result<Box<dyn WritableFile>> {
        let result = self.inner.reuse(old, new, options);
        let details = || format!(" -> {}{}", self.log.name(new), create_words(options));
        self.log.record(Op::Reuse, old, details, &result);
        Ok(self.writer(result?))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        let result = self.inner.rename(from, to);
        self.log
            .record(Op::Rename, from, || format!(" -> {}", self.log.name(to)), &result);
        result
    }

    fn remove(&self, path: &Path) -> Result<()> {
        self.call(Op::Remove, path, || self.inner.remove(path))
    }

    fn link(&self, from: &Path, to: &Path) -> Result<()> {
        let result = self.inner.link(from, to);
        self.log
            .record(Op::Link, from, || format!(" -> {}", self.log.name(to)), &result);
        result
    }

    fn truncate(&self, path: &Path, len: u64) -> Result<()> {
        let result = self.inner.truncate(path, len);
        self.log.record(Op::Truncate, path, || format!(" {len}"), &result);
        result
    }

    fn list(&self, dir: &Path) -> Result<Vec<String>> {
        self.call(Op::List, dir, || self.inner.list(dir))
    }

    fn create_dir_all(&self, dir: &Path) -> Result<()> {
        self.call(Op::CreateDir, dir, || self.inner.create_dir_all(dir))
    }

    fn remove_dir(&self, dir: &Path) -> Result<()> {
        self.call(Op::RemoveDir, dir, || self.inner.remove_dir(dir))
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        self.call(Op::SyncDir, dir, || self.inner.sync_dir(dir))
    }

    fn sync_file(&self, path: &Path) -> Result<()> {
        self.call(Op::Sync, path, || self.inner.sync_file(path))
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        self.call(Op::Exists, path, || self.inner.exists(path))
    }

    fn size(&self, path: &Path) -> Result<u64> {
        self.call(Op::Size, path, || self.inner.size(path))
    }

    fn modified_seconds(&self, path: &Path) -> Result<u64> {
        self.call(Op::Modified, path, || self.inner.modified_seconds(path))
    }

    fn lock(&self, path: &Path) -> Result<Box<dyn FileLock>> {
        self.call(Op::Lock, path, || self.inner.lock(path))
    }

    fn free_space(&self, dir: &Path) -> Result<u64> {
        self.call(Op::FreeSpace, dir, || self.inner.free_space(dir))
    }
}

#[derive(Debug)]
struct LogReader {
    inner: Arc<dyn RandomAccessFile>,
    log: Arc<OpLog>,
}

impl RandomAccessFile for LogReader {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let result = self.inner.read_at(offset, buf);
        self.log.record(
            Op::Read,
            self.path(),
            || format!(" {offset}+{}", buf.len()),
            &result,
        );
        result
    }

    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn mapped(&self) -> Option<&[u8]> {
        self.inner.mapped()
    }

    fn prefetch(&self, offset: u64, len: u64) {
        self.inner.prefetch(offset, len);
    }

    fn path(&self) -> &Path {
        self.inner.path()
    }
}

#[derive(Debug)]
struct LogWriter {
    inner: Box<dyn WritableFile>,
    log: Arc<OpLog>,
}

impl LogWriter {
    fn record(&self, op: Op, details: impl FnOnce() -> String, result: Result<()>) -> Result<()> {
        self.log.record(op, self.inner.path(), details, &result);
        result
    }
}

impl WritableFile for LogWriter {
    fn append(&mut self, data: &[u8]) -> Result<()> {
        let result = self.inner.append(data);
        self.record(Op::Append, || format!(" {}", data.len()), result)
    }

    fn flush(&mut self) -> Result<()> {
        let result = self.inner.flush();
        self.record(Op::Flush, nothing, result)
    }

    fn sync(&mut self) -> Result<()> {
        let result = self.inner.sync();
        self.record(Op::Sync, nothing, result)
    }

    fn sync_all(&mut self) -> Result<()> {
        let result = self.inner.sync_all();
        self.record(Op::SyncAll, nothing, result)
    }

    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn close(&mut self) -> Result<()> {
        let result = self.inner.close();
        self.record(Op::Close, nothing, result)
    }

    fn path(&self) -> &Path {
        self.inner.path()
    }

    fn syncer(&self) -> Option<Arc<dyn FileSync>> {
        Some(Arc::new(LogSync {
            inner: self.inner.syncer()?,
            log: self.log.clone(),
            path: self.inner.path().to_path_buf(),
        }))
    }
}

#[derive(Debug)]
struct LogSync {
    inner: Arc<dyn FileSync>,
    log: Arc<OpLog>,
    path: PathBuf,
}

impl FileSync for LogSync {
    fn sync(&self) -> Result<()> {
        let result = self.inner.sync();
        self.log.record(Op::Sync, &self.path, nothing, &result);
        result
    }
}

//! A file system on which things go wrong by rule, and which counts what is done so that a test can crash it anywhere.

mod rule;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use base::{Error, ErrorKind, Result};
use parking_lot::Mutex;

pub use self::rule::{Action, Hook, Rule};
use crate::{CreateOptions, FileLock, FileSync, FileSystem, Op, OpenOptions, RandomAccessFile, WritableFile};

/// Names a rule that was [added](FaultFs::add).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleId(u64);

/// Wraps any file system and lets operations fail by [`Rule`]. Clones are handles to the same one; rules bear upon files
/// opened before them too.
///
/// # Crashing everywhere
///
/// Run a scenario once and ask [`changes`](FaultFs::changes) how many operations it made that could matter to a crash. Then
/// for each `i` below that run it anew with [`crash_at(i)`](FaultFs::crash_at) over a fresh [`MemFs`](crate::MemFs), take
/// the [`crash_clone`](crate::MemFs::crash_clone) of that, and look what a new process finds.
///
/// Files are never [`mapped`](RandomAccessFile::mapped), so that each read is an operation.
#[derive(Clone, Debug)]
pub struct FaultFs {
    inner: Arc<dyn FileSystem>,
    control: Arc<Control>,
}

#[derive(Debug, Default)]
struct Control {
    operations: AtomicU64,
    changes: AtomicU64,
    /// The change that crashes; `u64::MAX` is none.
    crash_at: AtomicU64,
    crashed: AtomicBool,
    rules: Mutex<Rules>,
}

#[derive(Debug, Default)]
struct Rules {
    next: u64,
    active: Vec<(RuleId, Rule)>,
}

/// What is to become of an operation.
enum Fate {
    /// As ever.
    Done,
    /// Done, then reported as failed. A number from 0 to 1 says how much of an append is done.
    DoneButFails(Error, f64),
    /// A read gives that part of its bytes.
    Short(f64),
    /// A read has a bit turned; two numbers say which.
    Flipped(usize, u32),
}

#[cold]
fn injected(kind: ErrorKind, op: Op, path: &Path) -> Error {
    Error::new(kind, format!("While {op}: injected fault")).in_file(path)
}

impl Control {
    fn crash_error(op: Op, path: &Path) -> Error {
        Error::new(ErrorKind::Io, format!("While {op}: after a simulated crash")).in_file(path)
    }

    /// Counts an operation and decides about it.
    fn decide(&self, op: Op, path: &Path) -> Result<Fate> {
        self.operations.fetch_add(1, Ordering::SeqCst);
        if op.is_change()
            && self.changes.fetch_add(1, Ordering::SeqCst) == self.crash_at.load(Ordering::SeqCst)
        {
            self.crashed.store(true, Ordering::SeqCst);
        }
        if self.crashed.load(Ordering::SeqCst) {
            return Err(Control::crash_error(op, path));
        }
        let mut calls = Vec::new();
        let fate = self.first_fate(op, path, &mut calls);
        for call in calls {
            call(op, path);
        }
        // A call may have been what another thread crashed during.
        if self.crashed.load(Ordering::SeqCst) {
            return Err(Control::crash_error(op, path));
        }
        fate
    }

    fn first_fate(&self, op: Op, path: &Path, calls: &mut Vec<Hook>) -> Result<Fate> {
        let mut rules = self.rules.lock();
        for (_, rule) in &mut rules.active {
            if !rule.fires(op, path) {
                continue;
            }
            match rule.action.clone() {
                Action::Call(call) => calls.push(call),
                Action::Fail(kind) => return Err(injected(kind, op, path)),
                Action::FailAfter(kind) => {
                    return Ok(Fate::DoneButFails(injected(kind, op, path), rule.rng.f64()));
                }
                Action::ShortRead => return Ok(Fate::Short(rule.rng.f64())),
                Action::BitFlip => return Ok(Fate::Flipped(rule.rng.usize(..), rule.rng.u32(..8))),
                Action::Crash => {
                    self.crashed.store(true, Ordering::SeqCst);
                    return Err(Control::crash_error(op, path));
                }
            }
        }
        Ok(Fate::Done)
    }

    fn perform<T>(&self, op: Op, path: &Path, perform: impl FnOnce() -> Result<T>) -> Result<T> {
        let fate = self.decide(op, path)?;
        let result = perform()?;
        match fate {
            Fate::DoneButFails(error, _) => Err(error),
            Fate::Done | Fate::Short(_) | Fate::Flipped(..) => Ok(result),
        }
    }
}

impl FaultFs {
    /// Over `inner`, without rules.
    pub fn new(inner: Arc<dyn FileSystem>) -> FaultFs {
        let control = Control {
            crash_at: AtomicU64::new(u64::MAX),
            ..Control::default()
        };
        FaultFs {
            inner,
            control: Arc::new(control),
        }
    }

    /// Adds a rule. Of those that fire on an operation the one added first decides; `Call`s happen before it.
    pub fn add(&self, rule: Rule) -> RuleId {
        let mut rules = self.control.rules.lock();
        let id = RuleId(rules.next);
        rules.next += 1;
        rules.active.push((id, rule));
        id
    }

    /// Removes a rule; does nothing if it is gone.
    pub fn remove_rule(&self, id: RuleId) {
        self.control.rules.lock().active.retain(|(other, _)| *other != id);
    }

    /// Removes all rules.
    pub fn clear_rules(&self) {
        self.control.rules.lock().active.clear();
    }

    /// How often a rule fired; 0 if it is gone.
    pub fn fired(&self, id: RuleId) -> u64 {
        let rules = self.control.rules.lock();
        rules
            .active
            .iter()
            .find(|(other, _)| *other == id)
            .map_or(0, |(_, rule)| rule.fired)
    }

    /// Operations asked for so far.
    pub fn operations(&self) -> u64 {
        self.control.operations.load(Ordering::SeqCst)
    }

    /// Operations asked for so far that could change what a crash leaves ([`Op::is_change`]).
    pub fn changes(&self) -> u64 {
        self.control.changes.load(Ordering::SeqCst)
    }

    /// Crashes at the `index`th change, counted from 0 since the file system was made: it is not done, and like every later
    /// operation, reads included, it fails with an `Io` error.
    pub fn crash_at(&self, index: u64) {
        self.control.crash_at.store(index, Ordering::SeqCst);
    }

    /// Crashes now.
    pub fn crash(&self) {
        self.control.crashed.store(true, Ordering::SeqCst);
    }

    /// True after a crash.
    pub fn is_crashed(&self) -> bool {
        self.control.crashed.load(Ordering::SeqCst)
    }

    fn writer(&self, inner: Box<dyn WritableFile>) -> Box<dyn WritableFile> {
        Box::new(FaultWriter {
            inner,
            control: self.control.clone(),
        })
    }
}

impl FileSystem for FaultFs {
    fn open_random(&self, path: &Path, options: &OpenOptions) -> Result<Arc<dyn RandomAccessFile>> {
        let inner = self
            .control
            .perform(Op::Open, path, || self.inner.open_random(path, options))?;
        Ok(Arc::new(FaultReader {
            inner,
            control: self.control.clone(),
        }))
    }

    fn create(&self, path: &Path, options: &CreateOptions) -> Result<Box<dyn WritableFile>> {
        let inner = self
            .control
            .perform(Op::Create, path, || self.inner.create(path, options))?;
        Ok(self.writer(inner))
    }

    fn reuse(&self, old: &Path, new: &Path, options: &CreateOptions) -> Result<Box<dyn WritableFile>> {
        let inner = self
            .control
            .perform(Op::Reuse, new, || self.inner.reuse(old, new, options))?;
        Ok(self.writer(inner))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.control
            .perform(Op::Rename, to, || self.inner.rename(from, to))
    }

    fn remove(&self, path: &Path) -> Result<()> {
        self.control.perform(Op::Remove, path, || self.inner.remove(path))
    }

    fn link(&self, from: &Path, to: &Path) -> Result<()> {
        self.control.perform(Op::Link, to, || self.inner.link(from, to))
    }

    fn truncate(&self, path: &Path, len: u64) -> Result<()> {
        self.control
            .perform(Op::Truncate, path, || self.inner.truncate(path, len))
    }

    fn list(&self, dir: &Path) -> Result<Vec<String>> {
        self.control.perform(Op::List, dir, || self.inner.list(dir))
    }

    fn create_dir_all(&self, dir: &Path) -> Result<()> {
        self.control
            .perform(Op::CreateDir, dir, || self.inner.create_dir_all(dir))
    }

    fn remove_dir(&self, dir: &Path) -> Result<()> {
        self.control
            .perform(Op::RemoveDir, dir, || self.inner.remove_dir(dir))
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        self.control
            .perform(Op::SyncDir, dir, || self.inner.sync_dir(dir))
    }

    fn sync_file(&self, path: &Path) -> Result<()> {
        self.control
            .perform(Op::Sync, path, || self.inner.sync_file(path))
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        self.control.perform(Op::Exists, path, || self.inner.exists(path))
    }

    fn size(&self, path: &Path) -> Result<u64> {
        self.control.perform(Op::Size, path, || self.inner.size(path))
    }

    fn modified_seconds(&self, path: &Path) -> Result<u64> {
        self.control
            .perform(Op::Modified, path, || self.inner.modified_seconds(path))
    }

    fn lock(&self, path: &Path) -> Result<Box<dyn FileLock>> {
        self.control.perform(Op::Lock, path, || self.inner.lock(path))
    }

    fn free_space(&self, dir: &Path) -> Result<u64> {
        self.control
            .perform(Op::FreeSpace, dir, || self.inner.free_space(dir))
    }
}

#[derive(Debug)]
struct FaultReader {
    inner: Arc<dyn RandomAccessFile>,
    control: Arc<Control>,
}

impl RandomAccessFile for FaultReader {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let fate = self.control.decide(Op::Read, self.inner.path())?;
        let read = self.inner.read_at(offset, buf)?;
        match fate {
            Fate::Done => Ok(read),
            Fate::DoneButFails(error, _) => Err(error.at(offset)),
            Fate::Short(part) => Ok((read as f64 * part) as usize),
            Fate::Flipped(byte, bit) => {
                if read > 0 {
                    buf[byte % read] ^= 1 << bit;
                }
                Ok(read)
            }
        }
    }

    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn mapped(&self) -> Option<&[u8]> {
        None
    }

    fn prefetch(&self, offset: u64, len: u64) {
        if !self.control.crashed.load(Ordering::SeqCst) {
            self.inner.prefetch(offset, len);
        }
    }

    fn path(&self) -> &Path {
        self.inner.path()
    }
}

#[derive(Debug)]
struct FaultWriter {
    inner: Box<dyn WritableFile>,
    control: Arc<Control>,
}

impl FaultWriter {
    fn perform(&mut self, op: Op, perform: impl FnOnce(&mut dyn WritableFile) -> Result<()>) -> Result<()> {
        let fate = self.control.decide(op, self.inner.path())?;
        perform(&mut *self.inner)?;
        match fate {
            Fate::DoneButFails(error, _) => Err(error),
            Fate::Done | Fate::Short(_) | Fate::Flipped(..) => Ok(()),
        }
    }
}

impl WritableFile for FaultWriter {
    fn append(&mut self, data: &[u8]) -> Result<()> {
        match self.control.decide(Op::Append, self.inner.path())? {
            Fate::DoneButFails(error, part) => {
                self.inner.append(&data[..(data.len() as f64 * part) as usize])?;
                Err(error)
            }
            Fate::Done | Fate::Short(_) | Fate::Flipped(..) => self.inner.append(data),
        }
    }

    fn flush(&mut self) -> Result<()> {
        self.perform(Op::Flush, |file| file.flush())
    }

    fn sync(&mut self) -> Result<()> {
        self.perform(Op::Sync, |file| file.sync())
    }

    fn sync_all(&mut self) -> Result<()> {
        self.perform(Op::SyncAll, |file| file.sync_all())
    }

    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn close(&mut self) -> Result<()> {
        self.perform(Op::Close, |file| file.close())
    }

    fn path(&self) -> &Path {
        self.inner.path()
    }

    fn syncer(&self) -> Option<Arc<dyn FileSync>> {
        Some(Arc::new(FaultSync {
            inner: self.inner.syncer()?,
            control: self.control.clone(),
            path: self.inner.path().to_path_buf(),
        }))
    }
}

#[derive(Debug)]
struct FaultSync {
    inner: Arc<dyn FileSync>,
    control: Arc<Control>,
    path: std::path::PathBuf,
}

impl FileSync for FaultSync {
    fn sync(&self) -> Result<()> {
        self.control.perform(Op::Sync, &self.path, || self.inner.sync())
    }
}

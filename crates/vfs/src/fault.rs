//! A file system that injects faults by rule. It also counts operations, so that a test can crash it at any
//! of them.

mod rule;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use base::{Error, ErrorKind, Result};
use parking_lot::Mutex;

pub use self::rule::{Action, Hook, Rule};
use crate::layer::{Call, Layer};
use crate::{FileSystem, Op, PendingRead, RandomAccessFile, ReadBuffer, WritableFile};

/// The id of a rule that was [added](FaultFs::add).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleId(u64);

/// Wraps any file system and makes operations fail by [`Rule`]. Clones are handles to the same one; rules
/// also apply to files opened before them.
///
/// # Crashing everywhere
///
/// Run a scenario once and ask [`changes`](FaultFs::changes) for the number of operations that could matter
/// to a crash. Then for each `i` below that number, run the scenario again with
/// [`crash_at(i)`](FaultFs::crash_at) over a fresh [`MemFs`](crate::MemFs), take its
/// [`crash_clone`](crate::MemFs::crash_clone), and check what a new process finds.
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
    /// The index of the change that crashes; `u64::MAX`: none.
    crash_at: AtomicU64,
    crashed: AtomicBool,
    rules: Mutex<Rules>,
}

#[derive(Debug, Default)]
struct Rules {
    next: u64,
    active: Vec<(RuleId, Rule)>,
}

/// The outcome of an operation.
enum Fate {
    /// The operation is done as usual.
    Done,
    /// The operation is done, and then reported as failed. The number, from 0 to 1, is the part of an append
    /// that is done.
    DoneButFails(Error, f64),
    /// A read returns only a part of its bytes.
    Short(f64),
    /// A read has one bit flipped; two numbers choose the bit.
    Flipped(usize, u32),
}

impl Fate {
    /// Makes a read with this outcome.
    fn read(self, file: &dyn RandomAccessFile, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let read = file.read_at(offset, buf)?;
        match self {
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
}

#[cold]
fn injected(kind: ErrorKind, op: Op, path: &Path) -> Error {
    Error::new(kind, format!("While {op}: injected fault")).in_file(path)
}

impl Control {
    fn crash_error(op: Op, path: &Path) -> Error {
        Error::new(ErrorKind::Io, format!("While {op}: after a simulated crash")).in_file(path)
    }

    /// Counts an operation and decides its outcome.
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
        // A rule's function may have waited while another thread crashed the file system.
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
}

impl FaultFs {
    /// A fault file system over `inner`, without rules.
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

    /// Adds a rule. If several fire on an operation, the one added first decides; each `Call` runs before
    /// that.
    pub fn add(&self, rule: Rule) -> RuleId {
        let mut rules = self.control.rules.lock();
        let id = RuleId(rules.next);
        rules.next += 1;
        rules.active.push((id, rule));
        id
    }

    /// Removes a rule; does nothing if there is no such rule.
    pub fn remove_rule(&self, id: RuleId) {
        self.control.rules.lock().active.retain(|(other, _)| *other != id);
    }

    /// Removes all rules.
    pub fn clear_rules(&self) {
        self.control.rules.lock().active.clear();
    }

    /// How often a rule fired; 0 if there is no such rule.
    pub fn fired(&self, id: RuleId) -> u64 {
        let rules = self.control.rules.lock();
        rules
            .active
            .iter()
            .find(|(other, _)| *other == id)
            .map_or(0, |(_, rule)| rule.fired)
    }

    /// The number of operations requested so far.
    pub fn operations(&self) -> u64 {
        self.control.operations.load(Ordering::SeqCst)
    }

    /// The number of requested operations that could change the state after a crash ([`Op::is_change`]).
    pub fn changes(&self) -> u64 {
        self.control.changes.load(Ordering::SeqCst)
    }

    /// Crashes at the change of that index, counted from 0 since the file system was made: it is not done,
    /// and like every later operation, including reads, it fails with an `Io` error.
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
}

impl Layer for FaultFs {
    fn below(&self) -> &dyn FileSystem {
        &*self.inner
    }

    fn around<T>(&self, call: &Call<'_>, perform: impl FnOnce() -> Result<T>) -> Result<T> {
        let fate = self.control.decide(call.op, call.path)?;
        let result = perform()?;
        match fate {
            Fate::DoneButFails(error, _) => Err(error),
            Fate::Done | Fate::Short(_) | Fate::Flipped(..) => Ok(result),
        }
    }

    fn read(
        &self,
        call: &Call<'_>,
        file: &dyn RandomAccessFile,
        offset: u64,
        buf: &mut [u8],
    ) -> Result<usize> {
        let fate = self.control.decide(call.op, call.path)?;
        fate.read(file, offset, buf)
    }

    fn start_read(
        &self,
        call: &Call<'_>,
        file: &dyn RandomAccessFile,
        offset: u64,
        len: usize,
        memory: ReadBuffer,
    ) -> PendingRead {
        match self.control.decide(call.op, call.path) {
            Ok(Fate::Done) => file.start_read(offset, len, memory),
            // The waiter gets the outcome.
            Ok(fate) => PendingRead::at_once(len, memory, |buf| fate.read(file, offset, buf)),
            Err(error) => PendingRead::failed(error.at(offset)),
        }
    }

    fn append(&self, call: &Call<'_>, file: &mut dyn WritableFile, data: &[u8]) -> Result<()> {
        match self.control.decide(call.op, call.path)? {
            Fate::DoneButFails(error, part) => {
                let part = (data.len() as f64 * part) as usize;
                match error.kind() {
                    ErrorKind::NoSpace => Err(file.append_partly(data, part, error)),
                    _ => file.append(&data[..part]).and(Err(error)),
                }
            }
            Fate::Done | Fate::Short(_) | Fate::Flipped(..) => file.append(data),
        }
    }

    fn maps(&self) -> bool {
        false
    }
}

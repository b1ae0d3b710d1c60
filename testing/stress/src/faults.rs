//! Injected failures of file system operations, as in RocksDB's fault injection, and injected panics of user
//! code: while the threads work, and the failures also while the database is opened.
//!
//! The caller of a failed operation gets the error. A read that failed is an error of its caller; it shows no
//! wrong row and misses none. A change that failed latches the database, and its effect is unknown: all
//! threads stop, and the database is closed and reopened, and must have everything that was promised.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::ErrorKind;
use dbtest::panicking::{self, Fuse};
use esker::Options;
use parking_lot::Mutex;
use vfs::{Action, FaultFs, FileSystem, Op, Rule, RuleId};

use crate::flags::Flags;

/// The text in the message of every error of an injected failure.
const INJECTED: &str = "injected fault";

/// True for the error of an injected failure.
pub fn is_injected(message: &str) -> bool {
    message.contains(INJECTED) || message.contains(panicking::MESSAGE)
}

/// One in this number of operations of a kind fails; 0: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Rates {
    read: u64,
    write: u64,
    metadata_read: u64,
    metadata_write: u64,
}

const READS: &[Op] = &[Op::Read];
const WRITES: &[Op] = &[Op::Append];
const METADATA_READS: &[Op] = &[
    Op::Open,
    Op::List,
    Op::Exists,
    Op::Size,
    Op::Modified,
    Op::FreeSpace,
];
const METADATA_WRITES: &[Op] = &[
    Op::Create,
    Op::Reuse,
    Op::Rename,
    Op::Remove,
    Op::Link,
    Op::Truncate,
    Op::CreateDir,
    Op::RemoveDir,
    Op::SyncDir,
    Op::Flush,
    Op::Sync,
    Op::SyncAll,
    Op::Close,
];

/// The injected failures, and when they happen.
#[derive(Debug)]
pub struct Faults {
    fs: FaultFs,
    working: Rates,
    opening: Rates,
    exclude_wal: bool,
    /// True if the open after a failure has no injected failures.
    spare_recovery: bool,
    seed: AtomicU64,
    active: Mutex<Vec<RuleId>>,
    injected: AtomicU64,
    /// User code that panics, once in this number of calls.
    panics: Option<(Arc<Fuse>, u64)>,
}

impl Faults {
    /// The failures over `fs` that `flags` ask for; `None` if there are none.
    pub fn over(fs: Arc<dyn FileSystem>, flags: &Flags) -> Option<Faults> {
        let working = Rates {
            read: flags.read_fault_one_in,
            write: flags.write_fault_one_in,
            metadata_read: flags.metadata_read_fault_one_in,
            metadata_write: flags.metadata_write_fault_one_in,
        };
        let opening = Rates {
            read: flags.open_read_fault_one_in,
            write: flags.open_write_fault_one_in,
            metadata_read: flags.open_metadata_read_fault_one_in,
            metadata_write: flags.open_metadata_write_fault_one_in,
        };
        let one_in = flags.user_code_panic_one_in;
        let panics = (one_in > 0).then(|| (Fuse::new(), one_in));
        if working == Rates::default() && opening == Rates::default() && panics.is_none() {
            return None;
        }
        Some(Faults {
            fs: FaultFs::new(fs),
            working,
            opening,
            exclude_wal: flags.exclude_wal_from_write_fault_injection,
            spare_recovery: flags.error_recovery_with_no_fault_injection,
            seed: AtomicU64::new(flags.seed),
            active: Mutex::default(),
            injected: AtomicU64::new(0),
            panics,
        })
    }

    /// Puts the fuse into the user code of `options`, so that the user code panics when the fuse decides.
    pub fn wrap_user_code(&self, options: &mut Options) {
        let Some((fuse, _)) = &self.panics else { return };
        let family = &mut options.column_family;
        let has_partitioner = family.sst_partitioner_factory.is_some();
        fuse.put_into(family);
        if !has_partitioner {
            // The added partitioner is removed, because with one no stream of keys is flushed to a level
            // below L0.
            family.sst_partitioner_factory = None;
        }
        options.listeners.push(fuse.listener(true));
    }

    /// The number of calls of user code that panicked so far.
    pub fn panics(&self) -> u64 {
        self.panics.as_ref().map_or(0, |(fuse, _)| fuse.panics())
    }

    /// The file system with the failures.
    pub fn fs(&self) -> Arc<dyn FileSystem> {
        Arc::new(self.fs.clone())
    }

    /// The number of file operations that failed by injection so far.
    pub fn injected(&self) -> u64 {
        self.injected.load(Ordering::Relaxed)
    }

    /// From now on operations of the threads fail.
    pub fn begin_work(&self) {
        self.begin(self.working);
        self.light();
    }

    /// From now on operations of an open fail. `after_failure`: the open follows an injected failure.
    pub fn begin_open(&self, after_failure: bool) {
        if !(after_failure && self.spare_recovery) {
            self.begin(self.opening);
            self.light();
        }
    }

    /// From now on user code panics.
    fn light(&self) {
        if let Some((fuse, one_in)) = &self.panics {
            fuse.light_one_in(*one_in, self.seed.fetch_add(1, Ordering::Relaxed), "");
        }
    }

    fn begin(&self, rates: Rates) {
        let add = |one_in: u64, ops: &[Op], action: Action, is_write: bool| {
            let probability = 1.0 / one_in as f64;
            let seed = self.seed.fetch_add(1, Ordering::Relaxed);
            let mut rule = Rule::new(action)
                .on(ops.iter().copied())
                .with_probability(probability, seed);
            if is_write && self.exclude_wal {
                rule = rule.unless_path_ends_with(".log");
            }
            self.active.lock().push(self.fs.add(rule));
        };
        for (one_in, ops) in [(rates.read, READS), (rates.metadata_read, METADATA_READS)] {
            if one_in > 0 {
                add(one_in, ops, Action::Fail(ErrorKind::Io), false);
            }
        }
        for (one_in, ops) in [(rates.write, WRITES), (rates.metadata_write, METADATA_WRITES)] {
            // Some operations are not done; the others are done, an append in part, and report a failure, a
            // third of them for lack of space.
            for action in [
                Action::Fail(ErrorKind::Io),
                Action::FailAfter(ErrorKind::Io),
                Action::FailAfter(ErrorKind::NoSpace),
            ] {
                if one_in > 0 {
                    add(one_in.saturating_mul(3), ops, action, true);
                }
            }
        }
    }

    /// From now on nothing fails.
    pub fn end(&self) {
        if let Some((fuse, _)) = &self.panics {
            fuse.cut();
        }
        let rules = std::mem::take(&mut *self.active.lock());
        let fired = rules.iter().map(|id| self.fs.fired(*id)).sum();
        rules.into_iter().for_each(|id| self.fs.remove_rule(id));
        self.injected.fetch_add(fired, Ordering::Relaxed);
    }
}

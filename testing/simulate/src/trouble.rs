//! The faults of the disk in one life.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use base::{Error, ErrorKind};
use vfs::{FaultFs, MemFs, RuleId};

use crate::history::Fault;

/// The reasons why an operation may fail in this life.
pub(crate) struct Trouble {
    pub fs: FaultFs,
    pub rules: Mutex<Vec<(RuleId, Fault)>>,
    pub mem: MemFs,
    pub full: AtomicBool,
}

impl Trouble {
    /// Sets the free space of the disk to `bytes`.
    pub fn limit(&self, bytes: u64) {
        self.full.store(true, Ordering::Relaxed);
        self.mem.set_budget(self.mem.used().saturating_add(bytes));
    }

    pub fn fired(&self) -> Vec<Fault> {
        let rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        rules
            .iter()
            .filter(|(id, _)| self.fs.fired(*id) > 0)
            .map(|(_, fault)| fault.clone())
            .collect()
    }

    /// True if the faults of the disk explain the error.
    pub fn explains(&self, error: &Error) -> bool {
        let full = self.full.load(Ordering::Relaxed);
        if error.kind() == ErrorKind::NoSpace {
            return full || self.fired().iter().any(|fault| fault.what == "partial");
        }
        full || self.fs.is_crashed() || !self.fired().is_empty()
    }
}

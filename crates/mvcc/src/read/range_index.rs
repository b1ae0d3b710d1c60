//! The range tombstones of a store that a new reader sees.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::sync::Mutex;
use esker::{ColumnFamily, Db, Snapshot};

use crate::error::Result;
use crate::key::ranges::Ranges;
use crate::read::reader::Reader;

/// The range tombstones of a store. As long as there have never been any, which one load shows, nothing else
/// is read.
pub(crate) struct RangeIndex {
    /// True if the store has range tombstones, or had some since it was opened. Set before the first range
    /// tombstone is written: a snapshot taken before the flag was visible has none.
    any: AtomicBool,
    current: Mutex<Current>,
}

struct Current {
    ranges: Option<Arc<Ranges>>,
    /// True while a change is being written: snapshots taken meanwhile may have the old or the new range
    /// tombstones.
    is_changing: bool,
}

impl RangeIndex {
    pub fn new(ranges: Option<Arc<Ranges>>) -> RangeIndex {
        RangeIndex {
            any: AtomicBool::new(ranges.is_some()),
            current: Mutex::new(Current {
                ranges,
                is_changing: false,
            }),
        }
    }

    /// The written range tombstones, for a caller that excludes other writers.
    pub fn current(&self) -> Option<Arc<Ranges>> {
        // The load may be relaxed, because an earlier holder of the writers' lock has set the flag.
        match self.any.load(Ordering::Relaxed) {
            true => self.current.lock().ranges.clone(),
            false => None,
        }
    }

    /// A new snapshot, and the range tombstones that are visible in it.
    pub fn snapshot(&self, db: &Db, family: &ColumnFamily) -> Result<(Snapshot, Option<Arc<Ranges>>)> {
        let snapshot = db.snapshot();
        // A relaxed load suffices: a snapshot with range tombstones was taken after `any` was set, and the
        // publication of the snapshot's writes publishes the flag too.
        if !self.any.load(Ordering::Relaxed) {
            return Ok((snapshot, None));
        }
        let current = self.current.lock();
        let snapshot = db.snapshot();
        if !current.is_changing {
            return Ok((snapshot, current.ranges.clone()));
        }
        drop(current);
        let ranges = Ranges::load(&Reader::new(db, family).at(snapshot.clone()))?;
        Ok((snapshot, ranges))
    }

    /// Runs `write`, which makes the range tombstones `ranges`.
    pub fn change<T>(&self, ranges: Option<Arc<Ranges>>, write: impl FnOnce() -> Result<T>) -> Result<T> {
        self.any.store(true, Ordering::Relaxed);
        self.current.lock().is_changing = true;
        let written = write();
        let mut current = self.current.lock();
        if written.is_ok() {
            current.ranges = ranges;
        }
        current.is_changing = false;
        written
    }
}

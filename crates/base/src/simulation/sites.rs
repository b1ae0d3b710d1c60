//! Counts of locks, by the line of the source that takes them.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::Location;

/// A line of the source that takes a lock, and the type that the lock guards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LockSite {
    /// The type behind the lock.
    pub guarded: &'static str,
    /// True for a lock that readers share.
    pub is_shared: bool,
    /// The file of the line.
    pub file: &'static str,
    /// The number of the line.
    pub line: u32,
}

impl LockSite {
    pub(crate) fn new<T>(at: &'static Location<'static>, is_shared: bool) -> LockSite {
        LockSite {
            guarded: std::any::type_name::<T>(),
            is_shared,
            file: at.file(),
            line: at.line(),
        }
    }
}

impl fmt::Display for LockSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// The counts of one site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockCounts {
    /// The number of times that the lock was taken, also after a wait of a condition variable.
    pub taken: u64,
    /// The number of those that had to wait for another thread.
    pub waited: u64,
    /// The points of all threads that passed while the lock was held. Another lock that the holder takes
    /// meanwhile is two points.
    pub held: u64,
    /// The most points that passed while the lock was held once.
    pub longest: u64,
}

/// The counts of a world, while they are kept.
#[derive(Debug, Default)]
pub(crate) struct Sites(Option<BTreeMap<LockSite, LockCounts>>);

impl Sites {
    pub fn taken(&mut self, site: LockSite, waited: bool) {
        if let Some(sites) = &mut self.0 {
            let counts = sites.entry(site).or_default();
            counts.taken += 1;
            counts.waited += u64::from(waited);
        }
    }

    /// Adds the time of a hold. One that began before the counts is not counted.
    pub fn released(&mut self, site: LockSite, points: u64) {
        if let Some(counts) = self.0.as_mut().and_then(|sites| sites.get_mut(&site)) {
            counts.held += points;
            counts.longest = counts.longest.max(points);
        }
    }

    /// Begins new counts. Returns those until now.
    pub fn restart(&mut self) -> BTreeMap<LockSite, LockCounts> {
        self.0.replace(BTreeMap::new()).unwrap_or_default()
    }
}

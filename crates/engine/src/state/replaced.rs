//! Super versions that were replaced and may still be read.

use std::sync::{Arc, Weak};
use std::time::Duration;

use base::sync::Mutex;

use crate::state::super_version::SuperVersion;

/// Replaced super versions of a family that readers may still hold, with the time at which each was replaced.
#[derive(Default)]
pub(crate) struct Replaced(Mutex<Vec<(Weak<SuperVersion>, Duration)>>);

impl Replaced {
    /// Records that `old` was replaced at `now`.
    pub fn add(&self, old: &Arc<SuperVersion>, now: Duration) {
        let mut replaced = self.0.lock();
        replaced.retain(|(held, _)| held.strong_count() > 0);
        replaced.push((Arc::downgrade(old), now));
    }

    /// The replaced super versions that are still held, oldest first.
    pub fn alive(&self) -> impl Iterator<Item = Arc<SuperVersion>> {
        self.held().into_iter().map(|(held, _, _)| held)
    }

    /// The replaced super versions that are still held: each with its number of holders and the time at which
    /// it was replaced, the oldest first.
    pub fn held(&self) -> Vec<(Arc<SuperVersion>, usize, Duration)> {
        let replaced = self.0.lock();
        let held = replaced.iter().filter_map(|(held, at)| {
            let holders = held.strong_count();
            Some((held.upgrade()?, holders, *at))
        });
        held.collect()
    }
}

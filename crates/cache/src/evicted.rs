//! Values that leave a shard.

use crate::secondary_cache::{Demoted, SecondaryCache};

/// Values to drop. Evicted ones go to the secondary cache first, where there is one. Declared before the
/// guard of the lock, so that both happen after the lock is released. An insertion usually evicts one value,
/// which needs no allocation.
pub(crate) struct Evicted<'a, V> {
    secondary: Option<&'a dyn SecondaryCache<V>>,
    first: Option<(V, Option<Demoted>)>,
    more: Vec<(V, Option<Demoted>)>,
}

impl<'a, V> Evicted<'a, V> {
    pub(crate) fn new(secondary: Option<&'a dyn SecondaryCache<V>>) -> Evicted<'a, V> {
        Evicted {
            secondary,
            first: None,
            more: Vec::new(),
        }
    }

    /// Adds a value that was erased or replaced.
    pub(crate) fn push(&mut self, value: V) {
        self.add(value, None);
    }

    /// Adds a value that was evicted.
    pub(crate) fn push_demoted(&mut self, value: V, demoted: Demoted) {
        self.add(value, Some(demoted));
    }

    fn add(&mut self, value: V, demoted: Option<Demoted>) {
        match self.first {
            None => self.first = Some((value, demoted)),
            Some(_) => self.more.push((value, demoted)),
        }
    }
}

impl<V> Drop for Evicted<'_, V> {
    fn drop(&mut self) {
        let Some(secondary) = self.secondary else { return };
        for (value, demoted) in self.first.iter().chain(&self.more) {
            if let Some(demoted) = demoted {
                secondary.take(value, demoted);
            }
        }
    }
}

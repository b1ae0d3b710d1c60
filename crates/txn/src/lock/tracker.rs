//! The keys that a transaction has locked, or that its commit validates.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use base::SeqNo;

/// A key that a transaction tracks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TrackedKey {
    /// No other transaction has written the key since this sequence number.
    pub seqno: SeqNo,
    /// The number of reads for update.
    pub reads: u32,
    /// The number of writes.
    pub writes: u32,
    /// True if the lock is exclusive.
    pub exclusive: bool,
}

/// A request for a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    pub family: u32,
    pub key: &'a [u8],
    pub seqno: SeqNo,
    pub read_only: bool,
    pub exclusive: bool,
}

/// The outcome of undoing one read for update of a tracked key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Untracked {
    /// The key had not been read.
    Not,
    /// The key is still tracked.
    Fewer,
    /// The key is no longer tracked.
    Removed,
}

/// The tracked keys, by family.
#[derive(Clone, Debug, Default)]
pub(crate) struct LockTracker {
    families: HashMap<u32, HashMap<Vec<u8>, TrackedKey>>,
}

impl LockTracker {
    /// The key, if it is tracked.
    pub fn get(&self, family: u32, key: &[u8]) -> Option<&TrackedKey> {
        self.families.get(&family)?.get(key)
    }

    /// Records a key that was locked now or before.
    pub fn track(&mut self, request: &Request<'_>) {
        let tracked = TrackedKey {
            seqno: request.seqno,
            reads: u32::from(request.read_only),
            writes: u32::from(!request.read_only),
            exclusive: request.exclusive,
        };
        let keys = self.families.entry(request.family).or_default();
        // The key is looked up first, because a transaction uses a tracked key again far more often than it
        // adds a new one.
        match keys.get_mut(request.key) {
            Some(known) => merge(known, &tracked),
            None => drop(keys.insert(request.key.to_vec(), tracked)),
        }
    }

    /// Undoes one read of the key.
    pub fn untrack_read(&mut self, family: u32, key: &[u8]) -> Untracked {
        let Some(keys) = self.families.get_mut(&family) else {
            return Untracked::Not;
        };
        let Some(tracked) = keys.get_mut(key).filter(|tracked| tracked.reads > 0) else {
            return Untracked::Not;
        };
        tracked.reads -= 1;
        if tracked.reads + tracked.writes > 0 {
            return Untracked::Fewer;
        }
        keys.remove(key);
        Untracked::Removed
    }

    /// Adds the keys of `newer`, the tracker of a save point that is removed.
    pub fn merge(&mut self, mut newer: LockTracker) {
        // The result does not depend on which tracker is merged into which; moving the smaller one keeps the
        // cost of removing a stack of save points low.
        if newer.len() > self.len() {
            std::mem::swap(self, &mut newer);
        }
        for (family, keys) in newer.families {
            let own = self.families.entry(family).or_default();
            for (key, tracked) in keys {
                match own.entry(key) {
                    Entry::Occupied(mut known) => merge(known.get_mut(), &tracked),
                    Entry::Vacant(place) => drop(place.insert(tracked)),
                }
            }
        }
    }

    /// Undoes the tracking since a save point, and returns the keys that are no longer tracked.
    pub fn subtract(&mut self, since: &LockTracker) -> Vec<(u32, Vec<u8>)> {
        let mut gone = Vec::new();
        for (&family, keys) in &since.families {
            let Some(own) = self.families.get_mut(&family) else {
                continue;
            };
            for (key, newer) in keys {
                let Some(tracked) = own.get_mut(key) else {
                    continue;
                };
                tracked.reads = tracked.reads.saturating_sub(newer.reads);
                tracked.writes = tracked.writes.saturating_sub(newer.writes);
                if tracked.reads + tracked.writes == 0 {
                    own.remove(key);
                    gone.push((family, key.clone()));
                }
            }
        }
        gone
    }

    /// Every key, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &[u8], &TrackedKey)> {
        self.families
            .iter()
            .flat_map(|(&family, keys)| keys.iter().map(move |(key, tracked)| (family, &key[..], tracked)))
    }

    /// The number of tracked keys.
    pub fn len(&self) -> usize {
        self.families.values().map(HashMap::len).sum()
    }

    /// Removes all keys.
    pub fn clear(&mut self) {
        self.families.clear();
    }
}

fn merge(known: &mut TrackedKey, newer: &TrackedKey) {
    known.seqno = known.seqno.min(newer.seqno);
    known.reads = known.reads.saturating_add(newer.reads);
    known.writes = known.writes.saturating_add(newer.writes);
    known.exclusive |= newer.exclusive;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(key: &[u8], seqno: SeqNo) -> Request<'_> {
        Request {
            family: 0,
            key,
            seqno,
            read_only: true,
            exclusive: false,
        }
    }

    #[test]
    fn the_oldest_sequence_number_of_a_key_stays() {
        let mut tracker = LockTracker::default();
        tracker.track(&read(b"a", 7));
        tracker.track(&Request {
            read_only: false,
            exclusive: true,
            ..read(b"a", 9)
        });
        let tracked = *tracker.get(0, b"a").unwrap();
        assert_eq!((tracked.seqno, tracked.reads, tracked.writes), (7, 1, 1));
        assert!(tracked.exclusive);
        assert_eq!(tracker.untrack_read(0, b"a"), Untracked::Fewer);
        assert_eq!(tracker.untrack_read(0, b"a"), Untracked::Not);
        assert_eq!(tracker.untrack_read(1, b"a"), Untracked::Not);
    }

    #[test]
    fn a_rollback_gives_up_keys_that_were_first_tracked_since() {
        let (mut all, mut since) = (LockTracker::default(), LockTracker::default());
        all.track(&read(b"before", 1));
        for key in [&b"before"[..], b"since"] {
            all.track(&read(key, 2));
            since.track(&read(key, 2));
        }
        assert_eq!(all.subtract(&since), [(0, b"since".to_vec())]);
        assert_eq!(all.get(0, b"before").unwrap().reads, 1);
        assert_eq!(all.len(), 1);
    }
}

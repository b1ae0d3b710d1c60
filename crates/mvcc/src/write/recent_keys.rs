//! The newest versions of the keys that were written last. A writer that finds its key here reads nothing.
//!
//! Each latch has slots of its own, which the holder of the latch reads and changes. A key has one slot, by
//! its hash, and the next key of the same slot takes it. Slots are not emptied: a slot counts in the epoch in
//! which it was written, and the epoch changes when rows change in any other way than by writers of known
//! keys.

use crate::key::timestamp::Timestamp;

/// The number of slots of a latch: a power of two. A store has 256 latches, so it remembers up to 32,768
/// keys: a few megabytes, if so many are written.
const SLOTS: usize = 128;

/// The state of a store's rows except for what writers of known keys have written: the number of other
/// batches, and the number of changes by files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Epoch {
    pub batches: u64,
    pub file_changes: u64,
}

/// The newest version of a key: a value, or a deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecentVersion {
    pub timestamp: Timestamp,
    /// The length of the stored value: 0 for a deletion.
    pub value_len: usize,
}

struct Slot {
    key: Vec<u8>,
    /// The version and its epoch; `None` if the key is forgotten.
    version: Option<(RecentVersion, Epoch)>,
}

/// The slots of a latch.
#[derive(Default)]
pub(crate) struct RecentKeys {
    /// Empty before the first write.
    slots: Vec<Slot>,
}

impl RecentKeys {
    /// The newest version of `key`, whose hash chooses the slot, if it is known in `epoch`.
    pub fn get(&self, hash: u64, key: &[u8], epoch: Epoch) -> Option<RecentVersion> {
        let slot = self.slots.get(hash as usize % SLOTS)?;
        let (version, written) = slot.version?;
        (written == epoch && slot.key == key).then_some(version)
    }

    /// Sets the newest version of `key`; `None` forgets it.
    pub fn set(&mut self, hash: u64, key: &[u8], version: Option<(RecentVersion, Epoch)>) {
        if self.slots.is_empty() {
            let empty = || Slot {
                key: Vec::new(),
                version: None,
            };
            self.slots.resize_with(SLOTS, empty);
        }
        let slot = &mut self.slots[hash as usize % SLOTS];
        slot.key.clear();
        slot.key.extend_from_slice(key);
        slot.version = version;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_known_in_its_epoch_until_another_takes_its_slot() {
        let epoch = Epoch {
            batches: 1,
            file_changes: 1,
        };
        let version = RecentVersion {
            timestamp: Timestamp::from_nanos(7),
            value_len: 3,
        };
        let mut keys = RecentKeys::default();
        assert_eq!(keys.get(5, b"a", epoch), None);
        keys.set(5, b"a", Some((version, epoch)));
        assert_eq!(keys.get(5, b"a", epoch), Some(version));
        assert_eq!(keys.get(5, b"b", epoch), None);
        for later in [
            Epoch { batches: 2, ..epoch },
            Epoch {
                file_changes: 2,
                ..epoch
            },
        ] {
            assert_eq!(keys.get(5, b"a", later), None);
        }
        keys.set(5 + SLOTS as u64, b"b", Some((version, epoch)));
        assert_eq!(keys.get(5, b"a", epoch), None);
        keys.set(5, b"b", None);
        assert_eq!(keys.get(5, b"b", epoch), None);
    }
}

//! Remembers the keys that were requested lately: sixteen bits of each key's hash, in a table where later
//! keys overwrite earlier ones.

use std::sync::atomic::{AtomicU16, Ordering};

/// Bytes of a typical entry. The table has one place for each entry of a full cache. A key is remembered with
/// a probability of one in three when it is requested again after as many other keys as the cache has
/// entries: that is when it would be about to be evicted, had it been inserted.
const ENTRY: usize = 4 << 10;
const FEWEST: usize = 1 << 10;
const MOST: usize = 1 << 24;

/// See the module. One answer in 65,536 is wrong, which is harmless: an entry is inserted that might have
/// waited, or waits once more.
pub(crate) struct AskedLately {
    /// The number of places is a power of two. A place is 0, or holds bits of the hash that do not choose the
    /// place.
    places: Box<[AtomicU16]>,
}

impl AskedLately {
    /// A table for a cache of the initial capacity `capacity`. The table takes a two-thousandth of the
    /// capacity, which is not charged to the cache.
    pub(crate) fn new(capacity: usize) -> AskedLately {
        let places = capacity / ENTRY;
        let places = places.clamp(FEWEST, MOST).next_power_of_two();
        AskedLately {
            places: (0..places).map(|_| AtomicU16::new(0)).collect(),
        }
    }

    /// True if a key of that hash was requested lately; the request is then forgotten, so that an entry that
    /// is inserted and evicted waits its turn again. Otherwise the request is remembered.
    pub(crate) fn again(&self, hash: u64) -> bool {
        // The place is chosen by bits 16 and up of the hash, which are independent of the low 16 bits that
        // the place stores.
        let place = &self.places[(hash >> 16) as usize & (self.places.len() - 1)];
        let mark = hash as u16 | 1;
        let again = place.load(Ordering::Relaxed) == mark;
        place.store(if again { 0 } else { mark }, Ordering::Relaxed);
        again
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::options::CacheKey;

    fn hash(offset: u64) -> u64 {
        CacheKey { id: 7, offset }.hash()
    }

    #[test]
    fn what_was_asked_for_a_while_ago_is_forgotten() {
        let asked = AskedLately::new(8 << 20);
        for _ in 0..3 {
            assert!(!asked.again(hash(0)));
            assert!(asked.again(hash(0)));
        }
        // With 512 other keys, fewer than the cache has entries, half of the thousand are remembered. With
        // 2048 others, few are. With ten times as many, hardly one is.
        for (others, remembered) in [(512, 400..=600), (2 << 10, 150..=300), (20 << 10, 0..=10)] {
            for key in 1..=1000 {
                asked.again(hash(key << 12));
            }
            for other in 0..others {
                asked.again(hash((1 << 40) + (other << 12)));
            }
            let again = (1..=1000).filter(|key| asked.again(hash(key << 12))).count();
            assert!(
                remembered.contains(&again),
                "{again} of 1000 after {others} others"
            );
        }
    }
}

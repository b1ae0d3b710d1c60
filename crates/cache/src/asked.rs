//! Which keys were asked for lately: sixteen bits of each, in a table where later ones take the places of earlier ones.

use std::sync::atomic::{AtomicU16, Ordering};

/// Bytes of a typical entry. There is a place for each that a full cache has: whoever is asked for again after as many others, when it would
/// be about to be evicted had it come in, is remembered by one in three.
const ENTRY: usize = 4 << 10;
const FEWEST: usize = 1 << 10;
const MOST: usize = 1 << 24;

/// See the module. A wrong answer, which one in 65,536 is, does no harm: an entry comes in that might have waited, or waits once
/// more.
pub(crate) struct AskedLately {
    /// A power of two of them: 0, or bits of the hash that do not say which place it is.
    places: Box<[AtomicU16]>,
}

impl AskedLately {
    /// For a cache that begins with that capacity: the table takes a two-thousandth of it, beside what is charged.
    pub(crate) fn new(capacity: usize) -> AskedLately {
        let places = capacity / ENTRY;
        let places = places.clamp(FEWEST, MOST).next_power_of_two();
        AskedLately {
            places: (0..places).map(|_| AtomicU16::new(0)).collect(),
        }
    }

    /// True if a key of that hash was asked for lately, which is forgotten by that: what comes in and has to go again waits its turn. Else it
    /// was asked for from now on.
    pub(crate) fn again(&self, hash: u64) -> bool {
        // The bits between serve the table and the choice of a shard: any will do here.
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
        // With the thousand themselves, fewer others than the cache has entries: half are remembered. More: few. Ten times as many: hardly one.
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

//! A Bloom filter over the keys of a memtable, filled and queried concurrently.
//!
//! All bits of a key are in one cache line, so a query costs one line. An insertion sets the bits before any
//! thread can find the entry. A reader at a sequence number learned that number from a writer that had
//! inserted all rows up to it, and therefore sees all earlier writes to the filter too. So relaxed loads and
//! stores suffice, as they do for data published in the tree.

use std::fmt;
use std::sync::Arc;

use base::prefix::PrefixExtractor;
use base::{UserComparator, internal_key};
use twox_hash::XxHash3_64;

use crate::sync::{AtomicU64, Ordering};

/// The contents and the size of a memtable's filter.
#[derive(Clone)]
pub struct FilterOptions {
    /// The size of the filter in bytes, rounded up to whole cache lines. With ten bits a key, one in a
    /// hundred absent keys passes.
    pub bytes: usize,
    /// True to add whole keys to the filter, for point lookups.
    pub whole_keys: bool,
    /// Adds the prefixes of this extractor. Keys outside its domain always count as present, unless whole
    /// keys are queried.
    pub prefix_extractor: Option<Arc<dyn PrefixExtractor>>,
}

impl fmt::Debug for FilterOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FilterOptions")
            .field("bytes", &self.bytes)
            .field("whole_keys", &self.whole_keys)
            .field(
                "prefix_extractor",
                &self.prefix_extractor.as_ref().map(|p| p.name()),
            )
            .finish()
    }
}

/// The number of bits set for a key, as in RocksDB.
const PROBES: u32 = 6;

/// A cache line of bits.
#[derive(Default)]
#[repr(align(64))]
struct Line([AtomicU64; 8]);

pub(crate) struct Filter {
    lines: Box<[Line]>,
    whole_keys: bool,
    prefix_extractor: Option<Arc<dyn PrefixExtractor>>,
    cmp: UserComparator,
}

impl Filter {
    pub(crate) fn new(options: FilterOptions, cmp: UserComparator) -> Filter {
        let lines = options.bytes.div_ceil(size_of::<Line>()).max(1);
        Filter {
            lines: zeroed(lines),
            whole_keys: options.whole_keys,
            prefix_extractor: options.prefix_extractor,
            cmp,
        }
    }

    pub(crate) fn memory_usage(&self) -> usize {
        size_of_val(&*self.lines)
    }

    /// The extractor's prefix of a user key.
    fn prefix<'k>(&self, user_key: &'k [u8]) -> Option<&'k [u8]> {
        let extractor = self.prefix_extractor.as_ref()?;
        extractor.prefix_of(self.cmp.strip_timestamp(user_key))
    }

    /// Adds a key before any thread can find its entry.
    pub(crate) fn add(&self, user_key: &[u8]) {
        if let Some(prefix) = self.prefix(user_key) {
            self.set(prefix);
        }
        if self.whole_keys {
            self.set(self.cmp.strip_timestamp(user_key));
        }
    }

    /// False if no entry of that user key was added.
    pub(crate) fn may_contain(&self, user_key: &[u8]) -> bool {
        match self.whole_keys {
            true => self.has(self.cmp.strip_timestamp(user_key)),
            false => self.may_contain_prefix_of(user_key),
        }
    }

    /// False if no key with the prefix of `user_key` was added.
    pub(crate) fn may_contain_prefix_of(&self, user_key: &[u8]) -> bool {
        self.prefix(user_key).is_none_or(|prefix| self.has(prefix))
    }

    /// True if the filter [may contain](Filter::may_contain_prefix_of) the prefix of an internal key's user
    /// key; also true if `extractor` is not the one the filter was filled with.
    pub(crate) fn may_contain_prefix_by(&self, extractor: &dyn PrefixExtractor, internal_key: &[u8]) -> bool {
        let own = self.prefix_extractor.as_ref();
        own.is_none_or(|own| own.name() != extractor.name())
            || self.may_contain_prefix_of(internal_key::user_key(internal_key))
    }

    fn set(&self, bytes: &[u8]) {
        let hash = XxHash3_64::oneshot(bytes);
        let line = self.line(hash);
        for (word, bit) in probes(hash) {
            let word = &line.0[word];
            // A bit that is set already is not written again: most bits of a line in use are set, and a line
            // that is only read stays in every core's cache.
            if word.load(Ordering::Relaxed) & bit == 0 {
                word.fetch_or(bit, Ordering::Relaxed);
            }
        }
    }

    fn has(&self, bytes: &[u8]) -> bool {
        let hash = XxHash3_64::oneshot(bytes);
        let line = self.line(hash);
        probes(hash).all(|(word, bit)| line.0[word].load(Ordering::Relaxed) & bit != 0)
    }

    #[inline]
    fn line(&self, hash: u64) -> &Line {
        &self.lines[((u128::from(hash) * self.lines.len() as u128) >> 64) as usize]
    }
}

/// The words of a line to probe, with the bit in each.
#[inline]
fn probes(hash: u64) -> impl Iterator<Item = (usize, u64)> {
    // The upper bits chose the line, so the hash is mixed again.
    let mixed = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (0..PROBES).map(move |n| {
        let at = mixed >> (64 - 9 * (n + 1));
        ((at >> 6 & 7) as usize, 1 << (at & 63))
    })
}

/// Memory that costs nothing until it is written: the system supplies zeros page by page.
#[cfg(not(loom))]
fn zeroed(lines: usize) -> Box<[Line]> {
    let lines = Box::<[Line]>::new_zeroed_slice(lines);
    // SAFETY: zeros are a valid `Line`: words without a bit.
    unsafe { lines.assume_init() }
}

#[cfg(loom)]
fn zeroed(lines: usize) -> Box<[Line]> {
    (0..lines).map(|_| Line::default()).collect()
}

#[cfg(all(not(loom), test))]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn filter(bytes: usize, whole_keys: bool, extractor: Option<&str>) -> Filter {
        let options = FilterOptions {
            bytes,
            whole_keys,
            prefix_extractor: extractor.map(|name| base::prefix::builtin(name).unwrap()),
        };
        Filter::new(options, UserComparator::Bytewise)
    }

    #[test]
    fn what_was_added_is_always_there() {
        let mut rng = testkit::rng();
        for extractor in [None, Some("fixed:3"), Some("capped:2"), Some("noop")] {
            for whole_keys in [false, true] {
                let filter = filter(rng.usize(0..3000), whole_keys, extractor);
                for _ in 0..2000 {
                    let key: Vec<u8> = (0..rng.usize(0..6)).map(|_| rng.u8(..4)).collect();
                    filter.add(&key);
                    assert!(filter.may_contain(&key), "{key:?}");
                    assert!(filter.may_contain_prefix_of(&key), "{key:?}");
                    let longer = [&key[..], b"x"].concat();
                    // A key too short for a prefix is outside the extractor's domain.
                    if extractor == Some("fixed:3") && key.len() >= 3 {
                        assert!(filter.may_contain_prefix_of(&longer));
                    }
                }
            }
        }
    }

    #[test]
    fn ten_bits_a_key_let_one_in_a_hundred_pass() {
        let keys = 100_000_u32;
        let whole = filter(keys as usize * 10 / 8, true, None);
        let prefixes = filter(keys as usize * 10 / 8, false, Some("fixed:4"));
        for key in 0..keys {
            whole.add(&key.to_be_bytes());
            prefixes.add(&[&key.to_be_bytes()[..], b"behind"].concat());
        }
        for (what, filter) in [("keys", &whole), ("prefixes", &prefixes)] {
            let passed = (keys..2 * keys).filter(|key| filter.may_contain(&key.to_be_bytes()));
            let passed = passed.count();
            assert!((200..2500).contains(&passed), "{passed} of {keys} {what}");
        }
        // With whole keys and no prefixes, nothing is known about prefixes.
        assert!(whole.may_contain_prefix_of(&keys.to_be_bytes()));
    }

    #[test]
    fn keys_spread_over_lines_and_bits() {
        let filter = filter(64 * 100, true, None);
        let hashes = (0..10_000_u32).map(|key| XxHash3_64::oneshot(&key.to_le_bytes()));
        let (mut lines, mut bits) = (HashSet::new(), HashSet::new());
        for hash in hashes {
            lines.insert(std::ptr::from_ref(filter.line(hash)));
            bits.extend(probes(hash));
        }
        assert_eq!((lines.len(), bits.len()), (100, 512));
    }

    #[test]
    fn another_extractor_is_not_asked() {
        let filter = filter(1000, true, Some("fixed:2"));
        filter.add(b"abc");
        let other = base::prefix::builtin("fixed:1").unwrap();
        let same = base::prefix::builtin("fixed:2").unwrap();
        let absent = b"xyz\x01\x01\0\0\0\0\0\0";
        assert!(filter.may_contain_prefix_by(&*other, absent));
        assert!(!filter.may_contain_prefix_by(&*same, absent));
        assert!(filter.may_contain_prefix_by(&*same, b"abz\x01\x01\0\0\0\0\0\0"));
        // Nothing is known about a key without a prefix.
        assert!(filter.may_contain_prefix_by(&*same, b"x\x01\x01\0\0\0\0\0\0"));
    }

    #[test]
    fn timestamps_are_left_out() {
        let cmp = UserComparator::builtin("leveldb.BytewiseComparator.u64ts").unwrap();
        let options = FilterOptions {
            bytes: 1000,
            whole_keys: true,
            prefix_extractor: None,
        };
        let filter = Filter::new(options, cmp);
        filter.add(b"key\0\0\0\0\0\0\0\x01");
        assert!(filter.may_contain(b"key\0\0\0\0\0\0\0\x07"));
        assert!(!filter.may_contain(b"kez\0\0\0\0\0\0\0\x07"));
    }
}

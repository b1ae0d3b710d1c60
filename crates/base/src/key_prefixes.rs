//! A sorted run of keys as an array of eight-byte prefixes, so that most of a search never reads a key.

use std::cmp::Ordering;
use std::ops::Range;

use crate::comparator::{UserComparator, shared_len};

/// Maps keys to numbers that sort as the keys do, except for ties: the eight bytes after the prefix that a
/// set of keys shares.
///
/// Any key has a rank, including keys outside the set. Orders other than RocksDB's four built-in ones give
/// every key the rank 0.
#[derive(Clone, Debug, Default)]
pub struct KeyRank {
    order: RankOrder,
    shared: Box<[u8]>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum RankOrder {
    /// A larger key has a larger rank.
    #[default]
    Forward,
    /// A larger key, compared as bytes, has a smaller rank.
    Reverse,
    /// The bytes of a key do not determine its place in the order.
    Unknown,
}

impl KeyRank {
    /// The ranks of the keys from `first` to `last`, which have no timestamps.
    pub fn new(cmp: &UserComparator, first: &[u8], last: &[u8]) -> KeyRank {
        let order = match cmp {
            UserComparator::Bytewise | UserComparator::BytewiseU64Ts => RankOrder::Forward,
            UserComparator::ReverseBytewise | UserComparator::ReverseBytewiseU64Ts => RankOrder::Reverse,
            UserComparator::Custom(_) => RankOrder::Unknown,
        };
        let shared = match order {
            RankOrder::Unknown => Box::default(),
            _ => first[..shared_len(first, last)].into(),
        };
        KeyRank { order, shared }
    }

    /// The rank of `key` (without timestamp): the rank of a smaller key is not larger, that of a larger key
    /// not smaller.
    #[inline]
    pub fn rank(&self, key: &[u8]) -> u64 {
        let forward = if begins_with(key, &self.shared) {
            leading_u64(&key[self.shared.len()..])
        } else if *key < *self.shared {
            0
        } else {
            u64::MAX
        };
        match self.order {
            RankOrder::Forward => forward,
            RankOrder::Reverse => !forward,
            RankOrder::Unknown => 0,
        }
    }
}

/// A sorted run of user keys, represented by their [ranks](KeyRank).
///
/// A search narrows the run down to the keys whose rank equals the target's, nearly always none or one; only
/// those are compared in full. Timestamps are ignored, so keys that differ only in their timestamps tie.
/// Takes eight bytes a key.
#[derive(Clone, Debug, Default)]
pub struct KeyPrefixes {
    rank: KeyRank,
    len: usize,
    /// Empty if the order is unknown.
    ranks: Box<[u64]>,
}

/// The first eight bytes as a big-endian number, padded with zeros.
#[inline]
pub fn leading_u64(bytes: &[u8]) -> u64 {
    if let Some(&chunk) = bytes.first_chunk() {
        return u64::from_be_bytes(chunk);
    }
    let missing = 8 * (8 - bytes.len() as u32);
    match (bytes.first_chunk(), bytes.last_chunk()) {
        // The first and the last four bytes of the slice overlap, and put the common bytes in the same place
        // of the number.
        (Some(&first), Some(&last)) => {
            u64::from(u32::from_be_bytes(first)) << 32 | u64::from(u32::from_be_bytes(last)) << missing
        }
        _ => {
            let value = bytes.iter().fold(0, |value, &byte| value << 8 | u64::from(byte));
            value.checked_shl(missing).unwrap_or(0)
        }
    }
}

/// `key.starts_with(prefix)` without a call for prefixes up to 16 bytes.
#[inline]
pub fn begins_with(key: &[u8], prefix: &[u8]) -> bool {
    let Some(start) = key.get(..prefix.len()) else {
        return false;
    };
    match prefix.len() {
        0..8 => leading_u64(start) == leading_u64(prefix),
        8..=16 => {
            start.first_chunk::<8>() == prefix.first_chunk() && start.last_chunk::<8>() == prefix.last_chunk()
        }
        _ => start == prefix,
    }
}

impl KeyPrefixes {
    /// The ranks of `len` user keys; `key(i)` returns them in the order of `cmp` and without timestamp.
    /// Linear time.
    pub fn new<'a>(cmp: &UserComparator, len: usize, key: impl Fn(usize) -> &'a [u8]) -> KeyPrefixes {
        KeyPrefixes::derive(cmp, len, key, &KeyPrefixes::default(), |_| None)
    }

    /// Makes the prefixes of a run that shares most keys with `old`: `origin(i)` is the index of key `i`
    /// in `old`. If both runs share the same leading bytes, the old prefixes are copied and those keys are
    /// not read.
    pub fn derive<'a>(
        cmp: &UserComparator,
        len: usize,
        key: impl Fn(usize) -> &'a [u8],
        old: &KeyPrefixes,
        origin: impl Fn(usize) -> Option<usize>,
    ) -> KeyPrefixes {
        if len == 0 {
            return KeyPrefixes::default();
        }
        let rank = KeyRank::new(cmp, key(0), key(len - 1));
        if rank.order == RankOrder::Unknown {
            return KeyPrefixes {
                rank,
                len,
                ranks: Box::default(),
            };
        }
        let same = !old.is_empty() && old.rank.order == rank.order && old.rank.shared == rank.shared;
        let rank_of = |i| match origin(i) {
            Some(from) if same => old.ranks[from],
            _ => rank.rank(key(i)),
        };
        KeyPrefixes {
            ranks: (0..len).map(rank_of).collect(),
            rank,
            len,
        }
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are no keys.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The heap memory in use, in bytes.
    pub fn memory_usage(&self) -> usize {
        self.rank.shared.len() + size_of_val(&*self.ranks)
    }

    /// The rank of any key, given without timestamp, for [`compare_at`](Self::compare_at).
    #[inline]
    pub fn rank(&self, key: &[u8]) -> u64 {
        self.rank.rank(key)
    }

    /// Compares key `i` with the key of rank `rank`. The result `Equal` decides nothing: the keys must then
    /// be compared in full.
    #[inline]
    pub fn compare_at(&self, i: usize, rank: u64) -> Ordering {
        self.ranks.get(i).map_or(Ordering::Equal, |own| own.cmp(&rank))
    }

    /// The range of keys that tie with `key` (given without timestamp). Keys before the range are smaller,
    /// keys after it larger.
    #[inline]
    pub fn ties(&self, key: &[u8]) -> Range<usize> {
        if self.rank.order == RankOrder::Unknown {
            return 0..self.len;
        }
        let rank = self.rank.rank(key);
        let first = self.ranks.partition_point(|&other| other < rank);
        let mut last = first;
        if self.ranks.get(first) == Some(&rank) {
            last += self.ranks[first..].partition_point(|&other| other == rank);
        }
        first..last
    }

    /// The index of the first key that is not `before` the target; `key` is the target, and `before` is
    /// called for ties alone.
    #[inline]
    pub fn partition_point(&self, key: &[u8], mut before: impl FnMut(usize) -> bool) -> usize {
        let Range { mut start, mut end } = self.ties(key);
        while start < end {
            let middle = start + (end - start) / 2;
            if before(middle) {
                start = middle + 1;
            } else {
                end = middle;
            }
        }
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random_key(rng: &mut fastrand::Rng, shared: &str) -> Vec<u8> {
        let mut key = if rng.u8(..) < 240 {
            shared.as_bytes().to_vec()
        } else {
            Vec::new()
        };
        key.extend((0..rng.usize(..12)).map(|_| *rng.choice(&[0, 1, b'a', 0xff]).unwrap_or(&0)));
        key
    }

    #[test]
    fn short_keys_are_filled_up_with_zeros() {
        for len in 0..12 {
            let bytes: Vec<u8> = (0..len).map(|i| 0xf1 + i).collect();
            let mut chunk = [0; 8];
            let filled = bytes.len().min(8);
            chunk[..filled].copy_from_slice(&bytes[..filled]);
            assert_eq!(leading_u64(&bytes), u64::from_be_bytes(chunk));
        }
    }

    #[test]
    fn shared_prefixes_at_every_length() {
        for len in 0..40 {
            let a = vec![1; len];
            for common in 0..len {
                let mut b = a.clone();
                b[common] = 2;
                assert_eq!(shared_len(&a, &b), common);
                assert_eq!(shared_len(&a, &b[..common]), common);
            }
            assert_eq!(shared_len(&a, &a), len);
        }
    }

    #[test]
    fn searches_agree_with_full_comparisons_in_every_order() {
        // The seed of the test follows the rule of `testkit::rng`, which depends on this crate and cannot be
        // used here.
        let seed = match std::env::var("ESKER_SEED").as_deref() {
            Ok("random") => crate::env::fresh_seed(),
            Ok(seed) => seed.parse().unwrap(),
            Err(_) => 400,
        };
        let mut rng = fastrand::Rng::with_seed(seed);
        for round in 0..400 {
            let cmp = [UserComparator::Bytewise, UserComparator::ReverseBytewise][round % 2].clone();
            let shared = *rng
                .choice(&["", "k", "user00000000", "a prefix longer than sixteen bytes"])
                .unwrap();
            let mut keys: Vec<_> = (0..rng.usize(..40))
                .map(|_| random_key(&mut rng, shared))
                .collect();
            keys.sort_by(|a, b| cmp.compare(a, b));
            keys.dedup();
            let prefixes = KeyPrefixes::new(&cmp, keys.len(), |i| &keys[i]);
            let kept: Vec<usize> = (0..keys.len()).filter(|_| rng.bool()).collect();
            let derived = KeyPrefixes::derive(
                &cmp,
                kept.len(),
                |i| &keys[kept[i]],
                &prefixes,
                |i| Some(kept[i]).filter(|i| i % 3 > 0),
            );
            for _ in 0..60 {
                let key = random_key(&mut rng, shared);
                let want = keys.partition_point(|other| cmp.compare(other, &key).is_lt());
                let got = prefixes.partition_point(&key, |i| cmp.compare(&keys[i], &key).is_lt());
                assert_eq!(got, want, "seed {seed}: {keys:?} {key:?}");
                let rank = prefixes.rank(&key);
                for (i, other) in keys.iter().enumerate() {
                    let order = prefixes.compare_at(i, rank);
                    assert!(order.is_eq() || order == cmp.compare(other, &key), "seed {seed}");
                }
                let want = kept.partition_point(|&i| cmp.compare(&keys[i], &key).is_lt());
                let got = derived.partition_point(&key, |i| cmp.compare(&keys[kept[i]], &key).is_lt());
                assert_eq!(got, want, "seed {seed}: derived {kept:?} of {keys:?} {key:?}");
            }
        }
    }
}

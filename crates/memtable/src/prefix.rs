//! Eight bytes that stand for a key: where they differ, the keys differ the same way.

use base::UserComparator;

/// How a memtable makes prefixes: a map from user keys to integers that never turns their order round.
/// Where two prefixes are equal, the keys themselves decide.
#[derive(Clone, Debug)]
pub(crate) struct PrefixRule {
    kind: Kind,
    /// Bytes of the timestamp at the end of each key, which the prefix leaves out.
    timestamp: usize,
    /// What most keys are expected to begin with; the prefix is of what follows.
    common: Box<[u8]>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Ascending,
    Descending,
    /// An order nothing is known of: every prefix is 0.
    Unknown,
}

impl PrefixRule {
    pub(crate) fn new(cmp: &UserComparator, common: &[u8]) -> PrefixRule {
        PrefixRule {
            kind: match cmp {
                UserComparator::Bytewise | UserComparator::BytewiseU64Ts => Kind::Ascending,
                UserComparator::ReverseBytewise | UserComparator::ReverseBytewiseU64Ts => Kind::Descending,
                UserComparator::Custom(_) => Kind::Unknown,
            },
            timestamp: cmp.timestamp_size(),
            common: common.into(),
        }
    }

    #[inline]
    pub(crate) fn prefix(&self, user_key: &[u8]) -> u64 {
        let key = &user_key[..user_key.len().saturating_sub(self.timestamp)];
        match self.kind {
            Kind::Ascending => self.ascending(key),
            Kind::Descending => !self.ascending(key),
            Kind::Unknown => 0,
        }
    }

    #[inline]
    fn ascending(&self, key: &[u8]) -> u64 {
        if self.common.is_empty() {
            return big_endian(key);
        }
        match key.get(..self.common.len()) {
            Some(start) if *start == *self.common => big_endian(&key[self.common.len()..]),
            // Outside: all such keys before, or all behind, those that begin with the common bytes.
            _ if *key < *self.common => 0,
            _ => u64::MAX,
        }
    }

    /// What all keys from `first` to `last` begin with, as [`new`](Self::new) takes it for another memtable of this order.
    pub(crate) fn common_prefix<'a>(&self, first: &'a [u8], last: &[u8]) -> &'a [u8] {
        if matches!(self.kind, Kind::Unknown) {
            return &[];
        }
        let [first_key, last_key] = [first, last].map(|key| key.len().saturating_sub(self.timestamp));
        let shared = first[..first_key].iter().zip(&last[..last_key]);
        &first[..shared.take_while(|(a, b)| a == b).count()]
    }
}

/// The first eight bytes, as if zeros followed the end.
#[inline]
pub(crate) fn big_endian(key: &[u8]) -> u64 {
    match key.first_chunk() {
        Some(&chunk) => u64::from_be_bytes(chunk),
        None => {
            let mut chunk = [0; 8];
            chunk[..key.len()].copy_from_slice(key);
            u64::from_be_bytes(chunk)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Ordering;

    #[test]
    fn prefixes_never_turn_the_order_round() {
        let mut rng = testkit::rng();
        for name in [
            "leveldb.BytewiseComparator",
            "rocksdb.ReverseBytewiseComparator",
            "leveldb.BytewiseComparator.u64ts",
            "rocksdb.ReverseBytewiseComparator.u64ts",
        ] {
            let cmp = UserComparator::builtin(name).unwrap();
            for common in [&b""[..], b"k", b"key-of-many-bytes"] {
                let rule = PrefixRule::new(&cmp, common);
                let mut key = || {
                    let mut key = b"key-of-many-bytes"[..rng.usize(0..=17)].to_vec();
                    let len = rng.usize(0..12);
                    key.extend((0..len).map(|_| *rng.pick(&[0, 1, b'k', 0xff])));
                    key.extend(vec![rng.u8(..3); cmp.timestamp_size()]);
                    key
                };
                for _ in 0..2000 {
                    let (a, b) = (key(), key());
                    let by_prefix = rule.prefix(&a).cmp(&rule.prefix(&b));
                    assert!(
                        by_prefix == Ordering::Equal || by_prefix == cmp.compare(&a, &b),
                        "{a:?} {b:?} {name}"
                    );
                }
            }
        }
    }
}

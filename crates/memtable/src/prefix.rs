//! A few bits that stand for a key within a node: where they differ, the keys differ the same way.

use base::UserComparator;

/// Bits of a prefix.
pub(crate) const PREFIX_BITS: u32 = 17;

/// How keys of an order map to integers without ever turning the order round. Where two are equal, the keys
/// themselves decide.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PrefixRule {
    kind: Kind,
    /// Bytes of the timestamp at the end of each key, which the prefix leaves out.
    timestamp: usize,
    /// Keys may be checked against one of the tree: not where entries are expected to be damaged.
    pub(crate) checks: bool,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Ascending,
    Descending,
    /// An order nothing is known of: every prefix is 0.
    Unknown,
}

impl PrefixRule {
    pub(crate) fn new(cmp: &UserComparator, checks: bool) -> PrefixRule {
        PrefixRule {
            kind: match cmp {
                UserComparator::Bytewise | UserComparator::BytewiseU64Ts => Kind::Ascending,
                UserComparator::ReverseBytewise | UserComparator::ReverseBytewiseU64Ts => Kind::Descending,
                UserComparator::Custom(_) => Kind::Unknown,
            },
            timestamp: cmp.timestamp_size(),
            checks,
        }
    }

    #[inline]
    fn strip<'a>(&self, user_key: &'a [u8]) -> &'a [u8] {
        &user_key[..user_key.len().saturating_sub(self.timestamp)]
    }

    /// Bits that two keys, and so all keys between them, begin with. 0 in an order nothing is known of.
    pub(crate) fn common_bits(&self, first: &[u8], last: &[u8]) -> usize {
        if matches!(self.kind, Kind::Unknown) {
            return 0;
        }
        let (first, last) = (self.strip(first), self.strip(last));
        let bytes = base::shared_len(first, last);
        let bits = match (first.get(bytes), last.get(bytes)) {
            (Some(a), Some(b)) => (a ^ b).leading_zeros() as usize,
            _ => 0,
        };
        8 * bytes + bits
    }

    /// The prefix of a key from its bit `skip` on, among keys that all begin with the same `skip` bits.
    #[inline]
    pub(crate) fn prefix(&self, user_key: &[u8], skip: usize) -> u32 {
        match self.kind {
            Kind::Ascending => cut(big_endian(self.strip(user_key), skip / 8), skip),
            Kind::Descending => cut(!big_endian(self.strip(user_key), skip / 8), skip),
            Kind::Unknown => 0,
        }
    }

    /// The same where some keys may not begin with the first `skip` bits of `reference`, which are whole bytes: those before
    /// take the least prefix there is, and those behind the greatest.
    #[inline]
    pub(crate) fn prefix_checked(&self, user_key: &[u8], skip: usize, reference: &[u8]) -> u32 {
        let key = self.strip(user_key);
        let common = &reference[..skip / 8];
        let ascending = match key.get(..skip / 8) {
            Some(start) if start == common => big_endian(key, skip / 8),
            _ if key < common => 0,
            _ => u32::MAX,
        };
        match self.kind {
            Kind::Ascending => cut(ascending, 0),
            Kind::Descending => cut(!ascending, 0),
            Kind::Unknown => 0,
        }
    }
}

/// The prefix out of the four bytes in which it begins.
#[inline]
fn cut(bytes: u32, skip: usize) -> u32 {
    (bytes << (skip % 8)) >> (u32::BITS - PREFIX_BITS)
}

/// Four bytes from `skip` on, as if zeros followed the end.
#[inline]
fn big_endian(key: &[u8], skip: usize) -> u32 {
    let rest = key.get(skip..).unwrap_or_default();
    match rest.first_chunk() {
        Some(&chunk) => u32::from_be_bytes(chunk),
        None => rest
            .iter()
            .zip([24, 16, 8])
            .fold(0, |sum, (&byte, shift)| sum | u32::from(byte) << shift),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Ordering;

    #[test]
    fn prefixes_never_turn_the_order_round() {
        let mut rng = testkit::rng();
        let start = b"key-of-many-bytes";
        for name in [
            "leveldb.BytewiseComparator",
            "rocksdb.ReverseBytewiseComparator",
            "leveldb.BytewiseComparator.u64ts",
            "rocksdb.ReverseBytewiseComparator.u64ts",
        ] {
            let cmp = UserComparator::builtin(name).unwrap();
            let rule = PrefixRule::new(&cmp, true);
            for skip in [0, 1, 5, 17] {
                let bits = 8 * skip;
                let mut key = |shared: usize| {
                    let mut key = start[..rng.usize(shared..=17)].to_vec();
                    let len = rng.usize(0..8);
                    key.extend((0..len).map(|_| *rng.pick(&[0, 1, b'k', 0xff])));
                    key.extend(vec![rng.u8(..3); cmp.timestamp_size()]);
                    key
                };
                for _ in 0..2000 {
                    let (a, b) = (key(skip), key(skip));
                    let common = rule.common_bits(&a, &b);
                    assert!(common >= bits);
                    for bits in [bits, common, (bits + common) / 2] {
                        let [x, y] = [&a, &b].map(|key| rule.prefix(key, bits));
                        assert!(x < 1 << PREFIX_BITS && y < 1 << PREFIX_BITS);
                        let order = x.cmp(&y);
                        assert!(
                            order == Ordering::Equal || order == cmp.compare(&a, &b),
                            "{a:?} {b:?} {name}"
                        );
                    }

                    let (a, b) = (key(0), key(0));
                    let [x, y] = [&a, &b].map(|key| rule.prefix_checked(key, bits, start));
                    let order = x.cmp(&y);
                    assert!(
                        order == Ordering::Equal || order == cmp.compare(&a, &b),
                        "{a:?} {b:?} {name}"
                    );
                }
            }
        }
    }
}

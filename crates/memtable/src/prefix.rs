//! Key prefixes: a few bits that stand for a key within a node. Where they differ, the keys differ the same
//! way.

use std::cmp::Ordering;

use base::UserComparator;

/// The number of bits of a prefix.
pub(crate) const PREFIX_BITS: u32 = 17;

/// The mapping of keys to integers for an order: it never reverses the order. If two integers are equal, the
/// keys themselves decide.
#[derive(Clone, Debug)]
pub(crate) struct PrefixRule {
    kind: Kind,
    /// Bytes of the timestamp at the end of each key, which the prefix leaves out.
    timestamp: usize,
    /// True if keys may be checked against a key of the tree; false if entries may be corrupt.
    pub(crate) checks: bool,
}

#[derive(Clone, Debug)]
enum Kind {
    Ascending,
    Descending,
    /// A custom order that returns the leading parts of a key, which it compares first.
    Parts(UserComparator),
    /// A custom order without such information: every prefix is 0.
    Unknown,
}

impl PrefixRule {
    pub(crate) fn new(cmp: &UserComparator, checks: bool) -> PrefixRule {
        PrefixRule {
            kind: match cmp {
                UserComparator::Bytewise | UserComparator::BytewiseU64Ts => Kind::Ascending,
                UserComparator::ReverseBytewise | UserComparator::ReverseBytewiseU64Ts => Kind::Descending,
                UserComparator::Custom(_) if cmp.leading_parts(&[]).is_some() => Kind::Parts(cmp.clone()),
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

    /// The number of bits that two keys, and so all keys between them, begin with. 0 for an unknown order.
    pub(crate) fn common_bits(&self, first: &[u8], last: &[u8]) -> usize {
        match &self.kind {
            Kind::Unknown => 0,
            Kind::Parts(order) => Parts::of(order, first).common_bits(&Parts::of(order, last)),
            _ => PrefixRule::common_bits_of(self.strip(first), self.strip(last)),
        }
    }

    fn common_bits_of(first: &[u8], last: &[u8]) -> usize {
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
        match &self.kind {
            Kind::Ascending => cut(big_endian(self.strip(user_key), skip / 8), skip),
            Kind::Descending => cut(!big_endian(self.strip(user_key), skip / 8), skip),
            Kind::Parts(order) => Parts::of(order, user_key).prefix(skip),
            Kind::Unknown => 0,
        }
    }

    /// The prefix of a key from its bit `skip` on, where some keys may not begin with the first `skip` bits
    /// of `reference`, which are whole bytes. Keys that sort before these bits get the least prefix, and keys
    /// after them the greatest.
    #[inline]
    pub(crate) fn prefix_checked(&self, user_key: &[u8], skip: usize, reference: &[u8]) -> u32 {
        let ascending = |key: &[u8]| PrefixRule::checked(key, &reference[..skip / 8]);
        match &self.kind {
            Kind::Ascending => cut(ascending(self.strip(user_key)), 0),
            Kind::Descending => cut(!ascending(self.strip(user_key)), 0),
            Kind::Parts(order) => {
                Parts::of(order, user_key).prefix_checked(skip, &Parts::of(order, reference))
            }
            Kind::Unknown => 0,
        }
    }

    /// The four bytes after `common`, of a key that may not begin with `common`.
    #[inline]
    fn checked(key: &[u8], common: &[u8]) -> u32 {
        match key.get(..common.len()) {
            Some(start) if start == common => big_endian(key, common.len()),
            _ if key < common => 0,
            _ => u32::MAX,
        }
    }
}

/// The number of bits by which a custom order distinguishes keys with equal leading bytes.
const NUMBER_BITS: usize = u64::BITS as usize;

/// A key in the form of [`leading_parts`](base::Comparator::leading_parts).
///
/// Its bits are those of the leading bytes, a byte for their end, and those of the number. The bits after the
/// end only help if all keys have equal leading bytes: then more bits are skipped than the leading bytes
/// have. A prefix that begins in the leading bytes ends with them, as if zeros followed, because other keys
/// of the node may continue there.
struct Parts<'a> {
    leading: &'a [u8],
    number: u64,
}

impl<'a> Parts<'a> {
    #[inline]
    fn of(order: &UserComparator, user_key: &'a [u8]) -> Parts<'a> {
        let (leading, number) = order.leading_parts(user_key).unwrap_or((user_key, 0));
        Parts { leading, number }
    }

    /// The number of bits of `number` that are skipped if at least the leading bytes are; `None` if they are
    /// not.
    #[inline]
    fn skipped_of_number(&self, skip: usize) -> Option<usize> {
        skip.checked_sub(8 * self.leading.len() + 8)
    }

    fn common_bits(&self, other: &Parts<'_>) -> usize {
        match self.leading == other.leading {
            true => 8 * self.leading.len() + 8 + (self.number ^ other.number).leading_zeros() as usize,
            false => PrefixRule::common_bits_of(self.leading, other.leading),
        }
    }

    fn prefix(&self, skip: usize) -> u32 {
        match self.skipped_of_number(skip) {
            Some(bits) => cut(high_bits(self.number, bits), 0),
            None => cut(big_endian(self.leading, skip / 8), skip),
        }
    }

    fn prefix_checked(&self, skip: usize, reference: &Parts<'_>) -> u32 {
        let Some(bits) = reference.skipped_of_number(skip) else {
            return cut(
                PrefixRule::checked(self.leading, &reference.leading[..skip / 8]),
                0,
            );
        };
        let skipped = |number: u64| number.checked_shr((NUMBER_BITS - bits) as u32).unwrap_or(0);
        let order = self.leading.cmp(reference.leading);
        let prefix = match order.then_with(|| skipped(self.number).cmp(&skipped(reference.number))) {
            Ordering::Less => 0,
            Ordering::Equal => high_bits(self.number, bits),
            Ordering::Greater => u32::MAX,
        };
        cut(prefix, 0)
    }
}

/// The 32 bits of a number after the first `skip`, as if zeros followed the end.
#[inline]
fn high_bits(number: u64, skip: usize) -> u32 {
    (number.checked_shl(skip as u32).unwrap_or(0) >> (NUMBER_BITS - 32)) as u32
}

/// Returns the prefix of a key from the four bytes in which the prefix begins.
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

    /// Keys end in a byte that gives the number of bytes before it which form a number; the number is
    /// compared last and in reverse.
    struct NumbersBackwards;

    impl base::Comparator for NumbersBackwards {
        fn name(&self) -> &str {
            "numbers backwards"
        }
        fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
            let parts = |key| self.leading_parts(key).unwrap();
            parts(a).cmp(&parts(b)).then_with(|| a.cmp(b))
        }
        fn leading_parts<'a>(&self, key: &'a [u8]) -> Option<(&'a [u8], u64)> {
            let (leading, number) = key.split_at(key.len().saturating_sub(2));
            let number = number.first_chunk().map_or(0, |bytes| u16::from_be_bytes(*bytes));
            Some((leading, u64::MAX << 16 | u64::from(!number)))
        }
    }

    #[test]
    fn prefixes_of_parts_never_turn_the_order_round() {
        let mut rng = testkit::rng();
        let cmp = UserComparator::Custom(std::sync::Arc::new(NumbersBackwards));
        let rule = PrefixRule::new(&cmp, true);
        let mut key = |start: &[u8]| {
            let mut key = start[..rng.usize(..=start.len())].to_vec();
            let len = rng.usize(..3);
            key.extend((0..len).map(|_| *rng.pick(&[0, 1, b'k', 0xff])));
            key.extend([*rng.pick(&[0, 1, 0x80, 0xff]), *rng.pick(&[0, 1, 0x80, 0xff])]);
            key
        };
        let (mut told_apart, mut by_number) = (0, 0);
        for round in 0..20_000 {
            let (mut low, mut high) = (key(b"kkk"), key(b"kkk"));
            let (mut a, mut b) = (key(&low), key(&high));
            if round % 2 == 0 {
                // The keys have equally long numbers, and differ only in their ends.
                let leading = low[..low.len() - 2].to_vec();
                for key in [&mut low, &mut high, &mut a, &mut b] {
                    key.splice(..key.len() - 2, leading.iter().copied());
                }
            }
            if cmp.compare(&low, &high).is_ge() {
                continue;
            }
            let between = |key: &Vec<u8>| cmp.compare(&low, key).is_le() && cmp.compare(key, &high).is_le();
            let skip = rule.common_bits(&low, &high);
            let order = cmp.compare(&a, &b);
            if between(&a) && between(&b) {
                let prefixes = rule.prefix(&a, skip).cmp(&rule.prefix(&b, skip));
                assert!(
                    prefixes == Ordering::Equal || prefixes == order,
                    "{low:?} {a:?} {b:?} {high:?}"
                );
                told_apart += u32::from(prefixes.is_ne());
                by_number += u32::from(prefixes.is_ne() && a[..a.len() - 2] == b[..b.len() - 2]);
            }
            let skip = skip & !7;
            let [x, y] = [&a, &b].map(|key| rule.prefix_checked(key, skip, &low));
            assert!(x == y || x.cmp(&y) == order, "{low:?} {a:?} {b:?} {high:?}");
        }
        assert!(told_apart > 200 && by_number > 100, "{told_apart} {by_number}");
    }
}

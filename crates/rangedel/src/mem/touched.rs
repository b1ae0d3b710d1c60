//! The places in the key space where a memtable has range tombstones: most keys are under none, and one bit
//! shows that.
//!
//! Keys are mapped to numbers in ascending order, and the numbers from the first to the last key are divided
//! into buckets. A bucket's bit is set when a tombstone extends into it, and never cleared. A key under a
//! tombstone is in a bucket from that of its start to that of its end, so a key whose bit is not set is under
//! none. Keys beyond the outer ones belong to the outer buckets.
//!
//! Bits are set before the tombstone can be found, so every reader that must see the tombstone sees them.

use std::sync::atomic::{AtomicU64, Ordering};

use base::UserComparator;

/// The number of buckets for each tombstone, so that few are touched.
const BUCKETS_PER_TOMBSTONE: usize = 32;
/// The minimum number of buckets.
const MIN_BUCKETS: usize = 1 << 10;
/// The maximum number of buckets: one tombstone may touch all of them.
const MAX_BUCKETS: usize = 1 << 18;
/// The number of bytes of a key that count.
const MAX_DIGITS: usize = 8;

/// The bits of the buckets of the key space that tombstones extend into.
#[derive(Debug)]
pub(super) struct Touched {
    scale: Scale,
    /// The number of the first key.
    low: u64,
    /// The binary logarithm of the size of a bucket.
    shift: u32,
    bits: Box<[AtomicU64]>,
    /// The number of tombstones for which the table was made.
    room: usize,
}

/// Tombstones as pairs of keys without timestamps, first and last, in any order.
pub(super) trait Spans {
    /// Calls `visit` with each touched key.
    fn each(&self, visit: &mut dyn FnMut(&[u8], &[u8]));
}

impl Touched {
    /// Buckets for the `tombstones` of `spans`, all between the keys `first` and `last`, with room for as
    /// many more. `None` if bytes do not order keys. Linear.
    pub fn new(
        cmp: &UserComparator,
        (first, last): (&[u8], &[u8]),
        tombstones: usize,
        spans: &dyn Spans,
    ) -> Option<Touched> {
        let by_bytes = matches!(cmp, UserComparator::Bytewise | UserComparator::BytewiseU64Ts);
        if !by_bytes {
            return None;
        }
        let scale = Scale::new(first, last, spans);
        let low = scale.number(first);
        let room = tombstones * 2;
        let buckets = (room * BUCKETS_PER_TOMBSTONE)
            .clamp(MIN_BUCKETS, MAX_BUCKETS)
            .next_power_of_two();
        let span = scale.number(last).saturating_sub(low);
        let touched = Touched {
            shift: (u64::BITS - span.leading_zeros()).saturating_sub(buckets.trailing_zeros()),
            bits: (0..buckets / 64).map(|_| AtomicU64::new(0)).collect(),
            scale,
            low,
            room,
        };
        spans.each(&mut |start, end| touched.touch(start, end));
        Some(touched)
    }

    /// False if this many tombstones require a larger table.
    pub fn has_room_for(&self, tombstones: usize) -> bool {
        tombstones <= self.room
    }

    /// The memory of the buckets in bytes.
    pub fn memory_usage(&self) -> usize {
        size_of::<Touched>() + self.scale.shared.len() + size_of_val(&*self.bits)
    }

    /// Records the tombstone `[start, end)`, keys without timestamps. Must be called before readers can find
    /// it.
    pub fn touch(&self, start: &[u8], end: &[u8]) {
        let (first, last) = (self.bucket(start), self.bucket(end));
        for word in first / 64..=last / 64 {
            let from = first.max(word * 64) % 64;
            let to = last.min(word * 64 + 63) % 64;
            let mask = (u64::MAX << from) & (u64::MAX >> (63 - to));
            self.bits[word].fetch_or(mask, Ordering::Relaxed);
        }
    }

    /// False if no tombstone covers `key`, which has no timestamp.
    #[inline]
    pub fn may_cover(&self, key: &[u8]) -> bool {
        let bucket = self.bucket(key);
        self.bits[bucket / 64].load(Ordering::Relaxed) >> (bucket % 64) & 1 != 0
    }

    #[inline]
    fn bucket(&self, key: &[u8]) -> usize {
        let number = self.scale.number(key).saturating_sub(self.low) >> self.shift;
        let last = self.bits.len() * 64 - 1;
        usize::try_from(number).map_or(last, |bucket| bucket.min(last))
    }
}

/// Maps keys to ascending numbers that are close together where the keys are: the bytes after the common
/// prefix of all keys are digits, each between the least and the greatest byte that any key has there. So
/// text leaves no gaps between its few characters.
#[derive(Debug)]
struct Scale {
    shared: Box<[u8]>,
    digits: [Digit; MAX_DIGITS],
    len: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Digit {
    least: u8,
    greatest: u8,
    /// The increase of a key's number for one unit of this digit.
    weight: u64,
}

impl Digit {
    fn values(self) -> u64 {
        u64::from(self.greatest - self.least) + 1
    }
}

impl Scale {
    fn new(first: &[u8], last: &[u8], spans: &dyn Spans) -> Scale {
        let shared = &first[..base::shared_len(first, last)];
        let mut digits: [Option<Digit>; MAX_DIGITS] = [None; MAX_DIGITS];
        let mut widen = |key: &[u8]| {
            let rest = key.strip_prefix(shared).unwrap_or_default();
            for (digit, &byte) in digits.iter_mut().zip(rest) {
                let digit = digit.get_or_insert(Digit {
                    least: byte,
                    greatest: byte,
                    weight: 0,
                });
                digit.least = digit.least.min(byte);
                digit.greatest = digit.greatest.max(byte);
            }
        };
        spans.each(&mut |start, end| {
            widen(start);
            widen(end);
        });
        let mut scale = Scale {
            shared: shared.into(),
            digits: [Digit::default(); MAX_DIGITS],
            len: 0,
        };
        // Eight digits of 256 values each make 2^64 numbers, one more than `u64` can count.
        let mut numbers = 1u64;
        for digit in digits.into_iter().map_while(|digit| digit) {
            let Some(more) = numbers.checked_mul(digit.values()) else {
                break;
            };
            numbers = more;
            scale.digits[scale.len] = digit;
            scale.len += 1;
        }
        let mut weight = 1;
        for digit in scale.digits[..scale.len].iter_mut().rev() {
            digit.weight = weight;
            weight *= digit.values();
        }
        scale
    }

    #[inline]
    fn number(&self, key: &[u8]) -> u64 {
        let Some(rest) = key.strip_prefix(&*self.shared) else {
            return if key < &*self.shared { 0 } else { u64::MAX };
        };
        let mut number = 0;
        // A missing byte is less than any byte.
        for (digit, &byte) in self.digits[..self.len].iter().zip(rest) {
            if byte < digit.least {
                break;
            }
            if byte > digit.greatest {
                return number + (digit.weight * digit.values() - 1);
            }
            number += digit.weight * u64::from(byte - digit.least);
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Pairs(Vec<(Vec<u8>, Vec<u8>)>);

    impl Spans for Pairs {
        fn each(&self, visit: &mut dyn FnMut(&[u8], &[u8])) {
            self.0.iter().for_each(|(start, end)| visit(start, end));
        }
    }

    impl Pairs {
        fn touched(&self) -> Touched {
            let first = self.0.iter().map(|(start, _)| &start[..]).min().unwrap();
            let last = self.0.iter().map(|(_, end)| &end[..]).max().unwrap();
            Touched::new(&UserComparator::Bytewise, (first, last), self.0.len(), self).unwrap()
        }
    }

    type Key = fn(u64) -> Vec<u8>;

    const KEYS: [Key; 4] = [
        |n| [n.to_be_bytes(), *b"00000000"].concat(),
        |n| format!("user{n:012}").into(),
        |n| format!("{n:06x}/profile").into(),
        |n| n.to_string().into(),
    ];

    #[test]
    fn keys_under_tombstones_are_touched_and_few_others() {
        let mut rng = testkit::rng();
        for (i, key) in KEYS.into_iter().enumerate() {
            let spans = |rng: &mut testkit::TestRng, count: usize| -> Vec<(u64, u64)> {
                let from = (0..count).map(|_| rng.u64(..1_000_000));
                from.map(|from| (from, from + 10)).collect()
            };
            let pair = |&(from, to): &(u64, u64)| {
                let (a, b) = (key(from), key(to));
                if a < b { (a, b) } else { (b, a) }
            };
            let before = spans(&mut rng, 3000);
            let touched = Pairs(before.iter().map(pair).collect()).touched();
            let untouched = (0..10_000)
                .filter(|_| !touched.may_cover(&key(rng.u64(..1_000_000))))
                .count();
            let least = [9_000, 9_000, 4_500, 0][i];
            assert!(untouched >= least, "{untouched} of 10,000 of shape {i}");
            let after = spans(&mut rng, 3000);
            for span in &after {
                let (start, end) = pair(span);
                touched.touch(&start, &end);
            }
            for (start, end) in before.iter().chain(&after).map(pair) {
                assert!(touched.may_cover(&start));
                for _ in 0..10 {
                    let inside = key(rng.u64(..1_000_000));
                    assert!(inside < start || inside >= end || touched.may_cover(&inside));
                }
            }
        }
    }

    #[test]
    fn numbers_ascend_with_keys_of_any_bytes() {
        let mut rng = testkit::rng();
        for _ in 0..200 {
            let alphabet = [&b"01"[..], b"\0az", b"\0\x01\xfe\xff", b"q"][rng.usize(..4)];
            let mut draw = || -> Vec<u8> {
                let len = rng.usize(..12);
                (0..len).map(|_| alphabet[rng.usize(..alphabet.len())]).collect()
            };
            let mut pairs = Vec::new();
            while pairs.len() < 5 {
                let (a, b) = (draw(), draw());
                if a < b {
                    pairs.push((a, b));
                } else if alphabet.len() == 1 {
                    pairs.push((vec![], b"qq".to_vec()));
                }
            }
            let mut keys: Vec<Vec<u8>> = (0..60).map(|_| draw()).collect();
            keys.extend(pairs.iter().flat_map(|(a, b)| [a.clone(), b.clone()]));
            keys.push(vec![0xff; 20]);
            keys.sort();
            let touched = Pairs(pairs.clone()).touched();
            let numbers: Vec<u64> = keys.iter().map(|key| touched.scale.number(key)).collect();
            assert!(numbers.is_sorted(), "{keys:?} {numbers:?}");
            for key in &keys {
                let covered = pairs.iter().any(|(start, end)| start <= key && key < end);
                assert!(!covered || touched.may_cover(key), "{pairs:?} {key:?}");
            }
        }
    }

    #[test]
    fn orders_that_bytes_do_not_tell_have_none() {
        let pairs = Pairs(vec![(b"b".to_vec(), b"a".to_vec())]);
        assert!(Touched::new(&UserComparator::ReverseBytewise, (b"b", b"a"), 1, &pairs).is_none());
    }
}

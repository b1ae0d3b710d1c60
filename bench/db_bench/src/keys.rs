//! Keys from numbers, as RocksDB's db_bench makes them: the number in eight bytes, most significant first,
//! then `0`s. With prefixes, the prefix comes first, made in the same way from the number modulo the count of
//! prefixes.

use std::sync::Arc;

use base::env::Rng;

use crate::flags::Flags;

/// The format of keys.
#[derive(Clone, Debug)]
pub struct KeyFormat {
    /// The size of a key in bytes.
    pub key_size: usize,
    /// The size of the prefix in bytes.
    pub prefix_size: usize,
    /// The number of prefixes; 0: keys have no prefix of their own.
    pub prefixes: u64,
    /// The keys of an existing database, which represent the numbers instead of made keys.
    pub existing: Option<Arc<[Box<[u8]>]>>,
}

impl KeyFormat {
    /// Keys of `key_size` bytes for `num` numbers, `keys_per_prefix` of which share a prefix (0: no
    /// prefixes).
    pub fn new(key_size: usize, prefix_size: usize, num: u64, keys_per_prefix: u64) -> KeyFormat {
        let prefixes = num.checked_div(keys_per_prefix).map_or(0, |count| count.max(1));
        KeyFormat {
            key_size,
            prefix_size,
            prefixes,
            existing: None,
        }
    }

    /// Allocates a key to write into.
    pub fn allocate(&self) -> Vec<u8> {
        vec![b'0'; self.key_size]
    }

    /// Writes the key of `number`. `key` comes from [`allocate`](KeyFormat::allocate). A number beyond the
    /// existing keys means the last one.
    #[inline]
    pub fn write(&self, number: u64, key: &mut Vec<u8>) {
        if let Some(keys) = &self.existing {
            let existing = &keys[(number as usize).min(keys.len() - 1)];
            key.clear();
            return key.extend_from_slice(existing);
        }
        let mut rest = &mut key[..];
        if self.prefixes > 0 {
            let (prefix, behind) = rest.split_at_mut(self.prefix_size.min(rest.len()));
            fill(number % self.prefixes, prefix);
            rest = behind;
        }
        fill(number, rest);
    }
}

/// Writes the low bytes of `number`, most significant first, then `0`s.
#[inline]
fn fill(number: u64, out: &mut [u8]) {
    let len = out.len().min(8);
    let (digits, padding) = out.split_at_mut(len);
    digits.copy_from_slice(&number.to_be_bytes()[8 - len..]);
    padding.fill(b'0');
}

/// The number of a key: uniform, or with low numbers preferred (`--read_random_exp_range`).
#[inline]
pub fn random_number(flags: &Flags, rng: &mut Rng) -> u64 {
    let num = flags.num as u64;
    if flags.read_random_exp_range == 0.0 {
        return rng.u64(..num);
    }
    let order = -rng.f64() * flags.read_random_exp_range;
    let rank = (order.exp() * num as f64) as u64;
    // Spreads neighbouring ranks over the keys, so that frequently read keys are not adjacent.
    rank.wrapping_mul(0x5bd1_e995) % num
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(format: &KeyFormat, number: u64) -> Vec<u8> {
        let mut key = format.allocate();
        format.write(number, &mut key);
        key
    }

    #[test]
    fn keys_are_rocksdbs() {
        assert_eq!(
            key(&KeyFormat::new(16, 0, 100, 0), 0x0102),
            b"\0\0\0\0\0\0\x01\x0200000000"
        );
        assert_eq!(key(&KeyFormat::new(8, 0, 100, 0), u64::MAX), [0xff; 8]);
        assert_eq!(key(&KeyFormat::new(4, 0, 100, 0), 0x0102_0304_0506), [3, 4, 5, 6]);
        let prefixed = KeyFormat::new(20, 10, 100, 10);
        assert_eq!(key(&prefixed, 23), b"\0\0\0\0\0\0\0\x0300\0\0\0\0\0\0\0\x1700");
    }

    #[test]
    fn existing_keys_stand_for_numbers() {
        let format = KeyFormat {
            existing: Some([&b"a"[..], b"long key", b"z"].map(Into::into).into()),
            ..KeyFormat::new(4, 0, 3, 0)
        };
        let keys = [0, 1, 2, 3].map(|number| key(&format, number));
        assert_eq!(keys, [&b"a"[..], b"long key", b"z", b"z"]);
    }

    #[test]
    fn keys_sort_as_their_numbers() {
        let format = KeyFormat::new(16, 0, 1 << 20, 0);
        let keys: Vec<_> = [0, 1, 255, 256, 65_535, 1 << 40]
            .map(|number| key(&format, number))
            .into();
        assert!(keys.is_sorted());
    }
}

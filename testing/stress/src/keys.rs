//! Keys and values, which contain their numbers.

/// The size of every key in bytes.
pub const KEY_LEN: usize = 8;

/// The key of `number`. Keys sort in the order of their numbers.
pub fn key(number: u64) -> [u8; KEY_LEN] {
    number.to_be_bytes()
}

/// The number of `key`; `None` if it is not a key of db_stress.
pub fn number(key: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(key.try_into().ok()?))
}

/// The value of write `write` of `key`: the two numbers, then filler. Its size is one to three times
/// `size_mult`, drawn by the number of the write.
pub fn value(key: u64, write: u32, size_mult: usize) -> Vec<u8> {
    let len = (write as usize % 3 + 1) * size_mult.max(HEAD);
    let mut value = Vec::with_capacity(len);
    value.extend_from_slice(&write.to_le_bytes());
    value.extend_from_slice(&key.to_le_bytes());
    value.extend((HEAD..len).map(|at| (write as usize ^ at ^ key as usize) as u8));
    value
}

const HEAD: usize = 4 + 8;

/// The size of the longest value in bytes.
pub fn longest_value(size_mult: usize) -> usize {
    3 * size_mult.max(HEAD)
}

/// True for a key that is written only while it is absent, so that single deletions may delete it.
/// `nooverwritepercent` percent of all keys are such keys.
pub fn is_single(key: u64, nooverwritepercent: i32) -> bool {
    // Keys that are written only while absent are scattered over all keys, and are the same in every run.
    key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
        < (nooverwritepercent.clamp(0, 100) as u64) * (1 << 32) / 100
}

/// The number of the write that wrote `value` to `key`; `None` if no write can have.
pub fn write_of(key: u64, found: &[u8], size_mult: usize) -> Option<u32> {
    let write = u32::from_le_bytes(*found.first_chunk()?);
    (found == value(key, write, size_mult)).then_some(write)
}

/// The length of the longest entity, which is longer than every plain value: two values, the name of a column
/// and their lengths.
pub fn longest_entity(mult: usize) -> usize {
    2 * longest_value(mult) + 64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_as_their_numbers() {
        let numbers = [2, 255, 300, 1 << 40];
        assert!(numbers.map(key).is_sorted());
        assert_eq!(numbers.map(|of| number(&key(of))), numbers.map(Some));
        assert_eq!(number(b"seven b"), None);
    }

    #[test]
    fn a_value_tells_its_write_and_nothing_else_is_one() {
        for write in 0..9 {
            let good = value(7, write, 16);
            assert_eq!(good.len(), (write as usize % 3 + 1) * 16);
            assert_eq!(write_of(7, &good, 16), Some(write));
            assert_eq!(write_of(8, &good, 16), None, "of another key");
            assert_eq!(write_of(7, &good[1..], 16), None);
            for at in 0..good.len() {
                let mut bad = good.clone();
                bad[at] ^= 4;
                assert_eq!(write_of(7, &bad, 16), None);
            }
        }
        assert_eq!(write_of(7, b"", 16), None);
    }
}

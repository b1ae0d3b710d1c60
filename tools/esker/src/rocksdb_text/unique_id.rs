//! The unique ids of tables: the internal form, which MANIFESTs record, and the public one.

use crate::text::Form;

/// The constants that are added to the halves, so that the internal id of zeros is the public id of zeros.
const HIGH_OFFSET: u64 = 17_391_078_804_906_429_400;
const LOW_OFFSET: u64 = 6_417_269_962_128_484_497;

/// The halves as RocksDB's `InternalUniqueIdToHumanString` shows them: `{1,2}`.
pub fn internal(id: &[u8; 16]) -> String {
    let (low, high) = halves(id);
    format!("{{{low},{high}}}")
}

/// The public form: `9AE870B3A7D54083-8E12C5FE9FA4C826`.
pub fn public(id: &[u8; 16]) -> String {
    let (low, high) = halves(id);
    let (high, low) = bijective_hash(high.wrapping_add(HIGH_OFFSET), low.wrapping_add(LOW_OFFSET));
    format!(
        "{}-{}",
        Form::Hex.show(&low.to_le_bytes()),
        Form::Hex.show(&high.to_le_bytes())
    )
}

fn halves(id: &[u8; 16]) -> (u64, u64) {
    (base::coding::u64_at(id, 0), base::coding::u64_at(id, 8))
}

/// RocksDB's `BijectiveHash2x64`, the XXH3 hash of 16 bytes with a bijective mix, as its high and low half.
fn bijective_hash(high: u64, low: u64) -> (u64, u64) {
    const FLIP_LOW: u64 = 0x5997_3f00_3336_2349;
    const FLIP_HIGH: u64 = 0xc202_7976_92d6_3d58;
    const PRIME_1: u64 = 0x9E37_79B1_85EB_CA87;
    const PRIME_2: u64 = 0xC2B2_AE3D_27D4_EB4F;
    let product = u128::from(low ^ high ^ FLIP_LOW) * u128::from(PRIME_1);
    let (mut lo, mut hi) = (product as u64, (product >> 64) as u64);
    lo = lo.wrapping_add(0x03c0_0000_0000_0000);
    let high = high ^ FLIP_HIGH;
    hi = hi.wrapping_add(high.wrapping_add((high & 0xffff_ffff).wrapping_mul(0x85EB_CA76)));
    lo ^= hi.swap_bytes();
    let product = u128::from(lo) * u128::from(PRIME_2);
    let high = ((product >> 64) as u64).wrapping_add(hi.wrapping_mul(PRIME_2));
    (avalanche(high), avalanche(product as u64))
}

fn avalanche(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 37)).wrapping_mul(0x1656_6791_9E37_79F9);
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_rocksdb() {
        let mut id = [0; 16];
        id[..8].copy_from_slice(&5_455_379_928_508_981_303u64.to_le_bytes());
        id[8..].copy_from_slice(&16_184_768_543_560_846_069u64.to_le_bytes());
        assert_eq!(internal(&id), "{5455379928508981303,16184768543560846069}");
        assert_eq!(public(&id), "14882B06D216F065-5725EA3FA04FB9EF");
    }
}

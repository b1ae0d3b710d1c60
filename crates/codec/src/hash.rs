//! The hash functions of RocksDB's files. All are pure functions of their input, and none may ever change.

mod xxph3;

pub use xxph3::xxph3_64;

use twox_hash::{XxHash3_64, XxHash3_128, XxHash64};

/// The seed of [`hash32`] in the legacy Bloom filter (format versions before 5).
pub const BLOOM_SEED: u32 = 0xbc9f_1d34;
/// The seed of [`hash32`] in the hash index of data blocks.
pub const DATA_BLOCK_INDEX_SEED: u32 = 397;

/// LevelDB's 32-bit hash, used in legacy Bloom filters ([`BLOOM_SEED`]) and data-block hash indexes
/// ([`DATA_BLOCK_INDEX_SEED`]). Bytes of the tail count as signed.
#[inline]
pub fn hash32(data: &[u8], seed: u32) -> u32 {
    const FACTOR: u32 = 0xc6a4_a793;
    let mut hash = seed ^ (data.len() as u32).wrapping_mul(FACTOR);
    let (words, tail) = data.as_chunks::<4>();
    for word in words {
        hash = hash.wrapping_add(u32::from_le_bytes(*word)).wrapping_mul(FACTOR);
        hash ^= hash >> 16;
    }
    if !tail.is_empty() {
        for (i, &byte) in tail.iter().enumerate() {
            hash = hash.wrapping_add((i32::from(byte as i8) << (8 * i)) as u32);
        }
        hash = hash.wrapping_mul(FACTOR);
        hash ^= hash >> 24;
    }
    hash
}

/// 64-bit XXH3, as published, with seed 0. About 70 ns for 4 KiB with hardware support.
#[inline]
pub fn xxh3_64(data: &[u8]) -> u64 {
    XxHash3_64::oneshot(data)
}

/// 128-bit XXH3, as published. Its high half goes into the unique id of an SST.
#[inline]
pub fn xxh3_128(data: &[u8], seed: u64) -> u128 {
    XxHash3_128::oneshot_with_seed(seed, data)
}

/// XXH64, as published.
#[inline]
pub fn xxh64(data: &[u8], seed: u64) -> u64 {
    XxHash64::oneshot(seed, data)
}

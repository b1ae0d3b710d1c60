//! XXPH3: the 64-bit hash of filters. It is the XXH3 of xxHash 0.7, before its publication, which RocksDB
//! froze; for most lengths its values differ from XXH3. Keys are short, so the short lengths must be fast.
//!
//! | length | scheme |
//! |---|---|
//! | 0..=16 | one or two folded products, read straight from the ends |
//! | 17..=240 | sum of folded products of 16 bytes each, from the ends to the middle |
//! | above | eight lanes fed 64 bytes at a time, stirred every 1,024 |

use base::coding::u64_at;

const P32_1: u64 = 0x9E37_79B1;
const P32_2: u64 = 0x85EB_CA77;
const P32_3: u64 = 0xC2B2_AE3D;
const P64_1: u64 = 0x9E37_79B1_85EB_CA87;
const P64_2: u64 = 0xC2B2_AE3D_27D4_EB4F;
const P64_3: u64 = 0x1656_67B1_9E37_79F9;
const P64_4: u64 = 0x85EB_CA77_C2B2_AE63;
const P64_5: u64 = 0x27D4_EB2F_1656_67C5;

/// The secret of xxHash, which whitens the input.
#[rustfmt::skip]
static SECRET: [u8; 192] = [
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
    0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
    0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
    0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
    0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
];

/// The number of bytes whitened and folded at a time.
const STEP: usize = 16;
/// The number of bytes of a stripe of long input.
const STRIPE: usize = 64;
/// The number of stripes between two scrambles of the lanes.
const STRIPES_PER_BLOCK: usize = 16;

#[inline(always)]
fn secret(offset: usize) -> u64 {
    u64_at(&SECRET, offset)
}

#[inline(always)]
fn u32_at(data: &[u8], offset: usize) -> u64 {
    u64::from(base::coding::u32_at(data, offset))
}

/// The exclusive or of both halves of the 128-bit product.
#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[inline(always)]
fn avalanche(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 37)).wrapping_mul(P64_3);
    hash ^ (hash >> 32)
}

/// A step of input, whitened by the secret at `key`.
#[inline(always)]
fn mix(step: &[u8; STEP], key: usize) -> u64 {
    fold(u64_at(step, 0) ^ secret(key), u64_at(step, 8) ^ secret(key + 8))
}

/// 64-bit XXPH3 with seed 0: the hash of keys in the filters of format version 5 and later. 2-3 ns for a key
/// of 16 to 32 bytes.
#[inline]
pub fn xxph3_64(data: &[u8]) -> u64 {
    let len = data.len();
    match len {
        17..=128 => of_17_to_128(data),
        9..=16 => {
            let low = u64_at(data, 0) ^ secret(0);
            let high = u64_at(data, len - 8) ^ secret(8);
            avalanche(
                (len as u64)
                    .wrapping_add(low)
                    .wrapping_add(high)
                    .wrapping_add(fold(low, high)),
            )
        }
        4..=8 => {
            let ends = u32_at(data, 0) | u32_at(data, len - 4) << 32;
            let keyed = ends ^ secret(0);
            let mixed = (len as u64).wrapping_add((keyed ^ (keyed >> 51)).wrapping_mul(P32_1));
            avalanche((mixed ^ (mixed >> 47)).wrapping_mul(P64_2))
        }
        1..=3 => {
            let combined = u64::from(data[0])
                | u64::from(data[len / 2]) << 8
                | u64::from(data[len - 1]) << 16
                | (len as u64) << 24;
            avalanche((combined ^ u32_at(&SECRET, 0)).wrapping_mul(P64_1))
        }
        0 => fold(secret(0), P64_2),
        129..=240 => of_129_to_240(data),
        _ => of_more(data),
    }
}

#[inline]
fn of_17_to_128(data: &[u8]) -> u64 {
    let (fronts, _) = data.as_chunks::<STEP>();
    let (_, backs) = data.as_rchunks::<STEP>();
    let pair = |depth: usize| {
        mix(&fronts[depth], 32 * depth).wrapping_add(mix(&backs[backs.len() - 1 - depth], 32 * depth + 16))
    };
    let mut sum = (data.len() as u64).wrapping_mul(P64_1).wrapping_add(pair(0));
    if data.len() > 32 {
        sum = sum.wrapping_add(pair(1));
        if data.len() > 64 {
            sum = sum.wrapping_add(pair(2));
            if data.len() > 96 {
                sum = sum.wrapping_add(pair(3));
            }
        }
    }
    avalanche(sum)
}

#[inline(never)]
fn of_129_to_240(data: &[u8]) -> u64 {
    let (steps, _) = data.as_chunks::<STEP>();
    let (_, backs) = data.as_rchunks::<STEP>();
    let mut sum = (data.len() as u64).wrapping_mul(P64_1);
    for (i, step) in steps[..8].iter().enumerate() {
        sum = sum.wrapping_add(mix(step, 16 * i));
    }
    sum = avalanche(sum);
    for (i, step) in steps[8..].iter().enumerate() {
        sum = sum.wrapping_add(mix(step, 16 * i + 3));
    }
    avalanche(sum.wrapping_add(mix(&backs[backs.len() - 1], 119)))
}

/// Adds the first stripe of `data` to the lanes. Unlike in the published XXH3, each lane adds its own input.
#[inline(always)]
fn accumulate(lanes: &mut [u64; 8], data: &[u8], key: usize) {
    for (i, lane) in lanes.iter_mut().enumerate() {
        let input = u64_at(data, 8 * i);
        let keyed = input ^ secret(key + 8 * i);
        *lane = lane
            .wrapping_add(input)
            .wrapping_add((keyed & 0xffff_ffff).wrapping_mul(keyed >> 32));
    }
}

#[inline(never)]
fn of_more(data: &[u8]) -> u64 {
    let mut lanes = [P32_3, P64_1, P64_2, P64_3, P64_4, P32_2, P64_5, P32_1];
    let (blocks, rest) = data.as_chunks::<{ STRIPE * STRIPES_PER_BLOCK }>();
    for block in blocks {
        for (i, stripe) in block.chunks_exact(STRIPE).enumerate() {
            accumulate(&mut lanes, stripe, 8 * i);
        }
        for (i, lane) in lanes.iter_mut().enumerate() {
            *lane = (*lane ^ (*lane >> 47) ^ secret(128 + 8 * i)).wrapping_mul(P32_1);
        }
    }
    for (i, stripe) in rest.chunks_exact(STRIPE).enumerate() {
        accumulate(&mut lanes, stripe, 8 * i);
    }
    if !data.len().is_multiple_of(STRIPE) {
        accumulate(&mut lanes, &data[data.len() - STRIPE..], 121);
    }
    let mut hash = (data.len() as u64).wrapping_mul(P64_1);
    for (i, pair) in lanes.chunks_exact(2).enumerate() {
        hash = hash.wrapping_add(fold(pair[0] ^ secret(11 + 16 * i), pair[1] ^ secret(19 + 16 * i)));
    }
    avalanche(hash)
}

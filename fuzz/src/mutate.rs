//! Mutations for machines without libFuzzer: random changes of the kinds that break decoders, without
//! coverage feedback.

use testkit::TestRng;

/// The maximum size of an input in bytes.
pub const MOST_BYTES: usize = 64 << 10;

/// Lengths and counts at the limits of types.
const EDGES: [u64; 12] = [
    0,
    1,
    2,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    u64::MAX,
];

/// A new input from one to eight mutations of `seed`; `other` supplies pieces.
pub fn mutate(seed: &[u8], other: &[u8], rng: &mut TestRng) -> Vec<u8> {
    let mut data = seed.to_vec();
    for _ in 0..rng.usize(1..=8) {
        once(&mut data, other, rng);
    }
    data.truncate(MOST_BYTES);
    data
}

fn once(data: &mut Vec<u8>, other: &[u8], rng: &mut TestRng) {
    if data.is_empty() {
        let len = rng.usize(..64);
        data.extend(rng.bytes(len));
        return;
    }
    let at = rng.usize(..data.len());
    match rng.u32(..9) {
        0 => data[at] ^= 1 << rng.u32(..8),
        1 => data[at] = rng.u8(..),
        2 => data.truncate(at),
        3 => data.insert(at, rng.u8(..)),
        4 => {
            let len = rng.usize(1..=(data.len() - at).min(32));
            data.drain(at..at + len);
        }
        5 => {
            let edge = *rng.pick(&EDGES);
            let width = *rng.pick(&[1, 2, 4, 8]);
            let bytes = &edge.to_le_bytes()[..width.min(data.len() - at)];
            data[at..at + bytes.len()].copy_from_slice(bytes);
        }
        6 => {
            let mut varint = Vec::new();
            base::coding::put_varint64(&mut varint, *rng.pick(&EDGES));
            data.splice(at..at + 1, varint);
        }
        7 => {
            let len = rng.usize(1..=(data.len() - at).min(256));
            let piece = data[at..at + len].to_vec();
            let to = rng.usize(..=data.len());
            data.splice(to..to, piece);
        }
        _ if !other.is_empty() => {
            let from = rng.usize(..other.len());
            let len = rng.usize(1..=(other.len() - from).min(1024));
            let end = (at + len).min(data.len());
            data.splice(at..end, other[from..from + len].iter().copied());
        }
        _ => data.reverse(),
    }
}

//! Random keys and values of histories.

use testkit::TestRng;

/// Draws one of `keys` keys. Most are short, some are long, one is empty.
pub fn key(rng: &mut TestRng, keys: usize) -> Vec<u8> {
    let number = rng.usize(..keys);
    match number {
        3 => Vec::new(),
        7 => vec![0xff; 9],
        _ if number.is_multiple_of(31) => format!("k{number:05}{}", "long".repeat(50)).into_bytes(),
        _ if number.is_multiple_of(5) => format!("k{number:05}tail").into_bytes(),
        _ => format!("k{number:05}").into_bytes(),
    }
}

/// Draws a value of up to `max` bytes whose first bytes do not compress.
pub fn value(rng: &mut TestRng, max: usize) -> Vec<u8> {
    let len = rng.usize(..=max);
    let mut value = vec![rng.u8(b'a'..=b'z'); len];
    let random = rng.usize(..=len.min(12));
    rng.fill(&mut value[..random]);
    value
}

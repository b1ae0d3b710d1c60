//! The Bloom filter of format versions below 5.
//!
//! ```text
//! line  = h mod lines                       h = Hash32(key, 0xbc9f1d34)
//! per probe: bit = h mod bits of a line;   h += rotate_right(h at first, 17)
//! trailer: probes u8 ‖ lines u32
//! ```
//!
//! 32 bits of hash make it worse with every key beyond a few millions; it is only written for old format
//! versions.

use super::METADATA_LEN;
use super::bloom::LINE_LEN;

/// The filter in the form for queries.
#[derive(Debug)]
pub struct LegacyBloom {
    data: Box<[u8]>,
    lines: u32,
    probes: u32,
    /// The base 2 logarithm of the line size in bytes: 6, except in files from machines with other cache
    /// lines.
    log2_line_len: u32,
}

impl LegacyBloom {
    /// The filter over `data`; `None` if that is not a whole number of lines whose size is a power of two:
    /// RocksDB treats such a filter as one that always matches.
    pub(super) fn new(data: &[u8], metadata: &[u8; METADATA_LEN]) -> Option<LegacyBloom> {
        let [probes, lines @ ..] = *metadata;
        let lines = u32::from_le_bytes(lines);
        let line_len = data.len().checked_div(lines as usize)?;
        (line_len.is_power_of_two() && line_len * lines as usize == data.len()).then(|| LegacyBloom {
            data: data.into(),
            lines,
            probes: u32::from(probes),
            log2_line_len: line_len.trailing_zeros(),
        })
    }

    /// The bytes from which the filter was made.
    pub(super) fn data(&self) -> &[u8] {
        &self.data
    }

    /// False if no key with this hash was added.
    pub fn may_match(&self, hash: u32) -> bool {
        let line_len = 1usize << self.log2_line_len;
        let line = &self.data[(hash % self.lines) as usize * line_len..][..line_len];
        let bit_mask = (line_len * 8 - 1) as u32;
        let step = hash.rotate_right(17);
        let mut h = hash;
        (0..self.probes).all(|_| {
            let bit = h & bit_mask;
            h = h.wrapping_add(step);
            line[(bit >> 3) as usize] & 1 << (bit & 7) != 0
        })
    }

    /// The bytes on the heap.
    pub fn memory_usage(&self) -> usize {
        self.data.len()
    }
}

/// The maximum number of bits of a filter.
const MAX_BITS: usize = 0xffff_0000;

/// The size of a filter for `keys` hashes, including its trailer.
pub fn size(keys: usize, bits_per_key: u32) -> usize {
    if keys == 0 {
        return METADATA_LEN;
    }
    let bits = keys.saturating_mul(bits_per_key as usize).min(MAX_BITS);
    // With an odd number of lines, more bits of the hash affect the choice of a line.
    (bits.div_ceil(LINE_LEN * 8) | 1) * LINE_LEN + METADATA_LEN
}

/// The maximum number of keys for which a filter takes at most `bytes`.
pub fn capacity(bytes: usize, bits_per_key: u32) -> usize {
    let most = bytes.saturating_mul(8).min(MAX_BITS) / bits_per_key as usize + 1;
    // Sizes grow in steps of two lines.
    (1..=most)
        .rev()
        .find(|&keys| size(keys, bits_per_key) <= bytes)
        .unwrap_or(0)
}

/// The filter of `hashes`, including its trailer.
pub fn build(hashes: &[u32], bits_per_key: u32) -> Vec<u8> {
    let len = size(hashes.len(), bits_per_key) - METADATA_LEN;
    let probes = ((f64::from(bits_per_key) * 0.69) as u32).clamp(1, 30);
    let mut filter = Vec::with_capacity(len + METADATA_LEN);
    filter.resize(len, 0u8);
    let (lines, _) = filter.as_chunks_mut::<LINE_LEN>();
    let num_lines = lines.len() as u32;
    for &hash in hashes {
        let line = &mut lines[(hash % num_lines) as usize];
        let step = hash.rotate_right(17);
        let mut h = hash;
        for _ in 0..probes {
            let bit = h as usize % (LINE_LEN * 8);
            line[bit >> 3] |= 1 << (bit & 7);
            h = h.wrapping_add(step);
        }
    }
    filter.push(probes as u8);
    filter.extend_from_slice(&num_lines.to_le_bytes());
    filter
}

//! FastLocalBloom, the Bloom filter of format version 5 and later, compatible bit for bit.
//!
//! The low half of a hash chooses one line of 64 bytes, the high half chooses the bits within it: one cache
//! miss a key.
//!
//! ```text
//! line  = lo32(h) · lines >> 32
//! x     = hi32(h);   per probe: bit = x >> 23;   x = x · 0x9e3779b9
//! trailer: ff 00 probes 00 00
//! ```

use cache::prefetch;

use super::METADATA_LEN;

/// The number of bits of a line.
const LINE_BITS: usize = 512;
/// The number of bytes of a line.
pub(super) const LINE_LEN: usize = LINE_BITS / 8;
/// The size of the largest filter, in bytes without its trailer.
const MAX_LEN: u64 = 0xffff_ffc0;
/// The multiplier from one probe of a key to its next: the golden ratio of 32 bits.
const STEP: u32 = 0x9e37_79b9;

/// One line, aligned to a cache line of the processor.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Line([u64; LINE_BITS / 64]);

/// `data`, which must be whole lines, copied into aligned lines.
pub(super) fn aligned_lines(data: &[u8]) -> Box<[Line]> {
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("a chunk of eight"));
    data.chunks_exact(LINE_LEN)
        .map(|line| {
            let mut words = [0; LINE_BITS / 64];
            for (to, from) in words.iter_mut().zip(line.chunks_exact(8)) {
                *to = word(from);
            }
            Line(words)
        })
        .collect()
}

impl Line {
    /// The lowest bit of the result: whether bit number `bit`, below 512, is set. The other bits are
    /// undefined.
    #[inline]
    pub(super) fn bit(&self, bit: u32) -> u64 {
        self.0[(bit >> 6) as usize & 7] >> (bit & 63)
    }
}

/// The filter in the form for queries.
#[derive(Debug)]
pub struct FastLocalBloom {
    lines: Box<[Line]>,
    probes: u32,
}

/// The number of probes in a trailer; `None` for an unknown kind.
pub(super) fn probes(metadata: &[u8; METADATA_LEN]) -> Option<u32> {
    let [_, implementation, shape, rest @ ..] = *metadata;
    // The high bits of the shape are log2(line bytes) - 6, and only lines of 64 bytes were ever written.
    let (probes, line_shift) = (u32::from(shape & 31), shape >> 5);
    (implementation == 0 && line_shift == 0 && rest == [0, 0] && (1..=30).contains(&probes)).then_some(probes)
}

impl FastLocalBloom {
    /// The filter over `data`; `None` unless that is at least one line, and whole lines.
    pub(super) fn new(data: &[u8], probes: u32) -> Option<FastLocalBloom> {
        (!data.is_empty() && data.len().is_multiple_of(LINE_LEN) && data.len() as u64 <= MAX_LEN).then(|| {
            FastLocalBloom {
                lines: aligned_lines(data),
                probes,
            }
        })
    }

    /// The bytes from which the filter was made.
    pub(super) fn data(&self) -> Vec<u8> {
        let words = self.lines.iter().flat_map(|line| line.0);
        words.flat_map(u64::to_le_bytes).collect()
    }

    #[inline]
    fn line(&self, hash: u64) -> &Line {
        &self.lines[line_index(hash, self.lines.len())]
    }

    /// False if no key with this hash was added.
    #[inline]
    pub fn may_match(&self, hash: u64) -> bool {
        let line = self.line(hash);
        let mut x = (hash >> 32) as u32;
        let mut all = 1;
        // All probes are in the line just loaded: making all of them costs less than a mispredicted branch.
        for _ in 0..self.probes {
            all &= line.bit(x >> 23);
            x = x.wrapping_mul(STEP);
        }
        all != 0
    }

    /// Prefetches the line of this hash.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        let line = self.line(hash);
        prefetch(std::ptr::from_ref(line).addr(), size_of_val(line));
    }

    /// The bytes on the heap.
    pub fn memory_usage(&self) -> usize {
        size_of_val(&*self.lines)
    }
}

/// The line of a hash among `lines`, which are at most 2^26: a multiplication instead of a division.
#[inline]
fn line_index(hash: u64, lines: usize) -> usize {
    ((u64::from(hash as u32) * lines as u64) >> 32) as usize
}

/// RocksDB's number of probes for that many bits per key, in thousandths.
pub fn num_probes(millibits_per_key: u32) -> u32 {
    /// The millibits up to which the index plus one is the best number of probes.
    const UP_TO: [u32; 12] = [
        2080, 3580, 5100, 6640, 8300, 10070, 11720, 14001, 16050, 18300, 22001, 25501,
    ];
    match UP_TO.iter().position(|&up_to| millibits_per_key <= up_to) {
        Some(index) => index as u32 + 1,
        None if millibits_per_key > 50_000 => 24,
        None => (millibits_per_key - 1) / 2000 - 1,
    }
}

/// The size of a filter for `keys` hashes, including its trailer.
pub fn size(keys: usize, millibits_per_key: u32) -> usize {
    let bytes = (keys as u128 * u128::from(millibits_per_key)).div_ceil(8000);
    let len = bytes.min(u128::from(MAX_LEN)) as usize;
    len.next_multiple_of(LINE_LEN) + METADATA_LEN
}

/// The approximate number of keys for which a filter takes at most `bytes`.
pub fn capacity(bytes: usize, millibits_per_key: u32) -> usize {
    let len = (bytes.saturating_sub(METADATA_LEN) as u64).min(MAX_LEN) / LINE_LEN as u64 * LINE_LEN as u64;
    (len * 8000 / u64::from(millibits_per_key)) as usize
}

/// The filter of `hashes`, including its trailer. `fitting`: with the number of probes for the bits that keys
/// get in whole lines, instead of those requested.
pub fn build(hashes: &[u64], millibits_per_key: u32, fitting: bool) -> Vec<u8> {
    let len = size(hashes.len(), millibits_per_key) - METADATA_LEN;
    let probes = num_probes(match fitting {
        true => (len * 8000 / hashes.len().max(1)) as u32,
        false => millibits_per_key,
    });
    let mut filter = Vec::with_capacity(len + METADATA_LEN);
    filter.resize(len, 0u8);
    let (lines, _) = filter.as_chunks_mut::<LINE_LEN>();
    // Keys are independent of each other, so the processor overlaps their cache misses.
    for &hash in hashes {
        let line = line_index(hash, lines.len());
        let line = &mut lines[line];
        let mut x = (hash >> 32) as u32;
        for _ in 0..probes {
            let bit = x >> 23;
            line[(bit >> 3) as usize] |= 1 << (bit & 7);
            x = x.wrapping_mul(STEP);
        }
    }
    filter.extend_from_slice(&[super::MARKER_BLOOM as u8, 0, probes as u8, 0, 0]);
    filter
}

/// The false positive rate of a Bloom filter with that many thousandths of bits a key, whose probes are all
/// in one line.
pub(super) fn bloom_false_positive_rate(millibits_per_key: u32) -> f64 {
    let probes = f64::from(num_probes(millibits_per_key));
    let line_bits = (LINE_LEN * 8) as f64;
    let keys_per_line = line_bits / (f64::from(millibits_per_key) / 1000.0);
    // The mean of a line with more keys than usual and one with fewer, by one standard deviation.
    let deviation = keys_per_line.sqrt();
    let rate = |keys: f64| (1.0 - (-probes / (line_bits / keys)).exp()).powf(probes);
    (rate(keys_per_line + deviation) + rate(keys_per_line - deviation)) / 2.0
}

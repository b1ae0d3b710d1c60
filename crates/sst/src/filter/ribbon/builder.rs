//! Builds Ribbon filters: solves the equations of the hashes, one after the other, and arranges the solution
//! in columns.
//!
//! ```text
//! row at slot i:  coefficients of the slots from i on, the first of them 1, and a result
//! a new equation: where its first slot has a row, that is subtracted and the first slot is now a later one, until it has none
//! ```
//!
//! If no coefficients are left but a part of the result is, the equations contradict each other, and the next
//! seed is tried. RocksDB's table defines the number of slots for which this is rare.

use super::super::bloom::bloom_false_positive_rate;
use super::super::{MARKER_RIBBON, METADATA_LEN, bloom};
use super::{BLOCK_SLOTS, Equation, Hasher, MAX_COLUMNS, SEGMENT_LEN, columns, parity};

/// The maximum number of hashes of a Ribbon filter, because its number of blocks has 24 bits. For more hashes
/// a Bloom filter is built.
const MAX_HASHES: usize = 950_000_000;
/// The number of slots below which a Bloom filter is built if it is smaller than the Ribbon filter.
const SMALL_SLOTS: u32 = 1024;
/// The base 2 logarithms of the smallest and of the largest number of slots in [`FITTING`].
const FITTING_LOG2: std::ops::RangeInclusive<u32> = 8..=17;
/// The numbers of hashes that fit 2^8, 2^9, ... slots so that one seed in twenty fails.
const FITTING: [f64; 10] = [
    248.851, 499.532, 1001.26, 2003.97, 4005.59, 8000.39, 15966.6, 31828.1, 63447.3, 126_506.0,
];
/// The increase of the slots for each hash with each doubling of the slots, beyond the table [`FITTING`].
const GROWTH_PER_DOUBLING: f64 = 0.0038;
/// 1 / ln 2, with RocksDB's digits: sizes depend on them.
#[expect(clippy::approx_constant, reason = "RocksDB's digits")]
const LOG2_E: f64 = 1.442_695_040_9;

/// The number of hashes that fit `2^log2_slots` slots; 0 if there are too few slots for any.
fn fitting(log2_slots: u32) -> f64 {
    match log2_slots.checked_sub(*FITTING_LOG2.start()) {
        None => 0.0,
        Some(i) if log2_slots <= *FITTING_LOG2.end() => FITTING[i as usize],
        Some(_) => (1u64 << log2_slots) as f64 / slots_per_hash(f64::from(log2_slots)),
    }
}

/// The slots for each hash, for large numbers of slots.
fn slots_per_hash(log2_slots: f64) -> f64 {
    let last = *FITTING_LOG2.end();
    let at_last = f64::from(1u32 << last) / FITTING[FITTING.len() - 1];
    at_last - f64::from(last) * GROWTH_PER_DOUBLING + log2_slots * GROWTH_PER_DOUBLING
}

/// The slots for that many hashes: whole blocks, and at least two.
fn slots(hashes: u32) -> u32 {
    let blocks = |slots: u32| slots.div_ceil(BLOCK_SLOTS as u32).max(2) * BLOCK_SLOTS as u32;
    if hashes == 0 {
        return blocks(0);
    }
    let mut log2 = (f64::from(hashes).ln() * LOG2_E + 0.5) as u32;
    let (mut lower, upper) = (fitting(log2), fitting(log2 + 1));
    if log2 == 0 || lower == 0.0 {
        return blocks(0);
    }
    let hashes = f64::from(hashes);
    let mut next = upper;
    if hashes < lower {
        log2 -= 1;
        (lower, next) = (fitting(log2), lower);
    }
    let portion = (hashes - lower) / (next - lower);
    let slots = (1u64 << log2) as f64;
    blocks((portion * slots + slots + 0.999_999_999) as u32)
}

/// The maximum number of hashes for that many slots.
fn hashes_in(slots: u32) -> u32 {
    if slots == 0 {
        return 0;
    }
    let log2 = f64::from(slots).ln() * LOG2_E;
    let floor = log2 as u32;
    if floor < *FITTING_LOG2.end() {
        let portion = f64::from(slots) / f64::from(1u32 << floor) - 1.0;
        (portion * fitting(floor + 1) + (1.0 - portion) * fitting(floor)) as u32
    } else {
        (f64::from(slots) / slots_per_hash(log2)) as u32
    }
}

/// The parameters of Ribbon filters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::filter) struct RibbonBuilder {
    /// The number of absent keys for each false positive.
    one_in: f64,
    /// The bits of the Bloom filter that is built where a Ribbon is not worthwhile.
    bloom_millibits_per_key: u32,
}

/// The size of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::filter) enum Shape {
    /// A Bloom filter of that many bytes.
    Bloom(usize),
    /// The number of slots, and of bytes with the trailer.
    Ribbon(u32, usize),
}

impl RibbonBuilder {
    /// A builder of filters as accurate as a Bloom filter with that many bits a key.
    pub fn like_bloom(millibits_per_key: u32) -> RibbonBuilder {
        RibbonBuilder {
            one_in: 1.0 / bloom_false_positive_rate(millibits_per_key),
            bloom_millibits_per_key: millibits_per_key,
        }
    }

    /// The size of `slots` in bytes, without the trailer. Columns are whole: `bias` chooses between fewer and
    /// more false positives than requested.
    fn bytes(&self, slots: u32, bias: u32) -> usize {
        let rate = 1.0 / self.one_in;
        if !(self.one_in > 1.0 && rate < 1.0) {
            return SEGMENT_LEN;
        }
        if self.one_in > f64::from(u32::MAX) {
            return slots as usize * size_of::<u32>();
        }
        let lower_columns = (self.one_in as u32).ilog2() as usize;
        let lower_rate = 2f64.powi(-(lower_columns as i32));
        let upper_rate = lower_rate / 2.0;
        let lower_portion = (rate - upper_rate) / (lower_rate - upper_rate);
        let bias = (f64::from(bias) + 0.5) / 4_294_967_296.0;
        let starts = slots - BLOCK_SLOTS as u32 + 1;
        let upper_start = ((lower_portion * f64::from(starts) + bias) / BLOCK_SLOTS as f64) as u32;
        let blocks = slots / BLOCK_SLOTS as u32;
        (blocks as usize * lower_columns + (blocks - upper_start) as usize) * SEGMENT_LEN
    }

    /// The size of a filter of `keys` hashes; if two sizes are near enough, the first hash chooses between
    /// them.
    pub fn shape(&self, hashes: usize, first: u64) -> Shape {
        let bloom_len = bloom::size(hashes, self.bloom_millibits_per_key);
        if hashes > MAX_HASHES {
            return Shape::Bloom(bloom_len);
        }
        let slots = slots(hashes as u32);
        let len = self.bytes(slots, (first >> 32) as u32) + METADATA_LEN;
        match slots < SMALL_SLOTS && bloom_len < len {
            true => Shape::Bloom(bloom_len),
            false => Shape::Ribbon(slots, len),
        }
    }

    /// The approximate number of hashes for which a filter takes at most `bytes`.
    pub fn capacity(&self, bytes: usize) -> usize {
        let len = bytes.saturating_sub(METADATA_LEN) / SEGMENT_LEN * SEGMENT_LEN;
        let bits_per_slot = if self.one_in <= 1.0 || self.one_in.is_nan() {
            return MAX_HASHES;
        } else if self.one_in > f64::from(u32::MAX) {
            MAX_COLUMNS as f64
        } else {
            let upper = 1 + (self.one_in as u32).ilog2();
            let upper_rate = 2f64.powi(-(upper as i32));
            f64::from(upper) - (1.0 / self.one_in - upper_rate) / upper_rate
        };
        let most_slots = len as f64 * 8.0 / bits_per_slot;
        if most_slots >= f64::from(slots(MAX_HASHES as u32)) {
            return MAX_HASHES;
        }
        let block = BLOCK_SLOTS as u32;
        let mut slots = (most_slots as u32).div_ceil(block).max(2) * block;
        // A filter of only one block of slots is too small, so the search for a size stops there.
        while slots > 0 && self.bytes(slots, 0) > len {
            slots = match (slots - 1) / block * block {
                one if one == block => 0,
                fewer => fewer,
            };
        }
        let hashes = hashes_in(slots) as usize;
        match slots < SMALL_SLOTS {
            true => hashes.max(bloom::capacity(bytes, self.bloom_millibits_per_key)),
            false => hashes.min(MAX_HASHES),
        }
    }

    /// The bytes of memory that [`build`](Self::build) takes besides the hashes and the filter.
    pub fn memory_of_equations(&self, hashes: &[u64]) -> usize {
        match hashes.first().map(|&first| self.shape(hashes.len(), first)) {
            Some(Shape::Ribbon(slots, _)) => slots as usize * Banding::BYTES_PER_SLOT,
            Some(Shape::Bloom(_)) | None => 0,
        }
    }

    /// The filter of `hashes`, including its trailer. `None` if a Bloom filter is to be built: it is smaller,
    /// or no seed fits.
    pub fn build(&self, hashes: &[u64]) -> Option<Vec<u8>> {
        let first = *hashes.first()?;
        let Shape::Ribbon(slots, len) = self.shape(hashes.len(), first) else {
            return None;
        };
        solve(hashes, slots, (len - METADATA_LEN) / SEGMENT_LEN)
    }
}

/// The filter of `hashes` in `slots` slots and `segments` segments, with the first seed that fits.
fn solve(hashes: &[u64], slots: u32, segments: usize) -> Option<Vec<u8>> {
    let mut banding = Banding::new(slots);
    let (start, blocks) = (*hashes.first()? as u8, slots / BLOCK_SLOTS as u32);
    let seed = (0..=u8::MAX).map(|step| start.wrapping_add(step)).find(|&seed| {
        let hasher = Hasher::new(seed, blocks as usize);
        banding.solve(hashes.iter().map(|&hash| hasher.equation(hash)))
    })?;
    let mut filter = banding.columns(segments);
    let [b0, b1, b2, _] = blocks.to_le_bytes();
    filter.extend_from_slice(&[MARKER_RIBBON as u8, seed, b0, b1, b2]);
    Some(filter)
}

/// Equations, at most one for each slot as their first: 20 bytes a slot.
struct Banding {
    /// The coefficients, with the lowest bit for the slot itself; 0 if there is no equation.
    rows: Vec<u128>,
    results: Vec<u32>,
}

impl Banding {
    const BYTES_PER_SLOT: usize = size_of::<u128>() + size_of::<u32>();

    fn new(slots: u32) -> Banding {
        Banding {
            rows: vec![0; slots as usize],
            results: vec![0; slots as usize],
        }
    }

    /// Adds all equations, after removing the previous ones. False if they contradict each other.
    fn solve(&mut self, mut equations: impl Iterator<Item = Equation>) -> bool {
        self.rows.fill(0);
        equations.all(|equation| self.add(equation))
    }

    fn add(&mut self, equation: Equation) -> bool {
        let Equation {
            start,
            mut row,
            mut result,
        } = equation;
        let mut slot = start as usize;
        loop {
            let at_slot = self.rows[slot];
            if at_slot == 0 {
                self.rows[slot] = row;
                self.results[slot] = result;
                return true;
            }
            row ^= at_slot;
            result ^= self.results[slot];
            if row == 0 {
                // The equation is a sum of others: a hash that was there before, or a contradiction.
                return result == 0;
            }
            let zeros = row.trailing_zeros();
            slot += zeros as usize;
            row >>= zeros;
        }
    }

    /// The solution in `segments` segments, from the last slot to the first.
    fn columns(&self, segments: usize) -> Vec<u8> {
        let blocks = self.rows.len() / BLOCK_SLOTS as usize;
        let (upper_columns, upper_start) = columns(segments, blocks);
        let mut filter = vec![0; segments * SEGMENT_LEN];
        // For each column, the 128 slots from the current one on.
        let mut state = vec![0u128; upper_columns];
        let mut segment = upper_columns * blocks - upper_start;
        for block in (0..blocks).rev() {
            let columns = upper_columns - usize::from(block < upper_start);
            let slots = block * BLOCK_SLOTS as usize..(block + 1) * BLOCK_SLOTS as usize;
            for slot in slots.rev() {
                let (row, result) = (self.rows[slot], self.results[slot]);
                for (column, state) in state[..columns].iter_mut().enumerate() {
                    let shifted = *state << 1;
                    let bit = parity(shifted & row) ^ (result >> column & 1);
                    // A slot that no equation determines is 0.
                    *state = shifted | u128::from(bit);
                }
            }
            segment -= columns;
            for (column, state) in state[..columns].iter().enumerate() {
                let at = (segment + column) * SEGMENT_LEN;
                filter[at..at + SEGMENT_LEN].copy_from_slice(&state.to_le_bytes());
            }
        }
        filter
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::FilterReader;

    /// Contradictory equations give no filter: the next seed is tried.
    #[test]
    fn a_seed_that_does_not_fit_is_passed_over() {
        let mut rng = testkit::rng();
        let (mut passed_over, mut solved) = (0, 0);
        for _ in 0..100 {
            // The number of hashes is higher than RocksDB's table allows in 256 slots.
            let hashes: Vec<u64> = (0..254).map(|_| rng.u64(..)).collect();
            let Some(filter) = solve(&hashes, 256, 2 * 7) else {
                continue;
            };
            solved += 1;
            passed_over += usize::from(filter[filter.len() - METADATA_LEN + 1] != hashes[0] as u8);
            let filter = FilterReader::new(filter).unwrap();
            assert!(hashes.iter().all(|&hash| filter.may_match(hash, || 0)));
        }
        assert!(solved > 50 && passed_over > 5, "{passed_over} of {solved}");
    }

    #[test]
    fn numbers_of_slots_and_of_hashes_belong_to_each_other() {
        for hashes in (1..5000)
            .chain((5000..2_000_000).step_by(997))
            .chain([MAX_HASHES as u32])
        {
            let slots = slots(hashes);
            assert!(slots >= 256 && slots.is_multiple_of(BLOCK_SLOTS as u32));
            assert!(f64::from(slots) >= f64::from(hashes));
            assert!(f64::from(slots) < f64::from(hashes) * 1.25 + 256.0);
            if hashes > 240 {
                assert!(hashes_in(slots) + 1 >= hashes, "{hashes} in {slots}");
            }
        }
        for millibits in [1000, 3000, 10_000, 20_000, 100_000] {
            let ribbon = RibbonBuilder::like_bloom(millibits);
            for bytes in [69, 200, 1000, 5000, 1 << 20] {
                let hashes = ribbon.capacity(bytes);
                let (Shape::Bloom(len) | Shape::Ribbon(_, len)) = ribbon.shape(hashes, 0);
                assert!(
                    len <= bytes + bytes / 1000,
                    "{hashes} at {millibits}: {len} of {bytes}"
                );
            }
        }
    }
}

//! A static search tree over ascending prefixes of 63 bits. A search finds a place among tens of thousands
//! with four or five dependent loads, and without an unpredictable branch.
//!
//! Level 0 is the prefixes themselves in groups of 16, which is two cache lines. Each higher level holds the
//! last prefix of every group of the level below, up to a level of one group. A search counts the smaller
//! prefixes of one group per level. The count selects the group of the next level.

/// Prefixes in a group.
pub(super) const GROUP: usize = 16;

/// The bits of a prefix. The sign of a difference of two 63-bit numbers gives their order, and every x86-64
/// processor subtracts several numbers at once. Not all of them compare several at once.
pub(super) const PREFIX_BITS: u32 = 63;
/// The highest possible prefix.
pub(super) const HIGHEST: u64 = u64::MAX >> (u64::BITS - PREFIX_BITS);

#[derive(Clone, Debug)]
#[repr(align(64))]
struct Group([u64; GROUP]);

/// The number of prefixes in a group that are below `prefix`.
#[inline(always)]
pub(super) fn count_below(group: &[u64; GROUP], prefix: u64) -> usize {
    let mut count = 0;
    for own in group {
        count += own.wrapping_sub(prefix) >> PREFIX_BITS;
    }
    count as usize
}

/// The search tree; see the module.
#[derive(Debug)]
pub(super) struct Prefixes {
    /// The groups of all levels, level 0 first. The last group of a level is padded with the highest prefix.
    groups: Box<[Group]>,
    /// The start of each level in `groups`, the top level first.
    levels: Box<[usize]>,
    len: usize,
    /// The last prefix.
    last: u64,
}

impl Prefixes {
    /// Builds the tree over `prefixes`, which should ascend. If they do not, searches return some number and
    /// never fail.
    pub fn new(prefixes: Vec<u64>) -> Prefixes {
        let mut groups: Vec<Group> = Vec::new();
        let mut levels = Vec::new();
        let (len, last) = (prefixes.len(), prefixes.last().copied().unwrap_or(0));
        let mut level = prefixes;
        loop {
            levels.push(groups.len());
            let start = groups.len();
            groups.extend(level.chunks(GROUP).map(|chunk| {
                let mut group = [HIGHEST; GROUP];
                group[..chunk.len()].copy_from_slice(chunk);
                Group(group)
            }));
            if groups.len() - start <= 1 {
                break;
            }
            level = lasts(&level);
        }
        levels.reverse();
        Prefixes {
            groups: groups.into(),
            levels: levels.into(),
            len,
            last,
        }
    }

    /// The first entry whose prefix is not below `prefix`, or the number of entries.
    #[inline(always)]
    pub fn lower_bound(&self, prefix: u64) -> usize {
        if prefix > self.last {
            return self.len;
        }
        let mut at = 0;
        for &level in &self.levels {
            // Some prefix of the group is not below `prefix`, and padding never is. So `at` stays within the
            // level, unless the prefixes do not ascend.
            let Some(group) = self.groups.get(level + at) else {
                return self.len;
            };
            at = at * GROUP + count_below(&group.0, prefix);
        }
        at.min(self.len)
    }

    /// Bytes on the heap.
    pub fn memory_usage(&self) -> usize {
        size_of_val(&*self.groups) + size_of_val(&*self.levels)
    }
}

/// The last prefix of each group.
pub(super) fn lasts(prefixes: &[u64]) -> Vec<u64> {
    prefixes
        .chunks(GROUP)
        .map(|group| group[group.len() - 1])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_a_plain_search_finds() {
        for len in [0usize, 1, 2, 15, 16, 17, 255, 256, 257, 4095, 4096, 4097, 5000] {
            for step in [0, 1, 3] {
                let prefixes: Vec<u64> = (0..len as u64).map(|i| i * step + 7).collect();
                let tree = Prefixes::new(prefixes.clone());
                for probe in (0..len as u64 * step + 20).chain([HIGHEST - 1, HIGHEST]) {
                    assert_eq!(
                        tree.lower_bound(probe),
                        prefixes.partition_point(|&prefix| prefix < probe),
                        "{len} {step} {probe}"
                    );
                }
            }
        }
        let highest = vec![1, HIGHEST, HIGHEST];
        let tree = Prefixes::new(highest);
        assert_eq!(tree.lower_bound(HIGHEST), 1);
    }

    #[test]
    fn disorder_is_harmless() {
        let prefixes: Vec<u64> = (0..3000u64)
            .map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) & HIGHEST)
            .collect();
        let tree = Prefixes::new(prefixes.clone());
        for probe in &prefixes {
            assert!(tree.lower_bound(*probe) <= prefixes.len());
        }
    }
}

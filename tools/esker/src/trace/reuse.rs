//! Reuse distances: the bytes of distinct blocks between two lookups of one block.

/// Computes reuse distances as lookups come in, in logarithmic time each.
#[derive(Default)]
pub struct Reuse {
    /// The last lookup of each block: its place, from 1 on, and its bytes.
    last: Vec<Option<(usize, u64)>>,
    /// A Fenwick tree over lookups: the bytes of each lookup that is the last one of its block.
    tree: Vec<u64>,
}

impl Reuse {
    /// The distance of a lookup from the last one of the block, or `None` for the first lookup of a block.
    pub fn look_up(&mut self, block: usize, bytes: u64) -> Option<u64> {
        let place = self.tree.len() + 1;
        // A new node of the tree is the sum of its child nodes.
        let mut sum = bytes;
        let mut below = place - 1;
        let end = place - (place & place.wrapping_neg());
        while below > end {
            sum += self.tree[below - 1];
            below -= below & below.wrapping_neg();
        }
        self.tree.push(sum);
        if self.last.len() <= block {
            self.last.resize(block + 1, None);
        }
        let (before, size) = self.last[block].replace((place, bytes))?;
        let distance = self.up_to(place - 1) - self.up_to(before);
        let mut node = before;
        while node <= self.tree.len() {
            self.tree[node - 1] -= size;
            node += node & node.wrapping_neg();
        }
        Some(distance)
    }

    fn up_to(&self, mut place: usize) -> u64 {
        let mut sum = 0;
        while place > 0 {
            sum += self.tree[place - 1];
            place -= place & place.wrapping_neg();
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn distances_are_those_of_a_search() {
        let mut rng = testkit::rng();
        let mut reuse = Reuse::default();
        let mut all: Vec<(usize, u64)> = Vec::new();
        for _ in 0..500 {
            let (block, bytes) = (rng.usize(..30), rng.u64(1..100));
            let expected = all
                .iter()
                .rposition(|(earlier, _)| *earlier == block)
                .map(|before| {
                    let between: HashMap<usize, u64> = all[before + 1..].iter().copied().collect();
                    between.values().sum::<u64>()
                });
            assert_eq!(reuse.look_up(block, bytes), expected);
            all.push((block, bytes));
        }
    }
}

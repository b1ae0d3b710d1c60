//! The keys of a workload, as numbers in their order.

use std::collections::HashMap;

use base::UserComparator;

/// All keys of a workload, in the order of its comparator: a key is its index.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    pub(crate) cmp: UserComparator,
    sorted: Vec<Box<[u8]>>,
}

impl Keys {
    /// The bytes of a key.
    pub(crate) fn bytes(&self, key: u32) -> &[u8] {
        &self.sorted[key as usize]
    }
}

/// Numbers keys in the order of their first occurrence.
#[derive(Debug, Default)]
pub(crate) struct Numbered {
    numbers: HashMap<Box<[u8]>, u32>,
}

impl Numbered {
    /// The number of keys.
    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// The number of `key`.
    pub(crate) fn number(&mut self, key: &[u8]) -> u32 {
        if let Some(&number) = self.numbers.get(key) {
            return number;
        }
        let number = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
        self.numbers.insert(key.into(), number);
        number
    }

    /// Sorts the keys, and returns them with the sorted index of each number.
    pub(crate) fn sort(self, cmp: UserComparator) -> (Keys, Vec<u32>) {
        let mut sorted: Vec<(Box<[u8]>, u32)> = self.numbers.into_iter().collect();
        sorted.sort_unstable_by(|a, b| cmp.compare(&a.0, &b.0));
        let mut index_of = vec![0; sorted.len()];
        for (index, (_, number)) in sorted.iter().enumerate() {
            index_of[*number as usize] = index as u32;
        }
        let sorted = sorted.into_iter().map(|(key, _)| key).collect();
        (Keys { cmp, sorted }, index_of)
    }
}

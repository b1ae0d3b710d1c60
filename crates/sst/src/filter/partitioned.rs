//! A partitioned filter: a top-level index whose entries lead to complete filters, each over a range of keys.
//!
//! The top-level index has the coding of the table's own index. An entry's key is at or after every key of
//! its partition, and before those of the next. RocksDB adds the prefixes at both ends of a partition to its
//! neighbours, so a prefix may be queried in the partition of any key that begins with it.

use base::Result;

use super::FilterReader;

/// The partitions of a filter, all loaded.
#[derive(Debug)]
pub struct PartitionedFilter {
    /// The keys of the top-level index, concatenated.
    keys: Box<[u8]>,
    /// The end of each partition's key in `keys`.
    ends: Box<[usize]>,
    partitions: Box<[FilterReader]>,
}

impl PartitionedFilter {
    /// Built from the entries of the top-level index in order: each key with the filter of its handle.
    pub fn new<K: AsRef<[u8]>>(
        partitions: impl IntoIterator<Item = Result<(K, FilterReader)>>,
    ) -> Result<PartitionedFilter> {
        let (mut keys, mut ends, mut filters) = (Vec::new(), Vec::new(), Vec::new());
        for partition in partitions {
            let (key, filter) = partition?;
            keys.extend_from_slice(key.as_ref());
            ends.push(keys.len());
            filters.push(filter);
        }
        Ok(PartitionedFilter {
            keys: keys.into(),
            ends: ends.into(),
            partitions: filters.into(),
        })
    }

    fn key(&self, partition: usize) -> &[u8] {
        let start = partition.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.keys[start..self.ends[partition]]
    }

    /// The partition for a key: the first whose own key is not before it, or the last one if all are before,
    /// because a prefix of the key may still be there. `None` only if there are no partitions.
    ///
    /// `is_before` returns whether a key of the top-level index sorts before the sought key; the table's
    /// properties define whether the index has user keys or internal keys.
    pub fn partition(&self, mut is_before: impl FnMut(&[u8]) -> bool) -> Option<&FilterReader> {
        let (mut low, mut high) = (0, self.partitions.len().checked_sub(1)?);
        while low < high {
            let middle = low + (high - low) / 2;
            if is_before(self.key(middle)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Some(&self.partitions[low])
    }

    /// The bytes on the heap.
    pub fn memory_usage(&self) -> usize {
        self.keys.len()
            + size_of_val(&*self.ends)
            + size_of_val(&*self.partitions)
            + self
                .partitions
                .iter()
                .map(FilterReader::memory_usage)
                .sum::<usize>()
    }
}

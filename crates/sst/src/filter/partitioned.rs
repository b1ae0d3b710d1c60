//! A filter in partitions: a top-level index whose entries lead to complete filters, each over a range of keys.
//!
//! The top-level index is coded as the table's own index is. An entry's key is at or after every key of its partition,
//! and before those of the next. RocksDB adds the prefixes at both ends of a partition to its neighbours, so a prefix may
//! be asked of the partition of any key that begins with it.

use base::Result;

use super::FilterReader;

/// The partitions of a filter, all loaded.
#[derive(Debug)]
pub struct PartitionedFilter {
    /// The keys of the top-level index, back to back.
    keys: Box<[u8]>,
    /// Where each partition's key ends in `keys`.
    ends: Box<[usize]>,
    partitions: Box<[FilterReader]>,
}

impl PartitionedFilter {
    /// Of the entries of the top-level index in order, each key with the filter its handle leads to.
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

    /// The partition that knows about a key: the first whose own key is not before it, or the last where all are before,
    /// since a prefix of the key may still be there. `None` only if there are no partitions.
    ///
    /// `is_before` tells whether a key of the top-level index sorts before the key sought; the index is of user keys or
    /// of internal keys, as the table's properties say.
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

    /// Bytes on the heap.
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

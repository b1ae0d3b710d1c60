//! Estimates the live data of a version from the bounds of its files.

use crate::{FileMetadata, Version};

impl Version {
    /// An estimate of the bytes of data that no newer data hides: RocksDB's `EstimateLiveDataSize`. From the
    /// last level up, each table counts that overlaps none counted already, and blob files count without
    /// their garbage. The less is compacted, the smaller the estimate: tables of L0 that overlap the levels
    /// below do not count.
    pub fn estimate_live_data_size(&self) -> u64 {
        let (below, top) = (1..self.num_levels(), 0);
        // The counted tables by their largest keys, which is also the order of their smallest keys.
        let mut counted: Vec<&FileMetadata> = Vec::new();
        for level in below.rev() {
            // Tables of one level do not overlap.
            let free = self.files(level).iter().map(|file| &**file);
            let free: Vec<&FileMetadata> = free
                .filter(|file| self.place_among(&counted, file).is_some())
                .collect();
            counted.extend(free);
            // The sort merges two sorted runs.
            counted.sort_by(|a, b| self.cmp().compare(&a.largest, &b.largest));
        }
        for file in self.files(top) {
            if let Some(at) = self.place_among(&counted, file) {
                counted.insert(at, file);
            }
        }
        let tables: u64 = counted.iter().fold(0, |sum, file| sum.saturating_add(file.size));
        let blobs = self.blob_files().values();
        blobs.fold(tables, |sum, blob| {
            let live = blob.total_blob_bytes().saturating_sub(blob.garbage_blob_bytes);
            sum.saturating_add(live)
        })
    }

    /// The position of `file` among `counted`; `None` if it overlaps one of them.
    fn place_among(&self, counted: &[&FileMetadata], file: &FileMetadata) -> Option<usize> {
        let cmp = self.cmp();
        let at = counted.partition_point(|other| cmp.compare(&other.largest, &file.smallest).is_lt());
        let is_free = counted
            .get(at)
            .is_none_or(|next| cmp.compare(&file.largest, &next.smallest).is_lt());
        is_free.then_some(at)
    }
}

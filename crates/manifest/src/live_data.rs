//! How much of a version is live, estimated from the bounds of its files.

use crate::{FileMetadata, Version};

impl Version {
    /// Bytes of data that nothing newer hides, at a guess: RocksDB's `EstimateLiveDataSize`. From the last level up, each table counts that
    /// overlaps none which counts already, and of blob files what is not garbage. The less is compacted, the smaller the guess: tables of
    /// L0 that overlap the levels below count for nothing.
    pub fn estimate_live_data_size(&self) -> u64 {
        let (below, top) = (1..self.num_levels(), 0);
        // Those that count, by their largest keys, which is by their smallest as well.
        let mut counted: Vec<&FileMetadata> = Vec::new();
        for level in below.rev() {
            // Tables of one level do not overlap.
            let free = self.files(level).iter().map(|file| &**file);
            let free: Vec<&FileMetadata> = free
                .filter(|file| self.place_among(&counted, file).is_some())
                .collect();
            counted.extend(free);
            // Two runs that are sorted: it merges them.
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

    /// Where `file` belongs among `counted`, whose keys it must not overlap.
    fn place_among(&self, counted: &[&FileMetadata], file: &FileMetadata) -> Option<usize> {
        let cmp = self.cmp();
        let at = counted.partition_point(|other| cmp.compare(&other.largest, &file.smallest).is_lt());
        let is_free = counted
            .get(at)
            .is_none_or(|next| cmp.compare(&file.largest, &next.smallest).is_lt());
        is_free.then_some(at)
    }
}

//! Properties that are computed from a version alone.

use std::fmt;

use manifest::Version;

/// Totals of the blob files of a version.
pub(super) struct BlobStats {
    files: usize,
    /// The bytes of all blob files of the version.
    pub(super) file_size: u64,
    /// The bytes of records that no table refers to.
    pub(super) garbage_size: u64,
}

impl BlobStats {
    pub(super) fn of(version: &Version) -> BlobStats {
        let blobs = version.blob_files().values();
        blobs.fold(
            BlobStats {
                files: version.blob_files().len(),
                file_size: 0,
                garbage_size: 0,
            },
            |stats, blob| BlobStats {
                file_size: stats.file_size.saturating_add(blob.file_size()),
                garbage_size: stats.garbage_size.saturating_add(blob.garbage_blob_bytes),
                ..stats
            },
        )
    }
}

impl fmt::Display for BlobStats {
    /// The text of RocksDB's `rocksdb.blob-stats`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let used = self.file_size.saturating_sub(self.garbage_size);
        let amplification = match used {
            0 => 0.0,
            used => self.file_size as f64 / used as f64,
        };
        write!(
            f,
            "Number of blob files: {}\nTotal size of blob files: {}\nTotal size of garbage in blob files: {}\n\
             Blob file space amplification: {amplification}\n",
            self.files, self.file_size, self.garbage_size
        )
    }
}

/// The text of RocksDB's `rocksdb.levelstats`.
pub(super) fn level_stats(version: &Version) -> String {
    let mut out = String::from("Level Files Size(MB)\n--------------------\n");
    for level in 0..version.num_levels() {
        let megabytes = version.level_bytes(level) as f64 / 1048576.0;
        out.push_str(&format!(
            "{level:3} {:8} {megabytes:8.0}\n",
            version.files(level).len()
        ));
    }
    out
}

/// The text of RocksDB's `rocksdb.sstables`.
pub(super) fn sstables(version: &Version) -> String {
    let mut out = String::new();
    for level in 0..version.num_levels() {
        out.push_str(&format!("--- level {level} ---\n"));
        for file in version.files(level) {
            out.push_str(&format!(
                " {}:{}[{} .. {}][{} .. {}]\n",
                file.number,
                file.size,
                file.smallest_seqno,
                file.largest_seqno,
                file.smallest_user_key().escape_ascii(),
                file.largest_user_key().escape_ascii()
            ));
        }
    }
    out
}

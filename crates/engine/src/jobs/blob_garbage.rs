//! The garbage that a compaction leaves in blob files.

use blob::format::RECORD_HEADER_LEN;
use std::collections::BTreeMap;

use base::{Kind, Result};
use blob::BlobLocation;

/// Blob records that lose their last reference, by file: counted at the input and the output of a compaction.
#[derive(Debug, Default)]
pub(crate) struct BlobGarbage {
    /// The records and bytes of the blobs in the compaction's input, less those in its output.
    pub by_file: BTreeMap<u64, (u64, u64)>,
    /// The bytes of the blob values that the compaction has read.
    pub bytes_read: u64,
}

impl BlobGarbage {
    /// Counts an input entry, which may refer to blobs.
    pub fn enter(&mut self, user_key: &[u8], kind: Kind, value: &[u8]) -> Result<()> {
        blob::for_each_location(kind, value, |location| {
            let (count, bytes) = self.by_file.entry(location.file_number).or_default();
            *count += 1;
            *bytes += record_size(user_key, &location);
            Ok(())
        })
    }

    /// Counts an output entry, which may refer to blobs.
    pub fn leave(&mut self, user_key: &[u8], kind: Kind, value: &[u8]) -> Result<()> {
        blob::for_each_location(kind, value, |location| {
            let (count, bytes) = self.by_file.entry(location.file_number).or_default();
            *count = count.saturating_sub(1);
            *bytes = bytes.saturating_sub(record_size(user_key, &location));
            Ok(())
        })
    }
}

/// The size of a blob's record in bytes.
fn record_size(user_key: &[u8], location: &BlobLocation) -> u64 {
    (RECORD_HEADER_LEN + user_key.len()) as u64 + location.size
}

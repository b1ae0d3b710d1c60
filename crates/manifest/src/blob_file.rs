//! What MANIFEST says about one blob file.

use std::any::Any;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// A blob file comes into being (tag 400).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlobFileAddition {
    /// File number.
    pub number: u64,
    /// Number of records.
    pub total_blob_count: u64,
    /// Bytes of the records: the file without header and footer.
    pub total_blob_bytes: u64,
    /// Name of the checksum function over the whole file, empty for none.
    pub checksum_method: String,
    /// That checksum, empty for none.
    pub checksum_value: Box<[u8]>,
    /// Fields of later RocksDB releases that may be ignored, to be written again as they came.
    pub unknown_fields: Vec<(u32, Box<[u8]>)>,
}

/// Records of a blob file that nothing refers to any more (tag 401). Adds to what was garbage before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlobFileGarbage {
    /// File number.
    pub number: u64,
    /// How many records.
    pub garbage_blob_count: u64,
    /// Their bytes.
    pub garbage_blob_bytes: u64,
    /// Fields of later RocksDB releases that may be ignored, to be written again as they came.
    pub unknown_fields: Vec<(u32, Box<[u8]>)>,
}

/// What never changes about a blob file, and what the engine hangs on it while it is live.
pub struct SharedBlobFileMetadata {
    /// As it was added.
    pub addition: BlobFileAddition,
    /// The open file. Owner: the engine.
    pub handle: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl fmt::Debug for SharedBlobFileMetadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.addition.fmt(f)
    }
}

/// A blob file in a version.
#[derive(Clone, Debug)]
pub struct BlobFileMetadata {
    /// What all versions share.
    pub shared: Arc<SharedBlobFileMetadata>,
    /// Numbers of the SSTs whose oldest blob file this is.
    pub linked_ssts: BTreeSet<u64>,
    /// Records nothing refers to.
    pub garbage_blob_count: u64,
    /// Their bytes.
    pub garbage_blob_bytes: u64,
}

impl BlobFileMetadata {
    /// A blob file no SST is linked to yet, without garbage.
    pub fn new(addition: BlobFileAddition) -> BlobFileMetadata {
        BlobFileMetadata {
            shared: Arc::new(SharedBlobFileMetadata {
                addition,
                handle: OnceLock::new(),
            }),
            linked_ssts: BTreeSet::new(),
            garbage_blob_count: 0,
            garbage_blob_bytes: 0,
        }
    }

    /// File number.
    pub fn number(&self) -> u64 {
        self.shared.addition.number
    }

    /// Number of records.
    pub fn total_blob_count(&self) -> u64 {
        self.shared.addition.total_blob_count
    }

    /// Bytes of the records: the file without header and footer.
    pub fn total_blob_bytes(&self) -> u64 {
        self.shared.addition.total_blob_bytes
    }

    /// Size of the file in bytes: records, header of 30 and footer of 32.
    pub fn file_size(&self) -> u64 {
        self.total_blob_bytes().saturating_add(30 + 32)
    }

    /// True if nothing refers to any record.
    pub fn is_all_garbage(&self) -> bool {
        self.garbage_blob_count >= self.total_blob_count()
    }
}

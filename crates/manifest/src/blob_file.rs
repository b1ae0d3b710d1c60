//! The MANIFEST's records of a blob file.

use std::any::Any;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// A new blob file (tag 400).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlobFileAddition {
    /// The file number.
    pub number: u64,
    /// The number of records.
    pub total_blob_count: u64,
    /// Bytes of the records: the file without header and footer.
    pub total_blob_bytes: u64,
    /// The name of the checksum function over the whole file, empty for none.
    pub checksum_method: String,
    /// The checksum of the whole file; empty for none.
    pub checksum_value: Box<[u8]>,
    /// Ignorable fields of later RocksDB releases, which are written back unchanged.
    pub unknown_fields: Vec<(u32, Box<[u8]>)>,
}

impl BlobFileAddition {
    /// The size of the file in bytes: records, header of 30 and footer of 32.
    pub fn file_size(&self) -> u64 {
        self.total_blob_bytes.saturating_add(30 + 32)
    }
}

/// Records of a blob file that are no longer referenced (tag 401). Adds to the earlier garbage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlobFileGarbage {
    /// The file number.
    pub number: u64,
    /// The number of records.
    pub garbage_blob_count: u64,
    /// The bytes of the records.
    pub garbage_blob_bytes: u64,
    /// Ignorable fields of later RocksDB releases, which are written back unchanged.
    pub unknown_fields: Vec<(u32, Box<[u8]>)>,
}

/// The record of a blob file in the MANIFEST, which never changes, and the engine's handle while the file is
/// live.
pub struct SharedBlobFileMetadata {
    /// The record that added the file.
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
    /// The part that all versions share.
    pub shared: Arc<SharedBlobFileMetadata>,
    /// The numbers of the SSTs that refer to this blob file and to no older one.
    pub linked_ssts: BTreeSet<u64>,
    /// The number of records that are no longer referenced.
    pub garbage_blob_count: u64,
    /// The bytes of the garbage records.
    pub garbage_blob_bytes: u64,
}

impl BlobFileMetadata {
    /// A blob file without linked SSTs and without garbage.
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

    /// The file number.
    pub fn number(&self) -> u64 {
        self.shared.addition.number
    }

    /// The number of records.
    pub fn total_blob_count(&self) -> u64 {
        self.shared.addition.total_blob_count
    }

    /// Bytes of the records: the file without header and footer.
    pub fn total_blob_bytes(&self) -> u64 {
        self.shared.addition.total_blob_bytes
    }

    /// The size of the file in bytes.
    pub fn file_size(&self) -> u64 {
        self.shared.addition.file_size()
    }

    /// True if no record is referenced any more.
    pub fn is_all_garbage(&self) -> bool {
        self.garbage_blob_count >= self.total_blob_count()
    }
}

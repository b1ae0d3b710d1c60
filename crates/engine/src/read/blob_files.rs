//! The blob files in use.

use base::filename;
use std::path::PathBuf;
use std::sync::Arc;

use manifest::BlobFileMetadata;

use crate::state::column_family::ColumnFamily;
use crate::state::handle::Db;

/// A live blob file.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// for file in db.blob_files(&db.default_column_family()) {
///     println!("{}: {} of {} bytes are garbage", file.number, file.garbage_blob_bytes, file.total_blob_bytes);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobMetaData {
    /// The file number.
    pub number: u64,
    /// The path of the file.
    pub path: PathBuf,
    /// The size of the file in bytes.
    pub size: u64,
    /// The number of values in the file.
    pub total_blob_count: u64,
    /// The bytes of the records of all values.
    pub total_blob_bytes: u64,
    /// The number of values that no table refers to any more.
    pub garbage_blob_count: u64,
    /// The bytes of the records of the referenced values.
    pub garbage_blob_bytes: u64,
    /// The numbers of the tables whose entries refer to this blob file and to no older one.
    pub linked_ssts: Vec<u64>,
    /// The name of the checksum function of the whole file; empty if the MANIFEST has none.
    pub checksum_method: String,
    /// The checksum of the whole file; empty if the MANIFEST has none.
    pub checksum_value: Vec<u8>,
}

impl Db {
    /// Returns the blob files of `family` in the order of their numbers, oldest first. Takes no lock.
    pub fn blob_files(&self, family: &ColumnFamily) -> Vec<BlobMetaData> {
        let version = family.0.super_version.load().version.clone();
        let blob_file = |blob: &Arc<BlobFileMetadata>| {
            let addition = &blob.shared.addition;
            BlobMetaData {
                number: blob.number(),
                path: filename::blob(&family.0.dir, blob.number()),
                size: blob.file_size(),
                total_blob_count: blob.total_blob_count(),
                total_blob_bytes: blob.total_blob_bytes(),
                garbage_blob_count: blob.garbage_blob_count,
                garbage_blob_bytes: blob.garbage_blob_bytes,
                linked_ssts: blob.linked_ssts.iter().copied().collect(),
                checksum_method: addition.checksum_method.clone(),
                checksum_value: addition.checksum_value.to_vec(),
            }
        };
        version.blob_files().values().map(blob_file).collect()
    }
}

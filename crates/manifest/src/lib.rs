//! Version edits and versions, which define the files of a database. Pure: edits in, version out.
#![forbid(unsafe_code)]

mod blob_file;
mod builder;
mod edit;
mod file;
mod live_data;
mod point_in_time;
mod snapshot;
mod state;
mod version;

pub use blob_file::{BlobFileAddition, BlobFileGarbage, BlobFileMetadata, SharedBlobFileMetadata};
pub use builder::VersionBuilder;
pub use edit::{VersionEdit, WalAddition};
pub use file::{
    FileChecksum, FileMetadata, FileStats, MAX_FILE_NUMBER, MAX_PATH_ID, RANGE_TOMBSTONE_SENTINEL,
    UNKNOWN_CHECKSUM_FUNC_NAME,
};
pub use point_in_time::{FilesPresent, PointInTime};
pub use snapshot::snapshot_edits;
pub use state::{
    ComparatorFor, DEFAULT_COLUMN_FAMILY_NAME, FamilyState, ManifestState, Replay, builtin_comparator,
};
pub use version::{DEFAULT_NUM_LEVELS, Level, MAX_LEVELS, Version, obsolete_blob_files};

//! A version edit: one change of a database's files, and one record of the MANIFEST.
//!
//! Bytes: `docs/format/manifest.md`. A record is a sequence of fields, each a tag (varint) and its value, in
//! any order.

use std::collections::BTreeSet;
use std::sync::Arc;

use base::SeqNo;

use crate::blob_file::{BlobFileAddition, BlobFileGarbage};
use crate::file::FileMetadata;

mod decode;
mod encode;

/// The tags of fields. The numbers are part of the format.
mod tag {
    pub const COMPARATOR: u32 = 1;
    pub const LOG_NUMBER: u32 = 2;
    pub const NEXT_FILE_NUMBER: u32 = 3;
    pub const LAST_SEQUENCE: u32 = 4;
    pub const COMPACT_CURSOR: u32 = 5;
    pub const DELETED_FILE: u32 = 6;
    pub const NEW_FILE: u32 = 7;
    pub const PREV_LOG_NUMBER: u32 = 9;
    pub const MIN_LOG_NUMBER_TO_KEEP: u32 = 10;
    pub const NEW_FILE2: u32 = 100;
    pub const NEW_FILE3: u32 = 102;
    pub const NEW_FILE4: u32 = 103;
    pub const COLUMN_FAMILY: u32 = 200;
    pub const COLUMN_FAMILY_ADD: u32 = 201;
    pub const COLUMN_FAMILY_DROP: u32 = 202;
    pub const MAX_COLUMN_FAMILY: u32 = 203;
    pub const IN_ATOMIC_GROUP: u32 = 300;
    pub const BLOB_FILE_ADDITION: u32 = 400;
    pub const BLOB_FILE_GARBAGE: u32 = 401;
    /// Unknown tags with this bit are length-prefixed and may be skipped.
    pub const SAFE_IGNORE_MASK: u32 = 1 << 13;
    pub const DB_ID: u32 = 8193;
    pub const BLOB_FILE_ADDITION_DEPRECATED: u32 = 8194;
    pub const BLOB_FILE_GARBAGE_DEPRECATED: u32 = 8195;
    pub const WAL_ADDITION: u32 = 8196;
    pub const WAL_DELETION: u32 = 8197;
    pub const FULL_HISTORY_TS_LOW: u32 = 8198;
    pub const WAL_ADDITION2: u32 = 8199;
    pub const WAL_DELETION2: u32 = 8200;
    pub const PERSIST_USER_DEFINED_TIMESTAMPS: u32 = 8201;
    pub const SUBCOMPACTION_PROGRESS: u32 = 8202;
    pub const LAST_COMPACTED_MANIFEST_FILE_SIZE: u32 = 8203;
}

/// The tags of the fields within a new file. The numbers are part of the format.
mod file_tag {
    pub const TERMINATE: u32 = 1;
    pub const NEED_COMPACTION: u32 = 2;
    pub const MIN_LOG_NUMBER_TO_KEEP: u32 = 3;
    pub const OLDEST_BLOB_FILE_NUMBER: u32 = 4;
    pub const OLDEST_ANCESTOR_TIME: u32 = 5;
    pub const FILE_CREATION_TIME: u32 = 6;
    pub const FILE_CHECKSUM: u32 = 7;
    pub const FILE_CHECKSUM_FUNC_NAME: u32 = 8;
    pub const TEMPERATURE: u32 = 9;
    pub const MIN_TIMESTAMP: u32 = 10;
    pub const MAX_TIMESTAMP: u32 = 11;
    pub const UNIQUE_ID: u32 = 12;
    pub const EPOCH_NUMBER: u32 = 13;
    pub const COMPENSATED_RANGE_DELETION_SIZE: u32 = 14;
    pub const TAIL_SIZE: u32 = 15;
    pub const USER_DEFINED_TIMESTAMPS_PERSISTED: u32 = 16;
    pub const FILE_OPEN_METADATA: u32 = 17;
    pub const PATH_ID: u32 = 65;
}

/// Unknown tags with this bit, within new files and blob files, must be understood.
const MUST_UNDERSTAND_MASK: u32 = 1 << 6;
/// Ends the fields within a blob file.
const BLOB_TERMINATE: u32 = 0;
/// The fields of a WAL addition.
const WAL_TERMINATE: u32 = 1;
const WAL_SYNCED_SIZE: u32 = 2;

/// A WAL was created or synced (tag 8199, `track_and_verify_wals_in_manifest`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalAddition {
    /// The number of the WAL.
    pub number: u64,
    /// The number of bytes of the WAL that are known to be synced; `None` if the WAL was only created.
    pub synced_size: Option<u64>,
}

/// One change of a database's files. The default changes nothing.
///
/// Fields that represent absence are not written. The order of application does not depend on the order of
/// the bytes: blob additions, blob garbage, deleted files, new files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionEdit {
    /// The database's id.
    pub db_id: Option<String>,
    /// The name of the family's comparator.
    pub comparator: Option<String>,
    /// The log number of the family: WALs with lower numbers hold no unflushed data of the family.
    pub log_number: Option<u64>,
    /// The number of an older WAL: always 0, since LevelDB stopped using it.
    pub prev_log_number: Option<u64>,
    /// The number that the next new file gets.
    pub next_file_number: Option<u64>,
    /// The highest family id ever used.
    pub max_column_family: Option<u32>,
    /// No family needs WALs with lower numbers.
    pub min_log_number_to_keep: Option<u64>,
    /// The highest sequence number in use.
    pub last_sequence: Option<SeqNo>,
    /// Where round-robin compaction continues: level, internal key.
    pub compact_cursors: Vec<(u32, Box<[u8]>)>,
    /// Files removed from the version: level, number.
    pub deleted_files: BTreeSet<(u32, u64)>,
    /// Files added to the version, with their levels.
    pub new_files: Vec<(u32, Arc<FileMetadata>)>,
    /// New blob files.
    pub blob_file_additions: Vec<BlobFileAddition>,
    /// The garbage that the edit adds to blob files.
    pub blob_file_garbages: Vec<BlobFileGarbage>,
    /// WALs created or synced. An edit with these must change no files: RocksDB would ignore the changes.
    pub wal_additions: Vec<WalAddition>,
    /// WALs below this number have been deleted. An edit with it must change no files: RocksDB would ignore
    /// the changes.
    pub wal_deletion: Option<u64>,
    /// The id of the family concerned, 0: default.
    pub column_family: u32,
    /// The family is created with this name. Such an edit must change no files: RocksDB would ignore the
    /// changes.
    pub column_family_add: Option<String>,
    /// True if the edit drops the column family.
    pub column_family_drop: bool,
    /// The edit belongs to a group that is applied atomically: the number of edits of the group that follow.
    pub atomic_group_remaining: Option<u32>,
    /// Versions of keys older than this timestamp may have been dropped.
    pub full_history_ts_low: Option<Box<[u8]>>,
    /// Whether the family's files contain timestamps. Only together with [`comparator`](Self::comparator).
    pub persist_user_defined_timestamps: Option<bool>,
    /// The progress of a resumable compaction; opaque here, and never in a database's MANIFEST.
    pub subcompaction_progress: Option<Box<[u8]>>,
    /// The size of this MANIFEST when it held only its initial state.
    pub last_compacted_manifest_file_size: Option<u64>,
    /// Ignorable fields of later RocksDB releases, which are written back unchanged.
    pub unknown_fields: Vec<(u32, Box<[u8]>)>,
}

//! A backup, and its files.

/// The number of a backup, from 1.
pub type BackupId = u32;

/// The maximum number of bytes of metadata that a user may store with a backup.
pub const MAX_APP_METADATA: usize = 1 << 20;

/// A file of a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupFileInfo {
    /// The path relative to the backup directory.
    pub relative_filename: String,
    /// The size in bytes.
    pub size: u64,
    /// The CRC-32C of the whole file, if the meta file has it.
    pub crc32c: Option<u32>,
}

/// A backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupInfo {
    /// The backup's number.
    pub backup_id: BackupId,
    /// The time at which the backup was created, in Unix seconds.
    pub timestamp: u64,
    /// The sequence number of the backup's last row.
    pub sequence_number: u64,
    /// The user's metadata.
    pub app_metadata: Vec<u8>,
    /// The files of the backup, including those it shares with other backups.
    pub files: Vec<BackupFileInfo>,
    /// Files it needs that are in no known backup directory. Only RocksDB creates such backups.
    pub excluded_files: Vec<String>,
}

impl BackupInfo {
    /// The sum of the sizes of all files, in bytes.
    pub fn size(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }
}

//! The meta file of a backup.

use std::path::Path;
use std::sync::Arc;

use backup::{BackupEngine, BackupEngineOptions};
use vfs::{FileSystem, MemFs};

use super::put_file;

/// A meta file for the files in the directory that [`backup_meta`] makes.
pub const BACKUP_META: &str = "schema_version 2.1\n1700000000\n4711\nmetadata 68656C6C6F\n2\n\
    private/1/CURRENT crc32 3475090443 size 16\nshared_checksum/000009_sABC_7.sst crc32 678 size 7\n// FOOTER\nx y\n";

/// A backup directory whose meta file is the input: the directory opens, the backup is good or corrupt, and
/// no file outside of it is named.
pub fn backup_meta(data: &[u8]) {
    let fs = MemFs::new();
    let dir = Path::new("/backups");
    for part in ["meta", "private/1", "shared_checksum"] {
        fs.create_dir_all(&dir.join(part)).expect("a directory in memory");
    }
    put_file(&fs, &dir.join("private/1/CURRENT"), b"MANIFEST-000005\n");
    put_file(&fs, &dir.join("shared_checksum/000009_sABC_7.sst"), b"a table");
    put_file(&fs, &dir.join("meta/1"), data);
    let options = BackupEngineOptions {
        fs: Arc::new(fs),
        ..BackupEngineOptions::new(dir)
    };
    let engine = BackupEngine::open_read_only(options).expect("damage is no error of the directory's");
    assert_eq!(engine.backups().len() + engine.corrupted_backups().len(), 1);
    if let Ok(info) = engine.backup(1) {
        let inside = |name: &str| name.starts_with("private/1/") || name.starts_with("shared_checksum/");
        assert!(info.files.iter().all(|file| inside(&file.relative_filename)));
        let _ = engine.verify_backup(1, true, None);
    }
}

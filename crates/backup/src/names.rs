//! The names of files in a backup directory.
//!
//! ```text
//! meta/7                                      what backup 7 consists of
//! private/7/MANIFEST-000012                   files of backup 7 alone
//! shared_checksum/000009_sSESSION_1234.sst    tables of any backups, by number, session that wrote them, and size
//! shared_checksum/000009_CRC32C_1234.sst      blob files, and tables that name no session, by checksum
//! shared/000009.sst                           tables of backups with `share_files_with_checksum` off
//! ```
//!
//! A file `.NAME.tmp` next to `NAME` is being written. Names in a meta file are untrusted: a name of any
//! other form is refused, so that no file outside of the directory is ever read or deleted.

use std::path::{Path, PathBuf};

use base::filename;

use crate::BackupId;

pub(crate) const META: &str = "meta";
pub(crate) const PRIVATE: &str = "private";
pub(crate) const SHARED: &str = "shared";
pub(crate) const SHARED_CHECKSUM: &str = "shared_checksum";

/// `dir/meta/7`.
pub(crate) fn meta(dir: &Path, id: BackupId) -> PathBuf {
    dir.join(META).join(id.to_string())
}

/// `dir/private/7`.
pub(crate) fn private_dir(dir: &Path, id: BackupId) -> PathBuf {
    dir.join(PRIVATE).join(id.to_string())
}

/// `private/7/NAME`.
pub(crate) fn private(id: BackupId, name: &str) -> String {
    format!("{PRIVATE}/{id}/{name}")
}

/// `shared/NAME`.
pub(crate) fn shared(name: &str) -> String {
    format!("{SHARED}/{name}")
}

/// The name of a table by its session, with or without its size.
pub(crate) fn by_session(name: &str, session: &str, size: Option<u64>) -> String {
    let size = size.map_or(String::new(), |size| format!("_{size}"));
    within(name, &format!("_s{session}{size}"))
}

/// The name of a file by its checksum and size.
pub(crate) fn by_checksum(name: &str, crc32c: u32, size: u64) -> String {
    within(name, &format!("_{crc32c}_{size}"))
}

fn within(name: &str, what: &str) -> String {
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    format!("{SHARED_CHECKSUM}/{stem}{what}.{extension}")
}

/// The path that a file is written to before it is renamed to `path`.
pub(crate) fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.tmp"))
}

/// True for the results of [`temporary`].
pub(crate) fn is_temporary(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(".tmp")
}

/// The number in a name, if the name is its canonical form.
pub(crate) fn backup_id(name: &str) -> Option<BackupId> {
    let id: BackupId = name.parse().ok()?;
    (id > 0 && name == id.to_string()).then_some(id)
}

/// The name that the backup file at `relative` has in a database, for backup `id`; `None` if `relative` is
/// not the name of a backup file.
pub(crate) fn db_file_name(relative: &str, id: BackupId) -> Option<String> {
    let name = match relative.split('/').collect::<Vec<_>>()[..] {
        [PRIVATE, of, name] if backup_id(of) == Some(id) => name.to_owned(),
        [SHARED, name] => name.to_owned(),
        [SHARED_CHECKSUM, name] => {
            let (number, _) = name.split_once('_')?;
            let (_, extension) = name.rsplit_once('.')?;
            format!("{number}.{extension}")
        }
        _ => return None,
    };
    filename::parse(&name).map(|_| name)
}

/// The session and size in the name of a table, if it is named by them.
pub(crate) fn session_and_size(relative: &str) -> Option<(&str, u64)> {
    let name = relative.strip_prefix(SHARED_CHECKSUM)?.strip_prefix('/')?;
    let (stem, _) = name.rsplit_once('.')?;
    let mut parts = stem.split('_').skip(1);
    let session = parts.next()?.strip_prefix('s')?;
    Some((session, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_the_database() {
        for (relative, name) in [
            (private(7, "MANIFEST-000012"), "MANIFEST-000012"),
            (private(7, "CURRENT"), "CURRENT"),
            (shared("000009.sst"), "000009.sst"),
            (by_session("000009.sst", "ABC0", Some(77)), "000009.sst"),
            (by_session("000009.ldb", "ABC0", None), "000009.ldb"),
            (by_checksum("000010.blob", 123, 77), "000010.blob"),
        ] {
            assert_eq!(db_file_name(&relative, 7).as_deref(), Some(name), "{relative}");
        }
        let table = by_session("000009.sst", "ABC0", Some(77));
        assert_eq!(table, "shared_checksum/000009_sABC0_77.sst");
        assert_eq!(session_and_size(&table), Some(("ABC0", 77)));
        assert_eq!(session_and_size(&by_checksum("000009.sst", 5, 77)), None);
        let temporary = temporary(Path::new("b/meta/7"));
        assert_eq!(temporary, Path::new("b/meta/.7.tmp"));
        assert!(is_temporary(".7.tmp") && !is_temporary("7.tmp"));
    }

    #[test]
    fn nothing_outside_is_named() {
        for relative in [
            "",
            "/etc/passwd",
            "../000001.sst",
            "private/7/../8/CURRENT",
            "private/8/CURRENT",
            "private/07/CURRENT",
            "private/7/notes",
            "shared/../000001.sst",
            "shared_checksum/../000001.sst",
            "shared_checksum/..",
            "shared_checksum/000001.sst",
            "shared_checksum/a_b.sst",
            "meta/7",
        ] {
            assert_eq!(db_file_name(relative, 7), None, "{relative}");
        }
        assert_eq!(["0", "01", "+1", "x", "4294967296"].map(backup_id), [None; 5]);
    }
}

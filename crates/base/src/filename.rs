//! The names of a database's files: one counter numbers all of them, in at least six digits.

use std::path::{Path, PathBuf};

/// The kind of a file, as its name says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// `NNNNNN.log`: a write-ahead log.
    Wal(u64),
    /// `NNNNNN.sst` (or LevelDB's `.ldb`): a table.
    Table(u64),
    /// `NNNNNN.blob`: values kept outside the tables.
    Blob(u64),
    /// `MANIFEST-NNNNNN`: the log of version edits.
    Manifest(u64),
    /// `OPTIONS-NNNNNN`: the options of the database.
    Options(u64),
    /// `NNNNNN.dbtmp` or `OPTIONS-NNNNNN.dbtmp`: a temporary file that a process had not finished when it
    /// ended. The next open may delete the file.
    Temp,
    /// `CURRENT`: names the MANIFEST in use.
    Current,
    /// `IDENTITY`: the database's id.
    Identity,
    /// `LOCK`: locked while the database is open.
    Lock,
    /// `LOG` and `LOG.old.*`: the info log.
    InfoLog,
}

/// The kind of the file `name` in a database directory; `None` for files that are not of a database.
pub fn parse(name: &str) -> Option<FileKind> {
    let number = |digits: &str| -> Option<u64> {
        (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
            .then(|| digits.parse().ok())?
    };
    match name {
        "CURRENT" => return Some(FileKind::Current),
        "IDENTITY" => return Some(FileKind::Identity),
        "LOCK" => return Some(FileKind::Lock),
        "LOG" => return Some(FileKind::InfoLog),
        _ => {}
    }
    if name.starts_with("LOG.old.") {
        return Some(FileKind::InfoLog);
    }
    if let Some(digits) = name.strip_prefix("MANIFEST-") {
        return Some(FileKind::Manifest(number(digits)?));
    }
    if let Some(rest) = name.strip_prefix("OPTIONS-") {
        return match rest.strip_suffix(".dbtmp") {
            Some(digits) => number(digits).map(|_| FileKind::Temp),
            None => Some(FileKind::Options(number(rest)?)),
        };
    }
    let (digits, extension) = name.split_once('.')?;
    let number = number(digits)?;
    Some(match extension {
        "log" => FileKind::Wal(number),
        "sst" | "ldb" => FileKind::Table(number),
        "blob" => FileKind::Blob(number),
        "dbtmp" => FileKind::Temp,
        _ => return None,
    })
}

/// `dir/NNNNNN.log`.
pub fn wal(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:06}.log"))
}

/// `dir/NNNNNN.sst`.
pub fn table(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:06}.sst"))
}

/// `dir/NNNNNN.blob`.
pub fn blob(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:06}.blob"))
}

/// `dir/MANIFEST-NNNNNN`.
pub fn manifest(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("MANIFEST-{number:06}"))
}

/// `dir/OPTIONS-NNNNNN`.
pub fn options(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("OPTIONS-{number:06}"))
}

/// `dir/NNNNNN.dbtmp`.
pub fn temp(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:06}.dbtmp"))
}

/// `dir/CURRENT`.
pub fn current(dir: &Path) -> PathBuf {
    dir.join("CURRENT")
}

/// `dir/LOCK`.
pub fn lock(dir: &Path) -> PathBuf {
    dir.join("LOCK")
}

/// `dir/IDENTITY`.
pub fn identity(dir: &Path) -> PathBuf {
    dir.join("IDENTITY")
}

/// `dir/LOG`; in a directory of logs, the name includes the database's path, as in RocksDB:
/// `log_dir/srv_me_db_LOG`.
pub fn info_log(dir: &Path, log_dir: Option<&Path>) -> PathBuf {
    let Some(log_dir) = log_dir else {
        return dir.join("LOG");
    };
    let mut name = String::new();
    for (at, char) in dir.display().to_string().char_indices() {
        match char {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '.' | '_' => name.push(char),
            _ if at > 0 => name.push('_'),
            _ => {}
        }
    }
    log_dir.join(name + "_LOG")
}

/// The name that the file of [`info_log`] gets when a new one begins: `LOG.old.MICROS`.
pub fn old_info_log(info_log: &Path, unix_micros: u64) -> PathBuf {
    let mut name = info_log.as_os_str().to_owned();
    name.push(format!(".old.{unix_micros}"));
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_info_log_is_named_as_rocksdb_names_it() {
        let dir = Path::new("/srv/me/my db");
        assert_eq!(info_log(dir, None), dir.join("LOG"));
        let elsewhere = info_log(dir, Some(Path::new("/logs")));
        assert_eq!(elsewhere, Path::new("/logs/srv_me_my_db_LOG"));
        assert_eq!(
            old_info_log(&elsewhere, 17),
            Path::new("/logs/srv_me_my_db_LOG.old.17")
        );
    }

    #[test]
    fn names_and_numbers() {
        let dir = Path::new("d");
        for (path, kind) in [
            (wal(dir, 7), FileKind::Wal(7)),
            (table(dir, 1_234_567), FileKind::Table(1_234_567)),
            (blob(dir, 9), FileKind::Blob(9)),
            (manifest(dir, 1), FileKind::Manifest(1)),
            (options(dir, 12), FileKind::Options(12)),
            (temp(dir, 3), FileKind::Temp),
            (current(dir), FileKind::Current),
        ] {
            assert_eq!(parse(path.file_name().unwrap().to_str().unwrap()), Some(kind));
        }
        assert_eq!(parse("OPTIONS-000007.dbtmp"), Some(FileKind::Temp));
        assert_eq!(parse("000007.ldb"), Some(FileKind::Table(7)));
        assert_eq!(parse("LOG.old.123"), Some(FileKind::InfoLog));
        for foreign in [
            "",
            ".sst",
            "x.sst",
            "1.txt",
            "MANIFEST-",
            "MANIFEST-1x",
            "99999999999999999999999.sst",
            "+1.log",
        ] {
            assert_eq!(parse(foreign), None, "{foreign}");
        }
    }
}

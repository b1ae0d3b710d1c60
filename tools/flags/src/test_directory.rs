//! The directory of databases for command lines that name none.

use std::path::{Path, PathBuf};

/// `$TEST_TMPDIR`, or `/tmp/rocksdbtest-` and the effective user id: the path that `GetTestDirectory` of
/// RocksDB's environment returns. The directory is created if it does not exist.
///
/// # Errors
///
/// The directory cannot be created, or the user of the process is unknown.
pub fn test_directory() -> Result<PathBuf, String> {
    let dir = match std::env::var_os("TEST_TMPDIR").filter(|dir| !dir.is_empty()) {
        Some(dir) => PathBuf::from(dir),
        None => Path::new("/tmp").join(format!("rocksdbtest-{}", effective_user()?)),
    };
    std::fs::create_dir_all(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    Ok(dir)
}

/// The effective user id: the second number of the line `Uid:` of `/proc/self/status`.
fn effective_user() -> Result<u32, String> {
    let path = "/proc/self/status";
    let status = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    ids.and_then(|ids| ids.split_whitespace().nth(1)?.parse().ok())
        .ok_or_else(|| format!("{path}: no user id"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn the_effective_user_is_the_owner_of_new_files() {
        let file = std::env::temp_dir().join(format!("effective-user-{}", std::process::id()));
        std::fs::write(&file, "").unwrap();
        let owner = std::fs::metadata(&file).unwrap().uid();
        std::fs::remove_file(&file).unwrap();
        assert_eq!(effective_user(), Ok(owner));
    }
}

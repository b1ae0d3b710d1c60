//! The file with the numbers of WALs that recovery left out, because it ended before them: damage in an older
//! WAL. Their rows are in no table, and later rows have their sequence numbers, so these WALs are never
//! archived, and readers of updates pass over them. They are deleted after the MANIFEST no longer needs them.
//! A crash may come in between, so their numbers are written to this file, in the archive, before that
//! MANIFEST: one line a WAL.

use std::collections::BTreeSet;
use std::path::Path;

use base::{Error, ErrorKind, Result};
use vfs::FileSystem;

use crate::files::archived_wals::{create_directory, directory};

/// The file with the numbers of unread WALs.
pub(crate) const UNREAD: &str = "UNREAD_WALS";
/// The temporary file that is renamed to the list's name.
pub(crate) const TEMPORARY: &str = "UNREAD_WALS.tmp";

/// Reads the numbers of the unread WALs. Empty if there is no such file.
///
/// # Errors
/// `Corruption` if the file is no list of numbers.
pub(crate) fn unread(fs: &dyn FileSystem, wal_dir: &Path) -> Result<BTreeSet<u64>> {
    let path = directory(wal_dir).join(UNREAD);
    let bytes = match fs.read_file(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeSet::new()),
        bytes => bytes?,
    };
    parse(&bytes).ok_or_else(|| Error::corruption("not a list of unread WALs").in_file(&path))
}

fn parse(bytes: &[u8]) -> Option<BTreeSet<u64>> {
    let text = std::str::from_utf8(bytes).ok()?;
    text.lines().map(|line| line.parse().ok()).collect()
}

/// Replaces the file by one with `numbers`, durably; removes it if there are none.
pub(crate) fn write(fs: &dyn FileSystem, wal_dir: &Path, numbers: &BTreeSet<u64>) -> Result<()> {
    create_directory(fs, wal_dir)?;
    let dir = directory(wal_dir);
    if numbers.is_empty() {
        return fs.remove(&dir.join(UNREAD));
    }
    let text: String = numbers.iter().map(|number| format!("{number}\n")).collect();
    fs.replace_file(&dir.join(UNREAD), &dir.join(TEMPORARY), text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_number() {
        assert_eq!(parse(b"7\n9\n"), Some(BTreeSet::from([7, 9])));
        for bad in [
            &b"x\n"[..],
            b"-1\n",
            b"7 9\n",
            b"\n",
            b"\xff\n",
            b"18446744073709551616\n",
        ] {
            assert_eq!(parse(bad), None, "{bad:?}");
        }
    }
}

//! Named cursors: positions of change feeds that survive restarts, each a small file in the archive. For each
//! cursor, the WAL at its position and all later WALs are kept, within its budget of bytes.
//!
//! ```text
//! esker.feed-cursor 1
//! position 17                 the sequence number of the next row; those before are acknowledged
//! keep 5                      the oldest WAL that is needed to go on from there
//! read 6                      the WAL in which the feed came to the position; absent: the same
//! budget 1073741824           bytes of archived WALs that are kept for it
//! acknowledged 1795708942     seconds since 1970
//! checksum 0badcafe           of the lines before
//! ```

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use base::{Error, ErrorKind, Result, SeqNo};
use codec::checksum::crc32c;
use vfs::FileSystem;

use crate::files::archived_wals::directory;

/// The first line of a cursor's file.
const MAGIC: &str = "esker.feed-cursor 1";
/// The extension of cursors' files.
const EXTENSION: &str = ".cursor";
/// The longest name of a cursor.
const LONGEST_NAME: usize = 64;

/// The contents of a cursor's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub name: String,
    /// The sequence number of the next row.
    pub position: SeqNo,
    /// The number of the oldest WAL that is needed to continue from `position`.
    pub keep: u64,
    /// The number of the WAL in which the feed came to `position`. Damage in an older WAL hides no row from
    /// `position` on.
    pub read: u64,
    /// The maximum number of bytes of archived WALs that are kept for the cursor.
    pub budget: u64,
    /// The time of the last acknowledgement in seconds since 1970.
    pub acknowledged: u64,
}

/// `InvalidArgument` unless a cursor can have this name.
pub(crate) fn check_name(name: &str) -> Result<()> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let fits = (1..=LONGEST_NAME).contains(&name.len());
    match fits && name.bytes().all(is_plain) && !name.starts_with('.') {
        true => Ok(()),
        false => Err(Error::invalid_argument(format!(
            "a cursor's name has up to {LONGEST_NAME} letters, digits, dots, dashes and underscores, and begins with no dot: {name:?}"
        ))),
    }
}

fn path_of(wal_dir: &Path, name: &str) -> PathBuf {
    directory(wal_dir).join(format!("{name}{EXTENSION}"))
}

impl Cursor {
    /// The cursor called `name`, if there is one.
    pub fn read(fs: &dyn FileSystem, wal_dir: &Path, name: &str) -> Result<Option<Cursor>> {
        let path = path_of(wal_dir, name);
        match fs.read_file(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            bytes => Ok(Some(
                Cursor::parse(name, &bytes?).map_err(|error| error.in_file(&path))?,
            )),
        }
    }

    /// All cursors, by name. A corrupt cursor file is an error: it does not show which WALs its cursor needs.
    pub fn all(fs: &dyn FileSystem, wal_dir: &Path) -> Result<Vec<Cursor>> {
        let dir = directory(wal_dir);
        // Listeners of file operations would see the listing of a missing directory as a failure.
        if !fs.exists(&dir)? {
            return Ok(Vec::new());
        }
        let names = match fs.list(&dir) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            names => names?,
        };
        let mut cursors = Vec::new();
        for name in names.iter().filter_map(|name| name.strip_suffix(EXTENSION)) {
            cursors.extend(Cursor::read(fs, wal_dir, name)?);
        }
        cursors.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(cursors)
    }

    /// Writes the cursor durably, in place of the previous file with its name.
    pub fn write(&self, fs: &dyn FileSystem, wal_dir: &Path) -> Result<()> {
        let path = path_of(wal_dir, &self.name);
        fs.replace_file(&path, &path.with_extension("cursor.tmp"), self.text().as_bytes())
    }

    /// Deletes the cursor called `name`. Returns false if it does not exist.
    pub fn remove(fs: &dyn FileSystem, wal_dir: &Path, name: &str) -> Result<bool> {
        let path = path_of(wal_dir, name);
        match fs.remove(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            removed => removed?,
        }
        fs.sync_dir(&directory(wal_dir))?;
        Ok(true)
    }

    fn text(&self) -> String {
        let Cursor {
            position,
            keep,
            read,
            budget,
            acknowledged,
            ..
        } = self;
        let mut text = format!("{MAGIC}\nposition {position}\nkeep {keep}\n");
        // Writing to a string cannot fail.
        if read != keep {
            let _ = writeln!(text, "read {read}");
        }
        let _ = writeln!(text, "budget {budget}\nacknowledged {acknowledged}");
        let _ = writeln!(text, "checksum {:08x}", crc32c(text.as_bytes()));
        text
    }

    fn parse(name: &str, bytes: &[u8]) -> Result<Cursor> {
        let damaged = || Error::corruption("not a cursor of a change feed, or a damaged one");
        let text = std::str::from_utf8(bytes).map_err(|_| damaged())?;
        let mut lines = text.lines().peekable();
        if lines.next() != Some(MAGIC) {
            return Err(damaged());
        }
        let mut number = |title: &str| {
            let line = lines.next_if(|line| line.starts_with(title))?;
            line.strip_prefix(title)?.strip_prefix(' ')?.parse().ok()
        };
        let mut next = |title: &str| number(title).ok_or_else(damaged);
        let (position, keep) = (next("position")?, next("keep")?);
        let cursor = Cursor {
            name: name.to_owned(),
            position,
            keep,
            read: next("read").unwrap_or(keep),
            budget: next("budget")?,
            acknowledged: next("acknowledged")?,
        };
        match cursor.text() == text {
            true => Ok(cursor),
            false => Err(damaged()),
        }
    }
}

/// True for the name of a cursor file, or of a temporary file that an interrupted write of a cursor has left.
pub(crate) fn is_cursor_file(name: &str) -> bool {
    name.ends_with(EXTENSION) || name.ends_with(".cursor.tmp")
}

/// Returns the numbers of the archived WALs that `cursors` need and that are within their budgets. `wals` are
/// all archived WALs: number, path and size.
pub(crate) fn kept(cursors: &[Cursor], wals: &[(u64, PathBuf, u64)]) -> BTreeSet<u64> {
    let mut kept = BTreeSet::new();
    for cursor in cursors {
        let mut bytes = 0;
        // The newest WALs are kept first: beyond the budget a feed loses its oldest rows.
        for (number, _, size) in wals.iter().rev() {
            bytes += size;
            if *number < cursor.keep || bytes > cursor.budget {
                break;
            }
            kept.insert(*number);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_goes_round_and_damage_is_found() {
        let cursor = Cursor {
            name: "replica-1".to_owned(),
            position: 17,
            keep: 5,
            read: 6,
            budget: 1 << 30,
            acknowledged: 1_795_708_942,
        };
        let before = Cursor {
            read: 5,
            ..cursor.clone()
        };
        assert!(!before.text().contains("read"));
        assert_eq!(
            Cursor::parse("replica-1", before.text().as_bytes()).unwrap(),
            before
        );
        let text = cursor.text();
        assert_eq!(Cursor::parse("replica-1", text.as_bytes()).unwrap(), cursor);
        for at in 0..text.len() {
            let mut damaged = text.clone().into_bytes();
            damaged[at] ^= 1;
            let error = Cursor::parse("replica-1", &damaged).unwrap_err();
            assert!(error.is_corruption(), "{at}: {error}");
            assert!(Cursor::parse("replica-1", &text.as_bytes()[..at]).is_err());
        }
    }

    #[test]
    fn names_are_plain() {
        for good in ["a", "replica-1.eu_west", &"x".repeat(64)] {
            check_name(good).unwrap();
        }
        for bad in ["", ".hidden", "a/b", "a b", "\n", &"x".repeat(65)] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }
}

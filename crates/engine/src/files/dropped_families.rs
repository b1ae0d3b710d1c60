//! The file with the names of dropped families. Rows of a dropped family stay in WALs, but the MANIFEST no
//! longer has the family's name. So the name is written to this file, in the archive, before the family is
//! dropped: one line a family, `ID NAME`, the name in hexadecimal.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use base::{Error, ErrorKind, Result};
use vfs::FileSystem;

use crate::files::archived_wals::{create_directory, directory};

/// The file with the names of dropped families.
pub(crate) const DROPPED: &str = "DROPPED_FAMILIES";
/// The temporary file that is renamed to the list's name.
pub(crate) const TEMPORARY: &str = "DROPPED_FAMILIES.tmp";

/// Reads the names of dropped families by id.
pub(crate) fn dropped(fs: &dyn FileSystem, wal_dir: &Path) -> Result<BTreeMap<u32, String>> {
    let path = directory(wal_dir).join(DROPPED);
    let bytes = match fs.read_file(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
        bytes => bytes?,
    };
    let parsed = std::str::from_utf8(&bytes)
        .ok()
        .and_then(|text| text.lines().map(parse).collect());
    parsed.ok_or_else(|| Error::corruption("not a list of dropped column families").in_file(&path))
}

fn parse(line: &str) -> Option<(u32, String)> {
    let (id, hex) = line.split_once(' ')?;
    let pairs = hex.as_bytes().chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let name: Option<Vec<u8>> = pairs
        .map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?))
        .collect();
    Some((id.parse().ok()?, String::from_utf8(name?).ok()?))
}

/// Adds family `id`, which is called `name`, to the file. The caller excludes other writers of the file.
pub(crate) fn remember(fs: &dyn FileSystem, wal_dir: &Path, id: u32, name: &str) -> Result<()> {
    let mut names = dropped(fs, wal_dir)?;
    if names.insert(id, name.to_owned()).is_some() {
        return Ok(());
    }
    let mut text = String::new();
    for (id, name) in &names {
        let hex = name
            .bytes()
            .fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{id} {hex}");
    }
    create_directory(fs, wal_dir)?;
    let dir = directory(wal_dir);
    fs.replace_file(&dir.join(DROPPED), &dir.join(TEMPORARY), text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_a_family_whatever_its_bytes() {
        assert_eq!(parse("7 610a62"), Some((7, "a\nb".to_owned())));
        for bad in ["", "7", "x 61", "7 6", "7 616", "7 +6", "7 zz", "7 ff"] {
            assert_eq!(parse(bad), None, "{bad:?}");
        }
    }
}

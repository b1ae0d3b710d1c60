//! The note of an unfinished repair: the WALs whose rows it writes to tables, and the mark of those tables.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use base::Result;
use vfs::FileSystem;

const NAME: &str = "REPAIR";
const TEMPORARY: &str = "REPAIR.tmp";

/// A note that is written before the first table and removed after the WALs are removed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Note {
    /// The session id in the properties of the tables that the repair writes.
    pub session_id: String,
    /// The WALs whose rows the repair writes to the new tables.
    pub wals: BTreeSet<u64>,
}

impl Note {
    fn path(lost: &Path) -> PathBuf {
        lost.join(NAME)
    }

    /// The note of an interrupted repair. An incomplete note is ignored: the note is durable before any table
    /// is begun.
    pub fn read(fs: &dyn FileSystem, lost: &Path) -> Result<Option<Note>> {
        let path = Note::path(lost);
        if !fs.exists(&path)? {
            return Ok(None);
        }
        Ok(Note::parse(&String::from_utf8_lossy(&fs.read_file(&path)?)))
    }

    fn parse(text: &str) -> Option<Note> {
        let mut lines = text.strip_suffix("end\n")?.lines();
        let session_id = lines.next()?.to_owned();
        let wals = lines.map(str::parse).collect::<Result<_, _>>().ok()?;
        Some(Note { session_id, wals })
    }

    fn text(&self) -> String {
        let wals: String = self.wals.iter().map(|number| format!("{number}\n")).collect();
        format!("{}\n{wals}end\n", self.session_id)
    }

    pub fn write(&self, fs: &dyn FileSystem, lost: &Path) -> Result<()> {
        fs.replace_file(&Note::path(lost), &lost.join(TEMPORARY), self.text().as_bytes())?;
        fs.sync_dir(lost)
    }

    /// True if the interrupted repair had put its MANIFEST into force: only then it removes WALs, so one of
    /// its WALs is missing.
    pub fn was_finished(&self, wals: &BTreeMap<u64, PathBuf>) -> bool {
        !self.wals.iter().all(|number| wals.contains_key(number))
    }

    pub fn remove(fs: &dyn FileSystem, lost: &Path) -> Result<()> {
        fs.remove(&Note::path(lost))?;
        fs.sync_dir(lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_half_of_it_is_nothing() {
        let note = Note {
            session_id: "ABC".to_owned(),
            wals: [4, 17].into(),
        };
        let text = note.text();
        for len in 0..text.len() {
            assert_eq!(Note::parse(&text[..len]), None, "{len}");
        }
        assert_eq!(Note::parse(&text), Some(note));
    }
}

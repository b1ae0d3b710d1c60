//! A record of the work that an earlier run of the same command has completed.
//!
//! It is a text file: its subject in the first line, then one line for each completed item. A line without
//! its end was being written when the process died, and does not count.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use base::{Error, Result};
use vfs::{CreateOptions, FileSystem, WritableFile};

use crate::directory;

/// The record of completed work in a file; empty and without a file by default.
#[derive(Default)]
pub struct Notes {
    done: BTreeSet<String>,
    file: Option<Box<dyn WritableFile>>,
    path: PathBuf,
}

impl Notes {
    /// The notes at `path`, which is created if it does not exist.
    ///
    /// `InvalidArgument` if the file is something else, or has notes of other work: it is not overwritten.
    pub fn open(path: &Path, about: &str) -> Result<Notes> {
        let fs = directory::fs();
        let about = format!("{about}\n");
        let mut done = BTreeSet::new();
        if fs.exists(path)? {
            let bytes = fs.read_file(path)?;
            let text = String::from_utf8_lossy(&bytes);
            let lines = text.strip_prefix(&about).ok_or_else(|| {
                let message = format!("the file does not hold notes of this work ({})", about.trim_end());
                Error::invalid_argument(message).in_file(path)
            })?;
            let whole = lines
                .split_inclusive('\n')
                .filter_map(|line| line.strip_suffix('\n'));
            done.extend(whole.map(str::to_owned));
        }
        let mut temporary = path.as_os_str().to_owned();
        temporary.push(".tmp");
        let temporary = PathBuf::from(temporary);
        let mut file = fs.create(&temporary, &CreateOptions::default())?;
        file.append(about.as_bytes())?;
        for line in &done {
            file.append(format!("{line}\n").as_bytes())?;
        }
        file.sync()?;
        fs.rename(&temporary, path)?;
        Ok(Notes {
            done,
            file: Some(file),
            path: path.to_path_buf(),
        })
    }

    /// True if the item is completed.
    pub fn has(&self, line: &str) -> bool {
        self.done.contains(line)
    }

    /// Records a completed item.
    pub fn add(&mut self, line: &str) -> Result<()> {
        if let Some(file) = &mut self.file
            && self.done.insert(line.to_owned())
        {
            file.append(format!("{line}\n").as_bytes())?;
            file.flush()?;
        }
        Ok(())
    }

    /// Removes the notes: all work is completed.
    pub fn remove(mut self) -> Result<()> {
        match self.file.take() {
            Some(_) => directory::fs().remove(&self.path),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn what_was_noted_is_known_again() {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("notes");
        let mut notes = Notes::open(&path, "this").unwrap();
        notes.add("one").unwrap();
        notes.add("two words").unwrap();
        drop(notes);
        let mut bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes, b"this\none\ntwo words\n");
        bytes.extend_from_slice(b"hal");
        std::fs::write(&path, bytes).unwrap();
        let mut notes = Notes::open(&path, "this").unwrap();
        assert!(notes.has("one") && notes.has("two words") && !notes.has("hal"));
        notes.add("half").unwrap();
        drop(notes);
        assert!(Notes::open(&path, "that").is_err());
        let notes = Notes::open(&path, "this").unwrap();
        assert!(notes.has("half") && !notes.has("hal"));
        notes.remove().unwrap();
        assert!(!path.exists());
        Notes::default().remove().unwrap();
    }
}

//! A file system that holds back unsynced data, so that a process that is killed loses it: as a loss of power
//! on a real disk, as far as the bytes of files are concerned.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{Error, Result};
use parking_lot::Mutex;
use vfs::{Call, FileSync, FileSystem, Layer, Op, WritableFile};

/// A file and the bytes appended since its last sync.
#[derive(Debug)]
struct UnsyncedFile {
    file: Box<dyn WritableFile>,
    unsynced: Vec<u8>,
    /// True if the writer has closed the file. The underlying file is closed when its last byte is written to
    /// the kernel.
    closed: bool,
}

impl UnsyncedFile {
    fn hand_over(&mut self) -> Result<()> {
        let unsynced = std::mem::take(&mut self.unsynced);
        if !unsynced.is_empty() {
            self.file.append(&unsynced)?;
        }
        self.file.flush()
    }

    fn sync(&mut self) -> Result<()> {
        if self.closed && self.unsynced.is_empty() {
            return self.file.syncer().map_or(Ok(()), |file| file.sync());
        }
        self.hand_over()?;
        self.file.sync()?;
        if self.closed { self.file.close() } else { Ok(()) }
    }
}

type Shared = Arc<Mutex<UnsyncedFile>>;

/// A file system that holds back unsynced data; see the module's documentation.
#[derive(Clone, Debug)]
pub struct UnsyncedFs {
    inner: Arc<dyn FileSystem>,
    files: Arc<Mutex<HashMap<PathBuf, Shared>>>,
}

impl UnsyncedFs {
    /// Wraps `inner`.
    pub fn new(inner: Arc<dyn FileSystem>) -> UnsyncedFs {
        UnsyncedFs {
            inner,
            files: Arc::default(),
        }
    }

    /// Writes all bytes of a file to the kernel, so that other readers see them.
    fn hand_over(&self, path: &Path) -> Result<()> {
        let held = self.files.lock().get(path).cloned();
        let Some(held) = held else { return Ok(()) };
        let mut held = held.lock();
        if held.unsynced.is_empty() {
            return Ok(());
        }
        held.hand_over()?;
        if held.closed { held.file.close() } else { Ok(()) }
    }

    fn forget(&self, path: &Path) {
        self.files.lock().remove(path);
    }
}

impl Layer for UnsyncedFs {
    fn below(&self) -> &dyn FileSystem {
        &*self.inner
    }

    fn around<T>(&self, call: &Call<'_>, perform: impl FnOnce() -> Result<T>) -> Result<T> {
        match call.op {
            Op::Create | Op::Remove => self.forget(call.path),
            Op::Open | Op::Truncate | Op::Sync | Op::Size => self.hand_over(call.path)?,
            Op::Rename | Op::Link | Op::Reuse => self.hand_over(call.from.unwrap_or(call.path))?,
            _ => {}
        }
        let done = perform()?;
        if let (Op::Rename | Op::Reuse, Some(from)) = (call.op, call.from) {
            self.forget(from);
            self.forget(call.path);
        }
        Ok(done)
    }

    fn writer(&self, path: &Path, file: Box<dyn WritableFile>) -> Box<dyn WritableFile> {
        let held = Arc::new(Mutex::new(UnsyncedFile {
            file,
            unsynced: Vec::new(),
            closed: false,
        }));
        self.files.lock().insert(path.to_path_buf(), held.clone());
        Box::new(Writer {
            held,
            len: 0,
            path: path.to_path_buf(),
        })
    }
}

#[derive(Debug)]
struct Writer {
    held: Shared,
    len: u64,
    path: PathBuf,
}

impl WritableFile for Writer {
    fn append(&mut self, data: &[u8]) -> Result<()> {
        self.held.lock().unsynced.extend_from_slice(data);
        self.len += data.len() as u64;
        Ok(())
    }

    fn append_partly(&mut self, _data: &[u8], _part: usize, error: Error) -> Error {
        // Bytes that are held back are cut off without a trace.
        error
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        self.held.lock().sync()
    }

    fn sync_all(&mut self) -> Result<()> {
        self.held.lock().sync()
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn close(&mut self) -> Result<()> {
        let mut held = self.held.lock();
        if held.unsynced.is_empty() && !held.closed {
            held.file.close()?;
        }
        held.closed = true;
        Ok(())
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn syncer(&self) -> Option<Arc<dyn FileSync>> {
        Some(Arc::new(Syncer(self.held.clone())))
    }
}

#[derive(Debug)]
struct Syncer(Shared);

impl FileSync for Syncer {
    fn sync(&self) -> Result<()> {
        self.0.lock().sync()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vfs::{CreateOptions, MemFs};

    #[test]
    fn who_is_killed_loses_what_was_not_synced() {
        let mem = MemFs::new();
        let fs = UnsyncedFs::new(Arc::new(mem.clone()));
        let path = Path::new("/log");
        let log = CreateOptions {
            log: true,
            ..CreateOptions::default()
        };
        let bytes = || {
            let mut bytes = mem.read_file(path).unwrap();
            bytes.truncate(
                bytes
                    .iter()
                    .rposition(|&byte| byte != 0)
                    .map_or(0, |last| last + 1),
            );
            String::from_utf8(bytes).unwrap()
        };
        let mut file = fs.create(path, &log).unwrap();
        let syncer = file.syncer().unwrap();
        file.append(b"one").unwrap();
        assert_eq!((bytes(), file.len()), (String::new(), 3));
        syncer.sync().unwrap();
        file.append(b"two").unwrap();
        assert_eq!(bytes(), "one");
        file.sync().unwrap();
        file.append(b"three").unwrap();
        file.close().unwrap();
        assert_eq!(bytes(), "onetwo");
        syncer.sync().unwrap();
        assert_eq!(bytes(), "onetwothree");
        syncer.sync().unwrap();
        // A reader sees everything.
        let mut file = fs.create(path, &log).unwrap();
        file.append(b"four").unwrap();
        assert_eq!(fs.read_file(path).unwrap()[..4], *b"four");
        fs.rename(path, Path::new("/other")).unwrap();
        assert!(!mem.exists(path).unwrap());
    }
}

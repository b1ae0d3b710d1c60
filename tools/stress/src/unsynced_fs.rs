//! A file system that keeps what is not synced to itself, so that a process that is killed loses it: loss of power on a real disk,
//! as far as the bytes of files go.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::Result;
use parking_lot::Mutex;
use vfs::{CreateOptions, FileLock, FileSync, FileSystem, OpenOptions, RandomAccessFile, WritableFile};

/// A file and what it was given since it was last synced.
#[derive(Debug)]
struct Held {
    file: Box<dyn WritableFile>,
    unsynced: Vec<u8>,
    /// Its writer is done with it; it is closed with the last of its bytes.
    closed: bool,
}

impl Held {
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

type Shared = Arc<Mutex<Held>>;

/// See the module's head.
#[derive(Debug)]
pub struct UnsyncedFs {
    inner: Arc<dyn FileSystem>,
    files: Mutex<HashMap<PathBuf, Shared>>,
}

impl UnsyncedFs {
    /// Over `inner`.
    pub fn new(inner: Arc<dyn FileSystem>) -> UnsyncedFs {
        UnsyncedFs {
            inner,
            files: Mutex::default(),
        }
    }

    /// What others are to see of a file: everything, as if the kernel had it.
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

    fn writer(&self, path: &Path, file: Box<dyn WritableFile>) -> Box<dyn WritableFile> {
        let held = Arc::new(Mutex::new(Held {
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

    fn forget(&self, path: &Path) {
        self.files.lock().remove(path);
    }
}

impl FileSystem for UnsyncedFs {
    fn open_random(&self, path: &Path, options: &OpenOptions) -> Result<Arc<dyn RandomAccessFile>> {
        self.hand_over(path)?;
        self.inner.open_random(path, options)
    }

    fn create(&self, path: &Path, options: &CreateOptions) -> Result<Box<dyn WritableFile>> {
        self.forget(path);
        Ok(self.writer(path, self.inner.create(path, options)?))
    }

    fn reuse(&self, old: &Path, new: &Path, options: &CreateOptions) -> Result<Box<dyn WritableFile>> {
        self.hand_over(old)?;
        self.forget(old);
        Ok(self.writer(new, self.inner.reuse(old, new, options)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.hand_over(from)?;
        self.inner.rename(from, to)?;
        self.forget(from);
        self.forget(to);
        Ok(())
    }

    fn remove(&self, path: &Path) -> Result<()> {
        self.forget(path);
        self.inner.remove(path)
    }

    fn link(&self, from: &Path, to: &Path) -> Result<()> {
        self.hand_over(from)?;
        self.inner.link(from, to)
    }

    fn truncate(&self, path: &Path, len: u64) -> Result<()> {
        self.hand_over(path)?;
        self.inner.truncate(path, len)
    }

    fn list(&self, dir: &Path) -> Result<Vec<String>> {
        self.inner.list(dir)
    }

    fn create_dir_all(&self, dir: &Path) -> Result<()> {
        self.inner.create_dir_all(dir)
    }

    fn remove_dir(&self, dir: &Path) -> Result<()> {
        self.inner.remove_dir(dir)
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        self.inner.sync_dir(dir)
    }

    fn sync_file(&self, path: &Path) -> Result<()> {
        self.hand_over(path)?;
        self.inner.sync_file(path)
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        self.inner.exists(path)
    }

    fn size(&self, path: &Path) -> Result<u64> {
        self.hand_over(path)?;
        self.inner.size(path)
    }

    fn modified_seconds(&self, path: &Path) -> Result<u64> {
        self.inner.modified_seconds(path)
    }

    fn lock(&self, path: &Path) -> Result<Box<dyn FileLock>> {
        self.inner.lock(path)
    }

    fn free_space(&self, dir: &Path) -> Result<u64> {
        self.inner.free_space(dir)
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
    use vfs::MemFs;

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
        // Whoever reads sees everything.
        let mut file = fs.create(path, &log).unwrap();
        file.append(b"four").unwrap();
        assert_eq!(fs.read_file(path).unwrap()[..4], *b"four");
        fs.rename(path, Path::new("/other")).unwrap();
        assert!(!mem.exists(path).unwrap());
    }
}

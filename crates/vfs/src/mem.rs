//! A file system in memory that can lose its process, its power and its space.

mod file;
mod inode;
mod state;
mod tree;

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::env::{Clock, ManualClock};
use base::{Error, ErrorKind, Result};
use fastrand::Rng;
use parking_lot::RwLockReadGuard;

use self::file::{Reader, Writer};
pub use self::inode::UnsyncedPolicy;
use self::inode::{Data, Handle, Inode};
use self::state::{Lock, MemState, Shared};
use self::tree::{Node, Tree};
use crate::{CreateOptions, FileLock, FileSystem, OpenOptions, RandomAccessFile, WritableFile};

/// A file system in memory, for tests: deterministic, and fast. Clones are handles to the same one.
///
/// It has exactly the guarantees of [`PosixFs`](crate::PosixFs): plain files buffer up to 64 KiB until they
/// are flushed, logs have zeros after their data until closed, names need a sync of their directory. Relative
/// paths begin at `/`.
///
/// ```
/// # mod esker {
/// #     pub use esker_vfs as file_system;
/// # }
///
/// use esker::file_system::{FileSystem, MemFs};
///
/// let fs = MemFs::new();
/// fs.write_file("/a".as_ref(), b"1")?;
/// assert_eq!(fs.clone().read_file("/a".as_ref())?, b"1");
/// # Ok::<(), base::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct MemFs(Arc<Shared>);

impl Default for MemFs {
    fn default() -> MemFs {
        MemFs::new()
    }
}

impl MemFs {
    /// An empty file system of unlimited size, whose clock stands still.
    pub fn new() -> MemFs {
        MemFs::with_clock(Arc::new(ManualClock::default()))
    }

    /// An empty file system of unlimited size, with the files' times from `clock`.
    pub fn with_clock(clock: Arc<dyn Clock>) -> MemFs {
        MemFs(Arc::new(Shared::new(Tree::new(), 0, u64::MAX, clock)))
    }

    /// Sets the maximum number of bytes of all files together. If there are more already, the disk is full.
    pub fn set_budget(&self, bytes: u64) {
        self.0.budget.store(bytes, Ordering::Relaxed);
    }

    /// The bytes of all files together, including zeros after logs.
    pub fn used(&self) -> u64 {
        self.0.used.load(Ordering::Relaxed)
    }

    /// The number of open files without a name: on a disk each keeps its space and a descriptor.
    pub fn open_without_name(&self) -> usize {
        let mut state = self.0.state.lock();
        state.forget_closed();
        state.removed.len()
    }

    /// The file system as the next process finds it if the current process dies now. All data in the kernel
    /// survives; unsynced data stays unsynced. Writers and locks of this process do not affect the clone.
    pub fn process_death_clone(&self) -> MemFs {
        self.cloned(|tree, files| {
            let mut copies = Copies::default();
            tree.copied(&mut |inode| copies.of(inode, || files[&inode.id].clone()))
        })
    }

    /// The file system after a loss of power now: everything synced, and of the rest what `keep` chooses. The
    /// same `rng` gives the same result for the same history.
    pub fn crash_clone(&self, rng: &mut Rng, keep: UnsyncedPolicy) -> MemFs {
        self.cloned(|tree, files| {
            let survivors = match keep {
                UnsyncedPolicy::Lose => vec![false; tree.unsynced()],
                UnsyncedPolicy::Keep => vec![true; tree.unsynced()],
                UnsyncedPolicy::Random | UnsyncedPolicy::RandomPages => any_of(rng, tree.unsynced()),
            };
            let mut copies = Copies::default();
            tree.after_crash(&survivors, &mut |inode| {
                copies.of(inode, || {
                    let data = &files[&inode.id];
                    Data::on_disk(data.crash_image(rng, keep), data.modified)
                })
            })
        })
    }

    /// A file system that `copy` creates while nothing changes. All files are locked together: otherwise a
    /// file that was synced before another was written could be copied after that write.
    fn cloned(&self, copy: impl FnOnce(&Tree, &Files<'_>) -> Tree) -> MemFs {
        let state = self.0.state.lock();
        let mut inodes: Vec<&Arc<Inode>> = state.tree.all_files().collect();
        inodes.sort_by_key(|inode| inode.id);
        inodes.dedup_by_key(|inode| inode.id);
        let files: Files<'_> = inodes
            .into_iter()
            .map(|inode| (inode.id, inode.data.read()))
            .collect();
        let tree = copy(&state.tree, &files);
        let budget = self.0.budget.load(Ordering::Relaxed);
        MemFs(Arc::new(Shared::new(
            tree,
            state.next_inode,
            budget,
            self.0.clock.clone(),
        )))
    }

    fn reader(&self, inode: Arc<Inode>, path: &Path, options: &OpenOptions) -> Reader {
        let (len, mapped) = {
            let data = inode.data.read();
            let mapped = (options.mmap && !options.direct).then(|| data.live.clone());
            (data.live.len() as u64, mapped)
        };
        Reader {
            inode: Handle::new(inode),
            len,
            mapped,
            path: path.to_path_buf(),
        }
    }

    fn change<T>(
        &self,
        action: &str,
        path: &Path,
        change: impl FnOnce(&mut MemState) -> io::Result<T>,
    ) -> Result<T> {
        change(&mut self.0.state.lock()).map_err(|e| Error::io(action, path, e))
    }
}

/// A random subset of `count` things: the first few, some, half, or all but a few.
fn any_of(rng: &mut Rng, count: usize) -> Vec<bool> {
    if rng.u8(..4) == 0 {
        let first = inode::between(rng, 0, count);
        return (0..count).map(|index| index < first).collect();
    }
    let (odds, few) = (rng.u8(2..=8), rng.bool());
    (0..count).map(|_| (rng.u8(..odds) == 0) == few).collect()
}

/// Every file, locked against changes.
type Files<'a> = HashMap<u64, RwLockReadGuard<'a, Data>>;

/// Copies of files, one for each file, however many names it has.
#[derive(Default)]
struct Copies(HashMap<u64, Arc<Inode>>);

impl Copies {
    fn of(&mut self, inode: &Arc<Inode>, data: impl FnOnce() -> Data) -> Arc<Inode> {
        let copy = || Arc::new(Inode::new(inode.id, data()));
        self.0.entry(inode.id).or_insert_with(copy).clone()
    }
}

impl FileSystem for MemFs {
    fn open_random(&self, path: &Path, options: &OpenOptions) -> Result<Arc<dyn RandomAccessFile>> {
        let inode = self.change("open for reading", path, |state| state.tree.file(path))?;
        Ok(Arc::new(self.reader(inode, path, options)))
    }

    fn create(&self, path: &Path, options: &CreateOptions) -> Result<Box<dyn WritableFile>> {
        let inode = self.change("create", path, |state| {
            let (dir, name) = state.tree.place(path)?;
            match state.tree.entry(dir, &name) {
                Some(Node::Dir(_)) => Err(io::ErrorKind::IsADirectory.into()),
                Some(Node::File(inode)) => {
                    let inode = inode.clone();
                    let mut data = inode.data.write();
                    self.0.release(&data, data.live.len());
                    data.resize(0);
                    data.modified = self.0.clock.unix_seconds();
                    drop(data);
                    Ok(inode)
                }
                None => Ok(state.new_file(dir, name, self.0.clock.unix_seconds())),
            }
        })?;
        Ok(Box::new(Writer::new(self.0.clone(), inode, path, options)))
    }

    fn reuse(&self, old: &Path, new: &Path, options: &CreateOptions) -> Result<Box<dyn WritableFile>> {
        self.rename(old, new)?;
        let inode = self.change("open for writing again", new, |state| state.tree.file(new))?;
        inode.data.write().rewind();
        Ok(Box::new(Writer::new(self.0.clone(), inode, new, options)))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.change(&format!("rename to {}", to.display()), from, |state| {
            let (from_dir, from_name) = state.tree.place(from)?;
            let (to_dir, to_name) = state.tree.place(to)?;
            let node = state
                .tree
                .entry(from_dir, &from_name)
                .cloned()
                .ok_or(io::ErrorKind::NotFound)?;
            if matches!(node, Node::Dir(_)) && tree::is_below(to, from)? {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            match (&node, state.tree.entry(to_dir, &to_name).cloned()) {
                (_, None) => {}
                (Node::File(inode), Some(Node::File(replaced))) => {
                    if Arc::ptr_eq(inode, &replaced) {
                        return Ok(());
                    }
                    state.unlink(&self.0, &replaced);
                }
                (Node::File(_), Some(Node::Dir(_))) => return Err(io::ErrorKind::IsADirectory.into()),
                (Node::Dir(_), Some(Node::File(_))) => return Err(io::ErrorKind::NotADirectory.into()),
                (Node::Dir(dir), Some(Node::Dir(replaced))) => {
                    if *dir == replaced {
                        return Ok(());
                    }
                    if state.tree.names(replaced).next().is_some() {
                        return Err(io::ErrorKind::DirectoryNotEmpty.into());
                    }
                    state.tree.forget_dir(replaced);
                }
            }
            state
                .tree
                .commit(vec![(from_dir, from_name, None), (to_dir, to_name, Some(node))]);
            Ok(())
        })
    }

    fn remove(&self, path: &Path) -> Result<()> {
        self.change("remove", path, |state| {
            let inode = state.tree.file(path)?;
            let (dir, name) = state.tree.place(path)?;
            state.unlink(&self.0, &inode);
            state.tree.commit(vec![(dir, name, None)]);
            Ok(())
        })
    }

    fn link(&self, from: &Path, to: &Path) -> Result<()> {
        self.change(&format!("link to {}", to.display()), from, |state| {
            let inode = state.tree.file(from)?;
            let (dir, name) = state.tree.place(to)?;
            if state.tree.entry(dir, &name).is_some() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            inode.data.write().links += 1;
            state.tree.commit(vec![(dir, name, Some(Node::File(inode)))]);
            Ok(())
        })
    }

    fn truncate(&self, path: &Path, len: u64) -> Result<()> {
        self.change("truncate", path, |state| {
            let inode = state.tree.file(path)?;
            let len = usize::try_from(len).map_err(|_| io::ErrorKind::FileTooLarge)?;
            let mut data = inode.data.write();
            if !self.0.grow(&data, len) {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.0.release(&data, data.live.len().saturating_sub(len));
            data.resize(len);
            data.modified = self.0.clock.unix_seconds();
            Ok(())
        })
    }

    fn list(&self, dir: &Path) -> Result<Vec<String>> {
        self.change("list", dir, |state| {
            let dir = state.tree.dir(dir)?;
            Ok(state.tree.names(dir).cloned().collect())
        })
    }

    fn create_dir_all(&self, dir: &Path) -> Result<()> {
        self.change("create directory", dir, |state| state.tree.create_dir_all(dir))
    }

    fn remove_dir(&self, path: &Path) -> Result<()> {
        self.change("remove directory", path, |state| {
            let dir = state.tree.dir(path)?;
            let (above, name) = state.tree.place(path)?;
            if state.tree.names(dir).next().is_some() {
                return Err(io::ErrorKind::DirectoryNotEmpty.into());
            }
            state.tree.forget_dir(dir);
            state.tree.commit(vec![(above, name, None)]);
            Ok(())
        })
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        self.change("fsync directory", dir, |state| {
            let dir = state.tree.dir(dir)?;
            state.tree.sync(dir);
            Ok(())
        })
    }

    fn sync_file(&self, path: &Path) -> Result<()> {
        let inode = self.change("fsync", path, |state| state.tree.file(path))?;
        inode.data.write().sync();
        Ok(())
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        self.change("look for", path, |state| match state.tree.get(path) {
            Ok(_) => Ok(true),
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound) => Ok(false),
            Err(e) => Err(e),
        })
    }

    fn size(&self, path: &Path) -> Result<u64> {
        let inode = self.change("stat", path, |state| state.tree.file(path))?;
        let len = inode.data.read().live.len();
        Ok(len as u64)
    }

    fn modified_seconds(&self, path: &Path) -> Result<u64> {
        let inode = self.change("stat", path, |state| state.tree.file(path))?;
        let modified = inode.data.read().modified;
        Ok(modified)
    }

    fn links(&self, path: &Path) -> Result<u64> {
        let inode = self.change("stat", path, |state| state.tree.file(path))?;
        let links = inode.data.read().links;
        Ok(u64::from(links))
    }

    fn lock(&self, path: &Path) -> Result<Box<dyn FileLock>> {
        let key = self.change("lock", path, |state| {
            let key = tree::normalize(path)?;
            if state.locks.contains(&key) {
                return Ok(None);
            }
            let (dir, name) = state.tree.place(path)?;
            match state.tree.entry(dir, &name) {
                Some(Node::Dir(_)) => return Err(io::ErrorKind::IsADirectory.into()),
                Some(Node::File(_)) => {}
                None => drop(state.new_file(dir, name, self.0.clock.unix_seconds())),
            }
            state.locks.insert(key.clone());
            Ok(Some(key))
        })?;
        let held = "Resource temporarily unavailable: held by this process";
        let key = key.ok_or_else(|| Error::new(ErrorKind::LockHeld, held).in_file(path))?;
        Ok(Box::new(Lock {
            shared: self.0.clone(),
            key,
            path: path.to_path_buf(),
        }))
    }

    fn free_space(&self, dir: &Path) -> Result<u64> {
        self.change("statvfs", dir, |state| state.tree.get(dir))?;
        Ok(self.0.budget.load(Ordering::Relaxed).saturating_sub(self.used()))
    }
}

//! Names: the tree that readers see, the tree on the simulated disk, and the changes between the two.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Component, Path};
use std::sync::Arc;

use super::inode::Inode;

/// A directory, independent of its name.
pub(super) type DirId = u64;
/// The directory at `/`, which is also where relative paths begin.
pub(super) const ROOT: DirId = 0;

/// The object of a name.
#[derive(Clone, Debug)]
pub(super) enum Node {
    File(Arc<Inode>),
    Dir(DirId),
}

type Entries = BTreeMap<String, Node>;
type Dirs = BTreeMap<DirId, Entries>;

/// Names that are set or removed together or not at all.
pub(super) type Change = Vec<(DirId, String, Option<Node>)>;

/// Directories and names.
#[derive(Debug)]
pub(super) struct Tree {
    live: Dirs,
    /// The names that are certainly on disk.
    durable: Dirs,
    /// Unsynced changes, oldest first.
    pending: Vec<Change>,
    next_dir: DirId,
}

fn apply(dirs: &mut Dirs, change: &Change) {
    for (dir, name, node) in change {
        // A directory that was removed since has no names to keep.
        if let Some(entries) = dirs.get_mut(dir) {
            match node {
                Some(node) => entries.insert(name.clone(), node.clone()),
                None => entries.remove(name),
            };
        }
    }
}

/// The parts of a path, with `.` and `..` resolved lexically.
fn parts(path: &Path) -> io::Result<Vec<&str>> {
    let mut parts = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => parts.push(name.to_str().ok_or(io::ErrorKind::InvalidInput)?),
            Component::ParentDir => drop(parts.pop()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    Ok(parts)
}

/// The normalized spelling of a path.
pub(super) fn normalize(path: &Path) -> io::Result<String> {
    Ok(parts(path)?.join("/"))
}

/// True if `path` leads through `dir`.
pub(super) fn is_below(path: &Path, dir: &Path) -> io::Result<bool> {
    let (path, dir) = (parts(path)?, parts(dir)?);
    Ok(path.len() > dir.len() && path.starts_with(&dir))
}

impl Tree {
    pub(super) fn new() -> Tree {
        let empty = Dirs::from([(ROOT, Entries::new())]);
        Tree {
            live: empty.clone(),
            durable: empty,
            pending: Vec::new(),
            next_dir: ROOT + 1,
        }
    }

    fn walk(&self, parts: &[&str]) -> io::Result<DirId> {
        let mut dir = ROOT;
        for &part in parts {
            match self.live[&dir].get(part) {
                Some(Node::Dir(below)) => dir = *below,
                Some(Node::File(_)) => return Err(io::ErrorKind::NotADirectory.into()),
                None => return Err(io::ErrorKind::NotFound.into()),
            }
        }
        Ok(dir)
    }

    /// The parent directory of `path`, which must exist, and the last part.
    pub(super) fn place(&self, path: &Path) -> io::Result<(DirId, String)> {
        let parts = parts(path)?;
        let (name, above) = parts.split_last().ok_or(io::ErrorKind::InvalidInput)?;
        Ok((self.walk(above)?, (*name).to_owned()))
    }

    /// The object of `path`; `NotFound` if there is none.
    pub(super) fn get(&self, path: &Path) -> io::Result<Node> {
        if parts(path)?.is_empty() {
            return Ok(Node::Dir(ROOT));
        }
        let (dir, name) = self.place(path)?;
        self.entry(dir, &name)
            .cloned()
            .ok_or(io::ErrorKind::NotFound.into())
    }

    /// The file at `path`.
    pub(super) fn file(&self, path: &Path) -> io::Result<Arc<Inode>> {
        match self.get(path)? {
            Node::File(inode) => Ok(inode),
            Node::Dir(_) => Err(io::ErrorKind::IsADirectory.into()),
        }
    }

    /// The directory at `path`.
    pub(super) fn dir(&self, path: &Path) -> io::Result<DirId> {
        self.walk(&parts(path)?)
    }

    /// The object of `name` in `dir`.
    pub(super) fn entry(&self, dir: DirId, name: &str) -> Option<&Node> {
        self.live[&dir].get(name)
    }

    /// The names in `dir`, sorted.
    pub(super) fn names(&self, dir: DirId) -> impl Iterator<Item = &String> {
        self.live[&dir].keys()
    }

    /// Makes a change, which is not on disk until synced.
    pub(super) fn commit(&mut self, change: Change) {
        apply(&mut self.live, &change);
        self.pending.push(change);
    }

    /// Creates the directory and its parents.
    pub(super) fn create_dir_all(&mut self, path: &Path) -> io::Result<()> {
        let mut dir = ROOT;
        for part in parts(path)? {
            dir = match self.entry(dir, part) {
                Some(Node::Dir(below)) => *below,
                Some(Node::File(_)) => return Err(io::ErrorKind::AlreadyExists.into()),
                None => {
                    let below = self.next_dir;
                    self.next_dir += 1;
                    self.live.insert(below, Entries::new());
                    self.durable.insert(below, Entries::new());
                    self.commit(vec![(dir, part.to_owned(), Some(Node::Dir(below)))]);
                    below
                }
            };
        }
        Ok(())
    }

    /// Puts the changes made in `dir` on disk, with every older one they depend on.
    pub(super) fn sync(&mut self, dir: DirId) {
        let mut dirs = BTreeSet::from([dir]);
        let mut synced = vec![false; self.pending.len()];
        for (change, synced) in self.pending.iter().zip(&mut synced).rev() {
            if change.iter().any(|(dir, ..)| dirs.contains(dir)) {
                *synced = true;
                dirs.extend(change.iter().map(|(dir, ..)| *dir));
            }
        }
        let mut synced = synced.into_iter();
        let durable = &mut self.durable;
        self.pending.retain(|change| {
            let synced = synced.next().unwrap_or_default();
            if synced {
                apply(durable, change);
            }
            !synced
        });
    }

    /// The number of unsynced changes.
    pub(super) fn unsynced(&self) -> usize {
        self.pending.len()
    }

    /// The tree after a crash: the unsynced changes that `survivors` selects reached the disk, and the result
    /// is all on disk. `copy` returns the copy of a file, the same one each time.
    pub(super) fn after_crash(
        &self,
        survivors: &[bool],
        copy: &mut dyn FnMut(&Arc<Inode>) -> Arc<Inode>,
    ) -> Tree {
        let mut dirs = self.durable.clone();
        for (change, _) in self
            .pending
            .iter()
            .zip(survivors)
            .filter(|(_, survives)| **survives)
        {
            apply(&mut dirs, change);
        }
        let mut reached = Dirs::new();
        let mut next = vec![ROOT];
        while let Some(dir) = next.pop() {
            let entries = dirs.remove(&dir).unwrap_or_default();
            next.extend(entries.values().filter_map(|node| match node {
                Node::Dir(below) => Some(*below),
                Node::File(_) => None,
            }));
            reached.insert(dir, entries);
        }
        let dirs = copy_dirs(&reached, copy);
        Tree {
            live: dirs.clone(),
            durable: dirs,
            pending: Vec::new(),
            next_dir: self.next_dir,
        }
    }

    /// Returns the tree with copies of its files. `copy` returns the copy of a file, the same one each time.
    pub(super) fn copied(&self, copy: &mut dyn FnMut(&Arc<Inode>) -> Arc<Inode>) -> Tree {
        let live = copy_dirs(&self.live, copy);
        let durable = copy_dirs(&self.durable, copy);
        let mut pending = Vec::with_capacity(self.pending.len());
        for change in &self.pending {
            let names = change.iter().map(|(dir, name, node)| {
                (
                    *dir,
                    name.clone(),
                    node.as_ref().map(|node| copy_node(node, copy)),
                )
            });
            pending.push(names.collect());
        }
        Tree {
            live,
            durable,
            pending,
            next_dir: self.next_dir,
        }
    }

    /// Removes a directory that lost its last name.
    pub(super) fn forget_dir(&mut self, dir: DirId) {
        self.live.remove(&dir);
    }

    /// The file of every name that exists, existed, or may exist again after a crash.
    pub(super) fn all_files(&self) -> impl Iterator<Item = &Arc<Inode>> {
        let named = self
            .live
            .values()
            .chain(self.durable.values())
            .flat_map(BTreeMap::values);
        let changed = self
            .pending
            .iter()
            .flatten()
            .filter_map(|(_, _, node)| node.as_ref());
        named.chain(changed).filter_map(|node| match node {
            Node::File(inode) => Some(inode),
            Node::Dir(_) => None,
        })
    }

    /// The file of every live name.
    pub(super) fn files(&self) -> impl Iterator<Item = &Arc<Inode>> {
        self.live
            .values()
            .flat_map(BTreeMap::values)
            .filter_map(|node| match node {
                Node::File(inode) => Some(inode),
                Node::Dir(_) => None,
            })
    }
}

fn copy_node(node: &Node, copy: &mut dyn FnMut(&Arc<Inode>) -> Arc<Inode>) -> Node {
    match node {
        Node::Dir(dir) => Node::Dir(*dir),
        Node::File(inode) => Node::File(copy(inode)),
    }
}

fn copy_dirs(dirs: &Dirs, copy: &mut dyn FnMut(&Arc<Inode>) -> Arc<Inode>) -> Dirs {
    let mut copies = Dirs::new();
    for (dir, entries) in dirs {
        let entries = entries
            .iter()
            .map(|(name, node)| (name.clone(), copy_node(node, copy)));
        copies.insert(*dir, entries.collect());
    }
    copies
}

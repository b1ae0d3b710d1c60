//! The tree of [`MemFs`](super::MemFs), its space and its locks: everything that its open files share.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use base::env::Clock;
use parking_lot::Mutex;

use super::inode::{Data, Inode};
use super::tree::{DirId, Node, Tree};

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) state: Mutex<MemState>,
    /// Bytes of the files that have a name.
    pub(super) used: AtomicU64,
    pub(super) budget: AtomicU64,
    pub(super) clock: Arc<dyn Clock>,
}

#[derive(Debug)]
pub(super) struct MemState {
    pub(super) tree: Tree,
    pub(super) next_inode: u64,
    /// The paths of locked files, normalized.
    pub(super) locks: BTreeSet<String>,
    /// Files that were open when they lost their last name.
    pub(super) removed: Vec<Weak<Inode>>,
}

/// A held lock.
#[derive(Debug)]
pub(super) struct Lock {
    pub(super) shared: Arc<Shared>,
    pub(super) key: String,
    pub(super) path: PathBuf,
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.shared.state.lock().locks.remove(&self.key);
    }
}

impl Shared {
    pub(super) fn new(tree: Tree, next_inode: u64, budget: u64, clock: Arc<dyn Clock>) -> Shared {
        let mut used = 0;
        for inode in tree.files() {
            inode.data.write().links = 0;
        }
        for inode in tree.files() {
            let mut data = inode.data.write();
            data.links += 1;
            if data.links == 1 {
                used += data.live.len() as u64;
            }
        }
        let state = MemState {
            tree,
            next_inode,
            locks: BTreeSet::new(),
            removed: Vec::new(),
        };
        Shared {
            state: Mutex::new(state),
            used: AtomicU64::new(used),
            budget: AtomicU64::new(budget),
            clock,
        }
    }

    /// Claims the space for a file of `len` bytes. False, with nothing claimed, if there is not enough.
    pub(super) fn grow(&self, data: &Data, len: usize) -> bool {
        let more = len.saturating_sub(data.live.len()) as u64;
        if more == 0 || data.links == 0 {
            return true;
        }
        let budget = self.budget.load(Ordering::Relaxed);
        self.used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                used.checked_add(more).filter(|&used| used <= budget)
            })
            .is_ok()
    }

    /// The length that a file may reach while no other file grows.
    pub(super) fn room_for(&self, data: &Data) -> usize {
        let budget = self.budget.load(Ordering::Relaxed);
        let left = budget.saturating_sub(self.used.load(Ordering::Relaxed));
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        data.live.len().saturating_add(left)
    }

    /// Claims the remaining space for a file of at most `len` bytes, and returns the length it may have.
    pub(super) fn grow_to_limit(&self, data: &Data, len: usize) -> usize {
        let target = self.room_for(data).min(len);
        if self.grow(data, target) {
            target
        } else {
            data.live.len().min(len)
        }
    }

    /// Releases the space of `bytes` bytes of a file.
    pub(super) fn release(&self, data: &Data, bytes: usize) {
        if data.links > 0 {
            self.used.fetch_sub(bytes as u64, Ordering::Relaxed);
        }
    }
}

impl MemState {
    pub(super) fn unlink(&mut self, shared: &Shared, inode: &Arc<Inode>) {
        let mut data = inode.data.write();
        if data.links == 1 {
            shared.release(&data, data.live.len());
            self.forget_closed();
            self.removed.push(Arc::downgrade(inode));
        }
        data.links -= 1;
    }

    /// A file without a name cannot be opened again.
    pub(super) fn forget_closed(&mut self) {
        self.removed
            .retain(|file| file.upgrade().is_some_and(|inode| inode.is_open()));
    }

    /// Creates an empty file under a free name.
    pub(super) fn new_file(&mut self, dir: DirId, name: String, modified: u64) -> Arc<Inode> {
        let inode = Arc::new(Inode::new(self.next_inode, Data::created(modified)));
        self.next_inode += 1;
        self.tree
            .commit(vec![(dir, name, Some(Node::File(inode.clone())))]);
        inode
    }
}

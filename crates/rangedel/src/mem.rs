//! The range tombstones of a memtable: a persistent tree of fragments, and a tail of the newest few.
//!
//! Readers load a root, which never changes once published, through one atomic pointer. A root is a tree of
//! fragments and a tail with room for a few tombstones. A writer puts its tombstone into the next slot of the
//! tail. When all slots are taken it folds them into the tree, copying only the nodes they overlap, and
//! publishes a new root with an empty tail.
//!
//! Most keys are under no tombstone. One bit (`touched`) shows that, so their lookup needs neither tree nor
//! tail.
//!
//! The cost of a tombstone is logarithmic in their number, however they nest: one that spans a whole node of
//! the tree is recorded there once and not in each fragment below.
//!
//! Visibility: a reader's snapshot is published after the tombstones it sees were added, so the root or the
//! length of the tail that it then loads includes them.

mod cover;
mod tail;
mod touched;
mod tree;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arc_swap::{ArcSwap, ArcSwapOption};
use base::sync::Mutex;
use base::{KeyRank, SeqNo, UserComparator};

use crate::bound::{Bound, stored};
use crate::build::{Builder, Item, fragment, merge_into};
use crate::entries::Query;
use crate::fragments::FragmentedTombstones;
use crate::probe::Probe;
use tail::Tail;
use touched::Touched;
use tree::{Edit, Node};

/// The state that readers load.
#[derive(Debug)]
struct Root {
    tree: Arc<Node>,
    /// The number of tombstones in the tree.
    folded: usize,
    /// The places with tombstones, of the tree or the tail. Shared with the previous root, until there are
    /// too many tombstones for it.
    touched: Option<Arc<Touched>>,
    tail: Tail,
}

impl Root {
    /// The caller must call this function before readers can find the tombstone.
    fn touch(&self, item: &Item<'_>) {
        if let Some(touched) = &self.touched {
            touched.touch(item.start.key, item.end.key);
        }
    }
}

/// The range tombstones of a memtable: any thread may add, readers take no lock and allocate nothing.
pub struct MemTombstones {
    cmp: UserComparator,
    /// The number of tombstones added. It is incremented before readers can find the tombstone, so that 0
    /// means that there is none to find.
    len: AtomicUsize,
    memory: AtomicUsize,
    root: ArcSwap<Root>,
    /// The lock that is held while a tombstone is added.
    writer: Mutex<()>,
    /// The last snapshot taken, and the number of tombstones in it.
    snapshot: ArcSwapOption<(usize, Arc<FragmentedTombstones>)>,
}

impl fmt::Debug for MemTombstones {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemTombstones")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

impl MemTombstones {
    /// No tombstones, in the order `cmp`.
    pub fn new(cmp: UserComparator) -> MemTombstones {
        let root = Root {
            tree: Arc::new(Node::empty()),
            folded: 0,
            touched: None,
            tail: Tail::new(KeyRank::new(&cmp, &[], &[])),
        };
        MemTombstones {
            cmp,
            len: AtomicUsize::new(0),
            memory: AtomicUsize::new(0),
            root: ArcSwap::from_pointee(root),
            writer: Mutex::new(()),
            snapshot: ArcSwapOption::empty(),
        }
    }

    /// Adds the tombstone `[start, end)`; an empty one is skipped. Amortised logarithmic; writers wait for
    /// each other.
    pub fn add(&self, start: &[u8], end: &[u8], seqno: SeqNo) {
        let Some(item) = Item::new(&self.cmp, start, end, seqno) else {
            return;
        };
        let _writer = self.writer.lock();
        self.len.fetch_add(1, Ordering::Relaxed);
        self.memory.fetch_add(tail::memory_of(&item), Ordering::Relaxed);
        let root = self.root.load();
        root.touch(&item);
        if root.tail.push(&item) {
            return;
        }
        let folded = self.fold(&root);
        folded.touch(&item);
        let pushed = folded.tail.push(&item);
        base::invariant!(pushed, "a new tail has room");
        self.root.store(Arc::new(folded));
    }

    /// The root with its tail folded into its tree. The caller holds the writers' lock.
    fn fold(&self, root: &Root) -> Root {
        let items: Vec<Item<'_>> = root.tail.items(usize::MAX).collect();
        let mut edit = Edit::new(&self.cmp);
        let tree = edit.apply(&root.tree, &items);
        let freed: usize = items.iter().map(tail::memory_of).sum();
        let memory = self.memory.load(Ordering::Relaxed) + edit.added_memory;
        self.memory.store(
            memory.saturating_sub(edit.freed_memory + freed),
            Ordering::Relaxed,
        );
        let (first, last) = tree.outer_keys();
        let folded = root.folded + items.len();
        let touched = match &root.touched {
            Some(touched) if touched.has_room_for(folded) => Some(Arc::clone(touched)),
            before => {
                let touched = Touched::new(&self.cmp, (first, last), folded, &*tree).map(Arc::new);
                let memory_of = |touched: &Option<Arc<Touched>>| {
                    touched.as_ref().map_or(0, |touched| touched.memory_usage())
                };
                self.memory.fetch_add(memory_of(&touched), Ordering::Relaxed);
                self.memory.fetch_sub(memory_of(before), Ordering::Relaxed);
                touched
            }
        };
        Root {
            tail: Tail::new(KeyRank::new(&self.cmp, first, last)),
            folded,
            touched,
            tree,
        }
    }

    /// True without tombstones. One relaxed load.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of tombstones added.
    #[inline]
    pub fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    /// The memory of the tombstones in bytes.
    pub fn memory_usage(&self) -> usize {
        self.memory.load(Ordering::Relaxed)
    }

    /// See [`FragmentedTombstones::covering_seqno`].
    #[inline]
    pub fn covering_seqno(&self, user_key: &[u8], snapshot: SeqNo) -> SeqNo {
        self.covering_seqno_at(user_key, snapshot, None)
    }

    /// See [`FragmentedTombstones::covering_seqno_at`].
    #[inline]
    pub fn covering_seqno_at(&self, user_key: &[u8], snapshot: SeqNo, read_ts: Option<&[u8]>) -> SeqNo {
        if self.is_empty() {
            return 0;
        }
        self.newest(
            user_key,
            &Query {
                snapshot,
                entry_ts: Some(self.cmp.timestamp(user_key)),
                read_ts,
            },
        )
    }

    /// See [`FragmentedTombstones::covering_seqno_for_get`].
    #[inline]
    pub fn covering_seqno_for_get(&self, user_key: &[u8], snapshot: SeqNo) -> SeqNo {
        if self.is_empty() {
            return 0;
        }
        self.newest(
            user_key,
            &Query {
                snapshot,
                entry_ts: None,
                read_ts: Some(self.cmp.timestamp(user_key)),
            },
        )
    }

    fn newest(&self, user_key: &[u8], query: &Query<'_>) -> SeqNo {
        let key = stored(&self.cmp, user_key);
        let root = self.root.load();
        if root
            .touched
            .as_ref()
            .is_some_and(|touched| !touched.may_cover(key))
        {
            return 0;
        }
        let in_tail = root.tail.newest(&self.cmp, key, query);
        root.tree.newest(&self.cmp, key, query).max(in_tail)
    }

    pub(crate) fn view(&self) -> MemView {
        let root = self.root.load_full();
        let tail_len = root.tail.len();
        MemView { root, tail_len }
    }

    /// All tombstones added so far, as fragments with all their sequence numbers. Linear; a repeated call
    /// without additions returns the same set.
    ///
    /// Quadratic where tombstones nest deeply: [`snapshot_for`](Self::snapshot_for) is not.
    pub fn snapshot(&self) -> Arc<FragmentedTombstones> {
        if let Some(cached) = &*self.snapshot.load()
            && cached.0 == self.len()
        {
            return Arc::clone(&cached.1);
        }
        // The tombstones are counted in the view, because some that `len` counts may not have reached the
        // view yet.
        let view = self.view();
        let fragments = Arc::new(view.fragments(&self.cmp, None));
        self.snapshot.store(Some(Arc::new((
            view.root.folded + view.tail_len,
            Arc::clone(&fragments),
        ))));
        fragments
    }

    /// Returns a [`snapshot`](Self::snapshot) that keeps in each fragment only the entries that a reader at
    /// one of `snapshots` (ascending) or at the newest state needs: at most one sequence number more than
    /// there are snapshots. In families with timestamps all entries are kept.
    pub fn snapshot_for(&self, snapshots: &[SeqNo]) -> Arc<FragmentedTombstones> {
        Arc::new(self.view().fragments(&self.cmp, Some(snapshots)))
    }
}

/// The tombstones of a memtable at one moment.
#[derive(Clone, Debug)]
pub struct MemView {
    root: Arc<Root>,
    tail_len: usize,
}

impl MemView {
    pub(crate) fn is_empty(&self) -> bool {
        self.tail_len == 0 && self.root.tree.is_empty()
    }

    pub(crate) fn probe(&self, probe: &mut Probe<'_>) {
        self.root.tree.probe(probe, None, None);
        for item in self.root.tail.items(self.tail_len) {
            let here = Bound::before(probe.key);
            if item.start.compare(probe.cmp, here).is_gt() {
                probe.narrow(None, Some(item.start));
            } else if item.end.compare(probe.cmp, here).is_le() {
                probe.narrow(Some(item.end), None);
            } else {
                probe.narrow(Some(item.start), Some(item.end));
                probe.found(item.entries(), item.start, item.end);
            }
        }
    }

    fn fragments(&self, cmp: &UserComparator, snapshots: Option<&[SeqNo]>) -> FragmentedTombstones {
        let mut tree = Builder::new(cmp).for_snapshots(snapshots);
        self.root.tree.flatten(cmp, &mut tree);
        let items: Vec<Item<'_>> = self.root.tail.items(self.tail_len).collect();
        let mut merged = Builder::new(cmp).for_snapshots(snapshots);
        merge_into(&mut merged, &tree.finish(), &fragment(cmp, &items));
        merged.finish()
    }
}

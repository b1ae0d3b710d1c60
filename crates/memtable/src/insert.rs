//! Insertion into the tree, and splits of its nodes: the writing half of the algorithm in the head comment of
//! `tree`.
//!
//! This code does not check whether a leaf is still in the generation that its order was loaded in. A read of
//! a leaf that has been reopened has no effect: slots are claimed for a generation, and a thread that read
//! data of a later generation also finds the parent changed, whose slot names the leaf with its generation.

use std::cmp;
use std::ptr;

use crate::entry::{Entry, Target};
use crate::node::{Child, Content, Fence, Node, Order, SLOTS, prefetch_node};
use crate::tree::Tree;

/// The maximum number of levels. Each level multiplies the capacity by at least six, so memory ends long
/// before.
const MAX_LEVELS: usize = 24;

/// The leaf a thread last added to: if keys come in order, the next key belongs there too.
pub(crate) struct Near {
    /// The identity of the tree; 0 for none.
    tree: u64,
    leaf: Child,
    /// The fence of the leaf while it is open in the remembered generation.
    fence: Fence,
    /// True if two consecutive entries went to this leaf. If not, the leaf is not tried, because the keys
    /// that bound it are seldom in a cache.
    hot: bool,
}

impl Near {
    pub(crate) const fn new() -> Near {
        Near {
            tree: 0,
            leaf: Child::NONE,
            fence: Fence::NONE,
            hot: false,
        }
    }

    fn note(&mut self, tree: &Tree, leaf: Child, fence: Fence) {
        self.hot = self.tree == tree.identity() && self.leaf.node() == leaf.node();
        self.tree = tree.identity();
        self.leaf = leaf;
        self.fence = fence;
    }
}

/// The path from the root to a leaf: inner nodes, each with the fence that bounds it.
struct Path {
    inner: [(*const Node, Fence); MAX_LEVELS],
    len: usize,
    leaf: Child,
    fence: Fence,
}

/// The outcome of an insertion into a leaf.
enum Added {
    Yes,
    /// The leaf has an entry with the same user key and sequence number.
    Same,
    /// The leaf has no room; the entry belongs at the position.
    Closed(Order, usize),
    /// The leaf is not in the expected generation, or is about to be reopened.
    Unsettled(Order),
}

/// A new right neighbour of a node.
#[derive(Clone, Copy)]
enum Next {
    /// The new node is the upper half of the node before it, which keeps only its lower half.
    Half(Child),
    /// The new node is a child that is in no other node.
    Other(Child),
}

impl Next {
    fn node(self) -> Child {
        match self {
            Next::Half(node) | Next::Other(node) => node,
        }
    }
}

/// The entry to add. It is copied into the arena only once it is known to be new.
struct New<'a> {
    target: Target<'a>,
    trailer: u64,
    value: &'a [u8],
    /// The pointer is null before the copy.
    entry: *const Entry,
}

impl Tree {
    /// Adds an entry. False, with nothing changed, if there is one of the same user key and sequence number.
    /// `entry` is the entry if it was copied into this tree's arena already, otherwise null.
    ///
    /// Any `near` is allowed: it only affects speed.
    #[inline]
    pub(crate) fn insert(
        &self,
        user_key: &[u8],
        trailer: u64,
        value: &[u8],
        entry: *const Entry,
        near: &mut Near,
    ) -> bool {
        let mut new = New {
            // The target sorts after every entry of the same sequence number, so that an entry of another
            // kind is met as the last before it.
            target: Target {
                user_key,
                trailer: trailer & !0xff,
            },
            trailer,
            value,
            entry,
        };
        if near.hot && near.tree == self.identity() {
            // SAFETY: the leaf of a `Near` is of the tree it names. If it is not closed, it is current, and
            // its end has not changed.
            unsafe {
                if self.is_in_range(near, &new.target) {
                    match self.add_to_leaf(near.leaf, near.fence, &mut new) {
                        Added::Yes => return true,
                        Added::Same => return false,
                        Added::Closed(..) | Added::Unsettled(_) => (),
                    }
                }
            }
        }
        self.insert_from_root(&mut new, near)
    }

    fn insert_from_root(&self, new: &mut New, near: &mut Near) -> bool {
        loop {
            let path = self.descend_noting(&new.target);
            // SAFETY: the leaf is of this tree, and has the target in its range.
            match unsafe { self.add_to_leaf(path.leaf, path.fence, new) } {
                Added::Yes => {
                    near.note(self, path.leaf, path.fence);
                    return true;
                }
                Added::Same => return false,
                // SAFETY: the path leads to the leaf, and `order` was the leaf's order.
                Added::Unsettled(order) => unsafe { self.settle(&path, order) },
                Added::Closed(order, position) => {
                    // SAFETY: the leaf is closed under this order, and the path leads to it.
                    if let Some(leaf) = unsafe { self.split_leaf(&path, order, position, new) } {
                        // The new leaf begins a sequence of ascending keys, because the previous leaf was
                        // such a sequence.
                        near.note(self, leaf, path.fence);
                        near.hot = true;
                        return true;
                    }
                }
            }
        }
    }

    /// Descends as [`descend`](Self::descend) does, and returns the path.
    #[inline]
    fn descend_noting(&self, target: &Target) -> Path {
        let mut path = Path {
            inner: [(ptr::null(), Fence::NONE); MAX_LEVELS],
            len: 0,
            leaf: self.root(),
            fence: Fence::NONE,
        };
        // SAFETY: every node that the walk reaches is of this tree.
        unsafe {
            loop {
                let node = path.leaf.node();
                let level = (*node).level();
                if level == 0 {
                    break;
                }
                path.inner[path.len] = (node, path.fence);
                path.len += 1;
                let choose = |order| {
                    let (end, _) = Node::search(node, &self.rule, order, 1, target, |entry| {
                        self.is_up_to(entry, target)
                    });
                    end - 1
                };
                let up = self.pass(node, path.fence, choose, &mut path.leaf);
                path.fence = Tree::fence_behind(&up);
                prefetch_node(path.leaf.node());
            }
        }
        path
    }

    /// # Safety
    /// `near` is of this tree.
    #[inline]
    unsafe fn is_in_range(&self, near: &Near, target: &Target) -> bool {
        // SAFETY: the caller ensures the conditions under `# Safety`.
        unsafe {
            let high = near.fence.key();
            let low = (*near.leaf.node()).low;
            (high.is_null() || !self.is_up_to(high, target)) && (low.is_null() || self.is_up_to(low, target))
        }
    }

    /// # Safety
    /// `child` is a leaf of this tree that has the target in its range, which ends at the fence, and is
    /// current if it is not closed in this generation.
    #[inline]
    unsafe fn add_to_leaf(&self, child: Child, fence: Fence, new: &mut New) -> Added {
        let leaf = child.node();
        // SAFETY: the caller ensures the conditions under `# Safety`; slots lead into this tree.
        unsafe {
            loop {
                let order = (*leaf).order();
                if order.generation() != child.generation() || order.is_busy() {
                    return Added::Unsettled(order);
                }
                if order.is_closed() {
                    // The key of the full node is needed to split it.
                    fence.prefetch();
                }
                let target = &new.target;
                let (position, prefix) = Node::search(leaf, &self.rule, order, 0, target, |entry| {
                    self.is_up_to(entry, target)
                });
                if let Some(last) = position.checked_sub(1) {
                    let word = (*leaf).word(order, last);
                    if word.prefix() == prefix
                        && !word.entry().is_null()
                        && self.is_same(&self.target_of(word.entry()), target)
                    {
                        return Added::Same;
                    }
                }
                if order.is_closed() {
                    return Added::Closed(order, position);
                }
                // Once the slot is claimed in this generation, the order is still this one, and all reads
                // under it were valid.
                let entry = self.copied(new);
                match (*leaf).claim(order, (*leaf).word_of(&self.rule, entry)) {
                    Ok(()) => {
                        (*leaf).publish(order, position);
                        return Added::Yes;
                    }
                    Err(other) if other.is_null() => (),
                    Err(other) => {
                        let target = Entry::target(other);
                        let (position, _) = Node::search(leaf, &self.rule, order, 0, &target, |entry| {
                            self.is_up_to(entry, &target)
                        });
                        (*leaf).publish(order, position);
                    }
                }
            }
        }
    }

    /// Completes a reopening that another thread began: that of the leaf at the end of the path. Has no
    /// effect if it is complete already.
    ///
    /// # Safety
    /// `path` leads to a leaf of this tree, and `order` was its order.
    #[cold]
    unsafe fn settle(&self, path: &Path, order: Order) {
        let (leaf, generation) = (path.leaf.node(), path.leaf.generation());
        // SAFETY: the caller ensures the conditions under `# Safety`.
        unsafe {
            if order.generation() + 1 == generation {
                if let Some(half) = Tree::half_split(leaf, order, path.fence.key()) {
                    (*leaf).reopen(order, half);
                }
            } else if order.generation() == generation && order.is_busy() {
                (*leaf).empty_slots(order);
            }
        }
    }

    #[inline]
    fn is_same(&self, key: &Target, target: &Target) -> bool {
        key.seqno() == target.seqno()
            && self.cmp.user().compare(key.user_key, target.user_key) == cmp::Ordering::Equal
    }

    /// The entry in the arena.
    #[inline]
    fn copied(&self, new: &mut New) -> *const Entry {
        if new.entry.is_null() {
            new.entry = Entry::allocate(&self.arena, new.target.user_key, new.trailer, new.value).as_ptr();
        }
        new.entry
    }

    /// Makes room if the leaf is closed: afterwards a new descent finds another leaf, or another thread's
    /// work. `Some(leaf)` if the new entry was added in a new leaf.
    ///
    /// # Safety
    /// `path` leads to a leaf of this tree, closed under `order`, where the new entry belongs at `position`.
    #[cold]
    unsafe fn split_leaf(&self, path: &Path, order: Order, position: usize, new: &mut New) -> Option<Child> {
        let leaf = path.leaf.node();
        // SAFETY: the caller ensures the conditions under `# Safety`; the leaf's contents lead into this
        // tree.
        unsafe {
            let high = path.fence.key();
            if let Some(half) = Tree::half_split(leaf, order, high) {
                self.finish_split(path, path.len, path.leaf, order, half, high);
                return None;
            }
            let ascends = (*leaf).ascends_to(order, position);
            if position == SLOTS && ascends {
                let entry = self.copied(new);
                let next = self.new_node(0, &Content::entry(entry, (*leaf).entry(order, 0)), entry, high);
                let linked = self.link_behind(path, path.len, path.leaf, high, Next::Other(next));
                return linked.then_some(next);
            }
            let runs = ascends || (*leaf).descends_to(order, position);
            let half = match runs && position < SLOTS {
                true => position,
                false => SLOTS / 2,
            };
            let upper = Node::content(leaf, order, half, SLOTS);
            if upper.is_torn() {
                return None;
            }
            let low = upper.keys[0];
            let upper = self.new_node(0, &upper, low, high);
            if self.link_behind(path, path.len, path.leaf, high, Next::Half(upper)) {
                self.finish_split(path, path.len, path.leaf, order, half, low);
            }
            None
        }
    }

    /// If the fence of a closed node is one of its own keys, its upper half is in another node already: the
    /// position of that key. For a leaf that has been reopened since, the same position or none, because that
    /// key never returns to it.
    ///
    /// # Safety
    /// `node` is of this tree, and closed under `order`.
    unsafe fn half_split(node: *const Node, order: Order, fence: *const Entry) -> Option<usize> {
        if fence.is_null() {
            return None;
        }
        // SAFETY: the caller ensures the conditions under `# Safety`.
        unsafe { (*node).position_of_key(order, fence) }
    }

    /// Step 2 of a split: the part of `node`, at `depth` of the path, before position `half` takes its place
    /// in the parent, if possible in the node itself. Has no effect if the parent does not have the node any
    /// more. The root has no parent: the next descent finds its new root.
    ///
    /// # Safety
    /// `node` is of this tree, closed under `order`, and frozen if it is an inner node. The key at `half` is
    /// `fence`, the low of its new neighbour.
    unsafe fn finish_split(
        &self,
        path: &Path,
        depth: usize,
        child: Child,
        order: Order,
        half: usize,
        fence: *const Entry,
    ) {
        let Some(parent_depth) = depth.checked_sub(1) else {
            return;
        };
        let (parent, _) = path.inner[parent_depth];
        let node = child.node();
        // SAFETY: the caller ensures the conditions under `# Safety`; nodes on the path are of this tree.
        unsafe {
            let parents_order = (*parent).order();
            let Some(position) = (*parent).position_of_child(parents_order, child) else {
                return;
            };
            let lower = Node::content(node, order, 0, half);
            if lower.is_torn() && (*node).level() == 0 {
                return;
            }
            let reopens = (*node).can_reopen(order, &lower);
            let new = match reopens {
                true => child.next_generation(),
                false => self.new_node((*node).level(), &lower, (*node).low, fence),
            };
            if (*parent).replace_child(parents_order, position, child, new) {
                if reopens {
                    (*node).reopen(order, half);
                }
            } else if parents_order.is_closed() {
                // The parent is frozen, or another thread was faster. If it is frozen, the thread that froze
                // it may be far from done.
                self.split_inner(path, parent_depth, parents_order, None);
            }
        }
    }

    /// Step 1 of a split: adds `next` to the parent of `node`, after it. `node` is at `depth` of the path,
    /// and `fence` bounded it. False if the tree has changed since the path was walked; then nothing was
    /// added.
    ///
    /// # Safety
    /// `path` leads to `node`, which is closed. `next` is a node of this tree, linked nowhere, that begins
    /// within `node`'s range and ends at the fence.
    unsafe fn link_behind(
        &self,
        path: &Path,
        depth: usize,
        node: Child,
        fence: *const Entry,
        next: Next,
    ) -> bool {
        // SAFETY: the caller ensures the conditions under `# Safety`; nodes on the path are of this tree.
        unsafe {
            let Some(parent_depth) = depth.checked_sub(1) else {
                let children = Content::of_root(node, (*node.node()).order(), next.node());
                let level = (*node.node()).level() + 1;
                let root = self.new_node(level, &children, ptr::null(), ptr::null());
                return self.replace_root(node, root);
            };
            let (parent, parents_fence) = path.inner[parent_depth];
            loop {
                let order = (*parent).order();
                let Some(position) = (*parent).position_of_child(order, node) else {
                    return false;
                };
                let behind = position + 1;
                let bound = match behind < order.live() {
                    true => (*parent).key(order, behind),
                    false => parents_fence.key(),
                };
                if bound != fence {
                    return false;
                }
                if order.is_closed() {
                    return self.split_inner(path, parent_depth, order, Some((behind, next)));
                }
                match (*parent).claim_child(&self.rule, order, next.node()) {
                    Ok(()) => {
                        (*parent).publish(order, behind);
                        return true;
                    }
                    Err(other) => {
                        let target = Entry::target((*other.node()).low);
                        let (position, _) = Node::search(parent, &self.rule, order, 1, &target, |entry| {
                            self.is_up_to(entry, &target)
                        });
                        (*parent).publish(order, position);
                    }
                }
            }
        }
    }

    /// Makes room in a closed inner node at `depth` of the path, or after it; for `child`, if one is given,
    /// which belongs at its position. True if the child was added as well; otherwise a new descent is needed.
    ///
    /// # Safety
    /// The requirements of [`link_behind`](Self::link_behind), of the child and the node.
    #[cold]
    unsafe fn split_inner(
        &self,
        path: &Path,
        depth: usize,
        order: Order,
        child: Option<(usize, Next)>,
    ) -> bool {
        let (node, fence) = path.inner[depth];
        // SAFETY: the caller ensures the conditions under `# Safety`.
        unsafe {
            let fence = fence.key();
            if let Some(half) = Tree::half_split(node, order, fence) {
                (*node).freeze();
                self.finish_split(path, depth, Child::new(node), order, half, fence);
                return false;
            }
            // A move into the other leaf does not apply to halves. The other half would be put into this
            // node, whose order does not change, so a thread that comes from a parent loaded before the new
            // neighbour was there would get no warning.
            if let Some((SLOTS, Next::Other(child))) = child
                && (*node).ascends_to(order, SLOTS)
            {
                let content = Content::child(child, (*node).key(order, 1));
                let next = self.new_node((*node).level(), &content, (*child.node()).low, fence);
                return self.link_behind(path, depth, Child::new(node), fence, Next::Other(next));
            }
            (*node).freeze();
            let half = SLOTS / 2;
            let upper = Node::content(node, order, half, SLOTS);
            let low = upper.keys[0];
            let upper = self.new_node((*node).level(), &upper, low, fence);
            if self.link_behind(path, depth, Child::new(node), fence, Next::Half(upper)) {
                self.finish_split(path, depth, Child::new(node), order, half, low);
            }
            false
        }
    }
}

//! Inserting into the tree, and splitting its nodes: the writing half of what the head of `tree` describes.

use std::cmp;
use std::ptr;

use crate::entry::{Entry, Target};
use crate::node::{Content, Node, Order, SLOTS, prefetch_node};
use crate::sync::Ordering;
use crate::tree::Tree;

/// Levels a tree may have. Each multiplies what it holds by six at least, so memory ends long before.
const MAX_LEVELS: usize = 24;

/// The leaf a thread last added to: where keys come in order, the next goes there too.
pub(crate) struct Near {
    /// Identity of the tree; 0 for none.
    tree: u64,
    leaf: *const Node,
    /// Two entries in a row went there. Otherwise it is not tried: the keys that bound it are seldom in a cache.
    hot: bool,
}

impl Near {
    pub(crate) const fn new() -> Near {
        Near {
            tree: 0,
            leaf: ptr::null(),
            hot: false,
        }
    }

    fn note(&mut self, tree: &Tree, leaf: *const Node) {
        self.hot = self.tree == tree.identity() && self.leaf == leaf;
        self.tree = tree.identity();
        self.leaf = leaf;
    }
}

/// The way from the root to a leaf: inner nodes, each with the fence that bounds it.
struct Path {
    inner: [(*const Node, *const Entry); MAX_LEVELS],
    len: usize,
    leaf: *const Node,
    fence: *const Entry,
}

/// What became of an insertion into a leaf.
enum Added {
    Yes,
    /// There is one of the same user key and sequence number.
    Same,
    /// There is no room in this leaf; the entry belongs at the position.
    Closed(Order, usize),
}

/// A new right neighbour.
#[derive(Clone, Copy)]
enum Next {
    /// The upper half of the node before it, which is to be replaced by its lower half.
    Half(*const Node),
    /// Something that is in no other node.
    Other(*const Node),
}

impl Next {
    fn node(self) -> *const Node {
        match self {
            Next::Half(node) | Next::Other(node) => node,
        }
    }
}

/// What is to be added: copied into the arena only once it is known to be new.
struct New<'a> {
    target: Target<'a>,
    trailer: u64,
    value: &'a [u8],
    /// Null before it is copied.
    entry: *const Entry,
}

impl Tree {
    /// Adds an entry; false, and nothing is changed, if there is one of the same user key and sequence number. `entry` is
    /// the entry where it was copied into this tree's arena already, else null.
    ///
    /// `near` may be anyone's, or new: it decides only how fast this is.
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
            // Behind every entry of the same sequence number, so that one of another kind is met as the last before it.
            target: Target {
                user_key,
                trailer: trailer & !0xff,
            },
            trailer,
            value,
            entry,
        };
        if near.hot && near.tree == self.identity() {
            // SAFETY: the leaf of a `Near` is of the tree it names. If it is not closed, it is current.
            unsafe {
                if self.is_in_range(near.leaf, &new.target) {
                    match self.add_to_leaf(near.leaf, &mut new) {
                        Added::Yes => return true,
                        Added::Same => return false,
                        Added::Closed(..) => (),
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
            match unsafe { self.add_to_leaf(path.leaf, new) } {
                Added::Yes => {
                    near.note(self, path.leaf);
                    return true;
                }
                Added::Same => return false,
                Added::Closed(order, position) => {
                    // SAFETY: the leaf is closed under this order, and the path leads to it.
                    if let Some(leaf) = unsafe { self.split_leaf(&path, order, position, new) } {
                        // It begins a sequence, as the leaf before it was one.
                        near.note(self, leaf);
                        near.hot = true;
                        return true;
                    }
                }
            }
        }
    }

    /// As [`descend`](Self::descend), noting the way.
    #[inline]
    fn descend_noting(&self, target: &Target) -> Path {
        let mut path = Path {
            inner: [(ptr::null(), ptr::null()); MAX_LEVELS],
            len: 0,
            leaf: self.root(),
            fence: ptr::null(),
        };
        // SAFETY: as in `descend`.
        unsafe {
            while (*path.leaf).level() > 0 {
                let node = path.leaf;
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
                prefetch_node(path.leaf);
            }
        }
        path
    }

    /// # Safety
    /// `leaf` is a leaf of this tree.
    #[inline]
    unsafe fn is_in_range(&self, leaf: *const Node, target: &Target) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            let Node { low, high, .. } = *leaf;
            (high.is_null() || !self.is_up_to(high, target)) && (low.is_null() || self.is_up_to(low, target))
        }
    }

    /// # Safety
    /// `leaf` is a leaf of this tree that has the target in its range, and is current if it is not closed.
    #[inline]
    unsafe fn add_to_leaf(&self, leaf: *const Node, new: &mut New) -> Added {
        // SAFETY: the caller's promise; what slots hold leads into this tree.
        unsafe {
            loop {
                let order = (*leaf).order();
                let target = &new.target;
                let (position, prefix) = Node::search(leaf, &self.rule, order, 0, target, |entry| {
                    self.is_up_to(entry, target)
                });
                if let Some(last) = position.checked_sub(1)
                    && (*leaf).prefix_at(order, last) == prefix
                    && self.is_same(&self.target_of((*leaf).entry(order, last)), target)
                {
                    return Added::Same;
                }
                if order.is_closed() {
                    return Added::Closed(order, position);
                }
                let entry = self.copied(new);
                match (*leaf).claim(order, entry.cast()) {
                    Ok(()) => {
                        Node::publish(leaf, &self.rule, order, position, entry);
                        return Added::Yes;
                    }
                    Err(other) => {
                        let other: *const Entry = other.cast();
                        let target = Entry::target(other);
                        let (position, _) = Node::search(leaf, &self.rule, order, 0, &target, |entry| {
                            self.is_up_to(entry, &target)
                        });
                        Node::publish(leaf, &self.rule, order, position, other);
                    }
                }
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

    /// Makes room where a closed leaf is in the way: afterwards a new descent finds another leaf, or another
    /// thread's work. `Some(leaf)` if the new entry was added with it, in that leaf.
    ///
    /// # Safety
    /// `path` leads to a leaf of this tree, closed under `order`, where the new entry belongs at `position`.
    #[cold]
    unsafe fn split_leaf(
        &self,
        path: &Path,
        order: Order,
        position: usize,
        new: &mut New,
    ) -> Option<*const Node> {
        let leaf = path.leaf;
        // SAFETY: the caller's promise; what the leaf holds leads into this tree.
        unsafe {
            if let Some(half) = self.half_split(leaf, order, path.fence) {
                self.finish_split(path, path.len, leaf, order, half);
                return None;
            }
            if position == SLOTS && order.ascends_to(position) {
                let entry = self.copied(new);
                let next = self.new_node(0, &Content::entry(entry), entry, path.fence);
                let linked = self.link_behind(path, path.len, leaf, path.fence, Next::Other(next));
                return linked.then_some(next);
            }
            let runs = order.ascends_to(position) || order.descends_to(position);
            let half = match runs && position < SLOTS {
                true => position,
                false => SLOTS / 2,
            };
            let upper = Node::content(leaf, order, half, SLOTS);
            let upper = self.new_node(0, &upper, upper.keys[0], path.fence);
            if self.link_behind(path, path.len, leaf, path.fence, Next::Half(upper)) {
                self.finish_split(path, path.len, leaf, order, half);
            }
            None
        }
    }

    /// Where the fence of a closed node is one of its own keys, its upper half is in another node already: the
    /// position.
    ///
    /// # Safety
    /// `node` is of this tree, and closed under `order`.
    unsafe fn half_split(&self, node: *const Node, order: Order, fence: *const Entry) -> Option<usize> {
        if fence.is_null() {
            return None;
        }
        // SAFETY: the caller's promise.
        unsafe { Node::position_of_key(node, order, fence) }
    }

    /// Step 2 of a split: what `node`, at `depth` of the path, has before position `half` takes its place in the
    /// parent. Without effect if the parent does not have it any more; the root has no parent, so its new one is
    /// met by the next descent.
    ///
    /// # Safety
    /// `node` is of this tree, closed under `order`, and frozen if it is an inner node. The key at `half` is the
    /// low of its new neighbour.
    unsafe fn finish_split(&self, path: &Path, depth: usize, node: *const Node, order: Order, half: usize) {
        let Some(parent_depth) = depth.checked_sub(1) else {
            return;
        };
        let (parent, _) = path.inner[parent_depth];
        // SAFETY: the caller's promise; nodes on the path are of this tree.
        unsafe {
            let parents_order = (*parent).order();
            let Some(position) = (*parent).position_of_child(parents_order, node) else {
                return;
            };
            let lower = Node::content(node, order, 0, half);
            let fence = Node::content(node, order, half, half + 1).keys[0];
            let lower = self.new_node((*node).level(), &lower, (*node).low, fence);
            if !(*parent).replace_child(parents_order, position, node, lower) && parents_order.is_closed() {
                // Frozen, or someone was faster. If it is frozen, whoever did that may be far from done.
                self.split_inner(path, parent_depth, parents_order, None);
            }
        }
    }

    /// Step 1 of a split: adds `next` to the parent of `node`, behind it. `node` is at `depth` of the path, `fence`
    /// bounded it. False if things have changed since the path was walked; then nothing was added.
    ///
    /// # Safety
    /// `path` leads to `node`, which is closed. `next` is a node of this tree, linked nowhere, that begins within
    /// `node`'s range and ends at the fence.
    unsafe fn link_behind(
        &self,
        path: &Path,
        depth: usize,
        node: *const Node,
        fence: *const Entry,
        next: Next,
    ) -> bool {
        // SAFETY: the caller's promise; nodes on the path are of this tree.
        unsafe {
            let Some(parent_depth) = depth.checked_sub(1) else {
                let children = Content::children(&[node, next.node()]);
                let root = self.new_node((*node).level() + 1, &children, ptr::null(), ptr::null());
                let exchanged = self.root.compare_exchange(
                    node.cast_mut(),
                    root.cast_mut(),
                    Ordering::Release,
                    Ordering::Relaxed,
                );
                return exchanged.is_ok();
            };
            let (parent, parents_fence) = path.inner[parent_depth];
            loop {
                let order = (*parent).order();
                let Some(position) = (*parent).position_of_child(order, node) else {
                    return false;
                };
                let behind = position + 1;
                let bound = match behind < order.live() {
                    true => Node::child_low(parent, order, behind),
                    false => parents_fence,
                };
                if bound != fence {
                    return false;
                }
                if order.is_closed() {
                    return self.split_inner(path, parent_depth, order, Some((behind, next)));
                }
                match (*parent).claim(order, next.node().cast()) {
                    Ok(()) => {
                        Node::publish(parent, &self.rule, order, behind, (*next.node()).low);
                        return true;
                    }
                    Err(other) => {
                        let low = (*other.cast::<Node>()).low;
                        let target = Entry::target(low);
                        let (position, _) = Node::search(parent, &self.rule, order, 1, &target, |entry| {
                            self.is_up_to(entry, &target)
                        });
                        Node::publish(parent, &self.rule, order, position, low);
                    }
                }
            }
        }
    }

    /// Makes room in a closed inner node at `depth` of the path, or behind it; for `child`, if one is given, which
    /// belongs at its position. True if the child was added with it; otherwise a new descent finds a way.
    ///
    /// # Safety
    /// As for [`link_behind`](Self::link_behind), of the child and the node.
    #[cold]
    unsafe fn split_inner(
        &self,
        path: &Path,
        depth: usize,
        order: Order,
        child: Option<(usize, Next)>,
    ) -> bool {
        let (node, fence) = path.inner[depth];
        // SAFETY: the caller's promise.
        unsafe {
            if let Some(half) = self.half_split(node, order, fence) {
                (*node).freeze();
                self.finish_split(path, depth, node, order, half);
                return false;
            }
            // Not for halves: the other half would be put into this node, where no change of the order warns who
            // comes from a parent loaded before its new neighbour was there.
            if let Some((SLOTS, Next::Other(child))) = child
                && order.ascends_to(SLOTS)
            {
                let content = Content::children(&[child]);
                let next = self.new_node((*node).level(), &content, (*child).low, fence);
                return self.link_behind(path, depth, node, fence, Next::Other(next));
            }
            (*node).freeze();
            let half = SLOTS / 2;
            let upper = Node::content(node, order, half, SLOTS);
            let upper = self.new_node((*node).level(), &upper, upper.keys[0], fence);
            if self.link_behind(path, depth, node, fence, Next::Half(upper)) {
                self.finish_split(path, depth, node, order, half);
            }
            false
        }
    }
}

//! The tree: insertions and reads from any number of threads, none of which ever waits for another.
//!
//! # The problem
//!
//! A memtable takes keys in any order and must find them, and their neighbours, while others write. What that costs is cache misses: a
//! skip list of a few hundred thousand entries chases a dozen pointers that are in no cache, and that is where RocksDB's random
//! insertions spend their two microseconds. Here a search reads one or two cache lines on each of five or six levels, and all levels
//! but the last stay in the cache.
//!
//! # The shape
//!
//! A B+-tree. Leaves hold pointers to entries, inner nodes to children, up to 13 each, sorted. Nodes know four bytes of each of
//! their keys: those that follow what all keys in the node's range begin with. A key itself is looked at only where four bytes tie.
//! Entries and nodes lie in the arena and stay until the memtable drops; entries never change.
//!
//! # Taking in
//!
//! A node's slots are written once. To add something, a writer claims the first free slot by a compare-and-swap from null, then publishes
//! it by one of the `order` word. A writer that finds a slot claimed and not published does that for the other and goes on: what an order
//! and a claimed slot lead to is the same for all, so nobody waits. Readers load the order once and have a sorted, consistent node.
//!
//! # Splitting
//!
//! A node without free slots is closed: its order never changes again. To make room behind a closed node `n`,
//!
//! 1. a new right neighbour `b` gets a copy of `n`'s upper half, and is added to the parent under its first key, `b.low`. From
//!    then on, keys from `b.low` on are looked for in `b`; `n` still serves those before, and its own upper half is out of reach;
//! 2. a copy of the lower half takes `n`'s place in the parent's slot. Whoever wants to insert into `n` meanwhile sees
//!    that the key that bounds it is one of its own, and does this step first.
//!
//! Where keys come in ascending order the copies are left out: `b` gets the new entry alone. A closed inner node is frozen before it is copied: a
//! bit in each pointer to a child says that it will not change, so that step 2 in an old parent fails once the new
//! one may exist. A root that is closed gets a new root above itself.
//!
//! # What readers rely on
//!
//! * A node's range begins at `low`, and whatever is in range and was ever added below the node is found through it, until its replacement is
//!   in the parent. So a descent, however slow, ends in a leaf that has everything added to its part of the range before the descent began.
//! * The range's end, `fence`, is the next key in the parent, or where the child is the last the parent's own fence. The fence is the key
//!   of an entry, and that entry is the next one after the leaf's. So a walk that has reached the end of a leaf, or in a closed leaf the fence,
//!   goes on by a descent to the fence.
//! * A leaf that is not closed is the current one for its range, wherever the pointer to it was found.

use std::cmp;
use std::ptr::{self, NonNull};

use base::InternalComparator;

use crate::arena::Arena;
use crate::entry::{Entry, Target};
use crate::node::{Content, Node, Order, SLOTS, prefetch, prefetch_node};
use crate::prefix::PrefixRule;
use crate::sync::{AtomicPtr, Ordering};

/// Levels a tree may have. Each multiplies what it holds by six at least, so memory ends long before.
const MAX_LEVELS: usize = 24;

pub(crate) struct Tree {
    root: AtomicPtr<Node>,
    rule: PrefixRule,
    cmp: InternalComparator,
    /// A number no other tree has.
    identity: u64,
    pub(crate) arena: Arena,
}

// SAFETY: nodes and entries lie in the arena, which is `Send` and `Sync`; nodes change through atomics alone, entries not at all.
unsafe impl Send for Tree {}
// SAFETY: as above.
unsafe impl Sync for Tree {}

/// Trees made so far.
static TREES: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

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
        self.hot = self.tree == tree.identity && self.leaf == leaf;
        self.tree = tree.identity;
        self.leaf = leaf;
    }
}

/// A position in a leaf, as of when it was reached; before the fence.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    leaf: *const Node,
    order: Order,
    position: usize,
    fence: *const Entry,
}

impl Place {
    pub(crate) const NONE: Place = Place {
        leaf: ptr::null(),
        order: Order::EMPTY,
        position: 0,
        fence: ptr::null(),
    };

    /// # Safety
    /// The place is one of a live tree, and at an entry.
    #[inline]
    unsafe fn entry(&self) -> *const Entry {
        // SAFETY: the caller's promise.
        unsafe { (*self.leaf).entry(self.order, self.position) }
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

/// What is to be added: copied into the arena only once it is known to be new.
struct New<'a> {
    target: Target<'a>,
    trailer: u64,
    value: &'a [u8],
    /// Null before it is copied.
    entry: *const Entry,
}

impl Tree {
    pub(crate) fn new(cmp: InternalComparator, arena: Arena) -> Tree {
        let rule = PrefixRule::new(cmp.user());
        let tree = Tree {
            root: AtomicPtr::new(ptr::null_mut()),
            rule,
            cmp,
            identity: TREES.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1,
            arena,
        };
        let leaf = tree.new_node(0, &Content::empty(), ptr::null(), ptr::null());
        tree.root.store(leaf.cast_mut(), Ordering::Relaxed);
        tree
    }

    pub(crate) fn comparator(&self) -> &InternalComparator {
        &self.cmp
    }

    #[inline]
    pub(crate) fn identity(&self) -> u64 {
        self.identity
    }

    fn new_node(
        &self,
        level: usize,
        content: &Content,
        low: *const Entry,
        high: *const Entry,
    ) -> *const Node {
        let memory = self.arena.allocate_node(Node::size(level));
        // SAFETY: the piece is of that size, aligned to a cache line, and nobody else's; what the callers pass leads into this tree.
        unsafe { Node::write(memory.as_ptr(), &self.rule, level, content, low, high) }
    }

    /// Whether the key sorts before the target.
    #[inline]
    fn is_before(&self, key: &Target, target: &Target) -> bool {
        key.compare(target, &self.cmp) == cmp::Ordering::Less
    }

    /// Whether the key sorts before the target or is the same.
    #[inline]
    fn is_up_to(&self, key: &Target, target: &Target) -> bool {
        key.compare(target, &self.cmp) != cmp::Ordering::Greater
    }

    // ---- reading

    /// The leaf in whose range the target is, and its fence. `strictly`: the last leaf that begins before the target.
    #[inline]
    fn descend(&self, target: &Target, strictly: bool) -> (*const Node, *const Entry) {
        let mut node: *const Node = self.root.load(Ordering::Acquire);
        let mut fence = ptr::null();
        // SAFETY: every node reached is of this tree. The target is in the range of each: at or behind its low, before the
        // fence, or with `strictly` behind the low and at most at the fence.
        unsafe {
            while (*node).level() > 0 {
                node = self.child_of(node, &mut fence, |order| {
                    let (end, _) = Node::search(node, &self.rule, order, 1, target, |key| match strictly {
                        true => self.is_before(key, target),
                        false => self.is_up_to(key, target),
                    });
                    end - 1
                });
                prefetch_node(node);
            }
        }
        (node, fence)
    }

    /// The child of an inner node at the position that `choose` gives. The fence becomes that of the child where it has a nearer one.
    ///
    /// # Safety
    /// `node` is an inner node of this tree.
    #[inline]
    unsafe fn child_of(
        &self,
        node: *const Node,
        fence: &mut *const Entry,
        choose: impl Fn(Order) -> usize,
    ) -> *const Node {
        // SAFETY: the caller's promise.
        unsafe {
            let mut order = (*node).order();
            loop {
                let position = choose(order);
                let child = (*node).child(order, position);
                // The child may be the lower half of one that was split since, when its upper half is not in this order yet. It is in
                // what is loaded now, for it was published before. An order changes a few times only.
                let now = (*node).order();
                if now == order {
                    if position + 1 < order.live() {
                        *fence = Node::child_low(node, order, position + 1);
                    }
                    return child;
                }
                order = now;
            }
        }
    }

    /// The first entry at or after the target.
    #[inline]
    pub(crate) fn first_at_or_after(&self, target: &Target) -> Place {
        let (leaf, fence) = self.descend(target, false);
        // SAFETY: `descend` gives a leaf of this tree that has the target in its range.
        unsafe {
            let order = (*leaf).order();
            let (position, _) = Node::search(leaf, &self.rule, order, 0, target, |key| {
                self.is_before(key, target)
            });
            self.within_fence(Place {
                leaf,
                order,
                position,
                fence,
            })
        }
    }

    /// The first entry at or after the target if it has the target's user key, timestamps left out of account. Cheaper than
    /// [`first_at_or_after`](Self::first_at_or_after) where it has not.
    #[inline]
    pub(crate) fn first_version(&self, target: &Target) -> Place {
        let (leaf, fence) = self.descend(target, false);
        // SAFETY: as in `first_at_or_after`.
        unsafe {
            let order = (*leaf).order();
            let (position, prefix) = Node::search(leaf, &self.rule, order, 0, target, |key| {
                self.is_before(key, target)
            });
            if position == order.live() {
                let ends = fence.is_null() || !self.is_version(&Entry::target(fence), target);
                return if ends { Place::NONE } else { self.at(fence) };
            }
            let place = Place {
                leaf,
                order,
                position,
                fence,
            };
            if (*leaf).prefix_at(order, position) == prefix
                && self.is_version(&Entry::target(place.entry()), target)
            {
                self.within_fence(place)
            } else {
                Place::NONE
            }
        }
    }

    /// The place after `place` if the entry there has the target's user key, timestamps left out of account.
    ///
    /// # Safety
    /// `place` is of this tree, and at an entry of that user key.
    #[inline]
    pub(crate) unsafe fn next_version(&self, place: &Place, target: &Target) -> Place {
        // SAFETY: the caller's promise.
        unsafe {
            let behind = place.position + 1;
            if behind < place.order.live()
                && (*place.leaf).prefix_at(place.order, behind)
                    != (*place.leaf).prefix_at(place.order, place.position)
            {
                return Place::NONE;
            }
            let next = self.next(place);
            let entry = self.entry(&next);
            if !entry.is_null() && self.is_version(&Entry::target(entry), target) {
                next
            } else {
                Place::NONE
            }
        }
    }

    #[inline]
    fn is_version(&self, key: &Target, target: &Target) -> bool {
        let order = self
            .cmp
            .user()
            .compare_without_timestamp(key.user_key, target.user_key);
        order == cmp::Ordering::Equal
    }

    /// The place of an entry of this tree, which may be null for none.
    #[inline]
    fn at(&self, entry: *const Entry) -> Place {
        if entry.is_null() {
            return Place::NONE;
        }
        // SAFETY: the caller means an entry of this tree.
        let target = unsafe { Entry::target(entry) };
        let (leaf, fence) = self.descend(&target, false);
        // SAFETY: as in `first_at_or_after`.
        unsafe {
            let order = (*leaf).order();
            let (position, _) = Node::search(leaf, &self.rule, order, 0, &target, |key| {
                self.is_before(key, &target)
            });
            Place {
                leaf,
                order,
                position,
                fence,
            }
        }
    }

    /// The same place, or where it is at or beyond the fence, that of the fence: there a closed leaf may not be current.
    ///
    /// # Safety
    /// `place` is of this tree; if it is live in its leaf, it is at most at the fence.
    #[inline]
    unsafe fn within_fence(&self, place: Place) -> Place {
        // SAFETY: the caller's promise.
        if place.position < place.order.live() && unsafe { place.entry() } != place.fence {
            place
        } else {
            self.at(place.fence)
        }
    }

    /// The entry at a place; null where there is none.
    ///
    /// # Safety
    /// `place` is of this tree.
    #[inline]
    pub(crate) unsafe fn entry(&self, place: &Place) -> *const Entry {
        if place.position < place.order.live() {
            // SAFETY: the place is at an entry.
            unsafe { place.entry() }
        } else {
            ptr::null()
        }
    }

    /// The place after `place`.
    ///
    /// # Safety
    /// `place` is of this tree, and at an entry.
    #[inline]
    pub(crate) unsafe fn next(&self, place: &Place) -> Place {
        // SAFETY: the caller's promise.
        unsafe {
            let behind = Place {
                position: place.position + 1,
                ..*place
            };
            self.within_fence(behind)
        }
    }

    /// The place before `place`.
    ///
    /// # Safety
    /// `place` is of this tree, and at an entry.
    #[inline]
    pub(crate) unsafe fn prev(&self, place: &Place) -> Place {
        // SAFETY: the caller's promise.
        unsafe {
            match place.position.checked_sub(1) {
                Some(position) => Place { position, ..*place },
                None => self.last_before(&Entry::target(place.entry())),
            }
        }
    }

    /// The last entry before the target.
    pub(crate) fn last_before(&self, target: &Target) -> Place {
        let (leaf, fence) = self.descend(target, true);
        self.last_where(leaf, fence, target, |key| self.is_before(key, target))
    }

    /// The last entry before the target, or at it.
    pub(crate) fn last_up_to(&self, target: &Target) -> Place {
        let (leaf, fence) = self.descend(target, false);
        self.last_where(leaf, fence, target, |key| self.is_up_to(key, target))
    }

    #[inline]
    fn last_where(
        &self,
        leaf: *const Node,
        fence: *const Entry,
        target: &Target,
        before: impl Fn(&Target) -> bool,
    ) -> Place {
        // SAFETY: the leaf is one of this tree that has the target in its range.
        unsafe {
            let order = (*leaf).order();
            let (end, _) = Node::search(leaf, &self.rule, order, 0, target, before);
            // A leaf holds the entry it begins with, so only the first one can have nothing before the target.
            match end.checked_sub(1) {
                Some(position) => Place {
                    leaf,
                    order,
                    position,
                    fence,
                },
                None => Place::NONE,
            }
        }
    }

    pub(crate) fn first(&self) -> Place {
        let mut leaf: *const Node = self.root.load(Ordering::Acquire);
        let mut fence = ptr::null();
        // SAFETY: every node reached is of this tree.
        unsafe {
            while (*leaf).level() > 0 {
                leaf = self.child_of(leaf, &mut fence, |_| 0);
            }
            // The first leaf alone may be empty.
            self.within_fence(Place {
                leaf,
                order: (*leaf).order(),
                position: 0,
                fence,
            })
        }
    }

    pub(crate) fn last(&self) -> Place {
        let mut leaf: *const Node = self.root.load(Ordering::Acquire);
        let mut fence = ptr::null();
        // SAFETY: every node reached is of this tree.
        unsafe {
            while (*leaf).level() > 0 {
                leaf = self.child_of(leaf, &mut fence, |order| order.live() - 1);
            }
            let order = (*leaf).order();
            match order.live().checked_sub(1) {
                Some(position) => Place {
                    leaf,
                    order,
                    position,
                    fence,
                },
                None => Place::NONE,
            }
        }
    }

    /// Asks for the entries that a walk forwards, which just went from one place to another, will meet: all of the next few where it
    /// reached another leaf, else the one that came in sight.
    ///
    /// # Safety
    /// The places are of this tree.
    #[inline]
    pub(crate) unsafe fn prefetch_ahead(&self, from: &Place, to: &Place, ahead: usize) {
        let end = (to.position + ahead + 1).min(to.order.live());
        let first = if from.leaf == to.leaf {
            to.position + ahead
        } else {
            to.position
        };
        for position in first..end {
            // SAFETY: a live position of a leaf of this tree.
            prefetch(unsafe { (*to.leaf).entry(to.order, position) }.cast());
        }
    }

    /// The same for a walk backwards.
    ///
    /// # Safety
    /// The places are of this tree.
    #[inline]
    pub(crate) unsafe fn prefetch_behind(&self, from: &Place, to: &Place, ahead: usize) {
        if to.order.live() == 0 {
            return;
        }
        let farthest = to.position.saturating_sub(ahead);
        let first = if from.leaf == to.leaf {
            farthest
        } else {
            to.position
        };
        for position in farthest..=first {
            // SAFETY: a live position of a leaf of this tree.
            prefetch(unsafe { (*to.leaf).entry(to.order, position) }.cast());
        }
    }

    // ---- inserting

    /// Adds an entry; false, and nothing is changed, if there is one of the same user key and sequence number.
    ///
    /// `near` may be anyone's, or new: it decides only how fast this is.
    #[inline]
    pub(crate) fn insert(&self, user_key: &[u8], trailer: u64, value: &[u8], near: &mut Near) -> bool {
        let mut new = New {
            // Behind every entry of the same sequence number, so that one of another kind is met as the last before it.
            target: Target {
                user_key,
                trailer: trailer & !0xff,
            },
            trailer,
            value,
            entry: ptr::null(),
        };
        if near.hot && near.tree == self.identity {
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
            leaf: self.root.load(Ordering::Acquire),
            fence: ptr::null(),
        };
        // SAFETY: as in `descend`.
        unsafe {
            while (*path.leaf).level() > 0 {
                let node = path.leaf;
                path.inner[path.len] = (node, path.fence);
                path.len += 1;
                path.leaf = self.child_of(node, &mut path.fence, |order| {
                    let (end, _) = Node::search(node, &self.rule, order, 1, target, |key| {
                        self.is_up_to(key, target)
                    });
                    end - 1
                });
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
            (high.is_null() || !self.is_up_to(&Entry::target(high), target))
                && (low.is_null() || self.is_up_to(&Entry::target(low), target))
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
                let (position, prefix) = Node::search(leaf, &self.rule, order, 0, target, |key| {
                    self.is_up_to(key, target)
                });
                if let Some(last) = position.checked_sub(1)
                    && (*leaf).prefix_at(order, last) == prefix
                    && self.is_same(&Entry::target((*leaf).entry(order, last)), target)
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
                        let (position, _) = Node::search(leaf, &self.rule, order, 0, &target, |key| {
                            self.is_up_to(key, &target)
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

    /// Makes room where a closed leaf is in the way: afterwards a new descent finds another leaf, or another thread's work. `Some(leaf)`
    /// if the new entry was added with it, in that leaf.
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
                return self
                    .link_behind(path, path.len, leaf, path.fence, next)
                    .then_some(next);
            }
            let runs = order.ascends_to(position) || order.descends_to(position);
            let half = match runs && position < SLOTS {
                true => position,
                false => SLOTS / 2,
            };
            let upper = Node::content(leaf, order, half, SLOTS);
            let upper = self.new_node(0, &upper, upper.keys[0], path.fence);
            if self.link_behind(path, path.len, leaf, path.fence, upper) {
                self.finish_split(path, path.len, leaf, order, half);
            }
            None
        }
    }

    /// Where the fence of a closed node is one of its own keys, its upper half is in another node already: the position.
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

    /// Step 2 of a split: what `node`, at `depth` of the path, has before position `half` takes its place in the parent.
    /// Without effect if the parent does not have it any more; the root has no parent, so its new one is met by the next descent.
    ///
    /// # Safety
    /// `node` is of this tree, closed under `order`, and frozen if it is an inner node. The key at `half` is the low of its new neighbour.
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

    /// Step 1 of a split: adds `next` to the parent of `node`, behind it. `node` is at `depth` of the path, `fence` bounded it.
    /// False if things have changed since the path was walked; then nothing was added.
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
        next: *const Node,
    ) -> bool {
        // SAFETY: the caller's promise; nodes on the path are of this tree.
        unsafe {
            let Some(parent_depth) = depth.checked_sub(1) else {
                let children = Content::children(&[node, next]);
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
                match (*parent).claim(order, next.cast()) {
                    Ok(()) => {
                        Node::publish(parent, &self.rule, order, behind, (*next).low);
                        return true;
                    }
                    Err(other) => {
                        let low = (*other.cast::<Node>()).low;
                        let target = Entry::target(low);
                        let (position, _) = Node::search(parent, &self.rule, order, 1, &target, |key| {
                            self.is_up_to(key, &target)
                        });
                        Node::publish(parent, &self.rule, order, position, low);
                    }
                }
            }
        }
    }

    /// Makes room in a closed inner node at `depth` of the path, or behind it; for `child`, if one is given, which belongs at its position.
    /// True if the child was added with it; otherwise a new descent finds a way.
    ///
    /// # Safety
    /// As for [`link_behind`](Self::link_behind), of the child and the node.
    #[cold]
    unsafe fn split_inner(
        &self,
        path: &Path,
        depth: usize,
        order: Order,
        child: Option<(usize, *const Node)>,
    ) -> bool {
        let (node, fence) = path.inner[depth];
        // SAFETY: the caller's promise.
        unsafe {
            if let Some(half) = self.half_split(node, order, fence) {
                (*node).freeze();
                self.finish_split(path, depth, node, order, half);
                return false;
            }
            if let Some((SLOTS, child)) = child
                && order.ascends_to(SLOTS)
            {
                let content = Content::children(&[child]);
                let next = self.new_node((*node).level(), &content, (*child).low, fence);
                return self.link_behind(path, depth, node, fence, next);
            }
            (*node).freeze();
            let half = SLOTS / 2;
            let upper = Node::content(node, order, half, SLOTS);
            let upper = self.new_node((*node).level(), &upper, upper.keys[0], fence);
            if self.link_behind(path, depth, node, fence, upper) {
                self.finish_split(path, depth, node, order, half);
            }
            false
        }
    }
}

/// An entry that is there.
#[inline]
pub(crate) fn found(entry: *const Entry) -> Option<NonNull<Entry>> {
    NonNull::new(entry.cast_mut())
}

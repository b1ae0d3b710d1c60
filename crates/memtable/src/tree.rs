//! The tree: insertions and reads from any number of threads, none of which ever waits for another.
//!
//! # The problem
//!
//! A memtable takes keys in any order and must find them, and their neighbours, while other threads write.
//! The cost of that is cache misses: a skip list of a few hundred thousand entries follows a dozen pointers
//! that are in no cache, and that is where RocksDB's random insertions spend their two microseconds. Here a
//! search reads two cache lines on each of five or six levels, and all levels but the last stay in the cache.
//!
//! # The shape
//!
//! The tree is a B+-tree. Leaves hold pointers to entries, inner nodes hold pointers to children, up to 13
//! each, sorted. Nodes hold 17 bits of each of their keys: those that follow the common prefix of all keys in
//! the node's range. A key itself is read only where these bits tie; a child's key is in the child. Entries
//! and nodes are in the arena and stay until the memtable drops; entries never change.
//!
//! # Insertion
//!
//! A node's slots are written once. To insert, a writer claims the first free slot by a compare-and-swap from
//! null, then publishes it by a compare-and-swap of the `order` word. A writer that finds a slot claimed and
//! not published does that for the other writer and continues: the order and a claimed slot determine the
//! next state for all threads, so no thread waits. Readers load the order once and have a sorted, consistent
//! node.
//!
//! # Splits
//!
//! A node without free slots is closed: its order never changes again. To make room after a closed node `n`,
//!
//! 1. a new right neighbour `b` gets a copy of `n`'s upper half, and is added to the parent under its first
//!    key, `b.low`. From then on, searches for keys from `b.low` on go to `b`; `n` still serves the keys
//!    before, and its own upper half is out of reach;
//! 2. a leaf keeps its lower half and is reopened: the parent's slot names its next generation, then its
//!    order does, and then the slots of its upper half are emptied for more entries. An inner node cannot be
//!    reopened, nor can a leaf that was reopened often or whose prefixes are too close together: a copy of
//!    the lower half takes its place in the parent's slot. A writer that wants to insert into `n` meanwhile
//!    sees that the key that bounds it is one of its own, or that it is not in the generation that the parent
//!    names, and does this step first.
//!
//! Where keys come in ascending order the copies are left out: `b` gets the new entry alone. A closed inner
//! node is frozen before it is copied: a bit in each word of a child says that it will not change, so that
//! step 2 in an old parent fails once the new one may exist. A root that is closed gets a new root above
//! itself.
//!
//! # The invariants of readers
//!
//! * A node's range begins at `low`. It ends at the `fence`: the next key in the parent, or where the child
//!   is the last, the parent's own fence. The fence is the key of an entry, and that entry is the next one
//!   after the leaf's entries. So a walk that has reached the end of a leaf, or in a closed leaf the fence,
//!   continues by a descent to the fence.
//! * A thread that reaches a node finds in it, or below it, all entries of its range that were added before
//!   the descent began. Nodes that were replaced keep their contents, and nothing was added to their range
//!   before they were replaced. A lower half has less than the node it replaced, so no thread may come to it
//!   with a fence beyond its end: the order of its parent is loaded again after the pointer to it, and if the
//!   upper half is in a neighbour of the parent, then the parent is itself a copy that ends there.
//! * A leaf that is not closed, and in the expected generation, is the current one for its range, wherever
//!   the pointer to it was found. A leaf in a later generation was reached through outdated nodes: a new
//!   descent finds another path. A leaf in the previous generation is closed, and has the entries it will be
//!   reopened with.
//! * A read of a leaf is valid if the leaf is in the same generation afterwards. Entries are permanent: a
//!   place holds its entry, and if the leaf has been reopened since, a walk continues by a descent to that
//!   entry.

use std::cmp;
use std::ptr::{self, NonNull};

use base::{InternalComparator, Result};

use crate::arena::Arena;
use crate::checks::{self, Checks};
use crate::entry::{Entry, Target};
use crate::node::{Child, Content, Fence, Node, Order, prefetch, prefetch_node};
use crate::prefix::PrefixRule;
use crate::sync::{AtomicPtr, Ordering};

pub(crate) struct Tree {
    root: AtomicPtr<u8>,
    pub(crate) rule: PrefixRule,
    pub(crate) cmp: InternalComparator,
    /// A number unique to this tree.
    identity: u64,
    pub(crate) checks: Checks,
    pub(crate) arena: Arena,
}

// SAFETY: nodes and entries are in the arena, which is `Send` and `Sync`; nodes change only through atomics,
// entries not at all.
unsafe impl Send for Tree {}
// SAFETY: the type is `Sync` for the same reason as it is `Send`.
unsafe impl Sync for Tree {}

/// The number of trees made so far.
static TREES: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

/// A position in a leaf, at the time it was reached; before the fence.
#[derive(Clone, Copy)]
pub(crate) struct LeafPosition {
    leaf: *const Node,
    order: Order,
    position: usize,
    /// The entry at the position; null after the last.
    entry: *const Entry,
    fence: Fence,
    up: Up,
}

/// A position in an inner node, and the node's fence, at the time it was passed.
#[derive(Clone, Copy)]
pub(crate) struct Up {
    /// The node, or null above the root.
    node: *const Node,
    order: Order,
    position: usize,
    fence: Fence,
}

impl LeafPosition {
    pub(crate) const NONE: LeafPosition = LeafPosition {
        leaf: ptr::null(),
        order: Order::EMPTY,
        position: 0,
        entry: ptr::null(),
        fence: Fence::NONE,
        up: Up {
            node: ptr::null(),
            order: Order::EMPTY,
            position: 0,
            fence: Fence::NONE,
        },
    };

    /// The place with the leaf's entry at a position, if it has one there; `None` if the leaf has been
    /// reopened since its order was loaded.
    ///
    /// # Safety
    /// The place is of a live tree.
    #[inline]
    unsafe fn at(self, position: usize) -> Option<LeafPosition> {
        // SAFETY: the caller ensures the conditions under `# Safety`.
        let leaf = unsafe { &*self.leaf };
        let entry = match position < self.order.live() {
            true => leaf.entry(self.order, position),
            false => ptr::null(),
        };
        leaf.is_still(self.order).then_some(LeafPosition {
            position,
            entry,
            ..self
        })
    }

    /// True if the leaf's range ends before `entry`, one of its entries: the leaf is then closed.
    ///
    /// # Safety
    /// The place is of a live tree.
    #[inline]
    unsafe fn ends_before(&self, entry: *const Entry) -> bool {
        // SAFETY: the caller ensures the conditions under `# Safety`.
        self.order.is_closed() && unsafe { self.fence.key() } == entry
    }

    /// Moves to another position of the leaf, which is live in its order. False if the leaf has been reopened
    /// since, or its range ends before that position.
    ///
    /// # Safety
    /// The place is of a live tree.
    #[inline]
    unsafe fn moved_to(&mut self, position: usize) -> bool {
        // SAFETY: the caller ensures the conditions under `# Safety`.
        let leaf = unsafe { &*self.leaf };
        let entry = leaf.entry(self.order, position);
        // SAFETY: the caller ensures the conditions under `# Safety`.
        let good = leaf.is_still(self.order) && unsafe { !self.ends_before(entry) };
        if good {
            self.position = position;
            self.entry = entry;
        }
        good
    }
}

impl Tree {
    pub(crate) fn new(cmp: InternalComparator, checks: Checks, arena: Arena) -> Tree {
        let rule = PrefixRule::new(cmp.user(), checks.width == 0);
        let tree = Tree {
            root: AtomicPtr::new(ptr::null_mut()),
            rule,
            cmp,
            identity: TREES.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1,
            checks,
            arena,
        };
        let leaf = tree.new_node(0, &Content::empty(), ptr::null(), ptr::null());
        tree.root.store(leaf.pointer(), Ordering::Relaxed);
        tree
    }

    pub(crate) fn comparator(&self) -> &InternalComparator {
        &self.cmp
    }

    #[inline]
    pub(crate) fn identity(&self) -> u64 {
        self.identity
    }

    pub(crate) fn new_node(
        &self,
        level: usize,
        content: &Content,
        low: *const Entry,
        high: *const Entry,
    ) -> Child {
        let memory = self.arena.allocate_node(size_of::<Node>()).cast::<Node>();
        // SAFETY: the piece has that size, is aligned as a node, and exclusively ours; the callers' pointers
        // lead into this tree.
        let node = unsafe { Node::write(memory.as_ptr(), &self.rule, level, content, low, high) };
        Child::new(node)
    }

    /// The place of an entry in the order, for a search that compares with it.
    ///
    /// # Safety
    /// The entry is of this tree.
    #[inline]
    pub(crate) unsafe fn target_of<'a>(&self, entry: *const Entry) -> Target<'a> {
        // SAFETY: the caller ensures the conditions under `# Safety`.
        unsafe {
            if self.checks.width > 0 && !self.checks.admits(entry) {
                return checks::SOMEWHERE;
            }
            Entry::target(entry)
        }
    }

    /// True if the entry sorts before the target.
    ///
    /// # Safety
    /// The entry is of this tree.
    #[inline]
    pub(crate) unsafe fn is_before(&self, entry: *const Entry, target: &Target) -> bool {
        // SAFETY: the caller ensures the conditions under `# Safety`.
        unsafe {
            if self.checks.width > 0 {
                return self.compare_checked(entry, target) == cmp::Ordering::Less;
            }
            Entry::target(entry).compare(target, &self.cmp) == cmp::Ordering::Less
        }
    }

    /// True if the entry sorts before the target or equals it.
    ///
    /// # Safety
    /// The entry is of this tree.
    #[inline]
    pub(crate) unsafe fn is_up_to(&self, entry: *const Entry, target: &Target) -> bool {
        // SAFETY: the caller ensures the conditions under `# Safety`.
        unsafe {
            if self.checks.width > 0 {
                return self.compare_checked(entry, target) != cmp::Ordering::Greater;
            }
            Entry::target(entry).compare(target, &self.cmp) != cmp::Ordering::Greater
        }
    }

    /// # Safety
    /// The entry is of this tree, and the tree has checksums.
    #[cold]
    #[inline(never)]
    unsafe fn compare_checked(&self, entry: *const Entry, target: &Target) -> cmp::Ordering {
        // SAFETY: the caller ensures the conditions under `# Safety`.
        unsafe { self.target_of(entry) }.compare(target, &self.cmp)
    }

    // ---- reading

    /// The leaf whose range contains the target. `strictly`: the last leaf that begins before the target.
    #[inline]
    fn descend(&self, target: &Target, strictly: bool) -> LeafPosition {
        self.descend_by(|node, order| {
            // SAFETY: the node is of this tree, and the target in its range: at or after its low, before the
            // fence, or with `strictly` after the low and at most at the fence.
            let (end, _) = unsafe {
                Node::search(node, &self.rule, order, 1, target, |entry| match strictly {
                    true => self.is_before(entry, target),
                    false => self.is_up_to(entry, target),
                })
            };
            end - 1
        })
    }

    /// The leaf that is reached by the child that `choose` returns for each inner node.
    #[inline]
    fn descend_by(&self, choose: impl Fn(*const Node, Order) -> usize) -> LeafPosition {
        loop {
            let mut place = LeafPosition::NONE;
            let mut child = self.root();
            // SAFETY: every node reached is of this tree.
            unsafe {
                loop {
                    place.leaf = child.node();
                    let level = (*place.leaf).level();
                    if level == 0 {
                        break;
                    }
                    let node = place.leaf;
                    place.up = self.pass(node, place.fence, |order| choose(node, order), &mut child);
                    place.fence = Tree::fence_behind(&place.up);
                    prefetch_node(child.node());
                }
                place.order = (*place.leaf).order();
            }
            if place.order.generation() <= child.generation() {
                return place;
            }
        }
    }

    #[inline]
    pub(crate) fn root(&self) -> Child {
        Child::loaded(self.root.load(Ordering::Acquire))
    }

    /// Makes `new` the root if `old` is the root; otherwise false.
    pub(crate) fn replace_root(&self, old: Child, new: Child) -> bool {
        self.root
            .compare_exchange(old.pointer(), new.pointer(), Ordering::Release, Ordering::Relaxed)
            .is_ok()
    }

    /// Passes through an inner node to the `child` at the position that `choose` returns.
    ///
    /// # Safety
    /// `node` is an inner node of this tree.
    #[inline]
    pub(crate) unsafe fn pass(
        &self,
        node: *const Node,
        fence: Fence,
        choose: impl Fn(Order) -> usize,
        child: &mut Child,
    ) -> Up {
        // SAFETY: the caller ensures the conditions under `# Safety`.
        let mut order = unsafe { (*node).order() };
        loop {
            let position = choose(order);
            // SAFETY: the caller ensures the conditions under `# Safety`.
            let now = unsafe {
                *child = (*node).child(order, position);
                (*node).order()
            };
            // The child may be the lower half of a node that was split since, while its upper half is not in
            // this order yet. The upper half is in the order loaded now, because it was published before. An
            // order changes only a few times.
            if now == order {
                return Up {
                    node,
                    order,
                    position,
                    fence,
                };
            }
            order = now;
        }
    }

    /// The fence of the child that was passed to.
    ///
    /// # Safety
    /// `up` was made by [`pass`](Self::pass).
    #[inline]
    pub(crate) unsafe fn fence_behind(up: &Up) -> Fence {
        if up.position + 1 < up.order.live() {
            // SAFETY: the caller ensures the conditions under `# Safety`.
            Fence::before(unsafe { (*up.node).child(up.order, up.position + 1) })
        } else {
            up.fence
        }
    }

    /// The first place in the leaf of the target whose key is not `before`, and whether its prefix there
    /// equals the target's.
    #[inline]
    fn search(
        &self,
        target: &Target,
        strictly: bool,
        before: impl Fn(*const Entry) -> bool,
    ) -> (LeafPosition, bool) {
        loop {
            let place = self.descend(target, strictly);
            // SAFETY: `descend` returns a leaf of this tree that has the target in its range.
            unsafe {
                let order = place.order;
                let (position, prefix) = Node::search(place.leaf, &self.rule, order, 0, target, &before);
                let ties = position < order.live() && (*place.leaf).word(order, position).prefix() == prefix;
                if let Some(place) = place.at(position) {
                    return (place, ties);
                }
            }
        }
    }

    /// The first entry at or after the target.
    #[inline]
    pub(crate) fn first_at_or_after(&self, target: &Target) -> LeafPosition {
        // SAFETY: a search only compares with entries of this tree.
        let (place, _) = self.search(target, false, |entry| unsafe { self.is_before(entry, target) });
        self.within_fence(place)
    }

    /// The first entry at or after the target if it has the target's user key, timestamps ignored. Cheaper
    /// than [`first_at_or_after`](Self::first_at_or_after) if it does not.
    #[inline]
    pub(crate) fn first_version(&self, target: &Target) -> LeafPosition {
        // SAFETY: a search only compares with entries of this tree.
        let (place, ties) = self.search(target, false, |entry| unsafe { self.is_before(entry, target) });
        let entry = match place.entry.is_null() {
            false if !ties => ptr::null(),
            false => place.entry,
            // SAFETY: the place is of this tree.
            true => unsafe { place.fence.key() },
        };
        // SAFETY: the entry is of this tree.
        if entry.is_null() || !unsafe { self.is_version(&self.target_of(entry), target) } {
            return LeafPosition::NONE;
        }
        self.within_fence(place)
    }

    /// The place after `place` if the entry there has the target's user key, timestamps ignored.
    ///
    /// # Safety
    /// `place` is of this tree, and at an entry of that user key.
    #[inline]
    pub(crate) unsafe fn next_version(&self, place: &LeafPosition, target: &Target) -> LeafPosition {
        // SAFETY: the caller ensures the conditions under `# Safety`.
        unsafe {
            let behind = place.position + 1;
            let word = |position| (*place.leaf).word(place.order, position);
            if behind < place.order.live()
                && word(behind).prefix() != word(place.position).prefix()
                && (*place.leaf).is_still(place.order)
            {
                return LeafPosition::NONE;
            }
            let next = self.next(place);
            let entry = self.entry(&next);
            if !entry.is_null() && self.is_version(&self.target_of(entry), target) {
                next
            } else {
                LeafPosition::NONE
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

    /// The place of an entry of this tree, which may be null for none; with `behind`, the place after it.
    #[inline]
    fn at(&self, entry: *const Entry, behind: bool) -> LeafPosition {
        if entry.is_null() {
            return LeafPosition::NONE;
        }
        // A walk that a corrupt entry guides could skip others. SAFETY: the caller passes an entry of this
        // tree.
        let target = unsafe {
            if self.checks.verify(entry).is_err() {
                checks::note(entry);
                return LeafPosition::NONE;
            }
            Entry::target(entry)
        };
        // SAFETY: a search only compares with entries of this tree.
        let (place, _) = self.search(&target, false, |entry| unsafe {
            match behind {
                true => self.is_up_to(entry, &target),
                false => self.is_before(entry, &target),
            }
        });
        match behind {
            true => self.within_fence(place),
            false => place,
        }
    }

    /// Returns the same place; or, if `self` is at or beyond the fence, the place of the fence, because a
    /// closed leaf may be outdated there.
    #[inline]
    fn within_fence(&self, place: LeafPosition) -> LeafPosition {
        // SAFETY: the place is of this tree.
        unsafe {
            if !place.entry.is_null() && !place.ends_before(place.entry) {
                place
            } else {
                self.at(place.fence.key(), false)
            }
        }
    }

    /// The entry at a place; null if there is none.
    #[inline]
    pub(crate) fn entry(&self, place: &LeafPosition) -> *const Entry {
        place.entry
    }

    /// The place after `place`.
    ///
    /// # Safety
    /// `place` is of this tree, and at an entry.
    #[inline]
    pub(crate) unsafe fn next(&self, place: &LeafPosition) -> LeafPosition {
        let mut next = *place;
        // SAFETY: the caller ensures the conditions under `# Safety`.
        unsafe { self.advance(&mut next) };
        next
    }

    /// Moves to the place after `place`; true if that is in the same leaf.
    ///
    /// # Safety
    /// `place` is of this tree, and at an entry.
    #[inline]
    pub(crate) unsafe fn advance(&self, place: &mut LeafPosition) -> bool {
        let behind = place.position + 1;
        // SAFETY: the caller ensures the conditions under `# Safety`.
        unsafe {
            let stays = behind < place.order.live() && place.moved_to(behind);
            if !stays {
                *place = self.beyond(place);
            }
            stays
        }
    }

    /// Returns the next place in the tree after `place`, if that is the last entry of its leaf or if its leaf
    /// takes insertions again.
    ///
    /// # Safety
    /// `place` is of this tree, and at an entry.
    #[inline(never)]
    unsafe fn beyond(&self, place: &LeafPosition) -> LeafPosition {
        // SAFETY: the caller ensures the conditions under `# Safety`.
        unsafe {
            if place.position + 1 < place.order.live() && !(*place.leaf).is_still(place.order) {
                return self.at(place.entry, true);
            }
            self.leaf_behind(place)
                .unwrap_or_else(|| self.at(place.fence.key(), false))
        }
    }

    /// The place before `place`.
    ///
    /// # Safety
    /// `place` is of this tree, and at an entry.
    #[inline]
    pub(crate) unsafe fn prev(&self, place: &LeafPosition) -> LeafPosition {
        let mut before = *place;
        // SAFETY: the caller ensures the conditions under `# Safety`.
        unsafe { self.retreat(&mut before) };
        before
    }

    /// Moves to the place before `place`; true if that is in the same leaf.
    ///
    /// # Safety
    /// `place` is of this tree, and at an entry.
    #[inline]
    pub(crate) unsafe fn retreat(&self, place: &mut LeafPosition) -> bool {
        // SAFETY: the caller ensures the conditions under `# Safety`.
        unsafe {
            let stays = place.position > 0 && place.moved_to(place.position - 1);
            if !stays {
                *place = self.ahead_of(place);
            }
            stays
        }
    }

    /// The place before the first one of a leaf, or before one whose leaf has been reopened.
    ///
    /// # Safety
    /// `place` is of this tree, and at an entry.
    #[inline(never)]
    unsafe fn ahead_of(&self, place: &LeafPosition) -> LeafPosition {
        // SAFETY: the caller ensures the conditions under `# Safety`.
        unsafe {
            let before = match place.position {
                0 => self.leaf_before(place),
                _ => None,
            };
            before.unwrap_or_else(|| self.last_before(&Entry::target(place.entry)))
        }
    }

    /// The first place in the leaf after that of `place`, if both leaves have the same parent, and the parent
    /// still names the leaf.
    ///
    /// # Safety
    /// `place` is of this tree.
    unsafe fn leaf_behind(&self, place: &LeafPosition) -> Option<LeafPosition> {
        let up = Up {
            position: place.up.position + 1,
            ..place.up
        };
        if up.node.is_null() || up.position >= up.order.live() {
            return None;
        }
        // SAFETY: the caller ensures the conditions under `# Safety`.
        unsafe {
            // At the parent's own fence, the upper half was in another node already, and here it may be
            // outdated.
            if up.order.is_closed() && place.fence.key() == up.fence.key() {
                return None;
            }
            let (leaf, order) = Tree::child_still_shown(&up)?;
            let behind = LeafPosition {
                leaf,
                order,
                fence: Tree::fence_behind(&up),
                up,
                ..LeafPosition::NONE
            };
            behind.at(0)
        }
    }

    /// The last place in the leaf before that of `place`, under the same condition.
    ///
    /// # Safety
    /// `place` is of this tree.
    unsafe fn leaf_before(&self, place: &LeafPosition) -> Option<LeafPosition> {
        let up = Up {
            position: place.up.position.checked_sub(1)?,
            ..place.up
        };
        // SAFETY: the caller ensures the conditions under `# Safety`.
        unsafe {
            let (leaf, order) = Tree::child_still_shown(&up)?;
            let fence = Tree::fence_behind(&up);
            let end = match order.is_closed() {
                true => (*leaf)
                    .position_of_key(order, fence.key())
                    .unwrap_or(order.live()),
                false => order.live(),
            };
            let before = LeafPosition {
                leaf,
                order,
                fence,
                up,
                ..LeafPosition::NONE
            };
            // Only the first leaf of the tree may be empty.
            before.at(end.checked_sub(1)?)
        }
    }

    /// The leaf at a position that was not passed through, and its order, unless it may have been split
    /// since: see [`pass`](Self::pass).
    ///
    /// # Safety
    /// `up` is a position that is live in an inner node of this tree, above its leaves.
    unsafe fn child_still_shown(up: &Up) -> Option<(*const Node, Order)> {
        // SAFETY: the caller ensures the conditions under `# Safety`.
        unsafe {
            let child = (*up.node).child(up.order, up.position);
            let order = (*child.node()).order();
            let shown = (*up.node).order() == up.order && order.generation() <= child.generation();
            shown.then_some((child.node(), order))
        }
    }

    /// The last entry before the target.
    pub(crate) fn last_before(&self, target: &Target) -> LeafPosition {
        // SAFETY: a search only compares with entries of this tree.
        self.last_where(target, true, |entry| unsafe { self.is_before(entry, target) })
    }

    /// The last entry at or before the target.
    pub(crate) fn last_up_to(&self, target: &Target) -> LeafPosition {
        // SAFETY: a search only compares with entries of this tree.
        self.last_where(target, false, |entry| unsafe { self.is_up_to(entry, target) })
    }

    #[inline]
    fn last_where(
        &self,
        target: &Target,
        strictly: bool,
        before: impl Fn(*const Entry) -> bool,
    ) -> LeafPosition {
        loop {
            let (place, _) = self.search(target, strictly, &before);
            // A leaf holds the entry it begins with, so only the first leaf can have nothing before the
            // target.
            let Some(position) = place.position.checked_sub(1) else {
                return LeafPosition::NONE;
            };
            // SAFETY: the place is of this tree.
            if let Some(place) = unsafe { place.at(position) } {
                return place;
            }
        }
    }

    /// `Corruption` unless the two entries before the target and the two at or after it are in order: a
    /// corrupt key is not.
    #[cold]
    pub(crate) fn check_order_around(&self, target: &Target) -> Result<()> {
        let behind = self.first_at_or_after(target);
        let before = self.last_before(target);
        // SAFETY: the places are of this tree, and at entries wherever the walk continues from them.
        unsafe {
            let places = [
                (!self.entry(&before).is_null()).then(|| self.prev(&before)),
                Some(before),
                Some(behind),
                (!self.entry(&behind).is_null()).then(|| self.next(&behind)),
            ];
            let mut last: Option<&[u8]> = None;
            for place in places.iter().flatten() {
                let Some(entry) = found(self.entry(place)) else {
                    continue;
                };
                self.checks.verify(entry.as_ptr())?;
                let key = Entry::key(entry.as_ptr());
                last.map_or(Ok(()), |last| self.check_order(last, key))?;
                last = Some(key);
            }
        }
        Ok(())
    }

    /// `Corruption` unless one internal key sorts before the other.
    pub(crate) fn check_order(&self, before: &[u8], after: &[u8]) -> Result<()> {
        if self.cmp.compare(before, after) == cmp::Ordering::Less {
            Ok(())
        } else {
            Err(checks::disorder(before, after))
        }
    }

    pub(crate) fn first(&self) -> LeafPosition {
        loop {
            // SAFETY: the place is of this tree. Only the first leaf may be empty.
            if let Some(place) = unsafe { self.descend_by(|_, _| 0).at(0) } {
                return self.within_fence(place);
            }
        }
    }

    pub(crate) fn last(&self) -> LeafPosition {
        loop {
            let place = self.descend_by(|_, order| order.live() - 1);
            let Some(position) = place.order.live().checked_sub(1) else {
                return LeafPosition::NONE;
            };
            // SAFETY: the place is of this tree.
            if let Some(place) = unsafe { place.at(position) } {
                return place;
            }
        }
    }

    /// Prefetches the entries ahead of a forward walk that has just moved: all of the next few if it came
    /// from another leaf, otherwise only the newest one in sight.
    ///
    /// # Safety
    /// The place is of this tree.
    #[inline]
    pub(crate) unsafe fn prefetch_ahead(&self, to: &LeafPosition, stayed: bool, ahead: usize) {
        let end = (to.position + ahead + 1).min(to.order.live());
        let first = match stayed {
            true => to.position + ahead,
            false => to.position,
        };
        for position in first..end {
            // SAFETY: `position` is live in a leaf of this tree.
            prefetch(unsafe { (*to.leaf).entry(to.order, position) }.cast());
        }
    }

    /// Prefetches entries as `prefetch_ahead` does, for a backward walk.
    ///
    /// # Safety
    /// The place is of this tree.
    #[inline]
    pub(crate) unsafe fn prefetch_behind(&self, to: &LeafPosition, stayed: bool, ahead: usize) {
        if to.order.live() == 0 {
            return;
        }
        let farthest = to.position.saturating_sub(ahead);
        let first = match stayed {
            true => farthest,
            false => to.position,
        };
        for position in farthest..=first {
            // SAFETY: `position` is live in a leaf of this tree.
            prefetch(unsafe { (*to.leaf).entry(to.order, position) }.cast());
        }
    }
}

#[cfg(test)]
impl LeafPosition {
    pub(crate) fn entry_for_tests(&self) -> *const Entry {
        self.entry
    }
}

#[cfg(test)]
impl Tree {
    /// The number of keys of each node: a number for a leaf, the children in brackets for an inner node; `!`
    /// after a closed one.
    pub(crate) fn shape(&self) -> String {
        // SAFETY: the root is of this tree.
        unsafe { self.shape_of(self.root().node()) }
    }

    /// # Safety
    /// `node` is of this tree.
    unsafe fn shape_of(&self, node: *const Node) -> String {
        // SAFETY: the caller ensures the conditions under `# Safety`.
        unsafe {
            let order = (*node).order();
            let closed = if order.is_closed() { "!" } else { "" };
            if (*node).level() == 0 {
                return format!("{}{closed}", order.live());
            }
            let children: Vec<String> = (0..order.live())
                .map(|position| self.shape_of((*node).child(order, position).node()))
                .collect();
            format!("[{}]{closed}", children.join(" "))
        }
    }
}

/// The entry, if it is not null.
#[inline]
pub(crate) fn found(entry: *const Entry) -> Option<NonNull<Entry>> {
    NonNull::new(entry.cast_mut())
}

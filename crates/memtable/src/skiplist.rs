//! The skip list: insertions and reads from any number of threads, none of which ever waits for another.
//!
//! # The problem
//!
//! A search in a skip list of a few hundred thousand entries looks at dozens of nodes, and nearly each is a cache miss: that is where
//! RocksDB's random insertions spend their two microseconds. So each link carries, beside the pointer to the next node, eight bytes
//! that stand for that node's key. Whether to go right or down is decided by the link alone; a node is touched only when the search
//! moves to it, and a key is read only when those eight bytes tie.
//!
//! # Invariants
//!
//! 1. Nodes are never removed, and their keys and values never change. Per level, the list is sorted strictly by (user key, seqno descending).
//! 2. A link's `next` only ever moves to smaller keys: it changes when a node is put in between, by compare-and-swap.
//! 3. A link's `prefix` is at least the prefix of its `next`, and only ever falls. It is lowered after `next` was swung,
//!    so for a moment it may be that of an older, greater next; once the insertion is done it is exact.
//!
//! Readers load `prefix` before `next`. If `prefix` is less than the target's, so is the node in `next` (by 3 and 2), and moving right is
//! sound. If it is greater, the node in `next` may in truth be less than the target, but only while its insertion is under way; going
//! down then misses nothing that was there before the search began. Whoever needs certainty (a cursor that must not stand before its target, an insertion
//! about to link) looks at the node's key itself.
//!
//! # Splices
//!
//! A [`Splice`] remembers, for each level, the neighbours of the place last searched for. Nodes never go away, so a splice never dangles, it only
//! ceases to be tight. The next search climbs from level 0 until the remembered neighbours enclose its target and goes
//! down from there: for keys that come in order, in either direction, that is O(1).

use std::cmp::Ordering as Order;
use std::ptr::{self, NonNull};
use std::slice;

use base::InternalComparator;
use base::internal_key::{TRAILER_LEN, trailer, user_key};

use crate::arena::Arena;
use crate::prefix::PrefixRule;
use crate::sync::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// Levels of the tallest towers. With one node in two going up a level, that is enough for ten million entries.
pub(crate) const MAX_HEIGHT: usize = if cfg!(loom) { 3 } else { 24 };

/// The way to the next node of a level.
#[repr(C)]
struct Link {
    next: AtomicPtr<Node>,
    /// See invariant 3. `u64::MAX` where there is no next.
    prefix: AtomicU64,
}

/// What a link points to. Below it in memory lie its links, level 0 the nearest; behind it lies its internal key.
#[repr(C)]
pub(crate) struct Node {
    value: NonNull<u8>,
    value_len: u32,
    key_len: u32,
}

impl Node {
    /// # Safety
    /// `node` is a node of a live list, of a height above `level`.
    #[inline]
    unsafe fn link<'a>(node: *const Node, level: usize) -> &'a Link {
        // SAFETY: `SkipList::allocate` put `height` links right below the node.
        unsafe { &*node.cast::<Link>().sub(level + 1) }
    }

    /// # Safety
    /// `node` is a node of a list that lives for `'a`, and not its head.
    #[inline]
    pub(crate) unsafe fn key<'a>(node: *const Node) -> &'a [u8] {
        // SAFETY: `SkipList::allocate` put `key_len` bytes right behind the node, and they are never written again.
        unsafe { slice::from_raw_parts(node.add(1).cast(), (*node).key_len as usize) }
    }

    /// # Safety
    /// As for [`key`](Self::key).
    #[inline]
    pub(crate) unsafe fn value<'a>(node: *const Node) -> &'a [u8] {
        // SAFETY: written before the node was linked, never again, and as long-lived as the node.
        unsafe { slice::from_raw_parts((*node).value.as_ptr(), (*node).value_len as usize) }
    }
}

/// A place in the order of the list.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) user_key: &'a [u8],
    pub(crate) trailer: u64,
    prefix: u64,
}

/// The neighbours of a place: see the module's head. Of one list, which must outlive its use.
pub(crate) struct Splice {
    /// The list it belongs to; 0 for none.
    list: u64,
    levels: [Neighbours; MAX_HEIGHT],
}

#[derive(Clone, Copy)]
struct Neighbours {
    prev: *const Node,
    /// At least the prefix of `prev`.
    prev_prefix: u64,
    next: *const Node,
    /// At least the prefix of `next`.
    next_prefix: u64,
}

impl Splice {
    pub(crate) const fn new() -> Splice {
        let none = Neighbours {
            prev: ptr::null(),
            prev_prefix: 0,
            next: ptr::null(),
            next_prefix: u64::MAX,
        };
        Splice {
            list: 0,
            levels: [none; MAX_HEIGHT],
        }
    }
}

/// Lists that were ever made, so that no two have the same identity.
static LISTS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

pub(crate) struct SkipList {
    head: NonNull<Node>,
    /// Levels that have nodes; at least 1.
    height: AtomicUsize,
    rule: PrefixRule,
    cmp: InternalComparator,
    identity: u64,
    pub(crate) arena: Arena,
}

// SAFETY: nodes lie in the arena, which is `Send` and `Sync`, and are shared through atomics; what is not atomic in them is never
// written after they are linked.
unsafe impl Send for SkipList {}
// SAFETY: as above.
unsafe impl Sync for SkipList {}

impl SkipList {
    pub(crate) fn new(cmp: InternalComparator, arena: Arena, rule: PrefixRule) -> SkipList {
        let head = allocate(&arena, MAX_HEIGHT, &[], 0, &[]);
        SkipList {
            head,
            height: AtomicUsize::new(1),
            rule,
            cmp,
            identity: LISTS.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1,
            arena,
        }
    }

    pub(crate) fn comparator(&self) -> &InternalComparator {
        &self.cmp
    }

    pub(crate) fn rule(&self) -> &PrefixRule {
        &self.rule
    }

    /// A number no other list has.
    #[inline]
    pub(crate) fn identity(&self) -> u64 {
        self.identity
    }

    #[inline]
    fn head(&self) -> *const Node {
        self.head.as_ptr()
    }

    #[inline]
    pub(crate) fn target<'a>(&self, user_key: &'a [u8], trailer: u64) -> Target<'a> {
        Target {
            user_key,
            trailer,
            prefix: self.rule.prefix(user_key),
        }
    }

    /// The order of a node's key and the target.
    ///
    /// # Safety
    /// `node` is a node of this list, and not its head.
    #[inline]
    unsafe fn compare(&self, node: *const Node, target: &Target) -> Order {
        // SAFETY: the caller's promise.
        let key = unsafe { Node::key(node) };
        self.cmp
            .user()
            .compare(user_key(key), target.user_key)
            .then_with(|| target.trailer.cmp(&trailer(key)))
    }

    /// True if the node has exactly the target's key.
    ///
    /// # Safety
    /// `node` is a node of this list, and not its head.
    pub(crate) unsafe fn is_at(&self, node: *const Node, target: &Target) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.compare(node, target) == Order::Equal }
    }

    // ---- reading

    /// The first node at or after `target`; null if there is none.
    pub(crate) fn first_at_or_after(&self, target: &Target) -> *const Node {
        let (mut node, tie) = self.last_before(target);
        if !tie.is_null() {
            return tie;
        }
        // SAFETY: `node` is the head or a node of this list, and has a level 0.
        unsafe {
            loop {
                let next = Node::link(node, 0).next.load(Ordering::Acquire).cast_const();
                // An insertion under way may have put a lesser one there.
                if next.is_null() || self.compare(next, target) != Order::Less {
                    return next;
                }
                node = next;
            }
        }
    }

    /// The last node before `target`, the head if there is none; and the node behind it if that has the same prefix, else null.
    #[inline]
    fn last_before(&self, target: &Target) -> (*const Node, *const Node) {
        let mut node = self.head();
        let mut level = self.height.load(Ordering::Relaxed) - 1;
        // Compared, and found at or after the target.
        let mut beyond = ptr::null();
        loop {
            let mut tie = ptr::null();
            // SAFETY: `node` was reached at `level` or above, so it has that link; what links point to lives as long as the list.
            unsafe {
                let link = Node::link(node, level);
                let prefix = link.prefix.load(Ordering::Acquire);
                if prefix <= target.prefix {
                    let next = link.next.load(Ordering::Acquire).cast_const();
                    if prefix < target.prefix {
                        node = next;
                        continue;
                    }
                    if next != beyond && !next.is_null() {
                        if self.compare(next, target) == Order::Less {
                            node = next;
                            continue;
                        }
                        beyond = next;
                    }
                    tie = next;
                }
            }
            if level == 0 {
                return (node, tie);
            }
            level -= 1;
        }
    }

    /// The first node at or after `target` if it has the target's user key, timestamps left out of account; else null.
    /// Touches no node but those with the target's prefix, and those it passes through.
    #[inline]
    pub(crate) fn first_version(&self, target: &Target) -> *const Node {
        let (_, tie) = self.last_before(target);
        // An entry of this user key whose insertion is done has this prefix, and so has the link to what precedes it.
        // SAFETY: `tie` is a node of this list where it is not null.
        if !tie.is_null() && unsafe { self.is_version(tie, target) } {
            tie
        } else {
            ptr::null()
        }
    }

    /// # Safety
    /// `node` is a node of this list, and not its head.
    #[inline]
    unsafe fn is_version(&self, node: *const Node, target: &Target) -> bool {
        // SAFETY: the caller's promise.
        let key = user_key(unsafe { Node::key(node) });
        self.cmp.user().compare_without_timestamp(key, target.user_key) == Order::Equal
    }

    /// The node after `node` if it has the target's user key, timestamps left out of account; else null.
    ///
    /// # Safety
    /// `node` is a node of this list, and has that user key itself.
    #[inline]
    pub(crate) unsafe fn next_version(&self, node: *const Node, target: &Target) -> *const Node {
        // SAFETY: the caller's promise.
        unsafe {
            let link = Node::link(node, 0);
            if link.prefix.load(Ordering::Acquire) > target.prefix {
                return ptr::null();
            }
            let next = link.next.load(Ordering::Acquire).cast_const();
            if !next.is_null() && self.is_version(next, target) {
                next
            } else {
                ptr::null()
            }
        }
    }

    pub(crate) fn first(&self) -> *const Node {
        // SAFETY: the head has a level 0.
        unsafe { Node::link(self.head(), 0) }.next.load(Ordering::Acquire)
    }

    /// Null if there is none.
    ///
    /// # Safety
    /// `node` is a node of this list.
    #[inline]
    pub(crate) unsafe fn next(&self, node: *const Node) -> *const Node {
        // SAFETY: the caller's promise.
        let next = unsafe { Node::link(node, 0) }.next.load(Ordering::Acquire);
        prefetch(next);
        next
    }

    /// The last node; null if there is none.
    pub(crate) fn last(&self) -> *const Node {
        let mut node = self.head();
        let mut level = self.height.load(Ordering::Relaxed) - 1;
        loop {
            // SAFETY: as in `last_before`.
            let next = unsafe { Node::link(node, level) }.next.load(Ordering::Acquire);
            if !next.is_null() {
                node = next;
            } else if level > 0 {
                level -= 1;
            } else {
                return self.or_null(node);
            }
        }
    }

    /// The last node before `target`, and null if there is none. Fast if `splice` was last used near by.
    pub(crate) fn last_before_near(&self, target: &Target, splice: &mut Splice) -> *const Node {
        self.seek_splice(target, splice);
        self.or_null(splice.levels[0].prev)
    }

    fn or_null(&self, node: *const Node) -> *const Node {
        if node == self.head() { ptr::null() } else { node }
    }

    // ---- inserting

    /// Makes `splice` enclose `target` on every level.
    #[inline]
    fn seek_splice(&self, target: &Target, splice: &mut Splice) {
        if splice.list != self.identity {
            self.reset_splice(splice);
        }
        let height = self.height.load(Ordering::Relaxed);
        let mut level = 0;
        // SAFETY: the splice is this list's.
        while level < height && !unsafe { self.encloses(&splice.levels[level], target) } {
            level += 1;
        }
        let (mut node, mut node_prefix) = match level {
            _ if level < height => (splice.levels[level].prev, splice.levels[level].prev_prefix),
            _ => {
                level = height - 1;
                (self.head(), 0)
            }
        };
        let mut beyond = ptr::null();
        loop {
            // SAFETY: `node` is the head, or was reached at `level` or above, now or when the splice was filled.
            unsafe {
                let link = Node::link(node, level);
                let prefix = link.prefix.load(Ordering::Acquire);
                let next = link.next.load(Ordering::Acquire).cast_const();
                if prefix < target.prefix {
                    (node, node_prefix) = (next, prefix);
                    continue;
                }
                if prefix == target.prefix && next != beyond && !next.is_null() {
                    if self.compare(next, target) == Order::Less {
                        (node, node_prefix) = (next, prefix);
                        continue;
                    }
                    beyond = next;
                }
                splice.levels[level] = Neighbours {
                    prev: node,
                    prev_prefix: node_prefix,
                    next,
                    next_prefix: prefix,
                };
            }
            if level == 0 {
                return;
            }
            level -= 1;
        }
    }

    #[cold]
    fn reset_splice(&self, splice: &mut Splice) {
        splice.list = self.identity;
        splice.levels.fill(Neighbours {
            prev: self.head(),
            prev_prefix: 0,
            next: ptr::null(),
            next_prefix: u64::MAX,
        });
    }

    /// True if `target` lies behind `prev`, and as far as can be told not behind `next`.
    ///
    /// # Safety
    /// The neighbours are of this list.
    #[inline]
    unsafe fn encloses(&self, near: &Neighbours, target: &Target) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            let behind_prev = near.prev_prefix < target.prefix
                || near.prev == self.head()
                || (near.prev_prefix == target.prefix && self.compare(near.prev, target) == Order::Less);
            behind_prev
                && (near.next_prefix > target.prefix
                    || near.next.is_null()
                    || (near.next_prefix == target.prefix && self.compare(near.next, target) != Order::Less))
        }
    }

    /// Puts an entry into the list; false, and nothing is changed, if it has one of the same user key and sequence number.
    ///
    /// `splice` may be anyone's of this list, or a new one: it decides only how fast this is.
    #[inline]
    pub(crate) fn insert(
        &self,
        user_key: &[u8],
        entry_trailer: u64,
        value: &[u8],
        height: usize,
        splice: &mut Splice,
    ) -> bool {
        // Before every entry of the same sequence number, so that one of another kind is met as the next.
        let target = self.target(user_key, entry_trailer | 0xff);
        self.seek_splice(&target, splice);
        prefetch(splice.levels[0].next);

        if height > self.height.load(Ordering::Relaxed) {
            // Readers that do not see this yet start lower, and miss nothing but speed.
            self.height.fetch_max(height, Ordering::Relaxed);
        }
        let node = allocate(&self.arena, height, user_key, entry_trailer, value);
        for level in 0..height {
            let near = &mut splice.levels[level];
            // SAFETY: the splice is of this list, and reached `prev` at this level.
            let linked = unsafe { self.link(node, level, &target, near) };
            if !linked {
                // Only level 0 finds the same entry, before anything is linked: what was allocated is lost until the arena drops.
                return false;
            }
        }
        true
    }

    /// Links `node` into `level` behind `near.prev`, or behind what came in between since. False if that has the same entry.
    ///
    /// # Safety
    /// `node` is not linked into this level. `near.prev` is a node of this list, has that level, and is before the target.
    #[inline]
    unsafe fn link(&self, node: NonNull<Node>, level: usize, target: &Target, near: &mut Neighbours) -> bool {
        // SAFETY: the caller's promise; everything a link points to is a node of this list, of a height above the link's level.
        unsafe {
            let own = Node::link(node.as_ptr(), level);
            loop {
                let next = near.next;
                let mut next_prefix = u64::MAX;
                if !next.is_null() {
                    let key = Node::key(next);
                    next_prefix = self.rule.prefix(base::internal_key::user_key(key));
                    if next_prefix <= target.prefix && self.compare(next, target) == Order::Less {
                        // It came in between, or the link's prefix said too much: go on behind it.
                        near.prev = next;
                        near.prev_prefix = next_prefix;
                        near.next = Node::link(next, level).next.load(Ordering::Acquire);
                        continue;
                    }
                    if level == 0 && next_prefix == target.prefix && self.is_same_entry(key, target) {
                        return false;
                    }
                }
                own.next.store(next.cast_mut(), Ordering::Relaxed);
                own.prefix.store(next_prefix, Ordering::Relaxed);
                let link = Node::link(near.prev, level);
                match link.next.compare_exchange(
                    next.cast_mut(),
                    node.as_ptr(),
                    Ordering::Release,
                    Ordering::Acquire,
                ) {
                    Ok(_) => {
                        if link.prefix.load(Ordering::Relaxed) > target.prefix {
                            link.prefix.fetch_min(target.prefix, Ordering::Release);
                        }
                        near.prev = node.as_ptr();
                        near.prev_prefix = target.prefix;
                        near.next_prefix = next_prefix;
                        return true;
                    }
                    Err(now) => near.next = now,
                }
            }
        }
    }

    fn is_same_entry(&self, key: &[u8], target: &Target) -> bool {
        trailer(key) >> 8 == target.trailer >> 8
            && self.cmp.user().compare(user_key(key), target.user_key) == Order::Equal
    }
}

/// A node of `height` that is linked nowhere yet.
///
/// # Panics
/// If key or value have 4 GiB or more, which no write batch can hold.
#[inline]
fn allocate(
    arena: &Arena,
    height: usize,
    user_key: &[u8],
    entry_trailer: u64,
    value: &[u8],
) -> NonNull<Node> {
    let key_len = user_key.len() + TRAILER_LEN;
    let node_key_len = u32::try_from(key_len).expect("a key shorter than 4 GiB");
    let value_len = u32::try_from(value.len()).expect("a value shorter than 4 GiB");
    let links = height * size_of::<Link>();
    let block = arena.allocate_node(links + size_of::<Node>() + key_len);
    let value_bytes = if value.is_empty() {
        NonNull::dangling()
    } else {
        arena.allocate_value(value.len())
    };
    // SAFETY: the block is ours alone until it is linked, has room for links, node and key, and is aligned for all of them, for
    // `size_of::<Link>()` is a multiple of the alignment of `Node`.
    unsafe {
        let node = block.add(links).cast::<Node>();
        for level in 0..height {
            node.cast::<Link>().sub(level + 1).write(Link {
                next: AtomicPtr::new(ptr::null_mut()),
                prefix: AtomicU64::new(u64::MAX),
            });
        }
        node.write(Node {
            value: value_bytes,
            value_len,
            key_len: node_key_len,
        });
        let key = node.add(1).cast::<u8>();
        ptr::copy_nonoverlapping(user_key.as_ptr(), key.as_ptr(), user_key.len());
        ptr::copy_nonoverlapping(
            entry_trailer.to_le_bytes().as_ptr(),
            key.add(user_key.len()).as_ptr(),
            TRAILER_LEN,
        );
        ptr::copy_nonoverlapping(value.as_ptr(), value_bytes.as_ptr(), value.len());
        node
    }
}

/// Asks for the line of a node ahead of its use.
#[inline]
fn prefetch(node: *const Node) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address is a hint without effect on what the program does.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(node.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = node;
}

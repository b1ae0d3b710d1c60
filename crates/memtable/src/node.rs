//! Nodes of the tree: slots that are each written once, and one word that says in which order they count.
//!
//! ```text
//! order  63  60 59 56                    7  4 3  0
//!        |  - | 12th |  ...  | 1st | 0th |  - | live |     slot numbers by position, and how many
//! ```
//!
//! A node takes something in by writing it to the first slot that is free, `live`, and then publishing that slot
//! with one compare-and-swap of the order. What readers load with the order is therefore a sorted and consistent
//! state, for ever. When all slots are taken the node is closed, and its order never changes again.

use std::ptr;

use crate::entry::{Entry, Target};
use crate::prefix::PrefixRule;
use crate::sync::{AtomicPtr, AtomicU64, Ordering, settled};

/// Slots of a node: as many as have their prefixes in one cache line with the order.
pub(crate) const SLOTS: usize = if cfg!(loom) { 4 } else { 13 };

/// The order word of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Order(u64);

const FIRST_POSITION: usize = 8;
const LIVE: u64 = 0xf;

impl Order {
    /// Nothing.
    pub(crate) const EMPTY: Order = Order(0);

    /// The first `live` slots, one after the other.
    pub(crate) fn ascending(live: usize) -> Order {
        Order((0xc_ba98_7654_3210 << FIRST_POSITION) | live as u64)
    }

    #[inline]
    pub(crate) fn live(self) -> usize {
        (self.0 & LIVE) as usize
    }

    #[inline]
    pub(crate) fn is_closed(self) -> bool {
        self.live() == SLOTS
    }

    /// The slot at a position.
    #[inline]
    pub(crate) fn slot(self, position: usize) -> usize {
        ((self.0 >> (FIRST_POSITION + 4 * position)) & 0xf) as usize
    }

    /// With the first free slot at `position`, before those that were there and behind.
    #[inline]
    fn with_next_at(self, position: usize) -> Order {
        let shift = FIRST_POSITION + 4 * position;
        let before = self.0 & ((1 << shift) - 1);
        let behind = self.0 >> shift << shift;
        Order((before | behind << 4 | (self.live() as u64) << shift) + 1)
    }

    /// True if what came last, came in ascending order and ends just before `position`.
    pub(crate) fn ascends_to(self, position: usize) -> bool {
        let live = self.live();
        position >= RUN && (1..=RUN).all(|back| self.slot(position - back) == live - back)
    }

    /// True if what came last, came in descending order and ends at `position`.
    pub(crate) fn descends_to(self, position: usize) -> bool {
        let live = self.live();
        position + RUN <= live && (1..=RUN).all(|back| self.slot(position + back - 1) == live - back)
    }
}

/// Keys in a row that make a sequence.
const RUN: usize = 3;

/// A leaf, or the first part of an inner node. On x86-64 three cache lines; a search reads the first, then one word
/// of another.
#[repr(C, align(64))]
pub(crate) struct Node {
    order: AtomicU64,
    /// `skip` in the low 24 bits, then `CHECKED`, then the level: 0 for leaves.
    meta: u32,
    /// By slot: of the entry's key, or of the child's `low`.
    prefixes: [settled::AtomicU32; SLOTS],
    /// By slot: entries of a leaf, children of an inner node.
    slots: [AtomicPtr<u8>; SLOTS],
    /// What the first `skip` bytes of the node's keys are compared with, if `CHECKED`.
    reference: *const Entry,
    /// The node's first key, null for the first node of its level. A leaf holds the entry, an inner node a child
    /// that begins with it.
    pub(crate) low: *const Entry,
    /// The first key behind the node as of when it was made, null for the last of its level. Only a closed node may
    /// since have been given a nearer neighbour.
    pub(crate) high: *const Entry,
}

/// An inner node.
#[repr(C)]
struct Inner {
    node: Node,
    /// By slot: the child's `low`. That of the node's first child is not looked at in a search.
    lows: [settled::AtomicPtr<Entry>; SLOTS],
}

const MAX_SKIP: u32 = (1 << 24) - 1;
/// Some keys in the node's range may not begin with the bytes that are skipped.
const CHECKED: u32 = 1 << 24;
const LEVEL_SHIFT: u32 = 25;

/// Lowest bit of a pointer to a child: the pointer will not change any more.
const FROZEN: usize = 1;

fn untagged(child: *mut u8) -> *const Node {
    child.map_addr(|address| address & !FROZEN).cast()
}

/// What a new node begins with: keys and what they lead to, ascending.
pub(crate) struct Content {
    pub(crate) keys: [*const Entry; SLOTS],
    /// The children of an inner node.
    children: [*const Node; SLOTS],
    len: usize,
    /// The node it is copied from, null if it is new, and its prefixes of the keys.
    source: *const Node,
    prefixes: [u32; SLOTS],
}

/// Prefixes this far apart leave room for more between them.
const SPREAD: u32 = 1 << 12;

impl Content {
    pub(crate) fn empty() -> Content {
        Content {
            keys: [ptr::null(); SLOTS],
            children: [ptr::null(); SLOTS],
            len: 0,
            source: ptr::null(),
            prefixes: [0; SLOTS],
        }
    }

    pub(crate) fn entry(entry: *const Entry) -> Content {
        let mut content = Content::empty();
        content.keys[0] = entry;
        content.len = 1;
        content
    }

    /// Of children, each under its own `low`.
    ///
    /// # Safety
    /// They are nodes of a live tree.
    pub(crate) unsafe fn children(children: &[*const Node]) -> Content {
        let mut content = Content::empty();
        for &child in children {
            // SAFETY: the caller's promise.
            content.keys[content.len] = unsafe { (*child).low };
            content.children[content.len] = child;
            content.len += 1;
        }
        content
    }

    /// True if the prefixes of the source tell the keys from `first` on apart, so that the copy need not look at
    /// the keys themselves, which are in no cache.
    fn prefixes_serve(&self, first: usize) -> bool {
        let prefixes = &self.prefixes[first.min(self.len)..self.len];
        !self.source.is_null()
            && prefixes.is_sorted_by(|a, b| a < b)
            && prefixes
                .last()
                .zip(prefixes.first())
                .is_some_and(|(last, first)| last - first >= SPREAD)
    }
}

impl Node {
    /// Bytes that a node of `level` takes in the arena.
    pub(crate) fn size(level: usize) -> usize {
        match level {
            0 => size_of::<Node>(),
            _ => size_of::<Inner>(),
        }
    }

    /// Makes a node out of a piece of memory.
    ///
    /// # Safety
    /// `memory` is [`size(level)`](Self::size) bytes long, aligned for a node, and the caller's alone. The pointers
    /// in `content`, `low` and `high` lead to entries and nodes of the tree it is for.
    pub(crate) unsafe fn write(
        memory: *mut u8,
        rule: &PrefixRule,
        level: usize,
        content: &Content,
        low: *const Entry,
        high: *const Entry,
    ) -> *const Node {
        // An inner node's first key may be null, and is not searched for.
        let first = usize::from(level > 0);
        let keys = &content.keys[..content.len];
        let inherits = content.prefixes_serve(first);
        let (skip, reference) = match inherits {
            // SAFETY: the source is a node of the tree, and the new node's range is a part of its range.
            true => unsafe {
                (
                    (*content.source).meta & (CHECKED | MAX_SKIP),
                    (*content.source).reference,
                )
            },
            // SAFETY: the caller's promise.
            false => unsafe { Node::choose_skip(rule, keys.get(first..).unwrap_or_default(), low, high) },
        };
        let mut node = Node {
            order: AtomicU64::new(Order::ascending(content.len).0),
            meta: skip | (level as u32) << LEVEL_SHIFT,
            prefixes: content.prefixes.map(settled::AtomicU32::new),
            slots: std::array::from_fn(|slot| {
                AtomicPtr::new(match level {
                    0 => content.keys[slot].cast_mut().cast(),
                    _ => content.children[slot].cast_mut().cast(),
                })
            }),
            reference,
            low,
            high,
        };
        if !inherits {
            for (slot, &entry) in keys.iter().enumerate().skip(first) {
                // SAFETY: the caller's promise.
                node.prefixes[slot] =
                    settled::AtomicU32::new(unsafe { node.prefix(rule, Entry::target(entry).user_key) });
            }
        }
        // SAFETY: the caller's promise.
        unsafe {
            if level == 0 {
                memory.cast::<Node>().write(node);
            } else {
                memory.cast::<Inner>().write(Inner {
                    node,
                    lows: std::array::from_fn(|slot| settled::AtomicPtr::new(content.keys[slot].cast_mut())),
                });
            }
        }
        memory.cast::<Node>()
    }

    /// How many bytes a new node of these keys skips, and if that has to be checked, what against.
    ///
    /// # Safety
    /// As for [`write`](Self::write).
    unsafe fn choose_skip(
        rule: &PrefixRule,
        keys: &[*const Entry],
        low: *const Entry,
        high: *const Entry,
    ) -> (u32, *const Entry) {
        // SAFETY: the caller's promise.
        let common = |a, b| unsafe {
            rule.common_len(Entry::target(a).user_key, Entry::target(b).user_key)
                .min(MAX_SKIP as usize) as u32
        };
        if !low.is_null() && !high.is_null() {
            return (common(low, high), ptr::null());
        }
        match keys {
            &[first, .., last] if common(first, last) > 0 => (common(first, last) | CHECKED, first),
            _ => (0, ptr::null()),
        }
    }

    #[inline]
    pub(crate) fn level(&self) -> usize {
        (self.meta >> LEVEL_SHIFT) as usize
    }

    #[inline]
    pub(crate) fn order(&self) -> Order {
        Order(self.order.load(Ordering::Acquire))
    }

    /// The prefix that stands for a key here.
    ///
    /// # Safety
    /// The node is of a live tree, and the key is in its range (or of an order nothing is known of).
    #[inline]
    unsafe fn prefix(&self, rule: &PrefixRule, user_key: &[u8]) -> u32 {
        let skip = (self.meta & MAX_SKIP) as usize;
        if self.meta & CHECKED == 0 {
            return rule.prefix(user_key, skip);
        }
        // SAFETY: the reference is an entry of the tree if `CHECKED` is set.
        let reference = unsafe { Entry::target(self.reference) };
        rule.prefix_checked(user_key, skip, reference.user_key)
    }

    #[inline]
    pub(crate) fn prefix_at(&self, order: Order, position: usize) -> u32 {
        self.prefixes[order.slot(position)].load(Ordering::Relaxed)
    }

    /// The entry at a position of a leaf that is live in `order`.
    #[inline]
    pub(crate) fn entry(&self, order: Order, position: usize) -> *const Entry {
        // Relaxed, for the slot was written before the order that has it, and never again.
        self.slots[order.slot(position)].load(Ordering::Relaxed).cast()
    }

    /// The child at a position of an inner node that is live in `order`.
    #[inline]
    pub(crate) fn child(&self, order: Order, position: usize) -> *const Node {
        // Acquire, for a child may have been replaced since the order was loaded.
        untagged(self.slots[order.slot(position)].load(Ordering::Acquire))
    }

    /// The first key of the child at a position.
    ///
    /// # Safety
    /// The node is an inner node of a live tree.
    #[inline]
    pub(crate) unsafe fn child_low(node: *const Node, order: Order, position: usize) -> *const Entry {
        // SAFETY: inner nodes are written as `Inner`, of which the node is the first part.
        let inner = unsafe { &*node.cast::<Inner>() };
        inner.lows[order.slot(position)].load(Ordering::Relaxed)
    }

    /// The key at a position, whatever the node is.
    ///
    /// # Safety
    /// The node is of a live tree, and the position is live in `order`.
    #[inline]
    unsafe fn key_at(node: *const Node, order: Order, position: usize) -> *const Entry {
        // SAFETY: the caller's promise.
        unsafe {
            match (*node).level() {
                0 => (*node).entry(order, position),
                _ => Node::child_low(node, order, position),
            }
        }
    }

    /// The position where `key` itself, that very entry, stands as a key.
    ///
    /// # Safety
    /// The node is of a live tree, and `order` is an order of it.
    pub(crate) unsafe fn position_of_key(
        node: *const Node,
        order: Order,
        key: *const Entry,
    ) -> Option<usize> {
        // SAFETY: the caller's promise.
        (0..order.live()).find(|&position| unsafe { Node::key_at(node, order, position) } == key)
    }

    /// The position of a child.
    pub(crate) fn position_of_child(&self, order: Order, child: *const Node) -> Option<usize> {
        (0..order.live()).find(|&position| self.child(order, position) == child)
    }

    /// Adds an entry to a leaf, or a child to an inner node, at `position` of `order`. On `Err` someone else took
    /// the slot first; [`publish`](Self::publish) what they brought and start again from the new order.
    pub(crate) fn claim(&self, order: Order, what: *const u8) -> Result<(), *const u8> {
        self.slots[order.live()]
            .compare_exchange(
                ptr::null_mut(),
                what.cast_mut(),
                Ordering::Release,
                Ordering::Acquire,
            )
            .map(drop)
            // Since `order` was loaded the node may have been closed and frozen.
            .map_err(|other| untagged(other).cast())
    }

    /// Makes what was claimed under `order` live at `position`; `key` is its first key. Anyone may do it, and more
    /// than once.
    ///
    /// # Safety
    /// The node is of a live tree; `order` was its order when the slot was claimed; the key is of the entry or
    /// child that claimed it, and the position is where it belongs in that order.
    pub(crate) unsafe fn publish(
        node: *const Node,
        rule: &PrefixRule,
        order: Order,
        position: usize,
        key: *const Entry,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            let slot = order.live();
            let prefix = (*node).prefix(rule, Entry::target(key).user_key);
            (*node).prefixes[slot].store(prefix, Ordering::Relaxed);
            if (*node).level() > 0 {
                (*node.cast::<Inner>()).lows[slot].store(key.cast_mut(), Ordering::Relaxed);
            }
            // From `order` only this one slot can be published, so if another order is there, someone did just that.
            let _ = (*node).order.compare_exchange(
                order.0,
                order.with_next_at(position).0,
                Ordering::Release,
                Ordering::Relaxed,
            );
        }
    }

    /// Puts `new` in the place of the child `old` at a position of `order`; false if it is not there any more, or
    /// frozen.
    pub(crate) fn replace_child(
        &self,
        order: Order,
        position: usize,
        old: *const Node,
        new: *const Node,
    ) -> bool {
        self.slots[order.slot(position)]
            .compare_exchange(
                old.cast_mut().cast(),
                new.cast_mut().cast(),
                Ordering::Release,
                Ordering::Relaxed,
            )
            .is_ok()
    }

    /// Makes the children of a closed inner node final, so that it can be copied.
    pub(crate) fn freeze(&self) {
        for slot in &self.slots {
            let mut child = slot.load(Ordering::Relaxed);
            while child.addr() & FROZEN == 0 {
                let frozen = child.map_addr(|address| address | FROZEN);
                match slot.compare_exchange(child, frozen, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(_) => break,
                    Err(now) => child = now,
                }
            }
        }
    }

    /// What stands at the positions from `first` up to `end`, exclusive.
    ///
    /// # Safety
    /// The node is of a live tree, and the positions are live in `order`.
    pub(crate) unsafe fn content(node: *const Node, order: Order, first: usize, end: usize) -> Content {
        let mut content = Content::empty();
        content.source = node;
        for position in first..end {
            // SAFETY: the caller's promise.
            unsafe {
                content.keys[content.len] = Node::key_at(node, order, position);
                content.prefixes[content.len] = (*node).prefix_at(order, position);
                if (*node).level() > 0 {
                    content.children[content.len] = (*node).child(order, position);
                }
            }
            content.len += 1;
        }
        content
    }

    /// The first position, from `first` on, whose prefix is not less than `prefix`.
    #[inline]
    fn lower_bound(&self, order: Order, first: usize, prefix: u32) -> usize {
        let mut low = first;
        let mut len = order.live() - first;
        while len > 0 {
            let half = len / 2;
            let less = self.prefix_at(order, low + half) < prefix;
            low = if less { low + half + 1 } else { low };
            len = if less { len - half - 1 } else { half };
        }
        low
    }

    /// The first position, from `first` on, whose key is not `before`, and the target's prefix in this node. Keys
    /// are looked at only where their prefix is the target's.
    ///
    /// # Safety
    /// The node is of a live tree, the target is in its range, and `first` is at most what is live in `order`.
    #[inline]
    pub(crate) unsafe fn search(
        node: *const Node,
        rule: &PrefixRule,
        order: Order,
        first: usize,
        target: &Target,
        before: impl Fn(*const Entry) -> bool,
    ) -> (usize, u32) {
        // SAFETY: the caller's promise.
        unsafe {
            let prefix = (*node).prefix(rule, target.user_key);
            let mut low = (*node).lower_bound(order, first, prefix);
            let mut end = low;
            while end < order.live() && (*node).prefix_at(order, end) == prefix {
                end += 1;
            }
            while low < end {
                let middle = (low + end) / 2;
                if before(Node::key_at(node, order, middle)) {
                    low = middle + 1;
                } else {
                    end = middle;
                }
            }
            (low, prefix)
        }
    }
}

/// Asks for the lines of a node ahead of its use.
#[inline]
pub(crate) fn prefetch_node(node: *const Node) {
    for line in 0..3 {
        prefetch(node.cast::<u8>().wrapping_add(64 * line));
    }
}

/// Asks for a cache line ahead of its use.
#[inline]
pub(crate) fn prefetch(line: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address is a hint without effect on what the program does.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(line.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_leaf_is_three_lines_and_its_prefixes_one() {
        assert_eq!(size_of::<Node>(), 192);
        assert_eq!(std::mem::offset_of!(Node, slots), 64);
        assert_eq!(size_of::<Inner>(), 320);
    }

    #[test]
    fn orders_take_slots_in_at_any_position() {
        let mut rng = testkit::rng();
        for _ in 0..200 {
            let start = rng.usize(0..=SLOTS);
            let mut order = Order::ascending(start);
            let mut model: Vec<usize> = (0..start).collect();
            while !order.is_closed() {
                let position = rng.usize(0..=model.len());
                model.insert(position, model.len());
                order = order.with_next_at(position);
                assert_eq!(order.live(), model.len());
                let slots: Vec<usize> = (0..order.live()).map(|position| order.slot(position)).collect();
                assert_eq!(slots, model);
            }
        }
    }

    #[test]
    fn runs_are_seen_where_they_end() {
        let mut order = Order::ascending(2);
        for position in [1, 2, 3] {
            order = order.with_next_at(position);
        }
        assert!(order.ascends_to(4) && !order.ascends_to(3) && !order.ascends_to(5));
        for _ in 0..3 {
            order = order.with_next_at(1);
        }
        assert!(order.descends_to(1) && !order.descends_to(2) && !order.ascends_to(4));
        assert!(!Order::EMPTY.ascends_to(0) && !Order::EMPTY.descends_to(0));
    }
}

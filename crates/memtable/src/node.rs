//! Nodes of the tree: slots that are each written once, and one word that orders them.
//!
//! ```text
//! order  63  61  60    59 56                    7      4 3  0
//!        |  -  | busy | 12th |  ...  | 1st | 0th | gen. | live |     slot numbers by position, and how many
//! ```
//!
//! To add to a node, a writer writes to the first free slot, which is that at position `live`, and then
//! publishes the slot with one compare-and-swap of the order. So the state that readers load with the order
//! is sorted and consistent. When all slots are taken the node is closed. The order of a closed inner node
//! never changes again.
//!
//! A closed leaf may be reopened: it keeps the slots before some position, and the other slots become free
//! again, in the next of its few generations. A read of a leaf is valid if the leaf's generation is the same
//! afterwards ([`is_still`](Node::is_still)). While the slots are emptied the order is `busy`. A free slot
//! records the generation in which it is free, so that a late writer cannot write to it.
//!
//! A slot is one word: an entry, or in an inner node a child, and above it the prefix that stands for its
//! key. Addresses of entries have 48 bits, of which the lowest is 0, so 17 bits are left for the prefix. A
//! child's key is not in the word but in the child: it is the first key of its range, and is read only where
//! prefixes tie.
//!
//! ```text
//! word   63   47 46          0
//!        | prefix | address / 2 |            of a free slot the generation, and 0
//! ```

use std::ptr;

use crate::entry::{Entry, Target};
use crate::prefix::{PREFIX_BITS, PrefixRule};
use crate::sync::{AtomicU64, Ordering, load_settled};

/// The number of slots of a node: they fill two cache lines with the rest of a leaf.
pub(crate) const SLOTS: usize = if cfg!(loom) { 4 } else { 13 };

/// The order word of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Order(u64);

const LIVE: u64 = 0xf;
const GENERATION_SHIFT: u32 = 4;
const FIRST_POSITION: usize = 8;
const BUSY: u64 = 1 << 60;
const POSITIONS: u64 = BUSY - (1 << FIRST_POSITION);

/// The number of generations of a leaf after the first. After that it stays closed, and its lower half gets
/// new memory.
const MAX_GENERATION: u64 = if cfg!(loom) { 1 } else { 15 };

impl Order {
    /// The order of an empty node.
    pub(crate) const EMPTY: Order = Order(0);

    /// The order with the first `live` slots, one after the other.
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

    /// The order with the first free slot inserted at `position`.
    #[inline]
    fn with_next_at(self, position: usize) -> Order {
        let live = self.live();
        let first = FIRST_POSITION + 4 * position;
        let last = FIRST_POSITION + 4 * live;
        let before = self.0 & ((1 << first) - 1);
        let pushed = self.0 & ((1 << last) - (1 << first));
        let behind = self.0 & !((1 << (last + 4)) - 1);
        Order((before | (self.slot(live) as u64) << first | pushed << 4 | behind) + 1)
    }

    #[inline]
    pub(crate) fn generation(self) -> u64 {
        (self.0 >> GENERATION_SHIFT) & 0xf
    }

    /// True while the free slots are being emptied.
    #[inline]
    pub(crate) fn is_busy(self) -> bool {
        self.0 & BUSY != 0
    }

    /// The order in the next generation, with the positions before `half`; busy.
    fn reopened(self, half: usize) -> Order {
        Order((self.0 & POSITIONS) | BUSY | (self.generation() + 1) << GENERATION_SHIFT | half as u64)
    }
}

/// The number of keys in a row that make a sequence.
const RUN: usize = 3;

/// A reference to a node: its address, and in low bits that are 0 in an address, [`FROZEN`] and the expected
/// generation. A leaf in a later generation is not the one that was meant; a leaf in the previous generation
/// is about to be reopened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Child(*const Node);

/// A flag in a word with a child: this reference will not change any more. The lower bits of words are
/// unused.
const FROZEN: usize = 1 << 1;
const CHILD_SHIFT: u32 = 2;
const _: () = assert!((MAX_GENERATION as usize) << CHILD_SHIFT < align_of::<Node>());

impl Child {
    pub(crate) const NONE: Child = Child(ptr::null());

    /// A reference to a node in its first generation.
    pub(crate) fn new(node: *const Node) -> Child {
        Child(node)
    }

    #[inline]
    pub(crate) fn loaded(child: *mut u8) -> Child {
        Child(child.map_addr(|address| address & !FROZEN).cast())
    }

    pub(crate) fn pointer(self) -> *mut u8 {
        self.0.cast_mut().cast()
    }

    #[inline]
    pub(crate) fn node(self) -> *const Node {
        self.0.map_addr(|address| address & !(align_of::<Node>() - 1))
    }

    #[inline]
    pub(crate) fn generation(self) -> u64 {
        ((self.0.addr() & (align_of::<Node>() - 1)) >> CHILD_SHIFT) as u64
    }

    /// A reference to the same leaf in its next generation.
    pub(crate) fn next_generation(self) -> Child {
        Child(self.0.map_addr(|address| address + (1 << CHILD_SHIFT)))
    }
}

/// The contents of a slot: the prefix of a key, and its entry or the child that begins with it. A free slot
/// has null and a generation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word(u64);

const PREFIX_SHIFT: u32 = u64::BITS - PREFIX_BITS;

impl Word {
    /// The word of an entry, or of a child's [`pointer`](Child::pointer).
    #[inline]
    fn new<T>(prefix: u32, pointer: *const T) -> Word {
        let address = pointer.expose_provenance() as u64;
        debug_assert!(address.is_multiple_of(2) && address >> (PREFIX_SHIFT + 1) == 0);
        Word(u64::from(prefix) << PREFIX_SHIFT | address >> 1)
    }

    /// The word of a slot that is free in a generation.
    #[inline]
    fn free(generation: u64) -> Word {
        Word(generation << PREFIX_SHIFT)
    }

    #[inline]
    pub(crate) fn prefix(self) -> u32 {
        (self.0 >> PREFIX_SHIFT) as u32
    }

    #[inline]
    fn address(self) -> usize {
        ((self.0 << PREFIX_BITS) >> (PREFIX_BITS - 1)) as usize
    }

    /// The entry in a leaf's word.
    #[inline]
    pub(crate) fn entry(self) -> *const Entry {
        ptr::with_exposed_provenance(self.address())
    }

    /// The child in an inner node's word.
    #[inline]
    fn child(self) -> Child {
        Child(ptr::with_exposed_provenance(self.address() & !FROZEN))
    }

    fn is_frozen(self) -> bool {
        self.address() & FROZEN != 0
    }
}

/// A leaf or an inner node. On x86-64 two cache lines.
#[repr(C, align(64))]
pub(crate) struct Node {
    order: AtomicU64,
    /// `skip` in bits, in the low 24 bits, then `CHECKED`, then the level: 0 for leaves.
    meta: u32,
    /// The node's first key, null for the first node of its level. A leaf holds the entry, an inner node a
    /// child that begins with it.
    pub(crate) low: *const Entry,
    /// [`Word`]s by slot. A search does not read the prefix of an inner node's first child, which may have no
    /// key.
    words: [AtomicU64; SLOTS],
}

const MAX_SKIP: u32 = (1 << 24) - 1;
/// True if some keys in the node's range may not begin with the skipped bits, which are whole bytes. The
/// node's [`reference`](Node::reference) has those bytes.
const CHECKED: u32 = 1 << 24;
const LEVEL_SHIFT: u32 = 25;

/// The initial contents of a node: keys and the pointers they lead to, ascending.
pub(crate) struct Content {
    pub(crate) keys: [*const Entry; SLOTS],
    /// The children of an inner node.
    children: [Child; SLOTS],
    len: usize,
    /// If the keys are too few to predict the prefix of future keys: some other keys, which are about as far
    /// from them as future keys will be; null for none.
    samples: [*const Entry; 2],
    /// The node it is copied from, null if it is new, and its prefixes of the keys.
    source: *const Node,
    prefixes: [u32; SLOTS],
}

/// The distance of prefixes that leaves room for further prefixes between them.
const SPREAD: u32 = 1 << 7;

/// True if the prefixes ascend and leave room for further ones between them.
fn are_spread(prefixes: &[u32]) -> bool {
    let ends = prefixes.last().zip(prefixes.first());
    ends.is_some_and(|(last, first)| last - first >= SPREAD)
}

impl Content {
    pub(crate) fn empty() -> Content {
        Content {
            keys: [ptr::null(); SLOTS],
            children: [Child::NONE; SLOTS],
            len: 0,
            samples: [ptr::null(); 2],
            source: ptr::null(),
            prefixes: [0; SLOTS],
        }
    }

    /// The first entry of a leaf in which a sequence continues; `sample` is an entry of the leaf before.
    pub(crate) fn entry(entry: *const Entry, sample: *const Entry) -> Content {
        let mut content = Content::empty();
        content.keys[0] = entry;
        content.len = 1;
        content.samples[0] = sample;
        content
    }

    /// The first child of an inner node in which a sequence continues.
    ///
    /// # Safety
    /// It is a node of a live tree.
    pub(crate) unsafe fn child(child: Child, sample: *const Entry) -> Content {
        let mut content = Content::empty();
        // SAFETY: the caller ensures the conditions under `# Safety`.
        unsafe { content.push(child) };
        content.samples[0] = sample;
        content
    }

    /// The children of a new root: the old one and its neighbour.
    ///
    /// # Safety
    /// They are nodes of a live tree, the old one closed under `order`.
    pub(crate) unsafe fn of_root(old: Child, order: Order, next: Child) -> Content {
        let mut content = Content::empty();
        // SAFETY: the caller ensures the conditions under `# Safety`. A closed node has more than one key,
        // and of an inner one the first may be null.
        unsafe {
            content.push(old);
            content.push(next);
            let last = (*next.node()).order();
            content.samples = [
                (*old.node()).key(order, 1),
                (*next.node()).key(last, last.live() - 1),
            ];
        }
        content
    }

    /// # Safety
    /// It is a node of a live tree.
    unsafe fn push(&mut self, child: Child) {
        // SAFETY: the caller ensures the conditions under `# Safety`.
        self.keys[self.len] = unsafe { (*child.node()).low };
        self.children[self.len] = child;
        self.len += 1;
    }

    /// True if the source, a leaf, was visibly being reopened during the copy.
    pub(crate) fn is_torn(&self) -> bool {
        self.keys[..self.len].contains(&ptr::null())
    }

    /// True if the prefixes of the source distinguish the keys from `first` on, so that the copy need not
    /// read the keys themselves, which are in no cache.
    ///
    /// # Safety
    /// The source, if there is one, is a node of a live tree.
    unsafe fn prefixes_serve(&self, first: usize) -> bool {
        let prefixes = &self.prefixes[first.min(self.len)..self.len];
        !self.source.is_null()
            // The copy may lack the key that they were checked against. SAFETY: the caller ensures the
            // conditions under `# Safety`.
            && unsafe { (*self.source).meta } & CHECKED == 0
            && prefixes.is_sorted_by(|a, b| a < b)
            && are_spread(prefixes)
    }

    /// True if few keys have the prefix of the previous one, as the versions of one key do: other prefixes
    /// would hardly distinguish more of them.
    fn prefixes_tell_most_apart(&self) -> bool {
        let prefixes = &self.prefixes[..self.len];
        let ties = prefixes.windows(2).filter(|pair| pair[0] == pair[1]).count();
        ties * 2 <= prefixes.len() && are_spread(prefixes)
    }
}

/// The end of a node's range: the first key of a node to the right, or, without one, unbounded. The key is
/// read only where it is needed, because the neighbour is seldom in a cache.
#[derive(Clone, Copy)]
pub(crate) struct Fence(*const Node);

impl Fence {
    pub(crate) const NONE: Fence = Fence(ptr::null());

    /// The fence of the nodes before `node`.
    #[inline]
    pub(crate) fn before(node: Child) -> Fence {
        Fence(node.node())
    }

    /// The key at which the range ends, exclusive; null if the range is unbounded.
    ///
    /// # Safety
    /// The node is of a live tree.
    #[inline]
    pub(crate) unsafe fn key(self) -> *const Entry {
        // SAFETY: the caller ensures the conditions under `# Safety`.
        unsafe { self.0.as_ref() }.map_or(ptr::null(), |node| node.low)
    }

    /// Prefetches the node.
    #[inline]
    pub(crate) fn prefetch(self) {
        prefetch(self.0.cast());
    }
}

impl Node {
    /// Writes a node to a piece of memory.
    ///
    /// # Safety
    /// `memory` has room for a node, is aligned for one, and exclusively the caller's. The pointers in
    /// `content`, `low` and `high` lead to entries and nodes of the node's tree.
    pub(crate) unsafe fn write(
        memory: *mut Node,
        rule: &PrefixRule,
        level: usize,
        content: &Content,
        low: *const Entry,
        high: *const Entry,
    ) -> *const Node {
        // An inner node's first key may be null, and searches do not use it.
        let first = usize::from(level > 0);
        let keys = &content.keys[..content.len];
        let reference = match low.is_null() {
            true => keys.get(first).copied().unwrap_or(ptr::null()),
            false => low,
        };
        // SAFETY: the caller ensures the conditions under `# Safety`.
        let inherits = unsafe { content.prefixes_serve(first) };
        let skip = match inherits {
            // SAFETY: the source is a node of the tree, and the new node's range is a part of its range.
            true => unsafe { (*content.source).meta & MAX_SKIP },
            // SAFETY: the caller ensures the conditions under `# Safety`.
            false => unsafe {
                let ends = [keys.get(first), keys.last()].map(|key| key.copied().unwrap_or(ptr::null()));
                let samples = ends.into_iter().chain(content.samples);
                Node::choose_skip(rule, reference, samples, low, high)
            },
        };
        let prefix = |slot: usize| {
            if inherits || slot < first || slot >= content.len {
                return content.prefixes[slot];
            }
            // SAFETY: the caller ensures the conditions under `# Safety`. There is a reference if it has to
            // be checked.
            unsafe {
                let reference = || Entry::target(reference).user_key;
                prefix_of(rule, skip, Entry::target(keys[slot]).user_key, reference)
            }
        };
        let word = |slot: usize| match level {
            0 => Word::new(prefix(slot), content.keys[slot]),
            _ => Word::new(prefix(slot), content.children[slot].pointer()),
        };
        let node = Node {
            order: AtomicU64::new(Order::ascending(content.len).0),
            meta: skip | (level as u32) << LEVEL_SHIFT,
            low,
            words: std::array::from_fn(|slot| AtomicU64::new(word(slot).0)),
        };
        // SAFETY: the caller ensures the conditions under `# Safety`.
        unsafe { memory.write(node) };
        memory
    }

    /// The number of bits that a new node skips, and whether keys must be checked for them: the common prefix
    /// of all keys between its bounds. Without bounds, the common prefix of the reference with some of its
    /// keys and others.
    ///
    /// # Safety
    /// The requirements of [`write`](Self::write).
    unsafe fn choose_skip(
        rule: &PrefixRule,
        reference: *const Entry,
        samples: impl Iterator<Item = *const Entry>,
        low: *const Entry,
        high: *const Entry,
    ) -> u32 {
        // SAFETY: the caller ensures the conditions under `# Safety`.
        let common = |a, b| unsafe {
            rule.common_bits(Entry::target(a).user_key, Entry::target(b).user_key)
                .min(MAX_SKIP as usize) as u32
        };
        if !low.is_null() && !high.is_null() {
            return common(low, high);
        }
        if !rule.checks || reference.is_null() {
            return 0;
        }
        let others = samples.filter(|sample| !sample.is_null() && *sample != reference);
        match others.map(|sample| common(reference, sample) & !7).min() {
            None | Some(0) => 0,
            Some(bytes) => bytes | CHECKED,
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

    /// The prefix that stands for a key in this node.
    ///
    /// # Safety
    /// The node is of a live tree, and the key is in its range (or of an order nothing is known of).
    #[inline]
    unsafe fn prefix(&self, rule: &PrefixRule, user_key: &[u8]) -> u32 {
        // SAFETY: the caller ensures the conditions under `# Safety`.
        prefix_of(rule, self.meta, user_key, || unsafe {
            Entry::target(self.reference()).user_key
        })
    }

    /// The key that others are checked against if [`CHECKED`] is set: the node's first key, or without one
    /// the first searchable key that it was made with.
    ///
    /// # Safety
    /// The node is of a live tree, and `CHECKED` is set.
    #[inline]
    unsafe fn reference(&self) -> *const Entry {
        if !self.low.is_null() {
            return self.low;
        }
        match self.level() {
            // SAFETY: the slot was written when the node was made, and a leaf without a first key is not
            // reopened.
            0 => Word(unsafe { load_settled(&self.words[0]) }).entry(),
            // SAFETY: the slot was written when the node was made; a replacement of a child begins with the
            // same key.
            _ => unsafe { (*Word(self.words[1].load(Ordering::Acquire)).child().node()).low },
        }
    }

    /// The word at a position that is live in `order`. In a leaf it is valid if the order
    /// [`is_still`](Self::is_still) of its generation.
    #[inline]
    pub(crate) fn word(&self, order: Order, position: usize) -> Word {
        // Acquire: a thread that reads data of a later generation must also read that generation in the
        // order. Besides, a child may have been replaced since the order was loaded.
        Word(self.words[order.slot(position)].load(Ordering::Acquire))
    }

    /// True if reads of a leaf under `order` were valid: it is still in that generation.
    #[inline]
    pub(crate) fn is_still(&self, order: Order) -> bool {
        self.order().generation() == order.generation()
    }

    #[inline]
    fn prefix_at(&self, order: Order, position: usize) -> u32 {
        self.word(order, position).prefix()
    }

    /// The entry at a position of a leaf that is live in `order`, if the read is valid.
    #[inline]
    pub(crate) fn entry(&self, order: Order, position: usize) -> *const Entry {
        self.word(order, position).entry()
    }

    /// The child at a position of an inner node that is live in `order`.
    #[inline]
    pub(crate) fn child(&self, order: Order, position: usize) -> Child {
        self.word(order, position).child()
    }

    /// The key at a position that is live in `order`: an entry of a leaf, if the read is valid, or the first
    /// key of an inner node's child.
    ///
    /// # Safety
    /// The node is of a live tree.
    #[inline]
    pub(crate) unsafe fn key(&self, order: Order, position: usize) -> *const Entry {
        match self.level() {
            0 => self.entry(order, position),
            // SAFETY: the caller ensures the conditions under `# Safety`.
            _ => unsafe { (*self.child(order, position).node()).low },
        }
    }

    /// The position of `key`, that very entry, among the keys.
    ///
    /// # Safety
    /// The node is of a live tree.
    pub(crate) unsafe fn position_of_key(&self, order: Order, key: *const Entry) -> Option<usize> {
        // SAFETY: the caller ensures the conditions under `# Safety`.
        (0..order.live()).find(|&position| unsafe { self.key(order, position) } == key)
    }

    /// The position of a child in an inner node.
    pub(crate) fn position_of_child(&self, order: Order, child: Child) -> Option<usize> {
        (0..order.live()).find(|&position| self.child(order, position) == child)
    }

    /// The word of an entry in this leaf.
    ///
    /// # Safety
    /// The leaf is of a live tree, and has the entry, one of that tree, in its range.
    #[inline]
    pub(crate) unsafe fn word_of(&self, rule: &PrefixRule, entry: *const Entry) -> Word {
        // SAFETY: the caller ensures the conditions under `# Safety`.
        unsafe { Word::new(self.prefix(rule, Entry::target(entry).user_key), entry) }
    }

    /// Adds an entry to a leaf under `order`, which has room and is not busy. On `Err` another thread took
    /// the slot first: [`publish`](Self::publish) its entry and start again from the new order. A null entry
    /// means that the slot is of another generation.
    #[inline]
    pub(crate) fn claim(&self, order: Order, word: Word) -> Result<(), *const Entry> {
        let free = Word::free(order.generation());
        self.words[order.slot(order.live())]
            .compare_exchange(free.0, word.0, Ordering::Release, Ordering::Acquire)
            .map(drop)
            .map_err(|other| Word(other).entry())
    }

    /// True if this leaf, closed under `order`, is to be reopened with its `lower` part; otherwise that part
    /// becomes a new leaf. The answer is the same for all threads.
    pub(crate) fn can_reopen(&self, order: Order, lower: &Content) -> bool {
        self.level() == 0
            && order.generation() < MAX_GENERATION
            // A leaf without a lower bound keeps no key that later insertions could be compared with.
            && !self.low.is_null()
            && lower.prefixes_tell_most_apart()
    }

    /// Reopens a leaf that was closed under `order`, with the part before position `half`. Any thread may do
    /// it, and more than once.
    pub(crate) fn reopen(&self, order: Order, half: usize) {
        let busy = order.reopened(half);
        let words = self.free_slots(busy);
        match self
            .order
            .compare_exchange(order.0, busy.0, Ordering::AcqRel, Ordering::Acquire)
        {
            Ok(_) => self.empty(busy, words),
            Err(now) if now == busy.0 => self.empty_slots(busy),
            Err(_) => (),
        }
    }

    /// Empties the free slots of a leaf, and opens the leaf for insertions, if the leaf's order is still
    /// `busy`. Any thread may call this, also several times.
    pub(crate) fn empty_slots(&self, busy: Order) {
        let words = self.free_slots(busy);
        if self.order() == busy {
            self.empty(busy, words);
        }
    }

    /// The contents of the slots that are free in `order`, by position.
    fn free_slots(&self, order: Order) -> [u64; SLOTS] {
        std::array::from_fn(|position| match position < order.live() {
            true => 0,
            false => self.words[order.slot(position)].load(Ordering::Acquire),
        })
    }

    /// Empties slots. `words` were in them when the order was `busy`, or the one before.
    fn empty(&self, busy: Order, words: [u64; SLOTS]) {
        let free = Word::free(busy.generation()).0;
        for (position, &word) in words.iter().enumerate().skip(busy.live()) {
            // The old words never return to this slot, so a late exchange fails.
            if word != free {
                let slot = &self.words[busy.slot(position)];
                let _ = slot.compare_exchange(word, free, Ordering::Release, Ordering::Relaxed);
            }
        }
        let _ = self
            .order
            .compare_exchange(busy.0, busy.0 & !BUSY, Ordering::Release, Ordering::Relaxed);
    }

    /// True if the last insertions into a closed node were ascending and end just before `position`.
    pub(crate) fn ascends_to(&self, order: Order, position: usize) -> bool {
        position >= RUN && self.came_last(order, |back| position - back)
    }

    /// True if the last insertions into a closed node were descending and end at `position`.
    pub(crate) fn descends_to(&self, order: Order, position: usize) -> bool {
        position + RUN <= SLOTS && self.came_last(order, |back| position + back - 1)
    }

    /// True if the newest few insertions are at these positions, the last first. In the first generation
    /// slots are taken in order; later this is estimated from the addresses, which ascend within a block of
    /// the arena.
    fn came_last(&self, order: Order, position: impl Fn(usize) -> usize) -> bool {
        if order.generation() == 0 {
            return (1..=RUN).all(|back| order.slot(position(back)) == SLOTS - back);
        }
        let address = |position| self.entry(order, position).addr();
        let newest: [usize; RUN] = std::array::from_fn(|back| address(position(back + 1)));
        let later = |at: &usize| address(*at) >= newest[RUN - 1];
        newest.is_sorted_by(|a, b| a > b) && (0..SLOTS).filter(later).count() == RUN
    }

    /// Makes the entry that was claimed under `order` live at `position`. Any thread may do it, and more than
    /// once.
    #[inline]
    pub(crate) fn publish(&self, order: Order, position: usize) {
        // From `order` only this one slot can be published, so if the order has changed, another thread has
        // published it.
        let _ = self.order.compare_exchange(
            order.0,
            order.with_next_at(position).0,
            Ordering::Release,
            Ordering::Relaxed,
        );
    }

    /// Adds a child to an inner node under `order`. On `Err` another thread took the slot first:
    /// [`publish`](Self::publish) its child and start again from the new order.
    ///
    /// # Safety
    /// The inner node and the child are of a live tree, and the child begins within the node's range.
    pub(crate) unsafe fn claim_child(
        &self,
        rule: &PrefixRule,
        order: Order,
        child: Child,
    ) -> Result<(), Child> {
        // SAFETY: the caller ensures the conditions under `# Safety`.
        let prefix = unsafe { self.prefix(rule, Entry::target((*child.node()).low).user_key) };
        let word = Word::new(prefix, child.pointer());
        self.words[order.live()]
            .compare_exchange(0, word.0, Ordering::Release, Ordering::Acquire)
            .map(drop)
            .map_err(|other| Word(other).child())
    }

    /// Replaces the child `old` at a position of an inner node's `order` by `new`, which begins with the same
    /// key; false if `old` is not there any more, or frozen.
    pub(crate) fn replace_child(&self, order: Order, position: usize, old: Child, new: Child) -> bool {
        let word = self.word(order, position);
        if word.child() != old || word.is_frozen() {
            return false;
        }
        let new = Word::new(word.prefix(), new.pointer());
        self.words[order.slot(position)]
            .compare_exchange(word.0, new.0, Ordering::Release, Ordering::Relaxed)
            .is_ok()
    }

    /// Makes the children of a closed inner node final, so that they can be copied.
    pub(crate) fn freeze(&self) {
        let frozen = Word::new(0, ptr::without_provenance::<Node>(FROZEN)).0;
        for word in &self.words {
            word.fetch_or(frozen, Ordering::Relaxed);
        }
    }

    /// The contents at the positions from `first` up to `end`, exclusive. In a leaf they are valid if the
    /// order [`is_still`](Self::is_still) of its generation.
    ///
    /// # Safety
    /// The node is of a live tree, and the positions are live in `order`.
    pub(crate) unsafe fn content(node: *const Node, order: Order, first: usize, end: usize) -> Content {
        let mut content = Content::empty();
        content.source = node;
        for position in first..end {
            // SAFETY: the caller ensures the conditions under `# Safety`.
            unsafe {
                let word = (*node).word(order, position);
                content.prefixes[content.len] = word.prefix();
                content.keys[content.len] = match (*node).level() {
                    0 => word.entry(),
                    _ => {
                        content.children[content.len] = word.child();
                        (*word.child().node()).low
                    }
                };
            }
            content.len += 1;
        }
        content
    }

    /// The first position, from `first` on, whose prefix is not less than `prefix`.
    #[inline]
    fn lower_bound(&self, order: Order, first: usize, prefix: u32) -> usize {
        let bound = u64::from(prefix) << PREFIX_SHIFT;
        let mut low = first;
        let mut len = order.live() - first;
        while len > 0 {
            let half = len / 2;
            let less = self.word(order, low + half).0 < bound;
            low = if less { low + half + 1 } else { low };
            len = if less { len - half - 1 } else { half };
        }
        low
    }

    /// The first position, from `first` on, whose key is not `before`, and the target's prefix in this node.
    /// Keys are read only where their prefix equals the target's. For a leaf the result is valid if the order
    /// [`is_still`](Self::is_still) of its generation.
    ///
    /// # Safety
    /// The node is of a live tree, the target is in its range, and `first` is at most the number of positions
    /// live in `order`.
    #[inline]
    pub(crate) unsafe fn search(
        node: *const Node,
        rule: &PrefixRule,
        order: Order,
        first: usize,
        target: &Target,
        before: impl Fn(*const Entry) -> bool,
    ) -> (usize, u32) {
        // SAFETY: the caller ensures the conditions under `# Safety`.
        unsafe {
            let prefix = (*node).prefix(rule, target.user_key);
            let mut low = (*node).lower_bound(order, first, prefix);
            let mut end = low;
            while end < order.live() && (*node).prefix_at(order, end) == prefix {
                end += 1;
            }
            while low < end {
                let middle = (low + end) / 2;
                let key = (*node).key(order, middle);
                // The key is null in a leaf that is being reopened.
                if !key.is_null() && before(key) {
                    low = middle + 1;
                } else {
                    end = middle;
                }
            }
            (low, prefix)
        }
    }
}

/// The prefix that stands for a key in a node with this `meta`. `reference` returns the key it is checked
/// against, where that is necessary.
#[inline]
fn prefix_of<'a>(rule: &PrefixRule, meta: u32, user_key: &[u8], reference: impl FnOnce() -> &'a [u8]) -> u32 {
    let skip = (meta & MAX_SKIP) as usize;
    match meta & CHECKED {
        0 => rule.prefix(user_key, skip),
        _ => rule.prefix_checked(user_key, skip, reference()),
    }
}

/// Prefetches the cache lines of a node.
#[inline]
pub(crate) fn prefetch_node(node: *const Node) {
    for line in 0..2 {
        prefetch(node.cast::<u8>().wrapping_add(64 * line));
    }
}

/// Prefetches a cache line.
#[inline]
pub(crate) fn prefetch(line: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address is a hint that does not change the program's behaviour.
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
    fn a_node_is_two_lines() {
        assert_eq!(size_of::<Node>(), 128);
    }

    #[test]
    fn a_word_has_room_for_every_prefix_and_entry() {
        for prefix in [0, 1, (1 << PREFIX_BITS) - 1] {
            for address in [0, 2, 0x7f12_3456_789a, (1 << 48) - 2] {
                let entry = ptr::without_provenance(address);
                let word = Word::new(prefix, entry);
                assert_eq!((word.prefix(), word.entry()), (prefix, entry));
            }
        }
    }

    #[test]
    fn orders_take_slots_in_at_any_position() {
        let mut rng = testkit::rng();
        for _ in 0..200 {
            let start = rng.usize(0..=SLOTS);
            let mut order = Order::ascending(start);
            let mut model: Vec<usize> = (0..start).collect();
            let mut free: Vec<usize> = (start..SLOTS).collect();
            for generation in 0..=MAX_GENERATION {
                while !order.is_closed() {
                    let position = rng.usize(0..=model.len());
                    model.insert(position, free.remove(0));
                    order = order.with_next_at(position);
                    assert_eq!((order.live(), order.generation()), (model.len(), generation));
                    let slots: Vec<usize> = (0..order.live()).map(|position| order.slot(position)).collect();
                    assert_eq!(slots, model);
                }
                let half = rng.usize(1..SLOTS);
                free = model.split_off(half);
                order = order.reopened(half.min(SLOTS));
                assert!(order.is_busy());
                order = Order(order.0 & !BUSY);
            }
        }
    }
}
